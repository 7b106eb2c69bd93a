"""Which classes beat or tie each probe: what is left of the scores when only order matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Beats:
    """The sparse list of classes that beat or tie each probe.

    Parameters
    ----------
    start : ndarray of int64, shape (n_probes + 1,)
        Probe i owns the entries ``start[i]`` to ``start[i + 1]``.
    classes : ndarray of int32
        The classes that beat or tie, in ascending order for each probe.
    tied : ndarray of bool
        Whether that class only ties.
    n_classes : int
        Number of classes in the pilot.

    Examples
    --------
    Two probes among three classes: class 2 beats the first, class 0 ties the second.

    >>> import numpy as np
    >>> beats = Beats(np.array([0, 1, 2]), np.array([2, 0]), np.array([False, True]), 3)
    >>> losses, ties = beats.count(np.array([1.0, 1.0, 5.0]))
    >>> losses.tolist(), ties.tolist()
    ([5.0, 0.0], [0.0, 1.0])
    """

    start: NDArray[np.int64]
    classes: NDArray[np.int32]
    tied: NDArray[np.bool_]
    n_classes: int

    def __post_init__(self) -> None:
        """Seal the arrays: a pilot keeps its list, and gives it to everybody who asks."""
        for values in (self.start, self.classes, self.tied):
            values.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Seal what was unpickled or copied, where NumPy makes the arrays anew."""
        self.__dict__.update(state)
        self.__post_init__()

    def count(
        self, class_weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Total weight of the classes that beat, and that tie, each probe.

        With weights 0 and 1 this counts inside a subset of the classes; with resampling weights it
        counts in a resampled population.
        """
        shape = (len(self.start) - 1, self.n_classes)
        weights = np.asarray(class_weights, dtype=np.float64)
        sums = [
            np.asarray(csr_array((kind * 1.0, self.classes, self.start), shape=shape) @ weights)
            for kind in (~self.tied, self.tied)
        ]
        return sums[0], sums[1]

    def wins(self) -> NDArray[np.int64]:
        """How many probes of other classes each class beats."""
        return np.bincount(self.classes[~self.tied], minlength=self.n_classes)

    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp]) -> Beats:
        """Keep some probes and some classes; the classes are renumbered in the order given."""
        number = np.full(self.n_classes, -1, dtype=np.int32)
        number[classes] = np.arange(len(classes), dtype=np.int32)
        lengths = np.diff(self.start)[rows]
        entries = _ranges(self.start[rows], lengths)
        renumbered = number[self.classes[entries]]
        inside = renumbered >= 0
        owner = np.repeat(np.arange(len(rows)), lengths)[inside]
        order = np.lexsort((renumbered[inside], owner))
        start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(rows)))])
        tied = self.tied[entries][inside][order]
        return Beats(start, renumbered[inside][order], tied, len(classes))


def _ranges(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate the ranges first[i] ... first[i] + lengths[i] - 1."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + lengths, lengths)


def empty_beats(
    losses: NDArray[np.int64], ties: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
    """Return where the entries of each probe start, and room for them."""
    start = np.concatenate([[0], np.cumsum(losses + ties)]).astype(np.int64)
    return start, np.empty(start[-1], np.int32), np.empty(start[-1], np.bool_)
