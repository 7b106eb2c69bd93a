"""Errors and warnings that headcount raises on purpose.

Every error is one sentence a user can act on: what was wrong, where, how many, what to do.
The command line prints it as it is and exits with status 2.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path


class HeadcountError(Exception):
    """Base of every error headcount raises on purpose."""


class DataError(HeadcountError, ValueError):
    """What was measured cannot be used: bad scores, labels, shapes or files."""


class ParameterError(HeadcountError, ValueError):
    """An option has a value that makes no sense."""


class UnsupportedError(HeadcountError, TypeError):
    """The question is clear, but this pilot or method cannot answer it."""


class OutputError(HeadcountError, OSError):
    """An output cannot be written: the disk is full, permission is missing, a pipe was closed."""


class MissingExtraError(HeadcountError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional package; install it: pip install 'headcount[{extra}]'"
        )


class HeadcountWarning(UserWarning):
    """Base of every warning headcount gives."""


class ExtrapolationWarning(HeadcountWarning):
    """The forecast goes further than the pilot supports."""


class AssumptionWarning(HeadcountWarning):
    """An assumption behind the forecast does not hold, or had to be made."""


_listeners: ContextVar[tuple[list[str], ...]] = ContextVar("listeners", default=())
_silent: ContextVar[bool] = ContextVar("silent", default=False)
# How our own texts are put to people: with their nouns, see `headcount.support.words.speaking`.
phrasing: ContextVar[Callable[[str], str]] = ContextVar("phrasing", default=str)


def spoken(text: str) -> str:
    """Return one of our own texts as it is put to people here and now."""
    return phrasing.get()(text)


def warn(message: str, category: type[HeadcountWarning]) -> None:
    """Give a warning that points at the caller's own code, and note it for `listening`."""
    for notes in _listeners.get():
        notes.append(message)
    if _silent.get():
        return
    frame, level = sys._getframe(1), 2
    here = str(Path(__file__).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    warnings.warn(spoken(message), category, stacklevel=level)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect the warnings given inside; they are still given.

    Unlike `warnings.catch_warnings`, this changes nothing that other threads can see.
    """
    notes: list[str] = []
    token = _listeners.set((*_listeners.get(), notes))
    try:
        yield notes
    finally:
        _listeners.reset(token)


@contextmanager
def silence() -> Iterator[None]:
    """Give none of headcount's warnings inside, without a change that other threads can see.

    Nor are they noted outside.
    """
    token, heard = _silent.set(True), _listeners.set(())
    try:
        yield
    finally:
        _listeners.reset(heard)
        _silent.reset(token)
