"""What the command line shows: answers on stdout, progress and warnings on stderr."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from headcount.errors import OutputError, spoken
from headcount.support.words import plain
from headcount.support.workers import doing, watching

if TYPE_CHECKING:
    from headcount.checks import Check

PATIENCE = 1.0
SENTENCES = ("message", "advice", "notes", "warnings")  # of an answer in JSON


def put(text: str, *, flush: bool = False) -> None:
    """Print text on stdout as it is."""
    try:
        print(text, end="", flush=flush)
    except BrokenPipeError:  # nobody wants it any more, which is no error
        raise
    except OSError as error:
        raise OutputError(f"cannot print the answer ({error.strerror}); send it elsewhere.") from (
            error
        )


def say(text: str) -> None:
    """Print lines on stdout in the user's own nouns.

    No markup, no wrapping, and nothing that a terminal would obey.
    """
    put("\n".join(map(plain, spoken(text).split("\n"))) + "\n")


def show_json(answer: Any) -> None:
    """Print an answer as JSON on stdout: names and numbers for programs, sentences for people."""
    from headcount.support.serialise import SCHEMA

    whole = {"schema": SCHEMA} | _with_nouns(answer)
    put(json.dumps(whole, allow_nan=False, indent=2) + "\n")


def _with_nouns(answer: Any, sentence: bool = False) -> Any:
    """Return an answer with its sentences as they are put to people, all else as it is."""
    if isinstance(answer, dict):
        return {name: _with_nouns(value, name in SENTENCES) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [_with_nouns(value, sentence) for value in answer]
    return spoken(answer) if sentence and isinstance(answer, str) else answer


def complain(kind: str, message: str) -> None:
    """Print one line on stderr; where nobody listens there, the answer on stdout still counts."""
    line = plain(" ".join(spoken(str(message)).split()))
    try:
        print(f"headcount: {kind}: {line}", file=sys.stderr, flush=True)
    except OSError:
        settle(sys.stderr)


def settle(stream: TextIO) -> None:
    """Write what is left in a stream, or drop it where that cannot be: Python would try again."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def list_checks(checks: Iterable[Check], warnings: Sequence[str], of: str = "") -> None:
    """Print findings on stderr, but for those that were warned of; `of` names the pilot."""
    for check in checks:
        if check.message not in warnings:
            complain(f"{check.severity} {check.code}{of and f' of {plain(of)}'}", check.message)


def show_table(columns: list[str], rows: list[list[str]], n_text: int = 0) -> None:
    """Print a table on stdout; the first `n_text` columns are text, the others numbers."""
    table = Table(box=None)
    for i, name in enumerate(columns):
        table.add_column(Text(spoken(name)), justify="left" if i < n_text else "right")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 200
    with console.capture() as text:  # rich itself would end the program where a pipe is closed
        console.print(table)
    put(text.get())


@contextmanager
def progress(command: str) -> Iterator[None]:
    """Show what is being done, and how far it is, after a second and on a terminal only.

    What the command does is shown between the phases that it is made of. A command begins with
    it: to load what it needs can take seconds.
    """
    if not sys.stderr.isatty():  # rich would also draw into a pipe where colours are asked for
        yield
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(),
        console=Console(file=sys.stderr), transient=True, redirect_stdout=False,
    )  # fmt: skip
    phase = name = command
    shown = bar.add_task(name, total=None)

    def report(task: str, done: int, total: int) -> None:
        nonlocal phase, name, shown
        phase = task if total == 0 else phase
        counted = done < total
        before, name = name, plain(spoken(task if counted else phase))
        if name != before:  # with an estimate of its own of the time that is left
            bar.remove_task(shown)
            shown = bar.add_task(name, total=total if counted else None)
        bar.update(shown, completed=done if counted else 0)

    patience = Timer(PATIENCE, bar.start)
    patience.start()
    try:
        with watching(report), doing(command):
            yield
    finally:
        patience.cancel()
        patience.join()
        bar.stop()


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Print warnings as one line each on stderr."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        complain("warning", str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
