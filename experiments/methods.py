"""Methods under comparison, and what each says about a pilot."""

from __future__ import annotations

import hashlib
import inspect
import sys
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.journal import Record
from headcount.errors import HeadcountError, MissingExtraError, ParameterError, listening
from headcount.estimators import Extrapolator
from headcount.pilot.pilot import Pilot
from headcount.support.validation import whole_number

Methods = Mapping[str, Extrapolator]


def check_fewer(fewer: Mapping[str, int], methods: Methods) -> None:
    """Refuse smaller numbers of repeats that are none, or of methods that do not take part."""
    for name, count in fewer.items():
        whole_number(count, "--fewer-repeats", 1)
        if name not in methods:
            raise ParameterError(f"--fewer-repeats names {name!r}, which is not among the methods.")


def forecast_record(
    estimator: Extrapolator, pilot: Pilot, classes: Sequence[int], seed: int
) -> Record:
    """Return the accuracies a method forecasts from a pilot, or why it refuses to.

    Parameters
    ----------
    estimator : Extrapolator
        Not fitted; a copy is.
    pilot : Pilot
        What it may see.
    classes : sequence of int
        Numbers of classes to forecast.
    seed : int
        For methods that draw random numbers.

    Returns
    -------
    dict
        ``accuracy``, a list, or ``refused``, a sentence; ``notes``, warnings given; ``seconds``;
        and, of a method that says so, the ``device`` it was fitted on.
    """
    copy = _seeded(estimator, seed)
    start = time.perf_counter()
    with listening() as notes:
        outcome = _outcome(copy, pilot, classes)
    seconds = round(time.perf_counter() - start, 4)
    return outcome | {"notes": sorted(set(notes)), "seconds": seconds}


def forecast_records(
    estimator: Extrapolator, pilots: Sequence[Pilot], classes: Sequence[int], seeds: Sequence[int]
) -> list[Record]:
    """Return a `forecast_record` of each pilot, from a method that is fitted to all at once.

    Such a method has a ``fit_together(pilots, seeds)`` that returns a fitted copy a pilot. The
    seconds of a record are its share of the time all of them took. Where the method refuses, each
    pilot is tried on its own, so that one it cannot use does not cost the others theirs.
    """
    copy: Any = clone(estimator)
    start = time.perf_counter()
    try:
        with listening() as notes:
            outcomes = [_forecasts(fit, classes) for fit in copy.fit_together(pilots, seeds)]
    except HeadcountError:
        pairs = zip(pilots, seeds, strict=True)
        return [forecast_record(estimator, pilot, classes, seed) for pilot, seed in pairs]
    seconds = round((time.perf_counter() - start) / len(pilots), 4)
    return [outcome | {"notes": sorted(set(notes)), "seconds": seconds} for outcome in outcomes]


def _seeded(estimator: Extrapolator, seed: int) -> Extrapolator:
    copy: Extrapolator = clone(estimator)
    if "random_state" in copy.get_params():
        copy.set_params(random_state=seed)
    return copy


def _outcome(estimator: Extrapolator, pilot: Pilot, classes: Sequence[int]) -> Record:
    try:
        return _forecasts(estimator.fit(pilot), classes)
    except MissingExtraError as error:
        return {"refused": str(error), "again": True}
    except HeadcountError as error:
        return {"refused": str(error)}


def _forecasts(fitted: Extrapolator, classes: Sequence[int]) -> Record:
    """Return what a fitted method forecasts, unless it is not a number."""
    values = np.asarray(fitted.predict(list(classes)), dtype=np.float64)
    if not np.isfinite(values).all():
        return {"refused": "it gave a forecast that is not a number."}
    device = getattr(fitted, "device_", None)
    return {"accuracy": values.tolist()} | ({} if device is None else {"device": str(device)})


def stamp(estimator: Extrapolator) -> str:
    """Return a mark of a method's options and of the code in `estimators` that it rests on.

    It goes into the keys of tasks, so that what an older version of the method said is not taken
    for what it says now.
    """
    modules: dict[str, ModuleType] = {}
    collect_modules(sys.modules[type(estimator).__module__], modules)
    whole = hashlib.sha256(repr(sorted(estimator.get_params().items())).encode())
    for name in sorted(modules):
        whole.update(name.encode())
        whole.update(_source(modules[name]).encode())
    return whole.hexdigest()[:8]


def collect_modules(module: ModuleType, modules: dict[str, ModuleType]) -> None:
    """Add a module and those of `headcount.estimators` whose names it uses."""
    modules[module.__name__] = module
    for value in list(vars(module).values()):
        name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        if (
            isinstance(name, str)
            and name.startswith("headcount.estimators.")
            and name not in modules
        ):
            collect_modules(sys.modules[name], modules)


def _source(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):  # typed in by hand
        return ""


def summarised(errors: Sequence[float]) -> dict[str, Any]:
    """Return bias, standard deviation and root mean square of errors; none where there are none.

    The standard deviation divides by the number of errors, so that RMSE² = bias² + sd².

    Examples
    --------
    >>> summarised([0.1, -0.3])
    {'bias': -0.1, 'sd': 0.2, 'rmse': 0.223607}
    """
    if len(errors) == 0:
        return {"bias": None, "sd": None, "rmse": None}
    values = np.asarray(errors, dtype=np.float64)
    return {
        "bias": rounded(values.mean()),
        "sd": rounded(values.std()),
        "rmse": rounded(np.sqrt(np.mean(values**2))),
    }


def rounded(value: Any) -> float:
    """Return a number with the six digits that results keep."""
    return round(float(value), 6) + 0.0  # no minus zero
