"""`headcount demo`: a forecast on real data next to the truth."""

from __future__ import annotations

from typing import Annotated

import typer

from headcount.cli import terminal
from headcount.cli.options import ErrorRate, Plot, check_error_rate, check_plot
from headcount.support.words import percent
from headcount.support.workers import doing


def demo(
    seed: Annotated[int, typer.Option(help="Which 500 syllables to draw.")] = 0,
    plot: Plot = None,
    error_rate: ErrorRate = False,
) -> None:
    """Forecast 11,172 Korean syllables from a pilot of 500, and compare with the truth."""
    with terminal.progress("Forecasting Korean syllables"):
        import numpy as np

        from headcount.curves.observed import observe as make_curve
        from headcount.datasets import load_hangul
        from headcount.questions.forecast import forecast as make_forecast

        check_error_rate(error_rate, plot)
        check_plot(plot, [])
        with doing("Reading all syllables"):
            everything = load_hangul()
        syllables = np.random.default_rng(seed).choice(everything.class_names, 500, replace=False)
        sizes = [1000, 2000, 5000, everything.n_classes]
        result = make_forecast(everything.subset(syllables), classes=sizes)
        with doing("Finding the truth"):
            truth = make_curve(everything).value(sizes)
        if plot is not None:
            result.save(plot, error_rate=error_rate)
    measured = percent(float(result.value(500)))
    terminal.say(
        "Recognising Korean syllables in one font from how they look in another.\n"
        f"A pilot of 500 of the 11,172 syllables gets {measured} of them right. "
        "How well will it do on more?\n"
    )
    rows = [
        [*cells[:-1], percent(float(value))]
        for cells, value in zip(result.table(sizes).cells(), truth, strict=True)
    ]
    terminal.show_table(["classes", "forecast from 500", "90% interval", "truth"], rows)
    lower, upper = result.interval(sizes) or (truth, truth)
    n_right = int(((lower <= truth) & (truth <= upper)).sum())
    terminal.say(
        f"\n{n_right} of the {len(sizes)} intervals hold{'s' * (n_right == 1)} the truth; "
        "for most pilots all should. "
        f"Another pilot: headcount demo --seed {seed + 1}"
        "\nYour own data: headcount forecast scores.npz --classes 10000"
    )
