r"""How far past a pilot its back-test reaches.

A forecast is good while its error is within a tolerance. The back-test shows the error at some
ratios :math:`\rho_1 < \rho_2 < \ldots` of k to K, each from a few random draws, so that an error
near the tolerance may as well be past it. With :math:`q_j` the chance that the error at
:math:`\rho_j` is within the tolerance, all errors up to :math:`\rho_i` are with the chance
:math:`q_1 \cdots q_i`, and the reach is the mean of the last ratio that is good, on a log scale:

.. math:: \log R = \sum_i q_1 \cdots q_i \, \log \frac{\rho_i}{\rho_{i - 1}} , \qquad \rho_0 = 1 .

So it does not jump between like pilots, as the last ratio that was good would. The logarithm of a
root mean square error e of n draws has about the standard error
:math:`s = \operatorname{sd}(e_i^2) / (2 \sqrt n\, e^2)`, and q is that of a logistic law of so wide
a spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

UNIT = math.pi / math.sqrt(3)  # of a logistic law: standard deviations times this
LIKELY = 0.9  # chance that the reach lies between its limits
DIGITS = 9  # so that a reach of which nothing is in doubt is a ratio that was tried


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


def chances_within(steps: Sequence[Step], tolerance: float) -> Floats:
    """Return, for each step, the chance that its error and those before are within a tolerance."""
    return np.cumprod([_chance(step, tolerance) for step in steps])


def reach(steps: Sequence[Step], tolerance: float) -> float:
    """Return how many times the pilot's classes forecasts may reach; 1.0 without steps."""
    if not steps:
        return 1.0
    ratios = np.array([1.0, *(step.ratio for step in steps)])
    ahead = float(chances_within(steps, tolerance) @ np.diff(np.log(ratios)))
    return round(math.exp(ahead), DIGITS)


def reach_limits(steps: Sequence[Step], tolerance: float) -> tuple[float, float]:
    """Return the ratios up to which forecasts are surely good, and up to which they may be."""
    surely, perhaps = (1 + LIKELY) / 2, (1 - LIKELY) / 2
    return last_good(steps, tolerance, surely), last_good(steps, tolerance, perhaps)


def last_good(steps: Sequence[Step], tolerance: float, chance: float = 0.5) -> float:
    """Return the last ratio that is good with at least such a chance; 1.0 where none is."""
    ratios = np.array([1.0, *(step.ratio for step in steps)])
    chances = np.array([1.0, *chances_within(steps, tolerance)])
    return float(ratios[chances >= chance].max())


def _chance(step: Step, tolerance: float) -> float:
    if min(step.error, step.error_spread, tolerance) <= 0:
        return float(step.error <= tolerance)
    return float(expit(UNIT * math.log(tolerance / step.error) / step.error_spread))
