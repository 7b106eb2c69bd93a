"""What a back-test found: how well a method forecast the pilot from fewer of its classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.backtest_exchange import SCHEMA, check_tolerance, read_backtest
from headcount.errors import DataError
from headcount.presenting import as_csv, as_frame
from headcount.wording import OURS, Nouns, counted, in_points, percent, points, times

if TYPE_CHECKING:
    from headcount.plotting import BacktestDisplay

Floats = NDArray[np.float64]

TOLERANCE, CONFIDENCE = 0.05, 0.9


@dataclass(frozen=True)
class BacktestStep:
    """Forecasts of the whole pilot from random subsets of its classes, all of one size.

    Attributes
    ----------
    n_classes : int
        How many classes each forecast was made from.
    ratio : float
        How many times as many classes it had to forecast.
    forecasts : tuple of float
        Accuracy among all classes as forecast by each repeat.
    observed : float
        What was measured there.
    coverage : float or None
        Share of repeats whose own interval, at the back-test's level, holds the observed value.
    """

    n_classes: int
    ratio: float
    forecasts: tuple[float, ...]
    observed: float
    coverage: float | None = None

    @property
    def error(self) -> float:
        """Root mean square of forecast minus observed; squared, it is bias² plus spread²."""
        return float(np.sqrt(np.mean(np.square(self._errors))))

    @property
    def bias(self) -> float:
        """Mean of forecast minus observed: above zero where forecasts are too high."""
        return float(np.mean(self._errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the forecasts."""
        return float(np.std(self.forecasts))

    @property
    def _errors(self) -> Floats:
        return np.subtract(self.forecasts, self.observed, dtype=np.float64)


