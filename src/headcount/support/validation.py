"""Turn what people hold (lists, arrays, frames, tensors) into checked NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.support.words import share_of

# Squares and products of larger or smaller values leave the range of float64.
LARGEST, SMALLEST = 1e100, 1e-100
# Errors rarer than one in a thousand were never seen often enough to be learned.
LEAST_SURE, MOST_SURE = 0.01, 0.9999
SHOWN = 60  # characters of somebody's text in a sentence of ours


def as_matrix(values: Any, what: str) -> NDArray[Any]:
    """Return `values` as a read-only matrix of numbers, without a copy where possible."""
    matrix = _to_numpy(values, what)
    if matrix.ndim != 2:
        raise DataError(
            f"{what} must be a table with rows and columns, but has shape {matrix.shape}; "
            "give one row for each probe."
        )
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"{what} must be numbers, but their type is {matrix.dtype}; convert them.")
    view = matrix.view()
    view.flags.writeable = False
    return view


def column_names(values: Any) -> list[Any] | None:
    """Return the column names of a frame; None for anything else."""
    columns = getattr(values, "columns", None)
    return None if columns is None else list(columns)


def as_labels(values: Any, what: str) -> NDArray[Any]:
    """Return labels as a flat array of integers or of text."""
    labels = _to_numpy(values, what)
    if labels.ndim != 1:
        raise DataError(f"{what} must be a plain list, but have shape {labels.shape}.")
    if labels.dtype.kind == "O":
        labels = _from_objects(labels, what)
    if labels.dtype.kind == "S":
        try:
            labels = np.char.decode(labels, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{what} are bytes that are not UTF-8 text; save them as text."
            ) from error
    if labels.dtype.kind == "f":
        _refuse_merged(labels, what)
    if labels.dtype.kind in "fiub":
        return _whole(labels, what, "give them as text")
    if labels.dtype.kind in "UT":
        return as_text(labels.astype(str), what)
    raise DataError(f"{what} must be integers or text, but their type is {labels.dtype}.")


def as_text(texts: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an array of text, refused where it has code points that no text can have."""
    if texts.size == 0 or texts.dtype.itemsize == 0:
        return texts
    unit = np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder)
    points = np.ascontiguousarray(texts).reshape(-1, 1).view(unit)
    wrong = (points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))
    refuse(
        np.asarray(wrong.any(axis=1)),
        what,
        "hold code points that are no characters",
        lambda i: f"U+{points[i][wrong[i]][0]:04X}",
        "write the text again",
    )
    return texts


def as_numbers(values: Any, what: str) -> NDArray[np.float64]:
    """Return a flat array of finite numbers; dates become numbers in the same order."""
    numbers = _to_numpy(values, what)
    if numbers.ndim != 1:
        raise DataError(f"{what} must be a plain list, but has shape {numbers.shape}.")
    if numbers.dtype.kind == "O":
        try:
            numbers = numbers.astype(np.datetime64)
        except (ValueError, TypeError) as error:
            raise DataError(f"{what} must be numbers or dates, one for each class.") from error
    if numbers.dtype.kind == "M":
        wrong = np.isnat(numbers)
        refuse(wrong, what, "are no dates", lambda i: str(numbers[i]), "give a date for each")
        return numbers.astype(np.int64).astype(np.float64)
    if numbers.dtype.kind not in "fiub":
        raise DataError(
            f"{what} must be numbers or dates, but the type is {numbers.dtype}; convert them."
        )
    with np.errstate(over="ignore"):  # of long doubles
        held = numbers.astype(np.float64)
    refuse(~np.isfinite(held), what, "are no numbers", lambda i: str(held[i]), "give one for each")
    return held


def as_counts(values: Any, what: str) -> NDArray[np.int64]:
    """Return non-negative whole numbers."""
    counts = _to_numpy(values, what)
    if counts.ndim != 1 or counts.dtype.kind not in "fiub":
        raise DataError(
            f"{what} must be a plain list of whole numbers, but have shape {counts.shape} "
            f"and type {counts.dtype}."
        )
    counts = _whole(counts, what)
    refuse(counts < 0, what, "are negative", lambda i: str(counts[i]), "give counts of 0 or more")
    return counts


