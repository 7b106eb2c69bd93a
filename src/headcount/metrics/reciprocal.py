"""Mean reciprocal rank: one over the rank of the true class, zero past the best m."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from headcount.errors import ParameterError
from headcount.metrics import binomial, hypergeometric
from headcount.metrics.metric import Metric, Nodes
from headcount.metrics.top import Top
from headcount.support import validation
from headcount.support.words import ROUND_OFF, percent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 1_000_000  # of ranks that count where not all do


class Reciprocal(Metric):
    r"""One over the rank of the true class (or of the best relevant document): MRR.

    X of the k - 1 rivals win, so the rank is 1 + X. For a probe with l losses among n rivals

    .. math:: E\Big[\frac{1}{1 + X}\Big] = \frac{n + 1}{(l + 1) k}
              \left(1 - \binom{n - l}{k} \Big/ \binom{n + 1}{k}\right),

    and for one that loses to a random rival with chance p it is
    :math:`(1 - (1 - p)^k) / (k p)`. With m, ranks past it count nothing, and the sum has m terms.

    Parameters
    ----------
    m : int, optional
        Ranks past this count nothing; all count by default.

    References
    ----------
    Voorhees, *The TREC-8 Question Answering Track Report* (1999).

    Examples
    --------
    Half of the probes lose to no rival, half to one of the three there are:

    >>> losses, weights = np.array([0, 1]), np.array([0.5, 0.5])
    >>> Reciprocal().of_losses(losses, weights, 3, 4)
    0.75
    >>> Reciprocal().name, Reciprocal(10).name
    ('mrr', 'mrr@10')
    """

    certain = 1

    def __init__(self, m: int | None = None) -> None:
        self.m = None if m is None else validation.whole_number(m, "m", 2)
        if self.m is not None and self.m > MOST:
            raise ParameterError(f"mrr@m takes m up to {MOST:,}, but m is {self.m:,}; ask for mrr.")
        self.name = "mrr" if self.m is None else f"mrr@{self.m}"
        self.label = self.name.upper()
        self.loss_label = f"shortfall of {self.label}"
        self._values = None if self.m is None else 1 / np.arange(1.0, self.m + 1)

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        if self._values is None:
            return float(hypergeometric.mean_reciprocal(losses, weights, n_rivals, k - 1))
        return float(
            hypergeometric.weighted_mean_of_values(self._values, losses, weights, n_rivals, k - 1)
        )

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the expectation for each number of losses.

        Examples
        --------
        >>> Reciprocal().of_each(np.array([0, 1, 2]), 2, 3).round(3).tolist()
        [1.0, 0.5, 0.333]
        """
        means = np.empty(len(losses))
        if self._values is None:
            hypergeometric.fill_reciprocals(losses, n_rivals, k - 1, means)
        else:
            hypergeometric.fill_means_of_values(self._values, losses, n_rivals, k - 1, means)
        return means

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the mean among k classes under a law of favorability, for any k up to 1e15."""
        return self._past(0, law, validation.class_counts(k) - 1)

    def _past(self, above: int, law: Nodes, rivals: Floats) -> Floats:
        """Return the mean where so many stand above the mark, and random rivals may."""
        means = np.empty(rivals.size)
        if self._values is None:
            binomial.fill_mean_reciprocals(
                float(above), law.p, law.log_u, law.weights, rivals.ravel(), means
            )
        elif above < len(self._values):
            binomial.fill_means_of_values(
                self._values[above:], law.p, law.weights, rivals.ravel(), means
            )
        else:
            means[:] = 0.0
        return np.minimum(means, 1.0).reshape(rivals.shape)

    def of_grown(
        self, losses: Ints, weights: Floats, n_rivals: int, law: Nodes, newcomers: Any
    ) -> Floats:
        """Return the mean over probes whose rivals stay while new ones join them.

        A probe that lost to l of its rivals has rank 1 + l + X, X of the newcomers winning, and U
        has its law given l losses.

        Examples
        --------
        Two of three probes stay ahead of their 4 rivals; of ten newcomers each has a chance of 5%:

        >>> from headcount import Favorability
        >>> losses, weights = np.array([0, 3]), np.array([2, 1]) / 3
        >>> law = Favorability([0.05], [1.0])
        >>> Reciprocal().of_grown(losses, weights, 4, law, [0, 10]).round(3)
        array([0.75 , 0.598])
        """
        joined = validation.class_counts(newcomers, 0)
        total = np.zeros(joined.shape)
        for lost, weight in zip(losses.tolist(), weights, strict=True):
            if self.m is not None and lost >= self.m:
                break  # losses ascend
            total += weight * self._past(lost, law.given(lost, n_rivals), joined)
        return total

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are: the atom at p = 0."""
        return float(law.weights[0]) if law.p[0] == 0 else 0.0

    def guess(self, k: Any) -> Floats:
        """Return the mean of one over a random rank: a harmonic number over k."""
        counts = np.asarray(k, dtype=np.float64)
        reached = counts if self.m is None else np.minimum(counts, self.m)
        return np.asarray((digamma(reached + 1) + np.euler_gamma) / counts)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Reciprocal().describe(0.71)
        'one over the rank of the right class is 71% on average'
        >>> Reciprocal().describe(1.0), Reciprocal(10).describe(0.0)
        ('all probes find the right class', 'no probe finds the right class among the best 10')
        """
        if value > 1 - ROUND_OFF:
            return Top(1).describe(value)
        if value < ROUND_OFF and self.m is not None:
            return Top(self.m).describe(value)
        past = "" if self.m is None else f" (nothing past rank {self.m:,})"
        return f"one over the rank of the right class{past} is {percent(value)} on average"
