"""What the authors' R code forecast from Telugu characters, and what our methods do.

Recorded by the authors of 000 and 004 in `facerec/telugu.R` (repository snarles/fmri): forecasts
from 100 to 400 classes, from 20 to 400 and from 20 to 100, by kernel densities with two bandwidths
and by regression with a Gaussian basis. Their columns have the names of the two bandwidths the
wrong way round; here each has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from experiments.figures import COLOURS, TRUTH, list_axis, new_figure
from experiments.journal import Record
from experiments.methods import forecast_record, rounded, stamp
from experiments.papers.pilots import digest
from experiments.papers.telugu import MANY
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.errors import DataError
from headcount.estimators.registry import resolve_all
from headcount.pilot.loading import load

NAME = "recorded"
METHODS = ("kde", "kde:bandwidth=bcv", "regression")
BESIDE = ("auto", "cleanex-fast")  # without a counterpart in their table


class Recorded(NamedTuple):
    """A line of the authors' table.

    Attributes
    ----------
    classifier, size, classes
        Whose scores, of how many classes, and how many were forecast.
    truth : float
        Accuracy of the classifier trained on so many classes.
    forecasts : tuple of float
        One of each of `METHODS`. The bandwidth of the last is drawn from random halves.
    """

    classifier: str
    size: int
    classes: int
    truth: float
    forecasts: tuple[float, float, float]

    @property
    def file(self) -> str:
        """Name of the file with the scores."""
        return f"telugu_{self.classifier}_{self.size}.npz"


TABLE = (
    Recorded("logistic", 100, 400, 0.7107, (0.7088486, 0.6775535, 0.7214332)),
    Recorded("svm", 100, 400, 0.5452, (0.4369005, 0.3527870, 0.5968711)),
    Recorded("deepslim", 100, 400, 0.9860, (0.8910438, 0.8624746, 0.9836959)),
    Recorded("logistic", 20, 400, 0.7107, (0.7466777, 0.7015413, 0.8823585)),
    Recorded("svm", 20, 400, 0.5452, (0.5163187, 0.4069659, 0.6724617)),
    Recorded("deepslim", 20, 400, 0.9860, (0.4902794, 0.3863184, 0.9614282)),
    Recorded("logistic", 20, 100, 0.8490, (0.8414840, 0.8161257, 0.8979711)),
    Recorded("svm", 20, 100, 0.7582, (0.6544070, 0.5771119, 0.8192081)),
    Recorded("deepslim", 20, 100, 0.9908, (0.7138592, 0.6507035, 0.9905225)),
)


def recorded(folder: Path, settings: Settings, *, table: Sequence[Recorded] = TABLE) -> Results:
    """Forecast what the authors forecast, from their score files.

    Parameters
    ----------
    folder : path
        Holds ``telugu_<classifier>_<classes>.npz``; lines without a file are left out.
    settings : Settings
        Where to write, seed and workers.
    table : sequence of Recorded
        What they recorded.

    Returns
    -------
    Results
        A row for each line and method: what was recorded, ours, and the truth.
    """
    lines = [line for line in table if (folder / line.file).is_file()]
    if not lines:
        raise DataError(f"the folder {folder.name} holds no telugu_*.npz file; check the folder.")
    pilots = {line.file: load(folder / line.file) for line in lines}
    methods = resolve_all([*METHODS, *BESIDE])
    tasks = {
        (line, name): Task(
            f"{NAME}/{line.file}/{digest(pilots[line.file])}/{line.classes}/{name}@"
            f"{stamp(estimator)}",
            partial(
                forecast_record,
                estimator,
                pilots[line.file],
                [line.classes],
                seed_for(settings.seed, NAME, line.file),
            ),
        )
        for line in lines
        for name, estimator in methods.items()
        if line.size < MANY or name != "cleanex-fast"
    }
    records, run = conduct(NAME, list(tasks.values()), {}, settings)
    return Results(
        bench=NAME,
        about=(
            "Forecasts that the authors' R code made from Telugu characters, recorded by them, and "
            "ours from the same scores. The bandwidth of their regression is random."
        ),
        seed=settings.seed,
        options={"files": sorted(pilots), "methods": list(methods)},
        rows=[_row(*place, record) for place, record in zip(tasks, records, strict=True)],
        run=run,
    )


def _row(line: Recorded, name: str, record: Record) -> dict[str, Any]:
    theirs = line.forecasts[METHODS.index(name)] if name in METHODS else None
    forecast = rounded(record["accuracy"][0]) if "accuracy" in record else None
    return {
        "classifier": line.classifier,
        "pilot_classes": line.size,
        "classes": line.classes,
        "method": name,
        "recorded": theirs,
        "forecast": forecast,
        "difference": None if theirs is None or forecast is None else rounded(forecast - theirs),
        "truth": line.truth,
        "why_refused": record.get("refused", ""),
    }


def draw(results: Results) -> Any:
    """Draw what was recorded, ours and the truth, a panel for each line of the table."""
    places = dict.fromkeys(
        (r["classifier"], r["pilot_classes"], r["classes"]) for r in results.rows
    )
    names = results.options["methods"]
    figure = new_figure(9.5, 1.6 * -(-len(places) // 3) + 0.8)
    axes = figure.subplots(-(-len(places) // 3), 3, squeeze=False)
    for ax in axes.ravel()[len(places) :]:
        ax.set_visible(False)
    for i, (ax, place) in enumerate(zip(axes.ravel(), places, strict=False)):
        rows = [
            r for r in results.rows if (r["classifier"], r["pilot_classes"], r["classes"]) == place
        ]
        for y, row in enumerate(rows):
            if row["recorded"] is not None:
                ax.plot([row["recorded"]], [y], "o", color=COLOURS[1], mfc="none", label="recorded")
            if row["forecast"] is not None:
                ax.plot([row["forecast"]], [y], "x", color=COLOURS[0], label="ours")
        ax.axvline(rows[0]["truth"], color=TRUTH, linewidth=1)
        list_axis(ax, names, labelled=i % 3 == 0)
        ax.set_xlim(0.3, 1.02)
        ax.set_title(f"{place[0]}, {place[1]} to {place[2]}", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    shown = dict(zip([*labels, "truth"], [*handles, axes[0][0].lines[-1]], strict=True))
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=3, frameon=False)
    return figure
