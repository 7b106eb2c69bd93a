r"""Ranks, full and sampled: metrics of them, and how one follows from the other.

A probe has rank R (1 is best) among the n items of a catalogue. Among m random rivals and itself
it has the sampled rank r, from 1 to m + 1: one more than the rivals drawn that beat it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Callable[[Floats, int], Floats]  # of ranks, real ones too, among so many items

TOP = 10


def recall_at_ten(ranks: Floats, n_items: int) -> Floats:
    """Return 1 where the rank is at most ten, else 0."""
    return np.where(ranks <= TOP, 1.0, 0.0)


def reciprocal(ranks: Floats, n_items: int) -> Floats:
    """Return 1 / R: the reciprocal rank, and average precision where one item is relevant."""
    return 1.0 / ranks


def gain_at_ten(ranks: Floats, n_items: int) -> Floats:
    """Return 1 / log2(1 + R) where the rank is at most ten, else 0."""
    return np.where(ranks <= TOP, gain(ranks, n_items), 0.0)


def gain(ranks: Floats, n_items: int) -> Floats:
    """Return 1 / log2(1 + R): the discounted gain, not cut."""
    return 1.0 / np.log2(1.0 + ranks)


def share_beaten(ranks: Floats, n_items: int) -> Floats:
    """Return the share of the other items that rank behind: the area under the ROC curve."""
    return (n_items - ranks) / (n_items - 1)


METRICS: Mapping[str, Metric] = {
    "recall@10": recall_at_ten,
    "MRR": reciprocal,
    "nDCG@10": gain_at_ten,
}


def all_ranks(n_items: int) -> Floats:
    """Return 1 ... n."""
    return np.arange(1, n_items + 1, dtype=np.float64)


def histogram(sampled: Ints, n_negatives: int) -> Ints:
    """Return how many probes have each sampled rank, from 1 to m + 1.

    Examples
    --------
    >>> histogram(np.array([1, 1, 4]), 3).tolist()
    [2, 0, 0, 1]
    """
    return np.bincount(sampled - 1, minlength=n_negatives + 1)


def draw_sampled_ranks(
    ranks: Ints, n_items: int, n_negatives: int, rng: np.random.Generator
) -> Ints:
    """Return each probe's rank among rivals of its own, drawn without replacement."""
    return 1 + rng.hypergeometric(ranks - 1, n_items - ranks, n_negatives)


def binomial_chances(n_items: int, n_negatives: int) -> Floats:
    r"""Return the chance of each sampled rank (rows) given each full rank (columns).

    .. math:: P(r \mid R) = \binom{m}{r - 1} p^{r-1} (1 - p)^{m - r + 1},
        \qquad p = \frac{R - 1}{n - 1},

    as if rivals were drawn with replacement, which all published estimators take for granted.

    Examples
    --------
    >>> binomial_chances(3, 2)
    array([[1.  , 0.25, 0.  ],
           [0.  , 0.5 , 0.  ],
           [0.  , 0.25, 1.  ]])
    """
    beaten_by = (all_ranks(n_items) - 1) / (n_items - 1)
    lost = np.arange(n_negatives + 1, dtype=np.float64)[:, None]
    return np.exp(
        _log_choose(n_negatives, lost)
        + xlogy(lost, beaten_by)
        + xlog1py(n_negatives - lost, -beaten_by)
    )


def exact_chances(ranks: Ints, n_items: int, n_negatives: int) -> Floats:
    r"""Return the chance of each sampled rank (rows) for these full ranks (columns).

    Rivals are drawn without replacement, so that losses are hypergeometric:

    .. math:: P(r \mid R) = \binom{R - 1}{r - 1} \binom{n - R}{m - r + 1} \Big/ \binom{n - 1}{m}.

    Examples
    --------
    >>> exact_chances(np.array([1, 2, 3]), 3, 1)
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 1. ]])
    """
    better = np.asarray(ranks, dtype=np.float64) - 1
    worse = n_items - 1 - better
    lost = np.arange(n_negatives + 1, dtype=np.float64)[:, None]
    won = n_negatives - lost
    possible = (lost <= better) & (won <= worse)
    logs = (
        _log_choose(better, np.minimum(lost, better))
        + _log_choose(worse, np.minimum(won, worse))
        - _log_choose(n_items - 1, n_negatives)
    )
    return np.where(possible, np.exp(logs), 0.0)


def _log_choose(n: Floats | float, k: Floats | float) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
