"""How far down the true class stands: AUC, the share of rivals behind it, and its mean rank."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from headcount.metrics.metric import Metric, Nodes
from headcount.metrics.top import Top
from headcount.support import validation
from headcount.support.words import ROUND_OFF, percent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Auc(Metric):
    r"""The chance of the true class to be ahead of one random rival, E[U], however many there are.

    .. math:: 1 - \frac{l}{n} \quad\text{for a probe with } l \text{ losses among } n \text{ rivals}

    The mean rank among k classes follows from it: :math:`1 + (k - 1)(1 - AUC)`. What is present at
    every size is not among the rivals.

    References
    ----------
    Hanley and McNeil, *The meaning and use of the area under a receiver operating characteristic
    (ROC) curve*, Radiology 143 (1982).

    Examples
    --------
    >>> losses, weights = np.array([0, 1]), np.array([0.5, 0.5])
    >>> round(Auc().of_losses(losses, weights, 3, 4), 3)
    0.833
    """

    certain: ClassVar[int] = 1  # type: ignore[misc]
    name, label, loss_label = "auc", "AUC", "1 - AUC"

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the mean over probes."""
        return float(weights @ self.of_each(losses, n_rivals, k))

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the share of rivals behind, for each number of losses."""
        return np.asarray(1 - losses / max(n_rivals, 1))

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the mean under a law of favorability."""
        counts = validation.class_counts(k)
        return np.where(counts <= 1, 1.0, 1 - float(law.weights @ law.p))

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the chance at each p (columns) among k classes (rows)."""
        return np.where(np.asarray(k)[:, None] <= 1, 1.0, 1 - p)

    def past(self, above: int) -> Auc:
        """Return the same: what is always present is no rival."""
        return self

    def of_grown(
        self, losses: Ints, weights: Floats, n_rivals: int, law: Nodes, newcomers: Any
    ) -> Floats:
        """Return the share of all rivals that are behind, of those that were met and newcomers."""
        joined = validation.class_counts(newcomers, 0)
        beaten = np.zeros(joined.shape)
        for lost, weight in zip(losses.tolist(), weights, strict=True):
            given = law.given(lost, n_rivals)
            beaten += weight * (lost + joined * float(given.weights @ given.p))
        return 1 - beaten / np.maximum(n_rivals + joined, 1)

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are: all of it."""
        return 1 - float(law.weights @ law.p)

    def guess(self, k: Any) -> Floats:
        """Return one half."""
        return np.where(np.asarray(k) <= 1, 1.0, 0.5)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Auc().describe(0.985)
        'the right class is ahead of 98.5% of the others on average'
        """
        if value > 1 - ROUND_OFF:
            return Top(1).describe(value)
        return f"the right class is ahead of {percent(value)} of the others on average"


class MeanRank(Metric):
    r"""The mean rank of the true class: :math:`1 + a + E[X]`, and low is good.

    It is no share, so it has no intervals, back-test or capacity of its own; those of `Auc` tell
    the same.

    Parameters
    ----------
    above : int
        How many stand above the mark at every size.

    Examples
    --------
    >>> losses, weights = np.array([0, 3]), np.array([0.5, 0.5])
    >>> MeanRank().of_losses(losses, weights, 9, 10)
    2.5
    >>> MeanRank().write(1234.5)
    '1,200'
    """

    better: ClassVar[Literal["higher", "lower"]] = "lower"
    range: ClassVar[tuple[float, float]] = (1.0, np.inf)
    certain: ClassVar[int] = 1  # type: ignore[misc]
    name, label, loss_label = "mean-rank", "mean rank", "mean rank"

    def __init__(self, above: int = 0) -> None:
        self.above = above

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        return float(weights @ self.of_each(losses, n_rivals, k))

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the mean for each number of losses."""
        return np.asarray(1.0 + self.above + losses * ((k - 1) / max(n_rivals, 1)))

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the mean among k classes under a law of favorability."""
        rivals = validation.class_counts(k) - 1
        return np.asarray(1.0 + self.above + rivals * float(law.weights @ law.p))

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the mean at each p (columns) among k classes (rows)."""
        return np.asarray(1.0 + self.above + np.multiply.outer(np.asarray(k) - 1, p))

    def past(self, above: int) -> MeanRank:
        """Return the metric where so many stand above the mark at every size."""
        return MeanRank(self.above + above)

    def limit(self, law: Nodes) -> float:
        """Return what it grows to: no end, unless nothing is ever beaten."""
        return np.inf if law.p[-1] > 0 else 1.0 + self.above

    def guess(self, k: Any) -> Floats:
        """Return the middle rank."""
        return np.asarray((np.asarray(k, dtype=np.float64) + 1) / 2)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes."""
        return f"the right class is at rank {self.write(value)} on average"

    def write(self, value: float) -> str:
        """Return a value as people read it."""
        return f"{value:.3g}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"

    def write_range(self, lower: float, upper: float) -> str:
        """Return an interval as people read it."""
        return f"{self.write(lower)} to {self.write(upper)}"
