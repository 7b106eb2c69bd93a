"""Mean reciprocal rank: one over the rank of the true class, zero past the best m."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from headcount.metrics import binomial, hypergeometric
from headcount.metrics.by_rank import ByRank
from headcount.metrics.metric import Metric, Nodes
from headcount.metrics.top import Top
from headcount.support import validation
from headcount.support.words import ROUND_OFF, percent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Reciprocal(Metric):
    r"""One over the rank of the true class (or of the best relevant document): MRR.

    X of the k - 1 rivals win, so the rank is 1 + X. For a probe with l losses among n rivals

    .. math:: E\Big[\frac{1}{1 + X}\Big] = \frac{n + 1}{(l + 1) k}
              \left(1 - \binom{n - l}{k} \Big/ \binom{n + 1}{k}\right),

    and for one that loses to a random rival with chance p it is
    :math:`(1 - (1 - p)^k) / (k p)`.

    Parameters
    ----------
    above : int
        How many stand above the mark at every size, so that the rank is 1 + above + X.

    References
    ----------
    Voorhees, *The TREC-8 Question Answering Track Report* (1999).

    Examples
    --------
    Half of the probes lose to no rival, half to one of the three there are:

    >>> losses, weights = np.array([0, 1]), np.array([0.5, 0.5])
    >>> Reciprocal().of_losses(losses, weights, 3, 4)
    0.75
    >>> Reciprocal().of_each(np.array([0, 1, 2]), 2, 3).round(3).tolist()
    [1.0, 0.5, 0.333]
    """

    certain: ClassVar[int] = 1  # type: ignore[misc]
    name, label, loss_label = "mrr", "MRR", "shortfall of MRR"

    def __init__(self, above: int = 0) -> None:
        self.above = validation.whole_number(above, "above", 0)

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        if self.above:
            return float(weights @ self.of_each(losses, n_rivals, k))
        return float(hypergeometric.mean_reciprocal(losses, weights, n_rivals, k - 1))

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the expectation for each number of losses."""
        means = np.empty(len(losses))
        hypergeometric.fill_reciprocals(self.above, losses, n_rivals, k - 1, means)
        return means

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the mean among k classes under a law of favorability, for any k up to 1e15."""
        rivals = validation.class_counts(k) - 1
        means = np.empty(rivals.size)
        binomial.fill_mean_reciprocals(
            float(self.above), law.p, law.log_u, law.weights, rivals.ravel(), means
        )
        return np.minimum(means, 1.0).reshape(rivals.shape)

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the mean at each p (columns) among k classes (rows)."""
        means = np.empty((len(k), len(p)))
        rivals = np.asarray(k, dtype=np.float64) - 1
        log_u = np.log1p(-np.minimum(p, 1 - 1e-16))
        binomial.fill_reciprocals_at_nodes(float(self.above), p, log_u, rivals, means)
        return means

    def past(self, above: int) -> Reciprocal:
        """Return the metric where so many stand above the mark at every size."""
        return Reciprocal(self.above + above)

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are: that of the atom at p = 0."""
        return float(law.weights[0]) / (1 + self.above) if law.p[0] == 0 else 0.0

    def guess(self, k: Any) -> Floats:
        """Return the mean of one over a random rank: a harmonic number over k."""
        counts = np.asarray(k, dtype=np.float64)
        return np.asarray((digamma(counts + 1) + np.euler_gamma) / counts)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Reciprocal().describe(0.71)
        'one over the rank of the right class is 71% on average'
        >>> Reciprocal().describe(1.0)
        'all probes find the right class'
        """
        if value > 1 - ROUND_OFF:
            return Top(1).describe(value)
        return f"one over the rank of the right class is {percent(value)} on average"


class ReciprocalWithin(ByRank):
    """One over the rank of the true class, and nothing past rank m: MRR@m.

    Examples
    --------
    >>> ReciprocalWithin(2).of_each(np.array([0, 1, 2]), 2, 3).round(3).tolist()
    [1.0, 0.5, 0.0]
    """

    words = "mrr", "MRR"
    least = 2

    @staticmethod
    def worth_of(ranks: Floats) -> Floats:
        """Return one over ranks."""
        return np.asarray(1 / ranks)

    def describe_mean(self, value: float) -> str:
        """Return in words what a value between nought and one means.

        Examples
        --------
        >>> ReciprocalWithin(10).describe(0.71)
        'one over the rank of the right class (nothing past rank 10) is 71% on average'
        >>> ReciprocalWithin(10).describe(0.0)
        'no probe finds the right class among the best 10'
        """
        mean = f"{percent(value)} on average"
        return f"one over the rank of the right class (nothing past rank {self.m:,}) is {mean}"
