"""How far one system is ahead of another."""

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
    as_label,
    count_axis,
    drawable,
    faint_grid,
    legend,
    write_literally,
)
from headcount.errors import ParameterError
from headcount.metrics import ACCURACY, Metric
from headcount.support.words import about, percent

if TYPE_CHECKING:
    from headcount.questions.compare import Comparison, Crossing

Floats = NDArray[np.float64]


@dataclass
class LeadDisplay(Display):
    """How far the first of two systems is ahead of the second, in points of their metric.

    Parameters
    ----------
    first, second : str
        The systems.
    classes, difference : ndarray
        Value of the first minus that of the second.
    lower, upper : ndarray, optional
        Limits of the difference, drawn as a band.
    crossing : Crossing, optional
        Where one falls behind the other.
    band : str
        What the band is called.
    metric : Metric
        What is compared.

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
    metric: Metric = ACCURACY

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
            pair.crossing, f"{percent(comparison.confidence)} interval", comparison.metric,
            nouns=comparison.nouns,
        )  # fmt: skip

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture: classes, difference, and limits where there are."""
        columns: dict[str, NDArray[Any]] = {
            "classes": self.classes,
            "difference": self.difference,
        }
        if self.lower is not None and self.upper is not None:
            columns |= {"lower": self.lower, "upper": self.upper}
        return columns

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._choose_axes(ax)
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
            size = self.crossing.classes
            label = f"they cross at about {about(size)}"
            ax.plot([size], [0], "D", color=BLUE, markersize=5, label=label, zorder=3)
        ax.margins(x=0)
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:+.4g}" if value else "0")
        # On two lines, as names may be long.
        write_literally(ax.set_ylabel(f"lead of {first},\nin points of {self.metric.label}"))
        faint_grid(ax)
        legend(ax)
        return self
