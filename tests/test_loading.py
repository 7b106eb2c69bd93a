import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount import AssumptionWarning, DataError, HeadcountError, ParameterError, forecast, load
from headcount.loading import pilot_from_neighbours

NAMES = ["ant", "bee", "cat"]
SCORES = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.8], [0.7, 0.5, 0.1], [0.1, 0.4, 0.4]])
LABELS = np.array([0, 1, 2, 2])
TRUE_NAMES = ["ant", "bee", "cat", "cat"]
# Read off the matrix above by hand: who scores above, and equal to, the true class.
COUNTS = ([0, 0, 2, 0], [0, 1, 0, 1])
COUNTS_AS_DISTANCES = ([2, 1, 0, 1], [0, 1, 0, 1])

# Rows on a line. The two of each class are 4 apart; those at 4 and 5 are nearer to each other.
LINE = np.array([[0.0], [4.0], [5.0], [9.0], [20.0]])
LINE_LABELS = ["a", "a", "b", "b", "c"]
LINE_COUNTS = ([0, 1, 1, 0], [0, 0, 0, 0])

# One probe of class 0 that meets 0, 1 or 2 better rivals, depending on the metric.
PROBE = np.array([[2.0, 1.0]])
ENROLLED = np.array([[1.0, 0.0], [10.0, 10.0], [5.0, -1.0]])
LOSSES_BY_METRIC = {"euclidean": [0], "cosine": [1], "dot": [2]}


def counts(pilot):
    return pilot.losses.tolist(), pilot.ties.tolist()


def count_by_hand(scores, labels):
    losses, ties = [], []
    for row, true in zip(scores, labels, strict=True):
        rivals = [value for column, value in enumerate(row) if column != true]
        losses.append(sum(value > row[true] for value in rivals))
        ties.append(sum(value == row[true] for value in rivals))
    return losses, ties


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_npz(path, **members):
    np.savez(path, **members)
    return path


def write_npy(path, values):
    np.save(path, np.asarray(values))
    return path


def write_parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def npz(tmp_path):
    return lambda **members: write_npz(tmp_path / "pilot.npz", **members)


@pytest.fixture
def npy(tmp_path):
    return lambda name, values: write_npy(tmp_path / name, values)


@pytest.fixture
def text(tmp_path):
    return lambda name, content: write(tmp_path / name, content)


@pytest.fixture
def parquet(tmp_path):
    return lambda **columns: write_parquet(tmp_path / "pilot.parquet", **columns)


# -- the same scores in every format ---------------------------------------------------------------


def as_npz(folder, scores, names, labels):
    members = {"scores": scores, "labels": labels, "class_names": names}
    return {"path": write_npz(folder / "scores.npz", **members)}


def as_npy(folder, scores, names, labels):
    numbers = [names.index(label) for label in labels]
    return {
        "path": write_npy(folder / "scores.npy", scores),
        "labels": write_npy(folder / "labels.npy", numbers),
    }


def as_npy_and_text(folder, scores, names, labels):
    lines = "".join(f"{names.index(label)}\n" for label in labels)
    return {
        "path": write_npy(folder / "scores.npy", scores),
        "labels": write(folder / "labels.txt", lines),
    }


def as_table(folder, scores, names, labels, suffix, delimiter):
    lines = [delimiter.join(["label", *names])]
    for label, row in zip(labels, scores, strict=True):
        lines.append(delimiter.join([label, *(repr(float(value)) for value in row)]))
    return {"path": write(folder / f"scores{suffix}", "\n".join(lines) + "\n")}


def as_csv(folder, scores, names, labels):
    return as_table(folder, scores, names, labels, ".csv", ",")


def as_tsv(folder, scores, names, labels):
    return as_table(folder, scores, names, labels, ".tsv", "\t")


def as_parquet(folder, scores, names, labels):
    columns = dict(zip(names, scores.T, strict=True))
    return {"path": write_parquet(folder / "scores.parquet", label=labels, **columns)}


FORMATS = [as_npz, as_npy, as_npy_and_text, as_csv, as_tsv, as_parquet]


@pytest.mark.parametrize("written", FORMATS)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_every_format_counts_what_a_plain_loop_counts(tmp_path, written, higher_is_better):
    rng = np.random.default_rng(3)
    names = [f"class {i}" for i in range(9)]
    true = rng.integers(0, 9, size=40)
    scores = rng.integers(0, 12, size=(40, 9)) / 4
    files = written(tmp_path, scores, names, [names[i] for i in true])
    pilot = load(**files, higher_is_better=higher_is_better)
    assert counts(pilot) == count_by_hand(scores if higher_is_better else -scores, true)
    assert (pilot.n_classes, pilot.n_probes) == (9, 40)
    assert pilot.labels.tolist() == true.tolist()
    assert not pilot.censored.any()


def test_forecast_reads_a_path(npz):
    path = npz(losses=[0, 0, 0, 1], n_classes=10)
    assert forecast(path, classes=10).accuracy(10) == pytest.approx(0.75)


# -- npz -------------------------------------------------------------------------------------------


def test_npz_of_scores(npz):
    pilot = load(npz(scores=SCORES, labels=LABELS))
    assert counts(pilot) == COUNTS
    assert pilot.class_names.tolist() == [0, 1, 2]


