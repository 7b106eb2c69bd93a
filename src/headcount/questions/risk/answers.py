"""RiskForecast: what a user holds about the cost of mistakes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.checks import Check, finding
from headcount.curves.curve import FORECAST, OBSERVED, Curve
from headcount.errors import ParameterError, UnsupportedError
from headcount.questions.risk.delta import DeltaMethod, Sensitive
from headcount.questions.risk.error_model import RiskErrorModel
from headcount.questions.risk.observed import ObservedRisk
from headcount.questions.risk.sets import grown_risk, variance_factor
from headcount.support import validation
from headcount.support.grids import curve_classes, observed_or_forecast
from headcount.support.output import as_csv, as_frame, as_html, write_text
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import OURS, Nouns
from headcount.support.workers import doing
from headcount.uncertainty.asymptotics import asymptotic_interval
from headcount.uncertainty.intervals import KINDS

Floats = NDArray[np.float64]

GAP = 0.05  # of the observed risk
NO_ERRORS = (
    "there are no intervals: the pilot holds only counts, or intervals were not asked for; make it "
    "from scores and pass intervals=True."
)


class RiskFit(Sensitive, Protocol):
    """A fitted conditional cost, which says how it moves with the curves it was made from."""

    def risk(self, k: Floats) -> Floats:
        """Fitted risk among k classes."""


class AverageCost:
    """The values of a risk curve: what a mistake costs on average, in the units of the costs."""

    label = "average cost"

    def write(self, value: float) -> str:
        """Return a cost as people read it."""
        return f"{value:.3g}"

    def write_range(self, lower: float, upper: float) -> str:
        """Return an interval of costs as people read it."""
        return f"{lower:.3g} to {upper:.3g}"


class RiskForecast:
    """Risk at any number of classes: measured up to the pilot's size, forecast beyond.

    Made by `forecast_risk`.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot.
    classes : tuple of int
        Numbers of classes asked about.
    method : str
        Approach and basis.
    confidence : float
        Level of the intervals.
    observed : ObservedRisk
        What the pilot itself says, up to its own size.
    fit : MixtureFit, PricedFit, UnconstrainedFit or PolynomialFit
        The fitted conditional cost.
    curve : Curve
        Risk against classes, with its interval.
    checks : tuple of Check
        What to know before believing it.
    warnings : tuple of str
        Warnings given while it was made.
    nouns : Nouns
        What classes and probes are called in words.
    """

    def __init__(
        self,
        *,
        observed: ObservedRisk,
        fit: RiskFit,
        classes: tuple[int, ...],
        n_probes: int,
        method: str,
        confidence: float,
        largest_cost: float,
        half_a_probe: float = 0.0,
        delta: DeltaMethod | None = None,
        model: RiskErrorModel | None = None,
        warnings: tuple[str, ...] = (),
        nouns: Nouns = OURS,
    ) -> None:
        self.observed = observed
        self.fit = fit
        self.classes = classes
        self.n_classes = observed.n_classes
        self.n_probes = n_probes
        self.method = method
        self.confidence = confidence
        self.largest_cost = largest_cost
        self.half_a_probe = half_a_probe
        self.warnings = warnings
        self.nouns = nouns
        self._delta, self._model = delta, model
        self.checks = tuple(_gap(observed, fit, 1e-9 * largest_cost))
        self.curve = self._work_out(curve_classes(self.n_classes, classes))

    # -- questions ------------------------------------------------------------------------------

    def risk(self, k: Any) -> Floats:
        """Risk among k classes: observed for k up to the pilot's size, fitted beyond."""
        return observed_or_forecast(k, self.n_classes, self.observed.risk, self.fit.risk)

    def standard_error(self, k: Any) -> Floats:
        """Return the standard error of the risk among k classes, by the jackknife over classes.

        The fit is linear in the observed curve as long as the same basis functions are in use.
        Beyond the pilot, that linear map carries over the error of the curve (the delta method).
        The standard error leaves out that the true conditional cost may not be in the basis.
        """
        if self._delta is None:
            raise UnsupportedError(NO_ERRORS)
        if (validation.class_counts(k) > self.n_classes).any():
            self.fit.slopes(np.zeros(0))  # refuses at once where none are known
        beyond = partial(self._delta.forecast, self.fit)
        return observed_or_forecast(k, self.n_classes, self._delta.observed, beyond)

    def interval(
        self, k: Any, kind: str = "expected", by: str | None = None
    ) -> tuple[Floats, Floats]:
        """Interval for the risk among k classes, within zero and the largest cost.

        Parameters
        ----------
        k : int or sequence of int
            Numbers of classes.
        kind : {"expected", "new_set", "grown_set"}
            What it is to hold: the expected risk, that of one new random set of k classes, or that
            of one set that keeps the pilot's classes (k at least K), around `grown`; sets with
            endless probes.
        by : {"calibrated", "asymptotic"}, optional
            Calibrated, the default where constraints hold the fit: few mistakes are no normal law,
            and beyond the pilot the error of the shape is in it as it was seen on simulated
            problems (`headcount.questions.risk.error_model`). Asymptotic: a normal interval from
            `standard_error` alone, too narrow far beyond the pilot.

        Returns
        -------
        lower, upper : ndarray
        """
        validation.choice(kind, "kind", KINDS)
        way = ("asymptotic" if self._model is None else "calibrated") if by is None else by
        validation.choice(way, "by", ("calibrated", "asymptotic"))
        counts = validation.class_counts(k)
        factor = np.sqrt(self._factor(counts, kind))
        error = self.standard_error(counts) * factor
        value = self.grown(counts) if kind == "grown_set" else self.risk(counts)
        if way == "asymptotic":
            return asymptotic_interval(value, error, self.confidence, largest=self.largest_cost)
        if self._model is None:
            raise UnsupportedError(
                "calibrated intervals are known for approach='regression' only; ask for "
                "by='asymptotic'."
            )
        own = float(self.risk(self.n_classes)), self.standard_error(self.n_classes) * factor
        lower, upper = self._model.limits(
            value,
            error,
            np.log(counts / self.n_classes),
            self.confidence,
            largest=self.largest_cost,
            half_a_probe=self.half_a_probe,
            at_pilot=own,
        )
        return lower, np.where(counts > 1, upper, 0.0)  # among one class there are no mistakes

    def grown(self, k: Any) -> Floats:
        """Risk to expect on one set of k classes that keeps those of the pilot.

        What was observed on the pilot's classes, and the forecast does not follow, stays with
        them; see `headcount.questions.risk.sets`. Without two probes of any class it cannot be
        told from the luck of the probes, and this is the plain forecast.
        """
        counts = validation.class_counts(k).astype(np.float64)
        fit, own = self.fit, self.by_class or 0.0
        flat = counts.ravel()
        values = grown_risk(self.observed, fit, flat, self.n_classes, self.largest_cost, own)
        return values.reshape(counts.shape)

    @cached_property
    def by_class(self) -> float | None:
        """Part of the variance at the pilot's size from the choice of classes, not of probes.

        None where no class has two probes, or nothing varies.
        """
        if self._delta is None:
            raise UnsupportedError(NO_ERRORS)
        total = float(self._delta.observed(np.array([float(self.n_classes)]))[0]) ** 2
        by_probes = self._delta.probe_variance()
        if by_probes is None or total <= 0:
            return None
        return max(0.0, 1 - by_probes / total)

    def _factor(self, counts: Floats, kind: str) -> Floats:
        if kind == "expected":
            return np.ones(counts.shape)
        return variance_factor(counts, self.n_classes, kind, self.by_class)

    def linear_map(self, k: Any) -> tuple[Floats, Floats, Floats | None]:
        """Return how the fitted risk at k moves with the observed curves.

        Returns
        -------
        at : ndarray
            Numbers of classes at which the observed curves were used.
        by_risk : ndarray of shape (len(k), len(at))
            Change of the fitted risk with the observed risk at each of them.
        by_error : ndarray or None
            The same with the observed error (0-1 cost), where the fit uses that too.
        """
        counts = np.atleast_1d(validation.class_counts(k)).ravel()
        return self.fit.at, *self.fit.slopes(counts)

    def table(self, k: Any, kind: str = "expected") -> Curve:
        """Return a row for each number of classes: risk, limits and region.

        `kind` says of which set, as in `interval`; a grown set's risk is never measured.
        """
        classes = np.unique(validation.class_counts(k)).astype(np.int64)
        grown = validation.choice(kind, "kind", KINDS) == "grown_set"
        inside = (classes <= self.n_classes) & (not grown)
        lower, upper = self._limits(classes, kind)
        value = self.grown(classes) if grown else self.risk(classes)
        region = np.where(inside, OBSERVED, FORECAST)
        return Curve(classes, value, region, lower, upper, AverageCost())

    @property
    def answer(self) -> Curve:
        """The rows that were asked for, and that of the pilot's own size."""
        return self.answer_of("expected")

    def answer_of(self, kind: str) -> Curve:
        """Return the rows that were asked for of one kind, and that of the pilot's own size."""
        own = [] if kind == "grown_set" else [self.n_classes]
        return self.table([*own, *self.classes], kind)

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self, kind: str = "expected") -> dict[str, Any]:
        """Return what the command line prints as JSON, of one kind of set as in `interval`."""
        answer = self.answer_of(kind)
        return {
            "schema": SCHEMA,
            "metric": answer.quantity.label,
            "n_classes": self.n_classes,
            "n_probes": self.n_probes,
            "method": self.method,
            "confidence": self.confidence,
            "kind": kind,
            "observed": answer.rows(OBSERVED),
            "forecast": answer.rows(FORECAST),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return the answers as JSON; never NaN or Infinity."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame."""
        return as_frame(self.curve.columns())

    def to_csv(self) -> str:
        """Return the curve as CSV text."""
        return as_csv(self.curve.columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forecast as .json or .csv."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".json", ".csv"):
            raise ParameterError(
                f"cannot save a risk forecast as {suffix or 'a file without ending'}; "
                "choose one of .json, .csv."
            )
        text = self.to_json() if suffix == ".json" else self.to_csv()
        write_text(path, text)

    def sentences(self) -> list[str]:
        """Return the answer in words, one sentence for each number of classes asked about."""
        lines = self.table(self.classes).sentences(self.confidence)
        return [self.nouns.rename(line) for line in lines]

    def __repr__(self) -> str:
        title = (
            f"Risk forecast from {self.n_classes:,} classes and {self.n_probes:,} probes "
            f"({self.method})"
        )
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join(map(self.nouns.rename, [title, *self.sentences(), *notes]))

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    # -- inner workings -------------------------------------------------------------------------

    @doing("Working out the curve and its limits")
    def _work_out(self, classes: NDArray[np.int64]) -> Curve:
        return self.table(classes)

    def _limits(
        self, classes: NDArray[np.int64], kind: str
    ) -> tuple[Floats, Floats] | tuple[None, None]:
        """Interval of the curve; nothing where the pilot is too small or too large for one."""
        try:
            return self.interval(classes, kind)
        except UnsupportedError:
            return None, None


def _gap(observed: ObservedRisk, fit: RiskFit, round_off: float) -> Iterable[Check]:
    """Compare observed and fitted risk at the pilot's own size, where both are known."""
    k = observed.n_classes
    measured, fitted = float(observed.risk(k)), float(fit.risk(np.array([float(k)]))[0])
    if abs(fitted - measured) > GAP * measured + round_off:
        yield finding(
            "HC010",
            f"at the pilot's own {k:,} classes the method gives {fitted:.3g} where {measured:.3g} "
            "was measured; it does not fit these data well, so its forecast is doubtful.",
        )
