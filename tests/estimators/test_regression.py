import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from headcount import ParameterError, Pilot, observe
from headcount.estimators.regression import (
    Regression,
    SplineRegression,
    curve_rows,
    fit_mixture,
)
from headcount.estimators.shared.bases import (
    GaussianBasis,
    SplineBasis,
    StepBasis,
    knots,
    truncated_moment,
)
from headcount.simulate.theory import probit_normal_law


def pilot_of(law, n_classes, n_probes, seed):
    """Losses of independent probes whose U follows the law."""
    rng = np.random.default_rng(seed)
    p = rng.choice(law.p, n_probes, p=law.weights)
    return Pilot.from_losses(rng.binomial(n_classes - 1, p), n_classes)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("q", [1e-7, 1e-3, 0.3, 0.999])
@pytest.mark.parametrize("k", [2.0, 5.0, 300.0, 10_000.0])
def test_moments_of_truncated_powers(degree, q, k):
    # v = (1 - u) / q runs over [0, 1]; the integrand is smooth there.
    expected, _ = integrate.quad(
        lambda v: (1 - v) ** degree * (k - 1) * q * np.exp((k - 2) * np.log1p(-q * v)), 0, 1,
        epsabs=0, epsrel=1e-11, limit=400, points=[min(1.0, 5 / (k * q))],
    )  # fmt: skip
    found = truncated_moment(np.array([q]), np.array([k]), degree)
    assert float(found[0]) == pytest.approx(expected, rel=1e-9)


def test_linear_moments_are_those_of_the_paper():
    t, k = 0.37, 9.0
    closed = (k - 1) / k - t + t**k / k
    found = (1 - t) * truncated_moment(np.array([1 - t]), np.array([k]), 1)
    assert float(found[0]) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("k", [1.0, 2.0, 7.0, 5000.0])
def test_moments_of_steps(k):
    basis = StepBasis(np.array([0.8, 0.1, 1e-4, 1e-9]))
    for column, (far, near) in enumerate(zip(basis.far, basis.near, strict=True)):
        expected, _ = integrate.quad(
            lambda p: np.exp((k - 1) * np.log1p(-p)), near, far, epsabs=0, limit=300,
            points=[np.clip(5 / k, near, far)],
        )  # fmt: skip
        found = basis.accuracy(np.array([k]))[0, column]
        assert found == pytest.approx(expected / (far - near), rel=1e-7)


def test_moments_of_bumps():
    basis = GaussianBasis(0.3)
    expected = norm.cdf(basis.centres / np.sqrt(1 + 0.3**2))
    np.testing.assert_allclose(basis.accuracy(np.array([2.0]))[0], expected, atol=1e-10)
    column = int(np.argmin(np.abs(basis.centres - 2.0)))
    law = probit_normal_law(basis.centres[column], 0.3)
    ks = np.array([10.0, 1000.0, 1e6])
    np.testing.assert_allclose(basis.accuracy(ks)[:, column], law.accuracy(ks), atol=1e-8)


@pytest.mark.parametrize(
    "basis",
    [
        SplineBasis(knots("quadratic", 50, 100, 1000)),
        SplineBasis(knots("uniform", 50, 100, 1000), degree=3),
        StepBasis(knots("quadratic", 50, 100, 1000)),
        GaussianBasis(0.4),
    ],
)
def test_the_law_of_a_mixture_has_its_moments(basis):
    ks = np.array([1.0, 2.0, 50.0, 1e4, 1e7])
    columns = basis.accuracy(ks)
    weights = np.random.default_rng(0).dirichlet(np.full(columns.shape[1] + 1, 0.1))[:-1]
    expected = columns @ weights + (1 - weights.sum())
    np.testing.assert_allclose(basis.law(weights).accuracy(ks), expected, atol=5e-6)


