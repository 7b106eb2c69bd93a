"""Where the pilots of the yardstick of metrics come from, and what is true about them.

One right answer: random pilots of the simulations of paper 001 and of real sets, as in `compare`,
of sizes K for which 20 K is known. Several: `experiments.ranking.graded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.papers import cleanex_populations as populations
from experiments.papers.pilots import digest
from experiments.ranking import graded
from experiments.ranking.graded import GradedPilot, GradedSet
from experiments.runner import seed_for
from experiments.yardstick.places import WORLDS
from headcount.curves.observed import Observed, observe
from headcount.curves.ranked import RankedObserved
from headcount.pilot.loading import load
from headcount.pilot.loading.safe_arrays import existing
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population

NAME = "metrics"
ONE, SEVERAL = "one", "several"  # right answers
REACH = 20  # times the pilot's classes
POPULATION = 2000  # classes of a simulated set
SIMULATIONS = "simulations"
FILES = ("omniglot_pixels", "omniglot_hog", "definitions_tfidf", "lfw_dlib_pairs")
SIZES = {ONE: (50, 80, 250), SEVERAL: (80, 160, 250, 320)}
PILOTS, PILOTS_OF_A_WORLD = {ONE: 20, SEVERAL: 30}, 3
DOCUMENTS_A_QUERY = 8  # twice as many as are graded: half of a pilot's documents are random ones
TIE_RULE = "random"


@dataclass(frozen=True)
class Place:
    """Pilots of one kind: all it takes to draw them, and little to send around.

    Attributes
    ----------
    answers : str
        How many are right: `ONE` or `SEVERAL`.
    family, population : str
        Which set, and which of its populations.
    k1 : int
        Classes or documents of the pilots, K.
    pilots : int
        How many are drawn.
    source : Source, optional
        Of a simulation.
    file, mark : str
        Where a real set is read from, and a mark of what is in there.
    """

    answers: str
    family: str
    population: str
    k1: int
    pilots: int
    source: populations.Source | None = None
    file: str = ""
    mark: str = ""

    @property
    def key(self) -> str:
        """What tasks are called by; nothing of where the file is."""
        return f"{self.answers}/{self.family}/{self.population}/{self.k1}@{self.mark}"


@dataclass(frozen=True)
class Case:
    """A pilot, and what is true about it.

    Attributes
    ----------
    pilot : Pilot
        What methods may see.
    whole : Observed
        The curve of its whole set: the truth.
    known : Observed
        The curve that the pilot's own probes have in the whole set: what is left of the error is
        that of the choice of probes.
    graded : GradedPilot or None
        The scores, where several documents are relevant.
    """

    pilot: Pilot
    whole: Observed
    known: Observed
    graded: GradedPilot | None = None


# -- places ----------------------------------------------------------------------------------------


def simulated_places(
    sizes: Sequence[int] = SIZES[ONE], n_classes: int = POPULATION, worlds: Sequence[tuple] = WORLDS
) -> list[Place]:
    """Return the simulations of paper 001."""
    return [
        Place(
            ONE, SIMULATIONS, "{} {} {}/{}".format(part, *setting), k1, PILOTS_OF_A_WORLD,
            populations.Source(part, n_classes, populations.SIMULATED[part], *setting),
        )
        for part, *setting in worlds
        for k1 in sizes
        if REACH * k1 <= n_classes
    ]  # fmt: skip


def real_places(data: Path, sizes: Sequence[int] = SIZES[ONE]) -> list[Place]:
    """Return the real sets with one right answer."""
    places = []
    for name in FILES:
        path = existing(data / f"{name}.npz").resolve()  # workers may live in another folder
        whole = _population(str(path)).whole
        places += [
            Place(ONE, name, name, k1, PILOTS[ONE], file=str(path), mark=digest(whole)[:8])
            for k1 in sizes
            if REACH * k1 <= whole.n_classes
        ]
    return places


def graded_places(data: Path, sizes: Sequence[int] = SIZES[SEVERAL]) -> list[Place]:
    """Return the real sets with several right answers."""
    places = []
    for name, file in graded.FILES.items():
        path = existing(data / file).resolve()
        mark = digest(load(path))[:8]
        n_documents = len(_graded_set(name, str(path)).documents)
        places += [
            Place(SEVERAL, name, name, k1, PILOTS[SEVERAL], file=str(path), mark=mark)
            for k1 in sizes
            if REACH * k1 <= n_documents
        ]
    return places


def inputs(data: Path | None) -> list[Path]:
    """Return the files that are read, so that results do not overwrite them."""
    return [] if data is None else [data / f"{name}.npz" for name in FILES]


def at_most(places: Sequence[Place], pilots: int | None) -> list[Place]:
    """Return the places with at most so many pilots each."""
    if pilots is None:
        return list(places)
    return [replace(place, pilots=min(place.pilots, pilots)) for place in places]


# -- pilots ----------------------------------------------------------------------------------------


def draw_case(place: Place, repeat: int, seed: int) -> Case:
    """Draw a pilot."""
    pilot_seed = seed_for(
        seed, NAME, "pilot", place.answers, place.family, place.population, place.k1, repeat
    )
    if place.answers == SEVERAL:
        return _graded_case(place, np.random.default_rng(pilot_seed))
    whole, curve = _whole(place, seed)
    pilot = whole.pilot(place.k1, random_state=pilot_seed)
    labels = whole.whole.labels
    assert labels is not None  # a pilot with scores has labels
    own = np.flatnonzero(np.isin(whole.whole.class_names[labels], pilot.class_names))
    return Case(pilot, curve, observe(whole.whole.keep_probes(own)))


def _graded_case(place: Place, rng: np.random.Generator) -> Case:
    whole = _graded_set(place.family, place.file)
    drawn = graded.draw_pilot(whole, place.k1 // DOCUMENTS_A_QUERY, place.k1, rng)
    curve = _graded_curve(place.family, place.file)
    own = np.isin(np.arange(len(whole.queries)), drawn.queries)
    known = RankedObserved(curve.ranking.of_queries(own), TIE_RULE)
    return Case(drawn.pilot, curve, known, drawn)


@lru_cache(maxsize=1)
def _whole_simulated(source: populations.Source, seed: int) -> tuple[Population, Observed]:
    whole = populations.population(source, seed)
    return whole, observe(whole.whole)


@lru_cache(maxsize=2)
def _population(path: str) -> Population:
    return Population(load(path))


@lru_cache(maxsize=2)
def _curve(path: str) -> Observed:
    return observe(_population(path).whole)


def _whole(place: Place, seed: int) -> tuple[Population, Observed]:
    if place.source is not None:
        return _whole_simulated(place.source, seed)
    return _population(place.file), _curve(place.file)


@lru_cache(maxsize=1)
def _graded_set(name: str, path: str) -> GradedSet:
    return graded.read(name, Path(path))


@lru_cache(maxsize=1)
def _graded_curve(name: str, path: str) -> RankedObserved:
    return RankedObserved(_graded_set(name, path).ranking(), TIE_RULE)
