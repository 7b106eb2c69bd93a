"""Spline regressions of many pilots of one size, whose design is computed once.

What is fitted is that of `SplineRegression`. The moments of thousands of basis functions, and the
few directions in which they differ, depend on the number of classes alone. What is left for each
pilot is a non-negative least-squares problem with few rows and thousands of columns, of which the
solution uses a handful.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.optimize import nnls

from headcount.curves.observed import observe
from headcount.estimators.regression import curve_rows
from headcount.estimators.shared.bases import SplineBasis, StepBasis, knots
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

NO_RANK = 1e-14  # of the largest direction: round-off
FIRST = 200  # columns to start with
NEIGHBOURS = np.array([-16, -4, -1, 0, 1, 4, 16])
FLAT = 1e-13  # of the largest possible slope
ROUNDS = 60
DESIGNS = 40  # kept, some megabytes each


class Design:
    """Basis functions, and their moments at the numbers of classes that are fitted and forecast.

    Parameters
    ----------
    distances : ndarray
        Distances of the knots from one, descending.
    degree : int
        Degree of the splines.
    monotone : bool
        Steps between the knots, in place of splines.
    n_classes : int
        Size of the pilots.
    asked : tuple of int
        Numbers of classes to forecast.
    """

    def __init__(
        self,
        distances: Floats,
        degree: int,
        monotone: bool,
        n_classes: int,
        asked: tuple[int, ...],
    ) -> None:
        basis = StepBasis(distances) if monotone else SplineBasis(distances, degree)
        self.k, share = curve_rows(n_classes)
        root = np.sqrt(share)
        errors = 1 - basis.accuracy(self.k)
        left, sizes, _ = svd(root[:, None] * errors, full_matrices=False)
        # Of what is fitted, only the projection on these directions matters for the coefficients.
        self._turn = left[:, sizes > NO_RANK * sizes[0]].T * root
        self._rows = self._turn @ errors
        self._asked = 1 - basis.accuracy(np.array(asked, dtype=np.float64))

    def forecast(self, pilot: Pilot, *, bounded: bool = False) -> Floats:
        """Return the accuracies that are asked for; D(1) is free, or at most one."""
        goal = self._turn @ (1 - observe(pilot).accuracy(self.k))
        if bounded:
            # As in `simplex_least_squares`; the last law is an atom at U = 1, without errors.
            gap = np.column_stack([self._rows, np.zeros(len(goal))]) - goal[:, None]
            whole = non_negative(np.vstack([gap, np.ones(gap.shape[1])]), np.append(0 * goal, 1.0))
            coefficients = whole[:-1] / whole.sum()
        else:
            coefficients = non_negative(self._rows, goal)
        return np.clip(1 - self._asked @ coefficients, 0.0, 1.0)


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """Minimise a squared distance over non-negative combinations of many columns that are alike.

    Solved for some columns, then for those that are used, their neighbours, and the columns along
    which the distance still falls most steeply, until it falls along none.
    """
    n_columns = matrix.shape[1]
    scale = float(np.linalg.norm(matrix, axis=0).max() * np.linalg.norm(target))
    chosen = np.unique(np.linspace(0, n_columns - 1, min(n_columns, FIRST)).round().astype(int))
    for _ in range(ROUNDS):
        weights, _ = nnls(matrix[:, chosen], target, maxiter=50 * n_columns)
        slope = matrix.T @ (target - matrix[:, chosen] @ weights)
        slope[chosen] = -np.inf
        padded = np.concatenate([[-np.inf], slope, [-np.inf]])
        steepest = (slope >= padded[:-2]) & (slope >= padded[2:]) & (slope > FLAT * scale)
        if not steepest.any():
            break
        near = (chosen[weights > 0][:, None] + NEIGHBOURS).ravel()
        chosen = np.union1d(near[(near >= 0) & (near < n_columns)], np.flatnonzero(steepest))
    coefficients = np.zeros(n_columns)
    coefficients[chosen] = weights
    return coefficients


@lru_cache(maxsize=DESIGNS)
def design(
    n_classes: int,
    asked: tuple[int, ...],
    *,
    n_knots: int,
    spacing: str = "uniform",
    nearest: float | None = None,
    degree: int = 1,
    monotone: bool = False,
) -> Design:
    """Return a design, the same one for the same arguments.

    With `nearest` the knots are even down to that distance from one; see `knots_to`.
    """
    distances = (
        knots(spacing, n_knots, n_classes, n_classes)
        if nearest is None
        else knots_to(n_knots, nearest)
    )
    return Design(distances, degree, monotone, n_classes, asked)


def knots_to(n_knots: int, nearest: float) -> Floats:
    """Return distances of evenly spaced knots from one, the last one as near as is asked.

    Examples
    --------
    >>> knots_to(3, 0.25).tolist()
    [0.75, 0.5, 0.25]
    """
    return np.linspace(n_knots / (n_knots + 1), nearest, n_knots)
