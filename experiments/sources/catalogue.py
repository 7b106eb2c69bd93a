"""The sources, and which of them are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.sources import (
    documents,
    drawings,
    functions,
    learned,
    letters,
    messages,
    notes,
    places,
    speech,
    words,
)
from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages
from experiments.sources.reduction import (
    edge_histograms,
    leading_components,
    letter_features,
    mixed_components,
    pixels,
    word_features,
)

# Chosen for how different they are and how many classes they have, before anything was trained.
# Nothing may be trained, tuned or chosen on them, except the share of sources in the training
# problems and which sources to keep.
HELD_OUT = ("package_descriptions", "place_names", "printed_words", "spoken_words")


@dataclass(frozen=True)
class Source:
    """One source of classes.

    Parameters
    ----------
    gather : callable
        Fetches packages and returns items with the names of their classes.
    features : callable
        Turns the items into one row of numbers each.
    kind : {"text", "picture", "sound", "vector"}
        What the items are.
    classes, rows : int
        At most so many classes, and rows of each.
    reduction : callable
        Leaves at most 64 columns.
    """

    gather: Callable[[Packages], Gathered]
    features: Callable[[list[Any]], Any]
    kind: str
    classes: int = 6000
    rows: int = 3
    reduction: Callable[[Any], Any] = leading_components


def _icons(styles: Mapping[str, tuple[str, ...]], features: Callable[[list[Any]], Any]) -> Source:
    return Source(partial(drawings.icons, styles=styles), features, "picture")


def _messages(programs: tuple[str, ...], languages: tuple[str, ...]) -> Source:
    gather = partial(messages.messages, programs=programs, languages=languages)
    return Source(gather, letter_features, "text")


def _words(gather: Callable[[Packages], Gathered], classes: int = 8000) -> Source:
    return Source(gather, word_features, "text", classes, 2, mixed_components)


def _inflections(language: str) -> Source:
    return Source(partial(words.inflections, language=language), letter_features, "text", 5000)


SOURCES = {
    "inflections_de": _inflections("de"),
    "inflections_fi": _inflections("fi"),
    "inflections_ru": _inflections("ru"),
    "word_vectors": Source(words.word_vectors, np.stack, "vector", 8000, 3),
    "manual_pages": _words(documents.manual_pages),
    "docstrings": _words(functions.docstrings),
    "docstring_vectors": Source(learned.docstring_vectors, np.stack, "vector", 8000, 2),
    "bodies": Source(functions.bodies, letter_features, "text", 8000),
    "functions": _words(functions.functions),
    "letters": Source(letters.letters, edge_histograms, "picture", 6000, 3),
    "letters_pixels": Source(letters.letters, pixels, "picture", 6000, 3),
    "emoji": Source(drawings.emoji, edge_histograms, "picture", 6000, 5),
    "emoji_pixels": Source(drawings.emoji, pixels, "picture", 6000, 5),
    "icons_material": _icons(drawings.MATERIAL, pixels),
    "icons_fluent": _icons(drawings.FLUENT, pixels),
    "icons_mixed": _icons(drawings.STYLES, edge_histograms),
    "messages_romance": _messages(("gimp-data", "gnucash-common", "inkscape"), messages.ROMANCE),
    "messages_slavic": _messages(("evolution-common", "git", "vlc-l10n"), messages.SLAVIC),
    "messages_germanic": _messages(("digikam-data", "kdenlive-data"), messages.GERMANIC),
    "language_names": Source(messages.language_names, letter_features, "text", 6000, 4),
    "sign_names": Source(messages.sign_names, letter_features, "text", 6000, 4),
    "instrument_notes": Source(notes.instrument_notes, np.stack, "sound", 8000, 3),
    "package_descriptions": _words(documents.package_descriptions, 40_000),
    "place_names": Source(places.place_names, letter_features, "text", 30_000),
    "printed_words": Source(letters.printed_words, edge_histograms, "picture", 30_000),
    "spoken_words": Source(
        partial(speech.spoken_words, language="it", package="witalian", words=24_000),
        np.stack,
        "sound",
        24_000,
    ),
}
