"""Laws as plausible as the forecast one: their points, their curves, and how far they spread."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import f as fisher
from scipy.stats import kstest, norm
from scipy.stats import t as student

from headcount.curves.favorability import Favorability
from headcount.curves.laws import Laws, points, scattered
from headcount.estimators.auto.features import class_counts
from headcount.estimators.auto.laws import laws_around
from headcount.metrics import ACCURACY, MRR, DiscountedGain, Top
from headcount.simulate.theory import probit_normal_law
from plausible import spread

COUNTS = class_counts(10_000)
N = len(COUNTS)
# Errors of neighbours go together, and those of one end hardly with those of the other.
ALIKE = np.exp(-np.abs(np.subtract.outer(np.arange(N), np.arange(N))) / 4)
SIZES = np.linspace(0.4, 1.0, N)
FACTOR = SIZES[:, None] * np.linalg.cholesky(ALIKE)
SPREAD = np.linspace(0.1, 0.3, N)


def curve_of(law, counts):
    """Accuracies at numbers of classes that need not be whole."""
    return np.exp(np.multiply.outer(counts - 1, law.log_u)) @ law.weights


@pytest.fixture(scope="module")
def around():
    """Odds a little above those of a law, and the laws around them."""
    law = probit_normal_law(2.0, 1.0)
    odds = logit(curve_of(law, COUNTS)) + 0.1
    return law, odds, *laws_around(law, COUNTS, odds, SPREAD, FACTOR, 20.0)


# -- points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_dims, freedom", [(1, 5.0), (5, 3.0), (10, 20.0), (3, 1000.0)])
def test_points_follow_students_law(n_dims, freedom):
    made = points(n_dims, freedom)
    n = len(made)
    assert made.shape == (n, n_dims) and n >= 100
    for column in made.T:
        # Drawn at random, 128 points would come as close as .05 once in ten columns.
        assert kstest(column, student(freedom).cdf).statistic < 0.05
        quantiles = np.quantile(np.abs(column), [0.5, 0.9])
        np.testing.assert_allclose(quantiles, student(freedom).ppf([0.75, 0.95]), rtol=0.22)
    # One chi for all of a point: mean squares follow Fisher's law. There are 64 radii; random ones
    # would be off by .17 once in twenty times, and a chi of its own for each dimension by .2.
    radii = np.square(made[: n // 2]).mean(axis=1)
    assert kstest(radii, fisher(n_dims, freedom).cdf).statistic < 0.1


def test_points_lie_as_many_to_either_side_and_are_fixed():
    made = points(10, 20.0)
    assert (made != 0).all()
    # The same points, negated: sorted by any column they are each other's mirror.
    ordered, mirrored = made[np.argsort(made[:, 0])], -made[np.argsort(-made[:, 0])]
    np.testing.assert_allclose(ordered, mirrored)
    points.cache_clear()
    np.testing.assert_array_equal(points(10, 20.0), made)


def test_points_are_spread_more_evenly_than_random_ones():
    # Every sixteenth of each dimension has one in sixteen of 64 points (Sobol), within one.
    made = points(10, 1e9)[:64]
    for column in made.T:
        cells = np.bincount((norm.cdf(column) * 16).astype(int), minlength=16)
        assert np.abs(cells - 4).max() <= 1


# -- laws around a curve ----------------------------------------------------------------------------


def test_the_best_law_has_the_curve_and_the_others_lie_to_either_side(around):
    _, odds, best, laws = around
    np.testing.assert_allclose(logit(curve_of(best, COUNTS)), odds, atol=2e-3)
    got = logit(laws.values(COUNTS, ACCURACY))
    low, middle, high = np.quantile(got, [0.05, 0.5, 0.95], axis=0)
    wanted = student(20).ppf(0.95) * SPREAD * SIZES
    # Laws are smooth and come within .15 of a standard deviation of their curves: that keeps them
    # from going all the way, by a tenth or so; 128 points leave a tenth open (see above).
    for ratio in ((odds - low) / wanted, (high - odds) / wanted):
        assert (ratio > 0.8).all() and (ratio < 1.05).all()
    assert (np.abs(middle - odds) < 0.1 * SPREAD * SIZES).all()


def test_errors_go_together_as_the_factor_says(around):
    _, _, _, laws = around
    errors = logit(laws.values(COUNTS, ACCURACY))
    # Correlations of 128 points, half of them mirrored, have standard errors of at most .125.
    np.testing.assert_allclose(np.corrcoef(errors.T), ALIKE, atol=0.3)


def test_laws_are_laws_and_go_on_as_the_fit_where_nothing_is_known(around):
    law, _, best, laws = around
    for weights in (best.weights[None], laws.weights):
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(laws.p, law.p)
    curves = laws.values(np.geomspace(1, 1e6, 60), ACCURACY)
    assert (np.diff(curves, axis=1) <= 1e-12).all()
    # At an eighth of the classes and so on nothing is left open.
    few = COUNTS[0] / np.array([8.0, 64.0])
    np.testing.assert_allclose(
        laws.values(few, ACCURACY), np.tile(curve_of(law, few), (128, 1)), atol=1e-4
    )
    assert laws.values(COUNTS[:1], ACCURACY).std() > 3e-3


def test_no_spread_leaves_one_law():
    law = probit_normal_law(1.0, 0.8)
    odds = logit(curve_of(law, COUNTS))
    best, laws = laws_around(law, COUNTS, odds, np.zeros(N), FACTOR, 20.0)
    np.testing.assert_allclose(best.weights, law.weights, atol=1e-9)
    np.testing.assert_allclose(
        laws.weights, np.broadcast_to(law.weights, laws.weights.shape), atol=1e-9
    )
    assert (spread(laws.values(COUNTS, ACCURACY)) < 1e-6).all()


def test_spreads_grow_with_what_is_asked(around):
    law, odds, _, laws = around
    wider = laws_around(law, COUNTS, odds, 2 * SPREAD, FACTOR, 20.0)[1]
    ratio = spread(wider.values(COUNTS, ACCURACY)) / spread(laws.values(COUNTS, ACCURACY))
    assert ((ratio > 1.7) & (ratio < 2.1)).all()


def test_two_classes_have_several_goals_at_two():
    # Ratios below one all mean two classes there; the laws must not be asked for two things.
    counts = class_counts(2)
    assert (counts == 2).sum() > 2
    law = probit_normal_law(1.0, 1.0)
    odds = logit(curve_of(law, counts)) - 0.2
    best, laws = laws_around(law, counts, odds, np.full(N, 0.2), np.eye(N), 20.0)
    np.testing.assert_allclose(logit(curve_of(best, counts)), odds, atol=5e-3)
    assert np.isfinite(laws.weights).all()
    # What is wanted at less than two classes is not heard, only what is at K.
    odds[:3] += 1.0
    other, _ = laws_around(law, counts, odds, np.full(N, 0.2), np.eye(N), 20.0)
    np.testing.assert_allclose(other.weights, best.weights, atol=1e-12)


# -- metrics under laws -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "least"),
    [(ACCURACY, 5e-3), (Top(5), 5e-3), (MRR, 5e-4), (DiscountedGain(10), 5e-4)],
)
def test_values_are_those_of_each_law(around, metric, least):
    _, _, _, laws = around
    ks = np.array([1, 2, 6, 100, 10_000, 10**9])
    values = laws.values(ks, metric)
    assert values.shape == (len(laws.weights), len(ks))
    for row in (0, 17, 127):
        expected = Favorability(laws.p, laws.weights[row]).value(ks, metric)
        np.testing.assert_allclose(values[row], expected, rtol=1e-9, atol=1e-14)
    assert values[:, 3].std() > least


def test_a_metric_is_computed_once_for_all_laws(around):
    """Not law by law, which took a hundred times as long."""

    class Counted(Top):
        asked = 0

        def of_nodes(self, p, k):
            self.asked += 1
            return super().of_nodes(p, k)

        def of_law(self, law, k):
            raise AssertionError("law by law")

    metric = Counted(5)
    around[-1].values(np.array([10, 100]), metric)
    assert metric.asked == 1


def test_values_know_probes_never_beaten_and_always():
    laws = Laws(np.array([0.0, 0.5, 1.0]), np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]))
    values = laws.values(np.array([1, 2, 3, 10**9]), ACCURACY)
    np.testing.assert_allclose(values[0], [1, 0.35, 0.275, 0.2], atol=1e-12)
    np.testing.assert_allclose(values[1], [1, 0.5, 0.25, 0], atol=1e-12)


def test_scattered_points_are_normal_and_go_with_no_others():
    made = scattered(128)
    np.testing.assert_allclose(np.sort(made)[::2], norm.ppf((np.arange(64) + 0.5) / 64))
    for column in points(10, 20.0).T:
        assert abs(np.corrcoef(made, column)[0, 1]) < 1e-12
    assert len(scattered(5)) == 5
