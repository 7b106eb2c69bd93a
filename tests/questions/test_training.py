import json
import math

import numpy as np
import pytest
from scipy.stats import norm

import headcount
from headcount import AssumptionWarning, DataError, ExtrapolationWarning, ParameterError, Pilot
from headcount.questions.learning_curve import TrainingLaw
from headcount.questions.training import forecast_training
from headcount.simulate import isotropic_gaussian
from headcount.simulate.theory import probit_normal_law
from headcount.support.words import percent

SIZES = (1, 2, 4, 8)


def drawn(mu, tau, n_classes=300, n_probes=2000, seed=0):
    rng = np.random.default_rng(seed)
    u = norm.cdf(mu + tau * rng.normal(size=n_probes))
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - u), n_classes)


def on_a_curve(sizes=SIZES, seed=0, **options):
    """Pilots whose probit mean really is 3 - 1.2 r^-0.7 and whose spread does not change."""
    return {r: drawn(3 - 1.2 * r**-0.7, 0.8, seed=seed + i, **options) for i, r in enumerate(sizes)}


def round_classes(n_classes, seed, sizes=SIZES, represent="mean", **options):
    return {
        r: isotropic_gaussian(
            n_classes, n_train=r, represent=represent, random_state=seed, **options
        ).pilot
        for r in sizes
    }


# -- forecasts -------------------------------------------------------------------------------------


def test_recovers_its_own_model():
    result = forecast_training(on_a_curve(n_probes=20_000), [300, 5000], 32)
    truth = probit_normal_law(3 - 1.2 * 32**-0.7, 0.8).accuracy([300, 5000])
    np.testing.assert_allclose(result.accuracy([300, 5000], 32), truth, atol=0.02)
    limit = probit_normal_law(3, 0.8).accuracy([300, 5000])
    np.testing.assert_allclose(result.limit([300, 5000]), limit, atol=0.05)
    assert result.checks == ()


def test_measured_where_measured_and_fitted_elsewhere():
    pilots = on_a_curve()
    result = forecast_training(pilots, [100, 5000], [4, 16])
    for size in SIZES:
        curve = headcount.observe(pilots[size])
        np.testing.assert_array_equal(
            result.accuracy([2, 100, 300], size), curve.accuracy([2, 100, 300])
        )
        assert result.accuracy(301, size) == result.law.accuracy(301, size)
    assert result.accuracy(100, 3) == result.law.accuracy(100, 3)
    both = result.accuracy([[100], [5000]], [4, 16])
    assert both[0, 0] == headcount.observe(pilots[4]).accuracy(100)
    assert both[1, 1] == result.law.accuracy(5000, 16)


def test_unit_of_size_and_order_of_pilots_and_rows_do_not_matter():
    pilots = round_classes(40, 5, probes_per_class=3)
    plain = forecast_training(pilots, 1000, 32).accuracy([40, 1000], 32)
    scaled = forecast_training({300 * r: p for r, p in pilots.items()}, 1000, 9600)
    np.testing.assert_allclose(scaled.accuracy([40, 1000], 9600), plain, atol=1e-9)
    shuffled = {r: pilots[r].keep_probes(np.arange(120)[::-1]) for r in (4, 1, 8, 2)}
    turned = forecast_training(shuffled, 1000, 32)
    np.testing.assert_allclose(turned.accuracy([40, 1000], 32), plain, atol=1e-9)
    assert list(turned.observed) == list(SIZES)


# -- its back-test ---------------------------------------------------------------------------------


def test_backtest_forecasts_the_largest_size_without_looking_at_it():
    pilots = on_a_curve()
    test = forecast_training(pilots, 1000, 16).backtest
    assert (test.training_size, test.used) == (8, (1, 2, 4))
    assert test.classes == (2, 5, 10, 20, 50, 100, 200, 300)
    np.testing.assert_array_equal(
        test.observed, headcount.observe(pilots[8]).accuracy(test.classes)
    )
    np.testing.assert_array_equal(
        test.unchanged, headcount.observe(pilots[4]).accuracy(test.classes)
    )
    smaller = forecast_training({r: pilots[r] for r in (1, 2, 4)}, 1000, 8)
    np.testing.assert_array_equal(test.forecast, smaller.law.accuracy(test.classes, 8))
    np.testing.assert_allclose(test.errors, np.array(test.forecast) - test.observed)
    assert test.worst == np.abs(test.errors).max()
    # 2,000 probes: the measurement alone has a standard error of about 0.01.
    assert test.worst < 0.05 < test.observed[-1] - test.unchanged[-1]


def test_three_sizes_suffice_for_forecast_and_backtest():
    result = forecast_training(on_a_curve((1, 2, 4)), 300, 8)
    assert result.backtest.used == (1, 2)
    truth = probit_normal_law(3 - 1.2 * 8**-0.7, 0.8).accuracy(300)
    assert float(result.accuracy(300, 8)) == pytest.approx(float(truth), abs=0.05)


