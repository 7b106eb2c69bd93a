r"""Metrics of queries that have several graded documents: observed, and under a law.

Document i of a query has weight :math:`c_i` in the metric, a others ahead of it at every size, and
X of the rivals, of which it meets k - G - A among k documents (`headcount.pilot.ranking`). The
metric is the mean over queries of

.. math:: \sum_i c_i \, E[v(a_i + X_i)] .

Up to the pilot's size X is hypergeometric. Beyond it is Binomial(k - G - A, 1 - U).

**Under laws.** U and a hang together: what stands behind many relevant documents is likely to
stand behind more rivals, too. So U has a law for each *place*, a number a of others ahead; places
that few documents take share one with their neighbours (`places_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from headcount.curves.favorability import Favorability, capacity_of
from headcount.curves.observed import Observed
from headcount.errors import DataError
from headcount.metrics import ACCURACY, Metric, Top, resolve_metric
from headcount.pilot.losses import FEW_ROWS
from headcount.pilot.ranking import Ranking
from headcount.support.grids import class_counts_within
from headcount.support.validation import class_counts
from headcount.support.words import counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FEWEST = 10  # documents at a place that has a law of its own
SIZES = 8  # different numbers of rivals that a forecast tells apart


@dataclass(frozen=True)
class Marks:
    """What counts in a metric: a row for each graded document, and for each way its ties may fall.

    Attributes
    ----------
    row : ndarray of int
        Which row of the ranking.
    query, above, absent, losses : ndarray of int
        As in `Ranking`, once ties are settled.
    missing : ndarray of bool
        Losses and `above` are only known from below.
    weight : ndarray
        In the mean over queries.
    """

    row: Ints
    query: Ints
    above: Ints
    absent: Ints
    losses: Ints
    missing: Bools
    weight: Floats


def marks_of(ranking: Ranking, metric: Metric, tie_rule: str) -> Marks:
    r"""Return what counts in a metric.

    T rivals and S that are always present score as a document does, and P peers, of which it comes
    at place j. It has x = y + z of them ahead, y rivals and z others, with chance

    .. math:: \binom{x + j}{j} \binom{T + S - x + P - 1 - j}{P - 1 - j} \Big/ \binom{T + S + P}{P}
              \cdot \binom{T}{y} \binom{S}{z} \Big/ \binom{T + S}{x} .
    """
    weight = metric.emphasis(ranking) * ranking.weights[ranking.query]
    at_random, lost = tie_rule == "random", tie_rule == "lose"
    ties, stay = ranking.ties * at_random, ranking.always_ties * at_random
    losses, above = ranking.losses + ranking.ties * lost, ranking.above + ranking.always_ties * lost
    ways = np.where(weight > 0, (ties + 1) * (stay + 1), 0)
    if ways.sum() > FEW_ROWS:
        raise DataError(
            f"graded documents tie with {int((ties + stay).sum()):,} others, too many to look at; "
            "break ties with tie_rule (--tie-rule lose or win)."
        )
    row = np.repeat(np.arange(len(ways)), ways)
    way = np.arange(len(row)) - np.repeat(np.cumsum(ways) - ways, ways)
    y, z = np.divmod(way, stay[row] + 1)
    x, both, peers, j = y + z, (ties + stay)[row], ranking.peers[row], ranking.place[row]
    log_chance = (
        _log_binomial(x + j, j)
        + _log_binomial(both - x + peers - 1 - j, peers - 1 - j)
        - _log_binomial(both + peers, peers)
        + _log_binomial(ties[row], y)
        + _log_binomial(stay[row], z)
        - _log_binomial(both, x)
    )
    return Marks(
        row,
        ranking.query[row],
        above[row] + z,
        ranking.absent[row],
        losses[row] + y,
        ranking.missing[row],
        weight[row] * np.exp(log_chance),
    )


def _log_binomial(n: Ints, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


class RankedObserved(Observed):
    """What queries with several graded documents say of collections up to their own size.

    The best case of a document past the end of a list is right behind it, the worst is last.

    Parameters
    ----------
    ranking : Ranking
        Where the graded documents are.
    tie_rule : {"random", "lose", "win"}
        As in `Pilot`.
    """

    def __init__(self, ranking: Ranking, tie_rule: str) -> None:
        self.ranking, self.tie_rule = ranking, tie_rule
        self.n_classes = ranking.n_documents
        self.censored = bool(ranking.missing.any())
        self.exact = not self.censored

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Average of a metric among k of the documents; the middle of its bounds."""
        measure = resolve_metric(metric)
        each = self.of_queries(k, measure)
        lower, upper = (self._mean(k, of_queries, measure) for of_queries in each)
        return lower + (upper - lower) / 2

    def bounds(self, k: Any, metric: str | Metric = ACCURACY) -> tuple[Floats, Floats]:
        """Lower and upper bound of a metric; equal unless lists were cut.

        Where a list was cut amid equal scores, documents past its end may tie with its last.
        """
        metric = resolve_metric(metric)
        ranking, possible = self.ranking, self.ranking.possible_ties
        if not possible.any():
            lower, upper = self.of_queries(k, metric)
            return self._mean(k, lower, metric), self._mean(k, upper, metric)
        at_end = np.where(ranking.missing, possible, 0)
        fewest = replace(ranking, losses=ranking.losses - at_end, ties=ranking.ties + at_end)
        open_ended = ranking.missing | ((possible > 0) & (self.tie_rule != "win"))
        upper = self._of_queries(marks_of(fewest, metric, self.tie_rule), k, metric)
        most = replace(ranking, missing=open_ended, ties=np.where(open_ended, 0, ranking.ties))
        lower = self._of_queries(self._worst(most, metric), k, metric)
        return self._mean(k, lower, metric), self._mean(k, upper, metric)

    def of_queries(self, k: Any, metric: Metric) -> tuple[Floats, Floats]:
        """Return what each query adds to the mean, (queries, k), in the worst and best case."""
        upper = self._of_queries(marks_of(self.ranking, metric, self.tie_rule), k, metric)
        if not self.censored:
            return upper, upper
        return self._of_queries(self._worst(self.ranking, metric), k, metric), upper

    def _mean(self, k: Any, of_queries: Floats, metric: Metric) -> Floats:
        # Weights sum to one but for round-off.
        mean: Floats = np.minimum(of_queries.sum(axis=0), metric.range[1]).reshape(np.shape(k))
        return mean

    def _worst(self, ranking: Ranking, metric: Metric) -> Marks:
        """Return marks with all rivals, and all that is always there, ahead of what is missing."""
        marks = marks_of(ranking, metric, self.tie_rule)
        return replace(
            marks,
            above=np.where(marks.missing, marks.absent - 1, marks.above),
            losses=np.where(marks.missing, self.n_classes - marks.absent, marks.losses),
        )

    def _of_queries(self, marks: Marks, k: Any, metric: Metric) -> Floats:
        counts = class_counts_within(k, self.n_classes).ravel()
        total = np.zeros((self.ranking.n_queries, len(counts)))
        # Pairs as one number, which sorts and splits them.
        for pair, rows in _by_value(marks.above * (self.n_classes + 1) + marks.absent):
            above, absent = divmod(pair, self.n_classes + 1)
            worth = metric.worth_of_ranks.past(above)
            if worth is None:
                continue
            losses, place = np.unique(marks.losses[rows], return_inverse=True)
            for i, count in enumerate(counts.tolist()):
                met = max(count - absent, 0)
                values = worth.of_each(losses, self.n_classes - absent, met + 1)[place]
                added = np.bincount(marks.query[rows], marks.weight[rows] * values, len(total))
                total[:, i] += added
        return total


