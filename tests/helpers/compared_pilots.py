"""What the tests of comparisons share."""

import numpy as np

from headcount import Pilot

QUICK = {"method": "no-change"}


def two_systems(seed, n_classes=60, sigmas=(0.9, 0.7), n_dims=10):
    """Two recognisers of the same probes, one with more noise; known centres, so known laws."""
    rng = np.random.default_rng(seed)
    centres, noise = rng.normal(size=(2, n_classes, n_dims))
    labels = np.arange(n_classes)
    return {
        name: Pilot.from_embeddings(centres + sigma * noise, labels, centres)
        for name, sigma in zip("AB", sigmas, strict=True)
    }
