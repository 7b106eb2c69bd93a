r"""Risk on one set of classes, new or grown from the pilot's: how it differs from the average.

Write the risk on one set of k classes as its average over all sets plus a part :math:`h_k(c)` for
each class c (Hoeffding's first projections). The forecast from K classes is off by
:math:`\sum_c (k / K) h_k(c)` over the pilot's classes, whose variance is V(k). So one new set of k
classes adds :math:`(K / k) V(k)`. A set that keeps the pilot's classes shares their parts: what is
left of V(k) is :math:`(1 - K / k) V(k)`, and the centre moves by the share K / k of what these
classes are known to differ by.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.questions.risk.costs import Cost
from headcount.questions.risk.ranks import paid_by_probe

Floats = NDArray[np.float64]

KINDS = ("expected", "new_set", "grown_set")


class RiskCurve(Protocol):
    """Anything that gives a risk among k classes."""

    def risk(self, k: Floats) -> Floats:
        """Risk among k classes."""


def probe_variance(pilot: Pilot, cost: Cost, weights: Floats) -> float | None:
    """Variance of the observed risk at K that comes from the finite number of probes of each class.

    None where no class has two probes: then it cannot be told from that of classes.
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    number = np.bincount(pilot.labels, minlength=pilot.n_classes)
    if number.max() < 2:
        return None
    paid = paid_by_probe(pilot, cost)
    mean = np.bincount(pilot.labels, paid, pilot.n_classes) / np.maximum(number, 1)
    squares = np.bincount(pilot.labels, (paid - mean[pilot.labels]) ** 2, pilot.n_classes)
    several = number >= 2
    within = np.zeros(pilot.n_classes)
    within[several] = squares[several] / (number[several] - 1)
    within[number == 1] = within[several].mean()
    weight = np.bincount(pilot.labels, weights, pilot.n_classes)
    return float(np.sum(weight**2 * within / np.maximum(number, 1)))


def variance_factor(k: Floats, n_classes: int, kind: str, by_class: float | None) -> Floats:
    """Return by what the variance of a forecast is multiplied for one set of classes.

    Parameters
    ----------
    k : ndarray
        Numbers of classes.
    n_classes : int
        Of the pilot, K.
    kind : {"expected", "new_set", "grown_set"}
        What the truth is.
    by_class : float or None
        Which part of the variance comes from the choice of classes; None if that is not known,
        and then what gives the wider interval.
    """
    own = n_classes / k
    if kind == "new_set":
        return np.asarray(1 + own * (1.0 if by_class is None else by_class))
    if kind == "grown_set":
        refuse_smaller(k, n_classes)
        return np.asarray(1 - own * (by_class or 0.0))
    return np.ones(np.shape(k))


def grown_risk(
    observed: RiskCurve, fit: RiskCurve, k: Floats, n_classes: int, largest: float, by_class: float
) -> Floats:
    r"""Return the risk to expect on the pilot's K classes and k - K new ones together.

    .. math:: f(k) + b \frac K k (r(K) - f(K)),

    f being the forecast, r what was observed. What was observed at K and the forecast does not
    follow belongs to these classes, but for the part 1 - b that the luck of their probes has in it.
    They are the share K / k of the set. (The part of a single class in the risk goes as 1 / k, and
    that of a pair that is easily confused as well: it is there whatever else is.)
    """
    refuse_smaller(k, n_classes)
    size = np.array([float(n_classes)])
    gap = float(observed.risk(size)[0]) - float(fit.risk(size)[0])
    return np.asarray(np.clip(fit.risk(k) + by_class * n_classes / k * gap, 0.0, largest))


def refuse_smaller(k: Floats, n_classes: int) -> None:
    """Refuse sets that cannot hold the pilot's classes."""
    if (np.asarray(k) < n_classes).any():
        raise ParameterError(
            f"a grown set contains the pilot's {n_classes:,} classes; ask for so many or more, or "
            "for kind='new_set'."
        )
