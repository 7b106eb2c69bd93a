"""What score-based methods need of each probe, summarised while the scores pass by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pieces:
    """What score-based methods need of each probe; impostors are the scores of wrong classes.

    Higher is better throughout: distances come negated.

    Attributes
    ----------
    true : ndarray of shape (n_probes,)
        Score of the true class.
    top : ndarray of shape (n_probes, n_top)
        Best impostors, in descending order.
    mean, spread : ndarray of shape (n_probes,)
        Mean and standard deviation of the impostors.
    quantiles : ndarray of shape (n_probes, n_levels)
        Quantiles of the impostors at `levels`, linear between neighbours.
    levels : ndarray of shape (n_levels,)
        Which quantiles.
    """

    true: Floats
    top: Floats
    mean: Floats
    spread: Floats
    quantiles: Floats
    levels: Floats


def empty_pieces(n_probes: int, n_classes: int, top: int, levels: Floats) -> Pieces:
    """Return pieces to be filled in block by block."""
    true, mean, spread = np.empty((3, n_probes))
    best = np.empty((n_probes, min(top, n_classes - 1)))
    return Pieces(true, best, mean, spread, np.empty((n_probes, len(levels))), levels)


def fill_pieces(pieces: Pieces, rows: slice, scores: Floats, true: Ints) -> None:
    """Summarise whole rows of scores; sorts them in place."""
    true_cells = np.arange(len(scores)), true
    pieces.true[rows] = scores[true_cells]
    scores[true_cells] = -np.inf
    scores.sort(axis=1)
    impostors = scores[:, 1:]
    n_best, last = pieces.top.shape[1], impostors.shape[1] - 1
    pieces.top[rows] = impostors[:, ::-1][:, :n_best]
    pieces.mean[rows] = impostors.mean(axis=1)
    pieces.spread[rows] = impostors.std(axis=1, ddof=1) if last else 0.0
    place = pieces.levels * last
    under = np.minimum(np.floor(place).astype(np.intp), max(last - 1, 0))
    over = np.minimum(under + 1, last)
    fraction = place - under
    pieces.quantiles[rows] = impostors[:, under] * (1 - fraction) + impostors[:, over] * fraction
