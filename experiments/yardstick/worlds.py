"""What `python -m experiments laws` draws pilots from: laws of U and worlds of classes.

Of every probe the chance is known that one random class beats it, and that it ties with it. So the
truth at k classes is a mean over probes: exact where it has a closed form, else over 100,000 fresh
ones. Close relatives are the exception: what counts there is who else is in a finite set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, ndtr, ndtri
from scipy.stats import binom, ncx2

from experiments.papers.cleanex_populations import oracle
from experiments.runner import seed_for
from headcount import simulate
from headcount.curves.favorability import Favorability
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population

Floats = NDArray[np.float64]
Curve = Callable[[Any], Floats]

NAME = "laws"
PROBES = 5  # of each class
FRESH_PROBES = 100_000  # behind a truth: a standard error of at most 0.0016
N_DIMS = 10
FARTHEST, N_NODES = 9.0, 4001  # standard deviations, and points there, of normal laws
BIASES = 32  # points at which the law of a hub's bias is looked at
CELLS = 1 << 22
FAMILY_SIZES = (2, 3, 4, 5)
POPULATION = 20  # times the pilot's classes, of which relatives are drawn
REFERENCE = 20_000  # classes behind the truth of whole families


@dataclass(frozen=True)
class Chances:
    """The chance that one random class beats each probe, and that it ties with it."""

    beaten: Floats
    tied: Floats | None = None

    def accuracy(self, ks: Any) -> Floats:
        """Return the mean chance to be right among k classes, ties settled at random.

        U is uniform on the interval of length t that ends at one minus the chance to be beaten.

        Examples
        --------
        A probe that always ties is right once in k times:

        >>> Chances(np.array([0.0]), np.array([1.0])).accuracy([2, 4]).tolist()
        [0.5, 0.25]
        """
        counts = np.atleast_1d(np.asarray(ks, dtype=np.float64))
        with np.errstate(divide="ignore"):  # no chance is left where all win, or all others tie
            if self.tied is None:
                right = np.log1p(-self.beaten)
                return np.array([np.exp((k - 1) * right).mean() for k in counts])
            best = 1 - self.beaten
            share = np.clip(self.tied / best, 0.0, 1.0)
            left = np.log1p(-share)
        return np.array(
            [(best ** (k - 1) * -np.expm1(k * left) / (k * share)).mean() for k in counts]
        )


@dataclass(frozen=True)
class Drawn:
    """A pilot, what is true at k classes, and what its own probes would say were each U known."""

    pilot: Pilot
    truth: Curve
    oracle: Curve | None


class World(ABC):
    """Where pilots come from."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a pilot; `seed` is that of the truth, where fresh probes are behind it."""


# -- laws of U, counts alone -----------------------------------------------------------------------


class Law(World):
    """A law of p = 1 - U: a pilot of it is five probes a class, of which only losses are known."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw p for n probes."""

    @abstractmethod
    def accuracy(self, ks: Any) -> Floats:
        """Return the accuracy among k classes."""

    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a pilot of counts."""
        p = self.sample(rng, self.n_probes(n_classes))
        pilot = Pilot.from_losses(rng.binomial(n_classes - 1, p), n_classes)
        return Drawn(pilot, self.accuracy, Chances(p).accuracy)

    def n_probes(self, n_classes: int) -> int:
        """Return how many probes a pilot has."""
        return PROBES * n_classes


@dataclass(frozen=True)
class BetaLaw(Law):
    """A share of the probes is never beaten; p of the others has a beta law."""

    unbeatable: float
    a: float
    b: float
    per_class: int = PROBES

    def n_probes(self, n_classes: int) -> int:
        """Return how many probes a pilot has."""
        return self.per_class * n_classes

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw p."""
        return np.where(rng.random(n) < self.unbeatable, 0.0, rng.beta(self.a, self.b, n))

    def accuracy(self, ks: Any) -> Floats:
        """Return a ratio of beta functions: the moment of 1 - p."""
        power = np.atleast_1d(np.asarray(ks, dtype=np.float64)) - 1
        moment = np.exp(betaln(self.a, self.b + power) - betaln(self.a, self.b))
        return np.asarray(self.unbeatable + (1 - self.unbeatable) * moment)


