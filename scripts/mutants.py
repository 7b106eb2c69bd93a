"""Whether tests notice mistakes: small changes of the code, judged by the tests of its room.

python scripts/mutants.py --seed 1 --count 30 curves metrics

Of all changes of a comparison, an operator or a constant that a room's modules allow, a sample is
made, each in a copy of the tree, never in the tree itself. A change is *killed* when a fast test or
an example of the same room fails with it, or runs endlessly; else it *survived*, and either a test
is missing or the change means nothing (``tests/mutants.md``). Ends with 1 when fewer than nine in
ten are killed.

Why not a tool: mutmut leaves out decorated functions, and so all compiled loops. cosmic-ray mutates
the working tree itself, one change after another, unless servers are started in clones; it turns
every operator into every other, of which most are no operators for these numbers and are noticed by
any test; and it brings 20 packages, one of them without a wheel.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src", "headcount")
ROOMS = ("counting", "metrics", "curves", "uncertainty", "questions")
LEAST = 0.9
MEMORY = 16 << 30  # bytes of address space; a change may ask for any number of them
KILLED, SURVIVED, ENDLESS = "killed", "survived", "killed (endless)"
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", "generated"
)

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


# -- what may be changed ------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutation:
    """One change of one module, and the source of the module with it.

    The source is written anew from its syntax tree: comments are lost, which no test reads.
    """

    module: Path
    line: int
    change: str
    source: str

    def __str__(self) -> str:
        """Return where and what: ``curves/observed.py:57  a < b  ->  a <= b``."""
        return f"{self.module.relative_to(PACKAGE)}:{self.line}  {self.change}"


@dataclass(frozen=True)
class Place:
    """A field of a node of a syntax tree, and what it may hold instead."""

    module: Path
    tree: ast.Module
    node: Any
    field: str
    value: Any

    def mutate(self) -> Mutation:
        """Make the change; the tree is left as it was."""
        before, old = ast.unparse(self.node), getattr(self.node, self.field)
        setattr(self.node, self.field, self.value)
        change = f"{before}  ->  {ast.unparse(self.node)}"
        source = ast.unparse(self.tree)
        setattr(self.node, self.field, old)
        return Mutation(self.module, self.node.lineno, change, source)


def places(module: Path, source: str) -> list[Place]:
    """Return every change that a module allows, in the order of its lines."""
    tree = ast.parse(source)
    return [
        Place(module, tree, node, field, value)
        for node in _computing(tree)
        for field, value in _changes(node)
    ]


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """Walk over what computes: no annotations, no decorators."""
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _computing(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    match node:
        case ast.Compare(ops=ops):
            for place, kind in enumerate(map(type, ops)):
                yield "ops", [*ops[:place], COMPARISONS[kind](), *ops[place + 1 :]]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op):
            if type(op) in OPERATORS:
                yield "op", OPERATORS[type(op)]()
        case ast.UnaryOp(op=op, operand=operand) if not isinstance(op, ast.UAdd):
            yield "operand", ast.UnaryOp(op, operand)  # twice is not at all
        case ast.Constant(value=bool(value)):
            yield "value", not value
        case ast.Constant(value=int(value) | float(value)):
            for other in (value + 1, value - 1):
                if other != value:
                    yield "value", other


def sample(room: str, count: int, seed: int) -> list[Mutation]:
    """Draw mutations of a room's modules, each of them equally likely."""
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / PACKAGE / room).rglob("*.py"))
    possible = [
        place
        for module in modules
        for place in places(module, (ROOT / module).read_text(encoding="utf-8"))
    ]
    numbers = random.Random(f"{seed} {room}").sample(
        range(len(possible)), min(count, len(possible))
    )
    return [possible[number].mutate() for number in sorted(numbers)]


# -- who judges ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judges:
    """The fast tests of a room that pass without a change, and how long they may take."""

    files: tuple[Path, ...]
    failing: tuple[str, ...]
    seconds: float

    def judge(self, mutation: Mutation, tree: Path) -> str:
        """Return whether the tests notice the change, made in a copy of the tree for a while."""
        target = tree / mutation.module
        original, stat = target.read_bytes(), target.stat()
        target.write_text(mutation.source, encoding="utf-8")
        try:
            return self._verdict(mutation, tree)
        finally:
            target.write_bytes(original)
            # Numba and Python know by the time that what they compiled still holds.
            os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def _verdict(self, mutation: Mutation, tree: Path) -> str:
        likely_first = sorted(self.files, key=lambda path: _distance(path, mutation.module))
        words = ["-x", "-p", "no:cacheprovider", *(f"--deselect={name}" for name in self.failing)]
        # Compiled loops hold those that they call: where one is changed, all are compiled anew.
        compiled = "njit" in mutation.source
        with tempfile.TemporaryDirectory() as folder:
            more = {"PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": folder}
            more |= {"NUMBA_CACHE_DIR": folder} if compiled else {}
            command = _pytest(tree, [*words, *map(str, likely_first)], more)
            try:
                status = subprocess.run(**command, stdout=subprocess.DEVNULL, timeout=self.seconds)
            except subprocess.TimeoutExpired:
                return ENDLESS
        return KILLED if status.returncode else SURVIVED


