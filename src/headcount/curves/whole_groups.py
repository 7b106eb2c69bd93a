"""Curves where classes come in whole groups: what is known of groups, at numbers of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UnsupportedError
from headcount.metrics import ACCURACY, Metric
from headcount.support import validation

Floats = NDArray[np.float64]


def refuse_other_metric(metric: Metric) -> None:
    """Refuse what depends on how many classes of a group beat a probe, not on whether any does."""
    if metric != ACCURACY:
        raise UnsupportedError(
            f"where classes come in whole groups accuracy alone is known, not {metric.name}; say "
            'that classes are drawn one by one (drawn="classes", --drawn classes).'
        )


def of_groups(
    k: Any,
    n_classes: int,
    n_groups: int,
    share: float | Floats,
    among: Callable[[Floats], Floats],
) -> Floats:
    """Return accuracy among k classes in whole groups.

    Parameters
    ----------
    k : int or sequence of int
        Numbers of classes.
    n_classes, n_groups : int
        Classes of a pilot, and groups that they are in.
    share : float or ndarray
        Accuracy among the classes of one's own group; a column for several laws at once.
    among : callable
        Gives accuracy among numbers of groups, of probes that no class of their own group beats.

    Examples
    --------
    Groups of two; half of the probes survive their own, and of those two in three each other:

    >>> of_groups([1, 2, 3, 4], 20, 10, 0.5, lambda g: (2 / 3) ** (g - 1)).round(3).tolist()
    [1.0, 0.5, 0.417, 0.333]
    """
    counts = validation.class_counts(k)
    g = counts * n_groups / n_classes
    few = np.maximum(np.floor(g * (1 + 1e-12)), 1.0)
    step = np.maximum(g - few, 0.0)
    values = share * ((1 - step) * among(few) + step * among(few + 1))
    alone = (counts - 1) / max(n_classes / n_groups - 1, 1e-12)
    return np.asarray(np.where(g < 1, 1 - alone * (1 - share), values))
