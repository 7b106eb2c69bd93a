"""Accuracy against classes: the picture most people want."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import check_target
from headcount.curves.observed import observe
from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BAND,
    BLUE,
    GREY,
    ORANGE,
    SHADE,
    count_axis,
    faint_grid,
    legend,
    rate_axis,
    rates,
)
from headcount.support import validation
from headcount.support.grids import curve_classes
from headcount.support.words import counted, percent

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

Floats = NDArray[np.float64]
UNSUPPORTED = "past what the back-test supports"
NEAR = 0.1  # above guessing: from there on it matters


@dataclass
class AccuracyDisplay(Display):
    """Accuracy against classes: solid where measured, dashed where forecast.

    Parameters
    ----------
    classes, accuracy : ndarray
        The curve.
    region : ndarray of str
        "observed" or "forecast".
    n_classes : int
        Size of the pilot, marked on the curve.
    target : float, optional
        Draws a line at this accuracy.
    lower, upper : ndarray, optional
        Limits of the curve, drawn as a band.
    top : int
        How many of the best count: the curve is the chance that the true class is among them.
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
    >>> from headcount.display.plots import AccuracyDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 0, 1, 4], n_classes=50)
    >>> made = headcount.forecast(pilot, classes=100, method="probit-normal", intervals=False)
    >>> display = AccuracyDisplay.from_forecast(made, target=0.5)
    >>> frame = display.frame()
    >>> frame["classes"][-1].item(), round(frame["accuracy"][-1].item(), 2)
    (100, 0.5)
    >>> display.save("accuracy.png")  # doctest: +SKIP
    """

    classes: NDArray[np.int64]
    accuracy: Floats
    region: NDArray[np.str_]
    n_classes: int
    target: float | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    top: int = 1
    supported: int | None = None
    band: str = "interval"

    @classmethod
    def from_forecast(
        cls, forecast: Forecast, *, target: float | None = None, top: int = 1
    ) -> Self:
        """Take the curve of a forecast.

        Parameters
        ----------
        forecast : Forecast
            Any forecast.
        target : float, optional
            An accuracy to draw a line at.
        top : int
            Draw the chance to be among the best so many; from two on there are no intervals.
        """
        curve, best = forecast.curve, validation.whole_number(top, "top", 1)
        only = best == 1
        return cls(
            curve.classes,
            curve.accuracy if only else forecast.top(best, curve.classes),
            curve.region,
            forecast.n_classes,
            None if target is None else check_target(target),
            curve.lower if only else None,
            curve.upper if only else None,
            best,
            None if forecast.backtest is None else forecast.supported,
            f"{percent(forecast.confidence)} interval",
            nouns=forecast.nouns,
        )

    @classmethod
    def from_pilot(cls, pilot: Pilot, *, target: float | None = None, top: int = 1) -> Self:
        """Take what was measured, exact up to the pilot's size.

        Censored probes leave a range, which is drawn as a band.
        """
        observed, best = observe(pilot), validation.whole_number(top, "top", 1)
        classes = curve_classes(pilot.n_classes, [pilot.n_classes])
        lower, upper = (None, None) if observed.exact else observed.bounds(classes)
        return cls(
            classes,
            observed.top(best, classes),
            np.full(len(classes), "observed"),
            pilot.n_classes,
            None if target is None else check_target(target),
            lower if best == 1 else None,
            upper if best == 1 else None,
            best,
            band="range left by short lists",
            nouns=pilot.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        Columns: classes; accuracy, or top_5 and the like; lower and upper where there are limits;
        region.
        """
        name = "accuracy" if self.top == 1 else f"top_{self.top}"
        held: dict[str, NDArray[Any]] = {"classes": self.classes, name: self.accuracy}
        if self.lower is not None and self.upper is not None:
            held |= {"lower": self.lower, "upper": self.upper}
        return held | {"region": self.region}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        error_rate : bool
            Draw the share that is wrong instead of the share that is right, on a log axis where
            it spans a factor of ten: better for small errors.
        """
        ax = self._take(ax)
        last = int(self.classes[-1])
        count_axis(ax, "x", self.nouns.rename("classes"), int(self.classes[0]), last)
        edges: list[Floats] = []
        if self.lower is not None and self.upper is not None:
            edges = [rates(limit, error_rate) for limit in (self.lower, self.upper)]
            ax.fill_between(
                self.classes, *edges, color=ORANGE, alpha=BAND, linewidth=0, label=self.band
            )
        drawn: list[Any] = [rates(self.accuracy, error_rate)]
        self._curve(ax, drawn[0])
        guess = np.minimum(self.top / self.classes, 1.0)
        least = self.accuracy if self.lower is None else self.lower
        if ((least - guess)[guess < 1] < NEAR).any():
            ax.plot(self.classes, rates(guess, error_rate), ":", color=GREY, label="guessing")
        if self.target is not None:
            target = float(rates(self.target, error_rate))
            drawn.append(target)
            label = f"target, {percent(target)}"
            ax.axhline(target, color=GREY, linewidth=0.9, dashes=(9, 3), label=label)
        if self.supported is not None and self.supported < last:
            ax.axvspan(
                self.supported, last, color=GREY, alpha=SHADE, linewidth=0, zorder=0,
                label=UNSUPPORTED,
            )  # fmt: skip
        ax.margins(x=0)  # else the grey would end before the page does
        rate_axis(ax, self._measure(error_rate), drawn, edges, error_rate=error_rate)
        faint_grid(ax)
        legend(ax, above=True, abreast=True)  # curves may run anywhere inside
        return self

    def _measure(self, error_rate: bool) -> str:
        if self.top > 1:
            return f"{'not ' if error_rate else ''}among the best {self.top}"
        return "error rate" if error_rate else "accuracy"

    def _curve(self, ax: Any, drawn: Floats) -> None:
        inside, outside = self.classes <= self.n_classes, self.classes >= self.n_classes
        ax.plot(self.classes[inside], drawn[inside], color=BLUE, label="measured")
        if outside.sum() > 1:
            ax.plot(self.classes[outside], drawn[outside], "--", color=ORANGE, label="forecast")
        at_pilot = drawn[self.classes == self.n_classes]
        ax.plot(
            [self.n_classes], at_pilot, "o", color=BLUE, clip_on=False, zorder=3,
            label=self.nouns.rename(f"pilot, {counted(self.n_classes, 'class')}"),
        )  # fmt: skip
