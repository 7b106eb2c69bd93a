"""Estimators of the whole distribution of full ranks: by likelihood (EM) and by entropy.

The estimate of a metric is its mean under that distribution.

R. Jin, D. Li, B. Mudrak, J. Gao and Z. Liu, *On estimating recommendation evaluation metrics under
sampling*, AAAI 2021; D. Li, R. Jin, Z. Liu, B. Ren, J. Gao and Z. Liu, *Towards reliable item
sampling for recommendation evaluation*, AAAI 2023.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from experiments.sampled.ranks import Floats

GAIN = 1e-8
ENTROPY = 0.001


def by_likelihood(shares: Floats, chances: Floats, gain: float = GAIN) -> Floats:
    r"""Return the distribution of full ranks under which the sampled ranks are likeliest.

    EM from the uniform distribution,

    .. math:: P(R) \leftarrow P(R) \sum_r \hat p(r) \frac{P(r \mid R)}{\sum_S P(S) P(r \mid S)},

    never lowers the likelihood. It ends with the first step by which the mean log likelihood of a
    probe rises by no more than `gain`.

    Parameters
    ----------
    shares : array, shape (m + 1,)
        Share of probes with each sampled rank.
    chances : array, shape (m + 1, n)
        Chance of each sampled rank given each full rank.
    gain : float
        Where to end.

    Returns
    -------
    array, shape (n,)
        Weights of the full ranks 1 ... n.

    References
    ----------
    Jin et al. (2021), maximum likelihood by EM; Li et al. (2023).

    Examples
    --------
    One rival out of two: a full rank of 2 is as good as ranks 1 and 3 in equal parts.

    >>> from experiments.sampled.ranks import binomial_chances
    >>> chances = binomial_chances(3, 1)
    >>> by_likelihood(np.array([0.5, 0.5]), chances).round(3).tolist()
    [0.333, 0.333, 0.333]
    >>> by_likelihood(np.array([1.0, 0.0]), chances).round(3).tolist()
    [1.0, 0.0, 0.0]
    """
    seen = shares > 0
    shares, chances = shares[seen], chances[seen]
    weights = np.full(chances.shape[1], 1 / chances.shape[1])
    before = -np.inf
    while True:
        fitted = chances @ weights
        likelihood = float(shares @ np.log(fitted))
        if likelihood - before <= gain:
            return weights
        before = likelihood
        weights = weights * (shares / fitted @ chances)


def by_entropy(shares: Floats, chances: Floats) -> Floats:
    r"""Return a distribution of full ranks that fits the sampled ones and is near the uniform.

    It minimises, over distributions P of the ranks 1 ... n,

    .. math:: \sum_r \Big(\hat p(r) - \sum_R P(R) P(r \mid R)\Big)^2
        + \eta \sum_R P(R) \log P(R), \qquad \eta = 0.001,

    all sampled ranks weighing the same. At the minimum :math:`P(R) \propto \exp(\sum_r \lambda_r
    P(r \mid R) / \eta)`, and the m + 1 numbers :math:`\lambda` maximise the concave dual

    .. math:: \lambda^\top \hat p - \tfrac14 \lambda^\top \lambda
        - \eta \log \sum_R \exp\Big(\sum_r \lambda_r P(r \mid R) / \eta\Big),

    which is done by Newton's method in a trust region.

    Parameters
    ----------
    shares : array, shape (m + 1,)
        Share of probes with each sampled rank.
    chances : array, shape (m + 1, n)
        Chance of each sampled rank given each full rank.

    Returns
    -------
    array, shape (n,)
        Weights of the full ranks 1 ... n.

    References
    ----------
    Jin et al. (2021), maximal entropy. Weights of sampled ranks and :math:`\eta` were not found
    printed in what was at hand; these are the plainest.

    Examples
    --------
    >>> from experiments.sampled.ranks import binomial_chances
    >>> by_entropy(np.array([0.5, 0.5]), binomial_chances(3, 1)).round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    def weights_of(slopes: Floats) -> Floats:
        return np.asarray(softmax(slopes @ chances / ENTROPY))

    def negative(slopes: Floats) -> float:
        total = ENTROPY * float(logsumexp(slopes @ chances / ENTROPY))
        return total + float(slopes @ slopes) / 4 - float(slopes @ shares)

    def gradient(slopes: Floats) -> Floats:
        return chances @ weights_of(slopes) + slopes / 2 - shares

    def hessian(slopes: Floats) -> Floats:
        weights = weights_of(slopes)
        means = chances @ weights
        spread = (chances * weights) @ chances.T - np.outer(means, means)
        return np.asarray(np.eye(len(shares)) / 2 + spread / ENTROPY)

    found = minimize(
        negative,
        np.zeros(len(shares)),
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    return weights_of(found.x)