@dataclass(frozen=True)
class LogNormalLaw(Law):
    """The logarithm of p is normal; what comes out above one is one."""

    median: float
    spread: float

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw p."""
        return self._chance(rng.normal(size=n))

    def accuracy(self, ks: Any) -> Floats:
        """Return a sum over the normal law."""
        z, weights = _normal_nodes()
        return Favorability(self._chance(z), weights).accuracy(np.atleast_1d(ks))

    def _chance(self, z: Floats) -> Floats:
        return np.asarray(np.minimum(self.median * np.exp(self.spread * z), 1.0))


@dataclass(frozen=True)
class MixedLaw(Law):
    """A mixture: in each part the probit of U is normal around that of 1 - p for one p."""

    shares: tuple[float, ...]
    middles: tuple[float, ...]
    spread: float

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw p."""
        part = rng.choice(len(self.shares), n, p=self.shares)
        return np.asarray(ndtr(ndtri(self.middles)[part] + self.spread * rng.normal(size=n)))

    def accuracy(self, ks: Any) -> Floats:
        """Return a sum over the normal laws."""
        z, weights = _normal_nodes()
        p = ndtr(np.add.outer(ndtri(self.middles), self.spread * z))
        mass = np.multiply.outer(self.shares, weights)
        return Favorability(p.ravel(), mass.ravel()).accuracy(np.atleast_1d(ks))


def _normal_nodes() -> tuple[Floats, Floats]:
    """Return points of a normal law and their weights: sums over them are exact to round-off."""
    z = np.linspace(-FARTHEST, FARTHEST, N_NODES)
    weights = np.exp(-(z**2) / 2)
    return z, weights / weights.sum()


# -- worlds of classes, with scores ----------------------------------------------------------------


