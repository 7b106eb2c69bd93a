"""What is kept of a pilot whose forecast is held against the truth, and how intervals are judged.

Fitting is slow and judging is not. A record keeps what the pilot and its back-test say about
errors, before anything learned is added, so that other constants in
`headcount.uncertainty.refitted` can be judged without fitting again.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.journal import Record
from experiments.methods import rounded, stamp
from experiments.runner import AGAIN
from headcount.curves.favorability import Favorability
from headcount.curves.grown import grown_value
from headcount.curves.observed import observe
from headcount.errors import HeadcountError, MissingExtraError, listening
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.auto.network import FILE
from headcount.metrics import ACCURACY, Metric, resolve_metric
from headcount.pilot.pilot import Pilot
from headcount.support.grids import observed_or_forecast
from headcount.uncertainty.backtest import Backtest, backtest
from headcount.uncertainty.intervals import Uncertainty, assess, plausible_moves
from headcount.uncertainty.refitted import MODEL, ErrorModel, RefitErrors, refit_errors
from headcount.uncertainty.resampling import curve_grid

Floats = NDArray[np.float64]

CONFIDENCE = 0.9
# What was aimed at: the share of intervals that hold the truth, over all pilots of a family and
# for every single setting, and the mean width against the spread of the errors.
GOOD = (0.85, 0.95)
LEAST = 0.75
WIDEST = 1.3
SETS = ("new_set", "grown_set")
# Code besides the estimators' that records depend on.
CODE = (
    "headcount.uncertainty.intervals",
    "headcount.uncertainty.measured",
    "headcount.uncertainty.backtest",
    "headcount.uncertainty.resampling",
    "headcount.curves.observed",
    "headcount.curves.grown",
    "headcount.uncertainty.asymptotics",
    "headcount.uncertainty.jackknife",
)


# -- records ---------------------------------------------------------------------------------------


def examined(
    pilot: Pilot,
    estimator: Extrapolator,
    classes: Sequence[int],
    seed: int,
    metrics: Sequence[str] = (ACCURACY.name,),
) -> Record:
    """Forecast and back-test; return the estimates and what is known about their errors.

    The method is fitted once, whatever the number of metrics. A method that gives plausible laws is
    not back-tested, as its intervals take nothing from that; others are, for each metric.

    Parameters
    ----------
    pilot : Pilot
        What the method may see.
    estimator : Extrapolator
        Not fitted; copies are.
    classes : sequence of int
        Numbers of classes asked about, none below the pilot's own.
    seed : int
        Of the back-test's draws.
    metrics : sequence of str
        What is forecast, as `resolve_metric` takes it.

    Returns
    -------
    dict
        ``value`` of the first metric at each number of classes, on a random set and on a ``grown``
        one (None where the method has no law), ``uncertainty`` (`Uncertainty.to_dict`, on a grid
        of just these), ``refits`` (what the moves in it follow from, which are left out then; None
        where the method gives plausible laws), the ratio ``supported`` by the back-test and
        ``seconds``; or ``refused``, a sentence. ``notes`` has the warnings. What the back-test's
        refits said is kept too
        (``steps``, and ``halves`` at the same numbers of classes), to try other models on.
        ``others`` has the same of each further metric, by name (`of_metric`).
    """
    start = time.perf_counter()
    with listening() as notes:
        outcome = _tried(pilot, estimator, classes, seed, [*map(resolve_metric, metrics)])
    seconds = round(time.perf_counter() - start, 3)
    return outcome | {"notes": sorted(set(notes)), "seconds": seconds}


def _tried(
    pilot: Pilot,
    estimator: Extrapolator,
    classes: Sequence[int],
    seed: int,
    metrics: Sequence[Metric],
) -> Record:
    why, again = "it gave a forecast that is not a number.", False
    try:
        fitted = resolve(estimator).fit(pilot)
        records = {metric.name: _of_fit(pilot, fitted, classes, seed, metric) for metric in metrics}
        is_refused = not all(np.isfinite(record["value"]).all() for record in records.values())
    except HeadcountError as error:
        is_refused, why, again = True, str(error), isinstance(error, MissingExtraError)
    if is_refused:
        records = {metric.name: {"refused": why} for metric in metrics}
    record = records.pop(metrics[0].name) | {"others": records}
    return record | {AGAIN: True} if again else record


def of_metric(record: Record, metric: str) -> Record:
    """Return what a record says of a metric: as it is that of the first one."""
    return record["others"].get(metric, record)


def _of_fit(
    pilot: Pilot, fitted: Extrapolator, classes: Sequence[int], seed: int, metric: Metric
) -> Record:
    """Return what one fit says of a metric, and how far that may be off."""
    observed = observe(pilot)
    tested = _backtest(pilot, fitted, classes, seed, metric)
    value = observed_or_forecast(
        classes,
        pilot.n_classes,
        lambda k: observed.value(k, metric),
        lambda k: fitted.value(k, metric),
    )
    law = fitted.law(classes)
    grown = None
    if isinstance(law, Favorability):
        grown = grown_value(observed, law, classes, metric).tolist()
    uncertainty = at_classes(assess(pilot, tested, fitted), classes)
    refits = None if fitted.gives_laws else _refits_at(tested, uncertainty)
    return {
        "classes": [int(k) for k in classes],
        "value": value.tolist(),
        "grown": grown,
        "uncertainty": uncertainty.to_dict() | ({} if refits is None else {"moves": None}),
        "refits": refits,
        "supported": tested.supported,
        "steps": [
            {"ratio": step.ratio, "forecasts": _short(step.forecasts)} for step in tested.steps
        ],
        "halves": [_short(row) for row in tested.halves[:, np.isin(tested.grid, classes)]],
    }


def _backtest(
    pilot: Pilot, fitted: Extrapolator, classes: Sequence[int], seed: int, metric: Metric
) -> Backtest:
    """Return a back-test, without steps where intervals do not rest on any."""
    if not fitted.gives_laws:
        return backtest(pilot, method=fitted, metric=metric, classes=classes, random_state=seed)
    grid = curve_grid(pilot.n_classes, tuple(classes))
    return Backtest(
        n_classes=pilot.n_classes,
        method=fitted.alias,
        observed=float(observe(pilot).value(pilot.n_classes, metric)),
        steps=(),
        grid=grid,
        halves=np.empty((0, len(grid))),
        metric=metric,
    )


def _short(values: Any) -> list[float]:
    return [rounded(value) for value in values]


def _refits_at(tested: Backtest, uncertainty: Uncertainty) -> Record:
    """Return what refits say of errors, as plain data."""
    measured = float(uncertainty.observed_error[-1])
    errors = refit_errors(tested, measured, uncertainty.n_probes, uncertainty.grid)
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(errors).items()
    }


def at_classes(uncertainty: Uncertainty, classes: Sequence[int]) -> Uncertainty:
    """Return the same errors on a grid of only some numbers of classes, which it must have."""
    places = np.searchsorted(uncertainty.grid, classes)
    assert (uncertainty.grid[places] == classes).all()
    return replace(
        uncertainty,
        grid=uncertainty.grid[places],
        moves=uncertainty.moves[:, places],
        sampled=uncertainty.sampled[places],
    )


def refits_of(record: Record) -> RefitErrors:
    """Return what a record keeps of refits."""
    kept = record["refits"]
    growth = None if kept["growth"] is None else np.array(kept["growth"])
    return RefitErrors(np.array(kept["reach"]), kept["measured"], growth, np.array(kept["bias"]))


def errors_of(record: Record, model: ErrorModel = MODEL) -> Uncertainty:
    """Return the errors that a record keeps; where they rest on refits, under a model."""
    kept = record["uncertainty"]
    if record["refits"] is not None:
        half = 0.5 / kept["n_probes"]
        errors, estimate = refits_of(record), np.array(record["value"])
        moves, _ = plausible_moves(estimate, None, errors, half, model)
        kept = kept | {"moves": moves.tolist()}
    return Uncertainty.from_dict(kept)


def mark(estimator: Extrapolator, more: Sequence[str] = ()) -> str:
    """Return a mark of the code that records depend on, for the keys of tasks.

    Constants that only judging needs (`headcount.uncertainty.refitted`) are not in it, nor are
    comments. Further modules may be named: those that pilots are drawn by.
    """
    whole = hashlib.sha256(stamp(estimator).encode())
    # Learned weights lie beside the default method and are not code.
    whole.update((files("headcount.estimators.auto") / FILE).read_bytes())
    for name in (*CODE, *more):
        source = inspect.getsource(import_module(name))
        whole.update(ast.dump(ast.parse(source)).encode())
    whole.update(repr(sorted(Uncertainty.__dataclass_fields__)).encode())
    return whole.hexdigest()[:8]


# -- judging ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One interval, held against the truth.

    Attributes
    ----------
    family, setting, pilot_classes, ratio
        Where it belongs.
    estimate, truth, lower, upper : float
        What was forecast, what is so, and the interval.
    sets : dict
        For each kind of interval for one set, whether it held what was measured there.
    metric : str
        Of what.
    """

    family: str
    setting: str
    pilot_classes: int
    ratio: float
    estimate: float
    truth: float
    lower: float
    upper: float
    sets: Mapping[str, bool]
    metric: str = ACCURACY.name


