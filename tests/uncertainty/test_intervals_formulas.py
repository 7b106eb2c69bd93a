"""Intervals as quantiles over plausible curves, and as counts up to the pilot's size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

from headcount import Pilot, forecast, observe
from headcount.metrics import ACCURACY
from headcount.uncertainty.asymptotics import metric_error
from headcount.uncertainty.measured import probe_variance
from headcount.uncertainty.quantiles import joined_quantiles, quantiles_of
from headcount.uncertainty.refitted import stepped, steps_between
from interval_pilots import bare, gaussian, make_uncertainty, normal_moves

Z = stats.norm.ppf(0.95)


@pytest.fixture(scope="module")
def result():
    return forecast(gaussian(), classes=[60, 120], method="probit-normal")


@pytest.fixture(scope="module")
def by_laws():
    return {
        metric: forecast(gaussian(sigma=0.5), classes=[120], metric=metric)
        for metric in ("accuracy", "top-5", "mrr")
    }


# -- quantiles over the laws -----------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["accuracy", "top-5", "mrr"])
def test_limits_are_quantiles_over_the_laws(by_laws, metric):
    made = by_laws[metric]
    _, fitted = made._fitted
    ks = made.uncertainty.grid
    ks = ks[(ks >= 120) & (made.value(ks) > 1 / 180)]  # less than half a probe is taken as that
    values = fitted.laws_.values(ks.astype(float), made.metric)
    assert len(ks) > 10 and len(values) == 128
    for confidence in (0.5, 0.8, 0.9, 0.95):
        levels = [(1 - confidence) / 2, (1 + confidence) / 2]
        start = logit(made.value(ks))
        steps = steps_between(start, logit(values))
        ends = expit(stepped(start, np.quantile(steps, levels, axis=0, method="hazen")))
        lower, upper = made.uncertainty.band(made.value(ks), ks, confidence)
        estimate = made.value(ks)
        # Moves are kept to a millionth of log odds, in which they are nearly straight.
        np.testing.assert_allclose(lower, np.minimum(ends[0], estimate), atol=1e-6)
        np.testing.assert_allclose(upper, np.maximum(ends[1], estimate), atol=1e-6)


def test_limits_of_the_capacity_are_quantiles_of_the_laws_capacities(by_laws):
    # Values that fall: the lower limit crosses where 5% of the laws have crossed before.
    made = by_laws["accuracy"]
    _, fitted = made._fitted
    for target in (0.58, 0.55):
        ks = np.geomspace(120, 50 * 60, 4000)
        values = fitted.laws_.values(ks, ACCURACY)
        capacities = np.exp([np.interp(-target, -row, np.log(ks)) for row in values])
        ends = np.quantile(capacities, [0.05, 0.95], method="hazen")
        assert 130 < ends[0] < ends[1] < 2900
        # Between the points of the grid, 9% apart, moves are straight.
        assert made.capacity_interval(target) == pytest.approx(ends, rel=0.02)


def test_past_what_so_few_curves_show_quantiles_are_students():
    for freedom in (4.0, 20.0):
        points = stats.t(freedom).ppf((np.arange(128) + 0.5) / 128)
        levels = [1e-4, 0.005, 0.0249, 0.3, 0.5, 0.9, 0.9995]
        found = quantiles_of(points, levels, freedom)
        np.testing.assert_allclose(found, stats.t(freedom).ppf(levels), rtol=0.01, atol=1e-9)
    # Other points are stretched as far from their median as that law is.
    odd = quantiles_of(points**3 + 1, [0.025, 0.5, 0.001], 20.0)
    stretch = stats.t(20).ppf(0.001) / stats.t(20).ppf(0.025)
    assert odd[2] - odd[1] == pytest.approx(stretch * (odd[0] - odd[1]))


def test_between_and_past_the_points_of_the_grid_moves_follow_log_k():
    known = make_uncertainty()
    value, half_way = 0.6, round(10**2.5)
    lower, upper = known.band(value, half_way, 0.9)
    part = math.log10(half_way / 100)
    reach = Z * (0.3 + part * 0.2)
    expected = stepped(logit(0.6), [-reach, reach])
    assert [logit(lower), logit(upper)] == pytest.approx(expected, rel=2e-3)
    assert known.spread([1000, 10_000, 10**20]) == pytest.approx([0.5] * 3, rel=2e-3)
    alone = make_uncertainty(grid=np.array([100]), moves=normal_moves([0.3]), sampled=np.ones(1))
    assert alone.spread([101, 10**6]) == pytest.approx([0.3] * 2, rel=2e-3)


def test_the_share_of_sampling_is_all_up_to_k_and_straight_beyond():
    known = make_uncertainty()
    assert known.sampled_share([2, 100, 1000, 10**6]).tolist() == [1, 1, 0.5, 0.5]
    assert known.sampled_share(316) == pytest.approx(1 - 0.5 * math.log10(3.16))


def test_errors_of_another_pilot_are_larger_or_smaller_by_a_factor():
    known = make_uncertainty()
    for k in (50, 100):
        plain, half = (np.diff(logit(known.limits(0.6, k, 0.9, factor))) for factor in (1.0, 0.5))
        assert half == pytest.approx(plain / 2, rel=0.02)
    factors = np.array([[0.5, 1.0], [2.0, 1.0]])
    lower, _ = known.limits(np.full((2, 2), 0.6), np.full((2, 2), 1000), 0.9, factors)
    expected = expit(stepped(logit(0.6), -Z * 0.5 * factors))
    np.testing.assert_allclose(lower, expected, rtol=2e-3)


def jeffreys(accuracy, spread, n_classes):
    """Limits at 90%: as many probes as have the spread, less for Student's t."""
    n = accuracy * (1 - accuracy) / spread**2
    n *= (stats.norm.ppf(0.95) / stats.t(n_classes - 1).ppf(0.95)) ** 2
    return stats.beta(n * accuracy + 0.5, n * (1 - accuracy) + 0.5).ppf([0.05, 0.95])


