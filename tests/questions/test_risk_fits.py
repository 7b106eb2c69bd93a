import itertools
import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import comb, eval_legendre, ndtr, ndtri

from headcount.estimators.regression import curve_rows
from headcount.estimators.shared.bases import GaussianBasis
from headcount.questions.risk.forecasting import forecast_risk
from headcount.questions.risk.moments import PolynomialFit, discrete_legendre, legendre_risk
from headcount.questions.risk.observed import observe_risk
from headcount.questions.risk.ranks import cost_by_place
from headcount.questions.risk.regression import STEP, BetaBasis, Cells, MixtureFit, PricedFit, Rows
from headcount.simulate.theory import probit_normal_law
from risk_pilots import small_pilot

BEYOND = np.array([100.0, 1000.0, 10_000.0])


def all_rows(n_classes):
    return Rows(*curve_rows(n_classes))


# -- moment regression --------------------------------------------------------------------------


def test_cells_price_every_mistake_once():
    law = probit_normal_law(2.0, 0.7)
    k = np.array([2.0, 10.0, 500.0])
    np.testing.assert_allclose(Cells(law).paid(k, 1.0), 1 - law.accuracy(k), atol=1e-12)


def conditional_risk(curve, k):
    """(k - 1) int curve(u) u^(k-2) du, on the scale of the largest u, where it is smooth."""
    return integrate.quad(lambda v: curve(v ** (1 / (k - 1))), 0, 1, epsabs=1e-10, limit=200)[0]


@pytest.mark.parametrize("direction", [-1, 1])
def test_the_cost_of_mistakes_is_found_either_way(direction):
    # D(u) = Phi(z - 2) with z = probit(u), and a mean cost that is itself one of the steps.
    def mean_cost(u):
        return 0.5 + 2 * ndtr((1.5 + direction * -ndtri(u)) * -direction / STEP)

    def chance(u):
        return ndtr(ndtri(u) - 2.0)

    law = probit_normal_law(2.0, 1.0)
    rows = all_rows(200)
    risk = np.array([conditional_risk(lambda u: chance(u) * mean_cost(u), k) for k in rows.k])
    fit = PricedFit(law, rows, risk, 0.5, 2.5)
    u = np.array([0.5, 0.9, 0.99, 0.999])
    np.testing.assert_allclose(fit.mean_cost(u), mean_cost(u), atol=0.02)
    far = np.array([1000.0, 10_000.0])
    expected = [conditional_risk(lambda u: chance(u) * mean_cost(u), k) for k in far]
    np.testing.assert_allclose(fit.risk(far), expected, rtol=5e-3)


def test_a_free_cost_of_mistakes_follows_a_hump():
    def mean_cost(u):
        return np.exp(-0.5 * (ndtri(u) - 1.0) ** 2)  # up and down again

    law, rows = probit_normal_law(1.0, 1.0), all_rows(200)
    risk = np.array(
        [conditional_risk(lambda u: ndtr(ndtri(u) - 1) * mean_cost(u), k) for k in rows.k]
    )
    errors = []
    for free in (True, False):
        fit = PricedFit(law, rows, risk, 0.0, 1.0, free=free)
        errors.append(np.abs(fit.risk(rows.k) - risk).max())
    assert errors[0] < 0.005 < errors[1]


def test_sums_of_bernstein_polynomials():
    basis = BetaBasis(4)
    k = np.array([2.0, 7.0, 300.0])
    for column in range(4):
        later = range(column + 1, 5)
        for row, count in enumerate(k):

            def below(u, later=later):
                return sum(comb(4, i) * u**i * (1 - u) ** (4 - i) for i in later)

            lost = conditional_risk(below, count)
            assert 1 - basis.accuracy(k)[row, column] == pytest.approx(lost, abs=1e-9)
    weights = np.array([0.1, 0.3, 0.2, 0.1])
    expected = basis.accuracy(k) @ weights + 0.3
    np.testing.assert_allclose(basis.law(weights).accuracy(k), expected, atol=5e-6)


# -- regression adjustment ----------------------------------------------------------------------


def test_discrete_legendre_polynomials():
    n, beaten = 9, np.arange(10)
    rows = discrete_legendre(n, 5)
    for degree in range(6):
        signs = [(-1) ** (degree + j) * comb(degree, j) * comb(degree + j, j) for j in range(6)]
        explicit = sum(signs[j] * comb(beaten, j) / comb(n, j) for j in range(degree + 1))
        np.testing.assert_allclose(rows[degree], explicit, atol=1e-12)


def test_risk_of_legendre_polynomials():
    k = np.array([1.0, 2.0, 3.0, 8.0, 50.0])
    found = legendre_risk(k, 4)
    assert not found[0].any()  # nothing can be lost among one class
    for degree, (row, count) in itertools.product(range(5), enumerate(k[1:], 1)):
        expected = conditional_risk(lambda u, n=degree: eval_legendre(n, 2 * u - 1), count)
        assert found[row, degree] == pytest.approx(expected, abs=1e-10)