def test_knots_follow_the_papers():
    np.testing.assert_allclose(np.sort(1 - knots("uniform", 3, 10, 10)), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(knots("quadratic", 3, 10, 10), [0.5625, 0.25, 0.0625])
    q = np.sort(knots("adaptive", 1, 200, 5000))
    gaps = np.diff(q)
    assert gaps[q[1:] <= 5 / 5000].max() < 1 / 5000  # finer than 1/k2 near one
    assert gaps[q[1:] > 0.5].min() > 1 / 5000  # coarser far from it
    assert gaps.max() <= 1 / 200 + 1e-12  # never coarser than 1/k1
    with pytest.raises(ParameterError, match="adaptive"):
        knots("dense", 3, 10, 10)


LAWS = {
    "beta": (SplineBasis(np.array([1.0]), 2).law(np.array([1.0])), lambda k: 2 / (k + 1)),
    "uniform on [0.9, 1]": (
        StepBasis(np.array([0.1])).law(np.array([0.0, 1.0])),
        lambda k: (1 - 0.9**k) / (0.1 * k),
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    "method",
    [
        SplineRegression(),
        SplineRegression(n_knots=100, spacing="quadratic"),
        SplineRegression(spacing="adaptive"),
        SplineRegression(degree=2, n_knots=300, spacing="quadratic"),
        SplineRegression(constraint="monotone", n_knots=200, spacing="quadratic"),
        SplineRegression(bounded=False, n_knots=1000),
    ],
    ids=lambda m: f"{m.constraint}-{m.spacing}-{m.degree}-{m.bounded}",
)
def test_recovers_laws_it_can_hold(name, method):
    """20,000 probes: the observed curve is off by some 0.003, its extrapolation by little more."""
    law, truth = LAWS[name]
    np.testing.assert_allclose(law.accuracy(50), truth(50), atol=1e-5)
    fit = method.fit(pilot_of(law, 300, 20_000, seed=1))
    for k in (2, 300, 1500):
        assert float(fit.predict(k)) == pytest.approx(truth(k), abs=0.012)


def test_weights_and_largest_k_choose_the_rows():
    pilot = pilot_of(probit_normal_law(1.0, 1.0), 40, 200, seed=3)
    fit = SplineRegression(constraint="none", n_knots=2, largest_k=15, weights=lambda k: 1 / k).fit(
        pilot
    )
    k = np.arange(2.0, 16)
    columns = 1 - SplineBasis(knots("uniform", 2, 40, 400)).accuracy(k)
    root = np.sqrt(1 / k)[:, None]
    wrong = 1 - observe(pilot).accuracy(k)
    beta, *_ = np.linalg.lstsq(root * columns, root[:, 0] * wrong, rcond=None)
    np.testing.assert_allclose(fit.coefficients_, beta, rtol=1e-9)
    np.testing.assert_allclose(fit.predict(k), np.clip(1 - columns @ beta, 0, 1), atol=1e-12)


def test_unidentified_coefficients_are_refused():
    pilot = pilot_of(probit_normal_law(1.0, 1.0), 40, 200, seed=4)
    with pytest.raises(ParameterError, match=r"1,000 basis functions.*rank is"):
        SplineRegression(constraint="none", n_knots=1000).fit(pilot)
    with pytest.raises(ParameterError, match="rank is 3"):
        SplineRegression(constraint="none", n_knots=4, largest_k=4).fit(pilot)


@pytest.mark.parametrize("method", [SplineRegression(n_knots=500), Regression(bandwidth=0.3)])
def test_mass_is_at_most_one(method):
    pilot = pilot_of(probit_normal_law(0.0, 1.5), 50, 300, seed=5)
    fit = method.fit(pilot)
    assert (fit.coefficients_ >= 0).all()
    assert fit.coefficients_.sum() <= 1 + 1e-9


def test_constrained_fit_is_the_best_there_is():
    """No small move to another admissible point may fit better (the conditions of optimality)."""
    pilot = pilot_of(probit_normal_law(1.5, 1.0), 60, 300, seed=6)
    basis = SplineBasis(knots("uniform", 60, 60, 600))
    k, share = curve_rows(60)
    columns, target = basis.accuracy(k), observe(pilot).accuracy(k)
    found = fit_mixture(columns, target, share)
    gap = target - columns @ found - (1 - found.sum())
    every = np.column_stack([columns, np.ones(len(k))])
    slope = every.T @ gap
    level = np.append(found, 1 - found.sum()) @ slope
    assert (slope <= level + 1e-6).all()


def test_few_rows_stand_for_all(monkeypatch):
    pilot = pilot_of(probit_normal_law(2.0, 1.0), 1500, 1000, seed=7)
    method = SplineRegression(n_knots=300, spacing="quadratic")
    few = method.fit(pilot).predict([1500, 15_000])
    assert len(curve_rows(1500)[0]) < 300
    monkeypatch.setattr("headcount.estimators.shared.curve_fit.EVERY", 10**6)
    assert len(curve_rows(1500)[0]) == 1499
    np.testing.assert_allclose(method.fit(pilot).predict([1500, 15_000]), few, atol=1e-3)


def test_bandwidth_comes_from_halves_and_does_not_depend_on_order():
    rng = np.random.default_rng(8)
    centres = rng.normal(size=(60, 5))
    labels = np.repeat(np.arange(60), 4)
    points = centres[labels] + 0.9 * rng.normal(size=(240, 5))
    one = Regression().fit(Pilot.from_embeddings(points, labels, centres))
    order, names = rng.permutation(240), rng.permutation(60)
    other = Regression().fit(
        Pilot.from_embeddings(points[order], names[labels[order]], centres[np.argsort(names)])
    )
    assert one.bandwidth_ == other.bandwidth_
    np.testing.assert_allclose(other.predict([60, 600]), one.predict([60, 600]), atol=1e-9)
    assert Regression(bandwidth=0.35).fit(Pilot.from_losses([0, 3], 9)).bandwidth_ == 0.35


@pytest.mark.parametrize(
    "options, words",
    [
        ({"constraint": "concave"}, "constraint"),
        ({"constraint": "monotone", "degree": 2}, "degree"),
        ({"n_knots": 0}, "n_knots"),
        ({"largest_k": 100}, "at most the pilot's 50"),
        ({"weights": lambda k: -k}, "weights"),
    ],
)
def test_impossible_options_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        SplineRegression(**options).fit(Pilot.from_losses([0, 1], 50))


def test_impossible_bandwidths_are_refused():
    with pytest.raises(ParameterError, match="bandwidth"):
        Regression(bandwidth=0).fit(Pilot.from_losses([0, 1], 50))