def as_positions(values: Any, what: str, size: int) -> NDArray[np.intp]:
    """Return places among `size` rows, from a list of places or a mask."""
    given = _to_numpy(values, what)
    if given.ndim != 1 or (given.dtype.kind not in "fiub" and given.size):
        raise DataError(
            f"{what} must be a plain list of positions, or of true and false, but have shape "
            f"{given.shape} and type {given.dtype}."
        )
    if given.dtype.kind == "b":
        if len(given) != size:
            raise DataError(
                f"{what}: the mask has {len(given):,} entries for {size:,} probes; give one for "
                "each."
            )
        return np.flatnonzero(given)
    places = _whole(given, what)
    outside = (places < 0) | (places >= size)
    remedy = f"count from 0 to {size - 1:,}"
    refuse(outside, what, "are outside the probes", lambda i: f"position {given[i]}", remedy)
    again = np.ones(len(places), np.bool_)
    again[np.unique(places, return_index=True)[1]] = False
    refuse(again, what, "were named before", lambda i: f"position {given[i]}", "name each once")
    return places.astype(np.intp)


def as_flags(values: Any, what: str) -> NDArray[np.bool_]:
    """Return a flat array of true and false."""
    flags = _to_numpy(values, what)
    if flags.ndim != 1 or flags.dtype.kind in "mMV" or not np.isin(flags, (0, 1)).all():
        raise DataError(f"{what} must be a plain list of true or false.")
    return flags.astype(np.bool_)


def same_length(first: Sequence[Any] | NDArray[Any], name: str, n_rows: int, rows: str) -> None:
    """Refuse a list whose length disagrees with a table."""
    if len(first) != n_rows:
        raise DataError(
            f"{name} and {rows} disagree: {len(first):,} {name} for {n_rows:,} {rows}; "
            "give one for each."
        )


def refuse(wrong: NDArray[np.bool_], what: str, fault: str, show: Any, remedy: str) -> None:
    """Raise a DataError if any row is wrong, naming how many, the first one, and what to do."""
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            f"{what}: {share_of(int(wrong.sum()), len(wrong), 'rows', fault)} "
            f"(first: row {first}, {short(show(first))}); {remedy}."
        )


def short(text: str, most: int = SHOWN) -> str:
    """Return the beginning of a text that is too long for a sentence.

    Examples
    --------
    >>> short("a" * 100, 10)
    'aaaaaaa...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def once_each(pairs: Sequence[tuple[str, Any]], what: str) -> dict[str, Any]:
    """Return a JSON object from its pairs, refused where a key is there twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DataError(
                f"{what} has {short(key)!r} twice in one object; each may be there once."
            )
        found[key] = value
    return found


def finite_vectors(rows: NDArray[Any], what: str) -> None:
    """Refuse embedding rows with NaN, infinity or values beyond use."""
    if rows.shape[1] == 0:
        raise DataError(f"{what} have no dimensions; each row must hold an embedding.")
    largest = np.zeros(len(rows))
    for at in range(0, len(rows), 16384):
        block = np.abs(rows[at : at + 16384].astype(np.float64))
        largest[at : at + 16384] = np.where(np.isnan(block), np.inf, block).max(axis=1)
    refuse_not_finite(largest > LARGEST, rows, what)
    refuse(
        (largest > 0) & (largest < SMALLEST),
        what,
        "hold no value over 1e-100",
        lambda i: f"largest value {largest[i]:g}",
        "multiply all embeddings by a large number",
    )


def refuse_not_finite(wrong: NDArray[np.bool_], rows: NDArray[Any], what: str) -> None:
    """Refuse the marked rows of a table for holding a value that is no usable number."""
    if not wrong.any():
        return
    first = np.asarray(rows[int(np.argmax(wrong))], dtype=np.float64)
    column = int(np.argmax(~(np.abs(first) <= LARGEST)))
    remedy = "remove or repair them"
    if rows.dtype == np.float16 and np.isinf(first[column]):
        remedy = "float16 ends at 65,504, so larger values overflowed: save as float32"
    refuse(
        wrong,
        what,
        "hold NaN, infinity or a value past 1e100",
        lambda _: f"column {column} is {first[column]:g}",
        remedy,
    )


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an integer of at least `least`."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not number == np.floor(number) or np.isinf(number):
        raise ParameterError(f"{name} must be a whole number, but is {short(repr(value))}.")
    if number < least:
        raise ParameterError(f"{name} must be at least {least}, but is {int(number)}.")
    return int(number) if isinstance(value, str) else int(value)


