"""The simulation study of paper 000, §6: spline bases compared, Figure 10."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.figures import COLOURS, GREY, TRUTH, count_axis, new_figure, plain
from experiments.journal import Record
from experiments.methods import rounded, summarised
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.estimators import SplineRegression
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import IsotropicGaussian
from headcount.support import validation

NAME = "figure10"
N_DIMS = 10
TARGET = 2000
SIGMA = 0.55
PILOT = 500
SIZES = (50, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000)
SIGMAS = (0.3, 0.4, 0.5, 0.6, 0.7)
# Numbers of knots as powers of ten; q for quadratic spacing.
BASES = {
    "lin2": {"n_knots": 100, "spacing": "uniform"},
    "lin3": {"n_knots": 1000, "spacing": "uniform"},
    "lin4": {"n_knots": 10_000, "spacing": "uniform"},
    "lin2q": {"n_knots": 100, "spacing": "quadratic"},
    "lin3q": {"n_knots": 1000, "spacing": "quadratic"},
    "lin4q": {"n_knots": 10_000, "spacing": "quadratic"},
}
CURVE = tuple(int(k) for k in np.unique(np.geomspace(2, TARGET, 40).astype(int)))


def figure10(
    settings: Settings, *, repeats: int = 30, sizes: Sequence[int] = SIZES, bounded: bool = False
) -> Results:
    """Forecast 2,000 Gaussian classes with six spline bases.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    repeats : int
        Random pilots for each setting.
    sizes : sequence of int
        Sizes of the pilots at sigma = 0.55.
    bounded : bool
        Whether D(1) must be at most one; the paper leaves it free.

    Returns
    -------
    Results
        A row for each basis and setting: bias, sd and RMSE of the accuracy forecast at 2,000.
    """
    repeats = validation.whole_number(repeats, "repeats", 2)
    places = [(SIGMA, size) for size in sizes]
    places += [(sigma, PILOT) for sigma in SIGMAS if (sigma, PILOT) not in places]
    keyed = [(*place, i) for place in places for i in range(repeats)]
    tasks = [
        Task(
            f"{NAME}/{sigma}/{size}/{i}/{bounded}",
            partial(
                _forecasts, sigma, size, bounded, seed_for(settings.seed, NAME, sigma, size, i)
            ),
        )
        for sigma, size, i in keyed
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    outcomes = dict(zip(keyed, records, strict=True))
    rows = [
        _row(basis, sigma, size, [outcomes[sigma, size, i] for i in range(repeats)])
        for sigma, size in places
        for basis in BASES
    ]
    return Results(
        bench=NAME,
        about=(
            f"Accuracy at {TARGET:,} isotropic Gaussian classes in {N_DIMS} dimensions, nearest "
            f"neighbour with one training point a class, forecast by six spline bases "
            f"({repeats} pilots a setting; Figure 10 of paper 000)."
        ),
        seed=settings.seed,
        options={"repeats": repeats, "sizes": list(sizes), "bounded": bounded},
        rows=rows,
        details={
            "classes": list(CURVE),
            "curves": {
                basis: [outcomes[SIGMA, PILOT, i]["curves"][basis] for i in range(min(repeats, 5))]
                for basis in BASES
                if (SIGMA, PILOT) in places
            },
        },
        run=run,
    )


def _forecasts(sigma: float, size: int, bounded: bool, seed: int) -> Record:
    pilot = simulated(sigma, size, seed)
    curves = {}
    for basis, options in BASES.items():
        fit = SplineRegression(**options, bounded=bounded).fit(pilot)  # type: ignore[arg-type]
        curves[basis] = [rounded(value) for value in fit.predict(np.array(CURVE))]
    return {"curves": curves}


def simulated(sigma: float, n_classes: int, seed: int) -> Pilot:
    """Return a pilot with one training point and one probe a class."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, N_DIMS))
    gallery, probes = centres + sigma * rng.normal(size=(2, n_classes, N_DIMS))
    return Pilot.from_embeddings(probes, np.arange(n_classes), gallery)


def _row(basis: str, sigma: float, size: int, records: list[Record]) -> dict[str, Any]:
    truth = float(IsotropicGaussian(N_DIMS, sigma).accuracy(TARGET))
    forecasts = [record["curves"][basis][-1] for record in records]
    summary = summarised([value - truth for value in forecasts])
    return {
        "basis": basis,
        "sigma": sigma,
        "pilot_classes": size,
        "truth": rounded(truth),
        "mean_forecast": rounded(np.mean(forecasts)),
        **summary,
    }


def draw(results: Results) -> Any:
    """Draw the four panels."""
    figure = new_figure(10, 7.5)
    axes = figure.subplots(2, 2)
    _draw_curve(axes[0][0], results)
    _draw_errors(axes[0][1], results, "pilot_classes")
    _draw_errors(axes[1][0], results, "sigma")
    _draw_laws(axes[1][1])
    return figure


def _style(basis: str) -> dict[str, Any]:
    colour = COLOURS[list(BASES).index(basis) % 3]
    return {"color": colour, "linestyle": "--" if basis.endswith("q") else "-", "linewidth": 1.2}


def _draw_curve(ax: Any, results: Results) -> None:
    classes = np.array(results.details["classes"])
    for basis, curves in results.details["curves"].items():
        for i, curve in enumerate(curves):
            ax.plot(classes, curve, **_style(basis), alpha=0.7, label=None if i else basis)
    truth = IsotropicGaussian(N_DIMS, SIGMA).accuracy(classes)
    ax.plot(classes, truth, color=TRUTH, linewidth=2, label="truth")
    ax.axvline(PILOT, color=GREY, linestyle=":")
    ax.legend(frameon=False, fontsize=8)
    count_axis(ax)
    ax.set(ylabel="accuracy", title=f"From {PILOT} classes, sigma = {SIGMA}")
    plain(ax)


def _draw_errors(ax: Any, results: Results, along: str) -> None:
    fixed, value = ("sigma", SIGMA) if along == "pilot_classes" else ("pilot_classes", PILOT)
    for basis in BASES:
        rows = [r for r in results.rows if r["basis"] == basis and r[fixed] == value]
        rows.sort(key=lambda row: row[along])
        ax.plot(
            [r[along] for r in rows],
            [r["rmse"] for r in rows],
            marker=".",
            **_style(basis),
            label=basis,
        )
    if along == "pilot_classes":
        count_axis(ax)
        ax.set(xlabel="classes in the pilot")
    else:
        ax.set(xlabel="sigma")
    ax.set_yscale("log")
    ax.set(ylabel=f"RMSE at {TARGET:,}", title=f"{fixed.replace('_', ' ')} = {value}")
    ax.legend(frameon=False, fontsize=8)
    plain(ax)


def _draw_laws(ax: Any) -> None:
    u = np.linspace(0.5, 1, 501)
    for colour, sigma in zip(COLOURS, SIGMAS, strict=False):
        law = IsotropicGaussian(N_DIMS, sigma)
        ax.plot(u, law.discriminability(u), color=colour, label=f"sigma = {sigma}")
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="u", ylabel="D(u)", title="D(u)")
    plain(ax)
