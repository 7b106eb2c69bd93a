"""How answers show themselves in a notebook: a light table, words, and a picture."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headcount.display.plots import BacktestDisplay, ComparisonDisplay, CurveDisplay, Display
from headcount.display.plots.style import GREY, need_matplotlib, new_figure
from headcount.errors import MissingExtraError
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.summary import summarise
from headcount.support.words import percent, plain
from headcount.uncertainty.backtest import cells

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.compare import Comparison
    from headcount.questions.forecast import Forecast
    from headcount.uncertainty.backtest import Backtest

WIDTH, HEIGHT = 5.6, 3.5
DPI = 120  # finer than a plain screen, and still some 40 kB
SHOWN = 100  # pixels an inch on the page
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def pilot_html(pilot: Pilot) -> str:
    """Return a pilot: what is in it, and the accuracy that was measured.

    Nothing that takes a pass over the scores: looking at a pilot must be quick.
    """
    # Hubs are in the list of who beats whom, which may be at hand already.
    summary = summarise(pilot, hubs=pilot.has_beats)
    lines = summary.lines()
    words = f"{_headed(ACCURACY)} against classes, measured: {lines['accuracy']}."
    image = _image(CurveDisplay.from_pilot(pilot), words)
    return _section(f"Pilot: {summary.size}", [_table([], list(lines.items()))], image)


def forecast_html(forecast: Forecast) -> str:
    """Return a forecast: its rows at the numbers of classes asked about, words, the curve."""
    answer, rename = forecast.answer, forecast.nouns.rename
    titles, rows = answer.titles(forecast.confidence), answer.cells()
    notes = forecast.sentences()[-2:]
    if forecast.backtest is not None:
        notes += [f"Back-test: {sentence}" for sentence in forecast.backtest.sentences()]
    notes += [rename(f"Check {check.code}: {check.message}") for check in forecast.checks]
    band = f", with the {titles[2]}" if answer.has_limits else ""
    points = _points((f"{row[-1]} {row[1]}", row[0]) for row in rows)
    words = f"{rename(f'{_headed(forecast.metric)} against classes{band}')}: {points}."
    table = _table(list(map(rename, titles)), rows)
    image = _image(CurveDisplay.from_forecast(forecast), words)
    return _section(_title(forecast), [table, _list(notes)], image)


def backtest_html(backtest: Backtest) -> str:
    """Return a back-test: a row a step, what it supports, and the forecasts."""
    notes = _list(backtest.sentences())
    if not backtest.steps:
        return _section(_title(backtest), [notes])
    observed = percent(backtest.observed)
    titles = ["forecast from", "forecast", "measured", "off by (points)"]
    rows = [
        [size, value, observed, error] for size, _, value, error, *_ in map(cells, backtest.steps)
    ]
    forecasts = ", ".join(f"{row[1]} from {row[0]}" for row in rows)
    words = (
        f"{_headed(backtest.metric)} among {backtest.n_classes:,} classes: {observed} measured; "
        f"forecast from fewer classes: {forecasts}."
    )
    image = _image(BacktestDisplay.from_backtest(backtest), backtest.nouns.rename(words))
    return _section(_title(backtest), [_table(titles, rows), notes], image)


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison: the value of each system, who is ahead, and the curves."""
    rename, rows = comparison.nouns.rename, comparison.cells()
    names = list(map(plain, comparison.forecasts))
    points = _points(
        (f"{name} {value}", k)
        for k, *values in rows
        for name, value in zip(names, values, strict=True)
    )
    words = f"{rename(f'{_headed(comparison.metric)} of each system against classes')}: {points}."
    table = _table([rename("classes"), *names], rows)
    image = _image(ComparisonDisplay.from_comparison(comparison), words)
    return _section(_title(comparison), [table, _list(comparison.sentences())], image)


# -- words -----------------------------------------------------------------------------------------


def _title(answer: Any) -> str:
    """Return the first line of an answer's text."""
    return repr(answer).partition("\n")[0]


def _headed(metric: Metric) -> str:
    """Return what a metric is called at the start of a sentence."""
    return metric.label[:1].upper() + metric.label[1:]


def _points(points: Iterable[tuple[str, str]]) -> str:
    """Return points of curves in words: what they are and their height, of how many classes."""
    return ", ".join(f"{value} at {k}" for value, k in points)


# -- parts -----------------------------------------------------------------------------------------


def _section(title: str, parts: Sequence[str], image: str = "") -> str:
    return f"<div><strong>{html.escape(title)}</strong>{''.join(parts)}{image}</div>"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    head = f"<thead><tr>{head}</tr></thead>" if titles else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def _image(display: Display, words: str) -> str:
    """Return a picture as an HTML image that needs no file; nothing without matplotlib.

    It has no background and writes in the middle grey, since a notebook does not say whether its
    page is light or dark.

    Parameters
    ----------
    display : Display
        What to draw.
    words : str
        The picture in words, for those who cannot see it.
    """
    try:
        need_matplotlib()
    except MissingExtraError:
        return ""
    from matplotlib import rc_context

    ink: dict[Any, Any] = dict.fromkeys(INKED, GREY) | {"axes.facecolor": "none"}
    with rc_context(ink):
        figure = new_figure(WIDTH, HEIGHT)
        display.plot(figure.subplots())
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=DPI, transparent=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return (
        f'<img alt="{html.escape(words)}" width="{WIDTH * SHOWN:.0f}" '
        f'src="data:image/png;base64,{data}"/>'
    )
