import json
import math

import pytest

from headcount import DataError, ParameterError
from headcount.questions.gate import Baseline, Estimate, differences, judge

QUICK = ("--method", "no-change")
ROW = {"classes": 1000, "value": 0.8}
HELD = {
    "schema": 2, "metric": "accuracy", "n_classes": 20, "n_probes": 60, "method": "kde",
    "observed": [], "forecast": [ROW],
}  # fmt: skip


def only(decision):
    (verdict,) = decision.verdicts
    return verdict


# -- the rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lower, outcome, code",
    [(0.85, "pass", 0), (0.8, "pass", 0), (0.79999, "fail", 1), (None, "error", 2),
     (math.nan, "error", 2)],
)  # fmt: skip
def test_the_lower_bound_decides_not_the_estimate(lower, outcome, code):
    found = judge([Estimate(1000, 0.9, lower)], minimum=0.8)
    assert (only(found).outcome, found.exit_code) == (outcome, code)
    assert (only(found).rule, only(found).required) == ("min", 0.8)


@pytest.mark.parametrize(
    "accuracy, code", [(0.9, 0), (0.8, 0), (0.78, 0), (0.77999, 1), (math.nan, 2)]
)
def test_the_estimate_may_be_a_margin_below_the_baseline(accuracy, code):
    baseline = Baseline({1000: 0.8}, "kde")
    found = judge([Estimate(1000, accuracy)], baseline=baseline, margin=0.02)
    assert found.exit_code == code
    assert only(found).rule == "baseline"
    json.dumps(only(found).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "margin, said", [(0.01, "up to 1 point."), (0.0125, "up to 1.25 points."), (0, "by nothing.")]
)
def test_what_is_allowed_is_counted(margin, said):
    baseline = Baseline({10: 0.3}, "kde")
    (verdict,) = judge([Estimate(10, 0.3)], baseline=baseline, margin=margin).verdicts
    assert verdict.message.endswith(said)


def test_without_a_margin_the_baseline_itself_passes_and_less_does_not():
    baseline = Baseline({10: 0.1 + 0.2}, "kde")
    assert judge([Estimate(10, 0.3)], baseline=baseline, margin=0).exit_code == 0
    assert judge([Estimate(10, 0.2999)], baseline=baseline, margin=0).exit_code == 1


def test_what_the_baseline_does_not_know_is_no_pass():
    found = judge([Estimate(999, 0.9, 0.9)], baseline=Baseline({1000: 0.8, 20: 1.0}, "kde"))
    assert found.exit_code == 2
    assert "says nothing about 999 classes (it knows 20, 1,000)" in only(found).message


@pytest.mark.parametrize("reach, code", [(1000, 0), (999.9999999999, 0), (999, 2), (math.inf, 0)])
def test_what_the_back_test_does_not_support_is_no_pass(reach, code):
    found = judge([Estimate(1000, 1.0, 1.0)], minimum=0.5, reach=reach)
    assert found.exit_code == code
    if code:
        assert "--allow-extrapolation" in only(found).message


@pytest.mark.parametrize("reach", [math.inf, 10_000])
def test_where_a_check_says_that_forecasts_say_nothing_only_what_was_measured_may_pass(reach):
    estimates = [Estimate(20, 1.0, 0.9), Estimate(21, 1.0, 0.9)]
    options = {"minimum": 0.5, "measured": 20, "reach": reach}
    assert judge(estimates, **options).exit_code == 0
    found = judge(estimates, faults=["all are right (HC004)"], **options)
    assert [verdict.outcome for verdict in found.verdicts] == ["pass", "error"]
    assert found.exit_code == 2
    assert found.verdicts[1].name == "21 classes: checks"
    assert "21 classes would say nothing: all are right (HC004)" in found.verdicts[1].message


