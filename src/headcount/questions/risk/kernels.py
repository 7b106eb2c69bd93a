"""The compiled loops behind risk. Everything here works on one block and releases the lock."""

from __future__ import annotations

import numpy as np
from numba import njit

RANDOM, LOSE, WIN = 0, 1, 2


@njit(nogil=True, cache=True)
def _rivals(scores, true, classes, values):
    """List the wrong classes that matter: first those above, best first, and last those tied.

    Returns how many are above and how many are tied; `values` are the scores of those above.
    """
    level, size = scores[true], len(scores)
    above, tied = 0, 0
    for c in range(size):
        if c == true:
            continue
        if scores[c] > level:
            values[above] = -scores[c]
            classes[above] = c
            above += 1
        elif scores[c] == level:
            tied += 1
            classes[size - tied] = c
    order = np.argsort(values[:above])
    values[:above] = values[:above][order]
    classes[:above] = classes[:above][order]
    return above, tied


@njit(nogil=True, cache=True)
def spend_rows(scores, rows, true, cost, weights, rule, spent):
    """Add what some probes of one class cost, place by place, to `spent`.

    Equal scores are in random order: each of their places costs the mean of the group. Of T
    classes tied with the true one, place j is reached, and beats, with chance (T - j) / (T + 1).
    """
    size = len(cost)
    classes, values = np.empty(size, np.int64), np.empty(size)
    for i in range(len(rows)):
        above, tied = _rivals(scores[rows[i]], true, classes, values)
        first = 0
        while first < above:
            last, total = first, 0.0
            while last < above and values[last] == values[first]:
                total += cost[classes[last]]
                last += 1
            share = weights[i] * (total / (last - first))
            for j in range(first, last):
                spent[j] += share
            first = last
        if tied > 0 and rule != WIN:
            total = 0.0
            for j in range(tied):
                total += cost[classes[size - 1 - j]]
            share = weights[i] * (total / tied)
            for j in range(tied):
                spent[above + j] += share if rule == LOSE else share * ((tied - j) / (tied + 1.0))


@njit(nogil=True, cache=True)
def count_rivals(scores, true, rule, lengths):
    """Count the classes that can be taken for the true one, for each row."""
    for i in range(len(true)):
        level = scores[i, true[i]]
        for c in range(scores.shape[1]):
            beats = scores[i, c] > level
            ties = scores[i, c] == level and rule != WIN
            if c != true[i] and (beats or ties):
                lengths[i] += 1


@njit(nogil=True, cache=True)
def list_rivals(scores, true, rule, start, classes, fresh, tied):
    """Write each row's rivals, best first and those that tie with the true class last.

    `fresh` marks the first of each group of equal scores; `tied` is how many tie.
    """
    found, values = np.empty(scores.shape[1], np.int64), np.empty(scores.shape[1])
    for i in range(len(true)):
        above, n_tied = _rivals(scores[i], true[i], found, values)
        at = start[i]
        for j in range(above):
            classes[at + j] = found[j]
            fresh[at + j] = j == 0 or values[j] != values[j - 1]
        if rule != WIN:
            tied[i] = n_tied
            for j in range(n_tied):
                classes[at + above + j] = found[scores.shape[1] - 1 - j]
                fresh[at + above + j] = j == 0


@njit(nogil=True, cache=True)
def _paid(task, classes, values, above, tied, cost, rule):
    """Return the expected cost of one probe when only the classes of one task compete."""
    size = len(cost)
    for first in range(above):
        if not task[classes[first]]:
            continue
        total, n = 0.0, 0
        for j in range(first, above):  # equal scores: each of them wins as often
            if values[j] != values[first]:
                break
            if task[classes[j]]:
                total += cost[classes[j]]
                n += 1
        return total / n
    if rule == WIN:
        return 0.0
    total, n = 0.0, 0
    for j in range(size - tied, size):
        if task[classes[j]]:
            total += cost[classes[j]]
            n += 1
    if n == 0:
        return 0.0
    return total / n if rule == LOSE else total / (n + 1)


@njit(nogil=True, cache=True)
def spend_tasks(scores, rows, true, cost, weights, rule, tasks, spent):
    """Add what some probes of one class cost in each task that holds the class to `spent`."""
    classes, values = np.empty(len(cost), np.int64), np.empty(len(cost))
    for i in range(len(rows)):
        above, tied = _rivals(scores[rows[i]], true, classes, values)
        for r in range(len(tasks)):
            if tasks[r, true]:
                paid = _paid(tasks[r], classes, values, above, tied, cost, rule)
                spent[r] += weights[i] * paid


@njit(nogil=True, cache=True)
def pay_rows(scores, rows, true, cost, rule, paid):
    """Write what each of some probes of one class costs when all classes compete."""
    classes, values = np.empty(len(cost), np.int64), np.empty(len(cost))
    every = np.ones(len(cost), np.bool_)
    for i in rows:
        above, tied = _rivals(scores[i], true, classes, values)
        paid[i] = _paid(every, classes, values, above, tied, cost, rule)
