"""The default on whole real sources that nothing was trained on, from 50 to 5,000 classes.

A source is a file of `python -m experiments sources`. Pilots are random sets of its classes; one
row of each class is its gallery, the others are probes. What is true is the accuracy among all
classes of the source, up to 50 times the pilot's. The *oracle* knows every pilot probe's U.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.figures import (
    COLOURS,
    GREY,
    MARKERS,
    count_axis,
    error_axis,
    new_figure,
    plain,
)
from experiments.journal import Record
from experiments.methods import forecast_record, rounded
from experiments.papers.cleanex_populations import oracle
from experiments.papers.pilots import digest
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from experiments.sources import layout
from experiments.yardstick.places import few_classes
from experiments.yardstick.tasks import ORACLE, mark
from headcount import Forecast, forecast
from headcount.errors import ParameterError
from headcount.estimators.registry import resolve_all
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population

Floats = NDArray[np.float64]

NAME = "kept_aside"
AUTO = "auto"
PLAIN = ("probit-normal", "regression", "high-dimensional")  # what large pilots are held against
METHODS = (AUTO, "bent-normal", *PLAIN)
PILOTS = {50: 30, 100: 30, 200: 30, 500: 30, 1000: 10, 2000: 10, 5000: 5}  # by classes
AT_LEAST = 4  # times the pilot's classes, in the source
REACH = 50  # times the pilot's classes are asked about, if there are so many
RATIOS = (1, 2, 5, 10, 20)  # of which intervals are looked at
TAIL = 0.95


@dataclass(frozen=True)
class Place:
    """Pilots of one size from one source; little to send around."""

    source: str
    path: str
    mark: str
    k1: int
    pilots: int


def kept_aside(
    settings: Settings,
    files: Sequence[Path],
    *,
    methods: Sequence[str] = METHODS,
    sizes: Sequence[int] | None = None,
    pilots: int | None = None,
) -> Results:
    """Forecast whole sources from random pilots of them.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    files : sequence of path
        The sources.
    methods : sequence of str
        Which methods; of `auto` the intervals are judged, too.
    sizes : sequence of int, optional
        Classes of pilots; by default those of `PILOTS` that are a quarter of the source or less.
    pilots : int, optional
        Pilots of each size, at most.

    Returns
    -------
    Results
        A row for each source, size and method; the shares of intervals of `auto` that hold are in
        the rows of `auto`.
    """
    places = [
        Place(path.stem, str(path.resolve()), digest(whole)[:8], size, count)
        for path in files
        for whole in (population(str(path.resolve())).whole,)
        for size, count in _counts(sizes, pilots).items()
        if AT_LEAST * size <= whole.n_classes
    ]
    if not places:
        raise ParameterError("no source has four times as many classes as the smallest pilot.")
    marks = "-".join(mark(estimator) for estimator in resolve_all(list(methods)).values())
    tasks = [
        Task(
            f"{NAME}/{place.source}@{place.mark}/{place.k1}/{repeat}/{marks}",
            partial(look, place, repeat, tuple(methods), settings.seed),
        )
        for place in places
        for repeat in range(place.pilots)
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    of_place, start = {}, 0
    for place in places:
        of_place[place] = records[start : start + place.pilots]
        start += place.pilots
    of_source: dict[str, list[Record]] = {}
    for place, own in of_place.items():
        of_source.setdefault(place.source, []).extend(own)
    return Results(
        bench=NAME,
        about=_about(records, len(files)),
        seed=settings.seed,
        options={"sources": [path.stem for path in files], "methods": list(methods)},
        rows=[
            {"source": place.source, "k1": place.k1} | row
            for place, own in of_place.items()
            for row in _rows(methods, own)
        ],
        details={
            "summary": [
                {"source": source} | row
                for source, own in of_source.items()
                for row in _rows(methods, own)
            ]
        },
        run=run,
    )


def _counts(sizes: Sequence[int] | None, pilots: int | None) -> dict[int, int]:
    """Return how many pilots there are of each size."""
    counts = PILOTS if sizes is None else {size: PILOTS.get(size, 10) for size in sizes}
    return {size: min(count, pilots or count) for size, count in counts.items()}


@lru_cache(maxsize=1)
def population(path: str) -> Population:
    """Return a source as a population: the first row of each class is its gallery."""
    half, labels, _ = layout.read(Path(path))
    vectors = half.astype(np.float64)
    _, first = np.unique(labels, return_index=True)
    probes = np.setdiff1d(np.arange(len(labels)), first)
    return Population(
        Pilot.from_embeddings(vectors[probes], labels[probes], vectors[first], labels[first])
    )


def look(place: Place, repeat: int, methods: Sequence[str], seed: int) -> Record:
    """Draw a pilot and return the errors of all methods, and how intervals of `auto` fare."""
    whole = population(place.path)
    pilot_seed = seed_for(seed, NAME, "pilot", place.source, place.k1, repeat)
    pilot = whole.pilot(place.k1, random_state=pilot_seed)
    ks, weights = few_classes(min(REACH * place.k1, whole.n_classes))
    truth = whole.truth(ks)

    def error(values: Any) -> float:
        gaps = np.asarray(values) - truth
        return rounded(np.sqrt(np.average(gaps**2, weights=weights)))

    record: Record = {"rmse": {ORACLE: error(oracle(whole.whole, pilot, ks))}, "refused": {}}
    for name, estimator in resolve_all([name for name in methods if name != AUTO]).items():
        answer = forecast_record(estimator, pilot, ks.tolist(), pilot_seed)
        if "accuracy" in answer:
            record["rmse"][name] = error(answer["accuracy"])
        else:
            record["refused"][name] = answer["refused"]
    if AUTO not in methods:
        return record
    result = forecast(pilot, classes=ks, method=AUTO, random_state=pilot_seed)
    record["rmse"][AUTO] = error(result.accuracy(ks))
    asked = [ratio * place.k1 for ratio in RATIOS if ratio * place.k1 <= whole.n_classes]
    return record | limits_and_step(result, asked, whole.truth(asked))


def limits_and_step(result: Forecast, asked: Sequence[int], truth: Floats) -> Record:
    """Return the limits of a forecast, what is true, and the step at the pilot's size."""
    size = result.observed.n_classes
    limits = result.interval(asked)
    assert limits is not None  # the default has them from ten classes on
    measured = float(result.observed.value(size, result.metric))
    low, high = result.interval(size) or (measured, measured)
    error = max((high - low) / (2 * 1.645), 1e-12)
    return {
        "truth": [rounded(value) for value in truth],
        "lower": [rounded(value) for value in limits[0]],
        "upper": [rounded(value) for value in limits[1]],
        "forecast": [rounded(value) for value in result.accuracy(asked)],
        "step": rounded((result.accuracy(size + 1) - measured) / error),
    }


