r"""Covariance of the observed curve, from what it is when classes are left out.

A metric among k classes, averaged over all sets of k of the pilot's K classes, is a U-statistic of
order k: a sum of parts that depend on 1, 2, ..., k classes together, uncorrelated (Hoeffding).
Writing V_c for the variance of the parts of c classes, the variance is the sum of all V_c. Leaving
out one class at a time gives the jackknife

.. math:: J_1 = \frac{K-1}{K} \sum_c (\theta_{-c} - \bar\theta)^2, \quad E J_1 \approx \sum_c c V_c,

which is right for small k, where single classes dominate, and too large towards k = K (by up to a
factor of two). Leaving out two at a time gives

.. math:: J_2 = \sum_{c<d} (\theta - \theta_{-c} - \theta_{-d} + \theta_{-cd})^2, \quad
          E J_2 \approx \sum_c \binom{c}{2} V_c ,

and :math:`\sum V_c = J_1 - J_2 + J_3 - \dots` The series is summed from its first two terms as
:math:`J_1 / (1 + J_2 / J_1)`, which is exact when V_c falls geometrically in c, and between
:math:`J_1 - J_2` (too low) and :math:`J_1` (too high) always. The plug-in formula for
U-statistics would need two sets of k classes with nothing in common, and has none past K / 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from headcount.counting import canonical_order
from headcount.curves.ranked import RankedObserved
from headcount.curves.whole_groups import refuse_other_metric
from headcount.errors import UnsupportedError
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.pilot.ranking import Ranking
from headcount.support.grids import class_counts_within
from headcount.support.workers import for_each
from headcount.uncertainty import jackknife_kernels as loops

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NODES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 9 / 10)  # of K, where J2 is computed
MOST_PAIRED = 1500  # classes that are left out in pairs
PAIR_WORK = 150_000_000  # pairs looked at, for each number of classes
NEGLIGIBLE = 1e-13  # change of a probe's value that is not looked at


class Jackknife(ABC):
    """The observed curve of a pilot with one or two of its classes left out.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    weights : ndarray, optional
        Weight of each probe, by default the pilot's own.
    """

    def __init__(self, pilot: Pilot, weights: Floats | None = None) -> None:
        refuse_unlisted(pilot)
        assert pilot.labels is not None  # a pilot with scores has labels
        self.pilot = pilot
        self.n_classes, self.strata = pilot.n_classes, pilot.strata
        self.labels = pilot.labels
        self.weights = pilot.weights if weights is None else weights
        self.class_weights = np.bincount(self.labels, self.weights, self.n_classes)

    @abstractmethod
    def _add_without_one(self, k: int, every: Floats, own: Floats, change: Floats) -> None:
        """Add up the values with one class fewer; see `jackknife_kernels.delete_one`."""

    @abstractmethod
    def _add_without_two(self, k: int, number: Ints, *sums: Floats) -> None:
        """Add up the values with two classes fewer; see `jackknife_kernels.delete_two`."""

    @abstractmethod
    def _rivals_that_matter(self, k: int) -> Floats:
        """Return how many rivals of each probe change anything when they are left out."""

    def covariance(self, counts: Ints) -> Floats:
        """Return the covariance of the curve at these numbers of classes."""
        inside = np.minimum(counts, self.n_classes - 1)
        wanted, back = np.unique(inside, return_inverse=True)
        plain = _spread(self.without_one(wanted), self.strata)
        scale = 1 / np.sqrt(1 + self.excess(wanted))
        return np.asarray((scale[:, None] * plain * scale)[np.ix_(back, back)])

    def without_one(self, counts: Ints) -> Floats:
        """Return the curve without each class (row), at numbers of classes up to K - 1."""
        values = np.empty((self.n_classes, len(counts)))

        def work(i: int) -> None:
            every, own, change = np.zeros(1), *np.zeros((2, self.n_classes))
            self._add_without_one(int(counts[i]), every, own, change)
            values[:, i] = (every + change - own) / (self.class_weights.sum() - self.class_weights)

        for_each(work, range(len(counts)), task="Leaving out classes")
        return values

    def without_two(self, k: int, chosen: NDArray[np.intp]) -> Floats:
        """Return the value at k without each pair of the chosen classes, k being at most K - 2.

        NaN where no probe is left.
        """
        size = len(chosen)
        number = np.full(self.n_classes, -1)
        number[chosen] = np.arange(size)
        every, own, change = np.zeros(1), *np.zeros((2, size))
        own_change, pairs = np.zeros((2, size, size))
        self._add_without_two(k, number, every, own, change, own_change, pairs)
        half = change[:, None] - own[:, None] - own_change + pairs
        weight = self.class_weights[chosen]
        left = self.class_weights.sum() - weight[:, None] - weight
        left[left <= 1e-12] = np.nan
        return np.asarray((every + half + half.T) / left)

    def excess(self, counts: Ints) -> Floats:
        """Return J2 / J1 at these numbers of classes, interpolated between a few."""
        last = self.n_classes - 2
        if last < 2:
            return np.zeros(len(counts))
        near = np.round(np.array(NODES) * self.n_classes).astype(np.int64)
        nodes = np.unique(np.clip([2, *near, last], 2, last))
        ratios = np.zeros(len(nodes))
        singles = self.without_one(nodes)
        plain = np.diag(_spread(singles, self.strata))

        def work(i: int) -> None:
            chosen = self.paired_classes(int(nodes[i]))
            together = self._interaction(int(nodes[i]), singles[:, i], chosen)
            ratios[i] = together / plain[i] if plain[i] > 0 else 0.0

        for_each(work, range(len(nodes)), task="Leaving out pairs of classes")
        if len(nodes) == 1:
            return np.repeat(ratios, len(counts))
        between = PchipInterpolator(np.log(nodes), ratios)
        return np.asarray(between(np.log(np.clip(counts, 2, last))))

    def _interaction(self, k: int, singles: Floats, chosen: NDArray[np.intp]) -> float:
        """Return J2, from the pairs of the chosen classes."""
        pairs = self.without_two(k, chosen)
        single = singles[chosen]
        gaps = pairs - single[:, None] - single + singles.mean()
        squares = gaps[np.triu_indices(len(chosen), 1)] ** 2
        share = self.n_classes * (self.n_classes - 1) / (len(chosen) * (len(chosen) - 1))
        return float(np.nansum(squares) * share)

    def paired_classes(self, k: int) -> NDArray[np.intp]:
        """Return the classes left out in pairs: all, or as many as time allows."""
        work = float(np.square(self._rivals_that_matter(k)).sum())
        most = min(MOST_PAIRED, int(self.n_classes * min(1.0, np.sqrt(PAIR_WORK / (work + 1)))))
        if most >= self.n_classes:
            return np.arange(self.n_classes)
        return self._order[: max(most, 2)]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The classes in an order that does not depend on that of the data."""
        return canonical_order(self.pilot.beats(), self.labels)


