r"""How far a forecast of risk may be off beyond the pilot, and the limits that follow.

With r the risk as a share of the largest cost, errors are those of its log odds, so that limits
stay between zero and that cost. Two things add to them:

.. math:: s(k)^2 = (a\, \mathrm{se}(k))^2 + (c\, x^\gamma)^2, \qquad x = \log(k / K),

the standard error of the jackknife over classes, which knows the luck of which classes are in the
pilot, and the error of the shape of the conditional cost, which grows with the distance and cannot
be seen from the pilot. The constants were chosen on simulated problems whose truth is known
(``python experiments/coverage/risk_intervals.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskErrorModel:
    """What was learned about errors of forecasts of risk on simulated problems.

    Attributes
    ----------
    sampled : float
        a, factor of the standard error.
    scale, power : float
        c and gamma.
    tail : float
        How many times as wide as normal ones the limits are.
    """

    sampled: float
    scale: float
    power: float
    tail: float

    def error(self, share: Floats, reach: Floats) -> Floats:
        """Return s(k) from the standard error of the log odds and x = log(k / K)."""
        shape = self.scale * np.maximum(reach, 0.0) ** self.power
        return np.asarray(np.hypot(self.sampled * share, shape))

    def limits(
        self, value: Floats, error: Floats, reach: Floats, largest: float, confidence: float
    ) -> tuple[Floats, Floats]:
        """Return limits around values with these standard errors at x = log(k / K).

        Up to the pilot's size nothing was learned, and the standard error is taken as it is.
        """
        most = largest or 1.0
        share = np.clip(value / most, EDGE, 1 - EDGE)
        odds_error = np.where(error > 0, error / (most * share * (1 - share)), 0.0)
        past = reach > 0
        spread = np.where(past, self.tail * self.error(odds_error, reach), odds_error)
        distance = float(ndtri((1 + confidence) / 2)) * spread
        # A value of zero, or of all that it can be, has no log odds to move.
        inside = (value > EDGE * most) & (value < (1 - EDGE) * most)
        lower = np.where(inside, largest * expit(logit(share) - distance), value)
        upper = np.where(inside, largest * expit(logit(share) + distance), value)
        return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)


EDGE = 1e-15

MODEL = RiskErrorModel(sampled=1.0, scale=0.1, power=1.0, tail=1.0)
