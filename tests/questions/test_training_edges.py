"""Constants and thresholds of forecasts over training sizes, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

import headcount
from headcount import DataError, ExtrapolationWarning, ParameterError, Pilot
from headcount.questions.learning_curve import (
    PilotFit,
    TrainingLaw,
    TrainingSizes,
    fit_learning_curve,
)
from headcount.questions.training import TrainingBacktest, forecast_training
from headcount.simulate.theory import probit_normal_law


def fit_at(size, n_classes, estimate, information):
    sizes = TrainingSizes.equal(size)
    return PilotFit(sizes, sizes, n_classes, estimate, information)


def pilot_of(n_right, n_probes=40, n_classes=30):
    rest = 1 + np.arange(n_probes - n_right) % 5
    return Pilot.from_losses(np.append(np.zeros(n_right, int), rest), n_classes)


@pytest.fixture(scope="module")
def result():
    pilots = {1: pilot_of(16), 2: pilot_of(22), 4: pilot_of(26), 8: pilot_of(29)}
    return forecast_training(pilots, [30, 300], [8, 16])


def test_a_law_far_below_its_unit_is_cut_and_not_overflowing():
    # (r / 2)^-1 up to e^20.
    near = TrainingLaw(2.0, 1.0, 1e-9, 1.0, 0.0, 1e-9)
    for size, short in ((2 * math.exp(-19.5), math.exp(19.5)), (2 * math.exp(-20.5), math.exp(20))):
        expected = probit_normal_law(1 - 1e-9 * short, math.exp(1e-9 * short))
        assert near.accuracy(5, size) == pytest.approx(float(expected.accuracy(5)), rel=1e-9)


def test_the_rate_stays_between_a_tenth_and_three():
    """Where data say a rate beyond the grid, the end of the grid is the answer."""
    for truth, end in ((9.0, 3.0), (0.01, 0.1)):
        fits = []
        for size in (1, 2, 4, 8):
            short = size**-truth
            estimate = np.array([3 - 2 * short, -0.4])
            fits.append(fit_at(size, 100, estimate, 1e9 * np.eye(2)))
        assert fit_learning_curve(fits).rate == pytest.approx(end, rel=1e-4)


def test_the_prior_of_the_spreads_gain_has_a_deviation_of_three_tenths():
    # Two sizes so far apart that the second is the limit: alpha is -0.5 there, and beta is pulled
    # from 0.4 to nought: a precision of 100 against one of 1 / 0.09.
    far = 1e300
    information = np.diag([1e8, 100.0])
    exact = np.diag([1e8, 1e12])
    fits = [
        fit_at(1, 100, np.array([1.0, -0.1]), information),
        fit_at(far, 100, np.array([2.0, -0.5]), exact),
    ]
    law = fit_learning_curve(fits)
    assert law.log_spread == pytest.approx(-0.5, abs=1e-6)
    assert law.log_spread_gain == pytest.approx(0.4 * 100 / (100 + 1 / 0.09), rel=1e-5)
    assert (law.limit, law.gain) == pytest.approx((2, 1), abs=1e-6)


def test_three_sizes_are_the_fewest():
    pilots = {1: pilot_of(16), 2: pilot_of(22), 4: pilot_of(26)}
    assert forecast_training(pilots, 30, 8).backtest.used == (1, 2)
    with pytest.raises(DataError, match=r"2 training sizes cannot show .* at 3 or more"):
        forecast_training({1: pilots[1], 2: pilots[2]}, 30, 8)


@pytest.mark.parametrize("size", [0, -1, math.inf, math.nan, "much"])
def test_training_sizes_are_above_nought(size):
    pilots = {1: pilot_of(16), 2: pilot_of(22), 4: pilot_of(26)}
    with pytest.raises(ParameterError, match="training size must be a number above 0"):
        forecast_training(pilots, 30, size)


def test_ten_times_the_largest_and_a_tenth_of_the_least_are_not_far():
    pilots = {2: pilot_of(16), 4: pilot_of(22), 8: pilot_of(26)}
    assert forecast_training(pilots, 30, [0.2, 80]).warnings == ()
    for size in (80.01, 0.199):
        with pytest.warns(ExtrapolationWarning, match=rf"size {size:g} lies far .*\(2 to 8\)"):
            forecast_training(pilots, 30, [8, size])


def backtest_off(by):
    return TrainingBacktest(
        8, (1, 2, 4), (5, 30), (0.5, 0.25), (0.5 - by / 2, 0.25 + by), (0.4, 0.2)
    )


def codes(result):
    return [check.code for check in result.checks]


def test_a_back_test_off_by_five_points_is_no_finding_and_by_more_it_is(result):
    assert backtest_off(0.5).errors.tolist() == [-0.25, 0.5]
    assert backtest_off(-0.5).worst == 0.5
    assert "HC018" not in codes(replace(result, backtest=backtest_off(0.0499)))
    assert "HC018" in codes(replace(result, backtest=backtest_off(0.0501)))
    exact = TrainingBacktest(8, (4,), (30,), (0.0,), (0.05,), (0.0,))
    assert "HC018" not in codes(replace(result, backtest=exact))
    off = replace(result, backtest=backtest_off(0.5)).checks
    assert "off by 50 points" in off[-1].message


def test_no_gain_at_all_is_a_finding(result):
    assert "HC017" not in codes(replace(result, law=replace(result.law, gain=1e-9)))
    assert "HC017" in codes(replace(result, law=replace(result.law, gain=0.0)))


def test_a_gap_is_looked_for_at_the_pilots_own_size_and_on_both_sides(result):
    """The fitted law against what was measured at K, at the size where they part most."""
    from headcount.questions.training import GAP

    for limit in (result.law.limit + 3, result.law.limit - 3):
        other = replace(result, law=replace(result.law, limit=limit))
        gaps = {
            size: abs(float(other.law.accuracy(30, size)) - float(curve.accuracy(30)))
            for size, curve in result.observed.items()
        }
        size = max(gaps, key=gaps.get)
        (check,) = [check for check in other.checks if check.code == "HC010"]
        assert gaps[size] > GAP
        assert f"at 30 classes and training size {size} the fitted" in check.message


def test_sizes_in_words():
    pilots = {1 / 3: pilot_of(16), 1500: pilot_of(22), 2e15: pilot_of(26)}
    made = forecast_training(pilots, 30, 1500)
    assert repr(made).startswith(
        "Forecast of accuracy from 30 classes at training sizes 0.333333, 1,500, 2e+15"
    )
    assert [type(size) for size in made.observed] == [float, int, int]
    assert "At 30 classes and training size 1,500" in made.sentences()[0]
    assert made.sentences()[0].endswith("(measured).")


def test_what_is_measured_ends_at_k_and_at_the_sizes_of_the_pilots(result):
    rows = {(row["training_size"], row["classes"]): row for row in result.to_dict()["values"]}
    assert set(rows) == {(r, k) for r in (1, 2, 4, 8, 16) for k in (30, 300)}
    for (size, k), row in rows.items():
        assert row["region"] == ("observed" if size <= 8 and k <= 30 else "forecast")
    assert result.value(30, 8) == headcount.observe(pilot_of(29)).accuracy(30)
    assert result.value(31, 8) == result.law.accuracy(31, 8)
    assert result.value(30, 9) == result.law.accuracy(30, 9)


def test_a_pilot_that_says_nothing_leaves_the_equations_solvable():
    nothing = fit_at(4, 100, np.array([9.0, 9.0]), np.zeros((2, 2)))
    fits = [
        fit_at(size, 100, np.array([3 - 2 * size**-0.7, -0.1]), 1000 * np.eye(2))
        for size in (1, 16)
    ]
    law = fit_learning_curve([fits[0], nothing, fits[1]])
    alone = fit_learning_curve(fits)
    assert law.limit == pytest.approx(alone.limit, abs=1e-4)
    assert law.rate == pytest.approx(0.7, abs=1e-3)
