r"""Metrics over all relevant documents of a query: recall, precision, nDCG and average precision.

Each is a sum over the query's graded documents, with a weight for each and a worth of its rank,

.. math:: \sum_i c_i \, E[v(a_i + X_i)],

where a others are ahead of document i at every size, and X of its rivals are. Where one answer is
right, as for classes, it is the worth of that one's rank, :math:`c \, E[v(X)]`.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.metrics.discounted import Discounted
from headcount.metrics.metric import Graded, Metric, Nodes
from headcount.metrics.reciprocal import Reciprocal, ReciprocalWithin
from headcount.metrics.top import Top
from headcount.support.words import percent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Retrieval(Metric):
    """A metric over all relevant documents: the worth of a rank, and a weight for each document.

    Parameters
    ----------
    kernel : Metric
        What a rank is worth.
    name, label : str
        What it is called.
    share : float
        c where one answer is right.
    """

    def __init__(self, kernel: Metric, name: str, label: str, share: float = 1.0) -> None:
        self.kernel, self.share = kernel, share
        self.name, self.label = name, label
        self.loss_label = f"shortfall of {label}"
        self.certain = kernel.certain if share == 1 else 0

    @property
    def worth_of_ranks(self) -> Metric:
        """The metric of one document: what its rank is worth."""
        return self.kernel

    def of_losses(self, losses: Ints, weights: Floats, n_rivals: int, k: int) -> float:
        """Return the exact mean over probes, and over all sets of k - 1 of their rivals."""
        return self.share * self.kernel.of_losses(losses, weights, n_rivals, k)

    def of_each(self, losses: Ints, n_rivals: int, k: int) -> Floats:
        """Return the expectation for each number of losses."""
        return self.share * self.kernel.of_each(losses, n_rivals, k)

    def of_law(self, law: Nodes, k: Any) -> Floats:
        """Return the expectation among k classes under a law of favorability."""
        return self.share * self.kernel.of_law(law, k)

    def of_nodes(self, p: Floats, k: Floats) -> Floats:
        """Return the expectation at each p (columns) among k classes (rows)."""
        return self.share * self.kernel.of_nodes(p, k)

    def past(self, above: int) -> Metric | None:
        """Return the metric where so many stand above the mark at every size."""
        kernel = self.kernel.past(above)
        if kernel is None:
            return None
        moved = copy(self)
        moved.kernel = kernel
        return moved

    def limit(self, law: Nodes) -> float:
        """Return what remains however many classes there are."""
        return self.share * self.kernel.limit(law)

    def guess(self, k: Any) -> Floats:
        """Return what choosing at random among k classes would give."""
        return self.share * self.kernel.guess(k)

    @abstractmethod
    def describe(self, value: float) -> str:
        """Return in words what a value means for probes."""


class Recall(Retrieval):
    r"""The share of a query's relevant documents that are among the best m.

    .. math:: \frac 1 R \sum_i P(a_i + X_i < m)

    Where one answer is right it is top-m.

    Examples
    --------
    >>> Recall(5).name, float(Recall(5).guess(10))
    ('recall@5', 0.5)
    """

    def __init__(self, m: int) -> None:
        super().__init__(Top(m), f"recall@{m}", f"recall@{m}")
        self.m = m

    def emphasis(self, graded: Graded) -> Floats:
        """Return the weight of each graded document."""
        return graded.relevant / graded.n_relevant[graded.query]

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Recall(5).describe(0.4)
        '40% of what is relevant is among the best 5'
        """
        return f"{percent(value)} of what is relevant is among {_best(self.m)}"


class Precision(Retrieval):
    r"""The share of the best m that is relevant.

    .. math:: \frac 1 m \sum_i P(a_i + X_i < m)

    Examples
    --------
    >>> Precision(5).of_each(np.array([0, 5]), 9, 10).tolist()  # one answer is right
    [0.2, 0.0]
    """

    def __init__(self, m: int) -> None:
        super().__init__(Top(m), f"precision@{m}", f"precision@{m}", 1 / m)
        self.m = m

    def emphasis(self, graded: Graded) -> Floats:
        """Return the weight of each graded document."""
        return self.share * graded.relevant

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Precision(5).describe(0.4)
        '40% of the best 5 are relevant'
        """
        return f"{percent(value)} of {_best(self.m)} are relevant"


class DiscountedGain(Retrieval):
    r"""nDCG@m: grades over logarithms of ranks, as a share of what the best order would have.

    .. math:: \sum_i g_i \, E\Big[\frac{1}{\log_2(2 + a_i + X_i)}; a_i + X_i < m\Big]
              \Big/ \sum_{i < m} \frac{g_{(i)}}{\log_2(2 + i)}

    The gain is the grade, as in trec_eval.

    References
    ----------
    Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques* (2002).

    Examples
    --------
    >>> DiscountedGain(3).of_each(np.array([0, 1, 2, 3]), 3, 4).round(3).tolist()
    [1.0, 0.631, 0.5, 0.0]
    """

    def __init__(self, m: int) -> None:
        super().__init__(Discounted(m), f"ndcg@{m}", f"nDCG@{m}")
        self.m = m

    def emphasis(self, graded: Graded) -> Floats:
        """Return the weight of each graded document."""
        starts = np.concatenate([[0], np.cumsum(graded.n_graded)[:-1]])
        place = np.arange(len(graded.query)) - starts[graded.query]
        worth = np.where(place < self.m, graded.ideal / np.log2(2.0 + place), 0.0)
        return graded.gain / np.bincount(graded.query, worth)[graded.query]

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> DiscountedGain(10).describe(0.4)
        '40% of the gain of the best order is among the best 10'
        """
        return f"{percent(value)} of the gain of the best order is among {_best(self.m)}"


class AveragePrecision(Retrieval):
    r"""Average precision (map): the mean, over relevant documents, of the precision at their rank.

    .. math:: \frac 1 R \sum_i E\Big[\frac{1 + r_i}{1 + a_i + X_i}\Big]

    with r relevant documents ahead of document i; with m, nothing past rank m. Where one answer is
    right it is MRR.

    Examples
    --------
    >>> AveragePrecision().of_each(np.array([0, 1]), 1, 2).tolist()
    [1.0, 0.5]
    """

    def __init__(self, m: int | None = None) -> None:
        within = "" if m is None else f"@{m}"
        kernel = Reciprocal() if m is None else Top(1) if m == 1 else ReciprocalWithin(m)
        super().__init__(kernel, f"map{within}", f"MAP{within}")

    def emphasis(self, graded: Graded) -> Floats:
        """Return the weight of each graded document."""
        share = graded.relevant / graded.n_relevant[graded.query]
        return share * (1 + graded.relevant_above)

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> AveragePrecision().describe(0.4)
        'precision at the rank of each relevant one is 40% on average'
        """
        return f"precision at the rank of each relevant one is {percent(value)} on average"


def _best(m: int) -> str:
    return "the best one" if m == 1 else f"the best {m:,}"
