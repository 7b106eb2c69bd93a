r"""Scores of random problems, how many classes beat a probe, and the accuracy that follows.

Up to an increasing function of each probe's own, every score here is a product of two vectors,

.. math:: L(x, c) = \tilde x \cdot \tilde c, \qquad
    -|x - c|^2 = -|x|^2 + 2 x \cdot c - |c|^2,

with the bias of the class and the noise of single scores as further coordinates. Counting is then
one matrix product and a comparison, and the increasing function is applied only to the pilot's
own scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from experiments.problems.points import Classes, Probes
from experiments.problems.worlds import Draws, torch_module

CELLS = 1 << 25  # scores held at once: 128 MiB
CELLS_ON_GPU = 1 << 28
SOFT = 1e-2  # units of score over which a rival goes from losing to winning
RANGE = 60.0  # of exponents, well inside what single precision holds
DISTANCES = ("euclidean", "squared", "log")


@dataclass(frozen=True)
class Rule:
    """How scores are computed, one entry a problem.

    Attributes
    ----------
    distance, class_power, probe_power : tensor
        Whether the score is a distance, and to which negative power of their length class and
        probe vectors are scaled.
    unit : tensor
        Spread of the scores between classes, in which bias and noise are given.
    step : tensor or None
        What scores are rounded to; None where none are.
    scores : tuple of str
        Names of the scores.
    warp : tensor or None
        Rate of the exponential that is taken of scores; None where of none.
    """

    distance: Any
    class_power: Any
    probe_power: Any
    unit: Any
    step: Any
    scores: tuple[str, ...]
    warp: Any = None


def rule(draws: Draws, unit: Any = None) -> Rule:
    """Return how each problem scores; without a unit, before bias, noise and rounding."""
    torch = torch_module()
    names = tuple(problem.score for problem in draws.problems)

    def column(values: list[float]) -> Any:
        return torch.tensor(values, device=draws.device)[:, None, None]

    powers = {"cosine": (1.0, 1.0), "dot": (None, 0.0)}
    pairs = [powers.get(name, (0.0, 0.0)) for name in names]
    classes = [
        problem.evening if pair[0] is None else pair[0]
        for problem, pair in zip(draws.problems, pairs, strict=True)
    ]
    rounded = unit is not None and bool(draws.where("quantum"))
    return Rule(
        column([float(name in DISTANCES) for name in names]),
        column([float(power) for power in classes]),
        column([pair[1] for pair in pairs]),
        torch.zeros_like(draws.column("quantum")) if unit is None else unit,
        draws.column("quantum") * unit if rounded else None,
        names,
        draws.column("warp") if draws.where("warp") else None,
    )


def class_side(how: Rule, vectors: list[Any], classes: Classes) -> list[Any]:
    """Return the classes' vectors whose products with the probes' are scores."""
    torch = torch_module()
    bias = how.unit * classes.bias
    noise = [] if classes.nuisance is None else [how.unit * classes.nuisance]
    sides = []
    for vector in vectors:
        if how.scores[0] == "likelihood":
            coordinates, offset = torch.log(vector.clamp(min=1e-30)), 0.0
        else:
            square = vector.square().sum(dim=2, keepdim=True)
            factor = (1 + how.distance) * square.clamp(min=1e-20) ** (-how.class_power / 2)
            coordinates, offset = vector * factor, -how.distance * square
        sides.append(torch.cat([coordinates, bias + offset, *noise], dim=2))
    return sides


def probe_side(how: Rule, vectors: Any, probes: Probes) -> Any:
    """Return the probes' vectors whose products with the classes' are scores."""
    torch = torch_module()
    if how.scores[0] == "likelihood":
        # Per word, so that scores of longer and shorter texts have one unit.
        scaled = vectors / vectors.sum(dim=2, keepdim=True).clamp(min=1)
    else:
        square = vectors.square().sum(dim=2, keepdim=True)
        scaled = vectors * square.clamp(min=1e-20) ** (-how.probe_power / 2)
    ones = torch.ones_like(vectors[..., :1])
    noise = [] if probes.nuisance is None else [probes.nuisance]
    return torch.cat([scaled, ones, *noise], dim=2)


def products(how: Rule, probes: Any, classes: list[Any]) -> Any:
    """Return the scores of all classes before the increasing function."""
    torch = torch_module()
    best = torch.bmm(probes, classes[0].mT)
    for other in classes[1:]:
        torch.maximum(best, torch.bmm(probes, other.mT), out=best)
    if how.step is not None:
        best = torch.round(best / how.step) * how.step
    return best


def count(
    how: Rule, probes: Any, classes: list[Any], *, labels: Any = None, true: Any = None
) -> tuple[Any, Any]:
    """Return how many classes beat each probe, and how many tie with it.

    The probe's own class is the column `labels`, or is not among the classes and has the scores
    `true`. Ties are counted only where scores are rounded; elsewhere there are none.
    """
    torch = torch_module()
    n_problems, n_probes, _ = probes.shape
    cells = CELLS if probes.device.type == "cpu" else CELLS_ON_GPU
    size = max(1, cells // (n_problems * classes[0].shape[1]))
    losses, ties = [], []
    for start in range(0, n_probes, size):
        block = slice(start, start + size)
        raw_scores = products(how, probes[:, block], classes)
        if labels is None:
            own = true[:, block, None]
        else:
            own = raw_scores.gather(2, labels[None, block, None].expand(n_problems, -1, 1))
        if how.step is not None:
            # Halves of a step tell equal from unequal whatever round-off does.
            gap = torch.round((raw_scores - own) / how.step)
            ties.append((gap == 0).sum(dim=2))
            losses.append((gap > 0).sum(dim=2))
        else:
            # Ones and zeros as floats: sums of these are exact and much the fastest on a CPU.
            losses.append(raw_scores.gt_(own).sum(dim=2).long())
    total = torch.cat(losses, dim=1)
    if how.step is None:
        return total, None
    return total, torch.cat(ties, dim=1) - (0 if labels is None else 1)


def soft_losses(how: Rule, probes: Any, classes: list[Any], labels: Any) -> Any:
    """Return losses that change steadily with the scores: near ones count in part.

    A noise level found from these does not jump with round-off, as one found from counts does, and
    so does not depend on what a problem is batched with.
    """
    raw_scores = products(replace(how, step=None), probes, classes)
    own = raw_scores.gather(2, labels[None, :, None].expand(len(raw_scores), -1, 1))
    fractions = raw_scores.sub_(own).div_(SOFT * how.unit).add_(0.5).clamp_(0, 1)
    return fractions.sum(dim=2) - 0.5  # less the own class


def shown(how: Rule, raw_scores: Any, square: Any, probes: Probes) -> Any:
    """Return the scores an experimenter sees: an increasing function of each probe's own.

    Distances are taken of a number kept above zero, since bias and noise can make the square
    negative.
    """
    out = raw_scores.clone()
    for name in set(how.scores) & set(DISTANCES):
        rows = [row for row, own in enumerate(how.scores) if own == name]
        squared = square[rows] - raw_scores[rows]
        if name != "squared":
            squared = _above_zero(squared, 1e-3 * how.unit[rows])
            squared = squared.sqrt() if name == "euclidean" else squared.log()
        out[rows] = -squared
    return _warped(how, out) * probes.width


def _warped(how: Rule, scores: Any) -> Any:
    """Return exponentials of the scores where asked for.

    Each probe's are divided by the largest, which is an increasing function too and keeps all
    within range.
    """
    if how.warp is None:
        return scores
    torch = torch_module()
    rows = how.warp[:, 0, 0] != 0
    rate, own = how.warp[rows], scores[rows]
    spread = own.std(dim=2).median(dim=1).values[:, None, None]
    exponent = rate * own / spread.clamp(min=1e-12)
    exponent = exponent - exponent.amax(dim=2, keepdim=True)
    # Where some scores are very far off, less: none may become zero, which would tie them.
    warped = torch.exp(exponent * (RANGE / -exponent.amin(dim=(1, 2), keepdim=True)).clamp(max=1))
    out = scores.clone()
    out[rows] = torch.where(rate > 0, warped, -warped)
    return out


def _above_zero(values: Any, bend: Any) -> Any:
    """Return an increasing function of any number that is above zero, and close to it if large."""
    torch = torch_module()
    root = torch.sqrt(values.square() + 4 * bend.square())
    return torch.where(values > 0, (values + root) / 2, 2 * bend.square() / (root - values))


def accuracies(losses: Any, ties: Any, n_rivals: int, ks: Any) -> Any:
    r"""Return the chance of each probe to be right among k classes, along a new last axis.

    A probe with l losses among n rivals, that meets m = k - 1 of these, is unbeaten with chance
    :math:`\binom{n-l}{m} / \binom nm`. With t ties, settled at random, it is the mean of that over
    l ... l + t, which the hockey-stick identity sums.

    Parameters
    ----------
    losses, ties : integer tensor (...), ties may be None
        Counts among the rivals.
    n_rivals : int
        Number of rivals n.
    ks : sequence of int
        Numbers of classes, each at most n + 1.

    Examples
    --------
    >>> import torch
    >>> accuracies(torch.tensor([0, 1]), None, 3, [2, 3, 4]).numpy().round(3).tolist()
    [[1.0, 1.0, 1.0], [0.667, 0.333, 0.0]]
    """
    torch = torch_module()
    draws = torch.as_tensor(ks, dtype=torch.float64, device=losses.device) - 1
    left = n_rivals - losses.double()[..., None]
    n = torch.tensor(float(n_rivals), dtype=torch.float64, device=losses.device)
    if ties is None:
        return torch.exp(_log_choose(left, draws) - _log_choose(n, draws))
    tied = ties.double()[..., None]
    whole = _log_choose(n, draws)
    upper = torch.exp(_log_choose(left + 1, draws + 1) - whole)
    lower = torch.exp(_log_choose(left - tied, draws + 1) - whole)
    return (upper - lower) / (tied + 1)


def _log_choose(n: Any, m: Any) -> Any:
    """Return the logarithm of a binomial coefficient, minus infinity where there is none."""
    torch = torch_module()
    rest = n - m
    value = torch.lgamma(n + 1) - torch.lgamma(rest.clamp(min=0) + 1) - torch.lgamma(m + 1)
    return torch.where(rest >= 0, value, -torch.inf)
