"""Plausible curves from refits: their scale, their points, and what they are made of."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import norm

from headcount import observe
from headcount.uncertainty.backtest import Backtest, BacktestStep
from headcount.uncertainty.refitted import (
    MODEL,
    NOISE,
    RIDGE,
    ErrorModel,
    RefitErrors,
    cloglog,
    refit_errors,
    slope,
    stepped,
)
from interval_pilots import counts

ACCURACIES = [1e-12, 1e-3, 0.2, 0.5, 0.9, 0.999, 1 - 1e-12]
PLAIN = ErrorModel(
    growth=1.5, blind_growth=0.7, scale=0.2, power=0.5, doubt=0.3, share=0.4,
    levels=(0.0, 0.9, 1.0), quantiles=(0.0, 2.0, 4.0),
)  # fmt: skip

# -- the scale -------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_definition(accuracy):
    log_odds = math.log(accuracy) - math.log1p(-accuracy)
    assert cloglog(log_odds) == pytest.approx(math.log(-math.log1p(-accuracy)), rel=1e-12)
    expected = accuracy / -math.log1p(-accuracy)
    assert slope(log_odds) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("log_odds", [-50.0, -29.0, -3.0, 0.0, 2.0, 12.0, 300.0])
def test_slope_is_the_derivative(log_odds):
    step = 1e-4
    rise = cloglog(log_odds + step) - cloglog(log_odds - step)
    assert slope(log_odds) == pytest.approx(rise / (2 * step), rel=1e-6)


@given(st.floats(-1e6, 1e6))
def test_no_step_leads_back(log_odds):
    assert stepped(log_odds, 0.0) == pytest.approx(log_odds, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("odds", [-40.0, -2.0, 0.0, 3.0, 9.0])
def test_steps_are_alike_to_either_side_of_the_scale(odds):
    low, high = stepped(odds, [-0.7, 0.7])
    assert cloglog(high) - cloglog(odds) == pytest.approx(0.7 * slope(odds), rel=1e-9)
    assert cloglog(odds) - cloglog(low) == pytest.approx(0.7 * slope(odds), rel=1e-9)
    little = stepped(odds, 1e-5) - odds
    assert little == pytest.approx(1e-5, rel=1e-3)


@given(st.lists(st.floats(-800, 800), min_size=2, max_size=20), st.floats(-3, 3))
def test_order_is_kept(values, step):
    assert (np.diff(cloglog(sorted(values))) >= 0).all()
    assert (np.diff(stepped(1.0, sorted(values))) >= 0).all()


def test_where_little_is_right_it_is_the_logarithm():
    rare = math.log(1e-14)
    assert cloglog(rare) == pytest.approx(rare, abs=1e-13)
    assert slope(-1000.0) == pytest.approx(1.0)
    assert stepped(0.0, 1e6) > 1e8  # and no overflow far up


def test_the_scale_changes_over_at_minus_thirty_and_ends_at_twenty():
    # Below -30 it is the logarithm itself; at -29.5 half of e^-29.5 is still more than round-off.
    assert cloglog(-30.5) == -30.5 and stepped(-30.5, -1.0) == pytest.approx(-31.5, rel=1e-9)
    for odds in (-30.0, -29.5):
        half = math.exp(odds) / 2
        assert cloglog(odds) - odds == pytest.approx(-half, rel=0.1, abs=0)
    assert stepped(0.0, 1e3) == pytest.approx(math.exp(20), rel=1e-6)
    nearly = stepped(0.0, (19.5 - cloglog(0.0)) / slope(0.0))
    assert nearly == pytest.approx(math.exp(19.5), rel=1e-6)


# -- what was learned ------------------------------------------------------------------------------


def test_what_was_learned():
    levels = [0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0]
    plain = [0, 0.625, 1.44, 1.9, 2.43, 4.05, 6.3, 6.3, 6.3]
    assert MODEL.multiplier(levels) == pytest.approx(plain)
    # In between, straight in the quantiles of a normal law.
    part = norm.ppf(0.625) / norm.ppf(0.75)
    assert MODEL.multiplier(0.25) == pytest.approx(part * 0.625)
    names = ("growth", "blind_growth", "scale", "power", "doubt", "share")
    assert [getattr(MODEL, name) for name in names] == [0.9, 0.09, 0.054, 1.27, 0.45, 0.45]


def test_points_have_the_quantiles_that_were_learned():
    assert len(MODEL.points) == 128
    np.testing.assert_allclose(MODEL.points, -MODEL.points[::-1])
    for level in (0.5, 0.8, 0.9, 0.95):
        ends = np.quantile(MODEL.points, [(1 - level) / 2, (1 + level) / 2], method="hazen")
        reach = float(MODEL.multiplier(level))
        # Between 128 points quantiles are straight; what was learned bends at each level.
        assert ends == pytest.approx([-reach, reach], rel=0.005 if level < 0.95 else 0.02)


# -- what refits say -------------------------------------------------------------------------------


def test_the_spread_follows_the_formula():
    x = math.log(10)
    errors = RefitErrors(np.array([0.0, x]), 0.3, np.array([0, 0.8]), np.array([0, -0.25]))
    far = math.sqrt(0.3**2 * math.exp(1.5 * 0.8) + (0.2 * x**0.5) ** 2 + (0.3 * 0.25) ** 2)
    assert errors.spread(PLAIN) == pytest.approx([0.3, far])
    assert errors.growth_factor(PLAIN) == pytest.approx([1, math.exp(0.75 * 0.8)])
    blind = RefitErrors(np.array([x]), 0.3, None, np.array([-0.25]))
    far = math.sqrt(0.3**2 * math.exp(1.5 * 0.7 * x) + (0.2 * x**0.5) ** 2 + 0.075**2)
    assert blind.spread(PLAIN) == pytest.approx([far])


def test_curves_lie_around_the_estimate_less_a_share_of_the_bias():
    x = math.log(10)
    errors = RefitErrors(np.array([x]), 0.3, np.array([0.8]), np.array([-0.25]))
    curves = errors.curves(np.array([0.6]), PLAIN)
    middle = expit(logit(0.6) + 0.4 * 0.25)  # the back-test was too low, so the truth is higher
    wrong = -math.log1p(-middle)
    ends = math.log(wrong) + 2 * errors.spread(PLAIN)[0] * middle / wrong * np.array([-1, 1])
    found = expit(np.quantile(curves[:, 0], [0.05, 0.95], method="hazen"))
    assert found == pytest.approx(-np.expm1(-np.exp(ends)), rel=0.01)
    # One point moves the whole curve.
    along = RefitErrors(np.array([0.0, x]), 0.3, np.array([0, 0.8]), np.zeros(2))
    both = along.curves(np.array([0.7, 0.6]), PLAIN)
    assert (np.diff(both, axis=0) > 0).all()


def test_bias_is_a_line_through_the_steps_of_the_back_test():
    pilot = counts()
    grid = np.array([2, 200, 400, 2000])
    steps = (
        BacktestStep(100, 2.0, (0.7, 0.6), 0.5),
        BacktestStep(40, 5.0, (0.8, 0.5, 0.6), 0.5),
    )
    halves = np.array([[0.9, 0.6, 0.5, 0.3], [0.8, 0.5, 0.4, 0.1], [0.9, 0.4, 0.3, 0.2]])
    accuracy = float(observe(pilot).accuracy(200))
    known = refit_errors(Backtest(200, "none", accuracy, steps, grid, halves), 0.1, 400, grid)
    rows = [
        (1 / (np.var(logit(s.forecasts)) + NOISE**2), math.log(s.ratio),
         np.mean(logit(s.forecasts)) - logit(accuracy))
        for s in steps
    ]  # fmt: skip
    tilt = sum(w * x * y for w, x, y in rows) / (RIDGE + sum(w * x * x for w, x, _ in rows))
    np.testing.assert_allclose(known.bias, tilt * np.log([1, 1, 2, 10]), atol=1e-12)
    spread = logit(halves).var(axis=0, ddof=1)
    np.testing.assert_allclose(known.growth, np.log(spread / spread[1]) * (grid > 200))
    part = refit_errors(Backtest(200, "none", accuracy, steps, grid, halves), 0.1, 400, grid[2:])
    np.testing.assert_allclose(part.growth, known.growth[2:])
    np.testing.assert_allclose(part.bias, known.bias[2:])


def test_bias_and_growth_of_a_pilot_without_mistakes():
    """Half of one in 20 probes stands in wherever all are right or wrong."""
    steps = (BacktestStep(50, 2.0, (1.0, 0.5), 1.0), BacktestStep(20, 5.0, (0.0, 0.9), 1.0))
    halves = np.array([[1.0, 1.0, 0.6, 0.5, 0.0], [1.0, 0.9, 0.5, 0.5, 0.1]])
    grid = np.array([2, 50, 200, 400, 2000])
    known = refit_errors(Backtest(100, "none", 1.0, steps, grid, halves), 0.1, 20, grid)
    edge = math.log(0.975 / 0.025)
    total, squares = 0.0, 30.0
    for ratio, ends in ((2, (edge, 0.0)), (5, (-edge, math.log(9)))):
        weight = 1 / (((ends[0] - ends[1]) / 2) ** 2 + 0.05**2)
        total += weight * math.log(ratio) * ((ends[0] + ends[1]) / 2 - edge)
        squares += weight * math.log(ratio) ** 2
    tilt = total / squares
    expected = [0, 0, tilt * math.log(2), tilt * math.log(4), tilt * math.log(20)]
    assert known.bias == pytest.approx(expected)
    # The variance at 100 lies halfway in log k between those at 50 and 200.
    spread = [(edge - math.log(9)) ** 2 / 2, math.log(1.5) ** 2 / 2, 1e-12]
    spread.append((edge - math.log(9)) ** 2 / 2)
    at_pilot = (spread[0] + spread[1]) / 2
    expected = [0, 0, *(math.log(v / at_pilot) for v in spread[1:])]
    assert known.growth == pytest.approx(expected)


def test_growth_needs_two_halves_that_differ():
    grid = np.array([2, 200, 2000])
    halves = np.array([[0.9, 0.5, 0.3], [0.8, 0.4, 0.1]])

    def growth(rows):
        return refit_errors(Backtest(200, "none", 0.5, (), grid, rows), 0.1, 400, grid).growth

    assert growth(halves) is not None
    assert growth(halves[:1]) is None
    same = np.array([[0.9, 0.5, 0.3], [0.8, 0.5, 0.1]])
    assert growth(same) is None
    near = same + np.array([[0, 1e-5, 0], [0, 0, 0]])  # a variance of 8e-10 in log odds
    assert growth(near) is not None
