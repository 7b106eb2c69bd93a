"""Pictures inside a notebook."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

from headcount.display.plots.display import Display
from headcount.display.plots.style import GREY, need_matplotlib, new_figure

WIDTH, HEIGHT = 5.6, 3.5
DPI = 120  # finer than a plain screen, and still some 40 kB
SHOWN = 100  # pixels an inch on the page
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def as_image(display: Display, text: str) -> str:
    """Return a picture as an HTML image that needs no file.

    It has no background and writes in the middle grey, since a notebook does not say whether its
    page is light or dark.

    Parameters
    ----------
    display : Display
        What to draw.
    text : str
        The picture in words, for those who cannot see it.
    """
    need_matplotlib()
    from matplotlib import rc_context

    ink: dict[Any, Any] = dict.fromkeys(INKED, GREY) | {"axes.facecolor": "none"}
    with rc_context(ink):
        figure = new_figure(WIDTH, HEIGHT)
        display.plot(figure.subplots())
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=DPI, transparent=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return (
        f'<img alt="{html.escape(text)}" width="{WIDTH * SHOWN:.0f}" '
        f'src="data:image/png;base64,{data}"/>'
    )
