"""forecast_risk(): what mistakes cost among more classes than were measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed
from headcount.errors import (
    ParameterError,
    listening,
)
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.base import warn_if_one_sided
from headcount.estimators.registry import name_of
from headcount.estimators.regression import Regression, curve_rows
from headcount.estimators.shared.bases import Basis, GaussianBasis, SplineBasis, knots
from headcount.pilot.pilot import Pilot
from headcount.questions.risk.answers import RiskFit, RiskForecast
from headcount.questions.risk.costs import ZERO_ONE, Cost, as_cost
from headcount.questions.risk.delta import DeltaMethod
from headcount.questions.risk.error_model import MODEL
from headcount.questions.risk.moments import PolynomialFit
from headcount.questions.risk.observed import observe_risk
from headcount.questions.risk.priors import prior_weights
from headcount.questions.risk.regression import BetaBasis, MixtureFit, PricedFit, Rows
from headcount.questions.risk.unconstrained import (
    Moments,
    UnconstrainedFit,
    moments_of,
    moments_of_laws,
)
from headcount.support import validation
from headcount.support.grids import asked_classes, warn_if_far
from headcount.support.workers import doing

Floats = NDArray[np.float64]

APPROACHES = ("regression", "unconstrained", "adjustment")
BASES = ("gaussian", "spline", "polynomial")
SHAPES = ("auto", "rising", "one-way", "free")
N_KNOTS = 10_000
MOST_DEGREE = 20


def forecast_risk(
    pilot: Pilot,
    cost: Any,
    classes: Any,
    *,
    approach: str = "regression",
    basis: str | Sequence[Callable[[Floats], Any]] | None = None,
    shape: str = "auto",
    method: str | Extrapolator | None = None,
    priors: Any = None,
    bandwidth: float | None = None,
    degree: int = 5,
    largest_k: int | None = None,
    weights: Callable[[Floats], Any] | None = None,
    confidence: float = 0.9,
    intervals: bool = True,
    random_state: int = 0,
) -> RiskForecast:
    r"""Forecast what mistakes cost at numbers of classes you have not measured.

    The average risk among k classes is :math:`(k-1) \int_0^1 \bar K(u) u^{k-2} du`, whose
    conditional cost :math:`\bar K` does not depend on k. It is estimated from the observed curve.

    Parameters
    ----------
    pilot : Pilot
        What was measured, with scores; counts are enough for 0-1 cost.
    cost : Cost, str, array, sparse matrix, pair, callable or mapping
        Cost of each mistake; see `as_cost`.
    classes : int or sequence of int
        Numbers of classes asked about.
    approach : {"regression", "unconstrained", "adjustment"}
        Regression: least squares on the observed curve, within what is possible of a risk.
        Unconstrained: the same with any coefficients, which is linear in the observed curve and
        so without bias where the basis is right (Eq. 12-17). Adjustment: a polynomial from
        unbiased moments. The last two are the paper's, for comparison: far beyond K they may be
        below zero or above every cost.
    basis : {"gaussian", "spline", "polynomial"} or sequence of callable
        For regression, how the chance D(u) to be beaten is built: bumps on the probit scale (the
        default) and linear splines as in `headcount.estimators.Regression` and
        `SplineRegression`, or a polynomial. Without constraints, what the conditional cost is a
        combination of: linear splines with `degree` knots (the default; five are the p(5) of the
        paper's Table 1), bumps, a polynomial without constant term, or any functions of u, such
        as ``[np.ones_like, np.sqrt]``.
    shape : {"auto", "rising", "one-way", "free"}
        For regression, what is asked of the conditional cost. It is never negative. Rising: it
        can only rise with u, which is true where every mistake about a class costs the same.
        One-way: D(u) times a mean cost of a mistake that lies between the smallest and the
        largest cost and moves only one way, down or up as the data say. Free: D(u) times any
        mean cost from the smallest on; far less stable beyond the pilot. Auto: rising where that
        is true of the cost, else one-way.
    method : str or Extrapolator, optional
        Take D(u) from a method of `headcount methods`, such as ``"probit-normal"``, instead of a
        basis; the cost of a mistake is still fitted. Far beyond the pilot this is often steadier.
        There are then no intervals, and no priors.
    priors : mapping or sequence, optional
        How often each class is the true one; see `as_priors`.
    bandwidth : float, optional
        Of the Gaussian basis; by default as `Regression` chooses it for the accuracy.
    degree : int
        Of polynomials (for adjustment at most K - 2); without constraints, also how many splines.
    largest_k : int, optional
        For both regressions, use only k up to this.
    weights : callable, optional
        For both regressions, weight w_k of each number of classes; one by default.
    confidence : float
        Level of the intervals.
    intervals : bool
        Whether to compute intervals, where the pilot has scores.
    random_state : int
        Seed of what chooses the bandwidth.

    Returns
    -------
    RiskForecast

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification* (2017), Theorem 3.1 and §3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.simulate import isotropic_gaussian
    >>> from headcount.questions.risk.forecasting import forecast_risk
    >>> pilot = isotropic_gaussian(60, sigma=0.6, probes_per_class=5, random_state=0).pilot
    >>> kind = np.arange(60) % 3
    >>> cost = np.where(kind[:, None] == kind, 1.0, 2.0) - np.eye(60)
    >>> forecast_risk(pilot, cost, [60, 600], intervals=False).risk([60, 600]).round(2).tolist()
    [0.57, 1.2]
    """
    asked = asked_classes(classes)
    validation.choice(approach, "approach", APPROACHES)
    basis = _checked_basis(basis, approach)
    validation.choice(shape, "shape", SHAPES)
    if method is not None and approach != "regression":
        raise ParameterError(f"{approach} uses no law of mistakes; leave method out.")
    degree = validation.whole_number(degree, "degree", 0 if approach == "adjustment" else 1)
    level = validation.confidence_level(confidence)
    with listening() as warnings:
        with doing("Adding up what mistakes cost"):
            measured = _Measured(pilot, as_cost(cost, pilot), priors)
        warn_if_one_sided(pilot)
        fit: RiskFit
        if approach == "adjustment":
            fit, name = measured.adjusted(degree), "adjustment"
        elif approach == "unconstrained":
            moments = _moments(basis, pilot, bandwidth, degree, random_state)
            rows = Rows(*_rows(pilot, largest_k, weights))
            fit = UnconstrainedFit(moments, rows, measured.observed.risk(rows.k))
            name = f"unconstrained-{basis if isinstance(basis, str) else 'functions'}"
        else:
            rows = Rows(*_rows(pilot, largest_k, weights))
            if method is None:
                assert isinstance(basis, str)  # as was checked
                laws = _basis(basis, pilot, bandwidth, degree, random_state)
                fit, name = measured.regressed(laws, rows, shape), f"regression-{basis}"
            else:
                fit, name = measured.priced(resolve(method, random_state), rows, shape)
        warn_if_far(pilot.n_classes, asked[-1])
    sure = intervals and pilot.has_scores
    delta = DeltaMethod(pilot, measured.cost, priors) if sure else None
    learned = sure and method is None and approach == "regression"
    return RiskForecast(
        observed=measured.observed,
        fit=fit,
        classes=asked,
        n_probes=pilot.n_probes,
        method=name,
        confidence=level,
        largest_cost=measured.largest,
        half_a_probe=0.5 * measured.mean_mistake / pilot.n_probes,
        delta=delta,
        model=MODEL if learned else None,
        warnings=tuple(warnings),
        nouns=pilot.nouns,
    )


class _Measured:
    """The pilot's curves, and what its costs allow to say about the conditional cost."""

    def __init__(self, pilot: Pilot, cost: Cost, priors: Any) -> None:
        self.pilot, self.cost, self.priors = pilot, cost, priors
        self.observed = observe_risk(pilot, cost, priors=priors)
        self.weights = pilot.weights if priors is None else prior_weights(pilot, priors)
        self.flat, self.smallest, self.largest, self.ceiling = True, 1.0, 1.0, 1.0
        self.mean_mistake = 1.0
        if not cost.is_zero_one:
            self._look_through()

    def adjusted(self, degree: int) -> PolynomialFit:
        """Fit by regression adjustment."""
        if degree > MOST_DEGREE:
            raise ParameterError(f"degree must be at most {MOST_DEGREE}, but is {degree}.")
        degree = min(degree, self.pilot.n_classes - 2)
        return PolynomialFit(self.observed.spent, degree, self.largest)

    @doing("Fitting the cost of mistakes")
    def regressed(self, basis: Basis, rows: Rows, shape: str) -> RiskFit:
        """Fit by moment regression."""
        if shape == "rising" or (shape == "auto" and self.flat):
            risk = self.errors(rows.k) if self.cost.is_zero_one else self.observed.risk(rows.k)
            return MixtureFit(basis, rows, risk, self.ceiling if self.flat else self.largest)
        mistakes = MixtureFit(basis, rows, self.errors(rows.k), 1.0)
        return self._priced(mistakes.law, rows, shape, mistakes)

    def priced(self, method: Extrapolator, rows: Rows, shape: str) -> tuple[PricedFit, str]:
        """Fit with the law of mistakes of some method; return its name too."""
        if shape == "rising" or self.priors is not None:
            raise ParameterError(
                "a method for the law of mistakes goes with shape one-way or free, and without "
                "priors; leave method out to use them."
            )
        law = method.fit(self.pilot).law()
        if not isinstance(law, Favorability):
            raise ParameterError(
                f"method {method.alias} gives a curve but no law of mistakes; choose another."
            )
        return self._priced(law, rows, shape), f"priced-{name_of(method)}"

    def _priced(
        self, law: Favorability, rows: Rows, shape: str, mistakes: MixtureFit | None = None
    ) -> PricedFit:
        risk, free = self.observed.risk(rows.k), shape == "free"
        return PricedFit(law, rows, risk, self.smallest, self.largest, free=free, mistakes=mistakes)

    def errors(self, k: Floats) -> Floats:
        """Observed risk of 0-1 cost."""
        # Equal priors are those of the pilot, and must give the same to the last digit.
        if np.array_equal(self.weights, self.pilot.weights):
            return np.asarray(1 - Observed(self.pilot.table()).accuracy(k))
        return observe_risk(self.pilot, ZERO_ONE, priors=self.priors).risk(k)

    def _look_through(self) -> None:
        """Find the range of costs, whether they are flat, and the mean cost were all wrong."""
        assert self.pilot.labels is not None  # other costs than 0-1 need scores
        per_class = np.bincount(self.pilot.labels, self.weights)
        with_probes = np.unique(self.pilot.labels).tolist()
        ends = np.array([_ends(self.cost, true) for true in with_probes])
        self.smallest, self.largest = float(ends[:, 0].min()), float(ends[:, 1].max())
        self.mean_mistake = float(per_class[with_probes] @ ends[:, 2])
        self.flat = bool((ends[:, 0] == ends[:, 1]).all())
        self.ceiling = float(per_class[with_probes] @ ends[:, 1])


def _ends(cost: Cost, true: int) -> tuple[float, float, float]:
    """Smallest, largest and mean cost of a mistake about one class."""
    row = np.delete(cost.row(true), true)
    return float(row.min()), float(row.max()), float(row.mean())


def _rows(
    pilot: Pilot, largest_k: int | None, weights: Callable[[Floats], Any] | None
) -> tuple[Floats, Floats]:
    last = (
        pilot.n_classes if largest_k is None else validation.whole_number(largest_k, "largest_k", 2)
    )
    if last > pilot.n_classes:
        raise ParameterError(
            f"largest_k must be at most the pilot's {pilot.n_classes:,} classes, but is {last:,}."
        )
    k, share = curve_rows(last, weights)
    return k, share / share.sum()


def _checked_basis(basis: Any, approach: str) -> str | list[Callable[[Floats], Any]]:
    """Return the basis, by default that of the approach."""
    if basis is None:
        return "spline" if approach == "unconstrained" else "gaussian"
    if isinstance(basis, str):
        validation.choice(basis, "basis", BASES)
        return basis
    functions = list(basis)
    if approach != "unconstrained":
        raise ParameterError(
            f"functions as a basis go with approach='unconstrained', not {approach!r}; there the "
            f"basis is one of {', '.join(BASES)}."
        )
    if not functions or not all(callable(function) for function in functions):
        raise ParameterError("basis must be a name or a list of functions of u, at least one.")
    return functions


def _moments(
    basis: str | list[Callable[[Floats], Any]],
    pilot: Pilot,
    bandwidth: float | None,
    degree: int,
    random_state: int,
) -> Moments:
    """Return the moments of what the conditional cost is a combination of."""
    if not isinstance(basis, str):
        return moments_of(basis)
    if basis == "spline":
        uniform = knots("uniform", degree, pilot.n_classes, pilot.n_classes)
        return moments_of_laws(SplineBasis(uniform))
    return moments_of_laws(_basis(basis, pilot, bandwidth, degree, random_state))


@doing("Choosing how smooth the fit is")
def _basis(
    name: str, pilot: Pilot, bandwidth: float | None, degree: int, random_state: int
) -> Basis:
    if name == "spline":
        return SplineBasis(knots("uniform", N_KNOTS, pilot.n_classes, pilot.n_classes))
    if name == "polynomial":
        return BetaBasis(degree)
    chosen = Regression(bandwidth=bandwidth, random_state=random_state).fit(pilot)
    return GaussianBasis(chosen.bandwidth_)
