"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from headcount import __version__
from headcount.display.report.contents import Contents, Finding, Reproduction, Table, findings_of
from headcount.display.report.page_data import backtest_data
from headcount.display.report.pages.forecast import (
    LARGE,
    against_classes,
    forecast_series,
    shared_data,
    table_classes,
)
from headcount.display.report.tables import backtest_part, facts_of, method_facts, size_of
from headcount.questions.compare import Comparison, Lead
from headcount.support.serialise import SCHEMA
from headcount.support.words import in_points, named, percent, plain, rough_chance


def comparison_contents(
    result: Comparison,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Contents:
    """Return what is on the page of a comparison."""
    forecasts = result.forecasts
    names = ", ".join(map(named, forecasts))
    how = f"on the same {result.shared}" if result.paired else "not on the same classes or probes"
    sizes = dict.fromkeys(
        size_of(forecast.n_classes, forecast.n_probes) for forecast in forecasts.values()
    )
    files = [("Files", ", ".join(map(named, sources)))] if sources else []
    about = {name: text for forecast in forecasts.values() for name, text in forecast.about.items()}
    return Contents(
        nouns=result.nouns,
        title=f"Comparison of {names} in {result.metric.label}",
        subtitle=f"Measured on {'; '.join(sizes)}, {how}.",
        sentences=result.sentences(),
        large=min(len(result.classes), LARGE),
        findings=_findings(result, warnings),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "comparison",
            "version": __version__,
            "answer": result.to_dict(),
            **shared_data(next(iter(forecasts.values())), result.classes),
            "series": [forecast_series(forecast, name) for name, forecast in forecasts.items()],
            "backtests": [
                backtest_data(forecast.backtest, name)
                for name, forecast in forecasts.items()
                if forecast.backtest is not None
            ],
        },
        curve=_curves(result),
        toggles="Systems",
        leads=_leads(result),
        backtests=[backtest_part(forecast.backtest, name) for name, forecast in forecasts.items()],
        pilots=[facts_of(forecast, named(name)) for name, forecast in forecasts.items()],
        methods=method_facts(about, [("Level of intervals", percent(result.confidence)), *files]),
    )


def _findings(result: Comparison, warnings: Sequence[str]) -> list[Finding]:
    """Return what to know of each system, and then of all."""
    findings = [
        finding
        for name, forecast in result.forecasts.items()
        for finding in findings_of(forecast.checks, forecast.warnings, named(name))
    ]
    messages = {finding.message for finding in findings}
    return findings + findings_of((), [text for text in warnings if text not in messages])


def _curves(result: Comparison) -> Table:
    forecasts = result.forecasts.values()
    classes = table_classes(max(forecast.n_classes for forecast in forecasts), result.classes)
    columns = [
        [_within_brackets(*row[1:-1]) for row in forecast.table(classes).cells()]
        for forecast in forecasts
    ]
    rows = list(zip([f"{k:,}" for k in classes], *columns, strict=True))
    caption = against_classes(next(iter(forecasts)))
    if any(forecast.uncertainty is not None for forecast in forecasts):
        caption += f"; in brackets the {percent(result.confidence)} interval"
    return Table(caption, ("classes", *map(named, result.forecasts)), rows)


def _within_brackets(value: str, limits: str = "") -> str:
    return f"{value} ({limits})" if limits else value


def _leads(result: Comparison) -> Table:
    write, rows = result.metric.write, []
    for pair in result.pairs:
        names = pair.first, pair.second
        for k in result.classes:
            lead = pair.at(k)
            values = [write(float(result.forecasts[name].value(k))) for name in names]
            chance = "-" if lead.chance is None else rough_chance(lead.chance)
            rows.append([*map(plain, names), f"{k:,}", *values, _ahead(lead), chance])
    columns = (
        "first", "second", "classes", f"{result.metric.label} of first", "of second",
        _lead_title(result), "chance that first is better",
    )  # fmt: skip
    return Table("Who is ahead", columns, rows, n_text=2)


def _lead_title(result: Comparison) -> str:
    bounded = any(pair.lower is not None for pair in result.pairs)
    return "first ahead by, in points" + (
        f" ({percent(result.confidence)} interval)" if bounded else ""
    )


def _ahead(lead: Lead) -> str:
    if lead.lower is None or lead.upper is None:
        return in_points(lead.difference, sign="+")
    worth = (lead.upper - lead.lower) / 10  # digits of less than that tell nothing
    difference, least, most = (
        in_points(value, beside=max(abs(value), worth), sign="+")
        for value in (lead.difference, lead.lower, lead.upper)
    )
    return f"{difference} ({least} to {most})"
