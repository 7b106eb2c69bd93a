"""The yardstick of metrics: forecasts of every ranking metric beside what people do.

Random pilots of K classes or documents, of sets where 20 K is known. With one right answer top-5,
top-10, MRR and nDCG@10 are forecast, with several graded documents recall@10, nDCG@10 and MAP. What
is judged is the root mean squared error over 2 K, 3 K ... 20 K, averaged over pilots.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.figures import COLOURS, GREY, MARKERS, error_axis, list_axis, new_figure
from experiments.journal import Record
from experiments.methods import rounded
from experiments.ranking import graded, places, score_models
from experiments.ranking.places import (
    NAME,
    ONE,
    REACH,
    SEVERAL,
    Case,
    Place,
    at_most,
    draw_case,
    graded_places,
    real_places,
    simulated_places,
)
from experiments.ranking.score_models import (
    MODELS,
    PLAIN,
    SkewNormal,
    chances_above,
    expected_metric,
    fit_tails,
)
from experiments.results import Results
from experiments.runner import Settings, Task, conduct
from experiments.yardstick.places import DRAWN_BY, SIMULATIONS
from experiments.yardstick.targets import AUTO, Stratum, grouped, paired, summary
from experiments.yardstick.tasks import ORACLE, mark
from headcount.curves.observed import Observed, observe
from headcount.errors import HeadcountError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.estimators.suited import suited
from headcount.metrics import Metric, resolve_metric
from headcount.support.validation import whole_number

Floats = NDArray[np.float64]

METRICS = {
    ONE: ("top-5", "top-10", "mrr", "ndcg@10"),
    SEVERAL: ("recall@10", "ndcg@10", "map"),
}
RATIOS = range(2, REACH + 1)
OURS = (AUTO, "probit-normal", "regression")
LINE = "straight line"
METHODS = {ONE: (*OURS, LINE), SEVERAL: (*OURS, LINE, *MODELS)}
NEAR = 1.1  # times the RMSE of the best other method: what was aimed at
MODELLED = ("recall@10", "ndcg@10")  # where to be better than the model of scores was aimed at
YES, NO = "yes", "no"
CODE = ("metric", "top", "by_rank", "discounted", "reciprocal", "retrieval", "binomial")
SOURCES = (
    *(f"headcount.metrics.{name}" for name in (*CODE, "hypergeometric")),
    *(f"headcount.curves.{name}" for name in ("favorability", "observed", "ranked")),
    "headcount.pilot.ranking",
)


def metrics(
    settings: Settings,
    data: Path | None = None,
    *,
    pilots: int | None = None,
    chosen: Sequence[Place] | None = None,
) -> Results:
    """Hold forecasts of ranking metrics against the truth, on the same pilots for every method.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    data : path, optional
        Folder of the real sets; without it only simulations.
    pilots : int, optional
        Pilots of each kind, at most.
    chosen : sequence of Place, optional
        In place of all.

    Returns
    -------
    Results
        A row for each set, size, metric and method. Under ``summary`` in the details each set and
        metric has a row, with the method that comes nearest to the default or is better.
    """
    most = None if pilots is None else whole_number(pilots, "--pilots", 1)
    wanted = at_most(_every_place(data) if chosen is None else chosen, most)
    work = [(place, repeat) for place in wanted for repeat in range(place.pilots)]
    marks = "-".join([*map(mark, resolve_all(OURS).values()), _code_mark()])
    tasks = [
        Task(f"{NAME}/{place.key}/{repeat}/{marks}", partial(look, place, repeat, settings.seed))
        for place, repeat in work
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    found = list(zip((place for place, _ in work), records, strict=True))
    strata = _strata(found)
    return Results(
        bench=NAME,
        about=_about(len(tasks)),
        seed=settings.seed,
        options={
            "pilots": pilots,
            "ratios": list(RATIOS),
            "sizes": {name: list(sizes) for name, sizes in places.SIZES.items()},
            "documents_a_query": places.DOCUMENTS_A_QUERY,
            "near": NEAR,
        },
        rows=_rows(found),
        details={
            "summary": _summary(strata),
            "refused": _refusals(records),
            "seconds": _seconds(records),
            "pilots": [
                {"answers": answers, "metric": metric, "set": s.family, "k1": s.k1,
                 "rmse": dict(s.errors)}
                for (answers, metric), members in strata.items() for s in members
            ],
        },
        run=run,
    )  # fmt: skip


def _every_place(data: Path | None) -> list[Place]:
    simulated = simulated_places()
    return simulated if data is None else [*simulated, *real_places(data), *graded_places(data)]


def _code_mark() -> str:
    """Return a mark of the code that pilots, truths and our own methods rest on."""
    from importlib import import_module

    whole = hashlib.sha256()
    for name in (*DRAWN_BY[SIMULATIONS], *SOURCES):
        whole.update(ast.dump(ast.parse(inspect.getsource(import_module(name)))).encode())
    for module in (graded, places, score_models):
        whole.update(ast.dump(ast.parse(inspect.getsource(module))).encode())
    return whole.hexdigest()[:8]


# -- one pilot -------------------------------------------------------------------------------------


def look(place: Place, repeat: int, seed: int) -> Record:
    """Draw a pilot, and return what each method says of each metric, and what is so."""
    case = draw_case(place, repeat, seed)
    ks, size = place.k1 * np.array(RATIOS), place.k1
    asked = {name: resolve_metric(name) for name in METRICS[place.answers]}
    said: dict[str, Record] = {name: {} for name in asked}
    refused: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for method, forecast in _forecasts(case, size).items():
        start = time.perf_counter()
        try:
            for name, metric in asked.items():
                values = np.asarray(forecast(ks, metric), dtype=np.float64)
                if not np.isfinite(values).all():
                    raise ValueError("it gave a forecast that is not a number.")
                said[name][method] = [rounded(value) for value in values]
        except (HeadcountError, ValueError, ArithmeticError) as error:
            refused[method] = str(error)
            for values_said in said.values():
                values_said.pop(method, None)
        seconds[method] = round(time.perf_counter() - start, 4)
    observed = observe(case.pilot)
    return {
        "said": said,
        "truth": {name: _listed(case.whole.value(ks, metric)) for name, metric in asked.items()},
        "known": {name: _listed(case.known.value(ks, metric)) for name, metric in asked.items()},
        # Beyond chance, by how much pilots are easier than random sets of their size.
        "gap": {
            name: rounded(observed.value(size, metric) - case.whole.value(size, metric))
            for name, metric in asked.items()
        },
        "refused": refused,
        "seconds": seconds,
    }


def _listed(values: Floats) -> list[float]:
    return [rounded(value) for value in values]


Forecast = Callable[[NDArray[np.int64], Metric], Floats]


def _forecasts(case: Case, size: int) -> dict[str, Forecast]:
    """Return what forecasts a metric, by method; fits are made when first asked for."""
    forecasts: dict[str, Forecast] = {
        name: _by_method(estimator, case) for name, estimator in resolve_all(OURS).items()
    }
    forecasts[LINE] = partial(straight_line, observe(case.pilot), size)
    if case.graded is not None:
        forecasts |= _by_scores(case)
    return forecasts


def _by_method(estimator: Extrapolator, case: Case) -> Forecast:
    """Return a method's forecasts: from one fit, or from one for each metric where it must."""
    fits: dict[str, Extrapolator] = {}

    def forecast(ks: NDArray[np.int64], metric: Metric) -> Floats:
        name = "" if case.pilot.ranking is None else metric.name
        if name not in fits:
            fits[name] = suited(estimator, case.pilot).fit(case.pilot)
        return fits[name].value(ks, metric)

    return forecast


