"""Random pilots from a large set of classes, and forecasts of the whole set.

Table 1 and figures 8 and 9 of Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for
recognition tasks* (§5): the whole set plays the population, k1 of its classes the pilot, and the
forecast is held against the accuracy measured on all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.figures import (
    COLOURS,
    GREY,
    MARKERS,
    TRUTH,
    count_axis,
    error_axis,
    list_axis,
    new_figure,
    plain,
)
from experiments.journal import Record
from experiments.methods import Methods, check_fewer, forecast_record, rounded, stamp, summarised
from experiments.papers.pilots import digest, thinned
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.curves.observed import observe
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.pilot.pilot import Pilot
from headcount.support.validation import whole_number

NAME = "table1"
PILOT_CLASSES = (100, 200, 400, 800)
REPEATS = 300
CURVES = 10  # repeats whose whole curve is kept for the picture
SHOWN = ("regression-spline:bounded=False", "auto")  # whose curves are drawn, where they take part

# Paper 000, Table 1: faces of 1,672 people, OpenFace, convex linear splines with m = 10,000. Slip:
# its columns are headed 100, 200, 300 and 400. The last two are pilots of 400 and 800 classes: the
# text says so, and the standard deviations are those of the authors' recorded forecasts
# (.2766, .1783, .0663 and .0204 at 100, 200, 400 and 800).
PRINTED = {
    100: {"bias": -0.090, "sd": 0.277, "rmse": 0.291},
    200: {"bias": -0.062, "sd": 0.178, "rmse": 0.189},
    400: {"bias": -0.016, "sd": 0.066, "rmse": 0.068},
    800: {"bias": -0.001, "sd": 0.020, "rmse": 0.020},
}


# What the paper fits, with D(1) left free; ours keeps it at most one.
PAPERS_FIT = "regression-spline:bounded=False"


def usual_methods() -> dict[str, Extrapolator]:
    """Return all registered methods, the paper's fit, the bandwidths of 001, and a network."""
    bandwidths = [f"kde:bandwidth={rule}" for rule in ("nrd0", "pseudolikelihood")]
    return resolve_all() | resolve_all([PAPERS_FIT, *bandwidths, "cleanex-fast"])


# What each method said from each size of pilot, repeat by repeat.
Answers = dict[tuple[str, int], list[Record]]


def table1(
    pilot: Pilot,
    settings: Settings,
    *,
    source: str = "",
    pilot_classes: Sequence[int] = PILOT_CLASSES,
    repeats: int = REPEATS,
    fewer: Mapping[str, int] | None = None,
    methods: Methods | None = None,
    probes_per_class: int | None = None,
) -> Results:
    """Forecast a whole set of classes from random pilots of it.

    Every method sees the same pilots. A method that refuses a pilot is judged on the others, and
    how many it refused is told.

    Parameters
    ----------
    pilot : Pilot
        The whole set, with scores or embeddings.
    settings : Settings
        Where to write, seed and workers.
    source : str
        What the set is called.
    pilot_classes : sequence of int
        Sizes k1 of the pilots.
    repeats : int
        Random pilots of each size.
    fewer : mapping, optional
        Smaller numbers of repeats for slow methods, by name.
    methods : mapping, optional
        Estimators by name; see `usual_methods` for the default.
    probes_per_class : int, optional
        Keep at most so many probes of each class, drawn once.

    Returns
    -------
    Results
        A row for each method and k1: mean forecast, bias, sd and RMSE against the whole set.
    """
    methods = usual_methods() if methods is None else methods
    fewer = dict(fewer or {})
    whole = thinned(pilot, probes_per_class, settings.seed)
    sizes = sorted(set(pilot_classes))
    _check(whole, sizes, repeats, fewer, methods)
    places = [
        (name, k1, repeat)
        for k1 in sizes
        for name in methods
        for repeat in range(min(repeats, fewer.get(name, repeats)))
    ]
    marks = {name: stamp(estimator) for name, estimator in methods.items()}
    tasks = [
        Task(
            f"{NAME}/{k1}/{repeat}/{name}@{marks[name]}",
            partial(forecast_once, whole, methods[name], k1, repeat, settings.seed),
        )
        for name, k1, repeat in places
    ]
    identity = {"pilot": digest(whole), "probes_per_class": probes_per_class}
    records, run = conduct(NAME, tasks, identity, settings)
    truth = float(observe(whole).accuracy(whole.n_classes))
    answers: Answers = {(name, k1): [] for k1 in sizes for name in methods}
    for (name, k1, _), record in zip(places, records, strict=True):
        answers[name, k1].append(record)
    rows = [_row(name, k1, outcomes, truth) for (name, k1), outcomes in answers.items()]
    return Results(
        bench=NAME,
        about=(
            f"Random pilots of {source or 'a set'} ({whole.n_classes:,} classes, "
            f"{whole.n_probes:,} probes): errors of forecasts of the accuracy on the whole set, "
            f"which is {truth:.4f}. Table 1 and figures 8 and 9 of Zheng, Achanta and Benjamini, "
            "whose own numbers (OpenFace, 1,672 people) are a guide, not a target."
        ),
        seed=settings.seed,
        options={
            "source": source,
            "n_classes": whole.n_classes,
            "n_probes": whole.n_probes,
            "pilot_classes": sizes,
            "repeats": repeats,
            "fewer_repeats": fewer,
            "methods": list(methods),
            "probes_per_class": probes_per_class,
        },
        rows=rows,
        details=_details(whole, sizes, methods, answers, truth),
        run=run | {"seconds_a_forecast": _seconds(methods, answers)},
    )


