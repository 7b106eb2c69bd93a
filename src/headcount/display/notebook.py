"""How answers show themselves in a notebook: a light table, words, and a picture."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headcount.errors import MissingExtraError
from headcount.pilot.summary import summarise
from headcount.support.words import in_points, percent, percent_range, plain

if TYPE_CHECKING:
    from headcount.display.plots import Display
    from headcount.pilot.pilot import Pilot
    from headcount.questions.compare import Comparison
    from headcount.questions.forecast import Forecast
    from headcount.uncertainty.backtest import Backtest


def pilot_html(pilot: Pilot) -> str:
    """Return a pilot: what is in it, and the accuracy that was measured.

    Nothing that takes a pass over the scores: looking at a pilot must be quick.
    """
    # Hubs are in the list of who beats whom, which may be at hand already.
    summary = summarise(pilot, hubs=pilot.has_beats)

    def picture() -> Display:
        from headcount.display.plots import AccuracyDisplay

        return AccuracyDisplay.from_pilot(pilot)

    table = _table([], list(summary.lines().items()))
    words = f"Accuracy against classes, measured: {summary.lines()['accuracy']}."
    return _page(f"Pilot: {summary.size}", [table], picture, words)


def forecast_html(made: Forecast) -> str:
    """Return a forecast: accuracy at the numbers of classes asked about, words, the curve."""
    rows = []
    for k in sorted({made.n_classes, *made.classes}):
        limits = made.interval(k)
        within = [] if limits is None else [percent_range(float(limits[0]), float(limits[1]))]
        source = "measured" if k <= made.n_classes else "forecast"
        rows.append([f"{k:,}", percent(float(made.accuracy(k))), *within, source])
    within = [] if made.uncertainty is None else [f"{percent(made.confidence)} interval"]
    head, *_ = repr(made).split("\n")
    notes = made.sentences()[-2:]
    if made.backtest is not None:
        notes += [f"Back-test: {sentence}" for sentence in made.backtest.sentences()]
    notes += [made.nouns.rename(f"Check {check.code}: {check.message}") for check in made.checks]

    def picture() -> Display:
        from headcount.display.plots import AccuracyDisplay

        return AccuracyDisplay.from_forecast(made)

    table = _table([made.nouns.rename("classes"), "accuracy", *within, ""], rows)
    band = f", with the {within[0]}" if within else ""
    against = made.nouns.rename(f"Accuracy against classes{band}")
    words = f"{against}: {_told([(row[-1], row[0], row[1]) for row in rows])}."
    return _page(head, [table, _list(notes)], picture, words)


def backtest_html(found: Backtest) -> str:
    """Return a back-test: a row a step, what it supports, and the forecasts."""
    rows = [
        [
            f"{step.n_classes:,}",
            percent(sum(step.forecasts) / len(step.forecasts)),
            percent(found.observed),
            in_points(step.error),
        ]
        for step in found.steps
    ]
    head, *_ = repr(found).split("\n")
    parts = [_list(found.sentences())]
    if not rows:
        return _page(head, parts)
    names = ["forecast from", "forecast", "measured", "off by (points)"]

    def picture() -> Display:
        from headcount.display.plots import BacktestDisplay

        return BacktestDisplay.from_backtest(found)

    told = ", ".join(f"{row[1]} from {row[0]}" for row in rows)
    words = (
        f"Accuracy among {found.n_classes:,} classes: {percent(found.observed)} measured; forecast "
        f"from fewer classes: {told}."
    )
    return _page(head, [_table(names, rows), *parts], picture, found.nouns.rename(words))


def comparison_html(found: Comparison) -> str:
    """Return a comparison: accuracy of each system, who is ahead, and the curves."""
    made = found.forecasts
    rows = [
        [f"{k:,}", *(percent(float(one.accuracy(k))) for one in made.values())]
        for k in found.classes
    ]
    head, *_ = repr(found).split("\n")

    def picture() -> Display:
        from headcount.display.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(found)

    points = [
        (plain(name), k, cell) for k, *cells in rows for name, cell in zip(made, cells, strict=True)
    ]
    words = f"{found.nouns.rename('Accuracy of each system against classes')}: {_told(points)}."
    table = _table([found.nouns.rename("classes"), *map(plain, made)], rows)
    return _page(head, [table, _list(found.sentences())], picture, words)


# -- parts -----------------------------------------------------------------------------------------


def _page(
    head: str,
    parts: Sequence[str],
    picture: Callable[[], Display] | None = None,
    words: str = "",
) -> str:
    """Return parts under a title; the picture, also in words, only where matplotlib is there."""
    shown = "" if picture is None else _drawn(picture, words)
    return f"<div><strong>{html.escape(head)}</strong>{''.join(parts)}{shown}</div>"


def _told(points: Sequence[tuple[str, str, str]]) -> str:
    """Return points of curves in words: what they are, of how many classes, and their height."""
    return ", ".join(f"{what} {share} at {k}" for what, k, share in points)


def _drawn(picture: Callable[[], Display], words: str) -> str:
    from headcount.display.plots.inline import as_image

    try:
        return as_image(picture(), words)
    except MissingExtraError:
        return ""


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    head = f"<thead><tr>{head}</tr></thead>" if names else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"
