"""Metrics that give each rank a worth, down to some last rank: MRR@m, and the gain of nDCG@m."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.metrics import binomial, hypergeometric
from headcount.metrics.metric import Metric, Nodes
from headcount.support import validation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ByRank(Metric):
    r"""The expected worth of the rank 1 + X of the true class, where X rivals win.

    .. math:: E[v_X] = \sum_{j < m} v_j \, P(X = j)

    Ranks past the last that has a worth count nothing.

    Attributes
    ----------
    worth : ndarray
        :math:`v_j`, never rising, for ranks from the first.
    """

    certain: ClassVar[int] = 1  # type: ignore[misc]

    worth: Floats

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        return float(
            hypergeometric.weighted_mean_of_values(self.worth, losses, weights, n_rivals, k - 1)
        )

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the expectation for each number of losses."""
        means = np.empty(len(losses))
        hypergeometric.fill_means_of_values(self.worth, losses, n_rivals, k - 1, means)
        return means

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the mean among k classes under a law of favorability, for any k up to 1e15."""
        rivals = validation.class_counts(k) - 1
        means = np.empty(rivals.size)
        binomial.fill_means_of_values(self.worth, law.p, law.weights, rivals.ravel(), means)
        return np.minimum(means, 1.0).reshape(rivals.shape)

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the mean at each p (columns) among k classes (rows)."""
        means = np.empty((len(k), len(p)))
        binomial.fill_values_at_nodes(self.worth, p, np.asarray(k, dtype=np.float64) - 1, means)
        return means

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are: that of the atom at p = 0."""
        return float(self.worth[0] * law.weights[0]) if law.p[0] == 0 else 0.0

    def guess(self, k: Any) -> Floats:
        """Return the mean over all ranks."""
        counts = np.asarray(k, dtype=np.float64)
        sums = np.concatenate([[0.0], np.cumsum(self.worth)])
        reached = np.minimum(counts, len(self.worth)).astype(np.int64)
        return np.asarray(sums[reached] / counts)
