"""The page of a forecast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headcount import __version__
from headcount.curves.curve import FORECAST, Curve
from headcount.curves.ranked import RankedObserved
from headcount.display.report.contents import Contents, Reproduction, Table, findings_of
from headcount.display.report.page_data import (
    backtest_data,
    capital,
    curve_data,
    guess_data,
    largest_field,
    metric_data,
    row_classes,
)
from headcount.display.report.tables import backtest_part, facts_of, method_facts
from headcount.questions.forecast import Forecast
from headcount.support.grids import round_numbers
from headcount.support.serialise import SCHEMA
from headcount.support.words import counted, describe_mix, named, percent

LARGE = 3


def forecast_contents(
    result: Forecast,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Contents:
    """Return what is on the page of a forecast."""
    name, metric = named(sources[0]) if sources else "", result.metric
    measured = metric.write(float(result.value(result.n_classes)))
    method, *others = result.about.items()
    size = f"{result.measured_classes} and {counted(result.n_probes, 'probe')}"
    mix = [("Mix", describe_mix(result.mix))] if result.mix else []
    return Contents(
        nouns=result.nouns,
        title=f"Forecast of {metric.label}{name and f' from {name}'}",
        subtitle=f"Measured: {measured} on a pilot of {size}.",
        sentences=result.sentences(),
        large=min(len(result.classes), LARGE),
        findings=findings_of(result.checks, [*result.warnings, *warnings]),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "forecast",
            "version": __version__,
            "answer": result.to_dict(),
            **shared_data(result, result.classes),
            "series": [forecast_series(result, result.method), *_other_series(result)],
            "backtests": [
                backtest_data(backtest, backtest.method)
                for backtest in (result.backtest,)
                if backtest is not None
            ],
        },
        curve=curve_table(result),
        backtests=[backtest_part(result.backtest)],
        pilots=[facts_of(result, "What was measured", sources)],
        methods=method_facts(
            dict([method]), [("Level of intervals", percent(result.confidence)), *mix], dict(others)
        ),
    )


def shared_data(result: Forecast, asked: Sequence[int]) -> dict[str, Any]:
    """Return what all curves of a page have in common; `result` is of the first one."""
    return {
        "metric": metric_data(result.metric),
        "confidence": result.confidence,
        "classes": list(asked),
        "most_classes": largest_field(asked),
        # Of several relevant documents nobody can guess like one.
        "guess": None
        if isinstance(result.observed, RankedObserved)
        else guess_data(result.metric, _row_classes(result), result.n_classes),
    }


def forecast_series(result: Forecast, name: str) -> dict[str, Any]:
    """Return a curve with limits."""
    return _series(result, result.table(_row_classes(result)), name, result.method) | {
        "shown": True,
        "supported": None if result.backtest is None else result.supported,
    }


def _other_series(result: Forecast) -> list[dict[str, Any]]:
    """Return the curves of other methods on the same pilot: no limits, hidden at first."""
    classes = _row_classes(result)
    return [
        _series(result, result.other_table(name, classes), name, name)
        | {"shown": False, "supported": None}
        for name in result.others
    ]


def _series(result: Forecast, curve: Curve, name: str, method: str) -> dict[str, Any]:
    return {
        "name": name,
        "method": method,
        "n_classes": result.n_classes,
        "curve": curve_data(curve, result.n_classes, result.metric.certain),
    }


def _row_classes(result: Forecast) -> Any:
    return row_classes(result.n_classes, result.metric.certain, result.classes)


def curve_table(result: Forecast) -> Table:
    """Return the curve at round numbers of classes, that of other methods beside it."""
    curve = result.table(table_classes(result.n_classes, result.classes))
    rows = curve.cells()
    for name in result.others:
        for row, other in zip(rows, result.other_table(name, curve.classes).rows(), strict=True):
            beyond = other["region"] == FORECAST
            row.append(result.metric.write(other["value"]) if beyond else "")
    titles = [title or "source" for title in curve.titles(result.confidence)]
    return Table(
        against_classes(result), [*titles, *(f"by {name}" for name in result.others)], rows
    )


def against_classes(result: Forecast) -> str:
    """Return the caption of a table of curves."""
    return f"{capital(result.metric.label)} against number of classes"


def table_classes(n_classes: int, asked: Iterable[int]) -> list[int]:
    """Return 2, 5, 10, 20 ... to the largest number asked about, the pilot's size and all asked.

    Examples
    --------
    >>> table_classes(30, [70])
    [2, 5, 10, 20, 30, 50, 70]
    """
    return sorted({*round_numbers(max(n_classes, *asked)), n_classes, *asked} - {1})
