"""Intervals of forecasts over training sizes, and sets whose classes differ in training."""

import json
import math

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm, t

import headcount
from headcount import DataError, ParameterError, Pilot
from headcount.metrics import ACCURACY
from headcount.questions.learning_curve import (
    PRIOR,
    CurveError,
    PilotFit,
    Prior,
    TrainingLaw,
    TrainingSizes,
    fit_learning_curve,
)
from headcount.questions.training import GROUPS, forecast_training
from headcount.simulate.theory import probit_normal_law
from headcount.uncertainty.jackknife import MetricJackknife, metric_covariance
from headcount.uncertainty.refitted import MODEL

SIZES = (1, 2, 4, 8)


def at_each_size(n_classes=40, sizes=SIZES, sigma=0.8, n_dims=8, n_probes=3, seed=0, names=None):
    """The same classes and probes, each class represented by the mean of r training points."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_dims))
    probes = centres[:, None] + sigma * rng.normal(size=(n_classes, n_probes, n_dims))
    points = centres[:, None] + sigma * rng.normal(size=(n_classes, int(max(sizes)), n_dims))
    names = np.arange(n_classes) if names is None else names
    return {
        r: Pilot.from_embeddings(
            probes.reshape(-1, n_dims), np.repeat(names, n_probes), points[:, :r].mean(1), names
        )
        for r in sizes
    }


@pytest.fixture(scope="module")
def result():
    return forecast_training(at_each_size(), [20, 40, 500], [8, 32])


# -- intervals -------------------------------------------------------------------------------------


def test_intervals_are_around_values_and_wider_further_out(result):
    lower, upper = result.interval([20, 40, 500], 32)
    values = result.value([20, 40, 500], 32)
    assert (lower < values).all() and (values < upper).all()
    spread = logit(upper) - logit(lower)
    assert spread[2] > spread[1]
    near, far = (result.interval(40, size) for size in (16, 500))
    assert near[1] - near[0] < far[1] - far[0]


def test_limits_are_symmetric_on_the_scale_of_errors(result):
    """By the formula: log(-log(1 - A)) plus and minus Student's t times the error."""
    k = 500
    sizes = TrainingSizes.equal(32)
    value = float(result.value(k, 32))
    error = float(result.error(k, sizes, ACCURACY))
    reach = t.ppf(0.95, GROUPS - 1) * error * value / -math.log(1 - value)
    middle = math.log(-math.log(1 - value))
    expected = [1 - math.exp(-math.exp(middle + side * reach)) for side in (-1, 1)]
    assert [float(limit) for limit in result.interval(k, 32)] == pytest.approx(expected)


def test_where_measured_the_error_is_that_of_the_pilot(result):
    """A jackknife over classes, as every forecast has it; not that of the curve."""
    pilot = at_each_size()[8]
    lower, upper = result.interval(40, 8)
    measured = headcount.forecast(pilot, classes=40, method="no-change").interval(40)
    assert float(upper - lower) == pytest.approx(measured[1] - measured[0], rel=0.05)
    beyond = result.interval(41, 8)
    assert beyond[0] < result.value(41, 8) < beyond[1]


def test_the_error_has_three_parts():
    """Groups of classes, the priors, and the shape past K: by hand on laws that are given."""
    laws = [TrainingLaw(1, a, 1.0, 0.7, -0.2, 0.0) for a in (2.0, 2.1, 2.3)]
    pairs = ((laws[0], laws[1]), (laws[1], laws[1]))
    error = CurveError(100, laws[0], tuple(laws), pairs)
    sizes = TrainingSizes.equal(16)
    for k in (50, 400):
        odds = [logit(float(law.accuracy(k, 16))) for law in laws]
        expected = (
            2 / 3 * sum((each - np.mean(odds)) ** 2 for each in odds)
            + ((odds[1] - odds[0]) / 2) ** 2
        )
        if k > 100:
            expected += (MODEL.scale * math.log(4) ** MODEL.power) ** 2
        assert float(error(k, sizes, ACCURACY)) == pytest.approx(math.sqrt(expected))


