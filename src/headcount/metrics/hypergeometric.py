r"""Chances for a random set of rivals, stable for millions of classes.

A probe with l losses among n rivals meets m of them, drawn at random without replacement; the
number j that beat it is hypergeometric,

.. math:: P(j) = \binom{l}{j} \binom{n - l}{m - j} \Big/ \binom{n}{m}.

Differences of log-factorials would cancel to nothing here: for n = 1e9 they lose nine digits. The
mass is therefore written as a ratio of three binomial masses with p = m / n, each computed from
Stirling errors and deviances, in which all terms are small (Loader, *Fast and accurate computation
of binomial probabilities*, 2000).

With gamma functions for the factorials the formula holds for any real m, too. `log_mass` and
`chance_unbeaten` take one: the curves of two pilots are compared at the same shares of their
classes.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numba import njit

_TABLE_END = 16


def _exact_stirling_error(n: int) -> float:
    """Compute log n! minus Stirling's formula in many digits: in floats it would cancel."""
    with localcontext(prec=40):
        twice_pi = Decimal("6.283185307179586476925286766559005768394")
        log_factorial = Decimal(math.factorial(n)).ln()
        return float(log_factorial - (n + Decimal("0.5")) * Decimal(n).ln() + n - twice_pi.ln() / 2)


_STIRLING = np.array([math.nan, *(_exact_stirling_error(n) for n in range(1, _TABLE_END))])


@njit(nogil=True, cache=True)
def _stirling_error(n):
    """Return log n! minus Stirling's formula, of any real n."""
    if n < _TABLE_END:
        if n == int(n):
            return _STIRLING[int(n)]
        return math.lgamma(n + 1.0) - (n + 0.5) * np.log(n) + n - 0.5 * np.log(2 * np.pi)
    s = 1.0 / (n * n)
    series = 1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188))))
    return series / n


@njit(nogil=True, cache=True)
def _deviance(x, mean):
    """Return x log(x / mean) - (x - mean), without cancellation where x is close to the mean."""
    gap = x - mean
    if abs(gap) < 0.1 * (x + mean):
        v = gap / (x + mean)
        total, term = gap * v, 2 * x * v
        for j in range(1, 1000):
            term *= v * v
            step = term / (2 * j + 1)
            if total + step == total:
                break
            total += step
        return total
    return x * np.log(x / mean) - gap


@njit(nogil=True, cache=True)
def _log_binomial(x, n, p, q):
    """Log mass of the binomial law at x, with q = 1 - p; both strictly between 0 and 1."""
    if x == 0:
        return n * (np.log1p(-p) if p < 0.5 else np.log(q))
    if x == n:
        return n * (np.log(p) if p < 0.5 else np.log1p(-q))
    return (
        _stirling_error(n)
        - _stirling_error(x)
        - _stirling_error(n - x)
        - _deviance(x, n * p)
        - _deviance(n - x, n * q)
        + 0.5 * np.log(n / (2 * np.pi * x * (n - x)))
    )


@njit(nogil=True, cache=True)
def log_mass(j, n, losses, m):
    """Log chance that exactly j of the m rivals drawn are among the `losses` that beat."""
    if j < 0 or j > losses or j > m or m - j > n - losses:
        return -np.inf
    if losses == 0 or losses == n:
        return 0.0
    p, q = m / n, (n - m) / n
    return (
        _log_binomial(float(j), float(losses), p, q)
        + _log_binomial(float(m - j), float(n - losses), p, q)
        - _log_binomial(float(m), float(n), p, q)
    )


@njit(nogil=True, cache=True)
def _with_one_more_loss(chance, losses, n, m):
    """Chance to be unbeaten with one loss more, from that with `losses`."""
    return chance * (max(n - losses - m, 0) / max(n - losses, 1))


