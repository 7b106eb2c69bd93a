"""Printed letters and printed words in several fonts."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages, needed

SIDE = 64
FONTS = (
    "fonts-ancient-scripts",
    "fonts-arundina",
    "fonts-bpg-georgian",
    "fonts-cmu",
    "fonts-dejavu-core",
    "fonts-freefont-ttf",
    "fonts-hosny-amiri",
    "fonts-junicode",
    "fonts-khmeros",
    "fonts-noto-core",
    "fonts-sil-abyssinica",
    "fonts-sil-andika",
    "fonts-sil-charis",
    "fonts-sil-padauk",
    "fonts-stix",
    "fonts-symbola",
    "fonts-tibetan-machine",
    "unifont",
)
BOLD = ("Bold", "Black", "Italic", "Oblique", "Medium", "Semi", "Light", "Thin", "Condensed", "It.")
# Set aside for judging, or like what is.
EXCLUDED = ("CJK", "HANGUL", "TELUGU", "KANGXI", "IDEOGRA", "TANGUT", "KHITAN", "NUSHU", "HANGZHOU",
            "MAHJONG", "XIANGQI", "SHOGI")  # fmt: skip
WORD_FONTS = ("fonts-cmu", "fonts-comic-neue", "fonts-dejavu-core", "fonts-freefont-ttf",
              "fonts-junicode", "fonts-lato", "fonts-open-sans", "fonts-texgyre")  # fmt: skip
WORD_LISTS = ("wamerican-huge",)
WORDS = 30_000


def letters(packages: Packages) -> Gathered:
    """Gather: a class is a letter, digit or sign, its items are its pictures in several fonts.

    Han, Hangul, Telugu and scripts that look like Han are left out. Letters that some font draws
    alike are one class.
    """
    pairs = []
    for package in FONTS:
        for path in _font_files(packages.debian(package), BOLD):
            pairs += _drawn_letters(path)
    packages.installed("PyPI", "pillow")
    return _pictures(pairs)


def printed_words(packages: Packages) -> Gathered:
    """Gather: a class is an English word, its items are pictures in three fonts."""
    texts: set[str] = set()
    for package in WORD_LISTS:
        for path in packages.debian(package).glob("usr/share/dict/*"):
            if path.is_file() and not path.is_symlink():
                texts |= set(path.read_text(encoding="utf-8").split())
    words = sorted(word for word in texts if 4 <= len(word) <= 10 and word.isalpha())
    rng = np.random.default_rng(0)
    words = [words[place] for place in sorted(rng.permutation(len(words))[:WORDS])]
    paths = [path for package in WORD_FONTS for path in _font_files(packages.debian(package), ())]
    fonts = [font for path in paths if (font := _opened(path, 24)) is not None]
    pairs = []
    for word in words:
        for place in rng.permutation(len(fonts))[:3]:
            picture = drawn(fonts[place], word, 256, 32)
            if picture is not None:
                pairs.append((word, picture))
    packages.installed("PyPI", "pillow")
    return _pictures(pairs)


def _font_files(folder: Path, without: tuple[str, ...]) -> list[Path]:
    paths = [*folder.rglob("*.ttf"), *folder.rglob("*.otf"), *folder.rglob("*.pfb")]
    names = {path.name: path for path in sorted(paths)}
    return [path for name, path in names.items() if not any(style in name for style in without)]


def _opened(path: Path, size: int) -> Any:
    try:
        return needed("PIL.ImageFont").truetype(str(path), size)
    except OSError:
        return None


def _drawn_letters(path: Path) -> list[tuple[str, NDArray[np.uint8]]]:
    tables = needed("fontTools.ttLib")
    font = _opened(path, 40)
    if font is None or path.suffix == ".pfb":
        return []
    codes = tables.TTFont(path, lazy=True, fontNumber=0).getBestCmap() or {}
    pairs = []
    for code in codes:
        if is_wanted(chr(code)):
            picture = drawn(font, chr(code), SIDE, SIDE)
            if picture is not None:
                pairs.append((chr(code), picture))
    return pairs


def is_wanted(letter: str) -> bool:
    """Whether a character is a letter, digit or sign that may be used."""
    plain = unicodedata.normalize("NFKC", letter)
    names = [unicodedata.name(part, "") for part in letter + plain]
    if unicodedata.category(letter)[0] not in "LNS" or not all(names):
        return False
    return not any(word in name for name in names for word in EXCLUDED)


def drawn(font: Any, text: str, width: int, height: int) -> NDArray[np.uint8] | None:
    """Draw a text in the middle of a picture; nothing where it would be empty or too wide."""
    image = needed("PIL.Image").new("L", (width, height), 0)
    pen = needed("PIL.ImageDraw").Draw(image)
    left, _, right, _ = pen.textbbox((0, 0), text, font=font, anchor="ls")
    if right <= left or right - left > width:
        return None
    start = ((width - right - left) / 2, round(height * 0.72))
    pen.text(start, text, fill=255, font=font, anchor="ls")
    picture = np.asarray(image)
    return picture if np.ptp(picture) > 0 else None


def _pictures(pairs: list[tuple[str, NDArray[np.uint8]]]) -> Gathered:
    # Coarse grey levels: fonts that copy each other differ by rounding.
    return Gathered(
        [name for name, _ in pairs],
        [picture for _, picture in pairs],
        [(picture // 64).tobytes() for _, picture in pairs],
        {},
    )
