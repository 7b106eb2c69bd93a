"""Capacity against the value that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.curve import FORECAST, OBSERVED
from headcount.curves.favorability import check_target
from headcount.display.plots.curve import UNSUPPORTED
from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BAND,
    BLUE,
    GREY,
    ORANGE,
    SHADE,
    axis_label,
    count_axis,
    faint_grid,
    legend,
    metric_axis,
    value_or_loss,
)
from headcount.errors import ParameterError
from headcount.metrics import ACCURACY, Metric
from headcount.support.words import MOST_SAID, counted, percent

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast

Floats = NDArray[np.float64]

FARTHEST = 50  # times the pilot's classes, where the picture ends
NEAREST = 10  # times fewer classes than the pilot's, where it begins
TARGETS = 50  # a curve's worth; each takes time


@dataclass
class CapacityDisplay(Display):
    """How many classes a system holds, against the value of its metric that it has to keep.

    Parameters
    ----------
    target, capacity : ndarray
        The curve; `inf` where the metric never falls below the target.
    n_classes : int
        Size of the pilot: up to it, capacities are measured.
    observed : float
        What was measured among all classes of the pilot, marked on the curve.
    reach : float
        Where the picture ends.
    metric : Metric
        What has to be kept.
    lower, upper : ndarray, optional
        Limits of the capacity, drawn as a band; `inf` where there is none.
    supported : int, optional
        Beyond this number of classes, which is what the back-test supports, the page is grey.
    band : str
        What the band is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import CapacityDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 0, 1, 4], n_classes=50)
    >>> forecast = headcount.forecast(pilot, classes=100, method="probit-normal", intervals=False)
    >>> frame = CapacityDisplay.from_forecast(forecast, targets=[0.8, 0.9]).frame()
    >>> frame["capacity"].tolist(), frame["region"].tolist()
    ([14.0, 6.0], ['observed', 'observed'])
    """

    target: Floats
    capacity: Floats
    n_classes: int
    observed: float
    reach: float
    metric: Metric = ACCURACY
    lower: Floats | None = None
    upper: Floats | None = None
    supported: int | None = None
    band: str = "interval"

    @classmethod
    def from_forecast(cls, forecast: Forecast, *, targets: Sequence[float] | None = None) -> Self:
        """Ask a forecast for its capacity at each of these values of its metric.

        By default what is kept at numbers of classes from a tenth of the pilot's to 50 times as
        many, or to the largest one asked about if that is more: good systems differ in the digits
        behind 99%, poor ones never come near it.
        """
        reach = min(
            max(FARTHEST * forecast.n_classes, *forecast.classes), MOST_SAID * forecast.n_classes
        )
        if targets is None:
            targets = _usual_targets(forecast, reach)
        target = np.unique([check_target(value) for value in targets])
        if len(target) == 0:
            raise ParameterError("targets names no value; give at least one.")
        limits = [forecast.capacity_interval(value) for value in target]
        lower, upper = (
            None if None in limits else np.array([pair[side] for pair in limits if pair])
            for side in (0, 1)
        )
        return cls(
            target,
            np.array([forecast.capacity(value) for value in target], dtype=np.float64),
            forecast.n_classes,
            forecast.value(forecast.n_classes),
            reach,
            forecast.metric,
            lower,
            upper,
            None if forecast.backtest is None else forecast.supported,
            f"{percent(forecast.confidence)} interval",
            nouns=forecast.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        Columns: target; capacity; lower and upper where there are limits; region.
        """
        columns: dict[str, NDArray[Any]] = {"target": self.target, "capacity": self.capacity}
        if self.lower is not None and self.upper is not None:
            columns |= {"lower": self.lower, "upper": self.upper}
        inside = self.capacity < self.n_classes
        return columns | {"region": np.where(inside, OBSERVED, FORECAST)}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; with `error_rate` against errors allowed."""
        ax = self._choose_axes(ax)
        top = self._top()
        count_axis(ax, "y", self.nouns.rename("classes it can hold"), self._bottom(), top)
        if self.lower is not None and self.upper is not None:
            lower, upper = (np.minimum(side, 10 * top) for side in (self.lower, self.upper))
            endless = ", in part unbounded" if np.isinf(self.upper).any() else ""
            ax.fill_between(
                value_or_loss(self.target, error_rate), lower, upper,
                color=ORANGE, alpha=BAND, linewidth=0, label=self.band + endless,
            )  # fmt: skip
        self._draw_curve(ax, 10 * top, error_rate)
        if self.supported is not None and self.supported < top:
            ax.axhspan(
                self.supported, top, color=GREY, alpha=SHADE, linewidth=0, zorder=0,
                label=UNSUPPORTED,
            )  # fmt: skip
        ax.set_ylim(self._bottom(), top)
        label = f"{axis_label(self.metric, error_rate)} {'allowed' if error_rate else 'to keep'}"
        values = [value_or_loss(self._values_on_page(), error_rate)]
        metric_axis(ax, label, values, which="x", error_rate=error_rate)
        faint_grid(ax)
        legend(ax)
        return self

    def _bottom(self) -> float:
        """Return where the picture begins: below all that is known, and no lower than 1."""
        least = self.capacity if self.lower is None else self.lower
        return max(1.0, float(least.min(initial=self.n_classes)) / 2)

    def _top(self) -> float:
        """Return where the picture ends: past all that is known, and no farther than `reach`."""
        most = self.capacity if self.upper is None else self.upper
        finite = [v for v in (*self.capacity, *most) if np.isfinite(v)]
        return float(np.clip(1.5 * max(finite, default=0), 1.5 * self.n_classes, self.reach))

    def _values_on_page(self) -> Floats:
        """Return the targets where something is on the page, and what the pilot measured."""
        lower = self.capacity if self.lower is None else self.lower
        upper = self.capacity if self.upper is None else self.upper
        inside = (lower <= self._top()) & (upper >= self._bottom())
        return np.append(self.target[inside], self.observed)

    def _draw_curve(self, ax: Any, most: float, error_rate: bool) -> None:
        """Draw what was measured, then what was forecast; they meet at the pilot."""
        values = np.append(self.target, self.observed)
        classes = np.minimum(np.append(self.capacity, self.n_classes), most)
        order = np.lexsort((-classes, values))
        values, classes = value_or_loss(values[order], error_rate), classes[order]
        inside, outside = classes <= self.n_classes, classes >= self.n_classes
        ax.plot(values[inside], classes[inside], color=BLUE, label="measured")
        if outside.sum() > 1:
            ax.plot(values[outside], classes[outside], "--", color=ORANGE, label="forecast")
        ax.plot(
            value_or_loss([self.observed], error_rate), [self.n_classes], "o", color=BLUE, zorder=3,
            label=self.nouns.rename(f"pilot, {counted(self.n_classes, 'class')}"),
        )  # fmt: skip


def _usual_targets(forecast: Forecast, reach: float) -> list[float]:
    """Return values that are kept at numbers of classes around the pilot's and beyond."""
    first = max(2.0, forecast.n_classes / NEAREST)
    classes = np.unique(np.geomspace(first, reach, TARGETS).round().astype(np.int64))
    return [float(value) for value in forecast.value(classes) if value > 0] or [1.0]
