"""`headcount adaptation`: what a model gains by being retrained on more classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Confidence,
    ErrorRate,
    Jobs,
    Method,
    MetricName,
    PilotFiles,
    Plot,
    Seed,
    check_error_rate,
    check_plot,
    one_format,
    reads_pilot,
)
from headcount.errors import listening
from headcount.support.words import counted

if TYPE_CHECKING:
    from headcount.questions.adaptation import Adaptation


@reads_pilot
def adaptation(
    pilot: PilotFiles,
    others: Annotated[
        list[Path],
        typer.Argument(metavar="OTHER", help="Pilots of the model retrained on more classes."),
    ],
    metric: MetricName = "accuracy",
    method: Method = "auto",
    confidence: Confidence = 0.9,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
    error_rate: ErrorRate = False,
) -> None:
    """Say how much better a model does by being retrained on more classes than was forecast.

    Give the pilot of the model on few classes and those of the same model retrained on more, in any
    order. Options that describe a file hold for all files.

    For example:

    headcount adaptation few.npz many.npz

    headcount adaptation on_20.npz on_100.npz on_400.npz --plot adaptation.png
    """
    with terminal.progress("Measuring adaptation"), listening() as warnings:
        from headcount.questions.adaptation import adaptation as measure

        one_format(as_json, as_csv)
        files = [pilot, *(replace(pilot, path=path) for path in others)]
        read = list(dict.fromkeys(path for file in files for path in file.inputs))
        check_error_rate(error_rate, plot)
        check_plot(plot, read)
        result = measure(
            [file.load() for file in files],
            metric=metric,
            method=method,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
        )
        if plot is not None:
            result.display().save(plot, error_rate=error_rate)
    if as_json:
        terminal.show_json(result.to_dict() | {"warnings": warnings})
    elif as_csv:
        terminal.put(result.to_csv())
    else:
        _show(result)
        for size, forecast in result.forecasts.items():
            terminal.list_checks(forecast.checks, warnings, of=counted(size, "class"))


def _show(result: Adaptation) -> None:
    for forecast in result.forecasts.values():
        size = f"{counted(forecast.n_classes, 'class')}, {counted(forecast.n_probes, 'probe')}"
        terminal.say(f"Pilot: {size}. Method: {forecast.method}.")
    terminal.say("\n" + "\n".join(result.sentences()))
