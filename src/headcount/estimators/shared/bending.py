r"""A normal law on the probit scale, bent as far as the losses ask.

With :math:`y = \Phi^{-1}(U)`, a fit gives a normal law of y with mean :math:`\mu` and standard
deviation :math:`\tau`. Here its logarithm may depart from the parabola:

.. math:: \log w(y) = -\frac{(y - \mu)^2}{2 \tau^2} + \theta_1 x + \theta_2 \frac{x^2 - 1}{2}
          + b(y) - \text{const},

where :math:`x = (y - \mu) / \tau` and the third derivative of b is white noise of standard
deviation :math:`\sigma` a priori, so that without evidence the law stays normal [1]_. The mode of
the posterior is found by Newton's method with Fisher's information, for a few values of
:math:`\sigma`. These are weighed by their evidence (Laplace's approximation). Around each mode the
posterior is normal, which says how far the data leave the law open.

Functions whose first argument is `xp` take the module, `numpy` or `torch`, and its arrays, with
any axes before those named: one pilot is fitted in NumPy, and many random problems at once in
torch, by the same lines.

References
----------
.. [1] B. W. Silverman, On the estimation of a probability density function by the maximum
   penalized likelihood method, Annals of Statistics 10, 795-810, 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

N_NODES = 240
FARTHEST = (-6.0, 9.5)  # of y: what no pilot can tell from always beaten, or never
REACH = 7.0  # standard deviations to either side of the mean
LEAST = 0.02  # of y, that nodes span
N_CELLS = 24  # in each of which the third derivative is constant
UNIT = 0.7  # of y in which bends are measured, or tau where that is less
RARE = 4e-4  # losses expected at the pilot's size where the law bends no more: nobody sees them
HOPELESS = -2.0  # y below which it may not
BENDS = (0.12, 0.5, 2.0, 8.0, 32.0)  # values of sigma, each the start of the next
TIGHTNESS = (0.01, 1.0)  # prior precisions of theta_1 and theta_2
STEPS, ENOUGH = 60, 1e-8  # of Newton's method, and what steps could still gain at its end
LEAST_DAMPING, MORE, LESS = 0.02, 4.0, 0.2  # of these steps, and how fast it changes
TINY = 1e-12  # of accuracies, which nothing tells from none or all
FINEST = 0.05  # steps between numbers of losses that are told apart, as a share of them


def loss_rows(n_rivals: int) -> Floats:
    """Return numbers of losses that are told apart: all small ones, then ever fewer.

    Examples
    --------
    >>> loss_rows(10).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    >>> len(loss_rows(10**7)) < 600
    True
    """
    rows = [0]
    while rows[-1] < n_rivals:
        near = min(rows[-1], n_rivals - rows[-1])
        rows.append(min(rows[-1] + max(1, int(FINEST * near)), n_rivals))
    return np.array(rows, dtype=np.float64)


def bending_top(n_classes: int) -> float:
    """Return the largest y at which a law may bend, far past all that a pilot shows."""
    return float(-ndtri(RARE / n_classes))


def spread_over_rows(rows: Floats, losses: Any, weights: Floats) -> Floats:
    """Share each weight between the rows next to its number of losses, so that means stay."""
    lost = np.asarray(losses, dtype=np.float64)
    above = np.clip(np.searchsorted(rows, lost), 1, len(rows) - 1)
    part = (lost - rows[above - 1]) / (rows[above] - rows[above - 1])
    shares = np.bincount(above, weights * part, len(rows))
    return np.asarray(shares + np.bincount(above - 1, weights * (1 - part), len(rows)))


def nodes_around(xp: Any, mu: Any, tau: Any) -> Any:
    """Return equidistant values of y (..., nodes) on which laws near a normal one are held."""
    low = (mu - REACH * tau).clip(FARTHEST[0], FARTHEST[1] - LEAST)
    high = (mu + REACH * tau).clip(None, FARTHEST[1])
    # As wide as that even where mu lies outside of what can be told.
    high = xp.where(high - low < LEAST, low + LEAST, high)
    place = xp.asarray(np.arange(N_NODES) / (N_NODES - 1))  # in doubles, which torch's are not
    return low[..., None] + (high - low)[..., None] * _like(xp, place, low)


@dataclass(frozen=True)
class Bent:
    """Posterior of a bent law: one normal law of its coefficients for each value of sigma.

    Attributes
    ----------
    weights : array (..., bends, nodes)
        The law at each mode.
    chances : array (..., bends)
        What each value of sigma counts; they sum to one.
    slopes : array (..., bends, coefficients, nodes)
        By how much log weights move with each of some independent standard normal numbers, centred
        so that the weights go on summing to one.
    """

    weights: Any
    chances: Any
    slopes: Any


def bend(
    xp: Any, likelihood: Any, shares: Any, y: Any, mu: Any, tau: Any, top: Any, n_effective: Any
) -> Bent:
    """Bend normal laws towards what the losses say.

    Parameters
    ----------
    xp : module
        `numpy` or `torch`.
    likelihood : array (..., rows, nodes)
        Of each number of losses at each node, up to a factor for each row.
    shares : array (..., rows)
        Share of the probes with so many losses.
    y : array (..., nodes)
        Nodes.
    mu, tau : array (...)
        The normal law.
    top : array (...)
        Largest y at which the law may bend.
    n_effective : array (...)
        How many independent probes the pilot's are worth.
    """
    x = (y - mu[..., None]) / tau[..., None]
    start = -0.5 * x * x
    columns = xp.concatenate([xp.stack([x, (x * x - 1) / 2], -1), _bends(xp, y, mu, tau, top)], -1)
    one = xp.ones_like(mu)
    coefficients = xp.zeros_like(columns[..., 0, :])
    weights, values, slopes = [], [], []
    for sigma in BENDS:
        tight = [TIGHTNESS[0] * one, TIGHTNESS[1] * one]
        precision = xp.stack([*tight, *(N_CELLS * [one / sigma**2])], -1)
        problem = _Problem(xp, likelihood, shares, start, columns, precision, n_effective)
        coefficients, law, value, information = problem.solve(coefficients)
        sign_and_log = xp.linalg.slogdet(information)
        values.append(value - 0.5 * sign_and_log[1] + 0.5 * xp.log(precision).sum(-1))
        weights.append(law)
        # L L' = H, so that L'^-1 times standard normal numbers has the covariance H^-1.
        lower = xp.linalg.cholesky(information)
        rows = xp.linalg.solve(lower, _turned(xp, columns))
        slopes.append(rows - (rows * law[..., None, :]).sum(-1)[..., None])
    evidence = xp.stack(values, -1)
    chances = xp.exp(evidence - xp.amax(evidence, -1)[..., None])
    return Bent(xp.stack(weights, -2), chances / chances.sum(-1)[..., None], xp.stack(slopes, -3))


def curve_errors(xp: Any, bent: Bent, powers: Any) -> tuple[Any, Any]:
    """Return log odds of the mean of some powers under all laws, and their standard deviations.

    Parameters
    ----------
    xp : module
        `numpy` or `torch`.
    bent : Bent
        What was fitted.
    powers : array (..., points, nodes)
        U^(k - 1) at each node, for each number of classes k.
    """
    means = xp.einsum("...sj,...kj->...sk", bent.weights, powers).clip(TINY, 1 - TINY)
    moved = xp.einsum("...spj,...kj->...skp", bent.slopes * bent.weights[..., None, :], powers)
    chances = bent.chances[..., None]
    middle = (chances * means).sum(-2)
    errors = ((moved / (means * (1 - means))[..., None]) ** 2).sum(-1)
    apart = (_log_odds(xp, means) - _log_odds(xp, middle)[..., None, :]) ** 2
    return _log_odds(xp, middle), xp.sqrt((chances * (errors + apart)).sum(-2))


def _log_odds(xp: Any, shares: Any) -> Any:
    return xp.log(shares) - xp.log1p(-shares)


def _bends(xp: Any, y: Any, mu: Any, tau: Any, top: Any) -> Any:
    """Return the bend that each cell's third derivative makes (..., nodes, cells).

    Integrated from the mean outwards, so that a cell bends only what lies beyond it. Past the last
    cell the law goes on as a parabola.
    """
    unit = tau.clip(None, UNIT)
    low = (mu - 4 * tau).clip(HOPELESS, None)
    low = low.clip(None, top - 2 * unit)
    columns = []
    for cell in range(N_CELLS):
        first = low + (top - low) * (cell / N_CELLS)
        last = low + (top - low) * ((cell + 1) / N_CELLS)
        # What a cell holds of either side of the mean bends that side.
        a, b = first.clip(mu, None), last.clip(mu, None)
        right = _cubed(y - a[..., None]) - _cubed(y - b[..., None])
        a, b = first.clip(None, mu), last.clip(None, mu)
        left = _cubed(b[..., None] - y) - _cubed(a[..., None] - y)
        width = ((last - first) / unit)[..., None]
        columns.append((right - left) / (6 * unit[..., None] ** 3 * width**0.5))
    return xp.stack(columns, -1)


def _cubed(values: Any) -> Any:
    return values.clip(0.0, None) ** 3


def _turned(xp: Any, values: Any) -> Any:
    return xp.swapaxes(values, -1, -2)


@dataclass(frozen=True)
class _Problem:
    """Log posterior of the coefficients at one value of sigma, with its slopes."""

    xp: Any
    likelihood: Any
    shares: Any
    start: Any
    columns: Any
    precision: Any
    n_effective: Any

    def law(self, coefficients: Any) -> Any:
        xp = self.xp
        exponent = self.start + (self.columns * coefficients[..., None, :]).sum(-1)
        raised = xp.exp(exponent - xp.amax(exponent, -1)[..., None])
        return raised / raised.sum(-1)[..., None]

    def value(self, coefficients: Any) -> tuple[Any, Any, Any]:
        """Return the log posterior, the law, and the chance of each row."""
        xp = self.xp
        law = self.law(coefficients)
        chance = (self.likelihood @ law[..., None])[..., 0].clip(1e-300, None)
        value = self.n_effective * (self.shares * xp.log(chance)).sum(-1)
        return value - 0.5 * (self.precision * coefficients**2).sum(-1), law, chance

    def slope(self, coefficients: Any, law: Any, chance: Any) -> tuple[Any, Any]:
        """Return the slope of the log posterior, and Fisher's information of the coefficients."""
        seen = self._seen(law, chance)
        counted = self.shares[..., None] * seen
        n = self.n_effective[..., None]
        information = n[..., None] * (_turned(self.xp, counted) @ seen)
        precision = self.precision[..., None] * _eye(self.xp, information)
        slope = n * counted.sum(-2) - self.precision * coefficients
        return slope, information + precision

    def bent(self, law: Any, chance: Any, information: Any) -> Any:
        """Return how the slope changes."""
        xp = self.xp
        given = (_turned(xp, self.likelihood) @ (self.shares / chance)[..., None])[..., 0]
        centred = self.columns - (law[..., None] * self.columns).sum(-2)[..., None, :]
        n = self.n_effective[..., None, None]
        known = n * (_turned(xp, law[..., None] * centred) @ centred)
        left_open = n * (_turned(xp, (law * given)[..., None] * centred) @ centred)
        return information + known - left_open

    def _seen(self, law: Any, chance: Any) -> Any:
        """Return what each row says of the columns, less their mean."""
        weighted = law[..., None] * self.columns
        return (self.likelihood @ weighted) / chance[..., None] - weighted.sum(-2)[..., None, :]

    def solve(self, coefficients: Any) -> tuple[Any, Any, Any, Any]:
        """Return the mode, its law, the log posterior and the information there."""
        xp = self.xp
        value, law, chance = self.value(coefficients)
        slope, information = self.slope(coefficients, law, chance)
        damping = xp.zeros_like(value)
        for _ in range(STEPS):
            going = (slope / _diagonal(xp, information) * slope).sum(-1) > ENOUGH
            if not bool(going.any()):
                break
            lift = damping[..., None, None] * information
            lifted = self.bent(law, chance, information) + lift
            step = xp.linalg.solve(lifted, slope[..., None])[..., 0]
            trial = coefficients + step
            trial_value, trial_law, trial_chance = self.value(trial)
            along = (slope * step).sum(-1)
            better = going & (along > 0) & (trial_value > value)
            ratio = (trial_value - value) / _promised(xp, along, step, lift)
            # What is done waits for the others as it is.
            damping = xp.where(going, _changed(xp, damping, better, ratio), damping)
            coefficients = xp.where(better[..., None], trial, coefficients)
            value = xp.where(better, trial_value, value)
            law = xp.where(better[..., None], trial_law, law)
            chance = xp.where(better[..., None], trial_chance, chance)
            slope, information = self.slope(coefficients, law, chance)
        return coefficients, law, value, information


def _promised(xp: Any, along: Any, step: Any, lift: Any) -> Any:
    """Return what a lifted step would gain if the slope went on changing as it does."""
    gain = 0.5 * (along + (step * (lift @ step[..., None])[..., 0]).sum(-1))
    return xp.where(gain > 0, gain, xp.ones_like(gain))


def _changed(xp: Any, damping: Any, better: Any, ratio: Any) -> Any:
    """Return the next damping, by the ratio of a step's gain to what it promised."""
    factor = (1 - (2 * ratio - 1) ** 3).clip(LESS, 2.0)
    changed = xp.where(better, damping * factor, (MORE * damping).clip(LEAST_DAMPING, None))
    return changed * (changed > 1e-3)


def _diagonal(xp: Any, square: Any) -> Any:
    return xp.einsum("...ii->...i", square)


def _eye(xp: Any, like: Any) -> Any:
    return _like(xp, xp.eye(like.shape[-1]), like)


def _like(xp: Any, values: Any, other: Any) -> Any:
    """Return values as the type of another array, where it lies."""
    return values if xp is np else values.to(other)
