"""Score tail: one model of how wrong classes score, pooled over probes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, owens_t

from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators.base import Extrapolator
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]

_BIN = 5e-4  # of asinh(z): a histogram fine near zero and wide enough for any score
_REACH = 12.0  # asinh(81,000)
_ROUND_OFF = 1e-9  # a spread so much smaller than the scores is none
_MOST_SKEWED = 0.99  # of the 0.995 a skew-normal law can have
_SHAPES = (-5.0, 0.95)  # of the tail: beyond, probability-weighted moments do not exist


class ScoreTail(Extrapolator):
    r"""Scores of wrong classes: a skew-normal body and a generalised-Pareto upper tail.

    The scores of the wrong classes are standardised probe by probe, z = (score - mean) / spread,
    and pooled with the pilot's weights. Above u, the 1 - `tail` quantile of z, the model is

    .. math:: P(z > u + y) = \text{tail} \cdot (1 + \xi y / \sigma)^{-1/\xi},

    fitted by probability-weighted moments; below, a skew-normal law with the mean, spread and
    skewness of z, scaled to the mass left. A probe's p is the chance that one score of the model
    exceeds its own true score, standardised likewise, and the law of favorability is the weighted
    mixture over probes.

    All wrong classes' scores are used, through a fine histogram: no random subsample. What the
    model rests on is that all probes share one shape of scores, and that the fitted tail holds
    where nothing was seen. With a negative shape the tail ends, and probes beyond its end are
    taken to be never beaten. An extreme score widens the spread it is divided by, so that with
    few classes the tail comes out light and the forecast high: by 0.06 at ten times K for
    exponential scores among 500 classes, by less than 0.01 among 4,000.

    Parameters
    ----------
    tail : float
        Share of scores that is modelled as the tail, in (0, 0.5].

    Attributes
    ----------
    model_ : TailModel
        The fitted law of standardised scores of wrong classes.

    References
    ----------
    Azzalini (1985) for the skew-normal law; Pickands (1975) for the tail; Hosking and Wallis
    (1987) for its fit.

    Examples
    --------
    >>> import numpy as np, headcount
    >>> from headcount.estimators.score_tail import ScoreTail
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200)
    >>> scores = rng.normal(size=(200, 200)) + 3 * np.eye(200)
    >>> fit = ScoreTail().fit(headcount.Pilot.from_scores(scores, labels))
    >>> fit.predict([200, 2000]).round(1).tolist()
    [0.6, 0.4]
    """

    alias = "score-tail"
    needs = "scores"
    about = "skew-normal body and generalised-Pareto tail of wrong classes' scores, pooled"
    cost = "one pass over the scores"
    advice = "when scores of wrong classes look alike for all probes; a comparison"

    def __init__(self, *, tail: float = 0.05) -> None:
        self.tail = tail

    def _estimate(self, pilot: Pilot) -> Favorability:
        if not 0 < self.tail <= 0.5:
            raise ParameterError(f"tail must lie above 0 and up to 0.5, but is {self.tail}.")
        true, pool = _pooled(pilot)
        self.model_ = pool.fit(self.tail)
        return Favorability(self.model_.exceeded(true), pilot.weights)


@dataclass(frozen=True)
class TailModel:
    """Law of the standardised scores of wrong classes.

    Attributes
    ----------
    place, scale, slant : float
        Parameters of the skew-normal body.
    threshold, tail : float
        u and the share of scores above it.
    shape, tail_scale : float
        xi and sigma of the tail.
    """

    place: float
    scale: float
    slant: float
    threshold: float
    tail: float
    shape: float
    tail_scale: float

    def exceeded(self, z: Floats) -> Floats:
        """Chance that a score of the model lies above z."""
        under = np.minimum(z, self.threshold)
        share = self._body(under) / self._body(np.array(self.threshold))
        body = self.tail + (1 - self.tail) * (1 - np.minimum(share, 1.0))
        over = np.maximum(z - self.threshold, 0.0) / self.tail_scale
        if abs(self.shape) < 1e-8:
            beyond = np.exp(-over)
        else:
            with np.errstate(divide="ignore"):  # log 0 at the end of the tail: nothing beyond
                beyond = np.exp(-np.log1p(np.maximum(self.shape * over, -1.0)) / self.shape)
        return np.asarray(np.where(z > self.threshold, self.tail * beyond, body))

    def _body(self, z: Floats) -> Floats:
        x = (z - self.place) / self.scale
        return np.asarray(np.maximum(ndtr(x) - 2 * owens_t(x, self.slant), 1e-300))


class _Pool:
    """Weighted sums of powers of z, and a histogram on a grid of asinh(z).

    Each score is shared between its two neighbours on the grid, so that nothing jumps when a
    score moves by round-off, and the order of scores does not matter.
    """

    def __init__(self) -> None:
        self.grid = np.arange(-round(_REACH / _BIN), round(_REACH / _BIN) + 1) * _BIN
        self.mass = np.zeros(len(self.grid))
        self.powers = np.zeros(4)

    def add(self, z: Floats, weights: Floats) -> None:
        """Add a block of scores, one row a probe, with a weight for each score of the row."""
        for power in range(4):
            self.powers[power] += weights @ (z**power).sum(axis=1)
        steps = np.clip((np.arcsinh(z) + _REACH) / _BIN, 0.0, len(self.grid) - 1.001)
        under = steps.astype(np.intp)
        upper = steps - under
        share = np.broadcast_to(weights[:, None], z.shape)
        for place, mass in ((under, share * (1 - upper)), (under + 1, share * upper)):
            self.mass += np.bincount(place.ravel(), mass.ravel(), len(self.mass))

    def fit(self, tail: float) -> TailModel:
        """Return the model with the moments of the pool."""
        threshold, shape, tail_scale = self._tail(tail)
        return TailModel(*self._body(), threshold, tail, shape, tail_scale)

    def _body(self) -> tuple[float, float, float]:
        """Skew-normal law with the mean, variance and skewness of the pool."""
        mean, second, third = self.powers[1:] / self.powers[0]
        variance = second - mean**2
        skewness = (third - 3 * mean * second + 2 * mean**3) / variance**1.5
        skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
        power = np.abs(skewness) ** (2 / 3)
        delta = np.sign(skewness) * np.sqrt(
            np.pi / 2 * power / (power + ((4 - np.pi) / 2) ** (2 / 3))
        )
        scale = np.sqrt(variance / (1 - 2 * delta**2 / np.pi))
        place = mean - scale * delta * np.sqrt(2 / np.pi)
        return float(place), float(scale), float(delta / np.sqrt(1 - delta**2))

    def _tail(self, tail: float) -> tuple[float, float, float]:
        """Threshold, shape and scale from probability-weighted moments of the excess.

        With S the survival function of the excess, E[Y] is the integral of S and E[Y S(Y)] half
        that of S squared; S is taken as linear between nodes.
        """
        mass = self.mass / self.mass.sum()
        # Summed from the top, so that nothing is left beyond the last score.
        above = np.cumsum(mass[::-1])[::-1] - mass / 2
        z = np.sinh(self.grid)
        first = int(np.flatnonzero(above <= tail)[0])
        drop = above[first - 1] - above[first]
        share = (above[first - 1] - tail) / drop
        threshold = float(z[first - 1] + share * (z[first] - z[first - 1]))
        width = np.diff(np.append(threshold, z[first:]))
        survival = np.append(tail, above[first:]) / tail
        left, right = survival[:-1], survival[1:]
        mean = width @ (left + right) / 2
        second = width @ (left**2 + left * right + right**2) / 6
        # For a generalised-Pareto law E[Y] = sigma / (1 - xi), E[Y S(Y)] = sigma / (2 (2 - xi)).
        shape = float(np.clip(2 - mean / (mean - 2 * second), *_SHAPES))
        return threshold, shape, float(mean * (1 - shape))


def _pooled(pilot: Pilot) -> tuple[Floats, _Pool]:
    """Standardised true score of each probe, and the pool of all wrong classes' scores."""
    assert pilot.labels is not None  # a pilot with scores has labels
    n_rivals = pilot.n_classes - 1
    pool = _Pool()
    true, mean, spread = np.empty((3, pilot.n_probes))
    for rows, scores in pilot.score_blocks():
        row, true_class = np.arange(len(scores)), pilot.labels[rows]
        wrong = np.ones(scores.shape, np.bool_)
        wrong[row, true_class] = False
        impostors = scores[wrong].reshape(len(scores), n_rivals)
        true[rows], mean[rows] = scores[row, true_class], impostors.mean(axis=1)
        centred = impostors - mean[rows][:, None]
        size = np.sqrt((centred**2).sum(axis=1) / max(n_rivals - 1, 1))
        size[(n_rivals == 1) | (size < _ROUND_OFF * np.abs(impostors).max(axis=1))] = 0.0
        spread[rows], useful = size, size > 0
        weights = pilot.weights[rows][useful] / n_rivals
        pool.add(centred[useful] / size[useful, None], weights)
    if not spread.any():
        raise UnsupportedError(
            "method score-tail needs wrong classes that score differently, at least two for a "
            "probe; choose a method that needs only losses."
        )
    # A probe whose wrong classes all score the same is measured by the others' spread.
    typical = np.sqrt(pilot.weights @ spread**2 / (pilot.weights @ (spread > 0)))
    return (true - mean) / np.where(spread > 0, spread, typical), pool
