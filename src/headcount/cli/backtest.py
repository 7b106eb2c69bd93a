"""`headcount backtest`: how far off forecasts of your own classes would have been."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Confidence,
    ErrorRate,
    Jobs,
    MetricName,
    Note,
    PilotFiles,
    Plot,
    Report,
    Seed,
    Title,
    check_error_rate,
    check_plot,
    check_report,
    listed,
    one_format,
    reads_pilot,
    write_page,
)
from headcount.errors import HeadcountError, ParameterError, UnsupportedError, listening
from headcount.support.words import counted, in_points, percent

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.uncertainty.backtest import Backtest

ALL = "all"
LONG = ("grid", "halves")  # what only intervals need


@reads_pilot
def backtest(
    context: typer.Context,
    pilot: PilotFiles,
    metric: MetricName = "accuracy",
    method: Annotated[
        str,
        typer.Option(
            help="As for forecast, but one or several; all leaves out slow ones and those "
            "that only repeat a paper's table.",
            metavar="auto|all|NAME,NAME,...",
        ),
    ] = "auto",
    tolerance: Annotated[
        float, typer.Option(help="Error that is still good enough; 0.05 is 5 points.")
    ] = 0.05,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="How many subsets of each size.", show_default="10; for most methods 20 halves"
        ),
    ] = None,
    confidence: Confidence = 0.9,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
    report: Report = None,
    title: Title = None,
    note: Note = None,
    error_rate: ErrorRate = False,
) -> None:
    """Hide some of your classes, forecast them, and see how far off the forecasts are.

    For example:

    headcount backtest scores.npz

    headcount backtest scores.npz --method all --jobs -1

    headcount backtest scores.npz --method probit-normal,kde --tolerance 0.02

    headcount backtest scores.npz --method all --report backtest.html
    """
    with terminal.progress("Back-testing"), listening() as warnings:
        one_format(as_json, as_csv)
        check_error_rate(error_rate, plot, report)
        check_plot(plot, pilot.inputs)
        check_report(report, pilot.inputs, title, note)
        data = pilot.load()
        settings = {
            "metric": metric,
            "tolerance": tolerance,
            "repeats": repeats,
            "confidence": confidence,
            "n_jobs": jobs,
        }
        results, refused = _try_methods(data, method, settings, seed)
        remarks = [f"{name} is left out: {reason}" for name, reason in refused.items()]
        write_page(
            report,
            context,
            pilot.inputs,
            results,
            pilot=data,
            warnings=[*warnings, *remarks],
            title=title,
            note=note,
            error_rate=error_rate,
        )
        if plot is not None:
            remarks += _draw(results, plot, error_rate)
    for remark in remarks:
        terminal.complain("note", remark)
    if as_json:
        terminal.show_json(_answer(data, results, [*warnings, *remarks]))
    elif as_csv:
        terminal.put(_csv(results))
    else:
        _show(data, results)


def _try_methods(
    data: Pilot, method: str, settings: dict[str, Any], seed: int
) -> tuple[list[Backtest], dict[str, str]]:
    """Return back-tests, and why methods are left out where all are asked for."""
    from headcount.estimators.registry import resolve_all
    from headcount.uncertainty.backtest import backtest as make_backtest

    named = listed(method)
    if not named or (ALL in named and len(named) > 1):
        raise ParameterError("--method takes auto, all, or names such as probit-normal,kde.")
    results, refused = [], {}
    for name in resolve_all(None if named == [ALL] else named):
        try:
            result = make_backtest(data, method=name, random_state=seed, **settings)
        except ParameterError:
            raise
        except HeadcountError as error:
            if named != [ALL]:
                raise
            refused[name] = str(error)
        else:
            results.append(result)
    if not results:
        raise UnsupportedError("no method can use this pilot; see headcount methods.")
    return results, refused


def _draw(results: list[Backtest], path: Path, error_rate: bool) -> list[str]:
    """Draw what there is, and return what there is to say about it."""
    from headcount.display.plots import BacktestDisplay

    if not any(result.steps for result in results):
        return ["no forecast could be tried, so nothing was drawn."]
    BacktestDisplay.from_backtest(results).save(path, error_rate=error_rate)
    return []


def _answer(data: Pilot, results: list[Backtest], warnings: list[str]) -> dict[str, Any]:
    shared = ("schema", "metric", "n_classes", "observed", "tolerance")
    first = results[0].to_dict()
    return {
        **{name: first[name] for name in shared},
        "n_probes": data.n_probes,
        "backtests": [
            {k: v for k, v in result.to_dict().items() if k not in (*shared, *LONG)}
            for result in results
        ],
        "warnings": warnings,
    }


def _csv(results: list[Backtest]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for place, result in enumerate(results):
        head, *rows = csv.reader(result.to_csv().splitlines())
        writer.writerows([["method", *head]] if place == 0 else [])
        writer.writerows([result.method, *row] for row in rows)
    return stream.getvalue()


def _show(data: Pilot, results: list[Backtest]) -> None:
    first = results[0]
    size = f"{counted(first.n_classes, 'class')}, {counted(data.n_probes, 'probe')}"
    method = f" Method: {first.method}." if len(results) == 1 else ""
    terminal.say(f"Pilot: {size}; {first.metric.describe(first.observed)}.{method}")
    if not any(result.steps for result in results):
        terminal.say("\n" + "\n".join(first.sentences()))
    elif len(results) == 1:
        _show_steps(data, first)
    else:
        _show_ranking(results)


def _show_steps(data: Pilot, result: Backtest) -> None:
    from headcount.uncertainty.backtest import cells

    terminal.say(
        f"What would have been forecast from fewer of the {result.n_classes:,} classes, on average "
        "over random subsets:\n"
    )
    rows = [cells(step) for step in result.steps]
    names = [
        "from classes",
        "times fewer",
        "forecast",
        "off by (points)",
        "too high (+) or low (-)",
        f"within its {percent(result.confidence)} interval",
    ]
    terminal.show_table(names, rows)
    if data.rivals == "shared" and data.ranking is None and not result.shared_rivals:
        terminal.say(
            "\nThe pilot holds counts only, so classes were hidden from each probe on its own; "
            "with scores the spread would be known better."
        )
    terminal.say("\n" + "\n".join(result.sentences()))


def _show_ranking(results: list[Backtest]) -> None:
    from headcount.support.words import points
    from headcount.uncertainty.backtest import best_first, supported_cell

    sizes = sorted({step.n_classes for result in results for step in result.steps}, reverse=True)
    terminal.say(
        f"How many points off it would have been forecast from fewer of the "
        f"{results[0].n_classes:,} classes, on average over random subsets; best methods first:\n"
    )
    rows = []
    for result in best_first(results):
        errors = {step.n_classes: in_points(step.error) for step in result.steps}
        reach = supported_cell(result)
        rows.append([result.method, *(errors.get(size, "-") for size in sizes), reach])
    columns = ["method", *(f"from {size:,}" for size in sizes), "supported up to"]
    terminal.show_table(columns, rows, n_text=1)
    terminal.say(
        "\nSupported: forecasts of so many classes, since steps as large were at most "
        f"{points(results[0].tolerance)} off on your own data."
    )
    for result in results:
        for note in result.notes:
            terminal.complain("note", f"{result.method}: {note}")
