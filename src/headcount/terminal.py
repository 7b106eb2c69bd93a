"""What the command line shows: answers on stdout, progress and warnings on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from headcount.threads import watching
from headcount.wording import plain, spoken

if TYPE_CHECKING:
    from headcount.checks import Check

PATIENCE = 1.0


def say(text: str) -> None:
    """Print text on stdout in the user's own nouns: no markup, no wrapping where piped."""
    _print(spoken(text))


def show_json(answer: Any) -> None:
    """Print an answer as JSON on stdout, whose words are the same whatever nouns people use."""
    _print(json.dumps(answer, allow_nan=False, indent=2))


def _print(text: str) -> None:
    Console(file=sys.stdout, highlight=False).print(Text(text), soft_wrap=True)


def complain(kind: str, message: str) -> None:
    """Print one line on stderr."""
    line = plain(" ".join(spoken(str(message)).split()))
    print(f"headcount: {kind}: {line}", file=sys.stderr)


def list_checks(checks: Iterable[Check], said: Sequence[str], of: str = "") -> None:
    """Print findings on stderr, but for those that were said as warnings; `of` names the pilot."""
    for check in checks:
        if check.message not in said:
            complain(f"{check.severity} {check.code}{of and f' of {plain(of)}'}", check.message)


def show_table(columns: list[str], rows: list[list[str]], left: int = 0) -> None:
    """Print a table on stdout; the first `left` columns are text, the others numbers."""
    table = Table(box=None)
    for i, name in enumerate(columns):
        table.add_column(Text(spoken(name)), justify="left" if i < left else "right")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table)


@contextmanager
def progress() -> Iterator[None]:
    """Show a progress bar for whatever takes more than a second, on a terminal only."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield
        return
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console,
        transient=True,
    )  # fmt: skip
    task = bar.add_task("Working", total=None)

    def report(name: str, done: int, total: int) -> None:
        finished = done >= total
        bar.update(
            task,
            description="Working" if finished else name,
            completed=0 if finished else done,
            total=None if finished else total,
        )

    patience = Timer(PATIENCE, bar.start)
    patience.start()
    try:
        with watching(report):
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
