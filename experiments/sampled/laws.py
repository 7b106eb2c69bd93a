"""Rank metrics of a catalogue under a law of favorability."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from experiments.sampled.ranks import TOP, all_ranks, gain
from headcount.curves.favorability import Favorability


def recall_of_law(law: Favorability, n_items: int) -> float:
    """Return the chance to be among the best ten."""
    return float(law.top(TOP, n_items))


def reciprocal_of_law(law: Favorability, n_items: int) -> float:
    r"""Return the expected reciprocal rank.

    One plus the rivals that win, X of n - 1, is the rank:

    .. math:: E\left[\frac1{1 + X}\right] = E\left[\frac{1 - (1 - p)^n}{n p}\right],
        \qquad X \sim \mathrm{Binomial}(n - 1, p).

    Examples
    --------
    >>> reciprocal_of_law(Favorability([0.0, 0.5], [0.5, 0.5]), 2)  # 1, and 1 or 1/2
    0.875
    """
    sure = law.p == 0  # nobody wins: the limit is one
    some = np.where(sure, 1.0, law.p)
    values = np.where(sure, 1.0, -np.expm1(n_items * law.log_u) / (n_items * some))
    return float(law.weights @ values)


def gain_of_law(law: Favorability, n_items: int) -> float:
    r"""Return the expected discounted gain among the best ten.

    .. math:: E\left[\sum_{x=0}^{9} P(X = x) / \log_2(2 + x)\right],
        \qquad X \sim \mathrm{Binomial}(n - 1, p).

    Examples
    --------
    >>> round(gain_of_law(Favorability([0.5], [1.0]), 2), 4)  # 1 or 1 / log2(3)
    0.8155
    """
    ranks = all_ranks(TOP)
    chances = np.asarray(binom.pmf(ranks[:, None] - 1, n_items - 1, law.p))
    return float(gain(ranks, n_items) @ chances @ law.weights)


OF_LAW = {"recall@10": recall_of_law, "MRR": reciprocal_of_law, "nDCG@10": gain_of_law}
