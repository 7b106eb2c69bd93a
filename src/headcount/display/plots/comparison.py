"""Comparison of systems: the curve of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.curve import NAMES, Curve
from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BAND,
    GREY,
    SERIES,
    SHADE,
    SIGNS,
    as_label,
    axis_label,
    count_axis,
    drawable,
    faint_grid,
    legend,
    limits_of,
    metric_axis,
    value_or_loss,
)
from headcount.metrics import ACCURACY, Metric
from headcount.support.words import about, percent

if TYPE_CHECKING:
    from headcount.questions.compare import Comparison, Crossing


@dataclass
class ComparisonDisplay(Display):
    """A metric of several systems against classes: solid where measured, dashed where forecast.

    Bands of two systems may overlap though one is surely ahead, since they share classes:
    `LeadDisplay` shows how sure that is.

    Parameters
    ----------
    curves : dict of str to Curve
        The curve of each system.
    n_classes : dict of str to int
        Size of each pilot, marked on the curve.
    metric : Metric
        What the curves show.
    crossings : tuple of Crossing
        Where one falls behind another.
    band : str
        What the bands are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> from headcount import compare, simulate
    >>> from headcount.display.plots import ComparisonDisplay
    >>> pilots = {
    ...     name: simulate.isotropic_gaussian(30, sigma=sigma, random_state=1).pilot
    ...     for name, sigma in {"old": 0.6, "new": 0.4}.items()
    ... }
    >>> frame = ComparisonDisplay.from_comparison(compare(pilots, 30, method="no-change")).frame()
    >>> list(frame), frame["system"][-1].item(), frame["classes"][-1].item()
    (['system', 'classes', 'value', 'lower', 'upper', 'region'], 'new', 30)
    """

    curves: dict[str, Curve]
    n_classes: dict[str, int]
    metric: Metric = ACCURACY
    crossings: tuple[Crossing, ...] = ()
    band: str = "interval"

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> Self:
        """Take the curves of all systems, and where they cross."""
        forecasts = comparison.forecasts.items()
        return cls(
            {name: forecast.curve for name, forecast in forecasts},
            {name: forecast.n_classes for name, forecast in forecasts},
            comparison.metric,
            tuple(pair.crossing for pair in comparison.pairs if pair.crossing is not None),
            f"{percent(comparison.confidence)} interval",
            nouns=comparison.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        Columns: system; classes; value; lower and upper, nan where there are no limits; region.
        """
        sizes = [len(curve.classes) for curve in self.curves.values()]
        system = np.repeat(list(self.curves), sizes)
        return {"system": system} | {name: self._join(name) for name in NAMES}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; with `error_rate` what is missing to one."""
        ax = self._choose_axes(ax)
        curves = self.curves.values()
        first = min(int(curve.classes[0]) for curve in curves)
        last = max(int(curve.classes[-1]) for curve in curves)
        count_axis(ax, "x", self.nouns.rename("classes"), first, last)
        for i, name in enumerate(self.curves):
            self._draw_system(ax, name, i, error_rate)
        self._explain_strokes(ax)
        for crossing in self.crossings:
            ax.axvline(crossing.classes, color=GREY, linewidth=0.9, linestyle=":")
            ax.annotate(
                f"cross at about {about(crossing.classes)}", (crossing.classes, 0.02),
                xycoords=ax.get_xaxis_transform(), xytext=(-4, 0), textcoords="offset points",
                rotation=90, ha="right", va="bottom", fontsize="small", color=GREY,
            )  # fmt: skip
        ax.margins(x=0)
        lines = [value_or_loss(curve.value, error_rate) for curve in curves]
        edges = [limit for curve in curves for limit in limits_of(curve, error_rate)]
        label = axis_label(self.metric, error_rate)
        metric_axis(ax, label, lines, edges, error_rate=error_rate)
        faint_grid(ax)
        legend(ax)
        return self

    def _join(self, name: str) -> NDArray[Any]:
        """Return a column of all curves, nan for those that lack it."""
        columns = (
            curve.columns().get(name, np.full(len(curve.classes), np.nan))
            for curve in self.curves.values()
        )
        return np.concatenate(list(columns))

    def _explain_strokes(self, ax: Any) -> None:
        """Say in the legend what the strokes mean, whatever the colour."""
        ax.plot([], [], color=GREY, label="measured, up to the marker")
        ax.plot([], [], "--", color=GREY, label="forecast")
        if any(curve.has_limits for curve in self.curves.values()):
            ax.fill_between([], [], [], color=GREY, alpha=SHADE, linewidth=0, label=self.band)

    def _draw_system(self, ax: Any, name: str, i: int, error_rate: bool) -> None:
        curve, size = self.curves[name], self.n_classes[name]
        height, limits = value_or_loss(curve.value, error_rate), limits_of(curve, error_rate)
        color, sign = SERIES[i % len(SERIES)], SIGNS[i % len(SIGNS)]
        inside, outside = curve.classes <= size, curve.classes >= size
        if limits:
            ax.fill_between(curve.classes, *limits, color=color, alpha=BAND * 0.7, linewidth=0)
        ax.plot(curve.classes[inside], height[inside], color=color)
        ax.plot(curve.classes[outside], height[outside], "--", color=color)
        at_pilot = height[curve.classes == size]
        label = as_label(drawable(name))
        ax.plot([size], at_pilot, sign, color=color, label=label, clip_on=False, zorder=3)