def places_of(ranking: Ranking) -> Ints:
    """Return the least number of others ahead at each place that has a law of its own.

    Twice as many from place to place at the least, and `FEWEST` documents take it.

    Examples
    --------
    >>> from headcount import Pilot
    >>> names = [f"d{i}" for i in range(5)]
    >>> run = {query: dict.fromkeys([*names, "x"], 1.0) for query in range(20)}
    >>> pilot = Pilot.from_run(run, {q: dict.fromkeys(names, 1) for q in run}, n_classes=9)
    >>> places_of(pilot.ranking).tolist()
    [0, 1, 2, 4]
    """
    above = np.sort(ranking.above)
    starts, first, start = [0], 0, 1
    while start <= above[-1]:
        reached = int(np.searchsorted(above, start))
        if min(reached - first, len(above) - reached) >= FEWEST:
            starts, first = [*starts, start], reached
        start *= 2
    return np.array(starts)


class RankedLaw:
    """What laws of favorability say of queries with several graded documents.

    Parameters
    ----------
    laws : sequence of Favorability
        One for each place.
    starts : ndarray of int
        Least number of others ahead at each place, ascending from nought.
    ranking : Ranking
        Where the documents are.
    tie_rule : {"random", "lose", "win"}
        As in `Pilot`.
    """

    def __init__(
        self, laws: Sequence[Favorability], starts: Ints, ranking: Ranking, tie_rule: str
    ) -> None:
        self.laws, self.starts = tuple(laws), np.asarray(starts, dtype=np.int64)
        self.ranking, self.tie_rule = ranking, tie_rule
        self._parts: dict[str, list[Part]] = {}

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k documents."""
        counts, measure = class_counts(k), resolve_metric(metric)
        each = [(law.p, law.weights[None]) for law in self.laws]
        values = self.values(counts.ravel(), measure, each)
        return np.minimum(values, measure.range[1]).reshape(counts.shape)

    def values(self, k: Floats, metric: Metric, each: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Return a metric among k documents (columns) under several sets of laws (rows).

        `each` has, for each place, nodes of p, and the weights of the laws on them (laws, nodes).
        """
        total = np.zeros((len(each[0][1]), len(k)))
        for part in self._parts_of(metric):
            p, weights = each[part.place]
            met = np.maximum(k - part.absent, 0) + 1
            total += part.weight * (weights @ part.worth.of_nodes(p, met).T)
        return total

    def accuracy(self, k: Any) -> Floats:
        """Return the expected chance that the best document is relevant."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Return the expected chance that a relevant document is among the best m of k."""
        return self.value(k, Top(m))

    @property
    def asymptote(self) -> float:
        """Accuracy that remains however many documents there are."""
        return self.limit(ACCURACY)

    def limit(self, metric: Metric) -> float:
        """Return what remains of a metric however many documents there are."""
        return sum(
            part.weight * part.worth.limit(self.laws[part.place]) for part in self._parts_of(metric)
        )

    def capacity(self, target: float, metric: Metric = ACCURACY) -> int | float:
        """Largest number of documents at which a metric is still at least `target`."""
        return capacity_of(lambda k: float(self.value(k, metric)), self.limit(metric), target)

    def _parts_of(self, metric: Metric) -> list[Part]:
        if metric.name not in self._parts:
            self._parts[metric.name] = list(self._make_parts(metric))
        return self._parts[metric.name]

    def _make_parts(self, metric: Metric) -> Iterator[Part]:
        marks = marks_of(self.ranking, metric, self.tie_rule)
        absent, size = _few(marks.absent, marks.weight), self.ranking.n_documents + 1
        place = np.searchsorted(self.starts, self.ranking.above, side="right")[marks.row] - 1
        for pair, rows in _by_value((marks.above * len(self.laws) + place) * size + absent):
            ahead, missing = divmod(pair, size)
            above, at = divmod(ahead, len(self.laws))
            worth = metric.worth_of_ranks.past(above)
            if worth is not None:
                yield Part(at, missing, worth, float(marks.weight[rows].sum()))

    def __repr__(self) -> str:
        places = counted(len(self.laws), "place")
        return f"RankedLaw({places}, {self.ranking.n_queries:,} queries)"


@dataclass(frozen=True)
class Part:
    """Documents that count alike: their place, what is no rival, what a rank is worth, weight."""

    place: int
    absent: int
    worth: Metric
    weight: float


def _by_value(values: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each value and the rows that have it."""
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(distinct)))
    yield from zip(distinct.tolist(), np.split(order, ends[:-1]), strict=True)


def _few(absent: Ints, weight: Floats) -> Ints:
    """Return numbers of absent documents of which only a few differ."""
    if len(np.unique(absent)) <= SIZES:
        return absent
    order = np.argsort(absent, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    part = np.empty(len(absent), np.int64)
    part[order] = np.minimum((reached * SIZES).astype(np.int64), SIZES - 1)
    means = np.bincount(part, weight * absent, SIZES) / np.maximum(
        np.bincount(part, weight, SIZES), math.ulp(1.0)
    )
    return means.round().astype(np.int64)[part]
