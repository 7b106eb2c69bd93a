"""The evidence of many random problems at once, in torch, as `headcount.estimators.auto.features`.

All problems of a batch have the same number of classes and of probes a class, so that the chances
of every number of losses are tabulated once for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.problems.worlds import torch_module
from headcount.estimators.auto import features as plain
from headcount.estimators.probit_normal import ProbitNormal

STEP, REACH = 0.0125, 9.0
STARTS = (np.linspace(-3.0, 7.0, 26), np.linspace(-1.6, 1.2, 12))
NEWTON_STEPS = 12
BUDGET = 1 << 27  # scores sorted at once


@dataclass(frozen=True)
class Batch:
    """Evidence of several problems: probes (B, C, r, features), whole (B, .), base (B, ratios)."""

    probes: Any
    whole: Any
    base: Any


def gather(scores: Any, labels: Any, per_class: int, n_members: int) -> Batch:
    """Return the evidence of problems of one size.

    Parameters
    ----------
    scores : tensor (B, N, K)
        Larger is better.
    labels : tensor (N,)
        True classes, those of one class next to each other, `per_class` of each.
    per_class, n_members : int
        Probes of a class, and number of classes that have any.
    """
    torch = torch_module()
    size = max(1, BUDGET // scores[0].numel())
    parts = [
        _gathered(scores[at : at + size], labels, per_class, n_members)
        for at in range(0, len(scores), size)
    ]
    return Batch(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _gathered(scores: Any, labels: Any, per_class: int, n_members: int) -> tuple[Any, Any, Any]:
    torch = torch_module()
    n_problems, n_probes, n_classes = scores.shape
    scores = scores.float()
    where = labels[None, :, None].expand(n_problems, -1, 1)
    true = scores.gather(2, where)
    losses = (scores > true).sum(dim=2)
    ties = (scores == true).sum(dim=2) - 1
    fit = fitted(losses, ties, n_classes, n_members)
    whole = _whole(fit, n_classes, n_members, n_probes)
    first = _loss_features(losses, ties, n_classes)
    probes = torch.cat([first, _score_features(scores, true, where, labels)], dim=2)
    shaped = probes.reshape(n_problems, n_members, per_class, -1)
    return shaped, whole, fit.base


# -- the base fit ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """Probit-normal fits, the observed curve and the fitted one, on the logit scale."""

    mu: Any
    log_tau: Any
    seen: Any
    base: Any


def fitted(losses: Any, ties: Any, n_classes: int, n_members: int) -> Fit:
    """Fit the base to several problems, as `ProbitNormal` does to one."""
    shares = _shares(losses, ties, n_classes)
    table = _Table(shares, n_classes, n_members, losses.shape[1])
    point = table.minimise()
    counts = plain.class_counts(n_classes)
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
        return _logit(self._cells(point)[..., 0] @ torch.exp(draws * self.log_u).T)

    def observed(self, counts: Any) -> Any:
        """Return the observed curve, where it is one."""
        torch = torch_module()
        seen = torch.tensor(counts[: plain.N_SEEN] - 1, device=self.nodes.device).clamp(max=self.n)
        left = self.n - torch.arange(self.n + 1, dtype=torch.float64, device=seen.device)[:, None]
        rest = left - seen
        chance = torch.lgamma(left + 1) - torch.lgamma(rest.clamp(min=0) + 1)
        whole = torch.lgamma(torch.tensor(self.n + 1.0, dtype=torch.float64, device=seen.device))
        chance = chance + torch.lgamma(self.n - seen + 1) - whole
        return self.shares @ torch.where(rest >= 0, chance.exp(), 0.0)


def _logit(accuracy: Any) -> Any:
    torch = torch_module()
    edge = 1 / (1 + math.exp(plain.LOGIT_REACH))
    inside = accuracy.clamp(edge, 1 - edge)
    return torch.log(inside) - torch.log1p(-inside)


def _whole(fit: Fit, n_classes: int, n_members: int, n_probes: int) -> Any:
    torch = torch_module()
    misfit = (fit.seen - torch.sigmoid(fit.base[:, : plain.N_SEEN])) * math.sqrt(n_members)
    sizes = [n_classes, n_members, n_probes, n_probes / n_members]
    same = [torch.full_like(fit.mu, math.log(size)) for size in sizes]
    extra = torch.stack([fit.mu, fit.log_tau, *same, torch.ones_like(fit.mu)], dim=1)
    return torch.cat([_logit(fit.seen), misfit, fit.base, extra], dim=1)


# -- probes ----------------------------------------------------------------------------------------


def _signed_log(values: Any) -> Any:
    return values.sign() * values.abs().log1p()


def _loss_features(losses: Any, ties: Any, n_classes: int) -> Any:
    torch = torch_module()
    tied = ties.float()
    lost = losses.float() + tied / 2
    columns = [
        torch.log((lost + 0.5) / (n_classes - 1 - lost + 0.5)),
        torch.log1p(lost),
        (lost < 0.5).float(),
        torch.log1p(tied),
        torch.full_like(lost, math.log(n_classes)),
        torch.ones_like(lost),
    ]
    return torch.stack(columns, dim=2)


def _score_features(scores: Any, true: Any, where: Any, labels: Any) -> Any:
    torch = torch_module()
    # Differences first: in single precision the mean of large numbers loses what tells them apart.
    scores, true = scores - true, torch.zeros_like(true)
    best = scores.scatter(2, where, -torch.inf).sort(dim=2, descending=True).values[..., :-1]
    mean = best.mean(dim=2, keepdim=True)
    spread = best.std(dim=2, keepdim=True)
    alike = ((true - mean).abs() / plain.FURTHEST).clamp(min=1e-30)
    spread = torch.where(spread > 0, spread, alike)

    def standard(values: Any) -> Any:
        return ((values - mean) / spread).clamp(-plain.FURTHEST, plain.FURTHEST)

    z, z_true = standard(best), standard(true)
    del best
    # Whether a rival wins is seen from the scores themselves, not from rounded ones.
    beats = ((scores > 0).float() + 0.5 * (scores == 0)).scatter_(2, where, 0.0)
    as_rival = _as_rival(standard(scores), beats, where, labels)
    return torch.cat([_placed(z, z_true), _shape(z), *_local(z, z_true), as_rival], dim=2)


def _as_rival(z: Any, beats: Any, where: Any, labels: Any) -> Any:
    """Return how each probe's class did as a rival of all probes but its own."""
    torch = torch_module()
    z = z.scatter(2, where, 0.0)
    n_classes = z.shape[2]
    own = torch.bincount(labels, minlength=n_classes)
    others = (z.shape[1] - own).clamp(min=1)
    mean, square, beaten = (part.sum(dim=1) / others for part in (z, z.square(), beats))
    spread = (square - mean.square()).clamp(min=0).sqrt()
    made = torch.stack([mean, spread, torch.log(beaten * (n_classes - 1) + 0.5)], dim=2)
    return made[:, labels]