def test_up_to_the_pilot_limits_are_jeffreys():
    # Nothing learned is in them: with 0.3 for log odds, 0.3 * 0.8 * 0.2 for the accuracy.
    np.testing.assert_allclose(make_uncertainty().band(0.8, 100, 0.9), jeffreys(0.8, 0.048, 100))
    other = make_uncertainty(moves=normal_moves([3.0, 3.0]))
    assert make_uncertainty().band(0.8, 100, 0.9) == other.band(0.8, 100, 0.9)
    # One error in 5,000 is less than half of one in 500 probes, whose log odds the error is of.
    spread = 0.1 * 0.001 * 0.999
    np.testing.assert_allclose(
        make_uncertainty().band(0.9998, 10, 0.9)[0], jeffreys(0.9998, spread, 100)[0]
    )


def test_between_k_and_twice_k_limits_go_over_in_log_k():
    known = make_uncertainty(moves=normal_moves([0.5, 0.5]))
    near = logit(jeffreys(0.8, 0.3 * 0.16, 100))
    far = stepped(logit(0.8), 0.5 * Z * np.array([-1, 1]))
    part = math.log2(1.41)
    expected = expit((1 - part) * near + part * far)
    np.testing.assert_allclose(known.band(0.8, 141, 0.9), expected, rtol=1e-3)
    np.testing.assert_allclose(known.band(0.8, 200, 0.9), expit(far), rtol=1e-3)


@pytest.mark.parametrize("accuracy", [1 - 1e-12, 1 - 1e-5, 1e-5, 1e-12])
def test_just_past_k_limits_go_on_from_those_of_all_right_or_wrong(accuracy):
    """A forecast nearer to one than 500 probes can show is as good as half of one wrong."""
    known = make_uncertainty(observed_error=np.full(2, 1.4), moves=normal_moves([1.4, 1.4]))
    shown = float(np.clip(accuracy, 1e-3, 1 - 1e-3))
    own, plain = known.band(accuracy, 101, 0.9), known.band(shown, 101, 0.9)
    inner = 0 if accuracy > 0.5 else 1  # the other limit is open
    assert own[inner] == pytest.approx(plain[inner], abs=1e-9)
    measured = known.band(round(accuracy), 100, 0.9)[inner]
    assert abs(own[inner] - measured) < 0.01


