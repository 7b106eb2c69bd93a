"""The task families of the yardstick: where pilots come from, and what is true about them."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers import cleanex_populations as populations
from experiments.papers.cleanex_populations import LAWS, Source
from experiments.papers.pilots import digest, parts_to_run
from experiments.problems.families import HELD_OUT as HELD_OUT_FAMILIES
from experiments.problems.families import TRAINING, draw
from experiments.runner import seed_for
from headcount.pilot.loading import load
from headcount.pilot.loading.safe_arrays import existing
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population

Floats = NDArray[np.float64]

NAME = "compare"
SIMULATIONS, REAL, PROBLEMS, HELD_OUT = "simulations", "real", "problems", "held-out"
PARTS = (SIMULATIONS, REAL, PROBLEMS, HELD_OUT)

# (a) Part of paper 001, variance of points, law of classes, law of points.
WORLDS: tuple[tuple[str, float, str, str], ...] = (
    *(("d5", *rest) for rest in product((0.1, 0.2), LAWS, LAWS)),
    ("d3", 0.1, "normal", "normal"),
    ("d3", 0.2, "uniform", "uniform"),
    ("d10", 0.6, "normal", "normal"),
    ("d10", 0.9, "uniform", "normal"),
)
POPULATION = 2000
SIMULATED_SIZES = (100, 500)
# (b)
REAL_SIZES = (20, 50, 100, 200, 500)
AT_LEAST = 4  # times the pilot's classes, in the set it is drawn from
FILES = (
    "omniglot_pixels",
    "omniglot_hog",
    "definitions_tfidf",
    "lfw_dlib_pairs",
    "telugu_knn_n10_100",
    "telugu_knn_n45_100",
    "telugu_logistic_100",
    "telugu_svm_100",
)
FACES = "lfw_dlib_pairs"  # its pilots are those of `python -m experiments cleanex`
# (c)
FIRST_SEED = 3_000_000  # below lie the seeds of problems that methods and intervals learn from
SEEDS_A_RUN, SEEDS_A_FAMILY = 100_000, 1000
N_PROBLEMS = 60
REACH = 20  # times the pilot's classes
TRUTH_CLASSES, TRUTH_PROBES = 8192, 8192
EVERY_K, GRID_POINTS = 64, 300

PILOTS, PILOTS_OF_MANY, MANY = 10, 5, 500  # pilots of a place; fewer of them from 500 classes on

DRAWN_BY = {
    SIMULATIONS: ("headcount.simulate.round_classes", "headcount.simulate.simulation"),
    REAL: (),
    PROBLEMS: tuple(
        f"experiments.problems.{name}"
        for name in ("problems", "families", "points", "scores", "worlds")
    ),
}  # fmt: skip
DRAWN_BY[HELD_OUT] = DRAWN_BY[PROBLEMS]


@dataclass(frozen=True)
class Place:
    """Pilots of one kind: all it takes to draw them, and little to send around.

    Attributes
    ----------
    part : str
        One of `PARTS`.
    family : str
        Which population, set or family of problems.
    k1 : int or None
        Classes of the pilots; None where every problem has its own number.
    k2 : int or None
        Classes up to which forecasts are judged; None for `REACH` times the pilot's.
    pilots : int
        How many are drawn.
    source : Source, optional
        Where populations that `python -m experiments cleanex` has too come from.
    file, mark : str
        Where a real set is read from, and a mark of what is in there.
    """

    part: str
    family: str
    k1: int | None
    k2: int | None
    pilots: int
    source: Source | None = None
    file: str = ""
    mark: str = ""

    @property
    def key(self) -> str:
        """What tasks are called by; nothing of where the file is."""
        fields = (self.part, self.family + (f"@{self.mark}" if self.mark else ""), self.k1)
        return "/".join(str(value) for value in fields if value is not None)

    @property
    def other_key(self) -> str | None:
        """What the same pilots are called by in the journal of `python -m experiments cleanex`."""
        if self.source is None:
            return None
        return f"{populations.NAME}/{self.source.key}/{self.k1}"


# -- places ----------------------------------------------------------------------------------------


def chosen_parts(parts: Sequence[str] | None, data: Path | None) -> list[str]:
    """Return the parts to run, in their order; by default all that there are data for."""
    return parts_to_run(parts, PARTS, REAL, f"{FILES[0]}.npz and others", data)


def inputs(parts: Sequence[str], data: Path | None) -> list[Path]:
    """Return the files that are read, so that results do not overwrite them."""
    return [_file(data, name) for name in FILES] if REAL in parts and data is not None else []


def simulated_places(
    sizes: Sequence[int] = SIMULATED_SIZES, n_classes: int = POPULATION, worlds: Any = WORLDS
) -> list[Place]:
    """Return the simulations of paper 001, size by size."""
    places = []
    for k1, (part, *setting) in product(sizes, worlds):
        source = Source(part, n_classes, populations.SIMULATED[part], *setting)
        family = "{} {} {}/{}".format(part, *setting)
        places.append(Place(SIMULATIONS, family, k1, n_classes, _pilots(k1), source))
    return places


def real_places(
    data: Path, sizes: Sequence[int] = REAL_SIZES, names: Sequence[str] = FILES
) -> list[Place]:
    """Return the real sets, each with the sizes of pilots that it is large enough for."""
    places = []
    for name in names:
        path = str(_file(data, name).resolve())  # workers may live in another folder
        whole = _real(path).whole
        source = None
        if name == FACES:
            (source,) = populations.sources([populations.FACES], Path(path), 2, 2, LAWS)
        places += [
            Place(
                REAL, name, k1, whole.n_classes, _pilots(k1), source, path, digest(whole)[:8]
            )
            for k1 in sizes
            if AT_LEAST * k1 <= whole.n_classes
        ]  # fmt: skip
    return places


def problem_places(part: str, n_problems: int = N_PROBLEMS) -> list[Place]:
    """Return the families of random problems, which share the problems out evenly."""
    families = TRAINING if part == PROBLEMS else HELD_OUT_FAMILIES
    each = -(-n_problems // len(families))
    return [Place(part, family, None, None, each) for family in families]


def _pilots(k1: int) -> int:
    return PILOTS if k1 < MANY else PILOTS_OF_MANY


def _file(data: Path, name: str) -> Path:
    return Path(existing(data / f"{name}.npz"))


@lru_cache(maxsize=2)
def _real(path: str) -> Population:
    return Population(load(path))


# -- pilots and their truth ------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A pilot, and what is true about it.

    Attributes
    ----------
    pilot : Pilot
        What methods may see.
    ks, weights : ndarray
        Numbers of classes at which forecasts are judged, and how many k each stands for.
    truth, oracle : ndarray
        The true accuracy there, and what the pilot's probes would say if each one's U were known.
    """

    pilot: Pilot
    ks: NDArray[np.int64]
    weights: Floats
    truth: Floats
    oracle: Floats

    def rmse(self, accuracy: Any) -> float:
        """Return the root mean squared error over all k from 2 on."""
        errors = np.asarray(accuracy) - self.truth
        return float(np.sqrt(np.average(errors**2, weights=self.weights)))