def test_a_curve_unlike_the_model_is_found_out():
    """Training that helps only after a threshold: the back-test must say so."""
    pilots = {1: drawn(1.0, 1.0), 2: drawn(1.0, 1.0, seed=1), 4: drawn(3.0, 1.0, seed=2)}
    result = forecast_training(pilots, 300, 8)
    codes = {check.code for check in result.checks}
    assert {"HC010", "HC018"} <= codes
    assert result.backtest.worst > 0.2
    assert "Check HC018:" in repr(result)


def test_training_that_hurts_is_pointed_out():
    pilots = {r: drawn(3 - 0.3 * i, 1.0, seed=i) for i, r in enumerate(SIZES)}
    result = forecast_training(pilots, 300, 16)
    assert "HC017" in {check.code for check in result.checks}
    assert result.law.gain == 0


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(), (1,), (1, 8)])
def test_fewer_than_three_sizes_are_refused(sizes):
    with pytest.raises(DataError, match=rf"{len(sizes)} training sizes? cannot .* 3 or more"):
        forecast_training(on_a_curve(sizes), 1000, 32)


@pytest.mark.parametrize("size", [0, -1, math.nan, math.inf, 10**400, "many", None])
def test_sizes_must_be_positive_numbers(size):
    pilots = on_a_curve()
    result = forecast_training(pilots, 1000, 32)
    for call in (
        lambda: forecast_training(pilots, 1000, size),
        lambda: forecast_training(pilots | {size: pilots[1]}, 1000, 32),
        lambda: result.accuracy(10, size),
    ):
        with pytest.raises(ParameterError, match="training size must be a number above 0"):
            call()


def test_pilots_of_other_classes_are_refused():
    with pytest.raises(DataError, match="300 and 200 classes"):
        forecast_training(on_a_curve() | {16: drawn(2, 1, n_classes=200)}, 1000, 32)
    rng = np.random.default_rng(0)
    labels = np.arange(20)

    def named(names):
        scores = rng.normal(size=(20, 20)) + 2 * np.eye(20)
        return Pilot.from_scores(scores, names[labels], class_names=names)

    names = np.array([f"c{i:02}" for i in range(20)])
    same = {1: named(names), 2: named(names[::-1])}
    assert forecast_training(same | {4: named(names)}, 100, 8).n_classes == 20
    other = names.copy()
    other[3] = "stranger"
    with pytest.raises(DataError, match=r"1 of 20 classes differs .*first: c03"):
        forecast_training(same | {4: named(other)}, 100, 8)


def test_pilots_averaged_in_different_ways_are_refused():
    losses = [0, 1, 2, 5]
    pilots = {r: Pilot.from_losses(losses, 10) for r in (1, 2)}
    with pytest.raises(DataError, match="differ in tie_rule"):
        forecast_training(pilots | {4: Pilot.from_losses(losses, 10, tie_rule="win")}, 50, 8)
    with pytest.raises(DataError, match="differ in average"):
        forecast_training(pilots | {4: Pilot.from_losses(losses, 10, average="micro")}, 50, 8)


def test_nothing_asked_and_things_that_are_no_pilots_are_refused():
    pilots = on_a_curve()
    for classes, sizes in (([], 8), (100, [])):
        with pytest.raises(ParameterError, match="at least one"):
            forecast_training(pilots, classes, sizes)
    with pytest.raises(ParameterError, match="map each training size"):
        forecast_training(list(pilots.values()), 100, 8)
    with pytest.raises(ParameterError, match="map each training size"):
        forecast_training({1: 0.3, 2: 0.4, 4: 0.5}, 100, 8)
    with pytest.raises(DataError, match="same training size"):
        forecast_training({1: pilots[1], "1": pilots[2], 2: pilots[4]}, 100, 8)
    with pytest.raises(ParameterError, match="means nothing"):
        forecast_training(pilots, 1e18, 8)


def test_far_extrapolation_is_warned_about():
    pilots = on_a_curve()
    with pytest.warns(ExtrapolationWarning, match="training size 200 lies far") as heard:
        result = forecast_training(pilots, 1000, [16, 200])
    assert len(heard) == 1 and len(result.warnings) == 1
    with pytest.warns(ExtrapolationWarning, match=r"training size 0\.01 lies far"):
        forecast_training(pilots, 1000, 0.01)
    with pytest.warns(ExtrapolationWarning, match="60,000 classes are 200 times"):
        forecast_training(pilots, 60_000, 16)


# -- edges -----------------------------------------------------------------------------------------


