import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import headcount
from command_line import make_scores, read_json, write_npz
from headcount import DataError, ParameterError
from headcount.gate import Baseline, Estimate, differences, judge
from headcount.gate_cli import _estimate, annotation, junit_xml

QUICK = ("--method", "no-change")
ROW = {"classes": 1000, "accuracy": 0.8}
HELD = {
    "schema": 1, "n_classes": 20, "n_probes": 60, "method": "kde", "observed": [], "forecast": [ROW]
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
    held = HELD | {"observed": [{"classes": 20, "accuracy": 1}]}
    found = Baseline.from_dict(held)
    assert found.accuracy == {20: 1.0, 1000: 0.8}
    assert (found.method, found.n_classes, found.n_probes) == ("kde", 20, 60)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"schema": 2}, "schema 2"),
        ({"schema": True}, "schema True"),
        ({"method": None}, "text was expected"),
        ({"forecast": [{"classes": 10, "accuracy": None}]}, "no accuracy"),
        ({"forecast": [{"classes": 10, "accuracy": math.nan}]}, "no accuracy"),
        ({"forecast": [{"classes": 10, "accuracy": 1.01}]}, "no accuracy"),
        ({"forecast": [{"classes": 10, "accuracy": "0.9"}]}, "no accuracy"),
        ({"forecast": [{"classes": 10, "accuracy": True}]}, "no accuracy"),
        ({"forecast": [{"classes": 10.5, "accuracy": 0.9}]}, "whole number"),
        ({"forecast": [{"classes": "10", "accuracy": 0.9}]}, "whole number"),
        ({"forecast": [{"classes": 10**400, "accuracy": 0.9}]}, "not what headcount forecast"),
        ({"forecast": [{"accuracy": 0.9}]}, "'classes'"),
        ({"forecast": [ROW, ROW | {"accuracy": 0.9}]}, "two accuracies at 1,000"),
        ({"forecast": 5}, "not what headcount forecast"),
        ({"forecast": [5]}, "not what headcount forecast"),
        ({"n_classes": "many"}, "whole number"),
    ],
)
def test_a_baseline_that_is_none_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        Baseline.from_dict(HELD | changed)


@pytest.mark.parametrize("missing", ["schema", "method", "observed", "forecast"])
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


# -- the command: exit codes -----------------------------------------------------------------------


@pytest.fixture
def bound(pilot):
    found = headcount.forecast(headcount.load(pilot), classes=20, method="no-change")
    return float(found.interval(20)[0])


