"""The observed risk curve: exact average cost over all sets of k <= K of the pilot's classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.pilot.pilot import Pilot
from headcount.questions.risk.priors import prior_weights
from headcount.questions.risk.ranks import cost_by_place, risk_from_places

Floats = NDArray[np.float64]


class ObservedRisk:
    """What the pilot itself says about the risk for any number of classes up to its own.

    Attributes
    ----------
    spent : ndarray of shape (n_classes - 1,)
        What mistakes cost by place; see `cost_by_place`.
    n_classes : int
        K.
    """

    def __init__(self, spent: Floats) -> None:
        self.spent = spent.copy()
        self.spent.flags.writeable = False
        self.n_classes = len(spent) + 1

    def risk(self, k: Any) -> Floats:
        """Average cost among k of the pilot's classes; 0 for one class."""
        return risk_from_places(self.spent, k)

    def __repr__(self) -> str:
        return f"ObservedRisk({self.n_classes:,} classes: {float(self.risk(self.n_classes)):.4g})"


def observe_risk(pilot: Pilot, cost: Any, *, priors: Any = None) -> ObservedRisk:
    """Return the whole observed risk curve of a pilot, computed once for any k.

    Parameters
    ----------
    pilot, cost, priors
        As for `observed_risk`.

    Returns
    -------
    ObservedRisk
    """
    weights = None if priors is None else prior_weights(pilot, priors)
    return ObservedRisk(cost_by_place(pilot, cost, weights))


def observed_risk(pilot: Pilot, cost: Any, k: Any = None, *, priors: Any = None) -> Floats:
    """Return the exact average risk over all sub-tasks of k of the pilot's classes.

    A sub-task holds the true class of a probe and k - 1 others, drawn uniformly. The class with the
    best score is taken. The sub-task costs what that mistake costs, and nothing if it is the true
    class.

    Parameters
    ----------
    pilot : Pilot
        With scores; counts are enough for 0-1 cost.
    cost : Cost, str, array, sparse matrix, pair, callable or mapping
        Cost of each mistake; see `as_cost`.
    k : int or sequence of int, optional
        Numbers of classes, 1 to K; by default 2, 3, ... K.
    priors : mapping or sequence, optional
        How often each class is the true one, in any unit. By default the pilot's own average.

    Returns
    -------
    ndarray of the shape of k

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification*, Eq. 2-5.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.questions.risk import observed_risk
    >>> pilot = Pilot.from_scores([[1, 2, 3, 0]], [0], higher_is_better=True)
    >>> cost = [[0, 3, 5, 9], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
    >>> observed_risk(pilot, cost, [2, 3, 4]).round(3).tolist()
    [2.667, 4.333, 5.0]
    """
    wanted = np.arange(2, pilot.n_classes + 1) if k is None else k
    return observe_risk(pilot, cost, priors=priors).risk(wanted)
