"""Answers to counting requests from blocks of scores: what every source can fall back on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import kernels
from headcount.counting.beats import Beats, empty_beats
from headcount.counting.summaries import Pieces, empty_pieces, fill_pieces
from headcount.support import validation

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BLOCK_BYTES = 64 << 20
# For scores of so many bytes: integers as wide, 16 bits at least; of 64 bits for wider ones.
COUNTERS: dict[int, type[np.signedinteger[Any]]] = {1: np.int16, 2: np.int16, 4: np.int32}


class BlockSource(ABC):
    """A source that answers every request from `blocks` alone.

    A new kind of source derives from this, writes `blocks` and `subset`, and overrides what it can
    answer faster.

    Parameters
    ----------
    true : ndarray of int64, shape (n_probes,)
        Class of each probe.
    n_classes : int
        How many classes there are.
    round_off : float
        See `Source`.
    """

    def __init__(self, true: Ints, n_classes: int, round_off: float = 0.0) -> None:
        self.true = true
        self.n_probes = len(true)
        self.n_classes = n_classes
        self.round_off = round_off

    @abstractmethod
    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""

    @abstractmethod
    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints) -> BlockSource:
        """Keep some probes and some classes."""

    def count(self) -> tuple[Ints, Ints]:
        """Losses and ties of every probe; scores that are not finite are refused."""
        above, equal, flawed = np.zeros((3, self.n_probes), np.int64)
        for rows, scores in self.blocks():
            self._count_rows(scores, rows, above, equal, flawed)
        validation.refuse_not_finite(flawed > 0, self._row, "scores")
        return above, equal - 1  # the true class equals itself

    def measure(self, top: int, levels: Floats) -> tuple[Ints, Ints, Pieces]:
        """Losses, ties and pieces of every probe in one pass over scores that are finite."""
        above, equal, flawed = np.zeros((3, self.n_probes), np.int64)
        pieces = empty_pieces(self.n_probes, self.n_classes, top, levels)
        for rows, scores in self.blocks():
            self._count_rows(scores, rows, above, equal, flawed)
            fill_pieces(pieces, rows, scores, self.true[rows])
        return above, equal - 1, pieces

    def beats(self, losses: Ints, ties: Ints) -> Beats:
        """Which classes beat or tie every probe."""
        start, classes, tied = empty_beats(losses, ties)
        for rows, scores in self.blocks():
            kernels.collect_rows(scores, self.true[rows], 1, start[rows], classes, tied)
        return Beats(start, classes, tied, self.n_classes)

    def true_scores(self) -> Floats:
        """Scores of the true classes alone, higher is better."""
        values = np.empty(self.n_probes)
        for rows, scores in self.blocks():
            values[rows] = scores[np.arange(len(scores)), self.true[rows]]
        return values

    def copies(self) -> Flags | None:
        """Scores must tell: what was scored is not known here."""
        return None

    def ordered_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Scores as they are: computed in float64, so that nothing more is known."""
        return self.blocks()

    def _count_rows(
        self, scores: NDArray[Any], rows: slice, above: Ints, equal: Ints, flawed: Ints
    ) -> None:
        """Add to the counts of these probes what a block with all their scores holds."""
        counter = np.empty(0, COUNTERS.get(scores.dtype.itemsize, np.int64))
        counts = above[rows], equal[rows], flawed[rows]
        kernels.count_rows(scores, self.true[rows], counter, *counts)

    def _row(self, probe: int) -> NDArray[Any]:
        """All scores of one probe."""
        alone = self.subset(np.array([probe]), np.arange(self.n_classes), self.true[[probe]])
        return np.asarray(next(alone.blocks())[1][0])