class MetricJackknife(Jackknife):
    """The observed curve of a metric with one or two classes left out.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    metric : Metric
        What is looked at, accuracy by default.
    weights : ndarray, optional
        Weight of each probe, by default the pilot's own.
    """

    def __init__(
        self, pilot: Pilot, metric: Metric = ACCURACY, weights: Floats | None = None
    ) -> None:
        super().__init__(pilot, weights)
        self.metric = metric
        self.losses, self.ties = pilot.settled
        self.rivals = pilot.settled_beats()
        self.lengths = np.diff(self.rivals.start)

    def _add_without_one(self, k: int, every: Floats, own: Floats, change: Floats) -> None:
        loops.delete_one(*self._probes(k, 1), every, own, change)

    def _add_without_two(self, k: int, number: Ints, *sums: Floats) -> None:
        longest = max(1, int(self.lengths.max()))
        loops.delete_two(*self._probes(k, 2), number, longest, *sums)

    def _rivals_that_matter(self, k: int) -> Floats:
        changes = np.flatnonzero(np.abs(np.diff(self._values(k, 2))) > NEGLIGIBLE)
        furthest = int(changes[-1]) + 2 if len(changes) else 0
        return np.where(self.losses > furthest, 0.0, self.lengths)

    def _values(self, k: int, missing: int) -> Floats:
        """Return the values for 0, 1, ... losses where so many classes are missing."""
        most = int((self.losses + self.ties).max())
        n_rivals = self.n_classes - 1 - missing
        inside = np.minimum(np.arange(most + 1), n_rivals)
        return self.metric.of_each(inside, n_rivals, k)

    def _probes(self, k: int, missing: int) -> tuple[Any, ...]:
        sums = np.concatenate([[0.0], np.cumsum(self._values(k, missing))])
        rivals = (self.rivals.start, self.rivals.classes, self.rivals.tied)
        probes = (self.losses, self.ties, self.labels, self.weights)
        return (*rivals, *probes, sums, NEGLIGIBLE)


class GroupJackknife(MetricJackknife):
    """The observed curve of accuracy with one or two groups of classes left out.

    Numbers of classes are numbers of groups here (`headcount.pilot.whole_groups`). A probe that a
    relative beats is wrong whatever is left out, unless its own group is.

    Parameters
    ----------
    pilot : Pilot
        Whose groups were drawn whole.
    """

    def __init__(self, pilot: Pilot) -> None:
        merged = pilot.merged
        if merged.pilot is None:
            raise UnsupportedError("every probe is beaten by its own group, so nothing varies.")
        super().__init__(merged.pilot, weights=merged.kept_weights)
        self.class_weights[:] = merged.group_weights
        self.groups_per_class = merged.n_groups / merged.n_classes

    def n_groups_in(self, counts: Ints) -> Ints:
        """Return how many groups so many classes are in, one at least."""
        return np.maximum(np.round(counts * self.groups_per_class), 1).astype(np.int64)


