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
    count_axis,
    drawable,
    faint_grid,
    legend,
    rate_axis,
    rates,
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
        Of one pilot; with several, only means and spreads are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import BacktestDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 0, 1, 4] * 20, n_classes=50)
    >>> found = headcount.backtest(pilot, method="probit-normal", repeats=3)
    >>> frame = BacktestDisplay.from_backtest(found).frame()
    >>> list(frame), frame["classes"].tolist()[:3]
    (['method', 'classes', 'ratio', 'forecast', 'observed'], [25, 25, 25])
    """

    backtests: tuple[Backtest, ...]

    @classmethod
    def from_backtest(cls, backtest: Backtest | Sequence[Backtest]) -> Self:
        """Take one back-test, or those of several methods on the same pilot: the best five.

        The best are those that are supported farthest, then those that are off least.
        """
        held = (backtest,) if isinstance(backtest, Backtest) else tuple(backtest)
        tried = tuple(one for one in held if one.steps)
        if not tried:
            reasons = [note for one in held for note in one.notes]
            raise UnsupportedError(
                "; ".join(reasons) or "this back-test has no steps, so there is nothing to draw."
            )
        if len({(one.n_classes, one.observed) for one in tried}) > 1:
            raise ParameterError("these back-tests are of different pilots; draw one at a time.")
        return cls(tuple(best_first(tried)[:MOST]), nouns=tried[0].nouns)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, a row for each forecast.

        Columns: method; classes it was forecast from; ratio, how many times as many were forecast;
        forecast; observed, what was measured.
        """
        rows = [
            (one.method, step.n_classes, step.ratio, value, one.observed)
            for one in self.backtests
            for step in one.steps
            for value in step.forecasts
        ]
        names = ("method", "classes", "ratio", "forecast", "observed")
        columns = zip(*rows, strict=True)
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; error rates instead of accuracies if asked."""
        ax = self._take(ax)
        first = self.backtests[0]
        sizes = sorted({step.n_classes for one in self.backtests for step in one.steps})
        left, right = sizes[0] / 1.2, first.n_classes * 1.2
        label = self.nouns.rename("classes it was forecast from")
        count_axis(ax, "x", label, sizes[0], first.n_classes)
        near = self._measured(ax, first, error_rate)
        if len(self.backtests) == 1:
            self._repeats(ax, first, error_rate)
        for i, one in enumerate(self.backtests):
            self._means(ax, one, i, error_rate)
        reached = [first.n_classes / one.supported for one in self.backtests]
        if len(self.backtests) == 1 and sizes[0] < reached[0] * (1 - 1e-9):
            ax.axvspan(
                left, _between(sizes, reached[0]), color=GREY, alpha=SHADE, linewidth=0, zorder=0,
                label="more off than that: not supported",
            )  # fmt: skip
        ax.set_xlim(left, right)
        ax.set_xticks([*sizes, first.n_classes])
        ax.minorticks_off()
        steps = [step for one in self.backtests for step in one.steps]
        drawn = [rates([*step.forecasts, first.observed], error_rate) for step in steps]
        measure = "error rate" if error_rate else "accuracy"
        among = self.nouns.rename(f"{measure} among {counted(first.n_classes, 'class')}")
        rate_axis(ax, among, drawn, [near], error_rate=error_rate)
        faint_grid(ax)
        several = len(self.backtests) > 1
        legend(ax, above=several, abreast=several)
        return self

    def _measured(self, ax: Any, first: Backtest, error_rate: bool) -> NDArray[np.float64]:
        """Draw what was measured, and return the ends of what is good enough."""
        observed = float(rates(first.observed, error_rate))
        near = np.clip([observed - first.tolerance, observed + first.tolerance], 0, 1)
        ax.axhspan(
            *near, color=BLUE, alpha=BAND, linewidth=0, zorder=0,
            label=f"within {points(first.tolerance)} of it",
        )  # fmt: skip
        ax.axhline(observed, color=BLUE, linewidth=1, zorder=1)
        ax.plot([first.n_classes], [observed], "o", color=BLUE, label="measured", zorder=3)
        return near

    def _repeats(self, ax: Any, one: Backtest, error_rate: bool) -> None:
        for i, step in enumerate(one.steps):
            at = np.full(len(step.forecasts), step.n_classes / SIDEWAYS)
            label = "one forecast, from a random subset" if i == 0 else None
            ax.plot(
                at,
                rates(step.forecasts, error_rate),
                ".",
                color=ORANGE,
                alpha=0.5,
                mew=0,
                label=label,
            )

    def _means(self, ax: Any, one: Backtest, i: int, error_rate: bool) -> None:
        alone = len(self.backtests) == 1
        ax.errorbar(
            [step.n_classes * SIDEWAYS ** (1 if alone else i) for step in one.steps],
            [float(rates(np.mean(step.forecasts), error_rate)) for step in one.steps],
            [step.spread for step in one.steps],
            color=ORANGE if alone else SERIES[(i + 1) % len(SERIES)],
            marker=SIGNS[(i + 1) % len(SIGNS)], markersize=5, linestyle="--", linewidth=1,
            capsize=2,
            label="mean and standard deviation" if alone else as_label(drawable(one.method)),
        )  # fmt: skip


def _between(sizes: Sequence[int], reached: float) -> float:
    """Return the middle, on a log scale, of the last size that is supported and the next."""
    below = max(size for size in sizes if size < reached * (1 - 1e-9))
    return float(np.sqrt(below * reached))
