"""`headcount capacity`: how many classes a system can hold."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsJson,
    Confidence,
    ErrorRate,
    Intervals,
    Jobs,
    Method,
    MetricName,
    Mix,
    PilotFiles,
    Plot,
    Seed,
    check_error_rate,
    check_plot,
    mix_of,
    reads_pilot,
)
from headcount.errors import ExtrapolationWarning, listening, warn
from headcount.support.words import about, describe_capacities, describe_capacity, percent
from headcount.support.workers import doing

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast


@reads_pilot
def capacity(
    pilot: PilotFiles,
    target: Annotated[
        list[float], typer.Option(help="Lowest good value, e.g. 0.9. May be given several times.")
    ],
    metric: MetricName = "accuracy",
    method: Method = "auto",
    mix: Mix = None,
    confidence: Confidence = 0.9,
    intervals: Intervals = True,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
    error_rate: ErrorRate = False,
) -> None:
    """Say how many classes the system can hold before its accuracy falls under a target.

    For example:

    headcount capacity scores.npz --target 0.9 --target 0.8
    """
    with terminal.progress("Finding the capacity"), listening() as warnings:
        from headcount.curves.favorability import check_target
        from headcount.questions.forecast import forecast as make_forecast

        targets = [check_target(value) for value in target]
        check_error_rate(error_rate, plot)
        check_plot(plot, pilot.inputs)
        data = pilot.load()
        result = make_forecast(
            data,
            classes=data.n_classes,
            metric=metric,
            method=method,
            mix=mix_of(mix),
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
            intervals=intervals,
        )
        with doing("Searching for the largest number of classes"):
            rows = [_capacity(result, value) for value in targets]
        _warn_if_unsupported(result, targets)
        if plot is not None:
            _draw(result, plot, error_rate)
    if as_json:
        answer = {
            "metric": result.metric.name, "n_classes": result.n_classes,
            "n_probes": result.n_probes, "method": result.method, "confidence": confidence,
            "supported": result.supported, "capacity": rows,
            "checks": [check.to_dict() for check in result.checks], "warnings": warnings,
        } | ({"mix": result.mix} if result.mix else {})  # fmt: skip
        terminal.show_json(answer)
        return
    for value in targets:
        terminal.say(f"{percent(value)}: {_in_words(result, value)}.")
    terminal.list_checks(result.checks, warnings)


def _warn_if_unsupported(result: Forecast, targets: list[float]) -> None:
    furthest = max(result.capacity(value) for value in targets)
    if result.backtest is not None and furthest > result.supported:
        warn(
            f"the back-test supports forecasts up to {about(result.supported)} classes; take "
            "what goes beyond that as a guess, or use a larger pilot.",
            ExtrapolationWarning,
        )


def _draw(result: Forecast, path: Path, error_rate: bool) -> None:
    from headcount.display.plots import CapacityDisplay

    CapacityDisplay.from_forecast(result).save(path, error_rate=error_rate)


def _capacity(result: Forecast, target: float) -> dict[str, Any]:
    """Return a capacity and its limits as JSON holds them: no infinity."""
    capacity, limits = result.capacity(target), result.capacity_interval(target)

    def finite(count: float) -> int | None:
        return None if math.isinf(count) else int(count)

    row: dict[str, Any] = {"target": target, "classes": finite(capacity)}
    row["unbounded"] = math.isinf(capacity)
    for name, limit in zip(("lower", "upper"), limits or (None, None), strict=True):
        row[name] = None if limit is None else finite(limit)
        row[f"{name}_unbounded"] = limit is not None and math.isinf(limit)
    return row


def _in_words(result: Forecast, target: float) -> str:
    capacity, limits = result.capacity(target), result.capacity_interval(target)
    source = "measured" if capacity < result.n_classes else "forecast"
    words = "even two classes are too many"
    if capacity > 1:
        words = f"up to {describe_capacity(capacity, result.n_classes)} ({source})"
    if limits is None or limits[0] == limits[1]:
        return words
    within = describe_capacities(*limits, result.n_classes)
    return f"{words}; {percent(result.confidence)} interval {within}"
