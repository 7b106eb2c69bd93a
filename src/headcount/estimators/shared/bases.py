"""Families of laws of U from which regression mixes: splines, steps and bumps.

Every basis function of the papers is, once scaled, the distribution function of some law on [0, 1]:
its moments are accuracies, and non-negative coefficients make a mixture. H in closed form:

    H_{l,k} = (k - 1) int h_l(u) u^(k-2) du = 1 - (accuracy of the l-th law at k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError

Floats = NDArray[np.float64]

KNOTS = ("uniform", "quadratic", "adaptive")
LEAST_P = 1e-14
CELLS = 4000
FINE = 5.0  # below k (1 - t) = FINE the recursion for splines would cancel


class Basis(Protocol):
    """A family of laws of U."""

    def accuracy(self, k: Floats) -> Floats:
        """Accuracy of each law (column) at each k (row)."""

    def law(self, weights: Floats) -> Favorability:
        """Mixture of the laws; what is missing to mass one is an atom at U = 1."""


def knots(spacing: str, n_knots: int, n_classes: int, largest: int) -> Floats:
    """Return the distances of the knots from one, q = 1 - t, descending.

    Parameters
    ----------
    spacing : {"uniform", "quadratic", "adaptive"}
        Uniform: t = l / (m + 1). Quadratic: denser near one, q = (l / (m + 1))^2. Adaptive, as 002
        §6 advises: steps of a tenth of 1/largest down to one from 5/largest, growing with the
        distance before that, never wider than 1/n_classes.
    n_knots : int
        How many; adaptive spacing finds its own number.
    n_classes : int
        Size of the pilot.
    largest : int
        Largest number of classes of interest.
    """
    steps = np.arange(n_knots, 0, -1) / (n_knots + 1)
    if spacing == "uniform":
        return steps
    if spacing == "quadratic":
        return np.asarray(steps**2)
    if spacing != "adaptive":
        raise ParameterError(f"knots must be one of {', '.join(KNOTS)}, but is {spacing!r}.")
    edge = min(5 / largest, 1.0)
    near = np.arange(1, 51) / 50 * edge
    far = [edge]
    while far[-1] < 1:
        far.append(far[-1] + min(max(far[-1] / 20, 1 / largest), 1 / n_classes))
    return np.concatenate([near, far[1:-1]])[::-1]


class SplineBasis:
    """Truncated powers [u - t]_+^degree, scaled: U = t + (1 - t) B with B ~ Beta(degree, 1).

    Non-negative coefficients make D convex, and so the density of U monotone.
    """

    def __init__(self, distances: Floats, degree: int = 1) -> None:
        self.distances = distances
        self.degree = degree

    def accuracy(self, k: Floats) -> Floats:
        """Accuracy of each law at each k, without cancellation at either end."""
        return np.asarray(1 - truncated_moment(self.distances, k[:, None], self.degree))

    def law(self, weights: Floats) -> Favorability:
        """Mixture of the laws; what is missing to mass one is an atom at U = 1."""
        used = weights > 0  # few of ten thousand

        def below(p: Floats) -> Floats:
            share = np.minimum(p[:, None] / self.distances[used], 1.0)
            return np.asarray((1 - (1 - share) ** self.degree) @ weights[used])

        return law_on_cells(below, float(weights.sum()))


class StepBasis:
    """Uniform laws between neighbouring knots: any non-decreasing piecewise linear D."""

    def __init__(self, distances: Floats) -> None:
        edges = np.concatenate([[1.0], distances, [0.0]])
        self.far, self.near = edges[:-1], edges[1:]

    def accuracy(self, k: Floats) -> Floats:
        """Accuracy of each law at each k: a difference of powers over the width."""
        counts = k[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = np.log1p(-self.near), np.log1p(-self.far)
            # u^k at the nearer end, times one minus the ratio of the two.
            fall = -np.expm1(counts * np.where(np.isinf(far), -1e6, far - near))
        return np.asarray(np.exp(counts * near) * fall / (counts * (self.far - self.near)))

    def law(self, weights: Floats) -> Favorability:
        """Mixture of the laws; what is missing to mass one is an atom at U = 1."""
        used = weights > 0

        def below(p: Floats) -> Floats:
            share = (p[:, None] - self.near[used]) / (self.far - self.near)[used]
            return np.asarray(np.clip(share, 0.0, 1.0) @ weights[used])

        return law_on_cells(below, float(weights.sum()))


class GaussianBasis:
    """Bumps on the probit scale: U = Phi(t + bandwidth Z), centres half a bandwidth apart."""

    LOWEST, HIGHEST = -4.0, 8.0

    def __init__(self, bandwidth: float) -> None:
        n_centres = int(np.ceil((self.HIGHEST - self.LOWEST) / (bandwidth / 2))) + 1
        self.centres = np.linspace(self.LOWEST, self.HIGHEST, n_centres)
        reach = 6 * bandwidth
        n_nodes = int(np.ceil((self.HIGHEST - self.LOWEST + 2 * reach) / (bandwidth / 10))) + 1
        self.nodes = np.linspace(self.LOWEST - reach, self.HIGHEST + reach, n_nodes)
        bumps = np.exp(-0.5 * ((self.nodes[:, None] - self.centres) / bandwidth) ** 2)
        self.masses = bumps / bumps.sum(axis=0)

    def accuracy(self, k: Floats) -> Floats:
        """Accuracy of each law at each k, by a sum on nodes a tenth of a bandwidth apart."""
        return np.asarray(np.exp(np.outer(k - 1, log_ndtr(self.nodes))) @ self.masses)

    def law(self, weights: Floats) -> Favorability:
        """Mixture of the laws; what is missing to mass one is an atom at U = 1."""
        missing = max(0.0, 1 - float(weights.sum()))
        mass = np.maximum(self.masses @ weights, 0.0)
        return Favorability(np.append(ndtr(-self.nodes), 0.0), np.append(mass, missing))


def truncated_moment(distance: Floats, k: Floats, degree: int) -> Floats:
    r"""Return :math:`(k-1) \int_t^1 ((u-t)/q)^r u^{k-2} du` with q = 1 - t.

    By parts, I_r(k) = 1 - r / (k q) I_{r-1}(k + 1) with I_0(k) = 1 - t^(k-1). Where k q is small
    that difference cancels, and a short series in k q takes over.
    """
    if degree == 0:
        return np.asarray(-np.expm1((k - 1) * np.log1p(-distance)))
    distance, k = np.broadcast_arrays(distance, k)
    with np.errstate(over="ignore", invalid="ignore"):
        moment = 1 - degree / (k * distance) * truncated_moment(distance, k + 1, degree - 1)
    small = k * distance < FINE
    moment[small] = _series(distance[small], k[small], degree)
    return np.asarray(moment)


def _series(distance: Floats, k: Floats, degree: int) -> Floats:
    """Return (k-1) q / (r+1) times the hypergeometric series F(2 - k, 1; r + 2; q)."""
    term, total = np.ones(k.shape), np.ones(k.shape)
    for j in range(60):
        term = term * (2 - k + j) * distance / (degree + 2 + j)
        total += term
    return np.asarray((k - 1) * distance / (degree + 1) * total)


def law_on_cells(below: Callable[[Floats], Floats], mass: float) -> Favorability:
    """Return the law with P(p <= x) = below(x), on cells narrow enough for every k.

    Cells of equal width in log p; a node at a cell's middle is off by a few millionths at most.
    """
    edges = np.concatenate([[0.0], np.geomspace(LEAST_P, 1.0, CELLS)])
    reached = below(edges)
    middles = (edges[1:] + edges[:-1]) / 2
    weights = np.maximum(np.diff(reached), 0.0)
    return Favorability(np.append(middles, 0.0), np.append(weights, max(0.0, 1 - mass)))