def test_npz_with_class_names_takes_names_as_labels(npz):
    pilot = load(npz(scores=SCORES, labels=TRUE_NAMES, class_names=NAMES))
    assert counts(pilot) == COUNTS
    assert pilot.class_names.tolist() == NAMES


def test_npz_with_class_names_takes_column_numbers_as_labels(npz):
    pilot = load(npz(scores=SCORES, labels=LABELS, class_names=NAMES))
    assert counts(pilot) == COUNTS


def test_compressed_npz(tmp_path):
    np.savez_compressed(tmp_path / "pilot.npz", scores=SCORES, labels=LABELS)
    assert counts(load(tmp_path / "pilot.npz")) == COUNTS


def test_npz_states_the_orientation(npz):
    pilot = load(npz(scores=SCORES, labels=LABELS, higher_is_better=False))
    assert counts(pilot) == COUNTS_AS_DISTANCES


def test_an_option_overrides_the_orientation_of_the_file(npz):
    path = npz(scores=SCORES, labels=LABELS, higher_is_better=False)
    assert counts(load(path, higher_is_better=True)) == COUNTS


def test_an_orientation_in_words_is_not_taken_for_true(npz):
    path = npz(scores=SCORES, labels=LABELS, higher_is_better="False")
    with pytest.raises(DataError, match="higher_is_better"):
        load(path)


def test_an_orientation_of_several_values_is_refused_by_name(npz):
    path = npz(scores=SCORES, labels=LABELS, higher_is_better=[True, True, False])
    with pytest.raises(DataError, match="higher_is_better must be one value"):
        load(path)


def test_npz_states_average_and_tie_rule(npz):
    pilot = load(npz(scores=SCORES, labels=LABELS, average="micro", tie_rule="lose"))
    assert pilot.weights.tolist() == [0.25] * 4
    # One of four probes has no loss and no tie.
    assert pilot.summary().accuracy == pytest.approx(1 / 4)


def test_options_override_average_and_tie_rule_of_the_file(npz):
    path = npz(scores=SCORES, labels=LABELS, average="micro", tie_rule="lose")
    pilot = load(path, average="macro", tie_rule="win")
    assert pilot.weights.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6])
    assert pilot.summary().accuracy == pytest.approx(1 / 3 + 1 / 3 + 1 / 6)


@pytest.mark.parametrize("member", ["average", "tie_rule"])
def test_an_unknown_word_in_the_file_is_refused(npz, member):
    path = npz(scores=SCORES, labels=LABELS, **{member: "both"})
    with pytest.raises(ParameterError, match=f"{member} must be one of .* 'both'"):
        load(path)


def test_labels_option_overrides_the_labels_of_the_file(npz, npy):
    path = npz(scores=SCORES, labels=[2, 2, 0, 0])
    assert counts(load(path, labels=npy("labels.npy", LABELS))) == COUNTS


@pytest.mark.parametrize("metric", LOSSES_BY_METRIC)
def test_npz_of_embeddings_states_its_metric(npz, metric):
    pilot = load(npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, metric=metric))
    assert pilot.losses.tolist() == LOSSES_BY_METRIC[metric]
    assert pilot.n_classes == 3


def test_euclidean_unless_stated(npz):
    pilot = load(npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED))
    assert pilot.losses.tolist() == LOSSES_BY_METRIC["euclidean"]


def test_metric_option_overrides_the_metric_of_the_file(npz):
    path = npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, metric="dot")
    assert load(path, metric="cosine").losses.tolist() == LOSSES_BY_METRIC["cosine"]


def test_best_of_several_gallery_rows_counts(npz):
    # Distances of the probe at 0: class a 2 or 9, class b 3 or 1, class c 2.
    path = npz(
        probes=[[0.0]],
        probe_labels=["a"],
        gallery=[[2.0], [9.0], [3.0], [-1.0], [-2.0]],
        gallery_labels=["a", "a", "b", "b", "c"],
    )
    pilot = load(path)
    assert counts(pilot) == ([1], [1])
    assert pilot.n_classes == 3


def test_gallery_option_overrides_the_gallery_of_the_file(npz, npy):
    path = npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, metric="dot")
    other = npy("gallery.npy", [[9.0, 9.0], [1.0, 1.0]])
    pilot = load(path, gallery=other)
    assert counts(pilot) == ([0], [0])
    assert pilot.n_classes == 2


def test_gallery_labels_option_names_the_gallery_of_the_file(npz, text):
    path = npz(probes=PROBE, probe_labels=["b"], gallery=ENROLLED, metric="dot")
    pilot = load(path, gallery_labels=text("names.txt", "a\na\nb\n"))
    assert counts(pilot) == ([1], [0])
    assert pilot.class_names.tolist() == ["a", "b"]


def test_npz_without_gallery_leaves_one_out(npz):
    pilot = load(npz(probes=LINE, probe_labels=LINE_LABELS))
    assert counts(pilot) == LINE_COUNTS
    assert (pilot.n_classes, pilot.n_probes) == (3, 4)


