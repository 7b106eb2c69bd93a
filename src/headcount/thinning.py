"""Fewer classes for pilots of counts alone, which do not say who beat whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from headcount.pilot import Pilot
from headcount.ranks.canonical import _mixed, _sums

Ints = NDArray[np.int64]

LARGEST_DRAW = 10**9
LEAST_KNOWN = 10
TOO_MANY_UNKNOWN = 0.01


def share_of(n_units: int, size: int, n_classes: int) -> int:
    """Return how many of the classes with probes belong to a subset: their share, at least one."""
    return max(1, round(n_units * size / n_classes))


class OwnRivals:
    """Subsets of a pilot of counts: each probe meets rivals of its own.

    A censored probe is one whose list of rivals was cut before its true class appeared, so that
    only the rivals in the list are known to beat it. How many of those are among the m - 1 drawn
    depends on the same luck as its losses do, and must not decide where it is censored. Hence all
    probes of a drawn pilot, censored before or not, are censored at one fixed number of losses,
    so low (`bound`) that 99 in 100 lists reach it. The rest are given the bound they reach.
    """

    shared_rivals = False

    def __init__(self, pilot: Pilot) -> None:
        self.pilot = pilot
        order, self.source = _canonical_probes(pilot)
        self.losses, self.ties = pilot.losses[order], pilot.ties[order]
        self.censored = pilot.censored[order]
        self.labels = None if pilot.labels is None else pilot.labels[order]
        self.n_units = int(self.source[-1]) + 1
        self.n_sources = min(self.n_units, pilot.n_classes)
        self.depth = _depth(self.losses, pilot.weights[order], self.censored)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return a pilot of the probes of random classes, each against rivals of its own."""
        n_units = share_of(self.n_units, size, self.pilot.n_classes)
        kept = np.zeros(self.n_units, np.bool_)
        kept[rng.choice(self.n_units, n_units, replace=False)] = True
        rows = kept[self.source]
        n_rivals = self.pilot.n_classes - 1
        losses, ties = thinned(self.losses[rows], self.ties[rows], n_rivals, size - 1, rng)
        censored = self.censored[rows]
        if self.depth is not None:
            bound = self.bound(size)
            censored = censored | (losses >= bound)
            losses, ties = np.minimum(losses, bound), np.where(censored, 0, ties)
        if self.labels is None:
            places, labels = np.arange(0), None
        else:
            places, labels = np.unique(self.labels[rows], return_inverse=True)
        names = self.pilot.class_names[places]
        return self.pilot._with(
            losses, ties, names, n_classes=size, censored=censored, labels=labels
        )

    def bound(self, size: int) -> int:
        """Return the losses at which probes among `size` classes are censored."""
        assert self.depth is not None  # else nothing is censored
        # A binomial number spreads more than the hypergeometric one, so its quantile is lower.
        drawn = (size - 1) / (self.pilot.n_classes - 1)
        return int(binom.ppf(TOO_MANY_UNKNOWN, self.depth, drawn))

    def refusal(self, size: int) -> str | None:
        """Say so where too little is left of lists that were cut."""
        if self.depth is None:
            return None
        left = self.depth * size / self.pilot.n_classes
        if left >= LEAST_KNOWN:
            return None
        return (
            f"lists of rivals were cut after {self.depth:,}, of which {left:.2g} are left on "
            f"average among {size:,} classes, and {LEAST_KNOWN} are needed; use longer lists."
        )


def _depth(losses: Ints, weights: NDArray[np.float64], censored: NDArray[np.bool_]) -> int | None:
    """Return the depth that lists of censored probes reach, but for a hundredth of the weight."""
    if not censored.any():
        return None
    lengths, weights = losses[censored], weights[censored]
    order = np.argsort(lengths, kind="stable")
    shorter = np.cumsum(weights[order])
    # The first whose weight, with that of all shorter ones, is no longer negligible.
    place = np.searchsorted(shorter, TOO_MANY_UNKNOWN, side="right")
    return int(lengths[order[min(int(place), len(order) - 1)]])


def thinned(
    losses: Ints, ties: Ints, n_rivals: int, draws: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return losses and ties of probes that meet only `draws` of their `n_rivals` rivals.

    Losses are hypergeometric, and so are, among the rest, ties.

    Examples
    --------
    All of the rivals, so nothing changes:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> [found.tolist() for found in thinned(np.array([0, 3]), np.array([2, 0]), 9, 9, rng)]
    [[0, 3], [2, 0]]
    """
    lost = _hypergeometric(losses, n_rivals - losses, np.full_like(losses, draws), rng)
    tied = _hypergeometric(ties, n_rivals - losses - ties, draws - lost, rng)
    return lost, tied


def _hypergeometric(good: Ints, bad: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """Return how many of the draws are good ones."""
    total = good + bad
    if total.max(initial=0) < LARGEST_DRAW:
        return np.asarray(rng.hypergeometric(good, bad, draws), dtype=np.int64)
    # Beyond what the generator takes; the rarer side is drawn as if with replacement, which is
    # the same where it is rare among so many.
    few, many = np.minimum(good, draws), np.maximum(good, draws)
    found = rng.binomial(few, many / np.maximum(total, 1))
    return np.asarray(np.maximum(found, draws - bad), dtype=np.int64)


def _canonical_probes(pilot: Pilot) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order of the probes that does not depend on theirs, and the source of each.

    Sources, the classes or without labels the probes, are told apart by their probes' counts.
    """
    counts = (pilot.losses, pilot.ties, pilot.censored)
    if pilot.labels is None:
        return np.lexsort(counts[::-1]), np.arange(pilot.n_probes)
    key = np.zeros(pilot.n_probes, np.uint64)
    for part in counts:
        key = _mixed(key * np.uint64(3) + _mixed(part))
    of_class = _sums(pilot.labels, key, len(pilot.class_names))[pilot.labels]
    # Classes of the same key have the same probes, and are kept apart by their number.
    order = np.lexsort((*counts[::-1], pilot.labels, of_class))
    labels = pilot.labels[order]
    return order, np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])
