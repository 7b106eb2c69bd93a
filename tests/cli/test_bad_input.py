from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import (
    N_CLASSES,
    N_PROBES,
    make_scores,
    npy_bytes,
    npy_header,
    read_json,
    write_members,
    write_npz,
)

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
        ["labels: 1 of 60 rows", "names no class", "first: row 2, label C0", "class names"],
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
        (["forecast", "--classes", "100", "--method", "magic"], ["magic", "probit-normal"]),
        (
            ["forecast", "--classes", "100", "--confidence", "2"],
            ["confidence", "between 0.01 and 0.9999"],
        ),
        (["forecast", "--classes", "100", "--confidence", "nan"], ["confidence"]),
        (["forecast", "--classes", "100", "--confidence", "high"], ["--confidence", "number"]),
        (["forecast", "--classes", "100", "--json", "--csv"], ["--json", "--csv", "choose one"]),
        (["forecast", "--classes", "100", "--average", "mean"], ["average", "macro", "mean"]),
        (["forecast", "--classes", "100", "--tie-rule", "coin"], ["tie_rule", "random", "coin"]),
        (["forecast", "--classes", "100", "--similarity", "dot"], ["--similarity has no meaning"]),
        (["forecast", "--classes", "100", "--n-classes", "x"], ["--n-classes", "integer"]),
        (["forecast", "--classes", "100", "--speed", "9"], ["--speed"]),
        (["forecast", "--classes", "100", "--plot", "x.jpg"], [".jpg", ".png"]),
        (["observe", "--classes", "21"], ["20 classes", "nothing was observed at 21", "forecast"]),
        (["observe", "--metric", "mrr,tpo-5"], ["unknown metric 'tpo-5'; did you mean top-5?"]),
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


def test_a_similarity_that_does_not_exist(tmp_path, refused):
    np.savez(tmp_path / "e.npz", probes=np.eye(4), probe_labels=[0, 0, 1, 1])
    message = refused("observe", tmp_path / "e.npz", "--similarity", "manhattan")
    assert "similarity must be one of" in message
    assert "'manhattan'" in message
    assert all(similarity in message for similarity in ("euclidean", "cosine", "dot"))


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
    message = refused("observe", write_npz(tmp_path, class_names=trap))
    assert "pickled" in message
    assert not (tmp_path / "sprung").exists()
