import contextlib

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import norm

from headcount import AssumptionWarning, ParameterError, Pilot, observe
from headcount.estimators import ProbitNormal
from headcount.estimators.shared.likelihood import loss_likelihood
from headcount.simulate.theory import probit_normal_law


def simulated(mu, tau, n_classes, n_probes, seed):
    rng = np.random.default_rng(seed)
    u = norm.cdf(mu + tau * rng.normal(size=n_probes))
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - u), n_classes)


def integral(loss, n, mu, tau):
    """Integrate the binomial likelihood, scaled to a peak of one, against the normal law.

    Plain sums on points far denser than either is narrow, only where the likelihood is.
    """
    share = loss / n
    top = loss * np.log(share) + (n - loss) * np.log1p(-share) if 0 < loss < n else 0.0
    low, high = -30.0, 30.0
    if 0 < loss < n:
        middle = norm.isf((loss + 0.5) / (n + 1))
        reach = 14 * min(1.0, np.sqrt(share * (1 - share) / n) / norm.pdf(middle))
        low, high = middle - reach, middle + reach
    y = np.linspace(low, high, 40_001)
    log_mass = loss * norm.logsf(y) + (n - loss) * norm.logcdf(y) - top
    return trapezoid(np.exp(log_mass) * norm.pdf(y, mu, tau), y)


@pytest.mark.parametrize("mu, tau", [(2.0, 1.0), (3.5, 0.4), (0.3, 2.5), (-1.0, 0.8)])
def test_reversed_roc_is_the_binormal_one(mu, tau):
    """Phi(a + b probit(u)) with a = mu / tau, b = 1 / tau, and the binormal area under it."""
    law = probit_normal_law(mu, tau)
    a, b = mu / tau, 1 / tau
    u = np.array([1e-6, 0.001, 0.05, 0.3, 0.5, 0.8, 0.99])
    # D on the nodes of the law has steps: the widest is one node's mass.
    found = law.reversed_roc().average(u)
    np.testing.assert_allclose(found, norm.cdf(a + b * norm.ppf(u)), atol=law.weights.max())
    assert law.reversed_auc == pytest.approx(norm.cdf(a / np.hypot(1, b)), abs=1e-9)


def test_fit_is_a_fitted_binormal_curve():
    """The curve of a large simulated pilot is that of its a and b, which maximum likelihood finds."""
    fit = ProbitNormal().fit(simulated(1.5, 0.7, 60, 20_000, seed=0))
    a, b = fit.mu_ / fit.tau_, 1 / fit.tau_
    assert (a, b) == pytest.approx((1.5 / 0.7, 1 / 0.7), abs=0.05)  # standard errors near 0.01
    u = np.array([0.01, 0.1, 0.5])
    expected = norm.cdf(a + b * norm.ppf(u))
    np.testing.assert_allclose(fit.favorability_.reversed_roc().average(u), expected, atol=0.005)


@pytest.mark.parametrize("mu, tau", [(2.0, 1.0), (3.5, 0.4), (0.3, 2.5), (-1.0, 0.8)])
def test_law_has_the_moments_of_the_probit_normal(mu, tau):
    law = probit_normal_law(mu, tau)
    for k in (2, 10, 1000, 10**6):
        expected, _ = integrate.quad(
            lambda z, k=k: np.exp((k - 1) * norm.logcdf(mu + tau * z)) * norm.pdf(z),
            -9,
            9,
            limit=500,
        )
        assert float(law.accuracy(k)) == pytest.approx(expected, abs=1e-9)


def test_two_class_accuracy_in_closed_form():
    # P(mu + tau Z > Z') = Phi(mu / sqrt(1 + tau^2)).
    assert float(probit_normal_law(1.3, 0.7).accuracy(2)) == pytest.approx(
        norm.cdf(1.3 / np.sqrt(1 + 0.49)), abs=1e-12
    )


