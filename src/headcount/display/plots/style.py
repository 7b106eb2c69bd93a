"""What all pictures share: colours, axes, and text that is safe to draw."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.curves.curve import Curve
from headcount.errors import MissingExtraError, ParameterError
from headcount.metrics import Metric
from headcount.support.output import PICTURES
from headcount.support.words import plain

# From Okabe and Ito's palette, which colour-blind readers can tell apart; without its black and
# yellow, which vanish on a dark or a white page. Print in grey is told apart by dashes and markers.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PINK = "#CC79A7"
AMBER = "#E69F00"
SKY = "#56B4E9"
SERIES = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY)
SIGNS = "osD^vP*X"
# In the middle between black and white: readable on either.
GREY = "#777777"
BAND = 0.2
SHADE = 0.27

# For names that the user's own fonts cannot write, where one of these is installed.
FURTHER_FONTS = (
    "Noto Sans CJK KR",
    "Noto Sans CJK JP",
    "NanumGothic",
    "Malgun Gothic",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Arial Unicode MS",
)
# What matplotlib understands as "any font of this kind"; its settings list which.
GENERIC_FAMILIES = (
    "font.serif",
    "font.sans-serif",
    "font.cursive",
    "font.fantasy",
    "font.monospace",
)
LONGEST_NAME = 28
MOST_STEPS = 6  # from one labelled share to the next
LEAST_SPAN = 0.0001  # of an axis of shares, where all of them are the same
ROOM = 0.02  # of the axis above its last label, for lines that run along it
SMALLEST = 1e-8  # error rate that a log axis may begin with
MOST_RUNGS = 8  # the same on a log axis
FEW_DECADES = 2.0
ENTRY = 1.75  # inches that an entry of a legend takes


# -- matplotlib ------------------------------------------------------------------------------------


def need_matplotlib() -> None:
    """Refuse to go on where the extra is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("drawing", "plot") from error


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure that belongs to no window."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a file that no picture can be written to, or a missing extra."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in PICTURES:
        raise ParameterError(
            f"cannot draw into {suffix or 'a file without ending'}; choose {', '.join(PICTURES)}."
        )
    need_matplotlib()


# -- axes ------------------------------------------------------------------------------------------


