"""Recognition problems whose law of favorability is known, for tests and experiments."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import ndtr, ndtri
from scipy.stats import chi2, ncx2

from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError
from headcount.support import validation

Floats = NDArray[np.float64]

REPRESENTATIONS = ("nearest", "mean")

_TAIL = 8.5
_NODE_GAP = 0.01
_LEAST_P = 1e-300  # under it p would be zero, and the law seem to have an atom there
_LOST = 1e-16  # mass that may be left out at each end of a quadrature
_RANGE = (1e-15, 1e-40)  # smallest U, and smallest p, that are told apart
_CELLS = 2_000_000
_N_LENGTHS = 64
_FINENESS = 16  # spline knots in one standard deviation of a distance


def probit_normal_law(mu: float, tau: float) -> Favorability:
    """Favorability with U = Phi(mu + tau Z), Z standard normal, on nodes close enough for every k.

    Parameters
    ----------
    mu, tau : float
        Mean and spread of U on the probit scale.

    Examples
    --------
    >>> float(probit_normal_law(2.0, 1.0).accuracy(2).round(6))  # Phi(mu / sqrt(1 + tau^2))
    0.92135
    """
    half = int(np.ceil(_TAIL * max(tau, 0.5) / _NODE_GAP))
    z = np.linspace(-_TAIL, _TAIL, 2 * half + 1)
    return Favorability(np.maximum(ndtr(-(mu + tau * z)), _LEAST_P), np.exp(-0.5 * z**2))


def uniform_law() -> Favorability:
    """Favorability of a guess: U is uniform and accuracy(k) = 1 / k.

    It is also the favorability of any wrong label (Zheng, Achanta and Benjamini, Lemma 4).

    Examples
    --------
    >>> uniform_law().accuracy([2, 10, 1000]).round(9).tolist()
    [0.5, 0.1, 0.001]
    """
    return probit_normal_law(0.0, 1.0)  # Phi of a standard normal variable is uniform


@dataclass(frozen=True)
class _Profile:
    """The law of U on a uniform grid of y, where U = Phi(y): density and D at each y."""

    y: Floats
    density: Floats
    below: Floats

    def law(self) -> Favorability:
        """Return the trapezoid rule over y; the mass beyond either end sits at that end."""
        weights = _NODE_GAP * self.density
        lost, won = self.below[0], max(1 - self.below[0] - weights.sum(), 0.0)
        p = np.concatenate([[1.0], ndtr(-self.y), [_RANGE[1]]])
        return Favorability(p, np.concatenate([[lost], weights, [won]]))

    def cdf(self, u: Any) -> Floats:
        """D(u), interpolated between the grid's values."""
        level = np.asarray(u, dtype=np.float64)
        y = np.clip(ndtri(np.clip(level, 0.0, 1.0)), self.y[0], self.y[-1])
        reached = np.clip(CubicSpline(self.y, self.below)(y), 0.0, 1.0)
        reached = np.where(level < ndtr(self.y[0]), 0.0, reached)
        return np.asarray(np.where(level >= 1, 1.0, reached))


class KnownLaw(ABC):
    """A recognition problem whose law of U is computed rather than estimated."""

    @abstractmethod
    def _profile(self) -> _Profile:
        """Return the law of U on a grid; cached for each set of parameters."""

    def law(self) -> Favorability:
        """Return the law of U, good for accuracy(k) to 1e-6 and better at any k up to 1e30."""
        return self._profile().law()

    def accuracy(self, k: Any) -> Floats:
        """Return the expected accuracy among k classes, E[U^(k-1)]."""
        return self.law().accuracy(k)

    def discriminability(self, u: Any) -> Floats:
        """D(u) = P(U <= u)."""
        return self._profile().cdf(u)


