r"""Metric: what is expected of the number of rivals that score above a probe's mark.

A probe's *mark* is the score of its true class. Of the k - 1 rivals that it meets among k classes,
X score above the mark: X is hypergeometric where they are drawn from the n = K - 1 rivals of a
pilot, of which l beat the probe, and Binomial(k - 1, 1 - U) where they are drawn from all classes.
A metric is the expectation of some function of X,

.. math:: E[g(X)], \qquad X \sim \mathrm{Hypergeometric}(n, l, k - 1)
          \quad\text{or}\quad X \sim \mathrm{Binomial}(k - 1, 1 - U).

Everything after this room (the observed curve, laws, resampling, the jackknife, back-tests,
intervals, answers, pictures, pages and the command line) takes a metric and does not ask which.
A new metric is a class derived from `Metric` and a line in `headcount.metrics.resolve_metric`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.support import validation
from headcount.support.words import percent, percent_range

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Nodes(Protocol):
    """What a metric reads of a law of favorability: weights on nodes of p = 1 - U."""

    @property
    def p(self) -> Floats:
        """Nodes, ascending."""

    @property
    def weights(self) -> Floats:
        """Their weights, which sum to one."""

    @property
    def log_u(self) -> Floats:
        """log(1 - p), very low where p is one."""

    def given(self, losses: int, n_rivals: int) -> Nodes:
        """Return the law among probes that lost to so many of their rivals."""


class Graded(Protocol):
    """What a metric reads of the graded documents of queries (`headcount.pilot.ranking`)."""

    @property
    def query(self) -> Ints:
        """Number of the query of each."""

    @property
    def gain(self) -> Floats:
        """Grade of each."""

    @property
    def ideal(self) -> Floats:
        """The grade that the best order would have in its place."""

    @property
    def relevant(self) -> Floats:
        """Whether each is relevant."""

    @property
    def relevant_above(self) -> Floats:
        """How many relevant ones are ahead of each."""

    @property
    def first(self) -> Floats:
        """Whether each is the first relevant one."""

    @property
    def n_graded(self) -> Ints:
        """How many each query has."""

    @property
    def n_relevant(self) -> Ints:
        """How many of them are relevant."""


class Metric(ABC):
    """What is measured among k classes, as a share from 0 to 1 that falls as classes are added.

    Attributes
    ----------
    name : str
        What it is called in options and data: ``"accuracy"``, ``"top-5"``.
    label, loss_label : str
        Name of an axis that shows it, and of one that shows what is missing to one.
    better : {"higher", "lower"}
        Which of two values is the better one.
    range : tuple of float
        Lowest and highest value.
    certain : int
        Up to so many classes it is at its best, whatever the scores are.
    """

    better: ClassVar[Literal["higher", "lower"]] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    name: str
    label: str
    loss_label: str
    certain: int

    @property
    def worth_of_ranks(self) -> Metric:
        """The metric of one document: what its rank is worth."""
        return self

    def emphasis(self, graded: Graded) -> Floats:
        """Return how much each graded document of a query counts: the first relevant one alone."""
        return graded.first

    @abstractmethod
    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals.

        Parameters
        ----------
        losses, weights : ndarray
            How many rivals beat the probes, ascending, and the weight of each.
        n_rivals : int
            How many rivals each probe met.
        k : int
            Number of classes, up to ``n_rivals + 1``.
        """

    @abstractmethod
    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return what `of_losses` averages: the expectation for each number of losses."""

    @abstractmethod
    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the expectation among k classes under a law of favorability."""

    @abstractmethod
    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the expectation at each p (columns) among k classes (rows)."""

    @abstractmethod
    def past(self, above: int) -> Metric | None:
        """Return the metric where so many stand above the mark at every size; None if all is lost.

        They are not among the k classes: g(X) becomes g(above + X).
        """

    def of_grown(
        self, losses: Ints, weights: Floats, n_rivals: int, law: Nodes, newcomers: Any
    ) -> Floats:
        r"""Return the mean over probes whose rivals stay while new ones join them.

        A probe that lost to l of its rivals, and loses to X of the s newcomers, is worth

        .. math:: E[g(l + X)], \qquad X \sim \mathrm{Binomial}(s, 1 - U),

        U having its law given l losses.

        Parameters
        ----------
        losses, weights, n_rivals
            Of the probes so far, as in `of_losses`.
        law : Nodes
            The law of favorability that probes come from.
        newcomers : array_like
            Numbers of random classes that join.

        Examples
        --------
        Two of three probes stay ahead of their 4 rivals; of ten newcomers each has a chance of 5%:

        >>> from headcount import Favorability
        >>> from headcount.metrics import ACCURACY
        >>> losses, weights = np.array([0, 3]), np.array([2, 1]) / 3
        >>> ACCURACY.of_grown(losses, weights, 4, Favorability([0.05], [1.0]), [0, 10]).round(3)
        array([0.667, 0.399])
        """
        joined = validation.class_counts(newcomers, 0) + 1
        total = np.zeros(joined.shape)
        for lost, weight in zip(losses.tolist(), weights, strict=True):
            behind = self.past(lost)
            if behind is None:
                break  # losses ascend
            total += weight * behind.of_law(law.given(lost, n_rivals), joined)
        return total

    @abstractmethod
    def limit(self, law: Nodes) -> float:
        """Return what remains under a law however many classes there are."""

    @abstractmethod
    def guess(self, k: Any) -> Floats:
        """Return what choosing at random among k classes would give."""

    @abstractmethod
    def describe(self, value: float) -> str:
        """Return in words what a value means for probes."""

    def write(self, value: float) -> str:
        """Return a value as people read it."""
        return percent(value)

    def write_range(self, lower: float, upper: float) -> str:
        """Return an interval as people read it."""
        return percent_range(lower, upper)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"
