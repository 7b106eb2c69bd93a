"""The compiled loops behind the jackknife of a metric over classes. All release the lock.

What a probe is worth depends only on how many rivals beat it and how many tie with it, so that
leaving out any rival of one kind changes it by the same amount.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _value(losses, ties, sums):
    """Return the mean value of a probe whose ties are broken at random.

    `sums` are those of the values for fewer than each number of losses.
    """
    if losses < 0 or ties < 0:
        return 0.0  # never used: there is no such rival to leave out
    return (sums[losses + ties + 1] - sums[losses]) / (ties + 1)


@njit(nogil=True, cache=True)
def delete_one(
    start, classes, tied, losses, ties, labels, weights, sums, negligible, every, own, change
):  # fmt: skip
    """Add up a metric with one class fewer, for every class that may be missing.

    `every` is the sum when a class that beats nobody is missing, `own[c]` the share of it that
    probes of class c have, `change[c]` what changes for the others when class c is missing.
    """
    for i in range(len(labels)):
        base = _value(losses[i], ties[i], sums)
        every[0] += weights[i] * base
        own[labels[i]] += weights[i] * base
        beaten = weights[i] * (_value(losses[i] - 1, ties[i], sums) - base)
        level = weights[i] * (_value(losses[i], ties[i] - 1, sums) - base)
        if (losses[i] == 0 or abs(beaten) <= negligible * weights[i]) and (
            ties[i] == 0 or abs(level) <= negligible * weights[i]
        ):
            continue
        for e in range(start[i], start[i + 1]):
            change[classes[e]] += level if tied[e] else beaten


@njit(nogil=True, cache=True)
def delete_two(
    start, classes, tied, losses, ties, labels, weights, sums, negligible, number, longest, every,
    own, change, own_change, pairs,
):  # fmt: skip
    """Add up a metric with two classes fewer, for every pair of chosen classes.

    As `delete_one`; `number[c]` is the place of class c among the chosen or -1, `own_change[c, d]`
    is the change for probes of class c when d is missing, and `pairs[c, d]` what both do together
    beyond the sum of what each does (in one of its two halves).
    """
    who, level = np.empty(longest, np.int64), np.empty(longest, np.bool_)
    for i in range(len(labels)):
        w, lost, equal = weights[i], losses[i], ties[i]
        base, home = _value(lost, equal, sums), number[labels[i]]
        every[0] += w * base
        if home >= 0:
            own[home] += w * base
        single = (
            _value(lost - 1, equal, sums) - base if lost > 0 else 0.0,
            _value(lost, equal - 1, sums) - base if equal > 0 else 0.0,
        )
        joint = (
            _value(lost - 2, equal, sums) - base - 2 * single[0] if lost > 1 else 0.0,
            _value(lost - 1, equal - 1, sums) - base - single[0] - single[1]
            if lost > 0 and equal > 0
            else 0.0,
            _value(lost, equal - 2, sums) - base - 2 * single[1] if equal > 1 else 0.0,
        )
        largest = max(abs(single[0]), abs(single[1]))
        largest = max(largest, abs(joint[0]), abs(joint[1]), abs(joint[2]))
        if largest <= negligible:
            continue
        m = 0
        for e in range(start[i], start[i + 1]):
            c = number[classes[e]]
            if c < 0:
                continue
            who[m], level[m] = c, tied[e]
            step = w * (single[1] if tied[e] else single[0])
            change[c] += step
            if home >= 0:
                own_change[home, c] += step
            m += 1
        for a in range(m):
            for b in range(a + 1, m):
                kind = int(level[a]) + int(level[b])
                together = joint[0] if kind == 0 else (joint[1] if kind == 1 else joint[2])
                pairs[who[a], who[b]] += w * together
