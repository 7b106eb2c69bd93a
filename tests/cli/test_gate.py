import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import headcount
from command_line import make_scores, read_json, write_npz
from headcount.cli.gate import annotation, junit_xml
from headcount.questions.gate import Estimate, judge

QUICK = ("--method", "no-change")


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
    assert re.search(r"the back-test supports forecasts up to \d\d classes, not 1,000", out)
    assert run(*words, "--allow-extrapolation")[0] == 0


@pytest.mark.parametrize("rule", ["min", "baseline"])
def test_a_perfect_pilot_passes_on_what_was_measured_and_on_nothing_more(tmp_path, run, rule):
    """All right: the back-test has no error either, and would support any number of classes."""
    _, labels = make_scores()
    path = write_npz(tmp_path, scores=9 * np.eye(20)[labels] + make_scores()[0])
    words = {"min": ("--min", "0.5"), "baseline": ("--baseline", tmp_path / "b.json")}[rule]
    with pytest.warns(headcount.AssumptionWarning, match="no error to extrapolate"):
        made = headcount.forecast(headcount.load(path), classes=[20, 21], intervals=False)
    (tmp_path / "b.json").write_text(json.dumps(made.to_dict()))
    words = (*words, "--method", "exponential")
    assert run("gate", path, "--classes", "20", *words)[0] == 0
    for more in ((), ("--allow-extrapolation",)):
        code, out, _ = run("gate", path, "--classes", "21", *words, *more)
        assert code == 2
        assert (
            "CANNOT BE SAID: a forecast for 21 classes would say nothing: among all 20 classes"
            in out
        )


def test_lists_cut_too_early_fail_closed(npz, run):
    losses = np.array([0] * 90 + [1] * 10)
    path = npz(losses=losses, n_classes=50, censored=losses > 0)
    words = ("gate", path, "--min", "0.3", "--method", "probit-normal", "--allow-extrapolation")
    code, out, _ = run(*words, "--classes", "50,60")
    assert code == 2
    assert out.splitlines()[0].startswith("passed: the lower bound at 50 classes")
    assert "(HC016)" in out.splitlines()[1]


def test_the_seed_reaches_the_forecast(pilot, run):
    """The bound past the pilot's size rests on random halves; up to it, on nothing random."""
    words = ("gate", pilot, "--classes", "100", "--min", "0.01", "--allow-extrapolation", "--json")
    words = (*words, "--method", "exponential")
    lower = {}
    for seed in (0, 5):
        out = run(*words, "--seed", seed, "--jobs", 1)[1]
        lower[seed] = read_json(out)["verdicts"][0]["lower"]
    with pytest.warns(headcount.ExtrapolationWarning):
        made = headcount.forecast(
            headcount.load(pilot), classes=100, method="exponential", random_state=5
        )
    assert lower[5] != lower[0]
    assert lower[5] == pytest.approx(float(made.interval(100)[0]), abs=1e-12)


def test_no_bound_fails_closed(pilot):
    made = headcount.forecast(headcount.load(pilot), classes=20, intervals=False)
    estimate = Estimate.of(made, 20)
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
        (["--min", "0.5", "--jobs", "0"], "n_jobs must not be 0"),
        (["--min", "0.5", "--seed", "-1"], "random_state must be at least 0"),
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


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 2}', '{"schema": NaN}', "\x00"])
def test_a_broken_baseline_fails_closed(pilot, refused, tmp_path, text):
    (tmp_path / "base.json").write_text(text)
    message = refused("gate", pilot, "--classes", "20", "--baseline", tmp_path / "base.json")
    assert "base.json" in message


def test_an_error_nobody_thought_of_fails_closed(pilot, refused, monkeypatch):
    def burst(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("headcount.questions.forecast.forecast", burst)
    message = refused("gate", pilot, "--classes", "20", "--min", "0.5")
    assert "a mistake in headcount (ZeroDivisionError: by zero)" in message
    assert "set HEADCOUNT_TRACEBACK=1 to see where" in message


# -- the command: what it prints -------------------------------------------------------------------


def test_json_says_everything(pilot, run, bound, baseline):
    words = ("--min", bound + 0.001, "--baseline", baseline)
    code, out, err = run("gate", pilot, "--classes", "20", *words, *QUICK, "--json")
    found = read_json(out)
    assert (code, err) == (1, "")
    assert (found["schema"], found["outcome"], found["exit_code"]) == (2, "fail", 1)
    assert (found["n_classes"], found["n_probes"], found["method"]) == (20, 60, "no-change")
    assert (found["confidence"], found["notes"]) == (0.9, [])
    by_bound, by_baseline = found["verdicts"]
    assert by_bound["lower"] == pytest.approx(bound)
    assert by_bound["required"] == bound + 0.001
    assert (by_bound["outcome"], by_baseline["outcome"]) == ("fail", "pass")
    assert by_baseline["required"] == pytest.approx(by_baseline["value"] - 0.02)


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


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda text: "[" * 100_000, "nested too deeply"),
        (lambda text: json.dumps(json.loads(text) | {"n_probes": 1e308}), "at most 1e+15"),
        (lambda text: json.dumps(json.loads(text) | {"schema": 10**300}), "schema 1000"),
    ],
)
def test_nonsense_in_a_baseline_gets_one_sentence(pilot, run, baseline, spoil, words):
    baseline.write_text(spoil(baseline.read_text()))
    code, out, err = run("gate", pilot, "--classes", "20", "--baseline", baseline, *QUICK)
    assert (code, out) == (2, "") and words in err
    assert err.startswith("headcount: error: baseline.json") and len(err) < 250