def test_npz_of_losses(npz):
    path = npz(
        losses=[0, 3, 5],
        n_classes=9,
        ties=[1, 0, 0],
        censored=[False, False, True],
        labels=["x", "y", "y"],
    )
    pilot = load(path)
    assert counts(pilot) == ([0, 3, 5], [1, 0, 0])
    assert pilot.censored.tolist() == [False, False, True]
    assert pilot.weights.tolist() == [0.5, 0.25, 0.25]
    assert pilot.n_classes == 9


def test_losses_alone_weigh_the_same(npz):
    pilot = load(npz(losses=[0, 3, 5], n_classes=9))
    assert pilot.weights.tolist() == pytest.approx([1 / 3] * 3)
    assert not pilot.censored.any()


def test_n_classes_option_overrides_the_file(npz):
    assert load(npz(losses=[0, 3], n_classes=9), n_classes=50).n_classes == 50


def test_n_classes_option_fills_the_gap(npz):
    assert load(npz(losses=[0, 3]), n_classes=50).n_classes == 50


def test_losses_without_n_classes_are_refused(npz):
    with pytest.raises(DataError, match=r"pilot.npz does not hold n_classes.*--n-classes"):
        load(npz(losses=[0, 3]))


def test_labels_option_names_the_classes_of_losses(npz, text):
    path = npz(losses=[0, 3, 5], n_classes=9)
    pilot = load(path, labels=text("labels.txt", "x\ny\ny\n"))
    assert pilot.weights.tolist() == [0.5, 0.25, 0.25]


def test_n_classes_as_an_array_of_one(npz):
    assert load(npz(losses=[0, 3], n_classes=[9])).n_classes == 9


@pytest.mark.parametrize("wrong", [[9, 10], 9.5, "many"])
def test_n_classes_that_is_no_number_of_classes_is_refused(npz, wrong):
    with pytest.raises(HeadcountError, match="n_classes"):
        load(npz(losses=[0, 3], n_classes=wrong))


@pytest.mark.parametrize(
    ("members", "phrase"),
    [
        ({"losses": [0, 12], "n_classes": 9}, r"1 of 2 rows .*first: row 1, 12 losses"),
        ({"losses": [0, 8], "ties": [0, 1], "n_classes": 9}, r"row 1, 8 losses and 1 ties"),
        ({"losses": [0, -1], "n_classes": 9}, r"1 of 2 rows are negative .*row 1, -1"),
        ({"losses": [0, 1.5], "n_classes": 9}, r"not whole numbers .*row 1, 1.5"),
        ({"losses": [0, 1], "ties": [1], "n_classes": 9}, "1 ties for 2 losses"),
        ({"losses": [0, 1], "labels": [1], "n_classes": 9}, "1 labels for 2 losses"),
        ({"losses": [0, 1], "censored": [0, 2], "n_classes": 9}, "censored must be"),
        ({"losses": [0, 1], "ties": [0, 1], "censored": [0, 1], "n_classes": 9}, "censored and"),
        ({"losses": [0, 1, 1], "labels": [1, 2, 3], "n_classes": 2}, "labels name 3 classes"),
    ],
)
def test_impossible_losses_are_refused(npz, members, phrase):
    with pytest.raises(DataError, match=phrase):
        load(npz(**members))


def test_npz_of_something_else_says_what_it_holds_and_what_it_should(npz):
    with pytest.raises(DataError, match=r"holds weights, xs; it must hold scores \+ labels;"):
        load(npz(xs=[1], weights=[2]))


def test_npz_without_labels_says_how_to_give_them(npz):
    with pytest.raises(DataError, match=r"does not hold labels.*--labels"):
        load(npz(scores=SCORES))


def test_a_member_over_the_memory_limit_is_refused(npz):
    path = npz(scores=SCORES, labels=LABELS)
    with pytest.raises(DataError, match=r"scores has shape \(4, 3\).*memory limit"):
        load(path, memory_limit=SCORES.nbytes - 1)
    assert counts(load(path, memory_limit=SCORES.nbytes)) == COUNTS


def test_bytes_that_are_no_text_are_refused_as_labels(npz):
    with pytest.raises(DataError, match="labels"):
        load(npz(scores=SCORES, labels=np.array([b"\xff"] * 4)))


# -- npy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [">f8", "f4", "f2", "i1", "u2", "i8", "longdouble"])
def test_npy_of_any_number_type(npy, dtype):
    scores = npy("scores.npy", (SCORES * 10).astype(dtype))
    assert counts(load(scores, labels=npy("labels.npy", LABELS))) == COUNTS


def test_npy_in_fortran_order(npy):
    scores = npy("scores.npy", np.asfortranarray(SCORES))
    assert counts(load(scores, labels=npy("labels.npy", LABELS))) == COUNTS


def test_npy_distances(npy):
    scores, labels = npy("scores.npy", SCORES), npy("labels.npy", LABELS)
    assert counts(load(scores, labels=labels, higher_is_better=False)) == COUNTS_AS_DISTANCES


