import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, gammaln, psi

from headcount import AssumptionWarning, Pilot, UnsupportedError, observe
from headcount.estimators import baselines
from headcount.estimators.baselines import (
    BetaBinomial,
    ExponentialInLog,
    LogLinear,
    NoChange,
    PooledFalseMatch,
    beta_law,
    digamma_rise,
    log_gamma_rise,
    stretched_exponential,
)

CURVES = [NoChange, LogLinear, ExponentialInLog, PooledFalseMatch, BetaBinomial]


def some_pilot(n_classes=40, n_probes=200, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 8, n_probes)
    labels = rng.integers(0, n_classes // 2, n_probes)
    return Pilot.from_losses(rng.binomial(n_classes - 1, p), n_classes, labels=labels)


def test_no_change_is_the_accuracy_of_the_pilot_at_every_k():
    pilot = some_pilot()
    right = float(pilot.weights[pilot.losses == 0].sum())
    fit = NoChange().fit(pilot)
    np.testing.assert_allclose(fit.predict([1, 2, 40, 10**9]), [1, right, right, right])
    assert fit.favorability_.asymptote == pytest.approx(right)


def test_log_linear_is_the_weighted_line():
    pilot = some_pilot()
    k = np.arange(2, 41)
    slope, intercept = np.polyfit(np.log(k), observe(pilot).accuracy(k), 1, w=np.sqrt(1 / k))
    fit = LogLinear().fit(pilot)
    assert fit.slope_ == pytest.approx(slope, abs=1e-12)
    assert fit.intercept_ == pytest.approx(intercept, abs=1e-12)
    assert float(fit.predict(400)) == pytest.approx(intercept + slope * np.log(400), abs=1e-12)
    assert fit.predict([1, 10**300]).tolist() == [1, 0]
    assert fit.favorability_ is None


def test_log_linear_recovers_a_line():
    """A law whose accuracy is a line in log k over the pilot: p log-uniform on [e^-14, e^-1].

    There accuracy(k) = 1 - (log k + Euler's gamma - 1) / 13, but for terms in k e^-14 and 1 / k;
    0.01 allows for those and for a standard error of 0.003.
    """
    rng = np.random.default_rng(1)
    p = np.exp(-rng.uniform(1, 14, 20_000))
    fit = LogLinear().fit(Pilot.from_losses(rng.binomial(1999, p), 2000))
    assert fit.slope_ == pytest.approx(-1 / 13, abs=0.003)
    assert float(fit.predict(20_000)) == pytest.approx(1 - (np.log(2e4) - 0.423) / 13, abs=0.02)


def test_log_linear_between_two_classes_starts_at_one():
    fit = LogLinear().fit(Pilot.from_losses([0, 0, 0, 1], 2))
    np.testing.assert_allclose(fit.predict([1, 2, 4]), [1, 0.75, 0.5], atol=1e-12)


@pytest.mark.parametrize("scale, exponent", [(0.02, 1.0), (0.005, 1.9), (0.3, 2.5), (0.9, 0.5)])
def test_exponential_in_log_recovers_its_curve(scale, exponent):
    logs = np.log(np.arange(2, 300))
    found = stretched_exponential(logs, np.exp(-scale * logs**exponent), np.ones(298) / 298)
    assert found == pytest.approx((scale, exponent), rel=1e-6)


def test_exponential_in_log_can_draw_the_line_of_kay():
    """0.75 at 1,750 and 0.10 at 10^9.5 ask for c = 1.94: neither a power of k nor exponential."""
    logs = np.array([np.log(1750), 9.5 * np.log(10)])
    _, exponent = stretched_exponential(logs, np.array([0.75, 0.10]), np.array([0.5, 0.5]))
    assert exponent == pytest.approx(1.94, abs=0.01)
    power = -np.log(0.75) / np.log(1750)
    assert np.log10(0.1) / -power == pytest.approx(26, abs=0.1)


def test_exponential_in_log_is_least_squares():
    pilot = some_pilot()
    fit = ExponentialInLog().fit(pilot)
    k = np.arange(2, 41)
    curve = observe(pilot).accuracy(k)

    def loss(point):
        return (1 / k) @ (np.exp(-np.exp(point[0]) * np.log(k) ** point[1]) - curve) ** 2

    best = minimize(
        loss,
        [np.log(fit.scale_) + 0.2, fit.exponent_ * 1.2],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-16, "maxiter": 2000},
    )
    assert (np.exp(best.x[0]), best.x[1]) == pytest.approx((fit.scale_, fit.exponent_), rel=1e-5)
    assert float(fit.predict(1)) == 1


