"""Pilots as experiments use them: with fewer probes, and told apart."""

from __future__ import annotations

import joblib
import numpy as np

from headcount.arrays import whole_number
from headcount.bench.runner import seed_for
from headcount.pilot import Pilot


def thinned(pilot: Pilot, probes_per_class: int | None, seed: int) -> Pilot:
    """Return the pilot with at most so many probes of each class, drawn at random.

    All its classes still compete, so that losses stay as they are.
    """
    if probes_per_class is None:
        return pilot
    most = whole_number(probes_per_class, "--probes-per-class", 1)
    if pilot.labels is None:
        return pilot  # refused later, for all such pilots
    rng = np.random.default_rng(seed_for(seed, "probes"))
    shuffled = rng.permutation(pilot.n_probes)
    order = shuffled[np.argsort(pilot.labels[shuffled], kind="stable")]
    first = np.searchsorted(pilot.labels[order], pilot.labels[order])
    return pilot.keep_probes(np.sort(order[np.arange(len(order)) - first < most]))


def digest(pilot: Pilot) -> str:
    """Return a mark that differs between pilots with different scores."""
    held = (pilot.labels, pilot.class_names, pilot.average, pilot.tie_rule, pilot._source)
    return str(joblib.hash(held))
