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
from headcount.errors import ParameterError, listening
from headcount.support.words import counted, named

if TYPE_CHECKING:
    from headcount.curves.curve import Curve
    from headcount.pilot.pilot import Pilot
    from headcount.questions.risk.answers import RiskForecast
    from headcount.questions.risk.backtest import RiskBacktest

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
        str,
        typer.Option(help="How to fit: regression (the default), unconstrained or adjustment."),
    ] = "regression",
    basis: Annotated[
        str | None,
        typer.Option(
            help="gaussian (for regression the default), spline (for unconstrained the default) "
            "or polynomial."
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="What the interval is to hold: expected (the average over all sets of classes, "
            "the default), new_set (one new set) or grown_set (one that keeps the pilot's classes)."
        ),
    ] = "expected",
    backtest: Annotated[
        bool,
        typer.Option(
            "--backtest", help="Also hide classes, forecast what was measured, and say how well."
        ),
    ] = False,
    task_normalised: Annotated[
        bool,
        typer.Option(
            "--task-normalised",
            help="Also the risk where the priors of each set of classes are made to sum to one.",
        ),
    ] = False,
    confidence: Confidence = 0.9,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Forecast what mistakes will cost on average, where some cost more than others.

    With a hierarchy, a mistake costs the distance between the two classes in the tree.

    For example:

    headcount risk scores.npz --cost hierarchy.json --classes 1000,10000

    headcount risk scores.npz --cost costs.npz --priors frequencies.json --classes 1000

    headcount risk scores.npz --cost hierarchy.json --classes 1000 --kind grown_set --backtest
    """
    with terminal.progress("Forecasting the cost of mistakes"), listening() as warnings:
        from headcount.questions.risk.forecasting import forecast_risk

        asked = numbers_of(classes)
        one_format(as_json, as_csv)
        if as_csv and (backtest or task_normalised):
            raise ParameterError("a csv holds the curve alone; use --json with these options.")
        data = pilot.load()
        priced = _cost(cost, data)
        options: dict[str, Any] = {"approach": approach, "basis": basis}
        options["priors"] = None if priors is None else _priors(priors)
        result = forecast_risk(data, priced, asked, confidence=confidence, **options)
        answer = result.answer_of(kind)
        hidden = _backtest(data, priced, confidence, options) if backtest else None
        tasks = _tasks(data, priced, asked, options) if task_normalised else None
    if as_json:
        extra: dict[str, Any] = {"cost": Path(cost).name, "warnings": warnings}
        if hidden is not None:
            extra["backtest"] = hidden.to_dict()
        if tasks is not None:
            extra["task_normalised"] = tasks
        terminal.show_json(result.to_dict(kind) | extra)
    elif as_csv:
        from headcount.support.output import as_csv as csv_text

        terminal.put(result.to_csv() if kind == "expected" else csv_text(answer.columns()))
    else:
        _show(result, answer, kind, Path(cost).name)
        if tasks is not None:
            _show_tasks(tasks)
        if hidden is not None:
            _show_backtest(hidden)


def _backtest(data: Pilot, cost: Any, confidence: float, options: dict[str, Any]) -> RiskBacktest:
    from headcount.questions.risk import backtest_risk

    return backtest_risk(data, cost, confidence=confidence, **options)


def _tasks(
    data: Pilot, cost: Any, classes: list[int], options: dict[str, Any]
) -> list[dict[str, Any]]:
    from headcount.questions.risk import task_normalised_risk

    if options["priors"] is None:
        raise ParameterError("--task-normalised is about priors; give --priors.")
    rows = []
    for k in classes:
        fitted = {name: value for name, value in options.items() if name != "priors"}
        value, error = task_normalised_risk(
            data, cost, k, options["priors"], **(fitted if k > data.n_classes else {})
        )
        rows.append({"classes": k, "value": value, "standard_error": error})
    return rows


def _cost(cost: str, pilot: Pilot) -> Any:
    from headcount.questions.risk import load_cost

    return cost if cost == ZERO_ONE else load_cost(cost, pilot)


def _priors(path: Path) -> dict[str, Any]:
    from headcount.pilot.loading import safe_arrays
    from headcount.questions.risk.cost_files import json_object

    return json_object(safe_arrays.existing(path), 'such as {"beagle": 3, "poodle": 1}')


KIND_WORDS = {
    "new_set": "The interval is for one new set of so many classes.",
    "grown_set": "Average cost and interval are for one set that keeps the pilot's classes.",
}


def _show(result: RiskForecast, answer: Curve, kind: str, cost: str) -> None:
    size = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}. Cost of mistakes: {named(cost)}.\n")
    terminal.show_table(answer.titles(result.confidence), answer.cells())
    if kind in KIND_WORDS:
        terminal.say(f"\n{KIND_WORDS[kind]}")
    for check in result.checks:
        terminal.complain(f"{check.severity} {check.code}", check.message)


def _show_tasks(tasks: list[dict[str, Any]]) -> None:
    terminal.say("\nWhere the priors of each set of classes are made to sum to one:\n")
    rows = [
        [f"{row['classes']:,}", f"{row['value']:.3g}", f"{row['standard_error']:.2g}"]
        for row in tasks
    ]
    terminal.show_table(["classes", "average cost", "standard error"], rows)


def _show_backtest(result: RiskBacktest) -> None:
    terminal.say(
        f"\nWhat would have been forecast from fewer of the {result.n_classes:,} classes, on "
        f"average over random subsets, where {result.observed:.3g} was measured:\n"
    )
    if result.steps:
        terminal.show_table(
            ["from classes", "times fewer", "forecast", "off by", "too high (+) or low (-)"],
            [row[:5] for row in result.cells()],
        )
        terminal.say("")
    terminal.say("\n".join(result.sentences()))
