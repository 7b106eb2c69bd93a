"""CleaneX, regression and kernel densities compared: figures 2 to 6 of paper 001.

Slavutsky and Benjamini, *Predicting classification accuracy when adding new unobserved classes*
(§5 and Appendix B): random pilots of k1 classes of one large population, and the whole accuracy
curve 2 <= k <= k2 forecast from each. What is judged is the root mean squared error over all k
against the average accuracy of the population.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.journal import Record
from experiments.methods import (
    Methods,
    check_fewer,
    forecast_record,
    forecast_records,
    rounded,
    stamp,
)
from experiments.papers.cleanex_populations import (
    DECODING,
    FACES,
    LAWS,
    NAME,
    PILOTS,
    Source,
    chosen_parts,
    draw_pilot,
    face_file,
    oracle,
    places,
    population,
    sources,
)
from experiments.results import Results
from experiments.runner import AGAIN, Settings, Task, conduct, seed_for
from experiments.shelf import Shelf, same_pilots
from headcount.curves.observed import observe
from headcount.errors import DataError, ParameterError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.support.validation import whole_number
from headcount.support.words import counted

# Paper 001 names pseudolikelihood cross-validation for the bandwidth of KDE, and R's default, which
# is nrd0; "ucv", our default, is that of the authors' R code for 000. All three are run.
METHODS = (
    "cleanex",
    "cleanex-fast",
    "regression",
    "kde",
    "kde:bandwidth=pseudolikelihood",
    "kde:bandwidth=nrd0",
    "auto",
)
# Percentages by which 001 says (§5.2) CleaneX has a lower RMSE than another method; where it has a
# higher one, the other method has the RMSE that is lower by so much. CIFAR-100 is not at hand.
PRINTED = (
    ("cifar", "regression", 18),
    (FACES, "regression", 32),
    (DECODING, "regression", 22),
    ("cifar", "kde", 7),
    (DECODING, "kde", 73),
    (FACES, "kde", -38),
)
NETWORKS = ("cleanex", "cleanex-fast")
ORACLE = "oracle"
GROUP = ("experiment", "k1", "k2", "method")
REPEATS = 10
LARGE = 500  # classes in the pilot, from where on slow methods may have fewer repeats
CURVE_POINTS = 40

Floats = NDArray[np.float64]
Place = tuple[Source, int]
# What each method said in each place, repeat by repeat.
Answers = dict[Place, dict[str, list[Record]]]


@dataclass(frozen=True)
class Job:
    """What one task forecasts: one repeat, or all of them where that is one piece of work."""

    place: Place
    method: str
    repeat: int | None


def cleanex(
    settings: Settings,
    *,
    parts: Sequence[str] | None = None,
    faces: Path | None = None,
    methods: Methods | None = None,
    repeats: int = REPEATS,
    n_classes: int = 2000,
    decoding_classes: int = 1000,
    pilot_classes: Mapping[str, Sequence[int]] = PILOTS,
    laws: Sequence[str] = LAWS,
    fewer: Mapping[str, int] | None = None,
    kept: Path | None = None,
) -> Results:
    """Forecast whole populations from random pilots of them.

    Every method sees the same pilots. A method that refuses a pilot is judged on the others, and
    how many it refused is told. The *oracle* is what the pilot's probes really score among all
    classes of the population: the error that a perfect method would have left.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    parts : sequence of str, optional
        Of ``d5``, ``d3``, ``d10`` (simulations), ``faces`` and ``decoding``; by default all that
        there are data for.
    faces : path, optional
        File of faces, or its folder.
    methods : mapping, optional
        Estimators by name; those of the paper and `cleanex-fast` by default.
    repeats : int
        Random pilots of each population and size.
    n_classes, decoding_classes : int
        Size k2 of simulated populations.
    pilot_classes : mapping
        Sizes k1 of the pilots of each part.
    laws : sequence of str
        Laws of classes and of points, combined with each other.
    fewer : mapping, optional
        Smaller numbers of pilots of 500 classes or more for slow methods, by name.
    kept : path, optional
        Journal of another run of this experiment. Networks are not trained again where it holds
        all their repeats, be it with other versions; the column ``taken_from`` says whence they
        come, with the mark of the code that made them. Refused where its pilots are others.

    Returns
    -------
    Results
        A row for each population, k1 and method; the means over the populations of a part, with
        their standard errors, are under ``groups`` in the details.
    """
    methods = resolve_all(METHODS) if methods is None else methods
    repeats = whole_number(repeats, "--repeats", 1)
    wanted = chosen_parts(parts, faces)
    pairs = places(sources(wanted, faces, n_classes, decoding_classes, laws), pilot_classes)
    shelf, fewer = _shelf(kept, settings.seed), dict(fewer or {})
    check_fewer(fewer, methods)
    tasks = tasks_by_job(pairs, methods, repeats, settings.seed, shelf, fewer)
    # All that outcomes depend on is in the keys, so that parts can be run one after another.
    records, run = conduct(NAME, list(tasks.values()), {}, settings)
    answers, truths = _collected(pairs, methods, dict(zip(tasks, records, strict=True)))
    origins = _add_kept(answers, methods, repeats, shelf)
    rows = [
        _row(place, name, outcomes, origins.get((place, name), ""))
        for place, by_method in answers.items()
        for name, outcomes in by_method.items()
    ]
    return Results(
        bench=NAME,
        about=_about(wanted, repeats),
        seed=settings.seed,
        options={
            "parts": wanted,
            "faces": face_file(faces).name if faces is not None and FACES in wanted else None,
            "methods": list(methods),
            "repeats": repeats,
            "fewer_repeats": fewer,
            "n_classes": n_classes,
            "decoding_classes": decoding_classes,
            "pilot_classes": {part: list(pilot_classes[part]) for part in wanted},
            "laws": list(laws),
        },
        rows=rows,
        details={
            "groups": _groups(rows),
            "percentages": percentages(answers),
            "notes": sorted({note for r in _records(answers) for note in r["notes"]})[:20],
            "places": [
                _detail(place, by_method, truths[place]) for place, by_method in answers.items()
            ],
        },
        run=run | {"devices": _devices(_records(answers))},
    )


def _about(parts: Sequence[str], repeats: int) -> str:
    left_out = "" if FACES in parts else " Faces are left out."
    return (
        f"Root mean squared error of forecasts of the accuracy among all 2 <= k <= k2 classes of "
        f"a population from {counted(repeats, 'random pilot')} of k1, averaged over the "
        "populations of a part (figures 2 to 6 of Slavutsky and Benjamini). The oracle knows how "
        f"the pilot's probes do among all k2 classes.{left_out}"
    )


# -- tasks -----------------------------------------------------------------------------------------


def tasks_by_job(
    pairs: Sequence[Place],
    methods: Methods,
    repeats: int,
    seed: int,
    shelf: Shelf | None = None,
    fewer: Mapping[str, int] | None = None,
) -> dict[Job, Task]:
    """Return the tasks in the order they are best started in: the longest first.

    What a shelf holds is no task.
    """
    marks = {name: stamp(estimator) for name, estimator in methods.items()}
    tasks: dict[Job, Task] = {}
    for place in pairs:
        key = f"{NAME}/{place[0].key}/{place[1]}"
        for name, estimator in methods.items():
            call = (place, estimator, seed)
            if _is_kept(shelf, place, name, estimator, repeats):
                continue
            if hasattr(estimator, "fit_together"):
                tasks[Job(place, name, None)] = Task(
                    f"{key}/all {repeats}/{name}@{marks[name]}",
                    partial(forecast_all, *call, repeats),
                )
                continue
            count = repeats if fewer is None or place[1] < LARGE else fewer.get(name, repeats)
            for i in range(min(repeats, count)):
                tasks[Job(place, name, i)] = Task(
                    f"{key}/{i}/{name}@{marks[name]}", partial(forecast_one, *call, i)
                )
        tasks[Job(place, ORACLE, None)] = Task(
            f"{key}/all {repeats}/{ORACLE}", partial(look_up, place, seed, repeats)
        )

    def haste(job: Job) -> tuple[bool, int]:
        together = job.method != ORACLE and job.repeat is None
        return not together, -job.place[1]

    return {job: tasks[job] for job in sorted(tasks, key=haste)}


def forecast_one(place: Place, estimator: Extrapolator, seed: int, repeat: int) -> Record:
    """Forecast a population from one random pilot, the same for every method."""
    ks = every_k(place[0].n_classes)
    method_seed = _method_seed(place, repeat, seed)
    record = forecast_record(estimator, draw_pilot(*place, repeat, seed), ks.tolist(), method_seed)
    return with_errors(record, population(place[0], seed).truth(ks))


def forecast_all(place: Place, estimator: Extrapolator, seed: int, repeats: int) -> Record:
    """Forecast a population from all its pilots, by a method that takes them at once."""
    ks = every_k(place[0].n_classes)
    pilots = [draw_pilot(*place, i, seed) for i in range(repeats)]
    seeds = [_method_seed(place, i, seed) for i in range(repeats)]
    answers = forecast_records(estimator, pilots, ks.tolist(), seeds)
    truth = population(place[0], seed).truth(ks)
    records = [with_errors(record, truth) for record in answers]
    return {"repeats": records, AGAIN: any(record.get(AGAIN, False) for record in records)}


def look_up(place: Place, seed: int, repeats: int) -> Record:
    """Return the truth, what each pilot observes, and what an oracle would say from it."""
    source, k1 = place
    ks, whole = every_k(source.n_classes), population(source, seed)
    truth, records = whole.truth(ks), []
    for i in range(repeats):
        pilot = draw_pilot(source, k1, i, seed)
        record = {"accuracy": oracle(whole.whole, pilot, ks), "notes": [], "seconds": None}
        curve = observe(pilot).accuracy(curve_classes(k1))
        records.append(with_errors(record, truth) | {"observed": _short(curve), "device": ""})
    return {"truth": _thinned(truth), "repeats": records}


def _method_seed(place: Place, repeat: int, seed: int) -> int:
    return seed_for(seed, NAME, "method", place[0].name, place[1], repeat)


def with_errors(record: Record, truth: Floats) -> Record:
    """Return an answer with its error over all k, and only a few points of its curve."""
    if "accuracy" not in record:
        return {"device": "", **record}
    errors = np.asarray(record["accuracy"]) - truth
    return {"device": "cpu", **record} | {
        "accuracy": _thinned(np.asarray(record["accuracy"])),
        "rmse": rounded(np.sqrt(np.mean(errors**2))),
        "error": rounded(errors[-1]),
    }


def every_k(n_classes: int) -> NDArray[np.int64]:
    """Return all numbers of classes from 2."""
    return np.arange(2, n_classes + 1)


def curve_classes(n_classes: int) -> NDArray[np.int64]:
    """Return numbers of classes from 2, evenly on a log scale: where curves are kept."""
    return np.unique(np.geomspace(2, n_classes, CURVE_POINTS).round().astype(np.int64))


def _thinned(values: Floats) -> list[float]:
    """Return a few points of a curve that starts at two classes."""
    return _short(values[curve_classes(len(values) + 1) - 2])


def _short(values: Floats) -> list[float]:
    return [rounded(value) for value in values]


# -- networks trained in another run ---------------------------------------------------------------


def _shelf(path: Path | None, seed: int) -> Shelf | None:
    if path is None:
        return None
    shelf = Shelf.read(path, seed)
    if shelf is None:
        raise ParameterError(
            f"{path.name} was made with another seed, so its pilots are others; leave --kept out, "
            "or run with its seed."
        )
    return shelf


def _find(shelf: Shelf, place: Place, method: str, repeats: int) -> tuple[list[Record], str]:
    """Return what the shelf holds, whatever mark its file had: the oracle tells other pilots."""
    name = f"{NAME}/{place[0].name}/{place[1]}"
    alike = [key for key, _ in shelf.rows if re.sub(r"@[^/]*", "", key) == name]
    return shelf.find(alike, method, repeats)


def _is_kept(
    shelf: Shelf | None, place: Place, name: str, estimator: Extrapolator, repeats: int
) -> bool:
    """Return whether a method need not run: what is fast is never taken from elsewhere."""
    if shelf is None or not hasattr(estimator, "fit_together"):
        return False
    return len(_find(shelf, place, name, repeats)[0]) == repeats


def _add_kept(
    answers: Answers, methods: Methods, repeats: int, shelf: Shelf | None
) -> dict[tuple[Place, str], str]:
    """Add what the shelf holds to the answers, and say whence it comes."""
    origins: dict[tuple[Place, str], str] = {}
    if shelf is None:
        return origins
    for place, by_method in answers.items():
        for name, estimator in methods.items():
            if not _is_kept(shelf, place, name, estimator, repeats):
                continue
            oracle = _find(shelf, place, ORACLE, repeats)[0]
            if not same_pilots(oracle, by_method[ORACLE], repeats):
                raise DataError(
                    f"{shelf.name} has other pilots of {place[0].name}; leave --kept out."
                )
            by_method[name], mark = _find(shelf, place, name, repeats)
            origins[place, name] = f"{shelf.name}, {name}@{mark}"
    return origins


# -- tables ----------------------------------------------------------------------------------------


def _collected(
    pairs: Sequence[Place], methods: Methods, records: Mapping[Job, Record]
) -> tuple[Answers, dict[Place, list[float]]]:
    """Return outcomes in the order of the tables, and the true curves."""
    answers: Answers = {place: {name: [] for name in (*methods, ORACLE)} for place in pairs}
    # Tasks of one method and place were set up in the order of the repeats.
    for job, record in records.items():
        answers[job.place][job.method] += [record] if job.repeat is not None else record["repeats"]
    return answers, {place: records[Job(place, ORACLE, None)]["truth"] for place in pairs}


def _row(place: Place, method: str, records: Sequence[Record], origin: str) -> dict[str, Any]:
    source, k1 = place
    answers = [record for record in records if "rmse" in record]
    refusals = sorted({record["refused"] for record in records if "refused" in record})
    seconds = [record["seconds"] for record in answers if record["seconds"] is not None]
    return {
        **source.columns(),
        "k1": k1,
        "k2": source.n_classes,
        "method": method,
        "repeats": len(records),
        "refused": len(records) - len(answers),
        **spread([record["rmse"] for record in answers]),
        "error_at_k2": rounded(np.mean([r["error"] for r in answers])) if answers else None,
        "seconds": round(float(np.mean(seconds)), 4) if seconds else None,
        "device": ", ".join(_devices(records)),
        "taken_from": origin,
        "why_refused": refusals[0] if refusals else "",
    }


def percentages(answers: Answers) -> list[dict[str, Any]]:
    """Return by how many per cent CleaneX's mean RMSE is lower than another's, beside the printed.

    Where it is higher: minus the percentage by which the other's is lower. Rows of each CleaneX
    and each bandwidth of KDE; None where a method or the data are not there.
    """
    rows: list[dict[str, Any]] = []
    for experiment, rival, printed in PRINTED:
        here = [by for place, by in answers.items() if place[0].part == experiment]
        names = list(here[0]) if here else []
        rows += [
            {
                "experiment": experiment,
                "method": ours,
                "than": theirs,
                "printed": printed,
                "ours": _lower_by(here[0][ours], here[0][theirs]) if here else None,
            }
            for ours in [n for n in names if n.split(":")[0] in NETWORKS] or NETWORKS[:1]
            for theirs in [n for n in names if n.split(":")[0] == rival] or [rival]
            if not here or {ours, theirs} <= set(names)
        ]
    return rows


def _lower_by(ours: Sequence[Record], theirs: Sequence[Record]) -> float | None:
    pairs = [
        (a["rmse"], b["rmse"])
        for a, b in zip(ours, theirs, strict=False)  # one may have fewer pilots
        if "rmse" in a and "rmse" in b
    ]
    if not pairs:
        return None
    mine, other = np.mean(pairs, axis=0)
    share = 1 - mine / other if mine <= other else other / mine - 1
    return round(100 * float(share), 1)


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Return the mean of some errors, its standard error, the median and the quartiles.

    Examples
    --------
    >>> spread([0.1, 0.2, 0.3, 0.4])  # doctest: +NORMALIZE_WHITESPACE
    {'rmse': 0.25, 'standard_error': 0.06455, 'median': 0.25, 'lower_quartile': 0.175,
     'upper_quartile': 0.325}
    """
    names = ("rmse", "standard_error", "median", "lower_quartile", "upper_quartile")
    if len(values) == 0:
        return dict.fromkeys(names)
    errors = np.asarray(values, dtype=np.float64)
    error = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else None
    middle, low, high = np.quantile(errors, [0.5, 0.25, 0.75])
    return {
        "rmse": rounded(errors.mean()),
        "standard_error": None if error is None else rounded(error),
        "median": rounded(middle),
        "lower_quartile": rounded(low),
        "upper_quartile": rounded(high),
    }