def test_npy_stays_mapped(npy):
    n_probes, n_classes = 6000, 1500
    rng = np.random.default_rng(0)
    scores = rng.random((n_probes, n_classes), dtype=np.float32)
    true = rng.integers(0, n_classes, n_probes)
    scores[np.arange(n_probes), true] += 0.5
    expected = (scores > scores[np.arange(n_probes), true, None]).sum(axis=1)
    path, labels = npy("scores.npy", scores), npy("labels.npy", true)
    load(path, labels=labels)  # compiled code is loaded here, not below
    tracemalloc.start()
    try:
        pilot = load(path, labels=labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < scores.nbytes / 4
    assert pilot.losses.tolist() == expected.tolist()


def test_npy_embeddings_with_gallery(npy, text):
    pilot = load(
        npy("probes.npy", [[0.0], [6.0]]),
        labels=text("labels.txt", "a\nb\n"),
        gallery=npy("gallery.npy", [[2.0], [9.0], [3.0], [-1.0]]),
        gallery_labels=text("names.txt", "a\na\nb\nb\n"),
    )
    # At 0: a is 2 away, b is 1 away. At 6: a is 3 away and so is b.
    assert counts(pilot) == ([1, 0], [0, 1])


@pytest.mark.parametrize("metric", LOSSES_BY_METRIC)
def test_npy_gallery_rows_are_classes_unless_named(npy, metric):
    pilot = load(
        npy("probes.npy", PROBE),
        labels=npy("labels.npy", [0]),
        gallery=npy("gallery.npy", ENROLLED),
        metric=metric,
    )
    assert pilot.losses.tolist() == LOSSES_BY_METRIC[metric]


def test_npy_with_a_metric_and_no_gallery_leaves_one_out(npy, text):
    labels = text("labels.txt", "\n".join(LINE_LABELS))
    pilot = load(npy("rows.npy", LINE), labels=labels, metric="euclidean")
    assert counts(pilot) == LINE_COUNTS


def test_number_labels_do_not_name_a_gallery_of_words(npy, text):
    files = {
        "path": npy("probes.npy", [[0.0], [6.0]]),
        "labels": npy("labels.npy", [0, 1]),
        "gallery": npy("gallery.npy", [[0.0], [6.0]]),
        "gallery_labels": text("names.txt", "dog\nant\n"),
    }
    with pytest.raises(DataError, match="labels"):
        load(**files)


def test_text_labels_keep_their_zeros_and_their_words(npy, text):
    pilot = load(
        npy("probes.npy", [[0.0], [1.0], [2.0], [3.0]]),
        labels=text("labels.txt", "007\nNA\nnull\n7\n"),
        gallery=npy("gallery.npy", [[0.0], [1.0], [2.0], [3.0]]),
        gallery_labels=text("names.txt", "007\nNA\nnull\n7\n"),
    )
    assert sorted(pilot.class_names.tolist()) == ["007", "7", "NA", "null"]
    assert counts(pilot) == ([0] * 4, [0] * 4)


def test_npy_without_labels_says_how_to_give_them(npy):
    with pytest.raises(ParameterError, match=r"scores.npy does not say which class.*--labels"):
        load(npy("scores.npy", SCORES))


def test_gallery_labels_without_gallery_are_refused(npy, text):
    labels = npy("labels.npy", LABELS)
    with pytest.raises(ParameterError, match="--gallery-labels"):
        load(npy("scores.npy", SCORES), labels=labels, gallery_labels=text("n.txt", "a\n"))


def test_labels_of_an_unknown_kind_are_refused(npy, text):
    with pytest.raises(DataError, match=r"labels.json.*\.npy.*one label a line"):
        load(npy("scores.npy", SCORES), labels=text("labels.json", "[0, 1, 2, 2]"))


# -- csv and tsv -----------------------------------------------------------------------------------


def test_csv(text):
    pilot = load(text("s.csv", "ant,bee,label,cat\n9,1,ant,3\n2,8,bee,8\n7,5,cat,1\n1,4,cat,4\n"))
    assert counts(pilot) == COUNTS
    assert pilot.class_names.tolist() == NAMES


def test_csv_with_a_byte_order_mark_and_windows_lines(text):
    pilot = load(text("s.csv", "\ufefflabel,ant,bee\r\nant,2,1\r\nbee,2,1\r\n"))
    assert counts(pilot) == ([0, 1], [0, 0])
    assert pilot.class_names.tolist() == ["ant", "bee"]


def test_csv_words_for_nothing_stay_words(text):
    pilot = load(text("s.csv", "label,NA,null,nan\nNA,3,2,1\nnull,3,2,1\nnan,3,2,1\n"))
    assert pilot.class_names.tolist() == ["NA", "null", "nan"]
    assert counts(pilot) == ([0, 1, 2], [0, 0, 0])


def test_csv_quoted_class_names(text):
    content = 'label,"Smith, J.","say ""hi"""\n"Smith, J.",2,1\n"say ""hi""",2,1\n'
    pilot = load(text("s.csv", content))
    assert pilot.class_names.tolist() == ["Smith, J.", 'say "hi"']
    assert counts(pilot) == ([0, 1], [0, 0])


@pytest.mark.parametrize("inside", ["two\nlines", "one\u2028line", "next\x85line"])
def test_csv_quoted_class_names_with_line_breaks(text, inside):
    content = f'label,"{inside}",plain\n"{inside}",2,1\nplain,2,1\n'
    pilot = load(text("s.csv", content))
    assert pilot.class_names.tolist() == [inside, "plain"]


def test_csv_labels_option_overrides_the_column(text):
    path = text("s.csv", "label,ant,bee\nant,2,1\nant,2,1\n")
    assert counts(load(path, labels=text("l.txt", "ant\nbee\n"))) == ([0, 1], [0, 0])


def test_csv_without_label_column_says_how_to_give_one(text):
    with pytest.raises(ParameterError, match=r"s.csv.*--labels FILE\) or a column named label"):
        load(text("s.csv", "ant,bee\n1,2\n"))


def test_csv_embeddings_and_gallery(text):
    pilot = load(
        text("probes.csv", "label,x\na,0\nb,6\n"),
        gallery=text("gallery.csv", "x,label\n2,a\n9,a\n3,b\n-1,b\n"),
    )
    assert counts(pilot) == ([1, 0], [0, 1])


def test_tsv(text):
    pilot = load(text("s.tsv", "label\tant, big\tbee\nant, big\t2\t1\nbee\t2\t1\n"))
    assert pilot.class_names.tolist() == ["ant, big", "bee"]
    assert counts(pilot) == ([0, 1], [0, 0])


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        ("label,a,b\na,1,2\nb,1\n", "line 3 has 2 cells, the header 3"),
        ("label,a,b\na,1,2\nb,x,1\n", "line 3, column a is 'x', not a number"),
        ("label,a,b\na,1,2\nb,,1\n", "line 3, column a is '', not a number"),
        ("label,a,b\n\na,1,2\n\nb,x,1\n", "line 5, column a is 'x'"),
        ("label,a,b\na,1,2\nc,2,1\n", r"1 of 2 rows name no class \(first: row 1, label c\)"),
        ("label,a,a\na,1,2\n", "class names: .*first: a"),
        ("label,a,b\n", "no probe"),
        ("label,a\na,1\n", "at least 2 classes"),
        ("label,a,b\na,nan,2\n", "scores: 1 of 1 rows hold NaN.*row 0, column 0"),
        ('label,a,b\na,1,"' + "2\n" * 100_000, "s.csv"),
    ],
    ids=lambda value: value[:30],
)
def test_broken_csv_is_refused(text, content, phrase):
    with pytest.raises(DataError, match=phrase):
        load(text("s.csv", content))