def judge(
    record: Record,
    model: ErrorModel,
    ratios: Sequence[float],
    *,
    family: str,
    setting: str,
    confidence: float = CONFIDENCE,
) -> list[Judged]:
    """Make the intervals of a record under a model, and hold them against the truth.

    Parameters
    ----------
    record : dict
        What `examined` returned, and ``truth`` at the same numbers of classes; where they were
        drawn also ``sets``, values measured on one set of each size by kind of interval, with
        ``set_probes`` probes a class.
    model : ErrorModel
        What was learned about errors of methods without laws of their own.
    ratios : sequence of float
        k / K of each of its numbers of classes.
    family, setting : str
        Where it belongs.
    confidence : float
        Nominal share of intervals that hold the truth.
    """
    uncertainty, k, value = errors_of(record, model), record["classes"], record["value"]
    lower, upper = uncertainty.band(value, k, confidence)
    inside = {}
    for kind, measured in record.get("sets", {}).items():
        estimate = record["grown"] if kind == "grown_set" else value
        if estimate is None:
            continue
        ends = uncertainty.band(estimate, k, confidence, kind, record["set_probes"])
        inside[kind] = (ends[0] <= measured) & (measured <= ends[1])
    return [
        Judged(
            family, setting, uncertainty.n_classes, ratio, value[i], record["truth"][i],
            float(lower[i]), float(upper[i]), {kind: bool(inside[kind][i]) for kind in inside},
            uncertainty.metric.name,
        )
        for i, ratio in enumerate(ratios)
    ]  # fmt: skip


