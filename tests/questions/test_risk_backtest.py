"""Back-tests of risk: what hidden classes show."""

import json

import numpy as np
import pytest

from headcount import ParameterError, Pilot, backtest
from headcount.errors import UnsupportedError
from headcount.questions.risk import RiskBacktest, backtest_risk, forecast_risk, observed_risk
from headcount.uncertainty.backtest import BacktestStep
from headcount.uncertainty.resampling import SharedRivals
from risk_pilots import small_pilot

FAST = {"bandwidth": 0.5, "repeats": 3}


def test_steps_are_forecasts_from_some_of_the_classes():
    pilot, cost = small_pilot()
    result = backtest_risk(pilot, cost, **FAST)
    assert [step.n_classes for step in result.steps] == [20]
    assert result.observed == pytest.approx(float(observed_risk(pilot, cost, 40)))
    (step,) = result.steps
    expected = []
    for repeat in range(3):
        seed = np.random.SeedSequence(0, spawn_key=(20, repeat))
        part = SharedRivals(pilot, with_scores=True).draw(20, np.random.default_rng(seed))
        chosen = part.class_names.astype(int)
        half = forecast_risk(part, cost[np.ix_(chosen, chosen)], 40, bandwidth=0.5, intervals=False)
        expected.append(float(half.risk(40)))
    np.testing.assert_allclose(step.forecasts, expected, rtol=1e-12)
    assert step.ratio == 2 and len(set(step.forecasts)) == 3
    assert step.coverage is None


def test_costs_and_priors_go_with_their_classes():
    # Whole rows of the cost and priors are of one class each: two halves of a pilot in which the
    # second half of the classes is free to miss, and the first never comes up, cost nothing.
    pilot, _ = small_pilot(noise=1.5)
    dear = np.where(np.arange(40) < 20, 2.0, 0.0)[:, None] * (1 - np.eye(40))
    priors = np.where(np.arange(40) < 20, 1e-9, 1.0)
    free = backtest_risk(pilot, dear, priors=priors, **FAST)
    paid = backtest_risk(pilot, dear, **FAST)
    assert max(free.steps[0].forecasts) < 1e-6 < 0.1 < min(paid.steps[0].forecasts)
    shuffled = np.random.default_rng(0).permutation(40)
    other = pilot.subset(shuffled)
    order = other.class_names.astype(int)
    again = backtest_risk(other, dear[np.ix_(order, order)], **FAST)
    np.testing.assert_allclose(again.steps[0].forecasts, paid.steps[0].forecasts, rtol=1e-6)


def test_zero_one_cost_is_the_backtest_of_accuracy():
    # The same classes are drawn, and the same method fitted: one minus the accuracy, each time.
    pilot, _ = small_pilot()
    options = {"approach": "regression", "basis": "spline"}
    risks = backtest_risk(pilot, "zero-one", repeats=4, **options)
    shares = backtest(pilot, method="regression-spline", repeats=4)
    np.testing.assert_allclose(
        risks.steps[0].forecasts, 1 - np.array(shares.steps[0].forecasts), atol=1e-9
    )
    matrix = backtest_risk(pilot, 1 - np.eye(40), repeats=4, **options)
    assert matrix.steps == risks.steps


def test_counts_are_enough_for_zero_one_cost():
    pilot = Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    result = backtest_risk(pilot, "zero-one", **FAST)
    assert [step.n_classes for step in result.steps] == [50, 20, 10]
    assert result.observed == pytest.approx(0.2)
    with pytest.raises(UnsupportedError, match="only counts"):
        backtest_risk(pilot, 2 * (1 - np.eye(100)), **FAST)


def test_coverage_counts_the_intervals_that_held():
    pilot, cost = small_pilot(noise=1.0)
    result = backtest_risk(pilot, cost, intervals=True, confidence=0.999, **FAST)
    assert result.steps[0].coverage == 1.0
    narrow = backtest_risk(pilot, cost, intervals=True, confidence=0.01, **FAST)
    assert narrow.steps[0].coverage == 0.0 and narrow.confidence == 0.01


def test_methods_are_backtested_by_name():
    pilot, cost = small_pilot()
    names = [
        backtest_risk(pilot, cost, repeats=2, **options).method
        for options in ({"approach": "unconstrained"}, {"method": "probit-normal"})
    ]
    assert names == ["unconstrained-spline", "priced-probit-normal"]


def made(*errors, tolerance=0.2):
    steps = tuple(
        BacktestStep(100 // ratio, ratio, (2.0 * (1 + error),), 2.0)
        for ratio, error in zip((2, 5, 10), errors, strict=False)
    )
    return RiskBacktest(100, "regression-gaussian", 2.0, steps, tolerance)


def test_what_is_supported_is_a_share_of_what_was_measured():
    # A fifth of it is reached a third of the way from 5 to 10, on a log scale.
    assert made(0.1, 0.15, 0.3).supported == pytest.approx(5 * 2 ** (1 / 3), rel=0.025)
    assert made(0.3, 0.1, 0.1).supported == pytest.approx(2 ** (2 / 3), rel=0.025)
    assert made(0.3, tolerance=0.4).supported == pytest.approx(2, rel=0.01)
    assert "forecasts up to 6.3 times the pilot are supported (630" in repr(made(0.1, 0.15, 0.3))
    assert "forecasts up to 1.6 times the pilot are supported (160" in repr(made(0.3))
    assert "no forecast beyond the pilot is supported" in repr(made(9.0))
    assert made(0.1, -0.3).cells()[1][3:5] == ["30%", "-30%"]


def test_ways_out():
    result = made(0.1, 0.15)
    written = json.loads(result.to_json())
    assert written["steps"][0] == {
        "classes": 50, "ratio": 2, "error": pytest.approx(0.2), "bias": pytest.approx(0.2),
        "spread": 0.0, "error_spread": 0.0, "coverage": None, "forecasts": [pytest.approx(2.2)],
    }  # fmt: skip
    assert written["supported"] == result.supported and written["metric"] == "average cost"
    assert len(result.to_frame()) == 2
    assert result.to_csv().splitlines()[0].startswith("classes,ratio,repeats,forecast,observed")


def test_edges():
    pilot, cost = small_pilot(n_classes=8)
    result = backtest_risk(pilot, cost, **FAST)
    assert result.steps == () and "too few to hide any" in repr(result)
    right = Pilot.from_scores(np.eye(12), np.arange(12))
    nothing = backtest_risk(right, 2 * (1 - np.eye(12)), **FAST)
    assert nothing.observed == 0 and nothing.cells()[0][3] == "-"
    # Five splines cannot be told apart by two of six classes' curve: said, not raised.
    few, price = small_pilot(n_classes=10)
    left_out = backtest_risk(few, price, approach="unconstrained", repeats=2)
    assert left_out.steps == () and "5 classes are left out" in left_out.notes[0]


def test_bad_options_are_refused():
    pilot, cost = small_pilot()
    for options, said in (
        ({"repeats": 0}, "repeats"),
        ({"tolerance": 2}, "tolerance"),
        ({"confidence": 2}, "confidence"),
        ({"approach": "luck"}, "approach"),
    ):
        with pytest.raises(ParameterError, match=said):
            backtest_risk(pilot, cost, **options)
