"""Forecasts from the pilots of the yardstick, as tasks that are done once and judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import product

from experiments.journal import Record
from experiments.methods import Methods, forecast_record, forecast_records, rounded, stamp
from experiments.runner import AGAIN, Task, seed_for
from experiments.yardstick.places import NAME, Case, Place, case, code_mark
from headcount.estimators import Extrapolator
from headcount.estimators.auto.network import FILE

ORACLE = "oracle"


@dataclass(frozen=True)
class Job:
    """What one task forecasts: one pilot, or all of a place where that is one piece of work."""

    place: Place
    method: str
    repeat: int | None


def tasks(
    places: Sequence[Place],
    methods: Mapping[Place, Methods],
    fewer: Mapping[str, int],
    seed: int,
) -> dict[Job, Task]:
    """Return all tasks; those of one pilot next to each other, as drawing it takes time.

    Parameters
    ----------
    places : sequence of Place
        Where pilots come from.
    methods : mapping
        Estimators by name, for each place.
    fewer : mapping
        Smaller numbers of pilots for slow methods, by name.
    seed : int
        The run's.
    """
    by_job: dict[Job, Task] = {}
    for place in places:
        start, code = f"{NAME}/{place.key}", code_mark(place.part)
        by_job[Job(place, ORACLE, None)] = Task(
            f"{start}/all {place.pilots}/{ORACLE}@{code}", partial(look_up, place, seed)
        )
        counts = {name: min(place.pilots, fewer.get(name, place.pilots)) for name in methods[place]}
        marks = {name: f"{mark(estimator)}-{code}" for name, estimator in methods[place].items()}
        for repeat, (name, estimator) in product(range(place.pilots), methods[place].items()):
            at_once = hasattr(estimator, "fit_together")
            if repeat < counts[name] and not at_once:
                by_job[Job(place, name, repeat)] = Task(
                    f"{start}/{repeat}/{name}@{marks[name]}",
                    partial(forecast_one, place, estimator, repeat, seed),
                )
            elif repeat == 0:
                by_job[Job(place, name, None)] = Task(
                    f"{start}/all {counts[name]}/{name}@{marks[name]}",
                    partial(forecast_all, place, estimator, counts[name], seed),
                )
    return by_job


def forecast_one(place: Place, estimator: Extrapolator, repeat: int, seed: int) -> Record:
    """Forecast from one pilot."""
    pilot_case = case(place, repeat, seed)
    record = forecast_record(
        estimator, pilot_case.pilot, pilot_case.ks.tolist(), _method_seed(place, repeat, seed)
    )
    return with_errors(record, pilot_case)


def forecast_all(place: Place, estimator: Extrapolator, pilots: int, seed: int) -> Record:
    """Forecast from all pilots of a place, by a method that takes them at once."""
    cases = [case(place, repeat, seed) for repeat in range(pilots)]
    seeds = [_method_seed(place, repeat, seed) for repeat in range(pilots)]
    if len({tuple(pilot_case.ks) for pilot_case in cases}) > 1:  # problems of several sizes
        pairs = zip(cases, seeds, strict=True)
        answers = [
            forecast_record(estimator, pilot_case.pilot, pilot_case.ks.tolist(), method_seed)
            for pilot_case, method_seed in pairs
        ]
    else:
        together = [pilot_case.pilot for pilot_case in cases]
        answers = forecast_records(estimator, together, cases[0].ks.tolist(), seeds)
    records = [
        with_errors(answer, pilot_case) for answer, pilot_case in zip(answers, cases, strict=True)
    ]
    return {"repeats": records, AGAIN: any(record.get(AGAIN, False) for record in records)}


def look_up(place: Place, seed: int) -> Record:
    """Return what an oracle would say from each pilot."""
    records = []
    for repeat in range(place.pilots):
        pilot_case = case(place, repeat, seed)
        record = {"accuracy": pilot_case.oracle, "notes": [], "seconds": None}
        size = {"k1": pilot_case.pilot.n_classes, "probes": pilot_case.pilot.n_probes}
        records.append(with_errors(record, pilot_case) | size)
    return {"repeats": records}


def with_errors(record: Record, pilot_case: Case) -> Record:
    """Return an answer's errors in place of the answer."""
    details = {name: value for name, value in record.items() if name != "accuracy"}
    if "accuracy" not in record:
        return details
    last = float(record["accuracy"][-1] - pilot_case.truth[-1])
    return details | {"rmse": rounded(pilot_case.rmse(record["accuracy"])), "error": rounded(last)}


def _method_seed(place: Place, repeat: int, seed: int) -> int:
    return seed_for(seed, NAME, "method", place.part, place.family, place.k1, repeat)


def mark(estimator: Extrapolator) -> str:
    """Return a mark of a method: its options, its code and, where it has learned, its weights."""
    whole = hashlib.sha256(stamp(estimator).encode())
    if estimator.alias == "auto":
        whole.update((files("headcount.estimators.auto") / FILE).read_bytes())
    return whole.hexdigest()[:8]
