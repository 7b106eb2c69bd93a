"""Pilots and costs for the tests of risk."""

import numpy as np

from headcount import Pilot


def small_pilot(seed=0, n_classes=40, per_class=2, noise=0.6, ties=False):
    """Classes that share some of their looks, and random costs of mistakes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 4))
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + noise * rng.normal(size=(len(labels), 4))
    scores = -((points[:, None] - centres) ** 2).sum(axis=2)
    cost = rng.uniform(0.5, 3, (n_classes, n_classes))
    np.fill_diagonal(cost, 0)
    return Pilot.from_scores(scores.round() if ties else scores, labels), cost
