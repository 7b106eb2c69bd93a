r"""How far a forecast may be off: two sources of error, and the intervals that follow.

A is the metric that is forecast, accuracy by default: a share from 0 to 1. Standard deviations are
those of its log odds, :math:`\operatorname{logit} A(k)`, so that intervals stay within 0 and 1.
What was learned on simulated problems was learned for accuracy. It is used for other metrics, too.

**Sampling.** Other classes and other probes would have given another pilot. Up to the pilot's own
size K the standard error comes from a jackknife over classes (each is a source of probes *and* a
competitor; see `headcount.uncertainty.jackknife`). Beyond it, the error at K grows as the spread of
the forecasts from random halves of the classes grows from K to k.

**Extrapolating.** Past the pilot the shape of the curve is assumed, and errors of shape grow with
k / K. Two things are known about them. The back-test shows how far off the method is on these
data, :math:`b(\rho)`, when it forecasts K from :math:`K / \rho` classes; a share of that is
expected again at :math:`\rho K`. The rest was learned on simulated problems of all kinds, where
the truth is known (`python -m experiments calibration`). With :math:`x = \log(k / K)`,

.. math::

   \operatorname{logit} \hat A(k) - \operatorname{logit} A(k) \approx \lambda\, b(\rho) + z\, s(k),
   \qquad s(k)^2 = J^2 \Big(\frac{v(k)}{v(K)}\Big)^{\beta} + (c\, x^{\gamma})^2 + (c' b(\rho))^2 ,

J being the standard error at K and v the variance over the halves. The quantiles of z are those
found on the simulated problems. In log odds, forecasts of high accuracies are more often far too
low than far too high, so that intervals are symmetric on another scale
(`headcount.uncertainty.error_model`).

**Up to K** nothing is assumed and nothing learned is needed. With few errors the log odds are far
from normal, and intervals are Jeffreys': quantiles of the law Beta(n A + 1/2, n (1 - A) + 1/2),
with n = 1 / (A (1 - A) s^2) as many independent probes as would have the standard error s, a little
fewer because that is itself an estimate [1]_, [2]_. Where all probes are right, the lower limit is
the value that gives so many right in a row with just the chance left [3]_. From K to 2 K these
limits go over into the others, evenly in log k.

**A set that grows** from the pilot's keeps its classes. What was measured counts by their share,
K / k, the forecast by the rest, and so do their errors. As far as what was measured is due to the
choice of classes it is no error, since the very same classes stay.

A method that states its own error (`Extrapolator.stated_error`), learned together with its
forecast, is taken at its word: that replaces all three terms, and the back-test moves nothing.

References
----------
.. [1] E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected
   number of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.
.. [2] C. Franco, R. J. A. Little, T. A. Louis and E. V. Slud, Comparative study of confidence
   intervals for proportions in complex sample surveys, Journal of Survey Statistics and
   Methodology 7, 334-364, 2019.
.. [3] L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion,
   Statistical Science 16, 101-133, 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, ndtri, stdtrit
from scipy.special import logit as log_odds

from headcount.curves.mixed import MixedObserved
from headcount.curves.observed import Observed, observe
from headcount.errors import DataError, UnsupportedError
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Metric, resolve_metric
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import MOST_CLASSES, grown_counts
from headcount.support.serialise import LARGEST, Record, reading
from headcount.support.workers import doing
from headcount.uncertainty.asymptotics import metric_error
from headcount.uncertainty.error_model import (
    MODEL,
    STATED_MODEL,
    ErrorModel,
    cloglog,
    inverse_cloglog,
    slope,
)

if TYPE_CHECKING:
    from headcount.uncertainty.backtest import Backtest

Floats = NDArray[np.float64]

# Far past anything that is ever written, and near enough that powers and exponentials of it, times
# numbers of classes, stay finite: logarithms of how variances grow, and what was learned.
FASTEST, STEEPEST = 90.0, 15.0
NOUN = "forecast"


def read_uncertainty(record: Record) -> Uncertainty:
    """Return what `Uncertainty.to_dict` wrote; refuse what it cannot have written."""
    uncertainty = Uncertainty(
        n_classes=record.whole("n_classes"),
        n_probes=record.whole("n_probes"),
        grid=record.wholes("grid"),
        observed_error=record.numbers("observed_error", least=0),
        growth=record.optional("growth", lambda name: record.numbers(name, -LARGEST, FASTEST)),
        bias=record.numbers("bias", -LARGEST),
        class_variance=record.number("class_variance", least=0),
        probe_variance=record.number("probe_variance", least=0),
        probes_per_class=record.number("probes_per_class", least=0, most=MOST_CLASSES),
        observed=record.share("observed"),
        shared_rivals=record.flag("shared_rivals"),
        stated=record.optional("stated", lambda name: record.numbers(name, least=0)),
        told_apart=record.flag("told_apart"),
        model=read_model(record.record("model")),
        metric=resolve_metric(record.text("metric")),
        n_drawn=record.optional("n_drawn", record.whole),
    )
    for value in vars(uncertainty).values():
        if isinstance(value, np.ndarray):
            if value.shape != uncertainty.grid.shape:
                raise DataError("the errors of this forecast do not fit their grid.")
            value.flags.writeable = False
    return uncertainty


def read_model(record: Record) -> ErrorModel:
    """Return what was learned about errors, refused if it is something else."""
    names = ErrorModel.__dataclass_fields__
    record.no_more_than(names)
    tables = {name: record.numbers(name, 0, STEEPEST) for name in ("levels", "quantiles")}
    numbers = [name for name in names if name not in tables]
    fields: dict[str, Any] = {name: record.number(name, 0, STEEPEST) for name in numbers}
    sizes = {len(table) for table in tables.values()}
    if len(sizes) != 1 or any((np.diff(table) < 0).any() for table in tables.values()):
        raise DataError("the levels and quantiles of this forecast's errors do not fit together.")
    return ErrorModel(**fields | {name: tuple(t.tolist()) for name, t in tables.items()})


class Measured(Protocol):
    """What was measured, and how far it may be off, where that is not a pilot's own curve."""

    @property
    def observed(self) -> MixedObserved:
        """The curve."""

    @property
    def n_probes(self) -> int:
        """How many equally weighted probes it is worth."""

    def standard_error(self, k: NDArray[np.int64]) -> Floats:
        """Return the standard error of the curve at numbers of classes."""

    def probe_variance(self) -> float | None:
        """Return the part of its variance that comes from probes; None where nobody can tell."""


