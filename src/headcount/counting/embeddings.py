"""Counting by blocked products of embeddings.

Comparisons are decided in float64. A tile is computed in float32 together with a bound on its
round-off; only pairs closer to the true score than that bound are computed again, by a loop that
adds its terms in a fixed order, so the counts are those of such a loop over all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import kernels
from headcount.counting.beats import Beats, empty_beats
from headcount.counting.blocks import BLOCK_BYTES, BlockSource
from headcount.counting.copies import copied_vectors
from headcount.counting.summaries import Pieces, empty_pieces, fill_pieces
from headcount.counting.tiles import SIMILARITY_CODES, Tiles, norms_of, vectors_of
from headcount.support import validation
from headcount.support.workers import for_each, one_blas_thread, row_blocks, thread_count

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TILE_ROWS = 512


class Embeddings(BlockSource):
    """Scores of probe vectors against gallery vectors.

    Parameters
    ----------
    probes : ndarray of shape (n_rows, n_dimensions)
        Any integer or floating type; read block by block, so it may be memory-mapped.
    true : ndarray of int64, shape (n_probes,)
        Class of each probe.
    gallery : ndarray of shape (n_gallery, n_dimensions)
        Rows of class c are ``gallery[start[c]:start[c + 1]]``.
    start : ndarray of int64, shape (n_classes + 1,)
        Where the rows of each class start.
    similarity : {"euclidean", "cosine", "dot"}
        How a probe is scored against a gallery row. A class scores as its best row does.
    rows : ndarray of int, optional
        Which rows of `probes` are probes; all by default.
    own_rows : ndarray of int64, optional
        For leave-one-out: the gallery row that is the probe itself; -1 where there is none.
    """

    def __init__(
        self,
        probes: NDArray[Any],
        true: Ints,
        gallery: NDArray[Any],
        start: Ints,
        similarity: str,
        rows: NDArray[np.intp] | None = None,
        own_rows: Ints | None = None,
    ) -> None:
        unit = np.finfo(np.float64).eps / 2
        super().__init__(true, len(start) - 1, float(4 * (probes.shape[1] + 8) * unit))
        self.probes = probes
        self.gallery = vectors_of(gallery)
        self.start = start
        self.similarity = similarity
        self.rows = rows
        self.own_rows = np.full(len(true), -1, np.int64) if own_rows is None else own_rows

    @classmethod
    def enrolled(
        cls,
        probes: NDArray[Any],
        true: Ints,
        gallery: NDArray[Any],
        owners: Ints,
        similarity: str,
    ) -> Embeddings:
        """Return the scores of probes against gallery rows, whose classes are `owners`."""
        validation.finite_vectors(probes, "probes")
        validation.finite_vectors(gallery, "gallery")
        rows, start, _ = _by_class(gallery, owners)
        return cls(probes, true, rows, start, similarity)

    @classmethod
    def leaving_one_out(cls, vectors: NDArray[Any], owners: Ints, similarity: str) -> Embeddings:
        """Return the scores of each row against all others, where its class has another one."""
        validation.finite_vectors(vectors, "probes")
        gallery, start, order = _by_class(vectors, owners)
        rows = np.flatnonzero(np.bincount(owners)[owners] > 1)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return cls(vectors, owners[rows], gallery, start, similarity, rows, place[rows])

    def count(self) -> tuple[Ints, Ints]:
        """Losses and ties of every probe."""
        losses, ties = np.zeros((2, self.n_probes), np.int64)
        tiles = Tiles(self)
        single = self.n_classes == len(self.gallery)

        def work(rows: slice) -> None:
            block = tiles.probe_block(rows)
            for first, last in tiles.columns:
                approx, low, high = tiles.tile(block, first, last)
                if single:
                    kernels.count_tile(
                        approx, low, high, first, *block.pairs, self.gallery, tiles.norms,
                        tiles.similarity, losses[rows], ties[rows],
                    )  # fmt: skip
                else:
                    kernels.count_classes(
                        approx, low, high, first, last, *block.pairs, self.gallery, tiles.norms,
                        self.start, tiles.similarity, losses[rows], ties[rows],
                    )  # fmt: skip

        self._run(work, tiles, "Counting")
        return losses, ties

    def measure(self, top: int, levels: Floats) -> tuple[Ints, Ints, Pieces]:
        """Losses, ties and pieces of every probe in one pass."""
        losses, ties = np.zeros((2, self.n_probes), np.int64)
        pieces = empty_pieces(self.n_probes, self.n_classes, top, levels)
        norms = norms_of(self.gallery)

        def work(rows: slice) -> None:
            scores, true = self._score_rows(rows, norms), self.true[rows]
            level = scores[np.arange(len(scores)), true][:, None]
            losses[rows] = (scores > level).sum(axis=1)
            ties[rows] = (scores == level).sum(axis=1) - 1
            fill_pieces(pieces, rows, self._in_units(scores), true)

        size = BLOCK_BYTES // (16 * self.n_classes * thread_count())
        for_each(work, row_blocks(self.n_probes, size), task="Measuring")
        return losses, ties, pieces

    def beats(self, losses: Ints, ties: Ints) -> Beats:
        """Which classes beat or tie every probe."""
        start, classes, tied = empty_beats(losses, ties)
        tiles = Tiles(self)

        def work(rows: slice) -> None:
            block = tiles.probe_block(rows)
            next_place = start[:-1][rows].copy()
            for first, last in tiles.columns:
                approx, low, high = tiles.tile(block, first, last)
                kernels.collect_classes(
                    approx, low, high, first, last, *block.pairs, self.gallery, tiles.norms,
                    self.start, tiles.similarity, next_place, classes, tied,
                )  # fmt: skip

        self._run(work, tiles, "Listing rivals")
        return Beats(start, classes, tied, self.n_classes)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""
        norms = norms_of(self.gallery)
        size = rows or BLOCK_BYTES // (8 * self.n_classes)
        for block in row_blocks(self.n_probes, size):
            yield block, self._in_units(self._score_rows(block, norms))

    def true_scores(self) -> Floats:
        """Scores of the true classes alone, higher is better."""
        values, norms = np.empty(self.n_probes), norms_of(self.gallery)

        def work(rows: slice) -> None:
            values[rows] = self.probe_scores(rows, norms)[2]

        for_each(work, row_blocks(self.n_probes, TILE_ROWS), task="Reading true scores")
        return self._in_units(values)

    def copies(self) -> Flags:
        """Which probes equal a gallery row of their own class that is not the probe's own row."""
        return copied_vectors(self)

    def probe_scores(
        self, rows: slice, norms: Floats
    ) -> tuple[NDArray[Any], Floats, Floats, Floats]:
        """Vectors, lengths and true scores of some probes, and how far a quick score may be off."""
        raw = vectors_of(self.probes[rows if self.rows is None else self.rows[rows]])
        lengths, exact = norms_of(raw), np.empty(len(raw))
        kernels.true_scores(
            raw, lengths, self.own_rows[rows], self.true[rows], self.gallery, norms, self.start,
            SIMILARITY_CODES[self.similarity], exact,
        )  # fmt: skip
        size = {"euclidean": np.abs(exact), "cosine": np.ones(len(raw)), "dot": lengths}
        return raw, lengths, exact, self.round_off * size[self.similarity]

    def _score_rows(self, rows: slice, norms: Floats) -> Floats:
        """Scores of some probes against all classes; squared distances for Euclidean ones."""
        raw, lengths, exact, slack = self.probe_scores(rows, norms)
        scores = np.empty((len(raw), self.n_classes))
        kernels.score_rows(
            raw, lengths, self.true[rows], exact, slack, self.gallery, norms, self.start,
            SIMILARITY_CODES[self.similarity], scores,
        )  # fmt: skip
        return scores

    def _in_units(self, scores: Floats) -> Floats:
        return -np.sqrt(-scores) if self.similarity == "euclidean" else scores

    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints) -> Embeddings:
        """Keep some probes and some classes."""
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[classes])])
        enrolled = np.concatenate([np.arange(self.start[c], self.start[c + 1]) for c in classes])
        place = np.full(len(self.gallery) + 1, -1, np.int64)  # the last entry serves own_rows = -1
        place[enrolled] = np.arange(len(enrolled))
        return Embeddings(
            self.probes,
            true,
            self.gallery[enrolled],
            start,
            self.similarity,
            rows if self.rows is None else self.rows[rows],
            place[self.own_rows[rows]],
        )

    def _run(self, work: Callable[[slice], None], tiles: Tiles, task: str) -> None:
        share = -(-self.n_probes // (4 * thread_count()))
        fitting = BLOCK_BYTES // (4 * tiles.widest)
        size = max(16, min(max(share, 64), TILE_ROWS, fitting))
        # One thread of the product per block: the blocks keep all cores busy by themselves.
        with one_blas_thread():
            for_each(work, row_blocks(self.n_probes, size), task=task)


def _by_class(vectors: NDArray[Any], owners: Ints) -> tuple[NDArray[Any], Ints, NDArray[np.intp]]:
    """Return rows sorted by class, where each class starts, and the order."""
    order = np.argsort(owners, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(owners))]).astype(np.int64)
    in_order = np.array_equal(order, np.arange(len(order)))
    return vectors if in_order else vectors[order], start, order
