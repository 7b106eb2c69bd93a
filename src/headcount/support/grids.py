"""Numbers of classes that people ask about: checked, and split at what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ExtrapolationWarning, ParameterError, warn
from headcount.support import validation
from headcount.support.words import about

Floats = NDArray[np.float64]

FAR = 100
MOST_CLASSES = 1e15
POINTS = 60
ROUND_OFF = 1e-12


def asked_classes(classes: Any) -> tuple[int, ...]:
    """Return the numbers of classes asked about, ascending; refused where there are none.

    Examples
    --------
    >>> asked_classes([1000, 200, 1000])
    (200, 1000)
    """
    asked = np.unique(validation.class_counts(classes))
    if asked.size == 0:
        raise ParameterError("classes names no number of classes; give at least one.")
    if asked[-1] > MOST_CLASSES:
        raise ParameterError(
            f"classes asks for {asked[-1]:g}; past {MOST_CLASSES:g} a forecast means nothing."
        )
    return tuple(int(k) for k in asked)


def class_counts_within(k: Any, n_classes: int) -> NDArray[np.int64]:
    """Return numbers of classes, refused where they exceed those of the pilot."""
    counts = validation.class_counts(k)
    if (counts > n_classes).any():
        raise ParameterError(
            f"the pilot has {n_classes:,} classes, so nothing was observed at "
            f"{int(counts.max()):,}; use a forecast for more."
        )
    return counts.astype(np.int64)


def times_as_many(ratio: float, n_classes: int) -> int:
    """Return how many classes are so many times as many, rounded down but for round-off.

    Examples
    --------
    >>> 2.3 * 100, times_as_many(2.3, 100)
    (229.99999999999997, 230)
    """
    return math.floor(ratio * n_classes * (1 + ROUND_OFF))


def grown_counts(k: Any, n_classes: int) -> Floats:
    """Return numbers of classes, refused where the pilot's own do not all have room.

    Examples
    --------
    >>> grown_counts([100, 150], 100).tolist()
    [100.0, 150.0]
    """
    counts = validation.class_counts(k)
    if (counts < n_classes).any():
        raise ParameterError(
            f"a grown set contains the pilot's {n_classes:,} classes; ask for so many or more, or "
            "for kind='new_set'."
        )
    return counts


def whole_count(value: Any, name: str) -> int:
    """Return a number of classes or probes read from a file, refused past what anyone has.

    Examples
    --------
    >>> whole_count(500.0, "n_classes")
    500
    """
    count = validation.whole_number(value, name, 1)
    if count > MOST_CLASSES:
        raise ParameterError(f"{name} must be at most {MOST_CLASSES:g}, but is {float(count):g}.")
    return count


def warn_if_far(n_classes: int, largest: int) -> None:
    """Say so where a forecast goes so far that nothing in the pilot speaks for it."""
    if largest > FAR * n_classes:
        warn(
            f"{largest:,} classes are {about(largest / n_classes)} times the pilot's "
            f"{n_classes:,}; nothing in the pilot shows what happens so far out. "
            "A larger pilot is needed to be sure.",
            ExtrapolationWarning,
        )


def observed_or_forecast(
    k: Any, n_classes: int, inside: Callable[[Floats], Any], beyond: Callable[[Floats], Any]
) -> Floats:
    """Return values at k: from `inside` up to the pilot's size, from `beyond` past it."""
    counts = validation.class_counts(k)
    values, measured = np.empty(counts.shape), counts <= n_classes
    if measured.any():
        values[measured] = inside(counts[measured])
    if not measured.all():
        values[~measured] = beyond(counts[~measured])
    return values


def round_numbers(largest: float) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50 ... up to `largest`.

    Examples
    --------
    >>> round_numbers(30)
    [1, 2, 5, 10, 20]
    """
    steps = (m * 10**e for e in range(16) for m in (1, 2, 5))
    return [step for step in steps if step <= largest]


def curve_classes(n_classes: int, asked: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers of classes for a curve: evenly on a log scale, and all that matter."""
    grid = np.geomspace(2, max(n_classes, *asked), POINTS).round()
    return np.unique(np.concatenate([grid, [2, n_classes, *asked]])).astype(np.int64)


def last_where(holds: Callable[[int], Any], low: float, high: float) -> int:
    """Return the last whole number at which something holds that does at `low`, not at `high`.

    By bisection; past 2**53 as far as floats can tell numbers apart.

    Examples
    --------
    >>> last_where(lambda k: k * k <= 50, 1, 50)
    7
    """
    first, last = int(low), int(high)
    while last - first > max(1, first * 1e-15):
        middle = (first + last) // 2
        first, last = (middle, last) if holds(middle) else (first, middle)
    return first
