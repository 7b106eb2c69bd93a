r"""004's first approach to the letter: a linear model of the conditional cost, free of constraints.

.. math:: \bar K(u) = \sum_\ell \beta_\ell h_\ell(u), \qquad
          \text{risk}(k) = \sum_\ell \beta_\ell H_{\ell,k}, \qquad
          H_{\ell,k} = (k-1) \int_0^1 h_\ell(u) u^{k-2} du ,

so that weighted least squares on the observed risk is linear in it, and unbiased as that is:
:math:`\hat\beta = S y` with :math:`S = (H^T W H)^{-1} H^T W`, whose covariance is
:math:`S \Sigma S^T`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError
from headcount.estimators.shared.bases import Basis
from headcount.questions.risk.regression import Rows
from headcount.uncertainty.asymptotics import NEGLIGIBLE, fit_sensitivity

Floats = NDArray[np.float64]
Moments = Callable[[Floats], Floats]

CELLS = 4096  # of the chance that no rival scores more, narrower towards zero
BLOCK = 256  # numbers of classes whose moments are computed at once


class UnconstrainedFit:
    r"""Conditional cost as a combination of given functions, by weighted least squares.

    Nothing keeps the risk above zero or below the largest cost: cutting it off would bias it.

    Parameters
    ----------
    moments : callable
        H: for an array of numbers of classes, a row for each with the moment of every function.
    rows : Rows
        Where the curve is fitted, and the weights w_k.
    risk : ndarray
        Observed risk there.

    Attributes
    ----------
    coefficients : ndarray
        :math:`\hat\beta`.
    coefficient_slopes : ndarray
        S, the change of each coefficient with the observed risk at each row.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification* (2017), Eq. 12-17.

    Examples
    --------
    A conditional cost of 3 u is found from any few points of the risk, 3 (k - 1) / k:

    >>> import numpy as np
    >>> from headcount.questions.risk.regression import Rows
    >>> from headcount.questions.risk.unconstrained import UnconstrainedFit, moments_of
    >>> k = np.arange(2.0, 10.0)
    >>> rows = Rows(k, np.ones(8))
    >>> fit = UnconstrainedFit(moments_of([np.ones_like, lambda u: u]), rows, 3 * (k - 1) / k)
    >>> bool(np.allclose(fit.coefficients, [0, 3], atol=1e-6)), float(fit.risk(100.0).round(4))
    (True, 2.97)
    """

    def __init__(self, moments: Moments, rows: Rows, risk: Floats) -> None:
        self.rows, self._moments = rows, moments
        columns = moments(rows.k)
        _refuse_unidentified(columns, rows.share)
        self.coefficient_slopes = fit_sensitivity(columns, rows.share)
        self.coefficients = self.coefficient_slopes @ risk

    @property
    def at(self) -> Floats:
        """Numbers of classes at which the observed curve was used."""
        return self.rows.k

    def risk(self, k: Any) -> Floats:
        """Fitted risk among k classes."""
        counts = np.asarray(k, dtype=np.float64)
        return np.asarray(self._moments(counts.ravel()) @ self.coefficients).reshape(counts.shape)

    def slopes(self, k: Floats) -> tuple[Floats, None]:
        """Change of the risk at k with the observed risk at each row."""
        return self._moments(k) @ self.coefficient_slopes, None


def moments_of_laws(basis: Basis) -> Moments:
    """Return the moments of the distribution functions of laws, in closed form."""
    return lambda k: np.asarray(1 - basis.accuracy(k))


def moments_of(functions: Sequence[Callable[[Floats], Any]]) -> Moments:
    r"""Return the moments of any functions on [0, 1], by the midpoint rule.

    With :math:`v = u^{k-1}`, which is uniform, they are
    :math:`H_{\ell,k} = \int_0^1 h_\ell(v^{1/(k-1)}) dv`.

    Parameters
    ----------
    functions : sequence of callable
        Each takes an array of u and returns as many finite numbers.

    Examples
    --------
    >>> moments_of([lambda u: u**2])(np.array([1.0, 2.0, 10.0])).round(5).tolist()
    [[0.0], [0.33333], [0.81818]]
    """
    # Where v is small its roots are steep, and cells that are even in its fourth root are narrow.
    edges = (np.arange(CELLS + 1) / CELLS) ** 4
    masses, log_v = np.diff(edges), 4 * np.log((np.arange(CELLS) + 0.5) / CELLS)

    def moments(k: Floats) -> Floats:
        sums = np.zeros((len(k), len(functions)))
        for first in range(0, len(k), BLOCK):
            counts = k[first : first + BLOCK]
            # Among one class nobody is beaten.
            u = np.exp(log_v / np.maximum(counts - 1, 1)[:, None])
            for place, function in enumerate(functions):
                values = _values(function, u, place)
                sums[first : first + BLOCK, place] = (counts > 1) * (values @ masses)
        return sums

    return moments


def _values(function: Callable[[Floats], Any], u: Floats, place: int) -> Floats:
    try:
        values = np.asarray(function(u), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"basis function {place + 1} does not take an array of u.") from error
    if values.shape != u.shape or not np.isfinite(values).all():
        raise ParameterError(
            f"basis function {place + 1} must return a finite number for each u from 0 to 1."
        )
    return values


def _refuse_unidentified(columns: Floats, share: Floats) -> None:
    """Refuse more functions than the observed risk tells apart (the rank of Theorem 3.2)."""
    number = columns.shape[1]
    strengths = np.linalg.svd(np.sqrt(share)[:, None] * columns, compute_uv=False)
    rank = int((strengths > NEGLIGIBLE * strengths[0]).sum())
    if rank < number:
        raise ParameterError(
            f"{number:,} basis functions cannot be told apart by the observed risk, whose rank is "
            f"{rank}; use at most {rank} (degree), or a larger pilot."
        )
