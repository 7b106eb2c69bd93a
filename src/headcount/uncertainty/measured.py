"""What was measured up to the pilot's own size, and how far that may be off."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.curves.mixed import MixedObserved
from headcount.curves.observed import Observed, observe
from headcount.curves.ranked import RankedObserved
from headcount.errors import UnsupportedError
from headcount.metrics import Metric
from headcount.pilot.pilot import Pilot
from headcount.uncertainty.asymptotics import metric_error

Floats = NDArray[np.float64]

TINY = 1e-12  # a spread below this is round-off
ROUND_OFF = 1e-13


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
    if isinstance(observed, RankedObserved):
        lower, upper = observed.of_queries(k, metric)
        return observed.ranking.error_of_mean((lower + upper) / 2), False
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


def sampling_error(pilot: Pilot, metric: Metric) -> float:
    """Return the standard error of the log odds measured at the pilot's own size."""
    last, observed = np.array([pilot.n_classes]), observe(pilot)
    error, _ = standard_error(pilot, observed, last, metric)
    return float(log_odds_error(pilot, observed, last, error, metric)[0])
