import pandas as pd
import pyarrow as pa
import pytest

from headcount import DataError, ParameterError, load
from pilot_files import (
    COUNTS,
    ENROLLED,
    LABELS,
    LINE,
    LINE_COUNTS,
    LINE_LABELS,
    LOSSES_BY_SIMILARITY,
    NAMES,
    PROBE,
    SCORES,
    TRUE_NAMES,
    counts,
    write_parquet,
)

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
        ("label,a,b\na,1,2\nc,2,1\n", r"1 of 2 rows names no class \(first: row 1, label c\)"),
        ("label,a,a\na,1,2\n", "class names: .*first: a"),
        ("label,a,b\n", "no probe"),
        ("label,a\na,1\n", "at least 2 classes"),
        ("label,a,b\na,nan,2\n", "scores: 1 of 1 rows holds NaN.*row 0, column 0"),
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
    for similarity, losses in LOSSES_BY_SIMILARITY.items():
        assert load(probes, gallery=gallery, similarity=similarity).losses.tolist() == losses


def test_parquet_missing_scores_are_refused(parquet):
    with pytest.raises(DataError, match=r"1 of 2 rows holds NaN.*row 1, column 0"):
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
        ([[1.0], [None]], "1 of 2 rows holds NaN.*row 1"),
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
