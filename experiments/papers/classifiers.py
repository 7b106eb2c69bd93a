"""Classifiers retrained on more classes: how far forecasts hold where the theory does not.

Six classifiers are trained on few random characters and again on many. The forecast from the few,
made from the test scores alone, is held against the accuracy of the classifier trained on the many.
Two of the six are marginal, as the theory asks; four are not.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from experiments.figures import COLOURS, GREY, list_axis, new_figure
from experiments.journal import Record
from experiments.methods import Methods, check_fewer, forecast_record, rounded, stamp, summarised
from experiments.papers.learners import LEARNERS, signature
from experiments.results import Results
from experiments.runner import AGAIN, Settings, Task, conduct, seed_for
from headcount.curves.observed import observe
from headcount.errors import DataError, ParameterError
from headcount.estimators import Extrapolator
from headcount.estimators.registry import resolve_all
from headcount.pilot.loading.safe_arrays import existing, read_npz
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.validation import whole_number

NAME = "classifiers"
FILE = "omniglot_pixels.npz"
FEW, MANY, REPEATS, TRAIN = 20, 400, 10, 10


def usual_methods() -> dict[str, Extrapolator]:
    """Return all registered methods, the bandwidths of 001, and the networks."""
    bandwidths = [f"kde:bandwidth={rule}" for rule in ("nrd0", "pseudolikelihood")]
    return resolve_all() | resolve_all([*bandwidths, "cleanex-fast", "cleanex"])


@dataclass(frozen=True)
class Drawings:
    """Feature vectors of labelled drawings, in units of their mean variance."""

    vectors: NDArray[np.float64]
    labels: NDArray[np.int64]

    @property
    def classes(self) -> NDArray[np.int64]:
        """All classes there are."""
        return np.unique(self.labels)


@dataclass(frozen=True)
class Split:
    """Training and test points of some classes, numbered from 0."""

    train: NDArray[np.float64]
    train_labels: NDArray[np.int64]
    test: NDArray[np.float64]
    test_labels: NDArray[np.int64]


def read_drawings(path: Path) -> Drawings:
    """Read drawings from an npz file of embeddings, or from the Omniglot file in a folder.

    The enrolled template of a class and its probes are all drawings of that class alike.
    """
    file = existing(path / FILE if path.is_dir() else path)
    if file.suffix.lower() != ".npz":
        raise DataError(f"{file.name} is no .npz file of drawings; give {FILE} or its folder.")
    members = read_npz(file)
    missing = {"probes", "probe_labels", "gallery"} - members.keys()
    if missing:
        raise DataError(f"{file.name} does not hold {' and '.join(sorted(missing))}.")
    gallery, probes = members["gallery"], members["probes"]
    gallery_labels = members.get("gallery_labels", np.arange(len(gallery)))
    vectors = np.vstack([gallery, probes]).astype(np.float64)
    labels = np.concatenate([gallery_labels, members["probe_labels"]])
    if vectors.ndim != 2 or len(labels) != len(vectors) or not np.isfinite(vectors).all():
        raise DataError(f"{file.name}: vectors and labels do not fit together; write it again.")
    # One factor for all features and sets, so that what is marginal stays so.
    scale = np.sqrt(vectors.var(axis=0).mean()) or 1.0
    return Drawings(vectors / scale, np.unique(labels, return_inverse=True)[1].astype(np.int64))


def classifiers(
    drawings: Drawings,
    settings: Settings,
    *,
    source: str = FILE,
    few: int = FEW,
    many: int = MANY,
    repeats: int = REPEATS,
    train: int = TRAIN,
    learners: Sequence[str] = tuple(LEARNERS),
    methods: Methods | None = None,
    fewer: Mapping[str, int] | None = None,
) -> Results:
    """Forecast retrained classifiers from few classes to many.

    Parameters
    ----------
    drawings : Drawings
        Where classes and points are drawn from.
    settings : Settings
        Where to write, seed and workers.
    source : str
        What the drawings are called.
    few, many : int
        Classes of the pilot, which are among the many, and classes to forecast.
    repeats : int
        Random sets of classes and random splits into training and test points.
    train : int
        Training points a class; all others test.
    learners : sequence of str
        Which classifiers.
    methods : mapping, optional
        Estimators by name; see `usual_methods` for the default.
    fewer : mapping, optional
        Smaller numbers of repeats for slow methods, by name.

    Returns
    -------
    Results
        A row for each classifier and method. `gap` shows how far a classifier is from marginal: the
        accuracy on the pilot's classes alone of the one trained on the many, minus that of the one
        trained on the few. It is zero for a marginal classifier.
    """
    methods = usual_methods() if methods is None else methods
    fewer = dict(fewer or {})
    _check(drawings, few, many, repeats, train, learners)
    check_fewer(fewer, methods)
    places = [(name, repeat) for name in learners for repeat in range(repeats)]
    common = (drawings, few, many, train, settings.seed)
    # The long tasks first, so that the last ones to finish are short.
    tasks = [
        Task(f"{NAME}/many/{name}/{repeat}", partial(retrained, *common, name, repeat))
        for name, repeat in places
    ] + [
        Task(
            f"{NAME}/few/{name}/{repeat}/{_mark(chosen)}",
            partial(forecast_all, *common, name, repeat, chosen),
        )
        for name, repeat in places
        for chosen in [_methods_of(repeat, methods, fewer)]
    ]
    identity = {
        "drawings": str(joblib.hash((drawings.vectors, drawings.labels))),
        "few": few,
        "many": many,
        "train": train,
        "classifiers": signature(),
    }
    records, run = conduct(NAME, tasks, identity, settings)
    truths = dict(zip(places, records[: len(places)], strict=True))
    pilots = dict(zip(places, records[len(places) :], strict=True))
    rows = [
        _row(name, method, [(truths[name, r], pilots[name, r]) for r in range(repeats)])
        for name in learners
        for method in methods
    ]
    return Results(
        bench=NAME,
        about=(
            f"Classifiers trained on {few} and on {many} random classes of {source}, {train} "
            f"training points a class, {repeats} repeats: errors of forecasts from the test "
            f"scores at {few} of the accuracy after training on {many}."
        ),
        seed=settings.seed,
        options={
            "source": source,
            "few": few,
            "many": many,
            "train": train,
            "repeats": repeats,
            "fewer_repeats": fewer,
            "classifiers": {name: LEARNERS[name].about for name in learners},
            "methods": list(methods),
        },
        rows=rows,
        details=_details(learners, repeats, methods, truths, pilots),
        run=run | {"seconds_a_training": _seconds(learners, repeats, truths)},
    )


def split(drawings: Drawings, many: int, train: int, seed: int, repeat: int) -> Split:
    """Draw classes and, in each, training points; the first classes make the smaller sets."""
    rng = np.random.default_rng(seed_for(seed, NAME, "split", repeat))
    trained, tested = [], []
    classes = rng.permutation(drawings.classes)[:many]
    for label in classes:
        rows = rng.permutation(np.flatnonzero(drawings.labels == label))
        trained.append(rows[:train])
        tested.append(rows[train:])
    numbers = np.arange(many)
    return Split(
        drawings.vectors[np.concatenate(trained)],
        np.repeat(numbers, [len(rows) for rows in trained]),
        drawings.vectors[np.concatenate(tested)],
        np.repeat(numbers, [len(rows) for rows in tested]),
    )


def trained_pilot(
    drawings: Drawings, size: int, many: int, train: int, seed: int, name: str, repeat: int
) -> Pilot:
    """Train a classifier on the first `size` classes of a repeat; return how its test went."""
    points = split(drawings, many, train, seed, repeat)
    fit, test = points.train_labels < size, points.test_labels < size
    return LEARNERS[name].pilot(
        points.train[fit],
        points.train_labels[fit],
        points.test[test],
        points.test_labels[test],
        seed_for(seed, NAME, "train", size, name, repeat),
    )


def retrained(
    drawings: Drawings, few: int, many: int, train: int, seed: int, name: str, repeat: int
) -> Record:
    """Train on many classes: the accuracy there, and when only the few compete."""
    start = time.perf_counter()
    pilot = trained_pilot(drawings, many, many, train, seed, name, repeat)
    restricted = pilot.subset(np.arange(few))
    return {
        "accuracy": float(observe(pilot).accuracy(many)),
        "at_few": float(observe(restricted).accuracy(few)),
        "seconds": round(time.perf_counter() - start, 3),
    }


def forecast_all(
    drawings: Drawings,
    few: int,
    many: int,
    train: int,
    seed: int,
    name: str,
    repeat: int,
    methods: Methods,
) -> Record:
    """Train on few classes: the accuracy there, and what every method forecasts from it."""
    pilot = trained_pilot(drawings, few, many, train, seed, name, repeat)
    forecasts = {
        method: forecast_record(
            estimator, pilot, [many], seed_for(seed, NAME, "method", name, repeat)
        )
        for method, estimator in methods.items()
    }
    accuracy = float(observe(pilot).accuracy(few))
    again = any(outcome.get(AGAIN) for outcome in forecasts.values())
    return {"accuracy": accuracy, "forecasts": forecasts, AGAIN: again}


def _methods_of(repeat: int, methods: Methods, fewer: Mapping[str, int]) -> dict[str, Extrapolator]:
    """Return the methods that take part in a repeat."""
    return {
        name: estimator
        for name, estimator in methods.items()
        if repeat < fewer.get(name, repeat + 1)
    }


def _check(
    drawings: Drawings, few: int, many: int, repeats: int, train: int, learners: Sequence[str]
) -> None:
    for name in learners:
        validation.choice(name, "--learners", tuple(LEARNERS))
    whole_number(repeats, "--repeats", 1)
    whole_number(train, "--train", 2)
    whole_number(few, "--pilot-classes", 3)
    if not few < many <= len(drawings.classes):
        raise ParameterError(
            f"cannot forecast {many:,} classes from {few:,} of {len(drawings.classes):,}; "
            "--pilot-classes must be below --classes, and --classes at most what the file holds."
        )
    fewest = int(np.bincount(drawings.labels).min())
    if fewest <= train:
        raise DataError(
            f"a class has only {fewest:,} drawings, which leaves none to test after {train:,} to "
            "train on; lower --train."
        )


def _mark(methods: Methods) -> str:
    whole = repr([(name, stamp(estimator)) for name, estimator in methods.items()])
    return hashlib.sha256(whole.encode()).hexdigest()[:8]


def _row(name: str, method: str, pairs: list[tuple[Record, Record]]) -> dict[str, Any]:
    outcomes = [
        (truth["accuracy"], pilot["forecasts"][method])
        for truth, pilot in pairs
        if method in pilot["forecasts"]
    ]
    answers = [(out["accuracy"][0], truth) for truth, out in outcomes if "accuracy" in out]
    refusals = sorted({out["refused"] for _, out in outcomes if "refused" in out})
    return {
        "classifier": name,
        "marginal": LEARNERS[name].marginal,
        "method": method,
        "repeats": len(outcomes),
        "refused": len(outcomes) - len(answers),
        "measured": rounded(np.mean([pilot["accuracy"] for _, pilot in pairs])),
        "truth": rounded(np.mean([truth["accuracy"] for truth, _ in pairs])),
        "gap": rounded(np.mean([truth["at_few"] - pilot["accuracy"] for truth, pilot in pairs])),
        "mean_forecast": rounded(np.mean([value for value, _ in answers])) if answers else None,
        **summarised([value - truth for value, truth in answers]),
        "why_refused": refusals[0] if refusals else "",
    }


def _details(
    learners: Sequence[str],
    repeats: int,
    methods: Methods,
    truths: dict[tuple[str, int], Record],
    pilots: dict[tuple[str, int], Record],
) -> dict[str, Any]:
    def listed(outcomes: dict[tuple[str, int], Record], name: str, field: str) -> list[float]:
        return [rounded(outcomes[name, repeat][field]) for repeat in range(repeats)]

    def forecasts(name: str, method: str) -> list[float | None]:
        outcomes = [pilots[name, repeat]["forecasts"].get(method, {}) for repeat in range(repeats)]
        return [rounded(out["accuracy"][0]) if "accuracy" in out else None for out in outcomes]

    return {
        name: {
            "measured": listed(pilots, name, "accuracy"),
            "truth": listed(truths, name, "accuracy"),
            "truth_at_few": listed(truths, name, "at_few"),
            "forecasts": {method: forecasts(name, method) for method in methods},
        }
        for name in learners
    }


def _seconds(
    learners: Sequence[str], repeats: int, truths: dict[tuple[str, int], Record]
) -> dict[str, float]:
    return {
        name: round(float(np.mean([truths[name, r]["seconds"] for r in range(repeats)])), 3)
        for name in learners
    }


def draw(results: Results) -> Any:
    """Draw the errors of every method and repeat, a panel for each classifier."""
    names, methods = list(results.details), results.options["methods"]
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure = new_figure(2.0 + 3.0 * columns, lines * (1.3 + 0.2 * len(methods)))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True)
    for i, ax in enumerate(axes.ravel()):
        if i < len(names):
            _draw_panel(ax, results, names[i], labelled=i % columns == 0)
        else:
            ax.set_visible(False)
    return figure


def _draw_panel(ax: Any, results: Results, name: str, *, labelled: bool) -> None:
    methods, details = results.options["methods"], results.details[name]
    few, many = results.options["few"], results.options["many"]
    colour = COLOURS[0] if LEARNERS[name].marginal else COLOURS[1]
    for y, method in enumerate(methods):
        pairs = zip(details["forecasts"][method], details["truth"], strict=True)
        errors = [forecast - truth for forecast, truth in pairs if forecast is not None]
        ax.plot(errors, [y] * len(errors), "o", color=colour, markersize=3, alpha=0.4, mew=0)
        if errors:
            ax.plot([float(np.mean(errors))], [y], "|", color=colour, markersize=11, mew=2)
    ax.axvline(0, color=GREY, linewidth=1)
    list_axis(ax, methods, labelled=labelled)
    kind = "marginal" if LEARNERS[name].marginal else "not marginal"
    before, after = float(np.mean(details["measured"])), float(np.mean(details["truth"]))
    ax.set_title(f"{name} ({kind})\n{before:.1%} at {few}, {after:.1%} at {many}", fontsize=9)
    ax.tick_params(labelbottom=True)
    ax.set_xlabel(f"forecast minus accuracy at {many}", fontsize=8)
