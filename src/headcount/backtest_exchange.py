"""Back-tests as plain data, read with suspicion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.asking import whole_count
from headcount.errors import DataError, ParameterError
from headcount.wording import Nouns

Floats = NDArray[np.float64]

SCHEMA = 1


def check_tolerance(value: Any) -> float:
    """Return a tolerance, refused unless it lies between 0 and 1."""
    try:
        tolerance = float(value)
    except (TypeError, ValueError):
        tolerance = math.nan
    if not 0 < tolerance < 1:
        raise ParameterError(
            f"tolerance must lie between 0 and 1, such as 0.05 for 5 points, but is {value!r}."
        )
    return tolerance


def read_backtest(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Backtest`; refuse what `to_dict` cannot have written."""
    if held["schema"] != SCHEMA or isinstance(held["schema"], bool):
        raise DataError(
            f"this back-test has schema {held['schema']!r:.40}; this version reads {SCHEMA}."
        )
    n_classes = whole_count(held["n_classes"], "n_classes")
    observed = _shares([held["observed"]]).item()
    grid = np.array([whole_count(k, "grid") for k in held["grid"]], dtype=np.int64)
    rows = [_shares(row) for row in held["halves"]]
    if any(row.shape != grid.shape for row in rows) or not (np.diff(grid) > 0).all():
        raise DataError("the grid and the halves of this back-test do not fit together.")
    halves = np.array(rows).reshape(len(rows), len(grid))
    for array in (grid, halves):
        array.flags.writeable = False
    return {
        "n_classes": n_classes,
        "method": str(held["method"]),
        "observed": observed,
        "steps": [_step(step, n_classes, observed) for step in held["steps"]],
        "grid": grid,
        "halves": halves,
        "tolerance": check_tolerance(held["tolerance"]),
        "confidence": arrays.confidence_level(held["confidence"]),
        "shared_rivals": bool(held["shared_rivals"]),
        "notes": tuple(str(note) for note in held["notes"]),
        "nouns": Nouns.from_dict(held["nouns"]),
    }


def _step(held: Mapping[str, Any], n_classes: int, observed: float) -> dict[str, Any]:
    size = whole_count(held["classes"], "classes")
    coverage = held["coverage"]
    return {
        "n_classes": size,
        "ratio": n_classes / size,
        "forecasts": tuple(_shares(held["forecasts"]).tolist()),
        "observed": observed,
        "coverage": None if coverage is None else _shares([coverage]).item(),
    }


def _shares(values: Any) -> Floats:
    """Return numbers from 0 to 1, refused if they are not."""
    found = np.array(values, dtype=np.float64)
    if found.ndim != 1 or len(found) == 0 or not ((found >= 0) & (found <= 1)).all():
        raise DataError("a list of accuracies from 0 to 1 was expected.")
    return found
