"""The four layouts of an npz file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.pilot.labels import number_of_classes
from headcount.pilot.loading import safe_arrays
from headcount.pilot.loading.options import COMMON, Options
from headcount.pilot.loading.ranked_lists import pilot_from_neighbours
from headcount.pilot.loading.safe_arrays import MemoryLimit
from headcount.pilot.loading.tables import read_gallery
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Members = Mapping[str, NDArray[Any]]

LAYOUTS = (
    "scores + labels; probes + probe_labels + gallery; losses + n_classes; "
    "or ids + distances + labels + n_classes"
)


def pilot_from_npz(path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    """Make a pilot from the arrays of an npz file; options override what the file says."""
    members = safe_arrays.read_npz(path, limit)
    if "scores" in members:
        return _scores(members, path, options, limit)
    if "probes" in members:
        return _embeddings(members, path, options, limit)
    if "losses" in members:
        return _losses(members, path, options, limit)
    if "ids" in members and "distances" in members:
        return _neighbours(members, path, options, limit)
    names = validation.short(", ".join(sorted(members)) or "nothing")
    raise DataError(f"{path.name} holds {names}; it must hold {LAYOUTS}.")


def _scores(members: Members, path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    keywords = _stated(members, path, options, "higher_is_better", "folds", *COMMON)
    labels = _labels(members, "labels", path, options, limit)
    options.refuse_unused("an npz file of scores")
    names = members.get("class_names")
    keywords |= _of_classes(members, path)
    return Pilot.from_scores(members["scores"], labels, class_names=names, **keywords)


def _embeddings(members: Members, path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    if "metric" in members and "similarity" not in members:  # as older files call it
        members = {**members, "similarity": members["metric"]}
    keywords = _stated(members, path, options, "similarity", *COMMON)
    labels = _labels(members, "probe_labels", path, options, limit)
    gallery: NDArray[Any] | None
    if options.has("gallery"):
        gallery, gallery_labels = read_gallery(options, limit)
    elif options.has("gallery_labels"):
        gallery = members.get("gallery")
        gallery_labels = safe_arrays.read_labels(options.take("gallery_labels"), limit)
    else:
        gallery, gallery_labels = members.get("gallery"), members.get("gallery_labels")
    options.refuse_unused("an npz file of embeddings")
    keywords |= _of_classes(members, path)
    return Pilot.from_embeddings(members["probes"], labels, gallery, gallery_labels, **keywords)


def _losses(members: Members, path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    keywords = _stated(members, path, options, *COMMON)
    counts = ("ties", "censored", "possible_ties")
    keywords |= {name: members[name] for name in counts if name in members}
    if options.has("labels") or "labels" in members:
        keywords["labels"] = _labels(members, "labels", path, options, limit)
    size = _size(members, path, options)
    options.refuse_unused("an npz file of losses")
    keywords |= _of_classes(members, path)
    return Pilot.from_losses(members["losses"], size, **keywords)


def _neighbours(members: Members, path: Path, options: Options, limit: MemoryLimit) -> Pilot:
    keywords = _stated(members, path, options, "higher_is_better", *COMMON)
    labels = _labels(members, "labels", path, options, limit)
    if options.has("gallery_labels"):
        keywords["gallery_labels"] = safe_arrays.read_labels(options.take("gallery_labels"), limit)
    else:
        keywords["gallery_labels"] = members.get("gallery_labels")
    size = _size(members, path, options)
    options.refuse_unused("an npz file of neighbour lists")
    return pilot_from_neighbours(members["ids"], members["distances"], labels, size, **keywords)


def _stated(members: Members, path: Path, options: Options, *names: str) -> dict[str, Any]:
    """Return what the file states under these names, overridden by options."""
    stated = _scalars(members, path, *names)
    orientation = stated.get("higher_is_better", True)
    if orientation not in (True, False):
        raise DataError(
            f"{path.name}: higher_is_better must be true or false, but is {orientation!r:.40}."
        )
    return stated | options.pick(*names)


def _scalars(members: Members, path: Path, *names: str) -> dict[str, Any]:
    return {name: _scalar(members[name], name, path) for name in names if name in members}


def _of_classes(members: Members, path: Path) -> dict[str, Any]:
    """Return what the file says about each class, in the order of their names."""
    of_classes = {name: members[name] for name in ("groups", "order") if name in members}
    return of_classes | _scalars(members, path, "drawn")


def _size(members: Members, path: Path, options: Options) -> int:
    size = options.take("n_classes")
    if size is None:
        if "n_classes" not in members:
            raise DataError(
                f"{path.name} does not hold n_classes, the number of classes that competed; "
                "add it (--n-classes)."
            )
        size = _scalar(members["n_classes"], "n_classes", path)
    return number_of_classes(size, 1)


def _labels(
    members: Members, name: str, path: Path, options: Options, limit: MemoryLimit
) -> NDArray[Any]:
    if options.has("labels"):
        return safe_arrays.read_labels(options.take("labels"), limit)
    if name not in members:
        raise DataError(
            f"{path.name} holds no {name}; put them in, or give labels (--labels FILE)."
        )
    return members[name]


def _scalar(value: NDArray[Any], name: str, path: Path) -> Any:
    if value.size != 1:
        raise DataError(f"{path.name}: {name} must be one value, but has shape {value.shape}.")
    return value.reshape(()).item()
