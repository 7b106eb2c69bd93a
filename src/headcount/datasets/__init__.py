"""The bundled real data set.

Public: `load_hangul`.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

from headcount.pilot.loading.safe_arrays import read_npz
from headcount.pilot.pilot import Pilot

__all__ = ["load_hangul"]

FIRST_SYLLABLE = 0xAC00


def load_hangul() -> Pilot:
    """Return all 11,172 Hangul (Korean) syllables, recognised across two fonts.

    The gallery is every syllable in one font, and the probes are every syllable in another. Each
    is reduced to 32 small integers, and they are compared by Euclidean distance. HANGUL.md, beside
    this file, says where the data come from and how they are made.

    Returns
    -------
    Pilot
        Classes are named by their syllable.

    Examples
    --------
    >>> from headcount.datasets import load_hangul
    >>> load_hangul()
    Pilot(11,172 classes, 11,172 probes)
    """
    with as_file(files(__name__) / "hangul.npz") as path:
        members = dict(read_npz(path))
    syllables = np.array([chr(FIRST_SYLLABLE + i) for i in range(len(members["gallery"]))])
    return Pilot.from_embeddings(
        members["probes"],
        syllables[members["probe_labels"]],
        members["gallery"],
        syllables,
        similarity=str(members["metric"]),
    )
