r"""Sets of classes from several groups in known proportions: what a pilot says, and a joint law.

A set of k classes in the proportions :math:`m_h` holds :math:`k_h` classes of each group h. The
true class of a probe is of group g with chance :math:`m_g`, and is one of the :math:`k_g`. The
probe is right if it outscores all others,

.. math:: A(k) = \sum_g m_g \, E_g\Big[\prod_h U_{gh}^{\,k_h - [h = g]}\Big],

with :math:`U_{gh}` its favorability against the classes of group h. Within the pilot each factor is
the chance that a random set of that many of the group's classes holds none that beats the probe.
Groups are strata here: the number of classes of each is given, and they are drawn inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, ndtr, ndtri

from headcount.curves.favorability import Favorability, capacity_of
from headcount.errors import DataError, ParameterError, UnsupportedError
from headcount.metrics import ACCURACY, Metric, Top, hypergeometric
from headcount.pilot.mixes import check_mix
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import MOST_CLASSES, class_counts_within, last_where
from headcount.support.serialise import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COUNTED = 1e12  # classes up to which sets hold whole numbers of each group
MOST_BEST = 100  # losses are added up group by group, which takes as many steps squared
MOST_ROWS = 4_000_000  # of ways in which ties can fall
STEP, REACH = 0.1, 8.5  # of the common factor, on the scale of standard deviations
MOST_ALIKE = 0.97  # correlation past which the steps would be too coarse


def set_sizes(shares: Floats, k: Any, group: int) -> Floats:
    """Return how many classes of each group a set of k holds, one of which is of `group`.

    The first seat is that of the true class. Each further one goes to the group that is furthest
    behind its share, by the divisors 1, 3, 5 ... of Sainte-Lague (the first of equals): so the set
    of k + 1 classes is that of k and one more. Past 1e12 classes, sizes are shares of k, not whole.

    Parameters
    ----------
    shares : ndarray
        Share of each group; they sum to one.
    k : int or sequence of int
        Numbers of classes.
    group : int
        Position of the group of the true class.

    Returns
    -------
    ndarray of shape (*k.shape, groups)

    Examples
    --------
    >>> set_sizes(np.array([0.9, 0.1]), [1, 2, 6, 20], 0).astype(int).tolist()
    [[1, 0], [2, 0], [5, 1], [18, 2]]
    >>> set_sizes(np.array([0.9, 0.1]), [1, 2, 6, 20], 1).astype(int).tolist()
    [[0, 1], [1, 1], [5, 1], [18, 2]]
    """
    counts = validation.class_counts(k)
    flat, n_groups = counts.ravel(), len(shares)
    counted = np.minimum(flat, COUNTED)
    # Fewer than each group has in the end; the seats that are left are dealt out one by one.
    sizes = np.maximum(np.floor(np.multiply.outer(counted - 2 * n_groups, shares)) - 1, 0.0)
    sizes[:, group] = np.maximum(sizes[:, group], 1.0)
    open_seats = counted - sizes.sum(axis=1)
    while (open_seats > 0).any():
        next_group = np.argmax(shares / (2 * sizes + 1), axis=1)
        sizes[np.arange(len(flat)), next_group] += open_seats > 0
        open_seats -= open_seats > 0
    endless = flat > COUNTED
    sizes[endless] = np.multiply.outer(flat[endless], shares)
    return np.asarray(sizes.reshape(*counts.shape, n_groups))


@dataclass(frozen=True)
class GroupRows:
    """Losses of the probes of one group against each group.

    Attributes
    ----------
    losses : ndarray of int64, shape (rows, groups)
        How many classes of each group score above the true class, ties resolved.
    weights : ndarray
        Weight of each row; they sum to one.
    n_rivals : ndarray of int64
        Classes of each group that a probe met.
    """

    losses: Ints
    weights: Floats
    n_rivals: Ints

    def values(self, sizes: Floats, m: int) -> Floats:
        """Return the chance of each row that fewer than m rivals win, with so many of each group.

        Examples
        --------
        One of three beats the probe in one group, none of two in the other:

        >>> rows = GroupRows(np.array([[1, 0]]), np.ones(1), np.array([3, 2]))
        >>> rows.values(np.array([2, 1]), 1).round(3).tolist()
        [0.333]
        """
        return fewer_than(
            [
                loss_masses(int(n), int(size), m, losses)[:, place]
                for n, size, (losses, place) in zip(self.n_rivals, sizes, self.columns, strict=True)
            ],
            m,
        )

    @cached_property
    def columns(self) -> list[tuple[Ints, NDArray[np.intp]]]:
        """For each group, the numbers of losses that occur, and which of them each row has."""
        return [np.unique(column, return_inverse=True) for column in self.losses.T]

    @cached_property
    def distinct(self) -> GroupRows:
        """The same with equal rows joined."""
        losses, place = np.unique(self.losses, axis=0, return_inverse=True)
        weights = np.bincount(place.ravel(), self.weights, len(losses)).astype(np.float64)
        return GroupRows(losses, weights, self.n_rivals)


def loss_masses(n_rivals: int, drawn: int, m: int, losses: Ints) -> Floats:
    """Return the chances that 0 ... m - 1 of the rivals drawn win (row), for each number of losses.

    Examples
    --------
    >>> loss_masses(3, 2, 2, np.arange(4)).round(3).tolist()
    [[1.0, 0.333, 0.0, 0.0], [0.0, 0.667, 0.667, 0.0]]
    """
    within = np.zeros((m + 1, len(losses)))
    for top in range(1, m + 1):
        hypergeometric.fill_chances_within(losses, n_rivals, drawn, top, within[top])
    return np.maximum(np.diff(within, axis=0), 0.0)


def fewer_than(masses: Sequence[Floats], m: int) -> Floats:
    """Return the chance that independent numbers sum to less than m, from those of 0 ... m - 1."""
    total = masses[0]
    for mass in masses[1:]:
        joined = np.zeros(np.broadcast_shapes(total.shape, mass.shape))
        for j in range(m):
            joined[j:] += total[j] * mass[: m - j]
        total = joined
    return np.asarray(np.minimum(total.sum(axis=0), 1.0))


@dataclass(frozen=True)
class MixTable:
    """What probes of each group lose to each group, and the proportions asked about.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups.
    shares : ndarray
        Share of each group in the sets asked about.
    emphasis : ndarray
        Weight of each group's probes there: its share, where classes weigh the same.
    rows : tuple of GroupRows
        Of the probes of each group.
    """

    groups: tuple[str, ...]
    shares: Floats
    emphasis: Floats
    rows: tuple[GroupRows, ...]

    @property
    def class_counts(self) -> Ints:
        """How many classes of each group the pilot has."""
        own = np.array([rows.n_rivals[g] for g, rows in enumerate(self.rows)])
        return np.asarray(own + 1)

    @property
    def mix(self) -> dict[str, float]:
        """Share of each group by its name."""
        return dict(zip(self.groups, self.shares.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "groups": list(self.groups),
            "shares": self.shares.tolist(),
            "emphasis": self.emphasis.tolist(),
            "rows": [
                {
                    "losses": rows.losses.tolist(),
                    "weights": rows.weights.tolist(),
                    "n_rivals": rows.n_rivals.tolist(),
                }
                for rows in self.rows
            ],
        }

    @cached_property
    def n_classes(self) -> int:
        """Size of the largest set in these proportions that the pilot holds."""

        def fits(k: int) -> bool:
            return all(
                (set_sizes(self.shares, k, g) <= self.class_counts).all()
                for g in range(len(self.groups))
            )

        return last_where(fits, 1, int(self.class_counts.sum()) + 1)


def mix_table(pilot: Pilot, mix: Mapping[str, float]) -> MixTable:
    """Return what a pilot says about each group against each, for a mix of groups.

    Groups of the pilot that the mix does not name take no part.
    """
    shares = check_mix(pilot.groups, mix)
    groups = tuple(shares)
    counts = count_by_group(pilot, groups)
    rows = tuple(_rows_of_group(counts, g, groups) for g in range(len(groups)))
    share = np.array(list(shares.values()))
    # In a micro average a group weighs as much more as its classes have more probes.
    weight = share * [counts.class_weight(g) for g in range(len(groups))]
    return MixTable(groups, share, weight / weight.sum(), rows)


def read_mix_table(record: Record) -> MixTable:
    """Return what `MixTable.to_dict` wrote; refuse what it cannot have written."""
    groups = record.texts("groups")
    shares, emphasis = _read_shares(record, "shares"), _read_shares(record, "emphasis")
    rows = tuple(_read_rows(row, len(groups)) for row in record.records("rows"))
    if not len(groups) == len(shares) == len(emphasis) == len(rows) == len(set(groups)):
        raise DataError("the groups of this forecast and their shares do not fit together.")
    return MixTable(groups, shares, emphasis, rows)


def _read_shares(record: Record, name: str) -> Floats:
    shares = record.shares(name)
    if abs(float(shares.sum()) - 1) > 1e-6:
        raise DataError(f"the {name} of this forecast do not sum to one.")
    return shares


def _read_rows(record: Record, n_groups: int) -> GroupRows:
    weights, n_rivals = _read_shares(record, "weights"), np.array(record["n_rivals"])
    losses = np.array(record["losses"])
    sound = (
        losses.shape == (len(weights), n_groups)
        and n_rivals.shape == (n_groups,)
        and losses.dtype.kind == n_rivals.dtype.kind == "i"
        and bool((losses >= 0).all() and (losses <= n_rivals).all())
        and int(n_rivals.sum()) < MOST_CLASSES
    )
    if not sound:
        raise DataError("the losses and weights of this forecast do not fit together.")
    return GroupRows(losses, weights, n_rivals)


@dataclass(frozen=True)
class GroupCounts:
    """Losses and ties of every probe by the group of its rivals.

    Attributes
    ----------
    pilot : Pilot
        What was measured.
    codes : ndarray of int64
        Group of each class, -1 for those that take no part.
    losses, ties : ndarray of int64, shape (n_probes, groups)
        Ties where the tie rule leaves them.
    """

    pilot: Pilot
    codes: Ints
    losses: Ints
    ties: Ints

    @cached_property
    def of_probe(self) -> Ints:
        """Group of each probe."""
        assert self.pilot.labels is not None  # a pilot that knows its rivals has labels
        return np.asarray(self.codes[self.pilot.labels])

    def n_rivals(self, group: int) -> Ints:
        """Return how many classes of each group a probe of `group` meets."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=self.losses.shape[1])
        sizes[group] -= 1
        return sizes

    def class_weight(self, group: int) -> float:
        """Return the mean weight of a class of a group that has probes."""
        assert self.pilot.labels is not None
        chosen = self.of_probe == group
        n_probed = len(np.unique(self.pilot.labels[chosen]))
        return float(self.pilot.weights[chosen].sum()) / n_probed


