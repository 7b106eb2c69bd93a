"""Counting in one pass over a score matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import kernels
from headcount.counting.beats import Beats, empty_beats
from headcount.counting.blocks import BLOCK_BYTES, BlockSource
from headcount.counting.summaries import Pieces, empty_pieces, fill_pieces
from headcount.support import validation
from headcount.support.workers import for_each, row_blocks, thread_count

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# For scores of so many bytes: the number that holds a row's counters, and bits of each.
PACKED = {1: (np.uint16, 8), 2: (np.uint16, 8), 4: (np.uint32, 10), 8: (np.uint64, 20)}


class ScoreMatrix(BlockSource):
    """A score matrix of shape (probes, classes), in memory or memory-mapped.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        Any integer or floating type; never copied whole.
    true : ndarray of int64, shape (n_probes,)
        Class of each probe, counted among the classes of this source.
    higher_is_better : bool
        False for distances.
    rows, columns : ndarray of int, optional
        Which rows and columns of `scores` are the probes and the classes; all by default.
    """

    def __init__(
        self,
        scores: NDArray[Any],
        true: Ints,
        higher_is_better: bool,
        rows: NDArray[np.intp] | None = None,
        columns: NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(
            true, scores.shape[1] if columns is None else len(columns), _round_off(scores.dtype)
        )
        self.scores = scores
        self.sign = 1 if higher_is_better else -1
        self.rows = rows
        self.columns = columns

    def _block(self, rows: slice) -> NDArray[Any]:
        block = self.scores[rows if self.rows is None else self.rows[rows]]
        if self.columns is not None:
            block = block[:, self.columns]
        return np.ascontiguousarray(_native(block))

    def _row(self, probe: int) -> NDArray[Any]:
        """All scores of one probe, as they were given."""
        return np.asarray(self.scores[probe if self.rows is None else self.rows[probe]])

    def _by_columns(self) -> bool:
        """Whether the matrix is stored by columns, and can be read as it is."""
        whole = self.rows is None and self.columns is None
        plain = _native(self.scores[:0]).dtype == self.scores.dtype
        flags = self.scores.flags
        return whole and plain and flags.f_contiguous and not flags.c_contiguous

    def _rows_within(self, n_bytes: int) -> int:
        return n_bytes // (self.n_classes * self.scores.dtype.itemsize)

    def count(self) -> tuple[Ints, Ints]:
        """Losses and ties of every probe; scores that are not finite are refused."""
        above, equal, flawed = np.zeros((3, self.n_probes), np.int64)
        by_columns = self._by_columns()

        def work(rows: slice) -> None:
            if by_columns:
                counts = above[rows], equal[rows], flawed[rows]
                unit, bits = PACKED[self.scores.dtype.itemsize]
                kernels.count_columns(
                    self.scores.T, rows.start, self.true[rows], np.empty(0, unit), bits, *counts
                )
            else:
                self._count_rows(self._block(rows), rows, above, equal, flawed)

        size = 8192 if by_columns else min(2048, self._rows_within(BLOCK_BYTES // 8))
        for_each(work, row_blocks(self.n_probes, size), task="Counting")
        validation.refuse_not_finite(flawed > 0, self._row, "scores")
        return self._oriented(above, equal)

    def _oriented(self, above: Ints, equal: Ints) -> tuple[Ints, Ints]:
        ties = equal - 1  # the true class equals itself
        losses = above if self.sign == 1 else self.n_classes - 1 - above - ties
        return losses, ties

    def measure(self, top: int, levels: Floats) -> tuple[Ints, Ints, Pieces]:
        """Losses, ties and pieces of every probe in one pass."""
        above, equal, flawed = np.zeros((3, self.n_probes), np.int64)
        pieces = empty_pieces(self.n_probes, self.n_classes, top, levels)

        def work(rows: slice) -> None:
            block = self._block(rows)
            self._count_rows(block, rows, above, equal, flawed)
            scores = self.sign * block.astype(np.float64)
            fill_pieces(pieces, rows, scores, self.true[rows])

        size = self._rows_within(BLOCK_BYTES) // (2 * thread_count())
        for_each(work, row_blocks(self.n_probes, size), task="Measuring")
        losses, ties = self._oriented(above, equal)
        return losses, ties, pieces

    def beats(self, losses: Ints, ties: Ints) -> Beats:
        """Which classes beat or tie every probe."""
        start, classes, tied = empty_beats(losses, ties)

        def work(rows: slice) -> None:
            kernels.collect_rows(
                self._block(rows), self.true[rows], self.sign, start[rows], classes, tied
            )

        for_each(
            work,
            row_blocks(self.n_probes, self._rows_within(BLOCK_BYTES // 8)),
            task="Listing rivals",
        )
        return Beats(start, classes, tied, self.n_classes)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""
        size = rows or BLOCK_BYTES // (8 * self.n_classes)
        for block in row_blocks(self.n_probes, size):
            yield block, self.sign * self._block(block).astype(np.float64)

    def ordered_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Scores, or places in their row where float64 would merge scores (64-bit integers)."""
        if self.round_off == 0:
            yield from self.blocks()
            return
        for rows in row_blocks(self.n_probes, BLOCK_BYTES // (8 * self.n_classes)):
            block = self._block(rows)
            yield rows, self.sign * (_places(block) if _merges(block) else block.astype(np.float64))

    def true_scores(self) -> Floats:
        """Scores of the true classes alone, higher is better."""
        rows = np.arange(self.n_probes) if self.rows is None else self.rows
        columns = self.true if self.columns is None else self.columns[self.true]
        return np.asarray(self.sign * self.scores[rows, columns].astype(np.float64))

    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints) -> ScoreMatrix:
        """Keep some probes and some classes, without copying scores."""
        return ScoreMatrix(
            self.scores,
            true,
            self.sign == 1,
            rows if self.rows is None else self.rows[rows],
            classes if self.columns is None else self.columns[classes],
        )


def _native(block: NDArray[Any]) -> NDArray[Any]:
    """Give a block a type the kernels can read; only long doubles are rounded, to float64."""
    if block.dtype.newbyteorder("=") == np.float16 or block.dtype.kind == "b":
        return block.astype(np.float32)
    if block.dtype.type is np.longdouble:
        return block.astype(np.float64)
    return np.asarray(block, dtype=block.dtype.newbyteorder("="))


def _round_off(dtype: np.dtype[Any]) -> float:
    """Return how far float64 may be from a score, relative to it; `_native` rounds long doubles."""
    return (
        float(np.finfo(np.float64).eps) / 2 if dtype.kind in "iu" and dtype.itemsize == 8 else 0.0
    )


def _merges(block: NDArray[Any]) -> bool:
    """Whether integers are so large that neighbours are one number in float64."""
    return bool((np.abs(block.astype(np.float64)) >= 2.0**53).any())


def _places(block: NDArray[Any]) -> Floats:
    """Return for each entry how many distinct smaller ones its row has."""
    order = np.argsort(block, axis=1)
    ascending = np.take_along_axis(block, order, axis=1)
    places = np.zeros(block.shape)
    places[:, 1:] = np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1)
    unsorted = np.empty_like(places)
    np.put_along_axis(unsorted, order, places, axis=1)
    return unsorted
