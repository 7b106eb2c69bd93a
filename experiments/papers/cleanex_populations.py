"""The populations of paper 001: simulated classes, faces and brain decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers.pilots import digest, parts_to_run
from experiments.runner import seed_for
from headcount import simulate
from headcount.curves.observed import observe
from headcount.errors import ParameterError
from headcount.pilot.loading import load
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population
from headcount.support import validation

NAME = "cleanex"
FILE = "lfw_dlib_pairs.npz"
FACES, DECODING = "faces", "decoding"
SIGMAS = {5: (0.1, 0.2), 3: (0.1, 0.2), 10: (0.6, 0.9)}
LAWS = ("normal", "uniform")
SIMULATED = {f"d{n_dims}": n_dims for n_dims in SIGMAS}
PARTS = (*SIMULATED, FACES, DECODING)
# Sizes k1 of the pilots.
PILOTS = {"d5": (100, 500), "d3": (500,), "d10": (500,), FACES: (200,), DECODING: (200,)}


@dataclass(frozen=True)
class Source:
    """Where a population comes from: all it takes to make it again, and little to send around.

    Attributes
    ----------
    part : str
        One of `PARTS`.
    n_classes : int
        Its size k2.
    n_dims, sigma2, classes, points
        See `headcount.simulate.points_around_classes`; None elsewhere.
    file, mark : str
        Where faces are read from, and a mark of what is in there.
    """

    part: str
    n_classes: int
    n_dims: int | None = None
    sigma2: float | None = None
    classes: str | None = None
    points: str | None = None
    file: str = ""
    mark: str = ""

    @property
    def name(self) -> str:
        """What random draws and tasks are called by; nothing of where the file is."""
        fields = (self.part, self.n_classes, self.sigma2, self.classes, self.points)
        return "/".join(str(value) for value in fields if value is not None)

    @property
    def key(self) -> str:
        """Its name and the mark of its file, if it has one."""
        return f"{self.name}@{self.mark}" if self.mark else self.name

    def columns(self) -> dict[str, Any]:
        """Return what tables say about it."""
        return {
            "experiment": self.part,
            "d": self.n_dims,
            "sigma2": self.sigma2,
            "classes": self.classes,
            "points": self.points,
        }


def sources(
    parts: Sequence[str],
    faces: Path | None,
    n_classes: int,
    decoding_classes: int,
    laws: Sequence[str],
) -> list[Source]:
    """Return the populations of some parts, in the order of `PARTS`."""
    populations: list[Source] = []
    for part in PARTS:
        if part not in parts:
            continue
        if part in SIMULATED:
            n_dims = SIMULATED[part]
            populations += [
                Source(part, n_classes, n_dims, *setting)
                for setting in product(SIGMAS[n_dims], laws, laws)
            ]
        elif part == FACES:
            assert faces is not None  # checked with the parts
            populations.append(_faces(faces))
        else:
            populations.append(Source(part, decoding_classes))
    return populations


def face_file(path: Path) -> Path:
    """Return the file of faces, which may be named by its folder."""
    return path / FILE if path.is_dir() else path


def _faces(path: Path) -> Source:
    # Workers may live in another folder.
    file = face_file(path).resolve()
    whole = load(file)
    return Source(FACES, whole.n_classes, file=str(file), mark=digest(whole)[:8])


def chosen_parts(parts: Sequence[str] | None, faces: Path | None) -> list[str]:
    """Return the parts to run, in their order; by default all that there are data for."""
    return parts_to_run(parts, PARTS, FACES, FILE, faces)


def places(
    populations: Sequence[Source], pilot_classes: Mapping[str, Sequence[int]]
) -> list[tuple[Source, int]]:
    """Return each population with each size of its pilots."""
    pairs = [(source, k1) for source in populations for k1 in pilot_classes[source.part]]
    for source, k1 in pairs:
        if not 2 <= validation.whole_number(k1, "pilot_classes", 2) < source.n_classes:
            raise ParameterError(
                f"a pilot of {k1:,} classes cannot be drawn to forecast the "
                f"{source.n_classes:,} of {source.part}; it must be smaller."
            )
    return pairs


@lru_cache(maxsize=2)
def population(source: Source, seed: int) -> Population:
    """Make the population, or return the one made just before."""
    population_seed = seed_for(seed, NAME, "population", source.name)
    if source.part == FACES:
        return Population(load(source.file))
    if source.part == DECODING:
        return simulate.linear_encoding(source.n_classes, random_state=population_seed).population
    assert source.n_dims and source.sigma2 and source.classes and source.points
    return simulate.points_around_classes(
        source.n_classes,
        n_dims=source.n_dims,
        sigma2=source.sigma2,
        classes=source.classes,
        points=source.points,
        random_state=population_seed,
    ).population


def draw_pilot(source: Source, k1: int, repeat: int, seed: int) -> Pilot:
    """Return the pilot of k1 random classes that belongs to a repeat."""
    pilot_seed = seed_for(seed, NAME, "pilot", source.name, k1, repeat)
    return population(source, seed).pilot(k1, random_state=pilot_seed)


def oracle(whole: Pilot, pilot: Pilot, classes: Any) -> NDArray[np.float64]:
    """Return the accuracies that the pilot's probes have among all classes of the population.

    No method that sees the pilot only can know their losses there; what error is left is that of
    the choice of classes.
    """
    assert whole.labels is not None  # a pilot with scores has labels
    rows = np.flatnonzero(np.isin(whole.class_names[whole.labels], pilot.class_names))
    return observe(whole.keep_probes(rows)).accuracy(classes)
