"""The bivariate-normal toy of paper 000: figures 3 to 6."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments.figures import COLOURS, GREY, new_figure, plain
from experiments.journal import Record
from experiments.methods import rounded
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.simulate.theory import BivariateNormal
from headcount.support import validation

NAME = "toy"
RHO = 0.7
RHOS = (0.3, 0.5, 0.7, 0.9)
SIZES = tuple(range(2, 11))
LABELS = (-1.2, 0.1, 0.9)  # the three classes of figure 3


def toy(settings: Settings, *, repeats: int = 20_000) -> Results:
    """Compare the accuracy of random label sets with what the theory says of their mean.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    repeats : int
        Random label sets for each number of classes.

    Returns
    -------
    Results
        A row for each k: the mean over label sets (the circles of figure 4), its standard error,
        and the theory (the red curve).
    """
    repeats = validation.whole_number(repeats, "repeats", 2)
    tasks = [
        Task(f"{NAME}/{RHO}/{k}/{repeats}", partial(_sampled, k, repeats, settings.seed))
        for k in SIZES
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    theory = BivariateNormal(RHO).accuracy(np.array(SIZES))
    rows = [
        {
            "rho": RHO,
            "classes": k,
            "mean": record["mean"],
            "standard_error": record["error"],
            "theory": rounded(value),
            "errors_apart": rounded((record["mean"] - value) / record["error"]),
        }
        for k, record, value in zip(SIZES, records, theory, strict=True)
    ]
    return Results(
        bench=NAME,
        about=(
            f"Accuracy of {repeats:,} random label sets under the bivariate-normal model with "
            f"rho = {RHO}, and the theory (figures 3-6 of paper 000)."
        ),
        seed=settings.seed,
        options={"repeats": repeats, "rho": RHO},
        rows=rows,
        details={
            "quantiles": {str(k): r["quantiles"] for k, r in zip(SIZES, records, strict=True)}
        },
        run=run,
    )


def _sampled(k: int, repeats: int, seed: int) -> Record:
    accuracies = BivariateNormal(RHO).sample_label_sets(k, repeats, seed_for(seed, NAME, k))
    levels = np.linspace(0.02, 0.98, 49)
    return {
        "mean": rounded(accuracies.mean()),
        "error": rounded(accuracies.std(ddof=1) / np.sqrt(repeats)),
        "quantiles": [rounded(value) for value in np.quantile(accuracies, levels)],
    }


def draw(results: Results) -> Any:
    """Draw figures 3 to 6 on one sheet."""
    figure = new_figure(11, 8.5)
    axes = figure.subplots(3, 3)
    _draw_joint(axes[0][0])
    _draw_densities(axes[0][1])
    _draw_regions(axes[0][2])
    _draw_label_sets(axes[1][0], results)
    _draw_levels(axes[1][1])
    _draw_cdf(axes[1][2], (RHO,), "Figure 5, right: D(u)")
    _draw_curves(axes[2][0])
    _draw_cdf(axes[2][1], RHOS, "Figure 6, right: D(u)")
    axes[2][2].set_visible(False)
    return figure


def _draw_joint(ax: Any) -> None:
    side = np.linspace(-3, 3, 121)
    x, y = np.meshgrid(side, side)
    form = (x**2 - 2 * RHO * x * y + y**2) / (1 - RHO**2)
    ax.contour(x, y, np.exp(-form / 2), levels=6, colors=COLOURS[0], linewidths=0.8)
    ax.set(xlabel="y", ylabel="x", title=f"Figure 3, left: joint law, rho = {RHO}")
    plain(ax)


def _densities(x: Any) -> Any:
    gaps = x - RHO * np.array(LABELS)[:, None]
    return np.exp(-(gaps**2) / (2 * (1 - RHO**2)))


def _draw_densities(ax: Any) -> None:
    x = np.linspace(-3, 3, 301)
    for colour, label, density in zip(COLOURS, LABELS, _densities(x), strict=False):
        ax.plot(x, density, color=colour, label=f"y = {label}")
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="x", title="Figure 3, right: density of x given y")
    plain(ax)


def _draw_regions(ax: Any) -> None:
    x = np.linspace(-3, 3, 1201)
    chosen = np.argmax(_densities(x), axis=0)
    for i, colour in zip(range(len(LABELS)), COLOURS, strict=False):
        ax.fill_between(x, 0, 1, where=chosen == i, color=colour, alpha=0.6, linewidth=0)
    ax.set(xlabel="x", yticks=[], title="Figure 3, right: Bayes regions")


def _draw_label_sets(ax: Any, results: Results) -> None:
    for row in results.rows:
        spread = results.details["quantiles"][str(row["classes"])]
        ax.plot([row["classes"]] * len(spread), spread, "_", color=GREY, alpha=0.5, markersize=9)
    sizes = [row["classes"] for row in results.rows]
    ax.plot(sizes, [row["theory"] for row in results.rows], color=COLOURS[1], label="theory")
    ax.plot(
        sizes, [row["mean"] for row in results.rows], "o", mfc="none", color=COLOURS[0],
        label="mean of label sets",
    )  # fmt: skip
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="classes", ylabel="accuracy", title="Figure 4: random label sets")
    plain(ax)


def _draw_levels(ax: Any) -> None:
    side = np.linspace(-3, 3, 121)
    x, y = np.meshgrid(side, side)
    levels = ax.contour(
        x, y, BivariateNormal(RHO).favorability(x, y), levels=(0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
        colors=COLOURS[0], linewidths=0.8,
    )  # fmt: skip
    ax.clabel(levels, fontsize=7)
    ax.set(xlabel="x", ylabel="y", title="Figure 5, left: favorability U")
    plain(ax)


def _draw_cdf(ax: Any, rhos: tuple[float, ...], title: str) -> None:
    u = np.linspace(0, 1, 401)
    for colour, rho in zip(COLOURS, rhos, strict=False):
        ax.plot(u, BivariateNormal(rho).discriminability(u), color=colour, label=f"rho = {rho}")
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="u", ylabel="D(u)", title=title)
    plain(ax)


def _draw_curves(ax: Any) -> None:
    k = np.arange(2, 51)
    for colour, rho in zip(COLOURS, RHOS, strict=False):
        ax.plot(k, BivariateNormal(rho).accuracy(k), color=colour, label=f"rho = {rho}")
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="classes", ylabel="accuracy", ylim=(0, 1), title="Figure 6, left: accuracy")
    plain(ax)
