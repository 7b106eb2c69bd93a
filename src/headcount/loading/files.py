"""Reading arrays from files without trusting them."""

from __future__ import annotations

import csv
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, MissingExtraError


def existing(path: str | os.PathLike[str]) -> Path:
    """Return a path to a file that is there and not empty."""
    found = Path(path)
    if found.is_dir():
        raise DataError(f"{found.name} is a folder, not a file; name the file in it.")
    if not found.exists():
        raise DataError(f"there is no file {found.name}; check the name and the folder.")
    if found.stat().st_size == 0:
        raise DataError(f"{found.name} is empty; write it again.")
    return found


def default_memory_limit() -> int:
    """Half of the machine's memory: what one array of an npz file may take."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30


def read_npz(path: Path, memory_limit: int | None = None) -> dict[str, NDArray[Any]]:
    """Read all arrays of an npz file; sizes and types are checked before anything is read."""
    limit = default_memory_limit() if memory_limit is None else memory_limit
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            return {m.filename[:-4]: _read_member(archive, m, limit, path) for m in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise DataError(
            f"{path.name} is not a complete npz file (truncated, or something else); "
            "write it again with numpy.savez."
        ) from error


def _read_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, path: Path
) -> NDArray[Any]:
    name = member.filename[:-4]
    with archive.open(member) as stream:
        shape, dtype = _header(stream, name, path)
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes > limit:
            raise DataError(
                f"{path.name}: {name} has shape {shape}, {n_bytes / 2**30:.1f} GiB, over the "
                f"memory limit of {limit / 2**30:.1f} GiB; save it as .npy, read in pieces."
            )
        if n_bytes + stream.tell() != member.file_size:
            raise DataError(
                f"{path.name}: {name} should hold {n_bytes:,} bytes by its shape {shape}, but the "
                "file says otherwise; it is damaged, write it again."
            )
    with archive.open(member) as stream:
        try:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError as error:
            raise DataError(f"{path.name}: {name} is truncated; write it again.") from error
    return array


def _header(stream: IO[bytes], name: str, path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    except ValueError as error:
        raise DataError(f"{path.name}: {name} is not a NumPy array; write it again.") from error
    if dtype.hasobject:
        raise DataError(
            f"{path.name}: {name} holds pickled Python objects, which could run code and are "
            "refused; save it as numbers or text, e.g. with .astype(str)."
        )
    return shape, dtype


def read_npy(path: Path) -> NDArray[Any]:
    """Map an npy file into memory."""
    with path.open("rb") as stream:
        shape, _ = _header(stream, "the array", path)
    try:
        if math.prod(shape) == 0 or not shape:  # neither can be mapped
            return np.asarray(np.load(path, allow_pickle=False))
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{path.name} is truncated: it holds fewer bytes than its shape {shape} needs; "
            "write it again."
        ) from error


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read labels from an npy file or a text file with one label a line."""
    found = existing(path)
    if found.suffix == ".npy":
        return read_npy(found)
    if found.suffix not in (".txt", ".csv", ".tsv"):
        raise DataError(
            f"labels in {found.name}: cannot read {found.suffix or 'such'} files; "
            "give a .npy file or a .txt file with one label a line."
        )
    lines = _text(found).splitlines()
    return numbers_if_all([line.strip() for line in lines if line.strip()])


def numbers_if_all(texts: list[str]) -> NDArray[Any]:
    """Return integers if every text is one, as it would be printed; otherwise the texts."""
    if texts and all(t.lstrip("-").isdecimal() and str(int(t)) == t for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64)
    return np.array(texts, dtype=str)


def read_csv(path: Path) -> tuple[NDArray[np.float64], list[str], NDArray[Any] | None]:
    """Read a table with a header: numbers, names of their columns, and the `label` column."""
    delimiter = "\t" if path.suffix == ".tsv" else ","
    rows = csv.reader(_text(path).splitlines(), delimiter=delimiter)
    header = [name.strip() for name in next(rows, [])]
    label_at = header.index("label") if "label" in header else None
    columns = [i for i in range(len(header)) if i != label_at]
    labels, values = [], []
    for number, row in enumerate((row for row in rows if row), start=2):
        if len(row) != len(header):
            raise DataError(
                f"{path.name}: line {number} has {len(row)} cells, the header {len(header)}; "
                "every line needs the same number."
            )
        if label_at is not None:
            labels.append(row[label_at].strip())
        values.append(_numbers(row, columns, header, number, path))
    matrix = np.array(values, dtype=np.float64).reshape(len(values), len(columns))
    return matrix, [header[i] for i in columns], None if label_at is None else np.array(labels, str)


def _numbers(
    row: list[str], columns: list[int], header: list[str], number: int, path: Path
) -> list[float]:
    try:
        return [float(row[i]) for i in columns]
    except ValueError:
        for i in columns:
            try:
                float(row[i])
            except ValueError:
                raise DataError(
                    f"{path.name}: line {number}, column {header[i]} is {row[i]!r}, not a number; "
                    "repair or remove it (true classes belong in a column named label)."
                ) from None
        raise


def read_parquet(path: Path) -> tuple[NDArray[Any], list[str], NDArray[Any] | None, bool]:
    """Read a table: numbers, column names, the `label` column, and whether rows are vectors.

    A table with one column of lists (an embedding a row) is a table of vectors.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading parquet files", "io") from error
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path.name} is not a complete parquet file; write it again.") from error
    labels = None
    if "label" in table.column_names:
        labels = np.array(table.column("label").to_pylist())
        table = table.drop_columns(["label"])
    lists = [
        field.name
        for field in table.schema
        if pa.types.is_list(field.type)
        or pa.types.is_fixed_size_list(field.type)
        or pa.types.is_large_list(field.type)
    ]
    if len(lists) == 1:
        rows = table.column(lists[0]).to_pylist()
        lengths = {len(row or ()) for row in rows}
        if len(lengths) > 1:
            raise DataError(
                f"{path.name}: vectors in column {lists[0]} have different lengths, from "
                f"{min(lengths)} to {max(lengths)}; embed all rows with the same model."
            )
        return np.array(rows, dtype=np.float64), [lists[0]], labels, True
    arrays = [column.to_numpy() for column in table.columns]
    matrix = np.column_stack(arrays) if arrays else np.empty((table.num_rows, 0))
    return matrix, list(table.column_names), labels, False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not text in UTF-8; save it as UTF-8.") from error
