"""Hide classes, forecast their risk, and compare with what was measured."""

from __future__ import annotations

from contextvars import Context
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.errors import HeadcountError, silence
from headcount.pilot.pilot import Pilot
from headcount.questions.risk.answers import RiskForecast
from headcount.questions.risk.costs import Cost, SubsetCost, as_cost
from headcount.questions.risk.forecasting import forecast_risk
from headcount.questions.risk.observed import observe_risk
from headcount.questions.risk.priors import as_priors
from headcount.support import validation
from headcount.support.output import as_csv, as_frame, as_html
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import OURS, Nouns, counted, percent, times
from headcount.support.workers import doing, reporter
from headcount.uncertainty.backtest import (
    BacktestStep,
    check_tolerance,
    decisive,
    describe_reach,
    plan_sizes,
    step_columns,
)
from headcount.uncertainty.reach import last_good, reach, reach_limits
from headcount.uncertainty.resampling import IndependentRivals, Sampler, SharedRivals

TOLERANCE, REPEATS = 0.2, 10
TASK = "Forecasting from some of the classes"


@dataclass(frozen=True)
class RiskBacktest:
    """How well the risk that was measured would have been forecast from fewer of the classes.

    Made by `backtest_risk`.

    Attributes
    ----------
    n_classes : int
        Classes of the pilot, K.
    method : str
        Approach and basis.
    observed : float
        Risk measured among all K classes.
    steps : tuple of BacktestStep
        One for each number of classes tried, the largest (K / 2) first, in the unit of the costs.
    tolerance : float
        Error up to which a forecast counts as good, as a share of what was measured.
    confidence : float
        Level of the intervals whose coverage the steps have.
    notes : tuple of str
        What was left out, and why.
    nouns : Nouns
        What classes and probes are called in words.
    """

    n_classes: int
    method: str
    observed: float
    steps: tuple[BacktestStep, ...]
    tolerance: float = TOLERANCE
    confidence: float = 0.9
    notes: tuple[str, ...] = ()
    nouns: Nouns = OURS

    @property
    def supported(self) -> float:
        """How many times the pilot's classes a forecast may reach: errors are within tolerance."""
        return reach(self.steps, self.tolerance * self.observed)

    @property
    def likely(self) -> float:
        """Last ratio tried up to which errors are, more likely than not, within the tolerance."""
        return last_good(self.steps, self.tolerance * self.observed)

    @property
    def supported_limits(self) -> tuple[float, float]:
        """The same at least and at most, as far as other draws would change it."""
        return reach_limits(self.steps, self.tolerance * self.observed)

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON."""
        return {
            "schema": SCHEMA,
            "metric": "average cost",
            "n_classes": self.n_classes,
            "method": self.method,
            "observed": self.observed,
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "supported": self.supported,
            "supported_limits": list(self.supported_limits),
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
        }

    def to_json(self) -> str:
        """Return the outcome as JSON; never NaN or Infinity."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return the steps as a pandas DataFrame, a row each."""
        return as_frame(step_columns(self.steps, self.observed))

    def to_csv(self) -> str:
        """Return the steps as CSV text."""
        return as_csv(step_columns(self.steps, self.observed))

    def cells(self) -> list[list[str]]:
        """Return the steps as a table shows them; errors as shares of what was measured."""
        return [
            [
                f"{step.n_classes:,}",
                times(step.ratio),
                f"{float(np.mean(step.forecasts)):.3g}",
                self._share(step.error),
                self._share(step.bias, sign="+"),
                "-" if step.coverage is None else percent(step.coverage),
            ]
            for step in self.steps
        ]

    def sentences(self) -> list[str]:
        """Return the outcome in words: how far off it was, and what that supports."""
        verdict = [self._verdict()] if self.steps else []
        return [self.nouns.rename(sentence) for sentence in (*self.notes, *verdict)]

    def __repr__(self) -> str:
        title = f"Back-test of {self.method} on {counted(self.n_classes, 'class')}"
        lines = [
            f"From {step.n_classes:,} classes: {float(np.mean(step.forecasts)):.3g} forecast, "
            f"{self.observed:.3g} measured, {self._share(step.error)} off on average"
            for step in self.steps
        ]
        return "\n  ".join([*map(self.nouns.rename, [title, *lines]), *self.sentences()])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def _share(self, error: float, sign: str = "") -> str:
        if self.observed <= 0:
            return "-"
        return f"{100 * error / self.observed:{sign}.0f}%"

    def _verdict(self) -> str:
        step = decisive(self)
        size = f"{step.n_classes:,} of your {self.n_classes:,} classes it was"
        off = f"{size} {self._share(step.error)} off on average"
        if step.error <= self.tolerance * self.observed:
            return f"From {off}: {describe_reach(self)}."
        allowed = f"more than the {percent(self.tolerance)} allowed"
        return f"Already from {off}, {allowed}: {describe_reach(self)}."


