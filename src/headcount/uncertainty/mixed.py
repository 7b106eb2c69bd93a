r"""How far a forecast for a mix of groups may be off: classes are resampled within their groups.

Everything is as for a plain forecast (`headcount.uncertainty.intervals`), with the largest set in
the given proportions that the pilot holds in the place of the pilot, and with groups as strata:
halves hold half of each group's classes, and the jackknife adds up over groups h of :math:`K_h`
classes,

.. math:: J_1 = \sum_h \frac{K_h - 1}{K_h} \sum_{c \in h} (\theta_{-c} - \bar\theta_h)^2 .

For sets nearly as large as the pilot that is too much, as it is without groups; it is scaled down
in the same way (`headcount.uncertainty.jackknife`), by :math:`1 + J_2 / J_1` with the pairs of
classes of a random sample.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from headcount.curves.mixed import (
    MixedObserved,
    MixTable,
    count_by_group,
    fewer_than,
    loss_masses,
    resolve_ties,
    rivals,
    within,
)
from headcount.estimators.mixed import Mixed
from headcount.metrics import Metric
from headcount.pilot.pilot import Pilot
from headcount.uncertainty.backtest import Backtest, compare_refits, halves_for, plan_sizes
from headcount.uncertainty.measured import variance_within
from headcount.uncertainty.resampling import SharedRivals, Subsamples, curve_grid, refits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 3  # classes of each group in a subset
NODES = (1 / 4, 1 / 2, 1)  # of the largest set, where pairs of classes are left out
FEWEST_PAIRS, MOST_PAIRS = 50, 500
WORK = 5_000_000  # probes times pairs, or single classes, that are looked at for each size


class WithinGroups(SharedRivals):
    """Subsets that hold the same share of the classes of each group."""

    def __init__(self, pilot: Pilot, table: MixTable) -> None:
        super().__init__(pilot)
        assert pilot.groups is not None  # a mix has groups
        group_of = dict(zip(pilot.class_names.tolist(), pilot.groups.astype(str), strict=True))
        self.n_classes = table.n_classes
        self.strata = [
            [
                np.array([name for name in names.tolist() if group_of[name] == group], names.dtype)
                for names in (self.sources, self.others)
            ]
            for group in table.groups
        ]
        self.n_sources = min(len(sources) for sources, _ in self.strata)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return the pilot of a random share of each group, which holds sets of `size`."""
        chosen = []
        for names in (names for stratum in self.strata for names in stratum):
            number = round(len(names) * size / self.n_classes)
            chosen.append(names[rng.choice(len(names), number, replace=False)])
        return self.pilot.subset(np.concatenate(chosen))

    def refusal(self, size: int) -> str | None:
        """Say so where too few classes of a group with probes would be left."""
        left = round(self.n_sources * size / self.n_classes)
        if left >= LEAST:
            return None
        return f"a group would keep {left} of its classes with probes, and {LEAST} are needed."


def hide_within_groups(
    pilot: Pilot,
    fitted: Mixed,
    observed: MixedObserved,
    *,
    name: str,
    metric: Metric,
    random_state: int,
    n_jobs: int | None,
) -> tuple[Backtest, Subsamples]:
    """Return the back-test of a mix without its coverage, and the refits it rests on.

    The largest set in the proportions of the mix is forecast from parts of every group.
    """
    sampler = WithinGroups(pilot, observed.table)
    subsamples = refits(
        pilot,
        Mixed(method=fitted.method, mix=fitted.mix),
        plan_sizes(observed.n_classes, observed.n_classes, halves=halves_for(fitted)),
        curve_grid(observed.n_classes),
        metric=metric,
        random_state=random_state,
        n_jobs=n_jobs,
        sampler=sampler,
        plausible_at=observed.n_classes,
    )
    return compare_refits(pilot, name, metric, subsamples, curve=observed), subsamples