def test_what_a_jackknife_counts_twice_is_taken_off(result):
    """By leaving out pairs of classes for what the pilots measured, averaged over them."""
    shares = []
    for pilot in at_each_size().values():
        jackknife = MetricJackknife(pilot)
        once = jackknife.without_one(np.array([39]))[:, 0]
        plain = 39 / 40 * float(((once - once.mean()) ** 2).sum())
        shares.append(float(metric_covariance(pilot, 39)[0, 0]) / plain)
    assert min(shares) > 0.5 and max(shares) < 1
    assert result.error.share == pytest.approx(np.mean(shares))
    odds = [logit(float(law.accuracy(40, 8))) for law in result.error.resampled]
    spread = (GROUPS - 1) / GROUPS * sum((each - np.mean(odds)) ** 2 for each in odds)
    sampled, _ = result.error.parts(40, TrainingSizes.equal(8), ACCURACY)
    assert float(sampled) == pytest.approx(np.mean(shares) * spread)


def test_each_prior_is_moved_by_its_standard_deviation():
    (low_rate, high_rate), (low_slope, high_slope), (low, high) = PRIOR.moved()
    assert high_rate.log_rate - low_rate.log_rate == pytest.approx(2 * 0.5)
    assert (high_rate.slope, high_rate.uneven) == (0, 0)
    assert (low_slope.slope, high_slope.slope) == (-0.3, 0.3)
    assert (low.uneven, high.uneven) == (-0.5, 0.5)


def test_the_curve_follows_a_prior_where_data_say_nothing():
    """One size told exactly, the others not at all: rate and slope are what is expected."""
    sizes = [TrainingSizes.equal(r) for r in (1, 2, 4)]
    nothing = np.zeros((2, 2))
    fits = [
        PilotFit(own, own, 100, np.array([1.0, -0.2]), information)
        for own, information in zip(sizes, (1e6 * np.eye(2), nothing, nothing), strict=True)
    ]
    law = fit_learning_curve(fits, Prior(log_rate=math.log(1.3), slope=0.2, uneven=0.1))
    assert law.rate == pytest.approx(1.3, rel=1e-3)
    assert law.log_spread_gain == pytest.approx(0.2, abs=1e-3)
    assert law.uneven_gain == pytest.approx(0.1, abs=1e-6)


def test_one_step_leads_near_the_fit_to_a_part_of_the_classes():
    pilot = at_each_size(n_classes=60, n_probes=5)[4]
    sizes = TrainingSizes.equal(4)
    whole = PilotFit.of(pilot, sizes)
    np.testing.assert_allclose(whole.step(pilot), 0, atol=2e-3)
    half = pilot.subset(pilot.class_names[::2])
    there = PilotFit.of(half, sizes).estimate - whole.estimate
    step = whole.step(half)
    assert np.abs(step - there).max() < 0.35 * np.abs(there).max()


def test_more_classes_and_a_lower_level_make_intervals_narrower(result):
    larger = forecast_training(at_each_size(n_classes=160), 500, 32)
    widths = [np.diff(each.interval(500, 32)) for each in (result, larger)]
    assert widths[1] < 0.75 * widths[0]
    lower = forecast_training(at_each_size(), 500, 32, confidence=0.5)
    assert np.diff(lower.interval(500, 32)) < 0.5 * widths[0]


def test_intervals_do_not_depend_on_the_order_of_pilots_and_rows_but_on_the_seed(result):
    pilots = at_each_size()
    turned = {r: pilots[r].keep_probes(np.arange(120)[::-1]) for r in (4, 1, 8, 2)}
    again = forecast_training(turned, [20, 40, 500], [8, 32])
    np.testing.assert_allclose(again.interval(500, 32), result.interval(500, 32), atol=1e-9)
    other = forecast_training(pilots, 500, 32, random_state=1)
    assert other.interval(500, 32)[0] != result.interval(500, 32)[0]
    assert other.value(500, 32) == result.value(500, 32)


def test_no_intervals_where_nothing_is_known_or_wanted():
    pilots = at_each_size()
    without = forecast_training(pilots, 500, 32, intervals=False)
    assert without.interval(500, 32) is None
    assert "No intervals: they were not asked for." in repr(without)
    few = forecast_training(at_each_size(n_classes=9), 50, 32)
    assert few.interval(50, 32) is None and "9 classes say too little" in repr(few)
    assert few.to_dict()["values"][0]["lower"] is None