def cell(intervals: Sequence[Judged]) -> dict[str, Any]:
    """Summarise intervals at one ratio.

    The standard error of the coverage counts one more hit and one more miss than there were, so
    that it is not zero where all intervals hold the truth. ``below`` and ``above`` are the shares
    of truths on either side of their interval; ``spread`` is that of estimate minus truth from its
    5% to its 95% quantile.

    Examples
    --------
    >>> first = Judged("f", "s", 10, 2, 0.5, 0.4, 0.3, 0.6, {})
    >>> second = replace(first, truth=0.7)
    >>> row = cell([first, second])
    >>> row["coverage"], row["above"], row["mean_width"], row["mean_error"]
    (0.5, 0.5, 0.3, -0.05)
    """
    if not intervals:
        return dict.fromkeys(CELL) | {"pilots": 0}
    truth, lower, upper = (
        np.array([getattr(interval, name) for interval in intervals])
        for name in ("truth", "lower", "upper")
    )
    errors = np.array([interval.estimate for interval in intervals]) - truth
    n, hit = len(intervals), (lower <= truth) & (truth <= upper)
    cautious = (hit.sum() + 1) / (n + 2)
    width, spread = np.mean(upper - lower), np.subtract(*np.quantile(errors, [0.95, 0.05]))
    values: list[Any] = [
        n, rounded(hit.mean()), rounded(np.sqrt(cautious * (1 - cautious) / n)),
        rounded(np.mean(truth < lower)), rounded(np.mean(truth > upper)),
        rounded(width), rounded(spread), rounded(width / spread) if spread > 0 else None,
        rounded(errors.mean()), rounded(truth.mean()),
    ]  # fmt: skip
    for kind in SETS:
        inside = [interval.sets[kind] for interval in intervals if kind in interval.sets]
        values.append(rounded(np.mean(inside)) if inside else None)
    return dict(zip(CELL, values, strict=True))


CELL = (
    "pilots", "coverage", "standard_error", "below", "above", "mean_width", "spread",
    "width_ratio", "mean_error", "mean_truth", *SETS,
)  # fmt: skip


def cells(intervals: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return a row for each family and ratio, then one for each setting and ratio, of one metric.

    Those of families have the ``lowest`` coverage of their settings, and what misses its target.
    """
    singles: dict[tuple[str, str, int, float], list[Judged]] = {}
    pooled: dict[tuple[str, float], list[Judged]] = {}
    for interval in intervals:
        place = (interval.family, interval.setting, interval.pilot_classes, interval.ratio)
        singles.setdefault(place, []).append(interval)
        pooled.setdefault((interval.family, interval.ratio), []).append(interval)
    metric = intervals[0].metric
    rows: list[dict[str, Any]] = [
        {"metric": metric, "family": family, "setting": setting}
        | {"pilot_classes": size, "ratio": ratio}
        | {"lowest": None, "missed": ""}
        | cell(members)
        for (family, setting, size, ratio), members in singles.items()
    ]
    whole = []
    for (family, ratio), members in pooled.items():
        covered = [
            row["coverage"] for row in rows if (row["family"], row["ratio"]) == (family, ratio)
        ]
        summary = cell(members)
        whole.append(
            {"metric": metric, "family": family, "setting": "all"}
            | {"pilot_classes": None, "ratio": ratio}
            | {"lowest": min(covered), "missed": missed(summary, min(covered))}
            | summary
        )
    return whole + rows


def missed(summary: Mapping[str, Any], lowest: float) -> str:
    """Return which targets the intervals of a family miss, in words; nothing where all are met.

    Examples
    --------
    >>> missed({"coverage": 0.97, "width_ratio": 1.2}, lowest=0.7)
    'covers too often, a setting is below 75%'
    """
    low, high = GOOD
    reasons = {
        "covers too seldom": summary["coverage"] < low,
        "covers too often": summary["coverage"] > high,
        "too wide": summary["width_ratio"] is None or summary["width_ratio"] > WIDEST,
        f"a setting is below {LEAST:.0%}": lowest < LEAST,
    }
    return ", ".join(reason for reason, holds in reasons.items() if holds)
