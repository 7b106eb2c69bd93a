"""Ranks among sampled negatives: each probe met a few random rivals of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.pilot.loading import safe_arrays
from headcount.pilot.loading.options import COMMON, Options
from headcount.pilot.loading.safe_arrays import MemoryLimit
from headcount.pilot.loading.tables import can_read, read_rows
from headcount.pilot.pilot import Pilot
from headcount.support import validation

RANK, LOSSES, TIES = "rank", "losses", "ties"


def pilot_from_samples(path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    """Make a pilot from the rank of each probe among its own sampled negatives, and itself.

    Parameters
    ----------
    path : Path
        A table (.csv, .tsv, .parquet) or an npz file with ``rank``, which is 1 for the best, or
        ``losses``, which is one less; possibly ``ties`` and labels.
    options : Options
        ``sampled_negatives`` says how many there were.
    limit : MemoryLimit
        How much memory the file may take.

    Returns
    -------
    Pilot
    """
    if options.has("n_classes"):
        raise ParameterError(
            "--sampled-negatives says how many rivals each probe met; leave --n-classes out, and "
            "ask about the whole catalogue with --classes."
        )
    n_rivals = validation.whole_number(options.take("sampled_negatives"), "sampled_negatives", 1)
    columns = _columns(path, limit)
    if (RANK in columns) == (LOSSES in columns):
        raise DataError(
            f"{path.name} needs one column {RANK} (1 is best) or {LOSSES} (0 is best), but has "
            f"{validation.short(', '.join(sorted(columns)) or 'none')}."
        )
    keywords: dict[str, Any] = options.pick(*COMMON)
    if options.has("labels"):
        keywords["labels"] = safe_arrays.read_labels(options.take("labels"), limit)
    elif "labels" in columns:
        keywords["labels"] = columns["labels"]
    options.refuse_unused("ranks among sampled negatives")
    losses = _losses(columns, n_rivals, path)
    ties = columns.get(TIES)
    return Pilot.from_losses(losses, n_rivals + 1, ties=ties, rivals="independent", **keywords)


def _columns(path: Path, limit: MemoryLimit) -> dict[str, NDArray[Any]]:
    if path.suffix.lower() == ".npz":
        return dict(safe_arrays.read_npz(path, limit))
    if not can_read(path) or path.suffix.lower() == ".npy":
        raise DataError(
            f"{path.name} does not name its columns; give .csv, .tsv, .parquet or .npz with "
            f"{RANK} or {LOSSES}."
        )
    table = read_rows(path, limit)
    columns = dict(zip(table.names or [], table.values.T, strict=True))
    return columns if table.labels is None else columns | {"labels": table.labels}


def _losses(columns: dict[str, NDArray[Any]], n_rivals: int, path: Path) -> NDArray[np.int64]:
    name, best = (RANK, 1) if RANK in columns else (LOSSES, 0)
    counts = validation.as_counts(columns[name], f"{name} of {path.name}")
    last = n_rivals + best
    validation.refuse(
        (counts < best) | (counts > last),
        f"{name} of {path.name}",
        f"are not within {best} to {last:,}",
        lambda i: f"{counts[i]:,}",
        f"say how many rivals each probe met: {n_rivals:,} was given",
    )
    return counts - best
