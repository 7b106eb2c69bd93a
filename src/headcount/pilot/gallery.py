"""Which class each row of a gallery belongs to, and whether probes have anything to meet there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.pilot.labels import enough, positions
from headcount.support import validation

Ints = NDArray[np.int64]


def classes_of_gallery(
    labels: NDArray[Any], gallery_labels: Any, n_rows: int
) -> tuple[NDArray[Any], Ints, Ints]:
    """Return the names of the classes, the class of each probe and of each gallery row.

    Parameters
    ----------
    labels : ndarray
        Label of each probe.
    gallery_labels : sequence or None
        Label of each gallery row; by default row i is class i.
    n_rows : int
        How many rows the gallery has.
    """
    if gallery_labels is None:
        names = owners = np.arange(n_rows)
    else:
        enrolled = validation.as_labels(gallery_labels, "gallery labels")
        validation.same_length(enrolled, "gallery labels", n_rows, "gallery rows")
        names, owners = np.unique(enrolled, return_inverse=True)
    enough(len(names), len(labels))
    return names, positions(labels, names), owners


def classes_of_rows(labels: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the names of the classes and the class of each row, to compare rows with others."""
    names, owners = np.unique(labels, return_inverse=True)
    enough(len(names), len(labels))
    return names, owners


def refuse_single_rows(n_classes: int, n_probes: int) -> None:
    """Refuse rows that are to be compared with each other where none has another of its class."""
    if n_probes == 0:
        raise DataError(
            f"there is no probe: each of the {n_classes:,} classes has one row, so nothing is "
            "left to compare it with; give a gallery or more rows a class."
        )
