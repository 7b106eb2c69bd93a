"""Polynomial: the distribution function of U as a polynomial, fitted to the observed curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from headcount.curves.favorability import Favorability
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.shared.curve_fit import observed_rows, simplex_least_squares
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]

_HALVINGS = 60  # panels towards p = 0; what is left under 2^-60 is one node
_NODES = 24  # of each panel


class Polynomial(Extrapolator):
    r"""D(u) = sum of beta_j u^j, j = 1, ..., degree, by ordinary least squares.

    A term u^j of D costs (k - 1) / (k - 1 + j) of accuracy, so that

    .. math:: 1 - \text{accuracy}(k) = \sum_{j=1}^{m} \beta_j \frac{k - 1}{k - 1 + j}

    is linear in beta and is fitted to the observed curve at k = 2, ..., K. Nothing keeps D
    increasing or below one: the result is no mixture, may rise with k, and is only cut off at
    0 and 1.

    Parameters
    ----------
    degree : int
        Highest power; fewer are used where the pilot has too few classes (K - 1 at most).

    Attributes
    ----------
    coefficients_ : ndarray
        The fitted beta_1, beta_2, ...

    References
    ----------
    Zheng, Achanta and Benjamini (2017), Table 1, where it is called p^(5) and not defined: this is
    our reading.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.polynomial import Polynomial
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = Polynomial().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.81, 0.75]
    """

    alias = "polynomial"
    about = "D(u) a polynomial of degree 5, ordinary least squares on the observed curve"
    cost = "under a second"
    advice = "a comparison from the papers; not a mixture, may leave the possible range"

    def __init__(self, *, degree: int = 5) -> None:
        self.degree = degree

    def _estimate(self, pilot: Pilot) -> None:
        degree = validation.whole_number(self.degree, "degree", 1)
        warn_if_one_sided(pilot)
        counts, accuracy, weights = observed_rows(pilot)
        cost = _cost(counts, np.arange(1, min(degree, pilot.n_classes - 1) + 1))
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(root[:, None] * cost, root * (1 - accuracy), rcond=None)
        self.coefficients_: Floats = np.asarray(solution[0], dtype=np.float64)

    def predict(self, k: Any) -> Floats:
        """Return the fitted accuracy among k classes, cut off at 0 and 1."""
        check_is_fitted(self, "coefficients_")
        counts = validation.class_counts(k)
        powers = np.arange(1, len(self.coefficients_) + 1)
        return np.asarray(np.clip(1 - _cost(counts, powers) @ self.coefficients_, 0.0, 1.0))


class PolynomialPositive(Extrapolator):
    r"""D(u) = sum of beta_j u^j with beta_j >= 0 and sum at most one, by least squares.

    Then D is a genuine distribution function: u^j is that of the largest of j uniform variables,
    Beta(j, 1), and U is one of these with chance beta_j, or 1 (never beaten) with the rest. The
    fit to the observed curve is that of `Polynomial` under these constraints.

    Parameters
    ----------
    degree : int
        Highest power.

    Attributes
    ----------
    coefficients_ : ndarray
        The fitted beta_1, ..., beta_degree.

    References
    ----------
    Zheng, Achanta and Benjamini (2017), Table 1, where it is called POS and not defined: this is
    our reading.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.polynomial import PolynomialPositive
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = PolynomialPositive().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.85, 0.84]
    """

    alias = "polynomial-positive"
    about = "D(u) a polynomial with non-negative coefficients, least squares on the observed curve"
    cost = "under a second"
    advice = "a comparison from the papers; too stiff for recognisers with small p"

    def __init__(self, *, degree: int = 5) -> None:
        self.degree = degree

    def _estimate(self, pilot: Pilot) -> Favorability:
        degree = validation.whole_number(self.degree, "degree", 1)
        warn_if_one_sided(pilot)
        counts, accuracy, weights = observed_rows(pilot)
        # Power zero costs nothing: it is the part that is never beaten.
        cost = _cost(counts, np.arange(degree + 1))
        parts = simplex_least_squares(cost, 1 - accuracy, weights)
        self.coefficients_: Floats = parts[1:]
        return mixture_law(parts)


def _cost(counts: NDArray[Any], powers: NDArray[Any]) -> Floats:
    """Accuracy lost among k classes for each power u^j of D."""
    rivals = np.asarray(counts, dtype=np.float64)[..., None] - 1
    return np.asarray(np.where(powers == 0, 0.0, rivals / np.maximum(rivals + powers, 1.0)))


def mixture_law(parts: Floats) -> Favorability:
    """Favorability of the mixture of Beta(j, 1); parts[0] is the atom at p = 0.

    Gauss rules on panels that halve towards p = 0 serve every number of classes: where
    (1 - p)^(k-1) bends, at p about 1 / k, a panel is as wide as the bend.
    """
    points, gauss = leggauss(_NODES)
    width = 0.5 ** np.arange(1, _HALVINGS + 1)  # panel i reaches from width_i to twice that
    p = (width[:, None] * (1.5 + points / 2)).ravel()
    share = (width[:, None] * gauss / 2).ravel()
    powers = np.arange(1, len(parts))
    density = (parts[1:] * powers * (1 - p)[:, None] ** (powers - 1)).sum(axis=1)
    end_mass = parts[1:] @ powers * width[-1]  # the density at p = 0 times what is left
    return Favorability(
        np.concatenate([[0.0, width[-1] / 2], p]),
        np.concatenate([[parts[0], end_mass], density * share]),
    )
