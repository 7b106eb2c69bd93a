"""The compiled loops behind the jackknife of the risk over classes. All release the lock.

A probe's rivals are a list of classes, best first, in groups of equal score. Where rivals are
deleted, a group loses their cost and a member for each, and all groups after it move up. What a
group adds to the risk follows from sums over the chances of its places, so that every deletion is
found in a fixed number of steps.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _value(random, first, size, total, sums, twice):
    """Return the cost of a group in places first, ..., first + size - 1.

    Each place costs the mean of the group. In a group that ties with the true class place j is
    reached before it with chance (size - j) / (size + 1).
    """
    if size <= 0:
        return 0.0
    first = max(first, 0)  # only where the value is not used
    if not random:
        return total / size * (sums[first + size] - sums[first])
    falling = twice[first + size] - twice[first] - size * sums[first]
    return total / (size * (size + 1.0)) * falling


@njit(nogil=True, cache=True)
def _groups(begin, end, fresh, costs, tied, reach, first, size, total):
    """Write start, size and total cost of each group of one probe.

    Groups past place `reach` are left out. Returns how many groups there are, whether the last of
    them ties with the true class, and how many entries matter.
    """
    n_rivals, n = end - begin, 0
    for e in range(n_rivals):
        if fresh[begin + e]:
            if e > reach:
                return n, False, e
            first[n], size[n], total[n] = e, 0, 0.0
            n += 1
        size[n - 1] += 1
        total[n - 1] += costs[begin + e]
    return n, tied > 0, n_rivals


@njit(nogil=True, cache=True)
def _shifted(n, random, first, size, total, shift, sums, twice, before):
    """Write the cost of all groups before each one, all moved up by `shift` places."""
    before[0] = 0.0
    for g in range(n):
        value = _value(random and g == n - 1, first[g] - shift, size[g], total[g], sums, twice)
        before[g + 1] = before[g] + value


@njit(nogil=True, cache=True)
def delete_one(
    start, classes, costs, fresh, tied, labels, weights, longest, sums, twice, reach, every,
    own, change,
):  # fmt: skip
    """Add up the risk with one class fewer, for every class that may be missing.

    `every` is the sum when a class that beats nobody is missing, `own[c]` the part of probes of
    class c, `change[c]` what changes for the others when class c is missing.
    """
    first, size = np.empty(longest, np.int64), np.empty(longest, np.int64)
    total = np.empty(longest)
    stay, move = np.empty(longest + 1), np.empty(longest + 1)
    for i in range(len(labels)):
        begin, end = start[i], start[i + 1]
        n, random, used = _groups(begin, end, fresh, costs, tied[i], reach, first, size, total)
        _shifted(n, random, first, size, total, 0, sums, twice, stay)
        _shifted(n, random, first, size, total, 1, sums, twice, move)
        base = stay[n]
        every[0] += weights[i] * base
        own[labels[i]] += weights[i] * base
        g = -1
        for e in range(begin, begin + used):
            if fresh[e]:
                g += 1
            ties = random and g == n - 1
            less = _value(ties, first[g], size[g] - 1, total[g] - costs[e], sums, twice)
            found = stay[g] + less + move[n] - move[g + 1]
            change[classes[e]] += weights[i] * (found - base)


@njit(nogil=True, cache=True)
def delete_two(
    start, classes, costs, fresh, tied, labels, weights, longest, sums, twice, reach, number,
    every, own, change, own_change, pairs,
):  # fmt: skip
    """Add up the risk with two classes fewer, for every pair of chosen classes.

    As `delete_one`; `number[c]` is the place of class c among the chosen or -1, `own_change[c, d]`
    is the change for probes of class c when d is missing, and `pairs[c, d]` what both do together
    beyond the sum of what each does (in one of its two halves).
    """
    first, size = np.empty(longest, np.int64), np.empty(longest, np.int64)
    total = np.empty(longest)
    stay, move, leap = np.empty(longest + 1), np.empty(longest + 1), np.empty(longest + 1)
    who, group = np.empty(longest, np.int64), np.empty(longest, np.int64)
    price, ahead, after, alone = (
        np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    )  # fmt: skip
    for i in range(len(labels)):
        begin, end = start[i], start[i + 1]
        n, random, used = _groups(begin, end, fresh, costs, tied[i], reach, first, size, total)
        w = weights[i]
        _shifted(n, random, first, size, total, 0, sums, twice, stay)
        _shifted(n, random, first, size, total, 1, sums, twice, move)
        _shifted(n, random, first, size, total, 2, sums, twice, leap)
        base, mine = stay[n], number[labels[i]]
        every[0] += w * base
        if mine >= 0:
            own[mine] += w * base
        g, m = -1, 0
        for e in range(begin, begin + used):
            if fresh[e]:
                g += 1
            c = number[classes[e]]
            if c < 0:
                continue
            ties = random and g == n - 1
            rest = total[g] - costs[e]
            near = _value(ties, first[g], size[g] - 1, rest, sums, twice)
            far = _value(ties, first[g] - 1, size[g] - 1, rest, sums, twice)
            single = stay[g] + near + move[n] - move[g + 1] - base
            who[m], group[m], price[m], alone[m] = c, g, costs[e], single
            # Of a pair, the better one leaves places free up to the other, which leaves two.
            ahead[m] = stay[g] + near - move[g + 1] - base - single
            after[m] = move[g] + far + leap[n] - leap[g + 1] - single
            change[c] += w * single
            if mine >= 0:
                own_change[mine, c] += w * single
            m += 1
        for a in range(m):
            g = group[a]
            unit = _value(random and g == n - 1, first[g], size[g] - 2, 1.0, sums, twice)
            rest = stay[g] + leap[n] - leap[g + 1] - base - alone[a]
            beyond = a + 1
            while beyond < m and group[beyond] == g:
                left = total[g] - price[a] - price[beyond]
                pairs[who[a], who[beyond]] += w * (left * unit + rest - alone[beyond])
                beyond += 1
            for b in range(beyond, m):
                pairs[who[a], who[b]] += w * (ahead[a] + after[b])
