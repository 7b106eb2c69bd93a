import numpy as np
import pytest
from scipy import integrate, stats
from scipy.integrate import trapezoid
from scipy.stats import norm

from headcount import ParameterError
from headcount.simulate.theory import (
    BivariateNormal,
    IsotropicGaussian,
    probit_normal_law,
    uniform_law,
)

RHOS = (0.3, 0.7, -0.9)
CASES = [
    IsotropicGaussian(1, 0.3),
    IsotropicGaussian(3, 0.4, None),
    IsotropicGaussian(10, 0.55),
    IsotropicGaussian(10, 0.7, 4, "mean"),
    IsotropicGaussian(60, 1.2),
]


def two_class_accuracy(d, sigma, noise):
    """P(|A| < |B|) for A = g - x, B = g' - x: (B - A).(B + A) > 0 is an F variable past a bound.

    With V, W = B - A, B + A scaled to unit variance and correlation r, V.W has the sign of
    (1 + r) X - (1 - r) X' for two independent chi-square variables.
    """
    r = 2 / np.sqrt((2 + 2 * noise) * (2 + 2 * noise + 4 * sigma**2))
    return stats.f.sf((1 - r) / (1 + r), d, d)


def toy_accuracy(rho, k):
    """Integrate over the point and its distance to the own mean, on plain dense grids."""
    nodes, weights = np.polynomial.legendre.leggauss(150)
    x, wx = 9 * (nodes + 1) / 2, 9 * weights / 2  # both signs of x are alike
    # The distance e on a log scale, as at large k only tiny ones win.
    t = np.linspace(-30, np.log(30.0), 2001)
    e = np.exp(t)[None, :]
    point = x[:, None]
    sd = rho * np.sqrt(1 - rho**2)  # of rho Y given x, whose mean is rho^2 x
    own = norm.pdf(point + e, rho**2 * point, sd) + norm.pdf(point - e, rho**2 * point, sd)
    beaten = np.clip(norm.cdf((point + e) / rho) - norm.cdf((point - e) / rho), 0, 1 - 1e-16)
    inner = trapezoid(np.exp((k - 1) * np.log1p(-beaten)) * own * e, t, axis=1)
    return 2 * wx @ (norm.pdf(x) * inner)


# -- the bivariate-normal toy -------------------------------------------------------------------


@pytest.mark.parametrize("rho", RHOS)
def test_toy_two_class_accuracy_in_closed_form(rho):
    expected = 0.5 + np.arcsin(abs(rho) / np.sqrt(2 - rho**2)) / np.pi
    assert float(BivariateNormal(rho).accuracy(2)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.99])
def test_toy_accuracy_is_the_double_integral(rho):
    counts = [2, 8, 100, 10**4, 10**6]
    expected = [toy_accuracy(rho, k) for k in counts]
    found = BivariateNormal(rho).accuracy(counts)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(found, expected, rtol=1e-4)  # large k: small values count too


@pytest.mark.parametrize("rho", RHOS)
def test_toy_favorability_is_the_chance_to_beat_a_random_label(rho):
    rng = np.random.default_rng(1)
    rivals = rng.normal(size=400_000)
    toy = BivariateNormal(rho)
    for x, y in ((0.3, -0.5), (1.5, 1.9), (-0.8, 0.2)):
        beaten = np.abs(rho * rivals - x) < np.abs(rho * y - x)
        # Four standard errors of a share among 400,000.
        assert float(toy.favorability(x, y)) == pytest.approx(1 - beaten.mean(), abs=0.0032)
    assert float(toy.favorability(rho * 2.0, 2.0)) == 1.0


@pytest.mark.parametrize("rho", RHOS)
def test_toy_label_set_accuracy_is_the_integral_over_points(rho):
    labels = np.array([0.4, -1.1, 2.0, 0.5])
    x = np.linspace(-12, 12, 400_001)
    densities = norm.pdf(x[:, None], rho * labels, np.sqrt(1 - rho**2))
    expected = trapezoid(densities.max(axis=1), x) / len(labels)
    toy = BivariateNormal(rho)
    assert float(toy.label_set_accuracy(labels)) == pytest.approx(expected, abs=1e-8)
    both = toy.label_set_accuracy([labels, labels[::-1] + 1])
    np.testing.assert_allclose(both, expected, atol=1e-8)
    assert float(toy.label_set_accuracy([0.3])) == 1.0


def test_toy_label_sets_average_to_the_accuracy():
    """Circles of figure 4 on the red curve; the paper's form without rho gives 0.313 at k = 8."""
    toy = BivariateNormal(0.7)
    for k in (2, 3, 8):
        values = toy.sample_label_sets(k, 100_000, random_state=2)
        # Four standard errors of the mean.
        error = 4 * values.std() / np.sqrt(len(values))
        assert values.mean() == pytest.approx(float(toy.accuracy(k)), abs=error)
    assert float(toy.accuracy(8)) == pytest.approx(0.259, abs=1e-3)
    np.testing.assert_array_equal(values, toy.sample_label_sets(8, 100_000, random_state=2))


