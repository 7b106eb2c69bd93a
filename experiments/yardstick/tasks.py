"""Forecasts from the pilots of the yardstick, as tasks that are done once and judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import product

from experiments.journal import Record
from experiments.methods import Methods, asked, asked_together, rounded, stamp
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
    found: dict[Job, Task] = {}
    for place in places:
        start, code = f"{NAME}/{place.key}", code_mark(place.part)
        found[Job(place, ORACLE, None)] = Task(
            f"{start}/all {place.pilots}/{ORACLE}@{code}", partial(look_up, place, seed)
        )
        counts = {name: min(place.pilots, fewer.get(name, place.pilots)) for name in methods[place]}
        marks = {name: f"{mark(held)}-{code}" for name, held in methods[place].items()}
        for repeat, (name, estimator) in product(range(place.pilots), methods[place].items()):
            at_once = hasattr(estimator, "fit_together")
            if repeat < counts[name] and not at_once:
                found[Job(place, name, repeat)] = Task(
                    f"{start}/{repeat}/{name}@{marks[name]}",
                    partial(forecast_one, place, estimator, repeat, seed),
                )
            elif repeat == 0:
                found[Job(place, name, None)] = Task(
                    f"{start}/all {counts[name]}/{name}@{marks[name]}",
                    partial(forecast_all, place, estimator, counts[name], seed),
                )
    return found


def forecast_one(place: Place, estimator: Extrapolator, repeat: int, seed: int) -> Record:
    """Forecast from one pilot."""
    held = case(place, repeat, seed)
    said = asked(estimator, held.pilot, held.ks.tolist(), _method_seed(place, repeat, seed))
    return judged(said, held)


def forecast_all(place: Place, estimator: Extrapolator, pilots: int, seed: int) -> Record:
    """Forecast from all pilots of a place, by a method that takes them at once."""
    held = [case(place, repeat, seed) for repeat in range(pilots)]
    seeds = [_method_seed(place, repeat, seed) for repeat in range(pilots)]
    if len({tuple(one.ks) for one in held}) > 1:  # problems of several sizes
        pairs = zip(held, seeds, strict=True)
        said = [asked(estimator, one.pilot, one.ks.tolist(), own) for one, own in pairs]
    else:
        together = [one.pilot for one in held]
        said = asked_together(estimator, together, held[0].ks.tolist(), seeds)
    records = [judged(one, known) for one, known in zip(said, held, strict=True)]
    return {"repeats": records, AGAIN: any(record.get(AGAIN, False) for record in records)}


def look_up(place: Place, seed: int) -> Record:
    """Return what an oracle would say from each pilot."""
    records = []
    for repeat in range(place.pilots):
        held = case(place, repeat, seed)
        said = {"accuracy": held.oracle, "notes": [], "seconds": None}
        size = {"k1": held.pilot.n_classes, "probes": held.pilot.n_probes}
        records.append(judged(said, held) | size)
    return {"repeats": records}


def judged(said: Record, held: Case) -> Record:
    """Return an answer's errors in place of the answer."""
    rest = {name: value for name, value in said.items() if name != "accuracy"}
    if "accuracy" not in said:
        return rest
    last = float(said["accuracy"][-1] - held.truth[-1])
    return rest | {"rmse": rounded(held.rmse(said["accuracy"])), "error": rounded(last)}


def _method_seed(place: Place, repeat: int, seed: int) -> int:
    return seed_for(seed, NAME, "method", place.part, place.family, place.k1, repeat)


def mark(estimator: Extrapolator) -> str:
    """Return a mark of a method: its options, its code and, where it has learned, its weights."""
    whole = hashlib.sha256(stamp(estimator).encode())
    if estimator.alias == "auto":
        whole.update((files("headcount.estimators.auto") / FILE).read_bytes())
    return whole.hexdigest()[:8]
