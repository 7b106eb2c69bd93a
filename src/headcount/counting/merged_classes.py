"""Counting where classes are merged into groups, each of which scores as its best class does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount.counting.blocks import BlockSource

if TYPE_CHECKING:
    from headcount.counting.source import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class MergedClasses(BlockSource):
    """Scores of another source, of which some classes are one.

    Parameters
    ----------
    source : Source
        Where the scores come from, block by block.
    owners : ndarray of int64, shape (n_classes,)
        Which of the merged classes each class belongs to, numbered from 0 without gaps.
    """

    def __init__(self, source: Source, owners: Ints) -> None:
        super().__init__(owners[source.true], int(owners.max()) + 1, source.round_off)
        self.source = source
        self.owners = owners
        self.order = np.argsort(owners, kind="stable")
        self.first = np.searchsorted(owners[self.order], np.arange(self.n_classes))

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all merged classes for successive blocks of probes, higher is better."""
        return self._merged(self.source.blocks(rows))

    def ordered_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Blocks of numbers that stand to each other in each row exactly as the scores do."""
        return self._merged(self.source.ordered_blocks())

    def copies(self) -> Flags | None:
        """Which probes are also enrolled as another vector of their class."""
        return self.source.copies()

    def subset(
        self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints
    ) -> MergedClasses:
        """Keep some probes and some of the merged classes."""
        number = np.full(self.n_classes, -1, np.int64)
        number[classes] = np.arange(len(classes))
        members = np.flatnonzero(number[self.owners] >= 0)
        place = np.full(len(self.owners), -1, np.int64)
        place[members] = np.arange(len(members))
        within = self.source.subset(rows, members, place[self.source.true[rows]])
        return MergedClasses(within, number[self.owners[members]])

    def _merged(self, blocks: Iterable[tuple[slice, Floats]]) -> Iterator[tuple[slice, Floats]]:
        for block, scores in blocks:
            yield block, np.maximum.reduceat(scores[:, self.order], self.first, axis=1)
