r"""The score-distribution model: a law of the scores of documents that are not relevant.

For each query a skew-normal law is fitted to the scores of a random sample of documents that are
not relevant; the scores of its relevant ones are known. Each of n random rivals scores above a
relevant document with score s with chance :math:`\bar F(s)`, so that with a other relevant ones
ahead of it its rank is 1 + a + X, X being Binomial(n, :math:`\bar F(s)`).

The model is that of a paper at ECIR 2026; the fits are our own. A skew-normal law is fitted by
maximum likelihood (`scipy.stats.skewnorm.fit`): moments cannot give a skewness past 0.995, which
scores often have, and would then be cut. Past its 90% quantile the tail may be a generalised Pareto
law, fitted by probability-weighted moments, as there are as few as eight scores, too few for its
likelihood to have a maximum always:

.. math:: \bar F(s) = \bar F(t) \left(1 + \xi \frac{s - t}{\sigma}\right)^{-1/\xi}, \qquad
          \xi = 2 - \frac{b_0}{b_0 - 2 b_1}, \quad \sigma = \frac{2 b_0 b_1}{b_0 - 2 b_1},

with :math:`b_0` the mean of the excesses over the threshold t, and :math:`b_1` their mean weighted
by the share that is larger.

References
----------
J. R. M. Hosking and J. R. Wallis, *Parameter and quantile estimation for the generalized Pareto
distribution*, Technometrics 29, 339-349, 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import genpareto, skewnorm

from headcount.metrics import Metric
from headcount.pilot.ranking import Ranking

Floats = NDArray[np.float64]

THRESHOLD = 0.9  # share of the sample below the tail
FEWEST = 5  # scores in the tail, at least

PLAIN, WITH_TAIL = MODELS = ("skew-normal", "skew-normal, Pareto tail")


@dataclass(frozen=True)
class SkewNormal:
    """A skew-normal law of scores.

    Attributes
    ----------
    shape, loc, scale : float
        As in `scipy.stats.skewnorm`.
    """

    shape: float
    loc: float
    scale: float

    @classmethod
    def fit(cls, sample: Floats) -> SkewNormal:
        """Return the law that makes a sample of scores likeliest."""
        return cls(*(float(value) for value in skewnorm.fit(sample)))

    def chance_above(self, scores: Any) -> Floats:
        """Return the chance of a random score above these."""
        return np.clip(skewnorm.sf(scores, self.shape, self.loc, self.scale), 0.0, 1.0)


@dataclass(frozen=True)
class ParetoTail:
    """A law of scores whose tail past a threshold is generalised Pareto.

    Attributes
    ----------
    body : SkewNormal
        The law up to the threshold, scaled so that it has the sample's share there.
    threshold, share : float
        Where the tail starts, and the chance to be in it.
    shape, scale : float
        As in `scipy.stats.genpareto`.
    """

    body: SkewNormal
    threshold: float
    share: float
    shape: float
    scale: float

    @classmethod
    def fit(cls, sample: Floats, body: SkewNormal) -> ParetoTail:
        """Return the law whose body is that and whose tail is fitted to a sample of scores."""
        threshold = float(np.quantile(sample, THRESHOLD))
        excesses = sample[sample > threshold] - threshold
        if len(excesses) < FEWEST:
            raise ValueError(f"only {len(excesses)} scores are in the tail")
        return cls(body, threshold, len(excesses) / len(sample), *fit_pareto(excesses))

    def chance_above(self, scores: Any) -> Floats:
        """Return the chance of a random score above these."""
        asked = np.asarray(scores, dtype=np.float64)
        tail = self.share * genpareto.sf(asked - self.threshold, self.shape, scale=self.scale)
        below = (1 - self.body.chance_above(asked)) / (1 - self.body.chance_above(self.threshold))
        return np.clip(np.where(asked > self.threshold, tail, 1 - (1 - self.share) * below), 0, 1)


def fit_pareto(excesses: Floats) -> tuple[float, float]:
    """Return shape and scale of a generalised Pareto law, by probability-weighted moments.

    Examples
    --------
    Excesses that lie as those of an exponential law do have no shape:

    >>> evenly = -np.log1p(-(np.arange(10_000) + 0.5) / 10_000)
    >>> [round(abs(value), 2) for value in fit_pareto(3 * evenly)]
    [0.0, 3.0]
    """
    n = len(excesses)
    larger = np.arange(n - 1, -1, -1) / (n - 1)
    mean = float(excesses.mean())
    weighted = float(np.mean(larger * np.sort(excesses)))
    gap = mean - 2 * weighted
    return 2 - mean / gap, 2 * mean * weighted / gap


def fit_tails(rivals: Floats, bodies: Sequence[SkewNormal]) -> list[ParetoTail]:
    """Return the laws of each query's rivals (rows) with a Pareto tail."""
    return [ParetoTail.fit(row, body) for row, body in zip(rivals, bodies, strict=True)]


def chances_above(laws: Sequence[SkewNormal | ParetoTail], marks: Floats) -> Floats:
    """Return the chance of one rival to be ahead of each relevant document, row after row."""
    pairs = zip(laws, marks, strict=True)
    return np.concatenate([law.chance_above(row) for law, row in pairs])


def expected_metric(ranking: Ranking, chances: Floats, k: Any, metric: Metric) -> Floats:
    r"""Return a metric among k documents where the rivals' chance to be ahead is known.

    .. math:: \frac1Q \sum_q \sum_i c_i \, E[v(a_i + X_i)], \qquad
              X_i \sim \mathrm{Binomial}(k - G, p_i)

    Parameters
    ----------
    ranking : Ranking
        Of the graded documents, without ties.
    chances : ndarray
        p of each, in the order of the ranking's rows.
    k : array_like
        Numbers of documents.
    metric : Metric
        What is expected.
    """
    counts = np.asarray(k, dtype=np.float64)
    weights = metric.emphasis(ranking) / ranking.n_queries
    total = np.zeros(len(counts))
    for above, absent in set(zip(ranking.above.tolist(), ranking.absent.tolist(), strict=True)):
        worth = metric.worth_of_ranks.past(above)
        rows = (ranking.above == above) & (ranking.absent == absent)
        if worth is not None:
            total += (
                worth.of_nodes(chances[rows], np.maximum(counts - absent, 0) + 1) @ weights[rows]
            )
    return total
