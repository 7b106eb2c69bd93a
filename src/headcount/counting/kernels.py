"""The compiled loops behind counting. Everything here works on one block and releases the lock.

Two rules keep the loops fast and right. Counters have the width of the scores they count, so the
compiler can use whole vector registers. And no loop whose result decides a close comparison is
allowed to reorder its additions: `_exact` is the definition of a score, everything else a bound.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DOT, COSINE, EUCLIDEAN = 0, 1, 2


CHUNK = 1 << 14  # few enough columns for a counter of 16 bits
STRETCH = 256  # columns looked at again when one of them is too close to call


@njit(nogil=True, cache=True)
def count_rows(scores, true, unit, above, equal, bad):
    """Count, row by row, the scores above and equal to the true one, and those not finite.

    `unit` is an array whose type is that of the counters: integers as wide as the scores.
    """
    width = unit.dtype.type
    for i in range(scores.shape[0]):
        t = scores[i, true[i]]
        for first in range(0, scores.shape[1], CHUNK):
            a, e, b = width(0), width(0), width(0)
            for j in range(first, min(first + CHUNK, scores.shape[1])):
                s = scores[i, j]
                a = width(a + (s > t))
                e = width(e + (s == t))
                b = width(b + (s - s != 0))
            above[i] += a
            equal[i] += e
            bad[i] += b


@njit(nogil=True, cache=True)
def count_columns(columns, first, true, unit, bits, above, equal, bad):
    """As `count_rows` for a matrix stored by columns; `columns[j, first + i]` is row i's score j.

    What limits this loop is reading and writing counters, so the three of a row share one number of
    type `unit`, `bits` bits each, and four columns are counted at a time. Counters of 16 bits have
    room for two only: they are for integers, which are always finite.
    """
    width = unit.dtype.type
    zero, one, tie = width(0), width(1), width(1 << bits)
    flaw = width(1 << (2 * bits))  # zero in 16 bits
    n_rows, mask = true.shape[0], (1 << bits) - 1
    t = np.empty(n_rows, columns.dtype)
    for i in range(n_rows):
        t[i] = columns[true[i], first + i]
    packed = np.zeros(n_rows, unit.dtype)
    stretch = mask // 4 * 4
    for start in range(0, columns.shape[0], stretch):
        stop = min(start + stretch, columns.shape[0])
        whole = start + (stop - start) // 4 * 4
        for j in range(start, whole, 4):
            u = columns[j, first:]
            v = columns[j + 1, first:]
            w = columns[j + 2, first:]
            x = columns[j + 3, first:]
            for i in range(n_rows):
                count = packed[i]
                for s in (u[i], v[i], w[i], x[i]):
                    count = width(count + (one if s > t[i] else zero))
                    count = width(count + (tie if s == t[i] else zero))
                    count = width(count + (flaw if s - s != 0 else zero))
                packed[i] = count
        for j in range(whole, stop):
            for i in range(n_rows):
                s = columns[j, first + i]
                count = width(packed[i] + (one if s > t[i] else zero))
                count = width(count + (tie if s == t[i] else zero))
                packed[i] = width(count + (flaw if s - s != 0 else zero))
        for i in range(n_rows):
            count = np.int64(packed[i])
            above[i] += count & mask
            equal[i] += (count >> bits) & mask
            if flaw:
                bad[i] += (count >> (2 * bits)) & mask
            packed[i] = zero


@njit(nogil=True, cache=True)
def collect_rows(scores, true, sign, start, classes, tied):
    """Write which columns beat or tie the true one; row i fills its list from `start[i]`."""
    for i in range(scores.shape[0]):
        t = scores[i, true[i]]
        entry = start[i]
        for j in range(scores.shape[1]):
            s = scores[i, j]
            beats = s > t if sign == 1 else s < t
            if (beats or s == t) and j != true[i]:
                classes[entry] = j
                tied[entry] = s == t
                entry += 1


@njit(nogil=True, cache=True)
def _exact(x, g, x_norm, g_norm, similarity):
    """Score of one pair in float64, terms added in order. This is what a score *is*."""
    total = 0.0
    if similarity == EUCLIDEAN:
        for a in range(x.shape[0]):
            gap = np.float64(x[a]) - np.float64(g[a])
            total += gap * gap
        return -total
    for a in range(x.shape[0]):
        total += np.float64(x[a]) * np.float64(g[a])
    if similarity == COSINE:
        scale = x_norm * g_norm
        return total / scale if scale > 0.0 else 0.0
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _quick(x, g, x_norm, g_norm, similarity):
    """As `_exact`, additions in any order: many times faster, right to float64 round-off."""
    total = 0.0
    if similarity == EUCLIDEAN:
        for a in range(x.shape[0]):
            gap = np.float64(x[a]) - np.float64(g[a])
            total += gap * gap
        return -total
    for a in range(x.shape[0]):
        total += np.float64(x[a]) * np.float64(g[a])
    if similarity == COSINE:
        scale = x_norm * g_norm
        return total / scale if scale > 0.0 else 0.0
    return total


@njit(nogil=True, cache=True)
def norms(rows, out):
    """Euclidean length of each row, in float64 and in order."""
    for i in range(rows.shape[0]):
        total = 0.0
        for a in range(rows.shape[1]):
            total += np.float64(rows[i, a]) ** 2
        out[i] = np.sqrt(total)


@njit(nogil=True, cache=True)
def true_scores(x, x_norm, own_rows, true, g, g_norm, start, similarity, out):
    """Exact score of each probe against its own class: the best of the class's rows but itself."""
    for i in range(x.shape[0]):
        best = -np.inf
        for row in range(start[true[i]], start[true[i] + 1]):
            if row != own_rows[i]:
                best = max(best, _exact(x[i], g[row], x_norm[i], g_norm[row], similarity))
        out[i] = best


