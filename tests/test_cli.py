import csv
import io
import itertools
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import image

import headcount
from headcount import DataError, terminal
from headcount.cli import main
from headcount.estimators import METHODS
from headcount.threads import for_each
from headcount.writing import write_atomically

N_CLASSES, N_PROBES = 20, 60
SCHEMA = {
    "schema", "n_classes", "n_probes", "method", "confidence", "observed", "forecast", "checks",
    "warnings",
}  # fmt: skip


def make_scores():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_CLASSES), N_PROBES // N_CLASSES)
    scores = rng.normal(size=(N_PROBES, N_CLASSES))
    scores[np.arange(N_PROBES), labels] += 2
    return scores, labels


def write_npz(folder, **changed):
    scores, labels = make_scores()
    members = {"scores": scores, "labels": labels} | changed
    np.savez(folder / "pilot.npz", **members)
    return str(folder / "pilot.npz")


def write_members(folder, **raw):
    with zipfile.ZipFile(folder / "pilot.npz", "w") as archive:
        for name, content in raw.items():
            archive.writestr(f"{name}.npy", content)
    return str(folder / "pilot.npz")


def npy_bytes(values):
    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


def npy_header(shape):
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


def brute_force_accuracy(scores, labels, k):
    n_classes = scores.shape[1]
    by_class = {}
    for row, true in zip(scores, labels, strict=True):
        rivals = [value for column, value in enumerate(row) if column != true]
        sets = itertools.combinations(rivals, k - 1)
        chances = [
            0.0 if max(drawn) > row[true] else 1 / (1 + sum(v == row[true] for v in drawn))
            for drawn in sets
        ]
        by_class.setdefault(true, []).append(np.mean(chances))
    assert k <= n_classes
    return np.mean([np.mean(values) for values in by_class.values()])


def read_json(text):
    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def pilot(tmp_path):
    return write_npz(tmp_path)


@pytest.fixture
def run(capsys):
    def go(*argv):
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return go


