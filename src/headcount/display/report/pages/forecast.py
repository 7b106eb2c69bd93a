"""The page of a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount import __version__
from headcount.curves.favorability import Favorability
from headcount.curves.predicted import PredictedCurve
from headcount.display.report.contents import Contents, Reproduction, Table, findings_of
from headcount.display.report.embedding import as_backtest, as_law, as_limits, as_table
from headcount.display.report.tables import backtest_part, facts_of, method_facts, size_of
from headcount.errors import HeadcountError, silence
from headcount.estimators import resolve
from headcount.questions.forecast import Forecast
from headcount.support.words import named, percent, percent_range

Law = Favorability | PredictedCurve

# Quick to fit and unlike each other: where they part, so do the assumptions.
OTHERS = ("probit-normal", "regression", "exponential", "high-dimensional")
SCHEMA = 1
LARGE = 3


def forecast_contents(
    result: Forecast,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
    other_methods: bool = False,
) -> Contents:
    """Return what is on the page of a forecast."""
    name = named(sources[0]) if sources else ""
    others = other_laws(result) if other_methods else {}
    made = [] if result.backtest is None else [result.backtest]
    series = [forecast_series(result, result.method)]
    series += [law_series(alias, law) for alias, law in others.items()]
    return Contents(
        nouns=result.nouns,
        title=f"Forecast{name and f' from {name}'}",
        subtitle=f"Measured: {percent(float(result.accuracy(result.n_classes)))} on a pilot of "
        f"{size_of(result.n_classes, result.n_probes)}.",
        sentences=result.sentences(),
        large=min(len(result.classes), LARGE),
        findings=findings_of(result.checks, [*result.warnings, *warnings]),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "forecast",
            "version": __version__,
            "confidence": result.confidence,
            "classes": list(result.classes),
            "answer": result.to_dict(),
            "pilots": [pilot_data(result, name)],
            "series": series,
            "backtests": [as_backtest(found, found.method) for found in made],
        },
        curve=curve_table(result, others),
        backtests=[backtest_part(result.backtest)],
        pilots=[facts_of(result, "What was measured", sources)],
        methods=method_facts(
            [result.method], [("Level of intervals", percent(result.confidence))], others
        ),
    )


def other_laws(result: Forecast) -> dict[str, Law]:
    """Return what other quick methods make of the same pilot; those that cannot are left out."""
    if result._fitted is None:
        return {}
    found: dict[str, Law] = {}
    for alias in OTHERS:
        if alias == result.method:
            continue
        try:
            with silence():
                found[alias] = resolve(alias, 0).fit(result._fitted[0]).law(result.classes)
        except HeadcountError:
            continue
    return found


def pilot_data(result: Forecast, name: str) -> dict[str, Any]:
    """Return what was measured, for the observed part of the curve."""
    size = {"name": name, "n_classes": result.n_classes, "n_probes": result.n_probes}
    return size | as_table(result.observed)


def forecast_series(result: Forecast, name: str, pilot: int = 0) -> dict[str, Any]:
    """Return a curve with limits."""
    return {
        "name": name,
        "method": result.method,
        "pilot": pilot,
        "shown": True,
        "law": as_law(result.law),
        "limits": as_limits(result),
        "supported": None if result.backtest is None else result.supported,
    }


def law_series(alias: str, law: Law) -> dict[str, Any]:
    """Return the curve of another method on the same pilot: no limits, hidden at first."""
    return {
        "name": alias,
        "method": alias,
        "pilot": 0,
        "shown": False,
        "law": as_law(law),
        "limits": None,
        "supported": None,
    }


def curve_table(result: Forecast, others: dict[str, Law]) -> Table:
    """Return the curve at round numbers of classes."""
    columns = ["classes", "accuracy"]
    if result.uncertainty is not None:
        columns.append(f"{percent(result.confidence)} interval")
    columns += ["source", *(f"by {alias}" for alias in others)]
    rows = []
    for k in round_numbers(result.n_classes, result.classes):
        limits, measured = result.interval(k), k <= result.n_classes
        row = [f"{k:,}", percent(float(result.accuracy(k)))]
        if limits is not None:
            row.append(percent_range(float(limits[0]), float(limits[1])))
        row.append("measured" if measured else "forecast")
        row += ["" if measured else percent(float(law.accuracy(k))) for law in others.values()]
        rows.append(row)
    return Table("Accuracy against number of classes", columns, rows)


def round_numbers(n_classes: int, asked: Sequence[int]) -> list[int]:
    """Return 2, 5, 10, 20 ... to the largest number asked about, the pilot's size and all asked.

    Examples
    --------
    >>> round_numbers(30, [70])
    [2, 5, 10, 20, 30, 50, 70]
    """
    last = max(n_classes, *asked)
    steps = [m * 10**e for e in range(16) for m in (1, 2, 5)]
    return sorted({*(k for k in steps if 2 <= k <= last), n_classes, *asked} - {1})
