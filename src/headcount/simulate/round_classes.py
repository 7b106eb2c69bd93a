"""Round classes, recognised by the nearest one: papers 000 §6 and 001 §5.1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.pilot.pilot import Pilot
from headcount.simulate.simulation import (
    REFERENCE_CLASSES,
    Simulation,
    generator,
    nearest_centre,
    noise,
    reference,
    scattered,
    sizes,
)
from headcount.simulate.theory import IsotropicGaussian
from headcount.support import validation

SHAPES = ("normal", "uniform")


def isotropic_gaussian(
    n_classes: int = 500,
    *,
    n_dims: int = 10,
    sigma: float = 0.55,
    n_train: int | None = 1,
    represent: str = "nearest",
    probes_per_class: int = 1,
    random_state: Any = None,
) -> Simulation:
    """Round Gaussian classes and the nearest neighbour: the simulation of paper 000, §6.

    Parameters
    ----------
    n_classes, probes_per_class : int
        Size of the pilot.
    n_dims, sigma, n_train, represent
        See `headcount.simulate.theory.IsotropicGaussian`, which also gives the truth.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> isotropic_gaussian(100, sigma=0.3, random_state=0).truth(2000).round(3)
    np.float64(0.838)
    """
    n_classes, per_class = sizes(n_classes, probes_per_class)
    model = IsotropicGaussian(n_dims, sigma, n_train, represent)
    rng = generator(random_state)
    centres = rng.normal(size=(n_classes, n_dims))
    gallery, owners = centres, np.arange(n_classes)
    if n_train is not None:
        points = scattered(rng, centres, n_train, sigma, "normal")
        if represent == "mean":
            gallery = points.reshape(n_classes, n_train, n_dims).mean(axis=1)
        else:
            gallery, owners = points, np.repeat(owners, n_train)
    probes = scattered(rng, centres, per_class, sigma, "normal")
    labels = np.repeat(np.arange(n_classes), per_class)
    return Simulation(Pilot.from_embeddings(probes, labels, gallery, owners), model.law())


def points_around_classes(
    n_classes: int = 2000,
    *,
    n_dims: int = 5,
    sigma2: float = 0.1,
    classes: str = "normal",
    points: str = "normal",
    probes_per_class: int = 10,
    reference_classes: int = REFERENCE_CLASSES,
    random_state: Any = None,
) -> Simulation:
    r"""Points around known class centres: the simulations of paper 001, §5.1.

    Centres are N(0, I) or uniform on :math:`(-\sqrt 3, \sqrt 3)^d`, which has the same
    covariance; points have covariance :math:`\sigma^2 I` around their centre, normal or uniform.
    Scores are distances to the centres. (The paper's Appendix B prints narrower uniform laws for
    d = 3 and 10; the widths of §5.1 are used for every d.)

    Parameters
    ----------
    n_classes, probes_per_class : int
        Size of the pilot.
    n_dims : int
        Dimension; the paper has 3 and 5 (with sigma2 0.1 and 0.2) and 10 (0.6 and 0.9).
    sigma2 : float
        Variance of points around their centre.
    classes, points : {"normal", "uniform"}
        Their laws.
    reference_classes : int
        Size of the population that gives the truth where theory does not (uniform laws).
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Simulation

    References
    ----------
    Slavutsky and Benjamini (2021), §5.1 and Appendix B.
    """
    n_classes, per_class = sizes(n_classes, probes_per_class)
    n_dims = validation.whole_number(n_dims, "n_dims", 1)
    validation.choice(classes, "classes", SHAPES)
    validation.choice(points, "points", SHAPES)
    sigma = math.sqrt(validation.positive(sigma2, "sigma2"))
    world = RoundClasses(n_dims, sigma, classes, points)
    rng = generator(random_state)
    pilot = world.draw(rng, n_classes, per_class)
    if classes == points == "normal":
        return Simulation(pilot, IsotropicGaussian(n_dims, sigma, None).law())
    return Simulation(pilot, reference(world, rng, n_classes, reference_classes))


@dataclass(frozen=True)
class RoundClasses:
    """Classes of one law, and points of one law around each of them."""

    n_dims: int
    sigma: float
    classes: str
    points: str

    def draw(self, rng: np.random.Generator, n_classes: int, per_class: int) -> Pilot:
        """Return a pilot of fresh classes."""
        centres = noise(rng, (n_classes, self.n_dims), self.classes)
        return nearest_centre(rng, centres, per_class, self.sigma, self.points)
