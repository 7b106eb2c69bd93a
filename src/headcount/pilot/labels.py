"""Names of classes, and where labels point among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.support import validation

Groups = Mapping[Any, Any] | Sequence[Any] | NDArray[Any] | None
Order = Mapping[Any, Any] | Sequence[Any] | NDArray[Any] | None

MOST_CLASSES = 2**53  # numbers up to here are exact as floats


def number_of_classes(value: Any, least: int) -> int:
    """Return how many classes competed, refused unless they can be counted."""
    endless = isinstance(value, int) and abs(value) > MOST_CLASSES  # maybe too long for a float
    if endless or (number := validation.whole_number(value, "n_classes", least)) > MOST_CLASSES:
        raise ParameterError(
            f"n_classes must be from {least} to 2**53; give the number of classes that competed."
        )
    return number


def enough(n_classes: int, n_probes: int) -> None:
    """Refuse fewer than two classes, or no probe."""
    if n_classes < 2:
        raise DataError(f"a pilot needs at least 2 classes, but there is {n_classes}; add classes.")
    if n_probes < 1:
        raise DataError("there is no probe: not one test point of these classes; add some.")


def refuse_duplicates(names: NDArray[Any], what: str) -> None:
    """Refuse a name that occurs twice."""
    values, first, counts = np.unique(names, return_index=True, return_counts=True)
    if (counts > 1).any():
        worst, often = int(np.argmax(counts > 1)), int((counts > 1).sum())
        occur = "name occurs" if often == 1 else "names occur"
        raise DataError(
            f"{what}: {often:,} {occur} more than once (first: "
            f"{validation.short(str(values[worst]))}, at position {first[worst]}); give every "
            "class its own name."
        )


def positions(
    labels: NDArray[Any], names: NDArray[Any], *, numbered: bool = False
) -> NDArray[np.int64]:
    """Return where each label stands among the names.

    With `numbered`, integers that are no names may also be positions (the columns of a matrix).
    """
    refuse_duplicates(names, "class names")
    sought, listed = labels, names
    if labels.dtype.kind != names.dtype.kind:
        sought, listed = labels.astype(str), names.astype(str)
    order = np.argsort(listed, kind="stable")
    place = np.minimum(np.searchsorted(listed[order], sought), len(listed) - 1)
    is_name = listed[order][place] == sought
    if numbered and labels.dtype.kind == "i" and names.dtype.kind == "U" and not is_name.any():
        validation.refuse(
            (labels < 0) | (labels >= len(names)),
            "labels",
            f"are outside the columns 0 to {len(names) - 1}",
            lambda i: f"label {labels[i]}",
            "labels must be column numbers or class names",
        )
        return labels.astype(np.int64)
    plain = names.dtype.kind == "i" and np.array_equal(names, np.arange(len(names)))
    validation.refuse(
        ~is_name,
        "labels",
        f"are outside the columns 0 to {len(names) - 1}" if plain else "name no class",
        lambda i: f"label {labels[i]!s}",
        "labels must be column numbers counted from 0, or give class_names"
        if plain
        else "labels must be among the class names",
    )
    return order[place].astype(np.int64)


def groups_of(groups: Groups, names: NDArray[Any]) -> NDArray[Any] | None:
    """Return the group of each class, given as a list or as a mapping from names."""
    if groups is None:
        return None
    values = validation.as_labels(_by_class(groups, names, "groups", "group"), "groups")
    validation.same_length(values, "groups", len(names), "classes")
    return values


def order_of(order: Order, names: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return where each class stands in an order, given as a list or as a mapping from names."""
    if order is None:
        return None
    places = _by_class(order, names, "order", "place in the order")
    values = validation.as_numbers(places, "order")
    validation.same_length(values, "order", len(names), "classes")
    return values


def _by_class(values: Any, names: NDArray[Any], what: str, noun: str) -> Any:
    """Return what was given for each class in the order of `names`."""
    if not isinstance(values, Mapping):
        return values
    missing = np.array([name not in values for name in names.tolist()])
    validation.refuse(
        missing, what, f"have no {noun}", lambda i: str(names[i]), f"name a {noun} for each class"
    )
    return [values[name] for name in names.tolist()]
