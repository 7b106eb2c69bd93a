import numpy as np
import pytest

from headcount import AssumptionWarning, ParameterError, Pilot, UnsupportedError, observe
from headcount.estimators.polynomial import Polynomial, PolynomialPositive, mixture_law

BOTH = pytest.mark.parametrize("method", [Polynomial, PolynomialPositive])


def exact_pilot(j, n_classes, never=0):
    """Losses in exactly the proportions that D(u) = u^j asks for, j = 1 or 2.

    U uniform (j = 1) makes every number of losses equally likely; for j = 2 they are in
    proportion to n + 1 - l. The observed curve is unbiased, so it is then exactly E[U^(k-1)].
    """
    n = n_classes - 1
    losses = np.arange(n + 1)
    rows = np.repeat(losses, n + 1 - losses if j == 2 else 1)
    return Pilot.from_losses(np.concatenate([rows, np.zeros(never, int)]), n_classes)


@BOTH
@pytest.mark.parametrize("j", [1, 2])
def test_exact_for_a_power_of_u(method, j):
    pilot = exact_pilot(j, 20)
    fit = method().fit(pilot)
    expected = np.zeros(5)
    expected[j - 1] = 1
    np.testing.assert_allclose(fit.coefficients_, expected, atol=1e-6)
    k = np.array([1, 2, 20, 400, 10**6])
    np.testing.assert_allclose(fit.predict(k), j / (k - 1 + j), atol=1e-9)


@BOTH
def test_an_atom_at_one_is_what_the_powers_leave(method):
    fit = method().fit(exact_pilot(1, 20, never=60))  # 20 rows of uniform U, 60 never beaten
    np.testing.assert_allclose(fit.coefficients_, [0.25, 0, 0, 0, 0], atol=1e-6)
    assert float(fit.predict(10**9)) == pytest.approx(0.75, abs=1e-7)
    if method is PolynomialPositive:
        assert fit.favorability_.asymptote == pytest.approx(0.75, abs=1e-7)


def some_pilot(n_classes=30):
    rng = np.random.default_rng(0)
    return Pilot.from_losses(rng.binomial(n_classes - 1, rng.beta(0.4, 5, 300)), n_classes)


def design(k):
    return np.array([[(x - 1) / (x - 1 + j) for j in range(1, 6)] for x in k])


def test_fit_is_ordinary_least_squares_on_every_k():
    pilot = some_pilot()
    k = np.arange(2, 31)
    matrix, target = design(k), 1 - observe(pilot).accuracy(k)
    fitted = 1 - Polynomial().fit(pilot).predict(k)
    # Least squares: what is left is orthogonal to every column.
    np.testing.assert_allclose(matrix.T @ (fitted - target), 0, atol=1e-9)


def test_positive_fit_meets_the_conditions_of_an_optimum():
    pilot = some_pilot()
    k = np.arange(2, 31)
    matrix, target = np.column_stack([np.zeros(29), design(k)]), 1 - observe(pilot).accuracy(k)
    fit = PolynomialPositive().fit(pilot)
    beta = np.append(1 - fit.coefficients_.sum(), fit.coefficients_)
    assert (beta >= -1e-12).all()
    slope = matrix.T @ (matrix @ beta - target)
    assert (slope >= slope @ beta - 1e-9).all()  # no vertex of the simplex lies downhill
    free = Polynomial().fit(pilot).coefficients_
    assert (free < -0.01).any()  # so that the constraint does something here


@pytest.mark.parametrize(
    "parts", [[0, 1, 0, 0, 0, 0], [0.3, 0.1, 0.2, 0.1, 0.05, 0.25], [0, 0, 0, 0, 0, 1], [1, 0]]
)
def test_law_has_the_moments_of_the_polynomial(parts):
    parts = np.array(parts, dtype=float)
    k = np.array([1, 2, 3, 10, 99, 1000, 10**5, 10**8, 10**12, 10**15], dtype=float)
    law = mixture_law(parts)
    expected = 1 - sum(b * (k - 1) / (k - 1 + j) for j, b in enumerate(parts) if j)
    np.testing.assert_allclose(law.accuracy(k), expected, atol=1e-12)
    assert law.asymptote == parts[0]
    u = 0.7  # D itself, up to one node
    assert float(law.cdf(u)) == pytest.approx(
        sum(b * u**j for j, b in enumerate(parts) if j), abs=0.05
    )


def test_recovers_its_model_by_simulation():
    """D(u) = 0.5 u + 0.3 u^4; standard errors of the curve are 0.001."""
    rng = np.random.default_rng(1)
    u = np.ones(200_000)
    u[:100_000] = rng.uniform(size=100_000)
    u[100_000:160_000] = rng.uniform(size=(60_000, 4)).max(axis=1)
    pilot = Pilot.from_losses(rng.binomial(49, 1 - u), 50)
    k = np.array([50, 500, 5000])
    truth = 1 - 0.5 * (k - 1) / k - 0.3 * (k - 1) / (k + 3)
    np.testing.assert_allclose(PolynomialPositive().fit(pilot).predict(k), truth, atol=0.005)
    np.testing.assert_allclose(Polynomial().fit(pilot).predict(k), truth, atol=0.005)


def test_values_stay_in_range_though_the_polynomial_does_not():
    fit = Polynomial(degree=2).fit(Pilot.from_losses([0] * 4 + [9] * 6, 10))
    raw = 1 - design([10**6])[:, :2] @ fit.coefficients_
    values = fit.predict(np.unique(np.geomspace(1, 1e9, 50).astype(int)))
    assert ((values >= 0) & (values <= 1)).all() and values[0] == 1
    assert np.isfinite(raw).all()
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        steep = Polynomial().fit(Pilot.from_losses([1] * 3 + [9] * 5, 10))
    raw = 1 - design([10**6]) @ steep.coefficients_
    assert raw < 0 == float(steep.predict(10**6))


def test_is_no_mixture():
    assert Polynomial().fit(some_pilot()).favorability_ is None


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_few_classes_lower_the_degree(method, n_classes):
    fit = method().fit(exact_pilot(1, n_classes))
    np.testing.assert_allclose(fit.predict([2, n_classes]), [0.5, 1 / n_classes], atol=1e-9)
    if method is Polynomial:
        assert len(fit.coefficients_) == n_classes - 1


@BOTH
def test_edges(method):
    with pytest.warns(AssumptionWarning, match="probes are right"):
        fit = method().fit(Pilot.from_losses([0] * 5, 30))
    np.testing.assert_allclose(fit.predict([2, 30, 10**6]), 1, atol=1e-9)
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        fit = method().fit(Pilot.from_losses([29] * 5, 30))
    assert float(fit.predict(30)) < 0.35
    rng = np.random.default_rng(2)
    many = Pilot.from_losses(rng.binomial(10**6 - 1, rng.beta(0.2, 5, 500)), 10**6)
    values = method().fit(many).predict([10**5, 10**6])
    np.testing.assert_allclose(values, observe(many).accuracy([10**5, 10**6]), atol=0.1)


@BOTH
def test_what_cannot_be_used_is_refused(method):
    with pytest.raises(UnsupportedError, match="censored"):
        method().fit(Pilot.from_losses([3, 1], 5, censored=[True, False]))
    for degree in (0, 2.5):
        with pytest.raises(ParameterError, match="degree"):
            method(degree=degree).fit(Pilot.from_losses([0, 1], 5))
