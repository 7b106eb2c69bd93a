"""High-dimensional limit: one number, the accuracy of the pilot, decides the whole curve."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import probit_normal_law

_FURTHEST = 60.0  # beyond any c that an accuracy in floating point can ask for


class HighDimensional(Extrapolator):
    r"""The limit of many dimensions, in which accuracy depends on mutual information alone.

    There the true class scores as a normal variable around c and the others as standard normal
    ones,

    .. math:: \text{accuracy}(k) = \bar\pi_k(c) = \int \varphi(z - c) \Phi(z)^{k-1} dz,
              \qquad c = \sqrt{2 I},

    with I the mutual information of label and response. So U = Phi(c + Z), and c solves
    :math:`\bar\pi_K(c)` = observed accuracy at K. Where every probe is right, or none is, half a
    right and half a wrong probe are added to keep c finite.

    Attributes
    ----------
    c_ : float
        Distance of the true class's mean score from the others', in standard deviations.
    mutual_information_ : float
        c^2 / 2, in nats; zero where the pilot is no better than guessing.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.3.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.high_dimensional import HighDimensional
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = HighDimensional().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.8, 0.57]
    >>> round(fit.mutual_information_, 2)
    5.84
    """

    alias = "high-dimensional"
    about = "one-parameter limit of many dimensions, from the accuracy at K; mutual information"
    cost = "under a second"
    advice = "classifiers close to the Bayes rule with many features; only one number is used"

    def _estimate(self, pilot: Pilot) -> Favorability:
        warn_if_one_sided(pilot)
        self.c_ = _solve(_inner_accuracy(pilot), pilot.n_classes)
        self.mutual_information_ = max(self.c_, 0.0) ** 2 / 2
        return probit_normal_law(self.c_, 1.0)


def _inner_accuracy(pilot: Pilot) -> float:
    """Accuracy at K, moved inside (0, 1) where it is 0 or 1."""
    losses = pilot.table().losses
    if losses.any() and not losses.all():
        return float(observe(pilot).accuracy(pilot.n_classes))
    right = 0.0 if losses.any() else float(pilot.n_probes)
    return (right + 0.5) / (pilot.n_probes + 1)


def _solve(accuracy: float, k: int) -> float:
    """Return c at which k classes give this accuracy."""

    def excess(c: float) -> float:
        return float(np.float64(probit_normal_law(c, 1.0).accuracy(k)) - accuracy)

    return float(brentq(excess, -_FURTHEST, _FURTHEST, xtol=1e-12, rtol=1e-14))
