"""Descriptions of packages, and pages of manuals in halves."""

from __future__ import annotations

import gzip
import re

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages

MANUALS = (
    "allegro4-doc",
    "erlang-manpages",
    "freebsd-manpages",
    "libcurl4-doc",
    "libssl-doc",
    "libx11-doc",
    "manpages",
    "manpages-dev",
    "ncurses-doc",
    "perl-doc",
    "tcl8.6-doc",
    "tk8.6-doc",
)


def package_descriptions(packages: Packages) -> Gathered:
    """Gather: a class is a Debian package, its items are its short and its long description."""
    pairs = []
    for entry in sorted(set(packages.debian_descriptions().split("\n\n"))):
        head, _, description = entry.partition("Description-en: ")
        short, _, long = description.partition("\n")
        if short and long:
            name = head.splitlines()[0].removeprefix("Package: ")
            pairs += [(name, short), (name, long.replace("\n .\n", "\n"))]
    return Gathered.of_texts(pairs)


def manual_pages(packages: Packages) -> Gathered:
    """Gather: a class is a page of a manual, its items are the halves of its text."""
    pairs = []
    for package in MANUALS:
        for path in sorted(packages.debian(package).glob("usr/share/man/man*/*.gz")):
            if not path.is_symlink():
                page = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
                pairs += halves(path.name, plain(page))
    return Gathered.of_texts(pairs)


def plain(page: str) -> str:
    """Take the commands of the page's layout language away."""
    lines = [line for line in page.splitlines() if not line.startswith(('.\\"', "'\\\"", ".so"))]
    text = re.sub(r"^[.'](\w+)", " ", "\n".join(lines), flags=re.MULTILINE)
    text = re.sub(r"\\f(\(..|\[[^]]*\]|.)|\\s[-+]?\d|\\[*(]..|\\[&|^ctv]", "", text)
    return text.replace("\\", "")


def halves(name: str, text: str, fewest: int = 60, most: int = 400) -> list[tuple[str, str]]:
    """Cut a text of `fewest` words or more in two; of a long text only the first `most` words."""
    words = text.split()[:most]
    if len(words) < fewest:
        return []
    middle = len(words) // 2
    return [(name, " ".join(words[:middle])), (name, " ".join(words[middle:]))]