def _placed(z: Any, z_true: Any) -> Any:
    torch = torch_module()
    last = z.shape[2] - 1
    ranks = np.minimum(np.array(plain.RANKS) - 1, last)
    place = (1 - np.array(plain.LEVELS)) * last
    under = np.floor(place).astype(np.intp)
    part = torch.tensor(place - under, dtype=z.dtype, device=z.device)
    over = np.minimum(under + 1, last)
    quantiles = z[..., under] * (1 - part) + z[..., over] * part
    return torch.cat([_signed_log(z_true), z[..., ranks], quantiles], dim=2)


def _shape(z: Any) -> Any:
    torch = torch_module()
    centred = z - z.mean(dim=2, keepdim=True)
    square = centred * centred
    variance = square.mean(dim=2).clamp(min=1e-12)
    skewness = (square * centred).mean(dim=2) / variance**1.5
    kurtosis = (square * square).mean(dim=2) / variance**2 - 3
    return _signed_log(torch.stack([skewness, kurtosis], dim=2))


def _local(z: Any, z_true: Any) -> list[Any]:
    torch = torch_module()
    gaps, units = [], []
    for span in plain.SPANS:
        m = min(span, z.shape[2] - 1)
        edge = z[..., m]
        unit = (z[..., :m].mean(dim=2) - edge).clamp(min=plain.LEAST_UNIT)
        gaps.append(_signed_log((z_true[..., 0] - edge) / unit))
        units.append(torch.log(unit))
    return [torch.stack(gaps, dim=2), torch.stack(units, dim=2)]
