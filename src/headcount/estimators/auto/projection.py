r"""From forecast curves to laws of favorability.

Of all laws that come close to a curve at the numbers of classes asked for, the one that departs
least from a reference law is taken (minimum relative entropy):

.. math:: \min_w \sum_j w_j \log\frac{w_j}{b_j}
          + \frac{1}{2 s^2} \sum_r \Bigl(\sum_j w_j U_j^{k_r - 1} - a_r\Bigr)^2 .

The solution is :math:`w_j \propto b_j \exp(-\sum_r \alpha_r U_j^{k_r - 1})`, where
:math:`\alpha` maximises a smooth and strictly concave function of as many variables as there are
points of the curve. Between and beyond the points the law goes on as the reference does. Many
curves are turned into laws at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability

Floats = NDArray[np.float64]

CLOSE = 5e-4  # s: how close to the curve, in accuracy
STEPS = 100
ENOUGH = 1e-8  # what a step could still gain, from where on two more will do


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
    >>> from headcount.simulate.theory import probit_normal_law
    >>> law = closest_law(probit_normal_law(1, 1), np.array([10.0, 100.0]), np.array([0.6, 0.3]))
    >>> law.accuracy([10, 100]).round(3).tolist()
    [0.6, 0.3]
    """
    curve = np.asarray(accuracy, dtype=np.float64)[None]
    weights = closest_weights(reference, counts, curve, np.full(len(counts), CLOSE))[0]
    return Favorability(reference.p, weights)


def closest_weights(
    reference: Favorability, counts: Floats, curves: Floats, close: Floats
) -> Floats:
    """Return, for each curve, weights on the reference's nodes: those of the closest law.

    Parameters
    ----------
    reference, counts
        See `closest_law`.
    curves : ndarray (curves, points)
        Accuracies wanted.
    close : ndarray (points,)
        s at each point.
    """
    # Each step of the curve on its own: powers next to each other are nearly the same.
    order = np.argsort(counts)
    powers = np.exp(np.multiply.outer(counts[order] - 1, reference.log_u))
    rows = np.diff(powers, axis=0, prepend=0.0)
    goals = np.diff(curves[:, order], axis=1, prepend=0.0)
    return _tilted(np.log(reference.weights), rows, goals, _of_differences(close[order]))


def _of_differences(close: Floats) -> Floats:
    """Return the covariance of differences between points whose errors are independent."""
    step = np.eye(len(close)) - np.eye(len(close), k=-1)
    return np.asarray((step * close**2) @ step.T)


def _tilted(log_base: Floats, rows: Floats, goals: Floats, close: Floats) -> Floats:
    """Maximise the dual of each goal by Newton's method with halved steps; return the weights."""
    alpha = np.zeros(goals.shape)
    weights, value = _dual(alpha, log_base, rows, goals, close)
    patience = np.full(len(goals), 2)
    for _ in range(STEPS):
        mean = weights @ rows.T
        slope = mean - goals - alpha @ close
        second = np.einsum("mj,rj,sj->mrs", weights, rows, rows, optimize=True)
        bent = second - mean[:, :, None] * mean[:, None] + close
        step = np.linalg.solve(bent, slope[..., None])[..., 0]
        gain = (slope * step).sum(axis=1)
        patience -= gain < ENOUGH
        size = np.ones(len(goals))
        while True:
            trial = alpha + size[:, None] * step
            trial_weights, trial_value = _dual(trial, log_base, rows, goals, close)
            short = (gain >= ENOUGH) & (trial_value < value + 1e-4 * size * gain) & (size > 1e-9)
            if not short.any():
                break
            size = np.where(short, size / 2, size)
        alpha, weights, value = trial, trial_weights, trial_value
        if (patience <= 0).all():
            break
    return weights


def _dual(
    alpha: Floats, log_base: Floats, rows: Floats, goals: Floats, close: Floats
) -> tuple[Floats, Floats]:
    exponent = log_base - alpha @ rows
    top = exponent.max(axis=1)
    raised = np.exp(exponent - top[:, None])
    total = raised.sum(axis=1)
    own = (alpha * goals).sum(axis=1) + 0.5 * ((alpha @ close) * alpha).sum(axis=1)
    return raised / total[:, None], -(np.log(total) + top) - own
