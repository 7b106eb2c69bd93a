r"""Laws that are as plausible as the forecast one: what is known of its errors.

The network states a curve and the spread of its errors, on the logit scale at some k / K. How
errors go together along the curve was learned once for all pilots (`factor`, and a Student's law
for their tails). So each of 128 fixed points of a normal law in as many dimensions gives a
curve, and each curve the law of U nearest to the fit. Intervals of any metric are quantiles over
these laws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, expit, ndtri
from scipy.special import logit as log_odds
from scipy.stats import qmc

from headcount.curves.favorability import Favorability
from headcount.estimators.auto.projection import CLOSE, closest_law, closest_weights
from headcount.metrics import ACCURACY, Metric

Floats = NDArray[np.float64]

N_LAWS = 128
LEVEL = 0.9  # of the interval that spreads are taken from
EDGE = 1e-9
LOOSE = 0.15
FEWER = 8.0  # from each number of classes to the next, where the curve was measured


@dataclass(frozen=True)
class Laws:
    """Laws of U on the same nodes, each as plausible as the other.

    Attributes
    ----------
    p : ndarray
        Nodes.
    weights : ndarray (laws, nodes)
        One law a row.
    """

    p: Floats
    weights: Floats

    def values(self, k: Floats, metric: Metric) -> Floats:
        """Return a metric among k classes under each law, (laws, k).

        Numbers of classes need not be whole, but for metrics other than accuracy are rounded.
        """
        if metric == ACCURACY:
            log_u = np.log1p(-np.minimum(self.p, 1 - 1e-16))
            return np.asarray(self.weights @ np.exp(np.multiply.outer(log_u, k - 1)))
        counts = np.round(k).astype(np.int64)
        return np.array([Favorability(self.p, law).value(counts, metric) for law in self.weights])

    def spread(self, k: Floats, metric: Metric) -> Floats:
        """Return the standard deviations of log odds that would give intervals as wide."""
        values = np.clip(self.values(k, metric), EDGE, 1 - EDGE)
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return np.asarray((log_odds(high) - log_odds(low)) / (2 * ndtri((1 + LEVEL) / 2)))


def laws_around(
    law: Favorability, counts: Floats, odds: Floats, spread: Floats, factor: Floats, freedom: float
) -> tuple[Favorability, Laws]:
    """Return the law nearest to `law` that has a curve, and those whose curves are as plausible.

    Parameters
    ----------
    law : Favorability
        The fit.
    counts, odds, spread : ndarray
        Numbers of classes, log odds of the accuracies there, and the spread of their errors.
    factor : ndarray
        Of the covariance of errors in units of their spread.
    freedom : float
        Degrees of freedom of Student's law that they follow.
    """
    errors = points(len(counts), freedom) @ factor.T * spread
    curves = expit(np.vstack([odds, odds + errors]))
    curves = np.minimum.accumulate(curves, axis=1)
    fewer = counts[0] / FEWER ** np.arange(1, 30)
    fewer = fewer[fewer >= 2]
    plain = np.exp(np.multiply.outer(fewer - 1, law.log_u)) @ law.weights
    both = np.hstack([np.broadcast_to(plain, (len(curves), len(fewer))), curves])
    # Of numbers of classes that are the same the last: what is known best is that at K.
    distinct, from_end = np.unique(np.concatenate([fewer, counts])[::-1], return_index=True)
    wanted = both[:, ::-1][:, from_end]
    best = closest_law(law, distinct, wanted[0])
    # The others need be no closer to their curves than a part of what these differ by.
    close = np.maximum(CLOSE, LOOSE * wanted[1:].std(axis=0))
    return best, Laws(law.p, closest_weights(law, distinct, wanted[1:], close))


@lru_cache(maxsize=4)
def points(n_dims: int, freedom: float) -> Floats:
    """Return points of Student's law, spread evenly and as many to either side."""
    shares = qmc.Sobol(n_dims + 1, scramble=True, seed=0).random(N_LAWS // 2)
    normal = ndtri(shares[:, :n_dims])
    # All of one curve's errors are divided by the same chi.
    scale = np.sqrt(freedom / chdtri(freedom, shares[:, n_dims]))
    half = normal * scale[:, None]
    return np.vstack([half, -half])
