"""Classes and probes of random problems, many problems at once, in torch.

All tensors have the problems along their first axis, and vectors are padded with zeros to the
largest dimension. Every problem has its own random numbers, so that what is drawn for it does not
depend on what it is batched with. Numbers are drawn without the noise level (`Classes`, `Probes`)
and put together for any level afterwards, as finding the right one takes many tries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.problems.families import SPARSE, Problem
from headcount.errors import MissingExtraError

HIDDEN = 32  # units of the random map that bends a manifold
DUST = 0.03  # share of the variance of sparse vectors that lies in all coordinates
LATENT = 6  # most dimensions a manifold has
STREAMS = {"world": 0, "trial": 1, "pilot": 2, "truth": 3}


def torch_module() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("making random problems", "torch") from error
    return torch


class Draws:
    """Random numbers of several problems, each from its own generator.

    Parameters
    ----------
    problems : sequence of Problem
        Whose numbers are drawn.
    stream : str
        What they are for; streams are independent.
    device : torch.device
        Where they are drawn. Other kinds of device give other numbers for the same seed.
    """

    def __init__(self, problems: Sequence[Problem], stream: str, device: Any) -> None:
        self.problems = tuple(problems)
        self.device = device
        self.width = max(problem.n_dims for problem in problems)
        self._generators = [_generator(problem, stream, device) for problem in problems]

    def some(self, rows: Sequence[int]) -> Draws:
        """Return the draws of some of the problems, which go on from the same generators."""
        subset = object.__new__(Draws)
        subset.problems = tuple(self.problems[row] for row in rows)
        subset.device, subset.width = self.device, self.width
        subset._generators = [self._generators[row] for row in rows]
        return subset

    def column(self, name: str) -> Any:
        """Return a number of each problem, shaped to multiply tensors of all problems."""
        values = [float(getattr(problem, name)) for problem in self.problems]
        return torch_module().tensor(values, device=self.device)[:, None, None]

    def where(self, name: str) -> list[int]:
        """Return the problems for which something happens at all."""
        return [row for row, problem in enumerate(self.problems) if getattr(problem, name)]

    def kinds(self, name: str) -> Iterator[tuple[Any, list[int]]]:
        """Yield each value of an attribute, and the problems that have it."""
        values = [getattr(problem, name) for problem in self.problems]
        for value in sorted(set(values)):
            yield value, [row for row, own in enumerate(values) if own == value]

    def normal(self, n: int, width: int | None = None) -> Any:
        """Return standard normal rows, n for each problem, padded with zeros."""
        return self._filled(torch_module().randn, n, width)

    def uniform(self, n: int, width: int | None = None) -> Any:
        """Return rows uniform on [0, 1), n for each problem, padded with zeros."""
        return self._filled(torch_module().rand, n, width)

    def _filled(self, law: Any, n: int, width: int | None) -> Any:
        full = self.width if width is None else width
        out = torch_module().zeros(len(self.problems), n, full, device=self.device)
        for row, generator in enumerate(self._generators):
            own = self.problems[row].n_dims if width is None else width
            # Not in place: on a CPU a strided tensor would be filled with other numbers.
            out[row, :, :own] = law((n, own), generator=generator, device=self.device)
        return out


def _generator(problem: Problem, stream: str, device: Any) -> Any:
    sequence = np.random.SeedSequence([problem.seed, 2, STREAMS[stream]])
    seed = int(sequence.generate_state(1, np.uint64)[0]) % 2**63
    return torch_module().Generator(device=device).manual_seed(seed)


@dataclass(frozen=True)
class World:
    """What all classes of a problem share: scales of the axes, groups, alphabets, a bent map."""

    kind: str
    axes: Any
    noise_axes: Any
    centres: Any = None
    sizes: Any = None
    letters: Any = None
    letter_sizes: Any = None
    places: Any = None
    bend: tuple[Any, ...] = ()


def kind(problem: Problem) -> str:
    """Return how a problem's probes come about; those in one batch must be of one kind."""
    return problem.family if problem.family in ("manifold", "topics") else "round"


def best_rows(problem: Problem) -> int:
    """Return how many vectors a class has that compete for its best score."""
    return problem.gallery_rows if problem.gallery_rule == "best" and problem.gallery_rows else 1


# -- what all classes share ------------------------------------------------------------------------