def test_exponential_in_log_between_two_classes():
    fit = ExponentialInLog().fit(Pilot.from_losses([0, 0, 0, 1], 2))
    np.testing.assert_allclose(fit.predict([1, 2, 4]), [1, 0.75, 0.75**2], atol=1e-12)


def test_pooled_false_match_rate_is_the_share_that_beats():
    pilot = Pilot.from_losses([0, 4, 2], 11, ties=[0, 0, 2], labels=[0, 1, 1])
    fit = PooledFalseMatch().fit(pilot)
    # A tie is lost half of the time; the second class has two probes.
    rate = (0 + (4 + 3) / 2) / 2 / 10
    assert fit.false_match_rate_ == pytest.approx(rate)
    k = np.array([1, 2, 11, 100])
    np.testing.assert_allclose(fit.predict(k), (1 - rate) ** (k - 1), atol=1e-14)
    assert float(fit.predict(2)) == pytest.approx(float(observe(pilot).accuracy(2)))


def test_pooled_false_match_rate_recovers_equal_probes_and_fails_others():
    rng = np.random.default_rng(2)
    alike = Pilot.from_losses(rng.binomial(99, 0.001, 100_000), 100)
    # 10,000 losses are seen: a standard error of 1 % of the rate, 0.0037 here.
    assert float(PooledFalseMatch().fit(alike).predict(1000)) == pytest.approx(
        0.999**999, abs=0.011
    )
    pilot = some_pilot()  # Jensen: never above the truth
    assert float(PooledFalseMatch().fit(pilot).predict(40)) < observe(pilot).accuracy(40) - 0.1


@pytest.mark.parametrize("x", [0.01, 1.5, 19.9, 20.1, 1e3, 1e8])
@pytest.mark.parametrize("m", [1, 2, 50])
def test_rises_of_log_gamma_and_digamma(x, m):
    # Gamma(x + m) / Gamma(x) = x (x + 1) ... (x + m - 1).
    steps = x + np.arange(m)
    assert log_gamma_rise(x, m) == pytest.approx(np.log(steps).sum(), rel=1e-13, abs=1e-13)
    assert digamma_rise(x, m) == pytest.approx((1 / steps).sum(), rel=1e-12)
    if x < 1e4:
        assert log_gamma_rise(x, 0.3) == pytest.approx(gammaln(x + 0.3) - gammaln(x), abs=1e-11)
        assert digamma_rise(x, 0.3) == pytest.approx(psi(x + 0.3) - psi(x), abs=1e-13)


@pytest.mark.parametrize(
    "a, b",
    [(1, 1), (0.3, 30), (0.05, 0.05), (0.01, 1e5), (5, 2), (20, 0.1), (1e4, 1e4), (0.5, 1e9)],
)
def test_beta_law_has_the_moments_of_the_beta(a, b):
    law = beta_law(a, b)
    k = np.array([1, 2, 3, 10, 1000, 10**6, 10**9, 10**12], dtype=float)
    # B(a, b + k - 1) / B(a, b), as rises: differences of betaln have too few digits here.
    expected = np.exp(log_gamma_rise(b, a) - log_gamma_rise(b + k - 1, a))
    np.testing.assert_allclose(law.accuracy(k), expected, atol=1e-9)
    if b < 100:
        small = k[:4]
        np.testing.assert_allclose(expected[:4], np.exp(betaln(a, b + small - 1) - betaln(a, b)))
    assert law.asymptote == 0
    at = stats.beta(a, b).ppf(0.6)
    if 1e-12 < at < 1 - 1e-9:  # D itself, up to one node; 1 - at must differ from 1
        assert float(law.cdf(1 - at)) == pytest.approx(0.4, abs=0.15)


def test_beta_binomial_is_the_maximum_of_the_likelihood():
    pilot = some_pilot()
    fit = BetaBinomial().fit(pilot)
    table = pilot.table()

    def objective(point):
        law = stats.betabinom(39, *np.exp(point))
        right = law.pmf(0)
        value = table.weights @ law.logpmf(table.losses)
        value += 0.5 / pilot.n_probes * (np.log(right) + np.log1p(-right))
        return -value + 0.5 * 0.1 / pilot.n_probes * point[0] ** 2

    best = minimize(
        objective,
        [0.2, 2.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 2000},
    )
    np.testing.assert_allclose(np.exp(best.x), [fit.a_, fit.b_], rtol=1e-5)