TINY = 1e-12  # a spread below this is round-off


def log_odds_error(
    pilot: Pilot | Measured,
    observed: Observed | MixedObserved,
    k: NDArray[np.int64],
    error: Floats,
    metric: Metric,
) -> Floats:
    """Return standard errors of a metric as those of its log odds.

    With every probe right (or wrong) there is no spread, and half a probe stands in.
    """
    half, measured = 0.5 / pilot.n_probes, observed.value(k, metric)
    values = np.clip(measured, half, 1 - half)
    # So near to one (or nought) that the spread is lost in round-off, but not there: limits take
    # it as it is, and an error of half a probe would leave less than one probe behind it.
    varies = (measured > ROUND_OFF) & (measured < 1 - ROUND_OFF)
    shares = np.where(varies, measured, values)
    binomial = np.sqrt(shares * (1 - shares) / pilot.n_probes)
    return np.where(error > TINY, error, binomial) / (values * (1 - values))


def standard_error(
    pilot: Pilot, observed: Observed | MixedObserved, k: NDArray[np.int64], metric: Metric
) -> tuple[Floats, bool]:
    """Return the standard error of the observed curve, and whether rivals are in it."""
    if pilot.has_scores:
        try:
            return metric_error(pilot, k, metric), True
        except UnsupportedError:
            pass
    values = np.array([probe_values(pilot, int(count), metric) for count in k])
    gaps = pilot.weights * (values - observed.value(k, metric)[:, None])
    if pilot.labels is None:
        return np.sqrt(np.square(gaps).sum(axis=1)), False
    by_class = [np.bincount(pilot.labels, row, pilot.n_classes) for row in gaps]
    return np.sqrt(np.square(by_class).sum(axis=1)), False