def test_csv_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes("label,café,b\nb,1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"s\.csv is not text in UTF-8"):
        load(path)


# -- parquet ---------------------------------------------------------------------------------------


def test_parquet_scores(parquet):
    pilot = load(parquet(ant=SCORES[:, 0], bee=SCORES[:, 1], label=TRUE_NAMES, cat=SCORES[:, 2]))
    assert counts(pilot) == COUNTS
    assert pilot.class_names.tolist() == NAMES


def test_parquet_labels_may_be_column_numbers(parquet):
    pilot = load(parquet(ant=SCORES[:, 0], bee=SCORES[:, 1], cat=SCORES[:, 2], label=LABELS))
    assert counts(pilot) == COUNTS


def test_parquet_dictionary_labels(parquet):
    labels = pa.array(["NA", "null"]).dictionary_encode()
    pilot = load(parquet(NA=[2.0, 2.0], null=[1.0, 1.0], label=labels))
    assert counts(pilot) == ([0, 1], [0, 0])


def test_the_index_of_a_filtered_frame_is_no_class(tmp_path):
    frame = pd.DataFrame(SCORES, columns=NAMES).assign(label=TRUE_NAMES)
    frame[[True, False, True, True]].to_parquet(tmp_path / "s.parquet")
    pilot = load(tmp_path / "s.parquet")
    assert pilot.class_names.tolist() == NAMES
    assert counts(pilot) == ([0, 2, 0], [0, 0, 1])


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 1)])
def test_parquet_vectors_leave_one_out(parquet, kind):
    vectors = pa.array(LINE.tolist(), kind)
    pilot = load(parquet(id=list("vwxyz"), embedding=vectors, label=LINE_LABELS))
    assert counts(pilot) == LINE_COUNTS


def test_parquet_vectors_with_a_parquet_gallery(tmp_path):
    probes = write_parquet(tmp_path / "probes.parquet", v=PROBE.tolist(), label=["ant"])
    gallery = write_parquet(tmp_path / "gallery.parquet", v=ENROLLED.tolist(), label=NAMES)
    for metric, losses in LOSSES_BY_METRIC.items():
        assert load(probes, gallery=gallery, metric=metric).losses.tolist() == losses


def test_parquet_missing_scores_are_refused(parquet):
    with pytest.raises(DataError, match=r"1 of 2 rows hold NaN.*row 1, column 0"):
        load(parquet(a=[1.0, None], b=[0.0, 2.0], label=["a", "b"]))


@pytest.mark.parametrize("labels", [["a", "b", None], [0, 1, None]])
def test_parquet_missing_labels_are_refused(parquet, labels):
    with pytest.raises(DataError, match=r"labels: 1 of 3 rows .*first: row 2"):
        load(parquet(a=[1.0, 0.0, 1.0], b=[0.0, 2.0, 1.0], label=labels))


