"""CleaneX: a network reads each probe's scores and is trained on the observed curve."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.errors import ParameterError
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.cleanex import networks
from headcount.estimators.cleanex.score_rows import ScoreRows, score_rows
from headcount.pilot.pilot import Pilot
from headcount.support import validation


class TrainedOnCurve(Extrapolator):
    """A method whose networks, one or more a pilot, can be trained for several pilots at once."""

    def fit_together(
        self, pilots: Sequence[Pilot], random_states: Sequence[int] | None = None
    ) -> list[Self]:
        """Return a fitted copy for each pilot, their networks trained side by side.

        That keeps a GPU busy. Answers are those of `fit`, up to round-off in the training.

        Parameters
        ----------
        pilots : sequence of Pilot
            All with as many probes and as many classes as the first.
        random_states : sequence of int, optional
            A seed for each pilot; `random_state` for all by default.
        """
        pilots = list(pilots)
        if len({(pilot.n_probes, pilot.n_classes) for pilot in pilots}) != 1:
            raise ParameterError("pilots trained together must be of one size; fit them singly.")
        seeds = [self.random_state] * len(pilots) if random_states is None else list(random_states)
        if len(seeds) != len(pilots):
            raise ParameterError(f"{len(pilots)} pilots need as many seeds, not {len(seeds)}.")
        copies: list[Self] = []
        for pilot, seed in zip(pilots, seeds, strict=True):
            copies.append(clone(self).set_params(random_state=seed))
            copies[-1]._check(pilot)
        laws = self._train(pilots, copies)
        for copy, law in zip(copies, laws, strict=True):
            copy.favorability_ = law
        return copies

    def _estimate(self, pilot: Pilot) -> Favorability:
        return self._train([pilot], [self])[0]

    @abstractmethod
    def _train(self, pilots: Sequence[Pilot], fitted: Sequence[Self]) -> list[Favorability]:
        """Return the law of each pilot; `fitted` are the copies that hold its seed and results."""


class CleaneX(TrainedOnCurve):
    r"""A network that estimates U from scores, trained on the observed curve (Algorithm 1).

    A probe enters as its true score followed by the sorted scores of the wrong classes, all
    standardised by one mean and one standard deviation, and leaves as :math:`\hat C_x`, its
    estimated U. No U is known to learn from; what is known is what they add up to, so the
    network is trained on

    .. math:: \frac{1}{K - 1} \sum_{k=2}^{K}
              \Big(\frac{1}{N} \sum_x \hat C_x^{k-1} - \text{observed}(k)\Big)^2

    over all probes at once (the mean over probes has the pilot's weights), by Adam. The law of
    favorability is that of the :math:`\hat C_x`.

    The defaults are the paper's. A fit takes minutes without a GPU: 10,000 passes over an N x K
    matrix with 512 hidden units. `CleaneXFast` takes far less, and is as good
    within noise.

    Parameters
    ----------
    layers : sequence of int
        Sizes of the hidden layers.
    iterations : int
        Passes over all probes, at most.
    learning_rate : float
        Adam's step.
    patience : int, optional
        Stop early when the loss fell by less than a hundredth within so many iterations; by
        default all iterations are done.
    device : str, optional
        Where torch computes, such as "cpu" or "cuda:0"; by default a GPU where there is one.
    random_state : int
        Seed of the initial weights.

    Attributes
    ----------
    loss_ : float
        Mean squared error of the fitted curve at the end.
    device_ : str
        What it was trained on.

    References
    ----------
    Slavutsky and Benjamini (2021), *Predicting classification accuracy when adding new unobserved
    classes*, §4 and §5.

    Examples
    --------
    >>> from headcount import simulate
    >>> from headcount.estimators.cleanex.cleanex import CleaneX
    >>> pilot = simulate.points_around_classes(30, sigma2=0.3, random_state=0).pilot
    >>> fit = CleaneX(layers=(32, 16), iterations=200, learning_rate=0.003, device="cpu").fit(pilot)
    >>> fit.predict([2, 30]).round(1).tolist()
    [1.0, 0.7]
    """

    alias = "cleanex"
    needs = "scores"
    slow = True
    about = "network from scores to U, trained on the observed curve; needs the extra torch"
    cost = "minutes; seconds on a GPU"
    advice = "to compare with paper 001; cleanex-fast is as good for far less work"

    def __init__(
        self,
        *,
        layers: Sequence[int] = (512, 128),
        iterations: int = 10_000,
        learning_rate: float = 1e-4,
        patience: int | None = None,
        device: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.iterations = iterations
        self.learning_rate = learning_rate
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def _train(self, pilots: Sequence[Pilot], fitted: Sequence[Self]) -> list[Favorability]:
        torch = networks.torch_module()
        layers = hidden_layers(self.layers)
        recipe = networks.Recipe(
            validation.whole_number(self.iterations, "iterations", 1),
            validation.positive(self.learning_rate, "learning_rate"),
            None
            if self.patience is None
            else validation.whole_number(self.patience, "patience", 1),
        )
        device = networks.chosen_device(self.device)
        for pilot in pilots:
            warn_if_one_sided(pilot)
        rows = [score_rows(pilot) for pilot in pilots]
        last = pilots[0].n_classes - 1
        ks = np.arange(2, last + 2)
        seeds = [validation.whole_number(copy.random_state, "random_state", 0) for copy in fitted]
        values = [networks.tensor(pilot_rows.values, device) for pilot_rows in rows]
        goal = networks.Goal(
            networks.tensor(ks - 1, device),
            torch.stack([networks.tensor(observe(pilot).accuracy(ks), device) for pilot in pilots]),
            networks.tensor(np.full(last, 1 / last), device),
        )
        logit, loss = networks.train(
            networks.started([last + 1, *layers, 1], seeds, device),
            torch.stack(values) if len(values) > 1 else values[0][None],
            torch.stack([networks.tensor(pilot_rows.weights, device) for pilot_rows in rows]),
            goal,
            recipe,
        )
        for copy, value in zip(fitted, loss, strict=True):
            copy.loss_, copy.device_ = float(value), networks.device_name(device)
        return [law_of(logits, pilot_rows) for logits, pilot_rows in zip(logit, rows, strict=True)]


def hidden_layers(layers: Any) -> list[int]:
    """Return the sizes of hidden layers, checked."""
    try:
        sizes = [validation.whole_number(size, "layers", 1) for size in layers]
    except TypeError:
        sizes = []
    if not sizes:
        raise ParameterError(
            f"layers must list the sizes of one or more hidden layers, such as (512, 128), "
            f"but is {layers!r}."
        )
    return sizes


def law_of(logit: NDArray[np.float64], rows: ScoreRows) -> Favorability:
    """Return the law of the estimated U, one node a probe."""
    return Favorability(expit(-logit), rows.weights)
