"""How the law of favorability changes with training size: a power law with an asymptote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr

from headcount import arrays
from headcount.estimators.likelihood import loss_likelihood
from headcount.estimators.probit_normal import ProbitNormal
from headcount.favorability import Favorability
from headcount.observed import Observed
from headcount.pilot import Pilot
from headcount.theory import probit_normal_law

Floats = NDArray[np.float64]

PRIOR_RATE, PRIOR_RATE_SPREAD = 0.7, 0.5  # of c: its median, and the deviation of log c
PRIOR_SLOPE = 0.3  # deviation of beta, the change of log tau from the least size to no limit
RATES = np.geomspace(0.1, 3.0, 121)
_STEP = 1e-4  # of numerical derivatives
_MOST_LOG = 20.0  # keeps forecasts for hardly any training from overflowing
_LEAST_INFORMATION = 1e-6  # keeps the equations solvable where a pilot says nothing


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
    """

    unit: float
    limit: float
    gain: float
    rate: float
    log_spread: float
    log_spread_gain: float

    def at(self, training_size: float) -> Favorability:
        """Return the law of favorability at one training size, which may be infinite."""
        below = -self.rate * (math.log(training_size) - math.log(self.unit))
        short = math.exp(min(below, _MOST_LOG))
        log_spread = min(self.log_spread + self.log_spread_gain * short, _MOST_LOG)
        return probit_normal_law(self.limit - self.gain * short, math.exp(log_spread))

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Return the expected accuracy among k classes; k and training size broadcast."""
        counts, sizes = np.broadcast_arrays(
            arrays.class_counts(k), np.asarray(training_size, float)
        )
        values = np.empty(counts.shape)
        for size in np.unique(sizes):
            values[sizes == size] = self.at(float(size)).accuracy(counts[sizes == size])
        return values


@dataclass(frozen=True)
class PilotFit:
    """Probit mean and log spread of one pilot, and how well it knows them.

    Attributes
    ----------
    training_size : float
        Where the pilot was measured.
    n_classes : int
        Classes of the pilot.
    estimate : ndarray of shape (2,)
        mu and log tau.
    information : ndarray of shape (2, 2)
        Fisher information about them, the prior of `ProbitNormal` included.
    """

    training_size: float
    n_classes: int
    estimate: Floats
    information: Floats

    @classmethod
    def of(cls, training_size: float, pilot: Pilot) -> PilotFit:
        """Fit one pilot."""
        method = ProbitNormal()
        method.fit(pilot)
        estimate = np.array([method.mu_, math.log(method.tau_)])
        information = _information(pilot, estimate) + np.diag([0.0, method.prior_classes])
        return cls(training_size, pilot.n_classes, estimate, information)


def _information(pilot: Pilot, estimate: Floats) -> Floats:
    """Sum over effective classes of the products of log-likelihood slopes in mu and log tau."""
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
    return np.asarray((slopes * weights[:, None]).T @ slopes)


def fit_learning_curve(fits: Sequence[PilotFit]) -> TrainingLaw:
    """Fit the five parameters of a `TrainingLaw` to at least two sizes, the least one first.

    Given c the others are a weighted least-squares problem with the single bound b >= 0, solved
    exactly; c is found on a grid and refined.
    """
    unit = fits[0].training_size

    def misfit(log_rate: float) -> tuple[float, Floats]:
        value, solution = _given_rate(fits, unit, math.exp(log_rate))
        prior = (log_rate - math.log(PRIOR_RATE)) / PRIOR_RATE_SPREAD
        return value + 0.5 * prior**2, solution

    grid = np.log(RATES)
    best = int(np.argmin([misfit(point)[0] for point in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda point: misfit(point)[0], bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    log_rate = float(found.x)
    limit, gain, spread, slope = (float(value) for value in misfit(log_rate)[1])
    return TrainingLaw(unit, limit, gain, math.exp(log_rate), spread, slope)


def _given_rate(fits: Sequence[PilotFit], unit: float, rate: float) -> tuple[float, Floats]:
    """Return the penalised misfit and (a, b, alpha, beta) that minimise it for one c."""
    normal = np.diag([0.0, 0.0, 0.0, PRIOR_SLOPE**-2])
    target, constant = np.zeros(4), 0.0
    for fit in fits:
        short = (fit.training_size / unit) ** -rate
        design = np.array([[1.0, -short, 0.0, 0.0], [0.0, 0.0, 1.0, short]])
        weight = fit.information + _LEAST_INFORMATION * np.eye(2)
        normal += design.T @ weight @ design
        target += design.T @ weight @ fit.estimate
        constant += float(fit.estimate @ weight @ fit.estimate)
    solution: Floats = np.asarray(np.linalg.solve(normal, target), dtype=np.float64)
    if solution[1] < 0:  # more training does not hurt: with one bound, the optimum lies on it
        kept = [0, 2, 3]
        solution = np.zeros(4)
        solution[kept] = np.linalg.solve(normal[np.ix_(kept, kept)], target[kept])
    value = 0.5 * (constant - 2 * target @ solution + solution @ normal @ solution)
    return float(value), solution


@dataclass(frozen=True)
class TrainingBacktest:
    """The largest training size, forecast from the smaller ones and compared with what it gave.

    Attributes
    ----------
    training_size : float
        The size left out.
    used : tuple of float
        The sizes it was forecast from.
    classes : tuple of int
        Numbers of classes up to the pilot's.
    observed, forecast : tuple of float
        Accuracy at each, as measured and as forecast.
    unchanged : tuple of float
        Accuracy measured at the largest size used: what to expect if more training did nothing.
    """

    training_size: float
    used: tuple[float, ...]
    classes: tuple[int, ...]
    observed: tuple[float, ...]
    forecast: tuple[float, ...]
    unchanged: tuple[float, ...]

    @property
    def errors(self) -> Floats:
        """Forecast minus observed accuracy."""
        return np.subtract(self.forecast, self.observed, dtype=np.float64)

    @property
    def worst(self) -> float:
        """Largest error in size."""
        return float(np.abs(self.errors).max())


def backtest_largest(fits: list[PilotFit], curves: Mapping[float, Observed]) -> TrainingBacktest:
    """Forecast the largest size from the smaller ones."""
    *used, last = fits
    k = last.n_classes
    classes = [m * 10**e for e in range(13) for m in (1, 2, 5)]
    classes = [count for count in classes if 2 <= count < k] + [k]
    return TrainingBacktest(
        training_size=last.training_size,
        used=tuple(fit.training_size for fit in used),
        classes=tuple(classes),
        observed=tuple(curves[last.training_size].accuracy(classes).tolist()),
        forecast=tuple(fit_learning_curve(used).accuracy(classes, last.training_size).tolist()),
        unchanged=tuple(curves[used[-1].training_size].accuracy(classes).tolist()),
    )