@dataclass(frozen=True)
class IsotropicGaussian(KnownLaw):
    r"""Round Gaussian classes of one size, recognised by the nearest neighbour.

    Class centres are :math:`c \sim N(0, I_d)` and points :math:`x \sim N(c, \sigma^2 I_d)`. A
    class is represented by its training points, and a probe goes to the nearest class. Given the
    length of the probe both distances that compete, to its own class and to a rival, follow from
    noncentral chi-square laws; with centres known, for example,

    .. math:: 1 - U = P(|c' - x| < s), \quad |c' - x|^2 \sim \chi^2_d(|x|^2),

    where s is the distance to the own centre. The rest is quadrature over both.

    Parameters
    ----------
    n_dims : int
        Dimension d.
    sigma : float
        Standard deviation of points around their centre, in each dimension.
    n_train : int or None
        Training points a class; None when the centre itself is known. Paper 000 §6 has 1 (with
        d = 10), paper 001 §5.1 has None.
    represent : {"nearest", "mean"}
        With several training points: the nearest one counts, or their mean does.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*, §6;
    Slavutsky and Benjamini (2021), §5.1.

    Examples
    --------
    >>> IsotropicGaussian(10, 0.3).accuracy([100, 2000]).round(3).tolist()
    [0.981, 0.838]
    """

    n_dims: int
    sigma: float
    n_train: int | None = 1
    represent: str = "nearest"

    def __post_init__(self) -> None:
        validation.whole_number(self.n_dims, "n_dims", 1)
        validation.choice(self.represent, "represent", REPRESENTATIONS)
        if self.n_train is not None:
            validation.whole_number(self.n_train, "n_train", 1)
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ParameterError(f"sigma must be above 0, but is {self.sigma!r}.")

    def _profile(self) -> _Profile:
        if self.n_train is None or self.n_train == 1 or self.represent == "mean":
            noise = 0.0 if self.n_train is None else self.sigma**2 / self.n_train
            return one_point(int(self.n_dims), float(self.sigma), noise)
        return nearest_of_many(int(self.n_dims), float(self.sigma), int(self.n_train))


