"""Answers as JSON: written without NaN or infinity, and read back by one validator.

An answer is an object of named fields, the first of which is the `schema`. What is read may have
been written by anyone, so every field is asked for by its name and its kind, and refused in one
sentence where it is something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, HeadcountError
from headcount.support import validation
from headcount.support.grids import MOST_CLASSES, whole_count

Floats = NDArray[np.float64]

SCHEMA = 2
LARGEST = 1e6  # far past any number that is written, but for numbers of classes


def write_json(answer: Mapping[str, Any]) -> str:
    """Return an answer as JSON text; NaN and infinity, which JSON does not have, are refused."""
    return json.dumps(answer, allow_nan=False)


def parse_json(text: str, name: str) -> Any:
    """Return what a text holds; NaN, infinity and a key that is there twice are refused.

    `name` says what the text is where it is refused: "this forecast", "costs.json".

    Examples
    --------
    >>> parse_json('{"beagle": 3}', "priors.json")
    {'beagle': 3}
    """

    def refuse_constant(constant: str) -> Any:
        raise DataError(f"{name} must not hold {constant}; write it again.")

    def refuse_twice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        return validation.once_each(pairs, name)

    try:
        value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_twice)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except DataError:
        raise
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name} is not JSON (line {error.lineno}: {error.msg}); write it again."
        ) from error
    except RecursionError as error:
        raise DataError(f"{name} is nested too deeply to be read; write it again.") from error
    except UnicodeEncodeError as error:
        raise DataError(
            f"{name} holds halves of characters (surrogates), which cannot be written; write it "
            "again."
        ) from error
    except ValueError as error:  # Python refuses to read thousands of digits
        raise DataError(f"{name} holds a number that is too long; write it again.") from error


def read_json(text: str, noun: str) -> Record:
    """Return the object that a text holds; `noun` is what to call it where it is refused.

    Examples
    --------
    >>> read_json('{"schema": 2, "n_classes": 500}', "forecast").whole("n_classes")
    500
    """
    return Record(parse_json(text, f"this {noun}"), noun)


@contextmanager
def reading(noun: str) -> Iterator[None]:
    """Turn whatever goes wrong while something is read into one sentence."""
    try:
        yield
    except DataError:
        raise
    except HeadcountError as error:
        raise DataError(f"this {noun} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        reason = validation.short(str(error), 120)
        raise DataError(
            f"this is not a {noun} that headcount wrote: {reason}; write it again."
        ) from error


class Record:
    """An object read from JSON, each field of which is refused unless it is of the kind asked for.

    Parameters
    ----------
    fields : mapping
        The object.
    noun : str
        What to call it where it is refused: "forecast", "back-test".
    """

    def __init__(self, fields: Any, noun: str) -> None:
        if not isinstance(fields, Mapping):
            raise DataError(f"a {noun} is an object with names, but here is {fields!r:.40}.")
        self.fields = fields
        self.noun = noun

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            raise DataError(
                f"this is not a {self.noun} that headcount wrote: it has no {name!r}; write it "
                "again."
            )
        return self.fields[name]

    def get(self, name: str) -> Any:
        """Return a field as it is, None where it is missing."""
        return self.fields.get(name)

    def check_schema(self) -> None:
        """Refuse what another version wrote."""
        schema = self["schema"]
        if schema != SCHEMA or isinstance(schema, bool):
            raise DataError(
                f"this {self.noun} has schema {schema!r:.40}; this version reads {SCHEMA}."
            )

    def optional(self, name: str, read: Callable[[str], Any]) -> Any:
        """Return a field read by one of the other methods, None where it is null."""
        return None if self[name] is None else read(name)

    def no_more_than(self, names: Iterable[str]) -> None:
        """Refuse a field of another name."""
        strange = sorted(map(str, set(self.fields) - set(names)))
        if strange:
            raise DataError(
                f"this is not a {self.noun} that headcount wrote: it has {strange[0]!r:.40}; write "
                "it again."
            )

    def text(self, name: str) -> str:
        """Return a text."""
        if not isinstance(self[name], str):
            raise DataError(
                f"the {name} of this {self.noun} is {self[name]!r:.40}, where a text was expected."
            )
        return str(self[name])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(Record({name: item}, self.noun).text(name) for item in self.items(name))

    def flag(self, name: str) -> bool:
        """Return true or false."""
        if not isinstance(self[name], bool):
            raise DataError(
                f"the {name} of this {self.noun} is neither true nor false: {self[name]!r:.40}."
            )
        return bool(self[name])

    def whole(self, name: str) -> int:
        """Return a number of classes or probes."""
        if isinstance(self[name], bool | str):
            raise DataError(
                f"the {name} of this {self.noun} must be a whole number, but is {self[name]!r:.40}."
            )
        return whole_count(self[name], name)

    def wholes(self, name: str) -> NDArray[np.int64]:
        """Return numbers of classes, each larger than the one before it."""
        numbers = self.numbers(name, least=1, most=MOST_CLASSES)
        if not (np.diff(numbers) > 0).all() or (numbers != np.floor(numbers)).any():
            raise DataError(f"the {name} of this {self.noun} is not one of growing whole numbers.")
        return numbers.astype(np.int64)

    def number(self, name: str, least: float, most: float = LARGEST) -> float:
        """Return a number."""
        if isinstance(self[name], bool) or not isinstance(self[name], int | float):
            raise DataError(f"the {name} of this {self.noun} is no number: {self[name]!r:.40}.")
        return float(Record({name: [self[name]]}, self.noun).numbers(name, least, most)[0])

    def numbers(self, name: str, least: float, most: float = LARGEST) -> Floats:
        """Return a list of numbers, which is not empty."""
        numbers = np.array(self[name], dtype=np.float64)
        sound = np.isfinite(numbers) & (numbers >= least) & (numbers <= most)
        if numbers.ndim != 1 or len(numbers) == 0 or not sound.all():
            raise DataError(
                f"the {name} of this {self.noun} is no list of sound numbers from {least:g} to "
                f"{most:g}."
            )
        return numbers

    def share(self, name: str) -> float:
        """Return a number from 0 to 1."""
        return self.number(name, 0.0, 1.0)

    def shares(self, name: str) -> Floats:
        """Return a list of numbers from 0 to 1, which is not empty."""
        return self.numbers(name, 0.0, 1.0)

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        if not isinstance(self[name], list):
            raise DataError(
                f"the {name} of this {self.noun} is {self[name]!r:.40}, where a list was expected."
            )
        return list(self[name])

    def record(self, name: str) -> Record:
        """Return an object within this one."""
        return Record(self[name], self.noun)

    def records(self, name: str) -> tuple[Record, ...]:
        """Return a list of objects."""
        return tuple(Record(item, self.noun) for item in self.items(name))
