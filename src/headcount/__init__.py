"""Forecast how well a recogniser will do when there are many more classes.

Measured on a pilot of K classes, forecast at k >> K:

>>> import headcount
>>> pilot = headcount.datasets.load_hangul().subset([chr(0xAC00 + 22 * i) for i in range(500)])
>>> print(headcount.forecast(pilot, classes=1000).sentences()[0])
At 1,000 classes: 86% (90% interval 83-90%).
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Read where each public name lives from the stub file beside this one."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


# Loaded on first use, so that the command line answers --help and completes words without numba
# and scikit-learn.
_HOMES = _homes()
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    is_module = name not in vars(home)  # a room does not import its own files
    value = import_module(f"{_HOMES[name]}.{name}") if is_module else vars(home)[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
