"""Costs from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount.errors import DataError
from headcount.pilot.labels import refuse_duplicates
from headcount.pilot.loading import safe_arrays
from headcount.pilot.pilot import Pilot
from headcount.questions.risk.costs import Cost, as_cost
from headcount.support import validation
from headcount.support.serialise import parse_json

LAYOUTS = "cost; left + right; or what scipy.sparse.save_npz writes"

Members = Mapping[str, NDArray[Any]]


def load_cost(path: str | os.PathLike[str], pilot: Pilot) -> Cost:
    """Read the costs of a pilot's classes from a file.

    Parameters
    ----------
    path : path
        Either an ``.npz`` file that holds ``cost``, a K x K matrix; or ``left`` and ``right``, a
        low-rank pair; or what `scipy.sparse.save_npz` writes (CSR, CSC or COO). Rows are in the
        order of ``pilot.class_names`` unless the file names them in ``class_names``, where more
        classes than those of the pilot are allowed.

        Or a ``.json`` file that holds a hierarchy: nested objects whose leaves are class names,
        ``{"animal": {"dog": ["beagle", "poodle"]}, "car": null}`` (an empty object or list is a
        leaf, too), or the ancestors of each class from the top down,
        ``{"beagle": ["animal", "dog"], "car": []}``. It is read as ancestors if every class of
        the pilot is a key of the outermost object and all its values are lists.
    pilot : Pilot
        What the classes are.

    Returns
    -------
    Cost
    """
    file = safe_arrays.existing(path)
    kind = file.suffix.lower()
    if kind == ".json":
        return as_cost(json_object(file, "the hierarchy of classes"), pilot)
    if kind == ".npz":
        return as_cost(_from_npz(safe_arrays.read_npz(file), file, pilot), pilot)
    raise DataError(
        f"cannot read costs from {file.name}; give a .npz file of costs or a .json hierarchy."
    )


def json_object(path: Path, shape: str) -> dict[str, Any]:
    """Read a file that holds one JSON object; `shape` says in an error what it should look like."""
    value = parse_json(safe_arrays.read_text(path), path.name)
    if not isinstance(value, dict):
        raise DataError(f"{path.name} must hold one JSON object, {shape}.")
    return value


def _from_npz(members: Members, path: Path, pilot: Pilot) -> Any:
    matrices: tuple[Any, ...]
    if "cost" in members:
        matrices = (members["cost"],)
    elif "left" in members and "right" in members:
        matrices = members["left"], members["right"]
    elif "format" in members and "data" in members and "shape" in members:
        matrices = (_sparse(members, path),)
    else:
        listed = ", ".join(sorted(members)) or "nothing"
        raise DataError(f"{path.name} holds {listed}; it must hold {LAYOUTS}.")
    if "class_names" in members:
        matrices = _by_name(matrices, members["class_names"], path, pilot)
    return matrices if len(matrices) == 2 else matrices[0]


def _by_name(
    matrices: tuple[Any, ...], class_names: NDArray[Any], path: Path, pilot: Pilot
) -> tuple[Any, ...]:
    """Put the rows of a pair, the rows and columns of a matrix, into the pilot's order."""
    noun = f"class names in {path.name}"
    names = validation.as_labels(class_names, noun)
    refuse_duplicates(names, noun)
    sides = 1 if len(matrices) == 2 else 2
    if any(matrix.ndim != 2 or set(matrix.shape[:sides]) != {len(names)} for matrix in matrices):
        shapes = " and ".join(str(matrix.shape) for matrix in matrices)
        raise DataError(
            f"{path.name}: there are {len(names):,} class names for costs of shape {shapes}; give "
            "one row for each, and in a matrix one column."
        )
    place = {str(name): i for i, name in enumerate(names.tolist())}
    wanted = [str(name) for name in pilot.class_names.tolist()]
    validation.refuse(
        np.array([name not in place for name in wanted], np.bool_),
        noun,
        "are classes of the pilot without costs",
        lambda i: wanted[i],
        "give costs for every class",
    )
    order = np.array([place[name] for name in wanted], np.intp)
    return tuple(matrix[order] if sides == 1 else matrix[order][:, order] for matrix in matrices)


def _sparse(members: Members, path: Path) -> Any:
    """Put together what `scipy.sparse.save_npz` took apart."""
    kind = str(validation.as_labels(members["format"].reshape(-1), "format")[0])
    shape = tuple(int(n) for n in members["shape"].ravel())
    parts = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
    if kind not in parts or len(shape) != 2 or not set(parts[kind]) <= set(members):
        raise DataError(
            f"{path.name} holds a sparse matrix of the kind {kind!r}; save it as CSR: "
            "scipy.sparse.save_npz(file, matrix.tocsr())."
        )
    first, second = (members[name] for name in parts[kind])
    try:
        if kind == "coo":
            return sparse.coo_array((members["data"], (first, second)), shape=shape).tocsr()
        make = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = make((members["data"], first, second), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{path.name}: the parts of the sparse matrix do not fit together; write it again."
        ) from error
    return matrix.tocsr()