@pytest.mark.parametrize("extra", [["x", "y"], [pd.Timestamp("2024-01-01")] * 2])
def test_parquet_columns_that_are_no_scores_are_refused_by_name(parquet, extra):
    with pytest.raises(DataError, match="when"):
        load(parquet(a=[1.0, 0.0], b=[0.0, 2.0], when=extra, label=["a", "b"]))


@pytest.mark.parametrize(
    ("vectors", "phrase"),
    [
        ([[1.0], [1.0, 2.0]], "column v have different lengths, from 1 to 2"),
        ([[1.0], None], "column v have different lengths, from 0 to 1"),
        ([[1.0], [None]], "1 of 2 rows hold NaN.*row 1"),
        ([["x"], ["y"]], "column v"),
    ],
)
def test_broken_parquet_vectors_are_refused(parquet, vectors, phrase):
    with pytest.raises(DataError, match=phrase):
        load(parquet(v=vectors, label=["a", "b"]))


def test_parquet_without_rows_has_no_probe(parquet):
    none = pa.array([], pa.float64())
    with pytest.raises(DataError, match="no probe"):
        load(parquet(a=none, b=none, label=pa.array([], pa.string())))


# -- TREC runs -------------------------------------------------------------------------------------


@pytest.fixture
def trec(text):
    def make(run, qrels):
        return {"path": text("run.trec", run), "qrels": text("qrels.txt", qrels)}

    return make


RUN = """\
q1 Q0 d1 1 9.0 tag
q1 Q0 d2 2 8.0 tag
q1 Q0 d3 3 7.0 tag
q2 Q0 d1 1 9.0 tag
q2 Q0 d2 2 8.0 tag
"""


def test_trec_losses_and_censoring(trec):
    pilot = load(**trec(RUN, "q1 0 d2 1\nq2 0 d9 1\n"), n_classes=100)
    assert counts(pilot) == ([1, 2], [0, 0])
    assert pilot.censored.tolist() == [False, True]
    assert (pilot.n_classes, pilot.n_probes) == (100, 2)


def test_trec_equal_scores_are_ties_whatever_the_rank_column_says(trec):
    run = "q Q0 a 7 2.0 t\nq Q0 b 1 3.0 t\nq Q0 c 1 2.0 t\nq Q0 d 2 1 t\nq Q0 e 0 2e0 t\n"
    pilot = load(**trec(run, "q 0 a 1\n"), n_classes=10)
    assert counts(pilot) == ([1], [2])


def test_trec_agrees_with_a_plain_loop(trec):
    rng = np.random.default_rng(5)
    scores, true = rng.integers(0, 6, size=(12, 8)), rng.integers(0, 8, size=12)
    lines = [
        f"q{q:02} Q0 d{d} {rng.integers(1, 99)} {scores[q, d]} t"
        for q, d in rng.permutation([(q, d) for q in range(12) for d in range(8)])
    ]
    qrels = [f"q{q:02} 0 d{d} 1" for q, d in enumerate(true)]
    pilot = load(**trec("\n".join(lines), "\n".join(qrels)), n_classes=8)
    assert counts(pilot) == count_by_hand(scores, true)


def test_trec_several_relevant_documents(trec):
    files = trec(RUN, "q1 0 d3 1\nq1 0 d2 2\nq1 0 d9 1\nq2 0 d8 1\nq2 0 d9 1\n")
    with pytest.warns(AssumptionWarning, match=r"2 of 2 queries have several .*first: q1.*best"):
        pilot = load(**files, n_classes=100)
    # q1: d2 counts, d3 is out of the competition. q2: neither is listed.
    assert counts(pilot) == ([1, 2], [0, 0])
    assert pilot.censored.tolist() == [False, True]


def test_trec_other_relevant_documents_do_not_compete(trec):
    with pytest.warns(AssumptionWarning, match="several relevant"):
        pilot = load(**trec(RUN, "q1 0 d1 1\nq1 0 d2 1\nq2 0 d2 1\n"), n_classes=100)
    assert counts(pilot) == ([0, 1], [0, 0])


def test_trec_documents_judged_irrelevant_compete(trec):
    qrels = "q1 0 d1 0\nq1 0 d2 1\nq2 0 d1 -1\nq2 0 d2 1\n"
    pilot = load(**trec(RUN, qrels), n_classes=100)
    assert counts(pilot) == ([1, 1], [0, 0])


def test_trec_queries_without_judgement_are_left_out(trec):
    with pytest.warns(AssumptionWarning, match=r"1 of 2 queries in the run .*first: q2.*left out"):
        pilot = load(**trec(RUN, "q1 0 d2 1\nq2 0 d1 0\n"), n_classes=100)
    assert counts(pilot) == ([1], [0])


def test_trec_judged_queries_missing_from_the_run_are_left_out(trec):
    files = trec(RUN, "q1 0 d2 1\nq2 0 d1 1\nq7 0 d1 1\n")
    with pytest.warns(AssumptionWarning, match=r"1 of 3 judged queries .*first: q7.*left out"):
        pilot = load(**files, n_classes=100)
    assert counts(pilot) == ([1, 0], [0, 0])


def test_trec_files_may_start_with_a_byte_order_mark(trec):
    pilot = load(**trec("\ufeff" + RUN, "\ufeffq1 0 d2 1\nq2 0 d1 1\n"), n_classes=100)
    assert counts(pilot) == ([1, 0], [0, 0])