def forecast_once(whole: Pilot, estimator: Extrapolator, k1: int, repeat: int, seed: int) -> Record:
    """Forecast the whole set from one random pilot, the same for every method."""
    pilot = draw_pilot(whole, k1, repeat, seed)
    ks = curve_classes(k1, whole.n_classes) if repeat < CURVES else [whole.n_classes]
    return forecast_record(estimator, pilot, ks, seed_for(seed, NAME, "method", k1, repeat))


def draw_pilot(whole: Pilot, k1: int, repeat: int, seed: int) -> Pilot:
    """Return the pilot of k1 random classes that belongs to a repeat."""
    rng = np.random.default_rng(seed_for(seed, NAME, "pilot", k1, repeat))
    return whole.subset(rng.choice(whole.class_names, k1, replace=False))


def curve_classes(k1: int, n_classes: int) -> list[int]:
    """Return numbers of classes from the pilot's to the whole set's, evenly on a log scale."""
    ks = np.unique(np.geomspace(k1, n_classes, 15).round().astype(int))
    return [int(k) for k in ks]


def _check(
    whole: Pilot, sizes: Sequence[int], repeats: int, fewer: Mapping[str, int], methods: Methods
) -> None:
    if not whole.has_scores:
        raise UnsupportedError(
            "random pilots need scores or embeddings, but this set holds only counts, which do "
            "not say who beat whom."
        )
    for k1 in sizes:
        if not 2 <= whole_number(k1, "--pilot-classes", 2) < whole.n_classes:
            raise ParameterError(
                f"a pilot of {k1:,} classes cannot be drawn to forecast {whole.n_classes:,}; "
                "--pilot-classes must be below the size of the whole set."
            )
    whole_number(repeats, "--repeats", 1)
    check_fewer(fewer, methods)


def _row(name: str, k1: int, records: list[Record], truth: float) -> dict[str, Any]:
    forecasts = [record["accuracy"][-1] for record in records if "accuracy" in record]
    refusals = sorted({record["refused"] for record in records if "refused" in record})
    return {
        "method": name,
        "pilot_classes": k1,
        "repeats": len(records),
        "refused": len(records) - len(forecasts),
        "truth": rounded(truth),
        "mean_forecast": rounded(np.mean(forecasts)) if forecasts else None,
        **summarised([value - truth for value in forecasts]),
        "why_refused": refusals[0] if refusals else "",
    }


