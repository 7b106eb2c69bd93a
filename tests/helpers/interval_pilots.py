"""What the tests of intervals share."""

import numpy as np
from scipy.special import logit

from headcount import Pilot, observe, simulate
from headcount.uncertainty.backtest import Backtest
from headcount.uncertainty.intervals import assess


def gaussian(n_classes=60, seed=1, sigma=0.3, per_class=3):
    return simulate.isotropic_gaussian(
        n_classes, sigma=sigma, probes_per_class=per_class, random_state=seed
    ).pilot


def counts(n_probes=400, n_classes=200, seed=2, **options):
    rng = np.random.default_rng(seed)
    losses = rng.binomial(n_classes - 1, rng.beta(0.3, 0.1 * n_classes, n_probes))
    return Pilot.from_losses(losses, n_classes, **options)


def bare(pilot):
    """Errors without a back-test, which at the pilot's own size has no part in them."""
    grid = pilot.n_classes * np.array([1, 2, 4])
    accuracy = float(observe(pilot).accuracy(pilot.n_classes))
    return assess(
        pilot, Backtest(pilot.n_classes, "none", accuracy, (), grid, np.empty((0, len(grid))))
    )


def width(made, k, kind, **options):
    lower, upper = made.interval(k, kind, **options)
    return logit(upper) - logit(lower)