def test_edges_stay_finite_and_ordered():
    right = {r: Pilot.from_losses([0] * 30, 50) for r in (1, 2, 4)}
    with pytest.warns(AssumptionWarning, match="all 30 probes are right"):
        result = forecast_training(right, 500, 8)
    assert 0.9 < float(result.accuracy(500, 8)) < 1
    wrong = {r: Pilot.from_losses([49] * 30, 50) for r in (1, 2, 4)}
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        result = forecast_training(wrong, 500, 8)
    assert 0 <= float(result.accuracy(500, 8)) < 0.05
    two = {r: Pilot.from_losses([0] * (5 + i) + [1] * 3, 2) for i, r in enumerate((1, 2, 4))}
    values = forecast_training(two, 10, 8).accuracy([2, 3, 10], 8)
    assert (np.diff(values) < 0).all() and 0 < values[-1] < values[0] < 1
    single = {r: Pilot.from_losses([loss], 10) for r, loss in ((1, 5), (2, 3), (4, 1))}
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        values = forecast_training(single, 100, 8).accuracy([10, 100], 8)
    assert 0 < values[1] < values[0] < 1


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_hardly_any_training_and_no_end_of_it_stay_finite_and_readable():
    result = forecast_training(on_a_curve(), 1000, [1e-300, 1e300])
    values = result.accuracy(1000, [1e-300, 1e300])
    assert 0 <= values[0] < values[1] == result.limit(1000)
    assert "training size 1e-300:" in repr(result) and "training size 1e+300:" in repr(result)
    thirds = forecast_training({r / 3: p for r, p in on_a_curve().items()}, 1000, 4)
    assert "training sizes 0.333333, 0.666667, 1.33333, 2.66667" in repr(thirds)


def test_a_pilot_that_gets_everything_right_weighs_little():
    """Its mean is only known to be large: it must not set the pace of learning."""
    pilots = on_a_curve((1, 2, 4), n_classes=100, n_probes=300)
    with pytest.warns(AssumptionWarning, match="all 5 probes"):
        result = forecast_training(pilots | {8: Pilot.from_losses([0] * 5, 100)}, 100, 8)
    alone = forecast_training(pilots, 100, 8)
    assert float(result.law.accuracy(100, 8)) == pytest.approx(
        float(alone.law.accuracy(100, 8)), abs=0.05
    )


# -- what a user sees ------------------------------------------------------------------------------


def test_readable_answer():
    result = forecast_training(on_a_curve(), [300, 5000], [8, 16])
    text = repr(result)
    lines = text.split("\n  ")
    assert lines[0] == "Forecast of accuracy from 300 classes at training sizes 1, 2, 4, 8"
    measured = percent(float(result.accuracy(300, 8)))
    assert lines[1] == f"At 300 classes and training size 8: {measured} (measured)."
    forecast = percent(float(result.accuracy(5000, 16)))
    assert lines[4] == f"At 5,000 classes and training size 16: {forecast}."
    assert f"pass {percent(float(result.limit(5000)))} at 5,000 classes" in lines[5]
    assert f"at most {100 * result.backtest.worst:.1f} points" in lines[6]
    assert lines[7] == ("No intervals: a pilot holds only counts, which do not say who beats whom.")
    assert len(lines) == 8
    assert result._repr_html_().count("<li>") == 7


def test_another_metric_is_that_of_the_same_laws():
    pilots = on_a_curve()
    result = forecast_training(pilots, [100, 5000], [8, 16], metric="top-5")
    assert result.law == forecast_training(pilots, [100, 5000], [8, 16]).law
    assert result.value(100, 8) == headcount.observe(pilots[8]).top(5, 100)
    assert result.value(5000, 16) == result.law.at(16).top(5, 5000)
    assert result.accuracy(5000, 16) == result.law.at(16).accuracy(5000) < result.value(5000, 16)
    assert result.limit(5000) == result.law.at(math.inf).top(5, 5000)
    last = result.backtest
    np.testing.assert_array_equal(last.observed, headcount.observe(pilots[8]).top(5, last.classes))
    np.testing.assert_array_equal(last.unchanged, headcount.observe(pilots[4]).top(5, last.classes))
    smaller = {size: pilot for size, pilot in pilots.items() if size < 8}
    law = forecast_training(smaller, 300, 8).law.at(8)
    np.testing.assert_array_equal(last.forecast, law.top(5, last.classes))
    assert repr(result).startswith("Forecast of top-5 accuracy from 300 classes")
    assert json.loads(result.to_json())["metric"] == "top-5"


def test_frame_and_json_hold_all_answers():
    result = forecast_training(on_a_curve(), [100, 5000], 16)
    frame = result.to_frame()
    assert list(frame.columns) == [
        "training_size", "unequal", "classes", "value", "lower", "upper", "region",
    ]  # fmt: skip
    assert len(frame) == 5 * 3  # sizes 1, 2, 4, 8, 16 at 100, 300 and 5,000 classes
    for row in frame.itertuples():
        assert row.value == float(result.value(row.classes, row.training_size))
        measured = row.classes <= 300 and row.training_size <= 8
        assert row.region == ("observed" if measured else "forecast")
    held = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert held["values"] == frame.to_dict("records")
    assert held["n_probes"][3] == {"training_size": 8, "probes": 2000}
    again = TrainingLaw(**held["model"])
    np.testing.assert_array_equal(
        again.accuracy([300, 5000], 16), result.law.accuracy([300, 5000], 16)
    )
    assert held["backtest"]["forecast"] == list(result.backtest.forecast)
    assert held["warnings"] == [] and held["checks"] == []
