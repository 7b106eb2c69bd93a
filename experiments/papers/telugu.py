"""Telugu characters: forecasts of 400 classes from 20 and from 100, beside the printed numbers.

Figure 2 of *How many faces can be recognized?* (2016; 003) and Table 1 of *Extrapolating expected
accuracies for multi-class classification* (2017; 004), with the score files that the authors left.
Every size there is a separately trained model on a random subset of the classes. The files behind
both tables are `telugu_paper_<classifier>_20` and `telugu_deepslim_20`; that of naive Bayes is
missing.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from experiments.figures import COLOURS, GREY, TRUTH, list_axis, new_figure
from experiments.journal import Record
from experiments.methods import Methods, forecast_record, rounded, stamp
from experiments.papers.pilots import digest
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.curves.observed import observe
from headcount.errors import DataError, silence
from headcount.estimators import Extrapolator, Pseudolikelihood
from headcount.estimators.registry import METHODS, resolve_all
from headcount.pilot.loading import load
from headcount.pilot.loading.safe_arrays import existing, read_text
from headcount.pilot.pilot import Pilot

NAME = "telugu"
CLASSES = 400
TRUTH_FILE = "telugu_truth.json"
PAPER = "paper_"  # starts the names of files behind the papers' tables
PAPERS_EPSILON = 0.002
PER_CLASS = 50  # training points
MANY = 100  # classes, with 5,000 probes: too many for a network here

# Forecasts as accuracies. 004 prints errors (though its caption says accuracy): one minus those.
# 003 gives no forecast where its optimisation was unstable (0.345 to 0.907); its CON of the votes
# is of 100 classes, its HD of the deep network a misprint. For 100 classes: the authors' R code run
# on these same files; its bandwidth choice for Gaussian regression is random, so the middle of
# 0.72-0.73 and 0.60-0.62 stands for it, and its printout has ucv and bcv swapped.
FIGURE_2 = "003 Fig. 2"
TABLE_1 = "004 Table 1"
R_CODE = "authors' R code"
TRUE_400 = {
    "naive_bayes": 0.601, "logistic": 0.711, "svm": 0.545, "knn": 0.591, "deepslim": 0.986,
}  # fmt: skip
PRINTED: tuple[tuple[str, str, int, float | None, dict[str, float | None]], ...] = (
    (FIGURE_2, "naive_bayes", 20, 0.947, {"EXP": 0.884, "CON": 0.679, "HD": 0.769}),
    (FIGURE_2, "logistic", 20, 0.922, {"EXP": 0.844, "CON": 0.721, "HD": 0.686}),
    (FIGURE_2, "svm", 20, 0.860, {"EXP": 0.737, "CON": 0.575, "HD": 0.546}),
    (FIGURE_2, "knn", 20, 0.964, {"EXP": 0.895, "CON": 0.608, "HD": 0.839}),
    (FIGURE_2, "deepslim", 20, 0.995, {"EXP": 0.973, "CON": None, "HD": 0.983}),
    (TABLE_1, "naive_bayes", 20, 0.951, {"EXP": 0.892, "POS": 0.858, "p(5)": 0.921}),
    (TABLE_1, "logistic", 20, 0.922, {"EXP": 0.834, "POS": 0.812, "p(5)": 0.870}),
    (TABLE_1, "svm", 20, 0.860, {"EXP": 0.701, "POS": 0.687, "p(5)": 0.773}),
    (TABLE_1, "knn", 20, 0.951, {"EXP": 0.916, "POS": 0.410, "p(5)": 0.898}),
    (TABLE_1, "deepslim", 20, 0.995, {"EXP": 0.989, "POS": 0.907, "p(5)": 0.990}),
    (R_CODE, "logistic", 100, None, {"KDE ucv": 0.7088, "KDE bcv": 0.6776, "Gaussian": 0.725}),
    (R_CODE, "svm", 100, None, {"KDE ucv": 0.4369, "KDE bcv": 0.3528, "Gaussian": 0.61}),
)


class ScoreFile(NamedTuple):
    """One of the authors' score files, and what is known about it."""

    path: Path
    classifier: str
    n_classes: int
    truth: float | None

    @property
    def label(self) -> str:
        """Name in tables and keys."""
        return f"{self.classifier} {self.n_classes}"


def _family(classifier: str) -> str:
    """Return what the papers call a classifier: `knn` of `paper_knn` and of `knn_n10`."""
    name = classifier.removeprefix(PAPER)
    return "knn" if name.startswith("knn") else name


def _has_printed(classifier: str, size: int) -> bool:
    """Whether the printed forecasts are of this very file; two of 20 classes hold others."""
    return size != 20 or classifier.startswith(PAPER) or classifier == "deepslim"