@njit(nogil=True, cache=True)
def chance_unbeaten(losses, weights, n, m):
    """Weighted chance that none of m rivals beats the probe; `losses` must ascend.

    From one number of losses to the next the chance changes by a simple factor; it is computed
    afresh after large gaps, and often enough that factors never accumulate round-off.
    """
    # Millions of small and equal terms would round the same way; Kahan's sum keeps the rest.
    total = rounded_off = chance = 0.0
    previous = fresh = -9  # so that the first one is computed afresh
    for i in range(len(losses)):
        goal = losses[i]
        if goal > n - m:
            break
        if goal - previous > 8 or previous - fresh > 256:
            chance = np.exp(log_mass(0, n, goal, m))
            fresh = goal
        else:
            for lost in range(previous, goal):
                chance = _with_one_more_loss(chance, lost, n, m)
        previous = goal
        term = weights[i] * chance - rounded_off
        raised = total + term
        rounded_off = (raised - total) - term
        total = raised
        if chance < 1e-18 * total:
            break
    return total


@njit(nogil=True, cache=True)
def chance_within(losses, n, m, top):
    """Chance that fewer than `top` of m rivals beat the probe."""
    if top - 1 >= min(losses, m):
        return 1.0
    fewest = m - (n - losses)
    if top - 1 < fewest:
        return 0.0
    mode = int((m + 1.0) * (losses + 1.0) / (n + 2.0))
    peak = max(min(top - 1, mode), fewest)
    mass = np.exp(log_mass(peak, n, losses, m))
    total, term, j = mass, mass, peak
    while term > 1e-18 * total:  # to no loss at the most, where the factor is zero
        term *= (j * float(n - losses - m + j)) / ((losses - j + 1.0) * (m - j + 1.0))
        total += term
        j -= 1
    term, j = mass, peak
    while j < top - 1 and term > 1e-18 * total:
        term *= ((losses - j) * float(m - j)) / ((j + 1.0) * (n - losses - m + j + 1.0))
        total += term
        j += 1
    return min(total, 1.0)


@njit(nogil=True, cache=True)
def fill_chances_within(losses, n, m, top, chances):
    """Write the chance that fewer than `top` of m rivals beat the probe, for each `losses`."""
    for i in range(len(losses)):
        chances[i] = chance_within(losses[i], n, m, top)


@njit(nogil=True, cache=True)
def mean_chance_within(losses, weights, n, m, top):
    """Weighted mean of `chance_within` over numbers of losses."""
    total = 0.0
    for i in range(len(losses)):
        total += weights[i] * chance_within(losses[i], n, m, top)
    return total


@njit(nogil=True, cache=True)
def reciprocal(losses, n, m):
    """Mean of 1 / (1 + j), j the number of m rivals that beat the probe.

    Summing the masses of j + 1 for one more loss, rival and draw gives the closed form
    (n + 1) / ((l + 1) (m + 1)) * (1 - P(no loss)); where that difference would cancel, few terms of
    the mean itself matter.
    """
    expected = (losses + 1.0) * (m + 1.0) / (n + 1.0)
    if expected >= 0.5:
        return -np.expm1(log_mass(0, n + 1, losses + 1, m + 1)) / expected
    mass, j, mean = np.exp(log_mass(0, n, losses, m)), 0, 0.0
    while mass > 1e-18:
        mean += mass / (j + 1)
        below = n - losses - m + j + 1.0
        mass *= ((losses - j) * float(m - j)) / ((j + 1.0) * below)
        j += 1
    return mean