@given(
    wrong=st.integers(0, 300),
    k=st.integers(2, 400),
    error=st.floats(1e-3, 2),
    confidence=st.floats(0.05, 0.99),
)
def test_limits_hold_the_estimate_and_grow_with_confidence(wrong, k, error, confidence):
    known = make_uncertainty(
        observed_error=np.full(2, error), moves=normal_moves([error, 2 * error])
    )
    accuracy = 1 - wrong / 300
    lower, upper = known.band(accuracy, k, confidence)
    assert 0 <= lower <= accuracy <= upper <= 1
    wider = known.band(accuracy, k, confidence + 0.005)
    assert wider[0] <= lower + 1e-12 and wider[1] >= upper - 1e-12


@pytest.mark.parametrize("errors_expected", [0.5, 1.4, 3.0, 10.0])
def test_intervals_of_few_errors_cover_without_waste(errors_expected):
    """No interval from a count covers 90% everywhere: at least 85%, and narrower than exact ones."""
    n, truth = 84, 1 - errors_expected / 84
    covered = width = exact = 0.0
    for wrong in range(n + 1):
        accuracy = 1 - wrong / n
        shown = np.clip(accuracy, 0.5 / n, 1 - 0.5 / n)
        error = math.sqrt(1 / (n * shown * (1 - shown)))
        known = make_uncertainty(
            n_classes=n, n_probes=n, observed_error=np.full(2, error), inside=np.array([2, n])
        )
        lower, upper = known.band(accuracy, n, 0.9)
        chance = stats.binom(n, 1 - truth).pmf(wrong)
        covered += chance * (lower <= truth <= upper)
        width += chance * float(upper - lower)
        ends = stats.binomtest(wrong, n).proportion_ci(0.9, "exact")
        exact += chance * (ends.high - ends.low)
    assert covered > 0.85
    assert width < 1.02 * exact  # Student's t adds one hundredth


def test_hardly_any_classes_are_taken_as_seven():
    few = make_uncertainty(n_classes=2, inside=np.array([2]), observed_error=np.array([0.3]))
    n = 0.8 * 0.2 / 0.048**2 * (Z / stats.t(6).ppf(0.95)) ** 2  # where one degree would say 6.3
    ends = stats.beta(n * 0.8 + 0.5, n * 0.2 + 0.5).ppf([0.05, 0.95])
    np.testing.assert_allclose(few.band(0.8, 2, 0.9), ends)


def test_an_estimate_is_held_even_where_all_curves_are_above_it():
    far = make_uncertainty(moves=normal_moves([0.3, 0.5], shift=3.0))
    lower, upper = far.band(0.6, 1000, 0.01)
    assert lower == 0.6 < upper


# -- single sets -----------------------------------------------------------------------------------


def test_luck_that_joins_normal_errors_leaves_them_normal():
    points = normal_moves([3.0, 0.5, 1.0])
    found = joined_quantiles(points, np.array([4.0, 0.0, 1e-9]), [0.05, 0.3, 0.975], 1e6)
    expected = np.multiply.outer(stats.norm.ppf([0.05, 0.3, 0.975]), [5.0, 0.5, 1.0])
    np.testing.assert_allclose(found, expected, rtol=0.005)
    # Without luck they are those of the points themselves, of whatever law.
    odd = np.exp(points)
    alone = joined_quantiles(odd, np.zeros(3), [0.05, 0.9], 20.0)
    np.testing.assert_allclose(alone, quantiles_of(odd, [0.05, 0.9], 20.0), rtol=1e-6)


