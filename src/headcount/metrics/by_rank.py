"""Metrics that give each rank a worth, down to some last rank: MRR@m, and the gain of nDCG@m."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError
from headcount.metrics import binomial, hypergeometric
from headcount.metrics.metric import Metric, Nodes
from headcount.metrics.top import Top
from headcount.support import validation
from headcount.support.words import ROUND_OFF

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 1_000_000  # of ranks that count


class ByRank(Metric):
    r"""The expected worth of the rank 1 + X of the true class, where X rivals win.

    .. math:: E[v_X] = \sum_{j < m} v_j \, P(X = j)

    Ranks past the last that has a worth count nothing.

    Parameters
    ----------
    m : int
        Last rank that counts.
    above : int
        How many stand above the mark at every size.

    Attributes
    ----------
    worth : ndarray
        :math:`v_j`, never rising, for ranks from the first that is open.
    """

    certain: ClassVar[int] = 1  # type: ignore[misc]
    words: ClassVar[tuple[str, str]]  # what it is called in options, and on axes, before the @
    least: ClassVar[int] = 1

    def __init__(self, m: int, above: int = 0) -> None:
        self.m, self.above = validation.whole_number(m, "m", self.least), above
        word, label = self.words
        if self.m > MOST:
            raise ParameterError(f"{word}@m takes m up to {MOST:,}, but m is {self.m:,}.")
        self.name, self.label = f"{word}@{self.m}", f"{label}@{self.m}"
        self.loss_label = f"shortfall of {self.label}"
        self.worth = self.worth_of(np.arange(1.0 + above, self.m + 1))

    @staticmethod
    @abstractmethod
    def worth_of(ranks: Floats) -> Floats:
        """Return what ranks are worth, the first of them one."""

    @abstractmethod
    def describe_mean(self, value: float) -> str:
        """Return in words what a value between nought and one means."""

    def past(self, above: int) -> Self | None:
        """Return the metric where so many stand above the mark at every size."""
        together = self.above + above
        return type(self)(self.m, together) if together < self.m else None

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes."""
        if value > 1 - ROUND_OFF:
            return Top(1).describe(value)
        if value < ROUND_OFF:
            return Top(self.m).describe(value)
        return self.describe_mean(value)

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
