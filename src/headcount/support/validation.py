"""Turn what people hold (lists, arrays, frames, tensors) into checked NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.support.words import share_of

# Squares and products of larger or smaller values leave the range of float64.
LARGEST, SMALLEST = 1e100, 1e-100
# Errors rarer than one in a thousand were never seen often enough to be learned.
LEAST_SURE, MOST_SURE = 0.01, 0.9999
BFLOAT16 = "torch.bfloat16"  # which NumPy does not have; float32 holds it exactly
SHOWN = 60  # characters of somebody's text in a sentence of ours


def as_table(values: Any, what: str) -> Any:
    """Return `values` as a matrix of numbers that stays where it is.

    Arrays of other libraries (tensors) are looked at from outside only, by their shape and type;
    anything else becomes a NumPy array, without a copy where possible.
    """
    table = values if _is_foreign(values) else _to_numpy(values, what)
    if len(table.shape) != 2:
        raise DataError(
            f"{what} must be a table with rows and columns, but has shape {tuple(table.shape)}; "
            "give one row for each probe."
        )
    if _kind(table.dtype) not in "fiub":
        raise DataError(f"{what} must be numbers, but their type is {table.dtype}; convert them.")
    return table


def as_matrix(values: Any, what: str) -> NDArray[Any]:
    """Return `values` as a read-only NumPy matrix of numbers, without a copy where possible.

    A tensor is moved to the host, wherever it lies.
    """
    view = _to_numpy(as_table(values, what), what).view()
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
        values = numbers.astype(np.float64)
    wrong = ~np.isfinite(values)
    refuse(wrong, what, "are no numbers", lambda i: str(values[i]), "give one for each")
    return np.asarray(values)


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
    rows = _to_numpy(values, what)
    if rows.ndim != 1 or (rows.dtype.kind not in "fiub" and rows.size):
        raise DataError(
            f"{what} must be a plain list of positions, or of true and false, but have shape "
            f"{rows.shape} and type {rows.dtype}."
        )
    if rows.dtype.kind == "b":
        if len(rows) != size:
            raise DataError(
                f"{what}: the mask has {len(rows):,} entries for {size:,} probes; give one for "
                "each."
            )
        return np.flatnonzero(rows)
    places = _whole(rows, what)
    outside = (places < 0) | (places >= size)
    remedy = f"count from 0 to {size - 1:,}"
    refuse(outside, what, "are outside the probes", lambda i: f"position {rows[i]}", remedy)
    repeated = np.ones(len(places), np.bool_)
    repeated[np.unique(places, return_index=True)[1]] = False
    refuse(repeated, what, "were named before", lambda i: f"position {rows[i]}", "name each once")
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
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise DataError(
                f"{what} has {short(key)!r} twice in one object; each may be there once."
            )
        members[key] = value
    return members


def same_dimensions(probes: Any, gallery: Any) -> None:
    """Refuse embeddings that cannot be compared; both may lie anywhere."""
    if gallery.shape[1] != probes.shape[1]:
        raise DataError(
            f"probes and gallery disagree: {probes.shape[1]} dimensions against "
            f"{gallery.shape[1]}; embed both with the same model."
        )


def some_dimensions(rows: Any, what: str) -> None:
    """Refuse embeddings without a single number; they may lie anywhere."""
    if rows.shape[1] == 0:
        raise DataError(f"{what} have no dimensions; each row must hold an embedding.")


def finite_vectors(rows: NDArray[Any], what: str) -> None:
    """Refuse embedding rows with NaN, infinity or values beyond use."""
    some_dimensions(rows, what)
    largest = np.zeros(len(rows))
    for first in range(0, len(rows), 16384):
        block = np.abs(rows[first : first + 16384].astype(np.float64))
        largest[first : first + 16384] = np.where(np.isnan(block), np.inf, block).max(axis=1)
    refuse_not_finite(largest > LARGEST, lambda i: np.asarray(rows[i]), what)
    refuse(
        (largest > 0) & (largest < SMALLEST),
        what,
        "hold no value over 1e-100",
        lambda i: f"largest value {largest[i]:g}",
        "multiply all embeddings by a large number",
    )


def refuse_not_finite(
    wrong: NDArray[np.bool_], row: Callable[[int], NDArray[Any]], what: str
) -> None:
    """Refuse the marked rows of a table for holding a value that is no usable number.

    Parameters
    ----------
    wrong : ndarray of bool
        Which rows.
    row : callable
        Returns a row; only the first that is wrong is asked for.
    what : str
        What the table holds.
    """
    if not wrong.any():
        return
    first = row(int(np.argmax(wrong)))
    values = first.astype(np.float64)
    column = int(np.argmax(~(np.abs(values) <= LARGEST)))
    remedy = "remove or repair them"
    if first.dtype == np.float16 and np.isinf(values[column]):
        remedy = "float16 ends at 65,504, so larger values overflowed: save as float32"
    refuse(
        wrong,
        what,
        "hold NaN, infinity or a value past 1e100",
        lambda _: f"column {column} is {values[column]:g}",
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


def _is_foreign(values: Any) -> bool:
    """Whether this is an array of another library, which may lie on another device."""
    if isinstance(values, np.ndarray | np.generic):
        return False
    frame_or_sparse = hasattr(values, "to_numpy") or hasattr(values, "toarray")
    return not frame_or_sparse and hasattr(values, "shape") and hasattr(values, "dtype")


def _kind(dtype: Any) -> str:
    """Return what NumPy calls a kind of numbers: "f", "i", "u" or "b"; "O" for what it lacks."""
    if str(dtype) == BFLOAT16:
        return "f"
    try:
        return np.dtype(dtype if isinstance(dtype, np.dtype) else _plain_name(dtype)).kind
    except TypeError:
        return "O"


def _plain_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _to_numpy(values: Any, what: str) -> NDArray[Any]:
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a torch tensor, on any device
        tensor = values.detach().cpu()
        return np.asarray(tensor.float() if str(tensor.dtype) == BFLOAT16 else tensor)
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
