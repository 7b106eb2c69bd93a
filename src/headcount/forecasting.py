"""forecast(): from a pilot to a `Forecast`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.answers import Forecast
from headcount.arrays import confidence_level
from headcount.asking import asked_classes
from headcount.assessing import assess, with_coverage
from headcount.backtest_result import Backtest
from headcount.backtesting import hide_classes
from headcount.checks import finding, run_checks
from headcount.errors import (
    ExtrapolationWarning,
    listening,
    warn,
)
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.registry import name_of
from headcount.loading import as_pilot
from headcount.observed import observe
from headcount.pilot import Pilot
from headcount.threads import doing
from headcount.uncertainty import Uncertainty
from headcount.wording import speaking

Floats = NDArray[np.float64]

TOO_FAR, LESS = "HC011", "HC019"


def forecast(
    data: Any,
    labels: Any = None,
    *,
    classes: Any,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
    intervals: bool = True,
    noun: str | None = None,
    probe_noun: str | None = None,
) -> Forecast:
    """Forecast accuracy at numbers of classes you have not measured.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row a probe and one column a class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    classes : int or sequence of int
        Numbers of classes asked about.
    method : str or Extrapolator
        A name of `headcount methods`, if need be with options (``"kde:bandwidth=bcv"``), or an
        estimator.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed of the back-test, and of methods that draw random numbers.
    n_jobs : int, optional
        Workers for the back-test, as in joblib; by default what `joblib.parallel_config` says,
        else one.
    intervals : bool
        Whether to run the back-test, which intervals rest on: some sixty fits to parts of
        the pilot. Slow methods (`headcount methods`) never do; see `headcount.backtest`.
    noun, probe_noun : str, optional
        What to call classes and probes in words and pictures, such as "person/people" and
        "photo/photos"; by default as the pilot does, see `Pilot.with_nouns`.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> result = headcount.forecast(pilot, classes=[100, 1000], intervals=False)
    >>> result.accuracy([100, 1000]).round(1).tolist()
    [0.8, 0.5]
    """
    asked = asked_classes(classes)
    level = confidence_level(confidence)
    with listening() as heard, ExitStack() as stack:
        pilot = as_pilot(data, labels)
        if noun is not None or probe_noun is not None:
            pilot = pilot.with_nouns(noun, probe_noun)
        stack.enter_context(speaking(pilot.nouns))
        estimator = resolve(method, random_state).fit(pilot)
        name = name_of(method)
        tested, uncertainty = None, None
        if intervals and not estimator.slow:
            tested, uncertainty = _doubts(pilot, estimator, name, level, random_state, n_jobs)
        observed, law = observe(pilot), estimator.law(asked)
        with doing("Looking for what speaks against it"):
            checks = run_checks(pilot, observed, law, asked=asked, backtest=tested)
        if estimator.note_:
            checks += (finding(LESS, estimator.note_, estimator.remedy_),)
        for check in checks:
            if check.code == TOO_FAR:
                warn(check.message, ExtrapolationWarning)
    return Forecast(
        observed=observed,
        law=law,
        classes=asked,
        n_probes=pilot.n_probes,
        method=name,
        confidence=level,
        checks=checks,
        warnings=tuple(heard),
        fitted=(pilot, estimator),
        backtest=tested,
        uncertainty=uncertainty,
        random_state=random_state,
        nouns=pilot.nouns,
    )


def _doubts(
    pilot: Pilot,
    fitted: Extrapolator,
    name: str,
    confidence: float,
    random_state: int,
    n_jobs: int | None,
) -> tuple[Backtest, Uncertainty]:
    """Return the back-test of a fitted method and what follows for its errors.

    One jackknife of the pilot serves both.
    """
    tested, drawn = hide_classes(
        pilot, fitted, name=name, fitted=True, random_state=random_state, n_jobs=n_jobs
    )
    known = assess(pilot, tested, fitted)
    here = float(known.sampling(pilot.n_classes))
    return with_coverage(pilot, tested, drawn, confidence, here), known
