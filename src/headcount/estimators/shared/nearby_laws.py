"""Laws that the losses can hardly tell from an estimate: what accuracy they leave open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, brentq, linprog

from headcount.errors import HeadcountError
from headcount.estimators.shared.nonparametric_likelihood import maximise

Floats = NDArray[np.float64]

_ATTEMPTS: tuple[tuple[Literal["highs", "highs-ipm"], float], ...] = (
    ("highs", 1e-8),
    ("highs", 1e-7),
    ("highs", 1e-9),
    ("highs-ipm", 1e-7),
    ("highs-ipm", 1e-9),
)
_PULL = 1e-8  # to the reference law: a hundredth of the estimate's, as ends are to be far from it
_LADDER = np.arange(-9, 4) * np.log(10.0)  # log weights of the probes more
_LEAST_GAP = 1e-14
_ALL_ALIKE = 1e-12


class AlikeLaws:
    """Laws that give all observed losses the chances that the estimate gives them.

    Parameters
    ----------
    chances : ndarray
        Of each row (numbers of losses) under each component.
    estimate : ndarray
        Weights of the components.
    slack : float
        How far off, relative to the estimate's, each chance may be.
    fixed : int or None
        Row whose chance is met exactly.
    """

    def __init__(
        self, chances: Floats, estimate: Floats, slack: float, fixed: int | None = None
    ) -> None:
        self.estimate = estimate
        n_rows, n_nodes = chances.shape
        # One unknown more for each row: how far it is off, in units of what is allowed.
        off = slack * np.eye(n_rows)
        if fixed is not None:
            off[fixed] = 0.0
        relative = chances / (chances @ estimate)[:, None]
        mass = np.concatenate([np.ones(n_nodes), np.zeros(n_rows)])
        self.programme = {
            "A_eq": np.vstack([np.hstack([relative, off]), mass]),
            "b_eq": np.ones(n_rows + 1),
            "bounds": [(0.0, None)] * n_nodes + [(-1.0, 1.0)] * n_rows,
        }
        self.n_more = n_rows

    def bounds(self, accuracy: Floats) -> tuple[float, float]:
        """Least and greatest mean of `accuracy`; the estimate is one of the laws."""
        mean = float(accuracy @ self.estimate)
        least, most = (
            float(accuracy @ self._least(sign * accuracy)[: len(accuracy)]) for sign in (1, -1)
        )
        return min(mean, least), max(mean, most)

    def _least(self, cost: Floats) -> Floats:
        return solve_programme(np.append(cost, np.zeros(self.n_more)), **self.programme)


class NearbyLaws:
    r"""Laws whose mean log pseudolikelihood is at most `drop` below the estimate's.

    The law with the highest accuracy among them is the one that a few probes more, all right among
    k classes, would make most likely, and the law with the lowest is that of such probes that are
    all wrong: with A their chance, the maximum of

    .. math:: \sum_l w_l \log P(l) + \eta \log A

    goes through all best compromises of likelihood and accuracy as their weight :math:`\eta` rises
    from zero, and the likelihood falls along the way. So each end takes one root in one unknown.

    Parameters
    ----------
    chances, estimate, fixed
        As for `AlikeLaws`.
    weights : ndarray
        Of the rows.
    reference : ndarray
        The law that decides among maximisers, as for `maximise`.
    drop : float
        Zero or more.
    gap : float
        How far the estimate may be below the maximum.
    """

    def __init__(
        self,
        chances: Floats,
        weights: Floats,
        estimate: Floats,
        reference: Floats,
        drop: float,
        gap: float,
        fixed: int | None = None,
    ) -> None:
        self.chances, self.weights, self.estimate = chances, weights, estimate
        self.reference, self.fixed = reference, fixed
        # Shortfalls are measured from what no law exceeds, and are thus above zero.
        self.ceiling = self._likelihood(estimate) + max(gap, _LEAST_GAP)
        self.allowed = drop + max(gap, _LEAST_GAP)

    def bounds(self, accuracy: Floats) -> tuple[float, float]:
        """Least and greatest mean of `accuracy`; the estimate is one of the laws."""
        mean = float(accuracy @ self.estimate)
        if np.ptp(accuracy) < _ALL_ALIKE:
            return mean, mean
        wrong, right = self._furthest(1 - accuracy), self._furthest(accuracy)
        return min(mean, float(accuracy @ wrong)), max(mean, float(accuracy @ right))

    def _furthest(self, chance: Floats) -> Floats:
        """Law under which probes of that chance under each component are most likely."""
        rows = np.vstack([self.chances, chance])
        laws: dict[float, Floats] = {}

        def excess(log_weight: float) -> float:
            weights = np.append(self.weights, np.exp(log_weight))
            law = maximise(rows, weights, self.reference, _PULL, self.fixed)
            laws[log_weight] = law
            shortfall = max(self.ceiling - self._likelihood(law), _LEAST_GAP)
            return float(np.log(shortfall / self.allowed))

        low, high = _bracket(excess)
        if low is None:
            return self.estimate
        if high is None:
            return laws[low]
        brentq(excess, low, high, xtol=1e-5, rtol=1e-6)
        # All of these are best compromises; of those that are inside, the furthest.
        return max(laws.values(), key=self._inside(chance))

    def _inside(self, chance: Floats) -> Callable[[Floats], float]:
        floor = self.ceiling - self.allowed

        def mean(law: Floats) -> float:
            return float(chance @ law) if self._likelihood(law) >= floor else -np.inf

        return mean

    def _likelihood(self, law: Floats) -> float:
        return float(self.weights @ np.log(self.chances @ law))


def _bracket(excess: Callable[[float], float]) -> tuple[float | None, float | None]:
    """Return neighbours on a ladder, below and above the root; none where it has no such rung."""
    rungs = list(_LADDER)
    place = len(rungs) // 2
    inside = excess(rungs[place]) <= 0
    while 0 <= place + (1 if inside else -1) < len(rungs):
        step = 1 if inside else -1
        if (excess(rungs[place + step]) <= 0) != inside:
            ends = sorted((rungs[place], rungs[place + step]))
            return ends[0], ends[1]
        place += step
    return (rungs[place], None) if inside else (None, rungs[place])


def solve_programme(cost: Floats, **programme: Any) -> Floats:
    """Return the solution of a linear programme.

    Neighbouring losses have all but the same chances, on which a solver may stumble: several are
    tried.
    """
    for method, tolerance in _ATTEMPTS:
        solution: OptimizeResult = linprog(
            cost,
            **programme,
            method=method,
            options={
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
            },
        )
        if solution.status == 0 and solution.x is not None:
            return np.asarray(solution.x)
    raise HeadcountError("the linear programme of the range of laws was not solved.")
