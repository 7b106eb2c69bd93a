"""Metrics of a whole catalogue, estimated from each probe's rank among 99 sampled rivals.

Recommenders and retrieval are often measured so. Here the catalogue is a real set whose full ranks
are known: of every probe among all classes. Each probe meets random rivals of its own; from the
sampled ranks the published estimators and headcount say what the metrics are among all.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.figures import COLOURS, GREY, TRUTH, list_axis, new_figure
from experiments.journal import Record
from experiments.methods import rounded, summarised
from experiments.papers.pilots import digest
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from experiments.sampled import corrections, laws, rank_laws, ranks
from experiments.sampled.ranks import METRICS, Floats, Ints
from experiments.sampled.toy import toy
from experiments.yardstick.tasks import mark
from headcount.curves.favorability import Favorability
from headcount.estimators.registry import resolve_all
from headcount.pilot.loading import load
from headcount.pilot.pilot import Pilot
from headcount.support.validation import whole_number

NAME = "sampled"
SETS = {"definitions": "definitions_tfidf.npz", "omniglot": "omniglot_pixels.npz"}
N_NEGATIVES = 99
DRAWS = 20

NAIVE = "as it is"
CORRECTIONS: Mapping[str, Any] = {
    NAIVE: corrections.naive,
    "rank": corrections.by_rank,
    "bias and variance": corrections.by_bias_and_variance,
}
EARLY = 1e-6  # of EM that is stopped before it has converged, which smooths
RANK_LAWS: Mapping[str, Any] = {
    "EM": rank_laws.by_likelihood,
    "EM, stopped early": partial(rank_laws.by_likelihood, gain=EARLY),
    "maximum entropy": rank_laws.by_entropy,
}
PUBLISHED = tuple(name for name in (*CORRECTIONS, *RANK_LAWS) if name != NAIVE)
OURS = ("auto", "bent-normal")
METHODS = (NAIVE, *PUBLISHED, *OURS)


def sampled(settings: Settings, folder: Path, *, draws: int = DRAWS) -> Results:
    """Estimate metrics of whole sets from sampled ranks, and hold them against the true ones.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    folder : path
        Holds the two sets.
    draws : int
        How often every probe's rivals are drawn.

    Returns
    -------
    Results
        A row for each set, metric and method; the toy of Krichene and Rendle in the details.
    """
    whole_number(draws, "--draws", 2)
    paths = {name: str((folder / file).resolve()) for name, file in SETS.items()}
    marks = "-".join(map(mark, resolve_all(list(OURS)).values()))
    tasks = [
        Task(
            f"{NAME}/{name}@{digest(_whole(path))[:8]}/{draw}/{marks}-{_code_mark()}",
            partial(look, name, path, draw, settings.seed),
        )
        for name, path in paths.items()
        for draw in range(draws)
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    rows = []
    for i, (name, path) in enumerate(paths.items()):
        own = records[i * draws : (i + 1) * draws]
        rows += _rows(name, own, full_ranks(name, path, settings.seed))
    return Results(
        bench=NAME,
        about=_about(draws),
        seed=settings.seed,
        options={"draws": draws},
        rows=rows,
        details={"summary": _summary(rows), "toy": toy()},
        run=run,
    )


@lru_cache(maxsize=len(SETS))
def _whole(path: str) -> Pilot:
    return load(path)


def full_ranks(name: str, path: str, seed: int) -> tuple[Ints, int]:
    """Return each probe's rank among all classes, ties broken at random once, and their number."""
    whole = _whole(path)
    rng = np.random.default_rng(seed_for(seed, NAME, "ties", name))
    return 1 + whole.losses + rng.integers(0, whole.ties + 1), whole.n_classes


def look(name: str, path: str, draw: int, seed: int) -> Record:
    """Draw every probe's rivals and return what each method says of each metric."""
    full, n_items = full_ranks(name, path, seed)
    rng = np.random.default_rng(seed_for(seed, NAME, "draw", name, draw))
    return estimates(ranks.draw_sampled_ranks(full, n_items, N_NEGATIVES, rng), n_items)


def estimates(among_few: Ints, n_items: int) -> Record:
    """Return what each method says of each metric, from the sampled ranks."""
    shares = ranks.histogram(among_few, N_NEGATIVES) / len(among_few)
    chances, all_ranks = ranks.binomial_chances(n_items, N_NEGATIVES), ranks.all_ranks(n_items)
    pilot = Pilot.from_losses(among_few - 1, n_classes=N_NEGATIVES + 1)
    weights = {method: fit(shares, chances) for method, fit in RANK_LAWS.items()}
    fitted = {method: _law(estimator, pilot) for method, estimator in resolve_all(OURS).items()}
    return {
        metric: {
            **{
                method: float(shares @ correct(value, n_items, N_NEGATIVES))
                for method, correct in CORRECTIONS.items()
            },
            **{method: float(value(all_ranks, n_items) @ w) for method, w in weights.items()},
            **{method: laws.OF_LAW[metric](law, n_items) for method, law in fitted.items()},
        }
        for metric, value in METRICS.items()
    }


