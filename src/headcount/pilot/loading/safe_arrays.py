"""Reading arrays from files without trusting them."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import math
import os
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.support import validation

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
LONGEST = 1000  # characters in the name of a class
LONGEST_HEADER = 1 << 16  # bytes; NumPy itself reads no more than 10,000
DECODED = 5  # bytes as text take four more each
PER_TEXT = 100  # bytes that Python takes for a short text and its place in a list


def existing(path: str | os.PathLike[str]) -> Path:
    """Return a path to a file that is there and not empty."""
    file = Path(path)
    try:
        if file.is_dir():
            raise DataError(f"{file.name} is a folder, not a file; name the file in it.")
        if not file.exists():
            raise DataError(f"there is no file {file.name}; check the name and the folder.")
        if file.stat().st_size == 0:
            raise DataError(f"{file.name} is empty; write it again.")
        with file.open("rb"):
            return file
    except OSError as error:
        raise DataError(
            f"{file.name} cannot be opened ({error.strerror}); check its name and permissions."
        ) from error


class MemoryLimit:
    """How many bytes all files of a pilot together may take in memory."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = default_memory_limit() if limit is None else limit
        self.held_bytes = 0

    def take(self, n_bytes: int, what: str, remedy: str = "give fewer rows") -> None:
        """Count bytes that are about to be held; refuse what goes past the limit."""
        self.check(n_bytes, what, remedy)
        self.held_bytes += n_bytes

    def check(self, n_bytes: int, what: str, remedy: str = "give fewer rows") -> None:
        """Refuse what goes past the limit, if only for a moment."""
        total = self.held_bytes + n_bytes
        if total > self.limit:
            raise DataError(
                f"{what}: {total / 2**30:.1f} GiB in all would be over the memory limit of "
                f"{self.limit / 2**30:.1f} GiB; {remedy}."
            )


def default_memory_limit() -> int:
    """Half of the machine's memory: what the files of one pilot may take."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30


@contextmanager
def within_memory(path: Path) -> Iterator[None]:
    """Say in one sentence that the system gave no more memory."""
    try:
        yield
    except MemoryError as error:
        raise DataError(
            f"{path.name} needs more memory than this process may use; free some, lift its limit "
            "(ulimit -v), or read fewer rows."
        ) from error


def read_npz(path: Path, limit: MemoryLimit | None = None) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of an npz file by name; each is checked and read when it is asked for."""
    with _unzipping(path), zipfile.ZipFile(path) as archive:
        return Npz(path, archive.infolist(), limit or MemoryLimit())


class Npz(Mapping[str, NDArray[Any]]):
    """The arrays of an npz file; what nobody asks for is not read."""

    def __init__(self, path: Path, members: list[zipfile.ZipInfo], limit: MemoryLimit) -> None:
        self._path, self._limit = path, limit
        self._members = {m.filename[:-4]: m for m in members if m.filename.endswith(".npy")}
        self._arrays: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            member = self._members[name]
            with _unzipping(self._path), zipfile.ZipFile(self._path) as archive:
                self._arrays[name] = _read_member(archive, member, self._limit, self._path)
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@contextmanager
def _unzipping(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # bad data have no number
            raise _unreadable(error, path) from error
        raise _no_npz(path) from error
    except DAMAGED as error:
        raise _no_npz(path) from error
    except NotImplementedError as error:  # what zipfile raises for a compression it does not know
        raise DataError(
            f"{path.name} is compressed in a way that cannot be read; write it again with "
            "numpy.savez_compressed."
        ) from error
    except RuntimeError as error:  # what it raises for a password
        raise DataError(
            f"{path.name} is protected by a password; write it again without one."
        ) from error


# All that unpacking was seen to raise for damaged files.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, UnicodeDecodeError,
)  # fmt: skip


def _no_npz(path: Path) -> DataError:
    return DataError(
        f"{path.name} is not a complete npz file (truncated, or something else); "
        "write it again with numpy.savez."
    )


def _unreadable(error: OSError, path: Path) -> Exception:
    """Return what to raise where the system could not read a file."""
    if error.errno == errno.ENOMEM:
        return MemoryError()
    return DataError(f"{path.name} cannot be read ({error.strerror}); copy it again.")


def _read_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: MemoryLimit, path: Path
) -> NDArray[Any]:
    name = member.filename[:-4]
    with archive.open(member) as stream:
        shape, dtype, start = _header(stream, name, path)
        n_bytes = math.prod(shape) * dtype.itemsize
        remedy = "save it as .npy, read in pieces"
        in_memory = n_bytes * (DECODED if dtype.kind == "S" else 1)
        limit.take(in_memory, f"{path.name}: {name} has shape {shape}", remedy)
        if start + n_bytes != member.file_size:
            raise DataError(
                f"{path.name}: {name} should hold {n_bytes:,} bytes by its shape {shape}, but the "
                "file says otherwise; it is damaged, write it again."
            )
    with archive.open(member) as stream:
        try:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        except (ValueError, OverflowError) as error:
            raise DataError(f"{path.name}: {name} is truncated; write it again.") from error
    return _checked(array, f"{path.name}: {name}")


