"""More training data: a metric forecast over numbers of classes and training sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr

from headcount.checks import GAP, Check, finding
from headcount.curves.curve import FORECAST, OBSERVED
from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed, observe
from headcount.errors import (
    DataError,
    ExtrapolationWarning,
    ParameterError,
    listening,
    warn,
)
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.shared.likelihood import loss_likelihood
from headcount.metrics import ACCURACY, Metric, resolve_metric
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import probit_normal_law
from headcount.support import validation
from headcount.support.grids import asked_classes, round_numbers, warn_if_far
from headcount.support.output import as_frame, as_html
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import counted, points, share_of

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

    def value(self, k: Any, training_size: Any, metric: Metric = ACCURACY) -> Floats:
        """Return what is expected of a metric among k classes; k and training size broadcast."""
        counts, sizes = np.broadcast_arrays(
            validation.class_counts(k), np.asarray(training_size, float)
        )
        values = np.empty(counts.shape)
        for size in np.unique(sizes):
            values[sizes == size] = self.at(float(size)).value(counts[sizes == size], metric)
        return values

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Return the expected accuracy among k classes."""
        return self.value(k, training_size)


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
    optimum = minimize_scalar(
        lambda point: misfit(point)[0], bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    log_rate = float(optimum.x)
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
        free = [0, 2, 3]
        solution = np.zeros(4)
        solution[free] = np.linalg.solve(normal[np.ix_(free, free)], target[free])
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
        The metric at each, as measured and as forecast.
    unchanged : tuple of float
        What was measured at the largest size used: what to expect if more training did nothing.
    """

    training_size: float
    used: tuple[float, ...]
    classes: tuple[int, ...]
    observed: tuple[float, ...]
    forecast: tuple[float, ...]
    unchanged: tuple[float, ...]

    @property
    def errors(self) -> Floats:
        """Forecast minus observed value."""
        return np.subtract(self.forecast, self.observed, dtype=np.float64)

    @property
    def worst(self) -> float:
        """Largest error in size."""
        return float(np.abs(self.errors).max())


def backtest_largest(
    fits: list[PilotFit], curves: Mapping[float, Observed], metric: Metric
) -> TrainingBacktest:
    """Forecast the largest size from the smaller ones."""
    *used, last = fits
    k = last.n_classes
    classes = [*round_numbers(k - 1)[1:], k]
    law = fit_learning_curve(used)
    return TrainingBacktest(
        training_size=last.training_size,
        used=tuple(fit.training_size for fit in used),
        classes=tuple(classes),
        observed=tuple(curves[last.training_size].value(classes, metric).tolist()),
        forecast=tuple(law.value(classes, last.training_size, metric).tolist()),
        unchanged=tuple(curves[used[-1].training_size].value(classes, metric).tolist()),
    )


COLUMNS = ("training_size", "classes", "value", "region")
LEAST_SIZES = 3
FAR_TRAINING = 10
DOUBTFUL = 0.05  # error of the back-test that is worth a finding


def forecast_training(
    pilots: Mapping[Any, Pilot],
    classes: Any,
    training_size: Any,
    *,
    metric: str | Metric = ACCURACY,
) -> TrainingForecast:
    r"""Forecast accuracy, or another metric, for more classes and more training data at once.

    Favorability is taken to be normal on the probit scale at every training size r, and its mean
    and spread to follow a learning curve, a power law with an asymptote:

    .. math:: U = \Phi(\mu(r) + \tau(r) Z), \quad \mu(r) = a - b\,(r / r_0)^{-c}, \quad
              \log \tau(r) = \alpha + \beta\,(r / r_0)^{-c}, \quad b \ge 0,

    with :math:`r_0` the smallest size measured. Mean and spread are first fitted to each pilot by
    maximum likelihood (`ProbitNormal`). Then the five parameters are fitted to these by least
    squares, weighted with each pilot's Fisher information. Few sizes say little about c and
    :math:`\beta`, so there are normal priors: :math:`\log c` around log 0.7 with deviation 0.5, and
    :math:`\beta` around 0 with deviation 0.3. Both were chosen on simulations of round classes.

    Parameters
    ----------
    pilots : mapping from training size to Pilot
        Pilots of the same classes, each with its training size: the training points for each class
        (in any unit, since only ratios matter). At least three sizes.
    classes : int or sequence of int
        Numbers of classes asked about.
    training_size : float or sequence of float
        Training sizes asked about, in the unit of the mapping's keys.
    metric : str or Metric
        What to forecast: "accuracy", or "top-5" and the like.

    Returns
    -------
    TrainingForecast
        It holds a back-test as well: the largest size, forecast from the smaller ones.

    Notes
    -----
    The table shows root mean square errors at training size 32 and 200, 1,000 and 5,000 classes,
    forecast from sizes 1, 2, 4 and 8 of 200 round classes with 5 probes each (30 pilots for each
    line, seeds 1000 to 1029). The last columns are the errors if you take the pilot at size 8 as it
    is:

    ======================================  =====================  =====================
    classes                                 forecast               size 8 as it is
    ======================================  =====================  =====================
    10 dimensions, sigma 0.55, mean         0.012  0.023  0.032    0.034  0.053  0.063
    10 dimensions, sigma 0.80, mean         0.022  0.023  0.018    0.058  0.055  0.040
    40 dimensions, sigma 1.20, mean         0.006  0.014  0.026    0.047  0.091  0.134
    10 dimensions, sigma 0.55, nearest      0.028  0.032  0.028    0.052  0.062  0.055
    ======================================  =====================  =====================

    Slow learning (the nearest of many points) is underestimated by about 0.02.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*,
    discussion, which leaves training size open and points to the learning curves of Cortes et al.
    (1994).

    Examples
    --------
    >>> import headcount
    >>> from headcount.simulate import isotropic_gaussian
    >>> from headcount.questions.training import forecast_training
    >>> world = {"represent": "mean", "probes_per_class": 5, "random_state": 1}
    >>> pilots = {r: isotropic_gaussian(200, n_train=r, **world).pilot for r in (1, 2, 4, 8)}
    >>> result = forecast_training(pilots, classes=[200, 2000], training_size=32)
    >>> result.accuracy([200, 2000], 32).round(2).tolist()
    [0.88, 0.65]
    >>> headcount.theory.IsotropicGaussian(10, 0.55, 32, "mean").accuracy([200, 2000]).round(2)
    array([0.88, 0.63])
    """
    asked, sizes = asked_classes(classes), np.unique(_training_sizes(training_size))
    if sizes.size == 0:
        raise ParameterError("give at least one training size.")
    measured, measure = _checked_pilots(pilots), resolve_metric(metric)
    with listening() as warnings:
        fits = [PilotFit.of(size, pilot) for size, pilot in measured.items()]
        warn_if_far(next(iter(measured.values())).n_classes, asked[-1])
        _warn_if_far_training(measured, sizes)
    curves = {size: observe(pilot) for size, pilot in measured.items()}
    return TrainingForecast(
        law=fit_learning_curve(fits),
        observed=curves,
        classes=asked,
        training_sizes=tuple(_plain(size) for size in sizes),
        n_probes={size: pilot.n_probes for size, pilot in measured.items()},
        backtest=backtest_largest(fits, curves, measure),
        warnings=tuple(warnings),
        metric=measure,
    )


@dataclass(frozen=True, repr=False)
class TrainingForecast:
    """A metric over numbers of classes and training sizes; made by `forecast_training`.

    Attributes
    ----------
    law : TrainingLaw
        The fitted model.
    observed : dict
        What each pilot itself says, by training size.
    classes, training_sizes : tuple
        Numbers of classes, and training sizes, asked about.
    n_probes : dict
        Probes of each pilot, by training size.
    backtest : TrainingBacktest
        How well the largest size could be told from the smaller ones.
    warnings : tuple of str
        Warnings given while it was made.
    metric : Metric
        What is forecast.
    """

    law: TrainingLaw
    observed: dict[float, Observed]
    classes: tuple[int, ...]
    training_sizes: tuple[float, ...]
    n_probes: dict[float, int]
    backtest: TrainingBacktest
    warnings: tuple[str, ...] = ()
    metric: Metric = ACCURACY

    @property
    def n_classes(self) -> int:
        """Classes of the pilots."""
        return next(iter(self.observed.values())).n_classes

    def value(self, k: Any, training_size: Any) -> Floats:
        """Return the metric among k classes: observed where measured, else from the fitted law.

        The pilots' own training sizes are measured, up to their number of classes. `k` and
        `training_size` broadcast.
        """
        return self._value(k, training_size, self.metric)

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Return the accuracy among k classes, whatever the metric of the forecast is."""
        return self._value(k, training_size, ACCURACY)

    def limit(self, k: Any) -> Floats:
        """Return the metric among k classes that no amount of training would pass."""
        return self.law.value(k, math.inf, self.metric)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What to know before believing it."""
        checks = (self._gap(), self._no_gain(), self._failed_backtest())
        return tuple(check for check in checks if check is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers, the model and the back-test as plain data."""
        return {
            "schema": SCHEMA,
            "metric": self.metric.name,
            "n_classes": self.n_classes,
            "n_probes": [
                {"training_size": size, "probes": count} for size, count in self.n_probes.items()
            ],
            "model": asdict(self.law),
            "values": [dict(zip(COLUMNS, row, strict=True)) for row in self._rows()],
            "backtest": asdict(self.backtest),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return the metric at all sizes, measured and asked about, as a pandas DataFrame."""
        return as_frame(dict(zip(COLUMNS, zip(*self._rows(), strict=True), strict=True)))

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        lines = [
            f"At {counted(k, 'class')} and training size {_written(size)}: "
            + self.metric.write(float(self.value(k, size)))
            + (" (measured)." if self._is_measured(k, size) else ".")
            for size in self.training_sizes
            for k in self.classes
        ]
        lines += [
            "No amount of training is forecast to pass "
            f"{self.metric.write(float(self.limit(k)))} "
            f"at {counted(k, 'class')}."
            for k in self.classes[-1:]
        ]
        test = self.backtest
        lines.append(
            f"Back-test: size {_written(test.training_size)} forecast from smaller ones was off by "
            f"at most {points(test.worst)} among up to {counted(self.n_classes, 'class')}."
        )
        return lines

    def __repr__(self) -> str:
        sizes = ", ".join(_written(size) for size in self.observed)
        title = (
            f"Forecast of {self.metric.label} from {self.n_classes:,} classes at training sizes "
            f"{sizes}"
        )
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join([title, *self.sentences(), *notes])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def _value(self, k: Any, training_size: Any, metric: Metric) -> Floats:
        counts, sizes = np.broadcast_arrays(
            validation.class_counts(k), _training_sizes(training_size)
        )
        values = self.law.value(counts, sizes, metric)
        for size, curve in self.observed.items():
            known = (sizes == size) & (counts <= self.n_classes)
            if known.any():
                values[known] = curve.value(counts[known], metric)
        return values

    def _is_measured(self, k: int, size: float) -> bool:
        return size in self.observed and k <= self.n_classes

    def _rows(self) -> list[tuple[float, int, float, str]]:
        counts = sorted({self.n_classes, *self.classes})
        rows = []
        for size in sorted({*self.observed, *self.training_sizes}):
            for k, value in zip(counts, self.value(counts, size), strict=True):
                region = OBSERVED if self._is_measured(k, size) else FORECAST
                rows.append((size, k, float(value), region))
        return rows

    def _gap(self) -> Check | None:
        k, metric = self.n_classes, self.metric
        gaps = {}
        for size, curve in self.observed.items():
            lower, upper = (float(bound) for bound in curve.bounds(k, metric))
            fitted = float(self.law.value(k, size, metric))
            gaps[size] = max(lower - fitted, fitted - upper, 0.0)
        size = max(gaps, key=lambda r: gaps[r])
        if gaps[size] <= GAP:
            return None
        at_fit, measured = self.law.value(k, size, metric), self.observed[size].value(k, metric)
        return finding(
            "HC010",
            f"at {k:,} classes and training size {_written(size)} the fitted learning curve gives "
            f"{metric.write(float(at_fit))} where {metric.write(float(measured))} was measured, so "
            "the forecast is doubtful.",
        )

    def _no_gain(self) -> Check | None:
        if self.law.gain > 0:
            return None
        return finding(
            "HC017",
            f"{self.metric.label} does not grow with training size in these pilots; check that the "
            "sizes belong to the pilots they are given with.",
        )

    def _failed_backtest(self) -> Check | None:
        if self.backtest.worst <= DOUBTFUL:
            return None
        return finding(
            "HC018",
            f"the largest size forecast from the smaller ones was off by "
            f"{100 * self.backtest.worst:.0f} points; expect as much of forecasts for larger ones.",
        )


def _checked_pilots(pilots: Mapping[Any, Pilot]) -> dict[float, Pilot]:
    """Return the pilots by ascending training size, refused unless they fit together."""
    if not isinstance(pilots, Mapping) or not all(isinstance(p, Pilot) for p in pilots.values()):
        raise ParameterError("pilots must map each training size to the Pilot measured there.")
    if len(pilots) < LEAST_SIZES:
        raise DataError(
            f"{counted(len(pilots), 'training size')} cannot show how accuracy grows with "
            f"training; measure the pilot at {LEAST_SIZES} or more."
        )
    sizes = _training_sizes(list(pilots))
    by_size = {_plain(r): p for r, p in zip(sizes, pilots.values(), strict=True)}
    if len(by_size) < len(pilots):
        raise DataError("two pilots have the same training size; give every size once.")
    ordered = {size: by_size[size] for size in sorted(by_size)}
    first, *others = ordered.values()
    for other in others:
        _refuse_unlike(first, other)
    return ordered


def _refuse_unlike(first: Pilot, other: Pilot) -> None:
    if first.n_classes != other.n_classes:
        raise DataError(
            f"the pilots have {first.n_classes:,} and {other.n_classes:,} classes; measure all "
            "training sizes on the same classes."
        )
    # A pilot of counts knows no names, or only those of classes with probes.
    named = len(first.class_names) == len(other.class_names) == first.n_classes
    mine, theirs = (set(pilot.class_names.astype(str).tolist()) for pilot in (first, other))
    if named and mine != theirs:
        raise DataError(
            f"{share_of(len(mine - theirs), first.n_classes, 'classes', 'differ')} between the "
            f"pilots (first: {min(mine - theirs)}); measure all training sizes on the same classes."
        )
    refuse_other_settings(first, other)


def refuse_other_settings(first: Pilot, other: Pilot) -> None:
    """Refuse two pilots whose values do not mean the same."""
    for setting in ("average", "tie_rule"):
        if getattr(first, setting) != getattr(other, setting):
            raise DataError(f"the pilots differ in {setting}; make them all with the same.")


def _training_sizes(values: Any) -> Floats:
    try:
        sizes = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        sizes = np.array(np.nan)
    if not ((sizes > 0) & np.isfinite(sizes)).all():
        raise ParameterError(f"a training size must be a number above 0, but is {values!r}.")
    return sizes


def _plain(size: float) -> float:
    """Return a whole size as an integer, so that it reads well."""
    return int(size) if size == int(size) else float(size)


def _written(size: float) -> str:
    """Return a size as text: whole ones in full, others to six digits."""
    return f"{int(size):,}" if size == int(size) and size < 1e15 else f"{size:g}"


def _warn_if_far_training(pilots: dict[float, Pilot], sizes: Floats) -> None:
    least, most = min(pilots), max(pilots)
    if sizes.max() > FAR_TRAINING * most or sizes.min() < least / FAR_TRAINING:
        beyond = sizes.max() if sizes.max() > FAR_TRAINING * most else sizes.min()
        warn(
            f"training size {_written(beyond)} lies far from those measured ({_written(least)} to "
            f"{_written(most)}); a pilot nearer to it is needed to be sure.",
            ExtrapolationWarning,
        )
