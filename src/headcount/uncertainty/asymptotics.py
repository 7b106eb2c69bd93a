r"""Large-sample theory: standard errors of the observed curve, of coefficients and of forecasts.

The observed curve at K classes is close to normal for many classes, with the covariance that
`metric_covariance` estimates. A fit that is linear in the curve, or is so as long as the same
constraints hold, passes that on: with the rows of H the basis at each k and W the weights,

.. math:: \hat\beta = (H^T W H)^{-1} H^T W y =: S y, \quad
          \mathrm{Cov}(\hat\beta) = S \Sigma S^T, \quad
          \mathrm{Cov}(\text{forecast}) = H_{k_2} S \Sigma S^T H_{k_2}^T .

References
----------
Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class classification*
(2017), §3.4. Its Theorem 3.2 holds for k1 E|beta_hat - beta|^2, not path by path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators.base import Extrapolator
from headcount.estimators.regression import Regression, SplineRegression, curve_rows
from headcount.estimators.shared.bases import Basis, GaussianBasis
from headcount.estimators.whole_groups import WholeGroups
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import observed_or_forecast
from headcount.uncertainty.jackknife import metric_covariance

__all__ = [
    "asymptotic_error",
    "asymptotic_interval",
    "expected_sup_error_bound",
    "fit_sensitivity",
    "metric_error",
    "mixture_sensitivity",
    "pass_on",
    "regression_error",
    "sup_error",
    "sup_error_bound",
]

Floats = NDArray[np.float64]

ACTIVE = 1e-12  # of the largest coefficient: what counts as not zero
NEGLIGIBLE = 1e-10  # singular values below this part of the largest say nothing
EVERY = 2000  # numbers of classes up to here are all looked at for the largest error
FARTHEST = 1e15


def metric_error(pilot: Pilot, k: Any, metric: Metric = ACCURACY) -> Floats:
    """Return the standard error of a pilot's observed curve at numbers of classes up to K.

    Examples
    --------
    >>> from headcount.simulate import isotropic_gaussian
    >>> pilot = isotropic_gaussian(100, sigma=0.5, random_state=0).pilot
    >>> metric_error(pilot, [2, 50]).round(3).tolist()
    [0.002, 0.043]
    """
    variance = np.diag(metric_covariance(pilot, k, metric))  # sums of squares
    return np.asarray(np.sqrt(variance)).reshape(np.shape(k))


def asymptotic_error(
    pilot: Pilot, fitted: Extrapolator, k: Any, metric: Metric = ACCURACY
) -> Floats:
    """Return the standard error of a metric: of the observed one up to K, else of the forecast."""

    def beyond(counts: Floats) -> Floats:
        if metric != ACCURACY:
            raise UnsupportedError(
                f"asymptotic standard errors of forecasts are known for accuracy, not for "
                f"{metric.name}; use by='resampling'."
            )
        return regression_error(pilot, fitted, counts)

    return observed_or_forecast(
        k, pilot.n_classes, lambda counts: metric_error(pilot, counts, metric), beyond
    )


def regression_error(pilot: Pilot, fitted: Extrapolator | SplineRegression, k: Any) -> Floats:
    """Return the standard error of a forecast of accuracy by moment regression.

    By the delta method: the fit is linear in the observed curve as long as the same coefficients
    are zero. What the choice of a bandwidth adds is not counted, nor is bias.

    Parameters
    ----------
    pilot : Pilot
        What it was fitted to.
    fitted : Regression or SplineRegression
        The fitted method.
    k : int or sequence of int
        Numbers of classes.

    Returns
    -------
    ndarray of the shape of k

    Examples
    --------
    >>> from headcount.estimators import SplineRegression
    >>> from headcount.simulate import isotropic_gaussian
    >>> pilot = isotropic_gaussian(200, sigma=0.5, random_state=0).pilot
    >>> fit = SplineRegression(n_knots=200).fit(pilot)
    >>> regression_error(pilot, fit, [200, 400]).round(2).tolist()
    [0.04, 0.05]
    """
    fitted, basis = _regression(fitted)
    targets = validation.class_counts(k)
    last = pilot.n_classes if fitted.largest_k is None else int(fitted.largest_k)
    rows, share = curve_rows(last, fitted.weights)
    columns, coefficients = basis.accuracy(rows), fitted.coefficients_
    if getattr(fitted, "constraint", "") == "none":
        slope = fit_sensitivity(1 - columns, share)
    elif getattr(fitted, "bounded", True):
        slope = mixture_sensitivity(columns, coefficients, share)
    else:
        slope = fit_sensitivity(1 - columns, share, active=_active(coefficients))
    # Forecasts straight from the curve: coefficients may be ten thousand.
    onwards = (1 - basis.accuracy(targets.ravel())) @ slope
    covariance = pass_on(onwards, metric_covariance(pilot, rows))
    return np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(targets.shape)


def _regression(fitted: Extrapolator) -> tuple[Regression | SplineRegression, Basis]:
    if isinstance(fitted, WholeGroups):
        raise UnsupportedError(
            "asymptotic standard errors of forecasts are not known where classes come in whole "
            "groups; use by='resampling'."
        )
    if not isinstance(fitted, Regression | SplineRegression):
        raise UnsupportedError(
            "asymptotic standard errors are known for moment regression only, not for "
            f"{fitted.alias}; use method regression or regression-spline."
        )
    if not hasattr(fitted, "coefficients_"):
        raise ParameterError("the method has not been fitted; call fit(pilot) first.")
    if isinstance(fitted, Regression):
        return fitted, GaussianBasis(fitted.bandwidth_)
    return fitted, fitted.basis_


def fit_sensitivity(columns: Floats, share: Floats, *, active: Any = None) -> Floats:
    """Return how the coefficients of a least-squares fit change with the curve.

    Parameters
    ----------
    columns : ndarray of shape (rows, m)
        The basis H at each number of classes.
    share : ndarray of shape (rows,)
        Weight w_k of each row.
    active : ndarray of bool, optional
        Which coefficients are free; the others stay zero. All by default.

    Returns
    -------
    ndarray of shape (m, rows)
        S, with which the coefficients are S y.

    Examples
    --------
    The mean of two numbers moves half as much as either:

    >>> import numpy as np
    >>> fit_sensitivity(np.ones((2, 1)), np.ones(2)).round(6).tolist()
    [[0.5, 0.5]]
    """
    free = np.ones(columns.shape[1], np.bool_) if active is None else np.asarray(active)
    root = np.sqrt(np.maximum(share, 0.0))
    slope = np.zeros((columns.shape[1], len(columns)))
    slope[free] = np.linalg.pinv(root[:, None] * columns[:, free], rcond=NEGLIGIBLE) * root
    return slope


def mixture_sensitivity(columns: Floats, coefficients: Floats, share: Floats) -> Floats:
    """Return how the masses of a fitted mixture change with the curve.

    Masses are not negative and sum to at most one; an atom, whose column is all ones, holds the
    rest. Those that are zero stay so, and the sum of the free ones stays one.

    Parameters
    ----------
    columns : ndarray of shape (rows, m)
        Accuracy of each law at each number of classes.
    coefficients : ndarray of shape (m,)
        The fitted masses.
    share : ndarray of shape (rows,)
        Weight of each row.

    Returns
    -------
    ndarray of shape (m, rows)
        Change of each mass per change of the observed accuracy.

    Examples
    --------
    Of two laws, with accuracies 0 and 1/2, and no rest, one loses what the other wins:

    >>> import numpy as np
    >>> law = np.array([[0.0, 0.5]])
    >>> mixture_sensitivity(law, np.array([0.4, 0.6]), np.ones(1)).round(6).tolist()
    [[-2.0], [2.0]]
    """
    with_atom = np.column_stack([columns, np.ones(len(columns))])
    masses = np.append(coefficients, 1 - np.sum(coefficients))
    free = np.flatnonzero(_active(masses))
    slope = np.zeros((len(masses), len(columns)))
    if len(free) > 1:
        # The first mass is one minus the others, so theirs are free of constraints.
        gaps = with_atom[:, free[1:]] - with_atom[:, free[:1]]
        slope[free[1:]] = fit_sensitivity(gaps, share)
        slope[free[0]] = -slope[free[1:]].sum(axis=0)
    return slope[:-1]


def _active(coefficients: Floats) -> NDArray[np.bool_]:
    return np.asarray(coefficients > ACTIVE * max(float(np.max(coefficients)), 1e-300))


def pass_on(matrix: Floats, covariance: Floats) -> Floats:
    """Return the covariance of ``matrix @ y`` where `covariance` is that of y.

    Examples
    --------
    >>> import numpy as np
    >>> pass_on(np.array([[1.0, 1.0]]), np.array([[4.0, 1.0], [1.0, 9.0]])).tolist()
    [[15.0]]
    """
    return np.asarray(matrix @ covariance @ matrix.T)


def asymptotic_interval(
    value: Any, error: Any, confidence: float = 0.9, *, largest: float = np.inf
) -> tuple[Floats, Floats]:
    """Return the normal interval around a value, cut to what is possible.

    Parameters
    ----------
    value, error : float or ndarray
        Estimates and their standard errors.
    confidence : float
        Chance with which the interval is to hold the truth.
    largest : float
        The largest possible value: 1 for an accuracy, the largest cost for a risk.

    Returns
    -------
    lower, upper : ndarray

    Examples
    --------
    >>> lower, upper = asymptotic_interval(0.95, 0.05, largest=1.0)
    >>> float(lower.round(3)), float(upper)
    (0.868, 1.0)
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie between 0 and 1, but is {confidence!r}.")
    middle = np.asarray(value, dtype=np.float64)
    reach = float(ndtri((1 + confidence) / 2)) * np.asarray(error, dtype=np.float64)
    return np.clip(middle - reach, 0.0, largest), np.clip(middle + reach, 0.0, largest)