@dataclass(frozen=True)
class BivariateNormal(KnownLaw):
    r"""The toy of paper 000: label and point are two normal variables with correlation rho.

    Labels are :math:`Y \sim N(0, 1)`, points :math:`X \mid Y = y \sim N(\rho y, 1 - \rho^2)`, and
    the Bayes rule picks the label whose :math:`\rho y` is nearest to x. In units of rho it is the
    isotropic Gaussian case in one dimension with known centres and
    :math:`\sigma^2 = (1 - \rho^2) / \rho^2`.

    Parameters
    ----------
    rho : float
        Correlation, between -1 and 1 and not zero (then all labels would tie).

    Notes
    -----
    What the paper prints as U (§3.2) is 1 - U, and its accuracy of a label set (§2.3) lacks a
    factor rho; both are mended here.

    References
    ----------
    Zheng, Achanta and Benjamini, as above, §2.3 and §3.2.

    Examples
    --------
    >>> toy = BivariateNormal(0.7)
    >>> toy.accuracy([2, 3, 10]).round(4).tolist()
    [0.6929, 0.5353, 0.2173]
    >>> float(toy.favorability(0.7, 1.0))  # the point lies on the label's own mean
    1.0
    """

    rho: float

    def __post_init__(self) -> None:
        if not 0 < abs(self.rho) < 1:
            raise ParameterError(f"rho must be between -1 and 1 and not 0, but is {self.rho!r}.")

    def _profile(self) -> _Profile:
        return one_point(1, math.sqrt(1 - self.rho**2) / abs(self.rho), 0.0)

    def favorability(self, x: Any, y: Any) -> Floats:
        r"""U of a point x with true label y.

        .. math:: 1 - U = P(|\rho Y' - x| < |\rho y - x|)
                  = \Phi\Big(\frac{x + r}{\rho}\Big) - \Phi\Big(\frac{x - r}{\rho}\Big),
                  \quad r = |\rho y - x| .
        """
        point = np.asarray(x, dtype=np.float64)
        radius = np.abs(self.rho * np.asarray(y, dtype=np.float64) - point)
        scale = abs(self.rho)
        return np.asarray(ndtr((point - radius) / scale) + ndtr(-(point + radius) / scale))

    def label_set_accuracy(self, labels: Any) -> Floats:
        r"""Return the accuracy of the Bayes rule for given labels; their sets are the last axis.

        Between sorted neighbours the decision changes halfway, so that

        .. math:: \frac{1}{k} \sum_i \Phi\Big(\rho\frac{y_{i+1} - y_i}{2\sqrt{1-\rho^2}}\Big)
                  - \Phi\Big(\rho\frac{y_{i-1} - y_i}{2\sqrt{1-\rho^2}}\Big),
                  \quad y_0 = -\infty,\ y_{k+1} = \infty .
        """
        sets = np.asarray(labels, dtype=np.float64)
        if sets.ndim == 0 or sets.shape[-1] == 0 or not np.isfinite(sets).all():
            raise ParameterError("labels must be lists of one or more finite numbers.")
        half = np.diff(np.sort(sets, axis=-1), axis=-1) * (
            abs(self.rho) / (2 * math.sqrt(1 - self.rho**2))
        )
        # Every gap is the right border of one label and the left border of the next.
        return np.asarray(((2 * ndtr(half) - 1).sum(axis=-1) + 1) / sets.shape[-1])

    def sample_label_sets(self, k: int, n: int, random_state: Any = 0) -> Floats:
        """Return the accuracy of n random sets of k labels; their mean tends to accuracy(k)."""
        k, n = validation.whole_number(k, "k", 1), validation.whole_number(n, "n", 1)
        rng = np.random.default_rng(random_state)
        size = max(1, _CELLS // k)
        drawn = [min(size, n - first) for first in range(0, n, size)]
        return np.concatenate([self.label_set_accuracy(rng.normal(size=(m, k))) for m in drawn])


# Quadrature. Rows are lengths of the probe, at Gauss-Legendre nodes; columns are distances s to
# the representative of the true class, close enough together for splines.


@dataclass(frozen=True)
class _Distance:
    """Law of the length of N(offset, scale^2 I_d), where only the length of the offset matters."""

    n_dims: int
    offset: Floats
    scale: float

    def _standard(self, length: Floats) -> tuple[Floats, int, Floats]:
        return (length / self.scale) ** 2, self.n_dims, (self.offset / self.scale) ** 2

    def nearer(self, length: Floats) -> Floats:
        return np.asarray(ncx2.cdf(*self._standard(length)))

    def farther(self, length: Floats) -> Floats:
        chance = 1 - self.nearer(length)
        # Only where it has digits to gain: far out on the other side the routine overflows.
        small = chance < 0.5
        square, n_dims, shift = self._standard(length)
        square, shift = np.broadcast_arrays(square, shift)
        chance[small] = ncx2.sf(square[small], n_dims, shift[small])
        return chance

    def density(self, length: Floats) -> Floats:
        """Density of the length."""
        square, n_dims, shift = self._standard(length)
        return np.asarray(2 * length / self.scale**2 * ncx2.pdf(square, n_dims, shift))


def _reach(n_dims: int) -> tuple[float, float]:
    """Lengths of N(0, I_d) between which all but a negligible mass lies."""
    return math.sqrt(float(chi2.ppf(_LOST, n_dims))), math.sqrt(float(chi2.isf(_LOST, n_dims)))


def _distances(n_dims: int, scale: float, smallest: float, largest: float) -> Floats:
    """Distances for splines: even steps in the logarithm near zero, even steps far out."""
    # Exponential bounds on the tails of noncentral chi-square, for all offsets between the two.
    near, far, tail = (smallest / scale) ** 2, (largest / scale) ** 2, -math.log(_LOST)
    square = n_dims + near - 2 * math.sqrt((n_dims + 2 * near) * tail)
    lower = max(_reach(n_dims)[0], math.sqrt(max(square, 0.0)))
    upper = math.sqrt(n_dims + far + 2 * math.sqrt((n_dims + 2 * far) * tail) + 2 * tail)
    unit = math.sqrt(n_dims)
    start, stop = (x + math.log(-math.expm1(-x)) for x in (lower / unit, upper / unit))
    n_points = math.ceil((stop - start) * math.sqrt(2 * n_dims) * _FINENESS)
    return scale * unit * np.logaddexp(0.0, np.linspace(start, stop, n_points + 1))


def _between(lower: float, upper: float, n_points: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights."""
    nodes, weights = np.polynomial.legendre.leggauss(n_points)
    half = (upper - lower) / 2
    return lower + half * (nodes + 1), half * weights


def _probe_lengths(n_dims: int, sigma: float) -> tuple[Floats, Floats]:
    """Quadrature for |x|, whose square is (1 + sigma^2) times chi-square."""
    lengths, weights = _between(*_reach(n_dims), _N_LENGTHS)
    weights = weights * 2 * lengths * chi2.pdf(lengths**2, n_dims)
    return math.sqrt(1 + sigma**2) * lengths, weights / weights.sum()


def _true_centre(lengths: Floats, n_dims: int, sigma: float, noise: float) -> _Distance:
    """Given x, the own centre is N(x / (1 + sigma^2), sigma^2 / (1 + sigma^2) I)."""
    share = sigma**2 / (1 + sigma**2)
    return _Distance(n_dims, share * lengths[:, None], math.sqrt(share + noise))


@lru_cache(maxsize=64)
def one_point(n_dims: int, sigma: float, noise: float) -> _Profile:
    """Each class stands as one point, its centre plus `noise` (a variance)."""
    lengths, weights = _probe_lengths(n_dims, sigma)
    true = _true_centre(lengths, n_dims, sigma, noise)
    rival = _Distance(n_dims, lengths[:, None], math.sqrt(1 + noise))
    s = _distances(n_dims, true.scale, float(true.offset.min()), float(true.offset.max()))
    return _assemble(
        weights,
        beaten=rival.nearer(s),
        unbeaten=rival.farther(s),
        rival_density=rival.density(s),
        farther=true.farther(s),
        density=true.density(s),
    )


@lru_cache(maxsize=64)
def nearest_of_many(n_dims: int, sigma: float, n_train: int) -> _Profile:
    """Each class stands as n_train points, the nearest of which counts."""
    # Given the distance t to its centre, a class has the same law of the nearest point whether it
    # is the own one or a rival: they differ in the law of t.
    lengths, weights = _probe_lengths(n_dims, sigma)
    true = _true_centre(lengths, n_dims, sigma, 0.0)
    rival = _Distance(n_dims, lengths[:, None], 1.0)
    reach, farthest = _reach(n_dims)[1], float(true.offset.max())
    s = _distances(n_dims, sigma, 0.0, farthest + true.scale * reach)
    # Centres farther than this have no point among those distances: they never beat the true one.
    upper = min(s[-1] + sigma * reach, float(lengths.max()) + reach)
    n_points = 4 * math.ceil(upper / min(sigma, true.scale))  # no law in t is narrower than that
    t, steps = _between(0.0, upper, max(n_points, 2 * _N_LENGTHS))
    mix_true, mix_rival = true.density(t) * steps, rival.density(t) * steps
    beyond = np.maximum(1 - mix_rival.sum(axis=1, keepdims=True), 0.0)
    point = _Distance(n_dims, t[:, None], sigma)
    nearer, farther = point.nearer(s), point.farther(s)
    beaten = -np.expm1(n_train * np.log1p(-np.minimum(nearer, 1 - 1e-16)))
    unbeaten = farther**n_train
    density = n_train * farther ** (n_train - 1) * point.density(s)
    return _assemble(
        weights,
        beaten=mix_rival @ beaten,
        unbeaten=mix_rival @ unbeaten + beyond,
        rival_density=mix_rival @ density,
        farther=mix_true @ unbeaten,
        density=mix_true @ density,
    )


def _assemble(
    weights: Floats,
    *,
    beaten: Floats,
    unbeaten: Floats,
    rival_density: Floats,
    farther: Floats,
    density: Floats,
) -> _Profile:
    """Bring every row to a common grid of y = probit(U) and average the rows."""
    # U falls with s, so P(U <= U(s)) is `farther`, the chance of S > s for the true class; the
    # density of y is that of s times |ds / dy|.
    y = np.where(unbeaten < 0.5, ndtri(unbeaten), -ndtri(beaten))
    usable = (unbeaten > _RANGE[0]) & (beaten > _RANGE[1]) & (rival_density > 0)
    bell = np.exp(-0.5 * y**2) / math.sqrt(2 * math.pi)
    with np.errstate(all="ignore"):
        slope = density * bell / rival_density
    needed = usable & (farther > 0) & (farther < 1)
    top = -float(ndtri(_RANGE[1]))
    low, high = (y[needed].min(), y[needed].max()) if needed.any() else (top, top)
    grid = np.arange(math.floor(low / _NODE_GAP), math.ceil(high / _NODE_GAP) + 1) * _NODE_GAP
    total, below = np.zeros(len(grid)), np.zeros(len(grid))
    for i, weight in enumerate(weights):
        places = np.flatnonzero(usable[i])[::-1]  # y falls as s grows
        places = places[np.diff(y[i, places], prepend=-np.inf) > 0]
        if len(places) < 4:  # p is too small to be told from zero wherever the true class may lie
            continue
        first, last = y[i, places[0]], y[i, places[-1]]
        inside = (grid >= first) & (grid <= last)
        both = CubicSpline(y[i, places], np.column_stack([slope[i, places], farther[i, places]]))(
            grid[inside]
        )
        total[inside] += weight * np.maximum(both[:, 0], 0.0)
        below[inside] += weight * both[:, 1]
        below[grid < first] += weight * farther[i, places[0]]
        below[grid > last] += weight * farther[i, places[-1]]
    return _Profile(grid, total, np.clip(np.maximum.accumulate(below), 0.0, 1.0))
