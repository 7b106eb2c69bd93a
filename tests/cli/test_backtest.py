import csv
import io

import numpy as np
import pytest

import headcount
from command_line import make_scores, read_json, write_npz
from headcount.estimators import METHODS, ProbitNormal
from headcount.support.words import about, percent, points, reads_as_one, times
from headcount.uncertainty.backtest import backtest

QUICK = ("--repeats", "2")


@pytest.fixture
def larger(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(100)
    scores = rng.normal(size=(100, 100)) + 2.5 * np.eye(100)
    return write_npz(tmp_path, scores=scores, labels=labels)


@pytest.fixture
def counts(tmp_path):
    np.savez(tmp_path / "counts.npz", losses=np.arange(40) % 5, n_classes=40)
    return tmp_path / "counts.npz"


def test_json_is_what_the_library_says(larger, answer):
    found = read_json(answer("backtest", larger, *QUICK, "--seed", "3", "--json"))
    expected = backtest(headcount.load(larger), repeats=2, random_state=3).to_dict()
    shared = ("schema", "metric", "n_classes", "observed", "tolerance")
    assert {name: found[name] for name in shared} == {name: expected[name] for name in shared}
    assert (found["n_probes"], found["warnings"]) == (100, [])
    (only,) = found["backtests"]
    assert only == {k: v for k, v in expected.items() if k not in (*shared, "grid", "halves")}
    assert [step["classes"] for step in only["steps"]] == [50, 20, 10]


def test_csv_has_a_row_a_method_and_size(larger, answer):
    names = "probit-normal:prior_classes=9,regression"
    text = answer("backtest", larger, *QUICK, "--csv", "--method", names)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["method"] for row in rows] == [
        *["probit-normal:prior_classes=9"] * 3,
        *["regression"] * 3,
    ]
    assert [int(row["classes"]) for row in rows] == [50, 20, 10] * 2
    held = backtest(headcount.load(larger), method=ProbitNormal(prior_classes=9), repeats=2)
    errors = [float(row["error"]) for row in rows[:3]]
    assert errors == pytest.approx([step.error for step in held.steps])


def test_the_table_ends_with_the_answer_in_words(larger, answer):
    lines = answer("backtest", larger, *QUICK, "--tolerance", "0.3").splitlines()
    held = backtest(headcount.load(larger), repeats=2, tolerance=0.3)
    assert lines[0] == (
        f"Pilot: 100 classes, 100 probes; {held.metric.describe(held.observed)}. Method: auto."
    )
    assert [line.split()[0] for line in lines[4:7]] == ["50", "20", "10"]
    first = held.steps[0]
    within = percent(float(first.coverage))
    assert lines[4].split()[3:] == [f"{100 * first.error:.1f}", f"{100 * first.bias:+.1f}", within]
    assert lines[-1] == held.sentences()[-1]
    reach = f"{times(held.supported)} times the pilot are supported ({about(100 * held.supported)} "
    assert reach in lines[-1]


def test_the_column_of_coverage_names_the_level(larger, answer):
    lines = answer("backtest", larger, *QUICK, "--confidence", "0.75").splitlines()
    held = backtest(headcount.load(larger), repeats=2, confidence=0.75)
    assert lines[3].rstrip().endswith("within its 75% interval")
    assert lines[4].split()[-1] == f"{held.steps[0].coverage:.0%}"


def test_counts_say_what_is_missing(counts, answer):
    text = answer("backtest", counts, *QUICK)
    assert "The pilot holds counts only" in text


def test_all_leaves_out_what_the_pilot_does_not_allow(counts, run):
    code, out, err = run("backtest", counts, "--repeats", "1", "--method", "all")
    assert code == 0
    usable = {name for name, method in METHODS.items() if not (method.slow or method.published)}
    refused = {name for name in usable if METHODS[name].needs != "losses"}
    shown = {line.split()[0] for line in out.splitlines()[4:] if line.startswith(" ")}
    assert shown == usable - refused
    assert {"kde", "score-tail"} <= refused
    for name in refused:
        assert f"headcount: note: {name} is left out: method {name} needs scores" in err
    assert "supported up to" in out


