"""Options and output that the commands of `python -m experiments` share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount.cli import terminal
from headcount.cli.options import listed

if TYPE_CHECKING:
    from experiments.results import Results
    from experiments.runner import Settings

Output = Annotated[
    Path | None,
    typer.Option(help="Folder for the results; experiment-results/NAME by default."),
]
Seed = Annotated[int, typer.Option(help="All random draws follow from it.")]
Jobs = Annotated[int, typer.Option(help="Workers; 0 for one a core.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget what an earlier run finished.")]
Chosen = Annotated[
    str | None,
    typer.Option(
        "--methods",
        help="Methods, e.g. kde,probit-normal:prior_classes=1; all the experiment has by default.",
        metavar="METHOD,METHOD,...",
    ),
]
Method = Annotated[str, typer.Option(help="Whose forecasts, e.g. kde or probit-normal.")]


def settings_for(
    bench: str,
    output: Path | None,
    seed: int,
    jobs: int,
    fresh: bool,
    inputs: list[Path],
    pictures: Iterable[str] = ("",),
) -> Settings:
    """Return the settings, once the results are known to be writable."""
    from experiments.results import check_outputs
    from experiments.runner import Settings
    from headcount.support.workers import thread_count

    folder = Path("experiment-results", bench) if output is None else output
    settings = Settings(folder, seed, jobs or thread_count(), fresh)
    settings.prepare()
    check_outputs(folder, bench, inputs, pictures)
    return settings


def names_of(methods: str | None) -> list[str] | None:
    """Return the names in an option, None where it was not given."""
    return None if methods is None else listed(methods)


def show(
    results: Results,
    columns: list[str],
    names: list[str],
    paths: list[Path],
    left: int,
    summary: list[dict[str, Any]] | None = None,
) -> None:
    """Print what was done, the table or its summary, what was refused, and where results are."""
    terminal.say(results.about + "\n")
    shown = results.rows if summary is None else summary
    cells = [[_cell(row[name]) for name in names] for row in shown]
    terminal.show_table(columns, cells, left)
    ours = [row for row in results.rows if row.get("source", "headcount") == "headcount"]
    for reason in dict.fromkeys(
        f"{row['method']}: {row['why_refused']}" for row in ours if row.get("why_refused")
    ):
        terminal.complain("refused", reason)
    resumed = results.run["tasks_resumed"]
    done = f"{results.run['tasks']:,} tasks, {resumed:,} of them done before"
    terminal.say(f"\n{done}, {results.run['seconds']:,.0f} s. Written: {_named(paths)}.")


def _named(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths) + f" in {paths[0].parent}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
