r"""How far a forecast of risk may be off, and the limits that follow.

With r the risk as a share of the largest cost, errors are those of its log odds, so that limits
stay between zero and that cost. Two things add to them:

.. math:: s(k)^2 = \sigma(k)^2 + (c\, x^\gamma \sigma(K)^\eta)^2, \qquad
          \sigma(k)^2 = \psi'\!\left(e(k)^{-2} + \tfrac 1 2\right), \qquad x = \log(k / K) .

**Sampling.** The first is the luck of which classes and probes are in the pilot. e(k) is the
standard error of the log odds by the jackknife over classes; beyond the pilot it is not less than
at its own size. So large an error have :math:`e^{-2}` independent mistakes, and the logarithm of a
rate that so many were seen of has this variance (:math:`\psi'` is the trigamma function, near
e^2 where mistakes are many). Where none was seen, half a probe stands in.

**Extrapolating.** Past the pilot the shape of the conditional cost is assumed. The error of that
grows with the distance. It cannot be seen from the pilot, but is smaller where the pilot is larger
or holds more mistakes, and so knows more of the shape. c, :math:`\gamma` and :math:`\eta` were
chosen on simulated problems whose truth is known, and tried on others
(``python experiments/coverage/risk_intervals.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri, polygamma

Floats = NDArray[np.float64]

EDGE = 1e-15  # shares of zero and one have no log odds
ROUND_OFF = 1e-12  # of the largest cost: what a fit to nothing may leave


@dataclass(frozen=True)
class RiskErrorModel:
    """What was learned about errors of forecasts of risk on simulated problems.

    Attributes
    ----------
    scale, power, share : float
        c, gamma and eta.
    """

    scale: float
    power: float
    share: float

    def shape(self, reach: Floats, at_pilot: Floats) -> Floats:
        """Return the error of extrapolating at x = log(k / K), from the error at K."""
        return np.asarray(self.scale * np.maximum(reach, 0.0) ** self.power * at_pilot**self.share)

    def limits(
        self,
        value: Floats,
        error: Floats,
        reach: Floats,
        confidence: float,
        *,
        largest: float,
        half_a_probe: float,
        at_pilot: tuple[float, Floats],
    ) -> tuple[Floats, Floats]:
        """Return limits around estimates.

        Parameters
        ----------
        value, error : ndarray
            Estimates and their standard errors.
        reach : ndarray
            x; zero or less up to the pilot's size.
        confidence : float
            Share of such intervals that are to hold the truth.
        largest : float
            Largest cost.
        half_a_probe : float
            What half a mistake of the whole pilot costs on average.
        at_pilot : (float, ndarray)
            Estimate at the pilot's own size, and its standard error.

        Returns
        -------
        lower, upper : ndarray
        """
        most = largest or 1.0
        past = np.asarray(reach) > 0
        seen, own = odds_error(value, error, most), odds_error(*at_pilot, most)
        seen = np.where(past, np.maximum(np.where(np.isfinite(seen), seen, 0.0), own), seen)
        spread = np.hypot(log_rate_error(seen), self.shape(reach, log_rate_error(own)))
        distance = float(ndtri((1 + confidence) / 2)) * spread
        # Unseen mistakes become more with more classes; by how much is not known either.
        half = half_a_probe / most
        none, every = value <= ROUND_OFF * most, value >= (1 - ROUND_OFF) * most
        least = np.where(past, half * np.exp(np.maximum(reach, 0.0) / 2), half * none)
        share = np.clip(np.maximum(value / most, least), EDGE, max(1 - half, 0.5))
        lower = largest * expit(logit(share) - distance)
        upper = largest * expit(logit(share) + distance)
        # Where no mistake was seen nothing speaks against none, and where all are, against all.
        lower = np.where(none, 0.0, np.minimum(lower, value))
        return lower, np.where(every, largest, np.maximum(upper, value))


def odds_error(value: Floats | float, error: Floats, most: float) -> Floats:
    """Return the standard error of log odds; infinite where nothing varies."""
    share = np.clip(np.asarray(value) / most, EDGE, 1 - EDGE)
    varies = (error > ROUND_OFF * most) & (np.asarray(value) > ROUND_OFF * most)
    with np.errstate(over="ignore"):
        return np.where(varies, error / (most * share * (1 - share)), np.inf)


def log_rate_error(error: Floats) -> Floats:
    """Return the standard deviation of the logarithm of a rate whose standard error is a share."""
    return np.sqrt(polygamma(1, error**-2.0 + 0.5))


# As ``python experiments/coverage/risk_intervals.py --fit --sorts chosen`` gives them, rounded.
MODEL = RiskErrorModel(scale=0.17, power=1.29, share=0.63)
