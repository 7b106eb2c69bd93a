"""CleaneX in under half a minute: the same network and objective, fitted with far less work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.special import logit as log_odds
from sklearn.utils.extmath import randomized_svd

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.estimators.base import warn_if_one_sided
from headcount.estimators.cleanex import networks
from headcount.estimators.cleanex.cleanex import TrainedOnCurve, hidden_layers
from headcount.estimators.cleanex.marquardt import FewClasses, Marquardt
from headcount.estimators.cleanex.score_rows import ScoreRows, score_rows
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.workers import reporter

Floats = NDArray[np.float64]

N_CLASSES = 12  # numbers of classes at which the curve is fitted
RANK = 48  # directions of the sorted scores that are kept
MANY = 2500  # probes, from where on Adam is the better way
STARTS = 8
NOISE_SHARE = 0.1  # of the noise of the observed curve, where the fit is good enough
# Rate times iterations is that of the paper. Gradients are too small for the usual eps.
ADAM = networks.Recipe(1000, 1e-3, betas=(0.9, 0.99), eps=1e-12, ramp=0.3)


class CleaneXFast(TrainedOnCurve):
    r"""The network of `CleaneX`, fitted to the same curve with a small part of the work.

    What makes the difference:

    - The curve is smooth in log k, so that 12 numbers of classes say what all K - 1 do; each
      stands for its neighbours in the mean over k.
    - Sorted scores lie close to a space of few dimensions. The first layer is computed from their
      48 leading directions, while its weights stay those of the whole space: Adam scales every
      weight by itself, and in other coordinates it goes another way, which forecasts worse.
    - Many probes: a tenth of Adam's iterations at ten times the rate, rising first and falling at
      the end, so that weights travel as far.
    - Few probes (under 2,500): twelve residuals :math:`r` and very many parameters
      :math:`\theta` suit the method of Levenberg and Marquardt. With J the Jacobian, each step

      .. math:: \theta \leftarrow \theta - J^T (J J^T + \lambda I)^{-1} r

      needs a 12 x 12 system only. It stops once the fitted curve is within a tenth of the
      standard error of the observed one, since going on fits noise, and the law is the mean over
      eight starts, which agree on the pilot and differ beyond it.

    In the simulations of the paper its errors are those of `CleaneX` within noise; see
    `experiments/results/cleanex`.

    Parameters
    ----------
    layers : sequence of int
        Sizes of the hidden layers.
    optimiser : {"auto", "adam", "marquardt"}
        How to fit; by default as the number of probes suggests.
    device : str, optional
        Where torch computes, such as "cpu" or "cuda:0"; by default a GPU where there is one.
    random_state : int
        Seed of the initial weights.

    Attributes
    ----------
    loss_ : float
        Mean squared error of the fitted curves at the end.
    device_ : str
        What it was trained on.

    References
    ----------
    Slavutsky and Benjamini (2021), §4, for model and objective; Marquardt (1963) for his method.

    Examples
    --------
    >>> from headcount import simulate
    >>> from headcount.estimators.cleanex.fast import CleaneXFast
    >>> pilot = simulate.points_around_classes(30, sigma2=0.3, random_state=0).pilot
    >>> CleaneXFast(layers=(64, 32), device="cpu").fit(pilot).predict([2, 30]).round(1).tolist()
    [1.0, 0.7]
    """

    alias = "cleanex-fast"
    needs = "scores"
    slow = True
    about = "network from scores to U, fitted to the observed curve; needs the extra torch"
    cost = "seconds to half a minute"
    advice = "where scores are at hand and the other methods disagree"

    def __init__(
        self,
        *,
        layers: Sequence[int] = (512, 128),
        optimiser: str = "auto",
        device: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.optimiser = optimiser
        self.device = device
        self.random_state = random_state

    def _train(self, pilots: Sequence[Pilot], fitted: Sequence[Self]) -> list[Favorability]:
        layers = hidden_layers(self.layers)
        optimiser = validation.choice(self.optimiser, "optimiser", ("auto", "adam", "marquardt"))
        seeds = [validation.whole_number(copy.random_state, "random_state", 0) for copy in fitted]
        device = networks.chosen_device(self.device)
        for pilot in pilots:
            warn_if_one_sided(pilot)
        rows = [score_rows(pilot) for pilot in pilots]
        goals = [goal_of(pilot, pilot_rows) for pilot, pilot_rows in zip(pilots, rows, strict=True)]
        if optimiser == "auto":
            optimiser = "adam" if pilots[0].n_probes >= MANY else "marquardt"
        if optimiser == "adam":
            laws, losses = _by_adam(rows, goals, layers, seeds, device)
        else:
            tolerances = [_tolerance(*pair) for pair in zip(pilots, goals, strict=True)]
            laws, losses = _by_marquardt(rows, goals, tolerances, layers, seeds, device)
        for copy, loss in zip(fitted, losses, strict=True):
            copy.loss_, copy.device_ = loss, networks.device_name(device)
        return laws


def few_powers(last: int) -> tuple[Floats, Floats]:
    """Return powers of U from 1 to `last`, even in the logarithm, and the share each stands for.

    Examples
    --------
    >>> powers, shares = few_powers(99)
    >>> powers.astype(int).tolist()
    [1, 2, 4, 5, 8, 12, 19, 28, 43, 65, 99]
    >>> float(shares.sum().round(12))
    1.0
    """
    powers = np.unique(np.geomspace(1, last, N_CLASSES).round())
    edges = np.concatenate([[0.5], (powers[1:] + powers[:-1]) / 2, [last + 0.5]])
    return powers, np.diff(edges) / last


def goal_of(pilot: Pilot, rows: ScoreRows) -> FewClasses:
    """Return the observed curve of a pilot at a few numbers of classes, which is fitted."""
    powers, shares = few_powers(pilot.n_classes - 1)
    target = observe(pilot).accuracy(powers.astype(np.int64) + 1)
    return FewClasses(powers, target, shares, rows.weights)


def _by_adam(
    rows: Sequence[ScoreRows],
    goals: Sequence[FewClasses],
    layers: list[int],
    seeds: Sequence[int],
    device: Any,
) -> tuple[list[Favorability], list[float]]:
    """Fit one network a pilot, all at once."""
    torch = networks.torch_module()

    def stacked(arrays: Sequence[NDArray[Any]]) -> Any:
        return torch.stack([networks.tensor(array, device) for array in arrays])

    bases = [_directions(pilot_rows.values) for pilot_rows in rows]
    first_weights = [
        first_parameters(pilot_rows, goal, layers, seed, 0, device)
        for pilot_rows, goal, seed in zip(rows, goals, seeds, strict=True)
    ]
    all_logits, losses = networks.train(
        [torch.stack(parts) for parts in zip(*first_weights, strict=True)],
        stacked(
            [pilot_rows.values @ basis.T for pilot_rows, basis in zip(rows, bases, strict=True)]
        ),
        stacked([pilot_rows.weights for pilot_rows in rows]),
        networks.Goal(
            networks.tensor(goals[0].powers, device),
            stacked([goal.target for goal in goals]),
            networks.tensor(goals[0].shares, device),
        ),
        ADAM,
        stacked(bases),
    )
    laws = [
        _law(logits[None], pilot_rows) for logits, pilot_rows in zip(all_logits, rows, strict=True)
    ]
    return laws, losses.tolist()


def _by_marquardt(
    rows: Sequence[ScoreRows],
    goals: Sequence[FewClasses],
    tolerances: Sequence[float],
    layers: list[int],
    seeds: Sequence[int],
    device: Any,
) -> tuple[list[Favorability], list[float]]:
    """Fit several networks a pilot, one after the other."""
    report = reporter()
    laws: list[Favorability] = []
    losses: list[float] = []
    total = STARTS * len(rows)
    for pilot_rows, goal, tolerance, seed in zip(rows, goals, tolerances, seeds, strict=True):
        basis = networks.tensor(_directions(pilot_rows.values), device)
        reduced = networks.tensor(pilot_rows.values, device) @ basis.T
        logits, fit_losses = [], []
        for start in range(STARTS):
            report("CleaneX, starts", len(laws) * STARTS + start, total)
            parameters = first_parameters(pilot_rows, goal, layers, seed, start, device)
            parameters[0] = basis @ parameters[0]
            fit = Marquardt(reduced, parameters, goal, tolerance)
            fit.run()
            logits.append(fit.logit.cpu().numpy().astype(np.float64))
            fit_losses.append(fit.loss)
        laws.append(_law(np.array(logits), pilot_rows))
        losses.append(float(np.mean(fit_losses)))
    report("CleaneX, starts", total, total)
    return laws, losses


def _tolerance(pilot: Pilot, goal: FewClasses) -> float:
    """Return how close to the observed curve a fitted one must come.

    The noise is that from one set of classes to another, roughly: classes count as independent,
    and the share of rivals that a probe beats as its U.
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    beaten = 1 - (pilot.losses + pilot.ties / 2) / (pilot.n_classes - 1)
    weight = np.bincount(pilot.labels, pilot.weights, pilot.n_classes)
    variance = []
    for power in goal.powers:
        chance = beaten**power
        total = np.bincount(pilot.labels, pilot.weights * chance, pilot.n_classes)
        variance.append(np.square(total - weight * (pilot.weights @ chance)).sum())
    noise = math.sqrt(float(np.array(variance) @ goal.shares))
    # However well it went, one probe more might have been half right.
    return NOISE_SHARE * max(noise, float(goal.weights.max()) / 2)


def _directions(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return orthonormal rows that span the leading directions of the score rows."""
    n_probes, n_classes = values.shape
    if n_classes <= RANK:
        return np.eye(n_classes, dtype=np.float32)
    wanted = min(RANK, n_probes)
    _, _, directions = randomized_svd(values, wanted, n_iter=3, random_state=0)
    return np.ascontiguousarray(directions, dtype=np.float32)


def first_parameters(
    rows: ScoreRows, goal: FewClasses, layers: list[int], seed: int, start: int, device: Any
) -> list[Any]:
    """Return initial weights; the output starts at two-class accuracy."""
    n_probes, n_classes = rows.values.shape
    start_seed = int(np.random.SeedSequence([seed, start]).generate_state(1)[0])
    stacks = networks.started([n_classes, *layers, 1], [start_seed], device)
    parameters = [stack[0] for stack in stacks]
    half = 0.5 / n_probes
    parameters[-1] += float(log_odds(np.clip(goal.target[0], half, 1 - half)))
    return parameters


def _law(logits: Floats, rows: ScoreRows) -> Favorability:
    """Return the law of what networks from one or several starts say, a row each."""
    starts = len(logits)
    return Favorability(expit(-logits.ravel()), np.tile(rows.weights / starts, starts))
