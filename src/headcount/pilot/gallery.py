"""Enrolled vectors, sorted by class: where scores of embeddings come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import Embeddings
from headcount.errors import DataError
from headcount.pilot.labels import enough, positions
from headcount.support import validation


def enrolled(
    probes: NDArray[Any], labels: NDArray[Any], gallery: Any, gallery_labels: Any, similarity: str
) -> tuple[Embeddings, NDArray[Any]]:
    """Return the scores of probes against a gallery, and the names of its classes."""
    vectors = validation.as_matrix(gallery, "gallery")
    validation.finite_vectors(vectors, "gallery")
    if vectors.shape[1] != probes.shape[1]:
        raise DataError(
            f"probes and gallery disagree: {probes.shape[1]} dimensions against "
            f"{vectors.shape[1]}; embed both with the same model."
        )
    if gallery_labels is None:
        names, codes = np.arange(len(vectors)), np.arange(len(vectors))
    else:
        given = validation.as_labels(gallery_labels, "gallery labels")
        validation.same_length(given, "gallery labels", len(vectors), "gallery rows")
        names, codes = np.unique(given, return_inverse=True)
    enough(len(names), len(probes))
    true = positions(labels, names)
    rows, start, _ = _gallery_of(vectors, codes, len(names))
    return Embeddings(probes, true, rows, start, similarity), names


def leave_one_out(
    vectors: NDArray[Any], labels: NDArray[Any], similarity: str
) -> tuple[Embeddings, NDArray[Any]]:
    """Return the scores of each row against all others, and the names of the classes."""
    names, codes = np.unique(labels, return_inverse=True)
    enough(len(names), len(vectors))
    rows, start, order = _gallery_of(vectors, codes, len(names))
    probing = np.flatnonzero(np.bincount(codes)[codes] > 1)
    if len(probing) == 0:
        raise DataError(
            f"there is no probe: each of the {len(names):,} classes has one row, so nothing is "
            "left to compare it with; give a gallery or more rows a class."
        )
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    source = Embeddings(vectors, codes[probing], rows, start, similarity, probing, place[probing])
    return source, names


def _gallery_of(vectors: NDArray[Any], codes: NDArray[np.int64], n_classes: int) -> tuple[
    NDArray[Any], NDArray[np.int64], NDArray[np.intp]
]:  # fmt: skip
    """Sort gallery rows by class; return them, where each class starts, and the order."""
    order = np.argsort(codes, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    sorted_rows = vectors if np.array_equal(order, np.arange(len(order))) else vectors[order]
    return sorted_rows, start.astype(np.int64), order
