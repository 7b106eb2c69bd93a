"""Hide classes, forecast them, and compare with what was measured."""

from __future__ import annotations

from contextvars import Context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.asking import asked_classes
from headcount.assessing import with_coverage
from headcount.backtest_exchange import check_tolerance
from headcount.backtest_result import TOLERANCE, Backtest, BacktestStep
from headcount.errors import silence
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.registry import name_of
from headcount.loading import as_pilot
from headcount.observed import observe
from headcount.pilot import Pilot
from headcount.subsampling import Refits, Subsamples, curve_grid, refits, sampler_for
from headcount.threads import doing
from headcount.wording import counted, speaking

Floats = NDArray[np.float64]

HALVES, REPEATS = 20, 10
LEAST, LEAST_HALF = 10, 5
MOST_FAILED = 0.5


def backtest(
    data: Any,
    labels: Any = None,
    *,
    method: str | Extrapolator = "auto",
    repeats: int | None = None,
    tolerance: float = TOLERANCE,
    classes: Any = None,
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Backtest:
    """Hide classes of your own data, forecast them, and see how far off the forecasts are.

    The accuracy among all K classes is forecast from random subsets of K/2, K/5, K/10, K/20 ...
    of them, down to ten classes (with probes). If a method can forecast 500 classes from 50, it
    has a claim to forecast 5,000 from 500.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row a probe and one column a class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    method : str or Extrapolator
        A name of `headcount methods`, if need be with options (``"kde:bandwidth=bcv"``), or an
        estimator.
    repeats : int, optional
        Random subsets of each size; by default 20 halves and 10 of every other size.
    tolerance : float
        Error (root mean square, in accuracy) up to which a forecast counts as good.
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
    >>> found = backtest(pilot, repeats=5)
    >>> [step.n_classes for step in found.steps]
    [100, 40, 20, 10]
    >>> round(found.steps[0].error, 2), found.supported
    (0.01, 5.0)
    """
    pilot = as_pilot(data, labels)
    with speaking(pilot.nouns):
        estimator = resolve(method, random_state)
        limit = check_tolerance(tolerance)
        level = arrays.confidence_level(confidence)
        asked = () if classes is None else asked_classes(classes)
        tested, drawn = hide_classes(
            pilot,
            estimator,
            asked,
            name=name_of(method),
            fitted=False,
            repeats=repeats,
            tolerance=limit,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return with_coverage(pilot, tested, drawn, level)


def hide_classes(
    pilot: Pilot,
    estimator: Extrapolator,
    asked: tuple[int, ...] = (),
    *,
    name: str,
    fitted: bool,
    repeats: int | None = None,
    tolerance: float = TOLERANCE,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[Backtest, Subsamples]:
    """Return a back-test without its coverage, and the refits it rests on.

    Answers call the method by its `name`. One that is not `fitted` to the whole pilot yet is first
    tried on it: what cannot be done at all is refused there, in the method's own words.
    """
    sampler = sampler_for(pilot, estimator)
    plan = plan_sizes(pilot.n_classes, sampler.n_sources, repeats)
    if plan and not fitted:
        with doing("Trying the method on the whole pilot"):
            Context().run(_tried, resolve(estimator), pilot)
    drawn = refits(
        pilot,
        resolve(estimator),
        plan,
        curve_grid(pilot.n_classes, asked),
        random_state=random_state,
        n_jobs=n_jobs,
        sampler=sampler,
    )
    return _judged(pilot, name, drawn, tolerance), drawn


def plan_sizes(
    n_classes: int, n_sources: int | None = None, repeats: int | None = None
) -> list[tuple[int, int]]:
    """Return the sizes of subsets to try and how often: K/2, K/5, K/10 ... down to ten classes.

    Where not all classes have probes, `n_sources` do, and ten of those must be left.

    Examples
    --------
    >>> plan_sizes(500)
    [(250, 20), (100, 10), (50, 10), (25, 10), (10, 10)]
    >>> plan_sizes(12), plan_sizes(9)
    ([(6, 20)], [])
    """
    often = None if repeats is None else arrays.whole_number(repeats, "repeats", 1)
    n_sources = n_classes if n_sources is None else n_sources
    plan = []
    for divisor in [m * 10**e for e in range(16) for m in (1, 2, 5)][1:]:
        size, usual = n_classes // divisor, HALVES if divisor == 2 else REPEATS
        if min(size, n_sources // divisor) < (LEAST_HALF if divisor == 2 else LEAST):
            break
        plan.append((size, usual if often is None else often))
    return plan


def _tried(estimator: Extrapolator, pilot: Pilot) -> None:
    with silence():
        estimator.fit(pilot)


def _judged(pilot: Pilot, method: str, drawn: Subsamples, tolerance: float) -> Backtest:
    """Compare what refits say about all classes with what was measured."""
    n_classes = pilot.n_classes
    observed = float(observe(pilot).accuracy(n_classes))
    here = int(np.searchsorted(drawn.grid, n_classes))
    good = [found for found in drawn.sizes if not _is_left_out(found)]
    steps = tuple(
        BacktestStep(
            found.n_classes,
            n_classes / found.n_classes,
            tuple(found.curves[:, here].tolist()),
            observed,
        )
        for found in good
    )
    halves = np.empty((0, len(drawn.grid)))
    if good and good[0].n_classes == n_classes // 2:
        halves = good[0].curves
    drawn.grid.flags.writeable = halves.flags.writeable = False
    return Backtest(
        n_classes=n_classes,
        method=method,
        observed=observed,
        steps=steps,
        grid=drawn.grid,
        halves=halves,
        tolerance=tolerance,
        shared_rivals=drawn.shared_rivals,
        notes=_notes(pilot, drawn),
        nouns=pilot.nouns,
    )


def _is_left_out(found: Refits) -> bool:
    tried = found.n_failed + len(found.curves)
    return len(found.curves) == 0 or found.n_failed > MOST_FAILED * tried


def _notes(pilot: Pilot, drawn: Subsamples) -> tuple[str, ...]:
    if not drawn.sizes:
        few = min(pilot.n_classes, sampler_for(pilot).n_sources)
        return (
            f"No back-test: the pilot has {counted(few, 'class')} with probes, and at least "
            f"{2 * LEAST_HALF} are needed to hide half of them.",
        )
    notes = []
    for found in drawn.sizes:
        if found.n_failed:
            tried = found.n_failed + len(found.curves)
            outcome = ", so that size is left out" if _is_left_out(found) else ""
            notes.append(
                f"From {found.n_classes:,} classes {found.n_failed:,} of {tried:,} fits failed"
                f"{outcome}: {found.reason}"
            )
        elif found.reason is not None:
            notes.append(f"Not tried from {found.n_classes:,} classes: {found.reason}")
    return tuple(notes)
