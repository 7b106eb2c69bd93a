"""Outcomes that the journal of another run holds, with the mark of the code that made them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from experiments.journal import Record
from headcount.errors import DataError
from headcount.pilot.loading.safe_arrays import existing, read_text

SAME = 1e-5  # between two oracles' RMSE on the same pilots: only rounding


@dataclass(frozen=True)
class Shelf:
    """What the journal of another run holds of methods that take all pilots of a place at once.

    Attributes
    ----------
    name : str
        Of the file, with its folder's.
    rows : dict
        For each place and method as the journal names them, the method's mark and its records.
    """

    name: str
    rows: Mapping[tuple[str, str], tuple[str, list[Record]]]

    @classmethod
    def read(cls, path: Path, seed: int) -> Self | None:
        """Read a journal; None where it belongs to another seed, whose pilots are others."""
        lines = read_text(existing(path)).splitlines(keepends=True)
        rows: dict[tuple[str, str], tuple[str, list[Record]]] = {}
        try:
            if json.loads(lines[0])["identity"]["seed"] != seed:
                return None
            for line in lines[1:]:
                if not line.endswith("\n"):
                    continue  # left unfinished by a run that was stopped
                entry = json.loads(line)
                match = re.fullmatch(r"(.+)/all \d+/([^/]+)", entry["key"])
                if match is None:
                    continue
                method, _, mark = match[2].partition("@")
                rows[match[1], method] = (mark, entry["record"]["repeats"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(f"{path.name} is not the journal of an experiment.") from error
        return cls(f"{path.resolve().parent.name}/{path.name}", rows)

    def find(
        self, places: Iterable[str | None], method: str, count: int
    ) -> tuple[list[Record], str]:
        """Return a method's records, by pilot, and its mark, at the first place that has any."""
        for place in places:
            if place is not None and (place, method) in self.rows:
                mark, records = self.rows[place, method]
                return records[:count], mark
        return [], ""


def same_pilots(theirs: Sequence[Record], ours: Sequence[Record], count: int) -> bool:
    """Return whether the first pilots of two runs are the same, as their oracles' errors tell."""
    if len(theirs) < count:
        return False
    pairs = zip(theirs[:count], ours[:count], strict=True)
    return all(abs(a["rmse"] - b["rmse"]) <= SAME for a, b in pairs)
