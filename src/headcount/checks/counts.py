"""Checks of sizes and counts: enough classes and probes, ties, balance, censoring."""

from __future__ import annotations

import numpy as np

from headcount.checks.check_input import CheckInput
from headcount.metrics import Metric
from headcount.support.words import counted, percent

# Half of fewer classes is under ten, with which a forecast can hardly be tried out on the pilot
# itself; and 20 classes leave the accuracy a standard error of up to sqrt(0.25 / 20) = 11 points.
FEWEST_CLASSES = 20
# 50 probes leave the measured accuracy up to 1.645 * sqrt(0.25 / 50) = 12 points either way.
FEWEST_PROBES = 50
# What the back-test tolerates, too: five points.
TOLERATED = 0.05
# Weights so unequal that the probes are worth less than half their number.
UNBALANCED = 0.5
# Bounds so far apart that they hide most of what is to be extrapolated. A list cut after the
# first place, which knows right from wrong and nothing else, has half of the errors unknown.
WIDEST = 0.1
WIDEST_SHARE = 0.4
ROUND_OFF = 1e-9


def few_classes(case: CheckInput) -> str | None:
    """Count the classes."""
    n = case.pilot.n_classes
    if n >= FEWEST_CLASSES:
        return None
    return (
        f"the pilot has only {counted(n, 'class')}; with fewer than {FEWEST_CLASSES} a forecast "
        "can hardly be tested on the pilot itself, so add classes."
    )


def few_probes(case: CheckInput) -> str | None:
    """Count the probes, each for as much as its weight makes it."""
    worth = 1 / float(np.square(case.pilot.weights).sum())
    if worth >= FEWEST_PROBES - 0.5:
        return None
    return (
        f"{counted(case.pilot.n_probes, 'probe')}, worth about {worth:.0f} equally weighted ones, "
        f"leave the measured {case.metric.label} uncertain by up to "
        f"{164.5 * np.sqrt(0.25 / worth):.0f} points either way; add probes, if possible of new "
        "classes."
    )


def heavy_ties(case: CheckInput) -> str | None:
    """Compare what the metric would be if every tie were won, and if every tie were lost."""
    gaps = {k: _tie_gap(case, k) for k in (case.pilot.n_classes, 2)}
    k = max(gaps, key=gaps.__getitem__)
    if gaps[k] <= TOLERATED:
        return None
    return (
        f"exact ties decide much: among {k:,} classes {case.metric.label} would be "
        f"{100 * gaps[k]:.0f} points higher if every tie were won than if it were lost; use finer "
        "scores than these, not votes or rounded ones."
    )


def _tie_gap(case: CheckInput, k: int) -> float:
    """Return by how much the metric among k classes is higher where ties are won."""
    pilot, n_rivals = case.pilot, case.pilot.n_classes - 1
    won, lost = (
        case.metric.of_each(losses, n_rivals, k)
        for losses in (pilot.losses, pilot.losses + pilot.ties)
    )
    return float(pilot.weights @ ((won - lost) * ~pilot.censored))


def nothing_to_learn(case: CheckInput) -> str | None:
    """See whether the metric is at its best among all classes, or at its worst."""
    k, metric = case.observed.n_classes, case.metric
    lower, upper = (float(bound) for bound in case.observed.bounds(k, metric))
    if lower > 1 - ROUND_OFF:
        return (
            f"among all {k:,} classes {metric.describe(1.0)}, so the pilot does not show how "
            "errors grow; use more or harder classes until some errors appear."
        )
    if upper < ROUND_OFF:
        return (
            f"among all {k:,} classes {metric.describe(0.0)}, so there is no {metric.label} left "
            "to extrapolate; check the labels and the direction of the scores."
        )
    return None


def unbalanced(case: CheckInput) -> str | None:
    """Compare what the probes are worth with what as many balanced ones would be worth."""
    counts = case.probes_per_class[case.probes_per_class > 0]
    if len(counts) < 2:
        return None
    if case.pilot.average == "macro":
        worth = 1 / (float(np.mean(1 / counts)) * float(counts.mean()))
        effect = (
            f"every class weighs the same, so the {case.pilot.n_probes:,} probes are worth only "
            f"about {worth * case.pilot.n_probes:,.0f} evenly spread ones"
        )
    else:
        worth = float(counts.sum()) ** 2 / (len(counts) * float(np.square(counts * 1.0).sum()))
        effect = (
            f"every probe weighs the same, so the {len(counts):,} classes are worth only "
            f"about {worth * len(counts):,.0f} equal ones"
        )
    if worth >= UNBALANCED:
        return None
    return (
        f"classes have from {counts.min():,} to {counts.max():,} probes, and {effect}; add probes "
        "where they are few rather than where they are many."
    )


def heavy_censoring(case: CheckInput) -> str | None:
    """See how closely the metric is known among half of the pilot's classes.

    A probe known to have at least d losses is right among half of the classes with a chance of
    at most about 1 / 2^d: lists cut at any depth but the first few places do no harm.
    """
    if case.observed.exact:
        return None
    k = max(2, case.observed.n_classes // 2)
    lower, upper = (float(bound) for bound in case.observed.bounds(k, case.metric))
    if upper - lower <= min(WIDEST, WIDEST_SHARE * (1 - lower)):
        return None
    return (
        f"the lists were cut so early that {case.metric.label} among {k:,} classes is only known "
        f"to lie between {percent(lower)} and {percent(upper)}; no forecast can be better than "
        "that, so keep longer lists."
    )


def several_relevant(case: CheckInput) -> str | None:
    """Say whether the metric looks at all relevant documents, or at the best one."""
    ranking = case.pilot.ranking
    if ranking is None or ranking.n_relevant.max() == 1:
        return None
    fewest, most = int(ranking.n_relevant.min()), int(ranking.n_relevant.max())
    several = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    looked_at, other = "the best one", "recall, ndcg and map look at all"
    if not looks_at_best(case.metric):
        looked_at, other = "all of them", "top-m and mrr look at the best one"
    return (
        f"queries have {several} relevant documents, and {case.metric.label} looks at {looked_at} "
        f"({other}); documents that join are taken to be relevant to no query."
    )


def looks_at_best(metric: Metric) -> bool:
    """Whether a metric looks at the first relevant document alone."""
    return type(metric).emphasis is Metric.emphasis
