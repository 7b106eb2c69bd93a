"""Quantiles over a handful of points, and those of points that luck is added to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Floats = NDArray[np.float64]

SHOWN = 0.025  # the outermost quantiles that some hundred points show
USUAL = 0.9  # the level of intervals that spreads are taken from
N_LUCK = 200
BISECTIONS = 50


def ends_of(confidence: float) -> Floats:
    """Return the levels of the limits of an interval."""
    return np.array([(1 - confidence) / 2, (1 + confidence) / 2])


def column(values: Floats, ndim: int) -> Floats:
    """Return values along the first of some dimensions."""
    return values.reshape(-1, *[1] * (ndim - 1))


def quantiles_of(points: Floats, levels: Any, freedom: float) -> Floats:
    """Return quantiles over the first axis; past what so few show, as Student's law has them.

    Examples
    --------
    >>> points = stdtrit(5.0, (np.arange(128) + 0.5) / 128)
    >>> quantiles_of(points, [0.05, 0.5, 0.995], 5.0).round(2).tolist()
    [-2.02, 0.0, 4.05]
    >>> stdtrit(5.0, [0.05, 0.5, 0.995]).round(2).tolist()
    [-2.02, 0.0, 4.03]
    """
    asked = np.asarray(levels, dtype=np.float64)
    shown = np.clip(asked, SHOWN, 1 - SHOWN)
    middle = np.quantile(points, 0.5, axis=0, method="hazen")
    ends = np.quantile(points, shown, axis=0, method="hazen")
    further = np.ones(len(asked))
    outside = asked != shown
    further[outside] = stdtrit(freedom, asked[outside]) / stdtrit(freedom, shown[outside])
    return np.asarray(middle + column(further, points.ndim) * (ends - middle))


def joined_quantiles(points: Floats, luck: Floats, levels: Any, freedom: float) -> Floats:
    """Return quantiles of points (rows) to each of which normal luck is added, (levels, columns).

    Luck has its own evenly spread points, and its deviation for each column. Without any the
    quantiles are those of `quantiles_of`.

    Examples
    --------
    >>> points = 3 * ndtri((np.arange(128) + 0.5) / 128)[:, None]
    >>> joined_quantiles(points, np.array([4.0]), [0.05, 0.95], 1e9).round(1).ravel().tolist()
    [-8.2, 8.2]
    >>> (5 * ndtri([0.05, 0.95])).round(1).tolist()
    [-8.2, 8.2]
    """
    asked, n_places = np.asarray(levels, dtype=np.float64), 5 * len(points)
    shares = (np.arange(n_places) + 0.5) / n_places  # those of the points among them
    places = ndtri((np.arange(N_LUCK) + 0.5) / N_LUCK)

    def solve(curve: Floats, deviation: float) -> Floats:
        reach = deviation * places
        low, high = (np.full(len(asked), curve[end] + reach[end]) for end in (0, -1))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            share = np.interp(middle[:, None] - reach, curve, shares).mean(axis=1)
            low, high = np.where(share < asked, middle, low), np.where(share < asked, high, middle)
        return np.asarray((low + high) / 2)

    curves = quantiles_of(points, shares, freedom)
    return np.array([solve(*each) for each in zip(curves.T, luck, strict=True)]).T


def spread_of(moves: Floats, freedom: float) -> Floats:
    """Return the standard deviations with which normal intervals at 90% are as wide."""
    lower, upper = quantiles_of(moves, ends_of(USUAL), freedom)
    return np.asarray((upper - lower) / (2 * ndtri((1 + USUAL) / 2)))
