"""Probes that are also enrolled: vectors that equal a gallery row of their own class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.support.workers import row_blocks

if TYPE_CHECKING:
    from headcount.counting.embeddings import Embeddings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Vectors that agree to so many digits are copies, once saved with fewer digits or rescaled.
DIGITS = 1e-6
BLOCK = 4096
# Rows from which it is seen how often two vectors share a coordinate. Where unrelated ones never
# do, values are continuous, and equal vectors are copies. Else they are only where there are many
# coordinates and most of them differ between vectors of one class: codes of a few bits may well be
# equal without being copies.
SAMPLE = 500
MANY, SHARED = 16, 0.5


def copied_vectors(source: Embeddings) -> Flags:
    """Which probes equal a gallery row of their own class that is not the probe's own row.

    Rows are sorted by class and by one projection, in which copies become neighbours: one pass
    over all vectors, whatever the size of the classes. Where values are so coarse that vectors are
    equal without being copies, no probe is.
    """
    rows = np.arange(source.n_probes) if source.rows is None else source.rows
    projected, size = _projected(source.probes, rows, source)
    enrolled, _ = _projected(source.gallery, np.arange(len(source.gallery)), source)
    owner = np.repeat(np.arange(source.n_classes), np.diff(source.start))
    order = np.lexsort((enrolled, owner))
    place = _insertion_places(owner[order], enrolled[order], source.true, projected)
    copied = np.zeros(source.n_probes, np.bool_)
    for step in (-2, -1, 0, 1):  # two on each side: one of them may be the probe itself
        neighbour = order[np.clip(place + step, 0, len(order) - 1)]
        near = (np.abs(enrolled[neighbour] - projected) <= DIGITS * size) & (size > 0) & ~copied
        near &= (owner[neighbour] == source.true) & (neighbour != source.own_rows)
        candidates = np.flatnonzero(near)
        for block in row_blocks(len(candidates), BLOCK):
            probes = candidates[block]
            copied[probes] = _same(
                source, source.probes[rows[probes]], source.gallery[neighbour[probes]]
            )
    if copied.any() and _equal_by_copying(source, rows, copied):
        return copied
    return np.zeros_like(copied)


def _projected(
    vectors: NDArray[Any], rows: NDArray[np.intp], source: Embeddings
) -> tuple[Floats, Floats]:
    """Return one number for each vector, equal where vectors are, and the size of its terms."""
    rng = np.random.default_rng(0)
    direction = rng.uniform(0.5, 1.5, vectors.shape[1]) * rng.choice((-1, 1), vectors.shape[1])
    sums, sizes = np.empty((2, len(rows)))
    for block in row_blocks(len(rows), BLOCK):
        compared = _as_compared(vectors[rows[block]], source)
        sums[block], sizes[block] = compared @ direction, np.abs(compared) @ np.abs(direction)
    return sums, sizes


def _as_compared(vectors: NDArray[Any], source: Embeddings) -> Floats:
    """Return vectors as they are compared: for cosine only their directions are."""
    exact = np.asarray(vectors, dtype=np.float64)
    if source.similarity != "cosine":
        return exact
    lengths = np.linalg.norm(exact, axis=1)
    return np.asarray(exact / np.where(lengths > 0, lengths, 1.0)[:, None])


def _insertion_places(
    owner: Ints, values: Floats, classes: Ints, new_values: Floats
) -> NDArray[np.intp]:
    """Return where each new (class, value) would stand among sorted ones."""
    n_new = len(new_values)
    order = np.lexsort((np.concatenate([new_values, values]), np.concatenate([classes, owner])))
    place = np.empty(len(order), np.intp)
    place[order] = np.cumsum(order >= n_new)
    return place[:n_new]


def _same(source: Embeddings, first: NDArray[Any], second: NDArray[Any]) -> Flags:
    """Which vectors equal their partner to all but the last digits."""
    left, right = _as_compared(first, source), _as_compared(second, source)
    apart = np.abs(left - right).max(axis=1)
    return np.asarray(apart <= DIGITS * np.abs(left).max(axis=1))


def _equal_by_copying(source: Embeddings, rows: NDArray[np.intp], copied: Flags) -> bool:
    """Whether equal vectors are copies, which coarse values make equal without that."""
    classes = np.arange(0, source.n_classes, -(-source.n_classes // SAMPLE))
    if _continuous(source.gallery[source.start[classes]]):
        return True
    probes = np.flatnonzero(~copied if not copied.all() else copied)
    probes = probes[:: -(-len(probes) // SAMPLE)]
    vectors, true = source.probes[rows[probes]], source.true[probes]
    partner = source.start[true]
    partner = partner + (partner == source.own_rows[probes])  # then its class has another row
    if copied.all():  # then only other classes show how often values coincide
        partner = source.start[(true + 1) % source.n_classes]
    shared, n_dims = _shared(vectors, source.gallery[partner])
    return shared <= SHARED and n_dims >= MANY


def _continuous(vectors: NDArray[Any]) -> bool:
    """Whether no coordinate has the same value, other than zero, in two vectors."""
    values = np.sort(vectors, axis=0)
    return not ((values[1:] == values[:-1]) & (values[1:] != 0)).any()


def _shared(first: NDArray[Any], second: NDArray[Any]) -> tuple[float, float]:
    """Return the share of equal coordinates, and how many there are; zeros do not count."""
    there = (first != 0) | (second != 0)
    equal = (first == second) & there
    return float(equal.sum()) / max(1, int(there.sum())), float(there.sum(axis=1).mean())
