"""The classes to look at first: the hardest, and the hubs that others are taken for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    BLUE,
    ORANGE,
    drawable,
    faint_grid,
    share_axis,
    write_literally,
)
from headcount.pilot.summary import hardest_classes, hub_classes
from headcount.support import validation
from headcount.support.words import percent

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

MOST = 10
KINDS = ("hardest", "hubs")
LABELS = {
    "hardest": "share of the other classes that score above it, for its own probes",
    "hubs": "share of the other classes' probes for which it scores above the true one",
}
NONE = {
    "hardest": "No class ever loses to another.",
    "hubs": "No class ever beats the true one.",
}
COLOURS = {"hardest": BLUE, "hubs": ORANGE}


@dataclass
class ClassesDisplay(Display):
    """The hardest classes, or the hubs: classes that others are most often taken for.

    Parameters
    ----------
    names : tuple of str
        The classes, worst first.
    share : ndarray
        How bad each is.
    kind : {"hardest", "hubs"}
        Of the hardest: the share of other classes that score above the true one, on average over
        its probes. Of hubs: the share of other classes' probes for which it scores above the true
        class.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> import headcount
    >>> from headcount.display.plots import ClassesDisplay
    >>> scores = [[0.9, 0.1, 0.3], [0.2, 0.7, 0.8], [0.7, 0.5, 0.1]]
    >>> pilot = headcount.Pilot.from_scores(scores, ["a", "b", "c"], class_names=["a", "b", "c"])
    >>> frame = ClassesDisplay.from_pilot(pilot).frame()
    >>> frame["class"].tolist(), frame["share"].tolist()
    (['c', 'b'], [1.0, 0.5])
    >>> ClassesDisplay.from_pilot(pilot, kind="hubs").frame()["class"].tolist()
    ['a', 'b', 'c']
    """

    names: tuple[str, ...]
    share: NDArray[np.float64]
    kind: str = "hardest"

    @classmethod
    def from_pilot(cls, pilot: Pilot, *, kind: str = "hardest", most: int = MOST) -> Self:
        """Look a pilot over.

        Parameters
        ----------
        pilot : Pilot
            With labels for the hardest classes; for hubs, with scores.
        kind : {"hardest", "hubs"}
            Which to show.
        most : int
            How many at most; classes that never lose, or never win where they should not, are
            left out.
        """
        find = {"hardest": hardest_classes, "hubs": hub_classes}
        chosen = find[validation.choice(kind, "kind", KINDS)]
        notes = chosen(pilot, validation.whole_number(most, "most", 1))
        return cls(
            tuple(note.name for note in notes),
            np.array([note.share for note in notes], dtype=np.float64),
            kind,
            nouns=pilot.nouns,
        )

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture: class and share, worst first."""
        return {"class": np.array(self.names, dtype=np.str_), "share": self.share}

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._choose_axes(ax)
        places = range(len(self.names))
        bars = ax.barh(places, self.share, height=0.6, color=COLOURS[self.kind])
        ax.bar_label(bars, [percent(share) for share in self.share], padding=3, fontsize="small")
        ax.set_yticks(places, [drawable(name) for name in self.names])
        for text in ax.get_yticklabels():
            write_literally(text)
        ax.set_ylim(max(len(self.names), 1) - 0.5, -0.5)
        ax.set_xlim(0, 1.12 * self.share.max(initial=0) or 1.0)
        share_axis(ax, "x", self.nouns.rename(LABELS[self.kind]))
        faint_grid(ax, "x")
        if not self.names:
            message = self.nouns.rename(NONE[self.kind])
            ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center")
        return self
