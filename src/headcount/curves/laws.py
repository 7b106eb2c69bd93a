"""Laws that are as plausible as the forecast one: what is known of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri
from scipy.stats import qmc

from headcount.metrics import ACCURACY, Metric

Floats = NDArray[np.float64]

N_LAWS = 128


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
        counts = k if metric == ACCURACY else np.round(k)
        # What a metric is at the nodes is the same under all laws, and takes nearly all the time.
        return np.minimum(self.weights @ metric.of_nodes(self.p, counts).T, 1.0)


@lru_cache(maxsize=4)
def points(n_dims: int, freedom: float) -> Floats:
    """Return points of Student's law, spread evenly and as many to either side."""
    shares = qmc.Sobol(n_dims + 1, scramble=True, seed=0).random(N_LAWS // 2)
    normal = ndtri(shares[:, :n_dims])
    # All of one curve's errors are divided by the same chi.
    scale = np.sqrt(freedom / chdtri(freedom, shares[:, n_dims]))
    half = normal * scale[:, None]
    return np.vstack([half, -half])


def scattered(n: int) -> Floats:
    """Return n evenly spread points of a normal law that go with no error of n laws.

    Both halves are the same, where those of `points` are each other's mirror.
    """
    half = (n + 1) // 2
    return np.resize(np.random.default_rng(0).permutation(ndtri((np.arange(half) + 0.5) / half)), n)
