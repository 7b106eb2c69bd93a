"""Which random recognition problems there are: families, and what is drawn for each.

A `Problem` is a small record of numbers and names. It says how classes, probes and scores come
about, and `experiments.problems.problems` makes them. Families in `HELD_OUT` are drawn only when
they are named: nothing is trained or tuned on them, so that results there are blind.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from headcount.errors import ParameterError
from headcount.support import validation

POPULATIONS = ("normal", "uniform", "heavy_tailed", "clustered")
NOISES = ("normal", "uniform", "heavy_tailed")
HUBS = ("normal", "log-normal", "exponential")  # laws of what classes add to their scores
SPARSE = "sparse"  # a population, a noise and a family: few coordinates count, as words do
SCORES = ("euclidean", "squared", "log", "cosine", "dot")
SPECTRA = ("flat", "power", "few")

# How often each family is drawn. Plain populations come most often, since all others build on
# them; what marks the others also occurs in every family, less often and less strongly.
SHARES = {
    "normal": 0.13,
    "uniform": 0.09,
    "heavy_tailed": 0.09,
    "clustered": 0.11,
    "parts": 0.12,
    "templates": 0.10,
    "twins": 0.07,
    "hubs": 0.08,
    "spoiled": 0.08,
    "mixed": 0.06,
    SPARSE: 0.07,
}
TRAINING = tuple(SHARES)
PLAIN = "plain"  # drawn only by name, but not held out: as the simulations of paper 001
HELD_OUT = ("tree", "manifold", "topics")
FAMILIES = (*TRAINING, PLAIN, *HELD_OUT)
NEARLY_PERFECT = 0.2
BINARY = 0.25  # share of codes that have two letters and many places
MODERATE_TARGETS, MODERATE_SHARE = (0.2, 0.99), 0.3
UNEVEN = ((0.3, 0.05, 0.6), (0.1, 0.6, 1.5))  # how often, and between what: moderately, or much


@dataclass(frozen=True)
class Problem:
    """A recognition problem: everything that its random numbers follow from.

    Lengths are in units in which class centres have total variance one. Spreads are standard
    deviations of logarithms.

    Attributes
    ----------
    seed, family : int, str
        Where it comes from.
    n_classes, probes_per_class, n_dims : int
        Size of the pilot, and the dimension of the space.
    target : float
        Accuracy at `n_classes` that the noise level is set to reach, if it can.
    noise : float or None
        The noise level itself, in place of `target`.
    population, tail, density, radius_spread
        Law of the class centres; degrees of freedom of a heavy tail; share of coordinates that
        count where few do; spread of distances from the middle.
    spectrum, steepness
        Variances along the axes: all alike, falling as a power, or a few strong ones.
    n_groups, within, skew, branching
        Clusters: how many, the share of variance inside them, Zipf exponent of their sizes; a
        tree has the numbers of branches at each level instead.
    n_parts, n_letters
        Classes as codes: places in the code, and letters each place is drawn from.
    latent_dims : int
        Dimension of the curved surface that the classes of a manifold lie on.
    noise_law, noise_tail, noise_tilt, class_spread, probe_spread
        Law of the noise; how far its variances follow the spectrum (0: not, 1: as the classes);
        how unequal its level is from class to class and from probe to probe.
    hard_share, hard_factor
        Share of classes whose noise is larger, and how much larger.
    gallery_rows, gallery_rule, gallery_noise
        Classes known by noisy rows: how many (0: centres are known), whether the best or their
        mean counts, and their noise relative to that of probes.
    score, evening
        The score; for dot products, how far class vectors are brought to one length.
    hub_spread, hub_law, score_noise
        A bias of each class, normal or skewed (a few classes beat many probes), and noise of each
        single score, in units of the spread of scores between classes (less than that where there
        is little noise).
    impossible_share, impossible_kind
        Share of probes that are of another class than they say ("mislabelled"; that class is a
        fresh one, as in an endless population the set asked about hardly ever holds it) or are
        noise alone ("junk").
    twin_share, n_twins, twin_gap
        Share of classes that are one of `n_twins` places, give or take the gap.
    quantum, row_spread, warp
        Step to which scores are rounded, in the units above; how unequally wide the scores of
        different probes are; the rate of an exponential that is taken of them, in units of their
        spread: above zero the best scores are drawn apart, below it they are crowded.
    """

    seed: int
    family: str
    n_classes: int
    probes_per_class: int
    n_dims: int
    target: float
    noise: float | None = None
    population: str = "normal"
    tail: float = 4.0
    density: float = 0.1
    radius_spread: float = 0.0
    spectrum: str = "flat"
    steepness: float = 1.0
    n_groups: int = 1
    within: float = 1.0
    skew: float = 0.0
    branching: tuple[int, ...] = ()
    n_parts: int = 0
    n_letters: int = 0
    latent_dims: int = 0
    noise_law: str = "normal"
    noise_tail: float = 4.0
    noise_tilt: float = 0.0
    class_spread: float = 0.0
    probe_spread: float = 0.0
    hard_share: float = 0.0
    hard_factor: float = 1.0
    gallery_rows: int = 0
    gallery_rule: str = "best"
    gallery_noise: float = 1.0
    score: str = "euclidean"
    evening: float = 1.0
    hub_spread: float = 0.0
    hub_law: str = "normal"
    score_noise: float = 0.0
    impossible_share: float = 0.0
    impossible_kind: str = "mislabelled"
    twin_share: float = 0.0
    n_twins: int = 1
    twin_gap: float = 0.1
    quantum: float = 0.0
    row_spread: float = 0.0
    warp: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "branching": list(self.branching)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Problem:
        """Return the problem that `to_dict` wrote."""
        unknown = set(record) - {field.name for field in fields(cls)}
        if unknown:
            raise ParameterError(f"a problem has no {sorted(unknown)[0]!r}.")
        return cls(**{**record, "branching": tuple(record.get("branching", ()))})


def draw(
    seed: int,
    *,
    family: str | None = None,
    n_classes: int | None = None,
    probes_per_class: int | None = None,
    moderate: bool = False,
) -> Problem:
    """Draw a random problem.

    Parameters
    ----------
    seed : int
        All that is drawn follows from it, and what `realise` draws too. The options do not
        change what is drawn for the rest.
    family : str, optional
        One of `FAMILIES`; by default a random one of `TRAINING`, never one that is held out.
    n_classes, probes_per_class : int, optional
        By default 20 to 600 and 1 to 10, small ones as likely as large ones on a log scale.
    moderate : bool
        Leave out what is far from the usual: nearly perfect and nearly useless recognisers, very
        unequal noise, bent scores and sparse vectors (unless that family is named).

    Returns
    -------
    Problem

    Examples
    --------
    >>> problem = draw(1, family="clustered", n_classes=200)
    >>> problem.n_classes, problem.population, problem == draw(1, family="clustered", n_classes=200)
    (200, 'clustered', True)
    """
    seed = validation.whole_number(seed, "seed", 0)
    rng = np.random.default_rng([seed, 0])
    shares = {name: share for name, share in SHARES.items() if not moderate or name != SPARSE}
    random_family = str(
        rng.choice(list(shares), p=np.array(list(shares.values())) / sum(shares.values()))
    )
    sizes = (round(_log_uniform(rng, 20, 600)), int(_log_uniform(rng, 1, 11)))
    family = random_family if family is None else validation.choice(family, "family", FAMILIES)
    overrides = (n_classes, probes_per_class)
    names = (("n_classes", 2), ("probes_per_class", 1))
    n_classes, probes_per_class = (
        size if value is None else validation.whole_number(value, *name)
        for size, value, name in zip(sizes, overrides, names, strict=True)
    )
    # Separate streams, so that one family's choices do not shift another's.
    parts = [np.random.default_rng([seed, 1, stream]) for stream in range(4)]
    chosen = _space(parts[0]) | _noise(parts[1]) | _scores(parts[2])
    if chosen["n_dims"] < 8:
        chosen["evening"] = 1.0  # else the longest class wins everything
    chosen |= _character(parts[3], family, chosen)
    problem = Problem(seed, family, n_classes, probes_per_class, target=_target(rng), **chosen)
    return _moderated(problem, rng) if moderate else problem


def _moderated(problem: Problem, rng: np.random.Generator) -> Problem:
    return replace(
        problem,
        target=round(float(rng.uniform(*MODERATE_TARGETS)), 4),
        warp=0.0,
        class_spread=min(problem.class_spread, UNEVEN[0][2]),
        probe_spread=min(problem.probe_spread, UNEVEN[0][2]),
        impossible_share=min(problem.impossible_share, MODERATE_SHARE),
    )


def _target(rng: np.random.Generator) -> float:
    """Draw an accuracy: any, or now and then one that leaves hardly an error."""
    any_at_all, error = float(rng.uniform(0.05, 0.98)), 10 ** -float(rng.uniform(1.5, 4.0))
    return round(1 - error if rng.random() < NEARLY_PERFECT else any_at_all, 5)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _sometimes(rng: np.random.Generator, chance: float, low: float, high: float) -> float:
    """Return a number between low and high, or zero where it does not happen."""
    value = round(float(rng.uniform(low, high)), 4)
    return value if rng.random() < chance else 0.0


def _uneven(rng: np.random.Generator) -> float:
    """Draw how unequal noise is: not at all, moderately or much."""
    moderate, much = (_sometimes(rng, *chance) for chance in UNEVEN)
    return much or moderate


def _space(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the space, and what classes in general look like there."""
    spectrum = str(rng.choice(SPECTRA, p=(0.45, 0.4, 0.15)))
    return {
        "n_dims": round(_log_uniform(rng, 2, 120)),
        "spectrum": spectrum,
        "steepness": round(float(rng.uniform(0.3, 2.0)), 4),
        "tail": round(float(rng.uniform(2.5, 8.0)), 4),
        "radius_spread": _sometimes(rng, 0.15, 0.1, 0.6),
        "twin_share": _sometimes(rng, 0.05, 0.02, 0.2),
        "n_twins": round(_log_uniform(rng, 100, 4000)),
        "twin_gap": round(_log_uniform(rng, 0.01, 0.3), 4),
    }