def count_by_group(pilot: Pilot, groups: Sequence[str]) -> GroupCounts:
    """Count each probe's losses and ties among the classes of each group."""
    if pilot.censored.any() or not pilot.knows_rivals:
        raise UnsupportedError(
            "a mix needs to know which classes beat each probe, and this pilot holds only counts; "
            "make it from scores or embeddings."
        )
    assert pilot.groups is not None  # `check_mix` has looked
    names = pilot.groups.astype(str)
    codes = np.full(pilot.n_classes, -1, np.int64)
    for position, group in enumerate(groups):
        codes[names == group] = position
    beats = pilot.settled_beats()
    members = [beats.count(codes == position) for position in range(len(groups))]
    losses, ties = (np.column_stack([pair[i] for pair in members]).astype(np.int64) for i in (0, 1))
    return GroupCounts(pilot, codes, losses, ties)


def _rows_of_group(counts: GroupCounts, group: int, groups: Sequence[str]) -> GroupRows:
    chosen = np.flatnonzero(counts.of_probe == group)
    assert counts.pilot.labels is not None  # a pilot that knows its rivals has labels
    if len(np.unique(counts.pilot.labels[chosen])) < 2:
        raise DataError(
            f"fewer than two classes of group {validation.short(groups[group])} have probes, so "
            "hardly anything is known of its classes; add probes of them, or leave the group out "
            "of the mix."
        )
    weights = counts.pilot.weights[chosen]
    losses, share, owner = resolve_ties(counts.losses[chosen], counts.ties[chosen])
    spread = share * weights[owner] / weights.sum()
    return GroupRows(losses, spread, counts.n_rivals(group)).distinct