@lru_cache(maxsize=2)
def case(place: Place, repeat: int, seed: int) -> Case:
    """Draw a pilot, the same for every method."""
    if place.part in (PROBLEMS, HELD_OUT):
        return _problem(place, repeat, seed)
    assert place.k1 is not None and place.k2 is not None
    if place.source is not None:
        whole = populations.population(place.source, seed)
        pilot = populations.draw_pilot(place.source, place.k1, repeat, seed)
    else:
        whole = _real(place.file)
        pilot_seed = seed_for(seed, NAME, "pilot", place.part, place.family, place.k1, repeat)
        pilot = whole.pilot(place.k1, random_state=pilot_seed)
    ks = np.arange(2, place.k2 + 1)
    oracle = populations.oracle(whole.whole, pilot, ks)
    return Case(pilot, ks, np.ones(len(ks)), whole.truth(ks), oracle)


def problem_seed(place: Place, repeat: int, seed: int) -> int:
    """Return the seed of a problem; problems of other families and runs have others."""
    families = (*TRAINING, *HELD_OUT_FAMILIES)
    start = FIRST_SEED + SEEDS_A_RUN * seed
    return start + SEEDS_A_FAMILY * families.index(place.family) + repeat


def _problem(place: Place, repeat: int, seed: int) -> Case:
    from experiments.problems.problems import realise, to_pilot  # late: needs torch

    problem = draw(problem_seed(place, repeat, seed), family=place.family)
    largest = REACH * problem.n_classes
    realisation = realise(
        problem, n_truth=max(TRUTH_CLASSES, largest), n_truth_probes=TRUTH_PROBES, oracle=True
    )
    ks, weights = few_classes(largest)
    return Case(to_pilot(realisation), ks, weights, realisation.truth(ks), realisation.oracle(ks))


def few_classes(largest: int) -> tuple[NDArray[np.int64], Floats]:
    """Return some numbers of classes that stand for all from 2 to the largest, and their weights.

    All small ones, then evenly on a log scale; a weighted sum over them is the sum over all k of
    what lies on straight lines between them.

    Examples
    --------
    >>> ks, weights = few_classes(5000)
    >>> len(ks) < 400, bool(np.isclose(weights @ ks, np.arange(2, 5001).sum()))
    (True, True)
    """
    spread = np.geomspace(2, largest, GRID_POINTS).round().astype(np.int64)
    ks = np.union1d(np.arange(2, min(largest, EVERY_K) + 1), spread)
    weights = np.zeros(len(ks))
    every = np.arange(2, largest + 1)
    right = np.clip(np.searchsorted(ks, every), 1, len(ks) - 1)
    share = (every - ks[right - 1]) / (ks[right] - ks[right - 1])
    np.add.at(weights, right, share)
    np.add.at(weights, right - 1, 1 - share)
    return ks, weights


@lru_cache(maxsize=len(PARTS))
def code_mark(part: str) -> str:
    """Return a mark of the code that pilots are drawn by; not of its comments."""
    whole = hashlib.sha256()
    for name in DRAWN_BY[part]:
        whole.update(ast.dump(ast.parse(inspect.getsource(import_module(name)))).encode())
    return whole.hexdigest()[:4]
