"""More training data: a metric forecast over numbers of classes and training sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from headcount.checks import GAP, Check, finding
from headcount.curves.curve import FORECAST, OBSERVED
from headcount.curves.observed import Observed, observe
from headcount.errors import (
    DataError,
    ExtrapolationWarning,
    ParameterError,
    UnsupportedError,
    listening,
    silence,
    warn,
)
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.pilot.pilot import Pilot
from headcount.questions.learning_curve import (
    CurveError,
    PilotFit,
    TrainingLaw,
    TrainingSizes,
    fit_learning_curve,
)
from headcount.support import validation
from headcount.support.grids import asked_classes, round_numbers, warn_if_far
from headcount.support.output import as_frame, as_html
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.validation import confidence_level
from headcount.support.words import counted, percent, points, share_of
from headcount.support.workers import doing
from headcount.uncertainty.backtest import LEAST_HALF
from headcount.uncertainty.intervals import FREEDOM
from headcount.uncertainty.jackknife import MetricJackknife, refuse_unlisted
from headcount.uncertainty.measured import log_odds_error, standard_error
from headcount.uncertainty.refitted import stepped
from headcount.uncertainty.resampling import SharedRivals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUPS = 30  # of classes, each of which is left out in turn
MOST_GROUPS = 4  # into which the classes of one pilot are divided by their training sizes
INSIDE = 12  # numbers of classes up to K at which each class is left out in turn
EDGE = 1e-9


@dataclass(frozen=True)
class TrainedPilot:
    """A pilot and the training sizes of its classes.

    Attributes
    ----------
    pilot : Pilot
        What was measured.
    sizes : TrainingSizes
        Of all its classes.
    by_class : ndarray
        Of each class, in the order of `Pilot.class_names`; one size if all have the same.
    """

    pilot: Pilot
    sizes: TrainingSizes
    by_class: Floats

    @property
    def key(self) -> float | TrainingSizes:
        """The training size, or the sizes if they are unequal."""
        return _key(self.sizes)

    def groups(self) -> list[TrainingSizes]:
        """Return classes of about the same training size, at most four groups of them."""
        values = np.array(self.sizes.values)
        if len(values) <= MOST_GROUPS:
            return [TrainingSizes.equal(float(value)) for value in values]
        ends = np.quantile(self.by_class, np.linspace(0, 1, MOST_GROUPS + 1)[1:-1])
        members = np.searchsorted(ends, self.by_class)
        return [TrainingSizes.of(self.by_class[members == group]) for group in np.unique(members)]

    def fits(self) -> list[PilotFit]:
        """Fit the probes of each group, whose rivals are all classes."""
        return [
            PilotFit.of(part, own, self.sizes)
            for own in self.groups()
            if (part := self.probes_of(self.pilot, own)) is not None
        ]

    def probes_of(self, pilot: Pilot, own: TrainingSizes) -> Pilot | None:
        """Return a part of the pilot with the probes of classes of some training sizes alone."""
        if len(self.sizes.values) == 1:
            return pilot
        names = self.pilot.class_names[np.isin(self.by_class, own.values)]
        assert pilot.labels is not None  # unequal sizes are refused without them
        rows = np.isin(pilot.class_names[pilot.labels], names)
        return pilot.keep_probes(rows) if rows.any() else None


@dataclass(frozen=True)
class TrainingBacktest:
    """The largest training size, forecast from the smaller ones and compared with what it gave.

    Attributes
    ----------
    training_size : float
        The size left out.
    used : tuple of float
        The sizes it was forecast from. Of unequal sizes, the mean.
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
    trained: Sequence[TrainedPilot], fits: Sequence[Sequence[PilotFit]], metric: Metric
) -> TrainingBacktest | None:
    """Forecast the pilot of the largest size from the others; None where these are too few."""
    *used, last = trained
    smaller = [fit for of_pilot in fits[:-1] for fit in of_pilot]
    if len({fit.own for fit in smaller}) < LEAST_SIZES - 1:
        return None
    k = last.pilot.n_classes
    classes = [*round_numbers(k - 1)[1:], k]
    law = fit_learning_curve(smaller)
    return TrainingBacktest(
        training_size=_plain(last.sizes.mean),
        used=tuple(_plain(each.sizes.mean) for each in used),
        classes=tuple(classes),
        observed=tuple(observe(last.pilot).value(classes, metric).tolist()),
        forecast=tuple(law.mixed_value(classes, last.sizes, metric).tolist()),
        unchanged=tuple(observe(used[-1].pilot).value(classes, metric).tolist()),
    )


