"""Trees of classes: where each class hangs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.support import validation

Path = tuple[str, ...]

SHAPES = (
    "give nested mappings whose leaves are class names, or a mapping from each class name to the "
    "list of its ancestors from the top down"
)


def node_numbers(tree: Mapping[Any, Any], names: NDArray[Any]) -> NDArray[np.int64]:
    """Return the nodes from the top of the tree down to each class.

    Parameters
    ----------
    tree : mapping
        Nested mappings whose leaves are class names, or ancestors of each class; names of classes
        are compared as text.
    names : ndarray
        Class names.

    Returns
    -------
    ndarray of int64, shape (len(names), depth)
        Numbers of the nodes at depth 1, 2, ... and last of the class itself; -1 beyond it. Nodes
        are the same only if all above them are.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.questions.risk.hierarchy import node_numbers
    >>> node_numbers({"dog": ["beagle", "poodle"], "car": None}, np.array(["beagle", "car"]))
    array([[ 0,  1],
           [ 2, -1]])
    """
    wanted = [str(name) for name in names.tolist()]
    paths = _paths(tree, set(wanted))
    _refuse_missing(paths, names, wanted)
    known: dict[Path, int] = {}
    depth = max(len(paths[name][0]) for name in wanted)
    numbers = np.full((len(wanted), depth), -1, np.int64)
    for row, name in zip(numbers, wanted, strict=True):
        path = paths[name][0]
        for level in range(len(path)):
            row[level] = known.setdefault(path[: level + 1], len(known))
    return numbers


def _paths(tree: Mapping[Any, Any], wanted: set[str]) -> dict[str, list[Path]]:
    """Return the paths of the classes wanted, in either form of a tree."""
    named = wanted <= {str(key) for key in tree}
    lists = all(_is_list(value) for value in tree.values())
    if named and lists and any(len(value) for value in tree.values()):
        members = {str(member) for value in tree.values() for member in value}
        if wanted <= members:
            raise DataError(
                "the hierarchy has every class both as a key and in a list, so it may be a tree or "
                "lists of ancestors; name the groups differently from the classes."
            )
        leaves: Iterable[tuple[str, Path]] = (
            (str(key), (*(_text(v) for v in value), str(key))) for key, value in tree.items()
        )
    else:
        leaves = _leaves(tree)
    paths: dict[str, list[Path]] = {}
    for name, path in leaves:
        if name in wanted:
            paths.setdefault(name, []).append(path)
    return paths


def _leaves(tree: Mapping[Any, Any]) -> Iterator[tuple[str, Path]]:
    """Walk nested mappings; a leaf is a member of a list, or a key without content."""
    todo: list[tuple[Path, Any]] = [((), tree)]
    while todo:
        path, node = todo.pop()
        empty = node is None or (isinstance(node, Mapping | list | tuple) and not node)
        if empty and path:
            yield path[-1], path
        elif isinstance(node, Mapping):
            todo.extend(reversed([((*path, str(key)), below) for key, below in node.items()]))
        elif _is_list(node):
            yield from ((_text(name), (*path, _text(name))) for name in node)
        else:
            raise DataError(f"the hierarchy holds {node!r} under {' > '.join(path)}; {SHAPES}.")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _text(name: Any) -> str:
    if isinstance(name, str | int | np.integer):
        return str(name)
    raise DataError(f"the hierarchy holds {name!r} in a list of names; {SHAPES}.")


def _refuse_missing(paths: dict[str, list[Path]], names: NDArray[Any], wanted: list[str]) -> None:
    validation.refuse(
        np.array([name not in paths for name in wanted]),
        "hierarchy",
        "are classes that no leaf names",
        lambda i: str(names[i]),
        "every class of the pilot must be a leaf of the tree",
    )
    validation.refuse(
        np.array([len(paths[name]) > 1 for name in wanted]),
        "hierarchy",
        "are classes that several leaves name",
        lambda i: f"{names[i]}: {' and '.join(' > '.join(path) for path in paths[wanted[i]])}",
        "every class must be in the tree once",
    )
