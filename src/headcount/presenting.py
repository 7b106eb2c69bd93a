"""What all answers can be turned into: a data frame, CSV text, HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from headcount.errors import MissingExtraError


def as_frame(columns: Mapping[str, Any]) -> Any:
    """Return columns as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("to_frame()", "io") from error
    return pd.DataFrame(columns)


def as_csv(columns: Mapping[str, NDArray[Any]]) -> str:
    r"""Return columns of numbers and plain words as CSV text.

    Examples
    --------
    >>> import numpy as np
    >>> as_csv({"classes": np.array([2, 10]), "accuracy": np.array([0.5, 0.1])})
    'classes,accuracy\n2,0.5\n10,0.1\n'
    """
    lines = [",".join(columns)]
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        lines.append(",".join(str(cell) for cell in row))
    return "\n".join(lines) + "\n"


def as_html(text: str) -> str:
    """Return a title and indented lines, as answers print themselves, as an HTML list."""
    head, *rest = (html.escape(line) for line in text.split("\n  "))
    items = "".join(f"<li>{line}</li>" for line in rest)
    return f"<div><strong>{head}</strong><ul>{items}</ul></div>"