def resolve_ties(losses: Ints, ties: Ints) -> tuple[Ints, Floats, NDArray[np.intp]]:
    r"""Return losses with every way in which ties can fall, its chance, and whose row it is.

    With T ties in all, the place of the true class among the T + 1 is random; which of the ties
    are ahead of it, if a are, is random, too:
    :math:`\prod_h \binom{t_h}{a_h} \big/ \binom{T}{a} (T + 1)`.

    Examples
    --------
    >>> losses, chance, owner = resolve_ties(np.array([[1, 0]]), np.array([[1, 1]]))
    >>> losses.tolist(), chance.round(3).tolist()
    ([[1, 0], [1, 1], [2, 0], [2, 1]], [0.333, 0.167, 0.167, 0.333])
    """
    ways = np.prod(ties + 1.0, axis=1)
    if ways.sum() > MOST_ROWS:
        raise UnsupportedError(
            f"ties can fall in {ways.sum():.2g} ways between the groups, too many to go through; "
            'use finer scores, or the tie rule "lose" or "win".'
        )
    owner = np.repeat(np.arange(len(losses)), ways.astype(np.int64))
    way = np.arange(len(owner)) - np.searchsorted(owner, owner)
    tied = ties[owner]
    ahead = np.empty_like(tied)
    for h in reversed(range(ties.shape[1])):
        ahead[:, h] = way % (tied[:, h] + 1)
        way = way // (tied[:, h] + 1)
    total = tied.sum(axis=1)
    chance = np.prod(comb(tied, ahead), axis=1) / comb(total, ahead.sum(axis=1)) / (total + 1)
    return losses[owner] + ahead, chance, owner