def test_toy_label_sets_are_drawn_in_pieces(monkeypatch):
    monkeypatch.setattr("headcount.simulate.theory._CELLS", 100)
    values = BivariateNormal(0.5).sample_label_sets(30, 1000, random_state=0)
    assert values.shape == (1000,) and len(np.unique(values)) == 1000


@pytest.mark.parametrize("rho", RHOS)
def test_toy_discriminability_is_the_law_of_favorability(rho):
    rng = np.random.default_rng(3)
    y = rng.normal(size=300_000)
    x = rho * y + np.sqrt(1 - rho**2) * rng.normal(size=len(y))
    toy = BivariateNormal(rho)
    drawn = toy.favorability(x, y)
    levels = np.linspace(0.02, 0.999, 30)
    shares = (drawn[:, None] <= levels).mean(axis=0)
    np.testing.assert_allclose(toy.discriminability(levels), shares, atol=4 * 0.5 / 300_000**0.5)


def test_favorability_of_wrong_labels_is_uniform():
    """Lemma 4 of 000: for any point, whatever the law of labels does to the right one."""
    wrong = np.random.default_rng(4).normal(size=20_000)
    for x in (-2.0, 0.1, 1.4):
        drawn = BivariateNormal(0.8).favorability(x, wrong)
        assert stats.kstest(drawn, "uniform").pvalue > 0.001


# -- isotropic Gaussian classes -----------------------------------------------------------------


@pytest.mark.parametrize("n_dims", [1, 2, 5, 10, 60])
@pytest.mark.parametrize("sigma", [0.05, 0.3, 2.0])
def test_two_class_accuracy_in_closed_form(n_dims, sigma):
    for n_train, noise in ((None, 0.0), (1, sigma**2)):
        found = float(IsotropicGaussian(n_dims, sigma, n_train).accuracy(2))
        assert found == pytest.approx(two_class_accuracy(n_dims, sigma, noise), abs=1e-8)
    mean = float(IsotropicGaussian(n_dims, sigma, 3, "mean").accuracy(2))
    assert mean == pytest.approx(two_class_accuracy(n_dims, sigma, sigma**2 / 3), abs=1e-8)


def test_the_paper_s_accuracies_at_2000_classes():
    """000 §6, ten dimensions and one training point: 0.838 and 0.102."""
    assert float(IsotropicGaussian(10, 0.3).accuracy(2000)) == pytest.approx(0.838, abs=5e-4)
    assert float(IsotropicGaussian(10, 0.7).accuracy(2000)) == pytest.approx(0.102, abs=5e-4)


def test_one_dimension_is_the_toy():
    sigma = np.sqrt(1 - 0.6**2) / 0.6
    counts = [2, 30, 10**5]
    np.testing.assert_allclose(
        IsotropicGaussian(1, sigma, None).accuracy(counts),
        BivariateNormal(0.6).accuracy(counts),
        rtol=1e-12,
    )


@pytest.mark.parametrize("n_dims, sigma", [(1, 0.3), (2, 0.05), (10, 0.7), (40, 1.0)])
def test_nearest_of_one_is_the_one_point(n_dims, sigma):
    """Two quadratures, over the centre as well and not, agree."""
    from headcount.simulate.theory import nearest_of_many, one_point

    counts, levels = [2, 50, 2000, 10**6], np.linspace(0.01, 0.9999, 50)
    long, short = nearest_of_many(n_dims, sigma, 1), one_point(n_dims, sigma, sigma**2)
    np.testing.assert_allclose(long.law().accuracy(counts), short.law().accuracy(counts), atol=1e-8)
    np.testing.assert_allclose(long.cdf(levels), short.cdf(levels), atol=1e-7)


def test_more_training_points_help():
    accuracy = [float(IsotropicGaussian(5, 0.4, r).accuracy(500)) for r in (1, 2, 10)]
    assert accuracy == sorted(accuracy)
    mean = [float(IsotropicGaussian(5, 0.4, r, "mean").accuracy(500)) for r in (1, 10, 10_000)]
    known = float(IsotropicGaussian(5, 0.4, None).accuracy(500))
    assert mean == sorted(mean) and mean[-1] == pytest.approx(known, abs=1e-3)


