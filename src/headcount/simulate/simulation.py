"""What a generator returns, and the parts generators share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed, observe
from headcount.errors import ParameterError, UnsupportedError
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]

REFERENCE_CLASSES = 20_000
REFERENCE_PROBES = 2


class World(Protocol):
    """Where classes and their points come from."""

    def draw(self, rng: np.random.Generator, n_classes: int, per_class: int) -> Pilot:
        """Return a pilot of fresh classes and probes."""


@dataclass(frozen=True)
class Reference:
    """Truth from a population far larger than the pilot, drawn when first asked for."""

    world: World
    rng: np.random.Generator = field(repr=False)
    n_classes: int

    @cached_property
    def _observed(self) -> Observed:
        return observe(self.world.draw(self.rng, self.n_classes, REFERENCE_PROBES))

    def accuracy(self, k: Any) -> Floats:
        """Return the average accuracy among k of the reference classes."""
        if (validation.class_counts(k) > self.n_classes).any():
            raise ParameterError(
                f"the truth is known up to {self.n_classes:,} classes; "
                "ask for fewer, or raise reference_classes."
            )
        return self._observed.accuracy(k)


@dataclass(frozen=True)
class Simulation:
    """A synthetic pilot and the truth about more classes.

    Attributes
    ----------
    pilot : Pilot
        What an experimenter would have measured.
    source : Favorability or a large simulated population
        Where the truth comes from.

    Examples
    --------
    >>> from headcount import simulate
    >>> made = simulate.isotropic_gaussian(200, sigma=0.5, random_state=1)
    >>> made.pilot
    Pilot(200 classes, 200 probes)
    >>> made.truth([200, 2000]).round(3).tolist()
    [0.636, 0.322]
    """

    pilot: Pilot
    source: Favorability | Reference = field(repr=False)

    def truth(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes of the population behind the pilot.

        Exact where theory has it; otherwise observed among `reference_classes` further classes
        with two probes each, which leaves a standard error of at most 0.004, and refused beyond.
        """
        return self.source.accuracy(k)

    @property
    def exact(self) -> bool:
        """Whether the truth is computed rather than simulated."""
        return isinstance(self.source, Favorability)

    @property
    def population(self) -> Population:
        """The pilot taken as a finite population to draw smaller pilots from."""
        return Population(self.pilot)


@dataclass(frozen=True)
class Population:
    """A finite population of classes, simulated or real, to draw pilots from.

    This is how the papers' comparisons work: random pilots of k1 classes from one large set of k2,
    judged by the average accuracy of the whole set. Classes are drawn one by one, whatever groups
    they are in.

    Parameters
    ----------
    whole : Pilot
        All classes and probes; it must hold scores or embeddings.

    Examples
    --------
    >>> from headcount import simulate
    >>> whole = simulate.points_around_classes(400, random_state=1).population
    >>> whole.pilot(100, random_state=2)
    Pilot(100 classes, 1,000 probes)
    >>> bool(whole.truth(400) < whole.truth(100))
    True
    """

    whole: Pilot

    def __post_init__(self) -> None:
        if not self.whole.has_scores:
            raise UnsupportedError(
                "a pilot that holds only counts cannot be a population, as they do not say who "
                "beat whom; make it from scores or embeddings."
            )

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.whole.n_classes

    @cached_property
    def _observed(self) -> Observed:
        return Observed(self.whole.table())

    def truth(self, k: Any) -> Floats:
        """Return the average accuracy over all sets of k of the population's classes."""
        return self._observed.accuracy(k)

    def pilot(self, n_classes: int, random_state: Any = None) -> Pilot:
        """Return the pilot of `n_classes` random classes of the population."""
        n_classes = validation.whole_number(n_classes, "n_classes", 2)
        if n_classes > self.n_classes:
            raise ParameterError(
                f"the population has {self.n_classes:,} classes, fewer than the "
                f"{n_classes:,} asked for."
            )
        chosen = generator(random_state).choice(self.n_classes, n_classes, replace=False)
        pilot = self.whole.subset(self.whole.class_names[chosen])
        return pilot if pilot.groups is None else pilot.with_groups(pilot.groups, "classes")


def generator(random_state: Any) -> np.random.Generator:
    """Return a random generator from a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"random_state must be a whole number, a Generator or None, but is {random_state!r}."
        ) from error


def sizes(n_classes: Any, probes_per_class: Any) -> tuple[int, int]:
    """Return the size of a pilot, checked."""
    return (
        validation.whole_number(n_classes, "n_classes", 2),
        validation.whole_number(probes_per_class, "probes_per_class", 1),
    )


def noise(rng: np.random.Generator, shape: tuple[int, ...], law: str) -> Floats:
    """Draw noise of mean zero and variance one."""
    if law == "normal":
        return rng.normal(size=shape)
    return rng.uniform(-math.sqrt(3), math.sqrt(3), size=shape)


def scattered(
    rng: np.random.Generator, centres: Floats, per_centre: int, sigma: float, law: str
) -> Floats:
    """Draw points around each centre, those of one centre next to each other."""
    around = np.repeat(centres, per_centre, axis=0)
    return around + sigma * noise(rng, around.shape, law)


def nearest_centre(
    rng: np.random.Generator,
    centres: Floats,
    per_class: int,
    sigma: float,
    law: str,
    groups: list[Any] | None = None,
    drawn: str = "classes",
) -> Pilot:
    """Draw probes around known centres and score classes by distance to them."""
    probes = scattered(rng, centres, per_class, sigma, law)
    labels = np.repeat(np.arange(len(centres)), per_class)
    return Pilot.from_embeddings(probes, labels, centres, groups=groups, drawn=drawn)


def reference(
    world: World, rng: np.random.Generator, n_classes: int, reference_classes: Any
) -> Reference:
    """Return the truth from `reference_classes` classes, not fewer than the pilot's."""
    size = validation.whole_number(reference_classes, "reference_classes", n_classes)
    return Reference(world, rng.spawn(1)[0], size)
