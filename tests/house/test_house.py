"""docs/house.svg shows the rooms as they are; `make house` draws it anew."""

import re
from xml.etree import ElementTree

import pytest

from scripts import draw_house

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = ElementTree.parse(draw_house.ROOT / "docs" / "house.svg").getroot()
AGAIN = "docs/house.svg is out of date: run `make house`, look at it, and commit it"


def drawn_edges():
    found = [path.attrib for path in PICTURE.iter(f"{SVG}path")]
    return {(e["data-importer"], e["data-imported"]): int(e["data-count"]) for e in found}


def test_the_picture_has_the_rooms_in_their_order():
    assert [group.get("data-room") for group in PICTURE.iter(f"{SVG}g")] == draw_house.rooms()
    held = [path for path in draw_house.PACKAGE.iterdir() if path.suffix in ("", ".py")]
    assert {path.stem for path in held if path.stem[0] != "_"} == set(draw_house.rooms())


def test_the_picture_has_the_imports_between_rooms_of_today():
    pytest.importorskip("grimp")
    assert drawn_edges() == draw_house.edges(), AGAIN


def test_the_steps_of_the_walk_are_functions_of_their_rooms():
    steps = [step.attrib | {"name": step.text} for step in PICTURE.iter(f"{SVG}tspan")]
    steps = [step for step in steps if "data-step" in step]
    assert {"Pilot.from_losses", "forecast", "observe"} <= {step["name"] for step in steps}
    numbers = sorted(int(step["data-step"]) for step in steps)
    assert numbers == list(range(1, len(steps) + 1))
    for step in steps:
        assert has(step["data-room"], step["name"]), AGAIN


def has(room, name):
    """Whether a file of the room defines a function or class of that name."""
    files = (draw_house.PACKAGE / room).rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in files]
    words = [rf"^ *(def|class) {part}\b" for part in name.split(".")]
    return any(all(re.search(word, text, re.M) for word in words) for text in texts)
