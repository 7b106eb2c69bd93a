"""Curves of steps as lines to draw, on a straight or a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed
from headcount.curves.ranked import RankedLaw
from headcount.curves.reversed_roc import ROCCurve
from headcount.errors import UnsupportedError

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast

Floats = NDArray[np.float64]

MOST_POINTS = 4_000
SMALLEST_RATE = 1e-7


def law_of(forecast: Forecast) -> Favorability:
    """Return the law of favorability behind a forecast, refused where the method gives none."""
    if forecast.mix:
        raise UnsupportedError(
            "a forecast for a mix has a law for each pair of groups, so there is no such curve; "
            "take one group with Pilot.only_groups."
        )
    if isinstance(forecast.law, RankedLaw):
        raise UnsupportedError(
            "where queries have several graded documents, or classes are always present, there is "
            "no one law of favorability, so there is no such curve; look at Forecast.plot()."
        )
    if not isinstance(forecast.law, Favorability):
        raise UnsupportedError(
            f"the method {forecast.method} gives no law of favorability, so there is no such "
            "curve; choose another method."
        )
    return forecast.law


def table_roc(forecast: Forecast) -> ROCCurve:
    """Return the reversed ROC of the pilot behind a forecast, ties resolved by its tie rule."""
    assert isinstance(forecast.observed, Observed)  # `law_of` has refused a mix
    table = forecast.observed.table
    rate = table.losses / table.n_rivals
    return ROCCurve(rate, rate, table.weights, table.censored)


def measured_curves(
    curve: ROCCurve, censored: bool, whole: str, at_worst: str, at_best: str
) -> dict[str, ROCCurve]:
    """Return the curve of a pilot by name, or its limits where censored probes leave it open."""
    if censored:
        return dict(zip((at_worst, at_best), curve.limits, strict=True))
    return {whole: curve}


def finest_of(forecast: Forecast) -> float:
    """Return the smallest share of classes that the pilot behind a forecast can tell from none."""
    return finest_share(forecast.n_classes)


def finest_share(n_classes: int) -> float:
    """Return half a class among the wrong ones: less is nearer to none than to one."""
    return 0.5 / (n_classes - 1)


def line_points(curve: ROCCurve) -> tuple[Floats, Floats]:
    """Return the line to draw: all corners of the curve, or places along it if they are many."""
    rate, share = curve.corners()
    if len(rate) > MOST_POINTS:
        ladder = np.geomspace(SMALLEST_RATE, 1, MOST_POINTS // 2)
        rate = np.union1d(ladder, np.linspace(0, 1, MOST_POINTS // 2))
        share = curve.average(rate)
    return rate, share


def first_rate(curve: ROCCurve) -> float:
    """Return where a logarithmic axis should begin: a little before the curve begins to rise."""
    rate, share = line_points(curve)
    at_once = curve.average(np.nextafter(0, 1))  # the jump right after zero is no such rise
    rising = (rate > 0) & (share > at_once + 0.005)
    return float(np.clip(rate[rising].min(initial=0.1) / 2, SMALLEST_RATE, 0.1))


def bend(rate: Floats, share: Floats, first: float) -> tuple[Floats, Floats]:
    """Add points between the corners: on a logarithmic axis, straight lines are not straight."""
    between = np.setdiff1d(np.geomspace(first, 1, MOST_POINTS // 4), rate)
    share = np.concatenate([share, np.interp(between, rate, share)])
    rate = np.concatenate([rate, between])
    order = np.lexsort((share, rate))
    on_page = order[rate[order] >= first]
    return rate[on_page], share[on_page]
