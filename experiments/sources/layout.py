"""The file of one source: vectors, labels and a recipe."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.pilot.loading.safe_arrays import existing
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


def check(vectors: NDArray[np.float16], labels: NDArray[np.int32], name: str) -> None:
    """Refuse what would break the contract of a source's file."""
    if vectors.ndim != 2 or len(vectors) != len(labels) or vectors.shape[1] > 64:
        raise DataError(f"{name} needs one vector of at most 64 numbers for each label.")
    if not np.isfinite(vectors).all():
        raise DataError(f"{name} has vectors that are not finite; make it again.")
    if not len(labels) or labels[0] != 0 or not np.isin(np.diff(labels), (0, 1)).all():
        raise DataError(f"{name} must number its classes 0, 1, ... and keep their rows together.")
    if np.bincount(labels).min() < 2:
        raise DataError(f"{name} needs two rows or more of each class.")
    if not distinct_classes(vectors, labels).all():
        raise DataError(f"{name} has a vector that two classes share; keep one of them.")


def read(path: Path) -> tuple[NDArray[np.float16], NDArray[np.int32], dict[str, Any]]:
    """Return the vectors, labels and recipe of a source's file after a check of it."""
    file = existing(path)
    try:
        with np.load(file, allow_pickle=False) as members:
            vectors, labels = members["vectors"], members["labels"]
            recipe = json.loads(str(members["recipe"]))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path.name} is not the file of a source; 'python -m experiments sources' makes them."
        ) from error
    check(vectors, labels, path.name)
    return vectors, labels, recipe


def write(
    path: Path,
    vectors: NDArray[np.float16],
    labels: NDArray[np.int32],
    recipe: dict[str, Any],
) -> None:
    """Write a source's file after a check of it."""
    check(vectors, labels, path.name)
    text = json.dumps(recipe, sort_keys=True)
    write_atomically(
        path,
        lambda name: np.savez_compressed(
            name, vectors=vectors, labels=labels, recipe=np.array(text)
        ),
    )