@njit(nogil=True, cache=True)
def _settle(x, g, x_norm, g_norm, similarity, t, slack):
    """Compare one pair with the true score: 1 it beats, 0 it ties, -1 it loses.

    `slack` bounds how far `_quick` may be off; for products, per unit of the gallery row's length.
    """
    room = slack * g_norm if similarity == DOT else slack
    s = _quick(x, g, x_norm, g_norm, similarity)
    if s > t + room:
        return 1
    if s < t - room:
        return -1
    s = _exact(x, g, x_norm, g_norm, similarity)
    return 1 if s > t else (0 if s == t else -1)


@njit(nogil=True, cache=True)
def count_tile(
    approx, low, high, first, x, x_norm, true, t, slack, g, g_norm, similarity, above, equal
):
    """Count over a tile of approximate scores, one gallery row a class.

    A score over `high` certainly beats, one under `low` certainly loses; the few between are
    settled from the vectors themselves. `first` is the class of the tile's first column.
    """
    n_columns = approx.shape[1]
    for i in range(approx.shape[0]):
        lo, hi = low[i], high[i]
        for begin in range(0, n_columns, STRETCH):
            end = min(begin + STRETCH, n_columns)
            sure, maybe = np.int32(0), np.int32(0)
            for j in range(begin, end):
                s = approx[i, j]
                sure = np.int32(sure + (s > hi))
                maybe = np.int32(maybe + (s >= lo))
            above[i] += sure
            if maybe > sure:
                for j in range(begin, end):
                    s = approx[i, j]
                    if s >= lo and s <= hi and first + j != true[i]:
                        c = first + j
                        verdict = _settle(
                            x[i], g[c], x_norm[i], g_norm[c], similarity, t[i], slack[i]
                        )
                        above[i] += verdict == 1
                        equal[i] += verdict == 0


@njit(nogil=True, cache=True)
def _judge(approx, i, lo, hi, a, b, offset, x, g, x_norm, g_norm, similarity, t, slack):
    """Compare the best of gallery rows a..b with the true score: 1, 0 or -1 as in `_settle`."""
    for row in range(a, b):
        if approx[i, row - offset] > hi:
            return 1
    verdict = -1
    for row in range(a, b):
        if approx[i, row - offset] >= lo:
            outcome = _settle(x, g[row], x_norm, g_norm[row], similarity, t, slack)
            if outcome == 1:
                return 1
            verdict = max(verdict, outcome)
    return verdict


@njit(nogil=True, cache=True)
def count_classes(
    approx,
    low,
    high,
    first,
    last,
    x,
    x_norm,
    true,
    t,
    slack,
    g,
    g_norm,
    start,
    similarity,
    above,
    equal,
):
    """As `count_tile`, for classes `first` to `last` with several gallery rows each."""
    offset = start[first]
    for i in range(approx.shape[0]):
        for c in range(first, last):
            if c != true[i]:
                verdict = _judge(
                    approx, i, low[i], high[i], start[c], start[c + 1], offset,
                    x[i], g, x_norm[i], g_norm, similarity, t[i], slack[i],
                )  # fmt: skip
                above[i] += verdict == 1
                equal[i] += verdict == 0


@njit(nogil=True, cache=True)
def collect_classes(
    approx, low, high, first, last, x, x_norm, true, t, slack, g, g_norm, start, similarity,
    next_entry, classes, tied,
):  # fmt: skip
    """Write which classes beat or tie each probe; `next_entry[i]` is where row i writes next."""
    offset = start[first]
    for i in range(approx.shape[0]):
        for c in range(first, last):
            if c != true[i]:
                verdict = _judge(
                    approx, i, low[i], high[i], start[c], start[c + 1], offset,
                    x[i], g, x_norm[i], g_norm, similarity, t[i], slack[i],
                )  # fmt: skip
                if verdict >= 0:
                    classes[next_entry[i]] = c
                    tied[next_entry[i]] = verdict == 0
                    next_entry[i] += 1


@njit(nogil=True, cache=True)
def score_rows(x, x_norm, true, t, slack, g, g_norm, start, similarity, out):
    """Score every class for each probe, so that comparing the scores gives the exact counts."""
    for i in range(x.shape[0]):
        for c in range(start.shape[0] - 1):
            best = -np.inf
            room = 0.0
            for row in range(start[c], start[c + 1]):
                best = max(best, _quick(x[i], g[row], x_norm[i], g_norm[row], similarity))
                room = max(room, slack[i] * g_norm[row] if similarity == DOT else slack[i])
            if abs(best - t[i]) <= 2 * room:
                best = -np.inf
                for row in range(start[c], start[c + 1]):
                    best = max(best, _exact(x[i], g[row], x_norm[i], g_norm[row], similarity))
            out[i, c] = best
        out[i, true[i]] = t[i]
