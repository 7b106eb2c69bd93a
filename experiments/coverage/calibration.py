"""What `headcount.uncertainty.refitted` learns about errors: its constants, from random problems.

Pilots of random synthetic problems (`experiments.problems.problems`) are forecast, and the errors
of the log odds of accuracy held against the truth among thousands of fresh classes;
`experiments.coverage.calibration_fit` says what is fitted to them. Families that are held out have
no part in it; what their intervals cover is the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.coverage import coverage as shared
from experiments.coverage.calibration_fit import (
    BOUNDS,
    RESAMPLES,
    as_code,
    by_ratio,
    fit,
    gather,
    loss,
    standard_errors,
)
from experiments.coverage.records import (
    CONFIDENCE,
    Judged,
    cell,
    cells,
    examined,
    judge,
    mark,
)
from experiments.journal import Record
from experiments.problems.families import HELD_OUT, draw
from experiments.results import Results
from experiments.runner import Settings, Task, conduct
from headcount.errors import DataError, ParameterError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.support.validation import whole_number
from headcount.uncertainty.refitted import MODEL, ErrorModel

Floats = NDArray[np.float64]

NAME = "calibration"
FIRST = 10_000_000  # seeds below are those that methods may have been trained on
FIRST_HELD_OUT = 500_000  # after the first
PROBLEMS, HELD_OUT_PROBLEMS = 600, 150
RATIOS = (1, 1.5, 2, 3, 5, 10, 20)
ACCURACIES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.01)  # estimates that are looked at apart
TRUTH_CLASSES = 4096
LEAST_PROBLEMS = 10
DRAWN_BY = tuple(
    f"experiments.problems.{name}"
    for name in ("problems", "families", "points", "scores", "worlds")
)


def calibration(
    settings: Settings,
    *,
    method: str = "probit-normal",
    problems: int = PROBLEMS,
    held_out: int = HELD_OUT_PROBLEMS,
    n_classes: int | None = None,
    ratios: Sequence[float] = RATIOS,
    n_truth: int = TRUTH_CLASSES,
    resamples: int = RESAMPLES,
) -> Results:
    """Learn the constants of `headcount.uncertainty.refitted` for a method, and test them.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    method : str
        Whose errors; options may follow, as for `headcount.estimators.registry.resolve_all`. It
        must not give plausible laws of its own, of which there is nothing to learn.
    problems, held_out : int
        Random problems to learn from, and of the families held out to test on.
    n_classes : int, optional
        Size of all pilots; random by default.
    ratios : sequence of float
        k / K at which errors are looked at; the first must be 1.
    n_truth : int
        Fresh classes behind the truth; more where that is less than is asked about.
    resamples : int
        Times that problems are resampled for standard errors.

    Returns
    -------
    Results
        A row for each family and ratio: what the intervals under the new constants cover. The
        constants are under ``model`` in the details, with those that could go no further under
        ``at_limit``; ``misses_by_accuracy`` tells truths below intervals from those above.
    """
    (estimator,) = resolve_all([method]).values()
    if estimator.gives_laws:
        raise ParameterError(
            f"method {estimator.alias} gives plausible laws of its own, of whose errors nothing is "
            "learned; choose another one."
        )
    number = whole_number(problems, "--problems", LEAST_PROBLEMS)
    tests = whole_number(held_out, "--held-out", 0)
    method_mark = mark(estimator, DRAWN_BY)
    start = FIRST * (settings.seed + 1)
    family_seeds: list[tuple[str | None, int]] = [(None, start + i) for i in range(number)]
    start += FIRST_HELD_OUT
    family_seeds += [(HELD_OUT[i % len(HELD_OUT)], start + i) for i in range(tests)]
    sizes = f"{n_classes or 'any'}/{n_truth}/{','.join(f'{ratio:g}' for ratio in ratios)}"
    tasks = [
        Task(
            f"{NAME}/{family or 'any'}/{seed}/{sizes}/{estimator.alias}@{method_mark}",
            partial(look, family, seed, estimator, n_classes, tuple(ratios), n_truth),
        )
        for family, seed in family_seeds
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    learned = [record for record in records[:number] if _is_usable(record)]
    if len(learned) < LEAST_PROBLEMS:
        reasons = sorted({record["refused"] for record in records if "refused" in record})
        raise DataError(
            " ".join([f"only {len(learned)} problems can be learned from; ask for more.", *reasons])
        )
    errors = gather(learned)
    model = fit(errors)
    apart = standard_errors(errors, model, settings.seed, resamples)
    rows = cells(_judged_intervals(records[:number], "training", ratios, model)
                 + _judged_intervals(records[number:], "held out", ratios, model))  # fmt: skip
    return Results(
        bench=NAME,
        about=(
            f"Constants of the intervals for forecasts by {estimator.alias}, learned on "
            f"{len(learned):,} random problems, and what nominal {CONFIDENCE:.0%} intervals then "
            f"cover there and on {tests:,} problems of families that were held out."
        ),
        seed=settings.seed,
        options={
            "method": method,
            "problems": number,
            "held_out": tests,
            "n_classes": n_classes,
            "ratios": list(ratios),
            "n_truth": n_truth,
            "resamples": resamples,
            "confidence": CONFIDENCE,
        },
        rows=rows,
        details={
            "model": asdict(model),
            "standard_errors": apart,
            "text": as_code(model, apart),
            "loss": round(loss(errors, model), 5),
            "loss_of_present_model": round(loss(errors, MODEL), 5),
            "quantile_90_by_ratio": by_ratio(errors, model, ratios),
            "misses_by_accuracy": _misses(records, ratios, model),
            "at_limit": [name for name in BOUNDS if getattr(model, name) in BOUNDS[name]],
            "left_out": sum(not _is_usable(record) for record in records[:number]),
        },
        run=run,
    )


def look(
    family: str | None,
    seed: int,
    estimator: Extrapolator,
    n_classes: int | None,
    ratios: Sequence[float],
    n_truth: int,
) -> Record:
    """Make a problem real, forecast from its pilot, and keep what its errors are made of."""
    from experiments.problems.problems import realise, to_pilot  # late: needs torch

    problem = draw(seed, family=family, n_classes=n_classes)
    classes = [round(ratio * problem.n_classes) for ratio in ratios]
    realisation = realise(problem, n_truth=max(n_truth, classes[-1] + 1), oracle=False)
    record = examined(to_pilot(realisation), estimator, classes, seed)
    return record | {
        "family": problem.family,
        "truth": realisation.truth(classes).tolist(),
        "truth_error": realisation.truth_error(classes).tolist(),
    }


def _is_usable(record: Record) -> bool:
    """Whether errors can be put on the scale of log odds: some probes right, and not all."""
    return "value" in record and 0 < record["uncertainty"]["observed"] < 1


def _judged_intervals(
    records: Sequence[Record], group: str, ratios: Sequence[float], model: ErrorModel
) -> list[Judged]:
    """Judge all intervals, also of pilots with every probe right, which were not learned from."""
    intervals = [
        interval
        for record in records
        if "value" in record
        for interval in judge(record, model, ratios, family=group, setting=record["family"])
    ]
    # Pilots have many sizes, which are no settings of their own.
    return [replace(interval, pilot_classes=0) for interval in intervals]


def _misses(
    records: Sequence[Record], ratios: Sequence[float], model: ErrorModel
) -> list[dict[str, Any]]:
    """Return how often truths lie to either side of intervals beyond the pilot, by estimate."""
    intervals = [
        interval for interval in _judged_intervals(records, "", ratios, model) if interval.ratio > 1
    ]
    rows = []
    for low, high in pairwise(ACCURACIES):
        between = [interval for interval in intervals if low <= interval.estimate < high]
        summary = cell(between)
        rows.append({"from": low} | {name: summary[name] for name in ("pilots", "below", "above")})
    return rows


draw_coverage, pooled = shared.draw, shared.pooled
