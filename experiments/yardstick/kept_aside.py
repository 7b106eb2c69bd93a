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
from experiments.yardstick.places import few_classes
from experiments.yardstick.tasks import ORACLE, mark
from headcount import forecast
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
    rows, start = [], 0
    for place in places:
        rows += _rows(place, methods, records[start : start + place.pilots])
        start += place.pilots
    return Results(
        bench=NAME,
        about=_about(records, len(files)),
        seed=settings.seed,
        options={"sources": [path.stem for path in files], "methods": list(methods)},
        rows=rows,
        details={"summary": _summary(rows, methods)},
        run=run,
    )


def _counts(sizes: Sequence[int] | None, pilots: int | None) -> dict[int, int]:
    """Return how many pilots there are of each size."""
    counts = PILOTS if sizes is None else {size: PILOTS.get(size, 10) for size in sizes}
    return {size: min(count, pilots or count) for size, count in counts.items()}


@lru_cache(maxsize=1)
def population(path: str) -> Population:
    """Return a source as a population: the first row of each class is its gallery."""
    with np.load(path, allow_pickle=False) as read:
        vectors, labels = read["vectors"].astype(np.float64), read["labels"]
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
    for name, estimator in resolve_all(list(methods)).items():
        answer = forecast_record(estimator, pilot, ks.tolist(), pilot_seed)
        if "accuracy" in answer:
            record["rmse"][name] = error(answer["accuracy"])
        else:
            record["refused"][name] = answer["refused"]
    return record | (_intervals(whole, pilot, pilot_seed) if AUTO in methods else {})


def _intervals(whole: Population, pilot: Pilot, seed: int) -> Record:
    """Return which intervals hold, their widths, and the step at the pilot's size."""
    size = pilot.n_classes
    asked = [ratio * size for ratio in RATIOS if ratio * size <= whole.n_classes]
    result = forecast(pilot, classes=asked, method=AUTO, random_state=seed)
    limits = result.interval(asked)
    assert limits is not None  # the default has them from ten classes on
    truth = whole.truth(asked)
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


def _rows(place: Place, methods: Sequence[str], records: Sequence[Record]) -> list[dict[str, Any]]:
    floor = float(np.mean([record["rmse"][ORACLE] for record in records]))
    rows = []
    for name in (ORACLE, *methods):
        errors = [r["rmse"][name] for r in records if name in r["rmse"]]
        mean = float(np.mean(errors)) if errors else None
        several = len(errors) > 1
        rows.append(
            {
                "source": place.source,
                "k1": place.k1,
                "method": name,
                "pilots": len(errors),
                "rmse": None if mean is None else rounded(mean),
                "standard_error": rounded(np.std(errors, ddof=1) / np.sqrt(len(errors)))
                if several
                else None,
                "to_oracle": None if mean is None else rounded(mean / floor),
                **(_shares(records) if name == AUTO else dict.fromkeys(_COLUMNS)),
                "why_refused": next(
                    (r["refused"][name] for r in records if name in r["refused"]), ""
                ),
            }
        )
    return rows


_COLUMNS = (*(f"holds_{ratio}" for ratio in RATIOS), "step_95")


def _shares(records: Sequence[Record]) -> dict[str, float | None]:
    """Return how many intervals hold at each ratio, and how large steps at K are."""
    shares: dict[str, float | None] = {}
    for i, ratio in enumerate(RATIOS):
        inside = [
            r["lower"][i] <= r["truth"][i] <= r["upper"][i] for r in records if i < len(r["truth"])
        ]
        shares[f"holds_{ratio}"] = rounded(np.mean(inside)) if inside else None
    steps = [abs(record["step"]) for record in records]
    return shares | {"step_95": rounded(np.quantile(steps, TAIL))}


def _summary(rows: Sequence[dict[str, Any]], methods: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for each source and method, means over sizes: errors weigh as pilots do."""
    summary = []
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row for row in rows if row["source"] == source]
        for name in (ORACLE, *methods):
            answered = [r for r in own if r["method"] == name and r["rmse"] is not None]
            if not answered:
                continue
            floors = {r["k1"]: r["rmse"] for r in own if r["method"] == ORACLE}
            weights = [r["pilots"] for r in answered]
            mean = np.average([r["rmse"] for r in answered], weights=weights)
            floor = np.average([floors[r["k1"]] for r in answered], weights=weights)
            row = {"source": source, "method": name, "pilots": int(np.sum(weights)),
                   "rmse": rounded(mean), "to_oracle": rounded(mean / floor)}  # fmt: skip
            for column in _COLUMNS:
                there = [r for r in answered if r[column] is not None]
                weighted = [r[column] * r["pilots"] for r in there]
                total = sum(r["pilots"] for r in there)
                row[column] = rounded(sum(weighted) / total) if there else None
            summary.append(row)
    return summary


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