def _by_scores(case: Case) -> dict[str, Forecast]:
    """Return the forecasts of the models of scores; the second builds on the fits of the first."""
    drawn, ranking = case.graded, case.pilot.ranking
    assert drawn is not None and ranking is not None

    @cache
    def bodies() -> list[SkewNormal]:
        return [SkewNormal.fit(row) for row in drawn.rivals]

    @cache
    def chances(model: str) -> Floats:
        laws = bodies() if model == PLAIN else fit_tails(drawn.rivals, bodies())
        return chances_above(laws, drawn.marks)

    def forecast(model: str, ks: NDArray[np.int64], metric: Metric) -> Floats:
        return expected_metric(ranking, chances(model), ks, metric)

    return {model: partial(forecast, model) for model in MODELS}


def straight_line(observed: Observed, size: int, k: Any, metric: Metric) -> Floats:
    """Return what a straight line in log k says, through what was observed at K / 2 and K.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.metrics import ACCURACY
    >>> curve = observe(Pilot.from_losses([0, 0, 0, 3], 8))
    >>> curve.accuracy([4, 8]).round(3).tolist()
    [0.779, 0.75]
    >>> straight_line(curve, 8, [16, 64], ACCURACY).round(3).tolist()
    [0.721, 0.664]
    """
    half = size // 2
    start, end = observed.value([half, size], metric)
    steps = np.log(np.asarray(k) / size) / np.log(size / half)
    return np.clip(end + (end - start) * steps, 0.0, 1.0)


