"""Hide classes, forecast them, and compare with what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextvars import Context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.curves.mixed import MixedObserved
from headcount.curves.observed import Observed, observe
from headcount.errors import DataError, ParameterError, silence
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.registry import describe_method, name_of
from headcount.estimators.suited import suited
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.pilot.loading import as_pilot
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import asked_classes, round_numbers, times_as_many
from headcount.support.output import as_csv, as_frame
from headcount.support.serialise import SCHEMA, Record, reading
from headcount.support.words import (
    OURS,
    Nouns,
    about,
    counted,
    in_points,
    percent,
    points,
    reads_as_one,
    speaking,
    times,
)
from headcount.support.workers import doing
from headcount.uncertainty.intervals import Uncertainty, plausible_moves
from headcount.uncertainty.measured import sampling_error
from headcount.uncertainty.reach import error_spread, last_good, reach, reach_limits
from headcount.uncertainty.refitted import RefitErrors
from headcount.uncertainty.resampling import (
    Refit,
    Refits,
    Subsamples,
    curve_grid,
    refits,
    sampler_for,
)

if TYPE_CHECKING:
    from headcount.display.plots import BacktestDisplay


Floats = NDArray[np.float64]

NOUN = "back-test"


def check_tolerance(value: Any) -> float:
    """Return a tolerance, refused unless it lies between 0 and 1."""
    try:
        tolerance = float(value)
    except (TypeError, ValueError):
        tolerance = math.nan
    if not 0 < tolerance < 1:
        raise ParameterError(
            f"tolerance must lie between 0 and 1, such as 0.05 for 5 points, but is {value!r}."
        )
    return tolerance


def read_backtest(record: Record) -> Backtest:
    """Return the back-test that `Backtest.to_dict` wrote; refuse what it cannot have written."""
    record.check_schema()
    n_classes, observed = record.whole("n_classes"), record.share("observed")
    grid = record.wholes("grid")
    rows = [Record({"halves": row}, NOUN).shares("halves") for row in record.items("halves")]
    if any(row.shape != grid.shape for row in rows):
        raise DataError("the grid and the halves of this back-test do not fit together.")
    halves = np.array(rows).reshape(len(rows), len(grid))
    for array in (grid, halves):
        array.flags.writeable = False
    return Backtest(
        n_classes=n_classes,
        method=record.text("method"),
        observed=observed,
        steps=tuple(_read_step(step, n_classes, observed) for step in record.records("steps")),
        grid=grid,
        halves=halves,
        tolerance=check_tolerance(record["tolerance"]),
        confidence=validation.confidence_level(record["confidence"]),
        shared_rivals=record.flag("shared_rivals"),
        notes=record.texts("notes"),
        nouns=Nouns.from_dict(record["nouns"]),
        metric=resolve_share(record.text("metric")),
    )


def _read_step(record: Record, n_classes: int, observed: float) -> BacktestStep:
    size = record.whole("classes")
    return BacktestStep(
        n_classes=size,
        ratio=n_classes / size,
        forecasts=tuple(record.shares("forecasts").tolist()),
        observed=observed,
        coverage=record.optional("coverage", record.share),
    )


TOLERANCE, CONFIDENCE = 0.05, 0.9


@dataclass(frozen=True)
class BacktestStep:
    """Forecasts of the whole pilot from random subsets of its classes, all of one size.

    Attributes
    ----------
    n_classes : int
        How many classes each forecast was made from.
    ratio : float
        How many times as many classes it had to forecast.
    forecasts : tuple of float
        The metric among all classes as forecast by each repeat.
    observed : float
        What was measured there.
    coverage : float or None
        Share of repeats whose own interval, at the back-test's level, holds the observed value.
    """

    n_classes: int
    ratio: float
    forecasts: tuple[float, ...]
    observed: float
    coverage: float | None = None

    @property
    def error(self) -> float:
        """Root mean square of forecast minus observed; squared, it is bias² plus spread²."""
        return float(np.sqrt(np.mean(np.square(self._errors))))

    @property
    def error_spread(self) -> float:
        """Standard error of the logarithm of `error`, as the repeats are few."""
        return error_spread(self._errors)

    @property
    def bias(self) -> float:
        """Mean of forecast minus observed: above zero where forecasts are too high."""
        return float(np.mean(self._errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the forecasts."""
        return float(np.std(self.forecasts))

    @property
    def _errors(self) -> Floats:
        return np.subtract(self.forecasts, self.observed, dtype=np.float64)


