r"""Metrics of queries that have several graded documents: observed, and under a law.

Document i of a query has weight :math:`c_i` in the metric, a others ahead of it at every size, and
X of the rivals, of which it meets k - G - A among k documents (`headcount.pilot.ranking`). The
metric is the mean over queries of

.. math:: \sum_i c_i \, E[v(a_i + X_i)] .

Up to the pilot's size X is hypergeometric. Beyond it is Binomial(k - G - A, 1 - U).

**Under a law.** U and a hang together: what stands behind many relevant documents is likely to
stand behind more rivals, too. So U has, for each document, the law that its own losses leave of the
law of all,

.. math:: f(u \mid l_i) \propto f(u) \, (1 - u)^{l_i} u^{n_i - l_i},

and documents with the same a have the mean of these as a law of their own; from that the same is
done once more (two steps of expectation and maximisation, which keep it near the law of all). Where
all have the same a, that is the law itself if it agrees with the losses.

Laws as plausible as the forecast one are tilted as that one was, and not by the losses anew: what
these leave open is what such laws are about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom

from headcount.curves.favorability import Favorability, capacity_of
from headcount.curves.observed import Observed
from headcount.errors import DataError
from headcount.metrics import ACCURACY, Metric, Top, resolve_metric
from headcount.pilot.losses import FEW_ROWS
from headcount.pilot.ranking import Ranking
from headcount.support.grids import class_counts_within
from headcount.support.validation import class_counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STEPS = 2  # of expectation and maximisation, from the law of all documents
SIZES = 8  # different numbers of rivals that a forecast tells apart


@dataclass(frozen=True)
class Marks:
    """What counts in a metric: a row for each graded document, and for each way its ties may fall.

    Attributes
    ----------
    query, above, absent, losses : ndarray of int
        As in `Ranking`, once ties are settled.
    missing : ndarray of bool
        Losses and `above` are only known from below.
    weight : ndarray
        In the mean over queries.
    """

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


class RankedLaw:
    """What a law of favorability says of queries with several graded documents.

    Parameters
    ----------
    law : Favorability
        Of all documents that count.
    ranking : Ranking
        Where they are.
    tie_rule : {"random", "lose", "win"}
        As in `Pilot`.
    """

    def __init__(self, law: Favorability, ranking: Ranking, tie_rule: str) -> None:
        self.law, self.ranking, self.tie_rule = law, ranking, tie_rule
        self._spread: dict[str, Spread] = {}

    def spread(self, metric: Metric) -> Spread:
        """Return how a metric is spread over nodes of p."""
        if metric.name not in self._spread:
            marks = marks_of(self.ranking, metric, self.tie_rule)
            self._spread[metric.name] = Spread(marks, self.ranking.n_documents, self.law.p, metric)
        return self._spread[metric.name]

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k documents."""
        counts = class_counts(k)
        measure = resolve_metric(metric)
        values = self.spread(measure).values(counts.ravel(), self.law.weights[None])
        return np.minimum(values, measure.range[1]).reshape(counts.shape)

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
        return self.spread(metric).limit(self.law.weights)

    def capacity(self, target: float, metric: Metric = ACCURACY) -> int | float:
        """Largest number of documents at which a metric is still at least `target`."""
        return capacity_of(lambda k: float(self.value(k, metric)), self.limit(metric), target)

    def __repr__(self) -> str:
        return f"RankedLaw({len(self.law.p):,} nodes, {self.ranking.n_queries:,} queries)"


