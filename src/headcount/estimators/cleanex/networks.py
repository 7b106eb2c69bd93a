"""Small networks that turn a probe's scores into its U; needs the extra `torch`.

Several networks of one size, one for each pilot, are trained at once: all tensors have the
networks along their first axis. Torch is imported when first needed, since that takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import MissingExtraError, ParameterError
from headcount.support.workers import reporter

CELLS = 1 << 24  # of powers held at once: 64 MiB
CHECK_EVERY = 100
LEAST_GAIN = 0.01  # of the loss, within the patience of early stopping


def torch_module() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("CleaneX", "torch") from error
    return torch


def chosen_device(name: str | None) -> Any:
    """Return a torch device: the named one, else a GPU where there is one, else the CPU."""
    torch = torch_module()
    if name is None:
        name = "mps" if torch.backends.mps.is_available() else "cpu"
        name = "cuda" if torch.cuda.is_available() else name
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ParameterError(
            f"torch cannot use the device {name!r} here; leave it out, or choose cpu."
        ) from error
    return device


def device_name(device: Any) -> str:
    """Return what a device is called."""
    if device.type == "cuda":
        return str(torch_module().cuda.get_device_name(device))
    return str(device.type)


def started(sizes: Sequence[int], seeds: Sequence[int], device: Any) -> list[Any]:
    """Return random weights and biases, layer by layer, the same on every device.

    Both are uniform within 1 / sqrt(inputs) of zero, as torch starts its linear layers.
    """
    torch = torch_module()
    by_seed = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed % 2**63)
        parts = []
        for inputs, outputs in pairwise(sizes):
            for rows in (inputs, 1):
                draw = 2 * torch.rand(rows, outputs, generator=generator) - 1
                parts.append(draw / math.sqrt(inputs))
        by_seed.append(parts)
    return [torch.stack(parts).to(device) for parts in zip(*by_seed, strict=True)]


def logits(parameters: Sequence[Any], rows: Any, basis: Any = None) -> Any:
    """Return log(U / (1 - U)) of each row: linear layers with rectifiers between them.

    With a `basis`, the rows are coordinates in it, and few of them; weights stay those of the
    whole space, so that training goes the same way.
    """
    torch = torch_module()
    signal = rows
    for layer in range(0, len(parameters) - 2, 2):
        weight, bias = parameters[layer], parameters[layer + 1]
        if layer == 0 and basis is not None:
            weight = torch.bmm(basis, weight)
        signal = torch.baddbmm(bias, signal, weight).relu_()
    return torch.baddbmm(parameters[-1], signal, parameters[-2])[..., 0]


@dataclass(frozen=True)
class Goal:
    """What the curve of each network should be: its values at powers of U, and their shares.

    Tensors; `target` has a row for each network, `shares` sum to one.
    """

    powers: Any
    target: Any
    shares: Any


@dataclass(frozen=True)
class Recipe:
    """How Adam goes about it.

    With a `ramp`, the rate rises in a straight line over that share of the iterations and falls
    over the same share at the end.
    """

    iterations: int
    learning_rate: float
    patience: int | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    ramp: float = 0.0

    def rate(self, iteration: int) -> float:
        """Return the learning rate of one iteration."""
        if not self.ramp:
            return self.learning_rate
        edge = self.ramp * self.iterations
        return self.learning_rate * min(
            1.0, (iteration + 1) / edge, (self.iterations - iteration) / edge
        )


def misfit(logit: Any, weights: Any, goal: Goal) -> tuple[Any, Any]:
    r"""Return the loss of each network and its derivative by the logits.

    The loss is the mean over the powers, by their shares, of

    .. math:: \Big(\sum_x w_x \hat C_x^{\text{power}} - \text{target}\Big)^2,

    and the N x K matrix of powers is never held whole: a few probes at a time, twice, since the
    derivative needs what the first pass adds up.
    """
    torch = torch_module()
    log_chance = torch.nn.functional.logsigmoid(logit)
    n_networks, n_probes = logit.shape
    size = max(1, CELLS // (n_networks * len(goal.powers)))
    blocks = [slice(first, first + size) for first in range(0, n_probes, size)]

    def raised(block: slice) -> Any:
        return torch.exp(log_chance[:, block, None] * goal.powers)

    only = raised(blocks[0]) if len(blocks) == 1 else None
    curve = sum(
        torch.bmm(weights[:, None, block], raised(block) if only is None else only)[:, 0]
        for block in blocks
    )
    residual = curve - goal.target
    slope = (2 * goal.shares * residual * goal.powers)[..., None]
    by_chance = torch.cat(
        [torch.bmm(raised(block) if only is None else only, slope) for block in blocks], dim=1
    )[..., 0]
    # d log C / d logit = 1 - C, taken from the logit so that it keeps its digits near one.
    return residual.square() @ goal.shares, by_chance * weights * torch.sigmoid(-logit)


def train(
    parameters: list[Any], rows: Any, weights: Any, goal: Goal, recipe: Recipe, basis: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Train by Adam on all probes at once; return the logits and the loss of each network.

    With patience, a network has stopped when its loss fell by less than a hundredth within so
    many iterations; the others go on, and it keeps what it said then.
    """
    torch = torch_module()
    report = reporter()
    for parameter in parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.Adam(parameters, betas=recipe.betas, eps=recipe.eps)
    stops = _Stops(len(rows), recipe.patience)
    for iteration in range(recipe.iterations):
        logit = logits(parameters, rows, basis)
        with torch.no_grad():
            loss, slope = misfit(logit.detach(), weights, goal)
        if iteration % CHECK_EVERY == 0:
            values = loss.cpu().numpy()
            report(f"CleaneX, error {math.sqrt(values.mean()):.1e}", iteration, recipe.iterations)
            if stops.all_stopped(iteration, values, logit):
                break
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(iteration)
        optimiser.zero_grad()
        logit.backward(slope)
        optimiser.step()
    with torch.no_grad():
        logit = logits(parameters, rows, basis)
        loss, _ = misfit(logit, weights, goal)
    report("CleaneX", recipe.iterations, recipe.iterations)
    return stops.final(logit, loss)


class _Stops:
    """What networks said when they stopped early."""

    def __init__(self, n_networks: int, patience: int | None) -> None:
        self.patience = patience
        self.best = np.full(n_networks, np.inf)
        self.since = np.zeros(n_networks, np.int64)
        self.early: dict[int, tuple[NDArray[np.float64], float]] = {}

    def all_stopped(self, iteration: int, loss: NDArray[Any], logit: Any) -> bool:
        if self.patience is None:
            return False
        better = loss < (1 - LEAST_GAIN) * self.best
        self.best[better], self.since[better] = loss[better], iteration
        for i in np.flatnonzero(iteration - self.since >= self.patience):
            self.early.setdefault(int(i), (_host(logit[i]), float(loss[i])))
        return len(self.early) == len(self.best)

    def final(self, logit: Any, loss: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        logits, losses = _host(logit), _host(loss)
        for i, (early, value) in self.early.items():
            logits[i], losses[i] = early, value
        return logits, losses


def _host(values: Any) -> NDArray[np.float64]:
    """Return a tensor as float64, where 1 - U keeps its digits."""
    return np.array(values.detach().cpu().numpy(), dtype=np.float64)


def tensor(values: NDArray[Any], device: Any) -> Any:
    """Return an array as a float32 tensor on a device, shared where it can be."""
    return torch_module().as_tensor(values.astype(np.float32, copy=False), device=device)
