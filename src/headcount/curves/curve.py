"""A curve as a table of rows: size, value, limits, region. All ways out are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.metrics import ACCURACY
from headcount.support.words import counted, percent

Floats = NDArray[np.float64]

OBSERVED, FORECAST = "observed", "forecast"
REGION_WORDS = {OBSERVED: "measured", FORECAST: "forecast"}


class Quantity(Protocol):
    """What the values of a curve are: a metric, or a cost."""

    @property
    def label(self) -> str:
        """What it is called above a column and beside an axis."""

    def write(self, value: float) -> str:
        """Return a value as people read it."""

    def write_range(self, lower: float, upper: float) -> str:
        """Return an interval as people read it."""


@dataclass(frozen=True)
class Curve:
    """Values at numbers of classes: observed up to the pilot's size, forecast beyond.

    The terminal, CSV, JSON, data frames, notebooks and pages all show its rows.

    Attributes
    ----------
    classes : ndarray of int64
        Numbers of classes.
    value : ndarray
        The value there.
    region : ndarray of str
        "observed" up to the pilot's size, "forecast" beyond.
    lower, upper : ndarray or None
        Limits of the value; None where there are no intervals.
    quantity : Quantity
        What the values are: a metric, accuracy by default.

    Examples
    --------
    >>> curve = Curve(np.array([10, 99]), np.array([0.9, 0.5]), np.array(["observed", "forecast"]))
    >>> curve.rows("forecast")
    [{'classes': 99, 'value': 0.5, 'lower': None, 'upper': None}]
    >>> curve.cells()
    [['10', '90%', 'measured'], ['99', '50%', 'forecast']]
    >>> curve.sentences(0.9)
    ['At 10 classes: 90% (measured).', 'At 99 classes: 50%.']
    """

    classes: NDArray[np.int64]
    value: Floats
    region: NDArray[np.str_]
    lower: Floats | None = None
    upper: Floats | None = None
    quantity: Quantity = ACCURACY

    def __post_init__(self) -> None:
        for column in (self.classes, self.value, self.region, self.lower, self.upper):
            if column is not None:
                column.flags.writeable = False

    @property
    def has_limits(self) -> bool:
        """Whether there are intervals."""
        return self.lower is not None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns there are, by name."""
        columns = {name: getattr(self, name) for name in NAMES}
        return {name: column for name, column in columns.items() if column is not None}

    def rows(self, region: str | None = None) -> list[dict[str, Any]]:
        """Return the rows as plain data, None where there is no limit.

        With a region, only its rows, which then need not say it.
        """
        columns, missing = self.columns(), [None] * len(self.classes)
        lists = [columns[name].tolist() if name in columns else missing for name in NAMES]
        rows = [dict(zip(NAMES, row, strict=True)) for row in zip(*lists, strict=True)]
        return rows if region is None else [row for row in rows if row.pop("region") == region]

    def titles(self, confidence: float) -> list[str]:
        """Return what stands above the cells."""
        limits = [_interval_of(confidence)] if self.has_limits else []
        return ["classes", self.quantity.label, *limits, ""]

    def cells(self) -> list[list[str]]:
        """Return the rows as people read them: size, value, interval where there is one, source."""
        return [
            [
                f"{row['classes']:,}",
                self.quantity.write(row["value"]),
                *self._limits_of(row),
                REGION_WORDS[row["region"]],
            ]
            for row in self.rows()
        ]

    def sentences(self, confidence: float) -> list[str]:
        """Return each row as a sentence."""
        return [self._sentence(row, confidence) for row in self.rows()]

    def _sentence(self, row: dict[str, Any], confidence: float) -> str:
        notes = [REGION_WORDS[OBSERVED]] if row["region"] == OBSERVED else []
        notes += [f"{_interval_of(confidence)} {limits}" for limits in self._limits_of(row)]
        value = self.quantity.write(row["value"])
        remark = f" ({', '.join(notes)})" if notes else ""
        return f"At {counted(row['classes'], 'class')}: {value}{remark}."

    def _limits_of(self, row: dict[str, Any]) -> list[str]:
        if row["lower"] is None:
            return []
        return [self.quantity.write_range(row["lower"], row["upper"])]


NAMES = ("classes", "value", "lower", "upper", "region")


def _interval_of(confidence: float) -> str:
    return f"{percent(confidence)} interval"