def _noise(rng: np.random.Generator) -> dict[str, Any]:
    law = str(rng.choice(NOISES, p=(0.6, 0.2, 0.2)))
    rows = int(rng.integers(1, 6)) if rng.random() < 0.2 else 0
    return {
        "noise_law": law,
        "noise_tail": round(float(rng.uniform(2.5, 8.0)), 4),
        "noise_tilt": float(rng.choice((0.0, 0.5, 1.0), p=(0.5, 0.25, 0.25))),
        "class_spread": _uneven(rng),
        "probe_spread": _uneven(rng),
        "gallery_rows": rows,
        "gallery_rule": str(rng.choice(("best", "mean"))),
        "gallery_noise": round(float(rng.uniform(0.3, 1.2)), 4),
        "impossible_share": _sometimes(rng, 0.08, 0.005, 0.08),
        "impossible_kind": str(rng.choice(("mislabelled", "junk"))),
    }


def _scores(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "score": str(rng.choice(SCORES, p=(0.35, 0.2, 0.15, 0.2, 0.1))),
        "evening": 1.0 - _sometimes(rng, 0.5, 0.0, 0.1),
        "hub_spread": _sometimes(rng, 0.15, 0.02, 0.3),
        "hub_law": HUBS[int(rng.random() < 0.3)],
        "score_noise": _sometimes(rng, 0.15, 0.02, 0.3),
        "quantum": round(_log_uniform(rng, 3e-4, 1e-2), 5) if rng.random() < 0.05 else 0.0,
        "row_spread": _sometimes(rng, 0.2, 0.05, 0.5),
        "warp": _sometimes(rng, 0.25, 0.2, 2.5) or -_sometimes(rng, 0.1, 0.2, 1.0),
    }