def score_files(folder: Path) -> list[ScoreFile]:
    """Return the score files in a folder, by classifier and size.

    Votes of n nearest neighbours among N training points are those of the epsilon-nearest-neighbour
    rule with epsilon = n / N. With 50 training points a class, the papers' file and the one with
    n = 10 at 100 classes have the epsilon = 0.002 of the papers, whose n at 400 classes is 40; for
    other n nothing was recorded at 400 classes.
    """
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder.name}; name the one with telugu_*.npz files.")
    accuracy, neighbours = _truths(folder / TRUTH_FILE)
    files = []
    for path in sorted(folder.glob("telugu_*.npz")):
        match = re.fullmatch(r"telugu_(\w+)_(\d+)", path.stem)
        if match is None:
            continue
        classifier, size = match[1], int(match[2])
        truth = accuracy.get(_family(classifier), {}).get(str(CLASSES))
        votes = re.fullmatch(r"knn_n(\d+)", classifier)
        if classifier == f"{PAPER}knn":
            truth = neighbours.get(f"{PAPERS_EPSILON * CLASSES * PER_CLASS:g}")
        elif votes is not None and size > 0:
            truth = neighbours.get(f"{int(votes[1]) * CLASSES / size:g}")
        if size < CLASSES:
            files.append(ScoreFile(path, classifier, size, truth))
    if not files:
        raise DataError(f"the folder {folder.name} holds no telugu_*.npz file; check the folder.")
    return sorted(files, key=lambda file: (file.n_classes, file.classifier))