def test_luck_that_joins_any_errors_is_a_convolution():
    rng = np.random.default_rng(0)
    points = np.sort(rng.exponential(size=(128, 1)), axis=0)
    found = joined_quantiles(points, np.array([0.7]), [0.05, 0.5, 0.95], 20.0)
    evenly = quantiles_of(points[:, 0], (np.arange(5000) + 0.5) / 5000, 20.0)
    drawn = rng.choice(evenly, 400_000)
    drawn += 0.7 * rng.normal(size=400_000)
    # A quantile of 400,000 draws has a standard error of less than a hundredth.
    np.testing.assert_allclose(found[:, 0], np.quantile(drawn, [0.05, 0.5, 0.95]), atol=0.02)


def test_sets_follow_the_formula():
    known = make_uncertainty()
    classes, probes = known.set_variance(np.array(0.5), np.array(400.0), 2)
    # Variance of accuracy: a quarter for four times the classes, 0.25 for 0.16 from A (1 - A),
    # and 5 / 2 for two probes in place of five; over (A (1 - A))^2 for log odds.
    assert float(classes) == pytest.approx(9e-4 / 4 * 0.25 / 0.16 / 0.25**2)
    assert float(probes) == pytest.approx(4e-4 / 4 * 2.5 * 0.25 / 0.16 / 0.25**2)
    assert known.set_variance(np.array(0.5), np.array(400.0), None)[1] == 0


def test_a_new_set_is_what_draws_say():
    rng = np.random.default_rng(0)
    known, n = make_uncertainty(), 200_000
    for k, spread in ((200, 0.3 + 0.2 * math.log10(2)), (1000, 0.5), (1, None)):
        if spread is None:
            continue
        luck = math.sqrt(sum(known.set_variance(np.array(0.5), np.array(float(k)), 2)))
        drawn = stepped(logit(0.5), spread * rng.normal(size=n) + luck * rng.normal(size=n))
        found = known.band(0.5, k, 0.9, "new_set", 2)
        np.testing.assert_allclose(logit(found), np.quantile(drawn, [0.05, 0.95]), rtol=0.02)


def test_a_new_set_of_endless_classes_and_probes_is_what_is_expected():
    known = make_uncertainty()
    for k in (10**9, 10**12):
        np.testing.assert_allclose(
            known.band(0.5, k, 0.9, "new_set", 10**6), known.band(0.5, k, 0.9), rtol=1e-4
        )


def test_a_grown_set_at_k_is_what_was_measured_but_for_the_luck_of_its_probes():
    still = make_uncertainty(class_variance=(0.3 * 0.16) ** 2, probe_variance=0.0)
    np.testing.assert_allclose(still.band(0.8, 100, 0.9, "grown_set"), 0.8, rtol=1e-5)
    known = make_uncertainty(class_variance=5e-4, probe_variance=(0.3 * 0.16) ** 2 - 5e-4)
    lower, upper = known.band(0.8, 100, 0.9, "grown_set")
    deviation = math.sqrt(known.probe_variance)
    np.testing.assert_allclose([lower, upper], jeffreys(0.8, deviation, 100), rtol=1e-9)


def test_a_grown_set_is_what_draws_of_classes_and_probes_say():
    # Means of random parts, drawn: the estimate has those of the pilot's classes and its probes,
    # the set those of all its classes and of its own test. Errors are those of sampling alone.
    rng = np.random.default_rng(0)
    n, k, per_class, r = 100, 250, 5, 2
    error = math.sqrt(13e-4) / 0.25
    known = make_uncertainty(
        observed=0.5, observed_error=np.full(2, error), moves=normal_moves([error, error])
    )
    by_class = rng.normal(0, math.sqrt(9e-4 * n), size=(20_000, k))
    noise = math.sqrt(4e-4 * n * per_class)
    estimate = by_class[:, :n].mean(axis=1) + rng.normal(
        0, noise / math.sqrt(n * per_class), 20_000
    )
    grown = by_class.mean(axis=1) + rng.normal(0, noise / math.sqrt(k * r), 20_000)
    lower, upper = known.band(0.5, k, 0.9, "grown_set", r)
    # A deviation over 20,000 draws has a standard error of 0.5%; accuracies are not quite linear.
    assert float(upper - lower) / 2 / Z == pytest.approx(np.std(estimate - grown), rel=0.03)