def test_probes_of_one_class_alone_give_no_interval():
    pilots = {r: pilot.keep_probes([0, 1, 2]) for r, pilot in at_each_size().items()}
    result = forecast_training(pilots, 50, 32)
    assert result.interval(50, 32) is None and "all probes are of one class" in repr(result)


def test_words_and_rows_have_the_limits(result):
    row = result.to_frame().query("training_size == 32 and classes == 500").iloc[0]
    assert (row.lower, row.upper) == tuple(float(end) for end in result.interval(500, 32))
    ends = ACCURACY.write_range(row.lower, row.upper)
    assert f"training size 32: {ACCURACY.write(row.value)} (90% interval {ends})." in repr(result)
    assert "(measured, 90% interval" in repr(result)
    held = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert held["confidence"] == 0.9 and held["values"][-1]["upper"] == row.upper


def test_all_right_has_an_upper_limit_of_one():
    pilots = at_each_size(sigma=0.05)
    with pytest.warns(headcount.AssumptionWarning, match="all 120 probes are right"):
        result = forecast_training(pilots, [40, 100], 16)
    lower, upper = (float(limit) for limit in result.interval(40, 8))
    assert upper == 1 and 0.9 < lower < 1
    lower, upper = (float(limit) for limit in result.interval(100, 16))
    assert 0 < lower < upper <= 1


# -- unequal sizes ---------------------------------------------------------------------------------


def test_a_law_of_unequal_sizes_by_hand():
    law = TrainingLaw(1.0, 3.0, 1.2, 0.5, -0.2, 0.1, 0.4)
    sizes = TrainingSizes((1.0, 16.0), (0.75, 0.25))
    mean = 0.75 * 1 + 0.25 * 0.25
    expected = 0.0
    for share, short in ((0.75, 1.0), (0.25, 0.25)):
        mu = 3 - 1.2 * short - 0.4 * (short - mean)
        expected += share * float(probit_normal_law(mu, math.exp(-0.2 + 0.1 * short)).accuracy(50))
    assert float(law.mixed_value(50, sizes)) == pytest.approx(expected)
    alike = TrainingSizes.equal(16.0)
    assert float(law.mixed_value(50, alike)) == float(law.accuracy(50, 16.0))
    assert sizes.mean == 0.75 * 1 + 0.25 * 16


def drawn(mu, tau, n_probes, n_classes, rng):
    return rng.binomial(n_classes - 1, 1 - norm.cdf(mu + tau * rng.normal(size=n_probes)))


def unequal(by_class, seed=0, n_probes=5):
    """Losses from the model itself: a = 2.5, b = 1, h = 0.5, c = 0.7, tau = 0.8."""
    rng = np.random.default_rng(seed)
    short = np.asarray(by_class, float) ** -0.7
    mu = 2.5 - short - 0.5 * (short - short.mean())
    losses = np.concatenate([drawn(m, 0.8, n_probes, len(mu), rng) for m in mu])
    labels = np.repeat(np.arange(len(mu)), n_probes)
    return Pilot.from_losses(losses, len(mu), labels=labels)


def test_unequal_sets_find_their_own_model():
    sets = [[1, 1, 1, 32], [1, 32, 32, 32], [4, 4, 4, 4]]
    pairs = [
        (sizes, unequal(sizes, seed))
        for seed, sizes in enumerate(np.tile(sizes, 300).astype(float) for sizes in sets)
    ]
    result = forecast_training(pairs, 1000, [{1: 0.5, 32: 0.5}, 32])
    law = result.law
    # How far a class of endless training is ahead of one of size 1: on its own, and with all.
    assert law.gain + law.uneven_gain == pytest.approx(1.5, abs=0.35)
    assert law.uneven_gain == pytest.approx(0.5, abs=0.25)
    truth = np.mean(
        [
            float(probit_normal_law(2.5 - s - 0.5 * (s - m), 0.8).accuracy(1000))
            for s in (1, 32**-0.7)
            for m in [(1 + 32**-0.7) / 2]
        ]
    )
    assert float(result.value(1000, {1: 0.5, 32: 0.5})) == pytest.approx(truth, abs=0.02)
    equal = float(probit_normal_law(2.5 - 32**-0.7, 0.8).accuracy(1000))
    assert float(result.value(1000, 32)) == pytest.approx(equal, abs=0.03)


