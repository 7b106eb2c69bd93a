"""Accuracy, and the chance that the true class is among the best m: fewer than m rivals win."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc

from headcount.metrics import binomial, hypergeometric
from headcount.metrics.metric import Metric, Nodes
from headcount.support import validation
from headcount.support.words import describe_share

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 4_000_000  # of numbers of classes times nodes that are looked at together
FEW = 100  # so many terms are summed sooner than an incomplete beta function is found


class Top(Metric):
    r"""The chance that the true class is among the best m of k classes; accuracy where m is one.

    Fewer than m of the k - 1 rivals win:

    .. math:: P(X < m) = \sum_{j<m} \binom{l}{j} \binom{n - l}{k - 1 - j} \Big/ \binom{n}{k - 1}

    for a probe with l losses among n rivals, and the regularised incomplete beta function
    :math:`I_U(k - m, m)` for one that outscores a random rival with chance U; for m = 1 that is
    :math:`U^{k-1}`.

    Parameters
    ----------
    m : int
        How many of the best count.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*, Eq. 4
    and Theorem 2.

    Examples
    --------
    Half of the probes lose to no rival, half to one of the three there are:

    >>> losses, weights = np.array([0, 1]), np.array([0.5, 0.5])
    >>> round(Top(1).of_losses(losses, weights, 3, 2), 3), Top(2).of_losses(losses, weights, 3, 4)
    (0.833, 1.0)
    >>> Top(1).name, Top(5).name
    ('accuracy', 'top-5')
    """

    def __init__(self, m: int) -> None:
        self.m = self.certain = validation.whole_number(m, "m", 1)
        single = self.m == 1
        self.name = "accuracy" if single else f"top-{self.m}"
        self.label = "accuracy" if single else f"top-{self.m} accuracy"
        self.loss_label = "error rate" if single else f"top-{self.m} error rate"

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        if self.m == 1:
            return float(hypergeometric.chance_unbeaten(losses, weights, n_rivals, k - 1))
        return float(hypergeometric.mean_chance_within(losses, weights, n_rivals, k - 1, self.m))

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the chance for each number of losses.

        Examples
        --------
        >>> Top(1).of_each(np.array([0, 1, 2]), 4, 3).round(3).tolist()
        [1.0, 0.5, 0.167]
        """
        chances = np.empty(len(losses))
        hypergeometric.fill_chances_within(losses, n_rivals, k - 1, self.m, chances)
        return chances

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the chance among k classes under a law of favorability, for any k up to 1e15."""
        if not 1 < self.m <= FEW:
            return _mean_over_nodes(law, k, self._accuracy if self.m == 1 else self._within)
        rivals = validation.class_counts(k) - 1
        means = np.empty(rivals.size)
        worth = np.ones(self.m)
        binomial.fill_means_of_values(worth, law.p, law.weights, rivals.ravel(), means)
        certain = rivals < self.m
        return np.where(certain, 1.0, np.minimum(means, 1.0).reshape(rivals.shape))

    def _accuracy(self, law: Nodes, counts: Floats) -> Floats:
        exponent = np.multiply.outer(counts - 1, law.log_u)
        wrong = (-np.expm1(exponent) * law.weights).sum(axis=1)
        # Near one the error has the digits, near zero the accuracy itself.
        right = (np.exp(exponent) * law.weights).sum(axis=1)
        return np.asarray(np.where(wrong < 0.5, 1 - wrong, right))

    def _within(self, law: Nodes, counts: Floats) -> Floats:
        return np.asarray((self._by_beta(law.p, counts) * law.weights).sum(axis=1))

    def _by_beta(self, p: Floats, counts: Floats) -> Floats:
        # At most m - 1 of k - 1 rivals win: the binomial sum as a beta function of p.
        inside = np.maximum(counts - self.m, 1.0)[:, None]
        certain = (counts <= self.m)[:, None]
        return np.where(certain, 1.0, np.asarray(betaincc(self.m, inside, p), np.float64))

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the chance at each p (columns) among k classes (rows)."""
        rivals = np.asarray(k, dtype=np.float64) - 1
        if self.m == 1:
            return np.exp(np.multiply.outer(rivals, np.log1p(-np.minimum(p, 1 - 1e-16))))
        if self.m > FEW:
            return self._by_beta(p, rivals + 1)
        chances = np.empty((len(rivals), len(p)))
        binomial.fill_values_at_nodes(np.ones(self.m), p, rivals, chances)
        return np.minimum(chances, 1.0)

    def past(self, above: int) -> Top | None:
        """Return the metric where so many stand above the mark at every size."""
        return Top(self.m - above) if above < self.m else None

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are: the atom at p = 0."""
        return float(law.weights[0]) if law.p[0] == 0 else 0.0

    def guess(self, k: Any) -> Floats:
        """Return m / k, at most one."""
        return np.minimum(self.m / np.asarray(k, dtype=np.float64), 1.0)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Top(1).describe(0.71)
        '71 of 100 probes find the right class'
        >>> Top(5).describe(0.71)
        '71 of 100 probes find the right class among the best 5'
        """
        among = "" if self.m == 1 else f" among the best {self.m:,}"
        return describe_share(value, f"the right class{among}")


def _mean_over_nodes(law: Nodes, k: Any, average: Callable[[Nodes, Floats], Floats]) -> Floats:
    """Average over the nodes of a law for many k, a few at a time to keep memory small."""
    counts = validation.class_counts(k)
    flat, values = counts.ravel(), np.empty(counts.size)
    size = max(1, CELLS // len(law.p))
    for start in range(0, flat.size, size):
        values[start : start + size] = average(law, flat[start : start + size])
    return np.minimum(values, 1.0).reshape(counts.shape)