@pytest.mark.parametrize("n", [1, 20, 499, 20_000])
def test_likelihood_on_the_grid_is_the_integral(n):
    """A Gauss-Hermite rule would miss the narrow binomial; the grid must not."""
    losses = np.unique([0, 1, n // 50, n // 7, n])
    grid = loss_likelihood(Pilot.from_losses(losses, n + 1))
    step = grid.nodes[1] - grid.nodes[0]
    for mu, tau in ((1.5, 1.0), (2.5, 0.3)):
        found = grid.matrix @ (norm.pdf(grid.nodes, mu, tau) * step)
        found += grid.above * norm.sf(9, mu, tau) + grid.below * norm.cdf(-9, mu, tau)
        for loss, value in zip(losses, found, strict=True):
            assert value == pytest.approx(integral(loss, n, mu, tau), rel=1e-6, abs=1e-15)


def test_likelihoods_too_narrow_for_the_grid_keep_their_place():
    """With millions of rivals only where the likelihood is matters, not how narrow."""
    n = 3_000_000
    losses = np.array([40_000, 400_000, 1_400_000])
    grid = loss_likelihood(Pilot.from_losses(losses, n + 1))
    matrix = grid.matrix.toarray()
    centre = matrix @ grid.nodes / matrix.sum(axis=1)
    np.testing.assert_allclose(centre, norm.isf(losses / n), atol=1e-4)


def test_fit_is_the_maximum_of_the_exact_likelihood():
    pilot = simulated(2.0, 0.8, 60, 40, seed=1)
    fit = ProbitNormal(prior_classes=3.0).fit(pilot)
    table = pilot.table()
    n, half = 59, 0.5 / pilot.n_probes

    def objective(point):
        mu, log_tau = point
        chances = [integral(loss, n, mu, np.exp(log_tau)) for loss in table.losses]
        right = integral(0, n, mu, np.exp(log_tau))
        value = table.weights @ np.log(chances) + half * (np.log(right) + np.log1p(-right))
        return -value + 0.5 * 3.0 / pilot.n_probes * log_tau**2

    start = np.array([fit.mu_, np.log(fit.tau_)])
    best = minimize(
        objective,
        start + np.array([0.3, -0.2]),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-12},
    )
    assert fit.mu_ == pytest.approx(best.x[0], abs=1e-4)
    assert np.log(fit.tau_) == pytest.approx(best.x[1], abs=1e-4)


@pytest.mark.parametrize("mu, tau", [(2.0, 1.0), (2.5, 0.5), (1.0, 1.5)])
def test_recovers_its_own_model(mu, tau):
    fit = ProbitNormal().fit(simulated(mu, tau, 500, 20_000, seed=2))
    assert fit.mu_ == pytest.approx(mu, abs=0.05)
    assert fit.tau_ == pytest.approx(tau, abs=0.05)
    truth = probit_normal_law(mu, tau).accuracy([500, 5000, 50_000])
    np.testing.assert_allclose(fit.predict([500, 5000, 50_000]), truth, atol=0.02)


def test_prior_pulls_tau_to_one_and_fades():
    few, many = simulated(2.0, 0.4, 200, 40, 3), simulated(2.0, 0.4, 200, 4000, 3)
    loose, tight = (ProbitNormal(prior_classes=c) for c in (0.1, 1000.0))
    assert abs(tight.fit(few).tau_ - 1) < 0.1 < abs(loose.fit(few).tau_ - 1)
    assert tight.fit(many).tau_ < 0.75
    assert ProbitNormal().fit(many).tau_ == pytest.approx(0.4, abs=0.04)


def test_all_right_is_finite_honest_and_warned_about():
    with pytest.warns(AssumptionWarning, match="all 200 probes are right"):
        fit = ProbitNormal().fit(Pilot.from_losses([0] * 200, 200))
    # One error in a few hundred probes is still quite possible.
    assert 0.99 < float(fit.predict(200)) < 0.9995
    values = fit.predict([2000, 20_000, 10**6])
    assert (np.diff(values) < 0).all() and values[0] < 0.995
    with pytest.warns(AssumptionWarning):
        larger = ProbitNormal().fit(Pilot.from_losses([0] * 2000, 200))
    assert float(larger.predict(200)) > float(fit.predict(200))


def test_all_wrong_is_finite_and_warned_about():
    for losses in ([99] * 30, [50] * 30):
        with pytest.warns(AssumptionWarning, match="no probe is right"):
            fit = ProbitNormal().fit(Pilot.from_losses(losses, 100))
        values = fit.predict([2, 100, 10_000])
        assert np.isfinite(values).all() and values[1] < 0.03
    assert float(fit.predict(2)) == pytest.approx(49 / 99, abs=0.03)


def test_censored_probes_inform_the_fit():
    """Cutting lists at depth 20 must change little; dropping the cut probes would flatter it."""
    whole = simulated(2.2, 1.0, 2000, 4000, seed=4)
    cut = whole.losses > 20
    listed = Pilot.from_losses(np.minimum(whole.losses, 20), 2000, censored=cut)
    dropped = Pilot.from_losses(whole.losses[~cut], 2000)
    k = [200, 2000, 20_000]
    truth = probit_normal_law(2.2, 1.0).accuracy(k)
    assert cut.mean() > 0.2
    np.testing.assert_allclose(ProbitNormal().fit(listed).predict(k), truth, atol=0.02)
    assert (ProbitNormal().fit(dropped).predict(k) > truth + 0.05)[:2].all()


def test_probes_censored_at_once_say_nothing():
    pilot = simulated(2.0, 0.8, 100, 300, seed=5)
    losses, censored = (
        np.append(pilot.losses, [0] * 10),
        np.append(np.zeros(300, bool), [True] * 10),
    )
    padded = Pilot.from_losses(losses, 100, censored=censored)
    np.testing.assert_allclose(
        ProbitNormal().fit(padded).predict([100, 1000]),
        ProbitNormal().fit(pilot).predict([100, 1000]),
        atol=2e-3,
    )


def test_every_class_counts_once():
    rng = np.random.default_rng(6)
    losses = rng.integers(0, 30, 40)
    labels = np.arange(40)
    repeated = np.concatenate([losses, np.repeat(losses[:1], 200)])
    owners = np.concatenate([labels, np.zeros(200, int)])
    plain = ProbitNormal().fit(Pilot.from_losses(losses, 100, labels=labels))
    heavy = ProbitNormal().fit(Pilot.from_losses(repeated, 100, labels=owners))
    np.testing.assert_allclose(heavy.predict([100, 5000]), plain.predict([100, 5000]), atol=0.01)


def test_merging_close_losses_changes_nothing_visible(monkeypatch):
    pilot = simulated(1.5, 1.0, 200_000, 5000, seed=7)
    assert len(pilot.table().losses) > 2000
    merged = ProbitNormal().fit(pilot)
    monkeypatch.setattr("headcount.estimators.shared.likelihood.MOST_ROWS", 10**6)
    whole = ProbitNormal().fit(pilot)
    np.testing.assert_allclose(
        merged.predict([10**5, 10**7]), whole.predict([10**5, 10**7]), atol=1e-4
    )


def test_retrieval_among_a_million():
    pilot = simulated(3.5, 0.9, 1_000_000, 1000, seed=8)
    truth = probit_normal_law(3.5, 0.9).accuracy([10**6, 10**8])
    np.testing.assert_allclose(ProbitNormal().fit(pilot).predict([10**6, 10**8]), truth, atol=0.05)
    assert float(observe(pilot).accuracy(10**6)) == pytest.approx(truth[0], abs=0.04)


def test_a_prior_without_weight_is_refused():
    with pytest.raises(ParameterError, match="prior_classes"):
        ProbitNormal(prior_classes=0).fit(Pilot.from_losses([0, 1], 5))


@pytest.mark.parametrize("n_wrong", [0, 1])
@pytest.mark.parametrize("n_probes", [1000, 100_000])
@pytest.mark.parametrize("n_classes", [2, 100, 10**7])
def test_nearly_perfect_pilots_converge(n_wrong, n_probes, n_classes):
    losses = np.zeros(n_probes, int)
    losses[:n_wrong] = 1
    pilot = Pilot.from_losses(losses, n_classes)
    with contextlib.nullcontext() if n_wrong else pytest.warns(AssumptionWarning):
        fit = ProbitNormal().fit(pilot)
    assert 1 - float(fit.predict(n_classes)) == pytest.approx((n_wrong + 0.5) / n_probes, rel=0.4)


def test_laws_beyond_the_grid_are_fitted():
    fit = ProbitNormal().fit(simulated(6.0, 1.0, 1000, 100_000, seed=9))
    assert fit.mu_ == pytest.approx(6.0, abs=0.25)
    assert fit.tau_ == pytest.approx(1.0, abs=0.1)
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        wrong = ProbitNormal().fit(Pilot.from_losses(np.full(10**6, 99), 100))
    assert float(wrong.predict(100)) < 1e-5


def test_billions_of_rivals_keep_their_small_losses_apart():
    """Merging must not lump one loss with hundreds: they carry the extrapolation."""
    pilot = simulated(5.0, 1.0, 10**9, 20_000, seed=10)
    truth = probit_normal_law(5.0, 1.0).accuracy([10**9, 10**10])
    np.testing.assert_allclose(ProbitNormal().fit(pilot).predict([10**9, 10**10]), truth, atol=0.01)


def test_warnings_follow_the_tie_rule():
    with pytest.warns(AssumptionWarning, match="all 3 probes are right"):
        ProbitNormal().fit(Pilot.from_losses([0, 0, 0], 10, ties=[1, 2, 0], tie_rule="win"))
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        ProbitNormal().fit(Pilot.from_losses([0, 0, 0], 10, ties=[1, 2, 1], tie_rule="lose"))
    ProbitNormal().fit(Pilot.from_losses([0, 0], 10, censored=[True, True]))  # nothing is known


def test_no_capacity_without_end():
    """A probit-normal law has no atom at U = 1, however wide."""
    law = probit_normal_law(50.0, 50.0)
    assert law.asymptote == 0
