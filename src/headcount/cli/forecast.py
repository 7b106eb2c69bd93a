"""`headcount forecast`: what is asked most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Classes,
    Confidence,
    ErrorRate,
    Intervals,
    Jobs,
    Method,
    MetricName,
    Mix,
    Note,
    PilotFiles,
    Plot,
    Report,
    Seed,
    Title,
    check_error_rate,
    check_plot,
    check_report,
    mix_of,
    numbers_of,
    one_format,
    reads_pilot,
    write_page,
)
from headcount.errors import ParameterError, listening
from headcount.support.words import counted

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast


@reads_pilot
def forecast(
    context: typer.Context,
    pilot: PilotFiles,
    classes: Classes,
    metric: MetricName = "accuracy",
    method: Method = "auto",
    mix: Mix = None,
    confidence: Confidence = 0.9,
    intervals: Intervals = True,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
    report: Report = None,
    title: Title = None,
    note: Note = None,
    other_methods: Annotated[
        bool,
        typer.Option("--other-methods", help="Show what other quick methods say in the report."),
    ] = False,
    error_rate: ErrorRate = False,
) -> None:
    """Forecast accuracy, or another metric, at numbers of classes you have not measured.

    For example:

    headcount forecast scores.npz --classes 1000,10000

    headcount forecast probes.npy --labels who.txt --gallery enrolled.npy --similarity cosine
    --classes 50000

    headcount forecast run.trec --qrels qrels.txt --n-classes 100000 --classes 1000000

    headcount forecast scores.npz --classes 10000 --mix women=0.6,men=0.4

    headcount forecast scores.npz --classes 10000 --report forecast.html --title "Gate 1"
    --noun person/people --probe-noun photo/photos
    """
    with terminal.progress("Forecasting"), listening() as warnings:
        from headcount.questions.forecast import forecast as make_forecast

        asked, shares = numbers_of(classes), mix_of(mix)
        one_format(as_json, as_csv)
        check_error_rate(error_rate, plot, report)
        check_plot(plot, pilot.inputs)
        check_report(report, pilot.inputs, title, note)
        if other_methods and report is None:
            raise ParameterError("--other-methods is about the report; add --report report.html.")
        data = pilot.load()
        result = make_forecast(
            data,
            classes=asked,
            metric=metric,
            method=method,
            mix=shares,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
            intervals=intervals,
            other_methods=other_methods,
        )
        write_page(
            report,
            context,
            pilot.inputs,
            result,
            warnings=warnings,
            title=title,
            note=note,
            error_rate=error_rate,
        )
        if plot is not None:
            result.save(plot, error_rate=error_rate)
    if as_json:
        terminal.show_json(result.to_dict() | {"warnings": warnings})
    elif as_csv:
        terminal.put(result.to_csv())
    else:
        _show(result)


def _show(result: Forecast) -> None:
    size = f"{result.measured_classes}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}.\n")
    answer = result.answer
    terminal.show_table(answer.titles(result.confidence), answer.cells())
    terminal.say("\n" + "\n".join(result.sentences()[-2:]))
    if result.backtest is not None:
        for sentence in result.backtest.sentences():
            terminal.say(f"Back-test: {sentence}")
    terminal.list_checks(result.checks, result.warnings)