# All that NumPy's parser of headers was seen to raise for what is no header.
NO_HEADER = (
    ValueError, TypeError, LookupError, OverflowError, SyntaxError, RecursionError, MemoryError,
    EOFError, tokenize.TokenError,
)  # fmt: skip


def _header(stream: IO[bytes], name: str, path: Path) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return the shape and the type that an array states, and where its values start."""
    stream = io.BytesIO(stream.read(LONGEST_HEADER))  # one may state gigabytes for its own length
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    except NO_HEADER as error:
        raise DataError(f"{path.name}: {name} is not a NumPy array; write it again.") from error
    if any(type(length) is not int or length < 0 for length in shape):
        raise DataError(
            f"{path.name}: {name} has shape {shape}, which none can have; write it again."
        )
    if dtype.hasobject:
        raise DataError(
            f"{path.name}: {name} holds pickled Python objects, which could run code and are "
            "refused; save it as numbers or text, e.g. with .astype(str)."
        )
    if dtype.itemsize == 0:  # any number of them would fit into no bytes at all
        raise DataError(f"{path.name}: {name} holds only empty values ({dtype}); write it again.")
    return shape, dtype, stream.tell()


def _checked(array: NDArray[Any], what: str) -> NDArray[Any]:
    return validation.as_text(array, what) if array.dtype.kind == "U" else array


def read_npy(path: Path) -> NDArray[Any]:
    """Map an npy file into memory."""
    with path.open("rb") as stream:
        shape, dtype, start = _header(stream, "the array", path)
        n_bytes = start + math.prod(shape) * dtype.itemsize
    if path.stat().st_size < n_bytes:
        raise DataError(
            f"{path.name} is truncated: it holds fewer bytes than its shape {shape} needs; "
            "write it again."
        )
    try:
        if math.prod(shape) == 0 or not shape:  # neither can be mapped
            return np.asarray(np.load(path, allow_pickle=False))
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path.name} is not a NumPy array; write it again.") from error
    except OSError as error:
        raise _unreadable(error, path) from error


def kind_of(path: Path) -> str:
    """Return the ending that tells what a file holds, without that of a compressed text."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def read_labels(path: str | os.PathLike[str], limit: MemoryLimit | None = None) -> NDArray[Any]:
    """Read labels from an npy file or a text file with one label a line."""
    file = existing(path)
    if file.suffix.lower() == ".npy":
        return _checked(read_npy(file), file.name)
    if kind_of(file) != ".txt":
        raise DataError(
            f"labels in {file.name}: cannot read {file.suffix or 'such'} files; "
            "give a .npy file or a .txt file with one label a line."
        )
    limit = limit or MemoryLimit()
    labels: list[str] = []
    with open_text(file, limit) as lines:
        for number, line in enumerate(lines, start=1):
            label = line.strip()
            if len(label) > LONGEST:
                raise DataError(
                    f"{file.name}: line {number} has {len(label):,} characters, too many for the "
                    "name of a class; give one label a line."
                )
            limit.take(PER_TEXT, f"{file.name} is too long")
            if label:
                labels.append(label)
    return integers_or_text(labels, limit, file)


def integers_or_text(texts: list[str], limit: MemoryLimit, path: Path) -> NDArray[Any]:
    """Return integers if every text is one, as it would be printed; otherwise the texts."""
    if texts and all(INTEGER.fullmatch(text) for text in texts):
        values = [int(text) for text in texts]
        if min(values) >= -(2**63) and max(values) < 2**63:
            return np.array(values, dtype=np.int64)
    return text_array(texts, limit, path)


def text_array(texts: list[str], limit: MemoryLimit, path: Path) -> NDArray[Any]:
    """Return texts as an array, in which each takes the place of the longest."""
    longest = max(map(len, texts), default=0)
    limit.take(4 * longest * len(texts), f"{path.name} has labels of up to {longest:,} characters")
    return np.array(texts, dtype=str)


@contextmanager
def open_text(
    path: Path, limit: MemoryLimit | None = None, newline: str | None = None
) -> Iterator[TextIO]:
    """Open a text file in UTF-8, with or without a byte order mark, gzipped or not."""
    try:
        with path.open("rb") as start:
            zipped = start.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as stream:
            metered = io.BufferedReader(_Metered(stream, limit or MemoryLimit(), path.name))
            yield io.TextIOWrapper(metered, encoding="utf-8-sig", newline=newline)
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not text in UTF-8; save it as UTF-8.") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path.name} is not a complete gzip file; compress it again.") from error


class _Metered(io.RawIOBase):
    """Bytes of a stream, counted as they come: a small file may unpack to any number of them."""

    def __init__(self, stream: io.BufferedIOBase, limit: MemoryLimit, name: str) -> None:
        self._stream, self._limit, self._name = stream, limit, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._limit.take(len(block), f"{self._name} is too long")
        buffer[: len(block)] = block
        return len(block)


def read_text(path: Path) -> str:
    """Read a text file whole."""
    with open_text(path) as stream:
        return stream.read()