@pytest.fixture
def answer(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return out

    return go


@pytest.fixture
def refused(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert code == 2
        assert out == ""
        assert err.startswith("headcount: error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return go


# -- forecast --------------------------------------------------------------------------------------


def test_forecast_shows_the_pilot_the_numbers_and_their_source(pilot, answer):
    lines = answer("forecast", pilot, "--classes", "1000,10,100").splitlines()
    assert "20 classes, 60 probes" in lines[0]
    assert "probit_normal" in lines[0]
    rows = [line.split() for line in lines if line.split()[-1:] in (["measured"], ["forecast"])]
    assert [row[0] for row in rows] == ["10", "20", "100", "1,000"]
    assert [row[2] for row in rows] == ["measured", "measured", "forecast", "forecast"]
    shares = [int(row[1].rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    scores, labels = make_scores()
    assert shares[1] == round(100 * np.mean(scores.argmax(axis=1) == labels))


def test_forecast_json_follows_the_schema(pilot, answer):
    found = read_json(answer("forecast", pilot, "--classes", "1000,10,100", "--json"))
    assert set(found) == SCHEMA
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (1, 20, 60)
    assert (found["method"], found["confidence"]) == ("probit_normal", 0.9)
    assert (found["checks"], found["warnings"]) == ([], [])
    assert [row["classes"] for row in found["observed"]] == [10, 20]
    assert [row["classes"] for row in found["forecast"]] == [100, 1000]
    scores, labels = make_scores()
    right = np.mean(scores.argmax(axis=1) == labels)
    assert found["observed"][1] == {"classes": 20, "accuracy": pytest.approx(right)}
    values = [row["accuracy"] for row in found["observed"] + found["forecast"]]
    assert values == sorted(values, reverse=True)
    assert 0 < values[-1] < values[-2] < right


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


def test_json_repeats_what_was_said_while_reading(tmp_path, run):
    (tmp_path / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nr Q0 a 1 1 t\nr Q0 b 2 2 t\n")
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\nr 0 a 1\n")
    files = [tmp_path / "run", "--qrels", tmp_path / "qrels", "--n-classes", 50]
    code, out, err = run("forecast", *files, "--classes", 100, "--json")
    assert code == 0
    assert "1 of 2 queries have several relevant documents" in err
    assert any("several relevant documents" in text for text in read_json(out)["warnings"])


def test_forecast_csv(pilot, answer):
    rows = list(csv.DictReader(io.StringIO(answer("forecast", pilot, "--classes", 500, "--csv"))))
    assert set(rows[0]) == {"classes", "accuracy", "region"}
    classes = [int(row["classes"]) for row in rows]
    assert classes == sorted(set(classes))
    assert {2, 20, 500} <= set(classes)
    regions = {int(row["classes"]): row["region"] for row in rows}
    assert all((k <= 20) == (region == "observed") for k, region in regions.items())
    assert set(regions.values()) == {"observed", "forecast"}
    values = [float(row["accuracy"]) for row in rows]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("text", ["1000,2000", " 2000, 1000 ,", "1e3,2E3", "1_000,2_000,1000"])
def test_numbers_of_classes_may_be_written_in_several_ways(pilot, answer, text):
    found = read_json(answer("forecast", pilot, "--classes", text, "--json"))
    assert [row["classes"] for row in found["forecast"]] == [1000, 2000]


def test_a_whole_number_may_have_a_decimal_point(pilot, answer):
    found = read_json(answer("forecast", pilot, "--classes", "1000.0", "--json"))
    assert [row["classes"] for row in found["forecast"]] == [1000]


def test_numbers_of_classes_past_the_largest_integer(pilot, run):
    code, out, err = run("forecast", pilot, "--classes", "1e20", "--json")
    assert code in (0, 2)
    assert "-9" not in out + err
    assert (code == 0) or ("1e+20" in err or "100,000,000,000,000,000,000" in err)


def test_a_plot_is_a_picture_in_place_of_an_older_one(pilot, answer, tmp_path):
    (tmp_path / "curve.png").write_text("an older one")
    out = answer("forecast", pilot, "--classes", 1000, "--plot", tmp_path / "curve.png")
    assert "1,000" in out
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = image.imread(tmp_path / "curve.png")
    assert min(pixels.shape[:2]) > 300
    assert pixels.std() > 0.01
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "pilot.npz"]


def test_a_plot_may_be_a_drawing(pilot, answer, tmp_path):
    answer("forecast", pilot, "--classes", 1000, "--plot", tmp_path / "curve.svg")
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
    for metric in ("euclidean", "cosine"):
        found = read_json(answer("observe", *files, "--metric", metric))
        accuracy[metric] = found["observed"][-1]["accuracy"]
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
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (1, 4, 5)
    for row, k in zip(found["observed"], (2, 3, 4), strict=True):
        assert row["classes"] == k
        assert row["accuracy"] == pytest.approx(brute_force_accuracy(SMALL, SMALL_LABELS, k))
        assert row["top_5"] == pytest.approx(1.0)


def test_observe_csv_agrees_with_json(small, answer):
    rows = list(csv.DictReader(io.StringIO(answer("observe", small, "--csv", "--top", 2))))
    found = read_json(answer("observe", small, "--json", "--top", 2))["observed"]
    assert [{name: float(value) for name, value in row.items()} for row in rows] == found
    assert [row["classes"] for row in found] == [2, 4]


def test_observe_shows_a_summary_and_a_table(tmp_path, answer):
    path = write_npz(tmp_path, class_names=[f"name{i}" for i in range(N_CLASSES)])
    out = answer("observe", path)
    scores, labels = make_scores()
    share = f"{np.mean(scores.argmax(axis=1) == labels):.0%}"
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
    arguments = ["--target", "0.4", "--target", "0.8", "--json"]
    found = read_json(answer("capacity", pilot, *arguments))
    assert (found["schema"], found["n_classes"], found["n_probes"]) == (1, 20, 60)
    assert [row["target"] for row in found["capacity"]] == [0.4, 0.8]
    for row in found["capacity"]:
        assert row["unbounded"] is False
        last = row["classes"]
        curve = read_json(answer("forecast", pilot, "--classes", f"{last},{last + 1}", "--json"))
        points = curve["observed"] + curve["forecast"]
        accuracy = {point["classes"]: point["accuracy"] for point in points}
        assert accuracy[last] >= row["target"] > accuracy[last + 1]


def test_capacity_in_words(pilot, answer):
    first, second, third = answer(
        "capacity", pilot, "--target", "0.8", "--target", "0.4", "--target", "1"
    ).splitlines()
    assert first.startswith("80%: up to 4 classes (measured)")
    assert second.startswith("40%: up to ")
    assert second.endswith("(forecast).")
    assert third == "100%: even two classes are too many."


def test_methods_lists_every_method_and_the_default(answer):
    out = answer("methods")
    assert "probit_normal (auto, the default): " in out
    assert "needs scores" in out and "needs losses" in out


def test_every_listed_method_can_be_asked_for(pilot, answer):
    lines = answer("methods").splitlines()
    names = [re.match(r"[\w-]+", line)[0] for line in lines if not line.startswith(" ")]
    assert len(names) == len(lines) / 3 == len(METHODS)
    for name in names:
        found = read_json(answer("forecast", pilot, "--classes", 50, "--method", name, "--json"))
        assert found["method"] == name


def test_demo_puts_the_forecast_next_to_the_truth(answer, tmp_path):
    out = answer("demo", "--plot", tmp_path / "demo.png")
    rows = [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]
    assert [row[0] for row in rows] == ["1,000", "2,000", "5,000", "11,172"]
    forecasts, truths = np.array([[int(cell.rstrip("%")) for cell in row[1:]] for row in rows]).T
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


# -- bad input: what was wrong, how many rows, the first, the remedy -------------------------------


def nan_scores(folder):
    scores, _ = make_scores()
    scores[[3, 8], 1] = np.nan
    return [write_npz(folder, scores=scores)]


def infinite_scores(folder):
    scores, labels = make_scores()
    scores[7, 5] = -np.inf
    np.save(folder / "scores.npy", scores)
    np.save(folder / "labels.npy", labels)
    return [folder / "scores.npy", "--labels", folder / "labels.npy"]


def nan_embeddings(folder):
    rows = np.ones((6, 3))
    rows[4, 2] = np.nan
    np.savez(folder / "e.npz", probes=rows, probe_labels=[0, 0, 1, 1, 2, 2])
    return [folder / "e.npz"]


def label_outside_the_columns(folder):
    labels = make_scores()[1]
    labels[[5, 9]] = [20, -1]
    return [write_npz(folder, labels=labels)]


def label_that_names_no_class(folder):
    names = np.array([f"c{i}" for i in range(N_CLASSES)])
    labels = names[make_scores()[1]]
    labels[2] = "C0"
    return [write_npz(folder, labels=labels, class_names=names)]


def one_class(folder):
    return [write_npz(folder, scores=np.ones((5, 1)), labels=np.zeros(5, int))]


def no_probe(folder):
    return [write_npz(folder, scores=np.ones((0, 5)), labels=np.zeros(0, int))]


def no_probe_left_after_leaving_one_out(folder):
    np.savez(folder / "e.npz", probes=np.eye(3), probe_labels=[0, 1, 2])
    return [folder / "e.npz"]


def too_few_labels(folder):
    return [write_npz(folder, labels=make_scores()[1][:-1])]


def too_few_class_names(folder):
    return [write_npz(folder, class_names=[f"c{i}" for i in range(19)])]


def flat_scores(folder):
    return [write_npz(folder, scores=np.arange(60.0))]


def different_dimensions(folder):
    members = {"probes": np.ones((2, 4)), "probe_labels": [0, 1], "gallery": np.ones((2, 5))}
    np.savez(folder / "e.npz", **members)
    return [folder / "e.npz"]


def distances_as_scores(folder):
    return [write_npz(folder, scores=-make_scores()[0])]


def constant_scores(folder):
    return [write_npz(folder, scores=np.full((N_PROBES, N_CLASSES), 0.5))]


def duplicate_class_names(folder):
    return [write_npz(folder, class_names=["x", "y", "y", *(f"c{i}" for i in range(17))])]


def duplicate_columns(folder):
    (folder / "s.csv").write_text("label,a,b,a\na,1,2,3\n")
    return [folder / "s.csv"]


def empty_file(folder):
    (folder / "empty.npz").touch()
    return [folder / "empty.npz"]


def truncated_npz(folder):
    whole = Path(write_npz(folder)).read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    return [folder / "cut.npz"]


def damaged_npz(folder):
    content = bytearray(Path(write_npz(folder)).read_bytes())
    content[2000:2010] = b"\0" * 10
    (folder / "cut.npz").write_bytes(content)
    return [folder / "cut.npz"]


def member_cut_short(folder):
    return [write_members(folder, scores=npy_bytes(np.ones((6, 5)))[:40], labels=npy_bytes([0]))]


def member_that_is_no_array(folder):
    return [write_members(folder, scores=b"not an array", labels=npy_bytes([0]))]


def npz_under_a_password(folder):
    content = bytearray(Path(write_npz(folder)).read_bytes())
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 8] |= 1
        at = content.find(b"PK\x01\x02", at + 1)
    (folder / "locked.npz").write_bytes(content)
    return [folder / "locked.npz"]


def truncated_npy(folder):
    scores, labels = make_scores()
    (folder / "cut.npy").write_bytes(npy_bytes(scores)[:-100])
    np.save(folder / "labels.npy", labels)
    return [folder / "cut.npy", "--labels", folder / "labels.npy"]


def npy_cut_in_its_header(folder):
    (folder / "cut.npy").write_bytes(npy_bytes(make_scores()[0])[:30])
    return [folder / "cut.npy", "--labels", folder / "cut.npy"]


def truncated_parquet(folder):
    table = pa.table({"label": ["a", "b"], "a": [1.0, 2.0], "b": [2.0, 1.0]})
    pq.write_table(table, folder / "whole.parquet")
    whole = (folder / "whole.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    return [folder / "cut.parquet"]


def object_npz(folder):
    return [write_npz(folder, class_names=np.array([f"c{i}" for i in range(N_CLASSES)], object))]


def object_npy(folder):
    np.save(folder / "labels.npy", np.array(["a", 1], object))
    np.save(folder / "scores.npy", np.ones((2, 2)))
    return [folder / "scores.npy", "--labels", folder / "labels.npy"]


def member_over_the_memory_limit(folder):
    return [write_members(folder, scores=npy_header((10**7, 10**6)), labels=npy_bytes([0]))]


def member_shorter_than_its_shape(folder):
    content = npy_header((60, 20)) + bytes(8 * 60 * 19)
    return [write_members(folder, scores=content, labels=npy_bytes(make_scores()[1]))]


def member_longer_than_its_shape(folder):
    content = npy_header((60, 20)) + bytes(8 * 60 * 21)
    return [write_members(folder, scores=content, labels=npy_bytes(make_scores()[1]))]


def file_that_is_not_there(folder):
    return [folder / "missing.npz"]


def name_too_long(folder):
    return [folder / ("a" * 300 + ".npz")]


def float16_scores(folder):
    scores, _ = make_scores()
    scores[4, 2] = 1e5
    with np.errstate(over="ignore"):
        return [write_npz(folder, scores=scores.astype(np.float16))]


def float16_embeddings(folder):
    rows = np.arange(12.0).reshape(6, 2)
    rows[3, 1] = 70_000
    with np.errstate(over="ignore"):
        np.savez(folder / "e.npz", probes=rows.astype(np.float16), probe_labels=[0, 0, 1, 1, 2, 2])
    return [folder / "e.npz"]


def text_scores(folder):
    return [write_npz(folder, scores=np.full((N_PROBES, N_CLASSES), "high"))]


def npz_given_as_a_run(folder):
    path = write_npz(folder)
    return [path, "--qrels", path, "--n-classes", "100"]


def run_without_a_size(folder):
    (folder / "run").write_text("q Q0 a 1 3 t\n")
    (folder / "qrels").write_text("q 0 a 1\n")
    return [folder / "run", "--qrels", folder / "qrels"]


BAD_FILES = [
    (nan_scores, ["scores: 2 of 60 rows", "NaN", "first: row 3, column 1 is nan", "repair"]),
    (infinite_scores, ["scores: 1 of 60 rows", "infinity", "row 7, column 5 is -inf", "repair"]),
    (nan_embeddings, ["probes: 1 of 6 rows", "NaN", "row 4, column 2 is nan", "repair"]),
    (
        label_outside_the_columns,
        ["labels: 2 of 60 rows", "outside the columns 0 to 19", "first: row 5, label 20", "from 0"],
    ),
    (
        label_that_names_no_class,
        ["labels: 1 of 60 rows", "name no class", "first: row 2, label C0", "class names"],
    ),
    (one_class, ["at least 2 classes", "there is 1", "add classes"]),
    (no_probe, ["no probe", "add some"]),
    (no_probe_left_after_leaving_one_out, ["no probe", "3 classes has one row", "gallery"]),
    (too_few_labels, ["labels and rows of scores disagree", "59 labels for 60", "one for each"]),
    (too_few_class_names, ["class names and columns disagree", "19 class names for 20"]),
    (flat_scores, ["scores must be a table", "shape (60,)"]),
    (different_dimensions, ["4 dimensions against 5", "same model"]),
    (distances_as_scores, ["only 10%", "distances", "--lower-is-better", "--higher-is-better"]),
    (constant_scores, ["all 60 probes score every class the same", "check how"]),
    (duplicate_class_names, ["class names", "more than once", "first: y, at position 1", "own"]),
    (duplicate_columns, ["class names", "more than once", "first: a, at position 0", "own"]),
    (empty_file, ["empty.npz is empty", "write it again"]),
    (truncated_npz, ["cut.npz is not a complete npz file", "truncated", "write it again"]),
    (damaged_npz, ["cut.npz", "write it again"]),
    (member_cut_short, ["pilot.npz: scores", "write it again"]),
    (member_that_is_no_array, ["pilot.npz: scores is not a NumPy array", "write it again"]),
    (npz_under_a_password, ["locked.npz", "password"]),
    (truncated_npy, ["cut.npy is truncated", "(60, 20)", "write it again"]),
    (npy_cut_in_its_header, ["cut.npy", "write it again"]),
    (truncated_parquet, ["cut.parquet is not a complete parquet file", "write it again"]),
    (object_npz, ["pilot.npz: class_names", "pickled Python objects", "refused", "astype(str)"]),
    (object_npy, ["labels.npy", "pickled Python objects", "refused", "astype(str)"]),
    (
        member_over_the_memory_limit,
        ["scores has shape (10000000, 1000000)", "GiB", "memory limit", "save it as .npy"],
    ),
    (
        member_shorter_than_its_shape,
        ["scores should hold 9,600 bytes", "(60, 20)", "damaged", "write it again"],
    ),
    (
        member_longer_than_its_shape,
        ["scores should hold 9,600 bytes", "(60, 20)", "damaged", "write it again"],
    ),
    (file_that_is_not_there, ["no file missing.npz", "check the name"]),
    (name_too_long, ["aaa.npz"]),
    (float16_scores, ["scores: 1 of 60 rows", "row 4, column 2 is inf", "float16", "float32"]),
    (float16_embeddings, ["probes: 1 of 6 rows", "row 3, column 1 is inf", "float16", "float32"]),
    (text_scores, ["scores must be numbers"]),
    (npz_given_as_a_run, ["pilot.npz", "UTF-8"]),
    (run_without_a_size, ["how many documents", "--n-classes"]),
]


@pytest.mark.parametrize(
    ("make", "phrases"), BAD_FILES, ids=[make.__name__ for make, _ in BAD_FILES]
)
def test_bad_files_get_one_line_and_exit_2(tmp_path, refused, make, phrases):
    message = refused("forecast", *make(tmp_path), "--classes", "100")
    for phrase in phrases:
        assert phrase in message
    assert str(tmp_path) not in message


@pytest.mark.parametrize(
    ("classes", "phrases"),
    [
        ("1", ["number of classes", "at least 2", "is 1"]),
        ("100,0", ["at least 2", "is 0"]),
        ("-5", ["at least 2", "is -5"]),
        ("2.5", ["whole number", "2.5"]),
        ("many", ["whole number", "many"]),
        ("1e400", ["whole number", "1e400"]),
        ("nan", ["whole number", "nan"]),
        ("inf", ["whole number", "inf"]),
        (",", ["--classes", "1000,10000"]),
        ("", ["--classes", "1000,10000"]),
    ],
)
@pytest.mark.parametrize("command", ["forecast", "observe"])
def test_bad_numbers_of_classes(pilot, refused, command, classes, phrases):
    message = refused(command, pilot, f"--classes={classes}")
    for phrase in phrases:
        assert phrase in message


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["forecast"], ["--classes"]),
        (["forecast", "--classes", "100", "--method", "magic"], ["magic", "probit_normal"]),
        (["forecast", "--classes", "100", "--confidence", "2"], ["confidence", "between 0 and 1"]),
        (["forecast", "--classes", "100", "--confidence", "nan"], ["confidence"]),
        (["forecast", "--classes", "100", "--confidence", "high"], ["--confidence", "number"]),
        (["forecast", "--classes", "100", "--json", "--csv"], ["--json", "--csv", "choose one"]),
        (["forecast", "--classes", "100", "--average", "mean"], ["average", "macro", "mean"]),
        (["forecast", "--classes", "100", "--tie-rule", "coin"], ["tie_rule", "random", "coin"]),
        (["forecast", "--classes", "100", "--metric", "dot"], ["--metric has no meaning"]),
        (["forecast", "--classes", "100", "--n-classes", "x"], ["--n-classes", "integer"]),
        (["forecast", "--classes", "100", "--speed", "9"], ["--speed"]),
        (["forecast", "--classes", "100", "--plot", "x.jpg"], [".jpg", ".png"]),
        (["observe", "--classes", "21"], ["20 classes", "nothing was observed at 21", "forecast"]),
        (["observe", "--top", "0"], ["top", "at least 1"]),
        (["observe", "--json", "--csv"], ["choose one"]),
        (["capacity"], ["--target"]),
        (["capacity", "--target", "1.5"], ["target", "1.5"]),
        (["capacity", "--target", "0"], ["target", "0"]),
        (["capacity", "--target", "nan"], ["target", "nan"]),
    ],
    ids=" ".join,
)
def test_bad_options(pilot, refused, arguments, phrases):
    message = refused(arguments[0], pilot, *arguments[1:])
    for phrase in phrases:
        assert phrase in message


def test_unknown_commands_are_refused(refused):
    assert "guess" in refused("guess")


def test_a_metric_that_does_not_exist(tmp_path, refused):
    np.savez(tmp_path / "e.npz", probes=np.eye(4), probe_labels=[0, 0, 1, 1])
    message = refused("observe", tmp_path / "e.npz", "--metric", "manhattan")
    assert "metric must be one of" in message
    assert "'manhattan'" in message
    assert all(metric in message for metric in ("euclidean", "cosine", "dot"))


@pytest.mark.parametrize("stated", ["--lower-is-better", "--higher-is-better"])
def test_stating_the_orientation_settles_it(tmp_path, run, stated):
    path = write_npz(tmp_path, scores=-make_scores()[0])
    code, out, _ = run("observe", path, stated, "--classes", "2", "--json")
    assert code == 0
    found = read_json(out)["observed"][0]["accuracy"]
    assert found > 0.8 if stated == "--lower-is-better" else found < 0.2


def test_the_orientation_may_be_stated_in_the_file(tmp_path, run):
    path = write_npz(tmp_path, scores=-make_scores()[0], higher_is_better=True)
    assert run("observe", path, "--json")[0] == 0


def test_scores_a_little_worse_than_guessing_are_accepted(tmp_path, run):
    # The true class wins 9 of 20 comparisons: no sign of distances.
    scores = np.eye(20)[np.repeat(np.arange(2), [9, 11])][:, :2] @ np.array([[2.0, 1], [1, 2]])
    path = write_npz(tmp_path, scores=scores, labels=np.zeros(20, int))
    code, out, _ = run("observe", path, "--json")
    assert code == 0
    assert read_json(out)["observed"][0]["accuracy"] == pytest.approx(0.45)


class Booby:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_pickled_code_does_not_run(tmp_path, refused):
    trap = np.empty(1, object)
    trap[0] = Booby(tmp_path / "sprung")
    message = refused("observe", write_npz(tmp_path, extra=trap))
    assert "pickled" in message
    assert not (tmp_path / "sprung").exists()


# -- outputs ---------------------------------------------------------------------------------------


def test_an_output_that_is_the_pilot_is_refused(pilot, refused):
    before = Path(pilot).read_bytes()
    message = refused("forecast", pilot, "--classes", "100", "--plot", pilot)
    assert "pilot.npz is also an input" in message
    assert "choose another name" in message
    assert Path(pilot).read_bytes() == before


@pytest.mark.parametrize("option", ["--labels", "--gallery", "--gallery-labels", "--qrels"])
def test_an_output_that_is_another_input_is_refused(pilot, refused, tmp_path, option):
    other = tmp_path / "other.png"
    other.write_bytes(b"precious")
    message = refused("forecast", pilot, "--classes", "100", option, other, "--plot", other)
    assert "other.png is also an input" in message
    assert other.read_bytes() == b"precious"


def test_an_output_that_is_an_input_by_another_way_is_refused(
    pilot, refused, tmp_path, monkeypatch
):
    before = Path(pilot).read_bytes()
    link = tmp_path / "link.png"
    link.symlink_to(pilot)
    monkeypatch.chdir(tmp_path)
    assert "also an input" in refused("forecast", pilot, "--classes", "9", "--plot", link)
    assert "also an input" in refused("forecast", "pilot.npz", "--classes", "9", "--plot", pilot)
    assert Path(pilot).read_bytes() == before


def test_a_plot_into_a_folder_that_is_not_there(pilot, refused, tmp_path):
    path = tmp_path / "nowhere" / "curve.png"
    message = refused("forecast", pilot, "--classes", "100", "--plot", path)
    assert "no folder nowhere" in message
    assert "make it first" in message


def test_a_plot_over_a_folder(pilot, refused, tmp_path):
    (tmp_path / "curve.png").mkdir()
    message = refused("forecast", pilot, "--classes", "100", "--plot", tmp_path / "curve.png")
    assert "curve.png" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "pilot.npz"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_plot_into_a_folder_nobody_can_write_to(pilot, refused):
    message = refused("forecast", pilot, "--classes", "100", "--plot", "/proc/curve.png")
    assert "curve.png" in message


def test_write_atomically_puts_the_file_in_place(tmp_path):
    target = tmp_path / "out.txt"
    write_atomically(target, lambda name: Path(name).write_text("new"))
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_write_atomically_gives_the_usual_permissions(tmp_path):
    (tmp_path / "usual.txt").write_text("")
    write_atomically(tmp_path / "out.txt", lambda name: Path(name).write_text("new"))
    modes = {path.name: path.stat().st_mode for path in tmp_path.iterdir()}
    assert modes["out.txt"] == modes["usual.txt"]


def test_write_atomically_shows_nothing_until_done(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def write(name):
        Path(name).write_text("half")
        assert target.read_text() == "old"
        Path(name).write_text("whole")

    write_atomically(target, write)
    assert target.read_text() == "whole"


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("older", [None, "old"])
def test_a_failing_write_leaves_nothing_behind(tmp_path, failure, older):
    target = tmp_path / "out.txt"
    if older is not None:
        target.write_text(older)
    before = {path: path.read_text() for path in tmp_path.iterdir()}

    def write(name):
        Path(name).write_text("half")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(target, write)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_write_atomically_needs_the_folder(tmp_path):
    with pytest.raises(DataError, match=r"no folder nowhere for out\.txt"):
        write_atomically(tmp_path / "nowhere" / "out.txt", lambda name: None)


# -- what reaches the terminal ---------------------------------------------------------------------

EVIL = {
    "escape": "\x1b[31mred\x1b[0m",
    "bell": "ding\x07",
    "markup": "[bold red]loud[/bold red]",
    "reversed": "\u202egpj.exe",
    "newline": "first\nsecond",
    "return": "first\rsecond",
    "separator": "first\u2028second",
    "half a character": "half\ud83d",
}


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL.keys())
def test_class_names_reach_the_terminal_tamed(tmp_path, answer, evil):
    names = [f"{evil}{i}" for i in range(N_CLASSES)]
    n_lines = len(answer("observe", write_npz(tmp_path)).splitlines())
    out = answer("observe", write_npz(tmp_path, class_names=names))
    assert "hardest" in out
    assert not set("\x1b\x07\u202e\r\u2028\ud83d") & set(out)
    assert len(out.splitlines()) == n_lines
    if evil.startswith("[bold"):
        assert evil in out


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL.keys())
def test_labels_reach_error_messages_tamed(tmp_path, refused, evil):
    names = [f"c{i}" for i in range(N_CLASSES)]
    message = refused("observe", write_npz(tmp_path, labels=[evil] * N_PROBES, class_names=names))
    assert "60 of 60 rows name no class" in message
    assert not set("\x1b\x07\u202e\r\u2028") & set(message)


def test_file_names_reach_error_messages_tamed(tmp_path, refused):
    message = refused("observe", tmp_path / "a\x1b[31m\nb.npz")
    assert "\x1b" not in message


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    # Pytest puts its own stderr in place before each test, so the test itself must switch it on.
    stream = Screen()
    stream.switch_on = lambda: monkeypatch.setattr(sys, "stderr", stream)
    return stream


def slow_work():
    for_each(lambda _: time.sleep(0.1), range(16), task="Counting")


def test_progress_is_shown_on_a_terminal(screen, monkeypatch):
    screen.switch_on()
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    with terminal.progress():
        slow_work()
    assert "Counting" in screen.getvalue()


def test_quick_work_shows_no_progress(screen, pilot, capsys):
    screen.switch_on()
    assert main(["observe", pilot, "--json"]) == 0
    assert screen.getvalue() == ""
    read_json(capsys.readouterr().out)


def test_no_progress_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    with terminal.progress():
        slow_work()
    assert capsys.readouterr().err == ""


# -- the installed command -------------------------------------------------------------------------


@pytest.fixture
def command():
    path = Path(sysconfig.get_path("scripts")) / "headcount"
    hidden = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONWARNINGS")
    usual = {name: value for name, value in os.environ.items() if name not in hidden}

    def go(*argv, **environment):
        return subprocess.run(
            [path, *argv], env=usual | environment, capture_output=True, text=True, timeout=60
        )

    return go


def test_the_command_says_its_version(command):
    done = command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "headcount 0.1.0\n", "")


def test_piped_output_has_no_progress_bar_and_no_colours(command):
    done = command("demo", TERM="xterm-256color")
    assert (done.returncode, done.stderr) == (0, "")
    assert "11,172" in done.stdout
    assert "\x1b" not in done.stdout


def test_bad_input_makes_the_command_exit_with_2(command):
    done = command("forecast", "missing.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headcount: error: Missing option '--classes'")
    assert done.stderr.count("\n") == 1


def test_shell_completion(command):
    script = command(_HEADCOUNT_COMPLETE="source_bash")
    assert script.returncode == 0
    assert "complete -o default -F" in script.stdout
    words = {"COMP_WORDS": "headcount fo", "COMP_CWORD": "1"}
    assert command(_HEADCOUNT_COMPLETE="complete_bash", **words).stdout.split() == ["forecast"]
