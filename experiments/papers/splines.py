"""What constraints, degree, knots and the place of the last knot do to spline regression.

000 §7 and 002 §6 say that monotone and convex constraints improve the fit, that fewer basis
functions matter less with them, and that splines of higher order should do well. 000 §6 finds 1,000
linear knots better than 10,000 and does not say why. Here each is varied by itself in the
simulation of 000 §6, where the truth is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.figures import COLOURS, MARKERS, new_figure, plain
from experiments.journal import Record
from experiments.methods import rounded, stamp, summarised
from experiments.papers.figure10 import N_DIMS, PILOT, SIGMA, TARGET, Place, simulated
from experiments.papers.figure10 import NAME as SAME_PILOTS
from experiments.papers.spline_designs import design
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.errors import HeadcountError
from headcount.estimators import SplineRegression
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import IsotropicGaussian
from headcount.support import validation

NAME = "splines"
REPEATS = 60
PLACES: tuple[Place, ...] = ((0.55, 100), (0.55, 500), (0.55, 1000), (0.3, 500), (0.7, 500))


@dataclass(frozen=True)
class Fit:
    """A spline regression.

    Attributes
    ----------
    part : str
        What is varied: ``constraint``, ``degree`` or ``end``.
    constraint, bounded, degree, n_knots
        As in `SplineRegression`; knots are uniform.
    nearest : float, optional
        How far the last knot is from one; by default as far as knots are from each other.
    """

    part: str
    constraint: str = "convex"
    bounded: bool = False
    degree: int = 1
    n_knots: int = 1000
    nearest: float | None = None

    @property
    def key(self) -> str:
        """What its forecasts are called by in the journal."""
        return "/".join(str(value) for value in list(asdict(self).values())[1:])


ENDS = (1 / 101, 1 / 301, 1 / 1001, 1 / 3001, 1 / 10_001)
FITS = (
    *(
        Fit("constraint", constraint, bounded, 1, n_knots)
        for constraint in ("convex", "monotone")
        for bounded in (False, True)
        for n_knots in (10, 100, 1000, 10_000)
    ),
    *(Fit("constraint", "none", n_knots=n_knots) for n_knots in (3, 5, 10, 20, 100)),
    *(Fit("degree", degree=d, n_knots=m) for d in (1, 2, 3) for m in (100, 1000, 10_000)),
    *(Fit("end", n_knots=m, nearest=end) for m in (1000, 10_000) for end in ENDS),
)


def splines(
    settings: Settings,
    *,
    repeats: int = REPEATS,
    places: Sequence[Place] = PLACES,
    fits: Sequence[Fit] = FITS,
) -> Results:
    """Forecast 2,000 Gaussian classes with spline regressions that differ in one thing each.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    repeats : int
        Random pilots for each setting, the first of those of `figure10`.
    places : sequence of (float, int)
        Sigma and size of the pilots of each setting.
    fits : sequence of Fit
        The regressions.

    Returns
    -------
    Results
        A row for each regression and setting: bias, sd and RMSE of the accuracy forecast at 2,000,
        with the standard error of the RMSE.
    """
    repeats = validation.whole_number(repeats, "repeats", 2)
    mark = stamp(SplineRegression())
    tasks = {
        (place, i): Task(
            f"{NAME}/{place[0]}/{place[1]}/{i}/{'+'.join(fit.key for fit in fits)}@{mark}",
            partial(
                _forecasts, place, tuple(fits), seed_for(settings.seed, SAME_PILOTS, *place, i)
            ),
        )
        for place in places
        for i in range(repeats)
    }
    records, run = conduct(NAME, list(tasks.values()), {}, settings)
    answers = dict(zip(tasks, records, strict=True))
    return Results(
        bench=NAME,
        about=(
            f"Accuracy at {TARGET:,} isotropic Gaussian classes in {N_DIMS} dimensions, forecast "
            f"by spline regressions that differ in constraint, degree, number of knots and place "
            f"of the last knot ({repeats} pilots a setting)."
        ),
        seed=settings.seed,
        options={"repeats": repeats, "places": [list(place) for place in places]},
        rows=[
            _row(fit, place, [answers[place, i]["forecasts"][j] for i in range(repeats)])
            for place in places
            for j, fit in enumerate(fits)
        ],
        run=run,
    )


def _forecasts(place: Place, fits: Sequence[Fit], seed: int) -> Record:
    pilot = simulated(*place, seed)
    return {"forecasts": [forecast(fit, pilot) for fit in fits]}


def forecast(fit: Fit, pilot: Pilot) -> float | None:
    """Return the accuracy forecast at 2,000 classes; None where the fit is refused."""
    if fit.constraint != "none":
        shape = design(
            pilot.n_classes,
            (TARGET,),
            n_knots=fit.n_knots,
            nearest=fit.nearest,
            degree=fit.degree,
            monotone=fit.constraint == "monotone",
        )
        return rounded(shape.forecast(pilot, bounded=fit.bounded)[0])
    try:
        plain_fit = SplineRegression(constraint="none", n_knots=fit.n_knots).fit(pilot)
    except HeadcountError:
        return None
    return rounded(plain_fit.predict(TARGET))


def _row(fit: Fit, place: Place, forecasts: Sequence[float | None]) -> dict[str, Any]:
    sigma, size = place
    truth = float(IsotropicGaussian(N_DIMS, sigma).accuracy(TARGET))
    errors = [value - truth for value in forecasts if value is not None]
    return {
        **asdict(fit),
        "nearest": rounded(1 / (fit.n_knots + 1) if fit.nearest is None else fit.nearest),
        "sigma": sigma,
        "pilot_classes": size,
        "repeats": len(forecasts),
        "refused": len(forecasts) - len(errors),
        "truth": rounded(truth),
        **summarised(errors),
        "rmse_error": error_of_rmse(errors),
    }


def error_of_rmse(errors: Sequence[float]) -> float | None:
    """Return the standard error of the root of a mean of squares, by the delta method."""
    if len(errors) < 2:
        return None
    squares = np.square(errors)
    return rounded(squares.std(ddof=1) / np.sqrt(len(squares)) / 2 / np.sqrt(squares.mean()))


def draw(results: Results) -> Any:
    """Draw the RMSE at sigma = 0.55 from 500 classes, a panel for each thing that is varied."""
    figure = new_figure(11, 3.8)
    axes = figure.subplots(1, 3, sharey=True)
    place = _place_to_draw(results)
    rows = [
        r
        for r in results.rows
        if (r["sigma"], r["pilot_classes"]) == place and r["rmse"] is not None
    ]
    for ax, part, along, names in zip(
        axes,
        ("constraint", "degree", "end"),
        ("n_knots", "n_knots", "nearest"),
        (("constraint", "bounded"), ("degree",), ("n_knots",)),
        strict=True,
    ):
        _draw_part(ax, [row for row in rows if row["part"] == part], along, names)
    axes[0].set_ylabel(f"RMSE at {TARGET:,}, sigma = {place[0]},\nfrom {place[1]:,} classes")
    return figure


def _place_to_draw(results: Results) -> Place:
    places = [(sigma, size) for sigma, size in results.options["places"]]
    return (SIGMA, PILOT) if (SIGMA, PILOT) in places else places[0]


LABELS = {
    "n_knots": "knots",
    "nearest": "distance of the last knot from one",
    "bounded": "D(1) at most one",
}


def _draw_part(ax: Any, rows: list[dict[str, Any]], along: str, names: tuple[str, ...]) -> None:
    lines = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
    for i, values in enumerate(lines):
        mine = [row for row in rows if tuple(row[name] for name in names) == values]
        ax.errorbar(
            [row[along] for row in mine],
            [row["rmse"] for row in mine],
            [row["rmse_error"] for row in mine],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
            label=", ".join(_label(name, value) for name, value in zip(names, values, strict=True)),
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(LABELS[along])
    ax.legend(frameon=False, fontsize=7)
    plain(ax)


def _label(name: str, value: Any) -> str:
    if name == "bounded":
        return "D(1) at most one" if value else "D(1) free"
    return f"{value:,} knots" if name == "n_knots" else f"{name} {value}"
