"""The yardstick: the default forecast beside every published method.

Random pilots of (a) the simulations of paper 001, (b) real sets, whose observed curve is the truth,
and (c) random problems of our own, from families that the default learned on and from families
held out. What is judged is the root mean squared error over all k from 2 on, averaged over pilots;
the *oracle*, to whom every pilot probe's U is known, is the floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.journal import Record
from experiments.methods import Methods, rounded
from experiments.results import Results
from experiments.runner import JOURNAL, Settings, conduct
from experiments.shelf import Shelf, same_pilots
from experiments.yardstick import targets as judge
from experiments.yardstick.places import (
    HELD_OUT,
    NAME,
    PROBLEMS,
    REAL,
    SIMULATIONS,
    Place,
    chosen_parts,
    problem_places,
    real_places,
    simulated_places,
)
from experiments.yardstick.targets import AUTO, CLEANEX, Stratum
from experiments.yardstick.tasks import ORACLE, Job, tasks
from headcount.errors import ParameterError
from headcount.estimators.registry import resolve_all
from headcount.support.validation import whole_number

METHODS = (AUTO, "probit-normal", *judge.PUBLISHED)
STAND_IN = "cleanex-fast"
KEPT_HERE = "cleanex.jsonl"

# What each method answered at each place, pilot by pilot.
Answers = dict[Place, dict[str, list[Record]]]


def methods_named(names: Sequence[str]) -> dict[str, Any]:
    """Return estimators by name; "auto" is the learned default, whatever the default may be."""
    from headcount.estimators.auto.auto import Auto

    return {
        name: Auto() if name == AUTO else estimator
        for name, estimator in resolve_all(names).items()
    }


def compare(
    settings: Settings,
    *,
    data: Path | None = None,
    parts: Sequence[str] | None = None,
    methods: Methods | None = None,
    fewer: Mapping[str, int] | None = None,
    pilots: int | None = None,
    journals: Sequence[Path] | None = None,
    places: Sequence[Place] | None = None,
) -> Results:
    """Hold forecasts against the truth, on the same pilots for every method.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    data : path, optional
        Folder of the real sets.
    parts : sequence of str, optional
        Of ``simulations``, ``real``, ``problems`` and ``held-out``; by default all that there are
        data for.
    methods : mapping, optional
        Estimators by name. By default the default, probit-normal and the published ones, of which
        CleaneX is not run: `cleanex-fast` stands in where no rows of it are kept, though not on
        random problems.
    fewer : mapping, optional
        Smaller numbers of pilots of each place for slow methods, by name.
    pilots : int, optional
        Pilots of each place, at most.
    journals : sequence of path, optional
        Journals of other runs, of `python -m experiments cleanex` or of this command, that hold
        rows of CleaneX for the same pilots; those are not done again. By default ``cleanex.jsonl``
        in the folder of the results and the journal of `python -m experiments cleanex` beside that
        folder.
    places : sequence of Place, optional
        In place of all those of the parts.

    Returns
    -------
    Results
        A row for each place and method. Under ``groups`` in the details are the means over each
        part, under ``families`` the default beside the best published method of each family, under
        ``targets`` what was aimed at.
    """
    named, fewer = methods is not None, dict(fewer or {})
    wanted = methods_named(METHODS) if methods is None else dict(methods)
    _check(wanted, fewer, named)
    run_parts = chosen_parts(parts, data)
    chosen_places = _places(run_parts, data) if places is None else list(places)
    if pilots is not None:
        most = whole_number(pilots, "--pilots", 1)
        chosen_places = [replace(p, pilots=min(p.pilots, most)) for p in chosen_places]
    shelves = _shelves(settings, journals)
    place_methods = {
        place: methods_to_run(place, wanted, named, shelves, fewer) for place in chosen_places
    }  # fmt: skip
    work = tasks(chosen_places, place_methods, fewer, settings.seed)
    # All that outcomes depend on is in the keys, so that parts can be run one after another.
    records, run = conduct(NAME, list(work.values()), {}, settings)
    answers = _collected(chosen_places, place_methods, dict(zip(work, records, strict=True)))
    # What an earlier run into the same folder says about CleaneX counts too.
    own_shelf = Shelf.read(settings.output / JOURNAL, settings.seed)
    origins, left_out = _add_kept(answers, [*shelves, own_shelf])
    strata = [
        Stratum(
            p.part, p.family, p.k1, {n: [r.get("rmse") for r in rs] for n, rs in by_method.items()}
        )
        for p, by_method in answers.items()
    ]
    return Results(
        bench=NAME,
        about=_about(strata),
        seed=settings.seed,
        options={
            "parts": list(dict.fromkeys(place.part for place in chosen_places)),
            "methods": list(wanted),
            "fewer_pilots": fewer,
            "pilots": pilots,
        },
        rows=[_row(place, name, answered, origins) for place, by_method in answers.items()
              for name, answered in by_method.items()],
        details={
            "groups": judge.groups(strata),
            "targets": judge.targets(strata),
            "families": judge.families(strata),
            "families_by_size": judge.families(strata, by_size=True),
            "kept": [{"place": p.key, "method": n, "from": origin}
                     for (p, n), origin in origins.items()],
            "left_out": left_out,
            "notes": _notes(answers),
            "pilots": [_detail(stratum) for stratum in strata],
        },
        run=run,
    )  # fmt: skip


def _places(parts: Sequence[str], data: Path | None) -> list[Place]:
    places: list[Place] = []
    for part in parts:
        if part == SIMULATIONS:
            places += simulated_places()
        elif part == REAL:
            assert data is not None  # checked with the parts
            places += real_places(data)
        else:
            places += problem_places(part)
    return places


def _check(methods: Mapping[str, Any], fewer: Mapping[str, int], named: bool) -> None:
    for name, count in fewer.items():
        whole_number(count, "--fewer-pilots", 1)
        if name not in methods and (named or name != STAND_IN):
            raise ParameterError(f"--fewer-pilots names {name!r}, which is not among the methods.")


def methods_to_run(
    place: Place,
    methods: Methods,
    named: bool,
    shelves: Sequence[Shelf],
    fewer: Mapping[str, int],
) -> dict[str, Any]:
    """Return the methods to run at a place: not CleaneX where its rows are kept."""

    def is_kept(name: str) -> bool:
        count = min(place.pilots, fewer.get(name, place.pilots))
        return any(len(_find(shelf, place, name)[0]) >= count for shelf in shelves)

    chosen = {
        name: estimator
        for name, estimator in methods.items()
        if name not in CLEANEX or not is_kept(name)
    }
    is_random = place.part in (PROBLEMS, HELD_OUT)
    if not named and not is_random and not any(is_kept(name) for name in CLEANEX):
        chosen |= resolve_all([STAND_IN])
    return chosen


# -- rows of CleaneX from other runs ---------------------------------------------------------------


def _find(shelf: Shelf, place: Place, method: str) -> tuple[list[Record], str]:
    return shelf.find((f"{NAME}/{place.key}", place.other_key), method, place.pilots)


def _shelves(settings: Settings, journals: Sequence[Path] | None) -> list[Shelf]:
    if journals is None:
        usual = (settings.output / KEPT_HERE, settings.output.parent / "cleanex" / JOURNAL)
        read = [Shelf.read(path, settings.seed) for path in usual if path.exists()]
        return [shelf for shelf in read if shelf is not None]
    shelves = []
    for path in journals:
        shelf = Shelf.read(path, settings.seed)
        if shelf is None:
            raise ParameterError(
                f"{path.name} was made with another seed, so its pilots are others; "
                "name another --cleanex, or run with its seed."
            )
        shelves.append(shelf)
    return shelves


def _add_kept(
    answers: Answers, shelves: Iterable[Shelf | None]
) -> tuple[dict[tuple[Place, str], str], list[str]]:
    """Add kept rows of CleaneX where there are none; say whence, and which are of other pilots.

    That pilots are the same is seen from the oracle, whose errors must be the same then.
    """
    origins: dict[tuple[Place, str], str] = {}
    left_out: list[str] = []
    for shelf in shelves:
        if shelf is None:
            continue
        for place, by_method in answers.items():
            for name in CLEANEX:
                records, mark = _find(shelf, place, name)
                if not records or name in by_method:
                    continue
                oracle = _find(shelf, place, ORACLE)[0]
                if not same_pilots(oracle, by_method[ORACLE], len(records)):
                    left_out.append(f"{place.key}/{name} in {shelf.name}")
                    continue
                by_method[name] = records
                origins[place, name] = f"{shelf.name}, {name}@{mark}"
    return origins, left_out


# -- tables ----------------------------------------------------------------------------------------


def _collected(
    places: Sequence[Place], methods: Mapping[Place, Methods], records: Mapping[Job, Record]
) -> Answers:
    answers: Answers = {place: {name: [] for name in (ORACLE, *methods[place])} for place in places}
    # Tasks of one method and place were set up in the order of the pilots.
    for job, record in records.items():
        answers[job.place][job.method] += [record] if job.repeat is not None else record["repeats"]
    return answers


def _row(
    place: Place, method: str, records: Sequence[Record], origins: Mapping[tuple[Place, str], str]
) -> dict[str, Any]:
    errors = {method: [record.get("rmse") for record in records]}
    summary = judge.summary([Stratum(place.part, place.family, place.k1, errors)], method)
    del summary["auto_there"]  # it is the only method here
    answers = [record for record in records if "rmse" in record]
    seconds = [record["seconds"] for record in answers if record["seconds"] is not None]
    return {
        "part": place.part,
        "family": place.family,
        "k1": place.k1,
        "k2": place.k2,
        "method": method,
        **summary,
        "error_at_k2": rounded(np.mean([r["error"] for r in answers])) if answers else None,
        "seconds": round(float(np.mean(seconds)), 4) if seconds else None,
        "taken_from": origins.get((place, method), ""),
        "why_refused": next((r["refused"] for r in records if "refused" in r), ""),
    }


def _detail(stratum: Stratum) -> dict[str, Any]:
    return {
        "part": stratum.part,
        "family": stratum.family,
        "k1": stratum.k1,
        "rmse": {name: list(values) for name, values in stratum.errors.items()},
    }


def _notes(answers: Answers) -> list[str]:
    notes = {
        note
        for by_method in answers.values()
        for records in by_method.values()
        for record in records
        for note in record.get("notes", ())
    }
    return sorted(notes)[:20]


def _about(strata: Sequence[Stratum]) -> str:
    total = sum(len(stratum.errors[ORACLE]) for stratum in strata)
    return (
        f"Forecasts from {total:,} random pilots of {len(strata)} kinds, held against the truth: "
        "root mean squared error over all numbers of classes from 2 on, averaged over pilots. "
        "auto_there is the mean of auto on the pilots that a method answered; the oracle knows "
        "the favorability of every probe of the pilot."
    )
