"""Tables with one row a probe (or gallery vector): npy, CSV and parquet."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, MissingExtraError
from headcount.loading import files
from headcount.loading.options import Options

ROWS = (".npy", ".csv", ".tsv", ".parquet")
LABEL = "label"


@dataclass(frozen=True)
class Rows:
    """Numbers, the names of their columns, the labels, and whether rows are embeddings for sure."""

    values: NDArray[Any]
    names: list[str] | None = None
    labels: NDArray[Any] | None = None
    vectors: bool = False


def read_rows(path: Path) -> Rows:
    """Read a table by its ending."""
    kind = path.suffix.lower()
    if kind == ".npy":
        return Rows(files.read_npy(path))
    return _read_parquet(path) if kind == ".parquet" else _read_csv(path)


def read_gallery(options: Options) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read the gallery that the options name, and its labels where there are any."""
    path = files.existing(options.take("gallery"))
    if path.suffix.lower() not in ROWS:
        raise DataError(f"cannot read a gallery from {path.name}; give .npy, .csv or .parquet.")
    table = read_rows(path)
    if options.has("gallery_labels"):
        return table.values, files.read_labels(options.take("gallery_labels"))
    return table.values, table.labels


def _read_csv(path: Path) -> Rows:
    text = files.read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    labels: list[str] = []
    values: list[list[float]] = []
    try:
        header = [name.strip() for name in next(rows, [])]
        label_at = header.index(LABEL) if LABEL in header else None
        columns = [i for i in range(len(header)) if i != label_at]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{path.name}: line {rows.line_num} has {len(row)} cells, the header "
                    f"{len(header)}; every line needs the same number."
                )
            if label_at is not None:
                labels.append(row[label_at].strip())
            values.append([_number(row[i], header[i], rows.line_num, path) for i in columns])
    except csv.Error as error:
        raise DataError(
            f"{path.name}: line {rows.line_num} cannot be read ({error}); check its quotes."
        ) from error
    matrix = np.array(values, dtype=np.float64).reshape(len(values), len(columns))
    names = [header[i] for i in columns]
    return Rows(matrix, names, None if label_at is None else np.array(labels, str))


def _number(cell: str, column: str, line: int, path: Path) -> float:
    try:
        return float(cell)
    except ValueError:
        raise DataError(
            f"{path.name}: line {line}, column {column} is {cell!r}, not a number; repair or "
            "remove it (true classes belong in a column named label)."
        ) from None


def _read_parquet(path: Path) -> Rows:
    """Read a parquet table; one column of lists holds embeddings, one a row."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading parquet files", "io") from error
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path.name} is not a complete parquet file; write it again.") from error
    table = table.drop_columns(_index_columns(table))
    labels = None
    if LABEL in table.column_names:
        labels = np.array(table.column(LABEL).to_pylist())
        table = table.drop_columns([LABEL])
    lists = [field.name for field in table.schema if "list" in str(field.type)]
    if len(lists) == 1:
        return Rows(_vectors(table.column(lists[0]), lists[0], path), lists, labels, vectors=True)
    for field in table.schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            raise DataError(
                f"{path.name}: column {field.name} holds {field.type}, not numbers; leave it out "
                "(true classes belong in a column named label)."
            )
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
