r"""004's second approach: the conditional cost as a polynomial, from unbiased moments.

A wrong class that beats the true one and V of the other n = K - 2 wrong classes has, given its u,
:math:`E\left[\binom V j / \binom n j\right] = u^j`. So with the cost of that mistake,

.. math:: E\left[\text{cost} \cdot 1\{\text{beats}\} \binom{V}{j} \Big/ \binom{n}{j}\right]
          = \int_0^1 \bar K(u) u^j du

without bias, for every power up to n. (Its sample mean is the observed risk among j + 2 classes
over j + 1: the polynomial of degree d passes through the observed curve at k = 2, ..., d + 2.)
Powers are combined into Legendre polynomials before anything is averaged. Being orthogonal they
need no matrix solved, where powers need the Hilbert matrix, and their averages do not cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PolynomialFit:
    """Conditional cost as a polynomial, by regression adjustment.

    Nothing keeps it above zero or below the largest cost; only the risk is cut off at both.

    Parameters
    ----------
    spent : ndarray of shape (n_classes - 1,)
        What mistakes cost by place, as from `cost_by_place`.
    degree : int
        Of the polynomial; at most n_classes - 2.
    largest : float
        Largest cost.

    Attributes
    ----------
    coefficients : ndarray
        Of the Legendre polynomials on [0, 1].

    Examples
    --------
    All classes equal, and mistakes cost one: the chance to be beaten at u is u.

    >>> import numpy as np
    >>> from headcount.questions.risk.moments import PolynomialFit
    >>> spent = np.array([3, 2, 1]) / 4  # the true class takes each of four ranks
    >>> PolynomialFit(spent, degree=2, largest=1.0).risk(np.array([4.0, 100.0])).round(3).tolist()
    [0.75, 0.99]
    """

    def __init__(self, spent: Floats, degree: int, largest: float) -> None:
        self.n_classes = len(spent) + 1
        self.degree, self.largest = degree, largest
        scale = (2 * np.arange(degree + 1) + 1) / (self.n_classes - 1)
        # A class at place j beats K - 2 - j others; from few beaten to many.
        self.coefficients = scale * (discrete_legendre(self.n_classes - 2, degree) @ spent[::-1])

    def risk(self, k: Floats) -> Floats:
        """Fitted risk among k classes, cut off at zero and the largest cost."""
        values = legendre_risk(np.asarray(k, dtype=np.float64), self.degree) @ self.coefficients
        return np.asarray(np.clip(values, 0.0, self.largest))

    @property
    def at(self) -> Floats:
        """Numbers of classes at which it passes through the observed curve."""
        return np.arange(2.0, self.degree + 3)

    def slopes(self, k: Floats) -> tuple[Floats, None]:
        """Change of the risk at k with the observed risk at each of `at`."""
        inside = legendre_risk(self.at, self.degree)
        return np.asarray(np.linalg.solve(inside.T, legendre_risk(k, self.degree).T).T), None


def discrete_legendre(n: int, degree: int) -> Floats:
    r"""Return, for V = 0, ..., n, unbiased stand-ins of the Legendre polynomials at u.

    Row l is :math:`\sum_j (-1)^{l+j} \binom l j \binom{l+j} j \binom V j / \binom n j`, the
    discrete Chebyshev polynomials, by their recursion, which does not cancel.
    """
    beaten = np.arange(n + 1.0)
    rows = np.ones((degree + 1, n + 1))
    for l in range(degree):  # noqa: E741
        before = rows[l - 1] if l else 0.0
        ahead = (2 * l + 1) * (2 * beaten - n) * rows[l] - l * (n + l + 1) * before
        rows[l + 1] = ahead / ((l + 1) * (n - l))
    return rows


def legendre_risk(k: Floats, degree: int) -> Floats:
    r"""Return the risk at k (last axis: l) if the conditional cost is the l-th polynomial.

    :math:`\int_0^1 P_l(2u - 1) u^s du = \prod_{i<l} (s - i) / \prod_{i \le l + 1} (s + i)`.
    """
    s = np.asarray(k, dtype=np.float64) - 2
    terms = [np.ones(s.shape)]
    for l in range(degree):  # noqa: E741
        terms.append(terms[-1] * (s - l) / (s + l + 2))
    # (k - 1) / (s + 1) is one; among one class nothing is lost.
    return np.asarray(np.stack(terms, axis=-1) * (s >= 0)[..., None])
