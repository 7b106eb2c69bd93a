"""The journal of a run: outcomes kept as tasks finish, so that it can be taken up again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self

from headcount.errors import DataError, ParameterError

SCHEMA = 1
Record = dict[str, Any]


class Journal:
    """Outcomes of finished tasks, one JSON object a line, appended as tasks finish.

    The first line says what the outcomes depend on besides the task itself (data, seed, versions).
    A journal that belongs to something else is refused rather than mixed or thrown away. A line
    that a killed run left unfinished is dropped.

    Parameters
    ----------
    path : path
        File, made when it is not there.
    identity : dict
        What outcomes depend on, as JSON would return it.
    fresh : bool
        Forget what an earlier run left.

    Attributes
    ----------
    records : dict
        Outcome of each finished task, by key.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name, "journal.jsonl"), {"seed": 0}) as journal:
    ...     journal.add("a", {"value": 1})
    >>> Journal(Path(folder.name, "journal.jsonl"), {"seed": 0}).records
    {'a': {'value': 1}}
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Record, *, fresh: bool = False
    ) -> None:
        self.path = Path(path)
        self.identity: Record = json.loads(json.dumps(identity))
        self.records: dict[str, Record] = {}
        self._whole = 0  # bytes up to the last complete line
        if not fresh and self.path.exists():
            self._read()
        self._stream: Any = None

    def __enter__(self) -> Self:
        """Open for appending, after the last complete line."""
        try:
            # Reading what is there first, so that a torn line is cut off and not appended to.
            self._stream = self.path.open("r+b" if self._whole else "wb")
        except OSError as error:
            raise DataError(
                f"cannot write {self.path.name} into its folder ({error.strerror}); "
                "choose another folder."
            ) from error
        self._stream.truncate(self._whole)
        self._stream.seek(self._whole)
        if not self._whole:
            self._write({"schema": SCHEMA, "identity": self.identity})
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def add(self, key: str, record: Record) -> None:
        """Keep the outcome of a task; it is on its way to the disk when this returns."""
        self._write({"key": key, "record": record})
        self.records[key] = record

    def _write(self, entry: Record) -> None:
        self._stream.write((json.dumps(entry, allow_nan=False) + "\n").encode())
        self._stream.flush()

    def _read(self) -> None:
        content = self.path.read_bytes()
        self._whole = content.rfind(b"\n") + 1
        lines = content[: self._whole].splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                if number == 1:
                    self._check(entry)
                else:
                    self.records[entry["key"]] = entry["record"]
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, ParameterError):
                    raise
                raise DataError(
                    f"{self.path.name} is damaged in line {number}; start again with --fresh."
                ) from error

    def _check(self, entry: Record) -> None:
        if entry["schema"] != SCHEMA:
            raise ParameterError(
                f"{self.path.name} was written by another version; start again with --fresh."
            )
        identity, wanted = entry["identity"], self.identity
        other = sorted(
            name
            for name in identity.keys() | wanted.keys()
            if identity.get(name) != wanted.get(name)
        )
        if other:
            raise ParameterError(
                f"{self.path.name} there belongs to another run (different: {', '.join(other)}); "
                "choose another --output, or forget that run with --fresh."
            )
