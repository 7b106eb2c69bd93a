r"""Plausible curves of methods that know of none: from refits, and what was learned of errors.

The log odds of the forecast are moved by errors with one common factor along the curve: of each of
128 evenly spread points z, that is a curve. Errors have two sources.

**Sampling.** Other classes and other probes would have given another pilot. The error J measured at
the pilot's own size K (a jackknife over classes) grows as the spread of the forecasts from random
halves of the classes grows from K to k.

**Extrapolating.** Past the pilot the shape of the curve is assumed, and errors of shape grow with
k / K. The back-test shows how far off the method is on these data, :math:`b(\rho)`, when it
forecasts K from :math:`K / \rho` classes; a share of that is expected again at :math:`\rho K`. The
rest was learned on simulated problems of all kinds, where the truth is known (`python -m
experiments calibration`), for accuracy, and is used for other metrics, too. With l the log odds,
:math:`x = \log(k / K)`, and v the variance over the halves,

.. math::

   l(k) - l_z(k) = \lambda\, b(\rho) + z\, s(k),
   \qquad s(k)^2 = J^2 \Big(\frac{v(k)}{v(K)}\Big)^{\beta} + (c\, x^{\gamma})^2 + (c' b(\rho))^2 .

The quantiles of z are those of the simulated problems. In log odds, forecasts above one half are
twice as often far too low as far too high. They hardly are in :math:`y = \log(-\log(1 - A))`, so
that steps to either side are alike there:

.. math:: y = \log \log(1 + e^l), \qquad \frac{dy}{dl} = \frac{A}{-\log(1 - A)} .

Where accuracy is low, both scales are log A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from scipy.special import logit as log_odds

if TYPE_CHECKING:
    from headcount.uncertainty.backtest import Backtest

Floats = NDArray[np.float64]

N_POINTS = 128
FARTHEST_PLACE = 5.0  # standard deviations; levels further out are as there
NOISE, RIDGE = 0.05, 30.0  # of the back-test's steps, on the scale of log odds
TINY = 1e-12  # a spread below this is round-off
LOW = -30.0  # log odds below which the two scales differ by less than round-off
HIGH = 20.0  # further up, nothing can be told from one


@dataclass(frozen=True)
class ErrorModel:
    """What was learned about errors on simulated problems.

    Attributes
    ----------
    growth : float
        Power of the growth of the spread over the halves, beta.
    blind_growth : float
        What stands in for the logarithm of that growth, per unit of log(k / K), without halves.
    scale, power : float
        c and gamma.
    doubt, share : float
        c' and lambda: what the back-test's bias adds to the spread and to the middle.
    levels, quantiles : tuple of float
        Quantiles of the absolute value of z.
    """

    growth: float
    blind_growth: float
    scale: float
    power: float
    doubt: float
    share: float
    levels: tuple[float, ...]
    quantiles: tuple[float, ...]

    def multiplier(self, confidence: Any) -> Floats:
        """Return how many standard deviations hold so large a share of the errors.

        Between two levels quantiles follow those of a normal law. Past the last level, as many as
        there: so rare errors were not seen often enough.
        """
        return np.interp(_place(confidence), _place(self.levels), self.quantiles)

    @property
    def points(self) -> Floats:
        """Evenly spread points z, as many to either side."""
        sides = (2 * np.arange(N_POINTS) + 1) / N_POINTS - 1
        return np.asarray(np.sign(sides) * self.multiplier(np.abs(sides)))


def _place(level: Any) -> Floats:
    """Return how many standard deviations of a normal law hold a share of it."""
    return np.minimum(ndtri((1 + np.asarray(level, dtype=np.float64)) / 2), FARTHEST_PLACE)


# As `python -m experiments calibration --method probit-normal` gives it on 385 random problems,
# rounded.
MODEL = ErrorModel(
    growth=0.9,
    blind_growth=0.09,
    scale=0.054,
    power=1.27,
    doubt=0.45,
    share=0.45,
    levels=(0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999),
    quantiles=(0.0, 0.625, 1.44, 1.9, 2.43, 4.05, 6.3),
)


@dataclass(frozen=True)
class RefitErrors:
    """What refits and the back-test say of a method's errors along a grid, before any model.

    Attributes
    ----------
    reach : ndarray
        log(k / K) at each point of the grid; zero up to K.
    measured : float
        Standard error of the log odds measured at K, J.
    growth : ndarray or None
        Logarithm of how much the variance over the halves has grown since K; None without halves.
    bias : ndarray
        Mean error of the back-test at the same k / K.
    """

    reach: Floats
    measured: float
    growth: Floats | None
    bias: Floats

    def growth_factor(self, model: ErrorModel = MODEL) -> Floats:
        """Return how much larger than at K the error of sampling is."""
        growth = model.blind_growth * self.reach if self.growth is None else self.growth
        return np.asarray(np.exp(model.growth / 2 * growth))

    def spread(self, model: ErrorModel = MODEL) -> Floats:
        """Return the standard deviation of the whole error, s(k)."""
        sampling = self.measured * self.growth_factor(model)
        shape = np.hypot(model.scale * self.reach**model.power, model.doubt * self.bias)
        return np.hypot(sampling, shape)

    def curves(self, estimate: Floats, model: ErrorModel = MODEL) -> Floats:
        """Return log odds of plausible curves around an estimate (curves, points of the grid)."""
        middle = log_odds(estimate) - model.share * self.bias
        return stepped(middle, np.multiply.outer(model.points, self.spread(model)))


def refit_errors(
    backtest: Backtest, measured: float, n_probes: int, grid: NDArray[np.int64]
) -> RefitErrors:
    """Return what a back-test says along a part of its grid.

    Parameters
    ----------
    backtest : Backtest
        Of the method; without steps where there are too few classes.
    measured : float
        Standard error of the log odds measured at K.
    n_probes : int
        Of the pilot. Half of one stands in for none.
    grid : ndarray of int
        Numbers of classes.
    """
    reach, half = np.log(np.maximum(grid / backtest.n_classes, 1.0)), 0.5 / n_probes
    bias = _slope_of_bias(backtest, half) * reach
    return RefitErrors(reach, measured, _growth(backtest, half, grid), bias)


def cloglog(odds: Any) -> Floats:
    """Return log(-log(1 - A)) where log odds are l.

    Examples
    --------
    >>> cloglog([-40.0, 0.0]).round(4).tolist()
    [-40.0, -0.3665]
    """
    known = np.asarray(odds, dtype=np.float64)
    return np.where(known < LOW, known, np.log(np.logaddexp(0.0, np.maximum(known, LOW))))


def stepped(odds: Any, steps: Any) -> Floats:
    """Return log odds moved by steps that are alike to either side in log(-log(1 - A)).

    Small steps are steps of the log odds themselves.

    Examples
    --------
    >>> stepped(0.0, [-1e-6, 1.0]).round(6).tolist()
    [-1e-06, 1.151138]
    """
    odds = np.asarray(odds, dtype=np.float64)
    return _inverse_cloglog(cloglog(odds) + np.asarray(steps, dtype=np.float64) * slope(odds))


def steps_between(odds: Any, reached: Any) -> Floats:
    """Return the steps that lead from log odds to others: the inverse of `stepped`.

    Examples
    --------
    >>> steps_between(0.5, stepped(0.5, [-1.0, 2.0])).round(9).tolist()
    [-1.0, 2.0]
    """
    return np.asarray((cloglog(reached) - cloglog(odds)) / slope(odds))


def slope(odds: Any) -> Floats:
    """Return dy / dl where log odds are l.

    Examples
    --------
    >>> slope([-40.0, 0.0]).round(4).tolist()
    [1.0, 0.7213]
    """
    odds = np.maximum(np.asarray(odds, dtype=np.float64), LOW)
    return np.asarray(expit(odds) / np.logaddexp(0.0, odds))


def _inverse_cloglog(y: Floats) -> Floats:
    capped = np.minimum(y, HIGH)
    chances = np.exp(np.maximum(capped, LOW))
    return np.where(capped < LOW, capped, chances + np.log(-np.expm1(-chances)))


def _slope_of_bias(backtest: Backtest, half: float) -> float:
    """Return how much the back-test's log odds are too high per unit of log(k / K).

    Steps from fewer classes are noisier and count less; a ridge keeps the slope small where all
    of them are.
    """
    total, squares = 0.0, RIDGE
    truth = float(log_odds(np.clip(backtest.observed, half, 1 - half)))
    for step in backtest.steps:
        forecasts = log_odds(np.clip(step.forecasts, half, 1 - half))
        weight, ratio = 1 / (float(np.var(forecasts)) + NOISE**2), float(np.log(step.ratio))
        total += weight * ratio * (float(np.mean(forecasts)) - truth)
        squares += weight * ratio**2
    return total / squares


def _growth(backtest: Backtest, half: float, grid: NDArray[np.int64]) -> Floats | None:
    """Return the logarithm of how much the variance over the halves has grown since K."""
    if len(backtest.halves) < 2:
        return None
    spread = log_odds(np.clip(backtest.halves, half, 1 - half)).var(axis=0, ddof=1)
    at_pilot = float(np.interp(0.0, np.log(backtest.grid / backtest.n_classes), spread))
    if at_pilot <= TINY:  # all right or all wrong, but for round-off
        return None
    grown = np.log(np.maximum(spread, TINY) / at_pilot)
    grown = np.interp(np.log(grid), np.log(backtest.grid), grown)  # past the refits as at their end
    return np.where(grid > backtest.n_classes, grown, 0.0)
