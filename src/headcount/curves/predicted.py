"""Forecasts that are no mixture: a curve of accuracies, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import ROUND_OFF, check_target
from headcount.errors import DataError, UnsupportedError
from headcount.support import validation

Floats = NDArray[np.float64]

FARTHEST = 1e15
POINTS = 2000


class PredictedCurve:
    """Accuracy at a fine ladder of numbers of classes, straight in log k between its rungs.

    Stands in for a `Favorability` where a method gives accuracies that are the moments of no law
    (a straight line in log k, say). It answers `accuracy` and `capacity`; what follows only from a
    law, it refuses.

    Parameters
    ----------
    classes, accuracy : array
        The rungs, ascending from 1.

    Examples
    --------
    >>> curve = PredictedCurve.sample(lambda k: 1 / (1 + np.log10(k)), [1000])
    >>> float(curve.accuracy(1000)), curve.capacity(0.5)
    (0.25, 10)
    """

    def __init__(self, classes: Any, accuracy: Any) -> None:
        self.classes = np.asarray(classes, dtype=np.float64)
        self.values = np.asarray(accuracy, dtype=np.float64)
        sound = (
            self.classes.ndim == 1
            and self.classes.shape == self.values.shape
            and len(self.classes) > 1
            and self.classes[0] == 1
            and bool((np.diff(self.classes) > 0).all())
            and bool(((self.values >= 0) & (self.values <= 1)).all())
        )
        if not sound:
            raise DataError(
                "a curve needs ascending numbers of classes and accuracies from 0 to 1."
            )
        for array in (self.classes, self.values):
            array.flags.writeable = False

    @classmethod
    def sample(cls, predict: Callable[[Floats], Floats], classes: Any) -> PredictedCurve:
        """Tabulate a method's predictions, the numbers of classes asked about included."""
        ladder = np.geomspace(1, FARTHEST, POINTS).round()
        rungs = np.unique(np.concatenate([np.arange(1.0, 1001.0), ladder, np.atleast_1d(classes)]))
        return cls(rungs, predict(rungs))

    def accuracy(self, k: Any) -> Floats:
        """Accuracy among k classes."""
        counts = validation.class_counts(k)
        return np.asarray(np.interp(np.log(counts), np.log(self.classes), self.values))

    def top(self, m: int, k: Any) -> Floats:
        """Refuse: without a law there is only accuracy."""
        raise UnsupportedError(
            "this method gives no law of favorability, so it knows accuracy only, not the best m; "
            "choose another method."
        )

    def capacity(self, target: float) -> int | float:
        """Last number of classes before accuracy first falls below `target`."""
        least = check_target(target) - ROUND_OFF
        below = np.flatnonzero(self.values < least)
        if len(below) == 0:
            return math.inf
        if below[0] == 0:
            return 1
        low, high = self.classes[below[0] - 1], self.classes[below[0]]
        while high - low > 1:
            middle = np.floor(low + (high - low) / 2)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.accuracy(middle) >= least else (low, middle)
        return int(low)