def faint_grid(ax: Any, axis: str = "both") -> None:
    """Give an axis a faint grid and no box."""
    ax.set_axisbelow(True)
    ax.grid(axis=axis, alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def share_axis(ax: Any, which: str, label: str) -> None:
    """Make an axis one of shares in per cent, from nothing to all."""
    axis = ax.yaxis if which == "y" else ax.xaxis
    axis.set_major_formatter(lambda share, _: short_share(share))
    ax.set(**{f"{which}label": label})
    write_literally(axis.label)


def value_or_loss(value: ArrayLike, error_rate: bool) -> Any:
    """Return values of a metric as they are, or what is missing to one: error rates."""
    return 1 - np.asarray(value) if error_rate else np.asarray(value)


def limits_of(curve: Curve, error_rate: bool) -> list[Any]:
    """Return both limits of a curve as they are drawn; nothing where it has none."""
    limits = (curve.lower, curve.upper)
    return [value_or_loss(limit, error_rate) for limit in limits if limit is not None]


def axis_label(metric: Metric, error_rate: bool) -> str:
    """Return what an axis of a metric is called."""
    return metric.loss_label if error_rate else metric.label


def metric_axis(
    ax: Any, label: str, curves: Sequence[ArrayLike], edges: Sequence[ArrayLike] = (),
    *, which: str = "y", error_rate: bool = False,
) -> None:  # fmt: skip
    """Make an axis one of values of a metric, or of error rates, as wide as what is drawn.

    Both ends are labelled, so that nobody takes the lowest for nothing. Error rates that differ by
    a factor of ten and more stand on a log scale.

    Parameters
    ----------
    ax : matplotlib axes
        Where they are drawn.
    label : str
        What is measured.
    curves : sequence of array
        What is drawn as lines.
    edges : sequence of array
        Where areas end; on a log scale they may run off the page, to nothing.
    which : {"y", "x"}
        Which axis it is.
    error_rate : bool
        The shares are of errors.
    """
    lines, areas = _join(curves), _join(edges)
    ticks = error_ticks(lines, areas) if error_rate else None
    axis = ax.yaxis if which == "y" else ax.xaxis
    if ticks is not None:
        from matplotlib.ticker import NullLocator

        ax.set(**{f"{which}scale": "log"})
        axis.set_minor_locator(NullLocator())
        top = ticks[-1] * (ticks[-1] / ticks[0]) ** ROOM
    else:
        values = _join((lines, areas))
        ticks = share_ticks(float(values.min()), float(values.max()))
        top = ticks[-1] + ROOM * (ticks[-1] - ticks[0])
    axis.set_ticks(ticks)
    ax.set(**{f"{which}lim": (ticks[0], top)})
    share_axis(ax, which, label)


def share_ticks(low: float, high: float) -> list[float]:
    """Return round shares, evenly, from just below the lowest to just above the highest.

    Examples
    --------
    >>> share_ticks(0.08, 0.999)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> share_ticks(0.9512, 0.9998), share_ticks(0.7, 0.7)
    ([0.95, 0.96, 0.97, 0.98, 0.99, 1.0], [0.67, 0.68, 0.69, 0.7, 0.71, 0.72, 0.73])
    """
    middle = (low + high) / 2
    half = max(high - low, 0.2 * min(middle, 1 - middle), LEAST_SPAN) / 2
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    for step in (m * 10.0**e for e in range(-6, 1) for m in (1, 2, 5)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= MOST_STEPS:
            break
    return [round(i * step, 9) for i in range(first, last + 1)]


def error_ticks(lines: ArrayLike, areas: ArrayLike = ()) -> list[float] | None:
    """Return round error rates for a log axis; None where an even one does.

    Examples
    --------
    >>> error_ticks([0.0, 0.004, 0.08])
    [0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
    >>> error_ticks([2e-6, 0.08]), error_ticks([0.2, 0.9])
    ([1e-06, 1e-05, 0.0001, 0.001, 0.01, 0.1], None)
    """
    errors, edges = np.asarray(lines, float), np.asarray(areas, float)
    least = float(errors[errors >= SMALLEST].min(initial=1.0))
    most = float(np.concatenate([errors, edges]).max())
    if most < 10 * least:
        return None
    # An area may end at nothing, which no log axis reaches: ten times less than the lines will do.
    low = min(least, max(least / 10, float(edges[edges >= SMALLEST].min(initial=least))))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        rungs = [m * 10.0**e for e in range(-8, 1) for m in steps if m * 10.0**e <= 1]
        first = max(i for i, rung in enumerate(rungs) if rung <= low * (1 + 1e-9) or i == 0)
        last = min(i for i, rung in enumerate(rungs) if rung >= most * (1 - 1e-9))
        if last - first <= MOST_RUNGS:
            break
    return [float(f"{rung:.6g}") for rung in rungs[first : last + 1]]


def _join(values: Sequence[ArrayLike]) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in (*values, ())])


