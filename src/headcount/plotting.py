"""Pictures, one Display each; needs the extra `plot`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.errors import MissingExtraError, ParameterError
from headcount.favorability import Favorability, check_target
from headcount.roc import ROCCurve, reversed_roc
from headcount.writing import PICTURES, write_atomically

if TYPE_CHECKING:
    from headcount.answers import Forecast
    from headcount.pilot import Pilot

Floats = NDArray[np.float64]

# From the Okabe-Ito palette, which colour-blind readers can tell apart.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREY = "#777777"

REVERSED = "reversed ROC: classes compete for a probe"
ORDINARY = "ordinary ROC: probes compete for a class"
ESTIMATED = "estimated reversed ROC"
AT_WORST = "reversed ROC if censored probes lose to all"
AT_BEST = "reversed ROC if they lose to no more than listed"
MOST_POINTS = 4_000
SMALLEST_RATE = 1e-7


class _Picture(ABC):
    """What every Display can do."""

    ax_: Any = None
    figure_: Any = None

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as .png, .svg or .pdf."""
        check_picture(path)
        pyplot = _pyplot()
        self.plot()
        try:
            write_atomically(path, lambda name: self.figure_.savefig(name, dpi=150))
        finally:
            pyplot.close(self.figure_)

    def _take(self, ax: Any) -> Any:
        """Return the axes to draw into, new ones where none are given."""
        pyplot = _pyplot()
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


