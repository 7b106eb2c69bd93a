"""Files -> Pilot.

Public: what `__all__` lists. All else is internal.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headcount.errors import DataError, ParameterError
from headcount.pilot.loading import safe_arrays
from headcount.pilot.loading.npz import pilot_from_npz
from headcount.pilot.loading.options import COMMON, Options
from headcount.pilot.loading.ranked_lists import pilot_from_neighbours
from headcount.pilot.loading.runs import always_of, grades_of, scores_of
from headcount.pilot.loading.samples import pilot_from_samples
from headcount.pilot.loading.tables import Rows, can_read, read_gallery, read_rows
from headcount.pilot.pilot import Pilot

__all__ = ["as_pilot", "load", "pilot_from_neighbours"]


def as_pilot(data: Any, labels: Any = None) -> Pilot:
    """Return what people hold as a pilot: one already, a file, or scores with labels."""
    if isinstance(data, Pilot):
        if labels is not None:
            raise ParameterError("a Pilot has its own labels; leave labels out.")
        return data
    if isinstance(data, str | os.PathLike):
        return load(data, labels=labels)
    if labels is None:
        raise ParameterError("a score matrix needs labels: the true class of each row.")
    return Pilot.from_scores(data, labels)


def load(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    gallery: str | os.PathLike[str] | None = None,
    gallery_labels: str | os.PathLike[str] | None = None,
    similarity: str | None = None,
    higher_is_better: bool | None = None,
    qrels: str | os.PathLike[str] | None = None,
    relevant_from: float | None = None,
    always: str | os.PathLike[str] | None = None,
    n_classes: int | None = None,
    sampled_negatives: int | None = None,
    average: str | None = None,
    tie_rule: str | None = None,
    groups: str | os.PathLike[str] | None = None,
    drawn: str | None = None,
    memory_limit: int | None = None,
) -> Pilot:
    """Read a pilot from files.

    Parameters
    ----------
    path : path
        An ``.npz`` file (scores + labels; probes + probe_labels + gallery; losses + n_classes; or
        neighbour lists ids + distances + labels + n_classes; the first three may add ``groups``
        and ``order``, a value for each class in the order of `Pilot.class_names`, and ``drawn``),
        an ``.npy`` file, a ``.csv`` or ``.tsv`` table (a column a class and a column named
        label), a ``.parquet`` table (the same, or one column of vectors and a column named
        label), or, with `qrels`, a TREC run. Text (tables, labels, runs, qrels) may be gzipped.
    labels, gallery, gallery_labels : path, optional
        Files with what the first one lacks. With a gallery, or with a similarity, rows are
        embeddings.
    similarity : {"euclidean", "cosine", "dot"}, optional
        How embeddings are compared.
    higher_is_better : bool, optional
        False for distances. Neighbour lists are taken for distances unless stated.
    qrels : path, optional
        Relevance judgements of a TREC run.
    relevant_from : float, optional
        Least grade of a relevant document; see `Pilot.from_run`.
    always : path, optional
        Classes or documents that are present at every size, one in each line; of a run also a query
        and a document in each.
    n_classes : int, optional
        Size of the collection behind a run or behind losses.
    sampled_negatives : int, optional
        How many random rivals each probe met, of its own. The file is then a table, or an npz
        file, with a column `rank` (1 is best) or `losses`, and possibly `ties`.
    average, tie_rule, drawn : str, optional
        See `Pilot`.
    groups : path, optional
        Group of each class, in the order of `Pilot.class_names`: .npy, or .txt with one a line.
    memory_limit : int, optional
        Refuse files that would take more bytes in memory than this, all together; half of the
        machine's memory by default. ``.npy`` files are not counted: they stay on disk.

    Returns
    -------
    Pilot
    """
    file = safe_arrays.existing(path)
    options = Options(
        labels=labels,
        gallery=gallery,
        gallery_labels=gallery_labels,
        similarity=similarity,
        higher_is_better=higher_is_better,
        qrels=qrels,
        relevant_from=relevant_from,
        always=always if qrels is not None else None,
        n_classes=n_classes,
        sampled_negatives=sampled_negatives,
        average=average,
        tie_rule=tie_rule,
    )
    limit = safe_arrays.MemoryLimit(memory_limit)
    with safe_arrays.within_memory(file):
        pilot = _with_groups(_read(file, options, limit), groups, drawn, limit)
        if always is None or qrels is not None:
            return pilot
        return pilot.with_always(safe_arrays.read_labels(always, limit))


def _read(file: Path, options: Options, limit: safe_arrays.MemoryLimit) -> Pilot:
    if options.has("qrels"):
        return _from_trec(file, options, limit)
    if options.has("sampled_negatives"):
        return pilot_from_samples(file, options, limit)
    if file.suffix.lower() == ".npz":
        return pilot_from_npz(file, options, limit)
    if can_read(file):
        return _from_rows(read_rows(file, limit), file, options, limit)
    raise DataError(
        f"cannot tell what {file.name} is; give .npz, .npy, .csv, .tsv or .parquet, or --qrels "
        "for a TREC run. Only text may be gzipped."
    )


def _with_groups(
    pilot: Pilot,
    groups: str | os.PathLike[str] | None,
    drawn: str | None,
    limit: safe_arrays.MemoryLimit,
) -> Pilot:
    """Return a pilot with the groups that a file of their own holds, or drawn as is stated."""
    if groups is None and drawn is None:
        return pilot
    values = pilot.groups if groups is None else safe_arrays.read_labels(groups, limit)
    if values is None:
        raise ParameterError(
            "drawn says how groups came into the pilot, but it has none; give them (--groups FILE)."
        )
    return pilot.with_groups(values, drawn or pilot.drawn)


def _from_trec(path: Path, options: Options, limit: safe_arrays.MemoryLimit) -> Pilot:
    judgements = safe_arrays.existing(options.take("qrels"))
    size = options.take("n_classes")
    keywords = options.pick("relevant_from", *COMMON)
    named = options.take("always")
    options.refuse_unused("a TREC run")
    if size is None:
        raise ParameterError(
            "a TREC run does not say how many documents the collection holds; give n_classes "
            "(--n-classes)."
        )
    run, grades = scores_of(path, limit), grades_of(judgements, limit)
    always = None if named is None else always_of(named, run, limit)
    return Pilot.from_run(run, grades, n_classes=size, always=always, **keywords)


def _from_rows(table: Rows, path: Path, options: Options, limit: safe_arrays.MemoryLimit) -> Pilot:
    """Scores, or embeddings where a gallery or a similarity says so."""
    labels = table.labels
    if options.has("labels"):
        labels = safe_arrays.read_labels(options.take("labels"), limit)
    if labels is None:
        raise ParameterError(
            f"{path.name} does not say which class each row is; give labels (--labels FILE)"
            + (" or a column named label." if table.names is not None else ".")
        )
    keywords = options.pick(*COMMON)
    if table.vectors or options.has("gallery") or options.has("similarity"):
        keywords |= options.pick("similarity")
        gallery, gallery_labels = (
            read_gallery(options, limit) if options.has("gallery") else (None, None)
        )
        options.refuse_unused("embeddings")
        return Pilot.from_embeddings(table.values, labels, gallery, gallery_labels, **keywords)
    keywords |= options.pick("higher_is_better")
    options.refuse_unused("a score table")
    return Pilot.from_scores(table.values, labels, class_names=table.names, **keywords)
