"""`headcount risk`: what mistakes will cost when there are many more classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Classes,
    Confidence,
    PilotFiles,
    numbers_of,
    one_format,
    reads_pilot,
)
from headcount.errors import listening
from headcount.support.words import counted, named

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot
    from headcount.questions.risk.answers import RiskForecast

ZERO_ONE = "zero-one"


@reads_pilot
def risk(
    pilot: PilotFiles,
    cost: Annotated[
        str,
        typer.Option(
            help="What mistakes cost: an .npz file of costs, a .json hierarchy, or zero-one.",
            metavar="FILE",
        ),
    ],
    classes: Classes,
    priors: Annotated[
        Path | None,
        typer.Option(help="How often each class is the true one: .json of names and weights."),
    ] = None,
    approach: Annotated[
        str, typer.Option(help="How to fit: regression (the default) or adjustment.")
    ] = "regression",
    basis: Annotated[
        str, typer.Option(help="For regression: gaussian (the default), spline or polynomial.")
    ] = "gaussian",
    confidence: Confidence = 0.9,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Forecast what mistakes will cost on average, where some cost more than others.

    With a hierarchy, a mistake costs the distance between the two classes in the tree.

    For example:

    headcount risk scores.npz --cost hierarchy.json --classes 1000,10000

    headcount risk scores.npz --cost costs.npz --priors frequencies.json --classes 1000
    """
    with terminal.progress("Forecasting the cost of mistakes"), listening() as warnings:
        from headcount.questions.risk.forecasting import forecast_risk

        asked = numbers_of(classes)
        one_format(as_json, as_csv)
        data = pilot.load()
        result = forecast_risk(
            data,
            _cost(cost, data),
            asked,
            approach=approach,
            basis=basis,
            priors=None if priors is None else _priors(priors),
            confidence=confidence,
        )
    if as_json:
        named_cost = {"cost": Path(cost).name, "warnings": warnings}
        terminal.show_json(result.to_dict() | named_cost)
    elif as_csv:
        terminal.put(result.to_csv())
    else:
        _show(result, Path(cost).name)


def _cost(cost: str, pilot: Pilot) -> Any:
    from headcount.questions.risk import load_cost

    return cost if cost == ZERO_ONE else load_cost(cost, pilot)


def _priors(path: Path) -> dict[str, Any]:
    from headcount.pilot.loading import safe_arrays
    from headcount.questions.risk.cost_files import json_object

    return json_object(safe_arrays.existing(path), 'such as {"beagle": 3, "poodle": 1}')


def _show(result: RiskForecast, cost: str) -> None:
    size = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}. Cost of mistakes: {named(cost)}.\n")
    answer = result.answer
    terminal.show_table(answer.titles(result.confidence), answer.cells())
    for check in result.checks:
        terminal.complain(f"{check.severity} {check.code}", check.message)
