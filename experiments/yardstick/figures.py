"""Pictures of the yardstick: every method's mean error, a picture for each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.figures import COLOURS, GREY, error_axis, list_axis, new_figure
from experiments.results import Results
from experiments.yardstick.places import HELD_OUT, PROBLEMS, REAL, SIMULATIONS
from experiments.yardstick.targets import AUTO, CLEANEX, Row, Stratum, summary
from experiments.yardstick.tasks import ORACLE

PICTURES = {SIMULATIONS: (SIMULATIONS,), REAL: (REAL,), PROBLEMS: (PROBLEMS, HELD_OUT)}
COLUMNS = 3


def pictures(parts: Sequence[str]) -> list[str]:
    """Return the names of the pictures of some parts."""
    return [
        name
        for name, picture_parts in PICTURES.items()
        if any(part in parts for part in picture_parts)
    ]


def draw(results: Results) -> dict[str, Any]:
    """Draw the mean RMSE of every method with its standard error, and the oracle as the floor.

    Hollow dots are means over fewer pilots than the oracle's, so that they cannot be compared with
    the others.
    """
    strata = [Stratum(**_fields(row)) for row in results.details["pilots"]]
    return {
        name: _figure([stratum for stratum in strata if stratum.part in PICTURES[name]])
        for name in pictures([stratum.part for stratum in strata])
    }


def _fields(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("part", "family", "k1")} | {"errors": row["rmse"]}


def panels(strata: Sequence[Stratum]) -> dict[str, list[Stratum]]:
    """Return what is drawn side by side: sizes of simulated pilots, real sets, kinds of problems.

    All of a part comes first where it is made of several.
    """

    def title(stratum: Stratum) -> str:
        if stratum.part == SIMULATIONS:
            return f"from {stratum.k1:,} classes"
        return stratum.family if stratum.part == REAL else stratum.part

    by_title: dict[str, list[Stratum]] = {}
    for stratum in strata:
        by_title.setdefault(title(stratum), []).append(stratum)
    if strata[0].part == REAL and len(by_title) > 1:
        by_title = {"all real sets": list(strata), **by_title}
    return by_title


def _figure(strata: Sequence[Stratum]) -> Any:
    shown = panels(strata)
    names = _by_error(strata)
    columns = min(COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    figure = new_figure(1.6 + 3.0 * columns, lines * (1.2 + 0.24 * len(names)))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for i, ax in enumerate(axes):
        if i < len(shown):
            title = list(shown)[i]
            _panel(ax, title, shown[title], names, labelled=i % columns == 0)
        else:
            ax.set_visible(False)
    return figure


def _by_error(strata: Sequence[Stratum]) -> list[str]:
    """Methods, best first; those that always refuse last."""
    names = dict.fromkeys(name for s in strata for name in s.errors if name != ORACLE)
    means = {name: summary(strata, name)["rmse"] for name in names}
    return sorted(names, key=lambda name: np.inf if means[name] is None else means[name])


def _panel(
    ax: Any, title: str, strata: Sequence[Stratum], names: Sequence[str], *, labelled: bool
) -> None:
    floor = summary(strata, ORACLE)
    for y, name in enumerate(names):
        _dot(ax, y, name, summary(strata, name), floor["pilots"])
    if floor["rmse"] is not None:
        ax.axvline(floor["rmse"], color=GREY, linewidth=1.2)
        ax.annotate(
            ORACLE, (floor["rmse"], 0), xycoords=("data", "axes fraction"), xytext=(2, 3),
            textcoords="offset points", fontsize=7, color=GREY,
        )  # fmt: skip
    list_axis(ax, names, labelled=labelled)
    error_axis(ax)
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(
        "mean RMSE (bars: standard error; tick: 95th\npercentile; hollow: fewer pilots)", fontsize=8
    )
    ax.tick_params(labelbottom=True, labelsize=8)


def _dot(ax: Any, y: int, name: str, row: Mapping[str, Any], pilots: int) -> None:
    if row["rmse"] is None:
        return
    colour = COLOURS[1] if name == AUTO else COLOURS[3] if name in CLEANEX else COLOURS[0]
    ax.errorbar(
        [row["rmse"]], [y], xerr=[[row["standard_error"] or 0.0]] * 2, fmt="o", markersize=5,
        color=colour, capsize=2,
        markerfacecolor=colour if row["pilots"] - row["refused"] == pilots else "white",
    )  # fmt: skip
    ax.plot([row["p95"]], [y], "|", markersize=7, color=colour, alpha=0.6)
