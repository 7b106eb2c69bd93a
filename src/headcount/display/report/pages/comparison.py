"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from headcount import __version__
from headcount.display.report.contents import Contents, Finding, Reproduction, Table, findings_of
from headcount.display.report.embedding import as_backtest
from headcount.display.report.pages.forecast import (
    LARGE,
    SCHEMA,
    forecast_series,
    pilot_data,
    round_numbers,
)
from headcount.display.report.tables import backtest_part, facts_of, method_facts, size_of
from headcount.questions.compare import Comparison, Lead
from headcount.support.words import in_points, named, percent, percent_range, plain, rough_chance


def comparison_contents(
    result: Comparison,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Contents:
    """Return what is on the page of a comparison."""
    made = result.forecasts
    names = [named(name) for name in made]
    how = "on the same classes" if result.paired else "not on the same classes or probes"
    sizes = dict.fromkeys(size_of(one.n_classes, one.n_probes) for one in made.values())
    files = [("Files", ", ".join(map(named, sources)))] if sources else []
    return Contents(
        nouns=result.nouns,
        title=f"Comparison of {', '.join(names)}",
        subtitle=f"Measured on {'; '.join(sizes)}, {how}.",
        sentences=result.sentences(),
        large=min(len(result.classes), LARGE),
        findings=_findings(result, warnings),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "comparison",
            "version": __version__,
            "confidence": result.confidence,
            "classes": list(result.classes),
            "answer": result.to_dict(),
            "pilots": [pilot_data(one, name) for name, one in made.items()],
            "series": [
                forecast_series(one, name, at) for at, (name, one) in enumerate(made.items())
            ],
            "backtests": [
                as_backtest(one.backtest, name)
                for name, one in made.items()
                if one.backtest is not None
            ],
        },
        curve=_curves(result),
        toggles="Systems",
        leads=_leads(result),
        backtests=[backtest_part(one.backtest, name) for name, one in made.items()],
        pilots=[facts_of(one, named(name)) for name, one in made.items()],
        methods=method_facts(
            [one.method for one in made.values()],
            [("Level of intervals", percent(result.confidence)), *files],
        ),
    )


def _findings(result: Comparison, warnings: Sequence[str]) -> list[Finding]:
    """Return what to know of each system, and then of all."""
    found, said = [], set()
    for name, one in result.forecasts.items():
        found += findings_of(one.checks, one.warnings, named(name))
        said |= {*one.warnings, *(check.message for check in one.checks)}
    return found + findings_of((), [text for text in warnings if text not in said])


def _curves(result: Comparison) -> Table:
    made = result.forecasts
    sizes = [one.n_classes for one in made.values()]
    rows = []
    for k in round_numbers(max(sizes), result.classes):
        row = [f"{k:,}"]
        for one in made.values():
            limits = one.interval(k)
            within = limits and f" ({percent_range(float(limits[0]), float(limits[1]))})"
            row.append(f"{percent(float(one.accuracy(k)))}{within or ''}")
        rows.append(row)
    caption = "Accuracy against number of classes"
    if any(one.uncertainty is not None for one in made.values()):
        caption += f"; in brackets the {percent(result.confidence)} interval"
    return Table(caption, ("classes", *map(named, made)), rows)


def _leads(result: Comparison) -> Table:
    made, rows = result.forecasts, []
    for pair in result.pairs:
        for k in result.classes:
            lead = pair.at(k)
            rows.append(
                [
                    plain(pair.first),
                    plain(pair.second),
                    f"{k:,}",
                    *(percent(float(made[name].accuracy(k))) for name in (pair.first, pair.second)),
                    _ahead(lead),
                    "-" if lead.chance is None else rough_chance(lead.chance),
                ]
            )
    columns = (
        "first", "second", "classes", "accuracy of first", "of second",
        _lead_title(result), "chance that first is better",
    )  # fmt: skip
    return Table("Who is ahead", columns, rows, left=2)


def _lead_title(result: Comparison) -> str:
    bounded = any(pair.lower is not None for pair in result.pairs)
    return "first ahead by, in points" + (
        f" ({percent(result.confidence)} interval)" if bounded else ""
    )


def _ahead(lead: Lead) -> str:
    if lead.lower is None or lead.upper is None:
        return in_points(lead.difference, sign="+")
    worth = (lead.upper - lead.lower) / 10  # digits of less than that tell nothing
    said, least, most = (
        in_points(value, beside=max(abs(value), worth), sign="+")
        for value in (lead.difference, lead.lower, lead.upper)
    )
    return f"{said} ({least} to {most})"
