"""`python -m experiments coverage` and `calibration`: how far intervals can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import (
    Fresh,
    Jobs,
    Method,
    Output,
    Seed,
    names_of,
    settings_for,
    show,
)
from headcount.cli import terminal
from headcount.errors import ParameterError
from headcount.support.words import counted

# Columns and what they show, of the two experiments on intervals.
COLUMNS = (
    ["metric", "family", "k/K", "pilots", "coverage", "s.e.", "lowest", "width", "spread", "ratio",
     "mean error", "new set", "grown set", "missed"],
    ["metric", "family", "ratio", "pilots", "coverage", "standard_error", "lowest", "mean_width",
     "spread", "width_ratio", "mean_error", "new_set", "grown_set", "missed"],
)  # fmt: skip


def coverage(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Holds omniglot_*.npz, definitions_tfidf.npz and lfw_dlib_pairs.npz; "
            "without it only simulations and the bundled syllables.",
        ),
    ] = None,
    families: Annotated[
        str | None,
        typer.Option(
            help="Of simulations, hangul, omniglot, definitions, lfw; all by default.",
            metavar="FAMILY,FAMILY,...",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="Random pilots a family; by default 720 simulated ones, 100 of the bundled "
            "syllables and 150 of each other real set."
        ),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(
            help="Sizes of real pilots, as shares of a set's classes; 0.05 by default.",
            metavar="SHARE,SHARE,...",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="What is forecast; accuracy, top-5, mrr and ndcg@10 by default.",
            metavar="METRIC,METRIC,...",
        ),
    ] = None,
    method: Method = "auto",
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Count how often nominal 90% intervals hold the truth, up to 20 times the pilot's classes.

    For example:

    python -m experiments coverage --families simulations --repeats 48
    """
    from experiments.coverage import coverage as experiment
    from experiments.coverage import pilots

    wanted = pilots.families(names_of(families), data)
    sizes = pilots.SHARES if shares is None else _shares_of(shares)
    with terminal.progress("Running coverage"):
        read = pilots.inputs(wanted, data)
        settings = settings_for("coverage", output, seed, jobs, fresh, read)
        results = experiment.coverage(
            settings,
            data=data,
            names=wanted,
            method=method,
            metrics=names_of(metrics) or experiment.METRICS,
            repeats=repeats,
            shares=sizes,
        )
        paths = results.write(settings.output, experiment.draw)
    show(results, *COLUMNS, paths, 2, experiment.pooled(results))
    for reason, count in results.details["refused"].items():
        terminal.complain("refused", f"{counted(count, 'pilot')}: {reason}")


def _shares_of(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(word) for word in text.split(","))
    except ValueError:
        shares = ()
    if not shares or not all(0 < share <= 1 for share in shares):
        raise ParameterError(f"--shares takes numbers up to one, such as 0.02,0.1, not {text!r}.")
    return shares


def calibration(
    problems: Annotated[int, typer.Option(help="Random problems to learn from.")] = 600,
    held_out: Annotated[int, typer.Option(help="Problems of held-out families, as a test.")] = 150,
    method: Method = "probit-normal",
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Learn what intervals take for granted about errors, on random problems; needs torch."""
    from experiments.coverage import calibration as experiment

    settings = settings_for("calibration", output, seed, jobs, fresh, [])
    with terminal.progress("Running calibration"):
        results = experiment.calibration(
            settings, method=method, problems=problems, held_out=held_out
        )
        paths = results.write(settings.output, experiment.draw_coverage)
    show(results, *COLUMNS, paths, 2, experiment.pooled(results))
    terminal.say("\n" + results.details["text"])
