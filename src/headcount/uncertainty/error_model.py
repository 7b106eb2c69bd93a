r"""What was learned about the errors of forecasts on simulated problems.

The scale on which errors are about symmetric is log(-log(1 - A)).

Standard deviations are those of log odds, :math:`l = \operatorname{logit} A`. On that scale the
errors of forecasts above one half are lopsided: the truth is twice as often far above as far
below. On the complementary log-log scale they hardly are (`python -m experiments calibration`):

.. math:: y = \log(-\log(1 - A)) = \log \log(1 + e^l), \qquad
          \frac{dy}{dl} = \frac{A}{-\log(1 - A)} .

Where accuracy is low, both scales are log A.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

LOW = -30.0  # log odds below which the two scales differ by less than round-off
HIGH = 20.0  # further up, nothing can be told from one


def cloglog(log_odds: Any) -> Floats:
    """Return y where log odds are l.

    Examples
    --------
    >>> cloglog([-40.0, 0.0]).round(4).tolist()
    [-40.0, -0.3665]
    """
    odds = np.asarray(log_odds, dtype=np.float64)
    return np.where(odds < LOW, odds, np.log(np.logaddexp(0.0, np.maximum(odds, LOW))))


def inverse_cloglog(y: Any) -> Floats:
    """Return the log odds l of values on the scale.

    Examples
    --------
    >>> inverse_cloglog(cloglog([-40.0, 0.0, 9.0])).round(9).tolist()
    [-40.0, 0.0, 9.0]
    """
    capped = np.minimum(np.asarray(y, dtype=np.float64), HIGH)
    chances = np.exp(np.maximum(capped, LOW))
    return np.where(capped < LOW, capped, chances + np.log(-np.expm1(-chances)))


def slope(log_odds: Any) -> Floats:
    """Return dy / dl where log odds are l.

    Examples
    --------
    >>> slope([-40.0, 0.0]).round(4).tolist()
    [1.0, 0.7213]
    """
    odds = np.maximum(np.asarray(log_odds, dtype=np.float64), LOW)
    return np.asarray(expit(odds) / np.logaddexp(0.0, odds))


@dataclass(frozen=True)
class ErrorModel:
    """What was learned about errors on simulated problems.

    Attributes
    ----------
    growth : float
        Power of the growth of the spread over the halves, beta.
    blind_growth : float
        What stands in for the logarithm of that growth, per unit of log(k / K), without halves.
    scale, power : float
        c and gamma.
    doubt, share : float
        c' and lambda: what the back-test's bias adds to the spread and to the middle.
    stated : float
        Factor of the error that a method states itself, for methods that do.
    levels, quantiles : tuple of float
        Quantiles of the absolute value of z.
    """

    growth: float
    blind_growth: float
    scale: float
    power: float
    doubt: float
    share: float
    levels: tuple[float, ...]
    quantiles: tuple[float, ...]
    stated: float = 1.0

    def multiplier(self, confidence: float) -> float:
        """Return how many standard deviations hold so large a share of the errors.

        Past the last level, as many as there: so rare errors were not seen often enough.
        """
        return float(np.interp(confidence, self.levels, self.quantiles))


# As `python -m experiments calibration --method probit-normal` gives it on 385 random problems,
# rounded.
MODEL = ErrorModel(
    growth=0.9,
    blind_growth=0.09,
    scale=0.054,
    power=1.27,
    doubt=0.45,
    share=0.45,
    levels=(0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999),
    quantiles=(0.0, 0.625, 1.44, 1.9, 2.43, 4.05, 6.3),
)


# For methods that state their own error, which are taken at their word: `auto` was calibrated when
# it was trained (`experiments.training.learn.calibrate`), and its errors follow Student's law with
# 20 degrees of freedom.
STATED_MODEL = replace(
    MODEL,
    doubt=0.0,
    share=0.0,
    stated=1.0,
    quantiles=(0.0, 0.655, 1.264, 1.645, 1.99, 2.714, 3.672),
)
