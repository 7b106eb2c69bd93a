"""Run independent blocks of work on all cores.

Compiled kernels release the interpreter lock, so plain threads are enough; unlike a parallel
numba loop they may be started from several threads of the caller at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

Block = TypeVar("Block")


def _silent(task: str, done: int, total: int) -> None:
    """Report nothing: what happens unless somebody is watching."""


_report: ContextVar[Callable[[str, int, int], None]] = ContextVar("report", default=_silent)
_phase: ContextVar[str] = ContextVar("phase", default="")


def thread_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def watching(report: Callable[[str, int, int], None]) -> Iterator[None]:
    """Have `report(task, done, total)` called as long-running work advances, for progress bars.

    A total of zero: how much there is to do is not known.
    """
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


@contextmanager
def doing(phase: str) -> Iterator[None]:
    """Tell whoever is watching what is done inside, then again what it was part of."""
    report, token = reporter(), _phase.set(phase)
    report(phase, 0, 0)
    try:
        yield
    finally:
        _phase.reset(token)
        report(_phase.get(), 0, 0)


def reporter() -> Callable[[str, int, int], None]:
    """Return what progress is to be told to, for work that is not done by `for_each`."""
    return _report.get()


def for_each(work: Callable[[Block], Any], blocks: Iterable[Block], *, task: str) -> None:
    """Call `work` on every block, on all cores; the first error stops the rest.

    Parameters
    ----------
    work : callable
        Called once per block; writes its result into arrays of the caller.
    blocks : iterable
        What `work` is called with.
    task : str
        What this is, for the progress bar.
    """
    todo = list(blocks)
    report = reporter()
    if todo:
        report(task, 0, len(todo))
    with ThreadPoolExecutor(max(1, min(thread_count(), len(todo)))) as pool:
        futures = [pool.submit(work, block) for block in todo]
        try:
            for done, future in enumerate(futures, start=1):
                future.result()
                report(task, done, len(todo))
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Split rows into consecutive blocks of at most `size`.

    Examples
    --------
    >>> row_blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(size, 1)
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


_blas_lock = Lock()
_blas_users: list[threadpool_limits] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit matrix products to one thread each while blocks of them run on all cores.

    The limit belongs to the whole process: the first caller sets it, the last one lifts it.
    """
    with _blas_lock:
        if not _blas_users:
            _blas_users.append(threadpool_limits(1, user_api="blas"))
        _blas_users.append(_blas_users[0])
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users.pop()
            if len(_blas_users) == 1:
                _blas_users.pop().restore_original_limits()