@dataclass(frozen=True)
class Backtest:
    """How well a method forecast the pilot's own accuracy from fewer of its classes.

    Made by `backtest`. The forecasts are compared with the accuracy that was measured, which has
    noise of its own, and the subsets are parts of the pilot, so that their noise is partly the
    same: an error is not quite what an independent experiment would show. Forecasts from few
    classes also have more noise than the forecast from the whole pilot will have.

    Attributes
    ----------
    n_classes : int
        Classes of the pilot, K.
    method : str
        Alias of the method.
    observed : float
        Accuracy measured among all K classes.
    steps : tuple of BacktestStep
        One for each number of classes tried, the largest (K / 2) first.
    grid : ndarray of int64
        Numbers of classes, evenly on a log scale from 2 to at least 50 K.
    halves : ndarray of shape (repeats, points of the grid)
        Accuracy forecast on the grid from each random half of the classes. Their variance (times
        m / (K - m), m being their size) estimates that of the forecast from the whole pilot: the
        delete-half jackknife, right for k far below K; from K on it was 1.3 to 2 times too large
        in simulations.
    tolerance : float
        Error up to which a forecast counts as good.
    shared_rivals : bool
        False where only counts are known, so that hidden classes were hidden from each probe on
        its own; what probes have in common by meeting the same rivals is then missing from the
        spread.
    notes : tuple of str
        What was left out, and why.
    confidence : float
        Level of the intervals whose coverage the steps have.
    nouns : Nouns
        What classes and probes are called in words and pictures.
    """

    n_classes: int
    method: str
    observed: float
    steps: tuple[BacktestStep, ...]
    grid: NDArray[np.int64]
    halves: Floats
    tolerance: float = TOLERANCE
    shared_rivals: bool = True
    notes: tuple[str, ...] = ()
    confidence: float = CONFIDENCE
    nouns: Nouns = OURS

    @property
    def supported(self) -> float:
        """How many times the pilot's classes a forecast may reach: `within` the tolerance."""
        return self.within(self.tolerance)

    def within(self, tolerance: float) -> float:
        """Return the largest ratio tried with an error up to `tolerance` there and before it.

        1.0 where there is none: then nothing past the pilot itself is supported.
        """
        least, reached = check_tolerance(tolerance), 1.0
        for step in self.steps:
            if step.error > least:
                break
            reached = step.ratio
        return reached

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, enough for `from_dict`."""
        return {
            "schema": SCHEMA,
            "n_classes": self.n_classes,
            "method": self.method,
            "observed": self.observed,
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "supported": self.supported,
            "shared_rivals": self.shared_rivals,
            "steps": [
                {
                    "classes": step.n_classes,
                    "ratio": step.ratio,
                    "error": step.error,
                    "bias": step.bias,
                    "spread": step.spread,
                    "coverage": step.coverage,
                    "forecasts": list(step.forecasts),
                }
                for step in self.steps
            ],
            "notes": list(self.notes),
            "grid": self.grid.tolist(),
            "halves": self.halves.tolist(),
            "nouns": self.nouns.to_dict(),
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Backtest:
        """Return the back-test that `to_dict` wrote, refused if it is not one."""
        try:
            fields = read_backtest(held)
            steps = tuple(BacktestStep(**step) for step in fields.pop("steps"))
            return cls(steps=steps, **fields)
        except DataError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(
                f"this is not a back-test written by to_dict: {error}; write it again."
            ) from error

    def to_frame(self) -> Any:
        """Return the steps as a pandas DataFrame, a row each."""
        return as_frame(self._columns())

    def to_csv(self) -> str:
        """Return the steps as CSV text."""
        return as_csv(self._columns())

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> BacktestDisplay:
        """Draw what would have been forecast, and what was measured; needs the extra `plot`."""
        from headcount.plotting import BacktestDisplay

        return BacktestDisplay.from_backtest(self).plot(ax, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the outcome in words: how far off it was, and what that supports."""
        found = [*self.notes, self._verdict()] if self.steps else self.notes
        return [self.nouns.rename(sentence) for sentence in found]

    def __repr__(self) -> str:
        title = f"Backtest of {self.method} on {counted(self.n_classes, 'class')}"
        lines = [
            f"From {step.n_classes:,} classes: {percent(float(np.mean(step.forecasts)))} forecast, "
            f"{percent(self.observed)} measured, {points(step.error)} off on average"
            for step in self.steps
        ]
        return "\n  ".join([*map(self.nouns.rename, [title, *lines]), *self.sentences()])

    def _repr_html_(self) -> str:
        from headcount.notebook import backtest_html

        return backtest_html(self)

    def _columns(self) -> dict[str, NDArray[Any]]:
        names = (
            "classes", "ratio", "repeats", "forecast", "observed", "error", "bias", "spread",
            "coverage",
        )  # fmt: skip
        rows = [
            (
                step.n_classes, step.ratio, len(step.forecasts), float(np.mean(step.forecasts)),
                self.observed, step.error, step.bias, step.spread, step.coverage,
            )
            for step in self.steps
        ]  # fmt: skip
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def _verdict(self) -> str:
        reached = [step for step in self.steps if step.ratio <= self.supported]
        if not reached:
            first = self.steps[0]
            return (
                f"Already from {first.n_classes:,} of your {self.n_classes:,} classes it was "
                f"{points(first.error)} off on average, more than the {points(self.tolerance)} "
                "allowed: no forecast beyond the pilot is supported."
            )
        last = reached[-1]
        return (
            f"From {last.n_classes:,} of your {self.n_classes:,} classes it was "
            f"{points(last.error)} off on average: forecasts up to {times(last.ratio)} times the "
            f"pilot are supported ({int(last.ratio * self.n_classes):,} classes)."
        )


def cells(step: BacktestStep) -> list[str]:
    """Return a step as a table shows it.

    From how many classes, times as many were forecast, mean forecast, mean error and bias in
    points, and how many intervals held what was measured.
    """
    return [
        f"{step.n_classes:,}",
        times(step.ratio),
        percent(sum(step.forecasts) / len(step.forecasts)),
        in_points(step.error),
        in_points(step.bias, beside=step.error, sign="+"),
        "-" if step.coverage is None else percent(step.coverage),
    ]


def best_first(found: Iterable[Backtest]) -> list[Backtest]:
    """Put first the method that reaches farthest, then that which is off least on the way."""

    def badness(result: Backtest) -> tuple[float, float, str]:
        total = sum(step.error for step in result.steps) / max(1, len(result.steps))
        return -result.supported, total, result.method

    return sorted(found, key=badness)
