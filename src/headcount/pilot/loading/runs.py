"""What a search engine returned for some queries, and judgements: dicts, frames and TREC files."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.errors import AssumptionWarning, DataError, warn
from headcount.pilot.loading.safe_arrays import (
    LONGEST,
    PER_TEXT,
    MemoryLimit,
    existing,
    open_text,
)
from headcount.support import validation
from headcount.support.words import counted, share_of

Run = dict[str, dict[str, float]]

LONGEST_LINE = 10 * LONGEST
QUERY, DOCUMENT = ("q_id", "query_id", "query"), ("doc_id", "document")
SCORE, GRADE = ("score",), ("relevance", "score", "rel")


def scores_of(run: Any, limit: MemoryLimit | None = None) -> Run:
    """Return the scores of a run by query and document."""
    if isinstance(run, str | os.PathLike):
        return read_run(existing(run), limit or MemoryLimit())
    return _by_query(run, "the run", SCORE)


def grades_of(qrels: Any, limit: MemoryLimit | None = None) -> Run:
    """Return the grades of judgements by query and document."""
    if isinstance(qrels, str | os.PathLike):
        return read_qrels(existing(qrels), limit or MemoryLimit())
    return _by_query(qrels, "the qrels", GRADE)


def always_of(
    always: Any, queries: Iterable[str], limit: MemoryLimit | None = None
) -> dict[str, list[str]]:
    """Return the documents that are always present, by query.

    A file has one in each line: a document, or a query and a document.
    """
    if always is None:
        return {}
    if isinstance(always, str | os.PathLike):
        file = existing(always)
        with open_text(file, limit or MemoryLimit(), newline="\n") as lines:
            cells = [line.split() for line in lines if line.strip()]
        lengths = {len(row) for row in cells}
        if lengths == {2}:
            named: dict[str, list[str]] = defaultdict(list)
            for query, document in cells:
                named[query].append(document)
            return named
        if lengths != {1}:
            raise DataError(
                f"{file.name}: each line must hold a document, or a query and a document."
            )
        always = [row[0] for row in cells]
    if isinstance(always, Mapping):
        return {str(query): [str(d) for d in documents] for query, documents in always.items()}
    everywhere = [str(document) for document in always]
    return dict.fromkeys(queries, everywhere)


def _by_query(table: Any, what: str, values: tuple[str, ...]) -> Run:
    """Return the numbers of a dict of dicts, or of a frame, by query and document."""
    by_query: Run = {}
    if isinstance(table, Mapping):
        rows: Iterable[tuple[Any, Any, Any]] = (
            (query, document, value)
            for query, documents in table.items()
            for document, value in _documents(documents, what)
        )
    else:
        rows = _rows_of_frame(table, what, values)
    for query, document, value in rows:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        documents = by_query.setdefault(str(query), {})
        name = str(document)
        if not math.isfinite(number):
            raise DataError(
                f"{what}: document {validation.short(name)} of query "
                f"{validation.short(str(query))} has {validation.short(repr(value))}, not a finite "
                "number; repair or remove it."
            )
        if name in documents:
            raise DataError(
                f"{what}: document {validation.short(name)} is there twice for query "
                f"{validation.short(str(query))}; list each document once."
            )
        documents[name] = number
    if not by_query:
        raise DataError(f"{what} is empty; give at least one query with a document.")
    return by_query


def _documents(documents: Any, what: str) -> Iterable[tuple[Any, Any]]:
    if not isinstance(documents, Mapping):
        raise DataError(
            f"{what} must map each query to its documents and their numbers, but one is mapped to "
            f"{validation.short(repr(documents))}."
        )
    return documents.items()


def _rows_of_frame(
    table: Any, what: str, values: tuple[str, ...]
) -> Iterable[tuple[Any, Any, Any]]:
    names = [str(name) for name in getattr(table, "columns", [])]
    columns = []
    for wanted in (QUERY, DOCUMENT, values):
        chosen = next((name for name in wanted if name in names), None)
        if chosen is None:
            raise DataError(
                f"{what} must be a dict of dicts, a file, or a table with columns {QUERY[0]}, "
                f"{DOCUMENT[0]} and {values[0]}; there is no {' or '.join(wanted)}."
            )
        columns.append(table[chosen].to_numpy().tolist())
    return zip(*columns, strict=True)


def usable(scores: Run, grades: Run, relevant_from: float) -> tuple[Run, Run]:
    """Return the queries that are in both and have a relevant document; say which are left out."""
    relevant = {
        query: sum(grade >= relevant_from for grade in documents.values())
        for query, documents in grades.items()
    }
    judged = {query for query, count in relevant.items() if count}
    queries = sorted(set(scores) & judged)
    if not queries:
        raise DataError(
            "no query of the run has a relevant document in the qrels; check that both use the "
            "same query names, and from which grade on documents are relevant (--relevant-from)."
        )
    if len(scores) > len(queries):
        missing = sorted(set(scores) - judged)
        lacking = "in the run have no relevant document in the qrels"
        warn(
            f"{share_of(len(missing), len(scores), 'queries', lacking)} "
            f"(first: {validation.short(missing[0])}): left out.",
            AssumptionWarning,
        )
    if len(judged) > len(queries):
        missing = sorted(judged - set(scores))
        warn(
            f"{share_of(len(missing), len(judged), 'judged queries', 'are not in the run')} "
            f"(first: {validation.short(missing[0])}): left out.",
            AssumptionWarning,
        )
    return {query: scores[query] for query in queries}, {q: grades[q] for q in queries}


def read_run(path: Path, limit: MemoryLimit) -> Run:
    """Read the scores of a TREC run; the rank column is ignored."""
    run: Run = defaultdict(dict)
    for number, cells in _lines(path, "query Q0 document rank score tag", limit):
        query, document = cells[0], cells[2]
        try:
            score = float(cells[4])
        except ValueError:
            score = float("nan")
        if not math.isfinite(score):
            raise DataError(
                f"{path.name}: line {number} has score {validation.short(cells[4])!r}, not a "
                "finite number; repair or remove it."
            )
        if document in run[query]:
            raise DataError(
                f"{path.name}: line {number} lists document {validation.short(document)} again for "
                f"query {validation.short(query)}; list each document once."
            )
        run[query][document] = score
    return run


def read_qrels(path: Path, limit: MemoryLimit) -> Run:
    """Read the grades of TREC judgements."""
    grades: Run = defaultdict(dict)
    for number, cells in _lines(path, "query iteration document relevance", limit):
        try:
            grade = float(cells[3])
        except ValueError:
            raise DataError(
                f"{path.name}: line {number} has relevance {validation.short(cells[3])!r}, not a "
                "number; repair it."
            ) from None
        if not math.isfinite(grade):
            raise DataError(
                f"{path.name}: line {number} has relevance {validation.short(cells[3])!r}, not a "
                "number; repair it."
            )
        grades[cells[0]][cells[2]] = grade
    return grades


def _lines(path: Path, form: str, limit: MemoryLimit) -> Iterator[tuple[int, list[str]]]:
    """Cells of each line; other characters that look like blanks may be part of a name."""
    n_cells, too_long = len(form.split()), f"{path.name} is too long"
    with open_text(path, limit, newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if len(line) > LONGEST_LINE:  # millions of cells would take far more than their line
                raise DataError(
                    f"{path.name}: line {number} has {len(line):,} characters, too many for "
                    f"'{form}'; give each its own line."
                )
            line = line.removesuffix("\n").removesuffix("\r").replace("\t", " ")
            cells = [cell for cell in line.split(" ") if cell]
            if not cells:
                continue
            if len(cells) != n_cells:
                raise DataError(
                    f"{path.name}: line {number} has {counted(len(cells), 'cell')}; each line must "
                    f"read '{form}', {n_cells} cells with blanks or tabs between them."
                )
            limit.take(2 * PER_TEXT, too_long)
            yield number, cells
