"""Limits of the expected value: never rising, and the same whatever else was asked."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import read_json
from headcount import Forecast, Pilot, forecast, observe
from headcount.curves.favorability import ROUND_OFF, Favorability
from headcount.display.plots import CapacityDisplay, CurveDisplay
from headcount.display.report.pages.forecast import forecast_series
from headcount.metrics import ACCURACY, Top
from headcount.uncertainty.intervals import KINDS, Uncertainty
from interval_pilots import gaussian, normal_moves

QUIET = [
    pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning"),
    pytest.mark.filterwarnings("ignore::headcount.AssumptionWarning"),
]
pytestmark = QUIET


@st.composite
def forecasts(draw):
    """Any pilot of counts, metric, law and errors, as if they had been estimated."""
    n_classes = draw(st.integers(2, 80))
    n_probes = draw(st.integers(1, 60))
    metric = draw(st.sampled_from([ACCURACY, Top(3)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    losses = rng.integers(0, n_classes, n_probes) * (rng.random(n_probes) < draw(st.floats(0, 1)))
    observed = observe(Pilot.from_losses(losses, n_classes))
    law = Favorability(10.0 ** rng.uniform(-7, 0, 4) * (rng.random(4) < 0.9), rng.random(4) + 0.01)
    grid = np.unique(np.geomspace(2, 50 * n_classes, 12).round()).astype(np.int64)
    grid = np.unique(np.append(grid, n_classes))
    size = draw(st.sampled_from([0.01, 0.3, 3.0]))
    inside, grid = grid[grid <= n_classes], grid[grid >= n_classes]
    drift = rng.normal() * np.log(grid / n_classes)
    moves = rng.normal(size=(128, len(grid))).cumsum(axis=1) * size + drift
    known = Uncertainty(
        n_classes,
        n_probes,
        inside,
        size * rng.random(len(inside)),
        grid,
        normal_moves(size * rng.random(len(grid)), drift) if draw(st.booleans()) else moves,
        np.ones(len(grid)),
        0.001,
        0.001,
        1.0,
        float(observed.value(n_classes, metric)),
        20.0,
        metric=metric,
    )
    return Forecast(
        observed=observed, law=law, classes=(n_classes,), n_probes=n_probes, method="any",
        confidence=draw(st.sampled_from([0.5, 0.9, 0.99])), uncertainty=known,
        metric=metric,
    )  # fmt: skip


def every_size(result):
    """All numbers of classes up to 4 K, and many beyond."""
    beyond = np.geomspace(4 * result.n_classes, 1e16, 500).round()
    return np.unique(np.concatenate([np.arange(1.0, 4 * result.n_classes + 1), beyond]))


def never_rises(limit):
    return (np.diff(limit) <= 1e-13).all()


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(forecasts())
def test_limits_never_rise_and_hold_the_estimate(result):
    ks = every_size(result)
    lower, upper = result.interval(ks)
    value = result.value(ks)
    assert never_rises(lower) and never_rises(upper)
    assert (lower <= value + 1e-12).all() and (value <= upper + 1e-12).all()


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(forecasts())
def test_limits_are_the_least_of_those_up_to_k(result):
    def brute(ks):
        value = result.value(ks)
        lower, upper = result.uncertainty.band(value, ks, result.confidence)
        # Where a fit starts above what was measured, fewer classes may do as well.
        highest = np.maximum.accumulate(value[::-1])[::-1]
        least = np.maximum(np.minimum.accumulate(upper), highest)
        return np.array([np.minimum.accumulate(lower), least])

    rungs = result.limits.classes[result.limits.classes <= 1e15]
    assert {1, result.n_classes, result.n_classes + 1} <= set(rungs.tolist())
    assert np.array(result.interval(rungs)) == pytest.approx(brute(rungs), abs=1e-12)
    # Between two rungs both fall from the one's limits to the other's, if not by the same steps; and
    # the ladder may miss a dip.
    ks = np.arange(1.0, 6 * result.n_classes)
    place = np.searchsorted(rungs, ks, side="right") - 1
    drop = brute(rungs)[:, place] - brute(rungs)[:, place + 1]
    assert (np.abs(np.array(result.interval(ks)) - brute(ks)) <= drop + 0.05).all()


def test_limits_that_rose_are_held():
    # Nothing falls, and errors grow: each upper limit alone is above the one before.
    result = forecast(gaussian(sigma=0.6), classes=60, method="no-change")
    ks = np.array([60, 600, 60_000])
    alone = result.uncertainty.band(result.accuracy(ks), ks, 0.9)
    assert (np.diff(alone[1]) > 0.01).all()
    assert np.ptp(result.interval(ks)[1]) < 0.01
    # A set is less sure than the expectation, whatever is held.
    for k, nothing in ((600, 0.0), (60_000, 1e-12)):
        # At 60,000 luck is far less than what two curves differ by, and nothing but round-off.
        low, high = result.interval(k)
        lower, upper = result.interval(k, "new_set")
        assert lower < low + nothing and high - nothing < upper


# -- the same whatever was asked -------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers():
    """Forecasts from one pilot, asked about different sizes."""
    pilot = gaussian(sigma=0.6)
    return [
        forecast(pilot, classes=classes, method="probit-normal")
        for classes in (60, [61, 5000], [10**5], [77, 10**8], [10**15])
    ]


def page_limits(forecast):
    """Limits in the rows of a report, by number of classes."""
    rows = forecast_series(forecast, "a")["curve"]
    limits = zip(rows["lower"], rows["upper"], strict=True)
    return dict(zip(rows["classes"], limits, strict=True))


def test_answers_do_not_depend_on_what_else_was_asked(answers):
    ks = [2, 59, 60, 61, 77, 1234, 3000, 5000, 10**6, 10**15]
    for other in answers[1:]:
        for kind in KINDS:
            some = [k for k in ks if kind != "grown_set" or k >= 60]
            np.testing.assert_array_equal(
                other.interval(some, kind), answers[0].interval(some, kind)
            )
        for target in (0.95, 0.6, 0.3, 0.1, 0.01):
            assert other.capacity_interval(target) == answers[0].capacity_interval(target)
        assert page_limits(answers[0]).items() <= page_limits(other).items()


def test_the_curve_and_the_picture_show_these_limits(answers):
    for result in answers:
        curve = result.curve
        np.testing.assert_array_equal([curve.lower, curve.upper], result.interval(curve.classes))
        assert never_rises(curve.lower) and never_rises(curve.upper)
        frame = CurveDisplay.from_forecast(result).frame()
        assert never_rises(frame["lower"]) and never_rises(frame["upper"])


def test_the_page_has_these_limits(answers):
    limits = page_limits(answers[0])
    assert {1, 60, 61} <= set(limits)
    lower, upper = zip(*limits.values(), strict=True)
    np.testing.assert_allclose(
        [lower, upper], answers[0].interval(list(limits)), rtol=0, atol=1e-11
    )
    json.dumps(limits, allow_nan=False)


# -- limits of a capacity --------------------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(forecasts(), st.floats(0.001, 1.0))
def test_limits_of_a_capacity_are_where_limits_cross_the_target(result, target):
    low, high = result.capacity_interval(target)
    assert 1 <= low <= result.capacity(target) <= high
    for side, last in enumerate((low, high)):
        if math.isinf(last):
            assert result.interval(1e300)[side] >= target - ROUND_OFF
        else:
            assert result.interval(last)[side] >= target - ROUND_OFF
            after = last + max(1.0, math.ceil(last * 1e-14))
            assert result.interval(after)[side] < target - ROUND_OFF


def test_what_is_unbounded_is_said(pilot, answer, run):
    options = ["--target", "0.8", "--target", "0.001", "--method", "exponential"]
    code, out, err = run("capacity", pilot, *options, "--json")
    first, second = read_json(out)["capacity"]
    assert code == 0 and read_json(out)["warnings"][0] in err
    assert (first["upper_unbounded"], first["lower_unbounded"]) == (False, False)
    assert first["lower"] <= first["classes"] <= first["upper"]
    assert (second["upper"], second["upper_unbounded"]) == (None, True)
    assert run("capacity", pilot, *options)[1].splitlines()[1].endswith(" or more.")
    none = read_json(answer("capacity", pilot, *options, "--no-intervals", "--json"))["capacity"]
    assert all(row["upper"] is None and row["upper_unbounded"] is False for row in none)


def test_the_picture_of_capacities_says_what_is_unbounded():
    result = forecast(gaussian(), classes=60, method="probit-normal")
    for targets, label in (
        ([0.1, 0.99], "90% interval, in part unbounded"),
        ([0.985, 0.99], "90% interval"),
    ):
        display = CapacityDisplay.from_forecast(result, targets=targets).plot()
        assert np.isinf(display.upper).any() == ("unbounded" in label)
        assert label in [text.get_text() for text in display.ax_.get_legend().get_texts()]
