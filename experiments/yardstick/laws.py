"""The default on laws of U and worlds of classes that are hard for it, named before it was frozen.

Half of the probes unbeatable, beta laws, log-normal difficulty, mixtures, hubs, binary codes, close
relatives: what issues complained of, from pilots of 50 to 3,000 classes up to 20 times as many
(`experiments.yardstick.worlds`). Errors are held against those of `probit-normal` on the same
pilots and of the *oracle*, who knows every pilot probe's U.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.figures import (
    COLOURS,
    GREY,
    MARKERS,
    error_axis,
    list_axis,
    new_figure,
    plain,
)
from experiments.journal import Record
from experiments.methods import forecast_record, rounded
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from experiments.yardstick import worlds
from experiments.yardstick.kept_aside import AUTO, RATIOS, SHARES, limits_and_step, shares
from experiments.yardstick.places import few_classes
from experiments.yardstick.tasks import ORACLE, mark
from experiments.yardstick.worlds import (
    NAME,
    BetaLaw,
    FlippedCodes,
    LogNormalLaw,
    MixedLaw,
    NoisyCodes,
    Relatives,
    RoundClasses,
    WholeFamilies,
    World,
)
from headcount import Forecast
from headcount.curves.observed import observe
from headcount.errors import ParameterError
from headcount.estimators import resolve
from headcount.estimators.registry import resolve_all
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import asked_classes
from headcount.uncertainty.backtest import Backtest
from headcount.uncertainty.intervals import assess
from headcount.uncertainty.resampling import curve_grid

Floats = NDArray[np.float64]

PLAIN = "probit-normal"  # what errors are held against
METHODS = (AUTO, "bent-normal", PLAIN, "regression", "high-dimensional")
REACH = 20  # times the pilot's classes
CONFIDENCE = 0.9
EACH, WHOLE_HUNDRED = 40, 100  # pilots of a size, where there are several sizes or one
EACH_SIDE = (0.82, 0.97)  # aimed at: the share of intervals that hold, for each law
ALL = "all"


@dataclass(frozen=True)
class Named:
    """A law under its name.

    Attributes
    ----------
    pilots : dict of int to int
        How many are drawn of each number of classes.
    settings : callable
        From that number to the worlds that they are drawn from in turn.
    counted : bool
        Whether it is among all laws together.
    """

    pilots: dict[int, int]
    settings: Callable[[int], tuple[World, ...]]
    counted: bool = True


THREE = dict.fromkeys((50, 200, 1000), EACH)
NEAR = ((0.1, 0.5), (0.2, 0.5), (0.1, 0.35), (0.2, 0.7))  # of relatives; points of a class

LAWS: dict[str, Named] = {
    "half unbeatable": Named({1000: WHOLE_HUNDRED}, lambda k: (BetaLaw(0.5, 1, 50),)),
    "beta": Named({3000: WHOLE_HUNDRED}, lambda k: (BetaLaw(0.0, 0.3, 50, per_class=10),)),
    "log-normal difficulty": Named(
        THREE,
        lambda k: tuple(
            LogNormalLaw(median / k, spread) for median in (0.1, 1.0) for spread in (1.0, 3.0)
        ),
    ),
    "mixtures": Named(
        THREE,
        lambda k: (
            MixedLaw((0.5, 0.5), (0.05 / k, 20 / k), 0.4),
            MixedLaw((0.8, 0.2), (0.2 / k, 0.3), 0.4),
            MixedLaw((0.2, 0.8), (0.01 / k, 1 / k), 0.4),
            MixedLaw((0.4, 0.3, 0.3), (0.02 / k, 0.5 / k, 30 / k), 0.4),
        ),
    ),
    "log-normal noise": Named(
        THREE,
        lambda k: tuple(
            RoundClasses(sigma, probe_spread=spread)
            for sigma, spread in ((0.3, 0.5), (0.5, 0.5), (0.2, 1.0), (0.3, 1.0))
        ),
    ),
    "hard classes": Named(
        THREE,
        lambda k: tuple(
            RoundClasses(sigma, hard_share=share, hard_factor=factor)
            for sigma, share, factor in (
                (0.25, 0.6, 2.5), (0.3, 0.3, 3.0), (0.35, 0.1, 4.0), (0.45, 0.3, 2.0),
            )
        ),
    ),
    "exponential hubs": Named(
        THREE,
        lambda k: tuple(
            RoundClasses(sigma, hub_share=1.0, hub_bias=bias)
            for sigma, bias in ((0.4, 1.5), (0.4, 3.0), (0.5, 1.5), (0.5, 4.5))
        ),
    ),
    "one hub in 200": Named(
        dict.fromkeys((200, 1000), 60),
        lambda k: tuple(
            RoundClasses(sigma, hub_share=0.005, hub_bias=bias)
            for sigma in (0.4, 0.5)
            for bias in (5.0, 10.0)
        ),
    ),
    "flipped bits": Named(
        THREE,
        lambda k: tuple(
            FlippedCodes(bits, flip)
            for bits, flip in ((24, 0.15), (24, 0.25), (48, 0.25), (48, 0.32))
        ),
    ),
    "noisy codes": Named(
        THREE,
        lambda k: tuple(
            NoisyCodes(bits, sigma) for bits, sigma in ((12, 0.6), (12, 0.9), (14, 0.7), (14, 1.0))
        ),
    ),
    "close relatives": Named(
        dict.fromkeys((50, 200), 60), lambda k: tuple(Relatives(*near) for near in NEAR)
    ),
    # Documented as what must not be done: such families have to be named. Not among "all".
    "whole families unnamed": Named(
        {150: WHOLE_HUNDRED}, lambda k: tuple(WholeFamilies(*near) for near in NEAR), counted=False
    ),
}  # fmt: skip


def laws(
    settings: Settings,
    *,
    names: Sequence[str] | None = None,
    methods: Sequence[str] = METHODS,
    pilots: int | None = None,
    laws_by_name: Mapping[str, Named] = LAWS,
) -> Results:
    """Forecast from random pilots of laws whose truth is known.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    names : sequence of str, optional
        Which laws; by default all.
    methods : sequence of str
        Which methods; of `auto` the intervals are judged, too.
    pilots : int, optional
        Pilots of each law and size, at most.
    laws_by_name : mapping
        What there is to choose from.

    Returns
    -------
    Results
        A row for each law and method over all its sizes, and one for each size; the shares of
        intervals of `auto` that hold are in the rows of `auto`.
    """
    chosen = {
        validation.choice(name, "--laws", tuple(laws_by_name)): laws_by_name[name]
        for name in (laws_by_name if names is None else names)
    }
    if not chosen:
        raise ParameterError("no law is named; leave --laws out for all of them.")
    marks = "-".join(mark(estimator) for estimator in resolve_all(list(methods)).values())
    places = [
        (name, k1, repeat)
        for name, law in chosen.items()
        for k1, count in law.pilots.items()
        for repeat in range(min(count, pilots or count))
    ]
    tasks = [
        Task(
            f"{NAME}/{name}/{k1}/{repeat}/{world}/{marks}@{code_mark()}",
            partial(look, world, name, k1, repeat, tuple(methods), settings.seed),
        )
        for name, k1, repeat in places
        for world in (world_of(chosen[name], k1, repeat),)
    ]
    records, run = conduct(NAME, tasks, {}, settings)
    by_size: dict[tuple[str, int], list[Record]] = {}
    by_law: dict[str, list[Record]] = {}
    for (name, k1, _), record in zip(places, records, strict=True):
        by_size.setdefault((name, k1), []).append(record)
        by_law.setdefault(name, []).append(record)
    counted = [record for name, own in by_law.items() if chosen[name].counted for record in own]
    summary = by_law | ({ALL: counted} if counted else {})
    return Results(
        bench=NAME,
        about=_about(len(records), len(chosen)),
        seed=settings.seed,
        options={"laws": list(chosen), "methods": list(methods), "pilots": pilots},
        rows=[
            {"law": name, "k1": None} | row
            for name, own in summary.items()
            for row in _rows(methods, own)
        ]
        + [
            {"law": name, "k1": k1} | row
            for (name, k1), own in by_size.items()
            for row in _rows(methods, own)
        ],
        details={"settings": _settings(places, chosen, records)},
        run=run,
    )


def world_of(law: Named, k1: int, repeat: int) -> World:
    """Return what a pilot is drawn from: settings take turns."""
    options = law.settings(k1)
    return options[repeat % len(options)]


def look(
    world: World, name: str, k1: int, repeat: int, methods: Sequence[str], seed: int
) -> Record:
    """Draw a pilot and return the errors of all methods, and how intervals of `auto` fare."""
    pilot_seed = seed_for(seed, NAME, "pilot", name, k1, repeat)
    drawn = world.draw(np.random.default_rng(pilot_seed), k1, seed)
    ks, weights = few_classes(REACH * k1)
    asked = [ratio * k1 for ratio in RATIOS]
    truth = drawn.truth(ks)

    def error(values: Any) -> float:
        gaps = np.asarray(values) - truth
        return rounded(np.sqrt(np.average(gaps**2, weights=weights)))

    record: Record = {"rmse": {}, "last": {}, "refused": {}}
    if drawn.oracle is not None:
        record["rmse"][ORACLE] = error(drawn.oracle(ks))
    for method, estimator in resolve_all([name for name in methods if name != AUTO]).items():
        answer = forecast_record(estimator, drawn.pilot, ks.tolist(), pilot_seed)
        if "accuracy" in answer:
            record["rmse"][method] = error(answer["accuracy"])
            record["last"][method] = rounded(answer["accuracy"][-1] - truth[-1])
        else:
            record["refused"][method] = answer["refused"]
    true = drawn.truth(asked)
    if AUTO not in methods:
        return record | {"truth": [rounded(value) for value in true]}
    result = untested_forecast(drawn.pilot, ks)
    values = result.accuracy(ks)
    record["rmse"][AUTO] = error(values)
    record["last"][AUTO] = rounded(values[-1] - truth[-1])
    return record | limits_and_step(result, asked, true)


def untested_forecast(pilot: Pilot, classes: Any) -> Forecast:
    """Return what `headcount.forecast` says by `auto`, less its back-test and its checks.

    Intervals for the expected accuracy are what they are with it, as they rest on plausible laws.
    """
    asked = asked_classes(classes)
    estimator, observed = resolve(AUTO).fit(pilot), observe(pilot)
    grid = curve_grid(pilot.n_classes)
    measured = float(observed.accuracy(pilot.n_classes))
    untested = Backtest(pilot.n_classes, AUTO, measured, (), grid, np.empty((0, len(grid))))
    return Forecast(
        observed=observed,
        law=estimator.law(asked),
        classes=asked,
        n_probes=pilot.n_probes,
        method=AUTO,
        confidence=CONFIDENCE,
        backtest=untested,
        uncertainty=assess(pilot, untested, estimator),
    )


@lru_cache(maxsize=1)
def code_mark() -> str:
    """Return a mark of the code that pilots are drawn by; not of its comments."""
    source = inspect.getsource(worlds)
    return hashlib.sha256(ast.dump(ast.parse(source)).encode()).hexdigest()[:4]


# -- tables ----------------------------------------------------------------------------------------


def _rows(methods: Sequence[str], records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return a row for each method: errors, and what they are of others' on the same pilots."""
    rows = []
    for name in (ORACLE, *methods):
        errors = [record["rmse"][name] for record in records if name in record["rmse"]]
        last = [record["last"][name] for record in records if name in record["last"]]
        to_oracle, _ = ratio_of_errors(records, name, ORACLE)
        to_plain, error_of_ratio = ratio_of_errors(records, name, PLAIN)
        rows.append(
            {
                "method": name,
                "pilots": len(errors),
                "rmse": rounded(np.mean(errors)) if errors else None,
                "to_oracle": to_oracle,
                "to_probit_normal": to_plain,
                "error_of_ratio": error_of_ratio,
                "bias_20": rounded(np.mean(last)) if last else None,
                **(shares(records) if name == AUTO else dict.fromkeys(SHARES)),
                "why_refused": next(
                    (r["refused"][name] for r in records if name in r["refused"]), ""
                ),
            }
        )
    return rows


