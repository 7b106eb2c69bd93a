"""Fitting mixtures to the observed curve, for the methods that work on it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import nnls

from headcount.curves.observed import observe
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EVERY = 128  # numbers of classes up to here are all used
NODES = 16  # of each doubling beyond
_SUMMED = 4096  # so many integers are summed one by one; more are as good as an integral
_NO_RANK = 1e-14


def observed_rows(pilot: Pilot) -> tuple[Ints, Floats, Floats]:
    """Return some numbers of classes from 2 to K, the observed accuracy there, and weights.

    A weighted sum over them stands for the mean over all k = 2, ..., K.
    """
    counts, weights = chosen_counts(pilot.n_classes)
    return counts, observe(pilot).accuracy(counts), weights / weights.sum()


def chosen_counts(n_classes: int) -> tuple[Ints, Floats]:
    """Return numbers of classes and weights that stand for a sum over all k = 2, ..., K.

    Beyond `EVERY` the curve is smooth in log k. Each doubling is given 16 whole numbers near
    Chebyshev points, and weights with which polynomials of degree 15 are summed exactly.
    """
    every = np.arange(2, min(n_classes, EVERY) + 1)
    parts = [(every, np.ones(len(every)))]
    if n_classes > EVERY:
        n_panels = int(np.ceil(np.log2(n_classes / EVERY)))
        edges = np.round(np.geomspace(EVERY, n_classes, n_panels + 1)).astype(np.int64)
        parts += [_panel(low + 1, high) for low, high in pairwise(edges)]
    return np.concatenate([panel[0] for panel in parts]), np.concatenate(
        [panel[1] for panel in parts]
    )


def _panel(first: np.int64, last: np.int64) -> tuple[Ints, Floats]:
    """Whole numbers and weights that stand for a sum over first, ..., last."""
    size = int(last - first) + 1
    if size <= EVERY:
        return np.arange(first, last + 1), np.ones(size)
    middle, half = (first + last) / 2, size / 2
    points = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1]
    counts = np.round(middle + points * (size - 1) / 2).astype(np.int64)
    moments = np.zeros(NODES)
    if size <= _SUMMED:
        moments = legvander((np.arange(first, last + 1) - middle) / half, NODES - 1).sum(axis=0)
    else:
        moments[0] = size  # Legendre polynomials integrate to zero but the first
    table = legvander((counts - middle) / half, NODES - 1)
    return counts, np.asarray(np.linalg.solve(table.T, moments), dtype=np.float64)


def simplex_least_squares(
    matrix: Floats, target: Floats, weights: Floats, ridge: Floats | float = 0.0
) -> Floats:
    r"""Minimise a weighted squared distance over mixtures: no part negative, sum one.

    With sum one the distance :math:`A x - y` is :math:`B x`, :math:`B = A - y 1^T`. The plain
    non-negative problem: minimise :math:`|B z|^2 + (1^T z - 1)^2`, has at :math:`z = s x` for the
    best s the value :math:`|B x|^2 / (1 + |B x|^2)`, which grows with :math:`|B x|^2`: its
    solution divided by its sum is exactly the constrained one, and no weight has to be "heavy".
    `ridge` adds ridge_j x_j^2, which is of the same form.
    """
    gap = np.sqrt(weights)[:, None] * (matrix - target[:, None])
    blocks = [_compressed(gap), np.ones((1, matrix.shape[1]))]
    if np.any(ridge):
        blocks.insert(0, np.diag(np.sqrt(np.broadcast_to(ridge, matrix.shape[1]))))
    rows = np.vstack(blocks)
    goal = np.zeros(len(rows))
    goal[-1] = 1.0
    solution, _ = nnls(rows, goal, maxiter=50 * rows.shape[1])
    return np.asarray(solution / solution.sum())


def non_negative(matrix: Floats, target: Floats, weights: Floats) -> Floats:
    """Minimise a weighted squared distance over non-negative combinations."""
    root = np.sqrt(weights)
    rows = _compressed(np.column_stack([root[:, None] * matrix, root * target]))
    solution, _ = nnls(rows[:, :-1], rows[:, -1], maxiter=50 * matrix.shape[1])
    return np.asarray(solution)


def _compressed(matrix: Floats) -> Floats:
    """Return fewer rows with the same products among columns.

    The columns are so alike that a few directions hold all there is.
    """
    triangle = qr(matrix.T, mode="r", check_finite=False)[0][: min(matrix.shape)]
    left, sizes, _ = np.linalg.svd(triangle.T)
    large = sizes > _NO_RANK * max(float(sizes[0]), 1e-300)
    return np.asarray(left[:, : len(sizes)][:, large].T @ matrix)
