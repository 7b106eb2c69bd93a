"""Checks of the fit and of what is asked of it, and of where the scores came from."""

from __future__ import annotations

import math

import numpy as np

from headcount.checks.check_input import CheckInput, Floats
from headcount.pilot.classifiers import JOINT, PARTLY, SEPARATE, training_of
from headcount.pilot.pilot import Pilot
from headcount.support.grids import FAR, times_as_many
from headcount.support.words import about, percent, reads_as_one, times

# Two points, or one standard error of what was measured where that is more: small pilots miss
# their own curve by chance. The default method then misses 1.3% of 1,000 healthy simulated pilots.
GAP = 0.02
# Probabilities kept with half precision add up to one within a hundredth.
ROUNDING = 0.01
# Rows looked at together: the first few rows of most scores show that they are no probabilities.
ROWS = 256


def gap_at_pilot(case: CheckInput) -> str | None:
    """Compare the observed and the fitted value at the pilot's own size, where both are known."""
    k = case.observed.n_classes
    lower, upper = (float(bound) for bound in case.observed.bounds(k, case.metric))
    fitted = float(case.law.value(k, case.metric))
    if max(lower - fitted, fitted - upper) <= max(GAP, _error(case.pilot, (lower + upper) / 2)):
        return None
    measured = percent(float(case.observed.value(k, case.metric)))
    return (
        f"at the pilot's own {k:,} classes the method gives {percent(fitted)} where {measured} was "
        "measured; it does not fit these data well, so its forecast is doubtful."
    )


def _error(pilot: Pilot, value: float) -> float:
    """Return the standard error of what was measured.

    One right probe and one wrong probe are added: if all are right, one may still be wrong.
    """
    worth = 1 / float(np.square(pilot.weights).sum())
    share = (value * worth + 1) / (worth + 2)
    return float(np.sqrt(share * (1 - share) / worth))


def too_far(case: CheckInput) -> str | None:
    """Compare the largest number asked about with what the back-test supports."""
    n_classes = case.observed.n_classes
    largest = max(case.asked, default=n_classes)
    if largest <= n_classes:
        return None
    if case.backtest is None:
        if largest <= FAR * n_classes:
            return None
        return (
            f"{largest:,} classes are {about(largest / n_classes)} times the pilot's "
            f"{n_classes:,}, and nothing in the pilot shows what happens so far out; use a larger "
            "pilot."
        )
    supported = case.backtest.supported
    most = times_as_many(supported, n_classes)
    if largest <= most:
        return None
    if not case.backtest.steps:
        reached = "no classes could be hidden from this pilot to try it"
    elif reads_as_one(supported):
        reached = "no forecast from part of your classes came close enough"
    else:
        reached = (
            f"forecasts from part of your classes support up to {times(supported)} times the pilot "
            f"({about(most)} classes)"
        )
    return (
        f"{largest:,} classes are further than the back-test reaches: {reached}; take the "
        "forecast beyond that as a guess, or use a larger pilot."
    )


def larger_pilot(case: CheckInput) -> str:
    """Say how large a pilot would reach what is asked, if its forecasts hold as far as these."""
    n_classes, largest = case.observed.n_classes, max(case.asked)
    reached = 1.0 if case.backtest is None else case.backtest.supported
    if not reads_as_one(reached):
        size = math.ceil(largest / reached)
        how = f"one of {size:,} does, if it too reaches {times(reached)} times its size"
    else:
        size = min(max(math.ceil(largest / 10), 2 * n_classes), largest)
        how = f"one of {size:,} is worth more than any method"
    return (
        f"Use a larger pilot than this one of {n_classes:,} classes: to speak of {largest:,}, "
        f"{how}. Or take the number as a guess."
    )


def probabilities(case: CheckInput) -> str | None:
    """See whether in every row the scores, or their exponentials, add up to one."""
    pilot = case.pilot
    if not pilot.has_scores or training_of(pilot.classifier) == SEPARATE:
        return None  # naive Bayes scales its scores to add up to one, which changes no order
    kinds = {"probabilities": _add_up, "log-probabilities": _exponentials_add_up}
    for _, scores in pilot.score_blocks(ROWS):
        kinds = {name: holds for name, holds in kinds.items() if holds(scores)}
        if not kinds:
            return None
    return (
        f"the scores are {next(iter(kinds))} that add up to one in each row, so a class's score "
        "depends on the other classes; if the model is trained again with more classes the "
        "forecast is only a guide."
    )


def _add_up(scores: Floats) -> bool:
    return bool((scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) <= ROUNDING).all())


def _exponentials_add_up(scores: Floats) -> bool:
    if (scores > ROUNDING).any():  # the logarithm of a probability is never above zero
        return False
    return bool((np.abs(np.exp(scores).sum(axis=1) - 1) <= ROUNDING).all())


def trained_together(case: CheckInput) -> str | None:
    """Look up whether this classifier scores each class on its own."""
    name = case.pilot.classifier
    if training_of(name) != JOINT:
        return None
    return (
        f"{name} does not score each class on its own: adding classes changes the scores of the "
        "old ones, so the forecast is only a guide."
    )


def trained_against_rest(case: CheckInput) -> str | None:
    """Look up whether this classifier learns each class against all others."""
    name = case.pilot.classifier
    if training_of(name) != PARTLY:
        return None
    return (
        f"{name} learns each class against all the others, so its scores change somewhat when "
        "classes are added; test the forecast on a larger set before relying on it."
    )
