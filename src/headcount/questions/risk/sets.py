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

from headcount.support.grids import grown_counts

Floats = NDArray[np.float64]


class RiskCurve(Protocol):
    """Anything that gives a risk among k classes."""

    def risk(self, k: Floats) -> Floats:
        """Risk among k classes."""


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
    if kind == "new_set":
        return np.asarray(1 + n_classes / k * (1.0 if by_class is None else by_class))
    if kind == "grown_set":
        return np.asarray(1 - n_classes / grown_counts(k, n_classes) * (by_class or 0.0))
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
    share = n_classes / grown_counts(k, n_classes)
    size = np.array([float(n_classes)])
    gap = float(observed.risk(size)[0]) - float(fit.risk(size)[0])
    return np.asarray(np.clip(fit.risk(k) + by_class * share * gap, 0.0, largest))