def test_one_set_of_unequal_sizes_is_enough_where_it_has_three():
    by_class = np.tile([1.0, 3.0, 9.0], 20)
    pilot = unequal(by_class, n_probes=60)
    result = forecast_training([(by_class, pilot)], 200, 9)
    assert result.backtest is None and result.to_dict()["backtest"] is None
    sizes = {1: 1, 3: 1, 9: 1}
    # As measured up to K, the law beyond, close to each other at K.
    assert result.value(60, sizes) == headcount.observe(pilot).accuracy(60)
    assert float(result.law.mixed_value(60, TrainingSizes.of(by_class))) == pytest.approx(
        float(result.value(60, sizes)), abs=0.02
    )
    assert float(result.value(200, 9)) > float(result.value(200, sizes))
    assert "training size 1 to 9 (mean 4.33333)" in repr(
        forecast_training([(by_class, pilot)], 200, sizes)
    )


def test_sizes_come_by_name_or_in_the_order_of_the_classes():
    names = np.array([f"c{i:02}" for i in range(40)])
    pilots = at_each_size(names=names)
    by_class = np.repeat([1.0, 2.0], 20)
    mixed = at_each_size(names=names)[2]
    by_name = dict(zip(names[::-1].tolist(), by_class[::-1], strict=True))
    results = [
        forecast_training([(1, pilots[1]), (4, pilots[4]), (sizes, mixed)], 100, 8, intervals=False)
        for sizes in (by_class, by_name)
    ]
    assert results[0].law == results[1].law
    assert results[0].to_dict()["n_probes"][1] == {"training_size": 1.5, "probes": 120}
    frame = results[0].to_frame()
    assert frame["unequal"].tolist() == [False] * 2 + [True] * 2 + [False] * 4


def test_many_different_sizes_become_four_groups():
    by_class = np.geomspace(1, 100, 40)
    pilots = at_each_size(names=np.arange(40))
    result = forecast_training([(by_class, pilots[4]), (8, pilots[8])], 100, [{1: 1, 100: 1}])
    lower, upper = result.interval(100, {1: 1, 100: 1})
    assert 0 < lower < result.value(100, {1: 1, 100: 1}) < upper < 1
    # Back-test: the unequal set has the larger mean, and one size is not enough to forecast it.
    assert result.backtest is None


def test_the_largest_set_is_forecast_even_if_its_sizes_are_unequal():
    pilots = at_each_size()
    by_class = np.repeat([4.0, 16.0], 20)
    result = forecast_training(
        [(1, pilots[1]), (2, pilots[2]), (by_class, pilots[8])], 100, 16, intervals=False
    )
    test = result.backtest
    assert (test.training_size, test.used) == (10, (1, 2))
    law = forecast_training({r: pilots[r] for r in (1, 2, 4)}, 100, 4, intervals=False).law
    fits = [PilotFit.of(pilots[r], TrainingSizes.equal(r)) for r in (1, 2)]
    law = fit_learning_curve(fits)
    expected = law.mixed_value(list(test.classes), TrainingSizes.of(by_class))
    np.testing.assert_allclose(test.forecast, expected)


@pytest.mark.parametrize(
    "sizes, error, message",
    [
        ([1.0, 2.0], DataError, "2 training sizes given for a pilot of 40 classes"),
        ({0: 1.0}, DataError, "39 of 40 classes have no training size"),
        (np.zeros(40), ParameterError, "must be a number above 0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, error, message):
    pilots = at_each_size()
    with pytest.raises(error, match=message):
        forecast_training([(sizes, pilots[1]), (2, pilots[2]), (4, pilots[4])], 100, 8)


def test_unequal_sizes_need_to_know_which_class_is_which():
    pilot = Pilot.from_losses([0, 1, 2, 3], 4)
    with pytest.raises(DataError, match=r"names all its classes"):
        forecast_training([({"a": 1, "b": 2}, pilot)], 100, 8)
    for wrong in ([1, 2], 5, [pilot]):
        with pytest.raises(ParameterError, match="pairs of sizes"):
            forecast_training(wrong, 100, 8)
    pilots = at_each_size(n_classes=12)
    for shares in ({}, {1: 0.0}, {1: -1, 2: 2}, {1: math.nan}):
        with pytest.raises(ParameterError, match="share of the classes above 0"):
            forecast_training(pilots, 100, shares)
