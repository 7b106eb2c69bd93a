"""Scores as a network reads them: the true one first, then the wrong ones in order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.pilot.pilot import Pilot
from headcount.support.workers import reporter

_ROUND_OFF = 1e-14  # a spread so much smaller than the scores is none
_DECIMALS = 6  # about what float32 holds of a standardised score
_MIX = 0x9E3779B97F4A7C15  # odd, so that multiplying by it loses nothing


@dataclass(frozen=True)
class ScoreRows:
    """Standardised scores in an order that does not depend on how the pilot was ordered.

    Attributes
    ----------
    values : ndarray of float32
        One row a probe: its true score, then those of the wrong classes, ascending. The mean of
        the whole matrix is zero and its standard deviation one.
    weights : ndarray of float64
        Weight of each probe.
    labels : ndarray of int64
        Class of each probe.
    """

    values: NDArray[np.float32]
    weights: NDArray[np.float64]
    labels: NDArray[np.int64]


def score_rows(pilot: Pilot) -> ScoreRows:
    """Return the rows of a pilot, holding one block of scores besides the rows themselves.

    Any increasing linear map of the scores gives the same rows.

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_scores([[5, 1, 3], [1, 9, 5]], [0, 1])
    >>> sorted(score_rows(pilot).values.astype(float).round(2).tolist())
    [[0.36, -1.08, -0.36], [1.81, -1.08, 0.36]]
    """
    mean, spread, unit = _mean_and_spread(pilot)
    values = np.empty((pilot.n_probes, pilot.n_classes), np.float32)
    keys = np.empty(pilot.n_probes, np.uint64)
    assert pilot.labels is not None  # a pilot with scores has labels
    report = reporter()
    for rows, scores in pilot.score_blocks():
        true_cells = np.arange(len(scores)), pilot.labels[rows]
        true = scores[true_cells]
        scores[true_cells] = -np.inf  # sorts first, which is where the true score belongs
        scores.sort(axis=1)
        scores[:, 0] = true
        scores /= unit
        scores -= mean
        scores /= spread
        # Off a grid, round-off in the mean would show in values near zero, and change the order.
        values[rows] = np.round(scores, _DECIMALS, out=scores) + 0.0  # no minus zero
        keys[rows] = _keys(values[rows])
        report("Sorting scores", rows.stop, pilot.n_probes)
    order = np.argsort(keys, kind="stable")
    _permute(values, order)
    return ScoreRows(values, pilot.weights[order], pilot.labels[order])


def _mean_and_spread(pilot: Pilot) -> tuple[float, float, float]:
    """Mean and standard deviation of all scores, in a unit in which no square overflows.

    Merged from blocks without cancellation. The unit is a power of two, so that it costs no digit.
    """
    count, mean, squares, unit = 0, 0.0, 0.0, 0.0
    for _, scores in pilot.score_blocks():
        unit = unit or 2.0 ** math.frexp(float(np.abs(scores).max()))[1]
        scores /= unit
        block = float(scores.mean())
        apart, total = block - mean, count + scores.size
        squares += float(np.square(scores - block).sum()) + apart**2 * count * scores.size / total
        mean += apart * scores.size / total
        count = total
    spread = math.sqrt(squares / count)
    return mean, spread if spread > _ROUND_OFF * abs(mean) else 1.0, unit


def _keys(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a number for each row that depends on all of its bits and not on where it stands."""
    places = np.arange(1, 2 * rows.shape[1], 2, dtype=np.uint64) * np.uint64(_MIX)
    bits = rows.view(np.uint32).astype(np.uint64)
    bits ^= bits >> np.uint64(7)  # a product alone would keep low bits apart from high ones
    return np.asarray((bits * places).sum(axis=1, dtype=np.uint64))


def _permute(rows: NDArray[np.float32], order: NDArray[np.intp]) -> None:
    """Put rows[order] in place, without a second copy of the rows."""
    done = np.zeros(len(order), np.bool_)
    for first in range(len(order)):
        if done[first]:
            continue
        saved, place = rows[first].copy(), first
        while order[place] != first:
            rows[place] = rows[order[place]]
            done[place] = True
            place = order[place]
        rows[place] = saved
        done[place] = True
