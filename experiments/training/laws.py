"""Problems without scores: laws of U of many shapes, for pilots of any size.

What a network learns from scores it learns on random geometry (`experiments.problems`). From losses
alone it must know how laws of U may look at all, among ten classes or ten million: heavy or light
tails, mixtures, probes that are never beaten, or blind ones that score like any rival. A law is
held as many equally likely values of y = Phi^-1(U), shifted so that the pilot's accuracy is the one
drawn. The probes of some groups are known only as far as lists that were cut tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_VALUES = 4096
CUT, DEPTHS = 0.25, (1, 200)  # how often lists are cut, and after how many entries
SIZES = (10, 10**7)  # classes of a pilot
PROBES = (50, 8000)
HALVINGS = 40
FARTHEST = 37.0  # y of probes that are never beaten, as far as doubles tell
TARGETS, NEARLY_PERFECT = (0.05, 0.98), 0.2
NEVER, BLIND = (0.25, 0.7), (0.2, 0.3)  # how often there are such probes, and how many at most


def sizes(number: int) -> tuple[int, int]:
    """Return classes and probes of a group."""
    rng = np.random.default_rng([number, 79])
    n_classes, n_probes = (round(math.exp(rng.uniform(*np.log(ends)))) for ends in (SIZES, PROBES))
    return n_classes, n_probes


def depth(number: int) -> int | None:
    """Return after how many entries the lists of a group are cut, or None."""
    rng = np.random.default_rng([number, 81])
    if rng.random() >= CUT:
        return None
    entries = round(math.exp(rng.uniform(*np.log(DEPTHS))))
    return min(entries, sizes(number)[0] - 1)


def draw_law(rng: np.random.Generator, n_classes: int) -> Floats:
    """Return equally likely values of y, ascending, under a random law.

    The accuracy among `n_classes` is drawn too, as `experiments.problems` does: any, or now and
    then one that leaves hardly an error.
    """
    values = SHAPES[rng.integers(len(SHAPES))](rng)
    error = 10 ** -rng.uniform(1.5, 4.0)
    target = 1 - error if rng.random() < NEARLY_PERFECT else rng.uniform(*TARGETS)
    never = rng.uniform(0, min(NEVER[1], target)) if rng.random() < NEVER[0] else 0.0
    blind = rng.uniform(0, min(BLIND[1], 1 - target)) if rng.random() < BLIND[0] else 0.0
    # What is never beaten, or blind, leaves the rest as hard as the target asks.
    place = rng.random(N_VALUES)
    of_blind = ndtri(rng.random(N_VALUES))
    low, high = -2 * FARTHEST, 2 * FARTHEST
    for _ in range(HALVINGS):
        shift = (low + high) / 2
        y = np.where(place < never, FARTHEST, np.where(place > 1 - blind, of_blind, values + shift))
        right = accuracies(y, np.array([n_classes]))[0]
        low, high = (shift, high) if right < target else (low, shift)
    return np.sort(np.clip(y, -FARTHEST, FARTHEST))


def accuracies(y: Floats, counts: Floats) -> Floats:
    """Return the accuracy of a law at numbers of classes."""
    return np.asarray(np.exp(np.multiply.outer(counts - 1.0, log_ndtr(y))).mean(axis=-1))


def _normals(rng: np.random.Generator) -> Floats:
    """Draw from up to three normal parts on the probit scale."""
    parts = int(rng.integers(1, 4))
    which = rng.choice(parts, N_VALUES, p=rng.dirichlet(np.full(parts, 1.5)))
    spreads = np.exp(rng.uniform(np.log(0.1), np.log(2.0), parts))
    return rng.normal(0, 1.5, parts)[which] + spreads[which] * rng.normal(size=N_VALUES)


def _heavy(rng: np.random.Generator) -> Floats:
    """Draw from Student's law on the probit scale, skewed or not."""
    values = rng.standard_t(rng.uniform(2.0, 10.0), N_VALUES)
    skew = rng.uniform(-0.5, 0.5)
    return np.exp(rng.uniform(np.log(0.2), np.log(1.5))) * (values + skew * np.abs(values))


def _log_normal(rng: np.random.Generator) -> Floats:
    """Draw where the chance of being beaten by one rival is log-normal."""
    log_p = -8 + np.exp(rng.uniform(np.log(0.3), np.log(5.0))) * rng.normal(size=N_VALUES)
    return -ndtri_exp(np.minimum(log_p, -1e-9))


def _power(rng: np.random.Generator) -> Floats:
    """Draw where that chance is nearly a power of a uniform number, as under beta laws."""
    a = math.exp(rng.uniform(math.log(0.1), math.log(5.0)))
    log_p = np.log(rng.gamma(a + 1, size=N_VALUES)) + np.log(rng.random(N_VALUES)) / a
    return -ndtri_exp(np.minimum(log_p - rng.uniform(3, 10), -1e-9))


def _stepped(rng: np.random.Generator) -> Floats:
    """Draw from a few levels of difficulty."""
    levels = int(rng.integers(2, 7))
    which = rng.choice(levels, N_VALUES, p=rng.dirichlet(np.full(levels, 2.0)))
    return rng.normal(0, 1.5, levels)[which] + 0.15 * rng.normal(size=N_VALUES)


SHAPES = (_normals, _normals, _heavy, _log_normal, _power, _stepped)


@dataclass(frozen=True)
class Draw:
    """Pilots of random laws, all of one size.

    Attributes
    ----------
    n_classes : int
        Of each pilot.
    losses : ndarray (problems, probes)
        What was measured.
    censored : ndarray of bool (problems, probes)
        Which of these are only known from below.
    own, laws : ndarray (problems, probes), (problems, values)
        y of the probes, and equally likely values of y under each law.
    """

    n_classes: int
    losses: Ints
    censored: NDArray[np.bool_]
    own: Floats
    laws: Floats


def draw_group(number: int, count: int) -> Draw:
    """Return pilots of random laws."""
    n_classes, n_probes = sizes(number)
    laws, own, losses = [], [], []
    for place in range(count):
        rng = np.random.default_rng([number, 80, place])
        laws.append(draw_law(rng, n_classes))
        own.append(rng.choice(laws[-1], n_probes))
        losses.append(rng.binomial(n_classes - 1, ndtr(-own[-1])))
    lost, entries = np.array(losses), depth(number)
    # Whose class is not in the list has at least as many losses as that has entries.
    censored = np.zeros(lost.shape, np.bool_) if entries is None else lost >= entries
    known = np.where(censored, entries or 0, lost)
    return Draw(n_classes, known, censored, np.array(own), np.array(laws))
