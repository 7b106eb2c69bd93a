"""Options that several commands share, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headcount.errors import ParameterError
from headcount.threads import doing

Classes = Annotated[
    str, typer.Option(help="Numbers of classes, e.g. 1000,10000.", metavar="K,K,...")
]
Method = Annotated[
    str,
    typer.Option(
        help="A method of 'headcount methods', or your own, package.module:Class "
        "(options follow as :option=value).",
        metavar="NAME",
    ),
]
Confidence = Annotated[float, typer.Option(help="Share of intervals that should hold the truth.")]
Intervals = Annotated[
    bool,
    typer.Option(help="Back-test the method on the pilot and give intervals; takes seconds."),
]
Jobs = Annotated[int | None, typer.Option(help="Workers for the back-test; -1 for all cores.")]
Seed = Annotated[int, typer.Option(help="Seed of the back-test and of random methods.")]
Plot = Annotated[Path | None, typer.Option(help="Draw it into a .png, .svg or .pdf file.")]
ErrorRate = Annotated[
    bool,
    typer.Option(
        "--error-rate", help="--plot and --report show the share that is wrong, not that is right."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print a table as CSV.")]
Report = Annotated[
    Path | None, typer.Option(help="Also write a page to pass on, with nothing outside it: .html.")
]
Title = Annotated[str | None, typer.Option(help="Title of the report.")]
Note = Annotated[str | None, typer.Option(help="What the report should say to its readers.")]


def numbers_of(text: str) -> list[int]:
    """Parse '1000,10000' (also '1_000' and '1e4'); numbers of classes start at 2."""
    from headcount.arrays import whole_number

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ParameterError("--classes names no number of classes; write e.g. 1000,10000.")
    numbers = []
    for part in parts:
        value: Any = part.replace("_", "")
        value = float(value) if "e" in value.lower() and _is_number(value) else value
        numbers.append(whole_number(value, "a number of classes", 2))
    return sorted(set(numbers))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def check_output(
    output: Path | None, inputs: Sequence[Path], right_kind: Callable[[Path], None] | None = None
) -> None:
    """Refuse a file that cannot be written, or is of the wrong kind, before any work is done."""
    if output is None:
        return
    from headcount.writing import check_writable, refuse_overwriting

    refuse_overwriting(output, inputs)
    if right_kind is not None:
        right_kind(output)
    check_writable(output)


def check_plot(output: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a picture that cannot be written before any work is done."""
    from headcount.plotting import check_picture

    check_output(output, inputs, check_picture)


def check_error_rate(error_rate: bool, *outputs: Path | None) -> None:
    """Refuse to say how something is drawn where nothing is."""
    if error_rate and all(output is None for output in outputs):
        raise ParameterError("--error-rate is for pictures; give --plot or --report too.")


def one_format(as_json: bool, as_csv: bool) -> None:
    """Refuse two kinds of output at once."""
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other; choose one.")


def check_report(
    report: Path | None, inputs: Sequence[Path], title: str | None = None, note: str | None = None
) -> None:
    """Refuse a report that cannot be written before any work is done."""
    if report is None:  # asked first: the page needs packages that others do without
        if title or note:
            raise ParameterError("--title and --note are for a report; add --report report.html.")
        return
    from headcount.report import check_report as check_page

    check_output(report, inputs, check_page)


def write_page(
    report: Path | None,
    context: typer.Context,
    inputs: Sequence[Path],
    result: Any,
    *,
    title: str | None,
    note: str | None,
    **more: Any,
) -> None:
    """Write a report that says which command made it, if one was asked for."""
    if report is None:
        return
    from headcount.report import of_command, write_report

    names = [path.name for path in inputs]
    more |= {"title": title or "", "note": note or ""}
    how = of_command(context, names)
    with doing(f"Writing {report.name}"):
        write_report(report, result, sources=names, reproduction=how, **more)