@pytest.mark.parametrize("model", [*CASES, BivariateNormal(0.7)])
def test_accuracy_and_discriminability_are_one_law(model):
    """Theorem 2 of 000, accuracy(k) = 1 - (k - 1) times the integral of D(u) u^(k-2)."""
    for k in (2, 5, 40):
        integral, _ = integrate.quad(
            lambda u, k=k: float(model.discriminability(u)) * u ** (k - 2),
            0,
            1,
            limit=200,
            epsabs=1e-10,
            points=[0.9, 0.99, 0.999],
        )
        assert float(model.accuracy(k)) == pytest.approx(1 - (k - 1) * integral, abs=1e-6)
    assert model.discriminability([0.0, 1.0]).tolist() == [0.0, 1.0]
    # The law's own steps are the same D.
    levels = norm.cdf(np.linspace(-2, 3, 7))
    np.testing.assert_allclose(model.law().cdf(levels), model.discriminability(levels), atol=0.02)


# -- theorems of 003 ----------------------------------------------------------------------------


def test_losses_given_favorability_are_binomial():
    """Theorem 3.2: V = wins among k - 1 random rivals is Binomial(k - 1, U)."""
    rng = np.random.default_rng(6)
    rho, x, y, k = 0.7, 0.9, 0.4, 12
    rivals = rng.normal(size=(40_000, k - 1))
    wins = (np.abs(rho * rivals - x) > np.abs(rho * y - x)).sum(axis=1)
    u = float(BivariateNormal(rho).favorability(x, y))
    expected = stats.binom.pmf(np.arange(k), k - 1, u) * len(wins)
    found = np.bincount(wins, minlength=k).astype(float)
    likely = expected > 5
    rest = np.append(found[likely], found[~likely].sum())
    due = np.append(expected[likely], expected[~likely].sum())
    assert stats.chisquare(rest, due).pvalue > 0.001


@pytest.mark.parametrize(
    "model", [BivariateNormal(r) for r in RHOS] + [IsotropicGaussian(5, 0.5, None)]
)
def test_bayes_rule_has_a_rising_density_and_convex_discriminability(model):
    """Theorem 3.4. With known centres the nearest one is the Bayes rule."""
    levels = np.linspace(0, 1, 401)
    reached = model.discriminability(levels)
    slopes = np.diff(reached) / np.diff(levels)
    assert (np.diff(slopes) > -1e-5).all()  # 1e-8 of interpolation over steps of 1/400
    assert slopes[-1] > 2 * slopes[0]


# -- other laws and refusals --------------------------------------------------------------------


def test_uniform_law_is_guessing():
    counts = np.array([1, 2, 3, 100, 10**4, 10**6, 10**9])
    np.testing.assert_allclose(uniform_law().accuracy(counts), 1 / counts, rtol=1e-7)
    np.testing.assert_allclose(uniform_law().cdf([0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.005)


@pytest.mark.parametrize("mu, tau", [(2.0, 1.0), (0.5, 2.0)])
def test_probit_normal_two_class_accuracy(mu, tau):
    expected = norm.cdf(mu / np.sqrt(1 + tau**2))
    assert float(probit_normal_law(mu, tau).accuracy(2)) == pytest.approx(expected, abs=1e-12)


def test_classes_that_never_meet_are_told_apart():
    model = IsotropicGaussian(100, 0.02)
    assert model.accuracy([2, 10**6]).tolist() == [1.0, 1.0]
    assert model.discriminability(0.999) == 0.0


def test_models_are_immutable_and_comparable():
    model = IsotropicGaussian(10, 0.3)
    assert model == IsotropicGaussian(10, 0.3, 1) and hash(model) == hash(
        IsotropicGaussian(10, 0.3)
    )
    with pytest.raises(AttributeError):
        model.sigma = 1.0
    with pytest.raises(AttributeError):
        BivariateNormal(0.5).rho = 0.7


@pytest.mark.parametrize("rho", [0.0, 1.0, -1.5, float("nan")])
def test_impossible_correlations_are_refused(rho):
    with pytest.raises(ParameterError, match="rho"):
        BivariateNormal(rho)


@pytest.mark.parametrize(
    "options, word",
    [
        ((0, 0.3), "n_dims"),
        ((2.5, 0.3), "n_dims"),
        ((5, 0.0), "sigma"),
        ((5, float("inf")), "sigma"),
        ((5, 0.3, 0), "n_train"),
        ((5, 0.3, 2, "median"), "represent"),
    ],
)
def test_impossible_classes_are_refused(options, word):
    with pytest.raises(ParameterError, match=word):
        IsotropicGaussian(*options)


def test_bad_label_sets_are_refused():
    for labels in ([], 3.0, [1.0, np.nan]):
        with pytest.raises(ParameterError, match="labels"):
            BivariateNormal(0.5).label_set_accuracy(labels)
    with pytest.raises(ParameterError, match="k must"):
        BivariateNormal(0.5).sample_label_sets(0, 10)
