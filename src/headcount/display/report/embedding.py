"""Curves as data that a page can compute with: small, and within 1e-6 of what they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed
from headcount.curves.predicted import PredictedCurve
from headcount.questions.forecast import Forecast
from headcount.uncertainty.backtest import Backtest

Floats = NDArray[np.float64]

MOST_ROWS = 4_000
WIDTH = 0.0025  # of the bins that longer lists are put into, relative
DIGITS = 12
LONG = ("grid", "halves")  # parts of a back-test that only intervals need


def as_law(law: Favorability | PredictedCurve) -> dict[str, list[float]]:
    """Return a fitted law: nodes and weights, or the ladder of a method that has none.

    Examples
    --------
    >>> as_law(Favorability([0.0, 0.001], [0.2, 0.8]))
    {'p': [0.0, 0.001], 'weights': [0.2, 0.8]}
    """
    if isinstance(law, PredictedCurve):
        return {"ladder": _numbers(law.classes), "accuracy": _numbers(law.values)}
    nodes, weights = law.p, law.weights
    if len(nodes) > MOST_ROWS:
        nodes, weights = _binned(nodes, weights)
    return {"p": _numbers(nodes), "weights": _numbers(weights)}


def as_table(observed: Observed) -> dict[str, list[float]]:
    """Return the losses behind the observed curve, and their weights.

    A censored probe counts half at its lower bound: the curve is then the middle of its bounds.
    """
    table = observed.table
    weights = np.where(table.censored, 0.5, 1.0) * table.weights
    losses, where = np.unique(table.losses, return_inverse=True)
    held = np.bincount(where, weights, len(losses)).astype(np.float64)
    if len(losses) > MOST_ROWS:
        losses, held = _whole(*_binned(losses.astype(np.float64), held))
    return {"losses": losses.tolist(), "weights": _numbers(held)}


def as_limits(forecast: Forecast) -> dict[str, Any] | None:
    """Return limits on the ladder of `headcount.uncertainty.limits`; None without intervals."""
    if forecast.uncertainty is None:
        return None
    known = forecast.limits
    return {
        "classes": known.classes.tolist(),
        "lower": _numbers(known.lower),
        "upper": _numbers(known.upper),
    }


def as_backtest(found: Backtest, name: str) -> dict[str, Any]:
    """Return what a back-test found, without what only intervals need."""
    held = {key: value for key, value in found.to_dict().items() if key not in LONG}
    return held | {"name": name}


def _numbers(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def _binned(places: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Put places that differ by less than `WIDTH` together, at their mean.

    The mean keeps errors of second order: at most WIDTH² / 12 of any average of powers.
    """
    with np.errstate(divide="ignore"):
        bins = np.floor(np.log(places) / WIDTH)
    bins = np.where(places > 0, bins, -np.inf)
    _, where = np.unique(bins, return_inverse=True)
    held = np.bincount(where, weights).astype(np.float64)
    middle = np.bincount(where, weights * places) / held
    return np.minimum(middle, places.max()), held


def _whole(places: Floats, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Split what lies between two whole numbers over both, so that the mean stays."""
    below = np.floor(places)
    above = weights * (places - below)
    both = np.concatenate([below, below + 1]).astype(np.int64)
    found, where = np.unique(both, return_inverse=True)
    held = np.bincount(where, np.concatenate([weights - above, above])).astype(np.float64)
    return found[held > 0], held[held > 0]