# -- tables ----------------------------------------------------------------------------------------

Found = Sequence[tuple[Place, Record]]


def _rmse(record: Record, metric: str, method: str) -> float | None:
    said = record["known"][metric] if method == ORACLE else record["said"][metric].get(method)
    if said is None:
        return None
    return rounded(np.sqrt(np.mean(np.subtract(said, record["truth"][metric]) ** 2)))


def _strata(found: Found) -> dict[tuple[str, str], list[Stratum]]:
    """Return the errors of all methods for each set and size, by right answers and metric."""
    strata: dict[tuple[str, str], list[Stratum]] = {}
    for (answers, family, k1), members in _by_set(found).items():
        for metric in METRICS[answers]:
            errors = {
                method: [_rmse(record, metric, method) for _, record in members]
                for method in (ORACLE, *METHODS[answers])
            }
            strata.setdefault((answers, metric), []).append(Stratum(answers, family, k1, errors))
    return strata


def _by_set(found: Found) -> dict[tuple[str, str, int], list[tuple[Place, Record]]]:
    return grouped(found, lambda pair: (pair[0].answers, pair[0].family, pair[0].k1))


def _rows(found: Found) -> list[dict[str, Any]]:
    return [
        {"answers": answers, "set": family, "k1": k1, "metric": metric, "method": method}
        | _row([record for _, record in members], metric, method)
        for (answers, family, k1), members in _by_set(found).items()
        for metric in METRICS[answers]
        for method in (*METHODS[answers], ORACLE)
    ]


def _row(records: Sequence[Record], metric: str, method: str) -> dict[str, Any]:
    errors = {method: [_rmse(record, metric, method) for record in records]}
    own = summary([Stratum("", "", None, errors)], method)
    said = [
        record["known"][metric] if method == ORACLE else record["said"][metric][method]
        for record, error in zip(records, errors[method], strict=True)
        if error is not None
    ]
    truths = [
        record["truth"][metric]
        for record, error in zip(records, errors[method], strict=True)
        if error is not None
    ]
    row = {name: own[name] for name in ("pilots", "refused", "rmse", "standard_error")}
    ends: dict[str, Any] = {}
    for ratio in (2, 5, 10, REACH):
        place = RATIOS.index(ratio)
        apart = [a[place] - b[place] for a, b in zip(said, truths, strict=True)]
        ends[f"bias_{ratio}"] = rounded(np.mean(apart)) if apart else None
        ends[f"sd_{ratio}"] = rounded(np.std(apart)) if apart else None
    return row | ends | {
        "truth_2": rounded(np.mean([record["truth"][metric][0] for record in records])),
        f"truth_{REACH}": rounded(np.mean([record["truth"][metric][-1] for record in records])),
        "gap_at_pilot": rounded(np.mean([record["gap"][metric] for record in records])),
        "why_refused": next(
            (r["refused"][method] for r in records if method in r["refused"]), ""
        ),
    }  # fmt: skip


def _summary(strata: Mapping[tuple[str, str], Sequence[Stratum]]) -> list[dict[str, Any]]:
    """Return for each set and metric the mean RMSE of every method, and whether aims are met."""
    return [
        _summary_row(answers, family, metric, members)
        for (answers, metric), whole in strata.items()
        for family, members in grouped(whole, lambda stratum: stratum.family).items()
    ]


