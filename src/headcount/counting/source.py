"""Where scores come from: the one thing that the rest of headcount asks to count.

A *source* holds the scores of every probe against every class, or knows how to make them, and
answers counting requests: `count`, `measure`, `beats` and `blocks`. `ScoreMatrix` reads a matrix
(in memory or mapped from a file) once; `Embeddings` computes scores tile by tile and never holds
the matrix. Nothing outside this room knows which of them it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.counting.beats import Beats
from headcount.counting.summaries import Pieces

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK_BYTES = 64 << 20


class Source(Protocol):
    """Where a pilot's scores come from."""

    n_probes: int
    n_classes: int

    def count(self) -> tuple[Ints, Ints]:
        """Losses and ties of every probe."""

    def measure(self, top: int, levels: Floats) -> tuple[Ints, Ints, Pieces]:
        """Losses, ties and pieces of every probe in one pass."""

    def beats(self, losses: Ints, ties: Ints) -> Beats:
        """Which classes beat or tie every probe."""

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""

    def ordered_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Blocks of numbers that stand to each other in each row exactly as the scores do."""

    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints) -> Source:
        """Keep some probes and some classes, without copying scores."""
