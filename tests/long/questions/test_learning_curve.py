"""Estimates scatter as the information says, by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from headcount import Pilot
from headcount.questions.learning_curve import PilotFit, TrainingSizes


def drawn(mu, tau, n_classes=300, n_probes=2000, seed=0):
    rng = np.random.default_rng(seed)
    u = norm.cdf(mu + tau * rng.normal(size=n_probes))
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - u), n_classes)


def test_information_tells_how_much_estimates_scatter():
    size = TrainingSizes.equal(1)
    fits = [PilotFit.of(drawn(2.0, 1.0, 200, 150, seed), size) for seed in range(120)]
    scatter = np.std([fit.estimate[0] for fit in fits])
    claimed = np.median([math.sqrt(np.linalg.inv(fit.information)[0, 0]) for fit in fits])
    # The standard deviation of 120 values is known to 1 / sqrt(240) = 6.5%; three times that.
    assert claimed == pytest.approx(scatter, rel=0.2)