def test_trec_needs_the_size_of_the_collection(trec):
    with pytest.raises(ParameterError, match=r"how many documents.*--n-classes"):
        load(**trec(RUN, "q1 0 d2 1\n"))


@pytest.mark.parametrize(
    ("run", "qrels", "n_classes", "phrase"),
    [
        (RUN, "q8 0 d2 1\n", 9, r"no query of run.trec .*same query names"),
        (
            RUN,
            "q1 0 d2 1\nq2 0 d1 1\n",
            2,
            "run.trec and the qrels name 3 documents, but n_classes is 2",
        ),
        (RUN, "q1 0 d9 1\nq2 0 d1 1\n", 3, "n_classes is 3"),
        ("q1 Q0 d1 1\n", "q1 0 d1 1\n", 9, "run.trec: line 1 has 4 cells; .*query Q0 document"),
        (RUN, "q1 0 d2 1\nq2 d1 1\n", 9, "qrels.txt: line 2 has 3 cells; .*query iteration"),
        (RUN + "\nq1 Q0 d1 1 high t\n", "q1 0 d2 1\n", 9, "line 7 has score 'high'"),
        (RUN + "q1 Q0 d7 1 nan t\n", "q1 0 d2 1\n", 9, "line 6 has score 'nan'"),
        (RUN + "q1 Q0 d1 4 6.0 t\n", "q1 0 d2 1\n", 9, "line 6 lists document d1 again .*q1"),
        (RUN, "q1 0 d2 yes\n", 9, "qrels.txt: line 1 has relevance 'yes'"),
        (RUN, "q1 0 d2 1\n", 1, "n_classes must be at least 2"),
    ],
)
def test_broken_trec_files_are_refused(trec, run, qrels, n_classes, phrase):
    with pytest.raises(HeadcountError, match=phrase):
        load(**trec(run, qrels), n_classes=n_classes)


@pytest.mark.parametrize("which", ["path", "qrels"])
def test_trec_in_another_encoding_is_refused(trec, which):
    files = trec(RUN, "q1 0 d2 1\nq2 0 d1 1\n")
    files[which].write_bytes("q1 0 café 1 1.0 t\n".encode("latin-1"))
    with pytest.raises(DataError, match=f"{files[which].name}.*UTF-8"):
        load(**files, n_classes=100)


# -- neighbour lists -------------------------------------------------------------------------------


NEIGHBOURS = {"ids": [[0, 1], [1, 2]], "distances": [[1.0, 2.0], [1.0, 2.0]], "labels": [0, 1]}


def test_neighbour_lists(npz):
    path = npz(
        ids=[[3, 5, 6], [1, 2, -1], [-1, -1, -1], [4, 8, 9]],
        distances=[[0.1, 0.4, 0.4], [0.2, 0.3, np.inf], [np.inf] * 3, [0.3, 0.1, 0.2]],
        labels=[5, 7, 1, 4],
        n_classes=100,
    )
    pilot = load(path)
    assert counts(pilot) == ([1, 2, 0, 2], [1, 0, 0, 0])
    assert pilot.censored.tolist() == [False, True, True, False]
    assert pilot.n_classes == 100


def test_neighbour_lists_are_distances_unless_stated(npz):
    lists = {"ids": [[3, 5, 6]], "distances": [[0.9, 0.8, 0.1]], "labels": [3], "n_classes": 9}
    assert load(npz(**lists)).losses.tolist() == [2]
    assert load(npz(**lists), higher_is_better=True).losses.tolist() == [0]
    assert load(npz(**lists, higher_is_better=True)).losses.tolist() == [0]
    assert load(npz(**lists, higher_is_better=True), higher_is_better=False).losses.tolist() == [2]


def test_neighbour_n_classes_option_overrides_the_file(npz):
    assert load(npz(**NEIGHBOURS, n_classes=9), n_classes=50).n_classes == 50


def test_neighbour_rows_of_one_class_count_once(npz):
    # Rows 0 to 2 are class a, 3 and 4 class b, 5 class c.
    path = npz(
        ids=[[0, 1, 3, 4], [0, 1, 2, 3], [5, 4, 0, 3]],
        distances=[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 2, 3]],
        labels=["b", "c", "b"],
        gallery_labels=list("aaabbc"),
        n_classes=3,
    )
    pilot = load(path)
    assert counts(pilot) == ([1, 2, 1], [0, 0, 1])
    assert pilot.censored.tolist() == [False, True, False]


def test_neighbour_names_as_ids(npz):
    path = npz(ids=[["ant", "bee"]], distances=[[1.0, 2.0]], labels=["bee"], n_classes=5)
    assert load(path).losses.tolist() == [1]


def test_neighbour_gallery_labels_option(npz, text):
    path = npz(ids=[[0, 1]], distances=[[1.0, 2.0]], labels=["bee"], n_classes=5)
    pilot = load(path, gallery_labels=text("names.txt", "ant\nbee\n"))
    assert counts(pilot) == ([1], [0])
    assert not pilot.censored.any()