def step_columns(steps: tuple[BacktestStep, ...], observed: float) -> dict[str, NDArray[Any]]:
    """Return the steps of a back-test as columns, a row each."""
    names = (
        "classes", "ratio", "repeats", "forecast", "observed", "error", "bias", "spread",
        "coverage",
    )  # fmt: skip
    rows = [
        (
            step.n_classes, step.ratio, len(step.forecasts), float(np.mean(step.forecasts)),
            observed, step.error, step.bias, step.spread, step.coverage,
        )
        for step in steps
    ]  # fmt: skip
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


@dataclass(frozen=True)
class Backtest:
    """How well a method forecast what was measured on the pilot from fewer of its classes.

    Made by `backtest`. An error here is not quite what an independent experiment would show. The
    value that was measured has noise of its own, and the subsets belong to the pilot, so they share
    some of that noise. Forecasts from few classes also have more noise than the forecast from the
    whole pilot.

    Attributes
    ----------
    n_classes : int
        Classes of the pilot, K.
    method : str
        Alias of the method.
    observed : float
        What was measured among all K classes.
    steps : tuple of BacktestStep
        One for each number of classes tried, the largest (K / 2) first.
    grid : ndarray of int64
        Numbers of classes, evenly on a log scale from 2 to at least 50 K.
    halves : ndarray of shape (repeats, points of the grid)
        What was forecast on the grid from each random half of the classes. Their variance (times
        m / (K - m), m being their size) estimates that of the forecast from the whole pilot: the
        delete-half jackknife, right for k far below K; from K on it was 1.3 to 2 times too large
        in simulations.
    tolerance : float
        Error up to which a forecast counts as good.
    shared_rivals : bool
        False where only counts are known. Then classes were hidden from each probe on its own, and
        the spread leaves out what probes share by meeting the same rivals.
    notes : tuple of str
        What was left out, and why.
    confidence : float
        Level of the intervals whose coverage the steps have.
    nouns : Nouns
        What classes and probes are called in words and pictures.
    metric : Metric
        What was forecast.
    """

    n_classes: int
    method: str
    observed: float
    steps: tuple[BacktestStep, ...]
    grid: NDArray[np.int64]
    halves: Floats
    tolerance: float = TOLERANCE
    shared_rivals: bool = True
    notes: tuple[str, ...] = ()
    confidence: float = CONFIDENCE
    nouns: Nouns = OURS
    metric: Metric = ACCURACY

    @property
    def supported(self) -> float:
        """How many times the pilot's classes a forecast may reach: `within` the tolerance."""
        return self.within(self.tolerance)

    @property
    def likely(self) -> float:
        """Last ratio tried up to which errors are, more likely than not, within the tolerance."""
        return last_good(self.steps, self.tolerance)

    @property
    def supported_limits(self) -> tuple[float, float]:
        """Ratios tried up to which forecasts are surely within the tolerance, and may be.

        With a chance of 90% the reach lies between them, as far as other draws would change it.
        """
        return reach_limits(self.steps, self.tolerance)

    def within(self, tolerance: float) -> float:
        """Return the ratio up to which errors are within a tolerance, there and before it.

        How far that holds on average, on a log scale, as errors are known only as far as the draws
        tell; at most the largest ratio tried (`headcount.uncertainty.reach`). Next to 1 nothing
        past the pilot itself is supported.
        """
        return reach(self.steps, check_tolerance(tolerance))

    @property
    def about(self) -> str:
        """What its method does and when to use it."""
        return describe_method(self.method)

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, enough for `from_dict`."""
        return {
            "schema": SCHEMA,
            "metric": self.metric.name,
            "n_classes": self.n_classes,
            "method": self.method,
            "observed": self.observed,
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "supported": self.supported,
            "supported_limits": list(self.supported_limits),
            "shared_rivals": self.shared_rivals,
            "steps": [
                {
                    "classes": step.n_classes,
                    "ratio": step.ratio,
                    "error": step.error,
                    "error_spread": step.error_spread,
                    "bias": step.bias,
                    "spread": step.spread,
                    "coverage": step.coverage,
                    "forecasts": list(step.forecasts),
                }
                for step in self.steps
            ],
            "notes": list(self.notes),
            "grid": self.grid.tolist(),
            "halves": self.halves.tolist(),
            "nouns": self.nouns.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Backtest:
        """Return the back-test that `to_dict` wrote, refused if it is not one."""
        with reading(NOUN):
            return read_backtest(Record(fields, NOUN))

    def to_frame(self) -> Any:
        """Return the steps as a pandas DataFrame, a row each."""
        return as_frame(step_columns(self.steps, self.observed))

    def to_csv(self) -> str:
        """Return the steps as CSV text."""
        return as_csv(step_columns(self.steps, self.observed))

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> BacktestDisplay:
        """Draw what would have been forecast, and what was measured; needs the extra `plot`."""
        from headcount.display.plots import BacktestDisplay

        return BacktestDisplay.from_backtest(self).plot(ax, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the outcome in words: how far off it was, and what that supports."""
        verdict = [self._verdict()] if self.steps else []
        return [self.nouns.rename(sentence) for sentence in (*self.notes, *verdict)]

    def __repr__(self) -> str:
        title = f"Backtest of {self.method} on {counted(self.n_classes, 'class')}"
        lines = [
            f"From {step.n_classes:,} classes: {percent(float(np.mean(step.forecasts)))} forecast, "
            f"{percent(self.observed)} measured, {points(step.error)} off on average"
            for step in self.steps
        ]
        return "\n  ".join([*map(self.nouns.rename, [title, *lines]), *self.sentences()])

    def _repr_html_(self) -> str:
        from headcount.display.notebook import backtest_html

        return backtest_html(self)

    def _verdict(self) -> str:
        step = decisive(self)
        size = f"{step.n_classes:,} of your {self.n_classes:,} classes it was {points(step.error)}"
        if step.error <= self.tolerance:
            return f"From {size} off on average: {describe_reach(self)}."
        allowed = f"more than the {points(self.tolerance)} allowed"
        return f"Already from {size} off on average, {allowed}: {describe_reach(self)}."


