"""Output files: never half-written, never over an input."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headcount.errors import DataError, ParameterError

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")


def refuse_overwriting(
    output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Refuse an output path that is one of the inputs."""
    target = Path(output).resolve()
    for path in inputs:
        if Path(path).resolve() == target:
            raise ParameterError(
                f"the output {target.name} is also an input and would be overwritten; "
                "choose another name."
            )


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], Any]) -> None:
    """Have `write` fill a temporary file beside `path`, then put it in place at once."""
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(
            f"there is no folder {target.parent.name} for {target.name}; make it first."
        )
    handle, name = tempfile.mkstemp(
        prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    try:
        write(name)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written to, before any work is done for it."""
    Path(_temporary(Path(path))).unlink()


def _temporary(target: Path) -> str:
    """Make an empty file beside the target."""
    if target.is_dir():
        raise DataError(f"{target.name} is a folder; name a file to write to.")
    if not target.parent.is_dir():
        raise DataError(
            f"there is no folder {target.parent.name} for {target.name}; make it first."
        )
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent
        )
    except OSError as error:
        raise DataError(
            f"cannot write {target.name} into its folder ({error.strerror}); choose another folder."
        ) from error
    os.close(handle)
    return name
