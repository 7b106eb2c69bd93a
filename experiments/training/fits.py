"""Probit-normal fits to many random problems at once, in torch.

All problems of a batch have the same number of classes and of probes, so that the chances of every
number of losses are tabulated once for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.problems.scores import accuracies
from experiments.problems.worlds import torch_module
from headcount.estimators.auto.features import N_OBSERVED, class_counts, logit
from headcount.estimators.probit_normal import ProbitNormal

STEP, REACH = 0.0125, 9.0
STARTS = (np.linspace(-3.0, 7.0, 26), np.linspace(-1.6, 1.2, 12))
NEWTON_STEPS = 12


@dataclass(frozen=True)
class Fit:
    """Probit-normal fits, the observed curves, and the fitted ones on the logit scale."""

    mu: Any
    log_tau: Any
    observed: Any
    base: Any


def fit_losses(losses: Any, ties: Any, n_classes: int, n_members: int) -> Fit:
    """Fit the base to several problems, as `ProbitNormal` does to one."""
    shares = _shares(losses, ties, n_classes)
    table = _Table(shares, n_classes, n_members, losses.shape[1])
    point = table.minimise()
    counts = class_counts(n_classes)
    return Fit(point[:, 0], point[:, 1], table.observed(counts), table.curve(point, counts))


def _shares(losses: Any, ties: Any, n_classes: int) -> Any:
    """Return the share of probes with each number of losses; ties are spread evenly."""
    torch = torch_module()
    weight = 1.0 / ((ties.double() + 1) * losses.shape[1])
    steps = torch.zeros(len(losses), n_classes + 1, dtype=torch.float64, device=losses.device)
    steps.scatter_add_(1, losses, weight)
    steps.scatter_add_(1, losses + ties + 1, -weight)
    return steps.cumsum(dim=1)[:, :n_classes].clamp(min=0)


class _Table:
    """Likelihood of every number of losses at nodes of y = Phi^-1(U), and what follows."""

    def __init__(self, shares: Any, n_classes: int, n_members: int, n_probes: int) -> None:
        torch = torch_module()
        self.shares, self.n = shares, n_classes - 1
        half = round(REACH / STEP)
        device = shares.device
        self.nodes = torch.arange(-half, half + 1, dtype=torch.float64, device=device) * STEP
        self.log_u = torch.special.log_ndtr(self.nodes)
        lost = torch.arange(n_classes, dtype=torch.float64, device=device)[:, None]
        share = lost / self.n
        peak = torch.xlogy(lost, share) + torch.xlogy(self.n - lost, 1 - share)
        log_mass = lost * torch.special.log_ndtr(-self.nodes) + (self.n - lost) * self.log_u
        rows = torch.exp(log_mass - peak)
        # Half a probe that is right among all classes, and half a probe that is not.
        right = torch.exp(self.n * self.log_u)
        self.matrix = torch.cat([rows, right[None], 1 - right[None]])
        halves = torch.full((len(shares), 2), 0.5 / n_probes, dtype=torch.float64, device=device)
        self.weights = torch.cat([shares, halves], dim=1)
        self.edges = torch.cat([self.nodes, self.nodes[-1:] + STEP]) - STEP / 2
        self.prior = ProbitNormal().prior_classes / n_members

    def _cells(self, point: Any) -> Any:
        """Return the mass of each cell and its slopes in mu and log tau, (B, nodes, 3)."""
        torch = torch_module()
        tau = torch.exp(point[:, 1:])
        z = (self.edges - point[:, :1]) / tau
        bell = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        right = torch.special.ndtr(-z)
        left = torch.special.ndtr(z)
        mass = torch.where(z[:, :-1] > 0, right[:, :-1] - right[:, 1:], left[:, 1:] - left[:, :-1])
        slopes = -(bell / tau).diff(dim=1), -(z * bell).diff(dim=1)
        cells = torch.stack([mass, *slopes], dim=2)
        # What lies beyond the grid goes to its ends, where nothing changes any more.
        cells[:, 0] += torch.stack([left[:, 0], -bell[:, 0] / tau[:, 0], -(z * bell)[:, 0]], 1)
        ends = [right[:, -1], bell[:, -1] / tau[:, 0], (z * bell)[:, -1]]
        cells[:, -1] += torch.stack(ends, 1)
        return cells

    def value(self, point: Any) -> tuple[Any, Any]:
        """Return the objective of each problem and its slopes."""
        torch = torch_module()
        rows = torch.matmul(self.matrix, self._cells(point))
        chance = rows[..., 0].clamp(min=1e-300)
        value = -(self.weights * chance.log()).sum(dim=1) + 0.5 * self.prior * point[:, 1] ** 2
        slope = -((self.weights / chance)[..., None] * rows[..., 1:]).sum(dim=1)
        slope[:, 1] += self.prior * point[:, 1]
        return value, slope

    def _start(self) -> Any:
        torch = torch_module()
        axes = [torch.tensor(axis, device=self.nodes.device) for axis in STARTS]
        grid = torch.cartesian_prod(*axes)
        chance = torch.matmul(self._cells(grid)[..., 0], self.matrix.T).clamp(min=1e-300)
        values = -self.weights @ chance.log().T + 0.5 * self.prior * grid[:, 1] ** 2
        return grid[values.argmin(dim=1)]

    def minimise(self) -> Any:
        """Return mu and log tau of each problem, by Newton's steps from the best of a grid."""
        torch = torch_module()
        point = self._start()
        value, slope = self.value(point)
        damping = torch.full_like(value, 1e-3)
        eye = torch.eye(2, dtype=torch.float64, device=point.device)
        for _ in range(NEWTON_STEPS):
            bent = self._curvature(point)
            size = bent.diagonal(dim1=1, dim2=2).abs().mean(dim=1)
            # Bent the wrong way: lift the smaller eigenvalue above zero.
            least = torch.linalg.eigvalsh(bent)[:, 0]
            lift = (-2 * least).clamp(min=0) + damping * size
            step = torch.linalg.solve(bent + lift[:, None, None] * eye, slope)
            trial = point - step.clamp(-1.0, 1.0)
            trial[:, 1] = trial[:, 1].clamp(-4.0, 4.0)
            trial_value, trial_slope = self.value(trial)
            better = trial_value < value
            point = torch.where(better[:, None], trial, point)
            slope = torch.where(better[:, None], trial_slope, slope)
            value = torch.where(better, trial_value, value)
            damping = torch.where(better, damping / 10, damping * 10)
        return point

    def _curvature(self, point: Any) -> Any:
        torch = torch_module()
        width = 1e-4
        columns = []
        for axis in range(2):
            move = torch.zeros_like(point)
            move[:, axis] = width
            columns.append(
                (self.value(point + move)[1] - self.value(point - move)[1]) / (2 * width)
            )
        bent = torch.stack(columns, dim=2)
        return (bent + bent.mT) / 2

    def curve(self, point: Any, counts: Any) -> Any:
        """Return logits of the fitted curve."""
        torch = torch_module()
        draws = torch.tensor(counts - 1, device=self.nodes.device)[:, None]
        return logit(torch, self._cells(point)[..., 0] @ torch.exp(draws * self.log_u).T)

    def observed(self, counts: Any) -> Any:
        """Return the observed curve at numbers of classes, up to those of a pilot."""
        torch = torch_module()
        losses = torch.arange(self.n + 1, device=self.shares.device)
        inside = np.minimum(counts[:N_OBSERVED], self.n + 1)
        return self.shares @ accuracies(losses, None, self.n, inside)
