import csv
import io
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import headcount
from command_line import N_CLASSES, make_scores, read_json, write_npz
from headcount.questions.risk import backtest_risk, observed_risk, task_normalised_risk
from headcount.questions.risk.forecasting import forecast_risk

TREE = {
    "low": {str(i): None for i in range(5)},
    "high": {"odd": [str(i) for i in range(5, 20, 2)], "even": [str(i) for i in range(6, 20, 2)]},
}
SMALL = np.array([[9, 1, 3, 3], [2, 8, 8, 1], [7, 5, 1, 1], [1, 4, 4, 5], [2, 2, 2, 6]])
SMALL_LABELS = np.array([0, 1, 2, 2, 3])
SMALL_COST = np.array([[0, 1, 2, 4], [3, 0, 0, 2], [5, 2, 0, 7], [1, 1, 6, 0]])
SMALL_PRIORS = {"0": 1, "1": 2, "2": 5, "3": 0.5}


def distances():
    """Edges between two classes of TREE, written out."""

    def path(i):
        return ["low", str(i)] if i < 5 else ["high", "odd" if i % 2 else "even", str(i)]

    cost = np.zeros((N_CLASSES, N_CLASSES))
    for i, j in itertools.product(range(N_CLASSES), repeat=2):
        a, b = path(i), path(j)
        shared = sum(x == y for x, y in zip(a, b, strict=False))
        cost[i, j] = len(a) + len(b) - 2 * shared
    return cost


def brute_force_risk(scores, labels, cost, k, priors=None):
    """Average over classes, their probes and all sets; ties broken in every way."""
    by_class = {}
    for row, true in zip(scores, labels, strict=True):
        rivals = [c for c in range(len(row)) if c != true]
        paid = []
        for drawn in itertools.combinations(rivals, k - 1):
            best = max(row[c] for c in (true, *drawn))
            paid.append(np.mean([cost[true, c] for c in (true, *drawn) if row[c] == best]))
        by_class.setdefault(int(true), []).append(np.mean(paid))
    share = {c: 1 if priors is None else priors[str(c)] for c in by_class}
    total = sum(share[c] * np.mean(values) for c, values in by_class.items())
    return total / sum(share.values())


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(TREE))
    return path


@pytest.fixture
def small(tmp_path):
    return write_npz(tmp_path, scores=SMALL, labels=SMALL_LABELS)


@pytest.fixture
def small_cost(tmp_path):
    np.savez(tmp_path / "cost.npz", cost=SMALL_COST)
    return tmp_path / "cost.npz"


def write(path, held):
    path.write_text(held if isinstance(held, str) else json.dumps(held))
    return path


# -- answers ---------------------------------------------------------------------------------------


def test_json_is_the_average_over_all_sub_tasks(small, small_cost, answer):
    found = read_json(answer("risk", small, "--cost", small_cost, "--classes", "2,3,4", "--json"))
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (2, 4, 5)
    assert (found["cost"], found["forecast"], found["warnings"]) == ("cost.npz", [], [])
    for row, k in zip(found["observed"], (2, 3, 4), strict=True):
        assert row["classes"] == k
        expected = brute_force_risk(SMALL, SMALL_LABELS, SMALL_COST, k)
        assert row["value"] == pytest.approx(expected, abs=1e-12)


def test_priors_say_how_often_a_class_is_the_true_one(small, small_cost, answer, tmp_path):
    words = ["risk", small, "--cost", small_cost, "--classes", "2,3,4", "--json", "--priors"]
    found = read_json(answer(*words, write(tmp_path / "often.json", SMALL_PRIORS)))
    for row, k in zip(found["observed"], (2, 3, 4), strict=True):
        expected = brute_force_risk(SMALL, SMALL_LABELS, SMALL_COST, k, SMALL_PRIORS)
        assert row["value"] == pytest.approx(expected, abs=1e-12)
        plain = brute_force_risk(SMALL, SMALL_LABELS, SMALL_COST, k)
        assert row["value"] != pytest.approx(plain, abs=0.01)


