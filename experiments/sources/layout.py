"""The file of one source: vectors, labels and a recipe."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.support.output import write_atomically


def numbered(names: Sequence[Hashable]) -> NDArray[np.int32]:
    """Give classes numbers from 0 in the order in which they come."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)


def scaled(vectors: NDArray[np.floating]) -> NDArray[np.float16]:
    """Divide by the root mean square of all entries, so that 16 bits lose nothing that matters."""
    size = np.sqrt(np.mean(np.square(vectors, dtype=np.float64)))
    return np.asarray(vectors / size, dtype=np.float16)


def distinct_classes(vectors: NDArray[np.float16], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the rows of classes that share no vector with an earlier class of theirs."""
    _, vector = np.unique(vectors, axis=0, return_inverse=True)
    first = np.full(vector.max() + 1, len(labels), dtype=np.int64)
    np.minimum.at(first, vector, labels)
    copies = np.unique(labels[first[vector] < labels])
    return ~np.isin(labels, copies)


def check(vectors: NDArray[np.float16], labels: NDArray[np.int32]) -> None:
    """Refuse what would break the contract of a source's file."""
    if vectors.ndim != 2 or len(vectors) != len(labels) or vectors.shape[1] > 64:
        raise ValueError("A source needs one vector of at most 64 numbers for each label.")
    if not np.isfinite(vectors).all():
        raise ValueError("The vectors of a source must be finite.")
    steps = np.diff(labels)
    if labels[0] != 0 or not np.isin(steps, (0, 1)).all():
        raise ValueError("Classes must be numbered 0, 1, ... with their rows together.")
    if np.bincount(labels).min() < 2:
        raise ValueError("Every class of a source needs two rows or more.")
    if not distinct_classes(vectors, labels).all():
        raise ValueError("Two classes of a source share a vector; keep one of them.")


def write(
    path: Path,
    vectors: NDArray[np.float16],
    labels: NDArray[np.int32],
    recipe: dict[str, Any],
) -> None:
    """Write a source's file after a check of it."""
    check(vectors, labels)
    text = json.dumps(recipe, sort_keys=True)
    write_atomically(
        path,
        lambda name: np.savez_compressed(
            name, vectors=vectors, labels=labels, recipe=np.array(text)
        ),
    )
