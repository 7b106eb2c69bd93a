"""Pictures of the comparison in paper 001: figures 2 to 6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from experiments.figures import (
    COLOURS,
    GREY,
    TRUTH,
    boxes,
    count_axis,
    error_axis,
    new_figure,
    plain,
)
from experiments.papers.cleanex import METHODS, ORACLE
from experiments.papers.cleanex_populations import DECODING, FACES
from experiments.results import Results

Detail = dict[str, Any]

# Which parts each picture shows.
SHOWN = {
    "figure2": ("d5",),
    "figure4": ("d5",),
    "figure5": ("d5",),
    "figure6": ("d3", "d10"),
    "figure3": (FACES, DECODING),
}
# The same colour for a method in every picture; others take what is left but that of the truth.
FIXED = dict(zip((*METHODS[:4], ORACLE), (*(COLOURS[i] for i in (1, 4, 0, 3)), GREY), strict=True))
LEFT = [colour for colour in COLOURS if colour not in (*FIXED.values(), TRUTH)]
REFERENCE = METHODS[0]
MOST_RATIO = 4.0


def pictures(parts: Iterable[str]) -> list[str]:
    """Return the names of the pictures that these parts are shown in.

    Examples
    --------
    >>> pictures(["d3", "faces"])
    ['figure6', 'figure3']
    """
    wanted = set(parts)
    return [name for name, shown in SHOWN.items() if wanted & set(shown)]


def draw(results: Results) -> dict[str, Any]:
    """Draw the pictures whose parts were run."""
    return {name: draw_figure(name, results) for name in pictures(results.options["parts"])}


def draw_figure(name: str, results: Results) -> Any:
    """Return one of the figures."""
    methods = results.options["methods"]
    places = [place for place in results.details["places"] if place["experiment"] in SHOWN[name]]
    if name == "figure3":
        return _faces_and_decoding(places, methods)
    if name in ("figure2", "figure6"):
        return _box_plots(places, methods)
    sizes = list(dict.fromkeys(place["k1"] for place in places))
    # Figure 4 shows the smallest pilots, figure 5 the largest.
    k1 = min(sizes) if name == "figure4" else max(sizes)
    return _curves([place for place in places if place["k1"] == k1], methods)


def colours(methods: Sequence[str]) -> dict[str, str]:
    """Return the colour of each method and of the oracle.

    Examples
    --------
    >>> colours(["kde", "other"])["kde"] == colours(["cleanex", "kde"])["kde"]
    True
    """
    others = [name for name in methods if name not in FIXED]
    return FIXED | {name: LEFT[i % len(LEFT)] for i, name in enumerate(others)}


def shown_as(name: str) -> str:
    """Return a method's name over two lines, its bandwidth on the second.

    Examples
    --------
    >>> shown_as("kde:bandwidth=nrd0").splitlines()
    ['kde', 'nrd0']
    """
    return name.replace(":bandwidth=", "\n")


def _setting(place: Detail) -> str:
    return f"{place['classes']} classes\n{place['points']} points\nsigma² = {place['sigma2']:g}"


# -- figures 2 and 6: box plots --------------------------------------------------------------------


def _box_plots(places: Sequence[Detail], methods: Sequence[str]) -> Any:
    """Draw the RMSE of every method in every setting, a row of them for each d and k1."""
    panels = list(dict.fromkeys((place["d"], place["k1"]) for place in places))
    names = [*methods, ORACLE]
    figure = new_figure(max(8.0, 0.26 * len(names) * 8 + 2), 3.4 * len(panels) + 0.6)
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for ax, (n_dims, k1) in zip(axes, panels, strict=True):
        mine = [place for place in places if (place["d"], place["k1"]) == (n_dims, k1)]
        _grouped_boxes(ax, mine, names)
        ax.set_title(f"d = {n_dims}, from {k1:,} to {mine[0]['k2']:,} classes", fontsize=10)
    _legend(figure, names)
    return figure


def _grouped_boxes(ax: Any, places: Sequence[Detail], names: Sequence[str]) -> None:
    step = 0.8 / len(names)
    for i, name in enumerate(names):
        positions = [j + (i - (len(names) - 1) / 2) * step for j in range(len(places))]
        boxes(
            ax,
            positions,
            [_values(place, name) for place in places],
            colours(names)[name],
            0.8 * step,
        )
    for j in range(1, len(places)):
        ax.axvline(j - 0.5, color=GREY, linewidth=0.5, alpha=0.5)
    ax.set_xticks(range(len(places)), [_setting(place) for place in places], fontsize=8)
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("RMSE")
    error_axis(ax, "y")
    plain(ax, "y")


def _values(place: Detail, name: str) -> list[float]:
    return [value for value in place["rmse"][name] if value is not None]


def _legend(figure: Any, names: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colours(names)[name], alpha=0.75, label=name) for name in names]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=min(len(names), 6), frameon=False
    )


# -- figures 4 and 5: curves -----------------------------------------------------------------------


def _curves(places: Sequence[Detail], methods: Sequence[str]) -> Any:
    """Draw all forecasts: a row for each method, a column for each setting."""
    figure = new_figure(max(4.0, 1.75 * len(places) + 0.6), 1.75 * len(methods) + 1.2)
    axes = figure.subplots(len(methods), len(places), sharex=True, sharey=True, squeeze=False)
    for row, name in zip(axes, methods, strict=True):
        for ax, place in zip(row, places, strict=True):
            _draw_curves(ax, place, name, methods)
            ax.label_outer()
        row[0].set_ylabel(f"{shown_as(name)}\naccuracy", fontsize=9)
    for ax, place in zip(axes[0], places, strict=True):
        ax.set_title(_setting(place), fontsize=8)
    _curve_legend(figure)
    return figure


def _draw_curves(
    ax: Any, place: Detail, name: str, methods: Sequence[str], floor: float = 0.0
) -> None:
    colour = colours(methods)[name]
    for observed in place["observed"]:
        ax.plot(place["observed_classes"], observed, color=GREY, linewidth=0.8, alpha=0.6)
    for curve in place["curves"][name]:
        if curve is not None:
            ax.plot(place["curve_classes"], curve, color=colour, linewidth=0.8, alpha=0.8)
    ax.plot(place["curve_classes"], place["truth"], color=TRUTH, linewidth=1.4)
    ax.axvline(place["k1"], color=GREY, linestyle=":", linewidth=1)
    values = _values(place, name)
    text = f"RMSE {np.mean(values):.3f}" if values else "refused"
    ax.text(0.04, 0.05, text, transform=ax.transAxes, fontsize=8)
    ax.set_ylim(floor, 1 + 0.02 * (1 - floor))
    count_axis(ax)
    ax.xaxis.label.set_fontsize(9)
    ax.tick_params(labelsize=8)
    plain(ax)


def _curve_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=TRUTH, linewidth=1.4, label="truth"),
        Line2D([], [], color=GREY, linewidth=0.8, label="observed in each pilot"),
        Line2D([], [], color=COLOURS[0], linewidth=0.8, label="forecast (coloured)"),
        Line2D([], [], color=GREY, linestyle=":", linewidth=1, label="classes in the pilot"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=8)


# -- figure 3: faces and decoding ------------------------------------------------------------------


def _faces_and_decoding(places: Sequence[Detail], methods: Sequence[str]) -> Any:
    """Draw curves, RMSE and ratios of RMSE, a row for each experiment."""
    columns = len(methods) + 2
    figure = new_figure(2.1 * columns + 0.8, 2.9 * len(places) + 0.6)
    axes = figure.subplots(len(places), columns, squeeze=False)
    for row, place in zip(axes, places, strict=True):
        floor = _floor(place, methods)
        for ax, name in zip(row, methods, strict=False):
            _draw_curves(ax, place, name, methods, floor)
            ax.set_title(shown_as(name), fontsize=9)
        where = f"{place['experiment']}, {place['k1']:,} to {place['k2']:,}"
        row[0].set_ylabel(f"{where}\naccuracy", fontsize=9)
        _list_boxes(row[-2], {n: _values(place, n) for n in (*methods, ORACLE)}, methods)
        row[-2].set_title("RMSE", fontsize=9)
        row[-2].set_ylim(bottom=0)
        _draw_ratios(row[-1], place, methods)
    _curve_legend(figure)
    return figure


def _floor(place: Detail, methods: Sequence[str]) -> float:
    """Return a tenth below every curve, so that high accuracies can be read too."""
    curves = [place["truth"], *(c for name in methods for c in place["curves"][name] if c)]
    lowest = min(min(curve) for curve in curves)
    return max(0.0, float(np.floor(10 * lowest)) / 10)


def _list_boxes(ax: Any, samples: dict[str, list[float]], methods: Sequence[str]) -> None:
    for i, (name, values) in enumerate(samples.items()):
        boxes(ax, [i], [values], colours(methods)[name])
    labels = [shown_as(name).replace("\n", " ") for name in samples]
    ax.set_xticks(range(len(samples)), labels, rotation=45, ha="right", fontsize=8)
    ax.tick_params(axis="y", labelsize=8)
    ax.set_xlim(-0.6, len(samples) - 0.4)
    plain(ax, "y")


def _draw_ratios(ax: Any, place: Detail, methods: Sequence[str]) -> None:
    base = reference(place, methods)
    samples = {name: ratios(place, name, base) for name in (*methods, ORACLE) if name != base}
    _list_boxes(ax, samples, methods)
    ax.axhline(1, color=TRUTH, linewidth=0.8)
    ax.set_ylim(0, MOST_RATIO * 1.03)
    ax.set_title(f"RMSE over that of\n{base}, at most {MOST_RATIO:g}", fontsize=9)


def reference(place: Detail, methods: Sequence[str]) -> str:
    """Return the method that the others are held against: CleaneX where it ran."""
    ran = [name for name in methods if _values(place, name)]
    ours = [name for name in ran if name.split(":")[0] == REFERENCE]
    return next(chain(ours, ran, methods))


def ratios(place: Detail, name: str, base: str) -> list[float]:
    """Return a method's RMSE over another's, pilot by pilot, where both answered."""
    pairs = zip(place["rmse"][name], place["rmse"][base], strict=False)
    return [
        min(rmse / base_rmse, MOST_RATIO)
        for rmse, base_rmse in pairs
        if rmse is not None and base_rmse
    ]