COLUMNS = ("training_size", "unequal", "classes", "value", "lower", "upper", "region")
LEAST_SIZES = 3
FAR_TRAINING = 10
DOUBTFUL = 0.05  # error of the back-test that is worth a finding


def forecast_training(
    pilots: Mapping[Any, Pilot] | Sequence[tuple[Any, Pilot]],
    classes: Any,
    training_size: Any,
    *,
    metric: str | Metric = ACCURACY,
    confidence: float = 0.9,
    intervals: bool = True,
    random_state: int = 0,
) -> TrainingForecast:
    r"""Forecast accuracy, or another metric, for more classes and more training data at once.

    Favorability is taken to be normal on the probit scale at every training size r, and its mean
    and spread to follow a learning curve, a power law with an asymptote:

    .. math:: U = \Phi(\mu(r) + \tau(r) Z), \quad \mu(r) = a - b\,(r / r_0)^{-c}, \quad
              \log \tau(r) = \alpha + \beta\,(r / r_0)^{-c}, \quad b \ge 0,

    with :math:`r_0` the smallest size measured. Mean and spread are first fitted to each pilot by
    maximum likelihood (`ProbitNormal`). Then the parameters are fitted to these by least
    squares, weighted with each pilot's Fisher information. Few sizes say little about c and
    :math:`\beta`, so there are normal priors: :math:`\log c` around log 0.7 with deviation 0.5, and
    :math:`\beta` around 0 with deviation 0.3. Both were chosen on simulations of round classes.

    **Unequal sizes.** Where the classes of one set differ in training, a class gains by its own
    training points, and by those of its rivals as well or less:

    .. math:: \mu = a - b\,s(r) - h\,(s(r) - \bar s), \qquad s(r) = (r / r_0)^{-c} ,

    with r the class's own size, :math:`\bar s` the mean of s over all classes of the set, and h
    around 0 with deviation 0.5. The classes of such a pilot are divided by their sizes into four
    groups at most, each of which is fitted. The metric of a set is the mean over its classes.

    Parameters
    ----------
    pilots : mapping from training size to Pilot, or sequence of (sizes, Pilot)
        Pilots of the same classes, each with its training size: the training points for each class
        (in any unit, since only ratios matter). Unequal sizes are given as a pair: a mapping from
        each class name to its size, or one size for each of `Pilot.class_names`. At least three
        different sizes.
    classes : int or sequence of int
        Numbers of classes asked about.
    training_size : float, mapping or sequence of these
        Training sizes asked about, in the same unit. A mapping from size to share of the classes,
        such as ``{5: 0.8, 100: 0.2}``, asks about a set of unequal sizes.
    metric : str or Metric
        What to forecast: "accuracy", or "top-5" and the like.
    confidence : float
        Level of the intervals.
    intervals : bool
        Whether to leave out groups of classes, which takes seconds.
    random_state : int
        Seed of the groups.

    Returns
    -------
    TrainingForecast
        It holds a back-test as well: the largest size, forecast from the smaller ones.

    Notes
    -----
    **Intervals** are for the expected value. Errors of log odds have three parts: the choice of
    classes, by a jackknife that leaves out each of 30 groups of them in turn, at all sizes alike
    (less what it counts twice, as found by leaving out pairs for the pilots' own accuracy);
    what few sizes do not say, from curves that follow if log c, :math:`\beta` and h are expected a
    standard deviation higher or lower; and past K the shape of the law, as learned for
    `ProbitNormal`.
    That learning follows a power law is taken for granted. They need pilots that say who beats
    whom. In simulations they were mostly too wide: 1.1 to 2.8 times the spread of errors. They held
    the truth in all 25 sets of 100 round classes whose representation is a mean, and in 14 (at
    100 classes) to 18 (at 5,000) of 18 where it is the nearest point and learning is slow.

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
    asked, sizes = asked_classes(classes), _asked_sizes(training_size)
    level = confidence_level(confidence)
    trained, measure = _checked_pilots(pilots), resolve_share(metric)
    with listening() as warnings:
        fits = [each.fits() for each in trained]
        warn_if_far(trained[0].pilot.n_classes, asked[-1])
        _warn_if_far_training(trained, sizes)
    every = [fit for of_pilot in fits for fit in of_pilot]
    law = fit_learning_curve(every)
    steps = _steps(trained, fits, random_state) if intervals else "they were not asked for"
    error, measured = None, {}
    if not isinstance(steps, str):
        measured = {each.key: _measured(each.pilot, measure) for each in trained}
        share = float(np.mean([_counted_once(each.pilot, measure) for each in trained]))
        error = CurveError.of(every, steps, law, share)
    return TrainingForecast(
        law=law,
        observed={each.key: observe(each.pilot) for each in trained},
        classes=asked,
        training_sizes=sizes,
        n_probes={each.key: each.pilot.n_probes for each in trained},
        backtest=backtest_largest(trained, fits, measure),
        warnings=tuple(warnings),
        metric=measure,
        confidence=level,
        error=error,
        measured=measured,
        why_no_intervals=steps if isinstance(steps, str) else "",
    )


@dataclass(frozen=True, repr=False)
class TrainingForecast:
    """A metric over numbers of classes and training sizes; made by `forecast_training`.

    Attributes
    ----------
    law : TrainingLaw
        The fitted model.
    observed : dict
        What each pilot itself says, by training size, or `TrainingSizes` if these are unequal.
    classes, training_sizes : tuple
        Numbers of classes, and training sizes, asked about.
    n_probes : dict
        Probes of each pilot, as `observed`.
    backtest : TrainingBacktest or None
        How well the largest size could be told from the smaller ones; None where these are fewer
        than two.
    warnings : tuple of str
        Warnings given while it was made.
    metric : Metric
        What is forecast.
    confidence : float
        Level of the intervals.
    error : CurveError or None
        How far the model may be off; None where that is not known.
    measured : dict
        Numbers of classes and the standard errors of log odds there of each pilot, as `observed`.
    why_no_intervals : str
        Why there are none.
    """

    law: TrainingLaw
    observed: dict[Any, Observed]
    classes: tuple[int, ...]
    training_sizes: tuple[Any, ...]
    n_probes: dict[Any, int]
    backtest: TrainingBacktest | None
    warnings: tuple[str, ...] = ()
    metric: Metric = ACCURACY
    confidence: float = 0.9
    error: CurveError | None = None
    measured: Mapping[Any, tuple[Ints, Floats]] = field(default_factory=dict)
    why_no_intervals: str = ""

    @property
    def n_classes(self) -> int:
        """Classes of the pilots."""
        return next(iter(self.observed.values())).n_classes

    def value(self, k: Any, training_size: Any) -> Floats:
        """Return the metric among k classes: observed where measured, else from the fitted law.

        The pilots' own training sizes are measured, up to their number of classes. `k` and
        `training_size` broadcast. A mapping from size to share asks about unequal sizes.
        """
        return self._value(k, training_size, self.metric)

    def accuracy(self, k: Any, training_size: Any) -> Floats:
        """Return the accuracy among k classes, whatever the metric of the forecast is."""
        return self._value(k, training_size, ACCURACY)

    def limit(self, k: Any) -> Floats:
        """Return the metric among k classes that no amount of training would pass."""
        return self.law.value(k, math.inf, self.metric)

    def interval(self, k: Any, training_size: Any) -> tuple[Floats, Floats] | None:
        """Return limits of the expected metric among k classes, as `value` takes them.

        None where nothing is known of the error.
        """
        if self.error is None:
            return None
        if isinstance(training_size, Mapping | TrainingSizes):
            return self._limits(validation.class_counts(k), _sizes(training_size))
        counts, sizes = np.broadcast_arrays(
            validation.class_counts(k), _training_sizes(training_size)
        )
        limits = np.empty((2, *counts.shape))
        for size in np.unique(sizes):
            here = sizes == size
            limits[:, here] = self._limits(counts[here], TrainingSizes.equal(float(size)))
        return limits[0], limits[1]

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
            "confidence": self.confidence,
            "n_probes": [
                {"training_size": _mean(size), "probes": count}
                for size, count in self.n_probes.items()
            ],
            "model": asdict(self.law),
            "values": [dict(zip(COLUMNS, row, strict=True)) for row in self._rows()],
            "backtest": None if self.backtest is None else asdict(self.backtest),
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
            f"{self.metric.write(float(self.value(k, size)))}{self._aside(k, size)}."
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
        if test is not None:
            lines.append(
                f"Back-test: size {_written(test.training_size)} forecast from smaller ones was "
                f"off by at most {points(test.worst)} among up to "
                f"{counted(self.n_classes, 'class')}."
            )
        if self.error is None:
            lines.append(f"No intervals: {self.why_no_intervals}.")
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
        if isinstance(training_size, Mapping | TrainingSizes):
            return self._value_of(validation.class_counts(k), _sizes(training_size), metric)
        counts, sizes = np.broadcast_arrays(
            validation.class_counts(k), _training_sizes(training_size)
        )
        values = np.empty(counts.shape)
        for size in np.unique(sizes):
            here = sizes == size
            values[here] = self._value_of(counts[here], TrainingSizes.equal(float(size)), metric)
        return values

    def _value_of(self, counts: Floats, sizes: TrainingSizes, metric: Metric) -> Floats:
        """Return the metric for one kind of set: observed where measured, else from the law."""
        values = self.law.mixed_value(counts, sizes, metric)
        curve = self.observed.get(_key(sizes))
        if curve is None:
            return values
        known = counts <= self.n_classes
        inside = curve.value(np.where(known, counts, 2), metric)
        return np.asarray(np.where(known, inside, values))

    def _limits(self, counts: Floats, sizes: TrainingSizes) -> tuple[Floats, Floats]:
        """Return limits that are symmetric where errors are: see `uncertainty.refitted`."""
        assert self.error is not None
        values = self._value_of(counts, sizes, self.metric)
        errors, half = self.error(counts, sizes, self.metric), np.full(counts.shape, EDGE)
        freedom = np.full(counts.shape, float(self.error.freedom))
        if _key(sizes) in self.measured:
            known = counts <= self.n_classes
            inside, measured = self.measured[_key(sizes)]
            errors = np.where(known, np.interp(np.log(counts), np.log(inside), measured), errors)
            freedom = np.where(known, max(self.n_classes - 1, FREEDOM), freedom)
            half = np.where(known, 0.5 / self.n_probes[_key(sizes)], half)
        middle = logit(np.clip(values, half, 1 - half))
        reach = stdtrit(freedom, (1 + self.confidence) / 2) * errors
        lower, upper = (expit(stepped(middle, side * reach)) for side in (-1, 1))
        # With every probe right (or wrong) nothing speaks against one (or nought).
        lower = np.where(values <= half, 0.0, np.minimum(lower, values))
        upper = np.where(values >= 1 - half, 1.0, np.maximum(upper, values))
        certain = counts <= self.metric.certain
        return np.where(certain, 1.0, lower), np.where(certain, 1.0, upper)

    def _aside(self, k: int, size: Any) -> str:
        """Return what is said of a value in brackets."""
        limits = self.interval(k, size)
        aside = ["measured"] if self._is_measured(k, size) else []
        if limits is not None:
            ends = self.metric.write_range(float(limits[0]), float(limits[1]))
            aside.append(f"{percent(self.confidence)} interval {ends}")
        return f" ({', '.join(aside)})" if aside else ""

    def _is_measured(self, k: int, size: Any) -> bool:
        return size in self.observed and k <= self.n_classes

    def _rows(self) -> list[tuple[Any, ...]]:
        counts = np.array(sorted({self.n_classes, *self.classes}))
        rows: list[tuple[Any, ...]] = []
        for size in sorted({*self.observed, *self.training_sizes}, key=_in_order):
            values, limits = self.value(counts, size), self.interval(counts, size)
            ends = [[None] * len(counts)] * 2 if limits is None else [e.tolist() for e in limits]
            for k, value, lower, upper in zip(counts.tolist(), values.tolist(), *ends, strict=True):
                region = OBSERVED if self._is_measured(k, size) else FORECAST
                unequal = isinstance(size, TrainingSizes)
                rows.append((_mean(size), unequal, k, value, lower, upper, region))
        return rows

    def _gap(self) -> Check | None:
        k, metric = self.n_classes, self.metric
        gaps = {}
        for size, curve in self.observed.items():
            lower, upper = (float(bound) for bound in curve.bounds(k, metric))
            fitted = float(self.law.mixed_value(k, _sizes(size), metric))
            gaps[size] = max(lower - fitted, fitted - upper, 0.0)
        size = max(gaps, key=lambda r: gaps[r])
        if gaps[size] <= GAP:
            return None
        at_fit = self.law.mixed_value(k, _sizes(size), metric)
        measured = self.observed[size].value(k, metric)
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
        if self.backtest is None or self.backtest.worst <= DOUBTFUL:
            return None
        return finding(
            "HC018",
            f"the largest size forecast from the smaller ones was off by "
            f"{100 * self.backtest.worst:.0f} points; expect as much of forecasts for larger ones.",
        )


def _checked_pilots(pilots: Any) -> list[TrainedPilot]:
    """Return the pilots by ascending training size, refused unless they fit together."""
    pairs = list(pilots.items() if isinstance(pilots, Mapping) else _pairs(pilots))
    if not all(isinstance(pilot, Pilot) for _, pilot in pairs):
        raise ParameterError(
            "pilots must map each training size to the Pilot measured there, or be pairs of sizes "
            "and Pilot."
        )
    trained = sorted((_trained(*pair) for pair in pairs), key=lambda each: _in_order(each.sizes))
    if len({each.sizes for each in trained}) < len(trained):
        raise DataError("two pilots have the same training size; give every size once.")
    sizes = {group for each in trained for group in each.groups()}
    if len(sizes) < LEAST_SIZES:
        raise DataError(
            f"{counted(len(sizes), 'training size')} cannot show how accuracy grows with "
            f"training; measure the pilot at {LEAST_SIZES} or more."
        )
    for other in trained[1:]:
        _refuse_unlike(trained[0].pilot, other.pilot)
    return trained


def _pairs(pilots: Any) -> list[tuple[Any, Any]]:
    """Return pairs of sizes and pilot."""
    try:
        return [(sizes, pilot) for sizes, pilot in pilots]
    except (TypeError, ValueError):
        raise ParameterError(
            "pilots must map each training size to the Pilot measured there, or be pairs of sizes "
            "and Pilot."
        ) from None


def _trained(sizes: Any, pilot: Pilot) -> TrainedPilot:
    """Return a pilot with the training size of each of its classes."""
    names = pilot.class_names.tolist()
    if isinstance(sizes, Mapping):
        missing = [name for name in names if name not in sizes]
        if missing:
            raise DataError(
                f"{share_of(len(missing), len(names), 'classes', 'have')} no training size "
                f"(first: {missing[0]}); give one for each class."
            )
        sizes = [sizes[name] for name in names]
    by_class = np.atleast_1d(_training_sizes(sizes))
    if np.ndim(sizes) > 0 and (pilot.labels is None or len(names) < pilot.n_classes):
        raise DataError(
            "unequal training sizes need a pilot that names all its classes; make it from scores "
            "or embeddings."
        )
    if by_class.shape not in ((1,), (len(names),)):
        raise DataError(
            f"{counted(by_class.size, 'training size')} given for a pilot of "
            f"{counted(len(names), 'class')}; give one for each class, or one for all."
        )
    return TrainedPilot(pilot, TrainingSizes.of(by_class), by_class)


@doing("Leaving out groups of classes")
def _steps(
    trained: Sequence[TrainedPilot], fits: Sequence[Sequence[PilotFit]], random_state: int
) -> Floats | str:
    """Return the step of each fit (column) without each group (row), or why there are none."""
    n_classes = trained[0].pilot.n_classes
    seed = validation.whole_number(random_state, "random_state", 0)
    if n_classes // 2 < LEAST_HALF:
        return f"{counted(n_classes, 'class')} say too little about others"
    if not all(each.pilot.knows_rivals for each in trained):
        return "a pilot holds only counts, which do not say who beats whom"
    try:
        for each in trained:
            refuse_unlisted(each.pilot)
        whole = [SharedRivals(each.pilot).pilot for each in trained]
    except UnsupportedError as error:
        return str(error).removesuffix(".")
    names = np.random.default_rng(seed).permutation(np.sort(trained[0].pilot.class_names))
    parts = (np.delete(names, group) for group in np.array_split(np.arange(n_classes), GROUPS))
    with silence():
        rows = [
            np.concatenate(
                [
                    _steps_to(each, of_pilot, pilot.subset(part))
                    for each, of_pilot, pilot in zip(trained, fits, whole, strict=True)
                ]
            )
            for part in parts
            if len(part) < n_classes
        ]
    return np.array(rows)


def _steps_to(trained: TrainedPilot, fits: Sequence[PilotFit], half: Pilot) -> Floats:
    """Return the step of each fit to a part of the classes; none where that has no probe of it."""
    parts = [trained.probes_of(half, fit.own) for fit in fits]
    return np.array(
        [
            np.zeros(2) if part is None else fit.step(part)
            for fit, part in zip(fits, parts, strict=True)
        ]
    )


def _counted_once(pilot: Pilot, metric: Metric) -> float:
    """Return the share of a jackknife's variance that is left when pairs are left out, too.

    A jackknife counts twice what two classes make together, as true class and rival. By how much
    is known of what was measured just below K (`headcount.uncertainty.jackknife`).
    """
    excess = MetricJackknife(pilot, metric).excess(np.array([pilot.n_classes - 1]))
    return 1 / (1 + float(excess[0]))


def _measured(pilot: Pilot, metric: Metric) -> tuple[Ints, Floats]:
    """Return numbers of classes up to K, and the standard errors of what was measured there."""
    first = min(metric.certain + 1, pilot.n_classes)
    counts = np.unique(np.geomspace(first, pilot.n_classes, INSIDE).round().astype(np.int64))
    curve = observe(pilot)
    error, _ = standard_error(pilot, curve, counts, metric)
    return counts, log_odds_error(pilot, curve, counts, error, metric)


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


def _asked_sizes(training_size: Any) -> tuple[Any, ...]:
    """Return the training sizes asked about, ascending, those of unequal sets by their mean."""
    several = isinstance(training_size, Sequence) and not isinstance(training_size, str)
    items = training_size if several else [training_size]
    if not any(isinstance(item, Mapping) for item in items):
        items = np.unique(_training_sizes(training_size)).tolist()
    if len(items) == 0:
        raise ParameterError("give at least one training size.")
    return tuple(sorted({_key(_sizes(item)) for item in items}, key=_in_order))


def _sizes(size: Any) -> TrainingSizes:
    """Return the sizes of a set: all alike, or a mapping from size to share of the classes."""
    if isinstance(size, TrainingSizes):
        return size
    if not isinstance(size, Mapping):
        return TrainingSizes.equal(float(_training_sizes(size)))
    shares = np.asarray(list(size.values()), dtype=np.float64)
    if len(shares) == 0 or not ((shares > 0) & np.isfinite(shares)).all():
        raise ParameterError(
            "unequal training sizes must map each size to a share of the classes above 0, such as "
            "{5: 0.8, 100: 0.2}."
        )
    values = _training_sizes(list(size))
    order = np.argsort(values)
    return TrainingSizes(
        tuple(values[order].tolist()), tuple((shares[order] / shares.sum()).tolist())
    )


def _key(sizes: TrainingSizes) -> float | TrainingSizes:
    """Return the one size of a set, or all if they are unequal."""
    return _plain(sizes.values[0]) if len(sizes.values) == 1 else sizes


def _mean(size: float | TrainingSizes) -> float:
    return size if not isinstance(size, TrainingSizes) else _plain(size.mean)


def _in_order(size: float | TrainingSizes) -> tuple[float, tuple[float, ...]]:
    """Return what puts sizes in order: by their mean, equal ones first."""
    sizes = _sizes(size)
    return sizes.mean, sizes.values


def _plain(size: float) -> float:
    """Return a whole size as an integer, so that it reads well."""
    return int(size) if size == int(size) else float(size)


def _written(size: float | TrainingSizes) -> str:
    """Return a size as text: whole ones in full, others to six digits."""
    if isinstance(size, TrainingSizes):
        ends = " to ".join(_written(value) for value in (size.values[0], size.values[-1]))
        return f"{ends} (mean {_written(size.mean)})"
    return f"{int(size):,}" if size == int(size) and size < 1e15 else f"{size:g}"


def _warn_if_far_training(trained: Sequence[TrainedPilot], sizes: Sequence[Any]) -> None:
    measured = [value for each in trained for value in each.sizes.values]
    asked = [value for size in sizes for value in _sizes(size).values]
    least, most = min(measured), max(measured)
    if max(asked) > FAR_TRAINING * most or min(asked) < least / FAR_TRAINING:
        beyond = max(asked) if max(asked) > FAR_TRAINING * most else min(asked)
        warn(
            f"training size {_written(beyond)} lies far from those measured ({_written(least)} to "
            f"{_written(most)}); a pilot nearer to it is needed to be sure.",
            ExtrapolationWarning,
        )