def probe_values(pilot: Pilot, k: int, metric: Metric) -> Floats:
    """Return what each probe is worth among k classes, ties as the tie rule has it.

    A censored probe is taken to have no more losses than are known.
    """
    losses, ties = pilot.settled
    if not ties.any():
        distinct, place = np.unique(losses, return_inverse=True)
        return metric.of_each(distinct, pilot.n_classes - 1, k)[place]
    every = np.arange(int((losses + ties).max()) + 1)
    sums = np.concatenate([[0.0], np.cumsum(metric.of_each(every, pilot.n_classes - 1, k))])
    return np.asarray((sums[losses + ties + 1] - sums[losses]) / (ties + 1))


def probe_variance(pilot: Pilot, metric: Metric) -> float | None:
    """Variance of the metric at K that comes from the finite number of probes of each class.

    None where no class has two probes: then it cannot be told from that of classes.
    """
    if pilot.labels is None:
        return None
    values = np.where(pilot.censored, 0.0, probe_values(pilot, pilot.n_classes, metric))
    return variance_within(values, pilot.labels, pilot.weights)


def variance_within(values: Floats, labels: NDArray[np.int64], weights: Floats) -> float | None:
    """Return the variance of a weighted mean over probes that their finite number gives.

    None where no class has two probes.
    """
    count = np.bincount(labels)
    several = count >= 2
    if not several.any():
        return None
    mean = np.bincount(labels, values) / np.maximum(count, 1)
    squares = np.bincount(labels, (values - mean[labels]) ** 2)
    within = np.zeros(len(count))
    within[several] = squares[several] / (count[several] - 1)
    within[count == 1] = within[several].mean()
    return float(np.sum(np.bincount(labels, weights) ** 2 * within / np.maximum(count, 1)))


def probes_per_class(pilot: Pilot) -> float:
    """Return the mean number of probes of a class that has any."""
    if pilot.labels is None:
        return 1.0
    return pilot.n_probes / len(np.unique(pilot.labels))


KINDS = ("expected", "new_set", "grown_set")
FREEDOM = 6  # degrees of it, at least: tails as heavy as those of what was learned
LEAST_ERROR = 1e-6  # of log odds: less would ask for more probes than numbers can hold
ROUND_OFF, EDGE = 1e-13, 1e-15


