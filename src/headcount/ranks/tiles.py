"""Tiles of approximate scores of embeddings, with bounds on their round-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.ranks import kernels
from headcount.threads import for_each

if TYPE_CHECKING:
    from headcount.ranks.cpu import Embeddings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TILE_COLUMNS = 1024
METRICS = {"dot": kernels.DOT, "cosine": kernels.COSINE, "euclidean": kernels.EUCLIDEAN}


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Split rows into consecutive blocks of at most `size`."""
    return [slice(at, min(at + size, n_rows)) for at in range(0, n_rows, max(size, 1))]


def vectors_of(rows: NDArray[Any]) -> NDArray[Any]:
    """Vectors as contiguous float32 where that is exact, else float64."""
    small = rows.dtype.itemsize <= 2 or rows.dtype == np.float32
    return np.ascontiguousarray(rows, dtype=np.float32 if small else np.float64)


@dataclass(frozen=True)
class ProbeBlock:
    """A block of probes, ready for tiles: centred vectors, true scores and error bounds."""

    vectors: NDArray[Any]
    raw: NDArray[Any]
    norms: Floats
    true: Ints
    exact: Floats
    slack: Floats
    level: Floats
    size: Floats
    margin: Floats
    buffer: NDArray[Any]

    @property
    def pairs(self) -> tuple[Any, ...]:
        """What the kernels need to settle a close pair."""
        return self.raw, self.norms, self.true, self.exact, self.slack