class Scored(World):
    """Classes drawn one by one from an endless population; each probe is scored against all."""

    @abstractmethod
    def scene(self, rng: np.random.Generator, labels: Any, n_classes: int) -> Any:
        """Draw classes, and a probe of each label."""

    @abstractmethod
    def scores(self, scene: Any) -> Floats:
        """Return the score of each class (columns) for each probe (rows)."""

    @abstractmethod
    def chances(self, scene: Any) -> Chances:
        """Return each probe's chance to be beaten by one random other class."""

    def fresh_chances(self, seed: int) -> Chances:
        """Return the chances of fresh probes, each of a class of its own."""
        rng = np.random.default_rng(seed)
        return self.chances(self.scene(rng, np.arange(FRESH_PROBES), FRESH_PROBES))

    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a pilot of scores."""
        labels = np.repeat(np.arange(n_classes), PROBES)
        scene = self.scene(rng, labels, n_classes)
        pilot = Pilot.from_scores(self.scores(scene), labels)
        truth = _fresh(self, seed_for(seed, NAME, "truth", repr(self))).accuracy
        return Drawn(pilot, truth, self.chances(scene).accuracy)


@lru_cache(maxsize=64)
def _fresh(world: Scored, seed: int) -> Chances:
    return world.fresh_chances(seed)


@dataclass(frozen=True)
class Places:
    """Round classes: where they lie, what they add to their scores, and the probes."""

    centres: Floats
    bias: Floats
    probes: Floats
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class RoundClasses(Scored):
    """Normal classes in ten dimensions; the score is a bias minus the squared distance.

    Attributes
    ----------
    sigma : float
        Standard deviation of points around their class, in each dimension; that of classes is one.
    probe_spread : float
        Standard deviation of the logarithm of a factor of each probe's own to it.
    hard_share, hard_factor : float
        Share of classes whose points lie farther off, and how much farther.
    hub_share, hub_bias : float
        Share of classes that have a bias, and the mean of its exponential law. Squared distances to
        wrong classes have a standard deviation of 9 or more.
    """

    sigma: float
    probe_spread: float = 0.0
    hard_share: float = 0.0
    hard_factor: float = 1.0
    hub_share: float = 0.0
    hub_bias: float = 0.0

    def scene(self, rng: np.random.Generator, labels: Any, n_classes: int) -> Places:
        """Draw classes and probes."""
        centres = rng.normal(size=(n_classes, N_DIMS))
        is_hub = rng.random(n_classes) < self.hub_share
        bias = np.where(is_hub, self.hub_bias * rng.exponential(size=n_classes), 0.0)
        hard = np.where(rng.random(n_classes) < self.hard_share, self.hard_factor, 1.0)
        n = len(labels)
        scale = self.sigma * hard[labels] * np.exp(self.probe_spread * rng.normal(size=n))
        probes = centres[labels] + scale[:, None] * rng.normal(size=(n, N_DIMS))
        return Places(centres, bias, probes, labels)

    def scores(self, scene: Places) -> Floats:
        """Return bias minus squared distance."""
        lengths = np.square(scene.probes).sum(axis=1)[:, None]
        offset = scene.bias - np.square(scene.centres).sum(axis=1)
        return np.asarray(2 * scene.probes @ scene.centres.T + offset - lengths)

    def chances(self, scene: Places) -> Chances:
        """Return the chance that a class lies nearer than the own one, biases counted."""
        own = np.square(scene.probes - scene.centres[scene.labels]).sum(axis=1)
        reach, length = own - scene.bias[scene.labels], np.square(scene.probes).sum(axis=1)
        beaten = _nearer(reach, length)
        if self.hub_share:
            # Gauss and Laguerre's rule: accuracies are within 3e-5 of those by 8,000 points.
            by_hub = sum(
                weight * _nearer(reach + self.hub_bias * bias, length)
                for bias, weight in zip(*np.polynomial.laguerre.laggauss(BIASES), strict=True)
            )
            beaten = (1 - self.hub_share) * beaten + self.hub_share * by_hub
        return Chances(np.clip(beaten, 0.0, 1.0))


def _nearer(reach: Floats, length: Floats) -> Floats:
    """Return the chance that a class has a squared distance below `reach` to a probe."""
    return np.where(reach > 0, ncx2.cdf(np.maximum(reach, 1e-300), N_DIMS, length), 0.0)


@dataclass(frozen=True)
class Codes:
    """Binary codes of classes (0 or 1), the probes, and the places of their classes."""

    codes: NDArray[np.int64]
    probes: Floats
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class FlippedCodes(Scored):
    """Classes are random bits, each of which a probe may have wrong; how many are, is the score."""

    bits: int
    flip: float

    def scene(self, rng: np.random.Generator, labels: Any, n_classes: int) -> Codes:
        """Draw codes, and copies with wrong bits."""
        codes = rng.integers(2, size=(n_classes, self.bits))
        wrong = rng.random((len(labels), self.bits)) < self.flip
        return Codes(codes, (codes[labels] ^ wrong).astype(np.float64), labels)

    def scores(self, scene: Codes) -> Floats:
        """Return minus the number of bits that differ."""
        alike_less_unlike = (1 - 2 * scene.probes) @ (1.0 - 2.0 * scene.codes.T)
        return np.asarray((alike_less_unlike - self.bits) / 2)

    def chances(self, scene: Codes) -> Chances:
        """Return what follows from how many bits are wrong: of a rival any is, by even chance."""
        return self._of(np.abs(scene.probes - scene.codes[scene.labels]).sum(axis=1))

    def _of(self, wrong: Floats) -> Chances:
        return Chances(binom.cdf(wrong - 1, self.bits, 0.5), binom.pmf(wrong, self.bits, 0.5))

    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a pilot; the truth is a sum over the numbers of wrong bits."""
        labels = np.repeat(np.arange(n_classes), PROBES)
        scene = self.scene(rng, labels, n_classes)
        pilot = Pilot.from_scores(self.scores(scene), labels)
        return Drawn(pilot, self.accuracy, self.chances(scene).accuracy)

    def accuracy(self, ks: Any) -> Floats:
        """Return the accuracy among k classes."""
        wrong = np.arange(self.bits + 1.0)
        mass = binom.pmf(wrong, self.bits, self.flip)
        each = [self._of(wrong[i : i + 1]).accuracy(ks) for i in range(self.bits + 1)]
        return np.asarray(mass @ np.array(each))