def backtest_risk(
    pilot: Pilot,
    cost: Any,
    *,
    repeats: int = REPEATS,
    tolerance: float = TOLERANCE,
    priors: Any = None,
    intervals: bool = False,
    confidence: float = 0.9,
    random_state: int = 0,
    **options: Any,
) -> RiskBacktest:
    """Hide classes, forecast the risk that was measured among all, and see how far off that is.

    The risk among all K classes is forecast from random subsets of K/2, K/5, K/10 ... of them,
    down to ten classes (with probes).

    Parameters
    ----------
    pilot : Pilot
        What was measured, with scores; counts are enough for 0-1 cost.
    cost : Cost, or anything that `as_cost` takes
        Cost of each mistake.
    repeats : int
        Random subsets of each size.
    tolerance : float
        Error (root mean square) up to which a forecast counts as good, as a share of what was
        measured: 0.2 for a fifth.
    priors : mapping or sequence, optional
        How often each class is the true one; those of a subset are in proportion.
    intervals : bool
        Whether to count how often the interval of a subset held what was measured; slower.
    confidence : float
        Level of those intervals.
    random_state : int
        Seed of the draws.
    **options
        Of the forecasts, as for `forecast_risk`: approach, basis, shape, method and so on.

    Returns
    -------
    RiskBacktest
        Without steps, and with a note, where there are too few classes to hide any.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.simulate import isotropic_gaussian
    >>> from headcount.questions.risk import backtest_risk
    >>> pilot = isotropic_gaussian(60, sigma=0.6, probes_per_class=5, random_state=0).pilot
    >>> kind = np.arange(60) % 3
    >>> cost = np.where(kind[:, None] == kind, 1.0, 2.0) - np.eye(60)
    >>> result = backtest_risk(pilot, cost, repeats=3, bandwidth=0.5)
    >>> [step.n_classes for step in result.steps]
    [30, 12]
    """
    priced, limit = as_cost(cost, pilot), check_tolerance(tolerance)
    level = validation.confidence_level(confidence)
    seed = validation.whole_number(random_state, "random_state", 0)
    often = validation.whole_number(repeats, "repeats", 1)
    options |= {"confidence": level, "intervals": intervals, "random_state": seed}
    # A pilot of this size must be possible at all, and says what the method is called.
    whole = _forecast(pilot, priced, pilot.n_classes, priors, options | {"intervals": False})
    observed = float(observe_risk(pilot, priced, priors=priors).risk(pilot.n_classes))
    sampler: Sampler = (
        SharedRivals(pilot, with_scores=True) if pilot.has_scores else IndependentRivals(pilot)
    )
    plan = plan_sizes(pilot.n_classes, sampler.n_sources, often)
    steps, notes = [], []
    with doing(TASK):
        for size, _ in plan:
            step = _step(sampler, pilot, priced, priors, size, often, seed, options, observed)
            if isinstance(step, BacktestStep):
                steps.append(step)
            else:
                notes.append(f"{size:,} classes are left out: {step}")
    if not plan:
        few = min(pilot.n_classes, sampler.n_sources)
        notes.append(
            f"No back-test: the pilot has {counted(few, 'class')} with probes, too few to hide any."
        )
    return RiskBacktest(
        n_classes=pilot.n_classes,
        method=whole.method,
        observed=observed,
        steps=tuple(steps),
        tolerance=limit,
        confidence=level,
        notes=tuple(notes),
        nouns=pilot.nouns,
    )


def _step(
    sampler: Sampler,
    pilot: Pilot,
    cost: Cost,
    priors: Any,
    size: int,
    repeats: int,
    seed: int,
    options: dict[str, Any],
    observed: float,
) -> BacktestStep | str:
    """Forecast from several subsets of one size; return why not where one of them cannot be."""
    refusal = sampler.refusal(size)
    if refusal is not None:
        return refusal
    place = {name: i for i, name in enumerate(pilot.class_names.tolist())}
    given = None if priors is None else as_priors(priors, pilot)
    forecasts, inside, report = [], [], reporter()
    for repeat in range(repeats):
        report(f"{TASK}: {size:,}", repeat, repeats)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(size, repeat)))
        drawn = sampler.draw(size, rng)
        chosen = np.array([place[name] for name in drawn.class_names.tolist()], np.intp)
        part: Any = "zero-one" if cost.is_zero_one else SubsetCost(cost, chosen, drawn.class_names)
        try:
            of_part = None if given is None else given[chosen]
            result = _forecast(drawn, part, pilot.n_classes, of_part, options)
        except HeadcountError as error:
            return str(error)
        forecasts.append(float(result.risk(pilot.n_classes)))
        if result.curve.has_limits:
            lower, upper = result.interval(pilot.n_classes)
            inside.append(bool(lower <= observed <= upper))
    report(f"{TASK}: {size:,}", repeats, repeats)
    coverage = float(np.mean(inside)) if inside else None
    return BacktestStep(size, pilot.n_classes / size, tuple(forecasts), observed, coverage)


def _forecast(
    pilot: Pilot, cost: Any, k: int, priors: Any, options: dict[str, Any]
) -> RiskForecast:
    """Forecast from part of the classes; its warnings are not about the whole pilot."""

    def work() -> RiskForecast:
        with silence():
            return forecast_risk(pilot, cost, k, priors=priors, **options)

    return Context().run(work)