def count_axis(ax: Any, which: str, label: str, first: float, last: float) -> None:
    """Make an axis one of numbers on a log scale, ticked often enough to be read."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log", f"{which}label": label})
    axis = ax.yaxis if which == "y" else ax.xaxis
    few = math.log10(max(last, 2) / max(first, 1)) < FEW_DECADES
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(lambda count, _: short_count(count))
    axis.set_minor_formatter(NullFormatter())
    write_literally(axis.label)


def short_share(share: float) -> str:
    """Return a share as it fits beside an axis.

    Examples
    --------
    >>> [short_share(share) for share in (0, 1e-7, 0.001, 0.2, 0.999)]
    ['0%', '0.00001%', '0.1%', '20%', '99.9%']
    """
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + "%"


def short_count(count: float) -> str:
    """Return a number as it fits below an axis.

    Examples
    --------
    >>> [short_count(k) for k in (2, 10_000, 500_000, 2e6, 1e9, 1e13)]
    ['2', '10,000', '500,000', '2M', '1B', '10T']
    """
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if count >= size:
            return f"{count / size:,.6g}{letter}"
    return f"{count:,.6g}" if count < 1 else f"{count:,.0f}"


def legend(ax: Any, above: bool = False, abreast: bool = False, **options: Any) -> None:
    """Explain what is drawn, as the names have it: no mathematics is read into them.

    Parameters
    ----------
    ax : matplotlib axes
        Where it is drawn.
    above : bool
        Put the legend above the axes, where no curve can run.
    abreast : bool
        There, put as many entries side by side as there is room for.
    options
        For matplotlib.
    """
    handles, names = ax.get_legend_handles_labels()
    if not handles:
        return
    if above:
        width = ax.figure.bbox.width / ax.figure.dpi * ax.get_position().width
        columns = max(1, int(width / ENTRY)) if abreast else 1
        options |= {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns}
    box = ax.legend(handles, names, frameon=False, fontsize="small", **options)
    for text in box.get_texts():
        write_literally(text)


# -- text ------------------------------------------------------------------------------------------


def write_literally(text: Any) -> None:
    """Have matplotlib draw a text as it is written, in fonts that have its letters."""
    text.set_parse_math(False)
    further = _further_fonts(text.get_text())
    if further:
        text.set_fontfamily([*text.get_fontfamily(), *further])


def drawable(name: str) -> str:
    """Return a name from a file as it can be drawn: cut if long, no letter that fonts lack.

    A letter that no font at hand has is written as its number; to see it, put a font that has it
    into matplotlib's `font.family`.

    Examples
    --------
    >>> drawable("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    >>> drawable("cat" + chr(27) + chr(0x13000))
    'cat?U+13000'
    """
    text = plain(name)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    writable = _letters([*_own_families(), *_further_fonts(text)], text)
    return "".join(letter if letter in writable else f"U+{ord(letter):04X}" for letter in text)


def as_label(text: str) -> str:
    """Return what a legend shows as this text: it leaves out what begins with an underscore."""
    return f" {text}" if text.startswith("_") else text


def _further_fonts(text: str) -> list[str]:
    """Return installed fonts that have letters which the user's own lack."""
    missing = set(text) - _letters(_own_families(), text)
    fonts = []
    for family in FURTHER_FONTS if missing else ():
        covered = missing & _letters([family], text)
        if covered:
            fonts.append(family)
            missing -= covered
    return fonts


def _own_families() -> list[str]:
    from matplotlib import rcParams

    return list(rcParams["font.family"])


def _letters(families: Sequence[str], text: Iterable[str]) -> set[str]:
    """Return the letters of a text that one of these families can write."""
    from matplotlib import font_manager

    letters = set(text)
    covered: set[str] = set()
    for name in _installed(families):
        # In a list, since a lone text would be read as a pattern in which a hyphen has a meaning.
        path = font_manager.findfont(font_manager.FontProperties(family=[name]))
        font = font_manager.get_font(path)
        covered |= {letter for letter in letters - covered if font.get_char_index(ord(letter))}
    return covered


def _installed(families: Sequence[str]) -> list[str]:
    """Return the fonts that families stand for, in order: the first at hand of a generic one."""
    from matplotlib import font_manager, rcParams

    settings: Any = rcParams  # looked up by a name that is made here
    at_hand = {name.lower(): name for name in font_manager.fontManager.get_font_names()}
    fonts = []
    for family in families:
        generic = f"font.{family.lower()}"
        names = settings[generic] if generic in GENERIC_FAMILIES else [family]
        fonts += [at_hand[name.lower()] for name in names if name.lower() in at_hand][:1]
    return fonts
