import math

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import binom, norm

from headcount import Pilot
from headcount.estimators import ProbitNormal
from headcount.questions.learning_curve import (
    PilotFit,
    TrainingLaw,
    TrainingSizes,
    fit_learning_curve,
)
from headcount.simulate.theory import probit_normal_law


def drawn(mu, tau, n_classes=300, n_probes=2000, seed=0):
    rng = np.random.default_rng(seed)
    u = norm.cdf(mu + tau * rng.normal(size=n_probes))
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - u), n_classes)


# -- the law over training sizes -------------------------------------------------------------------


def test_law_is_the_stated_formula():
    law = TrainingLaw(2.0, 3.0, 1.5, 0.6, -0.3, 0.2)
    for size in (2.0, 5.0, 80.0):
        short = (size / 2) ** -0.6
        mu, tau = 3 - 1.5 * short, math.exp(-0.3 + 0.2 * short)
        for k in (2, 50, 3000):
            expected, _ = integrate.quad(
                lambda z, k=k, mu=mu, tau=tau: norm.pdf(z) * norm.cdf(mu + tau * z) ** (k - 1),
                -9,
                9,
                limit=300,
            )
            assert float(law.accuracy(k, size)) == pytest.approx(expected, abs=1e-8)


def test_law_broadcasts_and_has_a_limit():
    law = TrainingLaw(1.0, 3.0, 1.5, 0.6, -0.3, 0.0)
    surface = law.accuracy([[10], [1000]], [1, 4, 16])
    assert surface.shape == (2, 3)
    for i, k in enumerate((10, 1000)):
        for j, size in enumerate((1, 4, 16)):
            assert surface[i, j] == law.accuracy(k, size)
    assert (np.diff(surface, axis=1) > 0).all() and (surface[1] < surface[0]).all()
    limit = probit_normal_law(3.0, math.exp(-0.3)).accuracy([10, 1000])
    np.testing.assert_allclose(law.accuracy([10, 1000], math.inf), limit, rtol=1e-12)
    np.testing.assert_allclose(law.accuracy([10, 1000], 1e12), limit, rtol=1e-5)


# -- fitting the learning curve --------------------------------------------------------------------


def fit_at(size, estimate, information, rivals=None):
    """What 100 classes of one training size say; among rivals of others, share by size."""
    own = TrainingSizes((size,), (1.0,))
    among = own if rivals is None else TrainingSizes(tuple(rivals), tuple(rivals.values()))
    return PilotFit(own, among, 100, np.asarray(estimate), information)


def objective(point, fits):
    """The penalised misfit, written out."""
    limit, gain, log_rate, spread, slope, uneven = point
    unit, rate = min(fit.own.values[0] for fit in fits), math.exp(log_rate)
    value = 0.5 * (((log_rate - math.log(0.7)) / 0.5) ** 2 + (slope / 0.3) ** 2)
    for fit in fits:
        short = (fit.own.values[0] / unit) ** -rate
        among = sum(
            share * (size / unit) ** -rate
            for size, share in zip(fit.rivals.values, fit.rivals.shares, strict=True)
        )
        mean = limit - gain * short - uneven * (short - among)
        gap = np.array([mean, spread + slope * short]) - fit.estimate
        value += 0.5 * gap @ fit.information @ gap
    return value + 0.5 * (uneven / 0.5) ** 2


@pytest.mark.parametrize("sizes", [(1, 2, 4, 8), (10, 30, 45), (3, 5)])
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("uneven", [False, True])
def test_fit_minimises_the_penalised_misfit(sizes, falling, uneven):
    rng = np.random.default_rng(len(sizes))
    fits = []
    for i, size in enumerate(sizes):
        root = rng.normal(size=(2, 2))
        mean = 2 + 0.3 * (-i if falling else i)
        estimate = np.array([mean, -0.2]) + 0.05 * rng.normal(size=2)
        rivals = {size: 0.5, 2.0 * size: 0.5} if i and uneven else None
        fits.append(fit_at(size, estimate, 60 * root @ root.T + 20 * np.eye(2), rivals))
    law = fit_learning_curve(fits)
    assert (law.gain == 0) == falling
    assert (law.uneven_gain != 0) == uneven
    found = [
        law.limit, law.gain, math.log(law.rate), law.log_spread, law.log_spread_gain,
        law.uneven_gain,
    ]  # fmt: skip
    bounds = [(None, None), (0, None), (math.log(0.1), math.log(3)), *[(None, None)] * 3]
    best = min(
        (
            minimize(objective, [2.5, 1.0, start, -0.2, 0.0, 0.1], args=(fits,), bounds=bounds)
            for start in (-1.5, -0.4, 0.6)
        ),
        key=lambda result: result.fun,
    )
    assert objective(found, fits) <= best.fun + 1e-9
    # The objective is flat along its valley, so parameters agree less closely than its value.
    np.testing.assert_allclose(found, best.x, atol=5e-3)


def test_fit_recovers_a_curve_that_is_known_well():
    truth = TrainingLaw(2, 3.4, 0.9, 1.3, -0.4, 0.25)
    fits = []
    for size in (2, 4, 10, 30):
        short = (size / 2) ** -1.3
        estimate = np.array([3.4 - 0.9 * short, -0.4 + 0.25 * short])
        fits.append(fit_at(size, estimate, 1e7 * np.eye(2)))
    law = fit_learning_curve(fits)
    for name in ("limit", "gain", "rate", "log_spread", "log_spread_gain"):
        assert getattr(law, name) == pytest.approx(getattr(truth, name), abs=1e-4)


def test_priors_decide_where_two_sizes_cannot():
    fits = [fit_at(size, [3 - 2 * size**-0.7, -0.1], 1000 * np.eye(2)) for size in (1, 4)]
    law = fit_learning_curve(fits)
    assert law.rate == pytest.approx(0.7, abs=1e-6)
    assert (law.limit, law.gain) == pytest.approx((3.0, 2.0), abs=1e-4)
    assert law.log_spread_gain == pytest.approx(0, abs=1e-9)


def test_information_is_that_of_the_losses():
    """Products of slopes of log P(loss), by integration that knows nothing of the grid."""
    pilot = drawn(1.5, 0.7, n_classes=30, n_probes=40, seed=3)
    fit = PilotFit.of(pilot, TrainingSizes.equal(1))
    method = ProbitNormal().fit(pilot)
    assert fit.estimate == pytest.approx([method.mu_, math.log(method.tau_)], abs=1e-12)
    y = np.linspace(-9, 9, 20_001)

    def log_chance(loss, mu, log_tau):
        inner = binom.pmf(loss, 29, norm.sf(y)) if loss >= 0 else 1 - norm.cdf(y) ** 29
        return math.log(trapezoid(inner * norm.pdf(y, mu, math.exp(log_tau)), y))

    expected = np.diag([0.0, 3.0])  # the prior on log tau
    rows = [(loss, 1.0) for loss in pilot.losses] + [(0, 0.5), (-1, 0.5)]
    for loss, weight in rows:  # -1 stands for any loss at all
        slope = [
            (log_chance(loss, *(fit.estimate + step)) - log_chance(loss, *(fit.estimate - step)))
            / 2e-5
            for step in 1e-5 * np.eye(2)
        ]
        expected += weight * np.outer(slope, slope)
    np.testing.assert_allclose(fit.information, expected, rtol=2e-3)
