"""Files -> Pilot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.loading import files
from headcount.loading.lists import pilot_from_neighbours, pilot_from_trec
from headcount.loading.options import Options
from headcount.pilot import Pilot

__all__ = ["load", "pilot_from_neighbours", "pilot_from_trec"]

COMMON = ("average", "tie_rule")
LAYOUTS = (
    "scores + labels; probes + probe_labels + gallery; losses + n_classes; "
    "or ids + distances + labels + n_classes"
)


def load(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    gallery: str | os.PathLike[str] | None = None,
    gallery_labels: str | os.PathLike[str] | None = None,
    metric: str | None = None,
    higher_is_better: bool | None = None,
    qrels: str | os.PathLike[str] | None = None,
    n_classes: int | None = None,
    average: str | None = None,
    tie_rule: str | None = None,
    memory_limit: int | None = None,
) -> Pilot:
    """Read a pilot from files.

    Parameters
    ----------
    path : path
        An ``.npz`` file (scores + labels; probes + probe_labels + gallery; losses + n_classes; or
        neighbour lists ids + distances + labels + n_classes), an ``.npy`` file, a ``.csv`` or
        ``.tsv`` table (a column a class and a column named label), a ``.parquet`` table (the same,
        or one column of vectors and a column named label), or, with `qrels`, a TREC run.
    labels, gallery, gallery_labels : path, optional
        Files with what the first one lacks. With a gallery, or with a metric, rows are embeddings.
    metric : {"euclidean", "cosine", "dot"}, optional
        How embeddings are compared.
    higher_is_better : bool, optional
        False for distances.
    qrels : path, optional
        Relevance judgements of a TREC run.
    n_classes : int, optional
        Size of the collection behind a run or behind losses.
    average, tie_rule : str, optional
        See `Pilot`.
    memory_limit : int, optional
        Refuse arrays in npz files of more bytes than this; half of the machine's memory by default.

    Returns
    -------
    Pilot
    """
    found = files.existing(path)
    options = Options(
        labels=labels,
        gallery=gallery,
        gallery_labels=gallery_labels,
        metric=metric,
        higher_is_better=higher_is_better,
        qrels=qrels,
        n_classes=n_classes,
        average=average,
        tie_rule=tie_rule,
    )
    if qrels is not None:
        judged = files.existing(options.take("qrels"))
        size = options.take("n_classes")
        keywords = options.pick(*COMMON)
        options.refuse_unused("a TREC run")
        return pilot_from_trec(found, judged, size, **keywords)
    if found.suffix == ".npz":
        return _from_npz(files.read_npz(found, memory_limit), found, options)
    if found.suffix == ".npy":
        return _from_rows(files.read_npy(found), None, None, found, options)
    if found.suffix in (".csv", ".tsv"):
        rows, names, texts = files.read_csv(found)
        return _from_rows(rows, names, texts, found, options)
    if found.suffix == ".parquet":
        rows, names, texts, vectors = files.read_parquet(found)
        return _from_rows(rows, names, texts, found, options, vectors)
    raise DataError(
        f"cannot tell what {found.name} is; give .npz, .npy, .csv, .tsv or .parquet, or --qrels "
        "for a TREC run."
    )


def _from_npz(members: dict[str, NDArray[Any]], path: Path, options: Options) -> Pilot:
    stated = {name: _scalar(members[name], name, path) for name in COMMON if name in members}
    keywords = stated | options.pick(*COMMON)
    if "scores" in members:
        if "higher_is_better" in members:
            keywords["higher_is_better"] = bool(_scalar(members["higher_is_better"], "", path))
        keywords |= options.pick("higher_is_better")
        labels = _labels(members, "labels", path, options)
        options.refuse_unused("an npz file of scores")
        names = members.get("class_names")
        return Pilot.from_scores(members["scores"], labels, class_names=names, **keywords)
    if "probes" in members:
        return _embeddings_from_npz(members, path, options, keywords)
    if "losses" in members:
        size = options.take("n_classes", members.get("n_classes"))
        if size is None:
            raise DataError(f"{path.name} holds losses but not n_classes; add it (--n-classes).")
        extra: dict[str, Any] = {
            n: members[n] for n in ("ties", "censored", "labels") if n in members
        }
        options.refuse_unused("an npz file of losses")
        return Pilot.from_losses(members["losses"], int(np.asarray(size)), **extra, **keywords)
    if "ids" in members and "distances" in members:
        size = options.take("n_classes", members.get("n_classes"))
        if size is None:
            raise DataError(f"{path.name} does not say how many classes the index holds; give "
                            "n_classes (--n-classes).")  # fmt: skip
        if "higher_is_better" in members:
            keywords["higher_is_better"] = bool(_scalar(members["higher_is_better"], "", path))
        keywords |= options.pick("higher_is_better")
        labels = _labels(members, "labels", path, options)
        options.refuse_unused("an npz file of neighbour lists")
        return pilot_from_neighbours(
            members["ids"], members["distances"], labels, int(np.asarray(size)),
            gallery_labels=members.get("gallery_labels"), **keywords,
        )  # fmt: skip
    held = ", ".join(sorted(members)) or "nothing"
    raise DataError(f"{path.name} holds {held}; it must hold {LAYOUTS}.")


def _embeddings_from_npz(
    members: dict[str, NDArray[Any]], path: Path, options: Options, keywords: dict[str, Any]
) -> Pilot:
    if "metric" in members:
        keywords["metric"] = str(_scalar(members["metric"], "metric", path))
    keywords |= options.pick("metric")
    labels = _labels(members, "probe_labels", path, options)
    gallery, gallery_labels = members.get("gallery"), members.get("gallery_labels")
    if options.has("gallery"):
        gallery, gallery_labels = _gallery(options)
    options.refuse_unused("an npz file of embeddings")
    return Pilot.from_embeddings(members["probes"], labels, gallery, gallery_labels, **keywords)


def _from_rows(
    rows: NDArray[Any],
    names: list[str] | None,
    labels: NDArray[Any] | None,
    path: Path,
    options: Options,
    vectors: bool = False,
) -> Pilot:
    """Scores, or embeddings where a gallery or a metric says so."""
    if options.has("labels"):
        labels = files.read_labels(options.take("labels"))
    if labels is None:
        raise ParameterError(
            f"{path.name} does not say which class each row is; give labels (--labels FILE)"
            + (" or a column named label." if names is not None else ".")
        )
    keywords = options.pick(*COMMON)
    if vectors or options.has("gallery") or options.has("metric"):
        keywords |= options.pick("metric")
        gallery, gallery_labels = _gallery(options) if options.has("gallery") else (None, None)
        options.refuse_unused("embeddings")
        return Pilot.from_embeddings(rows, labels, gallery, gallery_labels, **keywords)
    keywords |= options.pick("higher_is_better")
    options.refuse_unused("a score table")
    return Pilot.from_scores(rows, labels, class_names=names, **keywords)


def _gallery(options: Options) -> tuple[NDArray[Any], NDArray[Any] | None]:
    path = files.existing(options.take("gallery"))
    labels: NDArray[Any] | None = None
    if path.suffix == ".npy":
        rows = files.read_npy(path)
    elif path.suffix in (".csv", ".tsv"):
        rows, _, labels = files.read_csv(path)
    elif path.suffix == ".parquet":
        rows, _, labels, _ = files.read_parquet(path)
    else:
        raise DataError(f"cannot read a gallery from {path.name}; give .npy, .csv or .parquet.")
    if options.has("gallery_labels"):
        labels = files.read_labels(options.take("gallery_labels"))
    return rows, labels


def _labels(
    members: dict[str, NDArray[Any]], name: str, path: Path, options: Options
) -> NDArray[Any]:
    if options.has("labels"):
        return files.read_labels(options.take("labels"))
    if name not in members:
        raise DataError(
            f"{path.name} does not hold {name}; add it, or give labels (--labels FILE)."
        )
    return members[name]


def _scalar(value: NDArray[Any], name: str, path: Path) -> Any:
    if value.size != 1:
        raise DataError(f"{path.name}: {name} must be one value, but has shape {value.shape}.")
    return value.reshape(()).item()