@dataclass
class AccuracyDisplay(_Picture):
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
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None

    @classmethod
    def from_forecast(cls, forecast: Forecast, *, target: float | None = None) -> Self:
        """Take the curve of a forecast."""
        curve = forecast.curve
        line = None if target is None else check_target(target)
        return cls(
            curve.classes,
            curve.accuracy,
            curve.region,
            forecast.n_classes,
            line,
            curve.lower,
            curve.upper,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column."""
        held: dict[str, NDArray[Any]] = {"classes": self.classes, "accuracy": self.accuracy}
        if self.lower is not None and self.upper is not None:
            held |= {"lower": self.lower, "upper": self.upper}
        return held | {"region": self.region}

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._take(ax)
        inside = self.classes <= self.n_classes
        outside = self.classes >= self.n_classes
        if self.lower is not None and self.upper is not None:
            ax.fill_between(
                self.classes, self.lower, self.upper, color=ORANGE, alpha=0.2, linewidth=0,
                label="interval",
            )  # fmt: skip
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
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda k, _: f"{k:,.0f}")
        _label(ax, "classes", "accuracy")
        return self


@dataclass
class ReversedROCDisplay(_Picture):
    """The average reversed ROC, and where scores are at hand the ordinary one for contrast.

    With censored probes the curve is known only within limits, and both are drawn.

    Rates are drawn on a logarithmic axis. With a good recogniser nearly all happens among the best
    few of the wrong classes, which a straight axis would press against its left edge. Where the
    curve of a pilot enters on the left, it is the share of probes that no wrong class beats.

    Parameters
    ----------
    curves : dict of str to ROCCurve
        What to draw, by the name it has in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np, headcount
    >>> from headcount.plotting import ReversedROCDisplay
    >>> scores = np.random.default_rng(0).normal(size=(50, 50)) + 3 * np.eye(50)
    >>> pilot = headcount.Pilot.from_scores(scores, range(50))
    >>> display = ReversedROCDisplay.from_pilot(pilot)
    >>> {name[:8]: round(curve.auc, 2) for name, curve in display.curves.items()}
    {'reversed': 0.99, 'ordinary': 0.99}
    """

    curves: dict[str, ROCCurve]

    @classmethod
    def from_pilot(cls, pilot: Pilot, *, ordinary: bool = True) -> Self:
        """Take the curves of a pilot.

        Parameters
        ----------
        pilot : Pilot
            Any pilot.
        ordinary : bool
            Add the ordinary ROC, averaged over classes, if the pilot has scores and probes of two
            classes or more. That takes two passes over the scores.
        """
        curve = reversed_roc(pilot)
        curves = {REVERSED: curve}
        if pilot.censored.any():
            curves = dict(zip((AT_WORST, AT_BEST), curve.limits, strict=True))
        several = pilot.labels is not None and len(np.unique(pilot.labels)) > 1
        if ordinary and pilot.has_scores and several:
            from headcount.ordinary_roc import class_averaged_roc

            curves[ORDINARY] = class_averaged_roc(pilot)
        return cls(curves)

    @classmethod
    def from_favorability(cls, law: Favorability) -> Self:
        """Take the curve of a law of favorability, from whichever method."""
        return cls({ESTIMATED: law.reversed_roc()})

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column."""
        lines = [_points(curve) for curve in self.curves.values()]
        return {
            "curve": np.repeat(list(self.curves), [len(rate) for rate, _ in lines]),
            "rate": np.concatenate([rate for rate, _ in lines]),
            "share": np.concatenate([share for _, share in lines]),
        }

    def plot(self, ax: Any = None, *, scale: str = "log") -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        scale : {"log", "linear"}
            Axis of the rate.
        """
        logarithmic = arrays.choice(scale, "scale", ("log", "linear")) == "log"
        ax = self._take(ax)
        first = min(map(_first_rate, self.curves.values())) if logarithmic else 0.0
        styles = cycle((("-", BLUE), ("--", ORANGE), ("-.", GREY)))
        for (name, curve), (dashes, color) in zip(self.curves.items(), styles, strict=False):
            rate, share = _points(curve)
            if logarithmic:
                rate, share = _bent(rate, share, first)
            ax.plot(rate, share, dashes, color=color, label=f"{name}, area {_area(curve.auc)}")
        level = np.geomspace(first, 1, 200) if logarithmic else np.array([0.0, 1.0])
        ax.plot(level, level, ":", color=GREY, label="guessing, area 0.50")
        ax.set_xscale(scale)
        ax.set_xlim(first, 1)
        ax.xaxis.set_major_formatter(
            lambda rate, _: f"{100 * rate:.6f}".rstrip("0").rstrip(".") + "%"
        )
        _label(ax, "share of wrong ones let in (false positives)", "share of true ones let in")
        # Curves may run anywhere inside, so the legend stands above.
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
        return self


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a file that no picture can be written to, or a missing extra."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in PICTURES:
        raise ParameterError(
            f"cannot draw into {suffix or 'a file without ending'}; choose {', '.join(PICTURES)}."
        )
    _pyplot()


def _points(curve: ROCCurve) -> tuple[Floats, Floats]:
    """Return the line to draw: all corners of the curve, or places along it if they are many."""
    rate, share = curve.corners()
    if len(rate) > MOST_POINTS:
        ladder = np.geomspace(SMALLEST_RATE, 1, MOST_POINTS // 2)
        rate = np.union1d(ladder, np.linspace(0, 1, MOST_POINTS // 2))
        share = curve.average(rate)
    return rate, share


def _first_rate(curve: ROCCurve) -> float:
    """Return where a logarithmic axis should begin: a little before the curve begins to rise."""
    rate, share = _points(curve)
    at_once = curve.average(np.nextafter(0, 1))  # the jump right after zero is no such rise
    rising = (rate > 0) & (share > at_once + 0.005)
    return float(np.clip(rate[rising].min(initial=0.1) / 2, SMALLEST_RATE, 0.1))


def _bent(rate: Floats, share: Floats, first: float) -> tuple[Floats, Floats]:
    """Add points between the corners: on a logarithmic axis, straight lines are not straight."""
    between = np.setdiff1d(np.geomspace(first, 1, MOST_POINTS // 4), rate)
    share = np.concatenate([share, np.interp(between, rate, share)])
    rate = np.concatenate([rate, between])
    order = np.lexsort((share, rate))
    shown = order[rate[order] >= first]
    return rate[shown], share[shown]


def _area(area: float) -> str:
    """Return an area with two digits, or as many as tell it from one."""
    missing = 1 - area
    digits = int(np.ceil(-np.log10(missing))) if 1e-8 < missing <= 0.005 else 2
    return f"{area:.{digits}f}"


def _label(ax: Any, across: str, up: str) -> None:
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("drawing", "plot") from error
    return pyplot
