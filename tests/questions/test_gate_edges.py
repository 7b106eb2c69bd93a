"""Judgements at exactly what is asked for, and one step beside it."""

import math

import pytest

from headcount import Pilot, forecast
from headcount.questions.gate import MARGIN, Baseline, Decision, Estimate, differences, judge


def only(decision):
    (verdict,) = decision.verdicts
    return verdict


def test_the_usual_margin_is_two_points():
    baseline = Baseline({10: 0.5}, "kde")
    assert MARGIN == 0.02
    assert judge([Estimate(10, 0.48)], baseline=baseline).exit_code == 0
    assert judge([Estimate(10, 0.4799)], baseline=baseline).exit_code == 1
    assert only(judge([Estimate(10, 0.48)], baseline=baseline)).required == 0.48


def test_bounds_may_miss_by_round_off_alone():
    for lower, code in ((0.8, 0), (0.8 - 1e-14, 0), (0.8 - 1e-11, 1)):
        assert judge([Estimate(10, 0.9, lower)], minimum=0.8).exit_code == code
        baseline = Baseline({10: 0.8}, "kde")
        assert judge([Estimate(10, lower)], baseline=baseline, margin=0).exit_code == code
    for reach, code in ((1000, 0), (1000 - 1e-11, 0), (1000 - 1e-6, 2)):
        assert judge([Estimate(1000, 0.9, 0.9)], minimum=0.8, reach=reach).exit_code == code


def test_shares_asked_for_go_up_to_one():
    assert judge([Estimate(10, 1.0, 1.0)], minimum=1).exit_code == 0
    assert judge([Estimate(10, 1.0, 0.99)], minimum=1.0).exit_code == 1
    assert judge([Estimate(10, 0.0)], baseline=Baseline({10: 1.0}, "kde"), margin=1).exit_code == 0


@pytest.mark.parametrize(
    "value, lower",
    [(0.9, None), (0.9, math.nan), (0.9, math.inf), (math.nan, 0.9), (math.inf, 0.9)],
)
def test_where_there_is_no_number_there_is_no_verdict(value, lower):
    verdict = only(judge([Estimate(10, value, lower)], minimum=0.5))
    assert (verdict.outcome, verdict.lower, verdict.required) == ("error", None, 0.5)
    assert verdict.value == (0.9 if value == 0.9 else None)
    verdict = only(judge([Estimate(10, value, lower)], measured=9, faults=["bad."], minimum=0.5))
    assert (verdict.rule, verdict.outcome) == ("checks", "error")
    assert verdict.value == (0.9 if value == 0.9 else None)
    verdict = only(judge([Estimate(10, value)], baseline=Baseline({}, "kde")))
    assert verdict.value == (0.9 if value == 0.9 else None)
    assert verdict.message.endswith("(it knows nothing).")


def test_words():
    verdict = only(judge([Estimate(1, 0.9, 0.9)], minimum=0.805))
    assert (verdict.name, verdict.outcome) == ("1 class: lower bound", "pass")
    assert (
        verdict.message == "the lower bound at 1 classes is 90%, and at least 80.5% is asked for."
    )
    verdict = only(judge([Estimate(1200, 0.9, 0.9)], minimum=0.8, reach=1000.7))
    assert (verdict.name, verdict.value, verdict.lower) == ("1,200 classes: reach", 0.9, 0.9)
    assert verdict.message.startswith("the back-test supports forecasts up to 1,000 classes, not")
    baseline = Baseline({1200: 0.5}, "kde")
    for margin, words in ((0.01, "1 point."), (0.02, "2 points."), (0.005, "0.5 points.")):
        verdict = only(judge([Estimate(1200, 0.5)], baseline=baseline, margin=margin))
        assert verdict.message.endswith(f"it may be lower by up to {words}")
        assert verdict.name == "1,200 classes: against the baseline"


def test_no_verdict_is_no_pass():
    assert Decision(()).outcome == "error" and Decision(()).exit_code == 2


def test_notes_about_size_need_one_number_that_differs():
    for n_classes, n_probes in ((20, 61), (21, 60), (None, 61), (21, None)):
        (note,) = differences(Baseline({}, "kde", n_classes, n_probes), "kde", 20, 60)
        assert note.endswith("and this forecast from 20 classes and 60 probes.")
    (note,) = differences(Baseline({}, "kde", 1, None), "kde", 20, 60)
    assert note.startswith("the baseline comes from 1 class and this")
    assert differences(Baseline({}, "kde", 20, None), "kde", 20, 60) == ()


def test_an_estimate_is_the_row_of_a_forecast():
    pilot = Pilot.from_losses([0, 0, 1], n_classes=50)
    made = forecast(pilot, classes=50, method="no-change", intervals=False)
    assert Estimate.of(made, 50) == Estimate(50, pytest.approx(2 / 3), None)
    assert Estimate.of(made, 1).value == 1
