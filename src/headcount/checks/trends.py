"""Check of an order of classes: whether anything changes along it."""

from __future__ import annotations

import numpy as np
from scipy import stats

from headcount.checks.check_input import CheckInput, Floats
from headcount.support.words import percent

# Each of two tests, of how hard classes are and of how often they win, alarms once in 200 pilots
# by chance.
CHANCE = 0.005
# A rank correlation below this explains less than a twentieth of the differences: not worth a word.
LEAST = 0.22
FEWEST_CLASSES = 10


def along_the_order(case: CheckInput) -> str | None:
    """See whether classes get harder, or win more often, along the order that was given.

    Both are Spearman's rank correlation with the order. Classes are the units: if they are
    exchangeable, every order of them is as likely as any other, however their probes and their
    rivals depend on each other, and that is all the test assumes.
    """
    if case.pilot.order is None:
        return None
    changes = [text for text in (_difficulty(case), _rivalry(case)) if text is not None]
    if not changes:
        return None
    return (
        f"classes change along the order given: {', and '.join(changes)}; the forecast holds only "
        "if new classes are a mix of all of them, not the next ones in that order."
    )


def _difficulty(case: CheckInput) -> str | None:
    """Compare how hard classes are: the mean rank of their probes' losses."""
    labels, order = case.pilot.labels, case.pilot.order
    assert order is not None  # whoever asks has looked
    counts = case.probes_per_class
    if labels is None or case.observed.n_classes < FEWEST_CLASSES:
        return None
    probed = np.flatnonzero(counts > 0)
    ranks = stats.rankdata(case.pilot.losses + case.pilot.ties / 2)
    hard, right = (
        (np.bincount(labels, values, len(counts)) / np.maximum(counts, 1))[probed]
        for values in (ranks, case.pilot.right)
    )
    trend = _trend(order[probed], hard)
    early, late = _ends(order[probed], right)
    if trend == 0 or trend * (late - early) >= 0:  # ranks and accuracy must say the same
        return None
    way = "harder" if trend > 0 else "easier"
    return f"they get {way} ({percent(early)} right in its first half, {percent(late)} in its last)"


def _rivalry(case: CheckInput) -> str | None:
    """Compare how often classes beat the probes of others."""
    rivals, order = case.rivals, case.pilot.order
    assert order is not None  # whoever asks has looked
    if rivals is None:
        return None
    others = np.maximum(case.pilot.n_probes - case.probes_per_class, 1)
    rate = np.asarray(rivals.sum(axis=0), dtype=np.float64).ravel() / others
    trend = _trend(order, rate)
    early, late = _ends(order, rate)
    if trend == 0 or trend * (late - early) <= 0:
        return None
    way = "more" if trend > 0 else "less"
    return (
        f"they beat others {way} often ({percent(early)} of the probes of others in its first "
        f"half, {percent(late)} in its last)"
    )


def _trend(order: Floats, values: Floats) -> float:
    """Return the rank correlation where it is beyond chance and worth a word, else zero."""
    n_classes = len(order)
    if n_classes < FEWEST_CLASSES or np.ptp(order) == 0 or np.ptp(values) == 0:
        return 0.0
    correlation = stats.spearmanr(order, values)
    surprising = float(correlation.pvalue) < CHANCE and abs(float(correlation.statistic)) >= LEAST
    return float(correlation.statistic) if surprising else 0.0


def _ends(order: Floats, values: Floats) -> tuple[float, float]:
    """Return the means of the first and of the last half of the order; its middle is in neither."""
    middle = np.median(order)
    early, late = values[order < middle], values[order > middle]
    if len(early) == 0 or len(late) == 0:  # half of the classes or more stand at one place
        early, late = values[order == order.min()], values[order == order.max()]
    return float(early.mean()), float(late.mean())
