"""Icons and emoji: drawings of one thing in several styles."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages, needed

SIDE = 64
EMOJI = ("noto", "twemoji", "openmoji", "emojione", "noto-v1", "fluent-emoji-flat", "emojione-v1")
SKINS = ("-light", "-medium", "-dark", "skin-tone", "-tone")
# Drawings with letters in them that are set aside for judging.
EXCLUDED = ("chinese", "japanese", "kanji", "korean", "hangul", "ideograph", "telugu", "mahjong",
            "language", "translat", "shogi")  # fmt: skip
# The names of one icon in all its styles: the set, and how its names end.
MATERIAL = {"material-symbols": ("", "-outline", "-rounded", "-outline-rounded", "-sharp",
                                 "-outline-sharp")}  # fmt: skip
STYLES = {
    "ph": ("", "-bold", "-duotone", "-fill", "-light", "-thin"),
    "solar": ("-bold", "-bold-duotone", "-broken", "-line-duotone", "-linear", "-outline"),
    "tabler": ("", "-filled"),
    "mingcute": ("-fill", "-line"),
    "ion": ("", "-outline", "-sharp"),
    "bi": ("", "-fill"),
    "ri": ("-fill", "-line"),
}
FLUENT = {
    "fluent": tuple(
        f"-{size}-{weight}" for size in (16, 20, 24, 28, 48) for weight in ("regular", "filled")
    )
}


def emoji(packages: Packages) -> Gathered:
    """Gather: a class is an emoji (skin tones aside), its items are seven styles."""
    wanted = []
    for style in EMOJI:
        for name, drawing in _drawings(packages, style).items():
            if not any(skin in name for skin in SKINS):
                wanted.append((name, drawing))
    return _rendered(packages, wanted)


def icons(packages: Packages, styles: Mapping[str, tuple[str, ...]]) -> Gathered:
    """Gather: a class is an icon of one set, its items are its styles."""
    wanted = []
    for group, endings in styles.items():
        drawings = _drawings(packages, group)
        longest = sorted(endings, key=len, reverse=True)
        for name, drawing in drawings.items():
            ending = next((ending for ending in longest if name.endswith(ending)), None)
            if ending is not None:
                wanted.append((f"{group}:{name.removesuffix(ending)}", drawing))
    return _rendered(packages, wanted)


def _drawings(packages: Packages, group: str) -> dict[str, str]:
    """Names of a set's drawings and their SVG."""
    path = packages.npm(f"@iconify-json/{group}") / "icons.json"
    icons = json.loads(path.read_text(encoding="utf-8"))
    sides = icons.get("width", 16), icons.get("height", 16)
    drawings = {}
    for name, icon in sorted(icons["icons"].items()):
        if any(word in name for word in EXCLUDED):
            continue
        width, height = icon.get("width", sides[0]), icon.get("height", sides[1])
        box = f"{icon.get('left', 0)} {icon.get('top', 0)} {width} {height}"
        body = icon["body"].replace("currentColor", "#000")
        drawings[name] = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
            f' width="{SIDE}" height="{SIDE}" viewBox="{box}">{body}</svg>'
        )
    return drawings


def _rendered(packages: Packages, drawings: Iterable[tuple[str, str]]) -> Gathered:
    pairs = [(name, render(drawing)) for name, drawing in drawings]
    packages.installed("PyPI", "resvg-py")
    seen = [(name, picture) for name, picture in pairs if np.ptp(picture) > 0]
    return Gathered(
        [name for name, _ in seen],
        [picture for _, picture in seen],
        [picture.tobytes() for _, picture in seen],
        {"empty_pictures": len(pairs) - len(seen)},
    )


def render(drawing: str) -> NDArray[np.uint8]:
    """Return the grey picture of an SVG on white, dark where there is ink."""
    resvg, image = needed("resvg_py"), needed("PIL.Image")
    png = resvg.svg_to_bytes(svg_string=drawing, background="#fff", skip_system_fonts=True)
    return 255 - np.asarray(image.open(io.BytesIO(bytes(png))).convert("L"))
