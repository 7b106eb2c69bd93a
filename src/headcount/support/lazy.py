"""Public names that are listed once, in the stub beside a package, and loaded on first use.

Type checkers read the stub as it is. A package whose names are loaded so costs nothing until one is
wanted: the command line answers --help and completes words without numba and scikit-learn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def read_homes(file: str) -> dict[str, str]:
    """Return which module each public name comes from, as the stub beside a file lists them.

    Examples
    --------
    >>> import headcount
    >>> read_homes(headcount.__file__)["Pilot"]
    'headcount.pilot.pilot'
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def load_on_first_use(
    namespace: dict[str, Any], homes: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__``, which loads names from their homes, and ``__dir__``.

    Parameters
    ----------
    namespace : dict
        The package's ``globals()``.
    homes : dict
        As from `read_homes`.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        home = import_module(homes[name])
        is_module = name not in vars(home)  # a room does not import its own files
        value = import_module(f"{homes[name]}.{name}") if is_module else vars(home)[name]
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*namespace, *homes})

    return get, names
