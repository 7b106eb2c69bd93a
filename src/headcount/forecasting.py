"""forecast() and Forecast: the object a user holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.asking import asked_classes, curve_classes, either, warn_if_far
from headcount.checks import Check, run_checks
from headcount.curves import PredictedCurve
from headcount.errors import (
    ParameterError,
    UnsupportedError,
    listening,
)
from headcount.estimators import Extrapolator, resolve
from headcount.exchange import SCHEMA, read_forecast, write_forecast
from headcount.favorability import ROUND_OFF, Favorability, check_target
from headcount.loading import load
from headcount.observed import Observed, observe
from headcount.pilot import Pilot
from headcount.presenting import as_csv, as_frame, as_html
from headcount.wording import about, percent
from headcount.writing import PICTURES, write_atomically

if TYPE_CHECKING:
    from headcount.plotting import AccuracyDisplay

Floats = NDArray[np.float64]

TARGETS = (0.9, 0.8, 0.5)
TEXTS = (".json", ".csv")


@dataclass(frozen=True)
class Curve:
    """Accuracy against classes: observed up to the pilot's size, forecast beyond.

    `lower` and `upper` are None as long as there are no intervals.
    """

    classes: NDArray[np.int64]
    accuracy: Floats
    region: NDArray[np.str_]
    lower: Floats | None = None
    upper: Floats | None = None


def forecast(
    data: Any,
    labels: Any = None,
    *,
    classes: Any,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Forecast:
    """Forecast accuracy at numbers of classes you have not measured.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row a probe and one column a class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    classes : int or sequence of int
        Numbers of classes asked about.
    method : str or Extrapolator
        An alias (see `headcount methods`) or an estimator with options of its own.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed of methods that draw random numbers.
    n_jobs : int, optional
        How many processes resampling may use; without intervals there is none yet.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> result = headcount.forecast(pilot, classes=[100, 1000])
    >>> result.accuracy([100, 1000]).round(2).tolist()
    [0.8, 0.51]
    """
    asked = asked_classes(classes)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie between 0 and 1, but is {confidence!r}.")
    with listening() as heard:
        pilot = _as_pilot(data, labels)
        estimator = resolve(method, random_state).fit(pilot)
        warn_if_far(pilot.n_classes, asked[-1])
    observed, law = observe(pilot), estimator.law(asked)
    return Forecast(
        observed=observed,
        law=law,
        classes=asked,
        n_probes=pilot.n_probes,
        method=estimator.alias,
        confidence=float(confidence),
        checks=run_checks(pilot, observed, law, asked=asked, backtest=None),
        warnings=tuple(heard),
        fitted=(pilot, estimator),
    )


class Forecast:
    """Accuracy at any number of classes: measured up to the pilot's size, forecast beyond.

    Made by `forecast`; everything is a function of the observed curve and one fitted law.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot.
    classes : tuple of int
        Numbers of classes asked about.
    method : str
        Alias of the method.
    confidence : float
        Level of the intervals.
    observed : Observed
        What the pilot itself says, up to its own size.
    law : Favorability or PredictedCurve
        The fitted law; a bare curve for methods that are no mixture.
    checks : tuple of Check
        What to know before believing it.
    warnings : tuple of str
        What was said on the way.
    backtest : None
        No back-test has been run.
    """

    backtest = None

    def __init__(
        self,
        *,
        observed: Observed,
        law: Favorability | PredictedCurve,
        classes: tuple[int, ...],
        n_probes: int,
        method: str,
        confidence: float,
        checks: tuple[Check, ...] = (),
        warnings: tuple[str, ...] = (),
        fitted: tuple[Pilot, Extrapolator] | None = None,
    ) -> None:
        self.observed = observed
        self.law = law
        self.classes = classes
        self.n_classes = observed.n_classes
        self.n_probes = n_probes
        self.method = method
        self.confidence = confidence
        self.checks = checks
        self.warnings = warnings
        self._fitted = fitted
        self.curve = self._curve()

    # -- questions ------------------------------------------------------------------------------

    def accuracy(self, k: Any) -> Floats:
        """Accuracy among k classes: observed for k up to the pilot's size, fitted beyond."""
        return either(k, self.n_classes, self.observed.accuracy, self.law.accuracy)

    def top(self, m: int, k: Any) -> Floats:
        """Chance that the true class is among the best m of k."""
        return either(
            k,
            self.n_classes,
            lambda inside: self.observed.top(m, inside),
            lambda beyond: self.law.top(m, beyond),
        )

    def interval(
        self, k: Any, kind: str = "expected", by: str = "resampling"
    ) -> tuple[Floats, Floats] | None:
        """Interval for the expected accuracy among k classes.

        By large-sample theory (``by="asymptotic"``): from a jackknife over classes up to the
        pilot's size, and beyond it for moment regression, by the delta method. It needs a pilot
        with scores. None by resampling, which this version does not do.
        """
        arrays.class_counts(k)
        arrays.choice(kind, "kind", ("expected", "new_set", "grown_set"))
        if arrays.choice(by, "by", ("resampling", "asymptotic")) == "resampling":
            return None
        from headcount.risk.asymptotics import accuracy_error, asymptotic_interval

        if kind != "expected" or self._fitted is None:
            raise UnsupportedError(
                "asymptotic intervals are for the expected accuracy, of a forecast that was made "
                "here and not read from a file."
            )
        error = accuracy_error(*self._fitted, k)
        return asymptotic_interval(self.accuracy(k), error, self.confidence, largest=1.0)

    def capacity(self, target: float) -> int | float:
        """Largest number of classes at which accuracy is still at least `target`.

        `math.inf` when accuracy never falls below it; 1 when two classes are already too many.
        """
        least = check_target(target) - ROUND_OFF
        if float(self.observed.accuracy(self.n_classes)) >= least:
            return max(self.n_classes, self.law.capacity(target))
        low, high = 1, self.n_classes
        while high - low > 1:
            middle = (low + high) // 2
            if float(self.observed.accuracy(middle)) >= least:
                low = middle
            else:
                high = middle
        return low

    def capacity_interval(self, target: float) -> tuple[float, float] | None:
        """Interval for the capacity; None: this version computes none."""
        check_target(target)
        return None

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON: the answers, without the fitted law."""
        asked = np.array(self.classes)
        inside = np.unique(np.append(asked[asked <= self.n_classes], self.n_classes))
        beyond = asked[asked > self.n_classes]
        return {
            "schema": SCHEMA,
            "n_classes": self.n_classes,
            "n_probes": self.n_probes,
            "method": self.method,
            "confidence": self.confidence,
            "observed": self._points(inside),
            "forecast": self._points(beyond),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return everything as JSON, enough for `from_json` to answer any question again."""
        return write_forecast(self.to_dict(), self.classes, self.observed, self.law)

    @classmethod
    def from_json(cls, text: str) -> Forecast:
        """Return the forecast that `to_json` wrote, refused if it is not one."""
        return cls(**read_forecast(text))

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame with columns classes, accuracy and region."""
        return as_frame(self._columns())

    def to_csv(self) -> str:
        """Return the curve as CSV text."""
        return as_csv(self._columns())

    def plot(self, ax: Any = None, *, target: float | None = None) -> AccuracyDisplay:
        """Draw accuracy against classes; needs the extra `plot`."""
        from headcount.plotting import AccuracyDisplay

        return AccuracyDisplay.from_forecast(self, target=target).plot(ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forecast as .json or .csv, or its picture as .png, .svg or .pdf."""
        suffix = Path(path).suffix.lower()
        if suffix in TEXTS:
            text = self.to_json() if suffix == ".json" else self.to_csv()
            write_atomically(path, lambda name: Path(name).write_text(text, encoding="utf-8"))
        elif suffix not in PICTURES:
            raise ParameterError(
                f"cannot save a forecast as {suffix or 'a file without ending'}; "
                f"choose one of {', '.join((*TEXTS, *PICTURES))}."
            )
        else:
            from headcount.plotting import AccuracyDisplay

            AccuracyDisplay.from_forecast(self).save(path)

    def sentences(self) -> list[str]:
        """Return the answer in words, first the numbers asked for, then what it can hold."""
        lines = [
            f"At {k:,} classes: {percent(float(self.accuracy(k)))}"
            + (" (measured)." if k <= self.n_classes else ".")
            for k in self.classes
        ]
        return [*lines, self._capacities()]

    def __repr__(self) -> str:
        title = (
            f"Forecast from {self.n_classes:,} classes and {self.n_probes:,} probes ({self.method})"
        )
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join([title, *self.sentences(), *notes])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    # -- inner workings -------------------------------------------------------------------------

    def _curve(self) -> Curve:
        classes = curve_classes(self.n_classes, self.classes)
        region = np.where(classes <= self.n_classes, "observed", "forecast")
        curve = Curve(classes, self.accuracy(classes), region)
        for array in (curve.classes, curve.accuracy, curve.region):
            array.flags.writeable = False
        return curve

    def _points(self, classes: NDArray[np.int64]) -> list[dict[str, Any]]:
        values = self.accuracy(classes)
        return [
            {"classes": int(k), "accuracy": float(value)}
            for k, value in zip(classes, values, strict=True)
        ]

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "classes": self.curve.classes,
            "accuracy": self.curve.accuracy,
            "region": self.curve.region,
        }

    def _capacities(self) -> str:
        parts = []
        for target in TARGETS:
            held = self.capacity(target)
            if held == 1:
                continue
            parts.append(f"{percent(target)} up to {describe_capacity(held)}")
        if not parts:
            return f"Even two classes are too many for {percent(TARGETS[-1])}."
        return "It stays at or above " + ", ".join(parts) + "."


def describe_capacity(held: int | float) -> str:
    """Return a capacity in words.

    Examples
    --------
    >>> describe_capacity(2345), describe_capacity(float("inf"))
    ('about 2,300 classes', 'any number of classes')
    """
    approximate = 100 <= held <= 1e12
    return ("about " if approximate else "") + about(held) + " classes"


def _as_pilot(data: Any, labels: Any) -> Pilot:
    if isinstance(data, Pilot):
        if labels is not None:
            raise ParameterError("a Pilot has its own labels; leave labels out.")
        return data
    if isinstance(data, str | os.PathLike):
        return load(data, labels=labels)
    if labels is None:
        raise ParameterError("a score matrix needs labels: the true class of each row.")
    return Pilot.from_scores(data, labels)