def test_full_lists_agree_with_a_plain_loop_and_cut_lists_are_censored():
    rng = np.random.default_rng(11)
    distances = rng.permuted(np.tile(np.arange(10.0), (30, 1)), axis=1)
    true = rng.integers(0, 10, size=30)
    losses, _ = count_by_hand(-distances, true)
    order = np.argsort(distances, axis=1)
    for depth in (10, 4):
        ids = order[:, :depth]
        listed = np.take_along_axis(distances, ids, axis=1)
        pilot = pilot_from_neighbours(ids, listed, true, 10)
        assert pilot.losses.tolist() == [min(loss, depth) for loss in losses]
        assert pilot.censored.tolist() == [loss >= depth for loss in losses]


@pytest.mark.parametrize(
    ("changed", "phrase"),
    [
        ({}, r"does not hold n_classes.*--n-classes"),
        ({"distances": [[1.0], [2.0]], "n_classes": 9}, r"ids \(2, 2\), distances \(2, 1\)"),
        ({"labels": [0], "n_classes": 9}, "1 labels disagree"),
        ({"distances": [[1.0, 2.0], [1.0, np.nan]], "n_classes": 9}, "1 of 2 rows .*row 1"),
        ({"gallery_labels": ["a", "b"], "labels": ["a", "b"], "n_classes": 2}, "first: .*id 2"),
        ({"gallery_labels": ["a", "b", "c"], "labels": ["a", "z"], "n_classes": 3}, "row 1.*z"),
        ({"labels": [0, 500], "n_classes": 100}, "row 1.*500"),
        ({"labels": [0, 1], "n_classes": 2}, "n_classes"),
        ({"ids": [["0", "1"]] * 2, "gallery_labels": [0, 1, 2], "n_classes": 9}, "ids"),
    ],
)
def test_broken_neighbour_lists_are_refused(npz, changed, phrase):
    with pytest.raises(HeadcountError, match=phrase):
        load(npz(**NEIGHBOURS | changed))


# -- options and files that make no sense ----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "option", "value", "flag"),
    [
        ("scores", "metric", "cosine", "--metric"),
        ("scores", "n_classes", 9, "--n-classes"),
        ("scores", "gallery", "labels.npy", "--gallery"),
        ("embeddings", "n_classes", 9, "--n-classes"),
        ("embeddings", "higher_is_better", False, "--lower-is-better"),
        ("embeddings", "higher_is_better", True, "--higher-is-better"),
        ("losses", "metric", "cosine", "--metric"),
        ("losses", "higher_is_better", True, "--higher-is-better"),
        ("neighbours", "metric", "cosine", "--metric"),
        ("npy", "n_classes", 9, "--n-classes"),
    ],
)
def test_options_without_meaning_are_refused(tmp_path, kind, option, value, flag):
    labels = write_npy(tmp_path / "labels.npy", LABELS)
    held = {
        "scores": {"scores": SCORES, "labels": LABELS},
        "embeddings": {"probes": PROBE, "probe_labels": [0], "gallery": ENROLLED},
        "losses": {"losses": [0, 1], "n_classes": 9},
        "neighbours": NEIGHBOURS | {"n_classes": 9},
    }
    if kind == "npy":
        files = {"path": write_npy(tmp_path / "scores.npy", SCORES), "labels": labels}
    else:
        files = {"path": write_npz(tmp_path / "pilot.npz", **held[kind])}
    value = tmp_path / value if option == "gallery" else value
    with pytest.raises(ParameterError, match=f"^{flag} has no meaning"):
        load(**files, **{option: value})


def test_options_without_meaning_for_a_run_are_refused(trec):
    with pytest.raises(ParameterError, match="--metric has no meaning for a TREC run"):
        load(**trec(RUN, "q1 0 d2 1\n"), n_classes=9, metric="dot")


@pytest.mark.parametrize("option", ["labels", "gallery", "qrels"])
def test_a_second_file_that_is_not_there(npy, tmp_path, option):
    files = {"path": npy("scores.npy", SCORES), "labels": npy("labels.npy", LABELS), "n_classes": 9}
    if option != "qrels":
        del files["n_classes"]
    with pytest.raises(DataError, match=r"no file missing.npy"):
        load(**files | {option: tmp_path / "missing.npy"})


def test_a_file_of_unknown_kind(text):
    with pytest.raises(DataError, match=r"cannot tell what scores.dat is.*\.npz.*--qrels"):
        load(text("scores.dat", "1 2 3"))


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        load(tmp_path)


def test_a_gallery_of_unknown_kind(npy, text):
    files = {"path": npy("probes.npy", PROBE), "labels": npy("labels.npy", [0])}
    with pytest.raises(DataError, match=r"cannot read a gallery from gallery.txt.*\.npy"):
        load(**files, gallery=text("gallery.txt", "1 2"))


def test_endings_in_capitals(tmp_path):
    path = write_npz(tmp_path / "pilot.npz", scores=SCORES, labels=LABELS)
    path = path.rename(tmp_path / "PILOT.NPZ")
    assert counts(load(path)) == COUNTS


def test_errors_name_files_and_never_folders(tmp_path):
    with pytest.raises(DataError) as caught:
        load(tmp_path / "missing.npz")
    assert str(tmp_path) not in str(caught.value)
    assert "missing.npz" in str(caught.value)