@dataclass(frozen=True)
class NoisyCodes(Scored):
    """Classes are random signs, probes these with normal noise; the score is the dot product."""

    bits: int
    sigma: float

    def scene(self, rng: np.random.Generator, labels: Any, n_classes: int) -> Codes:
        """Draw codes, and noisy copies."""
        codes = rng.integers(2, size=(n_classes, self.bits))
        noise = self.sigma * rng.normal(size=(len(labels), self.bits))
        return Codes(codes, 2.0 * codes[labels] - 1 + noise, labels)

    def scores(self, scene: Codes) -> Floats:
        """Return dot products; classes with one code have one score, to the last digit."""
        kinds, of_class = np.unique(scene.codes, axis=0, return_inverse=True)
        return np.asarray((scene.probes @ (2.0 * kinds.T - 1))[:, of_class.ravel()])

    def chances(self, scene: Codes) -> Chances:
        """Count all codes that score more."""
        places = 1 << np.arange(self.bits)
        whole = 2.0 * ((np.arange(1 << self.bits)[:, None] & places) > 0).T - 1
        own = scene.codes[scene.labels] @ places
        beaten, size = np.empty(len(own)), max(1, CELLS >> self.bits)
        for start in range(0, len(own), size):
            block = slice(start, start + size)
            scores = scene.probes[block] @ whole
            true = scores[np.arange(len(scores)), own[block]]
            beaten[block] = (scores > true[:, None]).mean(axis=1)
        return Chances(beaten, np.full(len(own), 0.5**self.bits))


# -- close relatives -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Relatives(World):
    """Random classes out of a set of 20 K, all of which come in families of near-duplicates.

    So a pilot holds few relatives, and the whole set all of them. What is true is what would be
    measured on that set, another one for each pilot.
    """

    within: float
    sigma: float

    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a set, and a pilot from it that names no families."""
        whole = simulate.near_duplicates(
            POPULATION * n_classes,
            family_sizes=FAMILY_SIZES,
            within=self.within,
            sigma=self.sigma,
            n_dims=N_DIMS,
            probes_per_class=PROBES,
            random_state=rng,
        ).pilot.with_groups(None)
        population = Population(whole)
        pilot = population.pilot(n_classes, rng)
        return Drawn(pilot, population.truth, lambda ks: oracle(whole, pilot, ks))


@dataclass(frozen=True)
class WholeFamilies(World):
    """Families of near-duplicates drawn whole, in the pilot and beyond, and not named.

    Such a probe meets its relatives at every size. What is true is what
    `headcount.simulate.near_duplicates` says.
    """

    within: float
    sigma: float

    def draw(self, rng: np.random.Generator, n_classes: int, seed: int) -> Drawn:
        """Draw a pilot that names no families; nobody says what its probes have left of their U."""
        made = self._simulated(n_classes, n_classes, rng)
        truth_seed = seed_for(seed, NAME, "truth", repr(self))
        return Drawn(made.pilot.with_groups(None), _reference(self, truth_seed).truth, None)

    def _simulated(self, n_classes: int, reference: int, rng: Any) -> simulate.Simulation:
        return simulate.near_duplicates(
            n_classes,
            family_sizes=FAMILY_SIZES,
            within=self.within,
            sigma=self.sigma,
            n_dims=N_DIMS,
            probes_per_class=PROBES,
            reference_classes=reference,
            random_state=rng,
        )

    def reference(self, seed: int) -> simulate.Simulation:
        """Return a simulation that knows the truth up to 20,000 classes."""
        return self._simulated(max(FAMILY_SIZES), REFERENCE, seed)


@lru_cache(maxsize=8)
def _reference(world: WholeFamilies, seed: int) -> simulate.Simulation:
    return world.reference(seed)
