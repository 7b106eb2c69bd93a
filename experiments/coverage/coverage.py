"""How often nominal 90% intervals hold the truth.

Random pilots of populations whose truth is known at up to twenty times as many classes: the
simulations of paper 001, where pilots and truth are of different classes of one world, and real
sets, where the whole set is the population and its observed curve the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.coverage.picture import SIDEWAYS, CoverageDisplay, ratio_axis
from experiments.coverage.pilots import (
    FILES,
    HANGUL,
    NAME,
    RATIOS,
    SHARES,
    SIMULATED,
    SIZES,
    WORLDS,
    Setting,
    families,
    pilot_and_truth,
    settings_of,
)
from experiments.coverage.records import (
    CONFIDENCE,
    GOOD,
    LEAST,
    WIDEST,
    cells,
    examined,
    judge,
    mark,
    of_metric,
)
from experiments.figures import COLOURS, GREY, MARKERS, new_figure, plain
from experiments.journal import Record
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.errors import DataError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.metrics import ACCURACY, resolve_metric
from headcount.support.validation import whole_number
from headcount.uncertainty.refitted import MODEL, ErrorModel

# So that standard errors are at most 0.03 for each real set; there are 24 settings of simulations.
REPEATS = dict.fromkeys(FILES, 150) | {SIMULATED: 720, HANGUL: 100}
METRICS = (ACCURACY.name, "top-5", "mrr", "ndcg@10")
DRAWN_BY = ("headcount.simulate.round_classes", "headcount.simulate.simulation")


def coverage(
    settings: Settings,
    *,
    data: Path | None = None,
    names: Sequence[str] | None = None,
    method: str = "auto",
    metrics: Sequence[str] = METRICS,
    repeats: int | None = None,
    ratios: Sequence[int] = RATIOS,
    sizes: Sequence[int] = SIZES,
    shares: Sequence[float] = SHARES,
    worlds: Sequence[tuple[int, float, str, str]] = WORLDS,
    model: ErrorModel = MODEL,
) -> Results:
    """Hold intervals against the truth.

    Fits are kept in the journal and intervals are made from them afterwards: a run with other
    learned constants (`headcount.uncertainty.refitted.MODEL`) fits nothing again.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    data : path, optional
        Folder of the real sets.
    names : sequence of str, optional
        Families; by default all that there are data for.
    method : str
        Whose forecasts; options may follow, as for `headcount.estimators.registry.resolve_all`.
    metrics : sequence of str
        What is forecast, all of it from the same fit to each pilot.
    repeats : int, optional
        Random pilots of each family, shared out among its settings (at least one each); by default
        720 simulated ones, 100 of the bundled set and 150 of each other real set.
    ratios, sizes, shares, worlds
        See `experiments.coverage.pilots.settings_of`.
    model : ErrorModel, optional
        What was learned about errors of methods without plausible laws; by default what
        `headcount.uncertainty.refitted` holds now.

    Returns
    -------
    Results
        A row for each metric, family and ratio, over all its settings, and one for each setting and
        ratio.
    """
    (estimator,) = resolve_all([method]).values()
    measured = list(dict.fromkeys(resolve_metric(metric).name for metric in metrics))
    wanted = families(names, data)
    pairs = [
        (setting, repeat)
        for family in wanted
        for setting, count in _shared_out(
            settings_of(
                family, data, ratios=ratios, sizes=sizes, shares=shares, worlds=worlds
            ),
            REPEATS[family] if repeats is None else whole_number(repeats, "--repeats", 1),
        )
        for repeat in range(count)
    ]  # fmt: skip
    method_mark, asked = mark(estimator, DRAWN_BY), ",".join(measured)
    tasks = [
        Task(
            f"{NAME}/{setting.key}@{setting.mark}/{repeat}/{asked}/{estimator.alias}@{method_mark}",
            partial(look, setting, repeat, estimator, settings.seed, measured),
        )
        for setting, repeat in pairs
    ]
    # All that outcomes depend on is in the keys, so that families can be run one after another.
    records, run = conduct(NAME, tasks, {}, settings)
    return Results(
        bench=NAME,
        about=_about(estimator.alias, len(tasks)),
        seed=settings.seed,
        options={
            "method": estimator.alias if method == "auto" else method,
            "metrics": measured,
            "families": wanted,
            "repeats": repeats,
            "ratios": list(ratios),
            "sizes": list(sizes),
            "shares": list(shares),
            "confidence": CONFIDENCE,
            "model": _model_used(records, model),
        },
        rows=[
            row
            for metric in measured
            for row in judged_rows(pairs, [of_metric(record, metric) for record in records], model)
        ],
        details=_details(pairs, records, measured),
        run=run | {"seconds_a_pilot": _seconds(pairs, records)},
    )


def _shared_out(settings: Sequence[Setting], total: int) -> list[tuple[Setting, int]]:
    return [(setting, math.ceil(total / len(settings))) for setting in settings]


def look(
    setting: Setting, repeat: int, estimator: Extrapolator, seed: int, metrics: Sequence[str]
) -> Record:
    """Draw a pilot, forecast from it, and keep what its intervals and the truth are made of."""
    pilot, truths = pilot_and_truth(setting, repeat, seed, [*map(resolve_metric, metrics)])
    backtest_seed = seed_for(seed, NAME, "back-test", setting.key, repeat)
    record = examined(pilot, estimator, setting.classes, backtest_seed, metrics)
    for metric, known in truths.items():
        of_metric(record, metric).update(known)
    return record


def judged_rows(
    pairs: Sequence[tuple[Setting, int]], records: Sequence[Record], model: ErrorModel
) -> list[dict[str, Any]]:
    """Make all intervals under a model and summarise how often they hold the truth."""
    intervals = [
        interval
        for (setting, _), record in zip(pairs, records, strict=True)
        if "value" in record
        for interval in judge(
            record, model, setting.ratios, family=setting.family, setting=setting.name
        )
    ]  # fmt: skip
    if not intervals:
        reasons = sorted({record["refused"] for record in records})
        raise DataError(f"the method refused every pilot: {reasons[0]}")
    return cells(intervals)


def _model_used(records: Sequence[Record], model: ErrorModel) -> dict[str, Any] | None:
    rest_on_it = any(record.get("refits") is not None for record in records)
    return asdict(model) if rest_on_it else None


def _about(method: str, n_pilots: int) -> str:
    low, high = GOOD
    return (
        f"How often nominal {CONFIDENCE:.0%} intervals for what is expected of each metric at k "
        f"classes hold the truth: forecasts by {method} from {n_pilots:,} random pilots of K "
        "classes, all metrics from one fit to each. "
        f"Aimed at: {low:.0%} to {high:.0%} for each metric, family and k/K, no single setting "
        f"under {LEAST:.0%}, mean width at most {WIDEST} times the 5-95% spread of the errors."
    )


def _details(
    pairs: Sequence[tuple[Setting, int]], records: Sequence[Record], metrics: Sequence[str]
) -> dict[str, Any]:
    refusals: dict[str, int] = {}
    for record in records:
        if "refused" in record:
            refusals[record["refused"]] = refusals.get(record["refused"], 0) + 1
    return {
        "settings": [
            {
                "family": setting.family,
                "setting": setting.name,
                "pilot_classes": setting.n_classes,
                "ratios": list(setting.ratios),
                "truth": {
                    metric: [round(value, 6) for value in of_metric(record, metric)["truth"]]
                    for metric in metrics
                },
            }
            for (setting, repeat), record in zip(pairs, records, strict=True)
            if repeat == 0
        ],
        "refused": refusals,
        "notes": sorted({note for record in records for note in record["notes"]})[:20],
    }


def _seconds(pairs: Sequence[tuple[Setting, int]], records: Sequence[Record]) -> dict[str, float]:
    spent: dict[str, list[float]] = {}
    for (setting, _), record in zip(pairs, records, strict=True):
        spent.setdefault(setting.family, []).append(record["seconds"])
    return {family: round(float(np.mean(values)), 3) for family, values in spent.items()}


# -- tables and pictures ---------------------------------------------------------------------------


def pooled(results: Results) -> list[dict[str, Any]]:
    """Return the rows over all settings of a family."""
    return [row for row in results.rows if row["setting"] == "all"]


def draw(results: Results) -> Any:
    """Draw coverage, and width over spread, against the ratio: a line for each family.

    Each metric has a line of panels of its own.
    """
    metrics = list(dict.fromkeys(row["metric"] for row in results.rows))
    figure = new_figure(9.0, 0.5 + 3.3 * len(metrics))
    axes = figure.subplots(len(metrics), 2, squeeze=False)
    for (left, right), metric in zip(axes, metrics, strict=True):
        CoverageDisplay.from_results(results, metric).plot(left)
        left.get_legend().remove()
        by_family: dict[str, list[Mapping[str, Any]]] = {}
        own = [row for row in pooled(results) if row["metric"] == metric]
        for row in own:
            by_family.setdefault(row["family"], []).append(row)
        right.axhline(WIDEST, color=GREY, linewidth=0.8)
        for i, rows in enumerate(by_family.values()):
            _draw_widths(right, sorted(rows, key=lambda row: row["ratio"]), i)
        right.set_ylabel("mean width / spread of errors")
        right.set_ylim(bottom=0)
        ratio_axis(right, [row["ratio"] for row in own])
        plain(right)
        for ax in (left, right):
            ax.set_title(resolve_metric(metric).label, fontsize=9)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
    )
    return figure


def _draw_widths(ax: Any, rows: Sequence[Mapping[str, Any]], i: int) -> None:
    style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
    positions = [row["ratio"] * SIDEWAYS**i for row in rows]
    widths = [np.nan if row["width_ratio"] is None else row["width_ratio"] for row in rows]
    ax.plot(positions, widths, markersize=4, linewidth=1, **style)