def test_json_says_what_was_left_out(counts, run, tmp_path):
    words = ("--repeats", "1", "--method", "all", "--json")
    code, out, err = run("backtest", counts, *words)
    notes = [line.removeprefix("headcount: note: ") for line in err.splitlines()]
    left_out = [note for note in notes if " is left out: " in note]
    assert code == 0 and left_out
    assert read_json(out)["warnings"][-len(left_out) :] == left_out


def test_json_says_that_nothing_was_drawn(tmp_path, run):
    scores, labels = make_scores()
    few = labels < 8
    small = write_npz(tmp_path, scores=scores[few][:, :8], labels=labels[few])
    _, out, err = run("backtest", small, "--json", "--plot", tmp_path / "steps.png")
    assert "nothing was drawn" in err
    assert any("nothing was drawn" in text for text in read_json(out)["warnings"])


def test_methods_are_shown_from_best_to_worst(larger, answer):
    names = "no-change,probit-normal,pooled-fmr"
    lines = answer("backtest", larger, *QUICK, "--method", names, "--tolerance", "0.1").splitlines()
    held = {
        name: backtest(headcount.load(larger), method=name, repeats=2, tolerance=0.1)
        for name in names.split(",")
    }
    order = sorted(
        held,
        key=lambda name: (-held[name].supported, np.mean([s.error for s in held[name].steps])),
    )
    shown = [line.split() for line in lines[4:7]]
    assert [row[0] for row in shown] == order
    for name, *cells in shown:
        assert cells[:3] == [points(step.error).split()[0] for step in held[name].steps]
        reach = held[name].supported
        assert cells[3] == ("none" if reads_as_one(reach) else about(100 * reach))


def test_too_few_classes_are_no_error(tmp_path, answer):
    scores, labels = make_scores()
    few = labels < 8
    small = write_npz(tmp_path, scores=scores[few][:, :8], labels=labels[few])
    assert "No back-test: the pilot has 8 classes" in answer("backtest", small)
    found = read_json(answer("backtest", small, "--json"))
    assert (found["backtests"][0]["steps"], found["backtests"][0]["supported"]) == ([], 1.0)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--tolerance", "5"], "0.05 for 5 points"),
        (["--repeats", "0"], "repeats must be at least 1"),
        (["--method", "magic"], "unknown method"),
        (["--method", "all,kde"], "--method takes auto, all"),
        (["--method", ","], "--method takes auto, all"),
        (["--method", "kde,kde"], "named twice"),
        (["--jobs", "0"], "n_jobs must not be 0"),
        (["--seed", "-1"], "random_state"),
        (["--json", "--csv"], "exclude each other"),
    ],
)
def test_bad_options_are_refused(pilot, refused, words, message):
    assert message in refused("backtest", pilot, *words)


def test_a_named_method_that_cannot_be_used_is_an_error(counts, refused):
    assert "method kde needs scores" in refused("backtest", counts, "--method", "probit-normal,kde")


def test_sampled_negatives_hide_nothing_from_each_other(tmp_path, answer):
    """Counts of a shared pilot cost something; where each probe met its own rivals they do not."""
    ranks = np.random.default_rng(0).integers(1, 4, size=200)
    (tmp_path / "ranks.csv").write_text("rank\n" + "\n".join(map(str, ranks)))
    np.savez(tmp_path / "counts.npz", losses=ranks - 1, n_classes=100)
    caveat = "classes were hidden from each probe on its own"
    options = (*QUICK, "--method", "probit-normal")
    assert caveat in answer("backtest", tmp_path / "counts.npz", *options)
    own = answer("backtest", tmp_path / "ranks.csv", "--sampled-negatives", "99", *options)
    assert caveat not in own and "from classes" in own
