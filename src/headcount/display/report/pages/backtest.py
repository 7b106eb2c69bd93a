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
from headcount.display.report.embedding import as_backtest
from headcount.display.report.pages.forecast import SCHEMA
from headcount.display.report.tables import backtest_part, method_facts, pilot_facts, size_of
from headcount.pilot.pilot import Pilot
from headcount.support.words import in_points, named, percent, plain, points
from headcount.uncertainty.backtest import Backtest, best_first

SHOWN = 5  # at first, the best ones: more curves cannot be told apart


def backtest_contents(
    found: Sequence[Backtest],
    pilot: Pilot,
    reproduction: Reproduction,
    sources: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Contents:
    """Return what is on the page of back-tests, the best method first."""
    ranked = best_first(found)
    name = named(sources[0]) if sources else ""
    size = size_of(pilot.n_classes, pilot.n_probes)
    return Contents(
        nouns=pilot.nouns,
        title=f"Back-test{name and f' on {name}'}",
        subtitle=f"From a pilot of {size}, classes were left out, forecast and compared.",
        sentences=_answer(ranked),
        findings=findings_of((), warnings),
        reproduction=reproduction,
        data={
            "schema": SCHEMA,
            "kind": "backtest",
            "version": __version__,
            "answer": {"n_classes": pilot.n_classes, "n_probes": pilot.n_probes},
            "pilots": [],
            "series": [],
            "backtests": [
                as_backtest(one, one.method) | {"shown": at < SHOWN}
                for at, one in enumerate(ranked)
            ],
        },
        backtests=[backtest_part(ranked[0])] if len(ranked) == 1 else [_ranking(ranked)],
        pilots=[pilot_facts(pilot, "What was measured", sources)],
        methods=method_facts(
            [one.method for one in ranked],
            [("Good enough", f"at most {points(ranked[0].tolerance)} off on average")],
        ),
    )


def _answer(ranked: Sequence[Backtest]) -> list[str]:
    best = ranked[0]
    measured = f"{percent(best.observed)} of probes find the right class among {best.n_classes:,}."
    if len(ranked) == 1:
        return [*best.sentences(), measured]
    return [f"Best of {len(ranked)} methods: {plain(best.method)}.", *best.sentences(), measured]


def _ranking(ranked: Sequence[Backtest]) -> BacktestPart:
    sizes = sorted({step.n_classes for one in ranked for step in one.steps}, reverse=True)
    rows = []
    for one in ranked:
        errors = {step.n_classes: in_points(step.error) for step in one.steps}
        reach = f"{int(one.supported * one.n_classes):,}" if one.supported > 1 else "none"
        rows.append([plain(one.method), *(errors.get(size, "-") for size in sizes), reach])
    columns = ("method", *(f"from {size:,}" for size in sizes), "supported up to")
    caption = f"Points off when all {ranked[0].n_classes:,} classes were forecast from fewer"
    notes = [f"{plain(one.method)}: {note}" for one in ranked for note in one.notes]
    return BacktestPart(notes, Table(caption, columns, rows, left=1))
