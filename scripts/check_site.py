"""Check a built site: every link inside it leads somewhere, and nothing is fetched from outside.

python scripts/check_site.py build/docs
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself. A link (the href of an <a>) is only followed by a reader.
FETCHED = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"),
    ("img", "srcset"), ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"),
    ("source", "src"), ("source", "srcset"), ("track", "src"), ("use", "href"), ("video", "poster"),
    ("video", "src"),
}  # fmt: skip
NOT_FETCHED = {"canonical", "next", "prev", "author", "license", "help"}  # kinds of <link>
OUTSIDE = re.compile(r"(?:https?:)?//", re.I)
FETCHED_BY_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.I)


class Page(HTMLParser):
    """What one page leads to, fetches and can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.fetched: set[str] = set(FETCHED_BY_STYLE.findall(text))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of one tag."""
        attributes = {name: value for name, value in attrs if value}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.add(attributes["href"])
        if tag == "link" and set(attributes.get("rel", "").split()) & NOT_FETCHED:
            return
        for name, value in attributes.items():
            if (tag, name) in FETCHED:
                parts = value.split(",") if name == "srcset" else [value]
                self.fetched |= {source.split()[0] for source in parts if source.split()}


def problems(site: Path) -> list[str]:
    """Return what is wrong with a site, one line each."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site.name}: no pages"]
    faults = []
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in sorted(page.links | page.fetched):
            fault = _fault(path, target, pages, fetched=target in page.fetched)
            if fault:
                faults.append(f"{name}: {target}: {fault}")
    for path in sorted(site.rglob("*.css")):
        outside = FETCHED_BY_STYLE.findall(path.read_text(encoding="utf-8"))
        faults += [
            f"{path.relative_to(site)}: {target}: fetched from outside" for target in outside
        ]
    return faults


def _fault(path: Path, target: str, pages: dict[Path, Page], *, fetched: bool) -> str | None:
    """Return what is wrong with one link or fetched file."""
    if OUTSIDE.match(target):
        return "fetched from outside" if fetched else None
    parts = urlsplit(target)
    if parts.scheme:  # mailto, data
        return None
    place = Path(normpath(path.parent / unquote(parts.path))) if parts.path else path
    if place not in pages:
        return None if place.is_file() else "no such file"
    if parts.fragment and unquote(parts.fragment) not in pages[place].anchors:
        return "no such place on that page"
    return None


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    faults = problems(Path(sys.argv[1]))
    print("\n".join(faults) or "Every link leads somewhere, and nothing is fetched from outside.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
