"""Tiles of approximate scores of embeddings, with bounds on their round-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import kernels
from headcount.support.workers import for_each, row_blocks

if TYPE_CHECKING:
    from headcount.counting.embeddings import Embeddings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TILE_COLUMNS = 1024
SIMILARITY_CODES = {"dot": kernels.DOT, "cosine": kernels.COSINE, "euclidean": kernels.EUCLIDEAN}


def vectors_of(rows: NDArray[Any]) -> NDArray[Any]:
    """Vectors as contiguous float32 where that is exact, else float64."""
    small = rows.dtype.itemsize <= 2 or rows.dtype == np.float32
    return np.ascontiguousarray(rows, dtype=np.float32 if small else np.float64)


@dataclass(frozen=True)
class ProbeBlock:
    """A block of probes, ready for tiles: centred vectors, true scores and error bounds."""

    vectors: NDArray[np.float32]
    raw: NDArray[Any]
    norms: Floats
    true: Ints
    exact: Floats
    slack: Floats
    level: Floats
    size: Floats
    scale: Floats
    buffer: NDArray[np.float32]

    @property
    def pairs(self) -> tuple[Any, ...]:
        """What the kernels need to settle a close pair."""
        return self.raw, self.norms, self.true, self.exact, self.slack


class Tiles:
    """Approximate scores of blocks, with bounds on their round-off.

    The gallery is centred (which shifts all scores of a probe alike, hence no rank) so that a large
    common offset does not swallow the digits. Approximate score: ``x.(g - m)``, for Euclidean
    distances ``(x - m).(g - m) - |g - m|^2 / 2``, the last term riding along as one more dimension.
    Powers of two, one for the gallery and one for each probe, keep everything within float32.

    A product of n terms computed with unit round-off u is off by at most ``n u / (1 - n u)`` times
    the product of the lengths, whatever the order of the additions (Higham, *Accuracy and Stability
    of Numerical Algorithms*, 2nd ed., §3.1).
    """

    def __init__(self, source: Embeddings) -> None:
        gallery = source.gallery
        self.source = source
        self.similarity = SIMILARITY_CODES[source.similarity]
        self.euclidean = self.similarity == kernels.EUCLIDEAN
        self.norms = norms_of(gallery)
        self.scale = 1.0 if self.similarity == kernels.COSINE else _power_of_two(gallery)
        # Any centre is right; a median ignores the odd row that is far away from all others.
        sample = self._scaled(slice(None, None, -(-len(gallery) // 2048)))
        self.centre = np.median(sample, axis=0)
        n_dims = gallery.shape[1]
        self.columns_matrix = np.empty((len(gallery), n_dims + self.euclidean), np.float32)
        self.lengths = np.empty(len(gallery))
        for_each(self._centre, row_blocks(len(gallery), 4096), task="Preparing the gallery")
        self.unit32 = 1.05 * (n_dims + 8) * np.finfo(np.float32).eps / 2
        self.columns = _class_tiles(source.start)
        self.widest = max(int(source.start[b] - source.start[a]) for a, b in self.columns)

    def _scaled(self, rows: slice) -> Floats:
        block = self.source.gallery[rows].astype(np.float64)
        if self.similarity == kernels.COSINE:
            return block / np.where(self.norms[rows] > 0, self.norms[rows], 1.0)[:, None]
        return block * self.scale

    def _centre(self, rows: slice) -> None:
        centred = self._scaled(rows) - self.centre
        squares = np.einsum("ij,ij->i", centred, centred)
        self.lengths[rows] = np.sqrt(squares)
        self.columns_matrix[rows, : centred.shape[1]] = centred
        if self.euclidean:
            self.columns_matrix[rows, -1] = -squares / 2

    def probe_block(self, rows: slice) -> ProbeBlock:
        """Prepare a block of probes."""
        source = self.source
        raw, norms, exact, slack = source.probe_scores(rows, self.norms)
        x = raw.astype(np.float64)
        if self.similarity == kernels.COSINE:
            x /= np.where(norms > 0, norms, 1.0)[:, None]
        else:
            x *= self.scale
        if self.euclidean:
            x -= self.centre
            squares = np.einsum("ij,ij->i", x, x)
            with np.errstate(over="ignore", invalid="ignore"):
                level = (squares + exact * self.scale * self.scale) / 2
            x = np.column_stack([x, np.ones(len(x))])
        else:
            squares = np.einsum("ij,ij->i", x, x)
            unscale = 1.0 if self.similarity == kernels.COSINE else self.scale * self.scale
            level = exact * unscale - x @ self.centre
        scale = 2.0 ** -np.frexp(np.maximum(np.abs(x).max(axis=1), 1.0))[1].astype(np.float64)
        vectors = (x * scale[:, None]).astype(np.float32)
        buffer = np.empty(len(x) * self.widest, np.float32)
        size = np.sqrt(squares)
        return ProbeBlock(
            vectors, raw, norms, source.true[rows], exact, slack, level, size, scale, buffer
        )

    def tile(
        self, block: ProbeBlock, first: int, last: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Approximate scores against classes first..last, and the bounds around the true score."""
        a, b = self.source.start[first], self.source.start[last]
        approx = block.buffer[: len(block.vectors) * (b - a)].reshape(len(block.vectors), b - a)
        np.matmul(block.vectors, self.columns_matrix[a:b].T, out=approx)
        bound = self._bound(block, self.lengths[a:b].max(), self.norms[a:b].max() * self.scale)
        infinity = np.float32(np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            low = (block.scale * (block.level - bound)).astype(np.float32)
            high = (block.scale * (block.level + bound)).astype(np.float32)
        # A probe so far away that its level overflows has no bound: all its pairs are settled.
        low[np.isnan(low)], high[np.isnan(high)] = -infinity, infinity
        return approx, np.nextafter(low, -infinity), np.nextafter(high, infinity)

    def _bound(self, block: ProbeBlock, longest: float, norm: float) -> Floats:
        """Bound how far approximate and true score may be apart: float32, float64, underflow."""
        if self.euclidean:
            product = block.size * longest + longest**2 / 2
            # Float64 errors of the level, of centring, and of the score that decides.
            with np.errstate(over="ignore"):
                reach = (block.size + longest) ** 2 + norm**2 + np.abs(block.level)
        else:
            product = block.size * longest
            reach = block.size * (1.0 if self.similarity == kernels.COSINE else norm)
            reach = reach + np.abs(block.level)
        return np.asarray(
            self.unit32 * product + self.source.round_off * reach + _TINY / block.scale
        )


# Far under any bound at the scale the vectors are brought to; covers products that underflow.
_TINY = 1e-30


def norms_of(rows: NDArray[Any]) -> Floats:
    """Return the Euclidean length of each row."""
    out = np.empty(len(rows))
    kernels.norms(rows, out)
    return out


def _power_of_two(rows: NDArray[Any]) -> float:
    """Return the power of two that brings the largest entry of the gallery near one."""
    largest = max(float(np.abs(rows[block]).max()) for block in row_blocks(len(rows), 16384))
    return float(2.0 ** -np.frexp(largest)[1])


def _class_tiles(start: Ints) -> list[tuple[int, int]]:
    """Split classes into runs of about `TILE_COLUMNS` gallery rows."""
    tiles, first = [], 0
    n_classes = len(start) - 1
    while first < n_classes:
        last = int(np.searchsorted(start, start[first] + TILE_COLUMNS, side="right")) - 1
        last = max(last, first + 1)
        tiles.append((first, last))
        first = last
    return tiles
