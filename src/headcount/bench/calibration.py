r"""What `headcount.uncertainty` learns about errors: its constants, from random problems.

Pilots of random synthetic problems (`headcount.bench.problems`) are forecast, and the errors of
the log odds of accuracy held against the truth among thousands of fresh classes. With the error
:math:`L`, the back-test's bias b, the standard error J of the observed accuracy, the log growth g
of the variance over the halves, x = log(k / K) and the standard error T of the truth itself,

.. math:: z = (L - \lambda b) / s, \qquad
          s^2 = J^2 e^{\beta g} + (c\, x^{\gamma})^2 + (c' b)^2 + T^2 ,

or, beyond the pilot, for a method that states its own error S,

.. math:: s^2 = (c_S S)^2 + (c' b)^2 + T^2 ,

the constants are those under which all z are most likely to be from one Student's t with six
degrees of freedom: its tails are about as heavy as those found. Quantiles of \|z\| are then taken
as they are. Standard errors are from resampled problems. Families that are held out have no part
in it; what their intervals cover is the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logit

from headcount.arrays import whole_number
from headcount.bench import coverage as shared
from headcount.bench.coverage_records import CONFIDENCE, cells, errors_of, examined, judge, mark
from headcount.bench.journal import Record
from headcount.bench.methods import chosen
from headcount.bench.problem_families import HELD_OUT, draw
from headcount.bench.results import Results
from headcount.bench.runner import Settings, Task, conduct
from headcount.error_model import MODEL, STATED_MODEL, ErrorModel
from headcount.errors import DataError
from headcount.estimators import Extrapolator

Floats = NDArray[np.float64]

NAME = "calibration"
FIRST = 10_000_000  # seeds below are those that methods may have been trained on
FIRST_HELD_OUT = 500_000  # after the first
PROBLEMS, HELD_OUT_PROBLEMS = 600, 150
RATIOS = (1, 1.5, 2, 3, 5, 10, 20)
TRUTH_CLASSES = 4096
FREEDOM = 6
LEVELS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
RESAMPLES = 50
SURE = 1e-9
# What is fitted, with its least and largest value.
BOUNDS = {
    "growth": (0.0, 4.0),
    "scale": (1e-4, 3.0),
    "power": (0.1, 4.0),
    "doubt": (0.0, 3.0),
    "share": (0.0, 2.0),
    "stated": (0.1, 5.0),
}
# What there is to fit for methods that state their own error, and for the others.
STATED = ("stated", "doubt", "share")
PLAIN = ("growth", "scale", "power", "doubt", "share")
MOST_BLIND = 3.0
SOME_DOUBT = 0.3
LEAST_PROBLEMS = 10
DRAWN_BY = tuple(
    f"headcount.bench.{name}"
    for name in (
        "problems", "problem_families", "problem_points", "problem_scores", "problem_worlds"
    )
)  # fmt: skip


def calibration(
    settings: Settings,
    *,
    method: str = "auto",
    problems: int = PROBLEMS,
    held_out: int = HELD_OUT_PROBLEMS,
    n_classes: int | None = None,
    ratios: Sequence[float] = RATIOS,
    n_truth: int = TRUTH_CLASSES,
    resamples: int = RESAMPLES,
) -> Results:
    """Learn the constants of `headcount.uncertainty` for a method, and test them.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    method : str
        Whose errors; options may follow, as for `headcount.bench.methods.chosen`.
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
        ``at_limit``.
    """
    (estimator,) = chosen([method]).values()
    number = whole_number(problems, "--problems", LEAST_PROBLEMS)
    tests = whole_number(held_out, "--held-out", 0)
    own = mark(estimator, DRAWN_BY)
    start = FIRST * (settings.seed + 1)
    drawn: list[tuple[str | None, int]] = [(None, start + i) for i in range(number)]
    start += FIRST_HELD_OUT
    drawn += [(HELD_OUT[i % len(HELD_OUT)], start + i) for i in range(tests)]
    sizes = f"{n_classes or 'any'}/{n_truth}/{','.join(f'{ratio:g}' for ratio in ratios)}"
    tasks = [
        Task(
            f"{NAME}/{family or 'any'}/{seed}/{sizes}/{estimator.alias}@{own}",
            partial(look, family, seed, estimator, n_classes, tuple(ratios), n_truth),
        )
        for family, seed in drawn
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
    rows = _rows(records[:number], records[number:], ratios, model)
    return Results(
        bench=NAME,
        about=(
            f"Constants of the intervals for forecasts by {estimator.alias}, learned on "
            f"{len(learned):,} random problems, and what nominal {CONFIDENCE:.0%} intervals then "
            f"cover there and on {tests:,} problems of families that were held out."
        ),
        seed=settings.seed,
        options={
            "method": estimator.alias if method == "auto" else method,
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
            "text": as_code(model, apart, errors.are_stated),
            "loss": round(loss(errors, model), 5),
            "loss_of_present_model": round(loss(errors, _present(errors)), 5),
            "quantile_90_by_ratio": _by_ratio(errors, model, ratios),
            "at_limit": [name for name in free(errors) if getattr(model, name) in BOUNDS[name]],
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
    from headcount.bench.problems import realise, to_pilot  # late: needs torch

    problem = draw(seed, family=family, n_classes=n_classes)
    classes = [round(ratio * problem.n_classes) for ratio in ratios]
    made = realise(problem, n_truth=max(n_truth, classes[-1] + 1), oracle=False)
    record = examined(to_pilot(made), estimator, classes, seed)
    return record | {
        "family": problem.family,
        "truth": made.truth(classes).tolist(),
        "truth_error": made.truth_error(classes).tolist(),
    }


def _is_usable(record: Record) -> bool:
    """Whether errors can be put on the scale of log odds: some probes right, and not all."""
    return "accuracy" in record and 0 < record["uncertainty"]["observed"] < 1


# -- the fit ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """Errors of forecasts, a row for each problem and a column for each ratio.

    Attributes
    ----------
    error : ndarray
        Log odds of the estimate minus those of the truth; no further out than half a probe.
    plain : ndarray
        The same without that limit for the truth, and zero where an interval is open to that
        side: what quantiles are taken of.
    bias, observed, growth, truth, reach, stated : ndarray
        b, J, g (not a number without halves), T, x, and S (not a number where none is stated).
    """

    error: Floats
    plain: Floats
    bias: Floats
    observed: Floats
    growth: Floats
    truth: Floats
    reach: Floats
    stated: Floats

    @property
    def are_stated(self) -> bool:
        """Whether the method states its own error."""
        return bool(np.isfinite(self.stated).all())

    def rows(self, chosen: Any) -> Errors:
        """Return some of the problems."""
        return Errors(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def gather(records: Sequence[Record]) -> Errors:
    """Return the errors that records hold."""
    found = [_one(record) for record in records]
    return Errors(*(np.array(column) for column in zip(*found, strict=True)))


def _one(record: Record) -> tuple[Floats, ...]:
    known = errors_of(record)
    half = 0.5 / known.n_probes
    value, truth = np.array(record["accuracy"]), np.array(record["truth"])
    said = logit(np.clip(value, half, 1 - half))
    plain = said - logit(np.clip(truth, SURE, 1 - SURE))
    is_open = ((value <= half) & (plain > 0)) | ((value >= 1 - half) & (plain < 0))
    inside, none = np.clip(truth, half, 1 - half), np.full(len(said), np.nan)
    return (
        said - logit(inside),
        np.where(is_open, 0.0, plain),
        known.bias,
        known.observed_error,
        none if known.growth is None else known.growth,
        np.array(record["truth_error"]) / (inside * (1 - inside)),
        np.log(np.maximum(known.grid / known.n_classes, 1.0)),
        none if known.stated is None else known.stated,
    )


def _variance(errors: Errors, model: ErrorModel) -> Floats:
    growth = np.where(np.isnan(errors.growth), model.blind_growth * errors.reach, errors.growth)
    own = (
        errors.observed**2 * np.exp(model.growth * growth)
        + (model.scale * errors.reach**model.power) ** 2
    )
    has = np.isfinite(errors.stated) & (errors.reach > 0)
    own = np.where(has, (model.stated * errors.stated) ** 2, own)
    return np.asarray(own + (model.doubt * errors.bias) ** 2 + errors.truth**2)


def free(errors: Errors) -> tuple[str, ...]:
    """Return which constants there are to fit."""
    return STATED if errors.are_stated else PLAIN


def _present(errors: Errors) -> ErrorModel:
    return STATED_MODEL if errors.are_stated else MODEL


def _first(errors: Errors) -> ErrorModel:
    """Return where to begin: as now, but in some doubt, whose slope is zero where it is zero."""
    now = _present(errors)
    return replace(now, doubt=max(now.doubt, SOME_DOUBT))


def loss(errors: Errors, model: ErrorModel) -> float:
    """Return minus the mean log likelihood of a model, up to a constant."""
    variance = _variance(errors, model)
    z2 = (errors.error - model.share * errors.bias) ** 2 / variance
    return float(np.mean(np.log(variance) / 2 + (FREEDOM + 1) / 2 * np.log1p(z2 / FREEDOM)))


def fit(errors: Errors, start: ErrorModel | None = None) -> ErrorModel:
    """Return the model under which the errors are most likely, with the quantiles they have."""
    model = _fit_constants(errors, _first(errors) if start is None else start)
    if errors.are_stated:
        return replace(model, levels=LEVELS, quantiles=_quantiles(errors, model, LEVELS))
    # What stands in for the growth of the halves is what suits all errors, their growth forgotten.
    blind = replace(errors, growth=np.full_like(errors.growth, np.nan))
    found: Any = minimize_scalar(
        lambda rate: loss(blind, replace(model, blind_growth=float(rate))),
        bounds=(0.0, MOST_BLIND),
        method="bounded",
    )
    model = _fit_constants(errors, replace(model, blind_growth=float(found.x)))
    return replace(model, levels=LEVELS, quantiles=_quantiles(errors, model, LEVELS))


def _fit_constants(errors: Errors, start: ErrorModel) -> ErrorModel:
    """Fit all that is free, each in units of its own so that steps of one size suit all."""
    names = free(errors)
    unit = np.array([0.1 if name == "scale" else 1.0 for name in names])

    def made(values: Floats) -> ErrorModel:
        held: dict[str, Any] = dict(zip(names, (values * unit).tolist(), strict=True))
        return replace(start, **held)

    def distance(values: Floats) -> float:
        return loss(errors, made(values))

    limits = [tuple(end / u for end in BOUNDS[name]) for name, u in zip(names, unit, strict=True)]
    first: Any = np.array([np.clip(getattr(start, name), *BOUNDS[name]) for name in names]) / unit
    # Twice, as the first search may end early where a constant comes near its limit.
    for _ in range(2):
        found: Any = minimize(distance, first, method="L-BFGS-B", bounds=limits)
        first = found.x
    return made(first)


def _scaled(errors: Errors, model: ErrorModel) -> Floats:
    """Absolute values of z; zero where an interval is open to that side."""
    z = (errors.plain - model.share * errors.bias) / np.sqrt(_variance(errors, model))
    return np.where(errors.plain == 0, 0.0, np.abs(z))


def _quantiles(errors: Errors, model: ErrorModel, levels: Sequence[float]) -> tuple[float, ...]:
    found = np.quantile(_scaled(errors, model), levels)
    found[0] = 0.0
    return tuple(float(value) for value in found)


def _by_ratio(errors: Errors, model: ErrorModel, ratios: Sequence[float]) -> dict[str, float]:
    found = np.quantile(_scaled(errors, model), CONFIDENCE, axis=0)
    return {f"{ratio:g}": round(float(q), 3) for ratio, q in zip(ratios, found, strict=True)}


def standard_errors(
    errors: Errors, model: ErrorModel, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, float]:
    """Return the spread of each constant over fits to resampled problems."""
    rng = np.random.default_rng([seed, len(errors.error)])
    n, found = len(errors.error), []
    for _ in range(whole_number(resamples, "resamples", 2)):
        again = fit(errors.rows(rng.integers(n, size=n)), model)
        held = {name: getattr(again, name) for name in named(errors.are_stated)}
        found.append(held | {"quantile_90": again.multiplier(CONFIDENCE)})
    return {
        name: round(float(np.std([one[name] for one in found], ddof=1)), 4) for name in found[0]
    }


def named(are_stated: bool) -> tuple[str, ...]:
    """Return the constants that a calibration sets, besides the quantiles."""
    return STATED if are_stated else ("growth", "blind_growth", *PLAIN[1:])


def as_code(model: ErrorModel, apart: dict[str, float], are_stated: bool = False) -> str:
    """Return the model as it is pasted into `headcount.uncertainty`, with standard errors."""
    lines = ["STATED_MODEL = replace(", "    MODEL,"] if are_stated else ["MODEL = ErrorModel("]
    for name in named(are_stated):
        lines.append(f"    {name}={getattr(model, name):.3g},  # +- {apart[name]:.2g}")
    quantiles = ", ".join(f"{value:.3g}" for value in model.quantiles)
    lines += [
        f"    levels={model.levels},",
        f"    quantiles=({quantiles}),  # +- {apart['quantile_90']:.2g} at {CONFIDENCE:g}",
        ")",
    ]
    return "\n".join(lines)


# -- the test --------------------------------------------------------------------------------------


def _rows(
    learned: Sequence[Record], tested: Sequence[Record], ratios: Sequence[float], model: ErrorModel
) -> list[dict[str, Any]]:
    """Judge all intervals, also of pilots with every probe right, which were not learned from."""
    found = [
        one
        for group, records in (("training", learned), ("held out", tested))
        for record in records
        if "accuracy" in record
        for one in judge(record, model, ratios, family=group, setting=record["family"])
    ]
    # Pilots have many sizes, which are no settings of their own.
    return cells([replace(one, pilot_classes=0) for one in found])


draw_coverage, pooled = shared.draw, shared.pooled
