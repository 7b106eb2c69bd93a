r"""A pilot whose classes were drawn in whole groups, seen as one whose classes are the groups.

Classes that come in families are no random sample of classes, but their families are one of
families. A probe meets its relatives at every size, as few as there are; of other families it meets
more as classes are added, each of them whole. It is right if no relative beats it and no other
family does. A family beats it if its best class does. Hence, with G families of K classes,

.. math:: \text{accuracy}(k) = E\Big[ r \, V^{\,kG/K - 1} \Big],

r being the chance that no relative beats the probe (one or nought, or one over the number of equals
among relatives that tie), and V the chance that a random other family does not. The law of V among
probes with r = 1 is what any method learns from a pilot of G classes, and E[r] is measured.

Within the pilot nothing is assumed: the average over all sets of g of the G families that hold the
probe's own is hypergeometric in the number of families that beat it. A set of g families has
:math:`g K / G` classes on average. Between such numbers of classes the curve is straight; below one
family it leads from one, at a single class, to E[r].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from headcount.counting import Beats, source_of_merged_classes
from headcount.pilot.losses import LossTable, collapse

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupedPilot:
    """What `merge_groups` makes of a pilot.

    Attributes
    ----------
    n_classes, n_groups : int
        K and G.
    share : float
        E[r]: weight of the probes that no class of their own group beats.
    pilot : Pilot or None
        Those probes among G classes, the groups; None where there is no such probe.
    table : LossTable
        How many groups beat them; its weights sum to one. Of no probes: all of the others.
    group_weights : ndarray of shape (n_groups,)
        Weight of all probes of each group; they sum to one.
    kept_weights : ndarray
        Weight of each probe of `pilot` among all: they sum to `share`.
    kept : ndarray
        Which probes of the whole those are.
    """

    n_classes: int
    n_groups: int
    share: float
    pilot: Pilot | None
    table: LossTable
    group_weights: Floats
    kept_weights: Floats
    kept: NDArray[np.intp]

    @property
    def share_error(self) -> float:
        """Standard error of `share`, groups being drawn at random."""
        kept = np.zeros(self.n_groups)
        if self.pilot is not None:
            assert self.pilot.labels is not None  # the groups of its probes
            kept += np.bincount(self.pilot.labels, self.kept_weights, self.n_groups)
        gaps = kept - self.share * self.group_weights
        return float(np.sqrt(self.n_groups / max(self.n_groups - 1, 1) * np.square(gaps).sum()))


def merge_groups(pilot: Pilot) -> GroupedPilot:
    """Return a pilot with its groups for classes.

    Examples
    --------
    Two pairs of classes. The first probe is beaten by its relative, the second by both classes of
    the other pair, which is one family:

    >>> from headcount import Pilot
    >>> scores = [[1, 2, 0, 0], [5, 0, 6, 7]]
    >>> pilot = Pilot.from_scores(scores, [0, 0], groups=["x", "x", "y", "y"])
    >>> merged = merge_groups(pilot)
    >>> merged.share, merged.pilot.n_classes, merged.pilot.losses.tolist()
    (0.5, 2, [1])
    """
    assert pilot.groups is not None and pilot.labels is not None  # else there is nothing to merge
    names, owners = np.unique(pilot.groups, return_inverse=True)
    n_groups, home = len(names), owners[pilot.labels]
    rivals = pilot.settled_beats()
    probe = np.repeat(np.arange(pilot.n_probes), np.diff(rivals.start))
    kin = owners[rivals.classes] == home[probe]
    beaten = np.bincount(probe[kin & ~rivals.tied], minlength=pilot.n_probes) > 0
    equals = np.bincount(probe[kin & rivals.tied], minlength=pilot.n_probes)
    chance = np.where(beaten, 0.0, 1 / (1.0 + equals))
    rows = np.flatnonzero(~beaten)
    weights = pilot.weights * chance
    share = float(weights.sum())
    group_weights = np.zeros(n_groups) + np.bincount(home, pilot.weights, n_groups)
    if len(rows) == 0:
        always = np.array([n_groups - 1]), np.ones(1), np.zeros(1, np.bool_)
        table = LossTable(*always, n_groups - 1)
        return GroupedPilot(
            pilot.n_classes, n_groups, 0.0, None, table, group_weights, weights[:0], rows
        )
    merged, members = _merge(rivals, probe, ~kin, owners, n_groups)
    of_rows = merged.subset(rows, np.arange(n_groups))
    lost, tied = (count.astype(np.int64) for count in of_rows.count(np.ones(n_groups)))
    table = _table(lost, tied, equals[rows], members[rows], pilot.weights[rows], n_groups)
    source = None
    if pilot.has_scores:
        classes = np.arange(pilot.n_classes)
        within = pilot._need_source().subset(rows, classes, pilot.labels[rows])
        source = source_of_merged_classes(within, owners)
    grouped = pilot._with(
        lost,
        tied,
        names,
        n_classes=n_groups,
        labels=home[rows],
        source=source,
        beats=of_rows,
        weights=weights[rows] / share,
    )
    return GroupedPilot(
        pilot.n_classes, n_groups, share, grouped, table, group_weights, weights[rows], rows
    )


def _merge(
    rivals: Beats, probe: Ints, others: NDArray[np.bool_], owners: Ints, n_groups: int
) -> tuple[Beats, Ints]:
    """Return which other groups beat or tie each probe, and how many classes of the latter tie."""
    n_probes = len(rivals.start) - 1
    cell = probe[others] * n_groups + owners[rivals.classes[others]]
    tied = rivals.tied[others]
    order = np.lexsort((tied, cell))  # what beats comes before what ties
    first = np.flatnonzero(np.diff(cell[order], prepend=-1))
    cells, only_tied = cell[order][first], tied[order][first]
    counts = np.diff(np.append(first, len(cell)))
    start = np.searchsorted(cells, np.arange(n_probes + 1) * n_groups).astype(np.int64)
    merged = Beats(start, (cells % n_groups).astype(np.int32), only_tied, n_groups)
    members = np.bincount(cells // n_groups, counts * only_tied, n_probes)
    return merged, members.astype(np.int64)


def _table(
    losses: Ints, ties: Ints, equals: Ints, members: Ints, weights: Floats, n_groups: int
) -> LossTable:
    r"""Return the table of groups that beat probes no relative beats.

    A probe ties with e relatives and with t classes of each of F groups. Ties are broken as if each
    equal had a random number: given the probe's own, v, no relative is ahead with chance
    :math:`v^e` and each group not with :math:`v^t`. So j groups and no relative are ahead with
    chance

    .. math:: \int_0^1 \binom{F}{j} v^{e} (1 - v^t)^j v^{t (F - j)} dv
              = \frac{1}{t} \binom{F}{j} B\Big(\frac{e + 1}{t} + F - j,\; j + 1\Big).

    Where groups tie with unequal numbers of classes, t is their mean, which is exact among the
    whole pilot.
    """
    size = members / np.maximum(ties, 1)
    size = np.where(ties > 0, size, 1.0)
    row = np.repeat(np.arange(len(losses)), ties + 1)
    ahead = np.arange(len(row)) - np.repeat(np.cumsum(ties + 1) - ties - 1, ties + 1)
    f, e, t = ties[row], equals[row], size[row]
    free = (e + 1) / t + f - ahead
    log_chance = gammaln(f + 1) - gammaln(f - ahead + 1) + gammaln(free) - gammaln(free + ahead + 1)
    mass = weights[row] * np.exp(log_chance) / t
    places = losses[row] + ahead
    every = np.ones(len(row), np.bool_)
    lost, shares = collapse(places, np.zeros_like(places), mass, every)
    cut = np.zeros(len(lost), np.bool_)
    return LossTable(lost, shares / shares.sum(), cut, n_groups - 1)
