"""The reversed ROC: how well each probe's true class stands out from the wrong ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount.errors import ParameterError
from headcount.support.validation import running_sums

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]


def reversed_roc(pilot: Pilot) -> ROCCurve:
    r"""Return the reversed ROC of a pilot, probe by probe and on average.

    An ordinary ROC takes a class and asks how well it tells its own probes from the others. The
    reversed one takes a probe x and asks how well it tells its true class from the wrong ones. Let
    in the best share u of the wrong classes. Is the true class let in, too? Yes, once u exceeds
    the share of wrong classes that score above it,

    .. math:: \text{rROC}_x(u) = 1\{u > \text{losses}_x / (K - 1)\}.

    This is a single step. The mean of the steps, with the pilot's weights, is the average curve. It
    needs only losses and ties, so it works for pilots with and without scores.

    The inequality is strict, as in the paper: at u = 0 every curve is 0, and a probe beaten by
    every wrong class is at 0 even at u = 1. An average with such probes therefore ends below 1.

    The paper assumes that there are no ties. With T of them its two definitions differ: the step is
    at (losses + T) / (K - 1) by Eq. 8, the tie rule "lose", and at losses / (K - 1) by Eq. 14, the
    rule "win". Under "random" it becomes a ramp from the one to the other: the true class takes any
    place among its equals with the same chance, so in a large population the share above it is
    uniform in between. The area under the average is the two-class accuracy of
    `observe(pilot).accuracy(2)` under every rule.

    For a censored probe, `losses` is only a lower bound. Its curve lies between a step there and no
    step at all. As in `observe`, the value reported is the middle. `ROCCurve.bounds` and
    `ROCCurve.auc_bounds` give the range, and `ROCCurve.limits` the two curves.

    Parameters
    ----------
    pilot : Pilot
        Any pilot.

    Returns
    -------
    ROCCurve
        One step or ramp for each probe, in the order of the pilot's probes.

    References
    ----------
    Slavutsky and Benjamini (2021), *Predicting classification accuracy when adding new unobserved
    classes*, Definition 1, Eq. 5-9; Proposition 1.

    Examples
    --------
    Among five classes the first probe is beaten by none, the second by one, the third ties with
    all:

    >>> import headcount
    >>> from headcount.curves.reversed_roc import reversed_roc
    >>> pilot = headcount.Pilot.from_losses([0, 1, 0], n_classes=5, ties=[0, 0, 4])
    >>> curve = reversed_roc(pilot)
    >>> curve.probe(1, [0.25, 0.26]).tolist()
    [0.0, 1.0]
    >>> curve.probe(2, [0.0, 0.25, 1.0]).tolist()
    [0.0, 0.25, 1.0]
    >>> curve.average([0.0, 0.25, 0.5, 1.0]).round(3).tolist()
    [0.0, 0.417, 0.833, 1.0]
    >>> round(curve.auc, 3), round(float(headcount.observe(pilot).accuracy(2)), 3)
    (0.75, 0.75)
    """
    n_rivals = pilot.n_classes - 1
    losses, ties = pilot.settled
    return ROCCurve(losses / n_rivals, (losses + ties) / n_rivals, pilot.weights, pilot.censored)


@dataclass(frozen=True, eq=False, repr=False)
class ROCCurve:
    """A weighted mean of steps and ramps from 0 to 1, held exactly and not on a grid.

    One type for all curves of the kind: the reversed ROC of a pilot (`reversed_roc`, a step for
    each probe) and of a law of favorability (`Favorability.reversed_roc`, a step for each node),
    and the ordinary ROC averaged over classes (`class_averaged_roc`, a step for each probe).

    Attributes
    ----------
    low, high : ndarray of float64
        Where each rise begins and ends, in [0, 1]. Where they are equal it is a step: still 0
        there, and 1 right after.
    weights : ndarray of float64
        Weight of each in the mean; they sum to one.
    censored : ndarray of bool, optional
        Whether a step is only known not to come before `low`; none by default.

    Examples
    --------
    >>> import numpy as np
    >>> curve = ROCCurve(np.array([0.1, 0.5]), np.array([0.1, 0.5]), np.array([0.75, 0.25]))
    >>> curve
    ROCCurve(2 steps, area 0.800)
    >>> curve.average([0.1, 0.2, 1.0]).tolist()
    [0.0, 0.75, 1.0]
    """

    low: Floats
    high: Floats
    weights: Floats
    censored: NDArray[np.bool_] | None = None

    def average(self, u: Any) -> Floats:
        """Average curve at any u in [0, 1]; the middle of `bounds` where probes are censored."""
        return self._line.at(_rates(u))

    def probe(self, i: Any, u: Any) -> Floats:
        """Curve of probe i at any u in [0, 1]; both may be arrays and follow numpy's broadcasting.

        A censored probe is half way up beyond its lowest possible place, since it may have risen
        by then or not.
        """
        rates, low, high = _rates(u), self.low[i], self.high[i]
        width = np.where(high > low, high - low, 1.0)
        risen = np.where(rates >= high, 1.0, (rates - low) / width)
        return np.asarray(np.where(rates > low, risen, 0.0) * self._height[i])

    @cached_property
    def auc(self) -> float:
        """Area under the average curve; for a reversed ROC, accuracy between two classes."""
        beyond = 1 - (self.low + self.high) / 2
        # A sum in full precision does not depend on the order of the probes.
        return min(math.fsum(self.weights * self._height * beyond), 1.0)

    @cached_property
    def limits(self) -> tuple[ROCCurve, ROCCurve]:
        """Lowest and highest curve there can be; the curve itself unless probes are censored."""
        if self.censored is None or not self.censored.any():
            return self, self
        low, high = np.where(self.censored, 1.0, (self.low, self.high))  # 0 on all of [0, 1]
        return ROCCurve(low, high, self.weights), ROCCurve(self.low, self.high, self.weights)

    def bounds(self, u: Any) -> tuple[Floats, Floats]:
        """Lower and upper bound of the average curve; equal unless probes are censored."""
        lowest, highest = self.limits
        return lowest.average(u), highest.average(u)

    @property
    def auc_bounds(self) -> tuple[float, float]:
        """Lower and upper bound of `auc`; equal unless probes are censored."""
        lowest, highest = self.limits
        return lowest.auc, highest.auc

    def corners(self) -> tuple[Floats, Floats]:
        """Return the average curve as a line to draw: rates from 0 to 1, and the share at each.

        Straight lines between the points are the curve itself. A jump has two points at one rate.
        """
        knots, after, _ = self._line
        inside = knots < 1
        both = np.column_stack([self._line.at(knots), after])[inside]
        rate = np.concatenate([[0.0], np.repeat(knots[inside], 2), [1.0]])
        share = np.concatenate([[0.0], both.ravel(), self._line.at(np.ones(1))])
        new = np.append(True, (np.diff(rate) > 0) | (np.diff(share) > 0))
        return rate[new], share[new]

    def __repr__(self) -> str:
        return f"ROCCurve({len(self.low):,} steps, area {self.auc:.3f})"

    @cached_property
    def _height(self) -> Floats:
        """How high each rises: half way where it may or may not rise at all."""
        return np.ones(len(self.low)) if self.censored is None else np.where(self.censored, 0.5, 1)

    @cached_property
    def _line(self) -> _Segments:
        return _segments(self.low, self.high, self.weights * self._height)


class _Segments(NamedTuple):
    """A curve that is straight between knots and may jump right after each; 0 up to the first."""

    knots: Floats
    after: Floats
    slope: Floats

    def at(self, rates: Floats) -> Floats:
        place = np.searchsorted(self.knots, rates, side="left") - 1
        start = np.maximum(place, 0)
        value = self.after[start] + self.slope[start] * (rates - self.knots[start])
        return np.asarray(np.where(place < 0, 0.0, np.clip(value, 0.0, 1.0)))


def _segments(low: Floats, high: Floats, weights: Floats) -> _Segments:
    """Add up steps and ramps in one sweep from 0 to 1."""
    ramp = high > low
    bend = weights[ramp] / (high - low)[ramp]
    none, flat = np.zeros(2 * len(bend)), np.zeros(len(low) - len(bend))
    place = np.concatenate([low[~ramp], low[ramp], high[ramp]])
    jump = np.concatenate([weights[~ramp], none])
    turn = np.concatenate([flat, bend, -bend])
    order = np.lexsort((turn, jump, place))  # sums in one order, whatever the order of the probes
    place = place[order]
    last = np.append(place[1:] > place[:-1], True)
    knots = place[last]
    slope = running_sums(turn[order])[last]
    risen = np.append(0.0, running_sums(slope[:-1] * np.diff(knots)))
    return _Segments(knots, running_sums(jump[order])[last] + risen, slope)


def _rates(u: Any) -> Floats:
    try:
        rates = np.asarray(u, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("a rate u must be a number, or an array of numbers.") from error
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ParameterError("a rate u must lie between 0 and 1.")
    return rates