def _truths(path: Path) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    try:
        document = json.loads(read_text(existing(path)))
        accuracy = {
            str(name): {str(k): float(value) for k, value in values.items()}
            for name, values in document["accuracy"].items()
        }
        neighbours = {str(n): float(v) for n, v in document.get(f"knn_{CLASSES}", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path.name} does not list accuracies; check the file.") from error
    return accuracy, neighbours


def usual_methods() -> Methods:
    """Return all usual methods, the published variants, CleaneX, and kde with R's other bandwidth.

    CleaneX is left out where there are `MANY` classes.
    """
    named = sorted(name for name, method in METHODS.items() if method.published)
    more = ["exp-003:as_printed=True", "kde:bandwidth=bcv", "cleanex", "cleanex-fast"]
    return resolve_all() | resolve_all([*named, *more])


def telugu(folder: Path, settings: Settings, *, methods: Methods | None = None) -> Results:
    """Forecast 400 Telugu characters from each score file in a folder.

    Parameters
    ----------
    folder : path
        Holds ``telugu_<classifier>_<classes>.npz`` and ``telugu_truth.json``.
    settings : Settings
        Where to write, seed and workers.
    methods : mapping, optional
        Estimators by name; see `usual_methods` for the default.

    Returns
    -------
    Results
        A row for each file and method, and one for each printed forecast.
    """
    methods = usual_methods() if methods is None else methods
    files = score_files(folder)
    pilots = [load(file.path) for file in files]
    places = [
        (i, name)
        for i, file in enumerate(files)
        for name in methods
        if file.n_classes < MANY or not name.startswith("cleanex")
    ]
    tasks = [
        Task(
            f"{NAME}/{files[i].label}/{digest(pilots[i])}/{name}@{stamp(methods[name])}",
            partial(
                _forecast, methods[name], pilots[i], seed_for(settings.seed, NAME, files[i].label),
            ),
        )
        for i, name in places
    ]  # fmt: skip
    records, run = conduct(NAME, tasks, {}, settings)
    measured = [float(observe(pilot).accuracy(pilot.n_classes)) for pilot in pilots]
    rows = [
        _ours(files[i], measured[i], name, record)
        for (i, name), record in zip(places, records, strict=True)
    ]
    return Results(
        bench=NAME,
        about=f"Forecasts of {CLASSES} Telugu characters from 20 and from 100. Between least and "
        "greatest are those of all laws within one unit of log pseudolikelihood.",
        seed=settings.seed,
        options={"files": [file.path.name for file in files], "methods": list(methods)},
        rows=rows + printed_rows(),
        details={
            "notes": sorted({note for record in records for note in record["notes"]}),
        },
        run=run
        | {
            "seconds_a_forecast": {
                f"{files[i].label}, {name}": record["seconds"]
                for (i, name), record in zip(places, records, strict=True)
            }
        },
    )


def _forecast(estimator: Extrapolator, pilot: Pilot, seed: int) -> Record:
    """Return what a method forecasts, and of pseudolikelihood how far its profile reaches."""
    record = forecast_record(estimator, pilot, [CLASSES], seed)
    if isinstance(estimator, Pseudolikelihood) and "accuracy" in record:
        with silence():
            lower, upper = clone(estimator).fit(pilot).profile_range(CLASSES)
        record |= {"least": rounded(lower), "greatest": rounded(upper)}
    return record


def _ours(file: ScoreFile, measured: float, name: str, record: Record) -> dict[str, Any]:
    forecast = record["accuracy"][0] if "accuracy" in record else None
    return _entry(
        "headcount", file.classifier, file.n_classes, name, measured, forecast, file.truth,
        record.get("refused", ""), record.get("least"), record.get("greatest"),
    )  # fmt: skip


def printed_rows() -> list[dict[str, Any]]:
    """Return the numbers that the papers print, as rows of results."""
    return [
        _entry(
            source, classifier, size, name, measured, value, TRUE_400[classifier],
            "" if value is not None else "unstable optimisation",
        )
        for source, classifier, size, measured, values in PRINTED
        for name, value in values.items()
    ]  # fmt: skip


def _entry(
    source: str,
    classifier: str,
    size: int,
    method: str,
    measured: float | None,
    forecast: float | None,
    truth: float | None,
    refused: str,
    least: float | None = None,
    greatest: float | None = None,
) -> dict[str, Any]:
    known = forecast is not None and truth is not None
    return {
        "source": source,
        "classifier": classifier,
        "pilot_classes": size,
        "method": method,
        "measured": None if measured is None else rounded(measured),
        "forecast": None if forecast is None else rounded(forecast),
        "least": least,
        "greatest": greatest,
        "truth": truth,
        "error": rounded(forecast - truth) if known else None,  # type: ignore[operator]
        "why_refused": refused,
    }


def draw(results: Results) -> Any:
    """Draw every forecast, ours and the printed ones, a panel for each classifier and size."""
    panels = sorted(
        {(r["pilot_classes"], r["classifier"]) for r in results.rows if r["source"] == "headcount"}
    )
    sizes = sorted({size for size, _ in panels})
    columns = max(sum(size == s for s, _ in panels) for size in sizes)
    height = 0.2 * (len(results.options["methods"]) + 6) + 1.1
    figure = new_figure(2.5 + 2.6 * columns, height * len(sizes))
    axes = figure.subplots(len(sizes), columns, squeeze=False)
    for line, size in zip(axes, sizes, strict=True):
        shown = [panel for panel in panels if panel[0] == size]
        names = _names(results, size)
        for i, ax in enumerate(line):
            if i < len(shown):
                _draw_panel(ax, results, names, shown[i], labelled=i == 0)
            else:
                ax.set_visible(False)
    return figure


def _names(results: Results, size: int) -> list[tuple[str, str]]:
    """Methods of ours, then those printed for this size."""
    rows = [row for row in results.rows if row["pilot_classes"] == size]
    names = dict.fromkeys((row["source"], row["method"]) for row in rows)
    return sorted(names, key=lambda name: (name[0] != "headcount", name[0]))


def _draw_panel(
    ax: Any,
    results: Results,
    names: list[tuple[str, str]],
    panel: tuple[int, str],
    *,
    labelled: bool,
) -> None:
    size, classifier = panel
    for y, (source, method) in enumerate(names):
        ours = source == "headcount"
        for row in results.rows:
            here = (row["source"], row["method"], row["pilot_classes"]) == (source, method, size)
            if not here or row["classifier"] != (classifier if ours else _family(classifier)):
                continue
            if not (ours or _has_printed(classifier, size)):
                continue
            if row["forecast"] is not None:
                style = {"color": COLOURS[0]} if ours else {"color": COLOURS[1], "mfc": "none"}
                ax.plot([row["forecast"]], [y], "o", markersize=5, **style)
            if row["least"] is not None:
                ax.plot([row["least"], row["greatest"]], [y, y], color=COLOURS[0], linewidth=1.0)
            if ours and row["truth"] is not None:
                ax.axvline(row["truth"], color=TRUTH, linewidth=1.0)
            if ours:
                ax.axvline(row["measured"], color=GREY, linewidth=1.0, linestyle=":")
    texts = [method if source == "headcount" else f"{source}: {method}" for source, method in names]
    list_axis(ax, texts, labelled=labelled)
    ax.set_xlim(0, 1.02)
    ax.set_title(f"{classifier}, {size} classes", fontsize=9)
    ax.set_xlabel(
        f"accuracy at {CLASSES} (solid line: truth;\ndotted line: measured at {size})", fontsize=8
    )
