"""How likely each number of losses is, for every favorability on a fine grid.

Methods that model the law of U on the probit scale, y = Phi^-1(U), need the same integrals,

    P(losses = l) = E[Binomial(l; n, p)],    p = Phi(-y),

and differ only in the law of y. Here the binomial part is tabulated once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.special import betainc, log_ndtr, ndtri, xlogy

from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

REACH = 9.0
STEP = 0.005
MOST_ROWS = 2000
_NEGLIGIBLE = 1e-18
_CHUNK = 256


@dataclass(frozen=True)
class LossLikelihood:
    """Likelihood of each row of a loss table at each node of y, scaled row by row.

    Attributes
    ----------
    nodes : ndarray
        Equidistant values of y = Phi^-1(U) from -9 to 9.
    matrix : sparse array of shape (rows, nodes)
        Likelihood of the row's losses at the node, up to a factor of its own; for rows without
        a loss, and for censored rows, the probability itself.
    above, below : ndarray
        Likelihood of each row beyond the last and before the first cell, where it is constant. A
        node stands for the cell half a step to either side.
    weights : ndarray
        Weight of each row; they sum to one.
    n_effective : float
        How many classes' worth of evidence the rows hold.
    """

    nodes: Floats
    matrix: csr_array
    above: Floats
    below: Floats
    weights: Floats
    n_effective: float


def loss_likelihood(pilot: Pilot) -> LossLikelihood:
    """Tabulate the likelihood of a pilot's losses."""
    table = pilot.table()
    n = table.n_rivals
    nodes: Floats = np.arange(-round(REACH / STEP), round(REACH / STEP) + 1) * np.float64(STEP)
    exact = ~table.censored
    losses, weights = _merged(table.losses[exact], table.weights[exact], n)
    cut, cut_weights = _merged(table.losses[~exact], table.weights[~exact], n)
    blocks = [_exact_rows(chunk, n, nodes) for chunk in _chunks(losses)]
    blocks += [_censored_rows(chunk, n, nodes) for chunk in _chunks(cut)]
    return LossLikelihood(
        nodes,
        vstack(blocks, format="csr"),
        np.concatenate([losses == 0, cut == 0]).astype(np.float64),
        np.concatenate([losses == n, np.ones(len(cut))]).astype(np.float64),
        np.concatenate([weights, cut_weights]),
        effective_classes(pilot),
    )


def effective_classes(pilot: Pilot) -> float:
    """How many equally weighted classes the probes stand for (Kish); probes where unlabelled."""
    if pilot.labels is None:
        return float(pilot.n_probes)
    per_class = np.bincount(pilot.labels, pilot.weights)
    return float(1 / (np.sort(per_class) ** 2).sum())


def _exact_rows(losses: Floats, n: int, nodes: Floats) -> csr_array:
    """Binomial likelihood with its peak at one.

    A likelihood much narrower than the grid would fall between nodes; raising it to a power
    widens it to the grid's step, a hundred times narrower than any law worth fitting.
    """
    share = losses / n
    peak = xlogy(losses, share) + xlogy(n - losses, 1 - share)
    log_mass = np.outer(losses, log_ndtr(-nodes)) + np.outer(n - losses, log_ndtr(nodes))
    power = np.minimum(1.0, (probit_spread(losses, n) / STEP) ** 2)
    return _sparse(np.exp(power[:, None] * (log_mass - peak[:, None])))


def probit_spread(losses: Floats, n: int) -> Floats:
    """Approximate width of the binomial likelihood on the probit scale."""
    share = (losses + 0.5) / (n + 1)
    density = np.exp(-0.5 * ndtri(share) ** 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.sqrt(share * (1 - share) / n) / density)


def _censored_rows(losses: Floats, n: int, nodes: Floats) -> csr_array:
    return _sparse(at_least(losses, n, np.exp(log_ndtr(-nodes))))


def at_least(losses: Floats, n: int, p: Floats) -> Floats:
    """Chance of at least so many losses among n rivals, each of which wins with chance p.

    Examples
    --------
    >>> at_least(np.array([0.0, 1.0, 2.0]), 2, np.array([0.5, 0.1])).round(2).tolist()
    [[1.0, 1.0], [0.75, 0.19], [0.25, 0.01]]
    """
    bound = np.maximum(losses, 1)[:, None]
    chance = betainc(bound, n - bound + 1, p[..., None, :])
    return np.where(losses[:, None] == 0, 1.0, chance)


def _sparse(rows: Floats) -> csr_array:
    return csr_array(np.where(rows > _NEGLIGIBLE, rows, 0.0))


def _chunks(losses: Floats) -> list[Floats]:
    return [losses[first : first + _CHUNK] for first in range(0, len(losses), _CHUNK)]


def _merged(losses: NDArray[np.int64], weights: Floats, n: int) -> tuple[Floats, Floats]:
    """Replace many close numbers of losses by their mean, within a quarter of their spread."""
    if len(losses) <= MOST_ROWS:
        return losses.astype(np.float64), weights
    place = ndtri((losses + 0.5) / (n + 1))
    width = np.maximum(0.25 * probit_spread(losses.astype(np.float64), n), STEP)
    steps = np.diff(place) / np.minimum(width[1:], width[:-1])
    bins = np.floor(np.concatenate([[0.0], np.cumsum(steps)])).astype(np.int64)
    bins[losses == 0], bins[losses == n] = -2, -1  # never merged: their tails matter
    _, where = np.unique(bins, return_inverse=True)
    mass: Floats = np.bincount(where, weights).astype(np.float64)
    return np.bincount(where, weights * losses) / mass, mass
