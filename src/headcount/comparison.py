"""How systems compare: the object a user holds, and its words."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.answers import Forecast
from headcount.errors import ParameterError
from headcount.presenting import as_frame
from headcount.wording import Nouns, about, in_points, named, percent, points, rough_chance

if TYPE_CHECKING:
    from headcount.plotting import ComparisonDisplay

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCHEMA = 1
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
LEVEL = 5e-5  # in accuracy: under a hundredth of a point nobody is ahead


@dataclass(frozen=True)
class Lead:
    """How far the first of two systems is ahead of the second at one number of classes.

    Attributes
    ----------
    classes : int
        k.
    difference : float
        Accuracy of the first minus that of the second.
    lower, upper : float or None
        Interval for it; None where the method is too slow for one.
    chance : float or None
        Chance that the first is the better one.
    """

    classes: int
    difference: float
    lower: float | None
    upper: float | None
    chance: float | None


@dataclass(frozen=True)
class Crossing:
    """Where one system falls behind another.

    Attributes
    ----------
    classes : int
        Last number of classes at which `before` is ahead.
    before, after : str
        Who is ahead up to there, and who beyond.
    lower, upper : int or None
        Up to `lower` classes `before` is surely ahead, and from `upper` on `after` is: an
        interval for the crossing. None where that is sure nowhere on the curve.
    """

    classes: int
    before: str
    after: str
    lower: int | None
    upper: int | None


@dataclass(frozen=True)
class Pair:
    """Two systems compared: differences are the first minus the second.

    Attributes
    ----------
    first, second : str
        Their names.
    paired : bool
        Whether both were measured on the same classes, so that what they share cancels.
    classes : ndarray of int64
        Numbers of classes of the curve, those asked about included.
    difference : ndarray
        Accuracy of the first minus that of the second.
    lower, upper, chance : ndarray or None
        Interval for the difference, and the chance that the first is better.
    crossing : Crossing or None
        Where the curves cross for the last time up to the largest number of classes asked about.
    """

    first: str
    second: str
    paired: bool
    classes: Ints
    difference: Floats
    lower: Floats | None
    upper: Floats | None
    chance: Floats | None
    crossing: Crossing | None

    def at(self, k: int) -> Lead:
        """Return the lead at a number of classes of the curve."""
        place = int(np.searchsorted(self.classes, k))
        if place == len(self.classes) or self.classes[place] != k:
            raise ParameterError(f"{k:,} classes were not asked about; compare again with them.")
        found = [None if v is None else float(v[place]) for v in (self.lower, self.upper)]
        chance = None if self.chance is None else float(self.chance[place])
        return Lead(int(k), float(self.difference[place]), found[0], found[1], chance)


@dataclass(frozen=True)
class Comparison:
    """How several systems compare at numbers of classes not measured. Made by `compare`.

    Attributes
    ----------
    forecasts : dict of str to Forecast
        One for each system.
    pairs : tuple of Pair
        Every two systems, in the order given.
    classes : tuple of int
        Numbers of classes asked about.
    confidence : float
        Level of the intervals.
    notes : tuple of str
        What was left out, and why.
    """

    forecasts: Mapping[str, Forecast]
    pairs: tuple[Pair, ...]
    classes: tuple[int, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether all systems were measured on the same classes and compared so."""
        return all(pair.paired for pair in self.pairs)

    @property
    def nouns(self) -> Nouns:
        """What classes and probes are called in words and pictures: as the first system does."""
        return next(iter(self.forecasts.values())).nouns

    def pair(self, first: str, second: str) -> Pair:
        """Return how two systems compare; the order is that of the comparison."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
        known = ", ".join(f"{p.first!r} with {p.second!r}" for p in self.pairs)
        raise ParameterError(f"{first!r} is not compared with {second!r}; there is {known}.")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "schema": SCHEMA,
            "confidence": self.confidence,
            "classes": list(self.classes),
            "paired": self.paired,
            "forecasts": {name: held.to_dict() for name, held in self.forecasts.items()},
            "pairs": [self._pair_to_dict(pair) for pair in self.pairs],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each pair and number of classes."""
        rows = self._rows()
        return as_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_csv(self) -> str:
        """Return a row for each pair and number of classes as CSV text."""
        stream = io.StringIO()
        rows = self._rows()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
        return stream.getvalue()

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> ComparisonDisplay:
        """Draw accuracy or error rate of all systems against classes; needs the extra `plot`."""
        from headcount.plotting import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the outcome in words: who is ahead, by how much, and where that changes."""
        found = []
        for pair in self.pairs:
            found += [lead_sentence(pair, k, self.confidence) for k in self.classes]
            if pair.crossing is not None:
                found.append(crossing_sentence(pair.crossing))
        return [self.nouns.rename(sentence) for sentence in (*found, *self.notes)]

    def __repr__(self) -> str:
        how = "paired" if self.paired else "not paired"
        title = f"Comparison of {', '.join(map(named, self.forecasts))} ({how})"
        return "\n  ".join([title, *self.sentences()])

    def _repr_html_(self) -> str:
        from headcount.notebook import comparison_html

        return comparison_html(self)

    def _pair_to_dict(self, pair: Pair) -> dict[str, Any]:
        crossing = None if pair.crossing is None else dict(vars(pair.crossing))
        return {
            "first": pair.first,
            "second": pair.second,
            "paired": pair.paired,
            "differences": [dict(vars(pair.at(k))) for k in self.classes],
            "crossing": crossing,
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "first": pair.first,
                "second": pair.second,
                "classes": k,
                "accuracy_first": float(self.forecasts[pair.first].accuracy(k)),
                "accuracy_second": float(self.forecasts[pair.second].accuracy(k)),
                **{n: v for n, v in vars(pair.at(k)).items() if n != "classes"},
            }
            for pair in self.pairs
            for k in self.classes
        ]


def lead_sentence(pair: Pair, k: int, confidence: float) -> str:
    """Say who is ahead, by how much, and whether that is sure."""
    lead, level = pair.at(k), f"{percent(confidence)} interval"
    first, second = named(pair.first), named(pair.second)
    better, worse = (first, second) if lead.difference >= 0 else (second, first)
    by = points(abs(lead.difference))
    if abs(lead.difference) < LEVEL:
        apart = max(abs(lead.lower or 0.0), abs(lead.upper or 0.0))
        unsure = f" (give or take {points(apart)})" if apart >= LEVEL else ""
        return f"At {k:,} classes {first} and {second} are level{unsure}."
    if lead.lower is None or lead.upper is None or lead.chance is None:
        return f"At {k:,} classes {better} is ahead of {worse} by {by}."
    ends = sorted((abs(lead.lower), abs(lead.upper)))
    if lead.lower > 0 or lead.upper < 0:
        span = f"{in_points(ends[0])} to {in_points(ends[1])}"
        return f"At {k:,} classes {better} is ahead of {worse} by {by} ({level} {span})."
    behind, ahead = (-lead.lower, lead.upper) if better == first else (lead.upper, -lead.lower)
    chance = lead.chance if better == first else 1 - lead.chance
    return (
        f"At {k:,} classes {first} and {second} cannot be told apart: {better} seems ahead by {by} "
        f"({level} {in_points(behind)} behind to {in_points(ahead)} ahead), with a chance of "
        f"{rough_chance(chance)} to be the better one."
    )


def crossing_sentence(crossing: Crossing) -> str:
    """Say up to where one is ahead."""
    before, after = named(crossing.before), named(crossing.after)
    ends = [None if end is None else about(end) for end in (crossing.lower, crossing.upper)]
    if ends[0] is not None and ends[1] is not None:
        sure = f" (likely between {ends[0]} and {ends[1]})"
    elif ends[0] is not None:
        sure = f" (likely past {ends[0]})"
    elif ends[1] is not None:
        sure = f" (likely before {ends[1]}, and perhaps nowhere)"
    else:
        sure = ", which is not sure"
    return f"{before} is ahead up to about {about(crossing.classes)} classes{sure}, {after} beyond."


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; nothing for what is not known."""
    if isinstance(value, str) and value.startswith(FORMULAS):
        return f"'{value}"
    return "" if value is None else value
