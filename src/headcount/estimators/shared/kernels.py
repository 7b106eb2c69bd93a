"""The compiled loops behind kernel estimates. They work on one block and release the lock.

Rows come sorted and their sums are taken in that order, so that nothing depends on the order of
the classes; they are scaled by a power of two, which changes no digit and keeps huge scores from
overflowing.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

UCV, BCV, NRD0, PSEUDOLIKELIHOOD = 0, 1, 2, 3

N_CELLS = 1000  # as in R
FAR = 1000.0  # squared gaps in bandwidths from here on add nothing, as in R
GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0
ROOT_EPS = math.sqrt(np.finfo(np.float64).eps)
TRIALS = 12  # bandwidths tried before the best one is refined
REACH = 8.5  # a normal density is below 1e-15 of its peak beyond


@njit(nogil=True, cache=True)
def survival_rows(impostors, true, rule, least, p, width):
    """Write each row's chance p that one more wrong class beats the true one, and its bandwidth.

    `impostors` are the scores of wrong classes, ascending, and are scaled in place; `true` are the
    true scores. The chance is taken from the upper tail, so that tiny ones keep their digits, and
    is kept above `least`. Rows of bandwidth zero get p = -1.
    """
    for i in range(impostors.shape[0]):
        x = impostors[i]
        scale = _scale(x)
        h = _scaled_bandwidth(x, scale, rule)
        width[i] = h / scale
        p[i] = -1.0
        if h > 0.0:
            t, unit, total = true[i] * scale, h * math.sqrt(2.0), 0.0
            for j in range(len(x)):
                total += math.erfc((t - x[j]) / unit)
            p[i] = min(1.0, max(0.5 * total / len(x), least))


@njit(nogil=True, cache=True)
def bandwidth(x, rule):
    """Bandwidth of ascending values; `x` is scaled in place."""
    scale = _scale(x)
    return _scaled_bandwidth(x, scale, rule) / scale


@njit(nogil=True, cache=True)
def _scale(x):
    """Return the power of two that brings the largest value near one."""
    largest = max(abs(x[0]), abs(x[-1]))
    _, exponent = math.frexp(largest)
    return math.ldexp(1.0, -max(exponent, -1000))


@njit(nogil=True, cache=True)
def _scaled_bandwidth(x, scale, rule):
    n = len(x)
    for j in range(n):
        x[j] *= scale
    if n < 2:
        return 0.0
    if rule == NRD0:
        return _nrd0(x, scale)
    sd = _spread(x)
    if sd == 0.0:
        return 0.0
    upper = 1.144 * sd * n**-0.2
    if rule == PSEUDOLIKELIHOOD:
        return _pseudolikelihood(x, sd, 0.1 * upper)
    gap = (x[-1] - x[0]) * 1.01 / N_CELLS
    cells, counts = _cells(x, gap)
    pairs = pair_counts(cells, counts)
    return _minimise(rule, 0.1 * upper, upper, 0.01 * upper, pairs, pairs, gap, n)


@njit(nogil=True, cache=True)
def _spread(x):
    """Sample standard deviation of ascending values; exactly zero where all are equal."""
    n = len(x)
    shift = 0.0
    for j in range(n):
        shift += x[j] - x[0]
    mean = shift / n
    total = 0.0
    for j in range(n):
        total += (x[j] - x[0] - mean) ** 2
    return math.sqrt(total / (n - 1))


@njit(nogil=True, cache=True)
def _quantile(x, level):
    place = (len(x) - 1) * level
    under = int(place)
    over = min(under + 1, len(x) - 1)
    return x[under] + (place - under) * (x[over] - x[under])


@njit(nogil=True, cache=True)
def _nrd0(x, scale):
    """Silverman's rule, with R's ways out where quartiles or all values are equal."""
    sd = _spread(x)
    low = min(sd, (_quantile(x, 0.75) - _quantile(x, 0.25)) / 1.34)
    if low == 0.0:
        low = sd
    if low == 0.0:
        low = abs(x[0])
    if low == 0.0:
        low = scale  # one, in the units of the scores
    return 0.9 * low * len(x) ** -0.2


# -- cross-validation on counts of binned differences ---------------------------------------------


@njit(nogil=True, cache=True)
def _cells(x, gap):
    """Return the cells that hold some of the ascending values, and how many each holds.

    As in R cells are counted from zero, both ways; where that leaves too few digits, from x[0].
    """
    origin = 0.0
    if max(abs(x[0]), abs(x[-1])) / gap >= 2.0**31:
        origin = x[0]
    cells, counts = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    m = 0
    for j in range(len(x)):
        cell = int((x[j] - origin) / gap)
        if m > 0 and cells[m - 1] == cell:
            counts[m - 1] += 1
        else:
            cells[m] = cell
            counts[m] = 1
            m += 1
    return cells[:m], counts[:m]


@njit(nogil=True, cache=True)
def pair_counts(cells, counts):
    """Return how many pairs of values lie 0, 1, 2, ... cells apart."""
    pairs = np.zeros(N_CELLS)
    for a in range(len(cells)):
        here = float(counts[a])
        pairs[0] += 0.5 * here * (here - 1.0)
        for b in range(a + 1, len(cells)):
            pairs[cells[b] - cells[a]] += here * counts[b]
    return pairs


@njit(nogil=True, cache=True)
def unbiased_error(h, pairs, gap, n):
    """Estimate the integrated squared error, less a constant, from all pairs."""
    total = 0.0
    for i in range(len(pairs)):
        square = (i * gap / h) ** 2
        if square >= FAR:
            break
        if pairs[i] > 0.0:
            e = math.exp(-0.25 * square)
            total += pairs[i] * e * (1.0 - math.sqrt(8.0) * e)
    return (0.5 + total / n) / (n * h * math.sqrt(math.pi))


@njit(nogil=True, cache=True)
def biased_error(h, pairs, gap, n):
    """Estimate the leading terms of the mean integrated squared error from all pairs."""
    total = 0.0
    for i in range(len(pairs)):
        square = (i * gap / h) ** 2
        if square >= FAR:
            break
        if pairs[i] > 0.0:
            total += pairs[i] * math.exp(-0.25 * square) * (square * square - 12 * square + 12)
    return (1.0 + total / (32.0 * n)) / (2.0 * n * h * math.sqrt(math.pi))


# -- leave-one-out pseudolikelihood ---------------------------------------------------------------


@njit(nogil=True, cache=True)
def _pseudolikelihood(x, sd, floor):
    """Bandwidth of the highest leave-one-out likelihood.

    Where its slope is zero, h^2 is a mean of squared gaps to other values in which near ones weigh
    more: at least the mean squared gap to the nearest, at most that to all, 2 sd^2. Values that
    repeat reward h near zero, as do cells that hold several; none below `floor` is tried then.
    """
    values, counts, gap = _distinct(x)
    nearest = _nearest(values, counts)
    square = 0.0
    for a in range(len(values)):
        square += counts[a] * nearest[a] ** 2
    low = math.sqrt(square / len(x))
    if len(values) < len(x):
        low = max(low, floor, 2.0 * gap)
    low, high = math.log(low), math.log(math.sqrt(2.0) * sd)
    if high - low < 1e-9:  # two values: nothing to choose
        return math.exp(high)
    step = (high - low) / (TRIALS - 1)
    best, least = 0, np.inf
    for a in range(TRIALS):
        value = _disbelief(low + a * step, values, counts, nearest)
        if value < least:
            best, least = a, value
    first, last = max(best - 1, 0), min(best + 1, TRIALS - 1)
    log_h = _minimise(
        PSEUDOLIKELIHOOD, low + first * step, low + last * step, 1e-4, values, counts, 0.0, 0
    )
    if _disbelief(log_h, values, counts, nearest) > least:  # the search stops short of its ends
        log_h = low + best * step
    return math.exp(log_h)


@njit(nogil=True, cache=True)
def _distinct(x):
    """Return distinct ascending values, how often each occurs, and zero.

    Past N_CELLS of them: the means of cells, how many values each holds, and the cells' width.
    """
    gap = 0.0
    distinct = 1
    for j in range(1, len(x)):
        distinct += x[j] > x[j - 1]
    if distinct > N_CELLS:
        gap = (x[-1] - x[0]) / N_CELLS
    values, counts = np.zeros(distinct), np.zeros(distinct)
    m, start = -1, 0.0
    for j in range(len(x)):
        if m < 0 or x[j] > start + gap:
            m += 1
            start = x[j]
            values[m] = x[j]
        counts[m] += 1.0
        values[m] += (x[j] - values[m]) / counts[m]
    return values[: m + 1], counts[: m + 1], gap


@njit(nogil=True, cache=True)
def _nearest(values, counts):
    """Return the gap from each value to the nearest other one, zero where it occurs twice."""
    m = len(values)
    gaps = np.zeros(m)
    for a in range(m):
        if counts[a] < 2.0:
            left = values[a] - values[a - 1] if a > 0 else np.inf
            right = values[a + 1] - values[a] if a < m - 1 else np.inf
            gaps[a] = min(left, right)
    return gaps


@njit(nogil=True, cache=True)
def _disbelief(log_h, values, counts, nearest):
    """Mean negative log of each value's density as estimated from the others, less a constant."""
    m = len(values)
    h = math.exp(log_h)
    half = 0.5 / (h * h)
    density = counts - 1.0
    end = 0
    for a in range(m):
        while end < m and values[end] - values[a] <= REACH * h:
            end += 1
        after = slice(a + 1, end)
        density[a] += _add_kernel(
            values[after], counts[after], values[a], counts[a], half, density[after]
        )
    total, n = 0.0, 0.0
    for a in range(m):
        if nearest[a] < 0.5 * REACH * h:
            log_density = math.log(density[a])
        else:
            log_density = _lonely(a, half, values, counts, nearest[a])
        total += counts[a] * log_density
        n += counts[a]
    return log_h - total / n


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _add_kernel(others, counts, value, here, half, density):
    """Add a value's kernel to the density at others, and return the sum of theirs at it.

    exp(-y), y up to 37, is a Taylor sum squared eight times over, right to 1e-7 of itself: unlike
    a call it lets the compiler work on several pairs at once, which is eight times faster.
    """
    total = 0.0
    for b in range(others.shape[0]):
        gap = others[b] - value
        z = gap * gap * (half / -256.0)
        e = 1.0 + z * (
            1.0 + z * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z * (1 / 720)))))
        )
        for _ in range(8):
            e *= e
        total += counts[b] * e
        density[b] += here * e
    return total


