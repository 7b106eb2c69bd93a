"""CleaneX in seconds: the same network and objective, fitted by Levenberg and Marquardt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.special import logit as log_odds
from sklearn.utils.extmath import randomized_svd

from headcount import arrays
from headcount.estimators import networks
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.cleanex import hidden_layers
from headcount.estimators.score_rows import ScoreRows, score_rows
from headcount.favorability import Favorability
from headcount.observed import observe
from headcount.pilot import Pilot
from headcount.threads import reporter

Floats = NDArray[np.float64]

N_CLASSES = 12  # numbers of classes at which the curve is fitted
RANK = 48  # directions of the sorted scores that are kept
MOST_STEPS = 20
NOISE_SHARE = 0.1  # of the noise of the observed curve, where the fit is good enough


class CleaneXFast(Extrapolator):
    r"""The network of `CleaneX`, fitted to the same curve in a hundredth of the passes.

    What makes the difference:

    - The curve is smooth in log k, so that 12 numbers of classes say what all K - 1 do; each
      stands for its neighbours in the mean over k.
    - Twelve residuals :math:`r` and very many parameters :math:`\theta` is what the method of
      Levenberg and Marquardt likes best: with J the Jacobian, each step

      .. math:: \theta \leftarrow \theta - J^T (J J^T + \lambda I)^{-1} r

      needs a 12 x 12 system only, and about five steps do what takes Adam thousands.
    - Sorted scores lie close to a space of few dimensions. The first layer is computed from their
      48 leading directions; steps in its weights are the same as in the full space.
    - It stops once the fitted curve is within a tenth of the standard error of the observed
      one. Going on fits noise.
    - Networks started elsewhere agree on the pilot and differ beyond it, so that the law is the
      mean over several starts.

    In the simulations of the paper its errors from 100 classes are those of `CleaneX` within
    noise. From 500 they are larger by a fifth to a quarter in low dimensions (mean RMSE 0.012
    against 0.010): past the pilot it comes out somewhat low. See `benchmarks/results/cleanex`.

    Parameters
    ----------
    layers : sequence of int
        Sizes of the hidden layers.
    starts : int
        Networks to average over.
    device : str, optional
        Where torch computes, such as "cpu" or "cuda:0"; by default a GPU where there is one.
    random_state : int
        Seed of the initial weights.

    Attributes
    ----------
    loss_ : float
        Mean squared error of the fitted curves at the end.
    steps_ : list of int
        Steps taken from each start.
    device_ : str
        What it was trained on.

    References
    ----------
    Slavutsky and Benjamini (2021), §4, for model and objective; Marquardt (1963) for the fit.

    Examples
    --------
    >>> from headcount import simulate
    >>> from headcount.estimators.cleanex_fast import CleaneXFast
    >>> pilot = simulate.points_around_classes(30, sigma2=0.3, random_state=0).pilot
    >>> CleaneXFast(starts=2, device="cpu").fit(pilot).predict([2, 30]).round(1).tolist()
    [1.0, 0.7]
    """

    alias = "cleanex-fast"
    needs = "scores"
    slow = True
    about = "network from scores to U, fitted to the observed curve; needs the extra torch"
    cost = "seconds to a quarter of a minute"
    advice = "where scores are at hand and the other methods disagree"

    def __init__(
        self,
        *,
        layers: Sequence[int] = (512, 128),
        starts: int = 8,
        device: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.starts = starts
        self.device = device
        self.random_state = random_state

    def _estimate(self, pilot: Pilot) -> Favorability:
        torch = networks.torch_module()
        layers = hidden_layers(self.layers)
        n_starts = arrays.whole_number(self.starts, "starts", 1)
        seed = arrays.whole_number(self.random_state, "random_state", 0)
        device = networks.chosen_device(self.device)
        warn_if_one_sided(pilot)
        rows = score_rows(pilot)
        goal = _goal(pilot, rows)
        directions = _directions(rows.values)
        reduced = torch.as_tensor(rows.values @ directions.T, device=device)
        projection = torch.as_tensor(directions, device=device)
        said, losses, self.steps_ = [], [], []
        report = reporter()
        for start in range(n_starts):
            report("CleaneX, starts", start, n_starts)
            parameters = _started(pilot.n_classes, layers, seed, start, projection, goal)
            fit = _Fit(reduced, parameters, goal)
            self.steps_.append(fit.run())
            said.append(fit.logit.cpu().numpy().astype(np.float64))
            losses.append(fit.loss)
        report("CleaneX, starts", n_starts, n_starts)
        self.loss_, self.device_ = float(np.mean(losses)), networks.device_name(device)
        p = expit(-np.concatenate(said))
        return Favorability(p, np.tile(rows.weights / n_starts, n_starts))


@dataclass(frozen=True)
class _Goal:
    """What the fitted curve should be: its values at a few powers k - 1, and how exactly."""

    powers: Floats
    target: Floats
    shares: Floats  # of all k that each of the few stands for
    weights: Floats
    tolerance: float


def _goal(pilot: Pilot, rows: ScoreRows) -> _Goal:
    last = pilot.n_classes - 1
    powers = np.unique(np.geomspace(1, last, N_CLASSES).round())
    edges = np.concatenate([[0.5], (powers[1:] + powers[:-1]) / 2, [last + 0.5]])
    shares = np.diff(edges) / last
    noise = math.sqrt(float(_variance(pilot, powers) @ shares))
    return _Goal(
        powers,
        observe(pilot).accuracy(powers.astype(np.int64) + 1),
        shares,
        rows.weights,
        # However well it went, one probe more might have been half right.
        NOISE_SHARE * max(noise, float(rows.weights.max()) / 2),
    )


def _variance(pilot: Pilot, powers: Floats) -> Floats:
    """Variance of the observed curve from one set of classes to another, roughly.

    Classes count as independent, and the share of rivals that a probe beats as its U.
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    beaten = 1 - (pilot.losses + pilot.ties / 2) / (pilot.n_classes - 1)
    weight = np.bincount(pilot.labels, pilot.weights, pilot.n_classes)
    values = []
    for power in powers:
        chance = beaten**power
        total = np.bincount(pilot.labels, pilot.weights * chance, pilot.n_classes)
        values.append(np.square(total - weight * (pilot.weights @ chance)).sum())
    return np.array(values)


