"""Classes and probes of random problems, put together for any noise level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.problems import worlds as worlds
from experiments.problems.worlds import Draws, World, torch_module

NUISANCES = 16  # dimensions that carry the noise of single scores
AMBIENT = 0.3  # noise off a manifold, relative to that along it
WORDS = 30.0  # of a text at noise level one
FEW = 12.0  # words expected, from where on the normal law stands in for Poisson's
SMOOTHING = 1e-3  # of the chances of words, so that none is zero


@dataclass(frozen=True)
class Classes:
    """Classes, all but the noise of their templates scaled."""

    centre: Any
    scale: Any
    gallery: Any
    bias: Any
    nuisance: Any
    latent: Any


@dataclass(frozen=True)
class Probes:
    """Probes before their class and the noise level are known."""

    noise: Any
    scale: Any
    strange: Any
    instead: Any
    nuisance: Any
    latent: Any
    width: Any


def draw_classes(draws: Draws, shared: World, n: int) -> Classes:
    """Draw n classes of each problem."""
    latent = draws.normal(n, worlds.LATENT) if shared.kind == "manifold" else None
    if shared.kind == "manifold":
        centre = worlds.bent(shared.bend, latent)
    elif shared.kind == "topics":
        centre = _chances(draws, draws.normal(n) * draws.column("steepness"))
    else:
        centre = worlds.centres(draws, shared, n)
    return Classes(
        centre, _class_scale(draws, n), _gallery(draws, shared, n), _bias(draws, n),
        _nuisance(draws, n, unit=False), latent,
    )  # fmt: skip


def draw_probes(draws: Draws, shared: World, n: int) -> Probes:
    """Draw what makes n probes of each problem differ from their class."""
    if shared.kind == "topics":
        noise = draws.uniform(n)
    else:
        noise = worlds.coordinates(draws, n, "noise_law", "noise_tail") * shared.noise_axes
    strange, instead = _strangers(draws, shared, n)
    latent = draws.normal(n, worlds.LATENT) if shared.kind == "manifold" else None
    nuisance = _nuisance(draws, n, unit=True)
    return Probes(
        noise, _uneven(draws, "probe_spread", n), strange, instead, nuisance, latent,
        _uneven(draws, "row_spread", n),
    )  # fmt: skip


def class_vectors(shared: World, classes: Classes, level: Any) -> list[Any]:
    """Return the vectors classes are known by; where there are several, the best one counts."""
    if classes.gallery is None:
        return [classes.centre]
    return [classes.centre + level * classes.scale * rows for rows in classes.gallery]


def probe_vectors(shared: World, classes: Classes, labels: Any, probes: Probes, level: Any) -> Any:
    """Return the probes of the classes `labels` at a noise level."""
    scale = level * classes.scale[:, labels] * probes.scale
    if shared.kind == "topics":
        return poisson_counts(classes.centre[:, labels] * (WORDS / scale**2), probes.noise)
    if shared.kind == "manifold":
        place = classes.latent[:, labels] + scale * probes.latent
        return worlds.bent(shared.bend, place) + AMBIENT * scale * probes.noise
    centre = classes.centre[:, labels]
    if probes.strange is not None:
        centre = torch_module().where(probes.strange, probes.instead, centre)
    return centre + scale * probes.noise


def _class_scale(draws: Draws, n: int) -> Any:
    """Draw the noise level of each class."""
    scale = _uneven(draws, "class_spread", n)
    hard = draws.where("hard_share")
    if hard:
        subset = draws.some(hard)
        chosen = subset.uniform(n, 1) < subset.column("hard_share")
        scale[hard] *= torch_module().where(chosen, subset.column("hard_factor"), 1.0)
    return scale


def _uneven(draws: Draws, spread: str, n: int) -> Any:
    """Draw factors whose logarithm is normal; one where there is no spread."""
    torch = torch_module()
    factor = torch.ones(len(draws.problems), n, 1, device=draws.device)
    rows = draws.where(spread)
    if rows:
        subset = draws.some(rows)
        factor[rows] = torch.exp(subset.column(spread) * subset.normal(n, 1))
    return factor


def _gallery(draws: Draws, shared: World, n: int) -> Any:
    """Draw the noise of templates: rows that compete, or their mean, which is one quieter row."""
    if not draws.where("gallery_rows"):
        return None
    torch = torch_module()
    rows = worlds.best_rows(draws.problems[0])
    level = [
        problem.gallery_noise
        / (problem.gallery_rows if problem.gallery_rule == "mean" else 1) ** 0.5
        if problem.gallery_rows
        else 0.0
        for problem in draws.problems
    ]
    scale = torch.tensor(level, device=draws.device)[:, None, None] * shared.noise_axes
    noisy = draws.where("gallery_rows")
    noise = torch.zeros(rows, len(level), n, draws.width, device=draws.device)
    for row in range(rows):
        noise[row, noisy] = draws.some(noisy).normal(n) * scale[noisy]
    return noise


def _bias(draws: Draws, n: int) -> Any:
    """Draw what each class adds to all its scores; skewed: a few add much."""
    biased = draws.where("hub_spread")
    torch = torch_module()
    bias = torch.zeros(len(draws.problems), n, 1, device=draws.device)
    if biased:
        subset = draws.some(biased)
        own = subset.normal(n, 1)
        for name, rows in subset.kinds("hub_law"):
            if name == "log-normal":
                own[rows] = (torch.exp(own[rows]) - 1.6487) / 2.1612  # mean and spread
            elif name == "exponential":
                own[rows] = -torch.special.log_ndtr(own[rows]) - 1
        bias[biased] = subset.column("hub_spread") * own
    return bias


def _nuisance(draws: Draws, n: int, *, unit: bool) -> Any:
    """Draw vectors whose products are the noise of single scores.

    With the probes' of length one and the classes' normal, the noise of a probe's scores is
    normal and independent from class to class.
    """
    noisy = draws.where("score_noise")
    if not noisy:
        return None
    subset = draws.some(noisy)
    vectors = subset.normal(n, NUISANCES)
    if unit:
        vectors = subset.column("score_noise") * vectors / vectors.norm(dim=2, keepdim=True)
    out = torch_module().zeros(len(draws.problems), n, NUISANCES, device=draws.device)
    out[noisy] = vectors
    return out


def _strangers(draws: Draws, shared: World, n: int) -> tuple[Any, Any]:
    """Draw which probes are impossible, and where those come from."""
    rows = draws.where("impossible_share")
    if not rows:
        return None, None
    torch = torch_module()
    subset = draws.some(rows)
    shape = (len(draws.problems), n)
    strange = torch.zeros(*shape, 1, dtype=torch.bool, device=draws.device)
    instead = torch.zeros(*shape, draws.width, device=draws.device)
    strange[rows] = subset.uniform(n, 1) < subset.column("impossible_share")
    wrong = [row for row in rows if draws.problems[row].impossible_kind == "mislabelled"]
    if wrong:
        instead[wrong] = worlds.centres(draws.some(wrong), worlds.some(shared, wrong), n)
    return strange, instead


def _chances(draws: Draws, values: Any) -> Any:
    """Return chances of words, zero in the padding."""
    torch = torch_module()
    used = torch.arange(draws.width, device=draws.device) < draws.column("n_dims")
    chance = torch.softmax(torch.where(used, values, -1e30), dim=2)
    return torch.where(used, (1 - SMOOTHING) * chance + SMOOTHING / draws.column("n_dims"), 0.0)


def poisson_counts(rate: Any, uniform: Any) -> Any:
    """Return Poisson counts as a function of uniform numbers: the same text, longer or shorter."""
    torch = torch_module()
    small = rate.clamp(max=FEW)
    mass = torch.exp(-small)
    below, count = mass.clone(), torch.zeros_like(rate)
    for value in range(1, int(3 * FEW)):
        count += uniform >= below
        mass = mass * small / value
        below += mass
    around = (rate + rate.sqrt() * torch.special.ndtri(uniform.clamp(1e-6, 1 - 1e-6))).clamp(min=0)
    # A trace of words that are not there, so that a text without words has a score, a random one.
    return torch.where(rate < FEW, count, around.round()) + 0.01 * uniform
