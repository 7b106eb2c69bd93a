"""An order of the classes that does not depend on the order they were given in.

Random draws of classes must not change when rows or columns of the data are swapped. Names cannot
tell (a column number is a name, too), but who beats whom can: every class gets a number computed
from its own counts and, in a few rounds, from the numbers of its rivals (the colour refinement of
Weisfeiler and Leman). Classes that still share a number are alike one by one, but not always two by
two: of four classes that are confused in pairs, it matters which two are drawn. Where scores are at
hand, those tell them apart: by their lowest score as the true class and by their highest as a wrong
one, which any increasing map of the scores leaves in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting.beats import Beats

ROUNDS = 3
Keys = NDArray[np.uint64]
Blocks = Callable[[], Iterator[tuple[slice, NDArray[np.float64]]]]


def canonical_order(
    beats: Beats, labels: NDArray[np.int64], blocks: Blocks | None = None
) -> NDArray[np.intp]:
    """Return the positions of the classes in canonical order.

    Parameters
    ----------
    beats : Beats
        Who beats whom.
    labels : ndarray of int64
        True class of each probe.
    blocks : callable, optional
        Gives the scores, block by block; asked only where classes share a number.
    """
    keys = _keys(beats, labels)
    if blocks is None or len(np.unique(keys)) == len(keys):
        return np.argsort(keys, kind="stable")
    return np.lexsort((*_extremes(blocks, labels, beats.n_classes), keys))


def class_keys(counts: Sequence[NDArray[Any]], labels: NDArray[np.int64], n_classes: int) -> Keys:
    """Return a number for each class, made from the counts of its probes in any order.

    Parameters
    ----------
    counts : sequence of arrays
        Whole numbers, one for each probe, such as its losses and its ties.
    labels : ndarray of int64
        Class of each probe.
    n_classes : int
        How many classes there are.

    Examples
    --------
    The first two classes have the same probes:

    >>> import numpy as np
    >>> losses, ties, labels = np.array([4, 0, 0, 4, 4]), np.zeros(5), np.array([0, 0, 1, 1, 2])
    >>> first, second, third = class_keys((losses, ties), labels, 3)
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    key = np.zeros(len(labels), np.uint64)
    for count in counts:
        key = _mixed(key * np.uint64(3) + _mixed(count))
    return _sums(labels, key, n_classes)


def _keys(beats: Beats, labels: NDArray[np.int64]) -> Keys:
    n_probes = len(labels)
    probe = np.repeat(np.arange(n_probes), np.diff(beats.start))
    kind = beats.tied.astype(np.uint64)
    keys = _mixed(np.bincount(labels, minlength=beats.n_classes))
    for _ in range(ROUNDS):
        rivals = _sums(probe, _mixed(keys[beats.classes] + kind), n_probes)
        beaten_by = _sums(labels, _mixed(rivals), beats.n_classes)
        owners = _mixed(keys[labels[probe]] * np.uint64(3) + kind)
        beating = _sums(beats.classes, owners, beats.n_classes)
        keys = _mixed(
            _mixed(keys) + _mixed(beaten_by) * np.uint64(5) + _mixed(beating) * np.uint64(7)
        )
    return keys


def _extremes(blocks: Blocks, labels: NDArray[np.int64], n_classes: int) -> tuple[Any, Any]:
    """Return the highest score of each class where it is wrong and its lowest where it is true."""
    highest, lowest = np.full(n_classes, -np.inf), np.full(n_classes, np.inf)
    for rows, scores in blocks():
        true_cells = np.arange(len(scores)), labels[rows]
        np.minimum.at(lowest, labels[rows], scores[true_cells])
        scores[true_cells] = -np.inf
        np.maximum(highest, scores.max(axis=0), out=highest)
    return highest, lowest


def _sums(places: NDArray[Any], values: Keys, size: int) -> Keys:
    """Add values by place; integers that wrap around add up the same in any order."""
    total = np.zeros(size, np.uint64)
    np.add.at(total, places, values)
    return total


def _mixed(values: NDArray[Any]) -> Keys:
    """Scramble integers so that their sums tell sets apart (the finaliser of SplitMix64)."""
    z = np.asarray(values).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)