def world(draws: Draws) -> World:
    """Draw what the classes of each problem share."""
    variances = np.zeros((len(draws.problems), 1, draws.width))
    noises = np.zeros_like(variances)
    for row, problem in enumerate(draws.problems):
        values = spectrum(problem)
        tilted = values**problem.noise_tilt
        variances[row, 0, : len(values)] = values
        noises[row, 0, : len(values)] = tilted / tilted.sum()
    torch = torch_module()
    axes, noise_axes = (
        torch.tensor(np.sqrt(variance), dtype=torch.float32, device=draws.device)
        for variance in (variances, noises)
    )
    shape = kind(draws.problems[0])
    if shape != "round":
        bend = _bend(draws) if shape == "manifold" else ()
        return World(shape, axes, noise_axes, bend=bend)
    centres, sizes = _groups(draws, axes)
    letters, letter_sizes = _letters(draws, axes)
    shared = World(shape, axes, noise_axes, centres, sizes, letters, letter_sizes)
    twins = draws.where("twin_share")
    if not twins:
        return shared
    most = max(problem.n_twins for problem in draws.problems)
    places = torch.zeros(len(draws.problems), most, draws.width, device=draws.device)
    for n_twins, rows in draws.some(twins).kinds("n_twins"):
        members = [twins[row] for row in rows]
        places[members, :n_twins] = _centres(draws.some(members), some(shared, members), n_twins)
    return World(shape, axes, noise_axes, centres, sizes, letters, letter_sizes, places)


