"""From packages to the file of one source."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.sources.catalogue import HELD_OUT, Source
from experiments.sources.gathered import Gathered, sample, without_copies
from experiments.sources.layout import distinct_classes, numbered, scaled, write
from experiments.sources.packages import Packages


def build(name: str, source: Source, packages: Packages, path: Path) -> dict[str, Any]:
    """Gather a source, write its file and return its recipe."""
    gathered = source.gather(packages)
    with threadpool_limits(1):  # sums in another order would round some numbers another way
        vectors, labels, removed = arrays(gathered, source, zlib.crc32(name.encode()))
    recipe = {
        "source": name,
        "kind": source.kind,
        "held_out": name in HELD_OUT,
        "packages": packages.used,
        "about": _about(source),
        "removed": removed,
        "classes": int(labels[-1]) + 1,
        "rows": len(labels),
        "columns": vectors.shape[1],
    }
    write(path, vectors, labels, recipe)
    return recipe


def arrays(gathered: Gathered, source: Source, seed: int) -> tuple[Any, Any, dict[str, int]]:
    """Return vectors, labels and how much was removed."""
    chosen = sample(without_copies(gathered), source.classes, source.rows, seed)
    vectors = scaled(source.reduction(source.features(list(chosen.items))))
    labels = numbered(chosen.names)
    distinct = distinct_classes(vectors, labels)
    removed = chosen.removed | {"classes_with_a_vector_of_another": _count(labels[~distinct])}
    return vectors[distinct], numbered(list(labels[distinct])), removed


def _about(source: Source) -> str:
    """Return what a class and its rows are, in the words of the function that gathers them."""
    gather: Any = getattr(source.gather, "func", source.gather)
    return " ".join(gather.__doc__.split())


def _count(labels: Any) -> int:
    return len(np.unique(labels))
