"""Limits of the expected value: like the value itself, they never rise with k.

Limits at one number of classes k (`headcount.uncertainty.intervals`) know nothing of the limits at
another, and may rise: upper ones where the error grows faster than the forecast falls, lower ones
where a forecast is surer than what was measured at K. But the value cannot rise. What it is below
among j classes, it is below among more. And if we are sure of no more than 99.0% among j classes,
we cannot be sure of 99.4% among more. So a limit at k is the least of those at up to k classes.

An interval also holds its estimate. A fit may start above even the upper limit at K, and so
contradict what was measured (past two points check HC010 says so). Then the upper limits up to K
are raised to it: what is thought possible of more classes is possible of fewer.

They are looked at on a ladder that depends on the pilot alone, so that an answer does not depend on
what else was asked. Between two rungs, limits are straight in log k, so that they fall there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.special import logit as log_odds

from headcount.support import validation

Floats = NDArray[np.float64]

INSIDE = 120  # rungs up to K
FINE, STEADY, GROWTH = 1 / 32, 4.0, 1.015  # steps in log(k / K): even up to 4, then ever longer
FARTHEST = 1e300  # as far as a capacity is followed
EDGE = 1e-15  # limits of 0 and 1 have no log odds


def ladder(n_classes: int, knots: Any = ()) -> Floats:
    """Return numbers of classes from one to past all that can be asked.

    Parameters
    ----------
    n_classes : int
        Of the pilot, K. Both K, where the measured ends, and K + 1, where the forecast begins, are
        rungs.
    knots : array_like
        Where errors have kinks: rungs too.

    Examples
    --------
    >>> rungs = ladder(100)
    >>> rungs[:3].tolist(), bool(rungs[-1] > 1e290), {100.0, 101.0} <= set(rungs.tolist())
    ([1.0, 2.0, 3.0], True, True)
    """
    inside = np.geomspace(1, n_classes, INSIDE)
    steps = np.arange(0.0, STEADY, FINE)
    end = np.log(FARTHEST / n_classes)
    longer = STEADY * GROWTH ** np.arange(np.log(end / STEADY) / np.log(GROWTH))
    beyond = n_classes * np.exp(np.concatenate([steps, longer]))
    rungs = [inside, [n_classes, n_classes + 1], beyond, np.asarray(knots, dtype=np.float64)]
    return np.unique(np.concatenate(rungs).round())


@dataclass(frozen=True)
class Limits:
    """Lower and upper limits on a ladder, made never to rise.

    Parameters
    ----------
    classes : ndarray
        Rungs, ascending.
    lower, upper : ndarray
        Limits there.

    Examples
    --------
    >>> rungs = np.array([1.0, 10.0, 100.0])
    >>> limits = Limits.of(rungs, [1.0, 0.6, 0.5], [1.0, 0.5, 0.6], [1.0, 0.8, 0.7])
    >>> limits.lower.tolist(), limits.upper.tolist()
    ([1.0, 0.5, 0.5], [1.0, 0.8, 0.7])
    >>> [limit.round(2).tolist() for limit in limits.at([10, 50], [0.6, 0.55])]
    [[0.5, 0.5], [0.8, 0.73]]
    """

    classes: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, classes: Floats, value: Any, lower: Any, upper: Any) -> Limits:
        """Take limits around estimates that may rise."""
        highest = np.maximum.accumulate(np.asarray(value)[::-1])[::-1]  # from each rung on
        upper = np.maximum(np.minimum.accumulate(upper), highest)
        return cls(classes, np.minimum.accumulate(lower), upper)

    def at(self, k: Any, value: Any) -> tuple[Floats, Floats]:
        """Return limits at k around the estimates there, which do not rise either."""
        counts = validation.class_counts(k)
        lower, upper = (
            np.interp(np.log(counts), np.log(self.classes), limit)
            for limit in (self.lower, self.upper)
        )
        return np.asarray(np.minimum(lower, value)), np.asarray(np.maximum(upper, value))


def moved_alike(limit: Floats, before: Floats, after: Floats) -> Floats:
    """Return limits for sets of classes, moved as those of the expected value were.

    By as much in log odds, so that an interval for a set is still the wider (or narrower) one.

    Examples
    --------
    >>> moved_alike(np.array([0.9, 0.9]), np.array([0.8, 0.8]), np.array([0.8, 0.5])).round(2)
    array([0.9 , 0.69])
    """
    start, old, new = (log_odds(np.clip(x, EDGE, 1 - EDGE)) for x in (limit, before, after))
    return np.where(before == after, limit, expit(start + new - old))
