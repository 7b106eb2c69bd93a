"""CMC: how often the true class is among the best m, at given numbers of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.curves.observed import Observed
from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    SERIES,
    SIGNS,
    faint_grid,
    legend,
    metric_axis,
    value_or_loss,
)
from headcount.support import validation
from headcount.support.grids import asked_classes
from headcount.support.words import Nouns, counted

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

Floats = NDArray[np.float64]

RANKS = 20


@dataclass
class CMCDisplay(Display):
    """Cumulative match characteristic: the chance to be among the best m of k classes.

    Solid where measured (k up to the pilot's size), dashed where forecast.

    Parameters
    ----------
    classes : tuple of int
        Numbers of classes, a curve each.
    ranks : ndarray
        m, from 1.
    share : ndarray, shape (numbers of classes, ranks)
        Chance that the true class is among the best m.
    n_classes : int
        Size of the pilot.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import CMCDisplay
    >>> pilot = headcount.Pilot.from_losses([0, 0, 1, 4], n_classes=50)
    >>> display = CMCDisplay.from_pilot(pilot, ranks=5)
    >>> display.frame()["share"].tolist()
    [0.5, 0.75, 0.75, 0.75, 1.0]
    """

    classes: tuple[int, ...]
    ranks: NDArray[np.int64]
    share: Floats
    n_classes: int

    @classmethod
    def from_forecast(cls, forecast: Forecast, classes: Any = None, *, ranks: int = RANKS) -> Self:
        """Ask a forecast; by default at the pilot's size and the numbers it was made for.

        Refused for methods that give no law of favorability, if it goes beyond the pilot.
        """
        sizes = (forecast.n_classes, *forecast.classes) if classes is None else classes
        return cls._tabulate(forecast.top, sizes, ranks, forecast.n_classes, forecast.nouns)

    @classmethod
    def from_pilot(cls, pilot: Pilot, classes: Any = None, *, ranks: int = RANKS) -> Self:
        """Take what was measured; by default among all of the pilot's classes."""
        sizes = pilot.n_classes if classes is None else classes
        return cls._tabulate(
            Observed(pilot.table()).top, sizes, ranks, pilot.n_classes, pilot.nouns
        )

    @classmethod
    def _tabulate(
        cls,
        top: Callable[[int, Any], Floats],
        classes: Any,
        ranks: int,
        n_classes: int,
        nouns: Nouns,
    ) -> Self:
        sizes = asked_classes(classes)
        places = np.arange(1, validation.whole_number(ranks, "ranks", 1) + 1)
        share = np.column_stack([top(int(m), np.array(sizes)) for m in places])
        return cls(sizes, places, share, n_classes, nouns=nouns)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture: classes, rank, share and region."""
        counts = np.repeat(self.classes, len(self.ranks))
        return {
            "classes": counts,
            "rank": np.tile(self.ranks, len(self.classes)),
            "share": self.share.ravel(),
            "region": np.where(counts <= self.n_classes, "observed", "forecast"),
        }

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; with `error_rate` what is left."""
        ax = self._choose_axes(ax)
        for i, (k, share) in enumerate(zip(self.classes, self.share, strict=True)):
            measured = k <= self.n_classes
            label = f"{counted(k, 'class')}, {'measured' if measured else 'forecast'}"
            ax.plot(
                self.ranks, value_or_loss(share, error_rate), "-" if measured else "--",
                color=SERIES[i % len(SERIES)], marker=SIGNS[i % len(SIGNS)], markersize=4,
                label=self.nouns.rename(label),
            )  # fmt: skip
        ax.set_xticks(_ticks(int(self.ranks[-1])))
        ax.set_xlabel("m, how many of the best are looked at")
        label = f"true class {'not ' if error_rate else ''}among the best m"
        shares = [value_or_loss(self.share, error_rate)]
        metric_axis(ax, self.nouns.rename(label), shares, error_rate=error_rate)
        faint_grid(ax)
        legend(ax, loc="upper right" if error_rate else "lower right")
        return self


def _ticks(last: int) -> list[int]:
    """Return ranks to mark: the first, and round ones.

    Examples
    --------
    >>> _ticks(20), _ticks(4), _ticks(100)
    ([1, 5, 10, 15, 20], [1, 2, 3, 4], [1, 20, 40, 60, 80, 100])
    """
    step = next(m * 10**e for e in range(16) for m in (1, 2, 5) if 5 * m * 10**e >= last)
    return sorted({1, *range(step, last + 1, step)})