def within(metric: Metric) -> int:
    """Return how many of the best count for a metric; refuse one that is not accuracy or top-m."""
    if not isinstance(metric, Top):
        raise UnsupportedError(
            f"a mix is known for accuracy and top-m, not for {metric.name}; choose one of those."
        )
    if metric.m > MOST_BEST:
        raise UnsupportedError(
            f"of a mix the best {MOST_BEST} can be counted, not {metric.m:,}; ask for fewer."
        )
    return metric.m


class MixedObserved:
    """What the pilot itself says about sets in given proportions, up to the largest it holds.

    A metric among k classes is the mean over the pilot's probes, those of each group weighing as
    much as the group's share, and over all sets of rivals with the sizes of `set_sizes`.

    Parameters
    ----------
    table : MixTable
        What probes of each group lose to each group.
    """

    censored, exact = False, True

    def __init__(self, table: MixTable) -> None:
        self.table = table
        self.n_classes = table.n_classes

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Average of a metric among k of the pilot's classes in these proportions."""
        m = within(metric)
        counts = class_counts_within(k, self.n_classes)
        values = [
            sum(
                emphasis * float(rows.weights @ rows.values(rivals(self.table.shares, size, g), m))
                for g, (rows, emphasis) in enumerate(
                    zip(self.table.rows, self.table.emphasis, strict=True)
                )
            )
            for size in counts.ravel()
        ]
        result = np.minimum(np.array(values), 1.0).reshape(counts.shape)
        return np.where(counts <= metric.certain, 1.0, result)

    def bounds(self, k: Any, metric: Metric = ACCURACY) -> tuple[Floats, Floats]:
        """Lower and upper bound: the value itself, as nothing is censored."""
        value = self.value(k, metric)
        return value, value

    def accuracy(self, k: Any) -> Floats:
        """Average accuracy among k of the pilot's classes in these proportions."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Average chance that the true class is among the best m of k classes."""
        return self.value(k, Top(m))


def rivals(shares: Floats, k: Any, group: int) -> Floats:
    """Return how many rivals of each group a probe of `group` meets among k classes."""
    sizes = set_sizes(shares, k, group)
    sizes[..., group] -= 1
    return sizes


class JointLaw:
    r"""The joint law of a probe's favorabilities against several groups, by one common factor.

    Each has its own law. They are joined by a normal copula with the same correlation between all:
    with independent standard normal F and :math:`E_h`, the chance to lose against group h is the
    quantile :math:`\Phi(\sqrt\rho F + \sqrt{1 - \rho} E_h)` of its law. Given F they are
    independent, so that

    .. math:: E\Big[\prod_h U_h^{r_h}\Big]
              = \int \varphi(f) \prod_h E[U_h^{r_h} \mid F = f]\, df .

    Parameters
    ----------
    laws : sequence of Favorability
        The law against each group.
    correlation : float
        From 0 (independent) to 0.97.

    Examples
    --------
    Who loses to the one group loses to the other, or there is no such relation:

    >>> law = Favorability([0.0, 0.5], [0.5, 0.5])
    >>> [round(float(JointLaw([law, law], rho).value([[1, 1]])[0]), 2) for rho in (0, 0.97)]
    [0.56, 0.62]
    """

    def __init__(self, laws: Sequence[Favorability], correlation: float) -> None:
        if not 0 <= correlation <= MOST_ALIKE:
            raise ParameterError(
                f"a correlation must lie between 0 and {MOST_ALIKE}, but is {correlation!r:.40}."
            )
        self.laws = tuple(laws)
        self.correlation = float(correlation) if len(self.laws) > 1 else 0.0

    @cached_property
    def factor(self) -> Floats:
        """Weights of the values of the common factor."""
        if self.correlation == 0:
            return np.ones(1)
        weights = np.exp(-np.square(_factor_values()) / 2)
        return np.asarray(weights / weights.sum())

    @cached_property
    def given_factor(self) -> tuple[Floats, ...]:
        """Weights of each law's nodes (columns) given each value of the factor (rows)."""
        return tuple(node_weights(law, self.correlation) for law in self.laws)

    def value(self, sizes: Any, m: int = 1) -> Floats:
        """Return the chance that fewer than m rivals win, with so many of each group (columns)."""
        drawn = np.atleast_2d(np.asarray(sizes, dtype=np.float64))
        masses = []
        for law, weights, r in zip(self.laws, self.given_factor, drawn.T, strict=True):
            log_mass, odds = np.multiply.outer(r, law.log_u), _log_odds(law)
            mass = np.empty((m, len(weights), len(r)))
            for j in range(m):
                mass[j] = weights @ np.exp(log_mass).T
                with np.errstate(divide="ignore"):
                    choices = np.log(np.maximum(r - j, 0.0) / (j + 1))
                log_mass = log_mass + choices[:, None] + odds
            masses.append(mass)
        return np.asarray(self.factor @ fewer_than(masses, m))

    @cached_property
    def never_beaten(self) -> float:
        """Chance that no class of any group ever wins."""
        at_zero = [
            weights[:, 0] if law.p[0] == 0 else np.zeros(len(weights))
            for law, weights in zip(self.laws, self.given_factor, strict=True)
        ]
        return float(self.factor @ np.prod(at_zero, axis=0))