def _character(rng: np.random.Generator, family: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Draw what marks the family, over what was drawn for any."""
    base = str(rng.choice(POPULATIONS, p=(0.5, 0.2, 0.15, 0.15)))
    population = family if family in POPULATIONS else base
    character: dict[str, Any] = {"population": population}
    if family != "parts" and (population == "clustered" or family == "tree"):
        character |= {
            "population": "clustered",
            "n_groups": round(_log_uniform(rng, 3, 200)),
            "within": round(_log_uniform(rng, 0.02, 0.7), 4),
            "skew": _sometimes(rng, 0.4, 0.2, 1.2),
        }
    elif family == "parts":
        character |= {
            "population": "normal",
            "n_parts": int(rng.integers(2, 7)),
            "n_letters": round(_log_uniform(rng, 3, 40)),
            "within": round(_log_uniform(rng, 0.005, 0.3), 4),
            "skew": _sometimes(rng, 0.6, 0.2, 1.2),
            "n_dims": max(chosen["n_dims"], 4),
        }
        if rng.random() < BINARY:
            character |= {"n_parts": int(rng.integers(12, 25)), "n_letters": 2}
    return character | _marks(rng, family, chosen)


def _marks(rng: np.random.Generator, family: str, chosen: dict[str, Any]) -> dict[str, Any]:
    if family == "templates":
        return {"gallery_rows": int(rng.integers(1, 6))}
    if family == "twins":
        share = round(float(rng.uniform(0.1, 1.0)), 4)
        # So many places that a pilot shows hardly a relative, but many times its classes do.
        return {"twin_share": share, "n_twins": round(_log_uniform(rng, 50, 12_000))}
    if family == "hubs":
        spread = round(float(rng.uniform(0.1, 0.8)), 4)
        return {"hub_spread": spread, "hub_law": str(rng.choice(HUBS))}
    if family == "spoiled":
        return {"impossible_share": round(_log_uniform(rng, 0.02, 0.5), 4)}
    if family == SPARSE:
        return _sparse(rng)
    if family == PLAIN:
        return _plain(rng)
    if family == "mixed":
        return {
            "hard_share": round(float(rng.uniform(0.05, 0.6)), 4),
            "hard_factor": round(_log_uniform(rng, 1.5, 6.0), 4),
        }
    return _held_out(rng, family, chosen)


def _plain(rng: np.random.Generator) -> dict[str, Any]:
    """Draw known centres in few dimensions, round noise of one size, and nothing else."""
    return UNSPOILED | {
        "n_dims": round(_log_uniform(rng, 2, 15)),
        "population": str(rng.choice(("normal", "uniform"))),
        "noise_law": str(rng.choice(("normal", "uniform"))),
        "score": str(rng.choice(("euclidean", "squared", "log"), p=(0.8, 0.1, 0.1))),
    }


def _sparse(rng: np.random.Generator) -> dict[str, Any]:
    """Draw classes and noise of which few coordinates count."""
    return {
        "n_dims": round(_log_uniform(rng, 30, 120)),
        "population": SPARSE,
        "density": round(_log_uniform(rng, 0.02, 0.3), 4),
        "noise_law": str(rng.choice((SPARSE, "normal"), p=(0.7, 0.3))),
        "score": str(rng.choice(("cosine", "dot", "euclidean"), p=(0.7, 0.2, 0.1))),
    }


def _held_out(rng: np.random.Generator, family: str, chosen: dict[str, Any]) -> dict[str, Any]:
    if family == "tree":
        return {"branching": tuple(int(n) for n in rng.integers(3, 8, size=3))}
    if family == "manifold":
        latent = int(rng.integers(2, 7))
        return UNBENT | {"latent_dims": latent, "n_dims": max(chosen["n_dims"], latent + 2)}
    if family == "topics":
        steepness = round(float(rng.uniform(0.5, 2.5)), 4)
        words = {"n_dims": max(chosen["n_dims"], 10), "steepness": steepness}
        return UNBENT | words | {"score": "likelihood", "noise_law": "normal"}
    return {}


# What does not apply where classes are not centres with noise added.
UNBENT: dict[str, Any] = {
    "population": "normal",
    "spectrum": "flat",
    "radius_spread": 0.0,
    "twin_share": 0.0,
    "gallery_rows": 0,
    "impossible_share": 0.0,
}

UNSPOILED: dict[str, Any] = {  # nothing but centres and noise
    "n_groups": 1,
    "within": 1.0,
    "skew": 0.0,
    "spectrum": "flat",
    "noise_tilt": 0.0,
    "class_spread": 0.0,
    "probe_spread": 0.0,
    "radius_spread": 0.0,
    "twin_share": 0.0,
    "gallery_rows": 0,
    "impossible_share": 0.0,
    "evening": 1.0,
    "hub_spread": 0.0,
    "score_noise": 0.0,
    "quantum": 0.0,
    "row_spread": 0.0,
    "warp": 0.0,
}
