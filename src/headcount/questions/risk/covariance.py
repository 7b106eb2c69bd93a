"""Covariance of the observed risk for any cost of mistakes, by the jackknife over classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UnsupportedError
from headcount.metrics import ACCURACY
from headcount.metrics.hypergeometric import fill_place_chances
from headcount.pilot.pilot import BEATS_BUDGET, Pilot
from headcount.questions.risk import jackknife_kernels as loops
from headcount.questions.risk import kernels
from headcount.questions.risk.costs import Cost, as_cost
from headcount.questions.risk.priors import prior_weights
from headcount.questions.risk.ranks import RULES
from headcount.support.grids import class_counts_within
from headcount.uncertainty.jackknife import Jackknife, MetricJackknife, refuse_unlisted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENTRY_BYTES = 13
NEGLIGIBLE = 1e-13  # chance of all places after one that are not looked at


def curve_covariance(pilot: Pilot, cost: Any, k: Any, priors: Any = None) -> Floats:
    """Return the covariance of the observed risk at several numbers of classes.

    The classes of the pilot, each with its probes, are taken for a random sample of all classes.
    Classes that come in families are no such sample, and vary more than this says: groups are not
    looked at.

    Parameters
    ----------
    pilot : Pilot
        With scores, three classes or more, and probes of two or more.
    cost : Cost, or anything that `as_cost` takes
        Cost of each mistake; "zero-one" for the error rate, whose covariance is that of accuracy.
    k : int or sequence of int
        Numbers of classes, 1 to K. At k = K there is nothing to leave out, so it gets the
        covariance of K - 1.
    priors : mapping or sequence, optional
        How often each class is the true one; see `as_priors`.

    Returns
    -------
    ndarray of shape (len(k), len(k))
        Symmetric, with no negative eigenvalue but for round-off.

    Notes
    -----
    This is a delete-one-class jackknife. Each class is left out both as a true class and as a
    rival, and ties are exact. Near k = K a jackknife comes out too large. Leaving out pairs of
    classes shows by how much, and it is scaled down by that (see
    `headcount.uncertainty.jackknife`). With more than 1,500 classes, or very many losses, only
    pairs of some of the classes are left out. It takes one pass over all losses for each k.

    References
    ----------
    Efron and Stein (1981), *The jackknife estimate of variance*, Annals of Statistics 9; Zheng,
    Achanta and Benjamini, *... for multi-class classification* (2017), §3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.simulate import isotropic_gaussian
    >>> from headcount.questions.risk import curve_covariance
    >>> pilot = isotropic_gaussian(100, sigma=0.5, random_state=0).pilot
    >>> np.sqrt(np.diag(curve_covariance(pilot, "zero-one", [2, 50, 100]))).round(3).tolist()
    [0.002, 0.043, 0.06]
    """
    counts = np.atleast_1d(class_counts_within(k, pilot.n_classes)).ravel()
    return risk_jackknife(pilot, as_cost(cost, pilot), priors).covariance(counts)


def risk_jackknife(pilot: Pilot, cost: Cost, priors: Any = None) -> Jackknife:
    """Return the jackknife of the risk at a cost, with the true class drawn from priors."""
    refuse_unlisted(pilot)
    weights = None if priors is None else prior_weights(pilot, priors)
    if cost.is_zero_one:
        return ErrorJackknife(pilot, ACCURACY, weights)
    return CostJackknife(pilot, ranked_rivals(pilot, cost), weights)


class ErrorJackknife(MetricJackknife):
    """The risk where every mistake costs one: what is missing to an accuracy of one."""

    def without_one(self, counts: Ints) -> Floats:
        """Return the error rate without each class (row), at numbers of classes up to K - 1."""
        return 1 - super().without_one(counts)

    def without_two(self, k: int, chosen: NDArray[np.intp]) -> Floats:
        """Return the error rate at k without each pair of the chosen classes."""
        return 1 - super().without_two(k, chosen)


@dataclass(frozen=True)
class Rivals:
    """For each probe the classes that can be taken for the true one, best first.

    Parameters
    ----------
    start : ndarray of int64, shape (n_probes + 1,)
        Probe i owns the entries ``start[i]`` to ``start[i + 1]``.
    classes : ndarray of int32
        The classes; those that tie with the true one are last.
    costs : ndarray of float64
        What taking each of them costs.
    fresh : ndarray of bool
        Whether a group of equal scores starts here.
    tied : ndarray of int64
        For each probe, how many of its last rivals are in random order with the true class.
    """

    start: Ints
    classes: NDArray[np.int32]
    costs: Floats
    fresh: NDArray[np.bool_]
    tied: Ints

    @property
    def longest(self) -> int:
        """Largest number of rivals of one probe; at least one, to make room."""
        return max(1, int(np.diff(self.start).max()))


class CostJackknife(Jackknife):
    """The risk with one or two classes left out, where mistakes have different costs.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    rivals : Rivals
        Which classes can be taken for the true one, and what that costs.
    weights : ndarray, optional
        Weight of each probe, by default the pilot's own.
    """

    def __init__(self, pilot: Pilot, rivals: Rivals, weights: Floats | None = None) -> None:
        super().__init__(pilot, weights)
        self.rivals = rivals

    def _add_without_one(self, k: int, every: Floats, own: Floats, change: Floats) -> None:
        loops.delete_one(*self._probes(), *self._places(k, 1), every, own, change)

    def _add_without_two(self, k: int, number: Ints, *sums: Floats) -> None:
        loops.delete_two(*self._probes(), *self._places(k, 2), number, *sums)

    def _rivals_that_matter(self, k: int) -> Floats:
        lengths = np.diff(self.rivals.start).astype(np.float64)
        return np.minimum(lengths, self._places(k, 2)[2])

    def _places(self, k: int, missing: int) -> tuple[Floats, Floats, int]:
        """Sum the chances of the places before each one; sum those sums; say which matter."""
        n_classes = self.n_classes - missing
        chances = np.zeros(self.n_classes)
        fill_place_chances(k, n_classes, chances[: n_classes - 1])
        sums = np.concatenate([[0.0], np.cumsum(chances)])
        later = np.cumsum(chances[::-1])[::-1]
        # Those that move up by two places matter, too.
        return sums, np.cumsum(sums), int((later > NEGLIGIBLE).sum()) + 2

    def _probes(self) -> tuple[Any, ...]:
        rivals = self.rivals
        probes = (rivals.start, rivals.classes, rivals.costs, rivals.fresh, rivals.tied)
        return (*probes, self.labels, self.weights, rivals.longest)


def standard_errors(pilot: Pilot, cost: Any, k: Any, priors: Any = None) -> Floats:
    """Return the standard error of the observed risk at numbers of classes up to K.

    Parameters
    ----------
    pilot, cost, k, priors
        As for `curve_covariance`.

    Returns
    -------
    ndarray of the shape of k

    Examples
    --------
    >>> from headcount.simulate import isotropic_gaussian
    >>> pilot = isotropic_gaussian(100, sigma=0.5, random_state=0).pilot
    >>> float(standard_errors(pilot, "zero-one", 50).round(3))
    0.043
    """
    shape = np.shape(k)
    covariance = curve_covariance(pilot, cost, k, priors)
    return np.asarray(np.sqrt(np.diag(covariance))).reshape(shape)  # of sums of squares


def ranked_rivals(pilot: Pilot, cost: Cost) -> Rivals:
    """Return the rivals in the order of their scores, with what each costs."""
    needed = ENTRY_BYTES * int((pilot.losses + pilot.ties).sum())
    if needed > BEATS_BUDGET:
        raise UnsupportedError(
            f"the list of classes that beat each probe would take {needed / 2**30:.1f} GiB, more "
            f"than the {BEATS_BUDGET / 2**30:.1f} GiB there are; use fewer probes."
        )
    assert pilot.labels is not None  # a pilot with scores has labels
    rule, parts = RULES[pilot.tie_rule], []
    for block, scores in pilot.ordered_blocks():
        true = pilot.labels[block]
        lengths = np.zeros(len(true), np.int64)
        kernels.count_rivals(scores, true, rule, lengths)
        start = np.concatenate([[0], np.cumsum(lengths)])
        classes, fresh = np.empty(start[-1], np.int32), np.empty(start[-1], np.bool_)
        tied = np.zeros(len(true), np.int64)
        kernels.list_rivals(scores, true, rule, start, classes, fresh, tied)
        parts.append((lengths, classes, fresh, tied))
    lengths, classes, fresh, tied = (np.concatenate(column) for column in zip(*parts, strict=True))
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if pilot.tie_rule == "lose":
        tied = np.zeros_like(tied)
    costs = _costs(start, classes, pilot.labels, cost)
    return Rivals(start, classes, costs, fresh, tied)


def _costs(start: Ints, classes: NDArray[np.int32], labels: Ints, cost: Cost) -> Floats:
    """Look up what each rival costs, one row of costs a class."""
    costs = np.empty(len(classes))
    order = np.argsort(labels, kind="stable")
    previous, row = -1, np.empty(0)
    for i in order.tolist():
        if labels[i] != previous:
            previous = int(labels[i])
            row = cost.row(previous)
        entries = slice(start[i], start[i + 1])
        costs[entries] = row[classes[entries]]
    return costs
