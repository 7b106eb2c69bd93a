"""Draw the rooms, who imports whom, and the walk of one forecast through them: docs/house.svg.

python scripts/draw_house.py docs/house.svg

Rooms and their order come from the import contract in pyproject.toml, edges from the import graph,
and the walk from watching a small forecast run. `tests/house/test_house.py` fails when the picture
no longer shows what is.
"""

from __future__ import annotations

import os
import sys
import threading
import tomllib
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "headcount"
TOOLS = ("errors", "support")  # every room uses them: they are no step of the walk
LOOKS_BACK = "checks"  # entering it is a step; what it looks at was there before

Edges = dict[tuple[str, str], int]
Step = tuple[str, str]

WHAT = {
    "errors": "what is raised and warned of",
    "support": "tools that know nothing of pilots",
    "counting": "who scores above the true class",
    "pilot": "what was measured",
    "metrics": "what is forecast: accuracy, top-m",
    "curves": "exact up to K; the law of U",
    "simulate": "pilots with known truth",
    "datasets": "the bundled data",
    "estimators": "one method a file",
    "uncertainty": "back-test and intervals",
    "checks": "what speaks against it",
    "questions": "what a user asks",
    "display": "pictures and pages",
    "cli": "the command",
}


# -- what is ------------------------------------------------------------------------------------


def rooms() -> list[str]:
    """Return the rooms, each importing only from those before it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers: list[str] = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return layers[::-1]


def edges() -> Edges:
    """Count the imports of modules of one room by modules of another: (importer, imported)."""
    import grimp

    graph = grimp.build_graph("headcount", cache_dir=None)
    known, counted = rooms(), Counter[tuple[str, str]]()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            pair = _room_of_module(importer), _room_of_module(imported)
            if pair[0] != pair[1] and set(pair) <= set(known):
                counted[pair] += 1
    order = {room: place for place, room in enumerate(known)}
    return dict(sorted(counted.items(), key=lambda edge: [order[room] for room in edge[0]]))


def _room_of_module(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def walk() -> tuple[list[Step], set[str]]:
    """Return the main functions that one forecast calls, in order, and all rooms it enters.

    Main are those that one room calls in another, each named where it is called first.
    """
    import headcount

    def run() -> None:
        losses = [0] * 80 + [1] * 10 + [4] * 10
        pilot = headcount.Pilot.from_losses(losses, n_classes=100)
        headcount.forecast(pilot, classes=1000, method="probit-normal", intervals=False)

    steps: dict[Step, None] = {}
    entered: set[str] = set()
    looking_back = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal looking_back
        room = _room_of_frame(frame)
        if room is None or event not in ("call", "return"):
            return
        entered.add(room)
        name = frame.f_code.co_qualname.removesuffix(".__init__").removesuffix(".__post_init__")
        crosses = room not in TOOLS and room != _calling_room(frame)
        if event == "call" and crosses and not looking_back and "<" not in name:
            steps[room, name] = None
        if room == LOOKS_BACK:
            looking_back += 1 if event == "call" else -1

    run()  # modules are loaded and caches filled, which is no part of the walk
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(steps), entered


def _room_of_frame(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return None
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _calling_room(frame: FrameType) -> str | None:
    """Return the room that a call comes from; tools only pass it on."""
    caller = frame.f_back
    while caller is not None:
        room = _room_of_frame(caller)
        if room is not None and room not in TOOLS:
            return room
        caller = caller.f_back
    return None


# -- the picture --------------------------------------------------------------------------------

WIDTH, TOP, ROW, BOX = 1000, 92, 60, 46  # pixels: from row to row, and of a room
LEFT, RIGHT = 350, 620  # edges of the column of rooms
LINE, LONGEST = 17, 36  # steps beside a room: pixels from line to line, letters in one

STYLE = """
  svg { --page: #ffffff; --text: #1c2733; --quiet: #5c6b7a; --room: #f1f4f7; --rim: #c3ccd5;
        --walk: #fff0d6; --walkrim: #c97a00; --step: #8a4b00; --edge: #2867b2; --tool: #93a1af;
        --late: #b3266b; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #14181d; --text: #e8edf2; --quiet: #a3b1bf; --room: #222930; --rim: #47535f;
          --walk: #3b2c12; --walkrim: #e5a33a; --step: #f3c272; --edge: #6fa8ea; --tool: #66747f;
          --late: #f07fb4; }
  }
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--text); }
  .page { fill: var(--page); }
  .title { font-size: 21px; font-weight: 600; }
  .what, .note { font-size: 14px; fill: var(--quiet); }
  .room rect { fill: var(--room); stroke: var(--rim); }
  .room.entered rect { fill: var(--walk); stroke: var(--walkrim); stroke-width: 1.5; }
  .name { font-size: 17px; font-weight: 600; }
  .step { font-size: 14px; fill: var(--step); text-anchor: end; }
  .number { font-weight: 700; }
  .edge { fill: none; stroke: var(--edge); stroke-opacity: 0.6; }
  .edge.tool { stroke: var(--tool); stroke-opacity: 0.45; }
  .edge.late { stroke: var(--late); stroke-opacity: 0.9; stroke-dasharray: 5 4; }