class Tiles:
    """Approximate scores of blocks, with bounds on their round-off.

    The gallery is centred (which shifts all scores of a probe alike, hence no rank) so that a large
    common offset does not swallow the digits. Approximate score: ``x.(g - m)``, for Euclidean
    distances ``(x - m).(g - m) - |g - m|^2 / 2``, the last term riding along as one more dimension.

    A product of n terms computed with unit round-off u is off by at most ``n u / (1 - n u)`` times
    the product of the lengths, whatever the order of the additions (Higham, *Accuracy and Stability
    of Numerical Algorithms*, 2nd ed., §3.1).
    """

    def __init__(
        self, source: Embeddings, dtype: type[np.floating[Any]], *, whole_rows: bool = False
    ) -> None:
        gallery = source.gallery
        self.source = source
        self.metric = METRICS[source.metric]
        self.dtype = np.dtype(dtype)
        self.norms = np.empty(len(gallery))
        kernels.norms(gallery, self.norms)
        self.scale = _power_of_two(gallery) if self.metric != kernels.COSINE else 1.0
        # Any centre is right; the mean of some thousand rows is about as good as that of all.
        self.mean = self._gallery(slice(None, None, -(-len(gallery) // 4096))).mean(axis=0)
        n_dims = gallery.shape[1]
        self.euclidean = self.metric == kernels.EUCLIDEAN
        self.columns_matrix = np.empty((len(gallery), n_dims + self.euclidean), self.dtype)
        self.lengths = np.empty(len(gallery))

        def centre(rows: slice) -> None:
            centred = self._gallery(rows) - self.mean
            squares = np.einsum("ij,ij->i", centred, centred)
            self.lengths[rows] = np.sqrt(squares)
            self.columns_matrix[rows, :n_dims] = centred
            if self.euclidean:
                self.columns_matrix[rows, n_dims] = -squares / 2

        for_each(centre, row_blocks(len(gallery), 4096), task="Preparing the gallery")
        unit = np.finfo(self.dtype).eps / 2
        self.unit = 1.05 * (n_dims + 8) * unit
        self.unit64 = 4 * (n_dims + 8) * np.finfo(np.float64).eps / 2
        self.columns = [(0, source.n_classes)] if whole_rows else _class_tiles(source.start)
        self.widest = max(int(source.start[b] - source.start[a]) for a, b in self.columns)

    def _gallery(self, rows: slice) -> Floats:
        block = self.source.gallery[rows].astype(np.float64)
        if self.metric == kernels.COSINE:
            return block / np.where(self.norms[rows] > 0, self.norms[rows], 1.0)[:, None]
        return block * self.scale

    def probe_block(self, rows: slice) -> ProbeBlock:
        """Prepare a block of probes."""
        source = self.source
        raw = vectors_of(source.probes[rows if source.rows is None else source.rows[rows]])
        true, own = source.true[rows], source.own[rows]
        norms, exact = np.empty((2, len(raw)))
        kernels.norms(raw, norms)
        kernels.true_scores(
            raw, norms, own, true, source.gallery, self.norms, source.start, self.metric, exact
        )
        x = raw.astype(np.float64)
        if self.metric == kernels.COSINE:
            x /= np.where(norms > 0, norms, 1.0)[:, None]
        else:
            x *= self.scale
        longest = float(self.norms.max()) * self.scale
        if self.euclidean:
            x -= self.mean
            squares = np.einsum("ij,ij->i", x, x)
            level = (squares + exact * self.scale**2) / 2
            size = np.sqrt(squares)
            slack = self.unit64 * np.abs(exact)
            margin = self.unit64 * ((size + self.lengths.max()) ** 2 + longest**2)
            x = np.column_stack([x, np.ones(len(x))])
        else:
            size = np.sqrt(np.einsum("ij,ij->i", x, x))
            unscale = 1.0 if self.metric == kernels.COSINE else self.scale**2
            level = exact * unscale - x @ self.mean
            reach = size * (1.0 if self.metric == kernels.COSINE else longest)
            slack = self.unit64 * reach / unscale
            margin = self.unit64 * reach
        vectors = np.ascontiguousarray(x, dtype=self.dtype)
        buffer = np.empty(len(x) * self.widest, self.dtype)
        return ProbeBlock(vectors, raw, norms, true, exact, slack, level, size, margin, buffer)

    def tile(
        self, block: ProbeBlock, first: int, last: int
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Approximate scores against classes first..last, and the bounds around the true score."""
        a, b = self.source.start[first], self.source.start[last]
        approx = block.buffer[: len(block.vectors) * (b - a)].reshape(len(block.vectors), b - a)
        np.matmul(block.vectors, self.columns_matrix[a:b].T, out=approx)
        longest = self.lengths[a:b].max()
        half = longest**2 / 2 if self.euclidean else 0.0
        bound = self.unit * (block.size * longest + half) + block.margin + _TINY
        infinity = self.dtype.type(np.inf)
        low = np.nextafter((block.level - bound).astype(self.dtype), -infinity)
        high = np.nextafter((block.level + bound).astype(self.dtype), infinity)
        return approx, low, high

    def scores(self, block: ProbeBlock, approx: NDArray[Any]) -> Floats:
        """Turn whole rows of approximate scores into scores of classes, in the user's units."""
        if len(self.source.gallery) != self.source.n_classes:
            best = np.empty((len(approx), self.source.n_classes), approx.dtype)
            kernels.class_best(approx, self.source.start, best)
            approx = best
        if self.euclidean:
            squares = (block.size**2)[:, None] - 2 * approx
            scores = -np.sqrt(np.maximum(squares, 0.0)) / self.scale
            exact = -np.sqrt(-block.exact)
        else:
            level, unscale = block.level, 1.0
            if self.metric == kernels.DOT:
                unscale = self.scale**2
            scores = (approx - level[:, None]) / unscale + block.exact[:, None]
            exact = block.exact
        scores[np.arange(len(scores)), block.true] = exact
        return np.asarray(scores, dtype=np.float64)


# Far under any bound at the scale the vectors are brought to; covers products that underflow.
_TINY = 1e-30


def _power_of_two(rows: NDArray[Any]) -> float:
    """Return the power of two that brings the largest entry of the gallery near one."""
    largest = max((float(np.abs(rows[s]).max()) for s in row_blocks(len(rows), 16384)), default=0.0)
    return float(2.0 ** -np.frexp(largest)[1]) if largest > 0 else 1.0


def _class_tiles(start: Ints) -> list[tuple[int, int]]:
    """Split classes into runs of about `TILE_COLUMNS` gallery rows."""
    tiles, first = [], 0
    n_classes = len(start) - 1
    while first < n_classes:
        last = int(np.searchsorted(start, start[first] + TILE_COLUMNS, side="right")) - 1
        last = min(max(last, first + 1), n_classes)
        tiles.append((first, last))
        first = last
    return tiles