def test_a_grown_set_by_the_formula():
    """One curve after the other, with the luck of everything drawn."""
    rng = np.random.default_rng(1)
    known = make_uncertainty(moves=normal_moves([0.3, 0.5], shift=0.1), observed=0.7)
    k, value, n = 400, 0.45, 300_000
    stays, total = 1 / 4, 13e-4
    share, error = 4 / 13, math.sqrt(total) / 0.21
    z = rng.normal(size=n)
    far = 0.1 + (0.3 + 0.2 * math.log10(4)) * z
    kept = expit(stepped(logit(0.7), share * error * z)) / expit(stepped(logit(0.7), 0.3 * z))
    sets = expit(stepped(logit(value), far)) * (stays * kept + 1 - stays)
    passed = stays * error * 0.3 / (1 - value)
    classes, probes = known.set_variance(np.array(value), np.array(float(k)), 2)
    luck = passed**2 * share * (1 - share) + (1 - stays) * classes + probes
    moves = steps_between(logit(value), logit(sets)) + math.sqrt(luck) * rng.normal(size=n)
    drawn = stepped(logit(value), moves)
    found = logit(known.band(value, k, 0.9, "grown_set", 2))
    np.testing.assert_allclose(found, np.quantile(drawn, [0.05, 0.95]), atol=0.02)


def test_up_to_the_pilot_the_error_is_that_of_the_jackknife(result):
    pilot, ks = gaussian(), np.array([2, 60])
    accuracy = observe(pilot).accuracy(ks)
    error = metric_error(pilot, ks) / (accuracy * (1 - accuracy))
    inside = np.clip(accuracy, 0.5 / 180, 1 - 0.5 / 180)
    found = result.uncertainty.spread(ks)
    assert found[1] == pytest.approx(error[1], rel=1e-9)
    assert found[0] == pytest.approx(
        metric_error(pilot, 2) / (inside[0] * (1 - inside[0])), rel=1e-9
    )


def test_counts_with_labels_vary_by_class():
    # Two probes of each class that are always alike are worth one.
    losses = np.random.default_rng(0).integers(0, 2, 100)
    alone = bare(Pilot.from_losses(losses, 100, labels=np.arange(100)))
    twins = bare(Pilot.from_losses(np.repeat(losses, 2), 100, labels=np.repeat(np.arange(100), 2)))
    strangers = bare(Pilot.from_losses(np.repeat(losses, 2), 100))
    np.testing.assert_allclose(twins.observed_error, alone.observed_error)
    np.testing.assert_allclose(strangers.observed_error, alone.observed_error / math.sqrt(2))
    share = float(observe(Pilot.from_losses(losses, 100)).accuracy(100))
    assert alone.class_variance == pytest.approx(share * (1 - share) / 100)
    assert twins.probe_variance == 0 and twins.told_apart


# -- by simulation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_variance_that_probes_bring_by_hand(average):
    # Right are 1 of 1, 1 of 2 and 2 of 3 probes. The spread of a class with one probe is not
    # known: the mean of those of the others, 1/2 and 1/3, stands in.
    labels = [0, 1, 1, 2, 2, 2]
    pilot = Pilot.from_losses([0, 0, 1, 0, 0, 3], 9, labels=labels, average=average)
    spread = {0: 5 / 12, 1: 1 / 2, 2: 1 / 3}
    share = {"macro": (1 / 3, 1 / 3, 1 / 3), "micro": (1 / 6, 2 / 6, 3 / 6)}[average]
    expected = sum(share[c] ** 2 * spread[c] / labels.count(c) for c in range(3))
    assert probe_variance(pilot, ACCURACY) == pytest.approx(expected, rel=1e-12)