@dataclass(frozen=True)
class Uncertainty:
    """The error of a forecast at any number of classes, on the scale of log odds.

    Made by `headcount.uncertainty.intervals.assess`: what the pilot and its back-test say, and what
    was learned about errors. Under another `model` (see `under`) everything follows again, without
    refitting.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot.
    grid : ndarray of int64
        Numbers of classes.
    observed_error : ndarray
        Standard error of the observed curve there; beyond the pilot, that at its own size.
    growth : ndarray or None
        Logarithm of how much the variance over the halves has grown there since K; None without
        halves.
    bias : ndarray
        Mean error of the back-test at the same k / K.
    class_variance, probe_variance : float
        Variance of the metric measured on random sets of K classes: what the choice of classes
        and what the finite number of probes gives.
    probes_per_class : float
        Mean number of probes of a class that has any.
    observed : float
        What was measured at K.
    shared_rivals : bool
        False where only counts are known, so that what probes share by meeting the same rivals is
        missing.
    stated : ndarray or None
        Error that the method itself states on the grid.
    told_apart : bool
        False where no class has two probes, or all probes are right (or wrong), so that the two
        variances cannot be told from each other; `class_variance` then holds both.
    model : ErrorModel
        What was learned.
    metric : Metric
        What is forecast.
    n_drawn : int or None
        How many groups were drawn, where classes came in whole groups.
    """

    n_classes: int
    n_probes: int
    grid: NDArray[np.int64]
    observed_error: Floats
    growth: Floats | None
    bias: Floats
    class_variance: float
    probe_variance: float
    probes_per_class: float
    observed: float
    shared_rivals: bool = True
    told_apart: bool = True
    stated: Floats | None = None
    model: ErrorModel = MODEL
    metric: Metric = ACCURACY
    n_drawn: int | None = None

    def under(self, model: ErrorModel) -> Uncertainty:
        """Return the same with something else learned about errors."""
        return replace(self, model=model)

    @property
    def shift(self) -> Floats:
        """By how much the forecast is expected to be too high on the grid."""
        return self.model.share * self.bias

    @property
    def sampling_error(self) -> Floats:
        """Standard deviation from the choice of classes and probes on the grid, beyond K."""
        growth = self.model.blind_growth * self._reach if self.growth is None else self.growth
        grown = self.observed_error * np.exp(self.model.growth / 2 * growth)
        if self.stated is None:
            return np.asarray(grown)
        # What a method states is the whole error; that of sampling cannot be more.
        return np.minimum(grown, self.model.stated * self.stated)

    @property
    def extrapolation_error(self) -> Floats:
        """Standard deviation of the error of shape on the grid, beyond K."""
        if self.stated is None:
            shape = self.model.scale * self._reach**self.model.power
        else:
            shape = np.sqrt((self.model.stated * self.stated) ** 2 - self.sampling_error**2)
        return np.hypot(shape, self.model.doubt * np.abs(self.bias))

    @property
    def _reach(self) -> Floats:
        return np.log(np.maximum(self.grid / self.n_classes, 1.0))

    # -- questions ------------------------------------------------------------------------------

    def sampling(self, k: Any) -> Floats:
        """Return the standard deviation from the choice of classes and probes."""
        return self._error_at(k, self.observed_error, self.sampling_error)

    def extrapolation(self, k: Any) -> Floats:
        """Return the standard deviation of the error of shape; zero up to the pilot's size."""
        return self._error_at(k, np.zeros(len(self.grid)), self.extrapolation_error)

    @property
    def onset(self) -> float:
        """Error of shape just past the pilot's size: what is stated over what was measured."""
        return float(self._interpolate(self.n_classes, self.extrapolation_error))

    def error(self, k: Any) -> Floats:
        """Return the standard deviation of the error of what is expected."""
        return np.hypot(self.sampling(k), self.extrapolation(k))

    def middle(self, value: Any, k: Any) -> Floats:
        """Return log odds of estimates, less by how much they are expected to be too high."""
        half = 0.5 / self.n_probes
        values = np.clip(np.asarray(value, dtype=np.float64), half, 1 - half)
        return np.asarray(log_odds(values) - self._interpolate(k, self.shift))

    def multiplier(self, confidence: float, k: Any) -> Floats:
        """Return how many standard deviations to either side an interval takes."""
        measured, learned = self._measured(confidence), self.model.multiplier(confidence)
        return np.asarray(measured + self._past(k) * (learned - measured))

    def band(
        self,
        value: Any,
        k: Any,
        confidence: float,
        kind: str = "expected",
        probes_per_class: float | None = None,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper limits around estimates at k.

        Parameters
        ----------
        value, k : array_like
            Estimates and the numbers of classes they are for.
        confidence : float
            Share of such intervals that hold the truth.
        kind : {"expected", "new_set", "grown_set"}
            What the truth is: the value expected among k classes, the value on one new set of k
            random classes, or on one that contains the pilot's own. Estimates of the last are those
            of `headcount.curves.grown`.
        probes_per_class : float, optional
            Probes a class of the test that measures the set; without end by default.
        """
        counts, values = validation.class_counts(k), np.asarray(value, dtype=np.float64)
        error = np.sqrt(self.variance(values, counts, kind, probes_per_class))
        return self.limits(values, counts, error, confidence)

    def limits(self, value: Any, k: Any, error: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits around estimates whose log odds have given errors."""
        counts, values = validation.class_counts(k), np.asarray(value, dtype=np.float64)
        half = 0.5 / self.n_probes
        # A forecast beyond what so many probes can show is no count of them.
        counted = np.where(counts > self.n_classes, np.clip(values, half, 1 - half), values)
        past, near = self._past(counts), self._jeffreys(counted, error, confidence)
        far = self._learned(values, counts, error, confidence)
        lower, upper = (
            expit((1 - past) * log_odds(measured) + past * learned)
            for measured, learned in zip(near, far, strict=True)
        )
        # With every probe right (or wrong) nothing speaks against one (or nought).
        lower = np.where(values <= half, 0.0, np.minimum(lower, values))
        upper = np.where(values >= 1 - half, 1.0, np.maximum(upper, values))
        certain = counts <= self.metric.certain
        return np.where(certain, 1.0, lower), np.where(certain, 1.0, upper)

    def variance(
        self, value: Floats, k: Floats, kind: str, probes_per_class: float | None
    ) -> Floats:
        """Variance of the difference between the estimate and what `kind` asks for."""
        validation.choice(kind, "kind", KINDS)
        sampled, other = self.sampling(k) ** 2, self.extrapolation(k) ** 2
        if kind == "expected":
            return np.asarray(sampled + other)
        classes, probes = self.set_variance(value, k, probes_per_class)
        if kind == "new_set":
            of_set = classes + probes if self.told_apart else np.maximum(classes, probes)
            return np.asarray(sampled + other + of_set)
        return self._grown_variance(value, k, classes, probes)

    def _grown_variance(self, value: Floats, k: Floats, classes: Floats, probes: Floats) -> Floats:
        """Variance of a grown set's value around its estimate (`headcount.curves.grown`).

        The estimate is what was measured, by the pilot's share of the classes, and for the rest the
        forecast. As far as it is due to classes, what was measured is true of those that stay. The
        forecast is of others; it errs on them as on any, and they vary. As far as it is due to
        the pilot's few probes, all of it is wrong together. Of the error of shape, the part that
        is there at once past K does not touch what was measured.
        """
        stays, half = self.n_classes / grown_counts(k, self.n_classes), 0.5 / self.n_probes
        measured, reached = (np.clip(v, half, 1 - half) for v in (self.observed, value))
        total = self.class_variance + self.probe_variance
        kept, forecast = np.sqrt(total) / (measured * (1 - reached)), self.sampling(k)
        by_class = ((1 - stays) * forecast) ** 2
        by_probe = (stays * kept + (1 - stays) * forecast) ** 2
        shape = self.extrapolation(k)
        shape = shape - stays * np.minimum(self.onset, shape)
        if not self.told_apart:  # linear in the share of classes: the worst is none or all
            worst = np.maximum(by_class + (1 - stays) * classes, by_probe + probes)
            return np.asarray(shape**2 + worst)
        weight = self.class_variance / total if total > 0 else 1.0
        spread = weight * by_class + (1 - weight) * by_probe
        return np.asarray(shape**2 + spread + (1 - stays) * classes + probes)

    def set_variance(
        self, value: Floats, k: Floats, probes_per_class: float | None
    ) -> tuple[Floats, Floats]:
        """Variance of the value on one set of k classes, from classes and from probes.

        That at K shrinks as 1 / k, and on the way the value leaves or nears the middle, where it
        varies most: as A (1 - A).
        """
        half = 0.5 / self.n_probes
        measured, reached = (np.clip(v, half, 1 - half) for v in (self.observed, value))
        scale = self.n_classes / k / (measured * (1 - measured)) / (reached * (1 - reached))
        probes = 0.0
        if probes_per_class is not None:
            often = validation.positive(probes_per_class, "probes_per_class")
            once = self.probe_variance if self.told_apart else self.class_variance
            probes = once * self.probes_per_class / often
        return np.asarray(self.class_variance * scale), np.asarray(probes * scale)

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        fields = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }
        return fields | {"model": asdict(self.model), "metric": self.metric.name}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Uncertainty:
        """Return what `to_dict` wrote, refused if it is something else."""
        with reading(NOUN):
            return read_uncertainty(Record(fields, NOUN))

    # -- inner workings -------------------------------------------------------------------------

    def _past(self, k: Any) -> Floats:
        """Return how far what was learned takes over: from zero at K to one at 2 K."""
        return np.asarray(np.log2(np.clip(validation.class_counts(k) / self.n_classes, 1.0, 2.0)))

    def _measured(self, confidence: float) -> float:
        """Return Student's quantile, which hardly any classes would make useless."""
        drawn = self.n_classes if self.n_drawn is None else self.n_drawn
        return float(stdtrit(max(drawn - 1, FREEDOM), (1 + confidence) / 2))

    def _learned(
        self, value: Floats, k: Floats, error: Floats, confidence: float
    ) -> tuple[Floats, Floats]:
        """Return log odds of the limits that errors like those of simulated problems would give."""
        middle = self.middle(value, k)
        reach = self.model.multiplier(confidence) * error * slope(middle)
        return inverse_cloglog(cloglog(middle) - reach), inverse_cloglog(cloglog(middle) + reach)

    def _jeffreys(self, value: Floats, error: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return the limits that as many independent probes would give as have this error.

        Where all are right (or wrong), those that give so many in a row with the chance left.
        """
        half, tail = 0.5 / self.n_probes, (1 - confidence) / 2
        inside = np.clip(value, half, 1 - half)
        spread = np.maximum(error, LEAST_ERROR) * inside * (1 - inside)
        some_right, some_wrong = value > ROUND_OFF, value < 1 - ROUND_OFF
        variance = np.where(some_right & some_wrong, value * (1 - value), inside * (1 - inside))
        fewer = (ndtri(1 - tail) / self._measured(confidence)) ** 2
        probes = fewer * variance / spread**2
        right, wrong = value * probes + 0.5, (1 - value) * probes + 0.5
        lower = np.where(some_wrong, betaincinv(right, wrong, tail), tail ** (1 / probes))
        upper = np.where(some_right, betaincinv(right, wrong, 1 - tail), 1 - tail ** (1 / probes))
        return np.clip(lower, EDGE, 1 - EDGE), np.clip(upper, EDGE, 1 - EDGE)

    def _interpolate(self, k: Any, values: Floats) -> Floats:
        """Interpolate in log k; past the grid, go on as it ended."""
        log_k, grid = np.log(validation.class_counts(k)), np.log(self.grid)
        inside = np.interp(log_k, grid, values)
        if len(grid) < 2:
            return inside
        slope = (values[-1] - values[-2]) / (grid[-1] - grid[-2])
        past = values[-1] + slope * (log_k - grid[-1])
        return np.asarray(np.where(log_k > grid[-1], past, inside))

    def _error_at(self, k: Any, measured: Floats, beyond: Floats) -> Floats:
        """Return a standard deviation, of one kind up to K and of another beyond.

        What a method states goes on from K, whatever was measured there. Past the grid it does not
        get less.
        """
        counts, far = validation.class_counts(k), self._interpolate(k, beyond)
        far = np.where(counts > self.grid[-1], np.maximum(far, beyond[-1]), far)
        return np.asarray(np.where(counts > self.n_classes, far, self._interpolate(k, measured)))


NOISE, RIDGE = 0.05, 30.0  # of the back-test's steps, on the scale of log odds
POINTS = 12  # numbers of classes up to K at which the jackknife is done


@doing("Leaving out each class in turn")
def assess(
    pilot: Pilot,
    backtest: Backtest,
    fitted: Extrapolator | None = None,
    measured: Measured | None = None,
) -> Uncertainty:
    """Return how far forecasts from a pilot may be off.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    backtest : Backtest
        Of the same method on the same pilot; without steps where there are too few classes.
    fitted : Extrapolator, optional
        The fitted method, which may state its own error.
    measured : Measured, optional
        What the back-test forecast, where that is not the pilot's observed curve.
    """
    n_classes, grid, metric = backtest.n_classes, backtest.grid, backtest.metric
    observed = observe(pilot) if measured is None else measured.observed
    worth = pilot if measured is None else measured
    half = 0.5 / worth.n_probes
    at_pilot = float(observed.value(n_classes, metric))
    middle = np.clip(at_pilot, half, 1 - half)
    # Up to `certain` classes there is no error, and none that those beyond could be taken from.
    first = min(metric.certain + 1, n_classes)
    inside = np.unique(np.geomspace(first, n_classes, POINTS).round().astype(np.int64))
    if measured is None:
        spread, shared = standard_error(pilot, observed, inside, metric)
        by_probes = probe_variance(pilot, metric)
    else:
        spread, shared = measured.standard_error(inside), True
        by_probes = measured.probe_variance()
    error = log_odds_error(worth, observed, inside, spread, metric)
    reach = np.log(np.maximum(grid / n_classes, 1.0))
    total = float(error[-1] * middle * (1 - middle)) ** 2
    stated = None if fitted is None else fitted.stated_error(grid / pilot.n_classes, metric)
    within = 0.0 if by_probes is None else min(by_probes, total)
    return Uncertainty(
        n_classes=n_classes,
        n_probes=worth.n_probes,
        grid=grid,
        observed_error=np.interp(np.log(grid), np.log(inside), error),
        growth=_growth(backtest, half, reach),
        bias=_bias(backtest, middle, half, reach),
        class_variance=total - within,
        probe_variance=within,
        probes_per_class=probes_per_class(pilot),
        observed=at_pilot,
        shared_rivals=shared,
        told_apart=by_probes is not None and bool(spread[-1] > TINY),
        stated=stated,
        model=learned_model(stated),
        metric=metric,
        n_drawn=pilot.merged.n_groups if pilot.whole_groups else None,
    )


def sampling_error(pilot: Pilot, metric: Metric) -> float:
    """Return the standard error of the log odds measured at the pilot's own size."""
    last, observed = np.array([pilot.n_classes]), observe(pilot)
    error, _ = standard_error(pilot, observed, last, metric)
    return float(log_odds_error(pilot, observed, last, error, metric)[0])


def learned_model(stated: Floats | None) -> ErrorModel:
    """Return what was learned about errors of methods that state their own, or do not."""
    return MODEL if stated is None else STATED_MODEL


def _bias(backtest: Backtest, middle: float, half: float, reach: Floats) -> Floats:
    """Mean error of the back-test's log odds, as a straight line in the logarithm of the ratio.

    Steps from fewer classes are noisier and count less; a ridge keeps the slope small where all
    of them are.
    """
    total, squares = 0.0, RIDGE
    for step in backtest.steps:
        forecasts = log_odds(np.clip(step.forecasts, half, 1 - half))
        weight, ratio = 1 / (float(np.var(forecasts)) + NOISE**2), float(np.log(step.ratio))
        total += weight * ratio * float(np.mean(forecasts) - log_odds(middle))
        squares += weight * ratio**2
    return total / squares * reach


def _growth(backtest: Backtest, half: float, reach: Floats) -> Floats | None:
    """Logarithm of how much the variance over the halves grows beyond the pilot's size."""
    if len(backtest.halves) < 2:
        return None
    spread = log_odds(np.clip(backtest.halves, half, 1 - half)).var(axis=0, ddof=1)
    at_pilot = float(np.interp(0.0, np.log(backtest.grid / backtest.n_classes), spread))
    if at_pilot <= TINY:  # all right or all wrong, but for round-off
        return None
    return np.where(reach > 0, np.log(np.maximum(spread, TINY) / at_pilot), 0.0)