def _summary_row(
    answers: str, family: str, metric: str, members: Sequence[Stratum]
) -> dict[str, Any]:
    others = [name for name in METHODS[answers] if name != AUTO]
    ratios = {name: both.ratio() for name in others if (both := paired(members, name)).n}
    best = max(ratios, key=lambda name: ratios[name][0])
    ratio, error = ratios[best]
    row: dict[str, Any] = {"answers": answers, "set": family, "metric": metric}
    for name in (*OURS, LINE, *MODELS, ORACLE):
        row[name] = summary(members, name)["rmse"] if name in (*METHODS[answers], ORACLE) else None
    row |= {
        "best_other": best,
        "ratio": rounded(ratio),
        "ratio_error": None if error is None else rounded(error),
        "near_best": YES if ratio <= NEAR else NO,
    }
    modelled = {name: ratios[name][0] for name in MODELS if name in ratios}
    is_aim = answers == SEVERAL and metric in MODELLED and bool(modelled)
    beaten = all(value < 1 for value in modelled.values())
    return row | {"beats_score_models": (YES if beaten else NO) if is_aim else ""}


def _refusals(records: Sequence[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        for method, why in record["refused"].items():
            counts[f"{method}: {why}"] = counts.get(f"{method}: {why}", 0) + 1
    return counts


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    """Return the mean seconds that a method took for all metrics of a pilot."""
    spent: dict[str, list[float]] = {}
    for record in records:
        for method, value in record["seconds"].items():
            spent.setdefault(method, []).append(value)
    return {method: round(float(np.mean(values)), 3) for method, values in spent.items()}


SHOWN = ("answers", "set", "metric", *OURS, LINE, *MODELS, ORACLE, "best_other", "ratio",
         "ratio_error", "near_best", "beats_score_models")  # fmt: skip
COLUMNS = ("right", "set", "metric", *OURS, "line", "skew-normal", "with tail", ORACLE,
           "best other", "ratio", "s.e.", "near", "beats scores")  # fmt: skip


def _about(n_pilots: int) -> str:
    return (
        f"Forecasts of ranking metrics from {n_pilots:,} random pilots of K classes or documents, "
        "held against the truth: root mean squared error over 2 K, 3 K ... 20 K, averaged over "
        "pilots. The ratio is that of auto to the best other method, on pilots that both answered; "
        f"aimed at: at most {NEAR} everywhere. The oracle knows how the pilot's own probes fare in "
        "the whole set."
    )


# -- picture ---------------------------------------------------------------------------------------


def draw(results: Results) -> Any:
    """Draw the mean RMSE of every method, a panel for each metric and a line for each set."""
    panels = grouped(results.details["summary"], lambda row: (row["answers"], row["metric"]))
    lines = grouped(panels, lambda panel: panel[0])
    columns = max(len(own) for own in lines.values())
    figure = new_figure(1.6 + 2.7 * columns, 0.8 + 2.5 * len(lines))
    axes = figure.subplots(len(lines), columns, squeeze=False, sharex="row")
    for ax in axes.ravel():
        ax.set_visible(False)
    for row, own in zip(axes, lines.values(), strict=True):
        for i, (ax, panel) in enumerate(zip(row, own, strict=False)):
            ax.set_visible(True)
            ax.set_xlabel("mean RMSE, 2 K to 20 K", fontsize=8)
            _panel(ax, panels[panel], labelled=i == 0)
            right = "one right answer" if panel[0] == ONE else "several"
            ax.set_title(f"{resolve_metric(panel[1]).label}, {right}", fontsize=9)
    handles = {
        label: handle
        for ax in axes.ravel()
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=7, frameon=False,
        fontsize=9,
    )  # fmt: skip
    return figure


def _panel(ax: Any, rows: Sequence[Mapping[str, Any]], *, labelled: bool) -> None:
    for i, name in enumerate((*OURS, LINE, *MODELS)):
        dots = [(row[name], y) for y, row in enumerate(rows) if row[name] is not None]
        if dots:
            ax.plot(
                *zip(*dots, strict=True), MARKERS[i], markersize=5, linestyle="", label=name,
                color=COLOURS[i], alpha=0.85,
            )  # fmt: skip
    floors = [(row[ORACLE], y) for y, row in enumerate(rows)]
    ax.plot(*zip(*floors, strict=True), "|", markersize=12, color=GREY, label=ORACLE)
    list_axis(ax, [row["set"] for row in rows], labelled=labelled)
    error_axis(ax)
    ax.tick_params(axis="x", labelsize=8)
