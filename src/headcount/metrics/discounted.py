"""Discounted gain: what a rank is worth in nDCG, nothing past the best m."""

from __future__ import annotations

import numpy as np

from headcount.errors import ParameterError
from headcount.metrics.by_rank import ByRank
from headcount.metrics.reciprocal import MOST
from headcount.metrics.top import Top
from headcount.support import validation
from headcount.support.words import ROUND_OFF, percent


class Discounted(ByRank):
    r"""One over the logarithm of the rank, and nothing past rank m.

    .. math:: v_x = \frac{1}{\log_2(2 + x)}

    where x others are ahead. Where one answer is right this is nDCG@m.

    Parameters
    ----------
    m : int
        Last rank that counts.
    above : int
        How many stand above the mark at every size.

    References
    ----------
    Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques* (2002).

    Examples
    --------
    >>> Discounted(3).of_each(np.array([0, 1, 2, 3]), 3, 4).round(3).tolist()
    [1.0, 0.631, 0.5, 0.0]
    """

    def __init__(self, m: int, above: int = 0) -> None:
        self.m, self.above = validation.whole_number(m, "m", 1), above
        if self.m > MOST:
            raise ParameterError(f"ndcg@m takes m up to {MOST:,}, but m is {self.m:,}.")
        self.name, self.label = f"ndcg@{self.m}", f"nDCG@{self.m}"
        self.loss_label = f"shortfall of {self.label}"
        self.worth = 1 / np.log2(np.arange(2.0 + above, self.m + 2))

    def past(self, above: int) -> Discounted | None:
        """Return the metric where so many stand above the mark at every size."""
        together = self.above + above
        return Discounted(self.m, together) if together < self.m else None

    def describe(self, value: float) -> str:
        """Return in words what a value means for probes.

        Examples
        --------
        >>> Discounted(10).describe(0.71)
        'the right class gets 71% of the gain it would have at rank 1'
        """
        if value > 1 - ROUND_OFF:
            return Top(1).describe(value)
        if value < ROUND_OFF:
            return Top(self.m).describe(value)
        return f"the right class gets {percent(value)} of the gain it would have at rank 1"