def _law(estimator: Any, pilot: Pilot) -> Favorability:
    law = estimator.fit(pilot).law()
    assert isinstance(law, Favorability)  # the default and bent-normal have laws
    return law


def _code_mark() -> str:
    """Return a mark of the published estimators' code."""
    whole = hashlib.sha256()
    for module in (ranks, corrections, rank_laws, laws):
        whole.update(inspect.getsource(module).encode())
    return whole.hexdigest()[:4]


# -- tables ----------------------------------------------------------------------------------------


def _rows(name: str, records: Sequence[Record], full: tuple[Ints, int]) -> list[dict[str, Any]]:
    among_all, n_items = full
    rows = []
    for metric, value in METRICS.items():
        truth = float(value(among_all.astype(np.float64), n_items).mean())
        for method in METHODS:
            said: Floats = np.array([record[metric][method] for record in records])
            rows.append(
                {"set": name, "metric": metric, "method": method, "draws": len(said),
                 "truth": rounded(truth), "mean": rounded(said.mean())}
                | summarised((said - truth).tolist())
            )  # fmt: skip
    return rows


def _summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each method's mean RMSE over sets and metrics, and its ratio to the best published."""
    places: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        places.setdefault((row["set"], row["metric"]), {})[row["method"]] = row["rmse"]
    best = [min(errors[method] for method in PUBLISHED) for errors in places.values()]
    summary = []
    for method in METHODS:
        own = [errors[method] for errors in places.values()]
        ratios = [error / least for error, least in zip(own, best, strict=True)]
        summary.append(
            {
                "method": method,
                "rmse": rounded(np.mean(own)),
                "largest_ratio": rounded(max(ratios)),
                "at_most_best": sum(ratio <= 1 for ratio in ratios),
                "places": len(ratios),
            }
        )
    return summary


def summary_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells: each method over all sets and metrics."""
    columns = ["method", "mean RMSE", "largest ratio", "at most the best"]
    return columns, [
        [row["method"], f"{row['rmse']:.4f}", f"{row['largest_ratio']:.2f}",
         f"{row['at_most_best']} of {row['places']}"]
        for row in results.details["summary"]
    ]  # fmt: skip


def toy_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells: what is computed of the toy, and what was printed."""
    columns = ["", "metric", "full", "printed", "sampled", "with replacement", "sd", "printed"]
    names = ["full", "full_printed", "expected", "with_replacement", "spread", "sampled_printed"]
    return columns, [
        [row["recommender"], row["metric"],
         *("-" if row[name] is None else f"{row[name]:.3f}" for name in names)]
        for row in results.details["toy"]
    ]  # fmt: skip


def draw(results: Results) -> Any:
    """Draw what each method says beside the truth, a panel for each set and metric."""
    sets = list(dict.fromkeys(row["set"] for row in results.rows))
    figure = new_figure(9.0, 1.0 + 2.4 * len(sets))
    axes = figure.subplots(len(sets), len(METRICS), squeeze=False)
    for i, name in enumerate(sets):
        for j, metric in enumerate(METRICS):
            ax = axes[i, j]
            own = [row for row in results.rows if (row["set"], row["metric"]) == (name, metric)]
            for place, row in enumerate(own):
                ax.errorbar(
                    row["mean"],
                    place,
                    xerr=row["sd"],
                    fmt="o",
                    markersize=5,
                    capsize=2,
                    color=_colour(row["method"]),
                )
            ax.axvline(own[0]["truth"], color=TRUTH, linewidth=0.9)
            list_axis(ax, [row["method"] for row in own], labelled=j == 0)
            ax.set_xlim(left=0)
            ax.tick_params(axis="x", labelsize=8)
            ax.set_title(f"{name}, {metric}", fontsize=9)
    figure.supxlabel(
        "estimate: mean and standard deviation over draws; the line is the truth\n"
        "grey: the sampled metric as it is; orange: published estimators; blue: headcount",
        fontsize=9,
    )
    return figure


def _colour(method: str) -> str:
    if method == NAIVE:
        return GREY
    return COLOURS[0] if method in OURS else COLOURS[1]


def _about(draws: int) -> str:
    return (
        f"Recall@10, MRR and nDCG@10 of whole sets, estimated from the rank of each probe among "
        f"{N_NEGATIVES} random rivals of its own, {draws} draws; errors against the metrics of the "
        "full ranks. Every probe weighs the same. Ratios are to the smallest RMSE of a published "
        "estimator for the same set and metric."
    )