def ratio_of_errors(
    records: Sequence[Record], name: str, other: str
) -> tuple[float | None, float | None]:
    """Return the ratio of two methods' mean errors on the same pilots, and its standard error.

    Examples
    --------
    >>> pilots = [{"rmse": {"a": 1.0, "b": 2.0}}, {"rmse": {"a": 2.0, "b": 2.0}}]
    >>> ratio_of_errors(pilots, "a", "b")
    (0.75, 0.25)
    """
    pairs = np.array(
        [
            (record["rmse"][name], record["rmse"][other])
            for record in records
            if {name, other} <= record["rmse"].keys()
        ]
    )
    if not len(pairs) or pairs[:, 1].sum() == 0:
        return None, None
    ratio = pairs[:, 0].sum() / pairs[:, 1].sum()
    if len(pairs) < 2:
        return rounded(ratio), None
    apart = np.std(pairs[:, 0] - ratio * pairs[:, 1], ddof=1) / np.sqrt(len(pairs))
    return rounded(ratio), rounded(apart / pairs[:, 1].mean())


def _settings(
    places: Sequence[tuple[str, int, int]],
    chosen: Mapping[str, Named],
    records: Sequence[Record],
) -> list[dict[str, Any]]:
    """Return what pilots were drawn from, and what is true there (of the first pilot)."""
    first: dict[tuple[str, int, World], Record] = {}
    for (name, k1, repeat), record in zip(places, records, strict=True):
        first.setdefault((name, k1, world_of(chosen[name], k1, repeat)), record)
    return [
        {"law": name, "k1": k1, "world": repr(world), "truth": record["truth"]}
        for (name, k1, world), record in first.items()
    ]


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """Return the rows over all sizes of a law."""
    return [row for row in results.rows if row["k1"] is None]


