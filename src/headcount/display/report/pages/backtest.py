"""The page of back-tests of one or several methods."""

from __future__ import annotations

from collections.abc import Sequence

from headcount import __version__
from headcount.display.report.contents import (
    BacktestPart,
    Contents,
    Reproduction,
    Table,
    findings_of,
)
from headcount.display.report.page_data import backtest_data, metric_data
from headcount.display.report.tables import backtest_part, method_facts, pilot_facts, size_of
from headcount.pilot.pilot import Pilot
from headcount.support.serialise import SCHEMA
from headcount.support.words import in_points, named, plain, points
from headcount.uncertainty.backtest import Backtest, best_first, supported_cell

SHOWN = 5  # at first, the best ones: more curves cannot be told apart


def backtest_contents(
    backtests: Sequence[Backtest],
    pilot: Pilot,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Contents:
    """Return what is on the page of back-tests, the best method first."""
    ranked = best_first(backtests)
    best, metric = ranked[0], ranked[0].metric
    name = named(sources[0]) if sources else ""
    size = size_of(pilot.n_classes, pilot.n_probes)
    return Contents(
        nouns=pilot.nouns,
        title=f"Back-test of {metric.label}{name and f' on {name}'}",
        subtitle=f"From a pilot of {size}, classes were left out, forecast and compared.",
        sentences=_answer(ranked),
        findings=findings_of((), warnings),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "backtest",
            "version": __version__,
            "answer": {"n_classes": pilot.n_classes, "n_probes": pilot.n_probes},
            "metric": metric_data(metric),
            "series": [],
            "backtests": [
                backtest_data(backtest, backtest.method) | {"shown": place < SHOWN}
                for place, backtest in enumerate(ranked)
            ],
        },
        backtests=[backtest_part(best)] if len(ranked) == 1 else [_ranking(ranked)],
        pilots=[pilot_facts(pilot, metric, best.observed, "What was measured", sources)],
        methods=method_facts(
            {backtest.method: backtest.about for backtest in ranked},
            [("Good enough", f"at most {points(best.tolerance)} off on average")],
        ),
    )


def _answer(ranked: Sequence[Backtest]) -> list[str]:
    best = ranked[0]
    measured = f"Among all {best.n_classes:,} classes, {best.metric.describe(best.observed)}."
    if len(ranked) == 1:
        return [*best.sentences(), measured]
    return [f"Best of {len(ranked)} methods: {plain(best.method)}.", *best.sentences(), measured]


def _ranking(ranked: Sequence[Backtest]) -> BacktestPart:
    sizes = sorted({step.n_classes for backtest in ranked for step in backtest.steps}, reverse=True)
    rows = []
    for backtest in ranked:
        errors = {step.n_classes: in_points(step.error) for step in backtest.steps}
        reach = supported_cell(backtest)
        rows.append([plain(backtest.method), *(errors.get(size, "-") for size in sizes), reach])
    columns = ("method", *(f"from {size:,}" for size in sizes), "supported up to")
    caption = f"Points off when all {ranked[0].n_classes:,} classes were forecast from fewer"
    notes = [f"{plain(backtest.method)}: {note}" for backtest in ranked for note in backtest.notes]
    return BacktestPart(notes, Table(caption, columns, rows, n_text=1))
