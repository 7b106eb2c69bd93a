"""The estimators of papers 003 and 004 as their tables have them, by name and without options.

They are fits to the observed curve with no demand on mass: the results are curves, not laws of U.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammasgn
from sklearn.utils.validation import check_is_fitted

from headcount.curves.observed import Observed, observe
from headcount.errors import UnsupportedError
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.shared.bases import truncated_moment
from headcount.estimators.shared.curve_fit import chosen_counts, non_negative
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]

_TABLE_1 = "as in Table 1 of paper 004 (Zheng, Achanta and Benjamini 2017)"
_FIGURE_2 = "as in Figure 2 of paper 003 (How many faces can be recognized? 2016)"
_ADVICE = "to repeat the paper's numbers; left out of all methods unless named"
_CELLS = 4_000_000  # of a table of functions of k at a time


class _ErrorRegression(Extrapolator):
    """Error as a sum of functions of k, by least squares over k = 2, ..., K, all k alike."""

    published: ClassVar[bool] = True
    cost: ClassVar[str] = "under a second"
    advice: ClassVar[str] = _ADVICE
    fewest_classes: ClassVar[int]

    def _estimate(self, pilot: Pilot) -> None:
        if pilot.n_classes < self.fewest_classes:
            raise UnsupportedError(
                f"method {self.alias} needs at least {self.fewest_classes} classes, and this pilot "
                f"has {pilot.n_classes}; use a larger pilot or another method."
            )
        warn_if_one_sided(pilot)
        counts, weights = chosen_counts(pilot.n_classes)
        k = counts.astype(np.float64)
        self.coefficients_ = self._solve(self._terms(k), 1 - average_rank_curve(pilot, k), weights)

    def predict(self, k: Any) -> Floats:
        """Return the fitted accuracy among k classes, cut off at 0 and 1."""
        check_is_fitted(self, "coefficients_")
        counts = validation.class_counts(k)
        flat = counts.ravel()
        parts = np.array_split(flat, 1 + flat.size * len(self.coefficients_) // _CELLS)
        error = np.concatenate([self._terms(part) @ self.coefficients_ for part in parts])
        return np.asarray(np.clip(1 - error, 0.0, 1.0).reshape(counts.shape))

    @abstractmethod
    def _terms(self, k: Floats) -> Floats:
        """Functions of k, a column each."""

    def _solve(self, terms: Floats, error: Floats, weights: Floats) -> Floats:
        root = np.sqrt(weights)
        fit = np.linalg.lstsq(root[:, None] * terms, root * error, rcond=None)
        return np.asarray(fit[0], dtype=np.float64)


class PositiveSplines004(_ErrorRegression):
    r"""POS of paper 004: 1,000 linear splines, non-negative, with D(1) left free.

    .. math:: D(u) = \sum_{\ell=1}^{1000} \beta_\ell \, [u - \ell/1001]_+ ,
              \qquad \beta_\ell \ge 0 ,

    fitted to the observed curve at k = 2, ..., K by non-negative least squares, all k alike.
    Probes that tie with rivals count as having the average of the ranks they share, inside the
    generalised binomial coefficients of the observed curve. Nothing keeps D(1) below one, so this
    is no law of U; `SplineRegression` is the method in use.

    Attributes
    ----------
    coefficients_ : ndarray
        Of each spline, scaled to be one at u = 1; their sum is D(1).

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification* (2017), Table 1, where it is not defined; the authors' code is what defines it.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators import PositiveSplines004
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> PositiveSplines004().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.8, 0.44]
    """

    alias = "pos-004"
    about = f"POS {_TABLE_1}: 1,000 linear splines, non-negative, D(1) free"
    fewest_classes = 2

    def _terms(self, k: Floats) -> Floats:
        return _uniform_splines(k, 1000)

    def _solve(self, terms: Floats, error: Floats, weights: Floats) -> Floats:
        return non_negative(terms, error, weights)


class FiveSplines004(_ErrorRegression):
    r"""p(5) of paper 004: five linear splines without any constraint.

    .. math:: D(u) = \sum_{\ell=1}^{5} \beta_\ell \, [u - \ell/6]_+

    fitted to the observed curve at k = 2, ..., K by ordinary least squares, all k alike. Nothing
    keeps D increasing: accuracy may rise with k, and is only cut off at 0 and 1. Ties are those of
    `PositiveSplines004`.

    Attributes
    ----------
    coefficients_ : ndarray
        Of each spline, scaled to be one at u = 1; their sum is D(1).

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification* (2017), Table 1, where it is not defined; the authors' code is what defines it.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators import FiveSplines004
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> FiveSplines004().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.82, 0.79]
    """

    alias = "p5-004"
    about = f"p(5) {_TABLE_1}: five linear splines, unconstrained"
    fewest_classes = 6

    def _terms(self, k: Floats) -> Floats:
        return _uniform_splines(k, 5)


class LogRegression004(_ErrorRegression):
    r"""EXP of paper 004: error linear in log k.

    .. math:: 1 - \text{accuracy}(k) = \alpha + \beta \log k

    by ordinary least squares at k = 2, ..., K, all k alike, cut off at 0 and 1. (`LogLinear` weighs
    every doubling of k alike.) Ties are those of `PositiveSplines004`.

    Attributes
    ----------
    coefficients_ : ndarray
        alpha and beta.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification* (2017), Table 1, where it is not defined; the authors' code is what defines it.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators import LogRegression004
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> LogRegression004().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.81, 0.67]
    """

    alias = "exp-004"
    about = f"EXP {_TABLE_1}: error linear in log k, ordinary least squares"
    fewest_classes = 3

    def _terms(self, k: Floats) -> Floats:
        return np.column_stack([np.ones(len(k)), np.log(k)])


class Exponentials003(Extrapolator):
    r"""EXP of paper 003: non-negative exponentials on the authors' grid, their mass left free.

    .. math:: \text{accuracy}(k) = \sum_j \alpha_j e^{-\kappa_j (k - 1)}, \qquad
              \alpha_j \ge 0, \quad \kappa_j = 0, 0.01, \dots, 5,

    fitted to the observed curve at k = 2, ..., K by non-negative least squares and used beyond K;
    up to K the observed curve itself is the answer, as in the paper, so there may be a jump at K.
    `Exponential` is the method in use: its grid is fine on the log scale, its mass is one.

    Parameters
    ----------
    as_printed : bool
        Whether to repeat the slip behind the paper's numbers: wins, with the true class counted
        among them, as if out of K trials, where there are K - 1 rivals.

    Attributes
    ----------
    coefficients_ : ndarray
        alpha_j, the weight of each exponential.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.1, where exp(-kappa t) should read
    exp(-kappa (t - 1)); the grid is that of the authors' code.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators import Exponentials003
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> Exponentials003().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.8, 0.72]
    """

    published: ClassVar[bool] = True
    alias = "exp-003"
    about = f"EXP {_FIGURE_2}: non-negative exponentials, mass free"
    cost = "under a second"
    advice = _ADVICE

    _KAPPA: ClassVar[Floats] = np.arange(501) / 100

    def __init__(self, *, as_printed: bool = False) -> None:
        self.as_printed = as_printed

    def _estimate(self, pilot: Pilot) -> None:
        warn_if_one_sided(pilot)
        table = pilot.table()
        self._observed = Observed(
            replace(table, n_rivals=table.n_rivals + 1) if self.as_printed else table
        )
        self._n_classes = pilot.n_classes
        counts, weights = chosen_counts(pilot.n_classes)
        k = counts.astype(np.float64)
        self.coefficients_ = non_negative(self._decay(k), self._observed.accuracy(counts), weights)

    def predict(self, k: Any) -> Floats:
        """Return the observed accuracy up to K classes, the fitted one beyond, cut off at 1."""
        check_is_fitted(self, "coefficients_")
        counts = validation.class_counts(k)
        inside = counts <= self._n_classes
        values = np.empty(counts.shape)
        values[inside] = self._observed.accuracy(counts[inside])
        values[~inside] = self._decay(counts[~inside]) @ self.coefficients_
        return np.minimum(values, 1.0)

    def _decay(self, k: Floats) -> Floats:
        return np.asarray(np.exp(-np.outer(k - 1, self._KAPPA)))


def _uniform_splines(k: Floats, n_knots: int) -> Floats:
    """Error among k classes under each linear spline of equally distant knots, one at u = 1."""
    distances = np.arange(n_knots, 0, -1) / (n_knots + 1)
    return truncated_moment(distances, k[:, None], 1)


def average_rank_curve(pilot: Pilot, k: Floats) -> Floats:
    r"""Return the observed accuracy at k with the ranks of ties averaged, as 004's tables have it.

    A probe with v wins and t ties among n = K - 1 rivals counts as
    :math:`\binom{v + t/2}{k-1} / \binom{n}{k-1}`, which is not zero for v + t/2 = 18.5 and
    k - 1 = 19, and negative for other halves. The tie rules "lose" and "win" leave no ties.
    """
    if pilot.tie_rule != "random" or not pilot.ties.any():
        return observe(pilot).accuracy(k)
    n = pilot.n_classes - 1
    losses, where = np.unique(pilot.losses + pilot.ties / 2, return_inverse=True)
    weights = np.bincount(where, pilot.weights)
    share = weights / weights.sum()
    return np.array([share @ _chances(losses, n, m) for m in k - 1])


def _chances(losses: Floats, n: int, m: float) -> Floats:
    """Ratio of the generalised binomial coefficients of n - losses and n over m."""
    # B(n - losses + 1, losses) / B(n - losses - m + 1, losses), which does not cancel.
    top, bottom = n - losses + 1, n - losses - m + 1
    never = (losses > 0) & (bottom <= 0) & (bottom == np.floor(bottom))
    plain = (losses > 0) & ~never
    values = np.where(losses > 0, 0.0, 1.0)
    ratio = np.exp(betaln(top[plain], losses[plain]) - betaln(bottom[plain], losses[plain]))
    values[plain] = gammasgn(bottom[plain]) * ratio
    return values
