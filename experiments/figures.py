"""What the pictures of experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.display.plots.style import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY, new_figure
from headcount.display.plots.style import faint_grid as plain

# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, "#000000", "#F0E442")
MARKERS = "osD^vP*X"
TRUTH = "#000000"

__all__ = [
    "COLOURS",
    "GREY",
    "MARKERS",
    "TRUTH",
    "boxes",
    "count_axis",
    "error_axis",
    "list_axis",
    "new_figure",
    "plain",
]


def count_axis(ax: Any) -> None:
    """Make the horizontal axis one of numbers of classes, on a log scale."""
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda k, _: f"{k:,.0f}")
    ax.xaxis.set_minor_formatter(lambda k, _: "")
    ax.set_xlabel("classes")


def error_axis(ax: Any, which: str = "x") -> None:
    """Make an axis one of errors above zero, on a log scale with readable marks."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def boxes(
    ax: Any,
    positions: Sequence[float],
    samples: Sequence[Sequence[float]],
    colour: str,
    width: float = 0.7,
) -> None:
    """Draw box plots: quartiles and median, whiskers to 1.5 times the box, nothing beyond."""
    shown = [
        (position, list(values))
        for position, values in zip(positions, samples, strict=True)
        if values
    ]
    if not shown:
        return
    ax.boxplot(
        [values for _, values in shown],
        positions=[position for position, _ in shown],
        widths=width,
        whis=1.5,
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.75},
        medianprops={"color": "black", "linewidth": 1.2},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )


def list_axis(ax: Any, names: Sequence[str], *, labelled: bool = True) -> None:
    """Make the vertical axis a list of names, the first on top."""
    ax.set_yticks(range(len(names)), list(names) if labelled else [""] * len(names), fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    plain(ax)
