"""Discounted gain: what a rank is worth in nDCG, nothing past the best m."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.metrics.by_rank import ByRank
from headcount.support.words import percent

Floats = NDArray[np.float64]


class Discounted(ByRank):
    r"""One over the logarithm of the rank, and nothing past rank m.

    .. math:: v_x = \frac{1}{\log_2(2 + x)}

    where x others are ahead. Where one answer is right this is nDCG@m.

    References
    ----------
    Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques* (2002).

    Examples
    --------
    >>> Discounted(3).of_each(np.array([0, 1, 2, 3]), 3, 4).round(3).tolist()
    [1.0, 0.631, 0.5, 0.0]
    """

    words = "ndcg", "nDCG"

    @staticmethod
    def worth_of(ranks: Floats) -> Floats:
        """Return one over the logarithm of ranks."""
        return np.asarray(1 / np.log2(1 + ranks))

    def describe_mean(self, value: float) -> str:
        """Return in words what a value between nought and one means.

        Examples
        --------
        >>> Discounted(10).describe(0.71)
        'the right class gets 71% of the gain it would have at rank 1'
        """
        return f"the right class gets {percent(value)} of the gain it would have at rank 1"
