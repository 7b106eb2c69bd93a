"""A metric against classes: the picture most people want."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.curve import OBSERVED, Curve
from headcount.curves.favorability import check_target
from headcount.curves.observed import observe
from headcount.curves.ranked import RankedObserved
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
    limits_of,
    metric_axis,
    value_or_loss,
)
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.support.grids import curve_classes
from headcount.support.words import counted, percent

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

UNSUPPORTED = "past what the back-test supports"
NEAR = 0.1  # above guessing: from there on it matters


@dataclass
class CurveDisplay(Display):
    """A metric against classes: solid where measured, dashed where forecast.

    Parameters
    ----------
    curve : Curve
        What is drawn, its limits as a band.
    n_classes : int
        Size of the pilot, marked on the curve.
    metric : Metric
        What the curve shows.
    target : float, optional
        Draws a line at this value.
    supported : int, optional
        Beyond this number of classes, which is what the back-test supports, the page is grey.
    band : str
        What the band is called.
    guess : bool
        Whether guessing is drawn where it comes near; it is known where one answer is right.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import CurveDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 0, 1, 4], n_classes=50)
    >>> forecast = headcount.forecast(pilot, classes=100, method="probit-normal", intervals=False)
    >>> display = CurveDisplay.from_forecast(forecast, target=0.5)
    >>> frame = display.frame()
    >>> frame["classes"][-1].item(), round(frame["value"][-1].item(), 2)
    (100, 0.5)
    >>> display.save("accuracy.png")  # doctest: +SKIP
    """

    curve: Curve
    n_classes: int
    metric: Metric = ACCURACY
    target: float | None = None
    supported: int | None = None
    band: str = "interval"
    guess: bool = True

    @classmethod
    def from_forecast(cls, forecast: Forecast, *, target: float | None = None) -> Self:
        """Take the curve of a forecast, which is of its metric.

        Parameters
        ----------
        forecast : Forecast
            Any forecast.
        target : float, optional
            A value to draw a line at.
        """
        return cls(
            forecast.curve,
            forecast.n_classes,
            forecast.metric,
            None if target is None else check_target(target),
            None if forecast.backtest is None else forecast.supported,
            f"{percent(forecast.confidence)} interval",
            not isinstance(forecast.observed, RankedObserved),
            nouns=forecast.nouns,
        )

    @classmethod
    def from_pilot(
        cls, pilot: Pilot, *, target: float | None = None, metric: str | Metric = ACCURACY
    ) -> Self:
        """Take what was measured, exact up to the pilot's size.

        Censored probes leave a range, which is drawn as a band.

        Parameters
        ----------
        pilot : Pilot
            Any pilot.
        target : float, optional
            A value to draw a line at.
        metric : str or Metric
            What to draw: "accuracy", or "top-5" and the like.
        """
        observed, measure = observe(pilot), resolve_share(metric)
        classes = curve_classes(pilot.n_classes, [pilot.n_classes])
        lower, upper = (None, None) if observed.exact else observed.bounds(classes, measure)
        region = np.full(len(classes), OBSERVED)
        return cls(
            Curve(classes, observed.value(classes, measure), region, lower, upper, measure),
            pilot.n_classes,
            measure,
            None if target is None else check_target(target),
            band="range left by short lists",
            guess=not isinstance(observed, RankedObserved),
            nouns=pilot.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        Columns: classes; value; lower and upper where there are limits; region.
        """
        return self.curve.columns()

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        error_rate : bool
            Draw what is missing to one, the error rate, on a log axis where it spans a factor of
            ten: better for small errors.
        """
        ax = self._choose_axes(ax)
        classes = self.curve.classes
        count_axis(ax, "x", self.nouns.rename("classes"), int(classes[0]), int(classes[-1]))
        limits = limits_of(self.curve, error_rate)
        if limits:
            ax.fill_between(
                classes, *limits, color=ORANGE, alpha=BAND, linewidth=0, label=self.band
            )
        lines = [value_or_loss(self.curve.value, error_rate)]
        self._draw_curve(ax, lines[0])
        if self.guess:
            self._draw_guess(ax, error_rate)
        if self.target is not None:
            lines.append(value_or_loss(self.target, error_rate))
            self._draw_target(ax, float(lines[-1]))
        self._shade_unsupported(ax)
        ax.margins(x=0)  # else the grey would end before the page does
        label = axis_label(self.metric, error_rate)
        metric_axis(ax, label, lines, limits, error_rate=error_rate)
        faint_grid(ax)
        legend(ax, above=True, abreast=True)  # curves may run anywhere inside
        return self

    def _draw_curve(self, ax: Any, height: NDArray[np.float64]) -> None:
        classes = self.curve.classes
        inside, outside = classes <= self.n_classes, classes >= self.n_classes
        ax.plot(classes[inside], height[inside], color=BLUE, label="measured")
        if outside.sum() > 1:
            ax.plot(classes[outside], height[outside], "--", color=ORANGE, label="forecast")
        ax.plot(
            [self.n_classes], height[classes == self.n_classes], "o", color=BLUE, clip_on=False,
            zorder=3, label=self.nouns.rename(f"pilot, {counted(self.n_classes, 'class')}"),
        )  # fmt: skip

    def _draw_guess(self, ax: Any, error_rate: bool) -> None:
        """Draw what guessing would give, where the curve or its lower limit comes near it."""
        curve, guess = self.curve, self.metric.guess(self.curve.classes)
        least = curve.value if curve.lower is None else curve.lower
        if ((least - guess)[guess < 1] < NEAR).any():
            height = value_or_loss(guess, error_rate)
            ax.plot(curve.classes, height, ":", color=GREY, label="guessing")

    def _draw_target(self, ax: Any, height: float) -> None:
        label = f"target, {self.metric.write(height)}"
        ax.axhline(height, color=GREY, linewidth=0.9, dashes=(9, 3), label=label)

    def _shade_unsupported(self, ax: Any) -> None:
        last = int(self.curve.classes[-1])
        if self.supported is not None and self.supported < last:
            ax.axvspan(
                self.supported, last, color=GREY, alpha=SHADE, linewidth=0, zorder=0,
                label=UNSUPPORTED,
            )  # fmt: skip
