"""Theory agrees with simulated populations."""

import numpy as np
import pytest

from headcount import Pilot, observe
from headcount.simulate.theory import (
    IsotropicGaussian,
)

CASES = [
    IsotropicGaussian(1, 0.3),
    IsotropicGaussian(3, 0.4, None),
    IsotropicGaussian(10, 0.55),
    IsotropicGaussian(10, 0.7, 4, "mean"),
    IsotropicGaussian(60, 1.2),
]


def brute(model, n_classes, per_class, seed):
    """Observed curve of a large simulated population, from the definition."""
    rng = np.random.default_rng(seed)
    d, s, r = model.n_dims, model.sigma, model.n_train
    centres = rng.normal(size=(n_classes, d))
    names = np.arange(n_classes)
    probes = np.repeat(centres, per_class, axis=0)
    probes += s * rng.normal(size=probes.shape)
    gallery, owners = centres, names
    if r is not None:
        points = centres[:, None] + s * rng.normal(size=(n_classes, r, d))
        gallery, owners = points.reshape(-1, d), np.repeat(names, r)
        if model.represent == "mean":
            gallery, owners = points.mean(axis=1), names
    return observe(Pilot.from_embeddings(probes, np.repeat(names, per_class), gallery, owners))


@pytest.mark.parametrize(
    "model", [*CASES, IsotropicGaussian(5, 0.4, 5), IsotropicGaussian(2, 0.1, 3)]
)
def test_accuracy_is_that_of_a_simulated_population(model):
    """Theorem 3.1 of 003: accuracy(k) = E[U^(k-1)], against classes that are really there."""
    counts = [2, 10, 100, 1000]
    found = brute(model, 2000, 5, seed=5).accuracy(counts)
    # 10,000 probes of 2,000 classes; four standard errors as if probes of one class were one.
    truth = model.accuracy(counts)
    error = 4 * np.sqrt(truth * (1 - truth) / 2000)
    assert (np.abs(found - truth) < error).all(), (found, truth)
