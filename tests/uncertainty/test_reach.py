"""How far a back-test reaches: a mean over what other draws might have shown."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.uncertainty.backtest import Backtest, BacktestStep
from headcount.uncertainty.reach import (
    LEAST_SPREAD,
    UNIT,
    chances_within,
    error_spread,
    last_good,
    reach,
    reach_limits,
)

RATIOS = (2.0, 5.0, 10.0, 20.0)


def steps_of(*errors):
    """Return steps at `RATIOS` that have these errors, a sequence each."""
    return tuple(
        BacktestStep(round(100 / ratio), ratio, tuple(0.5 + error for error in row), 0.5)
        for ratio, row in zip(RATIOS, errors, strict=False)
    )


def test_the_error_of_an_error_is_what_other_draws_show():
    # The logarithm of the root mean square of ten normal errors has the standard deviation
    # sqrt(trigamma(5)) / 2 = 0.235. The formula takes how squares vary from the same ten, which
    # makes it too small by a factor of 0.87, as large mean squares vary more.
    rng = np.random.default_rng(0)
    draws = rng.normal(0, 0.03, (4000, 10))
    truth = np.log(np.sqrt(np.square(draws).mean(axis=1))).std()
    stated = np.sqrt(np.mean([error_spread(row) ** 2 for row in draws]))
    assert truth == pytest.approx(0.235, abs=0.01)
    assert stated == pytest.approx(0.87 * truth, rel=0.03)
    assert error_spread(np.array([0.1])) == error_spread(np.zeros(5)) == 0.0
    assert error_spread(np.array([0.1, -0.1, 0.1])) == pytest.approx(0, abs=1e-12)


def test_the_reach_is_the_mean_over_other_draws():
    steps = steps_of((0.01, 0.02, -0.02), (0.03, -0.06, 0.05), (0.02, -0.05, 0.01), (0.2, 0.3, 0.1))
    rng = np.random.default_rng(1)
    n_draws, tolerance = 100_000, 0.05
    # On the way to each step all errors are off by the same factor; the steps are independent.
    ahead, good = np.zeros(n_draws), np.ones(n_draws, np.bool_)
    ratio, error, n_good, chances = 1.0, 0.0, np.zeros(n_draws, int), []
    for step in steps:
        factor = np.exp(rng.logistic(0, step.error_spread / UNIT, n_draws))
        for share in np.arange(0.005, 1, 0.01):
            here = (error + share * (step.error - error)) * factor <= tolerance
            ahead += 0.01 * math.log(step.ratio / ratio) * (good & here)
        good &= step.error * factor <= tolerance
        n_good += good
        chances.append(good.mean())
        ratio, error = step.ratio, step.error
    # Standard error 0.002; two digits are within 0.05 of it.
    assert 5 < math.exp(ahead.mean()) < 9.9
    assert reach(steps, tolerance) == pytest.approx(math.exp(ahead.mean()), abs=0.07)
    np.testing.assert_allclose(chances_within(steps, tolerance), chances, atol=0.01)
    last = np.array([1.0, *RATIOS])[n_good]
    lower, middle, upper = np.quantile(last, [0.05, 0.5, 0.95])
    assert reach_limits(steps, tolerance) == pytest.approx((lower, upper))
    assert last_good(steps, tolerance) == pytest.approx(middle)


def test_errors_that_are_well_known_are_followed_to_the_tolerance():
    alike = steps_of((0.01, -0.01), (0.04, -0.04), (0.06, -0.06), (0.01, 0.01))
    # Half way from 5 to 10, on a log scale, the error is 0.05.
    assert reach(alike, 0.05) == pytest.approx(5 * math.sqrt(2), rel=0.02)
    assert reach_limits(alike, 0.05) == (5.0, 5.0)
    assert last_good(alike, 0.05) == 5.0
    assert reach(alike, 0.2) == 20.0
    assert reach(alike, 0.005) == 1.4  # half way from 1 to 2
    assert reach(alike, 0.0005) == 1.0
    single = steps_of((0.01,), (0.2,))
    assert reach(single, 0.03) == pytest.approx(2 * 2.5 ** (2 / 19), abs=0.1)


def test_no_error_and_no_steps():
    assert reach((), 0.05) == last_good((), 0.05) == 1.0
    assert reach_limits((), 0.05) == (1.0, 1.0)
    assert reach(steps_of((0.0, 0.0)), 0.05) == 2.0
    assert reach(steps_of((0.0, 0.0)), 0.0) == 2.0
    assert reach(steps_of((0.1, 0.2)), 0.0) == 1.0


def test_like_pilots_reach_alike():
    # Errors that are a hundredth less, or more: the last ratio that is good would go from 1 to 20.
    rows = [(0.04, -0.06, 0.048), (0.04, 0.03, -0.05), (0.05, 0.04, 0.03), (0.03, -0.02, 0.05)]
    steps = steps_of(*rows)
    tolerance = max(step.error for step in steps)
    less, more = (reach(steps, tolerance * change) for change in (0.99, 1.01))
    # A logistic chance changes by UNIT / (4 s) at most while log errors change by one.
    spreads = [max(step.error_spread, LEAST_SPREAD) for step in steps]
    fastest = math.log(20) * sum(UNIT / (4 * spread) for spread in spreads)
    assert 0 < math.log(more / less) < fastest * math.log(1.01 / 0.99) + 0.02 < math.log(20) / 2


@given(
    st.lists(st.lists(st.floats(1e-4, 0.5), min_size=2, max_size=5), min_size=1, max_size=4),
    st.floats(0.001, 0.5),
    st.floats(1.0, 2.0),
)
def test_it_grows_with_the_tolerance_and_is_past_what_is_surely_good(rows, tolerance, more):
    steps = steps_of(*rows)
    value, (lower, upper) = reach(steps, tolerance), reach_limits(steps, tolerance)
    assert 1 <= value <= steps[-1].ratio
    assert lower <= last_good(steps, tolerance) <= upper
    # It is good up to the lower limit with a chance of 95%, or of more on the way there.
    assert math.log(value) >= 0.9 * math.log(lower) - 0.05  # it has two digits
    assert reach(steps, tolerance * more) >= value


def test_a_backtest_says_how_sure_its_reach_is():
    steps = steps_of((0.01, 0.02, -0.02), (0.03, -0.06, 0.05), (0.2, 0.3, 0.25))
    tested = Backtest(100, "kde", 0.5, steps, np.array([2, 100]), np.empty((0, 2)))
    assert tested.supported == reach(steps, 0.05) == tested.within(0.05)
    assert tested.supported_limits == reach_limits(steps, 0.05) == (2.0, 5.0)
    assert 2 < tested.supported < 6
    (sentence,) = tested.sentences()
    assert sentence.endswith("; 2 to 5 times by other draws).")
    assert tested.to_dict()["supported_limits"] == [2.0, 5.0]
    assert tested.to_dict()["steps"][0]["error_spread"] == steps[0].error_spread