@pytest.fixture
def baseline(pilot, answer, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(answer("forecast", pilot, "--classes", "10,20", *QUICK, "--json"))
    return path


def test_a_bound_that_is_reached_passes(pilot, run, bound):
    code, out, err = run("gate", pilot, "--classes", "20", "--min", bound - 0.001, *QUICK)
    assert (code, err) == (0, "")
    assert out.startswith("passed: the lower bound at 20 classes is")


def test_a_bound_that_is_missed_fails(pilot, run, bound):
    code, out, err = run("gate", pilot, "--classes", "2,20", "--min", bound + 0.001, *QUICK)
    assert (code, err) == (1, "")
    first, second = out.splitlines()
    assert first.startswith("passed: the lower bound at 2 classes")
    assert second.startswith("FAILED: the lower bound at 20 classes")


def test_a_higher_confidence_is_harder_to_pass(pilot, run, bound):
    words = ("gate", pilot, "--classes", "20", "--min", bound - 0.001, *QUICK)
    assert run(*words, "--confidence", "0.99")[0] == 1


def test_the_same_data_pass_their_own_baseline(pilot, run, baseline):
    words = ("gate", pilot, "--classes", "10,20", "--baseline", baseline, "--margin", "0", *QUICK)
    assert run(*words)[::2] == (0, "")


def test_worse_data_fail_the_baseline_unless_the_margin_allows_it(tmp_path, run, baseline):
    scores, labels = make_scores()
    scores[np.arange(60), labels] -= 0.5
    worse = write_npz(tmp_path, scores=scores)
    words = ("gate", worse, "--classes", "20", "--baseline", baseline, *QUICK)
    assert run(*words)[0] == 1
    assert run(*words, "--margin", "0.9")[0] == 0


def test_a_forecast_written_whole_is_a_baseline_too(pilot, run, tmp_path):
    made = headcount.forecast(headcount.load(pilot), classes=20, method="no-change")
    made.save(tmp_path / "whole.json")
    words = ("gate", pilot, "--classes", "20", "--baseline", tmp_path / "whole.json", *QUICK)
    assert run(*words)[0] == 0


def test_classes_absent_from_the_baseline_fail_closed(pilot, run, baseline):
    code, out, _ = run("gate", pilot, "--classes", "5,20", "--baseline", baseline, *QUICK)
    assert code == 2
    assert out.startswith("CANNOT BE SAID: the baseline says nothing about 5 classes")


def test_further_than_the_back_test_supports_fails_closed(pilot, run):
    words = ("gate", pilot, "--classes", "1000", "--min", "0.0001", *QUICK)
    code, out, _ = run(*words)
    assert code == 2
    assert "the back-test supports forecasts up to 20 classes, not 1,000" in out
    assert run(*words, "--allow-extrapolation")[0] == 0


def test_no_bound_fails_closed(pilot):
    made = headcount.forecast(headcount.load(pilot), classes=20, intervals=False)
    estimate = _estimate(made, 20)
    assert (estimate.classes, estimate.lower) == (20, None)
    assert judge([estimate], minimum=0.01).exit_code == 2
    assert made.supported == 20
    assert "too slow" in judge([estimate], minimum=0.01).verdicts[0].message


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "nothing to judge by; give --min, --baseline, or both"),
        (["--min", "nan"], "--min must be above 0"),
        (["--min", "80"], "--min must be above 0 and at most 1"),
        (["--min", "0.5", "--margin", "-1"], "--margin must be at least 0"),
        (["--min", "0.5", "--confidence", "2"], "confidence must lie between"),
        (["--min", "0.5", "--method", "magic"], "unknown method"),
        (["--min", "0.5", "--json", "--github"], "choose one"),
        (["--baseline", "missing.json"], "there is no file missing.json"),
    ],
)
def test_bad_options_fail_closed(pilot, refused, words, message):
    assert message in refused("gate", pilot, "--classes", "20", *words)


def test_input_that_cannot_be_read_fails_closed(tmp_path, refused, pilot):
    (tmp_path / "broken.npz").write_bytes(b"PK not really")
    assert "broken.npz" in refused("gate", tmp_path / "broken.npz", "--classes", "9", "--min", "1")
    assert "no file" in refused("gate", tmp_path / "gone.npz", "--classes", "9", "--min", "1")
    assert "at least 2" in refused("gate", pilot, "--classes", "1", "--min", "1")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 1}', '{"schema": NaN}', "\x00"])
def test_a_broken_baseline_fails_closed(pilot, refused, tmp_path, text):
    (tmp_path / "base.json").write_text(text)
    message = refused("gate", pilot, "--classes", "20", "--baseline", tmp_path / "base.json")
    assert "base.json" in message