def test_a_hierarchy_forecasts_as_the_library_does(pilot, tree, answer):
    found = read_json(answer("risk", pilot, "--cost", tree, "--classes", "10,100,1000", "--json"))
    loaded = headcount.load(pilot)
    expected = forecast_risk(loaded, distances(), [10, 100, 1000])
    assert [row["classes"] for row in found["observed"]] == [10, 20]
    assert [row["classes"] for row in found["forecast"]] == [100, 1000]
    for row in found["observed"] + found["forecast"]:
        k = row["classes"]
        limits = [float(limit) for limit in expected.interval(k)]
        assert row["value"] == pytest.approx(float(expected.risk(k)), abs=1e-9)
        assert [row["lower"], row["upper"]] == pytest.approx(limits, abs=1e-6)
        assert row["lower"] < row["value"] < row["upper"]
    scores, labels = make_scores()
    taken = scores.argmax(axis=1)
    assert found["observed"][1]["value"] == pytest.approx(distances()[labels, taken].mean())


def test_costs_of_every_kind_of_file_agree(pilot, tree, answer, tmp_path):
    matrix = distances()
    left, values, right = np.linalg.svd(matrix)
    np.savez(tmp_path / "dense.npz", cost=matrix)
    np.savez(tmp_path / "pair.npz", left=left * values, right=right.T)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csr_array(matrix))
    results = {
        path.name: read_json(answer("risk", pilot, "--cost", path, "--classes", 500, "--json"))
        for path in (tree, *(tmp_path / f"{name}.npz" for name in ("dense", "pair", "sparse")))
    }
    plain = results.pop("tree.json")
    for name, found in results.items():
        assert found.pop("cost") == name
        for part in ("observed", "forecast"):
            for row, other in zip(found[part], plain[part], strict=True):
                # A product has round-off, which the active set of the fit may amplify a little.
                assert row["value"] == pytest.approx(other["value"], rel=1e-6)


def test_zero_one_is_one_minus_accuracy(pilot, answer):
    found = read_json(answer("risk", pilot, "--cost", "zero-one", "--classes", "5,300", "--json"))
    words = ["forecast", pilot, "--classes", "5,300", "--method", "regression", "--json"]
    accuracy = read_json(answer(*words, "--no-intervals"))
    for part in ("observed", "forecast"):
        for row, other in zip(found[part], accuracy[part], strict=True):
            assert row["value"] == pytest.approx(1 - other["value"], abs=1e-10)


