r"""What mistakes cost, by place: all that the observed risk of any sub-task depends on.

For a probe let the wrong classes be sorted by score, the best at place 0. Among the true class and
k - 1 of the K - 1 others, drawn at random, the class at place j is chosen if it beats the true
class, is drawn, and none of the j classes before it is:

.. math:: \binom{K - 2 - j}{k - 2} \Big/ \binom{K - 1}{k - 1}.

So the whole curve follows from `spent[j]`, the weighted sum over probes of what is paid when the
class at place j is taken for the true one. Ties are exact expectations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError, UnsupportedError
from headcount.metrics.hypergeometric import fill_place_chances, sum_over_places
from headcount.pilot.losses import collapse
from headcount.pilot.pilot import Pilot
from headcount.questions.risk import kernels
from headcount.questions.risk.costs import COUNTS_ONLY, Cost, as_cost
from headcount.support.grids import class_counts_within
from headcount.support.words import share_of
from headcount.support.workers import for_each

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RULES = {"random": kernels.RANDOM, "lose": kernels.LOSE, "win": kernels.WIN}
PARTS = 16  # of a block, each with its own sums: fixed, so that cores do not change round-off


def cost_by_place(pilot: Pilot, cost: Any, weights: Any = None) -> Floats:
    """Return what is paid on average when the class at each place is taken for the true one.

    Parameters
    ----------
    pilot : Pilot
        With scores; counts are enough for 0-1 cost.
    cost : Cost, or anything that `as_cost` takes
        Cost of each mistake.
    weights : sequence of float, optional
        Weight of each probe, instead of the pilot's own.

    Returns
    -------
    ndarray of shape (n_classes - 1,)
        Entry j: sum over probes of weight times the cost of the wrong class with the (j + 1)-th
        best score, where that beats the true class. Equal scores are resolved exactly, by the
        pilot's tie rule against the true class and in random order among wrong classes.

    Examples
    --------
    The true class is beaten by class 2, which costs 5, and then by class 1, which costs 3.

    >>> from headcount import Pilot
    >>> from headcount.questions.risk.ranks import cost_by_place
    >>> pilot = Pilot.from_scores([[1, 2, 3, 0]], [0], higher_is_better=True)
    >>> cost = [[0, 3, 5, 9], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
    >>> cost_by_place(pilot, cost).tolist()
    [5.0, 3.0, 0.0]
    """
    priced = as_cost(cost, pilot)
    weighted = _weights(pilot, weights)
    if priced.is_zero_one:
        return _from_losses(pilot, weighted)
    return _from_scores(pilot, priced, weighted)


def paid_by_probe(pilot: Pilot, cost: Cost) -> Floats:
    """Return what each probe costs among all classes of a pilot with scores.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.questions.risk import as_cost
    >>> from headcount.questions.risk.ranks import paid_by_probe
    >>> pilot = Pilot.from_scores([[1, 2], [3, 2], [4, 4]], [0, 0, 1])
    >>> paid_by_probe(pilot, as_cost([[0, 3], [5, 0]], pilot)).tolist()
    [3.0, 0.0, 2.5]
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    paid, rule = np.zeros(pilot.n_probes), RULES[pilot.tie_rule]
    for block, scores in pilot.ordered_blocks():
        labels, of_block = pilot.labels[block], np.zeros(len(scores))
        for true, rows in _runs(labels, np.argsort(labels, kind="stable")):
            kernels.pay_rows(scores, rows, true, cost.row(true), rule, of_block)
        paid[block] = of_block
    return paid


def place_chances(k: Any, n_classes: int) -> Floats:
    """Return the chance that each place is the best wrong one drawn, for numbers of classes k.

    Parameters
    ----------
    k : int or sequence of int
        Numbers of classes, 1 to `n_classes`.
    n_classes : int
        How many classes there are in all.

    Returns
    -------
    ndarray of shape (len(k), n_classes - 1)

    Examples
    --------
    Of three wrong classes one is drawn, then two, then all:

    >>> from headcount.questions.risk.ranks import place_chances
    >>> place_chances([2, 3, 4], 4).round(3).tolist()
    [[0.333, 0.333, 0.333], [0.667, 0.333, 0.0], [1.0, 0.0, 0.0]]
    """
    counts = class_counts_within(k, n_classes).ravel()
    chances = np.empty((len(counts), n_classes - 1))
    for row, count in zip(chances, counts.tolist(), strict=True):
        fill_place_chances(count, n_classes, row)
    return chances


def risk_from_places(spent: Floats, k: Any) -> Floats:
    """Return the risk among k classes, without holding the matrix of `place_chances`.

    Parameters
    ----------
    spent : ndarray of shape (n_classes - 1,)
        As from `cost_by_place`.
    k : int or sequence of int
        Numbers of classes, 1 to `n_classes`.

    Returns
    -------
    ndarray of the shape of k

    Examples
    --------
    >>> from headcount.questions.risk.ranks import risk_from_places
    >>> risk_from_places([5.0, 3.0, 0.0], [1, 2, 3, 4]).round(3).tolist()
    [0.0, 2.667, 4.333, 5.0]
    """
    spent = np.ascontiguousarray(spent, dtype=np.float64)
    n_classes = len(spent) + 1
    counts = class_counts_within(k, n_classes)
    rest = np.cumsum(spent[::-1])[::-1].copy()
    values = [sum_over_places(spent, rest, count) for count in counts.ravel().tolist()]
    return np.array(values, dtype=np.float64).reshape(counts.shape)


def _weights(pilot: Pilot, weights: Any) -> Floats:
    if weights is None:
        return pilot.weights
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (pilot.n_probes,) or not ((given >= 0) & (given < np.inf)).all():
        raise ParameterError(
            f"weights must be {pilot.n_probes:,} numbers of 0 or more, one for each probe."
        )
    return given


def _from_losses(pilot: Pilot, weights: Floats) -> Floats:
    """Return the weight of the probes that each place costs a mistake: 0-1 cost."""
    if pilot.censored.any():
        raise UnsupportedError(
            f"{share_of(int(pilot.censored.sum()), pilot.n_probes, 'probes', 'are censored')}, so "
            "what they cost is not known; headcount.observe gives bounds on the accuracy."
        )
    losses, ties = pilot.settled
    values, sums = collapse(losses, ties, weights, np.ones(len(losses), np.bool_))
    at_least = np.bincount(values, sums, pilot.n_classes)[::-1].cumsum()[::-1]
    return np.ascontiguousarray(at_least[1:], dtype=np.float64)


def _from_scores(pilot: Pilot, cost: Cost, weights: Floats) -> Floats:
    if not pilot.has_scores:
        raise UnsupportedError(COUNTS_ONLY)
    rule = RULES[pilot.tie_rule]

    def add(scores: Floats, rows: NDArray[np.intp], true: int, heavy: Floats, sums: Floats) -> None:
        kernels.spend_rows(scores, rows, true, cost.row(true), heavy, rule, sums)

    return summed_over_probes(pilot, weights, pilot.n_classes - 1, add)


def summed_over_probes(
    pilot: Pilot, weights: Floats, size: int, add: Callable[..., None]
) -> Floats:
    """Go through the scores once, and sum what `add` finds for the probes of each class.

    Parameters
    ----------
    pilot : Pilot
        With scores.
    weights : ndarray
        Weight of each probe.
    size : int
        How many numbers are summed.
    add : callable
        ``add(scores, rows, true, weights, sums)`` adds to `sums` what these rows of a block of
        scores give; `true` is the class of all of them, so that one row of costs serves them.

    Returns
    -------
    ndarray of shape (size,)
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    total = np.zeros(size)
    for block, scores in pilot.ordered_blocks():
        labels, heavy = pilot.labels[block], weights[block]
        parts = np.array_split(np.argsort(labels, kind="stable"), min(PARTS, len(labels)))
        sums = np.zeros((len(parts), size))

        def work(
            part: int,
            scores: Floats = scores,
            labels: Ints = labels,
            heavy: Floats = heavy,
            parts: list[NDArray[np.intp]] = parts,
            sums: Floats = sums,
        ) -> None:
            for true, rows in _runs(labels, parts[part]):
                add(scores, rows, true, heavy[rows], sums[part])

        for_each(work, range(len(parts)), task="Adding up costs")
        total += sums.sum(axis=0)
    return total


def _runs(labels: Ints, rows: NDArray[np.intp]) -> list[tuple[int, NDArray[np.intp]]]:
    """Split rows that are sorted by label into runs of one label."""
    own = labels[rows]
    cuts = np.flatnonzero(np.diff(own)) + 1
    return [(int(labels[run[0]]), run) for run in np.split(rows, cuts)]