@njit(nogil=True, cache=True)
def reciprocal_past(above, losses, n, m):
    """Mean of 1 / (1 + above + j), where `above` more are ahead of the probe for sure."""
    if above == 0:
        return reciprocal(losses, n, m)
    fewest, most = max(m - (n - losses), 0), min(losses, m)
    mode = int((m + 1.0) * (losses + 1.0) / (n + 2.0))
    peak = max(min(most, mode), fewest)
    mass = np.exp(log_mass(peak, n, losses, m))
    seen, total = mass, mass / (1.0 + above + peak)
    term, j = mass, peak
    while j > fewest and term > 1e-18 * seen:
        term *= (j * float(n - losses - m + j)) / ((losses - j + 1.0) * (m - j + 1.0))
        j -= 1
        seen += term
        total += term / (1.0 + above + j)
    term, j = mass, peak
    while j < most and term > 1e-18 * seen:
        term *= ((losses - j) * float(m - j)) / ((j + 1.0) * (n - losses - m + j + 1.0))
        j += 1
        seen += term
        total += term / (1.0 + above + j)
    return total


@njit(nogil=True, cache=True)
def mean_reciprocal(losses, weights, n, m):
    """Weighted mean of `reciprocal` over numbers of losses."""
    total = 0.0
    for i in range(len(losses)):
        total += weights[i] * reciprocal(losses[i], n, m)
    return total


@njit(nogil=True, cache=True)
def fill_reciprocals(above, losses, n, m, means):
    """Write `reciprocal_past` for each number of losses."""
    for i in range(len(losses)):
        means[i] = reciprocal_past(above, losses[i], n, m)


@njit(nogil=True, cache=True)
def mean_of_values(values, losses, n, m):
    """Mean of values[j], zero past their end, j the number of m rivals that beat the probe."""
    fewest = max(m - (n - losses), 0)
    last = min(len(values) - 1, losses, m)
    if last < fewest:
        return 0.0
    mode = int((m + 1.0) * (losses + 1.0) / (n + 2.0))
    peak = max(min(last, mode), fewest)
    mass = np.exp(log_mass(peak, n, losses, m))
    seen, total = mass, mass * values[peak]
    term, j = mass, peak
    while j > fewest and term > 1e-18 * seen:
        term *= (j * float(n - losses - m + j)) / ((losses - j + 1.0) * (m - j + 1.0))
        j -= 1
        seen += term
        total += term * values[j]
    term, j = mass, peak
    while j < last and term > 1e-18 * seen:
        term *= ((losses - j) * float(m - j)) / ((j + 1.0) * (n - losses - m + j + 1.0))
        j += 1
        seen += term
        total += term * values[j]
    return total


@njit(nogil=True, cache=True)
def weighted_mean_of_values(values, losses, weights, n, m):
    """Weighted mean of `mean_of_values` over numbers of losses."""
    total = 0.0
    for i in range(len(losses)):
        total += weights[i] * mean_of_values(values, losses[i], n, m)
    return total


@njit(nogil=True, cache=True)
def fill_means_of_values(values, losses, n, m, means):
    """Write `mean_of_values` for each number of losses."""
    for i in range(len(losses)):
        means[i] = mean_of_values(values, losses[i], n, m)


@njit(nogil=True, cache=True)
def fill_place_chances(k, n_classes, chances):
    """Write the chance that the class at each place is the best wrong one among k classes.

    It is drawn, and unbeaten by the classes at the places before it: as many losses among the
    others, of which k - 2 are drawn.
    """
    if k < 2:  # also among a single class
        chances[:] = 0.0
        return
    chance = (k - 1.0) / (n_classes - 1.0)
    for place in range(n_classes - 1):
        chances[place] = chance
        chance = _with_one_more_loss(chance, place, n_classes - 2, k - 2)


@njit(nogil=True, cache=True)
def sum_over_places(values, onwards, k):
    """Sum values times the chances of `fill_place_chances`; `onwards[j]` sums values[j:]."""
    n_classes = len(values) + 1
    if k < 2:
        return 0.0
    total, chance = 0.0, (k - 1.0) / (n_classes - 1.0)
    for place in range(n_classes - 1):
        if chance * onwards[place] <= 1e-18 * total:  # chances fall, so no more than this is left
            break
        total += chance * values[place]
        chance = _with_one_more_loss(chance, place, n_classes - 2, k - 2)
    return total