class MixJackknife:
    """The observed curve of a mix with one or two classes left out.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    observed : MixedObserved
        What it says about the mix.
    metric : Metric
        What is looked at.
    """

    def __init__(self, pilot: Pilot, observed: MixedObserved, metric: Metric) -> None:
        self.pilot, self.observed, self.table = pilot, observed, observed.table
        self.m = within(metric)
        self.counts = counts = count_by_group(pilot, self.table.groups)
        assert self.pilot.labels is not None  # a pilot that knows its rivals has labels
        self.labels = self.pilot.labels
        beats = self.pilot.settled_beats()
        self.owner = np.repeat(np.arange(self.pilot.n_probes), np.diff(beats.start))
        self.rival, self.tied = beats.classes, beats.tied
        groups = range(len(self.table.groups))
        # Weight of each probe in the mix.
        total = np.bincount(counts.of_probe, self.pilot.weights, len(groups))
        self.weights = self.pilot.weights * (self.table.emphasis / total)[counts.of_probe]
        self.ways = [self._ways(g) for g in groups]

    def _ways(self, group: int) -> tuple[Ints, Floats, Ints, Ints]:
        """Return losses with all ways in which ties fall, their chance, whose, and ties ahead."""
        chosen = np.flatnonzero(self.counts.of_probe == group)
        before = self.counts.losses[chosen]
        losses, chance, owner = resolve_ties(before, self.counts.ties[chosen])
        return losses, chance, chosen[owner], losses - before[owner]

    @property
    def n_probes(self) -> int:
        """How many equally weighted probes the pilot's are worth in the mix."""
        return max(1, round(1 / float(np.square(self.weights).sum())))

    def standard_error(self, k: Ints) -> Floats:
        """Return the standard error of the metric at numbers of classes up to the largest."""
        inside = np.minimum(k, self.largest(1))
        plain = np.array([self.variance(int(count)) for count in inside])
        return np.asarray(np.sqrt(plain / (1 + self.excess(inside))))

    def probe_variance(self) -> float | None:
        """Return the variance at the largest set that the finite number of probes gives."""
        values = np.zeros(self.pilot.n_probes)
        for g, (losses, chance, owner, _) in enumerate(self.ways):
            masses = self._masses(g, self.observed.n_classes, (0,) * len(self.ways))
            values += np.bincount(owner, chance * self._values(masses, losses), len(values))
        return variance_within(values, self.labels, self.weights)

    def largest(self, left_out: int) -> int:
        """Return the size of the largest set that is left whichever classes are left out."""
        rows = (
            replace(rows, n_rivals=np.maximum(rows.n_rivals - left_out, 0))
            for rows in self.table.rows
        )
        return replace(self.table, rows=tuple(rows)).n_classes

    def variance(self, k: int) -> float:
        """Return the variance of the metric among k classes, not yet scaled down."""
        without = self.without_one(k)
        total = 0.0
        for g in range(len(self.table.groups)):
            values = without[self.counts.codes == g]
            total += (len(values) - 1) * float(values.var())
        return total

    def without_one(self, k: int) -> Floats:
        """Return the value among k classes without each class of the pilot."""
        n_groups = len(self.table.groups)
        values = np.zeros(self.pilot.n_classes)
        of_class = np.bincount(self.labels, self.weights, self.pilot.n_classes)
        for g in range(n_groups):
            sizes = rivals(self.table.shares, k, g)
            for h in range(n_groups):
                members = self.counts.codes == h
                kept, beaten, tied = self._without_rival(g, h, sizes)
                change = np.where(self.tied, tied[self.owner], beaten[self.owner])
                gain = np.bincount(
                    self.rival, change * self.weights[self.owner], self.pilot.n_classes
                )
                right = float(kept @ self.weights) + gain[members]
                left = np.full(int(members.sum()), self.table.emphasis[g])
                if g == h:
                    right -= np.bincount(self.labels, kept * self.weights, len(members))[members]
                    left -= of_class[members]
                values[members] += self.table.emphasis[g] * right / left
        return values

    def _without_rival(self, group: int, left_out: int, sizes: Floats) -> tuple[Floats, ...]:
        """Return each probe's value without a rival of a group that does not beat it.

        And by how much more it is without one that beats it, and without one that ties.
        """
        losses, chance, owner, ahead = self.ways[group]
        n_rivals = self.counts.n_rivals(group)
        lost = losses.copy()
        masses = [
            _all_masses(int(n) - (h == left_out), int(size), self.m)
            for h, (n, size) in enumerate(zip(n_rivals, sizes, strict=True))
        ]
        lost[:, left_out] = np.minimum(lost[:, left_out], n_rivals[left_out] - 1)
        kept = self._values(masses, lost)
        lost[:, left_out] = np.maximum(losses[:, left_out] - 1, 0)
        gain = self._values(masses, lost) - kept
        n_tied = np.maximum(self.counts.ties[owner, left_out], 1)
        size = self.pilot.n_probes
        parts = kept, gain, gain * ahead[:, left_out] / n_tied
        return tuple(np.bincount(owner, chance * part, size).astype(np.float64) for part in parts)

    @staticmethod
    def _values(masses: list[Floats], losses: Ints) -> Floats:
        m = len(masses[0])
        return fewer_than([mass[:, lost] for mass, lost in zip(masses, losses.T, strict=True)], m)

    def excess(self, k: Ints) -> Floats:
        """Return J2 / J1 at these numbers of classes, interpolated between a few."""
        last = self.largest(2)
        if last < 2:
            return np.zeros(len(k))
        nodes = np.unique(np.clip(np.round(np.array(NODES) * last), 2, last).astype(np.int64))
        ratios = [self.interaction(int(node)) for node in nodes]
        return np.interp(np.log(np.maximum(k, 1)), np.log(nodes), ratios)

    def interaction(self, k: int) -> float:
        """Return J2 / J1 among k classes, from some of the pairs; ties count as losses here."""
        rng = np.random.default_rng(0)
        # Drawn from an order that does not depend on that of the data.
        names = self.pilot.canonical_classes()
        place = {name: i for i, name in enumerate(self.pilot.class_names.tolist())}
        order = np.array([place[name] for name in names.tolist()])
        n_pairs = int(np.clip(WORK // self.pilot.n_probes, FEWEST_PAIRS, MOST_PAIRS))
        n_chosen = min(len(order), n_pairs)
        chosen = order[np.sort(rng.choice(len(order), n_chosen, replace=False))]
        pairs = np.array([rng.choice(n_chosen, 2, replace=False) for _ in range(n_pairs)])
        whole = self.value_without(k, ())
        single = np.array([self.value_without(k, (c,)) for c in chosen]) - whole
        both = np.array([self.value_without(k, tuple(chosen[pair])) for pair in pairs]) - whole
        gaps = both - single[pairs].sum(axis=1)
        n = self.pilot.n_classes
        first = float(np.square(single).mean()) * (n - 1)
        second = float(np.square(gaps).mean()) * n * (n - 1) / 2
        return second / first if first > 0 else 0.0

    def value_without(self, k: int, left_out: tuple[int, ...]) -> float:
        """Return the value among k classes without some classes; ties count as losses."""
        out = np.array(left_out, np.int64)
        lost = self.counts.losses + self.counts.ties
        for c in out:
            lost[self.beaten_by(c), self.counts.codes[c]] -= 1
        fewer = np.bincount(self.counts.codes[out], minlength=lost.shape[1])
        stays = ~np.isin(self.labels, out)
        total = 0.0
        for g, emphasis in enumerate(self.table.emphasis):
            rows = np.flatnonzero(stays & (self.counts.of_probe == g))
            masses = self._masses(g, k, tuple(fewer))
            values = self._values(masses, lost[rows])
            total += emphasis * float(self.weights[rows] @ values / self.weights[rows].sum())
        return total

    def beaten_by(self, c: int) -> Ints:
        """Return the probes that a class beats or ties."""
        order, start = self._by_rival
        return self.owner[order[start[c] : start[c + 1]]]

    @cached_property
    def _by_rival(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.argsort(self.rival, kind="stable")
        return order, np.searchsorted(self.rival[order], np.arange(self.pilot.n_classes + 1))

    @lru_cache(maxsize=64)  # noqa: B019 (a jackknife lives as long as it is asked)
    def _masses(self, group: int, k: int, fewer: tuple[int, ...]) -> list[Floats]:
        sizes = rivals(self.table.shares, k, group)
        n_rivals = self.counts.n_rivals(group) - np.array(fewer)
        return [
            _all_masses(int(n), int(size), self.m) for n, size in zip(n_rivals, sizes, strict=True)
        ]


def _all_masses(n_rivals: int, drawn: int, m: int) -> Floats:
    """Return the chances of 0 ... m - 1 losses for 0 ... n_rivals losses in the pilot."""
    return loss_masses(n_rivals, drawn, m, np.arange(n_rivals + 1))
