"""Items with the names of their classes: what every source gathers before it makes vectors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Gathered:
    """Items of a source.

    Parameters
    ----------
    names : sequence of hashable
        The class of each item.
    items : sequence
        Texts, pictures or sounds.
    keys : sequence of hashable
        Two items with equal keys are the same to a reader, a viewer or a listener.
    removed : mapping of str to int
        What was left out on the way, and how much.
    """

    names: Sequence[Hashable]
    items: Sequence[Any]
    keys: Sequence[Hashable]
    removed: dict[str, int]

    @classmethod
    def of_texts(cls, pairs: Sequence[tuple[Hashable, str]]) -> Gathered:
        """Gather texts; case and white space do not tell them apart."""
        names = [name for name, _ in pairs]
        texts = [" ".join(text.split()) for _, text in pairs]
        return cls(names, texts, [text.casefold() for text in texts], {})

    def take(self, rows: Sequence[int], **removed: int) -> Gathered:
        """Keep some of the items, in the order asked for."""
        return Gathered(
            [self.names[row] for row in rows],
            [self.items[row] for row in rows],
            [self.keys[row] for row in rows],
            self.removed | removed,
        )


def without_copies(gathered: Gathered) -> Gathered:
    """Drop repeated items of a class, and classes that share an item with an earlier one.

    Classes that are left with one item are dropped, too.
    """
    once: dict[tuple[Hashable, Hashable], int] = {}
    for row, pair in enumerate(zip(gathered.names, gathered.keys, strict=True)):
        once.setdefault(pair, row)
    repeats = len(gathered.names) - len(once)
    classes: dict[Hashable, list[int]] = {}
    for (name, _), row in once.items():
        classes.setdefault(name, []).append(row)
    seen: set[Hashable] = set()
    alone = copies = 0
    kept: list[int] = []
    for rows in classes.values():
        keys = {gathered.keys[row] for row in rows}
        if len(rows) < 2:
            alone += 1
        elif keys & seen:
            copies += 1
        else:
            seen |= keys
            kept += rows
    return gathered.take(
        kept, repeated_items=repeats, classes_of_one_item=alone, classes_like_another=copies
    )


def sample(gathered: Gathered, classes: int, rows: int, seed: int) -> Gathered:
    """Draw at most so many classes, at most so many rows of each, in random order of classes."""
    rng = np.random.default_rng(seed)
    of_class: dict[Hashable, list[int]] = {}
    for row, name in enumerate(gathered.names):
        of_class.setdefault(name, []).append(row)
    groups = list(of_class.values())
    chosen = [groups[place] for place in rng.permutation(len(groups))[:classes]]
    kept = [int(row) for group in chosen for row in rng.permutation(group)[:rows]]
    return gathered.take(
        kept,
        classes_beyond_the_limit=len(groups) - len(chosen),
        rows_beyond_the_limit=sum(map(len, chosen)) - len(kept),
    )
