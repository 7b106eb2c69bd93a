"""Comparison of systems: their curves, and how far one is ahead of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BAND,
    BLUE,
    GREY,
    SERIES,
    SHADE,
    SIGNS,
    as_it_is,
    as_label,
    count_axis,
    drawable,
    faint_grid,
    legend,
    rate_axis,
    rates,
)
from headcount.errors import ParameterError
from headcount.support.words import about, percent

if TYPE_CHECKING:
    from headcount.questions.compare import Comparison, Crossing
    from headcount.questions.forecast import Curve

Floats = NDArray[np.float64]


@dataclass
class ComparisonDisplay(Display):
    """Accuracy of several systems against classes: solid where measured, dashed where forecast.

    Bands of two systems may overlap though one is surely ahead, since they share classes:
    `LeadDisplay` shows how sure that is.

    Parameters
    ----------
    curves : dict of str to Curve
        The curve of each system.
    n_classes : dict of str to int
        Size of each pilot, marked on the curve.
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
    (['system', 'classes', 'accuracy', 'lower', 'upper', 'region'], 'new', 30)
    """

    curves: dict[str, Curve]
    n_classes: dict[str, int]
    crossings: tuple[Crossing, ...] = ()
    band: str = "interval"

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> Self:
        """Take the curves of all systems, and where they cross."""
        return cls(
            {name: made.curve for name, made in comparison.forecasts.items()},
            {name: made.n_classes for name, made in comparison.forecasts.items()},
            tuple(pair.crossing for pair in comparison.pairs if pair.crossing is not None),
            f"{percent(comparison.confidence)} interval",
            nouns=comparison.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        Columns: system; classes; accuracy; lower and upper, nan where there are no limits; region.
        """
        curves = list(self.curves.values())
        sizes = [len(curve.classes) for curve in curves]

        def joined(name: str) -> NDArray[Any]:
            held = [getattr(curve, name) for curve in curves]
            return np.concatenate(
                [np.full(n, np.nan) if v is None else v for n, v in zip(sizes, held, strict=True)]
            )

        names = ("classes", "accuracy", "lower", "upper", "region")
        system = np.repeat(list(self.curves), sizes)
        return {"system": system} | {name: joined(name) for name in names}

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; error rates instead of accuracies if asked."""
        ax = self._take(ax)
        first = min(int(curve.classes[0]) for curve in self.curves.values())
        last = max(int(curve.classes[-1]) for curve in self.curves.values())
        count_axis(ax, "x", self.nouns.rename("classes"), first, last)
        for i, name in enumerate(self.curves):
            self._draw(ax, name, i, error_rate)
        self._explain(ax)
        for crossing in self.crossings:
            ax.axvline(crossing.classes, color=GREY, linewidth=0.9, linestyle=":")
            ax.annotate(
                f"cross at about {about(crossing.classes)}", (crossing.classes, 0.02),
                xycoords=ax.get_xaxis_transform(), xytext=(-4, 0), textcoords="offset points",
                rotation=90, ha="right", va="bottom", fontsize="small", color=GREY,
            )  # fmt: skip
        ax.margins(x=0)
        curves = self.curves.values()
        lines = [rates(curve.accuracy, error_rate) for curve in curves]
        limits = [limit for curve in curves for limit in (curve.lower, curve.upper)]
        edges = [rates(limit, error_rate) for limit in limits if limit is not None]
        label = "error rate" if error_rate else "accuracy"
        rate_axis(ax, label, lines, edges, error_rate=error_rate)
        faint_grid(ax)
        legend(ax)
        return self

    def _explain(self, ax: Any) -> None:
        """Say in the legend what the strokes mean, whatever the colour."""
        ax.plot([], [], color=GREY, label="measured, up to the marker")
        ax.plot([], [], "--", color=GREY, label="forecast")
        if any(curve.lower is not None for curve in self.curves.values()):
            ax.fill_between([], [], [], color=GREY, alpha=SHADE, linewidth=0, label=self.band)

    def _draw(self, ax: Any, name: str, i: int, error_rate: bool) -> None:
        curve, size = self.curves[name], self.n_classes[name]
        drawn = rates(curve.accuracy, error_rate)
        color, sign = SERIES[i % len(SERIES)], SIGNS[i % len(SIGNS)]
        inside, outside = curve.classes <= size, curve.classes >= size
        if curve.lower is not None and curve.upper is not None:
            edges = [rates(limit, error_rate) for limit in (curve.lower, curve.upper)]
            ax.fill_between(curve.classes, *edges, color=color, alpha=BAND * 0.7, linewidth=0)
        ax.plot(curve.classes[inside], drawn[inside], color=color)
        ax.plot(curve.classes[outside], drawn[outside], "--", color=color)
        at_pilot = drawn[curve.classes == size]
        label = as_label(drawable(name))
        ax.plot([size], at_pilot, sign, color=color, label=label, clip_on=False, zorder=3)


@dataclass
class LeadDisplay(Display):
    """How far the first of two systems is ahead of the second, in points of accuracy.

    Parameters
    ----------
    first, second : str
        The systems.
    classes, difference : ndarray
        Accuracy of the first minus that of the second.
    lower, upper : ndarray, optional
        Limits of the difference, drawn as a band.
    crossing : Crossing, optional
        Where one falls behind the other.
    band : str
        What the band is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> from headcount import compare, simulate
    >>> from headcount.display.plots import LeadDisplay
    >>> pilots = {
    ...     name: simulate.isotropic_gaussian(30, sigma=sigma, random_state=1).pilot
    ...     for name, sigma in {"old": 0.6, "new": 0.4}.items()
    ... }
    >>> display = LeadDisplay.from_comparison(compare(pilots, 30, method="no-change"))
    >>> display.first, display.second, bool(display.frame()["difference"][-1] < 0)
    ('old', 'new', True)
    """

    first: str
    second: str
    classes: NDArray[np.int64]
    difference: Floats
    lower: Floats | None = None
    upper: Floats | None = None
    crossing: Crossing | None = None
    band: str = "interval"

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, first: str | None = None, second: str | None = None
    ) -> Self:
        """Take two of the systems compared; by default the first two."""
        if (first is None) != (second is None):
            raise ParameterError("name both systems, or none for the first two.")
        pair = comparison.pairs[0]
        if first is not None and second is not None:
            pair = comparison.pair(first, second)
        return cls(
            pair.first, pair.second, pair.classes, pair.difference, pair.lower, pair.upper,
            pair.crossing, f"{percent(comparison.confidence)} interval", nouns=comparison.nouns,
        )  # fmt: skip

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture: classes, difference, and limits where there are."""
        held: dict[str, NDArray[Any]] = {"classes": self.classes, "difference": self.difference}
        if self.lower is not None and self.upper is not None:
            held |= {"lower": self.lower, "upper": self.upper}
        return held

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._take(ax)
        first, second = drawable(self.first), drawable(self.second)
        count_axis(
            ax, "x", self.nouns.rename("classes"), int(self.classes[0]), int(self.classes[-1])
        )
        if self.lower is not None and self.upper is not None:
            ax.fill_between(
                self.classes, self.lower, self.upper, color=BLUE, alpha=BAND, linewidth=0,
                label=self.band,
            )  # fmt: skip
        ax.plot(
            self.classes, self.difference, color=BLUE, label=as_label(f"{first} minus {second}")
        )
        ax.axhline(0, color=GREY, linewidth=0.9, dashes=(9, 3), label="no difference")
        if self.crossing is not None:
            at = self.crossing.classes
            label = f"they cross at about {about(at)}"
            ax.plot([at], [0], "D", color=BLUE, markersize=5, label=label, zorder=3)
        ax.margins(x=0)
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:+.4g}" if value else "0")
        as_it_is(ax.set_ylabel(f"lead of {first}, in points"))
        faint_grid(ax)
        legend(ax)
        return self
