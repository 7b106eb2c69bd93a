"""The learning curve: the law of favorability at every training size, and how well it is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logit, ndtr

from headcount.curves.favorability import Favorability
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.shared.likelihood import loss_likelihood
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import probit_normal_law
from headcount.support import validation
from headcount.uncertainty.refitted import MODEL

Floats = NDArray[np.float64]

PRIOR_RATE, PRIOR_RATE_SPREAD = 0.7, 0.5  # of c: its median, and the deviation of log c
PRIOR_SLOPE = 0.3  # deviation of beta, the change of log tau from the least size to no limit
PRIOR_UNEVEN = 0.5  # deviation of h
RATES = np.geomspace(0.1, 3.0, 121)
_STEP = 1e-4  # of numerical derivatives
_MOST_LOG = 20.0  # keeps forecasts for hardly any training from overflowing
_LEAST_INFORMATION = 1e-6  # keeps the equations solvable where a pilot says nothing
_EDGE = 1e-9  # keeps log odds finite


@dataclass(frozen=True)
class TrainingSizes:
    """Training sizes of the classes of a set, and which share of the classes has each.

    Attributes
    ----------
    values, shares : tuple of float
        Shares sum to one.
    """

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @classmethod
    def equal(cls, size: float) -> Self:
        """Return a set whose classes all have the same size."""
        return cls((size,), (1.0,))

    @classmethod
    def of(cls, sizes: Any) -> Self:
        """Return the sizes of classes, each of which counts the same."""
        values, counts = np.unique(np.asarray(sizes, dtype=np.float64), return_counts=True)
        return cls(tuple(values.tolist()), tuple((counts / counts.sum()).tolist()))

    @property
    def mean(self) -> float:
        """Mean training size of a class."""
        return float(np.dot(self.values, self.shares))

    def shortfall(self, rate: float, unit: float) -> float:
        """Return the mean of (r / r_0)^-c: how far classes are from endless training."""
        below = -rate * (np.log(self.values) - math.log(unit))
        return float(np.exp(np.minimum(below, _MOST_LOG)) @ np.array(self.shares))


@dataclass(frozen=True)
class TrainingLaw:
    """Law of favorability at every training size; see `forecast_training` for the formula.

    Attributes
    ----------
    unit : float
        r_0, the least size measured.
    limit, gain, rate : float
        a, b and c: where mu tends to, how far below it stood at `unit`, and how fast it closes in.
    log_spread, log_spread_gain : float
        alpha and beta.
    uneven_gain : float
        h: how much a class gains by training of its own that its rivals do not get.
    """

    unit: float
    limit: float
    gain: float
    rate: float
    log_spread: float
    log_spread_gain: float
    uneven_gain: float = 0.0

    def at(self, training_size: float, among: TrainingSizes | None = None) -> Favorability:
        """Return the law of favorability of classes of one training size, which may be infinite.

        Their rivals have the sizes of `among`, by default the same one.
        """
        short = TrainingSizes.equal(training_size).shortfall(self.rate, self.unit)
        rivals = short if among is None else among.shortfall(self.rate, self.unit)
        mu = self.limit - self.gain * short - self.uneven_gain * (short - rivals)
        log_spread = min(self.log_spread + self.log_spread_gain * short, _MOST_LOG)
        return probit_normal_law(mu, math.exp(log_spread))

    def value(self, k: Any, training_size: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes; k and training size broadcast."""
        counts, sizes = np.broadcast_arrays(
            validation.class_counts(k), np.asarray(training_size, float)
        )
        values = np.empty(counts.shape)
        for size in np.unique(sizes):
            values[sizes == size] = self.at(float(size)).value(counts[sizes == size], metric)
        return values

    def mixed_value(self, k: Any, sizes: TrainingSizes, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes of unequal training sizes."""
        counts = validation.class_counts(k)
        by_size = [self.at(size, sizes).value(counts, metric) for size in sizes.values]
        return np.asarray(np.tensordot(sizes.shares, by_size, axes=1))

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Return the expected accuracy among k classes."""
        return self.value(k, training_size)


@dataclass(frozen=True)
class PilotFit:
    """Probit mean and log spread of some probes, and how well these know them.

    Attributes
    ----------
    own, rivals : TrainingSizes
        Of the classes of the probes, and of all classes of their pilot.
    n_classes : int
        Classes of the pilot.
    estimate : ndarray of shape (2,)
        mu and log tau.
    information : ndarray of shape (2, 2)
        Fisher information about them, the prior of `ProbitNormal` included.
    """

    own: TrainingSizes
    rivals: TrainingSizes
    n_classes: int
    estimate: Floats
    information: Floats

    @classmethod
    def of(cls, pilot: Pilot, own: TrainingSizes, rivals: TrainingSizes | None = None) -> PilotFit:
        """Fit the probes of a pilot."""
        method = ProbitNormal()
        method.fit(pilot)
        estimate = np.array([method.mu_, math.log(method.tau_)])
        slopes, weights = _slopes(pilot, estimate)
        information = (slopes * weights[:, None]).T @ slopes + _prior_information(method)
        return cls(own, rivals or own, pilot.n_classes, estimate, information)

    def step(self, pilot: Pilot) -> Floats:
        """Return one Newton step from the estimate towards that of other probes and classes."""
        method = ProbitNormal()
        slopes, weights = _slopes(pilot, self.estimate)
        information = (slopes * weights[:, None]).T @ slopes + _prior_information(method)
        information += _LEAST_INFORMATION * np.eye(2)
        uphill = weights @ slopes - _prior_information(method) @ self.estimate
        return np.asarray(np.linalg.solve(information, uphill))


def _prior_information(method: ProbitNormal) -> Floats:
    return np.diag([0.0, method.prior_classes])


def _slopes(pilot: Pilot, estimate: Floats) -> tuple[Floats, Floats]:
    """Return slopes of the log-likelihood of each row in mu and log tau, and the rows' weights.

    Weights are in effective classes.
    """
    data = loss_likelihood(pilot)
    step = data.nodes[1] - data.nodes[0]
    edges = np.append(data.nodes, data.nodes[-1] + step) - step / 2
    # As in the fit: half a probe that is right among all classes, and half a probe that is not.
    log_right = (pilot.n_classes - 1) * log_ndtr(data.nodes)
    halves = np.vstack([np.exp(log_right), -np.expm1(log_right)])
    above, below = np.append(data.above, [1.0, 0.0]), np.append(data.below, [0.0, 1.0])
    weights = np.append(data.weights, [0.5 / pilot.n_probes] * 2) * data.n_effective

    def log_chances(mu: float, log_tau: float) -> Floats:
        z = (edges - mu) / math.exp(log_tau)
        cells = np.where(z[:-1] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        inside = np.append(data.matrix @ cells, halves @ cells)
        chance = inside + above * ndtr(-z[-1]) + below * ndtr(z[0])
        return np.asarray(np.log(np.maximum(chance, 1e-300)))

    slopes = np.column_stack(
        [
            (log_chances(*(estimate + shift)) - log_chances(*(estimate - shift))) / (2 * _STEP)
            for shift in _STEP * np.eye(2)
        ]
    )
    return slopes, weights


@dataclass(frozen=True)
class Prior:
    """Where the parameters that few sizes say little about are expected: log c, beta and h."""

    log_rate: float = math.log(PRIOR_RATE)
    slope: float = 0.0
    uneven: float = 0.0

    def moved(self) -> list[tuple[Prior, Prior]]:
        """Return the prior with each parameter a standard deviation further down, and up."""
        steps = {"log_rate": PRIOR_RATE_SPREAD, "slope": PRIOR_SLOPE, "uneven": PRIOR_UNEVEN}
        at = vars(self)
        return [
            (Prior(**at | {name: at[name] - step}), Prior(**at | {name: at[name] + step}))
            for name, step in steps.items()
        ]


PRIOR = Prior()


def fit_learning_curve(fits: Sequence[PilotFit], prior: Prior = PRIOR) -> TrainingLaw:
    """Fit the parameters of a `TrainingLaw` to at least two sizes.

    Given c the others are a weighted least-squares problem with the single bound b >= 0, solved
    exactly; c is found on a grid and refined.
    """
    unit = min(min(fit.own.values) for fit in fits)

    def misfit(log_rate: float) -> tuple[float, Floats]:
        value, solution = _given_rate(fits, unit, math.exp(log_rate), prior)
        away = (log_rate - prior.log_rate) / PRIOR_RATE_SPREAD
        return value + 0.5 * away**2, solution

    grid = np.log(RATES)
    best = int(np.argmin([misfit(point)[0] for point in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    optimum = minimize_scalar(
        lambda point: misfit(point)[0], bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    log_rate = float(optimum.x)
    limit, gain, spread, slope, uneven = (float(value) for value in misfit(log_rate)[1])
    return TrainingLaw(unit, limit, gain, math.exp(log_rate), spread, slope, uneven)


def _given_rate(
    fits: Sequence[PilotFit], unit: float, rate: float, prior: Prior
) -> tuple[float, Floats]:
    """Return the penalised misfit and (a, b, alpha, beta, h) that minimise it for one c."""
    precision = np.array([0.0, 0.0, 0.0, PRIOR_SLOPE**-2, PRIOR_UNEVEN**-2])
    expected = np.array([0.0, 0.0, 0.0, prior.slope, prior.uneven])
    normal, target = np.diag(precision), precision * expected
    constant = float(precision @ expected**2)
    for fit in fits:
        short, rivals = fit.own.shortfall(rate, unit), fit.rivals.shortfall(rate, unit)
        design = np.array([[1.0, -short, 0.0, 0.0, rivals - short], [0.0, 0.0, 1.0, short, 0.0]])
        weight = fit.information + _LEAST_INFORMATION * np.eye(2)
        normal += design.T @ weight @ design
        target += design.T @ weight @ fit.estimate
        constant += float(fit.estimate @ weight @ fit.estimate)
    solution: Floats = np.asarray(np.linalg.solve(normal, target), dtype=np.float64)
    if solution[1] < 0:  # more training does not hurt: with one bound, the optimum lies on it
        free = [0, 2, 3, 4]
        solution = np.zeros(5)
        solution[free] = np.linalg.solve(normal[np.ix_(free, free)], target[free])
    value = 0.5 * (constant - 2 * target @ solution + solution @ normal @ solution)
    return float(value), solution


@dataclass(frozen=True)
class CurveError:
    r"""How far a learning curve may be off.

    Attributes
    ----------
    n_classes : int
        K, the classes of the pilots.
    law : TrainingLaw
        The curve.
    resampled : tuple of TrainingLaw
        Curves fitted without each of some groups of classes, the same groups at all sizes.
    priors : tuple of pairs of TrainingLaw
        Curves that follow if a parameter is expected a standard deviation less, or more.
    share : float
        Share of the variance over the groups that is not counted twice.
    """

    n_classes: int
    law: TrainingLaw
    resampled: tuple[TrainingLaw, ...]
    priors: tuple[tuple[TrainingLaw, TrainingLaw], ...]
    share: float = 1.0

    @classmethod
    def of(
        cls, fits: Sequence[PilotFit], steps: Floats, law: TrainingLaw, share: float = 1.0
    ) -> CurveError:
        """Fit the curves that other classes, and other expectations, would have given.

        `steps` has a row for each group of classes that is left out, a column for each fit, and the
        step of its estimate along the last axis.
        """
        resampled = tuple(
            fit_learning_curve([_at(fit, move) for fit, move in zip(fits, row, strict=True)])
            for row in steps
        )
        priors = tuple(
            (fit_learning_curve(fits, low), fit_learning_curve(fits, high))
            for low, high in PRIOR.moved()
        )
        return cls(fits[0].n_classes, law, resampled, priors, share)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the spread over the groups."""
        return len(self.resampled) - 1

    def __call__(self, k: Any, sizes: TrainingSizes, metric: Metric) -> Floats:
        """Return the standard deviation of the log odds of a metric among k classes."""
        sampled, priors = self.parts(k, sizes, metric)
        return np.sqrt(sampled + priors + self.shape(k) ** 2)

    def parts(self, k: Any, sizes: TrainingSizes, metric: Metric) -> tuple[Floats, Floats]:
        """Return the variance from the choice of classes, and that of what few sizes do not say."""
        odds = [_log_odds(law, k, sizes, metric) for law in self.resampled]
        sampled = self.share * self.freedom * np.var(odds, axis=0)  # the jackknife over groups
        gaps = [
            (_log_odds(high, k, sizes, metric) - _log_odds(low, k, sizes, metric)) / 2
            for low, high in self.priors
        ]
        return np.asarray(sampled), np.asarray(np.square(gaps).sum(axis=0))

    def shape(self, k: Any) -> Floats:
        """Return the deviation from the shape of the curve beyond K, as learned for the method."""
        reach = np.log(np.maximum(validation.class_counts(k) / self.n_classes, 1.0))
        return np.asarray(MODEL.scale * reach**MODEL.power)


def _at(fit: PilotFit, move: Floats) -> PilotFit:
    return PilotFit(fit.own, fit.rivals, fit.n_classes, fit.estimate + move, fit.information)


def _log_odds(law: TrainingLaw, k: Any, sizes: TrainingSizes, metric: Metric) -> Floats:
    return np.asarray(logit(np.clip(law.mixed_value(k, sizes, metric), _EDGE, 1 - _EDGE)))
