"""Halves vary as new pilots do, by simulation."""

import numpy as np
import pytest

from headcount import Pilot
from headcount.curves.favorability import Favorability
from headcount.estimators import Extrapolator
from headcount.uncertainty.resampling import (
    refits,
)


class PlugIn(Extrapolator):
    """Each probe's share of losses taken for its p: fast, smooth, and easy to do by hand."""

    alias = "plug-in"

    def _estimate(self, pilot):
        table = pilot.table()
        return Favorability(table.losses / table.n_rivals, table.weights)


def correlated_pilot(rng, n_classes=100, per_class=4):
    """Probes of one class are alike: what varies is mostly the class, and rivals are shared."""
    centres = rng.normal(size=(n_classes, 2))
    labels = np.repeat(np.arange(n_classes), per_class)
    hard = rng.exponential(size=(n_classes, 1)) * rng.normal(size=(n_classes, 2))
    probes = centres[labels] + 1.5 * hard[labels] + 0.1 * rng.normal(size=(len(labels), 2))
    return Pilot.from_embeddings(probes, labels, centres, np.arange(n_classes))


def test_variance_over_halves_is_the_sampling_variance():
    rng = np.random.default_rng(0)
    direct = [float(PlugIn().fit(correlated_pilot(rng)).predict(2)) for _ in range(400)]
    halved = [refits(correlated_pilot(rng), PlugIn(), [(50, 10)], [2]).sizes[0] for _ in range(50)]
    estimated = np.mean([np.var(found.curves[:, 0], ddof=1) for found in halved])
    # The variance of 400 has a standard error of sqrt(2 / 400) = 7%, the mean of 50 variances of
    # 10 one of sqrt(2 / 9 / 50) = 7%, and 5% as pilots differ; a study four times as long gave
    # a ratio of 1.01. Subsets of K / 5 would give four times as much.
    assert estimated == pytest.approx(np.var(direct, ddof=1), rel=0.25)
