"""Classes that come in families: clusters and trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError
from headcount.pilot.pilot import Pilot
from headcount.simulate.simulation import (
    REFERENCE_CLASSES,
    Floats,
    Simulation,
    generator,
    nearest_centre,
    reference,
    scattered,
    sizes,
)
from headcount.support import validation


def clustered(
    n_classes: int = 500,
    *,
    n_clusters: int = 20,
    within: float = 0.25,
    n_dims: int = 10,
    sigma: float = 0.3,
    probes_per_class: int = 5,
    pilot_groups: int | None = None,
    reference_classes: int = REFERENCE_CLASSES,
    random_state: Any = None,
) -> Simulation:
    """Classes in clusters: most errors are made among relatives.

    Cluster centres are N(0, (1 - within) I), class centres scatter around them with variance
    `within`, points around those with standard deviation `sigma`; scores are distances to class
    centres. It is `hierarchical` with one level, and so are its other parameters.

    Parameters
    ----------
    n_clusters : int
        Clusters in the population.
    within : float
        Share of the variance between classes that lies inside clusters, between 0 and 1.
    n_classes, n_dims, sigma, probes_per_class, pilot_groups, reference_classes, random_state
        See `hierarchical`.

    Returns
    -------
    Simulation
    """
    if not 0 < within < 1:
        raise ParameterError(f"within must lie between 0 and 1, but is {within!r}.")
    return hierarchical(
        n_classes,
        branching=(n_clusters,),
        shares=(1 - within, within),
        n_dims=n_dims,
        sigma=sigma,
        probes_per_class=probes_per_class,
        pilot_groups=pilot_groups,
        reference_classes=reference_classes,
        random_state=random_state,
    )


def hierarchical(
    n_classes: int = 500,
    *,
    branching: Sequence[int] = (5, 6),
    shares: Sequence[float] = (0.4, 0.3, 0.3),
    n_dims: int = 10,
    sigma: float = 0.3,
    probes_per_class: int = 5,
    pilot_groups: int | None = None,
    reference_classes: int = REFERENCE_CLASSES,
    random_state: Any = None,
) -> Simulation:
    """Classes at the leaves of a tree, as species in families in orders.

    Each node lies around its parent, and classes around the lowest nodes. The tree is drawn once
    and belongs to the population; classes are drawn from it at random. The pilot's `groups` are
    the branches at the top.

    Parameters
    ----------
    n_classes, probes_per_class : int
        Size of the pilot.
    branching : sequence of int
        Nodes below each node, from the top.
    shares : sequence of float
        Variance added at each level, and last that of classes around their node: one more than
        `branching` has entries.
    n_dims : int
        Dimension.
    sigma : float
        Standard deviation of points around their class.
    pilot_groups : int, optional
        The pilot sees only this many of the groups, which makes it unlike the population whose
        truth is asked for; by default it sees all.
    reference_classes : int
        Size of the population that gives the truth.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> made = hierarchical(60, branching=(3, 4), random_state=1)
    >>> len(set(made.pilot.groups.tolist()))
    3
    """
    n_classes, per_class = sizes(n_classes, probes_per_class)
    n_dims = validation.whole_number(n_dims, "n_dims", 1)
    sigma = validation.positive(sigma, "sigma")
    counts = [validation.whole_number(count, "branching", 1) for count in branching]
    variances = [validation.positive(share, "shares") for share in shares]
    if len(counts) == 0 or len(variances) != len(counts) + 1:
        raise ParameterError(
            f"shares must have one entry more than branching, but have {len(variances)} "
            f"and {len(counts)}."
        )
    n_pilot_groups = (
        counts[0] if pilot_groups is None else validation.whole_number(pilot_groups, "groups", 1)
    )
    if n_pilot_groups > counts[0]:
        raise ParameterError(f"there are {counts[0]} groups, but pilot_groups is {n_pilot_groups}.")
    rng = generator(random_state)
    nodes = np.zeros((1, n_dims))
    for count, variance in zip(counts, variances, strict=False):
        nodes = scattered(rng, nodes, count, math.sqrt(variance), "normal")
    groups = np.repeat(np.arange(counts[0]), len(nodes) // counts[0])
    world = _Tree(nodes, groups, math.sqrt(variances[-1]), sigma)
    # Groups are alike until drawn, so the first ones are as random as any.
    subtree = _Tree(
        nodes[groups < n_pilot_groups], groups[groups < n_pilot_groups], world.spread, sigma
    )
    pilot = subtree.draw(rng, n_classes, per_class)
    return Simulation(pilot, reference(world, rng, n_classes, reference_classes))


@dataclass(frozen=True)
class _Tree:
    nodes: Floats
    groups: NDArray[np.int64]
    spread: float
    sigma: float

    def draw(self, rng: np.random.Generator, n_classes: int, per_class: int) -> Pilot:
        node = rng.integers(len(self.nodes), size=n_classes)
        centres = self.nodes[node]
        centres = centres + self.spread * rng.normal(size=centres.shape)
        return nearest_centre(
            rng, centres, per_class, self.sigma, "normal", self.groups[node].tolist()
        )
