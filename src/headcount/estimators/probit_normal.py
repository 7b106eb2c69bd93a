"""Probit-normal: favorability is normal on the probit scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from headcount.curves.favorability import Favorability
from headcount.errors import HeadcountError, ParameterError
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.shared.likelihood import LossLikelihood, loss_likelihood
from headcount.pilot.pilot import Pilot
from headcount.simulate.theory import probit_normal_law

Floats = NDArray[np.float64]

BOUNDS = [(-100.0, 100.0), (-4.0, 4.0)]  # of mu and log tau: far beyond what data can show


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

    Its reversed ROC is the binormal one, :math:`\Phi(a + b \Phi^{-1}(u))` with a = mu / tau and
    b = 1 / tau, so that this is the binormal model of ROC analysis for classes.

    Parameters
    ----------
    prior_classes : float
        Weight of the prior: the precision of log tau. The default was picked on pilots of Omniglot,
        definitions, LFW and Hangul; 1 to 10 do about as well there.

    Attributes
    ----------
    mu_, tau_ : float
        Fitted parameters.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.3, for the limit tau = 1; Slavutsky and Benjamini
    (2021), §1, for methods of ROC analysis applied to the reversed ROC.

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> fit = headcount.estimators.ProbitNormal().fit(pilot)
    >>> fit.predict([100, 1000]).round(2).tolist()
    [0.79, 0.51]
    """

    alias = "probit-normal"
    takes_censored = True
    about = "U is normal on the probit scale; maximum likelihood of the losses"
    cost = "under a second"
    advice = "a plain model in two numbers; what auto corrects, and falls back on"

    def __init__(self, *, prior_classes: float = 3.0) -> None:
        self.prior_classes = prior_classes

    def _estimate(self, pilot: Pilot) -> Favorability:
        if not self.prior_classes > 0:
            raise ParameterError(f"prior_classes must be above 0, but is {self.prior_classes}.")
        warn_if_one_sided(pilot)
        likelihood = loss_likelihood(pilot)
        objective = _Objective(likelihood, self.prior_classes, pilot)
        self.mu_, self.tau_ = objective.minimise()
        return probit_normal_law(self.mu_, self.tau_)


class _Objective:
    """Mean negative log-likelihood per effective class, with its gradient in (mu, log tau).

    Every node weighs as much as the normal law has in its cell, and the two tails the rest, so that
    the weights sum to one wherever the law lies.
    """

    def __init__(self, likelihood: LossLikelihood, prior_classes: float, pilot: Pilot) -> None:
        self.data = likelihood
        self.prior = prior_classes / likelihood.n_effective
        self.half_probe = 0.5 / pilot.n_probes
        step = likelihood.nodes[1] - likelihood.nodes[0]
        self.edges = np.append(likelihood.nodes, likelihood.nodes[-1] + step) - step / 2
        log_right = (pilot.n_classes - 1) * log_ndtr(likelihood.nodes)
        self.right_and_wrong = np.vstack([np.exp(log_right), -np.expm1(log_right)])

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        mu, log_tau = point
        cells, lower, upper = self._masses(mu, np.exp(log_tau))
        rows = self.data.matrix @ cells
        rows += np.outer(self.data.above, upper) + np.outer(self.data.below, lower)
        chance = np.maximum(rows[:, 0], 1e-300)
        value = -(self.data.weights @ np.log(chance)) + 0.5 * self.prior * log_tau**2
        slope = -(self.data.weights / chance) @ rows[:, 1:]
        slope[1] += self.prior * log_tau
        # Half a probe that is right among all classes, and half a probe that is not.
        halves = self.right_and_wrong @ cells + np.vstack([upper, lower])
        chance = np.maximum(halves[:, 0], 1e-300)
        value -= self.half_probe * np.log(chance).sum()
        slope -= self.half_probe * (halves[:, 1:] / chance[:, None]).sum(axis=0)
        return value, slope

    def _masses(self, mu: float, tau: float) -> tuple[Floats, Floats, Floats]:
        """Mass of each cell, of the lower and of the upper tail; derivatives in mu and log tau."""
        z = (self.edges - mu) / tau
        bell = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        # Take differences on the side where both terms are small.
        mass = np.where(z[:-1] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        cells = np.column_stack([mass, -np.diff(bell) / tau, -np.diff(z * bell)])
        lower = np.array([ndtr(z[0]), -bell[0] / tau, -z[0] * bell[0]])
        upper = np.array([ndtr(-z[-1]), bell[-1] / tau, z[-1] * bell[-1]])
        return cells, lower, upper

    def minimise(self) -> tuple[float, float]:
        """Minimise from several starts and return mu and tau."""
        centre = self._start()
        best = None
        for log_tau in (0.0, -1.0, 1.0):
            start = np.array([centre * np.exp(max(log_tau, 0.0)), log_tau])
            optimum = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=BOUNDS,
                options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
            )
            if best is None or optimum.fun < best.fun - 1e-12:
                best = optimum
        assert best is not None
        inside = [low < x < high for x, (low, high) in zip(best.x, BOUNDS, strict=True)]
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
