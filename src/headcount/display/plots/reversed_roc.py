"""The reversed ROC: how well the true class stands out from the wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.ordinary_roc import class_averaged_roc
from headcount.curves.reversed_roc import ROCCurve, reversed_roc
from headcount.display.plots.display import Display
from headcount.display.plots.roc_lines import (
    bend,
    finest_of,
    first_rate,
    law_of,
    line_points,
    measured_curves,
    table_roc,
)
from headcount.display.plots.style import BLUE, GREEN, GREY, ORANGE, faint_grid, legend, share_axis
from headcount.support import validation

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

REVERSED = "reversed ROC: classes compete for a probe"
ORDINARY = "ordinary ROC: probes compete for a class"
MEASURED = "reversed ROC of the pilot"
ESTIMATED = "estimated reversed ROC"
AT_WORST = "reversed ROC if censored probes lose to all"
AT_BEST = "reversed ROC if they lose to no more than listed"


@dataclass
class ReversedROCDisplay(Display):
    """The average reversed ROC, and where scores are at hand the ordinary one for contrast.

    With censored probes the curve is known only within limits, and both are drawn.

    Rates are drawn on a logarithmic axis. With a good recogniser nearly all happens among the best
    few of the wrong classes, which a straight axis would press against its left edge. Where the
    curve of a pilot enters on the left, it is the share of probes that no wrong class beats.

    Parameters
    ----------
    curves : dict of str to ROCCurve
        What to draw, by the name it has in the legend.
    finest : float
        The smallest rate that the pilot can tell from zero; what it measured is drawn from there
        on, beside an estimate that goes further.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np, headcount
    >>> from headcount.display.plots import ReversedROCDisplay
    >>> scores = np.random.default_rng(0).normal(size=(50, 50)) + 3 * np.eye(50)
    >>> pilot = headcount.Pilot.from_scores(scores, range(50))
    >>> display = ReversedROCDisplay.from_pilot(pilot)
    >>> {name[:8]: round(curve.auc, 2) for name, curve in display.curves.items()}
    {'reversed': 0.99, 'ordinary': 0.99}
    """

    curves: dict[str, ROCCurve]
    finest: float = 0.0

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
        censored = bool(pilot.censored.any())
        curves = measured_curves(reversed_roc(pilot), censored, REVERSED, AT_WORST, AT_BEST)
        several = pilot.labels is not None and len(np.unique(pilot.labels)) > 1
        if ordinary and pilot.has_scores and several:
            curves[ORDINARY] = class_averaged_roc(pilot)
        return cls(curves, nouns=pilot.nouns)

    @classmethod
    def from_forecast(cls, forecast: Forecast) -> Self:
        """Take what the pilot showed, and what the method made of it.

        Refused for methods that give no law of favorability.
        """
        estimated = law_of(forecast).reversed_roc()
        censored = forecast.observed.censored
        curves = measured_curves(table_roc(forecast), censored, MEASURED, AT_WORST, AT_BEST)
        curves |= {ESTIMATED: estimated}
        return cls(curves, finest_of(forecast), nouns=forecast.nouns)

    @classmethod
    def from_favorability(cls, law: Favorability) -> Self:
        """Take the curve of a law of favorability, from whichever method."""
        return cls({ESTIMATED: law.reversed_roc()})

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column."""
        lines = [line_points(curve) for curve in self.curves.values()]
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
        logarithmic = validation.choice(scale, "scale", ("log", "linear")) == "log"
        ax = self._choose_axes(ax)
        first = min(map(first_rate, self.curves.values())) if logarithmic else 0.0
        styles = cycle((("-", BLUE), ("--", ORANGE), ("-.", GREEN)))
        for (name, curve), (dashes, color) in zip(self.curves.items(), styles, strict=False):
            rate, share = line_points(curve)
            if logarithmic:
                rate, share = bend(rate, share, first)
            if name != ESTIMATED:
                resolved = rate >= self.finest
                rate, share = rate[resolved], share[resolved]
            ax.plot(
                rate,
                share,
                dashes,
                color=color,
                label=self.nouns.rename(f"{name}, area {_area(curve.auc)}"),
            )
        level = np.geomspace(first, 1, 200) if logarithmic else np.array([0.0, 1.0])
        ax.plot(level, level, ":", color=GREY, label="guessing, area 0.50")
        ax.set_xscale(scale)
        ax.set_xlim(first, 1)
        ax.set_ylim(0, 1.02)
        share_axis(ax, "x", "share of wrong ones let in (false positives)")
        share_axis(ax, "y", "share of true ones let in")
        faint_grid(ax)
        legend(ax, above=True)  # curves may run anywhere inside
        return self


def _area(area: float) -> str:
    """Return an area with two digits, or as many as tell it from one."""
    missing = 1 - area
    digits = int(np.ceil(-np.log10(missing))) if 1e-8 < missing <= 0.005 else 2
    return f"{area:.{digits}f}"