def sup_error(
    moments: Callable[[Floats], Floats], difference: Any, *, largest: float = FARTHEST
) -> float:
    r"""Return the largest error over all numbers of classes: Eq. 18 of 004 ("minimax error").

    .. math:: \sup_{k_2 \ge 2} |\langle H_{k_2}, \hat\beta - \beta \rangle|

    Every k up to 2,000 is looked at, and from there 200 for each factor of ten.

    Parameters
    ----------
    moments : callable
        H: for an array of numbers of classes, the moments of every basis function, a row for each.
    difference : ndarray
        Estimated minus true coefficients.
    largest : float
        How far to look.

    Returns
    -------
    float

    Examples
    --------
    With the one function h(u) = u, H = (k - 1) / k tends to one:

    >>> round(sup_error(lambda k: ((k - 1) / k)[:, None], [0.25]), 9)
    0.25
    """
    gap = np.asarray(difference, dtype=np.float64)
    if not largest >= 2:
        raise ParameterError(f"largest must be 2 or more, but is {largest!r}.")
    k = np.arange(2.0, min(largest, EVERY) + 1)
    if largest > EVERY:
        n_points = int(200 * np.log10(largest / EVERY)) + 2
        k = np.append(k, np.geomspace(EVERY, largest, n_points).round())
    step = max(1, 4_000_000 // max(1, len(gap)))
    parts = (k[start : start + step] for start in range(0, len(k), step))
    return max(float(np.abs(moments(part) @ gap).max()) for part in parts)


def sup_error_bound(difference: Any, bound: float = 1.0) -> tuple[float, float]:
    r"""Return what `sup_error` cannot exceed when no basis function exceeds `bound` = M.

    .. math:: M \|\hat\beta - \beta\|_1 \le M \sqrt{m}\, \|\hat\beta - \beta\|_2

    Parameters
    ----------
    difference : ndarray
        Estimated minus true coefficients.
    bound : float
        M; one for all bases of `headcount.estimators.shared.bases`.

    Returns
    -------
    tight, loose : float
        Both bounds, of the sum of absolute values and of the length.

    Examples
    --------
    >>> sup_error_bound([3.0, -4.0])[0]
    7.0
    """
    gap = np.asarray(difference, dtype=np.float64).ravel()
    length = float(np.linalg.norm(gap))
    return bound * float(np.abs(gap).sum()), bound * float(np.sqrt(len(gap))) * length


def expected_sup_error_bound(covariance: Floats, bound: float = 1.0) -> float:
    r"""Return a bound on the root mean square of `sup_error`, from the coefficients' covariance.

    .. math:: M \sqrt{m \,\mathrm{tr}\, \mathrm{Cov}(\hat\beta)}

    As :math:`k_1 \mathrm{tr}\,\mathrm{Cov}(\hat\beta)` tends to the constant C^2 of Theorem 3.2,
    the error falls as one over the square root of the number of classes. It holds where the fit is
    unbiased: the model is right, and no constraint is at work.

    Parameters
    ----------
    covariance : ndarray of shape (m, m)
        Of the coefficients: ``pass_on(fit_sensitivity(H, w), metric_covariance(...))``.
    bound : float
        M, the largest value of any basis function.

    Examples
    --------
    >>> import numpy as np
    >>> expected_sup_error_bound(np.diag([0.01, 0.07]))
    0.4
    """
    return float(bound * np.sqrt(len(covariance) * np.trace(covariance)))
