r"""The scale on which errors of forecasts are about symmetric: log(-log(1 - A)).

Standard deviations are those of log odds, :math:`l = \operatorname{logit} A`. On that scale the
errors of forecasts above one half are lopsided: the truth is twice as often far above as far below.
On the complementary log-log scale they hardly are (`headcount bench calibration`):

.. math:: y = \log(-\log(1 - A)) = \log \log(1 + e^l), \qquad
          \frac{dy}{dl} = \frac{A}{-\log(1 - A)} .

Where accuracy is low, both scales are log A.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

LOW = -30.0  # log odds below which the two scales differ by less than round-off
HIGH = 20.0  # further up, nothing can be told from one


def on_scale(log_odds: Any) -> Floats:
    """Return y where log odds are l.

    Examples
    --------
    >>> on_scale([-40.0, 0.0]).round(4).tolist()
    [-40.0, -0.3665]
    """
    at = np.asarray(log_odds, dtype=np.float64)
    return np.where(at < LOW, at, np.log(np.logaddexp(0.0, np.maximum(at, LOW))))


def off_scale(y: Any) -> Floats:
    """Return the log odds l of values on the scale.

    Examples
    --------
    >>> off_scale(on_scale([-40.0, 0.0, 9.0])).round(9).tolist()
    [-40.0, 0.0, 9.0]
    """
    at = np.minimum(np.asarray(y, dtype=np.float64), HIGH)
    chances = np.exp(np.maximum(at, LOW))
    return np.where(at < LOW, at, chances + np.log(-np.expm1(-chances)))


def slope(log_odds: Any) -> Floats:
    """Return dy / dl where log odds are l.

    Examples
    --------
    >>> slope([-40.0, 0.0]).round(4).tolist()
    [1.0, 0.7213]
    """
    at = np.maximum(np.asarray(log_odds, dtype=np.float64), LOW)
    return np.asarray(expit(at) / np.logaddexp(0.0, at))