def test_the_worst_verdict_decides():
    good, bad, unknown = Estimate(2, 1.0, 1.0), Estimate(3, 0.1, 0.1), Estimate(4, 1.0, None)
    assert judge([good, bad], minimum=0.5).exit_code == 1
    assert judge([good, unknown], minimum=0.5).exit_code == 2
    assert judge([good, bad, unknown], minimum=0.5).exit_code == 2
    both = judge([good], minimum=0.5, baseline=Baseline({2: 1.0}, "kde"))
    assert [verdict.rule for verdict in both.verdicts] == ["min", "baseline"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "nothing to judge by"),
        ({"minimum": math.nan}, "--min must be above 0"),
        ({"minimum": 0}, "--min must be above 0"),
        ({"minimum": 80}, "at most 1"),
        ({"minimum": 1.0001}, "at most 1"),
        ({"minimum": 0.5, "margin": 1.0001}, "at most 1"),
        ({"minimum": 0.5, "margin": -0.1}, "--margin must be at least 0"),
        ({"minimum": 0.5, "margin": math.nan}, "--margin must be at least 0"),
    ],
)
def test_bad_rules_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        judge([Estimate(2, 1.0, 1.0)], **options)


def test_no_estimates_are_refused():
    with pytest.raises(ParameterError, match="no number of classes"):
        judge([], minimum=0.5)


def test_messages_show_digits_enough_to_tell_values_apart():
    message = only(judge([Estimate(1000, 0.9, 0.7999)], minimum=0.8)).message
    assert message == "the lower bound at 1,000 classes is 79.99%, and at least 80% is asked for."
    found = judge([Estimate(10, 0.80041)], baseline=Baseline({10: 0.8}, "kde"))
    assert "is 80.04%, the baseline's 80.00%" in only(found).message


# -- the baseline ----------------------------------------------------------------------------------


def test_a_baseline_holds_what_was_measured_and_what_was_forecast():
    held = HELD | {"observed": [{"classes": 20, "value": 1}]}
    found = Baseline.from_dict(held)
    assert found.values == {20: 1.0, 1000: 0.8}
    assert (found.method, found.n_classes, found.n_probes) == ("kde", 20, 60)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"schema": 1}, "schema 1"),
        ({"metric": "beauty"}, "unknown metric 'beauty'"),
        ({"metric": 5}, "text was expected"),
        ({"schema": True}, "schema True"),
        ({"method": None}, "text was expected"),
        ({"forecast": [{"classes": 10, "value": None}]}, "value of this baseline is no number"),
        ({"forecast": [{"classes": 10, "value": math.nan}]}, "no list of sound numbers"),
        ({"forecast": [{"classes": 10, "value": 1.01}]}, "no list of sound numbers"),
        ({"forecast": [{"classes": 10, "value": "0.9"}]}, "value of this baseline is no number"),
        ({"forecast": [{"classes": 10, "value": True}]}, "value of this baseline is no number"),
        ({"forecast": [{"classes": 10.5, "value": 0.9}]}, "whole number"),
        ({"forecast": [{"classes": "10", "value": 0.9}]}, "whole number"),
        ({"forecast": [{"classes": 10**400, "value": 0.9}]}, "whole number"),
        ({"forecast": [{"value": 0.9}]}, "'classes'"),
        ({"forecast": [ROW, ROW | {"value": 0.9}]}, "two values at 1,000"),
        ({"forecast": 5}, "a list was expected"),
        ({"forecast": [5]}, "an object with names"),
        ({"n_classes": "many"}, "whole number"),
    ],
)
def test_a_baseline_that_is_none_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        Baseline.from_dict(HELD | changed)


@pytest.mark.parametrize(
    "missing", ["schema", "metric", "method", "n_classes", "n_probes", "observed", "forecast"]
)
def test_a_baseline_without_a_part_is_refused(missing):
    with pytest.raises(DataError, match=missing):
        Baseline.from_dict({name: value for name, value in HELD.items() if name != missing})


def test_notes_say_what_makes_a_baseline_less_comparable():
    same = Baseline({}, "kde", 20, 60)
    assert differences(same, "kde", 20, 60) == ()
    assert differences(Baseline({}, "kde"), "kde", 20, 60) == ()
    (note,) = differences(same, "auto", 20, 60)
    assert "made by kde and this forecast by auto" in note
    (note,) = differences(same, "kde", 20, 59)
    assert "from 20 classes and 60 probes and this forecast from 20 classes and 59" in note