def class_counts(k: Any, least: int = 1) -> NDArray[np.float64]:
    """Return numbers of classes as floats (they may exceed 2**63), each checked to be whole."""
    try:
        with np.errstate(over="ignore"):  # of long doubles
            counts = np.asarray(k, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(
            f"numbers of classes must be whole numbers up to 1e15, but are {short(repr(k))}."
        ) from error
    wrong = ~((counts >= least) & np.isfinite(counts)) | (counts != np.floor(counts))
    if wrong.any():
        value = float(counts[wrong].flat[0])
        raise ParameterError(
            f"a number of classes must be a whole number of at least {least}, but is {value:g}."
        )
    return counts


def confidence_level(value: Any) -> float:
    """Return the level of an interval, refused where no interval of that level says anything."""
    try:
        level = float(value)
    except (TypeError, ValueError, OverflowError):
        level = float("nan")
    if not LEAST_SURE <= level <= MOST_SURE:
        raise ParameterError(
            f"confidence must lie between {LEAST_SURE:g} and {MOST_SURE:g}, such as 0.9, but is "
            f"{value!r:.40}."
        )
    return level


def truth(value: Any, name: str) -> bool:
    """Return a truth value, which NumPy and files may hold as another type than bool."""
    if np.ndim(value) != 0 or value not in (True, False):
        raise ParameterError(f"{name} must be true or false, but is {short(repr(value))}.")
    return bool(value)


def choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words."""
    if value not in allowed:
        raise ParameterError(
            f"{name} must be one of {', '.join(allowed)}, but is {short(repr(value))}."
        )
    return str(value)


def _to_numpy(values: Any, what: str) -> NDArray[Any]:
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a torch tensor, on any device
        tensor = values.detach().cpu()
        return np.asarray(tensor.float() if "bfloat16" in str(tensor.dtype) else tensor)
    if hasattr(values, "to_numpy"):  # pandas, polars
        return np.asarray(values.to_numpy())
    if hasattr(values, "toarray"):
        raise DataError(f"{what} came as a sparse matrix; pass a dense one (its .toarray()).")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"{what} cannot be read as a table: rows of different lengths.") from error


def _from_objects(labels: NDArray[Any], what: str) -> NDArray[Any]:
    kinds = {bool(isinstance(label, str)) for label in labels.tolist()}
    if kinds == {True}:
        return labels.astype(str)
    if kinds == {False} and all(isinstance(label, int | np.integer) for label in labels.tolist()):
        try:
            return labels.astype(np.int64)
        except OverflowError as error:
            raise DataError(f"{what} hold integers past 2**63; give them as text.") from error
    allowed: Any = str if True in kinds else (int, np.integer)
    wrong = np.array([not isinstance(label, allowed) for label in labels.tolist()])
    refuse(
        wrong,
        what,
        "are not text, while others are" if True in kinds else "are neither integers nor text",
        lambda i: repr(labels[i]),
        "make all labels integers or all text",
    )
    return labels


def _whole(values: NDArray[Any], what: str, remedy: str = "check them") -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = ~np.isfinite(values) | (values != np.floor(values))
        refuse(wrong, what, "are not whole numbers", lambda i: str(values[i]), "give integers")
        with np.errstate(over="ignore"):  # float16 ends before
            wrong = (values < -(2.0**63)) | (values >= 2.0**63)
        refuse(wrong, what, "are past 2**63", lambda i: str(values[i]), remedy)
    elif values.dtype.kind == "u":
        wrong = values > np.uint64(2**63 - 1)
        refuse(wrong, what, "are past 2**63", lambda i: str(values[i]), remedy)
    return values.astype(np.int64)


def _refuse_merged(labels: NDArray[Any], what: str) -> None:
    """Refuse numbers so large that their type may have made one label of two."""
    bits = np.finfo(labels.dtype).nmant + 1
    refuse(
        np.isfinite(labels) & (np.abs(labels) >= 2.0**bits),
        what,
        f"are past 2**{bits}, where {labels.dtype} no longer tells whole numbers apart",
        lambda i: str(labels[i]),
        "give integers or text",
    )


def positive(value: Any, name: str) -> float:
    """Return a number, refused unless above zero and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < np.inf:
        raise ParameterError(f"{name} must be above 0, but is {value!r}.")
    return number


def running_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative sums to the last digit, so that what is added and taken away leaves no trace."""
    whole, rest = whole_and_rest(values)
    return np.asarray(np.cumsum(whole) + np.cumsum(rest))


def whole_and_rest(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split values into whole numbers of a unit, whose sums are exact, and tiny rests."""
    unit = 2.0 ** (np.ceil(np.log2(np.abs(values).sum() or 1.0)) - 51)
    whole = np.round(values / unit) * unit
    return whole, values - whole