def test_an_error_nobody_thought_of_fails_closed(pilot, refused, monkeypatch):
    def burst(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("headcount.forecasting.forecast", burst)
    message = refused("gate", pilot, "--classes", "20", "--min", "0.5")
    assert "could not be judged (ZeroDivisionError: by zero)" in message


# -- the command: what it prints -------------------------------------------------------------------


def test_json_says_everything(pilot, run, bound, baseline):
    words = ("--min", bound + 0.001, "--baseline", baseline)
    code, out, err = run("gate", pilot, "--classes", "20", *words, *QUICK, "--json")
    found = read_json(out)
    assert (code, err) == (1, "")
    assert (found["schema"], found["outcome"], found["exit_code"]) == (1, "fail", 1)
    assert (found["n_classes"], found["n_probes"], found["method"]) == (20, 60, "no-change")
    assert (found["confidence"], found["notes"]) == (0.9, [])
    by_bound, by_baseline = found["verdicts"]
    assert by_bound["lower"] == pytest.approx(bound)
    assert by_bound["required"] == bound + 0.001
    assert (by_bound["outcome"], by_baseline["outcome"]) == ("fail", "pass")
    assert by_baseline["required"] == pytest.approx(by_baseline["accuracy"] - 0.02)


def test_another_method_is_noted(pilot, run, baseline):
    code, _, err = run(
        "gate", pilot, "--classes", "20", "--baseline", baseline, "--method", "exponential"
    )
    assert code == 0
    assert "note: the baseline was made by no-change and this forecast by exponential" in err


EVIL = "a<b>&\"'\n::error::,%\x1b\x00\ud800\ufffe"


def test_xml_parses_whatever_is_in_it():
    text = junit_xml([(EVIL, "fail", EVIL), ("plain", "pass", EVIL), (EVIL, "error", EVIL)], EVIL)
    suite = ElementTree.fromstring(text.encode("utf-8"))
    assert suite.tag == "testsuite"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    failed, passed, wrong = suite
    kept = "a<b>&\"'\n::error::,%"
    assert failed.get("name") == kept
    assert failed.get("classname") == f"headcount gate {kept}"
    assert [child.tag for child in failed] == ["failure"]
    assert (failed[0].get("message"), failed[0].text) == (kept, kept)
    assert [child.tag for child in passed] == ["system-out"]
    assert [child.tag for child in wrong] == ["error"]


def test_annotations_are_one_line_and_cannot_start_another_command():
    line = annotation(EVIL, EVIL, "notice")
    assert line.replace("\ufffe", "").isprintable()
    assert line.startswith("::notice title=a<b>&\"'%0A%3A%3Aerror%3A%3A%2C%25")
    _, _, message = line.removeprefix("::").partition("::")
    assert message.startswith("a<b>&\"'%0A::error::,%25")
    assert annotation("t", "100%\r\n") == "::error title=t::100%25%0D%0A"


def test_junit_is_written_for_every_outcome(pilot, run, bound, tmp_path):
    path = tmp_path / "gate.xml"
    code, _, _ = run(
        "gate", pilot, "--classes", "2,20,1000", "--min", bound + 0.001, *QUICK, "--junit", path
    )
    assert code == 2
    suite = ElementTree.parse(path).getroot()
    assert [[child.tag for child in case] for case in suite] == [
        ["system-out"],
        ["failure"],
        ["error"],
    ]
    assert [case.get("name") for case in suite] == [
        "2 classes: lower bound",
        "20 classes: lower bound",
        "1,000 classes: reach",
    ]
    assert {case.get("classname") for case in suite} == {"headcount gate pilot.npz"}


def test_junit_and_annotation_tell_of_bad_input(tmp_path, run):
    evil = tmp_path / "a<&%\n::warning::.npz"
    evil.write_bytes(b"no pilot")
    code, out, err = run(
        "gate", evil, "--classes", "9", "--min", "1", "--junit", tmp_path / "o.xml", "--github"
    )
    assert code == 2
    assert err.count("\n") == 1
    assert out.startswith("::error title=headcount gate a<&%25%0A%3A%3Awarning%3A%3A.npz::")
    assert out.count("\n") == 1
    (case,) = ElementTree.parse(tmp_path / "o.xml").getroot()
    assert case[0].tag == "error"


def test_annotations_name_what_failed_and_only_that(pilot, run, bound, baseline):
    held = json.loads(baseline.read_text()) | {"method": "a%\nb"}
    baseline.write_text(json.dumps(held))
    words = ("--min", bound + 0.001, "--baseline", baseline, "--github")
    code, out, _ = run("gate", pilot, "--classes", "20", *words, *QUICK)
    assert code == 1
    lines = [line for line in out.splitlines() if line.startswith("::")]
    assert len(lines) == 2
    assert lines[0].startswith(
        "::error title=headcount gate pilot.npz%2C 20 classes%3A lower bound::the lower bound"
    )
    assert "%25" in lines[0]
    assert lines[1].startswith("::notice title=headcount gate pilot.npz::the baseline was made by")
    assert "a%25%0Ab" in lines[1]


@pytest.mark.parametrize("which", ["pilot", "baseline"])
def test_an_output_that_is_an_input_is_refused(pilot, refused, baseline, which):
    target = Path({"pilot": pilot, "baseline": baseline}[which])
    before = target.read_bytes()
    words = ("--baseline", baseline, "--junit", target)
    assert "is also an input" in refused("gate", pilot, "--classes", "20", *words)
    assert target.read_bytes() == before


def test_an_output_that_cannot_be_written_is_refused_first(pilot, refused, tmp_path):
    words = ("--min", "0.5", "--junit", tmp_path / "nowhere" / "gate.xml")
    assert "no folder nowhere" in refused("gate", pilot, "--classes", "20", *words)
