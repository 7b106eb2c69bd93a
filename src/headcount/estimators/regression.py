"""Moment regression: a mixture of known laws fitted to the observed curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators.base import Extrapolator
from headcount.estimators.shared.bases import Basis, GaussianBasis, SplineBasis, StepBasis, knots
from headcount.estimators.shared.curve_fit import chosen_counts, non_negative, simplex_least_squares
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]

CONSTRAINTS = ("convex", "monotone", "none")
BANDWIDTHS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


class _MomentRegression(Extrapolator):
    """What spline and Gaussian regression share: rows of the curve, and the fit."""

    def __init__(self, *, largest_k: int | None, weights: Callable[[Floats], Any] | None) -> None:
        self.largest_k = largest_k
        self.weights = weights

    def _rows(self, pilot: Pilot) -> tuple[Floats, Floats, Floats]:
        """Numbers of classes, observed accuracies, and the weight of each row."""
        last = pilot.n_classes if self.largest_k is None else self.largest_k
        last = validation.whole_number(last, "largest_k", 2)
        if last > pilot.n_classes:
            raise ParameterError(
                f"largest_k must be at most the pilot's {pilot.n_classes:,} classes, "
                f"but is {last:,}."
            )
        k, share = curve_rows(last, self.weights)
        return k, observe(pilot).accuracy(k), share


def curve_rows(last: int, weights: Callable[[Floats], Any] | None = None) -> tuple[Floats, Floats]:
    """Return numbers of classes that stand for 2 ... last, and the weight each stands for."""
    counts, share = chosen_counts(last)
    k = counts.astype(np.float64)
    if weights is None:
        return k, share
    wanted = np.asarray(weights(k), dtype=np.float64)
    if wanted.shape != k.shape or not (wanted >= 0).all() or not wanted.sum() > 0:
        raise ParameterError("weights must give one number of 0 or more for each k, not all zero.")
    return k, share * wanted


def fit_mixture(columns: Floats, target: Floats, share: Floats) -> Floats:
    """Return non-negative weights of the columns, with sum at most one.

    What is missing to one is an atom at U = 1, whose accuracy is one at every k.
    """
    with_atom = np.column_stack([columns, np.ones(len(columns))])
    return simplex_least_squares(with_atom, target, share / share.sum())[:-1]


class SplineRegression(_MomentRegression):
    r"""Moment regression with splines, as papers 000, 002 and 004 do it.

    D(u) is a combination of truncated powers :math:`[u - t_\ell]_+^r`, so that

    .. math:: 1 - \text{accuracy}(k) = \sum_\ell \beta_\ell H_{\ell,k}, \quad
              H_{\ell,k} = (k-1) \int_{t_\ell}^1 (u - t_\ell)^r u^{k-2} du ,

    fitted to the observed curve at k = 2 ... K by least squares.

    Parameters
    ----------
    constraint : {"convex", "monotone", "none"}
        Convex: non-negative coefficients, hence a convex D. Monotone: D may only rise, linear
        between the knots. None: ordinary least squares, refused where the observed accuracies
        cannot identify the coefficients (the rank condition of 004's Theorem 3.2); not a mixture.
    n_knots : int
        How many knots.
    spacing : {"uniform", "quadratic", "adaptive"}
        Where they are; see `bases.knots`.
    degree : int
        Degree of the splines; monotone needs 1.
    bounded : bool
        Whether D(1) must be at most one. The papers leave it free; the result is then a law only
        if it happens to be one, and clipped accuracies otherwise.
    target_classes : int, optional
        Largest number of classes of interest, for adaptive knots; ten times the pilot by default.
    largest_k : int, optional
        Use only k up to this: the weights 1{k <= k0} of 004.
    weights : callable, optional
        Weight w_k of each number of classes; one by default.

    Attributes
    ----------
    coefficients_ : ndarray
        Mass of each law (constrained), or beta (unconstrained).
    basis_ : Basis
        The laws.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*,
    §4-6; the earlier draft, §6, on knots; *... for multi-class classification* (2017), §3.3-3.4.

    Examples
    --------
    Under U uniform on [0, 1], accuracy among k classes is 1/k:

    >>> from headcount import Pilot
    >>> pilot = Pilot.from_losses(range(200), n_classes=200)
    >>> fit = SplineRegression(n_knots=1000).fit(pilot)
    >>> fit.predict([2, 10, 1000]).round(3).tolist()
    [0.5, 0.1, 0.001]
    """

    alias = "regression-spline"
    about = "convex D(u) from linear splines, least squares on the observed curve"
    cost = "about a second"
    advice = "the method of papers 000, 002 and 004; many classes"

    def __init__(
        self,
        *,
        constraint: str = "convex",
        n_knots: int = 10_000,
        spacing: str = "uniform",
        degree: int = 1,
        bounded: bool = True,
        target_classes: int | None = None,
        largest_k: int | None = None,
        weights: Callable[[Floats], Any] | None = None,
    ) -> None:
        super().__init__(largest_k=largest_k, weights=weights)
        self.constraint = constraint
        self.n_knots = n_knots
        self.spacing = spacing
        self.degree = degree
        self.bounded = bounded
        self.target_classes = target_classes

    def _estimate(self, pilot: Pilot) -> Favorability | None:
        k, target, share = self._rows(pilot)
        basis = self.basis_ = self._basis(pilot.n_classes)
        columns = basis.accuracy(k)
        if self.constraint == "none":
            self.coefficients_ = _least_squares(1 - columns, 1 - target, share)
            return None
        if not self.bounded:
            self.coefficients_ = non_negative(1 - columns, 1 - target, share)
            if self.coefficients_.sum() > 1 + 1e-9:
                return None
        else:
            self.coefficients_ = fit_mixture(columns, target, share)
        return basis.law(self.coefficients_)

    def predict(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes."""
        counts = validation.class_counts(k)
        if getattr(self, "favorability_", None) is not None or not hasattr(self, "coefficients_"):
            return super().predict(counts)
        flat = np.atleast_1d(counts.ravel())
        values = np.empty(len(flat))
        size = max(1, 4_000_000 // len(self.coefficients_))
        for first in range(0, len(flat), size):
            rows = 1 - self.basis_.accuracy(flat[first : first + size])
            values[first : first + size] = np.clip(1 - rows @ self.coefficients_, 0.0, 1.0)
        return values.reshape(counts.shape)

    def _basis(self, n_classes: int) -> Basis:
        validation.choice(self.constraint, "constraint", CONSTRAINTS)
        n_knots = validation.whole_number(self.n_knots, "n_knots", 1)
        degree = validation.whole_number(self.degree, "degree", 1)
        largest = 10 * n_classes if self.target_classes is None else self.target_classes
        largest = validation.whole_number(largest, "target_classes", 2)
        distances = knots(self.spacing, n_knots, n_classes, largest)
        if self.constraint != "monotone":
            return SplineBasis(distances, degree)
        if degree != 1:
            raise ParameterError(f"constraint monotone needs degree 1, but degree is {degree}.")
        return StepBasis(distances)


class Regression(_MomentRegression):
    r"""Moment regression with a Gaussian (radial) basis on the probit scale.

    The law of U is a mixture of :math:`U = \Phi(t_\ell + h Z)` on a grid of centres, non-negative
    and of mass at most one, fitted to the observed curve by least squares. The bandwidth h is the
    one with which half of the classes best predict the accuracy among all of them.

    Parameters
    ----------
    bandwidth : float, optional
        Width h of the bumps; chosen from the data by default.
    repeats : int
        How many random halves of the classes choose the bandwidth. A pilot without scores cannot
        be split; its probes are then drawn anew and their losses thinned to half the rivals.
    random_state : int
        Seed of the halves.
    largest_k : int, optional
        Use only k up to this.
    weights : callable, optional
        Weight w_k of each number of classes; one by default.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used.
    coefficients_ : ndarray
        Mass of each bump.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*, §4;
    Slavutsky and Benjamini (2021), §2, for the Gaussian basis.

    Examples
    --------
    >>> from headcount import Pilot
    >>> pilot = Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> round(float(Regression(bandwidth=0.3).fit(pilot).predict(100)), 2)
    0.8
    """

    alias = "regression"
    about = "law of U from bumps on the probit scale, least squares on the observed curve"
    cost = "seconds"
    advice = "a flexible fit to the curve; needs a few hundred classes"

    def __init__(
        self,
        *,
        bandwidth: float | None = None,
        repeats: int = 10,
        random_state: int = 0,
        largest_k: int | None = None,
        weights: Callable[[Floats], Any] | None = None,
    ) -> None:
        super().__init__(largest_k=largest_k, weights=weights)
        self.bandwidth = bandwidth
        self.repeats = repeats
        self.random_state = random_state

    def _estimate(self, pilot: Pilot) -> Favorability:
        k, target, share = self._rows(pilot)
        bandwidth = self.bandwidth
        self.bandwidth_ = (
            self._choose(pilot)
            if bandwidth is None
            else validation.positive(bandwidth, "bandwidth")
        )
        if not 0.02 <= self.bandwidth_ <= 5:
            raise ParameterError(
                f"bandwidth must lie between 0.02 and 5, but is {self.bandwidth_:g}."
            )
        basis = GaussianBasis(self.bandwidth_)
        self.coefficients_ = fit_mixture(basis.accuracy(k), target, share)
        return basis.law(self.coefficients_)

    def _choose(self, pilot: Pilot) -> float:
        """Return the bandwidth with which half of the classes best predict all of them."""
        n_classes = pilot.n_classes
        if n_classes < 8:
            return BANDWIDTHS[len(BANDWIDTHS) // 2]
        truth = float(observe(pilot).accuracy(n_classes))
        k, share = curve_rows(n_classes // 2)
        halves = [curve(k) for curve in self._halves(pilot)]
        errors = []
        for bandwidth in BANDWIDTHS:
            basis = GaussianBasis(bandwidth)
            columns, last = basis.accuracy(k), basis.accuracy(np.array([float(n_classes)]))[0]
            missed = []
            for half in halves:
                coefficients = fit_mixture(columns, half, share)
                missed.append(1 - (1 - last) @ coefficients - truth)
            errors.append(np.mean(np.square(missed)))
        return BANDWIDTHS[int(np.argmin(errors))]

    def _halves(self, pilot: Pilot) -> list[Callable[[Floats], Floats]]:
        """Return the observed curves of random halves of the classes."""
        rng = np.random.default_rng(self.random_state)
        repeats = validation.whole_number(self.repeats, "repeats", 1)
        try:
            names = pilot.canonical_classes()
        except UnsupportedError:
            return [observe(_thinned(pilot, rng)).accuracy for _ in range(repeats)]
        curves: list[Callable[[Floats], Floats]] = []
        while len(curves) < repeats:
            half = rng.choice(len(names), len(names) // 2, replace=False)
            if pilot.has_probes(names[half]):
                curves.append(observe(pilot.subset(names[half])).accuracy)
        return curves


def _thinned(pilot: Pilot, rng: np.random.Generator) -> Pilot:
    """Return half as many probes, drawn anew, against a random half of their rivals."""
    table, half = pilot.table(), pilot.n_classes // 2
    repeats = rng.multinomial(max(1, pilot.n_probes // 2), table.weights / table.weights.sum())
    losses = np.repeat(table.losses, repeats)
    if table.n_rivals < 10**9:
        lost = rng.hypergeometric(losses, table.n_rivals - losses, half - 1)
    else:  # beyond what the generator takes, drawing with replacement is the same
        lost = rng.binomial(half - 1, losses / table.n_rivals)
    return Pilot.from_losses(lost, half)


def _least_squares(matrix: Floats, target: Floats, share: Floats) -> Floats:
    """Return ordinary least squares, refused unless the rows identify every coefficient."""
    used = share > 0
    scale = np.sqrt(share[used])[:, None]
    scaled = scale * matrix[used]
    rank = int(np.linalg.matrix_rank(scaled, tol=None))
    if rank < matrix.shape[1]:
        raise ParameterError(
            f"{matrix.shape[1]:,} basis functions cannot be told apart by the observed accuracies, "
            f"whose rank is {rank}; use at most {rank} knots, or a constraint."
        )
    return np.asarray(np.linalg.lstsq(scaled, scale[:, 0] * target[used], rcond=None)[0])
