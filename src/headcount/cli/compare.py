"""`headcount compare`: which of several systems will be the better one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Classes,
    Confidence,
    ErrorRate,
    Jobs,
    Method,
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
    numbers_of,
    one_format,
    reads_pilot,
    write_page,
)
from headcount.errors import ParameterError, listening
from headcount.support.words import counted, named

if TYPE_CHECKING:
    from headcount.questions.compare import Comparison


@reads_pilot
def compare(
    context: typer.Context,
    pilot: PilotFiles,
    others: Annotated[
        list[Path], typer.Argument(metavar="OTHER", help="One or more pilots to compare it with.")
    ],
    classes: Classes,
    names: Annotated[
        str | None,
        typer.Option(help="Names of the systems, e.g. old,new.", show_default="names of the files"),
    ] = None,
    metric: MetricName = "accuracy",
    method: Method = "auto",
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
    """Say which of several systems will be ahead when there are many more classes.

    Options that describe a file hold for all files. Systems that were measured on the same classes
    are compared class by class, which tells them apart better.

    For example:

    headcount compare old.npz new.npz --classes 1000,10000

    headcount compare a.npy b.npy --labels who.txt --names resnet,vit --classes 10000

    headcount compare old.npz new.npz --classes 10000 --report comparison.html
    """
    with terminal.progress("Comparing"), listening() as warnings:
        from headcount.questions.compare import compare as make_comparison

        asked = numbers_of(classes)
        one_format(as_json, as_csv)
        files = [pilot, *(replace(pilot, path=path) for path in others)]
        called = _names([file.path for file in files], names)
        read = list(dict.fromkeys(path for file in files for path in file.inputs))
        check_error_rate(error_rate, plot, report)
        check_plot(plot, read)
        check_report(report, read, title, note)
        result = make_comparison(
            {name: file.load() for name, file in zip(called, files, strict=True)},
            asked,
            metric=metric,
            method=method,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
        )
        write_page(
            report,
            context,
            read,
            result,
            warnings=warnings,
            title=title,
            note=note,
            error_rate=error_rate,
        )
        if plot is not None:
            _draw(result, plot, error_rate)
    if as_json:
        terminal.show_json(result.to_dict() | {"warnings": warnings})
    elif as_csv:
        terminal.put(result.to_csv())
    else:
        _show(result)
        for name, forecast in result.forecasts.items():
            terminal.list_checks(forecast.checks, warnings, of=name)


def _names(paths: list[Path], names: str | None) -> list[str]:
    """Return a name for each file: as asked, or its own, numbered where others have it too."""
    if names is None:
        stems = [path.stem for path in paths]
        return [
            stem if stems.count(stem) == 1 else f"{stem} ({number})"
            for number, stem in enumerate(stems, start=1)
        ]
    named = [name.strip() for name in names.split(",")]
    if len(named) != len(paths) or "" in named or len(set(named)) < len(named):
        raise ParameterError(
            f"--names must give each of the {len(paths)} pilots a name of its own, such as old,new."
        )
    return named


def _draw(result: Comparison, path: Path, error_rate: bool) -> None:
    from headcount.display.plots import ComparisonDisplay

    ComparisonDisplay.from_comparison(result).save(path, error_rate=error_rate)


def _show(result: Comparison) -> None:
    for name, forecast in result.forecasts.items():
        size = f"{counted(forecast.n_classes, 'class')}, {counted(forecast.n_probes, 'probe')}"
        terminal.say(f"{named(name)}: {size}. Method: {forecast.method}.")
    how = "Not the same classes or probes: the systems are compared as independent."
    if result.paired:
        same = result.shared
        if same == "classes":
            same += " and as many probes of each"
        how = f"The same {same}: what the systems share cancels."
    terminal.say(f"{how} What is compared: {result.metric.label}.\n")
    terminal.show_table(["classes", *map(named, result.forecasts)], result.cells())
    terminal.say("\n" + "\n".join(result.sentences()))