class Spread:
    """How a metric is spread over nodes of p, for any law on them.

    Numbers of rivals of different queries are told apart as far as `SIZES` go.
    """

    def __init__(self, marks: Marks, n_documents: int, p: Floats, metric: Metric) -> None:
        self.p = p
        absent = _few(marks.absent, marks.weight)
        self.groups = [
            (worth, *_evidence(marks, rows, absent, n_documents, p))
            for above, rows in _by_value(marks.above)
            for worth in (metric.worth_of_ranks.past(above),)
            if worth is not None
        ]

    def values(self, k: Floats, weights: Floats, centre: Floats | None = None) -> Floats:
        """Return the metric among k documents (columns) under laws on the nodes (rows).

        With a centre, laws are tilted as that one is.
        """
        total = np.zeros((len(weights), len(k)))
        for worth, absent, chances, mass in self.groups:
            if centre is None:
                left = masses_left(chances, mass, weights)
            else:
                left = tilted(weights, masses_left(chances, mass, centre[None])[:, 0], centre)
            for missing, of_law in zip(absent.tolist(), left, strict=True):
                total += of_law @ worth.of_nodes(self.p, np.maximum(k - missing, 0) + 1).T
        return total

    def limit(self, weights: Floats) -> float:
        """Return what remains however many documents there are: what is never beaten."""
        if self.p[0] > 0:
            return 0.0
        return sum(
            float(masses_left(chances, mass, weights[None])[:, 0, 0].sum())
            * float(worth.of_nodes(np.zeros(1), np.ones(1))[0, 0])
            for worth, _, chances, mass in self.groups
        )


def masses_left(chances: Floats, mass: Floats, weights: Floats) -> Floats:
    """Return the mass on each node that losses leave of laws, (sizes, laws, nodes).

    Parameters
    ----------
    chances : ndarray (documents, nodes)
        Of the losses of documents with the same number ahead of them.
    mass : ndarray (sizes, documents)
        How much each counts, among those of each number of rivals.
    weights : ndarray (laws, nodes)
        Laws of all documents.
    """
    together, law = mass.sum(axis=0)[None], weights
    for _ in range(STEPS - 1):
        law = _left(chances, together, law)[0]
        law = law / law.sum(axis=1, keepdims=True)
    return _left(chances, mass, law)


def tilted(weights: Floats, left: Floats, centre: Floats) -> Floats:
    """Return laws (rows) moved as the centre was, to what is left of it; (sizes, laws, nodes)."""
    ratio = np.divide(left, centre, out=np.zeros_like(left), where=centre > 0)
    moved = weights * ratio[:, None]
    scale = left.sum(axis=1)[:, None] / np.maximum(moved.sum(axis=2), np.finfo(float).tiny)
    return np.asarray(moved * scale[:, :, None])


def _left(chances: Floats, mass: Floats, weights: Floats) -> Floats:
    joint = weights @ chances.T  # (laws, documents)
    inverse = np.divide(1.0, joint, out=np.zeros_like(joint), where=joint > 0)
    left = np.array([weights * ((one * inverse) @ chances) for one in mass])
    # What a law rules out is put where its losses point to.
    for law, document in np.argwhere(joint <= 0):
        left[:, law, np.argmax(chances[document])] += mass[:, document]
    return left


def _evidence(
    marks: Marks, rows: Ints, absent: Ints, n_documents: int, p: Floats
) -> tuple[Ints, Floats, Floats]:
    """Return how many are absent, the chances of different losses at each node, and their mass.

    Chances (documents, nodes) are up to a factor; the mass is (numbers absent, documents).
    """
    keys = np.column_stack([marks.losses, n_documents - marks.absent, marks.missing])[rows]
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    sizes, size = np.unique(absent[rows], return_inverse=True)
    mass = np.zeros((len(sizes), len(distinct)))
    np.add.at(mass, (size.ravel(), place.ravel()), marks.weight[rows])
    losses, n, cut = distinct.T[:, :, None].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(losses > 0, losses * np.log(p), 0.0)
        won = np.where(n > losses, (n - losses) * np.log1p(-p), 0.0)
        log_chance = np.where(cut > 0, binom.logsf(losses - 1, n, p), lost + won)
    most = log_chance.max(axis=1, keepdims=True)
    return sizes, np.exp(log_chance - np.where(np.isfinite(most), most, 0.0)), mass


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
