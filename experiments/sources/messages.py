"""What programs say in related languages, and what languages and signs are called in them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from pathlib import Path

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages

MAGIC = 0x950412DE
ROMANCE = ("es", "pt_BR", "it", "ca", "gl", "fr")
SLAVIC = ("ru", "uk", "be", "bg", "sr", "mk")
GERMANIC = ("de", "nl", "da", "sv", "nb", "nn")
LATIN = ("de", "fr", "es", "pl", "sv", "tr", "fi", "hu", "it", "eo", "cy", "lt", "hr", "nl", "eu")
SIGNS = ("en", "fr", "es", "it", "pt", "ro", "ca", "gl")


def messages(packages: Packages, programs: Sequence[str], languages: Sequence[str]) -> Gathered:
    """Gather: a class is a program's message, its items are its translations."""
    return _translations(packages, programs, languages, 12)


def language_names(packages: Packages) -> Gathered:
    """Gather: a class is a language of the world, its items are its names in other languages."""
    return _translations(packages, ("iso-codes",), LATIN, 4, "iso_639*")


def sign_names(packages: Packages) -> Gathered:
    """Gather: a class is an emoji or other sign, its items are its names in languages."""
    pairs = []
    folder = packages.npm("cldr-annotations-full") / "annotations"
    for language in SIGNS:
        path = folder / language / "annotations.json"
        content = json.loads(path.read_text(encoding="utf-8"))["annotations"]
        for sign, texts in content["annotations"].items():
            pairs += [(sign, text) for text in texts.get("tts", ())]
    return Gathered.of_texts(pairs)


def translations(path: Path) -> list[tuple[str, str]]:
    """Read pairs of message and translation from a .mo file, those with plurals aside."""
    content = path.read_bytes()
    order = "<" if struct.unpack("<I", content[:4])[0] == MAGIC else ">"
    count, originals, translated = struct.unpack(f"{order}3I", content[8:20])
    pairs = []
    for row in range(1, count):  # the first is the header
        texts = []
        for table in (originals, translated):
            size, start = struct.unpack_from(f"{order}2I", content, table + 8 * row)
            texts.append(content[start : start + size].decode("utf-8", "replace"))
        if "\0" not in texts[0]:
            pairs.append((texts[0], texts[1]))
    return pairs


def _translations(
    packages: Packages,
    programs: Sequence[str],
    languages: Sequence[str],
    shortest: int,
    files: str = "*",
) -> Gathered:
    pairs = []
    for program in programs:
        folder = packages.debian(program) / "usr/share/locale"
        for language in languages:
            for path in sorted(folder.glob(f"{language}/LC_MESSAGES/{files}.mo")):
                if path.is_symlink():
                    continue
                for original, text in translations(path):
                    text = re.sub(r"<[^>]*>|%\S+|[_&](?=\w)", "", text)
                    if len(text) >= shortest:
                        pairs.append((original, text))
    return Gathered.of_texts(pairs)