def judges(room: str, tree: Path) -> Judges:
    """Run the tests of a room without a change; those that fail judge nothing, and are named."""
    folders = [
        folder for folder in (Path("tests", room), PACKAGE / room) if (tree / folder).is_dir()
    ]
    files = [
        path.relative_to(tree)
        for folder in folders
        for path in sorted((tree / folder).rglob("*.py"))
        if path.name.startswith("test_") or folder == PACKAGE / room
    ]
    cache = tree / "build" / "cache" / room
    words = ["-o", f"cache_dir={cache}", "--continue-on-collection-errors", *map(str, files)]
    start = time.monotonic()
    output = subprocess.run(**_pytest(tree, words), stdout=subprocess.PIPE, text=True).stdout
    seconds = time.monotonic() - start
    record = cache / "v" / "cache" / "lastfailed"
    failing = sorted(json.loads(record.read_text(encoding="utf-8"))) if record.exists() else []
    print(f"{room}: {output.strip().splitlines()[-1]}", flush=True)
    for name in failing:
        print(f"  fails without a change, and judges nothing: {name}", flush=True)
    whole = tuple(path for path in files if path.as_posix() not in failing)
    return Judges(whole, tuple(name for name in failing if "::" in name), 60 + 3 * seconds)


def _distance(test: Path, module: Path) -> tuple[bool, bool, Path]:
    """Tell tests that are about a module, by name or by what they import, from the others."""
    stem = module.stem
    return stem not in test.stem, stem not in (ROOT / test).read_text(encoding="utf-8"), test


def _pytest(tree: Path, words: Sequence[str], more: Mapping[str, str] | None = None) -> dict:
    """Return how to run fast tests of a copy of the tree, on one core."""
    one_core = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    source = os.pathsep.join([str(tree / "src"), str(tree)])
    options = ["-q", "-p", "no:xdist", "--hypothesis-seed=0"]
    return {
        "args": [sys.executable, "-m", "pytest", *options, *words],
        "cwd": tree,
        "env": {**os.environ, **one_core, "PYTHONPATH": source, **(more or {})},
        "stderr": subprocess.STDOUT,
    }


# -- the run ------------------------------------------------------------------------------------


def run(rooms: Sequence[str], count: int, seed: int, jobs: int, folder: Path) -> list[tuple]:
    """Judge a sample of each room, `jobs` at a time; (room, mutation, verdict) of each."""
    first = folder / "tree-0"
    shutil.copytree(ROOT, first, ignore=NOT_COPIED)
    with ThreadPoolExecutor(jobs) as pool:
        of_room = dict(zip(rooms, pool.map(lambda room: judges(room, first), rooms), strict=True))
        trees: SimpleQueue[Path] = SimpleQueue()
        trees.put(first)
        for number in range(1, jobs):
            # With what was compiled, which holds where times are the same.
            trees.put(shutil.copytree(first, folder / f"tree-{number}"))

        def judge(work: tuple[str, Mutation]) -> tuple[str, Mutation, str]:
            room, mutation = work
            tree = trees.get()
            try:
                verdict = of_room[room].judge(mutation, tree)
            finally:
                trees.put(tree)
            print(f"{verdict:17} {mutation}", flush=True)
            return room, mutation, verdict

        works = [(room, mutation) for room in rooms for mutation in sample(room, count, seed)]
        return list(pool.map(judge, works))


def main() -> int:
    """Run, print a table of verdicts and the rate of each room."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, metavar="ROOM")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30, help="mutations a room")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with tempfile.TemporaryDirectory() as folder:
        rows = run(options.rooms, options.count, options.seed, options.jobs, Path(folder))
    print(f"\nseed {options.seed}: what survived")
    for _, mutation, verdict in rows:
        if verdict == SURVIVED:
            line = (ROOT / mutation.module).read_text(encoding="utf-8").splitlines()
            print(f"  {mutation}\n      {line[mutation.line - 1].strip()}")
    for room in options.rooms:
        print(f"{room}: {_rate([row for row in rows if row[0] == room])}")
    print(f"all: {_rate(rows)}")
    return int(sum(verdict != SURVIVED for *_, verdict in rows) < LEAST * len(rows))


def _rate(rows: Sequence[tuple]) -> str:
    killed = sum(verdict != SURVIVED for *_, verdict in rows)
    return f"{killed} of {len(rows)} killed ({killed / len(rows):.0%})"


if __name__ == "__main__":
    sys.exit(main())
