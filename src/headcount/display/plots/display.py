"""What every Display can do."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from headcount.display.plots.style import check_picture, need_matplotlib, new_figure
from headcount.support.output import write_figure
from headcount.support.words import OURS, Nouns
from headcount.support.workers import doing

SIZE = (7.0, 4.2)
DPI = 150


@dataclass
class Display(ABC):
    """A picture and the data behind it.

    Displays are made by `from_forecast`, `from_pilot` and the like, and hold only what they draw.
    Colours of text, axes and background are those of the matplotlib style in use, so that
    pictures fit a dark page too.

    Parameters
    ----------
    nouns : Nouns
        What classes and probes are called in the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.
    """

    nouns: Nouns = field(default=OURS, kw_only=True)

    ax_: Any = field(default=None, init=False, repr=False, compare=False)
    figure_: Any = field(default=None, init=False, repr=False, compare=False)

    @abstractmethod
    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture, column by column.

        No further package is needed for it; `pandas.DataFrame(display.frame())` makes it a frame.
        """

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the picture as .png, .svg or .pdf; options are those of `plot`."""
        check_picture(path)
        with doing(f"Drawing {Path(path).name}"):
            figure = new_figure(*SIZE)
            self.plot(figure.subplots(), **options)
            write_figure(path, figure, DPI)

    def _choose_axes(self, ax: Any) -> Any:
        """Return the axes to draw into, new ones where none are given."""
        if ax is None:
            need_matplotlib()
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=SIZE, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
