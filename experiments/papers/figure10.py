"""The simulation study of paper 000, §6: spline bases compared, Figure 10, and other methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from experiments.figures import COLOURS, GREY, TRUTH, count_axis, new_figure, plain
from experiments.journal import Record
from experiments.methods import Methods, check_fewer, forecast_record, rounded, stamp, summarised
from experiments.papers.spline_designs import design
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.estimators import Extrapolator, SplineRegression
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import IsotropicGaussian
from headcount.support import validation

NAME = "figure10"


class Knots(NamedTuple):
    """How many knots, and how they are spaced."""

    n_knots: int
    spacing: str


N_DIMS = 10
TARGET = 2000
SIGMA = 0.55
PILOT = 500
SIZES = (50, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000)
SIGMAS = (0.3, 0.4, 0.5, 0.6, 0.7)
# Numbers of knots as powers of ten; q for quadratic spacing.
BASES = {
    "lin2": Knots(100, "uniform"),
    "lin3": Knots(1000, "uniform"),
    "lin4": Knots(10_000, "uniform"),
    "lin2q": Knots(100, "quadratic"),
    "lin3q": Knots(1000, "quadratic"),
    "lin4q": Knots(10_000, "quadratic"),
}
BESIDE = COLOURS[3:6]  # methods beside the bases
REPEATS = 180
UP_TO = {"cleanex": 500}  # its time grows with the square of the pilot: minutes beyond
CURVES = 5  # pilots whose whole curve is drawn
CURVE = tuple(int(k) for k in np.unique(np.geomspace(2, TARGET, 40).astype(int)))


# A setting: sigma and the size of the pilot.
Place = tuple[float, int]
Curves = list[list[float]]


def figure10(
    settings: Settings,
    *,
    repeats: int = REPEATS,
    sizes: Sequence[int] = SIZES,
    bounded: bool = False,
    methods: Methods | None = None,
    fewer: Mapping[str, int] | None = None,
) -> Results:
    """Forecast 2,000 Gaussian classes with six spline bases, and with other methods beside them.

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
    methods : mapping, optional
        Estimators by name, which see the same pilots; none by default.
    fewer : mapping, optional
        Smaller numbers of repeats for slow methods, by name.

    Returns
    -------
    Results
        A row for each basis or method and setting: bias, sd and RMSE of the accuracy forecast at
        2,000.
    """
    repeats = validation.whole_number(repeats, "repeats", 2)
    methods, fewer = dict(methods or {}), dict(fewer or {})
    check_fewer(fewer, methods)
    places = [(SIGMA, size) for size in sizes]
    places += [(sigma, PILOT) for sigma in SIGMAS if (sigma, PILOT) not in places]
    tasks = _tasks(places, repeats, bounded, methods, fewer, settings.seed)
    records, run = conduct(NAME, list(tasks.values()), {}, settings)
    curves = _collected(places, methods, dict(zip(tasks, records, strict=True)))
    return Results(
        bench=NAME,
        about=(
            f"Accuracy at {TARGET:,} isotropic Gaussian classes in {N_DIMS} dimensions, nearest "
            f"neighbour with one training point a class, forecast by six spline bases "
            f"({repeats} pilots a setting; Figure 10 of paper 000) and by other methods."
        ),
        seed=settings.seed,
        options={
            "repeats": repeats,
            "fewer_repeats": fewer,
            "sizes": list(sizes),
            "bounded": bounded,
            "methods": list(methods),
        },
        rows=[_row(name, *place, values) for (place, name), values in curves.items()],
        details={
            "classes": list(CURVE),
            "curves": {
                name: values[:CURVES]
                for (place, name), values in curves.items()
                if place == (SIGMA, PILOT)
            },
        },
        run=run,
    )


def _tasks(
    places: Sequence[Place],
    repeats: int,
    bounded: bool,
    methods: Methods,
    fewer: Mapping[str, int],
    seed: int,
) -> dict[tuple[Place, int, str], Task]:
    """Return the tasks by setting, repeat and method; all bases are one, called by no name."""
    splines = stamp(SplineRegression(bounded=bounded))
    marks = {name: stamp(estimator) for name, estimator in methods.items()}
    tasks: dict[tuple[Place, int, str], Task] = {}
    for sigma, size in places:
        for i in range(repeats):
            key = f"{NAME}/{sigma}/{size}/{i}"
            draw_seed = seed_for(seed, NAME, sigma, size, i)
            tasks[(sigma, size), i, ""] = Task(
                f"{key}/{bounded}@{splines}", partial(_splines, sigma, size, bounded, draw_seed)
            )
            for name, estimator in methods.items():
                if i < fewer.get(name, repeats) and size <= UP_TO.get(name, TARGET):
                    tasks[(sigma, size), i, name] = Task(
                        f"{key}/{name}@{marks[name]}",
                        partial(_forecast, sigma, size, estimator, draw_seed),
                    )
    return tasks


def _splines(sigma: float, size: int, bounded: bool, seed: int) -> Record:
    pilot = simulated(sigma, size, seed)
    curves = {
        name: design(size, CURVE, n_knots=basis.n_knots, spacing=basis.spacing)
        .forecast(pilot, bounded=bounded)
        .tolist()
        for name, basis in BASES.items()
    }
    return {"curves": {name: [rounded(value) for value in curves[name]] for name in curves}}


def _forecast(sigma: float, size: int, estimator: Extrapolator, seed: int) -> Record:
    return forecast_record(estimator, simulated(sigma, size, seed), CURVE, seed)


def _collected(
    places: Sequence[Place], methods: Methods, records: Mapping[tuple[Place, int, str], Record]
) -> dict[tuple[Place, str], Curves]:
    """Return the curves of each setting and basis or method, refusals left out."""
    curves: dict[tuple[Place, str], Curves] = {
        (place, name): [] for place in places for name in (*BASES, *methods)
    }
    for (place, _, name), record in records.items():
        if not name:
            for basis, curve in record["curves"].items():
                curves[place, basis].append(curve)
        elif "accuracy" in record:
            curves[place, name].append([rounded(value) for value in record["accuracy"]])
    return curves


def simulated(sigma: float, n_classes: int, seed: int) -> Pilot:
    """Return a pilot with one training point and one probe a class."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, N_DIMS))
    gallery, probes = centres + sigma * rng.normal(size=(2, n_classes, N_DIMS))
    return Pilot.from_embeddings(probes, np.arange(n_classes), gallery)