class AnyBacktest(Protocol):
    """A back-test, of a metric or of a risk."""

    @property
    def n_classes(self) -> int:
        """Classes of the pilot."""

    @property
    def steps(self) -> tuple[BacktestStep, ...]:
        """One for each number of classes tried, the largest first."""

    @property
    def supported(self) -> float:
        """How many times the pilot's classes a forecast may reach."""

    @property
    def likely(self) -> float:
        """Last ratio tried up to which errors are, more likely than not, within the tolerance."""

    @property
    def supported_limits(self) -> tuple[float, float]:
        """How far it may reach at least, and at most."""


def decisive(tested: AnyBacktest) -> BacktestStep:
    """Return the step that says how far forecasts reach: the last that is good, or the first."""
    good = [step for step in tested.steps if step.ratio <= tested.likely]
    return good[-1] if good else tested.steps[0]


def describe_reach(tested: AnyBacktest) -> str:
    """Say how far forecasts are supported, and how far by other draws."""
    if reads_as_one(tested.supported):
        return "no forecast beyond the pilot is supported"
    classes = f"{about(times_as_many(tested.supported, tested.n_classes))} classes"
    lower, upper = map(times, tested.supported_limits)
    span = "" if lower == upper else f"; {lower} to {upper} times by other draws"
    return (
        f"forecasts up to {times(tested.supported)} times the pilot are supported ({classes}{span})"
    )