def test_moments_of_the_adjustment_by_enumeration():
    # Cost times C(V, j) / C(K - 2, j) for every probe and wrong class, as 004 has it.
    pilot, cost = small_pilot(n_classes=8, per_class=3)
    (_, scores), labels = next(pilot.score_blocks()), pilot.labels
    fit = PolynomialFit(cost_by_place(pilot, cost), 4, 100.0)
    for j in range(5):
        total = 0.0
        for row, true in zip(scores, labels, strict=True):
            for wrong in set(range(8)) - {true}:
                if row[wrong] > row[true]:
                    others = set(range(8)) - {true, wrong}
                    beaten = sum(row[wrong] > row[other] for other in others)
                    total += cost[true, wrong] * math.comb(beaten, j) / math.comb(6, j)
        moment = total / (7 * len(labels))
        # The moment of the fitted polynomial, and the observed risk it passes through.
        k = np.array([j + 2.0])
        assert fit.risk(k)[0] / (j + 1) == pytest.approx(moment, rel=1e-10)
        assert observe_risk(pilot, cost).risk(k)[0] / (j + 1) == pytest.approx(moment, rel=1e-10)


def test_adjustment_is_unbiased():
    # The mean over all sets of 6 of 8 classes is what all 8 give, for every coefficient.
    pilot, cost = small_pilot(n_classes=8, per_class=1)
    whole = PolynomialFit(cost_by_place(pilot, cost), 4, 100.0).coefficients
    parts = []
    for kept in itertools.combinations(range(8), 6):
        part = pilot.subset(list(kept))
        chosen = cost[np.ix_(kept, kept)]
        parts.append(PolynomialFit(cost_by_place(part, chosen), 4, 100.0).coefficients)
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, atol=1e-10)


@pytest.mark.parametrize("degree", [3, 6])
def test_adjustment_recovers_a_polynomial(degree):
    # A mistake at u costs u^2 and D(u) = u, so that the risk is (k - 1) int u^3 u^(k-2) du =
    # (k - 1) / (k + 2). The class at place j has u ~ Beta(K - 1 - j, j + 1), whose third
    # moment is what is spent there on average.
    first = 29.0 - np.arange(29)
    spent = first * (first + 1) * (first + 2) / (30 * 31 * 32)
    fit = PolynomialFit(spent, degree, 1.0)
    k = np.array([1.0, 2.0, 30.0, 1000.0])
    np.testing.assert_allclose(fit.risk(k), (k - 1) / (k + 2), atol=1e-10)


# -- slopes -----------------------------------------------------------------


def small_change(n_rows):
    return 1e-7 * np.cos(np.arange(n_rows))


def test_slopes_of_a_mixture():
    pilot, _ = small_pilot(per_class=5)
    rows, basis = all_rows(40), GaussianBasis(0.5)
    risk = observe_risk(pilot, "zero-one").risk(rows.k)
    fit, change = MixtureFit(basis, rows, 3 * risk, 3.0), small_change(len(rows.k))
    moved = MixtureFit(basis, rows, 3 * risk + change, 3.0)
    assert set(moved.active) == set(fit.active)  # else nothing is linear
    by_risk, by_error = fit.slopes(BEYOND)
    assert by_error is None
    np.testing.assert_allclose(
        by_risk @ change, moved.risk(BEYOND) - fit.risk(BEYOND), rtol=1e-3, atol=1e-10
    )


@pytest.mark.parametrize("free", [False, True])
def test_slopes_of_a_priced_fit(free):
    pilot, cost = small_pilot(per_class=5)
    rows, basis = all_rows(40), GaussianBasis(0.5)
    risk = observe_risk(pilot, cost).risk(rows.k)
    error = observe_risk(pilot, "zero-one").risk(rows.k)
    change = small_change(len(rows.k))

    def fitted(risk, error):
        mistakes = MixtureFit(basis, rows, error, 1.0)
        ends = cost[cost > 0].min(), cost.max()
        return PricedFit(mistakes.law, rows, risk, *ends, free=free, mistakes=mistakes)

    fit = fitted(risk, error)
    by_risk, by_error = fit.slopes(BEYOND)
    for moved, slopes in (
        (fitted(risk + change, error), by_risk),
        (fitted(risk, error + change), by_error),
    ):
        assert moved.family is fit.family
        np.testing.assert_array_equal(moved.coefficients > 1e-9, fit.coefficients > 1e-9)
        np.testing.assert_allclose(
            slopes @ change, moved.risk(BEYOND) - fit.risk(BEYOND), rtol=1e-2, atol=1e-9
        )


def test_slopes_of_the_adjustment_are_the_map_itself():
    pilot, cost = small_pilot()
    found = forecast_risk(pilot, cost, 45, approach="adjustment", intervals=False)
    at, by_risk, by_error = found.linear_map([45, 60])
    np.testing.assert_array_equal(at, np.arange(2, 8))
    assert by_error is None
    expected = found.fit.risk(np.array([45.0, 60.0]))
    np.testing.assert_allclose(by_risk @ found.observed.risk(at), expected, rtol=1e-9)
