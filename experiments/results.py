"""Results of an experiment: JSON, CSV and pictures, each written whole."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.display.plots import check_picture
from headcount.support.output import (
    check_writable,
    refuse_overwriting,
    write_atomically,
    write_figure,
    write_text,
)

SCHEMA = 1
ENDINGS = (".json", ".csv")
ONE_PICTURE = ("",)


@dataclass(frozen=True)
class Results:
    """What an experiment found.

    Parameters
    ----------
    bench : str
        Name of the experiment and of its files.
    about : str
        What was done, in one or two sentences.
    seed : int
        The run's seed.
    options : dict
        What was asked for.
    rows : list of dict
        The table: the same columns in every row.
    details : dict
        What the pictures need besides.
    run : dict
        What differs from run to run though the results are the same: machine, times.
    """

    bench: str
    about: str
    seed: int
    options: dict[str, Any]
    rows: list[dict[str, Any]]
    details: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return everything as JSON, lists of numbers on one line."""
        whole = {
            "schema": SCHEMA,
            "bench": self.bench,
            "about": self.about,
            "seed": self.seed,
            "options": self.options,
            "rows": self.rows,
            "details": self.details,
            "run": self.run,
        }
        text = json.dumps(whole, allow_nan=False, indent=1, ensure_ascii=False)
        # Inside a text every line break is escaped, so that only lists of numbers match.
        return re.sub(
            r"\[\n\s+([^\[\]{}\"]*?)\n\s*\]",
            lambda match: "[" + re.sub(r"\s+", " ", match[1]) + "]",
            text,
        )

    def write(self, folder: Path, draw: Callable[[Results], Any]) -> list[Path]:
        """Write all files and return their paths.

        `draw` returns a figure, or several by name, each of which gets a file of its own.
        """
        table, sheet = output_files(folder, self.bench, ())
        text = self.to_json()
        write_text(table, text + "\n")
        write_atomically(sheet, lambda name: _write_csv(name, self.rows))
        drawing = draw(self)
        figures = drawing if isinstance(drawing, Mapping) else dict.fromkeys(ONE_PICTURE, drawing)
        paths = output_files(folder, self.bench, figures)
        for path, figure in zip(paths[len(ENDINGS) :], figures.values(), strict=True):
            write_figure(path, figure, 130)
        return paths


def output_files(folder: Path, bench: str, pictures: Iterable[str] = ONE_PICTURE) -> list[Path]:
    """Return the paths of the results in a folder: JSON, CSV, and pictures by their names.

    Examples
    --------
    >>> [path.name for path in output_files(Path(), "toy")]
    ['toy.json', 'toy.csv', 'toy.png']
    >>> [path.name for path in output_files(Path(), "toy", ["left", "right"])][2:]
    ['toy-left.png', 'toy-right.png']
    """
    names = [f"{bench}{ending}" for ending in ENDINGS]
    names += [f"{bench}-{picture}.png" if picture else f"{bench}.png" for picture in pictures]
    return [folder / name for name in names]


def check_outputs(
    folder: Path,
    bench: str,
    inputs: Sequence[str | os.PathLike[str]],
    pictures: Iterable[str] = ONE_PICTURE,
) -> None:
    """Refuse, before any work is done, results that cannot be written."""
    paths = output_files(folder, bench, pictures)
    for path in paths:
        refuse_overwriting(path, inputs)
        check_writable(path)
    for path in paths[len(ENDINGS) :]:
        check_picture(path)


def _write_csv(name: str, rows: list[dict[str, Any]]) -> None:
    with open(name, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return text that a spreadsheet does not take for a formula; numbers as they are."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@")):
        return f"'{value}"
    return value
