"""`headcount plan`: how large a pilot must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsJson,
    Confidence,
    Jobs,
    Method,
    MetricName,
    PilotFiles,
    Seed,
    numbers_of,
    reads_pilot,
)
from headcount.errors import ParameterError, listening
from headcount.support.words import about, counted

if TYPE_CHECKING:
    from headcount.questions.plan import Plan


@reads_pilot
def plan(
    pilot: PilotFiles,
    classes: Annotated[str, typer.Option(help="Number of classes to forecast.", metavar="K")],
    half_width: Annotated[
        float, typer.Option(help="How precise it must be: 0.03 is plus or minus 3 points.")
    ],
    probes_per_class: Annotated[
        float | None,
        typer.Option(help="Probes a class of the new pilot.", show_default="as many as now"),
    ] = None,
    metric: MetricName = "accuracy",
    method: Method = "auto",
    confidence: Confidence = 0.9,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say how many classes and probes a pilot needs, judging from a small one that you have.

    For example:

    headcount plan small.npz --classes 10000 --half-width 0.03
    """
    with terminal.progress("Planning"), listening() as warnings:
        from headcount.questions.plan import plan as make_plan

        asked = numbers_of(classes)
        if len(asked) != 1:
            raise ParameterError("--classes takes one number here; plan for each on its own.")
        result = make_plan(
            pilot.load(),
            asked[0],
            half_width,
            metric=metric,
            method=method,
            confidence=confidence,
            probes_per_class=probes_per_class,
            random_state=seed,
            n_jobs=jobs,
        )
    if as_json:
        terminal.show_json(result.to_dict() | {"warnings": warnings})
    else:
        _show(result)
        terminal.list_checks(result.checks, warnings)


def _show(result: Plan) -> None:
    size = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}.\n")
    terminal.say("\n".join(result.sentences()))
    if len(result.options) > 1:
        terminal.say("\nSizes that would do:\n")
        rows = [
            [about(option.classes), f"{option.probes_per_class:.3g}", about(option.probes)]
            for option in result.options
        ]
        terminal.show_table(["classes", "probes of each", "probes in all"], rows)
