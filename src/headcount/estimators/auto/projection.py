r"""From a forecast curve to a law of favorability.

Of all laws that come close to the curve at the numbers of classes asked for, the one that departs
least from a reference law is taken (minimum relative entropy):

.. math:: \min_w \sum_j w_j \log\frac{w_j}{b_j}
          + \frac{1}{2 s^2} \sum_r \Bigl(\sum_j w_j U_j^{k_r - 1} - a_r\Bigr)^2 .

The solution is :math:`w_j \propto b_j \exp(-\sum_r \alpha_r U_j^{k_r - 1})`, where
:math:`\alpha` maximises a smooth and strictly concave function of as many variables as there are
points of the curve. Between and beyond the points the law goes on as the reference does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from headcount.curves.favorability import Favorability

Floats = NDArray[np.float64]

CLOSE = 5e-4  # s: how close to the curve, in accuracy
STEPS = 100
ENOUGH = 1e-10  # what a step could still gain, from where on two more will do
GAP, LEAST_GAP = 0.03, 0.005  # between nodes of y
REACH = 9.0
SHARES = (0.94, 0.03, 0.03)


def reference_law(mu: float, tau: float) -> Favorability:
    """Return a probit-normal law with a little of a guess and of one twice as wide mixed in.

    Without these the tails of the normal law would leave nothing to weigh up. The nodes are so
    close that sums over them are integrals of any U^(k-1).
    """
    gap = float(np.clip(tau / 4, LEAST_GAP, GAP))
    low = np.floor(min(-REACH, mu - 2 * REACH * tau) / gap)
    high = np.ceil(max(REACH, mu + 2 * REACH * tau) / gap)
    y = np.arange(low, high + 1) * gap
    centres, widths = np.array([mu, 0.0, mu]), np.array([tau, 1.0, 2 * tau])
    bells = np.exp(-0.5 * ((y[:, None] - centres) / widths) ** 2)
    return Favorability(np.maximum(ndtr(-y), 1e-300), bells / bells.sum(axis=0) @ SHARES)


def closest_law(reference: Favorability, counts: Floats, accuracy: Floats) -> Favorability:
    """Return the law close to a curve that departs least from the reference.

    Parameters
    ----------
    reference : Favorability
        What is kept where the curve says nothing.
    counts, accuracy : ndarray
        Numbers of classes, which need not be whole, and the accuracies wanted there.

    Examples
    --------
    >>> law = closest_law(reference_law(1.0, 1.0), np.array([10.0, 100.0]), np.array([0.6, 0.3]))
    >>> law.accuracy([10, 100]).round(3).tolist()
    [0.6, 0.3]
    """
    log_u = np.log1p(-np.minimum(reference.p, 1 - 1e-16))
    powers = np.exp(np.multiply.outer(counts - 1, log_u))
    # Each step of the curve on its own: powers next to each other are nearly the same.
    order = np.argsort(counts)
    rows = np.diff(powers[order], axis=0, prepend=0.0)
    goal = np.diff(accuracy[order], prepend=0.0)
    close = _distances(len(order)) * CLOSE**2
    weights = _tilted(np.log(reference.weights), rows, goal, close)
    return Favorability(reference.p, weights)


def _distances(n: int) -> Floats:
    """Return the covariance of differences between points whose errors are independent."""
    step = np.eye(n) - np.eye(n, k=-1)
    return np.asarray(step @ step.T)


def _tilted(log_base: Floats, rows: Floats, goal: Floats, close: Floats) -> Floats:
    """Maximise the dual by Newton's method with halved steps, and return the weights."""
    alpha = np.zeros(len(goal))
    weights, value = _dual(alpha, log_base, rows, goal, close)
    patience = 2
    for _ in range(STEPS):
        mean = rows @ weights
        slope = mean - goal - close @ alpha
        centred = rows - mean[:, None]
        step = np.linalg.solve((centred * weights) @ centred.T + close, slope)
        gain = float(slope @ step)
        patience -= gain < ENOUGH
        size = 1.0
        trial = _dual(alpha + step, log_base, rows, goal, close)
        while gain >= ENOUGH and trial[1] < value + 1e-4 * size * gain and size > 1e-9:
            size /= 2
            trial = _dual(alpha + size * step, log_base, rows, goal, close)
        alpha = alpha + size * step
        weights, value = trial
        if patience <= 0:
            break
    return weights


def _dual(
    alpha: Floats, log_base: Floats, rows: Floats, goal: Floats, close: Floats
) -> tuple[Floats, float]:
    exponent = log_base - alpha @ rows
    top = exponent.max()
    raised = np.exp(exponent - top)
    total = raised.sum()
    value = -(np.log(total) + top) - alpha @ goal - 0.5 * alpha @ close @ alpha
    return raised / total, float(value)
