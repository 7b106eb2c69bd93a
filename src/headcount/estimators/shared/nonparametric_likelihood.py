"""Maximum pseudolikelihood of losses over all laws of favorability, discretised.

A law is a mixture of components: point masses at p = 1 - U, or, where the density of U must not
decrease, uniform laws of p on [0, q]: any non-decreasing density of U, and no other, is a mixture
of those. Either way only non-negative weights are to be found, and the chance of every number of
losses under every component has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaln, ndtr, ndtri, xlog1py, xlogy

from headcount.errors import HeadcountError
from headcount.pilot.losses import LossTable

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SINGLE = 64  # losses told apart one by one; beyond, groups a sixth of their size
END_SHARE = 0.1  # of the reference law, at U = 1 and at U = 0
LEAST_ODDS = 1e-6  # of a loss or a win among all rivals, at the last nodes before the ends
_MOST_STEPS = 200


@dataclass(frozen=True)
class Rows:
    """What was seen: between `first` and `last` losses among `n_rivals`, with these weights.

    A row of a single number of losses has first = last, a censored one last = n_rivals. Weights
    sum to one; probes of which nothing is known are left out.
    """

    first: Counts
    last: Counts
    weights: Floats
    n_rivals: int

    @property
    def right(self) -> float:
        """Weight of the probes without a loss: the observed accuracy at K."""
        return float(self.weights[self.last == 0].sum())


@dataclass(frozen=True)
class Components:
    """The laws that are mixed, and how much the reference law has of each.

    Attributes
    ----------
    ends : ndarray
        p of each point mass, or upper end q of each uniform law, ascending from 0 to 1.
    reference : ndarray
        Weights of the reference law; they sum to one.
    monotone : bool
        Whether components are uniform on [0, q] rather than point masses.
    """

    ends: Floats
    reference: Floats
    monotone: bool

    def chances(self, rows: Rows) -> Floats:
        """Chance of each row under each component."""
        chance_under = self._uniform if self.monotone else self._point
        return np.vstack(
            [np.empty((0, len(self.ends)))]
            + [
                chance_under(int(first), int(last), rows.n_rivals)[None]
                for first, last in zip(rows.first, rows.last, strict=True)
            ]
        )

    def accuracy(self, k: float) -> Floats:
        """Accuracy among k classes under each component."""
        q = self.ends
        if not self.monotone:
            return np.asarray(np.exp(xlog1py(k - 1, -q)))
        inside = np.where(q > 0, q, 1.0)
        return np.where(q > 0, -np.expm1(xlog1py(k, -inside)) / (k * inside), 1.0)

    def law(self, weights: Floats) -> tuple[Floats, Floats]:
        """Nodes of p and their weights: for uniform laws, three Gauss points in each cell."""
        if not self.monotone:
            return self.ends, weights
        height = np.cumsum((weights[1:] / self.ends[1:])[::-1])[::-1]
        width = np.diff(self.ends)
        points, shares = np.polynomial.legendre.leggauss(3)
        p = self.ends[:-1, None] + width[:, None] * (points + 1) / 2
        mass = (height * width)[:, None] * shares / 2
        return np.append(p.ravel(), 0.0), np.append(mass.ravel(), weights[0])

    def _point(self, first: int, last: int, n: int) -> Floats:
        p = self.ends
        if first == last:
            log_choose = -betaln(first + 1, n - first + 1) - np.log(n + 1)
            return np.asarray(np.exp(log_choose + xlogy(first, p) + xlog1py(n - first, -p)))
        return np.maximum(_tail(first, n, p) - _tail(last + 1, n, p), 0.0)

    def _uniform(self, first: int, last: int, n: int) -> Floats:
        q = self.ends[1:]
        if first == last:
            mean = betainc(first + 1, n - first + 1, q) / ((n + 1) * q)
        else:
            mean = np.maximum(_mean_tail(first, n, q) - _mean_tail(last + 1, n, q), 0.0)
        return np.concatenate([[float(first == 0)], mean])


def _tail(least: int, n: int, p: Floats) -> Floats:
    """Chance of at least so many losses among n rivals that each win with chance p."""
    if least == 0:
        return np.ones_like(p)
    return np.asarray(betainc(least, n - least + 1, p)) if least <= n else np.zeros_like(p)


def _mean_tail(least: int, n: int, q: Floats) -> Floats:
    """Mean of that chance for p uniform on [0, q], integrated by parts."""
    if not 0 < least <= n:
        return _tail(least, n, q)
    partial = betainc(least + 1, n - least + 1, q) * (least / (n + 1))
    return np.asarray(_tail(least, n, q) - partial / q)


def rows_of(table: LossTable) -> Rows:
    """Group a loss table: exact up to 64 losses (or wins), then within a sixth of the number."""
    n = table.n_rivals
    usable = ~table.censored | (table.losses > 0)
    losses, weights, cut = table.losses[usable], table.weights[usable], table.censored[usable]
    edges = _edges(n)
    place = np.searchsorted(edges, losses, side="right") - 1
    first = edges[place]  # for a censored probe a lower bound still
    last = np.where(cut, n, edges[place + 1] - 1)
    pairs, where = np.unique(np.column_stack([first, last]), axis=0, return_inverse=True)
    mass = np.bincount(where.ravel(), weights, len(pairs)).astype(np.float64)
    return Rows(pairs[:, 0], pairs[:, 1], mass / max(mass.sum(), 1e-300), n)


def _edges(n: int) -> Counts:
    """First number of losses of every group, and n + 1 at the end."""
    low = [0]
    while low[-1] <= (n + 1) // 2:
        low.append(low[-1] + max(1, low[-1] // 6 if low[-1] > SINGLE else 1))
    starts = np.array(low[:-1], np.int64)
    return np.unique(np.concatenate([starts, n + 1 - starts]))


def components(n_nodes: int, n_rivals: int, monotone: bool) -> Components:
    """Components equally far apart on the probit scale, and both ends.

    The reference law is the arcsine law (Jeffreys' for a binomial chance), which favours neither
    end, with a tenth more at each end. It is fixed: nodes only say how finely it is cut.
    """
    reach = LEAST_ODDS / n_rivals
    y = np.linspace(-ndtri(reach), ndtri(reach), n_nodes - 2)
    edges = np.concatenate([[0.0], ndtr(-(y[1:] + y[:-1]) / 2), [1.0]])
    cells = np.diff(np.arcsin(np.sqrt(edges))) / (np.pi / 2)
    cells = np.where(y >= 0, cells, cells[::-1])  # p near one has few digits left
    reference = np.concatenate([[END_SHARE], (1 - 2 * END_SHARE) * cells, [END_SHARE]])
    return Components(np.concatenate([[0.0], ndtr(-y), [1.0]]), reference, monotone)


def maximise(
    chances: Floats, weights: Floats, reference: Floats, pull: float, fixed: int | None
) -> Floats:
    r"""Weights g that maximise the pseudolikelihood with a slight pull to the reference law.

    Maximises :math:`\sum_l w_l \log \sum_j A_{lj} g_j + \lambda \sum_j \pi_j \log g_j`. Its fixed
    point under EM is :math:`(1 + \lambda) g_j = g_j \sum_l v_l A_{lj} + \lambda \pi_j` with
    :math:`v_l = w_l / f_l`, so that g follows from v, and v from the concave dual

    .. math:: \max_v \sum_l w_l \log v_l
              + \lambda \sum_j \pi_j \log\Big(1 - \sum_l v_l A_{lj}\Big)

    (v scaled by 1 + lambda), solved by Newton's method along a path of falling lambda. Where the
    chance of row `fixed` must equal its weight, its v is a free multiplier instead.
    """
    matrix, logged = chances, np.ones(len(weights), np.bool_)
    if fixed is not None:
        matrix, logged[fixed] = chances.copy(), False
        matrix[fixed] -= weights[fixed]
    g = _interior(matrix, np.where(logged, weights, 0.0), reference, pull)
    return exact(g, chances, weights, fixed)


def _interior(matrix: Floats, weights: Floats, reference: Floats, pull: float) -> Floats:
    """Weights of the law, up to a factor, by a primal-dual interior-point method."""
    point = _Point.start(matrix, weights, reference)
    for _ in range(_MOST_STEPS):
        # Look ahead to the end of the path, then aim as low as that step went, with the product
        # of its changes, which the linear equations leave out, taken into account.
        ahead = point.towards(pull, None)
        level = point.level()
        reached = point.moved(ahead).level() / level
        level *= max(reached, 0.01) ** 2
        level = level if level > 2 * pull else pull
        move = point.towards(level, ahead)
        point = point.moved(move)
        if level == pull and np.abs(move.g) @ point.slack < 1e-9 * pull:
            return point.g
    raise HeadcountError("the pseudolikelihood fit did not converge; please report the losses.")


@dataclass(frozen=True)
class _Move:
    """Changes of v, of the slack, of g, and of the chances f."""

    v: Floats
    slack: Floats
    g: Floats
    f: Floats


@dataclass(frozen=True)
class _Point:
    """A point inside: slack = 1 - v A and g are positive, and so is v in rows with a weight.

    At a level of the path, g times slack is level times reference, and v times f the weights,
    where f = A g are the chances of the rows; of rows without a weight, f is zero.
    """

    matrix: Floats
    weights: Floats
    reference: Floats
    v: Floats
    slack: Floats
    g: Floats

    @classmethod
    def start(cls, matrix: Floats, weights: Floats, reference: Floats) -> Self:
        """Return a point far up the path, where the reference law itself solves the equations."""
        v = weights / np.where(weights > 0, matrix @ reference, 1.0)
        level = 4 * max(1.0, float((v @ matrix).max()))
        slack = 1 - v @ matrix / (1 + level)
        return cls(matrix, weights, reference, v / (1 + level), slack, level * reference / slack)

    def level(self) -> float:
        return float(self.g @ self.slack)

    def towards(self, level: float, ahead: _Move | None) -> _Move:
        """Newton step to the point of that level."""
        logged = self.weights > 0
        f = self.matrix @ self.g
        # In units of v, so that rows of small weight are not lost.
        unit = np.where(logged, self.v, 1.0)
        rows = unit[:, None] * self.matrix
        products = level * self.reference - self.g * self.slack
        misfit = np.where(logged, self.weights - self.v * f, -f)
        if ahead is not None:
            products = products - ahead.g * ahead.slack
            misfit = misfit - np.where(logged, ahead.v * ahead.f, 0.0)
        system = (rows * (self.g / self.slack)) @ rows.T
        system[np.diag_indices_from(system)] += np.where(logged, self.v * f, 0.0)
        v = unit * _solve(system, misfit - rows @ (products / self.slack))
        slack = -(v @ self.matrix)
        g = (products - self.g * slack) / self.slack
        return _Move(v, slack, g, self.matrix @ g)

    def moved(self, move: _Move) -> Self:
        """Go as far as stays inside, in v and in g each."""
        logged = self.weights > 0
        room = min(_room(self.v[logged], move.v[logged]), _room(self.slack, move.slack))
        size, size_g = min(1.0, 0.9 * room), min(1.0, 0.9 * _room(self.g, move.g))
        return replace(
            self,
            v=self.v + size * move.v,
            slack=self.slack + size * move.slack,
            g=self.g + size_g * move.g,
        )


def _room(value: Floats, change: Floats) -> float:
    """How many times the change fits before a value reaches zero."""
    steepest = float((-change / value).max(initial=0.0))
    return 1 / steepest if steepest > 0 else np.inf


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a positive definite system, however far apart its units are."""
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled, ridge = matrix * np.outer(scale, scale), 0.0
    while True:
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(scaled)), check_finite=False)
            return np.asarray(scale * cho_solve(factor, scale * right))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-15)


def exact(g: Floats, chances: Floats, weights: Floats, fixed: int | None) -> Floats:
    """Meet mass one, and the fixed row, to the last digit."""
    g = g / g.sum()
    if fixed is not None:
        row = chances[fixed] - weights[fixed]
        g = g * (1 - row * (row @ g) / (row**2 @ g))
    return np.asarray(g / g.sum())


def gap(chances: Floats, weights: Floats, g: Floats, fixed: int | None) -> float:
    r"""Upper bound on how much the mean log pseudolikelihood of g is below the maximum.

    By concavity no law h gains more than :math:`\sum_l w_l (A h)_l / f_l - 1`, which is largest
    at a single component; the fixed row adds nothing, whatever multiple of it is added.
    """
    if len(weights) == 0:
        return 0.0
    slope = (weights / (chances @ g)) @ chances - 1
    if fixed is None:
        return float(slope.max())
    row = chances[fixed] - weights[fixed]
    best = minimize_scalar(lambda m: float((slope + m * row).max()), bracket=(-1.0, 0.0))
    return float(best.fun)