"""


def draw(order: list[str], edges: Edges, steps: list[Step], entered: set[str]) -> str:
    """Return the picture as SVG; `data-` attributes hold what it shows."""
    place = {room: TOP + ROW * row + BOX / 2 for row, room in enumerate(order)}
    height = TOP + ROW * len(order) + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'width="{WIDTH}" height="{height}">',
        "<title>The rooms of headcount, their imports, and the walk of one forecast</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="10"/>',
        '<text class="title" x="24" y="36">One forecast, room by room</text>',
        _note(24, 58, "Orange: entered by Pilot.from_losses and headcount.forecast with"),
        _note(24, 75, 'method="probit-normal", intervals=False. Numbers: the order of calls.'),
        _note(RIGHT + 8, 58, "Lines: a lower room imports from a higher one;"),
        _note(RIGHT + 8, 75, "the thicker, the more imports."),
    ]
    # Thick lines first, so that thin ones can be seen on them.
    for (importer, imported), count in sorted(edges.items(), key=lambda edge: -edge[1]):
        parts.append(_edge(importer, imported, count, place))
    for room in order:
        parts += _room(room, place[room], steps, room in entered)
    bottom = TOP + ROW * len(order) + 22
    parts += [
        _note(
            24,
            bottom,
            "A pilot made of scores enters counting, a forecast with intervals uncertainty.",
        ),
        _note(24, bottom + 17, "Grey lines: errors and support, which every room may use."),
        _note(RIGHT + 8, bottom, "Dashed: pictures and pages, loaded late"),
        _note(RIGHT + 8, bottom + 17, "(plot, save, notebooks): the only way back."),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _note(x: float, y: float, text: str) -> str:
    return f'<text class="note" x="{x}" y="{y}">{escape(text)}</text>'


def _edge(importer: str, imported: str, count: int, place: dict[str, float]) -> str:
    late = place[importer] < place[imported]
    kind = "late" if late else "tool" if imported in TOOLS else "plain"
    start, end = place[importer] - 7, place[imported] + 7
    if late:
        start, end = place[importer] + 13, place[imported] - 13
    reach = RIGHT + 20 + 34 * abs(start - end) / ROW
    return (
        f'<path class="edge {kind}" stroke-width="{0.9 * count**0.5:.2f}" '
        f'd="M{RIGHT} {start:g} C{reach:.0f} {start:g} {reach:.0f} {end:g} {RIGHT} {end:g}" '
        f'data-importer="{importer}" data-imported="{imported}" data-count="{count}">'
        f"<title>{importer} imports {imported}: {count}</title></path>"
    )


def _room(room: str, middle: float, steps: list[Step], entered: bool) -> list[str]:
    kind = "room entered" if entered else "room"
    parts = [
        f'<g class="{kind}" data-room="{room}">',
        f'<rect x="{LEFT}" y="{middle - BOX / 2:g}" width="{RIGHT - LEFT}" height="{BOX}" rx="7"/>',
        f'<text class="name" x="{LEFT + 14}" y="{middle - 3:g}">{room}</text>',
        f'<text class="what" x="{LEFT + 14}" y="{middle + 14:g}">{escape(WHAT[room])}</text>',
        "</g>",
    ]
    lines = _lines([(n, name) for n, (place, name) in enumerate(steps, 1) if place == room])
    for row, line in enumerate(lines):
        y = middle + 4 + LINE * (row - (len(lines) - 1) / 2)
        text = "\u2003".join(
            f'<tspan class="number">{number}</tspan> '
            f'<tspan data-step="{number}" data-room="{room}">{escape(name)}</tspan>'
            for number, name in line
        )
        parts.append(f'<text class="step" x="{LEFT - 12}" y="{y:g}">{text}</text>')
    return parts


def _lines(numbered: list[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    """Share steps out to lines that are not too long."""
    lines: list[list[tuple[int, str]]] = []
    letters = 0
    for number, name in numbered:
        letters += len(f"{number} {name} ")
        if not lines or letters > LONGEST:
            lines.append([])
            letters = len(f"{number} {name} ")
        lines[-1].append((number, name))
    return lines


def main() -> None:
    """Write the picture to the file named on the command line."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # calls inside compiled loops could not be watched
    picture = draw(rooms(), edges(), *walk())
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