def _groups(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average the rows of each part, k1 and method over the populations of the part."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in GROUP), []).append(row)
    return [_group(members) for members in groups.values()]


def _group(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answered = [row for row in rows if row["rmse"] is not None]
    errors = [row["standard_error"] for row in answered]
    seconds = [row["seconds"] for row in answered if row["seconds"] is not None]
    # Pilots of different populations are independent, so variances of their means add up.
    known = bool(errors) and None not in errors
    return {
        **{name: rows[0][name] for name in GROUP},
        "populations": len(answered),
        "repeats": sum(row["repeats"] for row in rows),
        "refused": sum(row["refused"] for row in rows),
        "rmse": rounded(np.mean([row["rmse"] for row in answered])) if answered else None,
        "standard_error": rounded(np.linalg.norm(errors) / len(errors)) if known else None,
        "seconds": round(float(np.mean(seconds)), 4) if seconds else None,
        "why_refused": next((row["why_refused"] for row in rows if row["why_refused"]), ""),
    }


def _detail(
    place: Place, by_method: Mapping[str, list[Record]], truth: list[float]
) -> dict[str, Any]:
    source, k1 = place
    return {
        **source.columns(),
        "k1": k1,
        "k2": source.n_classes,
        "curve_classes": curve_classes(source.n_classes).tolist(),
        "truth": truth,
        "observed_classes": curve_classes(k1).tolist(),
        "observed": [record["observed"] for record in by_method[ORACLE]],
        "rmse": {
            name: [record.get("rmse") for record in outcomes]
            for name, outcomes in by_method.items()
        },
        "curves": {
            name: [record.get("accuracy") for record in outcomes]
            for name, outcomes in by_method.items()
        },
    }


def _records(answers: Answers) -> list[Record]:
    return [
        record
        for by_method in answers.values()
        for records in by_method.values()
        for record in records
    ]


def _devices(records: Sequence[Record]) -> list[str]:
    return sorted({record["device"] for record in records if record["device"]})