def without_each(pilot: Pilot, metric: Metric, k: Ints) -> Floats:
    """Return the observed curve without each class, or whole group, in the order of their names.

    At numbers of classes up to K - 1. Of queries with documents that stay, without each query (or
    all probes of a class).
    """
    if pilot.ranking is not None:
        return _without_queries(pilot.ranking, pilot.tie_rule, metric, k)
    if not pilot.whole_groups:
        order = np.argsort(pilot.class_names, kind="stable")
        return MetricJackknife(pilot, metric).without_one(k)[order]
    refuse_other_metric(metric)
    jackknife = GroupJackknife(pilot)
    return jackknife.without_one(np.minimum(jackknife.n_groups_in(k), jackknife.n_classes - 1))


def _without_queries(ranking: Ranking, tie_rule: str, metric: Metric, k: Ints) -> Floats:
    lower, upper = RankedObserved(ranking, tie_rule).of_queries(k, metric)
    of_queries, owners = (lower + upper) / 2, ranking.owners
    added = np.array([of_queries[ranking.owner == owner].sum(axis=0) for owner in owners])
    weight = np.bincount(ranking.owner, ranking.weights)[owners]
    left: Floats = (of_queries.sum(axis=0) - added) / (1 - weight)[:, None]
    return left


def metric_covariance(pilot: Pilot, k: Any, metric: Metric = ACCURACY) -> Floats:
    """Return the covariance of a pilot's observed curve at several numbers of classes.

    The classes of the pilot, each with its probes, are taken for a random sample of all classes.
    Where they came in whole groups (`Pilot.whole_groups`), it is the groups that are; where a fixed
    number came from each group (`Pilot.strata`), the classes of each group are.

    Parameters
    ----------
    pilot : Pilot
        With scores, three classes or more, and probes of two or more.
    k : int or sequence of int
        Numbers of classes, 1 to K. At k = K there is nothing to leave out, so it gets the
        covariance of K - 1.
    metric : Metric
        What is looked at, accuracy by default.

    Returns
    -------
    ndarray of shape (len(k), len(k))
        Symmetric, with no negative eigenvalue but for round-off.

    Notes
    -----
    This is a delete-one-class jackknife. Each class is left out both as a true class and as a
    rival, and ties are exact. Near k = K a jackknife comes out too large. Leaving out pairs of
    classes shows by how much, and it is scaled down by that (see the top of this module). With more
    than 1,500 classes, or very many losses, only pairs of some of the classes are left out. It
    takes one pass over all losses for each k.

    References
    ----------
    Efron and Stein (1981), *The jackknife estimate of variance*, Annals of Statistics 9; Zheng,
    Achanta and Benjamini, *... for multi-class classification* (2017), §3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.simulate import isotropic_gaussian
    >>> pilot = isotropic_gaussian(100, sigma=0.5, random_state=0).pilot
    >>> np.sqrt(np.diag(metric_covariance(pilot, [2, 50, 100]))).round(3).tolist()
    [0.002, 0.043, 0.06]
    """
    counts = np.atleast_1d(class_counts_within(k, pilot.n_classes)).ravel()
    if not pilot.whole_groups:
        return MetricJackknife(pilot, metric).covariance(counts)
    refuse_other_metric(metric)
    jackknife = GroupJackknife(pilot)
    return jackknife.covariance(jackknife.n_groups_in(counts))


def _spread(values: Floats, strata: Ints | None = None) -> Floats:
    """Return the jackknife covariance from leave-one-out values, one row for each class.

    Where a fixed number n of the K classes came from each stratum, values vary about the mean of
    their stratum, and their squares count n / (n - 1) times as much. A class that is a stratum of
    its own varies about the mean of all.
    """
    n, middle, often = len(values), values.mean(axis=0), np.ones(len(values))
    if strata is not None:
        sizes = np.bincount(strata)[strata]
        several = sizes > 1
        means = np.array([values[strata == stratum].mean(axis=0) for stratum in np.unique(strata)])
        middle = np.where(several[:, None], means[strata], middle)
        often = np.where(several, sizes / np.maximum(sizes - 1, 1) * (n - 1) / n, 1.0)
    gaps = values - middle
    return np.asarray((n - 1) / n * (often[:, None] * gaps).T @ gaps)


def refuse_unlisted(pilot: Pilot) -> None:
    """Refuse a pilot that does not say which classes beat each probe, or has too few of them."""
    if pilot.censored.any() or not pilot.knows_rivals:
        raise UnsupportedError(
            "standard errors need to know which classes beat each probe, and this pilot holds "
            "only counts; make it from scores or embeddings."
        )
    if pilot.n_classes < 3:
        raise UnsupportedError("two classes leave nothing to compare: give three or more.")
    assert pilot.labels is not None  # a pilot with scores has labels
    if len(np.unique(pilot.labels)) < 2:
        raise UnsupportedError("all probes are of one class, which says nothing about others.")
