"""Results of an experiment: JSON, CSV and a picture, each written whole."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.plotting import check_picture
from headcount.writing import check_writable, refuse_overwriting, write_atomically

SCHEMA = 1
ENDINGS = (".json", ".csv", ".png")


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
        What the picture needs besides.
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
            lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]",
            text,
        )

    def write(self, folder: Path, draw: Callable[[Results], Any]) -> list[Path]:
        """Write the three files and return their paths."""
        paths = output_files(folder, self.bench)
        text = self.to_json()
        write_atomically(paths[0], lambda name: _write_text(name, text + "\n"))
        write_atomically(paths[1], lambda name: _write_csv(name, self.rows))
        figure = draw(self)
        write_atomically(paths[2], lambda name: figure.savefig(name, dpi=130))
        return paths


def output_files(folder: Path, bench: str) -> list[Path]:
    """Return the paths of the results in a folder."""
    return [folder / f"{bench}{ending}" for ending in ENDINGS]


def check_outputs(folder: Path, bench: str, inputs: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse, before any work is done, results that cannot be written."""
    for path in output_files(folder, bench):
        refuse_overwriting(path, inputs)
        check_writable(path)
    check_picture(output_files(folder, bench)[2])


def _write_text(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


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
