"""Back-test: what would have been forecast from fewer classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BAND,
    BLUE,
    GREY,
    ORANGE,
    SERIES,
    SHADE,
    SIGNS,
    as_label,
    axis_label,
    count_axis,
    drawable,
    faint_grid,
    legend,
    metric_axis,
    value_or_loss,
)
from headcount.errors import ParameterError, UnsupportedError
from headcount.support.words import counted, points
from headcount.uncertainty.backtest import Backtest, best_first

MOST = 5  # as many colours as are left beside that of what was measured
SIDEWAYS = 1.02  # what stands at one number of classes is moved so far apart


@dataclass
class BacktestDisplay(Display):
    """What would have been forecast from fewer of the pilot's classes, beside what was measured.

    Parameters
    ----------
    backtests : tuple of Backtest
        Of one pilot and one metric; with several, only means and spreads are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import BacktestDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 0, 1, 4] * 20, n_classes=50)
    >>> tested = headcount.backtest(pilot, method="probit-normal", repeats=3)
    >>> frame = BacktestDisplay.from_backtest(tested).frame()
    >>> list(frame), frame["classes"].tolist()[:3]
    (['method', 'classes', 'ratio', 'forecast', 'observed'], [25, 25, 25])
    """

    backtests: tuple[Backtest, ...]

    @classmethod
    def from_backtest(cls, backtest: Backtest | Sequence[Backtest]) -> Self:
        """Take one back-test, or those of several methods on the same pilot: the best five.

        The best are those that are supported farthest, then those that are off least.
        """
        backtests = (backtest,) if isinstance(backtest, Backtest) else tuple(backtest)
        with_steps = [result for result in backtests if result.steps]
        if not with_steps:
            reasons = [note for result in backtests for note in result.notes]
            raise UnsupportedError(
                "; ".join(reasons) or "this back-test has no steps, so there is nothing to draw."
            )
        if len({result.metric for result in with_steps}) > 1:
            raise ParameterError("these back-tests are of different metrics; draw one at a time.")
        if len({(result.n_classes, result.observed) for result in with_steps}) > 1:
            raise ParameterError("these back-tests are of different pilots; draw one at a time.")
        return cls(tuple(best_first(with_steps)[:MOST]), nouns=with_steps[0].nouns)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, a row for each forecast.

        Columns: method; classes it was forecast from; ratio, how many times as many were forecast;
        forecast; observed, what was measured.
        """
        rows = [
            (result.method, step.n_classes, step.ratio, value, result.observed)
            for result in self.backtests
            for step in result.steps
            for value in step.forecasts
        ]
        names = ("method", "classes", "ratio", "forecast", "observed")
        columns = zip(*rows, strict=True)
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; with `error_rate` what is missing to one."""
        ax = self._choose_axes(ax)
        first, several = self.backtests[0], len(self.backtests) > 1
        steps = [step for result in self.backtests for step in result.steps]
        sizes = sorted({step.n_classes for step in steps})
        left, right = sizes[0] / 1.2, first.n_classes * 1.2
        label = self.nouns.rename("classes it was forecast from")
        count_axis(ax, "x", label, sizes[0], first.n_classes)
        tolerated = self._draw_measured(ax, first, error_rate)
        if not several:
            self._draw_repeats(ax, first, error_rate)
        for i, result in enumerate(self.backtests):
            self._draw_means(ax, result, i, error_rate)
        fewest = first.n_classes / first.likely
        if not several and sizes[0] < fewest * (1 - 1e-9):
            ax.axvspan(
                left, _between(sizes, fewest), color=GREY, alpha=SHADE, linewidth=0, zorder=0,
                label="more off than that: not supported",
            )  # fmt: skip
        ax.set_xlim(left, right)
        ax.set_xticks([*sizes, first.n_classes])
        ax.minorticks_off()
        values = [value_or_loss([*step.forecasts, first.observed], error_rate) for step in steps]
        among = f"{axis_label(first.metric, error_rate)} among {counted(first.n_classes, 'class')}"
        label = self.nouns.rename(among)
        metric_axis(ax, label, values, [tolerated], error_rate=error_rate)
        faint_grid(ax)
        legend(ax, above=several, abreast=several)
        return self

    def _draw_measured(self, ax: Any, first: Backtest, error_rate: bool) -> NDArray[np.float64]:
        """Draw what was measured, and return the ends of what is good enough."""
        observed = float(value_or_loss(first.observed, error_rate))
        tolerated = np.clip([observed - first.tolerance, observed + first.tolerance], 0, 1)
        ax.axhspan(
            *tolerated, color=BLUE, alpha=BAND, linewidth=0, zorder=0,
            label=f"within {points(first.tolerance)} of it",
        )  # fmt: skip
        ax.axhline(observed, color=BLUE, linewidth=1, zorder=1)
        ax.plot([first.n_classes], [observed], "o", color=BLUE, label="measured", zorder=3)
        return tolerated

    def _draw_repeats(self, ax: Any, result: Backtest, error_rate: bool) -> None:
        for i, step in enumerate(result.steps):
            size = np.full(len(step.forecasts), step.n_classes / SIDEWAYS)
            height = value_or_loss(step.forecasts, error_rate)
            label = "one forecast, from a random subset" if i == 0 else None
            ax.plot(size, height, ".", color=ORANGE, alpha=0.5, mew=0, label=label)

    def _draw_means(self, ax: Any, result: Backtest, i: int, error_rate: bool) -> None:
        alone = len(self.backtests) == 1
        ax.errorbar(
            [step.n_classes * SIDEWAYS ** (1 if alone else i) for step in result.steps],
            [float(value_or_loss(np.mean(step.forecasts), error_rate)) for step in result.steps],
            [step.spread for step in result.steps],
            color=ORANGE if alone else SERIES[(i + 1) % len(SERIES)],
            marker=SIGNS[(i + 1) % len(SIGNS)], markersize=5, linestyle="--", linewidth=1,
            capsize=2,
            label="mean and standard deviation" if alone else as_label(drawable(result.method)),
        )  # fmt: skip


def _between(sizes: Sequence[int], fewest: float) -> float:
    """Return the middle, on a log scale, of the smallest size that will do and the one below."""
    below = max(size for size in sizes if size < fewest * (1 - 1e-9))
    return float(np.sqrt(below * fewest))
