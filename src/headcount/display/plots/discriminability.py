"""D(u): how favorable the probes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.reversed_roc import ROCCurve, reversed_roc
from headcount.display.plots.display import Display
from headcount.display.plots.roc_lines import (
    bend,
    finest_of,
    finest_share,
    first_rate,
    law_of,
    line_points,
    measured_curves,
    table_roc,
)
from headcount.display.plots.style import BLUE, ORANGE, faint_grid, legend, share_axis, short_share

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

MEASURED = "measured in the pilot"
ESTIMATED = "estimated"
AT_WORST = "measured, if censored probes lose to all"
AT_BEST = "measured, if they lose to no more than listed"


@dataclass
class DiscriminabilityDisplay(Display):
    """D(u): the share of probes whose true class beats a random other one with chance u at most.

    All forecasts follow from this curve. Few steps near u = 100% decide what happens among many
    classes, so the axis is logarithmic in 1 - u. A pilot of K classes sees no finer than one in
    K - 1: what it measured ends half way to nothing, and only an estimate goes on. It is the
    reversed ROC seen in a mirror: D(u) is one minus its height at 1 - u.

    Parameters
    ----------
    curves : dict of str to ROCCurve
        Reversed ROCs, by the name that D(u) has in the legend.
    finest : float
        The smallest 1 - u that the pilot can tell from zero: what was measured is drawn up to it.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import DiscriminabilityDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 1, 4], n_classes=5)
    >>> frame = DiscriminabilityDisplay.from_pilot(pilot).frame()
    >>> list(zip(frame["favorability"].tolist(), frame["share"].tolist()))
    [(0.0, 0.25), (0.75, 0.25), (0.75, 0.5), (1.0, 0.5), (1.0, 1.0)]
    """

    curves: dict[str, ROCCurve]
    finest: float = 0.0

    @classmethod
    def from_pilot(cls, pilot: Pilot) -> Self:
        """Take what was measured: for each probe, the share of wrong classes that it beats."""
        censored = bool(pilot.censored.any())
        curves = measured_curves(reversed_roc(pilot), censored, MEASURED, AT_WORST, AT_BEST)
        return cls(curves, finest_share(pilot.n_classes), nouns=pilot.nouns)

    @classmethod
    def from_forecast(cls, forecast: Forecast) -> Self:
        """Take what was measured, and the law that the method estimated from it.

        Refused for methods that give no law of favorability.
        """
        law = law_of(forecast)
        censored = forecast.observed.censored
        curves = measured_curves(table_roc(forecast), censored, MEASURED, AT_WORST, AT_BEST)
        curves |= {ESTIMATED: law.reversed_roc()}
        return cls(curves, finest_of(forecast), nouns=forecast.nouns)

    @classmethod
    def from_favorability(cls, law: Favorability) -> Self:
        """Take a law of favorability, from whichever method."""
        return cls({ESTIMATED: law.reversed_roc()})

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture: curve, favorability (u) and share (D), ascending."""
        lines = [line_points(curve) for curve in self.curves.values()]
        return {
            "curve": np.repeat(list(self.curves), [len(rate) for rate, _ in lines]),
            "favorability": np.concatenate([1 - rate[::-1] for rate, _ in lines]),
            "share": np.concatenate([1 - share[::-1] for _, share in lines]),
        }

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._choose_axes(ax)
        first = min(map(first_rate, self.curves.values()))
        for name, curve in self.curves.items():
            rate, share = bend(*line_points(curve), first)
            if name == ESTIMATED:
                ax.plot(rate, 1 - share, "--", color=ORANGE, label=name)
                continue
            resolved = rate >= self.finest
            dashes = "-." if name == AT_BEST else "-"
            label = self.nouns.rename(name)
            ax.plot(rate[resolved], 1 - share[resolved], dashes, color=BLUE, label=label)
        ax.set_xscale("log")
        ax.set_xlim(1, first)
        ax.set_ylim(0, 1.02)
        share_axis(ax, "x", self.nouns.rename("u, the chance to beat one random other class"))
        share_axis(ax, "y", self.nouns.rename("D(u), share of probes with no more"))
        ax.xaxis.set_major_formatter(lambda lost, _: short_share(1 - lost))
        faint_grid(ax)
        legend(ax)
        return self
