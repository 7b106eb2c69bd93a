"""Independent tasks, in parallel, each done once."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from experiments.journal import Journal, Record
from experiments.machine import machine, versions
from headcount.errors import DataError, ParameterError
from headcount.support import workers

JOURNAL = "journal.jsonl"
AGAIN = "again"


@dataclass(frozen=True)
class Task:
    """One piece of work: a key that says all its outcome depends on, and the call that does it.

    The call takes nothing and returns an outcome that JSON can hold. An outcome with a true
    ``"again"`` counts for this run but is not kept: the next run tries again.
    """

    key: str
    call: Callable[[], Record]


@dataclass(frozen=True)
class Settings:
    """What every experiment is told: where to write, how to draw and on how many cores.

    Parameters
    ----------
    output : path
        Folder for the results and the journal; made when it is not there.
    seed : int
        All random numbers follow from it and from the task.
    n_jobs : int, optional
        Workers, as in joblib; by default what `joblib.parallel_config` says, else one.
    fresh : bool
        Do finished tasks again.
    """

    output: Path
    seed: int = 0
    n_jobs: int | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        if self.n_jobs == 0:
            raise ParameterError("the number of workers must not be 0; choose 1, or -1 for all.")

    def prepare(self) -> Path:
        """Make the folder and return where its journal is."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot make the folder {self.output.name} ({error.strerror}); "
                "choose another --output."
            ) from error
        return self.output / JOURNAL


def seed_for(seed: int, *parts: Any) -> int:
    """Return a seed that depends on the run's seed and on what it is for, and on nothing else.

    Examples
    --------
    >>> seed_for(0, "pilot", 100, 7) == seed_for(0, "pilot", 100, 7)
    True
    >>> seed_for(0, "pilot", 100, 7) == seed_for(1, "pilot", 100, 7)
    False
    """
    text = json.dumps([seed, *parts]).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")


def conduct(
    bench: str, tasks: Sequence[Task], identity: Record, settings: Settings
) -> tuple[list[Record], Record]:
    """Do the tasks that the journal does not hold; return all outcomes, in the tasks' order.

    Parameters
    ----------
    bench : str
        Name of the experiment.
    tasks : sequence of Task
        Keys must differ.
    identity : dict
        What outcomes depend on besides the tasks' keys: data and options. The seed and the
        versions of the packages are added.
    settings : Settings
        See there.

    Returns
    -------
    outcomes : list of dict
        One a task.
    run : dict
        What differs from run to run: machine, versions, time taken, tasks found in the journal.
    """
    keys = [task.key for task in tasks]
    if len(set(keys)) < len(keys):
        raise ValueError("two tasks have the same key")
    start = time.perf_counter()
    whole = {"bench": bench, "seed": settings.seed, "versions": versions(), **identity}
    with Journal(settings.prepare(), whole, fresh=settings.fresh) as journal:
        todo = [task for task in tasks if task.key not in journal.records]
        outcomes = dict(_finished(bench, todo, len(tasks), settings.n_jobs, journal))
        outcomes = journal.records | outcomes
        records = [outcomes[key] for key in keys]
    return records, {
        "machine": machine(),
        "versions": versions(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.perf_counter() - start, 1),
        "tasks": len(tasks),
        "tasks_resumed": len(tasks) - len(todo),
    }


def _finished(
    bench: str, todo: Sequence[Task], total: int, n_jobs: int | None, journal: Journal
) -> Iterator[tuple[str, Record]]:
    """Yield outcomes as they come, kept in the journal first."""
    report = workers.reporter()
    done = total - len(todo)
    report(bench, done, total)
    calls = (delayed(_outcome)(task, os.getpid()) for task in todo)
    with _quiet(), closing(_in_parallel(n_jobs, calls)) as outcomes:
        for key, record in outcomes:
            if not record.get(AGAIN):
                journal.add(key, record)
            done += 1
            report(bench, done, total)
            yield key, record


def _in_parallel(n_jobs: int | None, calls: Any) -> Any:
    return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)


def _outcome(task: Task, parent: int) -> tuple[str, Record]:
    """Do one task, on one thread for matrix products so that its outcome is always the same."""
    # Tasks in this process share its warning filters, which the caller has set.
    with _quiet(os.getpid() != parent), workers.watching(_silent), workers.one_blas_thread():
        try:
            return task.key, task.call()
        except Exception as error:
            error.add_note(f"in task {task.key}")
            raise


@contextmanager
def _quiet(wanted: bool = True) -> Iterator[None]:
    """Keep warnings of thousands of fits off the screen; those of headcount are in the outcomes."""
    if not wanted:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _silent(task: str, done: int, total: int) -> None:
    """Keep what happens inside a task off the progress bar, which counts tasks."""
