"""Bent-normal fits to many random problems at once, in torch.

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
from headcount.estimators.auto.features import N_OBSERVED, class_counts, within_reach
from headcount.estimators.bent_normal import LESS, NOTHING
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.shared import likelihood as likelihoods
from headcount.estimators.shared.bending import (
    bend,
    bending_top,
    curve_errors,
    loss_rows,
    nodes_around,
)

STEP, REACH = 0.0125, 9.0
STARTS = (np.linspace(-3.0, 8.5, 31), np.linspace(-1.6, 1.2, 12))
NEWTON_STEPS = 12
AT_ONCE = 128  # problems bent together


@dataclass(frozen=True)
class Fit:
    """Bent-normal fits: the normal laws, the observed curves, the fitted ones, their errors.

    Curves are on the logit scale at `RATIOS`, but observed ones are accuracies at the first of
    these.
    """

    mu: Any
    log_tau: Any
    observed: Any
    base: Any
    errors: Any


def fit_losses(losses: Any, ties: Any, n_classes: int, n_members: int, censored: Any = None) -> Fit:
    """Fit the base to several problems, as `BentNormal` does to one.

    Parameters
    ----------
    losses, ties : tensor (B, N)
        Those of one class next to each other, of each class as many; without ties None.
    n_classes, n_members : int
        Classes, and how many of these have probes.
    censored : tensor (B, N), bool, optional
        Which losses are only known from below; without ties.
    """
    torch = torch_module()
    rows = torch.tensor(loss_rows(n_classes - 1), device=losses.device)
    if censored is None:
        shares, bounds, possible = _shares(losses, ties, rows, n_classes), rows[:0], 1.0
    else:
        known, cut = (_counted(losses, which, rows) for which in (~censored, censored))
        used = (cut > 0).any(dim=0)
        shares, bounds = torch.cat([known, cut[:, used]], dim=1), rows[used]
        possible = 1.0 - 0.5 * censored.double()[..., None]
    table = _Table(shares, rows, bounds, n_members, losses.shape[1])
    point = table.minimise()
    counts = class_counts(n_classes)
    draws = np.minimum(counts[:N_OBSERVED], n_classes)
    # Of probes known only from below the middle of what they leave possible.
    observed = (possible * accuracies(losses, ties, n_classes - 1, draws)).mean(dim=1)
    worth = independent_probes(losses, ties, n_members)
    parts = zip(point.split(AT_ONCE), shares.split(AT_ONCE), worth.split(AT_ONCE), strict=True)
    fitted = [_bent(*part, rows, bounds, losses.shape[1], counts, n_classes) for part in parts]
    base, errors = (torch.cat(curves) for curves in zip(*fitted, strict=True))
    return Fit(point[:, 0], point[:, 1], observed, base, errors)


def independent_probes(losses: Any, ties: Any, n_members: int) -> Any:
    """Return how many independent probes those of each problem are worth."""
    torch = torch_module()
    n_problems, n = losses.shape
    tied = torch.zeros_like(losses) if ties is None else ties
    total, clustered = 0.0, 0.0
    for values in ((losses == 0) / (tied + 1.0), torch.exp(-LESS * losses)):
        gaps = values.double() - values.double().mean(dim=1, keepdim=True)
        total = total + gaps.square().sum(dim=1)
        by_class = gaps.reshape(n_problems, n_members, -1).sum(dim=2)
        clustered = clustered + by_class.square().sum(dim=1)
    worth = n * total / clustered.clamp(min=n * NOTHING)
    return torch.where(total > n * NOTHING, worth.clamp(n_members, n), float(n_members))


def _bent(
    point: Any,
    shares: Any,
    worth: Any,
    rows: Any,
    bounds: Any,
    n_probes: int,
    counts: Any,
    n_classes: int,
) -> tuple[Any, Any]:
    """Return curves and errors of the bent laws."""
    torch = torch_module()
    mu, tau = point[:, 0], point[:, 1].exp()
    y = nodes_around(torch, mu, tau)
    log_u, log_p = torch.special.log_ndtr(y), torch.special.log_ndtr(-y)
    n = rows[-1]
    power = (_probit_spread(rows, n) / (y[:, 1] - y[:, 0])[:, None]).square().clamp(max=1)
    log_mass = rows[:, None] * log_p[:, None] + (n - rows)[:, None] * log_u[:, None]
    likelihood = torch.exp(power[..., None] * (log_mass - _peak(rows, n)[:, None]))
    right = torch.exp(n * log_u)[:, None]
    wrong = -torch.expm1(n * log_u)[:, None]
    likelihood = torch.cat([likelihood, _at_least(bounds, n, log_p), right, wrong], dim=1)
    half = torch.full((len(mu), 2), 0.5 / n_probes, dtype=shares.dtype, device=shares.device)
    top = torch.full_like(mu, bending_top(n_classes))
    bent = bend(torch, likelihood, torch.cat([shares, half], 1), y, mu, tau, top, worth)
    draws = torch.tensor(counts - 1, device=y.device)
    powers = torch.exp(draws[:, None] * log_u[:, None])
    return within_reach(*curve_errors(torch, bent, powers))


def _at_least(bounds: Any, n: Any, log_p: Any) -> Any:
    """Return the chance of at least so many losses (..., bounds, nodes); torch has no such one."""
    places = log_p.exp().cpu().numpy()
    chances = likelihoods.at_least(bounds.cpu().numpy(), int(n), places)
    return torch_module().tensor(chances, device=log_p.device)


def _peak(rows: Any, n: Any) -> Any:
    torch = torch_module()
    share = rows / n
    return torch.xlogy(rows, share) + torch.xlogy(n - rows, 1 - share)


def _probit_spread(rows: Any, n: Any) -> Any:
    """Approximate width of the binomial likelihood on the probit scale."""
    torch = torch_module()
    share = (rows + 0.5) / (n + 1)
    place = torch.special.ndtri(share)
    density = torch.exp(-0.5 * place.square()) / math.sqrt(2 * math.pi)
    return torch.sqrt(share * (1 - share) / n) / density


def _shares(losses: Any, ties: Any, rows: Any, n_classes: int) -> Any:
    """Return the share of probes in each row; ties are spread evenly."""
    torch = torch_module()
    if ties is None:
        return _counted(losses, torch.ones_like(losses), rows)
    weight = 1.0 / ((ties.double() + 1) * losses.shape[1])
    steps = torch.zeros(len(losses), n_classes + 1, dtype=rows.dtype, device=losses.device)
    steps.scatter_add_(1, losses, weight)
    steps.scatter_add_(1, losses + ties + 1, -weight)
    shares = steps.cumsum(dim=1)[:, :n_classes].clamp(min=0)
    return _spread(torch.arange(n_classes, device=losses.device).expand_as(shares), shares, rows)


def _counted(losses: Any, which: Any, rows: Any) -> Any:
    """Return the share that some of the probes have in each row."""
    return _spread(losses, which.double() / losses.shape[1], rows)


def _spread(lost: Any, shares: Any, rows: Any) -> Any:
    """Share each number of losses between the rows next to it, so that means stay."""
    torch = torch_module()
    above = torch.searchsorted(rows, lost.double().contiguous()).clamp(1, len(rows) - 1)
    part = (lost - rows[above - 1]) / (rows[above] - rows[above - 1])
    out = torch.zeros(len(lost), len(rows), dtype=rows.dtype, device=rows.device)
    out.scatter_add_(1, above, shares * part)
    return out.scatter_add_(1, above - 1, shares * (1 - part))


class _Table:
    """Likelihood of every number of losses at nodes of y = Phi^-1(U), and what follows."""

    def __init__(self, shares: Any, rows: Any, bounds: Any, n_members: int, n_probes: int) -> None:
        torch = torch_module()
        n = rows[-1]
        half = round(REACH / STEP)
        self.nodes = torch.arange(-half, half + 1, dtype=rows.dtype, device=rows.device) * STEP
        log_u, log_p = torch.special.log_ndtr(self.nodes), torch.special.log_ndtr(-self.nodes)
        power = (_probit_spread(rows, n) / STEP).square().clamp(max=1)
        log_mass = rows[:, None] * log_p + (n - rows)[:, None] * log_u
        likelihood = torch.exp(power[:, None] * (log_mass - _peak(rows, n)[:, None]))
        # Half a probe that is right among all classes, and half a probe that is not.
        right = torch.exp(n * log_u)
        self.matrix = torch.cat(
            [likelihood, _at_least(bounds, n, log_p), right[None], 1 - right[None]]
        )
        halves = torch.full((len(shares), 2), 0.5 / n_probes, dtype=rows.dtype, device=rows.device)
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
