r"""Moment regression of the conditional cost, from which the risk among any k classes follows.

For a probe and a random wrong class let u be the chance that this class outscores one further
wrong class; u is uniform on [0, 1]. With :math:`\bar K(u)` the mean cost at u, counted as zero
where the true class is not beaten, the risk among k classes is (004, Theorem 3.1)

.. math:: \text{risk}(k) = (k-1) \int_0^1 \bar K(u) u^{k-2} du .

:math:`\bar K(u) = D(u) m(u)`: the chance D of being beaten at u, which can only rise, times the
mean cost m of a mistake made there, which lies between the smallest and the largest cost. Where
every mistake about a class costs the same (0-1 cost), :math:`\bar K` itself can only rise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, ndtr, ndtri

from headcount.curves.favorability import Favorability
from headcount.errors import UnsupportedError
from headcount.estimators.regression import fit_mixture
from headcount.estimators.shared.bases import Basis, law_on_cells
from headcount.estimators.shared.curve_fit import non_negative, simplex_least_squares
from headcount.uncertainty.asymptotics import fit_sensitivity, mixture_sensitivity

Floats = NDArray[np.float64]
Slopes = tuple[Floats, Floats | None]
Family = Callable[[Floats], Floats]

STEP = 1.5  # width of the steps of m on the probit scale; see `PricedFit`
CENTRES = np.arange(-3.0, 8.1, STEP / 2)
BUMP = 0.5  # width of the bumps of a free m
EDGES = np.arange(-3.0, 8.1, BUMP)
FARTHEST = 9.0  # on the probit scale: one in 1e19
SMALL = 1e-12


class BetaBasis:
    """Sums of Bernstein polynomials: U ~ Beta(l, degree + 1 - l) for l = 1, ..., degree.

    The l-th distribution function is the sum of the Bernstein polynomials from the l-th on, so
    non-negative weights make any polynomial D whose Bernstein coefficients rise.
    """

    def __init__(self, degree: int) -> None:
        self.first = np.arange(1.0, degree + 1)
        self.second = degree + 1 - self.first

    def accuracy(self, k: Floats) -> Floats:
        """Accuracy of each law (column) at each k (row): the moments of a beta variable."""
        raised = betaln(self.first + k[:, None] - 1, self.second)
        return np.asarray(np.exp(raised - betaln(self.first, self.second)))

    def law(self, weights: Floats) -> Favorability:
        """Mixture of the laws; what is missing to mass one is an atom at U = 1."""

        def below(p: Floats) -> Floats:
            return np.asarray(betainc(self.second, self.first, p[:, None]) @ weights)

        return law_on_cells(below, float(weights.sum()))


@dataclass(frozen=True)
class Rows:
    """Numbers of classes at which the observed curve is fitted, and the weight of each."""

    k: Floats
    share: Floats


class MixtureFit:
    """Conditional cost that can only rise: a ceiling times the distribution function of a law.

    The fit of `headcount.estimators.Regression` and `SplineRegression`, to risk / ceiling.

    Parameters
    ----------
    basis : Basis
        Family of laws.
    rows : Rows
        Where the curve is fitted.
    risk : ndarray
        Observed risk there.
    ceiling : float
        Mean cost if every probe were a mistake.
    """

    def __init__(self, basis: Basis, rows: Rows, risk: Floats, ceiling: float) -> None:
        self.basis, self.rows, self.ceiling = basis, rows, ceiling
        self._columns = basis.accuracy(rows.k)
        target = 1 - risk / (ceiling or 1.0)
        self.coefficients = fit_mixture(self._columns, target, rows.share)
        self.law = basis.law(self.coefficients)

    @property
    def at(self) -> Floats:
        """Numbers of classes at which the observed curve was used."""
        return self.rows.k

    def risk(self, k: Floats) -> Floats:
        """Fitted risk among k classes."""
        return np.asarray(self.ceiling * (1 - self.law.accuracy(k)))

    @property
    def active(self) -> NDArray[np.intp]:
        """Which laws have a weight."""
        return np.flatnonzero(self.coefficients > 0)

    @cached_property
    def coefficient_slopes(self) -> Floats:
        """Change of each active coefficient with the observed risk / ceiling at each row."""
        by_accuracy = mixture_sensitivity(self._columns, self.coefficients, self.rows.share)
        return -by_accuracy[self.active]

    def slopes(self, k: Floats) -> Slopes:
        """Change of the risk at k with the observed risk at each row, on the active set."""
        lost = 1 - self.basis.accuracy(k)[:, self.active]
        return lost @ self.coefficient_slopes, None


class PricedFit:
    r"""Conditional cost as the law of mistakes times the mean cost of a mistake.

    m(u) is the smallest cost plus a sum of steps :math:`\Phi((t_\ell - z) / h)`, z the probit of
    u, with non-negative weights of sum at most the spread of costs: it falls from few to many
    classes, as it does where like is taken for like. Rising steps are fitted too, and the
    direction that fits the observed risk better is kept. `free` leaves the direction open: bumps
    with non-negative weights, which can follow any curve and are far less stable beyond it.

    Parameters
    ----------
    law : Favorability
        Law of U, whose distribution function is D.
    rows : Rows
        Where the curve is fitted.
    risk : ndarray
        Observed risk there.
    smallest, largest : float
        Of the costs of mistakes.
    free : bool
        Whether m may move both ways.
    mistakes : MixtureFit, optional
        What the law is from: the fit to the risk of 0-1 cost at the same rows. Without it there
        are no slopes.
    """

    def __init__(
        self,
        law: Favorability,
        rows: Rows,
        risk: Floats,
        smallest: float,
        largest: float,
        *,
        free: bool = False,
        mistakes: MixtureFit | None = None,
    ) -> None:
        self.law, self.rows, self.free, self.mistakes = law, rows, free, mistakes
        self.smallest, self.spread = smallest, largest - smallest
        self._risk, self._cells = risk, Cells(law)
        fits = [self._fit(family) for family in ((_bumps,) if free else (_falling, _rising))]
        _, self.coefficients, self.family = min(fits, key=lambda fit: fit[0])

    @property
    def at(self) -> Floats:
        """Numbers of classes at which the observed curves were used."""
        return self.rows.k

    def risk(self, k: Floats) -> Floats:
        """Fitted risk among k classes."""
        return self._risk_of(self._cells, self.coefficients, k)

    def mean_cost(self, u: Any) -> Floats:
        """Mean cost m(u) of a mistake made at u."""
        z = np.clip(ndtri(np.asarray(u, dtype=np.float64)), -FARTHEST, FARTHEST)
        return self._price(z.ravel(), self.coefficients).reshape(z.shape)

    def slopes(self, k: Floats) -> Slopes:
        """Change of the risk at k with the observed risk and error at each row.

        Linear in the risk on the active set. The error enters through the law of mistakes, a few
        coefficients, for which small steps are taken up and down.
        """
        mistakes = self._need_mistakes()
        used = mistakes.active
        columns = self._columns(self._cells, self.family)
        active = self._active()
        by_price = self._weights_slopes(columns[:, active])
        at = self._cells.paid(k, self.family(self._cells.middles)[:, active])
        by_law = np.empty((len(k), len(used)))
        for i, which in enumerate(used):
            step = min(1e-4, 0.1 * float(mistakes.coefficients[which]))
            moved = []
            for sign in (1, -1):
                shifted = mistakes.coefficients.copy()
                shifted[which] += sign * step
                moved.append(self._refitted(shifted, active, k))
            by_law[:, i] = (moved[0] - moved[1]) / (2 * step)
        return at @ by_price, by_law @ mistakes.coefficient_slopes

    # -- inner workings -------------------------------------------------------------------------

    def _need_mistakes(self) -> MixtureFit:
        if self.mistakes is None:
            raise UnsupportedError(
                "the law of mistakes came from another method, whose slopes are not known; "
                "intervals need moment regression throughout."
            )
        return self.mistakes

    def _columns(self, cells: Cells, family: Family) -> Floats:
        """Risk at the rows for each step of m, had it the weight one."""
        return cells.paid(self.rows.k, family(cells.middles))

    def _excess(self, cells: Cells) -> Floats:
        """Observed risk over what is paid if every mistake has the smallest cost."""
        return self._risk - self.smallest * cells.paid(self.rows.k, 1.0)

    def _fit(self, family: Family) -> tuple[float, Floats, Family]:
        """Return the squared distance, the weights and the family itself."""
        excess, share = self._excess(self._cells), self.rows.share
        columns = self._columns(self._cells, family)
        if self.free:
            found = non_negative(columns, excess, share)
        else:
            with_rest = np.column_stack([columns, np.zeros(len(columns))])
            scale = self.spread or 1.0
            found = self.spread * simplex_least_squares(with_rest, excess / scale, share)[:-1]
        return float(share @ np.square(columns @ found - excess)), found, family

    def _active(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.coefficients > SMALL * (self.spread or 1.0))

    def _weights_slopes(self, columns: Floats) -> Floats:
        """Change of the active weights of m with the risk at each row."""
        bound = not self.free and self.coefficients.sum() > (1 - SMALL) * self.spread
        if bound:
            return fixed_sum_slopes(columns, self.rows.share)
        return fit_sensitivity(columns, self.rows.share)

    def _refitted(self, law_weights: Floats, active: NDArray[np.intp], k: Floats) -> Floats:
        """Risk at k had the law of mistakes these weights, with the same steps of m in use."""
        cells = Cells(self._need_mistakes().basis.law(law_weights))
        columns, excess = self._columns(cells, self.family)[:, active], self._excess(cells)
        weights = self.coefficients.copy()
        slopes = self._weights_slopes(columns)
        # From the weights in use; those whose sum is bound only move along the bound.
        weights[active] += slopes @ (excess - columns @ weights[active])
        return self._risk_of(cells, weights, k)

    def _price(self, z: Floats, weights: Floats) -> Floats:
        price = self.family(z) @ weights
        return np.asarray(self.smallest + np.minimum(price, self.spread))

    def _risk_of(self, cells: Cells, weights: Floats, k: Floats) -> Floats:
        flat = np.atleast_1d(k).ravel()
        return cells.paid(flat, self._price(cells.middles, weights)).reshape(np.shape(k))


class Cells:
    """Stretches of u between the nodes of a law, in which its distribution function is flat.

    Attributes
    ----------
    wrong : ndarray
        D in each cell.
    middles : ndarray
        Probit of u in the middle of each cell.
    """

    def __init__(self, law: Favorability) -> None:
        edges = np.unique(np.append(law.p, 0.0))
        beyond = np.append(np.cumsum(law.weights[::-1])[::-1], 0.0)
        self.wrong = beyond[np.searchsorted(law.p, edges[1:])]
        # At p = 1 any large number will do: the power is zero from two classes on.
        self._log_u = np.log1p(-np.where(edges < 1, edges, 0.0)) - 1e3 * (edges == 1)
        z = np.clip(-ndtri(edges), -FARTHEST, FARTHEST)
        self.middles = (z[1:] + z[:-1]) / 2

    def paid(self, k: Floats, price: Any) -> Floats:
        """Risk at k where a mistake in each cell (first axis) has this price."""
        price = np.asarray(price, dtype=np.float64)
        if price.ndim == 2:
            return np.asarray(self.reached(k) @ (self.wrong[:, None] * price))
        return np.asarray(self.reached(k) @ (self.wrong * price))

    def reached(self, k: Floats) -> Floats:
        """Chance that the best of k - 1 wrong classes (row) falls into each cell (column)."""
        powers = np.multiply.outer(np.asarray(k, dtype=np.float64) - 1, self._log_u)
        return np.asarray(np.exp(powers[:, :-1]) * -np.expm1(np.diff(powers, axis=1)))


def fixed_sum_slopes(columns: Floats, share: Floats) -> Floats:
    """Change of least-squares weights with the target, where their sum must stay as it is."""
    # The first is what the others leave, so these are free.
    others = fit_sensitivity(columns[:, 1:] - columns[:, :1], share)
    return np.vstack([-others.sum(axis=0), others])


def _falling(z: Floats) -> Floats:
    return np.column_stack([np.ones(len(z)), ndtr((CENTRES - z[:, None]) / STEP)])


def _rising(z: Floats) -> Floats:
    return np.column_stack([np.ones(len(z)), ndtr((z[:, None] - CENTRES) / STEP)])


def _bumps(z: Floats) -> Floats:
    """Differences of neighbouring steps: not negative, and of sum one everywhere."""
    steps = np.column_stack([np.ones(len(z)), ndtr((z[:, None] - EDGES) / BUMP)])
    return np.asarray(steps - np.column_stack([steps[:, 1:], np.zeros(len(z))]))
