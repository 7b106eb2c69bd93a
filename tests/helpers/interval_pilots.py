"""What the tests of intervals share."""

import numpy as np
from scipy.special import logit, ndtri

from headcount import Pilot, observe, simulate
from headcount.errors import silence
from headcount.estimators import NoChange
from headcount.uncertainty.backtest import Backtest
from headcount.uncertainty.intervals import Uncertainty, assess


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
    empty = Backtest(pilot.n_classes, "none", accuracy, (), grid, np.empty((0, len(grid))))
    with silence():  # that all are right, or wrong, is no cause for worry
        return assess(pilot, empty, NoChange().fit(pilot))


def normal_moves(spreads, shift=0.0):
    """Moves of 128 curves: normal, of given deviations, all by the same point along the curve."""
    places = ndtri((np.arange(128) + 0.5) / 128)
    return shift + np.multiply.outer(places, np.asarray(spreads, float))


def make_uncertainty(**changed):
    """Errors of a pilot of 100 classes that are normal, as if they had been found."""
    fields = {
        "n_classes": 100, "n_probes": 500, "inside": np.array([10, 100]),
        "observed_error": np.array([0.1, 0.3]), "grid": np.array([100, 1000]),
        "moves": normal_moves([0.3, 0.5]), "sampled": np.array([1.0, 0.5]),
        "class_variance": 9e-4, "probe_variance": 4e-4, "probes_per_class": 5.0,
        "observed": 0.8, "freedom": 1e6,
    }  # fmt: skip
    return Uncertainty(**fields | changed)


def width(made, k, kind, **options):
    lower, upper = made.interval(k, kind, **options)
    return logit(upper) - logit(lower)
