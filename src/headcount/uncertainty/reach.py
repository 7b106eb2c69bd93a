r"""How far past a pilot its back-test reaches.

A forecast is good while its error is within a tolerance t. The back-test shows the error e at some
ratios :math:`\rho_1 < \rho_2 < \ldots` of k to K, each from a few random draws, so that an error
near the tolerance may as well be past it: it is within it with the chance

.. math:: q = \frac{1}{1 + (e / t)^{c / s}} , \qquad c = \pi / \sqrt 3 ,

s being the standard error of log e, about :math:`\operatorname{sd}(e_i^2) / (2 \sqrt n\, e^2)` for
the root mean square of n errors. Between the ratios that were tried, errors lie on straight lines
over the logarithm of the ratio, from no error at the ratio one. Forecasts to a ratio are good if
the error is within the tolerance there and at all ratios tried before. The reach is how far they
are good on average, on a log scale:

.. math:: \log R = \int_0^{\log \rho_{\max}} Q(x) \, dx , \qquad
          Q(x) = q(x) \prod_{\log \rho_j < x} q_j .

So it does not jump between like pilots, as the last ratio that was good would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

UNIT = math.pi / math.sqrt(3)  # of a logistic law: standard deviations times this
LEAST_SPREAD = 0.05  # of the logarithm of an error: none is known better
LIKELY = 0.9  # chance that the reach lies between its limits
N_PLACES = 64  # at which chances are looked at, between two ratios


class Step(Protocol):
    """Forecasts of the pilot from some of its classes."""

    @property
    def ratio(self) -> float:
        """How many times as many classes there are in the pilot."""

    @property
    def error(self) -> float:
        """Root mean square error."""

    @property
    def error_spread(self) -> float:
        """Standard error of its logarithm."""


def error_spread(errors: Floats) -> float:
    """Return the standard error of the logarithm of a root mean square error.

    Zero for a single error, which says nothing of it, and where all are alike. With ten normal
    errors it is on average an eighth too small.

    Examples
    --------
    >>> round(error_spread(np.array([0.0, 0.02, -0.02, 0.04])), 2)
    0.29
    """
    squares = np.square(errors)
    if len(squares) < 2 or not squares.any():
        return 0.0
    mean_error = squares.std(ddof=1) / math.sqrt(len(squares))
    return float(mean_error / (2 * squares.mean()))


def reach(steps: Sequence[Step], tolerance: float) -> float:
    """Return how many times the pilot's classes forecasts may reach; 1.0 without steps.

    To two digits: more is never known of it.
    """
    places = (np.arange(N_PLACES) + 0.5) / N_PLACES
    ahead, chance, ratio, error = 0.0, 1.0, 1.0, 0.0
    for step in steps:
        between = error + (step.error - error) * places
        mean = float(_chance(between, step.error_spread, tolerance).mean())
        ahead += chance * mean * math.log(step.ratio / ratio)
        chance *= float(_chance(step.error, step.error_spread, tolerance))
        ratio, error = step.ratio, step.error
    return float(f"{math.exp(ahead):.2g}")


def chances_within(steps: Sequence[Step], tolerance: float) -> Floats:
    """Return, for each step, the chance that its error and those before are within a tolerance."""
    chances = [_chance(step.error, step.error_spread, tolerance) for step in steps]
    return np.asarray(np.cumprod(chances), dtype=np.float64)


def reach_limits(steps: Sequence[Step], tolerance: float) -> tuple[float, float]:
    """Return the ratios tried up to which forecasts are surely good, and up to which they may be.

    Where even the last may be good, nothing larger was tried.
    """
    surely, perhaps = (1 + LIKELY) / 2, (1 - LIKELY) / 2
    return last_good(steps, tolerance, surely), last_good(steps, tolerance, perhaps)


def last_good(steps: Sequence[Step], tolerance: float, chance: float = 0.5) -> float:
    """Return the last ratio tried that is good with such a chance at least; 1.0 where none is."""
    ratios = np.array([1.0, *(step.ratio for step in steps)])
    chances = np.array([1.0, *chances_within(steps, tolerance)])
    return float(ratios[chances >= chance].max())


def _chance(error: Any, spread: float, tolerance: float) -> Floats:
    if tolerance <= 0:
        return np.asarray(np.less_equal(error, 0.0), dtype=np.float64)
    with np.errstate(divide="ignore"):  # no error at all is within any tolerance
        far = np.log(tolerance) - np.log(error)
    return np.asarray(expit(UNIT / max(spread, LEAST_SPREAD) * far))
