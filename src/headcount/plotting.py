"""Pictures, one Display each; needs the extra `plot`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.errors import MissingExtraError, ParameterError
from headcount.favorability import check_target
from headcount.writing import PICTURES, write_atomically

if TYPE_CHECKING:
    from headcount.forecasting import Forecast

# From the Okabe-Ito palette, which colour-blind readers can tell apart.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREY = "#777777"


@dataclass
class AccuracyDisplay:
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

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.
    """

    classes: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    region: NDArray[np.str_]
    n_classes: int
    target: float | None = None
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_forecast(cls, forecast: Forecast, *, target: float | None = None) -> Self:
        """Take the curve of a forecast."""
        curve = forecast.curve
        line = None if target is None else check_target(target)
        return cls(curve.classes, curve.accuracy, curve.region, forecast.n_classes, line)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column."""
        return {"classes": self.classes, "accuracy": self.accuracy, "region": self.region}

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        pyplot = _pyplot()
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        inside = self.classes <= self.n_classes
        outside = self.classes >= self.n_classes
        ax.plot(self.classes[inside], self.accuracy[inside], color=BLUE, label="measured")
        if outside.sum() > 1:
            ax.plot(
                self.classes[outside], self.accuracy[outside], "--", color=ORANGE, label="forecast"
            )
        at_pilot = self.accuracy[self.classes == self.n_classes]
        ax.plot(
            [self.n_classes], at_pilot, "o", color=BLUE, label=f"pilot, {self.n_classes:,} classes"
        )
        ax.plot(self.classes, 1 / self.classes, ":", color=GREY, label="guessing")
        if self.target is not None:
            ax.axhline(self.target, color=GREY, linewidth=0.8)
        _label(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as .png, .svg or .pdf."""
        check_picture(path)
        pyplot = _pyplot()
        self.plot()
        try:
            write_atomically(path, lambda name: self.figure_.savefig(name, dpi=150))
        finally:
            pyplot.close(self.figure_)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a file that no picture can be written to, or a missing extra."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in PICTURES:
        raise ParameterError(
            f"cannot draw into {suffix or 'a file without ending'}; choose {', '.join(PICTURES)}."
        )
    _pyplot()


def _label(ax: Any) -> None:
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    ax.xaxis.set_major_formatter(lambda k, _: f"{k:,.0f}")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("classes")
    ax.set_ylabel("accuracy")
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("drawing", "plot") from error
    return pyplot