# -- tables ----------------------------------------------------------------------------------------


def _rows(methods: Sequence[str], records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return a row for each method: errors, held against those of the oracle on the same pilots."""
    rows = []
    for name in (ORACLE, *methods):
        answered = [record["rmse"] for record in records if name in record["rmse"]]
        errors = [rmse[name] for rmse in answered]
        known = bool(errors)
        rows.append(
            {
                "method": name,
                "pilots": len(errors),
                "rmse": rounded(np.mean(errors)) if known else None,
                "standard_error": rounded(np.std(errors, ddof=1) / np.sqrt(len(errors)))
                if len(errors) > 1
                else None,
                "to_oracle": rounded(np.sum(errors) / np.sum([rmse[ORACLE] for rmse in answered]))
                if known
                else None,
                **(shares(records) if name == AUTO else dict.fromkeys(SHARES)),
                "why_refused": next(
                    (r["refused"][name] for r in records if name in r["refused"]), ""
                ),
            }
        )
    return rows


SHARES = (*(f"holds_{ratio}" for ratio in RATIOS), "step_95")


def shares(records: Sequence[Record]) -> dict[str, float | None]:
    """Return how many intervals hold at each ratio, and how large steps at K are."""
    held: dict[str, float | None] = {}
    for i, ratio in enumerate(RATIOS):
        inside = [
            r["lower"][i] <= r["truth"][i] <= r["upper"][i] for r in records if i < len(r["truth"])
        ]
        held[f"holds_{ratio}"] = rounded(np.mean(inside)) if inside else None
    steps = [abs(record["step"]) for record in records]
    return held | {"step_95": rounded(np.quantile(steps, TAIL))}


def draw(results: Results) -> Any:
    """Draw the ratio to the oracle's error against the pilot's size, a panel for each source."""
    sources = list(dict.fromkeys(row["source"] for row in results.rows))
    figure = new_figure(max(6.0, 1.0 + 3.2 * len(sources)), 3.8)
    axes = figure.subplots(1, len(sources), squeeze=False, sharey=True)[0]
    for ax, source in zip(axes, sources, strict=True):
        own = [row for row in results.rows if row["source"] == source]
        names = dict.fromkeys(row["method"] for row in own if row["method"] != ORACLE)
        for i, name in enumerate(names):
            points = [(r["k1"], r["to_oracle"]) for r in own if r["method"] == name]
            ax.plot(*zip(*points, strict=True), color=COLOURS[i], marker=MARKERS[i], label=name)
        ax.axhline(1.0, color=GREY, linewidth=0.8)
        count_axis(ax)
        error_axis(ax, "y")
        plain(ax)
        ax.set_xlabel("classes of the pilot")
        ax.set_title(source, fontsize=9)
    axes[0].set_ylabel("mean RMSE / that of every U known")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _about(records: Sequence[Record], n_sources: int) -> str:
    return (
        f"Forecasts of {n_sources} whole real sources that nothing was trained on, from "
        f"{len(records):,} random pilots: root mean squared error over all numbers of classes from "
        f"2 to {REACH} times the pilot's, its ratio to that of every U known (the oracle), how "
        "many of the default's nominal 90% intervals hold at 1, 2, 5, 10 and 20 times the pilot's "
        "classes, and the 95th percentile of its step at the pilot's size in standard errors."
    )