def _details(
    whole: Pilot, sizes: Sequence[int], methods: Methods, answers: Answers, truth: float
) -> dict[str, Any]:
    ks = curve_classes(2, whole.n_classes)
    first = [name for name in SHOWN if name in methods] or list(methods)[:1]
    curves = [
        {
            "method": name,
            "pilot_classes": k1,
            "repeat": repeat,
            "classes": curve_classes(k1, whole.n_classes),
            "accuracy": [rounded(value) for value in record["accuracy"]],
        }
        for (name, k1), records in answers.items()
        for repeat, record in enumerate(records[:CURVES])
        if name in first and "accuracy" in record
    ]
    forecasts = {
        name: {str(k1): [_last(record) for record in answers[name, k1]] for k1 in sizes}
        for name in methods
    }
    notes = {note for records in answers.values() for r in records for note in r["notes"]}
    return {
        "truth": rounded(truth),
        "observed": {"classes": ks, "accuracy": observe(whole).accuracy(ks).round(6).tolist()},
        "printed": {str(k1): PRINTED[k1] for k1 in PRINTED},
        "notes": sorted(notes)[:20],
        "curves": curves,
        "forecasts": forecasts,
    }


def _last(record: Record) -> float | None:
    return rounded(record["accuracy"][-1]) if "accuracy" in record else None


def _seconds(methods: Methods, answers: Answers) -> dict[str, float]:
    return {
        name: round(
            float(np.mean([r["seconds"] for p in answers if p[0] == name for r in answers[p]])), 4
        )
        for name in methods
    }


def draw(results: Results) -> Any:
    """Draw forecast curves for each k1, and the RMSE of every method."""
    sizes, details = results.options["pilot_classes"], results.details
    names = _by_rmse(results)
    figure = new_figure(max(8.0, 2.7 * len(sizes)), 4.2 + 0.24 * len(names))
    upper, lower = figure.subfigures(2, 1, height_ratios=[3.2, 1.4 + 0.24 * len(names)])
    axes = upper.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for ax, k1 in zip(axes, sizes, strict=True):
        _draw_curves(ax, k1, details)
    axes[0].set_ylabel("accuracy")
    handles, labels = axes[0].get_legend_handles_labels()
    upper.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    _draw_errors(lower.subplots(), names, results)
    return figure


def _draw_curves(ax: Any, k1: int, details: dict[str, Any]) -> None:
    observed = details["observed"]
    shown = list(dict.fromkeys(curve["method"] for curve in details["curves"]))
    labelled: set[str] = set()
    for curve in details["curves"]:
        name = curve["method"]
        if curve["pilot_classes"] == k1:
            ax.plot(
                curve["classes"],
                curve["accuracy"],
                color=(COLOURS[1], COLOURS[0])[shown.index(name)],
                linewidth=0.8,
                alpha=0.7,
                label=None if name in labelled else name,
            )
            labelled.add(name)
    ax.plot(observed["classes"], observed["accuracy"], color=TRUTH, linewidth=1.6, label="truth")
    ax.axvline(k1, color=GREY, linewidth=0.8)
    ax.set_title(f"from {k1:,} classes", fontsize=10)
    ax.set_ylim(_floor(details), 1.02)
    count_axis(ax)
    plain(ax)


def _floor(details: dict[str, Any]) -> float:
    """Return a tenth below every curve, so that sets with high accuracy can be read too."""
    lowest = min(min(curve["accuracy"]) for curve in [details["observed"], *details["curves"]])
    return max(0.0, float(np.floor(10 * lowest)) / 10)


def _draw_errors(ax: Any, names: list[str], results: Results) -> None:
    for i, k1 in enumerate(results.options["pilot_classes"]):
        values = {row["method"]: row["rmse"] for row in results.rows if row["pilot_classes"] == k1}
        ax.plot(
            [np.nan if values[name] is None else values[name] for name in names],
            range(len(names)),
            MARKERS[i % len(MARKERS)],
            color=COLOURS[i % len(COLOURS)],
            markersize=5,
            label=f"from {k1:,}",
        )
    list_axis(ax, names)
    error_axis(ax)
    ax.set_xlabel(f"RMSE at {results.options['n_classes']:,} classes")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def _by_rmse(results: Results) -> list[str]:
    """Methods, best first: by their mean RMSE over the sizes; those that always refuse last."""

    def mean(name: str) -> float:
        values = [r["rmse"] for r in results.rows if r["method"] == name and r["rmse"] is not None]
        return float(np.mean(values)) if values else np.inf

    return sorted(results.options["methods"], key=mean)
