import csv
import io
import re

import numpy as np
import pytest
from matplotlib import image

import headcount
from command_line import (
    N_CLASSES,
    N_PROBES,
    ONLY_TOO_FAR,
    SCHEMA,
    brute_force_accuracy,
    make_scores,
    read_json,
    write_npz,
)
from headcount import Pilot
from headcount.estimators import METHODS
from headcount.estimators.registry import DEFAULT
from headcount.support.words import about, percent, percent_range

# -- forecast --------------------------------------------------------------------------------------


def test_forecast_shows_the_pilot_the_numbers_and_their_source(pilot, answer):
    lines = answer("forecast", pilot, "--classes", "1000,10,100", "--no-intervals").splitlines()
    assert "20 classes, 60 probes" in lines[0]
    assert f"Method: {DEFAULT}." in lines[0]
    assert "interval" not in "".join(lines)
    rows = [line.split() for line in lines if line.split()[-1:] in (["measured"], ["forecast"])]
    assert [row[0] for row in rows] == ["10", "20", "100", "1,000"]
    assert [row[2] for row in rows] == ["measured", "measured", "forecast", "forecast"]
    shares = [int(row[1].rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    scores, labels = make_scores()
    assert shares[1] == round(100 * np.mean(scores.argmax(axis=1) == labels))


@pytest.fixture
def easy(tmp_path):
    """A pilot whose back-test supports twice its classes."""
    scores, labels = make_scores(lead=4)
    return write_npz(tmp_path, scores=scores, labels=labels)


def same_as_the_library(path, **options):
    with np.load(path) as held:
        pilot = Pilot.from_scores(held["scores"], held["labels"])
    return headcount.forecast(pilot, **options)


def test_forecast_shows_intervals_and_the_back_test(easy, answer):
    options = ["--classes", "10,40", "--method", "exponential"]
    lines = answer("forecast", easy, *options, "--confidence", "0.8").splitlines()
    header = next(line for line in lines if "accuracy" in line)
    assert header.split() == ["classes", "accuracy", "80%", "interval"]
    rows = [line.split() for line in lines if line.split()[-1:] in (["measured"], ["forecast"])]
    assert [row[0] for row in rows] == ["10", "20", "40"]
    made = same_as_the_library(easy, classes=[10, 40], method="exponential", confidence=0.8)
    for row in rows:
        k = int(row[0])
        assert row[1:3] == [
            percent(float(made.accuracy(k))),
            percent_range(*(float(limit) for limit in made.interval(k))),
        ]
    said = [line for line in lines if line.startswith("Back-test: ")]
    assert said == [f"Back-test: {text}" for text in made.backtest.sentences()] != []


def test_seed_and_jobs_are_passed_on(easy, answer):
    options = ["--classes", "40", "--method", "exponential", "--json"]
    first, again, other = (
        read_json(answer("forecast", easy, *options, *more))["forecast"][0]
        for more in ([], ["--seed", "0", "--jobs", "1"], ["--seed", "5"])
    )
    assert first == again
    assert first["lower"] != other["lower"] and first["value"] == other["value"]
    made = same_as_the_library(easy, classes=40, method="exponential", random_state=5)
    assert [other["lower"], other["upper"]] == [float(limit) for limit in made.interval(40)]


def test_further_than_the_back_test_is_said_once(pilot, run):
    code, out, err = run("forecast", pilot, "--classes", "1000", "--method", "exponential")
    assert code == 0 and "forecast" in out
    assert err.startswith("headcount: warning: 1,000 classes are further than the back-test")
    assert err.count("further than the back-test") == 1 and "HC011" not in err


def test_forecast_json_follows_the_schema(pilot, answer):
    options = ["--classes", "1000,10,100", "--no-intervals", "--json"]
    found = read_json(answer("forecast", pilot, *options))
    assert set(found) == SCHEMA
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (2, 20, 60)
    assert (found["method"], found["confidence"]) == (DEFAULT, 0.9)
    assert (found["checks"], found["warnings"]) == ([], [])
    assert [row["classes"] for row in found["observed"]] == [10, 20]
    assert [row["classes"] for row in found["forecast"]] == [100, 1000]
    scores, labels = make_scores()
    right = np.mean(scores.argmax(axis=1) == labels)
    assert found["observed"][1] == {
        "classes": 20, "value": pytest.approx(right), "lower": None, "upper": None
    }  # fmt: skip
    values = [row["value"] for row in found["observed"] + found["forecast"]]
    assert values == sorted(values, reverse=True)
    assert 0 < values[-1] < values[-2] < right
    assert {row["lower"] for row in found["forecast"]} == {None}
    assert {row["upper"] for row in found["forecast"]} == {None}


def test_forecast_json_has_limits(easy, answer):
    options = ["--classes", "10,40", "--method", "exponential", "--json"]
    found = read_json(answer("forecast", easy, *options))
    assert set(found) == SCHEMA
    (row,) = found["forecast"]
    assert set(row) == {"classes", "value", "lower", "upper"}
    assert 0 < row["lower"] < row["value"] < row["upper"] < 1


def test_forecast_within_the_pilot_has_nothing_to_forecast(pilot, answer):
    found = read_json(answer("forecast", pilot, "--classes", "5", "--json"))
    assert found["forecast"] == []
    assert [row["classes"] for row in found["observed"]] == [5, 20]


def test_json_is_pure_even_where_a_warning_is_given(pilot, run):
    code, out, err = run("forecast", pilot, "--classes", "1e9", "--json")
    found = read_json(out)
    assert code == 0
    assert err.startswith("headcount: warning: 1,000,000,000 classes")
    assert err.count("\n") == 1
    assert [f"headcount: warning: {text}\n" for text in found["warnings"]] == [err]


@pytest.mark.parametrize("command", [("forecast", "--classes", 100), ("observe",)])
def test_json_repeats_what_was_said_while_reading(tmp_path, run, command):
    (tmp_path / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nr Q0 a 1 1 t\nr Q0 b 2 2 t\n")
    (tmp_path / "qrels").write_text("q 0 a 1\nr 0 a 1\ns 0 a 1\n")
    files = [tmp_path / "run", "--qrels", tmp_path / "qrels", "--n-classes", 50]
    code, out, err = run(command[0], *files, *command[1:], "--json")
    assert code == 0
    assert "1 of 3 judged queries is not in the run" in err
    assert any("is not in the run" in text for text in read_json(out)["warnings"])


def test_forecast_csv_has_limits(easy, answer):
    options = ["--classes", 40, "--method", "exponential", "--csv"]
    rows = list(csv.DictReader(io.StringIO(answer("forecast", easy, *options))))
    assert list(rows[0]) == ["classes", "value", "lower", "upper", "region"]
    for row in rows:
        assert 0 <= float(row["lower"]) <= float(row["value"]) <= float(row["upper"]) <= 1
    assert float(rows[-1]["lower"]) < float(rows[-1]["upper"])


def test_forecast_csv(pilot, answer):
    out = answer("forecast", pilot, "--classes", 500, "--no-intervals", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert set(rows[0]) == {"classes", "value", "region"}
    classes = [int(row["classes"]) for row in rows]
    assert classes == sorted(set(classes))
    assert {2, 20, 500} <= set(classes)
    regions = {int(row["classes"]): row["region"] for row in rows}
    assert all((k <= 20) == (region == "observed") for k, region in regions.items())
    assert set(regions.values()) == {"observed", "forecast"}
    values = [float(row["value"]) for row in rows]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("text", ["1000,2000", " 2000, 1000 ,", "1e3,2E3", "1_000,2_000,1000"])
def test_numbers_of_classes_may_be_written_in_several_ways(pilot, answer, text):
    found = read_json(answer("forecast", pilot, "--classes", text, "--no-intervals", "--json"))
    assert [row["classes"] for row in found["forecast"]] == [1000, 2000]


def test_a_whole_number_may_have_a_decimal_point(pilot, answer):
    found = read_json(answer("forecast", pilot, "--classes", "1000.0", "--no-intervals", "--json"))
    assert [row["classes"] for row in found["forecast"]] == [1000]


def test_numbers_of_classes_past_the_largest_integer(pilot, run):
    code, out, err = run("forecast", pilot, "--classes", "1e20", "--json")
    assert code in (0, 2)
    assert "-9" not in out + err
    assert (code == 0) or ("1e+20" in err or "100,000,000,000,000,000,000" in err)


def test_a_plot_is_a_picture_in_place_of_an_older_one(pilot, answer, tmp_path):
    (tmp_path / "curve.png").write_text("an older one")
    options = ["--classes", 1000, "--no-intervals", "--plot", tmp_path / "curve.png"]
    out = answer("forecast", pilot, *options)
    assert "1,000" in out
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = image.imread(tmp_path / "curve.png")
    assert min(pixels.shape[:2]) > 300
    assert pixels.std() > 0.01
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "pilot.npz"]


def test_a_plot_may_be_a_drawing(pilot, answer, tmp_path):
    options = ["--classes", 20, "--method", "exponential", "--plot", tmp_path / "curve.svg"]
    answer("forecast", pilot, *options)
    assert "<svg" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


def test_options_describe_what_the_files_cannot_say(tmp_path, answer):
    rng = np.random.default_rng(1)
    gallery = rng.normal(size=(30, 6))
    np.save(tmp_path / "gallery.npy", gallery)
    np.save(tmp_path / "probes.npy", 5 * gallery[:20] + 2 * rng.normal(size=(20, 6)))
    (tmp_path / "who.txt").write_text("".join(f"{i}\n" for i in range(20)))
    files = [tmp_path / "probes.npy", "--labels", tmp_path / "who.txt"]
    files += ["--gallery", tmp_path / "gallery.npy", "--json"]
    accuracy = {}
    for similarity in ("euclidean", "cosine"):
        found = read_json(answer("observe", *files, "--similarity", similarity))
        accuracy[similarity] = found["observed"][-1]["accuracy"]
    probes = np.load(tmp_path / "probes.npy")
    distances = ((probes[:, None] - gallery) ** 2).sum(axis=2)
    cosines = probes @ (gallery / np.linalg.norm(gallery, axis=1)[:, None]).T
    right = np.arange(20)
    assert accuracy["euclidean"] == pytest.approx(np.mean(distances.argmin(axis=1) == right))
    assert accuracy["cosine"] == pytest.approx(np.mean(cosines.argmax(axis=1) == right))
    assert accuracy["cosine"] != accuracy["euclidean"]


# -- observe ---------------------------------------------------------------------------------------


SMALL = np.array([[9, 1, 3, 3], [2, 8, 8, 1], [7, 5, 1, 1], [1, 4, 4, 5], [2, 2, 2, 6]])
SMALL_LABELS = np.array([0, 1, 2, 2, 3])


@pytest.fixture
def small(tmp_path):
    return write_npz(tmp_path, scores=SMALL, labels=SMALL_LABELS)


def test_observe_json_is_the_average_over_all_sub_tasks(small, answer):
    found = read_json(answer("observe", small, "--classes", "2,3,4", "--json"))
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (2, 4, 5)
    for row, k in zip(found["observed"], (2, 3, 4), strict=True):
        assert row["classes"] == k
        assert row["accuracy"] == pytest.approx(brute_force_accuracy(SMALL, SMALL_LABELS, k))
        assert row["top-5"] == pytest.approx(1.0)


def test_observe_csv_agrees_with_json(small, answer):
    rows = list(
        csv.DictReader(io.StringIO(answer("observe", small, "--csv", "--metric", "mrr,top2")))
    )
    found = read_json(answer("observe", small, "--json", "--metric", "mrr,top2"))["observed"]
    assert list(found[0]) == ["classes", "mrr", "top-2", "median_rank"]
    assert [{name: float(value) for name, value in row.items()} for row in rows] == found
    assert [row["classes"] for row in found] == [2, 4]


def test_observe_shows_a_summary_and_a_table(tmp_path, answer):
    path = write_npz(tmp_path, class_names=[f"name{i}" for i in range(N_CLASSES)])
    out = answer("observe", path)
    scores, labels = make_scores()
    share = percent(float(np.mean(scores.argmax(axis=1) == labels)))
    assert out.startswith("20 classes, 60 probes\n")
    assert f"{share} among all 20 classes" in out
    lost = (scores > scores[np.arange(N_PROBES), labels][:, None]).sum(axis=1).reshape(-1, 3)
    hardest = next(line for line in out.splitlines() if "hardest" in line)
    assert hardest.split()[1] == f"name{lost.sum(axis=1).argmax()}"
    table = [line.split() for line in out.splitlines() if line.split()[:1] == ["20"]]
    assert table[-1][:2] == ["20", share]


def test_observe_shows_bounds_where_lists_were_cut(tmp_path, answer):
    np.savez(tmp_path / "l.npz", losses=[0, 0, 2, 2], n_classes=5, censored=[0, 0, 0, 1])
    found = read_json(answer("observe", tmp_path / "l.npz", "--classes", "2", "--json"))
    row = found["observed"][0]
    # The censored probe has lost to 2, 3 or all 4 of its 4 rivals.
    assert row["lower"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert row["upper"] == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert row["lower"] <= row["accuracy"] <= row["upper"]
    out = answer("observe", tmp_path / "l.npz", "--classes", "2")
    assert "62% to 75%" in out
    assert "censored" in out


@pytest.mark.parametrize(("rule", "expected"), [("win", 5 / 6), ("lose", 3 / 6), ("random", 4 / 6)])
def test_tie_rule_option(tmp_path, answer, rule, expected):
    # Three probes are right, two tie, one is wrong.
    scores = [[1, 0], [1, 0], [0, 1], [1, 1], [1, 1], [0, 1]]
    path = write_npz(tmp_path, scores=scores, labels=[0, 0, 1, 0, 1, 0])
    out = answer("observe", path, "--tie-rule", rule, "--average", "micro", "--json")
    assert read_json(out)["observed"][0]["accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize(("average", "expected"), [("macro", 0.5), ("micro", 0.75)])
def test_average_option(tmp_path, answer, average, expected):
    path = write_npz(tmp_path, scores=[[1, 0]] * 4, labels=[0, 0, 0, 1])
    out = answer("observe", path, "--average", average, "--json")
    assert read_json(out)["observed"][0]["accuracy"] == pytest.approx(expected)


# -- capacity, methods, demo, help -----------------------------------------------------------------


def test_capacity_is_where_the_forecast_crosses_the_target(pilot, answer):
    arguments = ["--target", "0.4", "--target", "0.8", "--no-intervals", "--json"]
    found = read_json(answer("capacity", pilot, *arguments))
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (2, 20, 60)
    assert [row["target"] for row in found["capacity"]] == [0.4, 0.8]
    for row in found["capacity"]:
        assert row["unbounded"] is False
        last = row["classes"]
        assert row["lower"] is None and row["upper"] is None
        options = ["--classes", f"{last},{last + 1}", "--no-intervals", "--json"]
        curve = read_json(answer("forecast", pilot, *options))
        points = curve["observed"] + curve["forecast"]
        values = {point["classes"]: point["value"] for point in points}
        assert values[last] >= row["target"] > values[last + 1]


def test_capacity_in_words(pilot, answer):
    targets = ["--target", "0.8", "--target", "0.4", "--target", "1"]
    first, second, third = answer("capacity", pilot, *targets, "--no-intervals").splitlines()
    assert first.startswith("80%: up to 4 classes (measured)")
    assert second.startswith("40%: up to ")
    assert second.endswith("(forecast).")
    assert third == "100%: even two classes are too many."


def test_capacity_has_limits(pilot, run):
    targets = ["--target", "0.8", "--target", "0.4", "--target", "0.001"]
    options = [*targets, "--method", "exponential", "--confidence", "0.8"]
    made = same_as_the_library(pilot, classes=20, method="exponential", confidence=0.8)
    limits = [made.capacity_interval(target) for target in (0.8, 0.4, 0.001)]
    assert limits[2][1] == float("inf")
    found = read_json(run("capacity", pilot, *options, "--json")[1])["capacity"]
    assert [row["lower"] for row in found] == [low for low, _ in limits]
    assert [row["upper"] for row in found] == [limits[0][1], limits[1][1], None]
    code, out, err = run("capacity", pilot, *options)
    assert code == 0 and out.count("forecast") == 2
    assert "warning: the back-test supports forecasts up to" in err
    first, second, third = out.splitlines()
    for line, (low, high) in zip((first, second), limits, strict=False):
        assert line.endswith(f"; 80% interval {about(low)} to {about(high)}.")
    assert limits[2][0] > 10_000 * made.n_classes  # more than can be said
    assert third.endswith("; 80% interval 200,000 or more.")


def test_capacity_json_holds_what_was_warned_of(pilot, run):
    options = ["--target", "0.001", "--method", "exponential"]
    code, out, err = run("capacity", pilot, *options, "--json")
    found = read_json(out)
    assert code == 0
    assert "the back-test supports forecasts up to" in found["warnings"][-1]
    assert [f"headcount: warning: {text}" for text in found["warnings"]] == err.splitlines()
    spoken = run("capacity", pilot, *options)[2].splitlines()
    assert spoken[: len(found["warnings"])] == err.splitlines()
    made = same_as_the_library(pilot, classes=20, method="exponential")
    assert found["checks"] == [check.to_dict() for check in made.checks]


def test_capacity_within_what_is_supported_warns_of_nothing(pilot, answer):
    options = ["--target", "0.8", "--method", "exponential", "--json"]
    assert read_json(answer("capacity", pilot, *options))["warnings"] == []


def test_methods_lists_every_method_and_the_default(answer):
    out = answer("methods")
    assert f"{DEFAULT} (the default): " in out and out.count("the default)") == 1
    assert "needs scores" in out and "needs losses" in out


def test_methods_that_are_listed_can_be_asked_for(pilot, answer):
    lines = answer("methods").splitlines()
    names = {re.match(r"[\w-]+", line)[0] for line in lines if not line.startswith(" ")}
    assert names == set(METHODS)
    for name in ("exponential", "exp-004"):  # one with a law, one without
        options = ["--classes", 50, "--method", name, "--no-intervals", "--json"]
        assert read_json(answer("forecast", pilot, *options))["method"] == name


def test_demo_puts_the_forecast_next_to_the_truth(run, tmp_path):
    code, out, err = run("demo", "--plot", tmp_path / "demo.png")
    assert code == 0 and ONLY_TOO_FAR.fullmatch(err)
    rows = [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]
    assert [row[0] for row in rows] == ["1,000", "2,000", "5,000", "11,172"]
    forecasts, truths = (np.array([int(row[i].rstrip("%")) for row in rows]) for i in (1, 3))
    lower, upper = np.array([row[2].rstrip("%").split("-") for row in rows], dtype=int).T
    assert (lower < forecasts).all() and (forecasts < upper).all()
    # One pilot may lie outside its intervals, and this one does: it got 92% right, where such
    # pilots get 93.5% on average.
    assert (np.abs(forecasts - truths) <= 10).all()
    assert lower[-1] <= truths[-1] <= upper[-1]
    held = int(((lower <= truths) & (truths <= upper)).sum())
    assert abs(int(re.search(r"(\d) of the 4 intervals", out)[1]) - held) <= 1  # all are rounded
    assert (np.diff(upper - lower) > 0).all()
    assert (np.diff(forecasts) < 0).all()
    assert (np.diff(truths) < 0).all()
    assert 30 <= truths[-1] <= 70
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_version(answer):
    assert answer("--version") == f"headcount {headcount.__version__}\n"


@pytest.mark.parametrize("command", ["forecast", "observe", "capacity"])
def test_help_has_examples(answer, command):
    out = answer(command, "--help")
    assert "For example" in out
    assert f"headcount {command} scores.npz" in out
    assert "--lower-is-better" in out


def test_help_lists_the_commands(answer):
    out = answer("--help")
    for command in ("forecast", "observe", "capacity", "methods", "demo"):
        assert command in out


def test_no_arguments_show_help_and_no_empty_complaint(run):
    _, out, err = run()
    assert "Usage" in out + err
    assert "headcount: error: See" not in err
