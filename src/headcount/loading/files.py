"""Reading arrays from files without trusting them."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError


def existing(path: str | os.PathLike[str]) -> Path:
    """Return a path to a file that is there and not empty."""
    found = Path(path)
    try:
        if found.is_dir():
            raise DataError(f"{found.name} is a folder, not a file; name the file in it.")
        if not found.exists():
            raise DataError(f"there is no file {found.name}; check the name and the folder.")
        if found.stat().st_size == 0:
            raise DataError(f"{found.name} is empty; write it again.")
        with found.open("rb"):
            return found
    except OSError as error:
        raise DataError(
            f"{found.name} cannot be opened ({error.strerror}); check its name and permissions."
        ) from error


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
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DataError(
            f"{path.name} is not a complete npz file (truncated, or something else); "
            "write it again with numpy.savez."
        ) from error
    except NotImplementedError as error:  # what zipfile raises for a compression it does not know
        raise DataError(
            f"{path.name} is compressed in a way that cannot be read; write it again with "
            "numpy.savez_compressed."
        ) from error
    except RuntimeError as error:  # what it raises for a password
        raise DataError(
            f"{path.name} is protected by a password; write it again without one."
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
    if found.suffix.lower() == ".npy":
        return read_npy(found)
    if found.suffix.lower() != ".txt":
        raise DataError(
            f"labels in {found.name}: cannot read {found.suffix or 'such'} files; "
            "give a .npy file or a .txt file with one label a line."
        )
    lines = [line.strip() for line in read_text(found).split("\n")]
    return numbers_if_all([line for line in lines if line])


def numbers_if_all(texts: list[str]) -> NDArray[Any]:
    """Return integers if every text is one, as it would be printed; otherwise the texts."""
    if texts and all(t.lstrip("-").isdecimal() and str(int(t)) == t for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64)
    return np.array(texts, dtype=str)


def read_text(path: Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not text in UTF-8; save it as UTF-8.") from error