def _directions(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return orthonormal rows that span the leading directions of the score rows."""
    n_probes, n_classes = values.shape
    if n_classes <= RANK:
        return np.eye(n_classes, dtype=np.float32)
    wanted = min(RANK, n_probes)
    _, _, directions = randomized_svd(values, wanted, n_iter=3, random_state=0)
    return np.ascontiguousarray(directions, dtype=np.float32)


def _started(
    n_classes: int, layers: list[int], seed: int, start: int, projection: Any, goal: _Goal
) -> list[Any]:
    """Return initial weights in the reduced space; the output starts at two-class accuracy."""
    own = int(np.random.SeedSequence([seed, start]).generate_state(1)[0])
    sizes = [n_classes, *layers, 1]
    parameters = [part[0] for part in networks.started(sizes, [own], projection.device)]
    parameters[0] = projection @ parameters[0]
    half = 0.5 / len(goal.weights)
    parameters[-1] += float(log_odds(np.clip(goal.target[0], half, 1 - half)))
    return parameters


class _Fit:
    """Levenberg and Marquardt's method for one network."""

    def __init__(self, rows: Any, parameters: list[Any], goal: _Goal) -> None:
        torch = networks.torch_module()

        def given(values: Floats) -> Any:
            return torch.as_tensor(values.astype(np.float32), device=rows.device)

        self.rows, self.parameters, self.goal = rows, parameters, goal
        self.powers, self.weights = given(goal.powers), given(goal.weights)
        self.target, self.roots = given(goal.target), given(np.sqrt(goal.shares))
        self._evaluate()

    def run(self) -> int:
        """Fit until the curve is close enough or no step helps; return how many steps it took."""
        damping = 1e-2
        for step in range(MOST_STEPS):
            if self.loss <= self.goal.tolerance**2:
                return step
            jacobian = self._jacobian()
            tried = self._step(jacobian, damping)
            if tried is None:
                return step
            damping = max(tried / 3, 1e-10)
        return MOST_STEPS

    def _step(self, jacobian: Any, damping: float) -> float | None:
        """Move to where the loss is lower and return the damping it took; None if nowhere."""
        torch = networks.torch_module()
        host = jacobian.cpu().double().numpy()
        matrix, residual = host @ host.T, self.residual.cpu().double().numpy()
        scale, loss = float(np.trace(matrix)) / len(matrix), self.loss
        while scale > 0 and damping < 1e8:
            pull = np.linalg.solve(matrix + damping * scale * np.eye(len(matrix)), residual)
            change = torch.as_tensor(pull.astype(np.float32), device=jacobian.device) @ jacobian
            self._move(change, -1.0)
            if self.loss < loss:
                return damping
            self._move(change, 1.0)
            damping *= 5
        return None

    def _move(self, change: Any, factor: float) -> None:
        at = 0
        for part in self.parameters:
            part.add_(change[at : at + part.numel()].view_as(part), alpha=factor)
            at += part.numel()
        self._evaluate()

    def _evaluate(self) -> None:
        """Compute what the network says and how far its curve is from the target."""
        torch = networks.torch_module()
        self.signals = [self.rows]
        for weight, bias in zip(self.parameters[:-2:2], self.parameters[1:-2:2], strict=True):
            self.signals.append(torch.addmm(bias, self.signals[-1], weight).relu_())
        self.logit = torch.addmm(self.parameters[-1], self.signals[-1], self.parameters[-2])[:, 0]
        self.log_chance = torch.nn.functional.logsigmoid(self.logit)
        self.raised = torch.exp(self.log_chance[:, None] * self.powers)
        self.residual = (self.weights @ self.raised - self.target) * self.roots
        self.loss = float(self.residual.square().sum())

    def _jacobian(self) -> Any:
        """Return the derivatives of each residual by all parameters, one row a residual."""
        torch = networks.torch_module()
        by_logit = self.raised * (self.powers * self.roots) * torch.sigmoid(-self.logit)[:, None]
        by_logit *= self.weights[:, None]
        active = [signal > 0 for signal in self.signals]
        found = []
        for slope in by_logit.T:
            parts, delta = [], slope[:, None]
            for layer in reversed(range(len(self.signals))):
                parts += [delta.sum(dim=0), (self.signals[layer].T @ delta).ravel()]
                if layer:
                    delta = (delta @ self.parameters[2 * layer].T).mul_(active[layer])
            found.append(torch.cat(parts[::-1]))
        return torch.stack(found)
