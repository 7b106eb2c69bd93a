"""Exponential: the observed curve as a mixture of exponentials, used at every k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.shared.curve_fit import observed_rows, simplex_least_squares
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

_GRID_STEP = 0.05  # of log kappa
_LEAST_DECAY = 1e-3  # smallest kappa, times K - 1: slower decay looks like none at all
_MOST_DECAY = 40.0  # exp(-40) is zero for all we can see


class Exponential(Extrapolator):
    r"""Mixture of exponentials fitted to the observed curve by non-negative least squares.

    With kappa = -log U, accuracy is a mixture of exponentials in k,

    .. math:: \text{accuracy}(k) = \int_0^\infty e^{-\kappa (k - 1)} d\alpha(\kappa),
              \qquad \alpha \ge 0, \quad \alpha([0, \infty]) = 1,

    and alpha is chosen on a fine grid of kappa, with kappa = 0 (never beaten) and kappa = infinity
    (always beaten) among its nodes, to minimise the mean over t = 2, ..., K of the squared distance
    to the observed curve. The mass of one is a constraint of the fit. The fitted mixture is used at
    every k, also up to K.

    The curve alone hardly says which mixture it is: laws that agree with it to 1e-5 can differ by
    0.3 at twenty times as many classes. Among fits that are as good as equal the one spread most
    evenly over the grid is taken: the fit minimises the mean squared distance plus `ridge` times
    the integral of the squared density of log kappa, plus the squares of the two atoms.

    Parameters
    ----------
    ridge : float
        Weight of evenness. The default moves the fitted curve by 1e-5 to 1e-4; at zero the least
        squares fit itself is taken, which is a few atoms that change a lot from pilot to pilot.

    Attributes
    ----------
    rmse_ : float
        Root mean squared distance between fitted and observed curve.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.1, where exp(-kappa t) should read
    exp(-kappa (t - 1)).

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.exponential import Exponential
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = Exponential().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.8, 0.46]
    """

    alias = "exponential"
    about = "mixture of exponentials fitted to the observed curve, non-negative least squares"
    cost = "under a second"
    advice = "few assumptions, but optimistic far beyond the pilot; a comparison"

    def __init__(self, *, ridge: float = 1e-8) -> None:
        self.ridge = ridge

    def _estimate(self, pilot: Pilot) -> Favorability:
        if not 0 <= self.ridge < np.inf:
            raise ParameterError(f"ridge must be 0 or more, but is {self.ridge}.")
        warn_if_one_sided(pilot)
        counts, accuracy, weights = observed_rows(pilot)
        kappa, room = _grid(pilot.n_classes - 1)
        decay = np.column_stack(
            [np.exp(-np.outer(counts - 1, kappa)), np.zeros(len(counts))]  # kappa = infinity
        )
        mixture = simplex_least_squares(decay, accuracy, weights, self.ridge / room)
        self.rmse_ = float(np.sqrt(weights @ (decay @ mixture - accuracy) ** 2))
        return Favorability(np.append(-np.expm1(-kappa), 1.0), mixture)


def _grid(n_rivals: int) -> tuple[Floats, Floats]:
    """Return the finite kappa, zero first, and for each node with infinity how much it may hold.

    A node's room is its share of the range of log kappa, so that a finer grid means the same.
    """
    least = _LEAST_DECAY / n_rivals
    n_inside = int(np.ceil(np.log(_MOST_DECAY / least) / _GRID_STEP)) + 1
    kappa = np.append(0.0, np.geomspace(least, _MOST_DECAY, n_inside))
    return kappa, np.concatenate([[1.0], np.full(n_inside, 1 / n_inside), [1.0]])
