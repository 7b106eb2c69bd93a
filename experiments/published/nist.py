"""Face search among 12 million people, forecast from the figures for 1.6 million.

NIST's report of 2021 on one-to-many face recognition gives, for each algorithm, the share of
searches whose true person is not among the first 1 ... 50 of 1,600,000 people, and the share not
ranked first among up to 12,000,000. The former make a pilot: the number of losses of each search,
known up to 49 and cut there. The latter are the truth.

P. Grother, M. Ngan and K. Hanaoka, Face Recognition Vendor Test Part 2: Identification,
NISTIR 8271 draft supplement, 2021.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.figures import COLOURS, GREY, error_axis, new_figure, plain
from experiments.journal import Record
from experiments.methods import forecast_record, rounded
from experiments.papers.pilots import digest
from experiments.results import Results
from experiments.runner import Settings, Task, conduct
from experiments.yardstick.tasks import mark
from headcount import forecast
from headcount.errors import DataError, ParameterError
from headcount.estimators.registry import resolve_all
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

NAME = "nist"
CURVES, TRUTHS = "frvt1n_2021_cmc_N1.6M.csv", "frvt1n_2021_rank1_fnir_vs_N.csv"
PEOPLE, SEARCHES = 1_600_000, 154_549
FEWER = 640_000  # the other measured size that a straight line needs
LARGER = (3_000_000, 6_000_000, 12_000_000)
AUTO, LINE = "auto", "straight line through two sizes"
METHODS = (AUTO, "bent-normal", "probit-normal", "pseudolikelihood")


def nist(settings: Settings, folder: Path, *, methods: Sequence[str] = METHODS) -> Results:
    """Forecast miss rates among more people and hold them against those measured.

    Parameters
    ----------
    settings : Settings
        Where to write and workers.
    folder : path
        Holds the two tables.
    methods : sequence of str
        Which methods; of `auto` the intervals are judged, too.

    Returns
    -------
    Results
        A row for each algorithm, method and number of people.
    """
    misses, truths = read_misses(folder / CURVES), read_misses(folder / TRUTHS)
    names = [name for name in misses if name in truths and np.isfinite(truths[name]).all()]
    if not names:
        raise ParameterError(f"{CURVES} and {TRUTHS} share no algorithm.")
    marks = "-".join(mark(estimator) for estimator in resolve_all(list(methods)).values())
    tasks = [
        Task(
            f"{NAME}/{name}@{digest(pilot_of(misses[name]))[:8]}/{marks}",
            partial(look, misses[name].tolist(), tuple(methods)),
        )
        for name in names
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    rows = [
        row
        for name, record in zip(names, records, strict=True)
        for row in _rows(name, record, truths[name])
    ]
    return Results(
        bench=NAME,
        about=(
            f"Miss rates of {len(names)} face recognisers among up to {LARGER[-1]:,} people, "
            f"forecast from how {SEARCHES:,} searches ranked the true person among {PEOPLE:,}, as "
            "far as rank 50. Ratios are forecast to measured misses."
        ),
        seed=settings.seed,
        options={"methods": list(methods)},
        rows=rows,
        details={"summary": _summary(rows)},
        run=run,
    )


def read_misses(path: Path) -> dict[str, Floats]:
    """Return the numbers of each algorithm in a table; nan where there are none."""
    if not path.exists():
        raise DataError(f"there is no {path.name} in that folder.")
    with path.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.reader(stream))[1:]
    return {line[0]: np.array([float(cell or "nan") for cell in line[1:]]) for line in lines}


def pilot_of(misses: Floats) -> Pilot:
    """Return the pilot behind miss rates at rank 1, 2 and so on: losses, cut at the last rank."""
    beyond = np.minimum.accumulate(np.concatenate([[1.0], misses]))  # losses of 0, 1 ... or more
    ends = np.round(SEARCHES * (1 - beyond[1:])).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    losses = np.repeat(np.arange(len(misses)), counts)
    cut = SEARCHES - len(losses)
    return Pilot.from_losses(
        np.concatenate([losses, np.full(cut, len(misses))]),
        n_classes=PEOPLE,
        censored=np.concatenate([np.zeros(len(losses), np.bool_), np.ones(cut, np.bool_)]),
    )


def look(misses: Sequence[float], methods: Sequence[str]) -> Record:
    """Return what each method forecasts for one algorithm, and the limits of the default."""
    pilot = pilot_of(np.asarray(misses))
    record: Record = {"misses": {}, "refused": {}}
    for name, estimator in resolve_all([name for name in methods if name != AUTO]).items():
        answer = forecast_record(estimator, pilot, LARGER, 0)
        if "accuracy" in answer:
            record["misses"][name] = [1 - value for value in answer["accuracy"]]
        else:
            record["refused"][name] = answer["refused"]
    if AUTO in methods:
        result = forecast(pilot, classes=LARGER, method=AUTO)
        limits = result.interval(LARGER)
        assert limits is not None  # there are always some for so many classes
        record["misses"][AUTO] = (1 - result.accuracy(LARGER)).tolist()
        record["limits"] = [(1 - limits[1]).tolist(), (1 - limits[0]).tolist()]
    return record


def _rows(algorithm: str, record: Record, truth: Floats) -> list[dict[str, Any]]:
    fewer, pilot, *larger = truth.tolist()
    power = np.log(pilot / fewer) / np.log(PEOPLE / FEWER) if fewer > 0 and pilot > 0 else np.nan
    line = [pilot * (k / PEOPLE) ** power for k in LARGER]
    lines = {} if np.isnan(power) else {LINE: line}
    return [
        {
            "algorithm": algorithm,
            "method": name,
            "people": k,
            "measured": rounded(measured),
            "forecast": rounded(value),
            "ratio": rounded(value / measured) if measured > 0 and value > 0 else None,
            "lower": rounded(record["limits"][0][i]) if name == AUTO else None,
            "upper": rounded(record["limits"][1][i]) if name == AUTO else None,
        }
        for name, values in (record["misses"] | lines).items()
        for i, (k, measured, value) in enumerate(zip(LARGER, larger, values, strict=True))
    ]


def _summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    summary = []
    for name in dict.fromkeys(row["method"] for row in rows):
        for k in LARGER:
            own = [row for row in rows if row["method"] == name and row["people"] == k]
            ratios = np.array([row["ratio"] for row in own if row["ratio"] is not None])
            inside = [row["lower"] <= row["measured"] <= row["upper"] for row in own
                      if row["lower"] is not None]  # fmt: skip
            summary.append(
                {
                    "method": name,
                    "people": k,
                    "algorithms": len(ratios),
                    "median_ratio": rounded(np.median(ratios)),
                    "log_error": rounded(np.abs(np.log(ratios)).mean()),
                    "holds": rounded(np.mean(inside)) if inside else None,
                }
            )
    return summary


def draw(results: Results) -> Any:
    """Draw forecast against measured misses among most people, a dot for each algorithm."""
    figure = new_figure(5.2, 4.8)
    ax = figure.subplots()
    shown = [row for row in results.rows if row["people"] == LARGER[-1] and row["ratio"]]
    for i, name in enumerate(dict.fromkeys(row["method"] for row in shown)):
        points = [(row["measured"], row["ratio"]) for row in shown if row["method"] == name]
        ax.plot(*zip(*points, strict=True), "o", markersize=4, alpha=0.7, color=COLOURS[i],
                label=name)  # fmt: skip
    ax.axhline(1.0, color=GREY, linewidth=0.8)
    error_axis(ax)
    error_axis(ax, "y")
    plain(ax)
    ax.set_xlabel(f"measured miss rate among {LARGER[-1]:,} people")
    ax.set_ylabel("forecast / measured")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return figure
