"""Probit-normal: favorability is normal on the probit scale."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

from headcount.errors import AssumptionWarning, HeadcountError, ParameterError
from headcount.estimators.base import Extrapolator
from headcount.estimators.likelihood import LossLikelihood, loss_likelihood
from headcount.favorability import Favorability
from headcount.pilot import Pilot

Floats = NDArray[np.float64]

_TAIL = 8.5
_NODE_GAP = 0.01


class ProbitNormal(Extrapolator):
    r"""Favorability U = Phi(mu + tau Z) with Z standard normal, by maximum likelihood.

    Losses among n = K - 1 rivals are binomial given U, so that

    .. math:: P(l) = \int \binom{n}{l} \Phi(-y)^l \Phi(y)^{n-l}
              \frac{1}{\tau} \varphi\!\left(\frac{y - \mu}{\tau}\right) dy ,

    summed on a grid finer than the binomial likelihood. Each class counts once, however many
    probes it has. In high dimensions tau tends to one (paper 003, §4.3), so log tau has a normal
    prior around zero whose weight is that of `prior_classes` classes and fades as classes grow.
    Half a probe that is right and half a probe that is not keep mu finite where every probe is
    right or every one is wrong.

    Parameters
    ----------
    prior_classes : float
        Weight of the prior: the precision of log tau.

    Attributes
    ----------
    mu_, tau_ : float
        Fitted parameters.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.3, for the limit tau = 1.

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = headcount.estimators.ProbitNormal().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.79, 0.51]
    """

    alias = "probit_normal"
    takes_censored = True
    about = "U is normal on the probit scale; maximum likelihood of the losses"
    cost = "under a second"
    advice = "the default: few classes, one probe a class, or losses alone"

    def __init__(self, *, prior_classes: float = 3.0) -> None:
        self.prior_classes = prior_classes

    def _estimate(self, pilot: Pilot) -> Favorability:
        if not self.prior_classes > 0:
            raise ParameterError(f"prior_classes must be above 0, but is {self.prior_classes}.")
        _warn_if_one_sided(pilot)
        likelihood = loss_likelihood(pilot)
        objective = _Objective(likelihood, self.prior_classes, pilot)
        self.mu_, self.tau_ = objective.minimise()
        return probit_normal_law(self.mu_, self.tau_)


def probit_normal_law(mu: float, tau: float) -> Favorability:
    """Favorability with U = Phi(mu + tau Z), on nodes close enough for every k."""
    half = int(np.ceil(_TAIL * max(tau, 0.5) / _NODE_GAP))
    z = np.linspace(-_TAIL, _TAIL, 2 * half + 1)
    return Favorability(ndtr(-(mu + tau * z)), np.exp(-0.5 * z**2))


class _Objective:
    """Mean negative log-likelihood per effective class, with its gradient in (mu, log tau)."""

    def __init__(self, likelihood: LossLikelihood, prior_classes: float, pilot: Pilot) -> None:
        self.data = likelihood
        self.prior = prior_classes / likelihood.n_effective
        self.half_probe = 0.5 / pilot.n_probes
        with np.errstate(over="ignore"):
            self.unbeaten = ndtr(likelihood.nodes) ** (pilot.n_classes - 1)

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        mu, log_tau = point
        tau = np.exp(log_tau)
        y = self.data.nodes
        z = (y - mu) / tau
        density = np.exp(-0.5 * z**2) / (tau * np.sqrt(2 * np.pi)) * (y[1] - y[0])
        columns = np.column_stack([density, density * z / tau, density * (z**2 - 1)])
        upper, lower = self._tail(mu, tau, y[-1], 1), self._tail(mu, tau, y[0], -1)
        rows = self.data.matrix @ columns
        rows += np.outer(self.data.above, upper) + np.outer(self.data.below, lower)
        right = self.unbeaten @ columns + upper
        chance = np.maximum(rows[:, 0], 1e-300)
        value = -(self.data.weights @ np.log(chance)) + 0.5 * self.prior * log_tau**2
        slope = -(self.data.weights / chance) @ rows[:, 1:]
        slope[1] += self.prior * log_tau
        p = np.clip(right[0], 1e-300, 1 - 1e-15)
        value -= self.half_probe * (np.log(p) + np.log1p(-p))
        slope -= self.half_probe * (1 / p - 1 / (1 - p)) * right[1:]
        return value, slope

    @staticmethod
    def _tail(mu: float, tau: float, edge: float, side: int) -> Floats:
        """Mass of y beyond the grid's edge, and its derivatives."""
        u = side * (mu - edge) / tau
        bell = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
        return np.array([ndtr(u), side * bell / tau, -u * bell])

    def minimise(self) -> tuple[float, float]:
        """Minimise from several starts and return mu and tau."""
        centre = self._start()
        best = None
        for log_tau in (0.0, -1.0, 1.0):
            start = np.array([centre * np.exp(max(log_tau, 0.0)), log_tau])
            found = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[(-100.0, 100.0), (-4.0, 4.0)],  # tau from a few grid steps to far too much
                options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
            )
            if best is None or found.fun < best.fun - 1e-12:
                best = found
        assert best is not None
        inside = np.abs(best.x) < [99.9, 3.999]
        if not (np.abs(best.jac[inside]) < 1e-5).all():
            raise HeadcountError(
                "the probit-normal fit did not converge; please report the pilot's losses."
            )
        return float(best.x[0]), float(np.exp(best.x[1]))

    def _start(self) -> float:
        """Mean of each row's most likely y."""
        peaks = np.asarray(self.data.matrix.argmax(axis=1)).ravel()
        places = self.data.nodes[peaks]
        return float(np.clip(self.data.weights @ places, -4, 4))


def _warn_if_one_sided(pilot: Pilot) -> None:
    if not (pilot.losses.any() or pilot.ties.any() or pilot.censored.any()):
        warnings.warn(
            f"all {pilot.n_probes:,} probes are right, so the pilot shows no error to extrapolate; "
            "the forecast rests on the assumption that the next probe might be wrong. "
            "A larger or harder pilot is needed.",
            AssumptionWarning,
            stacklevel=4,
        )
    elif pilot.losses.all() or (pilot.losses + pilot.censored).all():
        warnings.warn(
            f"no probe is right among all {pilot.n_classes:,} classes, so accuracy there is near "
            "zero and larger numbers of classes can only be worse.",
            AssumptionWarning,
            stacklevel=4,
        )
