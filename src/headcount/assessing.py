"""What a pilot and its back-test say about the errors of its forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit as log_odds

from headcount.backtest_result import Backtest, BacktestStep
from headcount.error_model import MODEL, STATED_MODEL, ErrorModel
from headcount.estimators import Extrapolator
from headcount.observed import observe
from headcount.observed_error import (
    TINY,
    of_log_odds,
    probe_variance,
    probes_per_class,
    standard_error,
)
from headcount.pilot import Pilot
from headcount.subsampling import Refit, Subsamples
from headcount.threads import doing
from headcount.uncertainty import Uncertainty

Floats = NDArray[np.float64]

NOISE, RIDGE = 0.05, 30.0  # of the back-test's steps, on the scale of log odds
POINTS = 12  # numbers of classes up to K at which the jackknife is done


@doing("Leaving out each class in turn")
def assess(pilot: Pilot, backtest: Backtest, fitted: Extrapolator | None = None) -> Uncertainty:
    """Return how far forecasts from a pilot may be off.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    backtest : Backtest
        Of the same method on the same pilot; without steps where there are too few classes.
    fitted : Extrapolator, optional
        The fitted method, which may state its own error.
    """
    n_classes, grid, seen = pilot.n_classes, backtest.grid, observe(pilot)
    half = 0.5 / pilot.n_probes
    at_pilot = float(seen.accuracy(n_classes))
    middle = np.clip(at_pilot, half, 1 - half)
    inside = np.unique(np.geomspace(2, n_classes, POINTS).round().astype(np.int64))
    spread, shared = standard_error(pilot, seen, inside)
    error = of_log_odds(pilot, seen, inside, spread)
    x = np.log(np.maximum(grid / n_classes, 1.0))
    whole = float(error[-1] * middle * (1 - middle)) ** 2
    known = probe_variance(pilot)
    stated = None if fitted is None else fitted.stated_error(grid / n_classes)
    within = 0.0 if known is None else min(known, whole)
    return Uncertainty(
        n_classes=n_classes,
        n_probes=pilot.n_probes,
        grid=grid,
        observed_error=np.interp(np.log(grid), np.log(inside), error),
        growth=_growth(backtest, half, x),
        bias=_bias(backtest, middle, half, x),
        class_variance=whole - within,
        probe_variance=within,
        probes_per_class=probes_per_class(pilot),
        observed=at_pilot,
        shared_rivals=shared,
        told_apart=known is not None and bool(spread[-1] > TINY),
        stated=stated,
        model=_learned(stated),
    )


@doing("Leaving out each class in turn")
def with_coverage(
    pilot: Pilot,
    backtest: Backtest,
    drawn: Subsamples,
    confidence: float,
    sampling: float | None = None,
) -> Backtest:
    """Return a back-test that also says how many of its forecasts had the truth in reach.

    The interval of each forecast of K from m classes is the one that `Uncertainty` gives a pilot
    of m classes. No subset is jackknifed or back-tested itself: its sampling error is the pilot's
    times sqrt(K / m), grows as it does without halves, and no bias is known. For a method that
    states its error only the last matters, as K is past 2 m or there.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    backtest : Backtest
        What its refits said about K.
    drawn : Subsamples
        The refits.
    confidence : float
        Level of the intervals.
    sampling : float, optional
        Standard error of the log odds measured at K; by default it is computed where it is needed.
    """
    made = {found.n_classes: found.made for found in drawn.sizes}
    alone = any(one.stated is None for step in backtest.steps for one in made[step.n_classes])
    if sampling is None:
        sampling = _sampling_error(pilot) if alone else 0.0
    half = 0.5 / pilot.n_probes
    measured = float(np.clip(backtest.observed, half, 1 - half))
    steps = []
    for step in backtest.steps:
        inside = []
        for refit in made[step.n_classes]:
            known = _of_subset(backtest, step, refit, sampling)
            told = np.interp(backtest.n_classes, backtest.grid, refit.curve)
            lower, upper = known.band(told, backtest.n_classes, confidence)
            inside.append(bool(lower <= measured <= upper))
        steps.append(replace(step, coverage=float(np.mean(inside))))
    return replace(backtest, steps=tuple(steps), confidence=confidence)


def _of_subset(
    backtest: Backtest, step: BacktestStep, refit: Refit, sampling: float
) -> Uncertainty:
    """Return the errors of a forecast from some of the classes; see `with_coverage`."""
    n_points, own = len(backtest.grid), sampling * np.sqrt(step.ratio)
    return Uncertainty(
        n_classes=step.n_classes,
        n_probes=refit.n_probes,
        grid=backtest.grid,
        observed_error=np.full(n_points, own),
        growth=None,
        bias=np.zeros(n_points),
        # Of other sets of classes nothing is asked.
        class_variance=0.0,
        probe_variance=0.0,
        probes_per_class=1.0,
        observed=step.observed,
        told_apart=False,
        stated=refit.stated,
        model=_learned(refit.stated),
    )


def _sampling_error(pilot: Pilot) -> float:
    """Return the standard error of the log odds measured at the pilot's own size."""
    last, seen = np.array([pilot.n_classes]), observe(pilot)
    return float(of_log_odds(pilot, seen, last, standard_error(pilot, seen, last)[0])[0])


def _learned(stated: Floats | None) -> ErrorModel:
    """Return what was learned about errors of methods that state their own, or do not."""
    return MODEL if stated is None else STATED_MODEL


def _bias(backtest: Backtest, middle: float, half: float, x: Floats) -> Floats:
    """Mean error of the back-test's log odds, as a straight line in the logarithm of the ratio.

    Steps from fewer classes are noisier and count less; a ridge keeps the slope small where all
    of them are.
    """
    total, squares = 0.0, RIDGE
    for step in backtest.steps:
        said = log_odds(np.clip(step.forecasts, half, 1 - half))
        weight, at = 1 / (float(np.var(said)) + NOISE**2), float(np.log(step.ratio))
        total += weight * at * float(np.mean(said) - log_odds(middle))
        squares += weight * at**2
    return total / squares * x


def _growth(backtest: Backtest, half: float, x: Floats) -> Floats | None:
    """Logarithm of how much the variance over the halves grows beyond the pilot's size."""
    if len(backtest.halves) < 2:
        return None
    spread = log_odds(np.clip(backtest.halves, half, 1 - half)).var(axis=0, ddof=1)
    here = float(np.interp(0.0, np.log(backtest.grid / backtest.n_classes), spread))
    if here <= TINY:  # all right or all wrong, but for round-off
        return None
    return np.where(x > 0, np.log(np.maximum(spread, TINY) / here), 0.0)
