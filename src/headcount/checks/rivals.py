"""Checks of who beats whom: near-duplicate classes, and hubs that win too often."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import ndtri

from headcount.checks.check_input import NAMED, CheckInput, Floats, Ints
from headcount.checks.families import entries, families
from headcount.support.words import counted, percent

# Two names for one class share its probes evenly: each loses half of them to the other. `SAME`
# and `SAME_EACH` leave room for chance; fewer probes than `FEWEST` a class say nothing.
SAME = 0.4
SAME_EACH = 0.2
CLOSE = 0.15
FEWEST = 3
# Chance of a false alarm that each rule aims at. Measured on healthy simulated pilots (kinds as in
# tests/helpers/check_pilots.py, three to ten probes a class; 400 of each): near-duplicates in 0.5%
# with fine scores, in at most 1% with scores rounded so coarsely that half of all probes tie; no
# hub in 1,000.
CHANCE = 0.01
# How much faster pairs get rare from close to same than from distant to close; see below. Of 500
# healthy pilots 0.2% alarm with 1.5, 0.6% with 1.75, 1.2% with 2, 5% with 2.5.
STEEPER = 1.75
HUB_CHANCE = 0.001
FEWEST_WINS = 5


def near_duplicates(case: CheckInput) -> str | None:
    """Look for pairs of classes that take half of each other's probes.

    Classes spread over any smooth population have close pairs by chance, so the pairs that are
    as good as the same are held against those that are merely close, and these against the
    distant ones: in d dimensions the number of pairs within reach r falls as r^d, so it falls by
    at least as large a factor again from close to same. Classes entered twice add pairs at the
    short end that this law cannot explain. Whole families of them are looked for where no such
    pair stands out.
    """
    rivals = case.rivals
    if rivals is None:
        return None
    first, second, share = _identical(case)
    if len(first) == 0:
        first, second, share = _same(case, rivals)
    if len(first) == 0:
        return _families(case)
    if case.pilot.whole_groups:  # then relatives may well be alike
        groups = case.pilot.groups
        assert groups is not None
        strangers = groups[first] != groups[second]
        first, second, share = first[strangers], second[strangers], share[strangers]
        if len(first) == 0:
            return None
    names, listed = _pairs(case, first, second, share)
    return (
        f"{counted(len(names), 'pair')} of classes can hardly be told apart ({listed}); "
        "see whether they are one class under two names, and merge those."
    )


def _families(case: CheckInput) -> str | None:
    """Say so where close pairs are many because classes come in families."""
    close = families(case)
    if close is None or case.pilot.whole_groups:
        return None
    names, listed = _pairs(case, *close)
    return (
        f"classes seem to come in families of near-duplicates: {counted(len(names), 'pair')} are "
        f"close ({listed}) and few in between; if new classes will come in families, say which "
        "belong together (groups), else merge those that are the same."
    )


def _pairs(case: CheckInput, first: Ints, second: Ints, share: Floats) -> tuple[list[Any], str]:
    """Return the names of pairs, and those to name first as a list in words."""
    # Most alike first; then by name, so that the order of the data does not matter.
    names = [sorted((case.name(a), case.name(b))) for a, b in zip(first, second, strict=True)]
    order = sorted(range(len(names)), key=lambda i: (-round(float(share[i]), 9), names[i]))
    listed = ", ".join(f"{names[i][0]} and {names[i][1]}" for i in order[:NAMED])
    more = f", and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return names, listed + more


def _same(case: CheckInput, rivals: csr_array) -> tuple[Ints, Ints, Floats]:
    """Pairs as good as the same, where there are more than a smooth population would have."""
    counts, both = case.probes_per_class, (rivals + rivals.T).tocoo()
    first, second = both.row.astype(np.int64), both.col.astype(np.int64)
    chosen = (first < second) & (np.minimum(counts[first], counts[second]) >= FEWEST)
    first, second, total = first[chosen], second[chosen], both.data[chosen]
    share = total / (counts[first] + counts[second])
    near = np.flatnonzero(share >= SAME)
    there = entries(rivals, first[near], second[near]) / counts[first[near]]
    back = entries(rivals, second[near], first[near]) / counts[second[near]]
    same = near[np.minimum(there, back) >= SAME_EACH]
    close = np.setdiff1d(np.flatnonzero(share >= CLOSE), same)
    n_close, n_distant = len(close), len(share) - len(close) - len(same)
    falling = (n_close + 1) / (n_distant + n_close + 1)
    expected = (n_close + 1) * falling ** (STEEPER * _decided(case, first[close], second[close]))
    # Where more than half of the classes would have a twin, it is the scores that know nothing.
    if len(same) > len(counts) / 2 or stats.poisson.sf(len(same) - 1, expected) >= CHANCE:
        same = same[:0]
    return first[same], second[same], share[same]


def _decided(case: CheckInput, first: Ints, second: Ints) -> float:
    """Return the share of what these pairs took from each other that was won, not tied.

    Coarse scores make classes that are merely close look the same, so that such pairs no longer
    get rare as fast: where all is tied, as many may look the same as look close.
    """
    lost, tied = case.rivals, case.tied
    assert lost is not None and tied is not None  # whoever asks has looked
    points = (entries(lost, first, second) + entries(lost, second, first)).sum()
    halves = (entries(tied, first, second) + entries(tied, second, first)).sum() / 2
    return float(1 - halves / points) if points > 0 else 1.0


def _identical(case: CheckInput) -> tuple[Ints, Ints, Floats]:
    """Pairs that tie on every probe of both, where there are more than coarse scores would make.

    How often two classes tie differs from pair to pair. If that chance is spread without a lump
    at one, at most 2 / (m + 1) as many pairs tie on all their m probes as tie on half of them or
    more but not on all. Where no pair does that, the share of such pairs among all that ever tie
    stands in; where no others tie, none should.
    """
    counts, tied = case.probes_per_class, case.tied
    assert tied is not None  # whoever asks has looked
    both = (tied + tied.T).tocoo()
    first, second = both.row.astype(np.int64), both.col.astype(np.int64)
    chosen = (first < second) & (counts[first] > 0) & (counts[second] > 0)
    first, second, total = first[chosen], second[chosen], both.data[chosen]
    shown = counts[first] + counts[second]
    always = total == shown
    mostly = int(np.count_nonzero((total >= shown / 2) & ~always))
    others = int(np.count_nonzero(~always))
    unseen = (mostly + 1) / (others + 1) if others else 0.0
    first, second, shown = first[always], second[always], shown[always]
    if len(first):
        expected = (mostly + unseen) * 2 / (float(shown.mean()) + 1)
        if stats.poisson.sf(len(first) - 1, expected) >= CHANCE:
            first, second = first[:0], second[:0]
    return first, second, np.ones(len(first))


def hubs(case: CheckInput) -> str | None:
    """Look for classes that beat far more probes of others than their fellows do.

    Win rates, on the probit scale, spread like a normal law in healthy pilots (central classes
    win more than outer ones, which is no fault). A hub lies outside of what the largest of K
    normal values reaches, with spread measured by the median deviation, which hubs do not move,
    and at least that of counting by chance.
    """
    rivals = case.rivals
    if rivals is None or case.pilot.n_classes < 10:
        return None
    wins = np.asarray(rivals.sum(axis=0), dtype=np.float64).ravel()
    others = case.pilot.n_probes - case.probes_per_class
    rate = wins / np.maximum(others, 1)
    outliers = _outliers(wins, np.maximum(others, 1)).tolist()
    hubs = sorted(outliers, key=lambda c: (-float(rate[c]), case.name(c)))
    if not hubs:
        return None
    listed = ", ".join(f"{case.name(c)} beats {percent(float(rate[c]))}" for c in hubs[:NAMED])
    more = f", and {len(hubs) - NAMED:,} more" if len(hubs) > NAMED else ""
    high = "1 class scores" if len(hubs) == 1 else f"{len(hubs):,} classes score"
    usual = percent(float(np.median(rate)))
    return (
        f"{high} high whatever is shown ({listed} of the probes of others{more}; a usual class "
        f"{usual}); see how that came about, as new classes may do the same."
    )


def _outliers(wins: Floats, others: NDArray[np.int64]) -> Ints:
    """Classes whose win rate lies beyond the reach of chance."""
    middle = np.median(wins)
    rates = ndtri((wins + 0.5) / (others + 1))
    usual = float(np.median(rates))
    size = float(np.median(others)) + 1
    counting = ndtri(min((middle + 0.5 + np.sqrt(middle + 1)) / size, 0.99)) - ndtri(
        min((middle + 0.5) / size, 0.98)
    )
    spread = max(1.4826 * float(np.median(np.abs(rates - usual))), float(counting))
    limit = -ndtri(HUB_CHANCE / len(wins))
    return np.flatnonzero((rates - usual > limit * spread) & (wins >= FEWEST_WINS))