def draw(results: Results) -> Any:
    """Draw errors relative to those of probit-normal, and the shares of intervals that hold."""
    rows = summary_rows(results)
    names = list(dict.fromkeys(row["law"] for row in rows))
    figure = new_figure(9.5, 1.6 + 0.32 * len(names))
    left, right = figure.subplots(1, 2)
    methods = list(dict.fromkeys(row["method"] for row in rows if row["method"] != PLAIN))
    for i, method in enumerate(methods):
        points = {row["law"]: row["to_probit_normal"] for row in rows if row["method"] == method}
        shown = [(points[name], y) for y, name in enumerate(names) if points[name] is not None]
        if shown:
            left.plot(*zip(*shown, strict=True), MARKERS[i], color=COLOURS[i], label=method)
    left.axvline(1.0, color=GREY, linewidth=0.8)
    list_axis(left, names)
    error_axis(left)
    left.set_xlabel("mean RMSE / that of probit-normal")
    held = {row["law"]: row for row in rows if row["method"] == AUTO}
    right.axvspan(*EACH_SIDE, color=GREY, alpha=0.15)
    for i, ratio in enumerate(RATIOS):
        values = [held[name][f"holds_{ratio}"] if held else None for name in names]
        shown = [(value, y) for y, value in enumerate(values) if value is not None]
        if shown:
            right.plot(*zip(*shown, strict=True), MARKERS[i], color=COLOURS[i], label=f"{ratio} K")
    list_axis(right, names, labelled=False)
    plain(right)
    right.set_xlabel("share of 90% intervals of auto that hold")
    for ax in (left, right):
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False,
                      fontsize=8)  # fmt: skip
    return figure


def _about(n_pilots: int, n_laws: int) -> str:
    return (
        f"Forecasts from {n_pilots:,} random pilots of {n_laws} laws and worlds that are hard to "
        f"forecast: root mean squared error over all numbers of classes from 2 to {REACH} times "
        f"the pilot's, its ratio to that of every U known (the oracle) and of {PLAIN}, the mean "
        f"error at {REACH} times, how many nominal {CONFIDENCE:.0%} intervals of the default hold "
        "at 1, 2, 5, 10 and 20 times the pilot's classes, and the 95th percentile of its step at "
        "the pilot's size in standard errors."
    )
