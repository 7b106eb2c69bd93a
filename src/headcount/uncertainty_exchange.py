"""Errors of a forecast as plain data, read with suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.asking import MOST_CLASSES
from headcount.errors import DataError

Floats = NDArray[np.float64]

# Far past anything that is ever written, and near enough that powers and exponentials of it, times
# numbers of classes, stay finite: errors on the scale of log odds, logarithms of how variances
# grow, and what was learned.
LARGEST, FASTEST, STEEPEST = 1e6, 90.0, 15.0


def read_uncertainty(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an `Uncertainty`; refuse what `to_dict` cannot have written."""
    grid = _numbers(held, "grid", least=1, most=MOST_CLASSES)
    if not (np.diff(grid) > 0).all() or (grid != np.floor(grid)).any():
        raise DataError("the grid of this forecast's errors is not one of growing whole numbers.")
    fields: dict[str, Any] = {
        "n_classes": _whole(held, "n_classes"),
        "n_probes": _whole(held, "n_probes"),
        "grid": grid.astype(np.int64),
        "observed_error": _numbers(held, "observed_error", least=0),
        "growth": None if held["growth"] is None else _numbers(held, "growth", -LARGEST, FASTEST),
        "bias": _numbers(held, "bias", -LARGEST, LARGEST),
        "class_variance": _number(held, "class_variance", least=0),
        "probe_variance": _number(held, "probe_variance", least=0),
        "probes_per_class": _number(held, "probes_per_class", least=0, most=MOST_CLASSES),
        "observed": _number(held, "observed", least=0, most=1),
        "shared_rivals": _flag(held, "shared_rivals"),
        "stated": None if held["stated"] is None else _numbers(held, "stated", least=0),
        "told_apart": _flag(held, "told_apart"),
        "model": read_model(held["model"]),
    }
    for value in fields.values():
        if isinstance(value, np.ndarray):
            if value.shape != grid.shape:
                raise DataError("the errors of this forecast do not fit their grid.")
            value.flags.writeable = False
    return fields


def read_model(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an `ErrorModel`, refused if they are none."""
    tables = {name: _numbers(held, name, 0, STEEPEST) for name in ("levels", "quantiles")}
    numbers = {name: _number(held, name, 0, STEEPEST) for name in held if name not in tables}
    sizes = {len(table) for table in tables.values()}
    if len(sizes) != 1 or any((np.diff(table) < 0).any() for table in tables.values()):
        raise DataError("the levels and quantiles of this forecast's errors do not fit together.")
    return numbers | {name: tuple(table.tolist()) for name, table in tables.items()}


def _numbers(held: Mapping[str, Any], name: str, least: float, most: float = LARGEST) -> Floats:
    found = np.array(held[name], dtype=np.float64)
    sound = np.isfinite(found) & (found >= least) & (found <= most)
    if found.ndim != 1 or len(found) == 0 or not sound.all():
        raise DataError(f"the {name} of this forecast is no list of sound numbers.")
    return found


def _number(held: Mapping[str, Any], name: str, least: float, most: float = LARGEST) -> float:
    if isinstance(held[name], bool | str):
        raise DataError(f"the {name} of this forecast is no number: {held[name]!r:.40}.")
    return float(_numbers({name: [held[name]]}, name, least, most)[0])


def _whole(held: Mapping[str, Any], name: str) -> int:
    number = _number(held, name, least=1, most=MOST_CLASSES)
    if number != int(number):
        raise DataError(f"the {name} of this forecast is no whole number: {number!r}.")
    return int(number)


def _flag(held: Mapping[str, Any], name: str) -> bool:
    if not isinstance(held[name], bool):
        raise DataError(
            f"the {name} of this forecast is neither true nor false: {held[name]!r:.40}."
        )
    return bool(held[name])
