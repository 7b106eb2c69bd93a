"""Functions of Python packages: what they say and what they do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from experiments.sources.documents import halves
from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages

LIBRARIES = (
    "biopython",
    "bokeh",
    "dask",
    "django",
    "networkx",
    "nltk",
    "scikit-image",
    "sqlalchemy",
    "statsmodels",
    "sympy",
    "twisted",
)
FEWEST = 20  # words of a docstring, names in a body


def docstrings(packages: Packages, libraries: Sequence[str] = LIBRARIES) -> Gathered:
    """Gather: a class is a function, its items are the halves of its docstring."""
    return Gathered.of_texts(
        [
            pair
            for name, function in _functions(packages, libraries)
            for pair in halves(name, _docstring(function), 2 * FEWEST)
        ]
    )


def bodies(packages: Packages) -> Gathered:
    """Gather: a class is a function, its items are the halves of the names in its body."""
    return Gathered.of_texts(
        [
            pair
            for name, function in _functions(packages, LIBRARIES)
            for pair in halves(name, " ".join(names_used(function)), 2 * FEWEST)
        ]
    )


def functions(packages: Packages) -> Gathered:
    """Gather: a class is a function, its items are its docstring and the names in its body."""
    pairs = []
    for name, function in _functions(packages, LIBRARIES):
        text, names = _docstring(function), names_used(function)
        if len(text.split()) >= FEWEST and len(names) >= FEWEST:
            pairs += [(name, text), (name, " ".join(names))]
    return Gathered.of_texts(pairs)


def names_used(function: ast.FunctionDef) -> list[str]:
    """List the words of names and texts in a function's body, in order, docstring aside."""
    start = 1 if ast.get_docstring(function) else 0
    words: list[str] = []
    for statement in function.body[start:]:
        for node in ast.walk(statement):
            for field in ("id", "attr", "arg", "value"):
                text = getattr(node, field, None)
                if isinstance(text, str):
                    words += re.findall(r"[A-Za-z][a-z]+|[A-Z]+", text)
    return words


def _docstring(function: ast.FunctionDef) -> str:
    return ast.get_docstring(function) or ""


def _functions(
    packages: Packages, libraries: Sequence[str]
) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method of the libraries, tests aside."""
    for library in libraries:
        folder = packages.python(library)
        for path in sorted(folder.rglob("*.py")):
            place = path.relative_to(folder).as_posix()
            if "test" in place:
                continue
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    yield f"{place}:{node.lineno}", node
