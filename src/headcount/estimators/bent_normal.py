"""Bent normal: a probit-normal law that bends as far as the losses ask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, xlogy

from headcount.curves.favorability import Favorability
from headcount.estimators.base import Extrapolator
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.shared.bending import (
    bend,
    bending_top,
    curve_errors,
    loss_rows,
    nodes_around,
    spread_over_rows,
)
from headcount.estimators.shared.likelihood import at_least, effective_classes, probit_spread
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

NOTHING = 1e-20  # variance that is round-off
LESS = 0.25  # of a probe with l losses, exp(-l / 4) is right among a quarter of the classes


class BentNormal(Extrapolator):
    r"""A probit-normal law that bends as far as the losses ask.

    The law of :math:`y = \Phi^{-1}(U)` is

    .. math:: w(y) \propto \exp\left(-\frac{(y - \mu)^2}{2 \tau^2} + \theta_1 x
              + \theta_2 \frac{x^2 - 1}{2} + b(y)\right),  \qquad x = \frac{y - \mu}{\tau} ,

    with :math:`\mu` and :math:`\tau` of `ProbitNormal`. The third derivative of the bend b is white
    noise a priori: without evidence the law stays normal, and with enough probes it fits any
    observed curve. Several strengths of the noise are weighed by their evidence. What the posterior
    leaves open is in `curve`.

    Any number of classes and probes will do, counts alone, and censored probes. Probes of one class
    are alike, so that they count as fewer (`n_effective_`).

    Attributes
    ----------
    base_ : ProbitNormal
        The normal law.
    n_effective_ : float
        How many independent probes the pilot's are worth.

    References
    ----------
    B. W. Silverman, *On the estimation of a probability density function by the maximum penalized
    likelihood method*, Annals of Statistics 10, 795-810, 1982, for a penalty that leaves normal
    laws alone.

    Examples
    --------
    Half of the probes are never beaten, the others by two rivals in a hundred:

    >>> import headcount
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.binomial(999, np.repeat([0.0, 0.02], 2000))
    >>> pilot = headcount.Pilot.from_losses(losses, n_classes=1000)
    >>> for method in ("probit-normal", "bent-normal"):
    ...     fit = headcount.estimators.resolve(method).fit(pilot)
    ...     print(fit.predict([100, 1000, 10_000]).round(2).tolist())
    [0.67, 0.41, 0.21]
    [0.57, 0.5, 0.5]
    """

    alias = "bent-normal"
    takes_censored = True
    about = "probit-normal, bent as far as the losses ask; penalised maximum likelihood"
    cost = "under a second"
    advice = "many probes or lists that were cut; what auto starts from"

    def curve(self, k: Any) -> tuple[Floats, Floats]:
        """Return log odds of the accuracies among k classes, and their errors.

        The errors are standard deviations of the posterior: how far the losses leave the law open.
        Numbers of classes need not be whole.
        """
        counts = np.asarray(k, dtype=np.float64)
        powers = np.exp(np.multiply.outer(counts - 1, log_ndtr(self.y_)))
        return curve_errors(np, self.bent_, powers)

    def _estimate(self, pilot: Pilot) -> Favorability:
        self.base_ = ProbitNormal().fit(pilot)
        mu, tau = np.array(self.base_.mu_), np.array(self.base_.tau_)
        self.y_ = nodes_around(np, mu, tau)
        likelihood, shares = _likelihood(pilot, self.y_)
        self.n_effective_ = independent_probes(pilot)
        self.bent_ = bend(
            np, likelihood, shares, self.y_, mu, tau, np.array(bending_top(pilot.n_classes)),
            np.array(self.n_effective_),
        )  # fmt: skip
        return Favorability(ndtr(-self.y_), self.bent_.chances @ self.bent_.weights)


def independent_probes(pilot: Pilot) -> float:
    """How many independent probes a pilot's are worth, as those of one class are alike.

    By how much more the accuracy among all classes varies, and that among about a quarter of them,
    when classes are drawn and not probes.
    """
    alone = float(1 / np.square(pilot.weights).sum())
    if pilot.labels is None:
        return alone
    losses, ties = pilot.settled
    right = (losses == 0) / (ties + 1.0)
    total = clustered = 0.0
    for values in (right, np.exp(-LESS * losses)):
        known = np.where(pilot.censored, 0.0, values)
        gaps = pilot.weights * (known - pilot.weights @ known)
        total += alone * float(np.square(gaps).sum())
        clustered += alone * float(np.square(np.bincount(pilot.labels, gaps)).sum())
    least = min(effective_classes(pilot), alone)
    if total < NOTHING:
        return least
    # Where all classes are equally good, nothing is clustered but round-off.
    return float(np.clip(alone * total / max(clustered, NOTHING), least, alone))


def _likelihood(pilot: Pilot, y: Floats) -> tuple[Floats, Floats]:
    table = pilot.table()
    n = table.n_rivals
    cut = table.censored
    every = loss_rows(n)
    shares = spread_over_rows(every, table.losses[~cut], table.weights[~cut])
    rows, shares = every[shares > 0], shares[shares > 0]
    log_p, log_u = log_ndtr(-y), log_ndtr(y)
    part = rows / n
    peak = xlogy(rows, part) + xlogy(n - rows, 1 - part)
    # A likelihood much narrower than the grid would fall between nodes.
    power = np.minimum(1.0, (probit_spread(rows, n) / (y[1] - y[0])) ** 2)
    log_mass = np.outer(rows, log_p) + np.outer(n - rows, log_u) - peak[:, None]
    blocks, weights = [np.exp(power[:, None] * log_mass)], [shares]
    if cut.any():
        lost = spread_over_rows(every, table.losses[cut], table.weights[cut])
        blocks.append(at_least(every[lost > 0], n, np.exp(log_p)))
        weights.append(lost[lost > 0])
    # Half a probe that is right among all classes, and half a probe that is not.
    blocks.append(np.vstack([np.exp(n * log_u), -np.expm1(n * log_u)]))
    weights.append(np.full(2, 0.5 / pilot.n_probes))
    return np.vstack(blocks), np.concatenate(weights)