@njit(nogil=True, cache=True)
def _lonely(a, half, values, counts, nearest):
    """Log density at a value far from all others, scaled by its nearest to keep its digits."""
    total = 0.0
    for b in range(len(values)):
        if b != a:
            gap = values[b] - values[a]
            total += counts[b] * math.exp(half * (nearest - gap) * (nearest + gap))
    return math.log(total) - half * nearest * nearest


# -- minimisation ---------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _objective(rule, h, first, second, gap, n):
    if rule == UCV:
        return unbiased_error(h, first, gap, n)
    if rule == BCV:
        return biased_error(h, first, gap, n)
    return _disbelief(h, first, second, _nearest(first, second))


@njit(nogil=True, cache=True)
def _minimise(rule, low, high, tolerance, first, second, gap, n):
    """Minimum between two bounds by Brent's (1973) golden sections and parabolas."""
    x = w = v = low + GOLDEN * (high - low)
    fx = fw = fv = _objective(rule, x, first, second, gap, n)
    step = last = 0.0
    while True:
        middle = 0.5 * (low + high)
        close = ROOT_EPS * abs(x) + tolerance / 3.0
        if abs(x - middle) <= 2.0 * close - 0.5 * (high - low):
            return x
        before, parabola = last, False
        if abs(last) > close:
            left, right = (x - w) * (fx - fv), (x - v) * (fx - fw)
            top, bottom = (x - v) * right - (x - w) * left, 2.0 * (right - left)
            if bottom > 0.0:
                top = -top
            bottom = abs(bottom)
            last = step
            parabola = (
                abs(top) < abs(0.5 * bottom * before)
                and top > bottom * (low - x)
                and top < bottom * (high - x)
            )
        if parabola:
            step = top / bottom
            u = x + step
            if u - low < 2.0 * close or high - u < 2.0 * close:
                step = close if x < middle else -close
        else:
            last = high - x if x < middle else low - x
            step = GOLDEN * last
        # Never look again closer than `close` to where the value is known.
        least = close if step > 0.0 else -close
        u = x + (step if abs(step) >= close else least)
        fu = _objective(rule, u, first, second, gap, n)
        if fu <= fx:
            if u < x:
                high = x
            else:
                low = x
            v, w, x = w, x, u
            fv, fw, fx = fw, fx, fu
        else:
            if u < x:
                low = u
            else:
                high = u
            if fu <= fw or w == x:
                v, w = w, u
                fv, fw = fw, fu
            elif fu <= fv or v in (x, w):
                v, fv = u, fu
