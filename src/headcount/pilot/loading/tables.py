"""Tables with one row a probe (or gallery vector): npy, CSV and parquet."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, MissingExtraError
from headcount.pilot.loading import safe_arrays
from headcount.pilot.loading.options import Options
from headcount.pilot.loading.safe_arrays import PER_TEXT, MemoryLimit
from headcount.support.validation import short
from headcount.support.words import counted

ROWS = (".npy", ".csv", ".tsv", ".parquet")
LABEL = "label"
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# What pandas calls the column of its row index, or one that had no name.
INDEX = re.compile(r"|Unnamed: \d+(\.\d+)?|__index_level_\d+__")
LONG = 40


@dataclass(frozen=True)
class Rows:
    """Numbers, the names of their columns, the labels, and whether rows are embeddings for sure."""

    values: NDArray[Any]
    names: list[str] | None = None
    labels: NDArray[Any] | None = None
    vectors: bool = False


def can_read(path: Path) -> bool:
    """Whether a table can be read: only text may be gzipped."""
    return (safe_arrays.kind_of(path) if is_text(path) else path.suffix.lower()) in ROWS


def is_text(path: Path) -> bool:
    """Whether a table is text, gzipped or not."""
    return safe_arrays.kind_of(path) in (".csv", ".tsv")


def read_rows(path: Path, limit: MemoryLimit) -> Rows:
    """Read a table by its ending."""
    if is_text(path):
        return _read_csv(path, limit)
    if safe_arrays.kind_of(path) == ".parquet":
        return _read_parquet(path, limit)
    return Rows(safe_arrays.read_npy(path))


def read_gallery(options: Options, limit: MemoryLimit) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read the gallery that the options name, and its labels where there are any."""
    path = safe_arrays.existing(options.take("gallery"))
    if not can_read(path):
        raise DataError(f"cannot read a gallery from {path.name}; give .npy, .csv or .parquet.")
    table = read_rows(path, limit)
    if options.has("gallery_labels"):
        return table.values, safe_arrays.read_labels(options.take("gallery_labels"), limit)
    return table.values, table.labels


def _read_csv(path: Path, limit: MemoryLimit) -> Rows:
    delimiter = "\t" if safe_arrays.kind_of(path) == ".tsv" else ","
    labels: list[str] = []
    values = array("d")
    with safe_arrays.open_text(path, limit, newline="") as stream:
        rows = csv.reader(
            _counted(stream, delimiter, limit, path), delimiter=delimiter, strict=True
        )
        try:
            header = [name.strip() for name in next(rows, [])]
            _refuse_separator(header, delimiter, path)
            label_at = header.index(LABEL) if LABEL in header else None
            columns = [i for i in range(len(header)) if i != label_at]
            names = [header[i] for i in columns]
            _refuse_index(header, path)
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"{path.name}: line {rows.line_num} has {counted(len(row), 'cell')}, the "
                        f"header {len(header)}; every line needs the same number."
                    )
                limit.take(8 * len(columns), f"{path.name} is too long")
                if label_at is not None:
                    limit.take(PER_TEXT, f"{path.name} is too long")
                    labels.append(row[label_at].strip())
                values.extend(_number(row[i], header[i], rows.line_num, path) for i in columns)
        except csv.Error as error:
            raise DataError(
                f"{path.name}: line {rows.line_num} cannot be read ({error}); check its quotes."
            ) from error
    n_rows = len(values) // len(columns) if columns else len(labels)
    matrix = np.frombuffer(values, dtype=np.float64).reshape(n_rows, len(columns))
    return Rows(
        matrix, names, None if label_at is None else safe_arrays.text_array(labels, limit, path)
    )


def _counted(
    stream: Iterable[str], delimiter: str, limit: MemoryLimit, path: Path
) -> Iterator[str]:
    """Yield lines, refused if their cells would take far more memory than the line."""
    for line in stream:
        n_bytes = PER_TEXT * line.count(delimiter)
        limit.check(n_bytes, f"{path.name} is too long", "give fewer rows or columns")
        yield line


def _refuse_separator(header: list[str], delimiter: str, path: Path) -> None:
    """Refuse a header of one cell that another separator would split."""
    separator = next((mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]), None)
    if separator is not None:
        raise DataError(
            f"{path.name} has its cells separated by {SEPARATORS[separator]}; write it again with "
            f"{SEPARATORS[delimiter]} between cells and decimal points in numbers."
        )


def _refuse_index(names: list[str], path: Path) -> None:
    """Refuse a column without a name of its own, which would become a class."""
    place = next((i for i, name in enumerate(names) if INDEX.fullmatch(name)), None)
    if place is not None:
        which = (
            f"column {names[place]!r}"
            if names[place]
            else f"column {place + 1}, which has no name,"
        )
        raise DataError(
            f"{path.name}: {which} is the row index of a pandas frame by its looks, and would be "
            "taken for a class; write the table without it (index=False), or give it a name."
        )


def _number(cell: str, column: str, line: int, path: Path) -> float:
    try:
        return float(cell)
    except ValueError:
        raise DataError(
            f"{path.name}: line {line}, column {short(column, LONG)} is "
            f"{short(cell, LONG)!r}, not a number; "
            "repair or remove it (true classes belong in a column named label)."
        ) from None


def _read_parquet(path: Path, limit: MemoryLimit) -> Rows:
    """Read a parquet table; one column of lists holds embeddings, one a row."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading parquet files", "io") from error
    try:
        stated = pq.read_metadata(path)
        n_bytes = 8 * stated.num_rows * stated.num_columns
        limit.take(n_bytes, f"{path.name} states {stated.num_rows:,} rows")
        table = pq.read_table(path)
        longer = max(0, table.nbytes - n_bytes)  # text and vectors, which Python unpacks
        limit.take(longer * safe_arrays.DECODED, f"{path.name} has rows that are too long")
        table = table.drop_columns(_index_columns(table))
        labels = None
        if LABEL in table.column_names:
            labels = np.array(table.column(LABEL).to_pylist())
            table = table.drop_columns([LABEL])
    except pa.ArrowMemoryError as error:
        raise MemoryError from error
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # a ValueError: names or labels
        raise DataError(f"{path.name} is not a complete parquet file; write it again.") from error
    lists = [field.name for field in table.schema if "list" in str(field.type)]
    if len(lists) == 1:
        return Rows(_vectors(table.column(lists[0]), lists[0], path), lists, labels, vectors=True)
    for field in table.schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            raise DataError(
                f"{path.name}: column {field.name} holds {field.type}, not numbers; leave it out "
                "(true classes belong in a column named label)."
            )
    _refuse_index(list(table.column_names), path)
    columns = [column.to_numpy() for column in table.columns]
    matrix = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    return Rows(matrix, list(table.column_names), labels)


def _index_columns(table: Any) -> list[str]:
    """Return the columns in which pandas stored its row index: they are no classes."""
    stated = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in stated if isinstance(name, str) and name in table.column_names]


def _vectors(column: Any, name: str, path: Path) -> NDArray[np.float64]:
    rows = column.to_pylist()
    lengths = {len(row or ()) for row in rows}
    if len(lengths) > 1:
        raise DataError(
            f"{path.name}: vectors in column {name} have different lengths, from "
            f"{min(lengths)} to {max(lengths)}; embed all rows with the same model."
        )
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), max(lengths, default=0))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{path.name}: vectors in column {name} hold something else than numbers; repair them."
        ) from error
