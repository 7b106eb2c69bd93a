"""Slow, obvious versions of what `headcount.questions.risk` computes fast."""

from __future__ import annotations

import itertools

import numpy as np


def small_pilot_parts(seed, n_classes, n_probes, levels=4):
    """Integer scores with many ties, labels that leave a class without probes, random costs."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (n_probes, n_classes))
    labels = rng.integers(0, n_classes - 1, n_probes)  # the last class only competes
    cost = rng.gamma(1.0, 2.0, (n_classes, n_classes))
    np.fill_diagonal(cost, 0)
    return scores, labels, cost


def paid(scores, true, rivals, cost, rule):
    """Expected cost of one probe among some rivals: each of the best classes wins as often."""
    best = max([scores[true], *(scores[c] for c in rivals)])
    winners = [c for c in rivals if scores[c] == best]
    if scores[true] == best:
        if rule == "win":
            return 0.0
        if rule == "random" or not winners:
            winners.append(true)
    return sum(cost[true][c] for c in winners) / len(winners)


def risk(scores, labels, cost, weights, k, rule):
    """Weighted mean over probes and over all sets of k - 1 rivals."""
    total = 0.0
    for row, true, weight in zip(scores, labels, weights, strict=True):
        others = [c for c in range(len(row)) if c != true]
        sets = list(itertools.combinations(others, k - 1))
        total += weight * sum(paid(row, true, s, cost, rule) for s in sets) / len(sets)
    return total


def task_risks(scores, labels, cost, priors, k, rule):
    """Risk of each set of k classes, the true class drawn by the priors within the set."""
    risks = []
    per_class = np.bincount(labels, minlength=len(priors))
    for task in itertools.combinations(range(len(priors)), k):
        mass = sum(priors[c] for c in task if per_class[c])
        if mass == 0:
            continue
        total = 0.0
        for row, true in zip(scores, labels, strict=True):
            if true in task:
                rivals = [c for c in task if c != true]
                share = priors[true] / mass / per_class[true]
                total += share * paid(row, true, rivals, cost, rule)
        risks.append(total)
    return risks


def spent(scores, labels, cost, weights, rule):
    """Cost by place, averaged over all orders in which equal scores may stand."""
    n_classes = scores.shape[1]
    total = np.zeros(n_classes - 1)
    orders = list(itertools.permutations(range(n_classes)))
    for row, true, weight in zip(scores, labels, weights, strict=True):
        for chances in orders:

            def key(c, row=row, true=true, chances=chances):
                own = {"random": 0, "lose": 1, "win": -1}[rule] if c == true else 0
                return -row[c], own, chances[c]

            ranked = sorted(range(n_classes), key=key)
            for place, c in enumerate(ranked[: ranked.index(true)]):
                total[place] += weight * cost[true][c] / len(orders)
    return total
