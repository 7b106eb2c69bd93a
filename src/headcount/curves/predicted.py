"""Forecasts without a law of favorability: a curve of accuracies, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import ROUND_OFF, check_target
from headcount.errors import DataError, UnsupportedError
from headcount.metrics import ACCURACY, Metric, Top
from headcount.support import validation
from headcount.support.grids import last_where

Floats = NDArray[np.float64]

FARTHEST = 1e15
POINTS = 2000


class PredictedCurve:
    """Accuracy at a fine ladder of numbers of classes, straight in log k between its rungs.

    It stands in for a `Favorability` where no law gives a method's accuracies (a straight line in
    log k, say). It knows accuracy and capacity, and refuses what follows only from a law.

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

    def value(self, k: Any, metric: Metric = ACCURACY) -> Floats:
        """Accuracy among k classes; any other metric is refused, as it follows only from a law."""
        if metric != ACCURACY:
            raise UnsupportedError(
                "this method gives no law of favorability, so it knows accuracy only, not "
                f"{metric.name}; choose another method."
            )
        counts = validation.class_counts(k)
        return np.asarray(np.interp(np.log(counts), np.log(self.classes), self.values))

    def accuracy(self, k: Any) -> Floats:
        """Accuracy among k classes."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Return the accuracy for m = 1; refuse any other m, which follows only from a law."""
        return self.value(k, Top(m))

    def capacity(self, target: float, metric: Metric = ACCURACY) -> int | float:
        """Last number of classes before accuracy first falls below `target`."""
        least = check_target(target) - ROUND_OFF
        below = np.flatnonzero(self.value(self.classes, metric) < least)
        if len(below) == 0:
            return math.inf
        if below[0] == 0:
            return 1
        low, high = self.classes[below[0] - 1], self.classes[below[0]]
        return last_where(lambda k: self.value(k, metric) >= least, low, high)