def supported_cell(backtest: Backtest) -> str:
    """Return up to how many classes forecasts are supported, as a table shows it."""
    if reads_as_one(backtest.supported):
        return "none"
    return about(times_as_many(backtest.supported, backtest.n_classes))


def cells(step: BacktestStep) -> list[str]:
    """Return a step as a table shows it.

    From how many classes, times as many were forecast, mean forecast, mean error and bias in
    points, and how many intervals held what was measured.
    """
    return [
        f"{step.n_classes:,}",
        times(step.ratio),
        percent(sum(step.forecasts) / len(step.forecasts)),
        in_points(step.error),
        in_points(step.bias, beside=step.error, sign="+"),
        "-" if step.coverage is None else percent(step.coverage),
    ]


def best_first(backtests: Iterable[Backtest]) -> list[Backtest]:
    """Put first the method that reaches farthest, then that which is off least on the way."""

    def badness(result: Backtest) -> tuple[float, float, str]:
        total = sum(step.error for step in result.steps) / max(1, len(result.steps))
        return -result.supported, total, result.method

    return sorted(backtests, key=badness)


HALVES, REPEATS = 20, 10
LEAST, LEAST_HALF = 10, 5
MOST_FAILED = 0.5


def backtest(
    data: Any,
    labels: Any = None,
    *,
    method: str | Extrapolator = "auto",
    metric: str | Metric = ACCURACY,
    repeats: int | None = None,
    tolerance: float = TOLERANCE,
    classes: Any = None,
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Backtest:
    """Hide classes of your own data, forecast them, and see how far off the forecasts are.

    What was measured among all K classes is forecast from random subsets of K/2, K/5, K/10,
    K/20 ... of them, down to ten classes (with probes). If a method can forecast 500 classes from
    50, it has a claim to forecast 5,000 from 500.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row for each probe and one column for each class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    method : str or Extrapolator
        A name that `headcount methods` lists, with options if you like (``"kde:bandwidth=bcv"``),
        or an estimator.
    metric : str or Metric
        What is forecast: "accuracy", or "top-5" and the like.
    repeats : int, optional
        Random subsets of each size; by default 10, and 20 halves where the method gives no laws
        as plausible as its own.
    tolerance : float
        Error (root mean square) up to which a forecast counts as good; 0.05 is 5 points.
    classes : int or sequence of int, optional
        Numbers of classes that the curves of the halves must reach.
    confidence : float
        Level of the intervals whose coverage is shown.
    random_state : int
        Seed of the draws, and of methods that draw random numbers.
    n_jobs : int, optional
        Workers, as in joblib; by default what `joblib.parallel_config` says, else one.

    Returns
    -------
    Backtest
        Without steps, and with a note, where there are too few classes to hide any.

    Examples
    --------
    >>> from headcount import simulate
    >>> pilot = simulate.isotropic_gaussian(200, sigma=0.5, random_state=1).pilot
    >>> result = backtest(pilot, repeats=5)
    >>> [step.n_classes for step in result.steps]
    [100, 40, 20, 10]
    >>> round(result.steps[0].error, 2), result.supported
    (0.01, 6.1)
    """
    pilot = as_pilot(data, labels)
    with speaking(pilot.nouns):
        measure = resolve_share(metric)
        estimator = suited(resolve(method, random_state), pilot)
        limit = check_tolerance(tolerance)
        level = validation.confidence_level(confidence)
        asked = () if classes is None else asked_classes(classes)
        result, subsamples = hide_classes(
            pilot,
            estimator,
            asked,
            name=name_of(method),
            metric=measure,
            fitted=False,
            repeats=repeats,
            tolerance=limit,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return with_coverage(pilot, result, subsamples, level)


def hide_classes(
    pilot: Pilot,
    estimator: Extrapolator,
    asked: tuple[int, ...] = (),
    *,
    name: str,
    metric: Metric,
    fitted: bool,
    repeats: int | None = None,
    tolerance: float = TOLERANCE,
    random_state: int,
    n_jobs: int | None = None,
) -> tuple[Backtest, Subsamples]:
    """Return a back-test without its coverage, and the refits it rests on.

    Answers call the method by its `name`. One that is not `fitted` to the whole pilot yet is first
    tried on it: what cannot be done at all is refused there, in the method's own words.
    """
    sampler = sampler_for(pilot, estimator)
    plan = plan_sizes(pilot.n_classes, sampler.n_sources, repeats, halves_for(estimator))
    if plan and not fitted:
        with doing("Trying the method on the whole pilot"):
            Context().run(_try, resolve(estimator), pilot)
    subsamples = refits(
        pilot,
        resolve(estimator),
        plan,
        curve_grid(pilot.n_classes, asked),
        metric=metric,
        random_state=random_state,
        n_jobs=n_jobs,
        sampler=sampler,
        plausible_at=pilot.n_classes,
    )
    return compare_refits(pilot, name, metric, subsamples, tolerance), subsamples


def plan_sizes(
    n_classes: int,
    n_sources: int | None = None,
    repeats: int | None = None,
    halves: int = HALVES,
) -> list[tuple[int, int]]:
    """Return the sizes of subsets to try and how often: K/2, K/5, K/10 ... down to ten classes.

    Where not all classes have probes, `n_sources` do, and ten of those must be left. Of halves
    there are more: what a forecast owes to chance is read off how they differ.

    Examples
    --------
    >>> plan_sizes(500)
    [(250, 20), (100, 10), (50, 10), (25, 10), (10, 10)]
    >>> plan_sizes(12), plan_sizes(9)
    ([(6, 20)], [])
    """
    often = None if repeats is None else validation.whole_number(repeats, "repeats", 1)
    n_sources = n_classes if n_sources is None else n_sources
    plan = []
    for divisor in round_numbers(n_classes)[1:]:
        size, usual = n_classes // divisor, halves if divisor == 2 else REPEATS
        if min(size, n_sources // divisor) < (LEAST_HALF if divisor == 2 else LEAST):
            break
        plan.append((size, usual if often is None else often))
    return plan


def halves_for(estimator: Extrapolator) -> int:
    """Return how many random halves a method needs, where it is not said."""
    return REPEATS if estimator.gives_laws else HALVES


def _try(estimator: Extrapolator, pilot: Pilot) -> None:
    with silence():
        estimator.fit(pilot)


def compare_refits(
    pilot: Pilot,
    method: str,
    metric: Metric,
    subsamples: Subsamples,
    tolerance: float = TOLERANCE,
    curve: Observed | MixedObserved | None = None,
) -> Backtest:
    """Compare what refits say about all classes with what was measured: `curve`, if not plain."""
    curve = observe(pilot) if curve is None else curve
    n_classes, grid = curve.n_classes, subsamples.grid
    observed = float(curve.value(n_classes, metric))
    last = int(np.searchsorted(grid, n_classes))
    good = [size for size in subsamples.sizes if not _is_left_out(size)]
    steps = tuple(
        BacktestStep(
            size.n_classes,
            n_classes / size.n_classes,
            tuple(size.curves[:, last].tolist()),
            observed,
        )
        for size in good
    )
    halves = np.empty((0, len(grid)))
    if good and good[0].n_classes == n_classes // 2:
        halves = good[0].curves
    grid.flags.writeable = halves.flags.writeable = False
    return Backtest(
        n_classes=n_classes,
        method=method,
        observed=observed,
        steps=steps,
        grid=grid,
        halves=halves,
        tolerance=tolerance,
        shared_rivals=subsamples.shared_rivals,
        notes=_notes(pilot, subsamples),
        nouns=pilot.nouns,
        metric=metric,
    )


def _is_left_out(size: Refits) -> bool:
    return len(size.curves) == 0 or size.n_failed > MOST_FAILED * _n_tried(size)


def _n_tried(size: Refits) -> int:
    return size.n_failed + len(size.curves)


def _notes(pilot: Pilot, subsamples: Subsamples) -> tuple[str, ...]:
    notes = []
    if pilot.whole_groups and subsamples.sizes:
        groups = counted(pilot.merged.n_groups, "group")
        notes.append(f"Whole groups were hidden: the pilot has {groups} of classes.")
    if not subsamples.sizes:
        few = min(pilot.n_classes, sampler_for(pilot).n_sources)
        return (
            f"No back-test: the pilot has {counted(few, 'class')} with probes, and at least "
            f"{2 * LEAST_HALF} are needed to hide half of them.",
        )
    for size in subsamples.sizes:
        if size.n_failed:
            outcome = ", so that size is left out" if _is_left_out(size) else ""
            notes.append(
                f"From {size.n_classes:,} classes {size.n_failed:,} of {_n_tried(size):,} fits "
                f"failed{outcome}: {size.reason}"
            )
        elif size.reason is not None:
            notes.append(f"Not tried from {size.n_classes:,} classes: {size.reason}")
    return tuple(notes)


@doing("Leaving out each class in turn")
def with_coverage(
    pilot: Pilot,
    backtest: Backtest,
    subsamples: Subsamples,
    confidence: float,
    sampling: float | None = None,
) -> Backtest:
    """Return a back-test that also says how many of its forecasts had the truth in reach.

    The interval of each forecast of K from m classes is the one that `Uncertainty` gives a pilot
    of m classes. No subset is jackknifed or back-tested itself: its sampling error is the pilot's
    times sqrt(K / m), grows as it does without halves, and no bias is known. For a method that
    gives plausible laws none of this matters, as K is past 2 m or there.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    backtest : Backtest
        What its refits said about K.
    subsamples : Subsamples
        The refits.
    confidence : float
        Level of the intervals.
    sampling : float, optional
        Standard error of the log odds measured at K; by default it is computed where it is needed.
    """
    refits_of = {size.n_classes: size.fits for size in subsamples.sizes}
    if sampling is None:
        has_laws = all(
            refit.plausible is not None
            for step in backtest.steps
            for refit in refits_of[step.n_classes]
        )
        sampling = 0.0 if has_laws else sampling_error(pilot, backtest.metric)
    half = 0.5 / pilot.n_probes
    measured = float(np.clip(backtest.observed, half, 1 - half))
    steps = []
    for step in backtest.steps:
        inside = []
        for refit in refits_of[step.n_classes]:
            value = np.interp([backtest.n_classes], backtest.grid, refit.curve)
            uncertainty = _of_subset(backtest, step, refit, value, sampling)
            lower, upper = uncertainty.band(value, [backtest.n_classes], confidence)
            inside.append(bool(lower[0] <= measured <= upper[0]))
        steps.append(replace(step, coverage=float(np.mean(inside))))
    return replace(backtest, steps=tuple(steps), confidence=confidence)


def _of_subset(
    backtest: Backtest, step: BacktestStep, refit: Refit, value: Floats, sampling: float
) -> Uncertainty:
    """Return the errors of a forecast of K from some of the classes; see `with_coverage`."""
    error = sampling * np.sqrt(step.ratio)
    errors = RefitErrors(np.log([step.ratio]), error, None, np.zeros(1))
    moves, freedom = plausible_moves(value, refit.plausible, errors, 0.5 / refit.n_probes)
    return Uncertainty(
        n_classes=step.n_classes,
        n_probes=refit.n_probes,
        inside=np.array([step.n_classes]),
        observed_error=np.array([error]),
        grid=np.array([backtest.n_classes]),
        moves=moves,
        sampled=np.ones(1),
        # Of other sets of classes nothing is asked.
        class_variance=0.0,
        probe_variance=0.0,
        probes_per_class=1.0,
        observed=step.observed,
        freedom=freedom,
        told_apart=False,
        metric=backtest.metric,
    )
