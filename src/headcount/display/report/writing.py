"""Results in, a page on disk out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.display.report.contents import Contents, Reproduction
from headcount.display.report.pages.backtest import backtest_contents
from headcount.display.report.pages.comparison import comparison_contents
from headcount.display.report.pages.forecast import forecast_contents
from headcount.display.report.rendering import load_templates, render
from headcount.display.report.reproduce import reproduce_forecast
from headcount.errors import ParameterError
from headcount.questions.compare import Comparison
from headcount.questions.forecast import Forecast
from headcount.support.output import PAGES, write_text
from headcount.support.words import plain
from headcount.uncertainty.backtest import Backtest

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

LARGEST = 1_500_000


def write_report(
    path: str | os.PathLike[str],
    result: Forecast | Comparison | Sequence[Backtest],
    *,
    pilot: Pilot | None = None,
    sources: Sequence[str | os.PathLike[str]] = (),
    warnings: Sequence[str] = (),
    reproduction: Reproduction | None = None,
    error_rate: bool = False,
    title: str = "",
    note: str = "",
) -> None:
    """Write a result as one HTML page that needs no network and nothing beside it.

    Parameters
    ----------
    path : path
        Where to write; ends in .html.
    result : Forecast, Comparison, or sequence of Backtest
        What to show.
    pilot : Pilot, optional
        What was measured; needed for back-tests, which do not hold it.
    sources : sequence of path
        Files that were read; only their names are shown.
    warnings : sequence of str
        What was said on the way and is not in the result.
    reproduction : Reproduction, optional
        How to make the page again; by default Python code where the result is a forecast.
    error_rate : bool
        Whether pictures show what is missing to one, such as error rates, when the page is opened;
        a switch shows either.
    title, note : str
        What to say to readers: in place of the page's title, and below the answer. The date on
        the page is today's, or that of the environment variable SOURCE_DATE_EPOCH.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> result = headcount.forecast(pilot, classes=1000, intervals=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "report.html")
    ...     write_report(page, result)
    ...     "At 1,000 classes: " in page.read_text(encoding="utf-8")
    True
    """
    check_report(path)
    names = [Path(source).name for source in sources]
    if reproduction is None and isinstance(result, Forecast):
        options = {"error_rate": error_rate, "title": title, "note": note}
        reproduction = reproduce_forecast(result, path, options)
    contents = replace(
        _contents(result, pilot, names, warnings, reproduction or Reproduction("")),
        error_rate=error_rate,
        heading=plain(title.strip()),
        note="\n".join(map(plain, note.strip().splitlines())),
        date=date_of_page(),
    )
    text = render(contents)
    if len(text.encode()) > LARGEST:
        raise ParameterError(
            f"the page would have {len(text.encode()) / 1e6:.1f} MB, and {LARGEST / 1e6:.1f} are "
            "the limit; compare fewer systems or methods."
        )
    write_text(path, text)


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse what cannot become a report, before any work is done for it."""
    suffix = Path(path).suffix.lower()
    if suffix not in PAGES:
        raise ParameterError(
            f"a report ends in .html, not in {suffix or 'nothing'}; name it report.html."
        )
    date_of_page()
    load_templates()


def date_of_page() -> str:
    """Return the date for a page: today's, unless SOURCE_DATE_EPOCH asks for another."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is None:
        return date.today().isoformat()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise ParameterError(
            "the environment variable SOURCE_DATE_EPOCH must be a whole number of seconds since "
            f"1970, not {seconds!r}."
        ) from error


def _contents(
    result: Forecast | Comparison | Sequence[Backtest],
    pilot: Pilot | None,
    names: list[str],
    warnings: Sequence[str],
    how: Reproduction,
) -> Contents:
    if isinstance(result, Forecast):
        return forecast_contents(result, how, names, warnings)
    if isinstance(result, Comparison):
        return comparison_contents(result, how, names, warnings)
    if pilot is None or not result:
        raise ParameterError("a report of back-tests needs at least one, and the pilot.")
    return backtest_contents(result, pilot, how, names, warnings)
