"""What practice does without a theory: baselines for every other method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize, root
from scipy.special import betainc, betaln, expit, gammaln, psi
from sklearn.utils.validation import check_is_fitted

from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.errors import HeadcountError
from headcount.estimators.base import Extrapolator, warn_if_one_sided
from headcount.estimators.shared.curve_fit import observed_rows
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]

BOUNDS = [(-5.0, 11.0), (-45.0, 45.0)]  # of log a and log(b / a): far beyond what data can show
_PULL = 0.1  # probes whose weight pulls log a to zero
_SMALL_TAIL = -40.0  # log of a mass nobody misses
_LEAST_LOGIT, _MOST_LOGIT = -690.0, 36.7  # where p, and 1 - p, leave the range of floats


class NoChange(Extrapolator):
    """Accuracy stays what it is at K, however many classes there are.

    As a law: a share of the probes equal to the accuracy at K is never beaten, the rest always is,
    so that every k from two on has the accuracy of the pilot.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.baselines import NoChange
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> NoChange().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.8, 0.8]
    """

    alias = "no-change"
    about = "accuracy stays what it is at K"
    cost = "nothing"
    advice = "the baseline every forecast must beat"

    def _estimate(self, pilot: Pilot) -> Favorability:
        warn_if_one_sided(pilot)
        right = float(observe(pilot).accuracy(pilot.n_classes))
        return Favorability([0.0, 1.0], [right, 1 - right])


class LogLinear(Extrapolator):
    r"""Accuracy as a straight line in log k.

    .. math:: \text{accuracy}(k) = a + b \log k

    fitted to the observed curve by least squares, every k weighted by 1 / k: all ratios of numbers
    of classes between 2 and K count the same. Cut off at 0 and 1, and one at k = 1; with K = 2 the
    line goes through that point. The line is no mixture: it reaches zero.

    Attributes
    ----------
    intercept_, slope_ : float
        a and b.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.baselines import LogLinear
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> LogLinear().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.83, 0.72]
    """

    alias = "log-linear"
    about = "accuracy a straight line in log k, fitted to the observed curve"
    cost = "under a second"
    advice = "a line drawn on the usual plot; a comparison, not a mixture"

    def _estimate(self, pilot: Pilot) -> None:
        warn_if_one_sided(pilot)
        logs, accuracy, weights = _log_spaced(pilot)
        if len(logs) == 1:
            logs, accuracy = np.append(logs, 0.0), np.append(accuracy, 1.0)
            weights = np.ones(2) / 2
        middle, height = weights @ logs, weights @ accuracy
        slope = weights @ ((logs - middle) * (accuracy - height)) / (weights @ (logs - middle) ** 2)
        self.slope_ = float(slope)
        self.intercept_ = float(height - slope * middle)

    def predict(self, k: Any) -> Floats:
        """Return the accuracy on the line, cut off at 0 and 1."""
        check_is_fitted(self, "slope_")
        counts = validation.class_counts(k)
        line = np.clip(self.intercept_ + self.slope_ * np.log(counts), 0.0, 1.0)
        return np.asarray(np.where(counts == 1, 1.0, line))


class ExponentialInLog(Extrapolator):
    r"""Accuracy as a stretched exponential in log k.

    .. math:: \text{accuracy}(k) = \exp(-b (\log k)^c)

    fitted to the observed curve by least squares, every k weighted by 1 / k. It is one at k = 1 and
    tends to zero; with K = 2 there is one point, and c is one. It is no mixture.

    Kay et al. are reported to have fitted "an exponential model to the curve", from over 0.75 among
    1,750 images down to 0.10 at 10^9.5. No formula is given; this is our reading. A plain
    exponential in log k (c = 1, a power of k) from the first of these points would reach 0.10 only
    at 10^26; a plain exponential in k would reach it before 15,000. With c free, the two points ask
    for c = 1.94.

    Attributes
    ----------
    scale_, exponent_ : float
        b and c.

    References
    ----------
    Kay, Naselaris, Prenger and Gallant (2008), *Identifying natural images from human brain
    activity*, as told by the earlier draft of Zheng, Achanta and Benjamini, §1, and by *How many
    faces can be recognized?* (2016), §1.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.baselines import ExponentialInLog
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> ExponentialInLog().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.8, 0.56]
    """

    alias = "exponential-in-log"
    about = "accuracy a stretched exponential in log k, fitted to the observed curve"
    cost = "under a second"
    advice = "a curve drawn on the usual plot; a comparison, not a mixture"

    def _estimate(self, pilot: Pilot) -> None:
        warn_if_one_sided(pilot)
        self.scale_, self.exponent_ = stretched_exponential(*_log_spaced(pilot))

    def predict(self, k: Any) -> Floats:
        """Return the accuracy on the curve."""
        check_is_fitted(self, "scale_")
        counts = validation.class_counts(k)
        return np.asarray(np.exp(-self.scale_ * np.log(counts) ** self.exponent_))


class PooledFalseMatch(Extrapolator):
    r"""One false-match rate for all probes.

    .. math:: \text{accuracy}(k) = (1 - \text{FMR})^{k-1}

    with FMR the mean share of wrong classes that beat the true one. It is right between two
    classes, and too low beyond wherever probes differ: by Jensen's inequality
    E[U^(k-1)] >= E[U]^(k-1).

    Attributes
    ----------
    false_match_rate_ : float
        FMR.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.baselines import PooledFalseMatch
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> PooledFalseMatch().fit(pilot).predict([100, 1000]).round(3).tolist()
    [0.606, 0.006]
    """

    alias = "pooled-fmr"
    about = "one pooled false-match rate, accuracy (1 - FMR)^(k-1)"
    cost = "nothing"
    advice = "the usual rule of thumb for 1:N search; far too low, a comparison"

    def _estimate(self, pilot: Pilot) -> Favorability:
        warn_if_one_sided(pilot)
        table = pilot.table()
        rate = float(table.weights @ table.losses) / table.n_rivals
        self.false_match_rate_ = min(rate, 1.0)
        return Favorability([self.false_match_rate_], [1.0])


class BetaBinomial(Extrapolator):
    r"""Losses are beta-binomial: p = 1 - U has a Beta(a, b) law, by maximum likelihood.

    .. math:: P(l) = \binom{n}{l} \frac{B(a + l, b + n - l)}{B(a, b)}, \quad n = K - 1, \qquad
              \text{accuracy}(k) = \frac{B(a, b + k - 1)}{B(a, b)}

    Each class counts once, however many probes it has. Half a probe that is right and half a probe
    that is not keep the fit finite where every probe is right or none is. Such pilots, or ones
    whose probes are all alike, do not determine a; a tenth of a probe's weight therefore pulls
    log a to zero (a density of p that neither vanishes nor explodes at p = 0).

    Attributes
    ----------
    a_, b_ : float
        Fitted parameters; accuracy falls like k^-a in the end.

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.baselines import BetaBinomial
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> BetaBinomial().fit(pilot).predict([100, 1000]).round(2).tolist()
    [0.79, 0.57]
    """

    alias = "beta-binomial"
    about = "p has a beta law; maximum likelihood of the losses"
    cost = "under a second"
    advice = "the textbook model of overdispersed counts; a comparison for probit-normal"

    def _estimate(self, pilot: Pilot) -> Favorability:
        warn_if_one_sided(pilot)
        self.a_, self.b_ = _BetaObjective(pilot).minimise()
        return beta_law(self.a_, self.b_)


class _BetaObjective:
    """Mean negative log-likelihood of a probe, with its gradient in log a and log(b / a)."""

    def __init__(self, pilot: Pilot) -> None:
        table = pilot.table()
        self.n = float(table.n_rivals)
        self.losses = np.append(table.losses.astype(np.float64), 0.0)  # the last: the half probes
        self.weights = table.weights
        self.half_probe = 0.5 / pilot.n_probes
        self.pull = _PULL / pilot.n_probes

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        a = float(np.exp(point[0]))
        b = float(np.exp(point[0] + point[1]))
        logs, by_a, by_b = self._likelihood(a, b)
        right = min(logs[-1], -1e-300)
        wrong = np.log(-np.expm1(right))
        # Half a probe that is right among all classes, and half a probe that is not.
        weights = np.append(self.weights, self.half_probe * (1 - np.exp(right - wrong)))
        value = -(self.weights @ logs[:-1]) - self.half_probe * (right + wrong)
        slope_a, slope_b = -a * (weights @ by_a), -b * (weights @ by_b)
        slope = np.array([slope_a + slope_b + self.pull * point[0], slope_b])
        return value + 0.5 * self.pull * point[0] ** 2, slope

    def _likelihood(self, a: float, b: float) -> tuple[Floats, Floats, Floats]:
        """Log of B(a + l, b + n - l) / B(a, b) for each l, and its derivatives in a and b.

        Written with rises of log-gamma by a and by a + l, which stay small where b and n are huge.
        """
        lost, won = self.losses, b + (self.n - self.losses)
        logs = log_gamma_rise(a, lost) - log_gamma_rise(won, a + lost) + log_gamma_rise(b, a)
        by_a = digamma_rise(a, lost) - digamma_rise(a + b, self.n)
        by_b = digamma_rise(b, a) - digamma_rise(won, a + lost)
        return logs, by_a, by_b

    def minimise(self) -> tuple[float, float]:
        """Minimise from several starts and return a and b."""
        share = self.weights @ self.losses[:-1] / self.n
        share = float(np.clip(share, self.half_probe / self.n, 1 - self.half_probe))
        best = None
        for log_a in (0.0, -2.0, 2.0):
            optimum = minimize(
                self,
                np.array([log_a, np.log1p(-share) - np.log(share)]),
                jac=True,
                method="L-BFGS-B",
                bounds=BOUNDS,
                options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
            )
            if best is None or optimum.fun < best.fun - 1e-12:
                best = optimum
        assert best is not None
        low, high = np.transpose(BOUNDS)
        free = (best.x > low) & (best.x < high)
        point = self._polished(best.x, free)
        if not (np.abs(self(point)[1][free]) < 1e-5).all():
            raise HeadcountError(
                "the beta-binomial fit did not converge; please report the pilot's losses."
            )
        return float(np.exp(point[0])), float(np.exp(point.sum()))

    def _polished(self, point: Floats, free: NDArray[np.bool_]) -> Floats:
        """Find where the gradient is zero: it keeps its digits where values no longer differ."""
        whole = point.copy()

        def slope(x: Floats) -> Floats:
            whole[free] = x
            return self(whole)[1][free]

        start = point[free]
        zero = root(slope, start, tol=1e-13).x if free.any() else start
        near = np.abs(zero - start).max(initial=0.0) < 1
        better = near and np.abs(slope(zero)).max() < np.abs(slope(start)).max()
        whole[free] = np.clip(zero, *np.transpose(BOUNDS)[:, free]) if better else start
        return whole


def log_gamma_rise(x: Any, m: Any) -> Floats:
    """Return log Gamma(x + m) - log Gamma(x), to full precision for large x."""
    big = np.maximum(x, 20.0)
    series = [((big + m) ** -j - big**-j) / c for j, c in ((1, 12), (3, -360), (5, 1260))]
    stirling = m * np.log(big) + (big + m - 0.5) * np.log1p(m / big) - m + sum(series)
    return np.asarray(np.where(np.less(x, 20), gammaln(x + m) - gammaln(x), stirling))


def digamma_rise(x: Any, m: Any) -> Floats:
    """Return psi(x + m) - psi(x), to full precision for large x."""
    big = np.maximum(x, 20.0)
    series = [((big + m) ** -j - big**-j) / c for j, c in ((2, 12), (4, -120), (6, 252))]
    rise = np.log1p(m / big) + m / (2 * big * (big + m)) - sum(series)
    return np.asarray(np.where(np.less(x, 20), psi(x + m) - psi(x), rise))


def beta_law(a: float, b: float) -> Favorability:
    """Favorability with p = 1 - U of law Beta(a, b), on nodes close enough for every k.

    The trapezoidal rule in the logit t of p, where density and (1 - p)^(k-1) are analytic around
    the real line, so that it converges geometrically. For small a much of the law lies below any
    p we can write down: what is left at either end is an atom there.
    """
    step = min(0.25, 0.5 * np.sqrt(1 / a + 1 / b))
    scale = betaln(a, b)
    low = max((_SMALL_TAIL + np.log(a) + scale) / a, _LEAST_LOGIT)
    high = min(-(_SMALL_TAIL + np.log(b) + scale) / b, _MOST_LOGIT)
    t = np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)
    step = t[1] - t[0]
    density = np.exp(-a * np.logaddexp(0.0, -t) - b * np.logaddexp(0.0, t) - scale)
    mass = step * density
    mass[[0, -1]] /= 2
    # The rule's error is that of its ends: step^2 / 12 times the slope there.
    above = float(betainc(b, a, expit(-high))) + step**2 / 12 * b * density[-1]
    below = max(1 - above - float(mass.sum()), 0.0)
    return Favorability(
        np.concatenate([expit(t[:1]), expit(t), [1.0]]), np.concatenate([[below], mass, [above]])
    )


def _log_spaced(pilot: Pilot) -> tuple[Floats, Floats, Floats]:
    """Log k, observed accuracy and weights that stand for a mean over log k."""
    counts, accuracy, weights = observed_rows(pilot)
    weights = weights / counts
    return np.log(counts), accuracy, weights / weights.sum()


def stretched_exponential(logs: Floats, accuracy: Floats, weights: Floats) -> tuple[float, float]:
    """Fit accuracy = exp(-b log(k)^c) by least squares; return b and c.

    The fit is in the log of -log accuracy at the last k, and in log c: both free of scale.
    """
    if (accuracy == 1).all():
        return 0.0, 1.0
    place = np.log(logs / logs[-1])
    root = np.sqrt(weights)

    def curve(point: Floats) -> tuple[Floats, Floats]:
        depth = np.exp(point[0] + np.exp(point[1]) * place)
        return np.exp(-depth), depth

    def residual(point: Floats) -> Floats:
        return root * (curve(point)[0] - accuracy)

    def slope(point: Floats) -> Floats:
        value, depth = curve(point)
        fall = -root * value * depth
        return np.column_stack([fall, fall * np.exp(point[1]) * place])

    last = float(np.log(-np.log(np.clip(accuracy[-1], 1e-30, 1 - 1e-15))))
    if len(logs) == 1:
        return float(np.exp(last) / logs[0]), 1.0
    best = None
    for exponent in (1.0, 2.0, 4.0):
        fit = least_squares(
            residual,
            np.array([last, np.log(exponent)]),
            jac=slope,
            bounds=([-40.0, -4.0], [7.0, 4.0]),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=1000,
        )
        if best is None or fit.cost < best.cost - 1e-15:
            best = fit
    assert best is not None
    exponent = float(np.exp(best.x[1]))
    return float(np.exp(best.x[0]) / logs[-1] ** exponent), exponent
