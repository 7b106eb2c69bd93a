"""Pilots as experiments use them: with fewer probes, and told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np

from experiments.runner import seed_for
from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.validation import whole_number


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
    scores = pilot.true_scores() if pilot.has_scores else None
    settings = (pilot.labels, pilot.class_names, pilot.average, pilot.tie_rule)
    return str(joblib.hash((*settings, pilot.losses, pilot.ties, pilot.censored, scores)))


def parts_to_run(
    parts: Sequence[str] | None, known: Sequence[str], real: str, file: str, data: Path | None
) -> list[str]:
    """Return the parts of an experiment to run, in their order; by default all that have data.

    Parameters
    ----------
    parts : sequence of str or None
        Those asked for.
    known : sequence of str
        All there are.
    real, file : str
        The part that needs data, and what is in those.
    data : path or None
        Where the data are.
    """
    if parts is None:
        return [part for part in known if part != real or data is not None]
    for part in parts:
        validation.choice(part, "--parts", known)
    if not parts:
        raise ParameterError("no part is named; leave --parts out for all of them.")
    if real in parts and data is None:
        raise ParameterError(f"the part {real} needs {file}; name it or its folder as DATA.")
    return [part for part in known if part in parts]
