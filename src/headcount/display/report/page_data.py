"""What is inside a page as data: the rows of its curves, the metric, the back-tests.

A page answers for any number of classes, and draws, from rows of `Curve` alone, whatever the
metric is and however it is computed. The rows lie so densely that the polynomial in log k through
the eight nearest ones is within 1e-6 of what the library computes, and mostly within 1e-9. They are
cut into pieces where a curve may jump or bend: where the metric stops being certain, and at the
pilot's size, where what was measured ends and the forecast begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.curve import Curve
from headcount.metrics import Metric
from headcount.support.words import MOST_SAID
from headcount.uncertainty.backtest import Backtest

Ints = NDArray[np.int64]

ANY = 10**9  # number of classes that every page can be asked for
LEAST_PER_E, MOST_PER_E = 20, 256  # rows while the number of classes grows to its 2.7-fold
DIGITS = 12
LONG = ("grid", "halves")  # parts of a back-test that only intervals need


def largest_field(asked: Iterable[int]) -> int:
    """Return the largest number of classes that a page can be asked for."""
    return max([ANY, *asked])


def piece_starts(n_classes: int, certain: int) -> list[int]:
    """Return the numbers of classes at which a piece of a curve begins.

    Examples
    --------
    >>> piece_starts(100, 5)
    [1, 6, 101]
    """
    return sorted({1, certain + 1, n_classes + 1})


def row_classes(n_classes: int, certain: int, asked: Iterable[int]) -> Ints:
    """Return the numbers of classes that a page has rows for.

    They reach at least as far as a page can be asked, and as a capacity is told. The chance to be
    among the best m falls from one to nothing while the number of classes grows by a share of about
    1 / sqrt(m): the more of the best are certain to count, the more rows there are.

    Parameters
    ----------
    n_classes : int
        Size of the pilot.
    certain : int
        Up to so many classes the metric is at its best.
    asked : iterable of int
        Numbers of classes that were asked about.

    Examples
    --------
    >>> rows = row_classes(100, 5, [2000])
    >>> rows[:4].tolist(), bool(rows[-1] >= 10**9), len(rows) < 500
    ([1, 5, 6, 7], True, True)
    """
    farthest = max(largest_field(asked), MOST_SAID * n_classes)
    *starts, last = piece_starts(n_classes, certain)
    ends = [start - 1 for start in [*starts[1:], last]]
    per_e = min(max(LEAST_PER_E, 4 * math.sqrt(certain)), MOST_PER_E)
    pieces = [
        np.array([start, end])
        if end <= certain
        else np.geomspace(start, end, math.ceil(math.log(end / start) * per_e) + 2)
        for start, end in zip(starts, ends, strict=True)
    ]
    # The same rows however far they go, so that no answer depends on what else was asked.
    steps = np.arange(math.ceil(math.log(farthest / last) * per_e) + 1)
    rows = np.concatenate([*pieces, last * np.exp(steps / per_e)])
    return np.unique(rows.round().astype(np.int64))


def curve_data(curve: Curve, n_classes: int, certain: int) -> dict[str, Any]:
    """Return the rows of a curve, and at which rows its pieces begin."""
    columns = {
        name: _short(column) if column.dtype.kind == "f" else column.tolist()
        for name, column in curve.columns().items()
    }
    return columns | {"pieces": _pieces(curve.classes, n_classes, certain)}


def guess_data(metric: Metric, classes: Ints, n_classes: int) -> dict[str, Any]:
    """Return what choosing at random would give, as the rows of a curve."""
    return {
        "classes": classes.tolist(),
        "value": _short(metric.guess(classes)),
        "pieces": _pieces(classes, n_classes, metric.certain),
    }


def metric_data(metric: Metric) -> dict[str, Any]:
    """Return what a metric is called, and up to where it is certain."""
    return {
        "name": metric.name,
        "label": metric.label,
        "loss_label": metric.loss_label,
        "title": capital(metric.label),
        "loss_title": capital(metric.loss_label),
        "best": metric.describe(1.0),
        "certain": metric.certain,
    }


def backtest_data(backtest: Backtest, name: str) -> dict[str, Any]:
    """Return a back-test under a name, without what only intervals need."""
    fields = {key: value for key, value in backtest.to_dict().items() if key not in LONG}
    return fields | {"name": name}


def capital(text: str) -> str:
    """Return a text with a capital first letter, but for a word that has one further in.

    Examples
    --------
    >>> capital("top-5 error rate"), capital("nDCG@10")
    ('Top-5 error rate', 'nDCG@10')
    """
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]


def _pieces(classes: Ints, n_classes: int, certain: int) -> list[int]:
    rows: list[int] = np.searchsorted(classes, piece_starts(n_classes, certain)).tolist()
    return rows


def _short(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
