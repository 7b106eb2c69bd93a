"""Classes that come in whole families of near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.simulate.simulation import (
    Simulation,
    generator,
    nearest_centre,
    reference,
    sizes,
)
from headcount.support import validation

REFERENCE_CLASSES = 6000


def near_duplicates(
    n_classes: int = 150,
    *,
    family_sizes: Sequence[int] = (2, 3, 4, 5),
    within: float = 0.1,
    n_dims: int = 10,
    sigma: float = 0.5,
    probes_per_class: int = 5,
    reference_classes: int = REFERENCE_CLASSES,
    random_state: Any = None,
) -> Simulation:
    """Classes in families of a few that are nearly the same: twins, spellings, shots of one thing.

    Families are drawn whole, each of a size drawn from `family_sizes`, until there are `n_classes`
    (the last one is cut to fit). Their middles are N(0, I), their classes lie around them with
    standard deviation `within` in each dimension, and points around classes with `sigma`; scores
    are distances to class centres. The pilot's `groups` are the families.

    Parameters
    ----------
    n_classes, probes_per_class : int
        Size of the pilot.
    family_sizes : sequence of int
        Sizes of families, each as likely as the others.
    within, sigma : float
        Standard deviation of classes in a family, and of points of a class.
    n_dims : int
        Dimension.
    reference_classes : int
        Size of the population that gives the truth.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation
        Its truth at k is that of whole families with k classes on average.

    Examples
    --------
    >>> made = near_duplicates(60, random_state=1)
    >>> made.pilot.whole_groups, len(set(made.pilot.groups.tolist()))
    (True, 17)
    """
    n_classes, per_class = sizes(n_classes, probes_per_class)
    world = _Families(
        tuple(validation.whole_number(size, "family_sizes", 1) for size in family_sizes),
        validation.whole_number(n_dims, "n_dims", 1),
        validation.positive(within, "within"),
        validation.positive(sigma, "sigma"),
    )
    if not world.family_sizes:
        raise ParameterError("family_sizes is empty; give sizes such as (2, 3, 4, 5).")
    rng = generator(random_state)
    pilot = world.draw(rng, n_classes, per_class)
    return Simulation(pilot, reference(world, rng, n_classes, reference_classes))


@dataclass(frozen=True)
class _Families:
    family_sizes: tuple[int, ...]
    n_dims: int
    within: float
    sigma: float

    def draw(self, rng: np.random.Generator, n_classes: int, per_class: int) -> Pilot:
        members = rng.choice(self.family_sizes, n_classes)
        family = np.repeat(np.arange(n_classes), members)[:n_classes]
        middles = rng.normal(size=(int(family[-1]) + 1, self.n_dims))
        centres = middles[family] + self.within * rng.normal(size=(n_classes, self.n_dims))
        return nearest_centre(
            rng, centres, per_class, self.sigma, "normal", family.tolist(), "groups"
        )