def test_approach_and_basis_reach_the_library(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", 40, "--json"]
    loaded = headcount.load(pilot)
    found = {}
    for options in ({"approach": "adjustment"}, {"basis": "spline"}, {"basis": "gaussian"}):
        extra = [word for name, value in options.items() for word in (f"--{name}", value)]
        answered = read_json(answer(*words, *extra))
        expected = forecast_risk(loaded, distances(), 40, intervals=False, **options)
        found[answered["method"]] = answered["forecast"][0]["value"]
        assert found[expected.method] == pytest.approx(float(expected.risk(40)), abs=1e-9)
    assert len(set(found.values())) == 3


def test_confidence_widens_the_interval(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", 100, "--json", "--confidence"]
    widths = []
    for level in (0.5, 0.99):
        found = read_json(answer(*words, level))
        assert found["confidence"] == level
        widths.append(found["forecast"][0]["upper"] - found["forecast"][0]["lower"])
    assert widths[0] < widths[1]


def test_table_shows_the_pilot_the_numbers_and_their_source(pilot, tree, answer):
    lines = answer("risk", pilot, "--cost", tree, "--classes", "1000,10,100").splitlines()
    assert lines[0].startswith("Pilot: 20 classes, 60 probes.")
    assert "tree.json" in lines[0]
    assert "90% interval" in lines[2]
    rows = [line.split() for line in lines if line.split()[-1:] in (["measured"], ["forecast"])]
    assert [row[0] for row in rows] == ["10", "20", "100", "1,000"]
    assert [row[-1] for row in rows] == ["measured", "measured", "forecast", "forecast"]
    expected = observed_risk(headcount.load(pilot), distances(), [10, 20])
    assert [float(row[1]) for row in rows[:2]] == pytest.approx(expected, rel=0.005)
    for row in rows:
        assert row[3] == "to"
        assert float(row[2]) <= float(row[1]) <= float(row[4])


def test_csv_is_the_curve(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", 500, "--csv"]
    rows = list(csv.DictReader(io.StringIO(answer(*words))))
    assert set(rows[0]) == {"classes", "value", "lower", "upper", "region"}
    curve = {int(row["classes"]): float(row["value"]) for row in rows}
    assert {2, 20, 500} <= set(curve)
    assert all((int(r["classes"]) <= 20) == (r["region"] == "observed") for r in rows)
    inside = [k for k in curve if k <= 20]
    expected = observed_risk(headcount.load(pilot), distances(), inside)
    np.testing.assert_allclose([curve[k] for k in inside], expected, rtol=1e-12)


def test_counts_are_enough_for_zero_one_only(tmp_path, answer, refused, tree):
    losses = np.random.default_rng(0).integers(0, 6, 50)
    np.savez(tmp_path / "counts.npz", losses=losses, n_classes=20)
    words = ["risk", tmp_path / "counts.npz", "--classes", 100, "--cost"]
    found = read_json(answer(*words, "zero-one", "--json"))
    assert found["observed"][-1]["value"] == pytest.approx(np.mean(losses > 0))
    assert set(found["forecast"][0]) == {"classes", "value", "lower", "upper"}
    assert "likely" not in answer(*words, "zero-one")
    np.savez(tmp_path / "cost.npz", cost=distances())
    assert "only counts" in refused(*words, tmp_path / "cost.npz")


def test_warnings_are_said_and_repeated_in_json(pilot, tree, run):
    code, out, err = run("risk", pilot, "--cost", tree, "--classes", "1e6", "--json")
    assert code == 0
    assert [f"headcount: warning: {text}\n" for text in read_json(out)["warnings"]] == [err]
    assert "1,000,000 classes are 50,000 times" in err


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "held, message",
    [
        ("{", "is not JSON"),
        ("[1, 2]", "must hold one JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"0": 1, "0": 2}', "has '0' twice"),
        ({str(i): 10**400 for i in range(20)}, "priors must be numbers"),
        ({"0": 1}, "19 of 20"),
        ({str(i): -1 for i in range(20)}, "priors"),
        ({str(i): "often" for i in range(20)}, "priors"),
        ({str(i): None for i in range(20)}, "priors"),
    ],
)
def test_bad_priors_are_refused(pilot, tree, refused, tmp_path, held, message):
    priors = write(tmp_path / "often.json", held)
    words = ["risk", pilot, "--cost", tree, "--classes", 100, "--priors", priors]
    assert message in refused(*words)


def test_bad_costs_are_refused(pilot, refused, tmp_path):
    def refusal(cost, *more):
        return refused("risk", pilot, "--cost", cost, "--classes", 100, *more)

    assert "no file missing.json" in refusal(tmp_path / "missing.json")
    assert "leaf" in refusal(write(tmp_path / "tree.json", {"low": ["0", "1"]}))
    np.savez(tmp_path / "cost.npz", cost=-distances())
    assert "are negative" in refusal(tmp_path / "cost.npz")
    np.savez(tmp_path / "cost.npz", cost=1e307 * distances())
    assert "beyond 1e+100" in refusal(tmp_path / "cost.npz")
    np.savez(tmp_path / "cost.npz", cost=distances()[:5])
    assert "5 x 20" in refusal(tmp_path / "cost.npz")
    text = write(tmp_path / "cost.txt", "1 2 3")
    assert "cannot read costs from cost.txt" in refusal(text)


def test_bad_options_are_refused(pilot, tree, refused):
    words = ["risk", pilot, "--cost", tree]
    assert "--classes" in refused(*words)
    assert "--cost" in refused("risk", pilot, "--classes", 100)
    assert "at least 2" in refused(*words, "--classes", 1)
    assert "exclude each other" in refused(*words, "--classes", 100, "--json", "--csv")
    assert "approach must be one of" in refused(*words, "--classes", 100, "--approach", "luck")
    assert "basis must be one of" in refused(*words, "--classes", 100, "--basis", "luck")
    assert "confidence" in refused(*words, "--classes", 100, "--confidence", 90)


def test_file_names_reach_the_terminal_tamed(pilot, tmp_path, answer):
    path = write(tmp_path / "tree\x1b[31m\u202e.json", TREE)
    out = answer("risk", pilot, "--cost", path, "--classes", 100)
    assert not set("\x1b\u202e") & set(out)


# -- around it -------------------------------------------------------------------------------------


def test_the_command_is_listed_without_loading_the_machinery():
    code = (
        "import sys; from headcount.cli.app import main; main(['--help']); "
        "print([m for m in ('numba', 'sklearn', 'scipy', 'headcount.questions.risk') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " risk " in done.stdout
    assert done.stdout.rstrip().endswith("[]")


# -- one set, back-test, tasks -----------------------------------------------------------------------


def test_kinds_of_sets_reach_the_library(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", "30,100", "--json"]
    expected = forecast_risk(headcount.load(pilot), distances(), [30, 100])
    for kind in ("expected", "new_set", "grown_set"):
        found = read_json(answer(*words, "--kind", kind))
        assert found["kind"] == kind
        assert [row["classes"] for row in found["forecast"]] == [30, 100]
        assert len(found["observed"]) == (kind != "grown_set")
        for row in found["forecast"]:
            k = row["classes"]
            value = expected.grown(k) if kind == "grown_set" else expected.risk(k)
            limits = [float(limit) for limit in expected.interval(k, kind)]
            assert row["value"] == pytest.approx(float(value), abs=1e-9)
            assert [row["lower"], row["upper"]] == pytest.approx(limits, abs=1e-6)
    text = answer(*words[:-1], "--kind", "grown_set")
    assert "one set that keeps the pilot's classes" in text
    assert "one new set" in answer(*words[:-1], "--kind", "new_set")


def test_csv_of_a_grown_set(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", "30,100", "--csv", "--kind", "grown_set"]
    rows = list(csv.DictReader(io.StringIO(answer(*words))))
    assert [(int(row["classes"]), row["region"]) for row in rows] == [
        (30, "forecast"),
        (100, "forecast"),
    ]


def test_unconstrained_is_an_approach(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", 40, "--json", "--approach"]
    found = read_json(answer(*words, "unconstrained"))
    expected = forecast_risk(headcount.load(pilot), distances(), 40, approach="unconstrained")
    assert found["method"] == "unconstrained-spline"
    (row,) = found["forecast"]
    assert row["value"] == pytest.approx(float(expected.risk(40)), abs=1e-9)
    assert row["upper"] == pytest.approx(float(expected.interval(40)[1]), abs=1e-6)


def test_backtest_follows_the_forecast(pilot, tree, answer):
    words = ["risk", pilot, "--cost", tree, "--classes", 100, "--backtest"]
    found = read_json(answer(*words, "--basis", "spline", "--json"))["backtest"]
    expected = backtest_risk(headcount.load(pilot), distances(), basis="spline")
    assert [step["classes"] for step in found["steps"]] == [10]
    assert found["steps"][0]["forecasts"] == pytest.approx(expected.steps[0].forecasts, abs=1e-9)
    assert found["method"] == "regression-spline" and found["supported"] == expected.supported
    text = answer(*words, "--basis", "spline")
    assert "What would have been forecast from fewer of the 20 classes" in text
    assert expected.sentences()[-1].split(":")[0][:30] in text


def test_priors_of_tasks(pilot, tree, answer, refused, tmp_path):
    often = {str(i): 1 + i % 3 for i in range(20)}
    words = ["risk", pilot, "--cost", tree, "--classes", "5,60", "--task-normalised"]
    assert "give --priors" in refused(*words)
    words += ["--priors", write(tmp_path / "often.json", often)]
    found = read_json(answer(*words, "--json"))["task_normalised"]
    loaded = headcount.load(pilot)
    for row, k in zip(found, (5, 60), strict=True):
        value, error = task_normalised_risk(loaded, distances(), k, often)
        assert row["classes"] == k
        assert (row["value"], row["standard_error"]) == pytest.approx((value, error), abs=1e-9)
    assert "priors of each set of classes are made to sum to one" in answer(*words)


def test_a_csv_holds_one_table(pilot, tree, refused):
    words = ["risk", pilot, "--cost", tree, "--classes", 100, "--csv"]
    for option in ("--backtest", "--task-normalised"):
        assert "holds the curve alone" in refused(*words, option)
    assert "kind must be one of" in refused(*words[:-1], "--kind", "old_set")
    assert "contains the pilot's 20 classes" in refused(*words[:-2], 10, "--kind", "grown_set")
