"""What was learned about the errors of forecasts on simulated problems."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


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


# As `headcount bench calibration --method probit-normal` gives it on 385 random problems, rounded.
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


# For methods that state their own error: as `headcount bench calibration` gives it for `auto` on
# 1,759 random problems, with standard errors of 0.02 (stated), 0.05 (doubt) and 0.02 (share).
STATED_MODEL = replace(
    MODEL,
    doubt=0.097,
    share=0.07,
    stated=0.95,
    quantiles=(0.0, 0.644, 1.27, 1.645, 1.96, 2.76, 5.12),
)
