"""Favorability: the one distribution behind accuracy at every number of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.reversed_roc import ROCCurve
from headcount.errors import ParameterError
from headcount.metrics import ACCURACY, Metric, Top, resolve_metric
from headcount.support.grids import last_where

Floats = NDArray[np.float64]

ROUND_OFF = 1e-12


class Favorability:
    r"""The law of U, the chance that a probe's true class outscores one random other class.

    It is held as weights on nodes of p = 1 - U. For many classes it matters how small p is, and a
    number such as U = 1 - 1e-12 has few digits left for that. Atoms at p = 0 (never beaten) and
    p = 1 (beaten by all) are ordinary nodes. Every metric is a mean over the nodes. Accuracy is

    .. math:: \text{accuracy}(k) = E[U^{k-1}] = E[\exp((k-1) \log(1 - p))].

    Parameters
    ----------
    p : array
        Nodes in [0, 1].
    weights : array
        Their weights, non-negative; scaled to sum to one.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*,
    Theorem 2; Slavutsky and Benjamini (2021), Theorem 1.

    Examples
    --------
    A fifth of the probes is never beaten, the rest loses to one rival in a thousand:

    >>> law = Favorability([0.0, 0.001], [0.2, 0.8])
    >>> law.accuracy([1, 2, 1001]).round(3).tolist()
    [1.0, 0.999, 0.494]
    >>> law.capacity(0.9)
    134
    >>> law.capacity(0.2)
    inf
    """

    def __init__(self, p: Any, weights: Any) -> None:
        nodes = np.asarray(p, dtype=np.float64)
        mass = np.asarray(weights, dtype=np.float64)
        if nodes.ndim != 1 or nodes.shape != mass.shape or len(nodes) == 0:
            raise ParameterError("nodes and weights must be two lists of the same length.")
        if not ((nodes >= 0) & (nodes <= 1)).all():
            raise ParameterError("nodes of p must lie between 0 and 1.")
        if not ((mass >= 0) & np.isfinite(mass)).all() or mass.sum() <= 0:
            raise ParameterError("weights must be finite, not negative, and not all zero.")
        positive, total = mass > 0, mass.sum()
        self.p, where = np.unique(nodes[positive], return_inverse=True)
        self.weights = np.bincount(where, mass[positive]).astype(np.float64)
        if abs(total - 1) > 1e-12:  # else dividing would only add round-off
            self.weights /= total
        # At p = 1 any large number will do: the power is zero from two classes on.
        self.log_u = np.log1p(-np.where(self.p < 1, self.p, 0.0)) - 1e3 * (self.p == 1)
        for array in (self.p, self.weights, self.log_u):
            array.flags.writeable = False

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes, for any k up to 1e12 and beyond."""
        return resolve_metric(metric).of_law(self, k)

    def accuracy(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Chance that the true class is among the best m of k classes."""
        return self.value(k, Top(m))

    def cdf(self, u: Any) -> Floats:
        """D(u) = P(U <= u), which the papers call discriminability."""
        reached = np.concatenate([[0.0], np.cumsum(self.weights[::-1])])
        place = np.searchsorted(1 - self.p[::-1], np.asarray(u, dtype=np.float64), side="right")
        return np.asarray(np.minimum(reached[place], 1.0))

    discriminability = cdf

    def quantile(self, q: Any) -> Floats:
        """Smallest u with P(U <= u) >= q."""
        level = np.asarray(q, dtype=np.float64)
        if not ((level >= 0) & (level <= 1)).all():
            raise ParameterError("a quantile level must lie between 0 and 1.")
        reached = np.cumsum(self.weights[::-1])
        place = np.searchsorted(reached, level - 1e-12, side="left")
        return np.asarray(1 - self.p[::-1][np.minimum(place, len(self.p) - 1)])

    def given(self, losses: int, n_rivals: int) -> Favorability:
        r"""Return the law of U among probes that lost to `losses` of `n_rivals` random rivals.

        By Bayes' rule: each node's weight is multiplied by

        .. math:: p^l (1 - p)^{n - l}.

        Where the law rules out so many losses, it says nothing about such a probe, and the share
        of its losses stands in.

        Examples
        --------
        Half of the probes lose to every second rival, half to none. To win three times tells much:

        >>> law = Favorability([0.0, 0.5], [0.5, 0.5])
        >>> law.given(0, 3).weights.round(3).tolist(), law.given(1, 3).p.tolist()
        ([0.889, 0.111], [0.5])
        """
        with np.errstate(divide="ignore"):
            lost = losses * np.log(self.p) if losses else 0.0
            won = (n_rivals - losses) * np.log1p(-self.p) if losses < n_rivals else 0.0
        likelihood = np.log(self.weights) + lost + won
        most = float(likelihood.max())
        if most == -math.inf:
            return Favorability([losses / n_rivals], [1.0])
        return Favorability(self.p, np.exp(likelihood - most))

    def reversed_roc(self) -> ROCCurve:
        """Chance that the true class is let in along with the best share u of wrong classes.

        That is P(p < u), a step for each node, so that the curve at 1 - u is one minus D(u). The
        area under it is `reversed_auc`.
        """
        return ROCCurve(self.p, self.p, self.weights)

    @property
    def reversed_auc(self) -> float:
        """Area under the reversed ROC: E[U], the expected accuracy between two classes."""
        return float(1 - self.p @ self.weights)

    @property
    def asymptote(self) -> float:
        """Accuracy that remains however many classes there are: the atom at p = 0."""
        return ACCURACY.limit(self)

    def capacity(self, target: float, metric: Metric = ACCURACY) -> int | float:
        """Largest number of classes at which a metric is still at least `target`.

        `math.inf` when it never falls below that; 1 when two classes are already too many. A value
        short of the target by mere round-off counts as reaching it.
        """
        return capacity_of(lambda k: float(self.value(k, metric)), metric.limit(self), target)

    def __repr__(self) -> str:
        return f"Favorability({len(self.p):,} nodes, two-class accuracy {self.reversed_auc:.3f})"


def capacity_of(value: Callable[[float], float], limit: float, target: float) -> int | float:
    """Return the largest number of classes at which a falling value is still at least `target`.

    `limit` is where it tends to; `math.inf` when that is enough, 1 when two are already too many.
    """
    least = check_target(target) - ROUND_OFF
    if limit >= least:
        return math.inf
    if value(2) < least:
        return 1
    low = 2.0
    while value(low * 2) >= least:
        low *= 2
        if low > 1e300:
            return math.inf
    return last_where(lambda k: value(k) >= least, low, low * 2)


def check_target(target: Any) -> float:
    """Return a target of a metric, refused unless it lies in (0, 1]."""
    try:
        value = float(target)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value <= 1:
        raise ParameterError(f"a target must lie above 0 and up to 1, but is {target!r}.")
    return value