def spectrum(problem: Problem) -> Any:
    """Return the variances of class centres along the axes, which sum to one.

    Examples
    --------
    >>> from experiments.problems.families import draw
    >>> import dataclasses
    >>> powers = dataclasses.replace(draw(0), n_dims=3, spectrum="power", steepness=1.0)
    >>> spectrum(powers).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    rank = np.arange(problem.n_dims)
    if problem.spectrum == "power":
        values = (1.0 + rank) ** -problem.steepness
    elif problem.spectrum == "few":
        strong = max(2, round(math.sqrt(problem.n_dims)))
        values = np.where(rank < strong, 1.0, math.exp(-2 * problem.steepness))
    else:
        values = np.ones(problem.n_dims)
    return values / values.sum()


def some(shared: World, rows: Sequence[int]) -> World:
    """Return what the classes of some of the problems share."""
    parts: dict[str, Any] = {}
    for name in ("axes", "noise_axes", "centres", "sizes", "letters", "letter_sizes", "places"):
        whole = getattr(shared, name)
        parts[name] = None if whole is None else whole[rows]
    return World(shared.kind, **parts)


def _zipf(draws: Draws, counts: Sequence[int]) -> Any:
    """Return running sums of how common each of several things is, past one beyond the last."""
    sums = np.full((len(counts), max(counts)), 2.0)
    for row, (problem, count) in enumerate(zip(draws.problems, counts, strict=True)):
        common = (1.0 + np.arange(count)) ** -problem.skew
        sums[row, :count] = np.cumsum(common) / common.sum()
        sums[row, count - 1] = 1.0
    torch = torch_module()
    return torch.tensor(sums, dtype=torch.float32, device=draws.device)


def _groups(draws: Draws, axes: Any) -> tuple[Any, Any]:
    """Draw centres of clusters: in a tree, those of the branches at its lowest level."""
    grouped = _clustered(draws)
    if not grouped:
        return None, None
    counts = [1] * len(draws.problems)
    for row in grouped:
        problem = draws.problems[row]
        counts[row] = math.prod(problem.branching) if problem.branching else problem.n_groups
    shape = (len(counts), max(counts), draws.width)
    centres = torch_module().zeros(shape, device=draws.device)
    for row in grouped:
        subset = draws.some([row])
        levels = draws.problems[row].branching or (counts[row],)
        points, nodes = subset.normal(levels[0])[0], levels[0]
        for branches in levels[1:]:
            nodes *= branches
            points = points.repeat_interleave(branches, dim=0) + subset.normal(nodes)[0]
        centres[row, :nodes] = points / math.sqrt(len(levels))
    return centres * axes, _zipf(draws, counts)


def _clustered(draws: Draws) -> list[int]:
    return [row for row, problem in enumerate(draws.problems) if problem.population == "clustered"]


def _letters(draws: Draws, axes: Any) -> tuple[Any, Any]:
    """Draw the alphabet of every place in the codes."""
    if not draws.where("n_parts"):
        return None, None
    letters = torch_module().zeros(
        len(draws.problems),
        max(problem.n_parts * problem.n_letters for problem in draws.problems),
        draws.width,
        device=draws.device,
    )
    for row, problem in enumerate(draws.problems):
        if problem.n_parts:
            count = problem.n_parts * problem.n_letters
            letters[row, :count] = draws.some([row]).normal(count)[0] * axes[row]
    return letters, _zipf(draws, [max(1, problem.n_letters) for problem in draws.problems])


def _bend(draws: Draws) -> tuple[Any, ...]:
    """Draw a smooth random map from few dimensions to all."""
    torch = torch_module()
    first = draws.normal(LATENT, HIDDEN)
    used = torch.arange(LATENT, device=draws.device)[None, :, None] < draws.column("latent_dims")
    first = first * used / draws.column("latent_dims").sqrt()
    shift = draws.normal(1, HIDDEN)
    second = draws.normal(HIDDEN) / torch.sqrt(HIDDEN * draws.column("n_dims"))
    return first * draws.column("steepness"), shift, second


def bent(bend: tuple[Any, ...], latent: Any) -> Any:
    """Return where points of a manifold lie."""
    first, shift, second = bend
    return 2 * torch_module().bmm(torch_module().tanh(latent @ first + shift), second)


# -- where classes lie -----------------------------------------------------------------------------


def law(draws: Draws, n: int, name: str, tail: Any) -> Any:
    """Draw coordinates of mean square one: normal, uniform, few that count, or Student's.

    The last by Bailey's polar method (Math. Comp. 62, 1994), exact for any degrees of freedom.
    """
    if name == "normal":
        return draws.normal(n)
    if name == "uniform":
        return (2 * draws.uniform(n) - 1) * math.sqrt(3)
    torch = torch_module()
    if name == SPARSE:
        chosen = draws.uniform(n) < draws.column("density")
        large = draws.normal(n).abs() * chosen / draws.column("density").sqrt()
        # A little everywhere, or vectors without any that count would all be the same.
        return math.sqrt(1 - DUST) * large + math.sqrt(DUST) * draws.normal(n)
    length = draws.uniform(n).clamp_(min=1e-7)
    radius = torch.sqrt(tail * (length ** (-2 / tail) - 1))
    return radius * torch.cos(2 * math.pi * draws.uniform(n)) * torch.sqrt((tail - 2) / tail)


def coordinates(draws: Draws, n: int, which: str, tails: str) -> Any:
    """Draw coordinates of variance one, each problem from its own law."""
    out = torch_module().zeros(len(draws.problems), n, draws.width, device=draws.device)
    for name, rows in draws.kinds(which):
        subset = draws.some(rows)
        plain = "normal" if name == "clustered" else name
        out[rows] = law(subset, n, plain, subset.column(tails))
    return out


def centres(draws: Draws, shared: World, n: int) -> Any:
    """Draw n class centres of each problem: twins among them, where there are any."""
    own = _centres(draws, shared, n)
    twins = draws.where("twin_share")
    if twins:
        subset = draws.some(twins)
        place = (subset.uniform(n, 1) * subset.column("n_twins")).long()
        gap = subset.column("twin_gap")
        there = shared.places[twins].gather(1, place.expand(-1, -1, draws.width))
        moved = (there + gap * own[twins]) / (1 + gap**2).sqrt()
        chosen = subset.uniform(n, 1) < subset.column("twin_share")
        own[twins] = torch_module().where(chosen, moved, own[twins])
    return own


def _centres(draws: Draws, shared: World, n: int) -> Any:
    out = coordinates(draws, n, "population", "tail") * shared.axes
    grouped = _clustered(draws)
    if grouped:
        subset = draws.some(grouped)
        group = _chosen(shared.sizes[grouped], subset.uniform(n, 1))
        around = shared.centres[grouped].gather(1, group.expand(-1, -1, draws.width))
        within = subset.column("within")
        out[grouped] = (1 - within).sqrt() * around + within.sqrt() * out[grouped]
    for row in draws.where("n_parts"):
        out[row] = _coded(draws.some([row]), some(shared, [row]), out[row], n)
    spread = draws.where("radius_spread")
    if spread:
        subset = draws.some(spread)
        level = subset.column("radius_spread")
        # Divided so that the mean square stays as it was.
        out[spread] *= torch_module().exp(level * subset.normal(n, 1) - level**2)
    return out


def _chosen(sums: Any, uniform: Any) -> Any:
    """Return which of several unequally common things were drawn."""
    return torch_module().searchsorted(sums, uniform[..., 0].contiguous(), right=True)[..., None]


def _coded(draws: Draws, shared: World, own: Any, n: int) -> Any:
    """Return centres that are sums of letters, one for each place, and a little of their own."""
    problem = draws.problems[0]
    letter = torch_module().searchsorted(
        shared.letter_sizes, draws.uniform(n, problem.n_parts).reshape(1, -1), right=True
    )
    place = torch_module().arange(problem.n_parts, device=draws.device)
    index = letter.reshape(n, problem.n_parts) + problem.n_letters * place
    total = shared.letters[0][index].sum(dim=1) / math.sqrt(problem.n_parts)
    return math.sqrt(1 - problem.within) * total + math.sqrt(problem.within) * own
