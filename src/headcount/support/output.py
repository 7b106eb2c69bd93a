"""Ways out: files written whole, data frames, CSV text and HTML."""

from __future__ import annotations

import errno
import html
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from headcount.errors import DataError, MissingExtraError, OutputError, ParameterError

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
OPEN = "/dev/fd"  # where systems that have it name the files a process has open
LINKS = 40  # followed at most, as systems do
PATIENCE = 0.02  # seconds between two looks for the reader of a pipe


def refuse_overwriting(
    output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Refuse an output path that is one of the inputs."""
    target = os.path.realpath(output)
    for path in inputs:
        if os.path.realpath(path) == target:
            raise ParameterError(
                f"the output {Path(target).name} is also an input and would be overwritten; "
                "choose another name."
            )


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], Any]) -> None:
    """Have `write` fill a temporary file, then put it in place at once.

    A link is written through, and a file that is there keeps its mode. What is no regular file (a
    pipe, a device, our own stdout) stays what it is: the finished text is poured into it.
    """
    target = _target(path)
    folder = Path(tempfile.gettempdir()) if _is_stream(target) else target.parent
    with _refusing(target), _temporary(folder, Path(path).suffix) as name:
        write(name)
        if _is_stream(target):
            _pour(name, target)
        else:
            os.chmod(name, _mode(target))
            os.replace(name, target)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, with what UTF-8 cannot hold (half a character) replaced."""
    write_bytes(path, text.encode("utf-8", errors="replace"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write what is there already as it will be on the disk."""
    write_atomically(path, lambda name: Path(name).write_bytes(content))


def write_figure(path: str | os.PathLike[str], figure: Any, dpi: int) -> None:
    """Write a matplotlib figure, as what the name ends in."""
    # Drawn first: on a full disk matplotlib would stumble over what it has half written.
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format=Path(path).suffix[1:].lower())
    write_bytes(path, picture.getvalue())


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written to, before any work is done for it."""
    target = _target(path)
    if not _is_stream(target):
        with _refusing(target), _temporary(target.parent, target.suffix):
            _mode(target)  # asks for the file by its name, which may be too long
    elif _own_descriptor(target) is None and not os.access(target, os.W_OK):
        # A pipe is only asked about: to open one would wait for its reader.
        raise OutputError(f"{target.name} cannot be written to; choose another name.")


# -- inner workings --------------------------------------------------------------------------------


def _target(path: str | os.PathLike[str]) -> Path:
    """Return what will be written to: where links lead, unless that is no place in a folder."""
    named = Path(path)
    if _is_stream(named):
        return named
    target = Path(os.path.realpath(named))
    if os.path.isdir(target):
        raise DataError(f"{named.name} is a folder; name a file to write to.")
    if os.path.islink(target):
        raise DataError(f"{named.name} is a link that leads back to itself; name another file.")
    if not target.parent.is_dir():
        raise DataError(
            f"there is no folder {target.parent.name} for {target.name}; make it first."
        )
    return target


def _is_stream(path: Path) -> bool:
    """Whether a path is something to pour into rather than a file to put in place."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(kind):
        return _own_descriptor(path) is not None
    return not stat.S_ISDIR(kind)


def _own_descriptor(path: Path) -> int | None:
    """Return which of our own open files a path is: /dev/stdout or /dev/fd/3, or where stdout goes.

    It may be a regular file; opened anew, that would be written from its start.
    """
    named = _named_descriptor(path)
    if named is not None:
        return named
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                return stream.fileno()
        except (OSError, ValueError):
            continue
    return None


def _named_descriptor(path: Path) -> int | None:
    """Return the number of an open file that a path, or what it links to, names by its number."""
    place = path
    for _ in range(LINKS):
        if place.name.isdecimal() and os.path.realpath(place.parent) == os.path.realpath(OPEN):
            return int(place.name)
        if not place.is_symlink():
            break
        place = place.parent / os.readlink(place)
    return None


def _pour(name: str, target: Path) -> None:
    number = _own_descriptor(target)
    if number is None:
        _copy(name, target)
        return
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()  # what was printed before comes first
    _copy(name, os.dup(number))


def _copy(name: str, opened: Path | int) -> None:
    with open(name, "rb") as source, open(opened, "wb", opener=_open_when_read) as sink:
        shutil.copyfileobj(source, sink)


def _open_when_read(path: str, flags: int) -> int:
    """Open a pipe as soon as it has a reader, anything else at once.

    Python does not see a signal that comes just before the system begins to wait, so we wait.
    """
    while stat.S_ISFIFO(os.stat(path).st_mode):
        try:
            number = os.open(path, flags | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(PATIENCE)
        else:
            os.set_blocking(number, True)
            return number
    return os.open(path, flags)


@contextmanager
def _temporary(folder: Path, suffix: str) -> Iterator[str]:
    """Make an empty file that nobody else can read, and see to it that it does not stay."""
    # The name is known before there is a file, so that a signal in between leaves nothing behind.
    name = str(folder / f".headcount.{secrets.token_hex(8)}{suffix}")
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield name
    finally:
        Path(name).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """Return the mode of a file that is there, else what the umask leaves."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _refusing(target: Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be written: a full disk, no right to, a closed pipe."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _own_descriptor(target) is not None:
            raise  # as with all that is printed: nobody reads it any more, which is no error
        raise OutputError(
            f"cannot write {target.name} ({error.strerror or error}); choose another place for it."
        ) from error


def as_frame(columns: Mapping[str, Any]) -> Any:
    """Return columns as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("to_frame()", "io") from error
    return pd.DataFrame(columns)


def as_csv(columns: Mapping[str, NDArray[Any]]) -> str:
    r"""Return columns of numbers and plain words as CSV text.

    Examples
    --------
    >>> import numpy as np
    >>> as_csv({"classes": np.array([2, 10]), "accuracy": np.array([0.5, 0.1])})
    'classes,accuracy\n2,0.5\n10,0.1\n'
    """
    lines = [",".join(columns)]
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        lines.append(",".join(str(cell) for cell in row))
    return "\n".join(lines) + "\n"


def as_html(text: str) -> str:
    """Return a title and indented lines, as answers print themselves, as an HTML list."""
    head, *rest = (html.escape(line) for line in text.split("\n  "))
    items = "".join(f"<li>{line}</li>" for line in rest)
    return f"<div><strong>{head}</strong><ul>{items}</ul></div>"
