r"""Means over the number of rivals that beat a probe, where rivals are drawn from all classes.

A probe that one random rival beats with chance p meets n of them; X, the number that beat it, is
binomial. n may be in the quadrillions and p down to nothing, so masses start from Stirling errors
(`headcount.metrics.hypergeometric`) and go on by ratios.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount.metrics.hypergeometric import _log_binomial

MANY = 300.0  # rank from which moments give a reciprocal to nine digits


@njit(nogil=True, cache=True)
def mean_of_values(values, n, p):
    """Return the mean of values[X], zero past their end."""
    last = min(float(len(values) - 1), n)
    if p <= 0.0:
        return values[0]
    if p >= 1.0:
        return values[int(n)] if n <= last else 0.0
    peak = min(float(int((n + 1.0) * p)) if (n + 1.0) * p < last else last, last)
    mass = np.exp(_log_binomial(peak, n, p, 1.0 - p))
    odds = p / (1.0 - p)
    seen, total = mass, mass * values[int(peak)]
    term, j = mass, peak
    while j > 0.0 and term > 1e-18 * seen:
        term *= j / ((n - j + 1.0) * odds)
        j -= 1.0
        seen += term
        total += term * values[int(j)]
    term, j = mass, peak
    while j < last and term > 1e-18 * seen:
        term *= (n - j) * odds / (j + 1.0)
        j += 1.0
        seen += term
        total += term * values[int(j)]
    return total


@njit(nogil=True, cache=True)
def mean_reciprocal(above, n, p, log_u):
    r"""Return the mean of 1 / (1 + above + X).

    With nothing above, summing the masses of one rival more gives the closed form

    .. math:: \frac{1 - (1 - p)^{n+1}}{(n + 1) p} .

    Else it is a sum where ranks are small, and follows from six moments where they are large.
    """
    if above == 0.0:
        expected = (n + 1.0) * p
        if expected < 1e-12:
            return 1.0 - 0.5 * n * p
        return -np.expm1((n + 1.0) * log_u) / expected
    if p <= 0.0:
        return 1.0 / (1.0 + above)
    if p >= 1.0:
        return 1.0 / (1.0 + above + n)
    mean = 1.0 + above + n * p
    return _by_moments(mean, n, p) if mean > MANY else _by_sum(above, n, p)


@njit(nogil=True, cache=True)
def _by_moments(mean, n, p):
    """Expand one over the rank in its central moments, each over that power of the mean."""
    pq, skew, i = p * (1.0 - p), 1.0 - 2.0 * p, 1.0 / mean
    r = n * pq / mean
    second = r * i
    third = r * skew * i**2
    fourth = r * ((1.0 - 6.0 * pq) * i**3 + 3.0 * r * i**2)
    fifth = r * skew * ((1.0 - 12.0 * pq) * i**4 + 10.0 * r * i**3)
    last = (1.0 - 30.0 * pq + 120.0 * pq * pq) * i**5
    sixth = r * (last + r * (25.0 - 130.0 * pq) * i**4 + 15.0 * r * r * i**3)
    return i * (1.0 + second - third + fourth - fifth + sixth)


@njit(nogil=True, cache=True)
def _by_sum(above, n, p):
    peak = float(int((n + 1.0) * p))
    if peak > n:
        peak = n
    mass = np.exp(_log_binomial(peak, n, p, 1.0 - p))
    odds = p / (1.0 - p)
    seen, total = mass, mass / (1.0 + above + peak)
    term, j = mass, peak
    while j > 0.0 and term > 1e-18 * seen:
        term *= j / ((n - j + 1.0) * odds)
        j -= 1.0
        seen += term
        total += term / (1.0 + above + j)
    term, j = mass, peak
    while j < n and term > 1e-18 * seen:
        term *= (n - j) * odds / (j + 1.0)
        j += 1.0
        seen += term
        total += term / (1.0 + above + j)
    return total


@njit(nogil=True, cache=True)
def fill_means_of_values(values, p, weights, counts, means):
    """Write the mean over a law's nodes of `mean_of_values`, for each number of rivals."""
    for i in range(len(counts)):
        total = 0.0
        for node in range(len(p)):
            total += weights[node] * mean_of_values(values, counts[i], p[node])
        means[i] = total


@njit(nogil=True, cache=True)
def fill_mean_reciprocals(above, p, log_u, weights, counts, means):
    """Write the mean over a law's nodes of `mean_reciprocal`, for each number of rivals."""
    for i in range(len(counts)):
        total = 0.0
        for node in range(len(p)):
            total += weights[node] * mean_reciprocal(above, counts[i], p[node], log_u[node])
        means[i] = total


@njit(nogil=True, cache=True)
def fill_values_at_nodes(values, p, counts, means):
    """Write `mean_of_values` for each number of rivals (row) and node (column)."""
    for i in range(len(counts)):
        for node in range(len(p)):
            means[i, node] = mean_of_values(values, counts[i], p[node])


@njit(nogil=True, cache=True)
def fill_reciprocals_at_nodes(above, p, log_u, counts, means):
    """Write `mean_reciprocal` for each number of rivals (row) and node (column)."""
    for i in range(len(counts)):
        for node in range(len(p)):
            means[i, node] = mean_reciprocal(above, counts[i], p[node], log_u[node])