def test_gradient_of_the_beta_binomial_likelihood():
    objective = baselines._BetaObjective(some_pilot())
    for point in (np.array([0.3, 2.0]), np.array([-1.0, 5.0]), np.array([2.0, -3.0])):
        _, slope = objective(point)
        for i in range(2):
            step = np.eye(2)[i] * 1e-5
            numeric = (objective(point + step)[0] - objective(point - step)[0]) / 2e-5
            assert slope[i] == pytest.approx(numeric, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("a, b, n_classes", [(0.3, 30, 500), (1.0, 20, 100), (0.5, 1e4, 10**6)])
def test_beta_binomial_recovers_its_model(a, b, n_classes):
    """With 20,000 probes the standard error of a is about a / 100."""
    rng = np.random.default_rng(3)
    losses = rng.binomial(n_classes - 1, rng.beta(a, b, 20_000))
    fit = BetaBinomial().fit(Pilot.from_losses(losses, n_classes))
    assert fit.a_ == pytest.approx(a, rel=0.05)
    assert fit.b_ == pytest.approx(b, rel=0.1)
    k = [n_classes, 10 * n_classes]
    np.testing.assert_allclose(fit.predict(k), beta_law(a, b).accuracy(k), atol=0.01)


def test_beta_binomial_counts_every_class_once():
    rng = np.random.default_rng(4)
    losses = np.maximum(rng.integers(-10, 30, 40), 0)
    owners = np.concatenate([np.arange(40), np.zeros(200, int)])
    plain = BetaBinomial().fit(Pilot.from_losses(losses, 100, labels=np.arange(40)))
    repeated = np.concatenate([losses, np.repeat(losses[:1], 200)])
    heavy = BetaBinomial().fit(Pilot.from_losses(repeated, 100, labels=owners))
    np.testing.assert_allclose(heavy.predict([100, 5000]), plain.predict([100, 5000]), atol=0.01)


@pytest.mark.parametrize("n_classes", [2, 100, 10**6])
@pytest.mark.parametrize("n_probes", [1, 1000])
def test_beta_binomial_is_finite_where_all_are_alike(n_classes, n_probes):
    with pytest.warns(AssumptionWarning, match="probes are right"):
        fit = BetaBinomial().fit(Pilot.from_losses([0] * n_probes, n_classes))
    # Only half a probe is wrong, and nothing else moves a from one.
    half = 0.5 / (n_probes + 1)
    assert float(fit.predict(n_classes)) == pytest.approx(1 - half, rel=1e-6)
    assert fit.a_ == pytest.approx(1, rel=1e-4)
    for loss in (n_classes - 1, n_classes // 2):
        with pytest.warns(AssumptionWarning, match="no probe is right"):
            fit = BetaBinomial().fit(Pilot.from_losses([loss] * n_probes, n_classes))
        values = fit.predict([2, n_classes, 10 * n_classes])
        assert np.isfinite(values).all() and values[1] <= 0.26


def test_probes_all_alike_are_nearly_binomial():
    """No overdispersion: a ends at its bound, and the mean stays that of the losses."""
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        fit = BetaBinomial().fit(Pilot.from_losses([50] * 100_000, 100))
    assert fit.a_ == pytest.approx(np.exp(11))
    assert float(fit.predict(2)) == pytest.approx(49 / 99, abs=1e-4)


@pytest.mark.parametrize("method", CURVES)
def test_one_sided_pilots_are_warned_about(method):
    with pytest.warns(AssumptionWarning, match="all 4 probes are right"):
        right = method().fit(Pilot.from_losses([0] * 4, 30))
    assert float(right.predict(30)) >= 0.89
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        wrong = method().fit(Pilot.from_losses([29] * 4, 30))
    assert float(wrong.predict(30)) <= 0.11
    for fit in (right, wrong):
        assert float(fit.predict(1)) == 1
        assert ((fit.predict([2, 30, 10**9]) >= 0) & (fit.predict([2, 30, 10**9]) <= 1)).all()


@pytest.mark.parametrize("method", CURVES)
def test_smallest_pilots_and_largest(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        for losses, n_classes in (([0], 2), ([1], 2), ([0, 1], 3), ([0, 2], 3)):
            values = method().fit(Pilot.from_losses(losses, n_classes)).predict([1, 2, 3, 10**6])
            assert values[0] == 1 and ((values >= 0) & (values <= 1)).all()
    rng = np.random.default_rng(5)
    many = Pilot.from_losses(rng.binomial(10**6 - 1, rng.beta(0.3, 1e4, 300)), 10**6)
    assert ((values := method().fit(many).predict([10**6, 10**8])) >= 0).all() and values[0] <= 1


@pytest.mark.parametrize("method", CURVES)
def test_censored_probes_are_refused(method):
    with pytest.raises(UnsupportedError, match="censored"):
        method().fit(Pilot.from_losses([3, 1], 5, censored=[True, False]))