def _row(name: str, sigma: float, size: int, curves: Curves) -> dict[str, Any]:
    truth = float(IsotropicGaussian(N_DIMS, sigma).accuracy(TARGET))
    forecasts = [curve[-1] for curve in curves]
    return {
        "method": name,
        "sigma": sigma,
        "pilot_classes": size,
        "repeats": len(forecasts),
        "truth": rounded(truth),
        "mean_forecast": rounded(np.mean(forecasts)) if forecasts else None,
        **summarised([value - truth for value in forecasts]),
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


def _style(name: str, results: Results) -> dict[str, Any]:
    """Return a line: bases by colour and spacing, other methods in colours of their own."""
    if name in BASES:
        colour = COLOURS[list(BASES).index(name) % 3]
        return {"color": colour, "linestyle": "--" if name.endswith("q") else "-", "linewidth": 1.2}
    colour = BESIDE[results.options["methods"].index(name) % len(BESIDE)]
    return {"color": colour, "linestyle": "-.", "linewidth": 1.6}


def _draw_curve(ax: Any, results: Results) -> None:
    classes = np.array(results.details["classes"])
    for name, curves in results.details["curves"].items():
        for i, curve in enumerate(curves):
            ax.plot(classes, curve, **_style(name, results), alpha=0.7, label=None if i else name)
    truth = IsotropicGaussian(N_DIMS, SIGMA).accuracy(classes)
    ax.plot(classes, truth, color=TRUTH, linewidth=2, label="truth")
    ax.axvline(PILOT, color=GREY, linestyle=":")
    ax.legend(frameon=False, fontsize=8)
    count_axis(ax)
    ax.set(ylabel="accuracy", title=f"From {PILOT} classes, sigma = {SIGMA}")
    plain(ax)


def _draw_errors(ax: Any, results: Results, along: str) -> None:
    fixed, value = ("sigma", SIGMA) if along == "pilot_classes" else ("pilot_classes", PILOT)
    for name in (*BASES, *results.options["methods"]):
        rows = [
            r for r in results.rows if r["method"] == name and r[fixed] == value and r["repeats"]
        ]
        rows.sort(key=lambda row: row[along])
        ax.plot(
            [r[along] for r in rows],
            [r["rmse"] for r in rows],
            marker=".",
            **_style(name, results),
            label=name,
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
