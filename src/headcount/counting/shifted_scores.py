"""Counting where a number is added to all scores of each class, as priors do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount.counting.blocks import BlockSource

if TYPE_CHECKING:
    from headcount.counting.source import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class ShiftedScores(BlockSource):
    """Scores of another source plus a number for each class; the sums are what is compared.

    Parameters
    ----------
    source : Source
        Where the scores come from, block by block.
    shifts : ndarray of float64, shape (n_classes,)
        What is added for each class.
    """

    def __init__(self, source: Source, shifts: Floats) -> None:
        super().__init__(source.true, source.n_classes)
        self.source = source
        self.shifts = shifts

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""
        for block, scores in self.source.blocks(rows):
            scores += self.shifts
            yield block, scores

    def copies(self) -> Flags:
        """No probe: a shifted score has no best value that only a copy reaches."""
        return np.zeros(self.n_probes, np.bool_)

    def subset(
        self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints
    ) -> ShiftedScores:
        """Keep some probes and some classes."""
        return ShiftedScores(self.source.subset(rows, classes, true), self.shifts[classes])