def _factor_values() -> Floats:
    return np.arange(-REACH, REACH + STEP / 2, STEP)


def node_weights(law: Favorability, correlation: float) -> Floats:
    """Return the weights of a law's nodes given each value of the common factor."""
    if correlation == 0:
        return law.weights[None]
    edges = ndtri(np.clip(np.concatenate([[0.0], np.cumsum(law.weights)]), 0.0, 1.0))
    edges[-1] = np.inf
    common = np.sqrt(correlation) * _factor_values()
    return np.diff(ndtr((edges - common[:, None]) / np.sqrt(1 - correlation)), axis=1)


def _log_odds(law: Favorability) -> Floats:
    """Return log(p / u), very low where p is zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(law.p), -1e3) - law.log_u)


class MixedLaw:
    """Joint laws of the probes of each group, and the proportions in which groups are mixed.

    Parameters
    ----------
    shares, emphasis : ndarray
        Share of each group in a set, and weight of its probes.
    joint : sequence of JointLaw
        Of the probes of each group.
    """

    def __init__(self, shares: Any, emphasis: Any, joint: Sequence[JointLaw]) -> None:
        self.shares = np.asarray(shares, dtype=np.float64)
        self.emphasis = np.asarray(emphasis, dtype=np.float64)
        self.joint = tuple(joint)

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes in these proportions."""
        m = within(metric)
        counts = validation.class_counts(k)
        total = np.zeros(counts.size)
        for g, (law, emphasis) in enumerate(zip(self.joint, self.emphasis, strict=True)):
            total += emphasis * law.value(rivals(self.shares, counts.ravel(), g), m)
        values = np.minimum(total, 1.0).reshape(counts.shape)
        return np.where(counts <= metric.certain, 1.0, values)

    def accuracy(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Chance that the true class is among the best m of k classes."""
        return self.value(k, Top(m))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "shares": self.shares.tolist(),
            "emphasis": self.emphasis.tolist(),
            "of_groups": [
                {
                    "correlation": joint.correlation,
                    "laws": [
                        {"p": law.p.tolist(), "mass": law.weights.tolist()} for law in joint.laws
                    ],
                }
                for joint in self.joint
            ],
        }

    @property
    def asymptote(self) -> float:
        """Accuracy that remains however many classes there are."""
        return float(self.emphasis @ [law.never_beaten for law in self.joint])

    def capacity(self, target: float, metric: Metric = ACCURACY) -> int | float:
        """Largest number of classes at which a metric is still at least `target`.

        `math.inf` when it never falls below that; 1 when two classes are already too many.
        """
        return capacity_of(lambda k: float(self.value(k, metric)), self.asymptote, target)

    def __repr__(self) -> str:
        return f"MixedLaw({len(self.joint)} groups)"


def read_mixed_law(record: Record) -> MixedLaw:
    """Return what `MixedLaw.to_dict` wrote; refuse what it cannot have written."""
    shares, emphasis = _read_shares(record, "shares"), _read_shares(record, "emphasis")
    joint = [
        JointLaw(
            [Favorability(law["p"], law["mass"]) for law in each.records("laws")],
            each.number("correlation", 0.0, MOST_ALIKE),
        )
        for each in record.records("of_groups")
    ]
    if not len(shares) == len(emphasis) == len(joint) or any(
        len(law.laws) != len(shares) for law in joint
    ):
        raise DataError("the laws of this forecast and its groups do not fit together.")
    return MixedLaw(shares, emphasis, joint)
