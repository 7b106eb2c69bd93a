"""Estimators that put a value in place of each sampled rank: naive, by rank, by bias and variance.

The estimate is the mean of the values over probes.

W. Krichene and S. Rendle, *On sampled metrics for item recommendation*, KDD 2020.
"""

from __future__ import annotations

import numpy as np

from experiments.sampled.ranks import Floats, Metric, all_ranks, binomial_chances

BALANCE = 0.1


def naive(metric: Metric, n_items: int, n_negatives: int) -> Floats:
    """Return the metric of each sampled rank, as if the m + 1 items were the catalogue.

    Examples
    --------
    >>> from experiments.sampled.ranks import reciprocal
    >>> naive(reciprocal, 100, 3).round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    """
    return metric(all_ranks(n_negatives + 1), n_negatives + 1)


def by_rank(metric: Metric, n_items: int, n_negatives: int) -> Floats:
    r"""Return the metric of the full rank that each sampled rank is expected to come from.

    .. math:: \hat M(r) = M\!\left(1 + \frac{(n - 1)(r - 1)}{m}\right),

    the unbiased estimate of the rank, which need not be whole.

    References
    ----------
    Krichene and Rendle (2020), the rank estimator.

    Examples
    --------
    >>> from experiments.sampled.ranks import reciprocal
    >>> by_rank(reciprocal, 13, 3).tolist()  # of ranks 1, 5, 9 and 13
    [1.0, 0.2, 0.1111111111111111, 0.07692307692307693]
    """
    lost = all_ranks(n_negatives + 1) - 1
    return metric(1 + (n_items - 1) * lost / n_negatives, n_items)


def by_bias_and_variance(metric: Metric, n_items: int, n_negatives: int) -> Floats:
    r"""Return the values with the least squared bias and a tenth of the variance.

    They minimise

    .. math:: \sum_R p(R) \left\{ \big(E[\hat M(r) \mid R] - M(R)\big)^2
        + \gamma \operatorname{Var}[\hat M(r) \mid R] \right\},

    that is, with :math:`A_{Rr} = \sqrt{p(R)}\, P(r \mid R)`, :math:`b_R = \sqrt{p(R)}\, M(R)` and
    :math:`c_r = \sum_R p(R) P(r \mid R)`,

    .. math:: \hat M = \left((1 - \gamma) A^\top A + \gamma \operatorname{diag}(c)\right)^{-1}
        A^\top b.

    Full ranks R are taken to be uniform over 1 ... n, and :math:`\gamma` is 0.1.

    References
    ----------
    Krichene and Rendle (2020), the estimator that trades bias for variance.

    Examples
    --------
    Two sampled ranks, where chances are straight lines and the metric is one, too:

    >>> from experiments.sampled.ranks import share_beaten
    >>> by_bias_and_variance(share_beaten, 101, 1).round(3).tolist()
    [0.919, 0.081]
    """
    chances = binomial_chances(n_items, n_negatives)
    shares = chances.mean(axis=1)
    squares = chances @ chances.T / n_items
    products = chances @ metric(all_ranks(n_items), n_items) / n_items
    system = (1 - BALANCE) * squares + BALANCE * np.diag(shares)
    return np.asarray(np.linalg.solve(system, products))
