"""Files that are not what they seem: one sentence, exit 2, no traceback, no memory to speak of."""

import gzip
import os
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from command_line import make_scores, npy_bytes, write_members, write_npz
from headcount import DataError, Pilot, load
from pilot_files import COUNTS, LABELS, NAMES, SCORES, count_by_hand, counts, write, write_npy


@contextmanager
def small_peak(most=1 << 23):
    """Fail where more memory than so many bytes is taken inside."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


# -- headers ---------------------------------------------------------------------------------------


def header(text):
    """Bytes of an npy file without content, with any text where its header should be."""
    body = text.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


def stating(shape, kind="<f8"):
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")


HEADERS = {
    "a truth for a length": stating("(True, 6)") + bytes(48),
    "a negative length": stating("(-1, 6)"),
    "lengths past all bounds": stating(f"(0, {2**70})"),
    "thousands of minus signs": stating("(" + "-" * 9000 + "1, 6)"),
    "an open quote": header("{'descr': '<f8"),
    "an open bracket": header("{'descr': ('<f8', 'shape'"),
    "no dictionary": header("[1, 2]"),
    "an unknown type": stating("(2, 6)", "<q9"),
    "half a type": header("{'descr': ('<f8',), 'fortran_order': False, 'shape': (2, 6), }"),
    "no type": header("{'descr': (), 'fortran_order': False, 'shape': (2, 6), }"),
    "empty text": stating("(1000000000000,)", "|S0"),
    "empty characters": stating("(1000000000000,)", "<U0"),
}


@pytest.mark.parametrize("case", HEADERS)
@pytest.mark.parametrize("name", ["scores", "labels"])
def test_headers_that_no_array_has(tmp_path, refused, name, case):
    scores, labels = make_scores()
    members = {"scores": npy_bytes(scores), "labels": npy_bytes(labels)} | {name: HEADERS[case]}
    assert f"pilot.npz: {name}" in refused("observe", write_members(tmp_path, **members))
    for key, content in members.items():
        (tmp_path / f"{key}.npy").write_bytes(content)
    message = refused("observe", tmp_path / "scores.npy", "--labels", tmp_path / "labels.npy")
    assert f"{name}.npy" in message
    assert len(message) < 400


@pytest.mark.parametrize("end", [".npz", ".npy"])
def test_a_header_that_states_gigabytes_for_itself_is_not_read(tmp_path, end):
    size = 1 << 26
    stated = b"\x93NUMPY\x02\x00" + size.to_bytes(4, "little") + b" " * size
    path = tmp_path / f"scores{end}"
    if end == ".npy":
        path.write_bytes(stated)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("scores.npy", stated)
    labels = write_npy(tmp_path / "labels.npy", LABELS)
    with small_peak(), pytest.raises(DataError, match="is not a NumPy array"):
        load(path, labels=labels)


@pytest.mark.parametrize("way", ["ZIP_DEFLATED", "ZIP_BZIP2", "ZIP_LZMA"])
def test_damaged_members_however_compressed(tmp_path, refused, way):
    path = tmp_path / "pilot.npz"
    scores, labels = make_scores()
    with zipfile.ZipFile(path, "w", getattr(zipfile, way)) as archive:
        archive.writestr("scores.npy", npy_bytes(scores))
        archive.writestr("labels.npy", npy_bytes(labels))
    whole = path.read_bytes()
    assert counts(load(path)) == count_by_hand(scores, labels)
    for at in (60, 100, 200):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        assert "write it again" in refused("observe", path)


def test_members_whose_names_are_no_text(tmp_path, refused):
    path = tmp_path / "pilot.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scöres.npy", b"")
    path.write_bytes(path.read_bytes().replace("ö".encode(), b"\xff\xff"))
    assert "pilot.npz is not a complete npz file" in refused("observe", path)


def test_columns_whose_names_are_no_text(parquet, refused):
    path = parquet(**{"qqqq": [1.0, 2.0], "b": [2.0, 1.0]}, label=["b", "b"])
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"qq\xffq"))
    assert "is not a complete parquet file" in refused("observe", path)


# -- names -----------------------------------------------------------------------------------------


def code_points(*points):
    names = np.array([f"c{i:02}" for i in range(20)])
    names.view(np.uint32)[3 : 3 + len(points)] = points
    return names


@pytest.mark.parametrize("point", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_names_with_code_points_that_are_no_characters(tmp_path, refused, point, order):
    names = code_points(ord("x"), point)
    stored = names.view(np.uint32).astype(f"{order}u4").view(f"{order}U3")
    path = write_npz(tmp_path, class_names=stored)
    message = refused("observe", path)
    assert "class_names: 1 of 20 rows holds code points that are no characters" in message
    assert f"row 1, U+{point:04X}" in message
    np.save(tmp_path / "labels.npy", stored)
    assert "labels.npy" in refused("observe", path, "--labels", tmp_path / "labels.npy")


@pytest.mark.parametrize("point", [0xDFFF, 0x110000])
def test_names_that_are_no_text_are_refused_in_python_too(point):
    names = code_points(point)
    scores, labels = make_scores()
    refusal = pytest.raises(DataError, match=f"1 of 20 rows .* no characters .*U.{point:04X}")
    with refusal:
        Pilot.from_scores(scores, labels, class_names=names)
    with refusal:
        Pilot.from_scores(scores, labels, groups=names)
    with refusal:
        Pilot.from_embeddings(scores[:20], names)
    with refusal:
        Pilot.from_losses(np.zeros(20), 99, labels=names)


def test_names_with_any_character_are_read(npz):
    names = ["\U0010ffff", "\ud7ff\ue000", "ß" * 40]
    pilot = load(npz(scores=SCORES, labels=LABELS, class_names=names))
    assert pilot.class_names.tolist() == names


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label", ["9223372036854775808", "-9223372036854775809", "--5", "1" * 5000, "٣", "-"]
)
def test_labels_that_only_look_like_numbers(tmp_path, refused, label):
    scores, labels = make_scores()
    np.save(tmp_path / "scores.npy", scores)
    write(tmp_path / "labels.txt", "\n".join([*map(str, labels[:-1]), label]))
    message = refused("observe", tmp_path / "scores.npy", "--labels", tmp_path / "labels.txt")
    assert "label" in message
    assert len(message) < 400


def test_numbers_of_any_size_are_names_where_classes_have_names(npy, text):
    names = "9223372036854775808\n9223372036854775809\n--5\n-9223372036854775809\n"
    rows = npy("rows.npy", np.eye(4))
    files = {
        "labels": text("l.txt", names),
        "gallery": rows,
        "gallery_labels": text("g.txt", names),
    }
    pilot = load(rows, **files)
    assert sorted(pilot.class_names.tolist()) == sorted(names.split())
    assert counts(pilot) == ([0] * 4, [0] * 4)


def test_the_largest_numbers_stay_numbers(npy, text):
    names = f"{2**63 - 1}\n{-(2**63)}\n"
    rows = npy("rows.npy", np.eye(2))
    files = {
        "labels": text("l.txt", names),
        "gallery": rows,
        "gallery_labels": text("g.txt", names),
    }
    assert load(rows, **files).class_names.tolist() == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("label", ["--5", "9223372036854775808", "-1", "20", "a", "05"])
def test_labels_that_are_no_row_of_the_index_are_refused(tmp_path, refused, label):
    # In a collection of many more classes than labels nothing else would tell.
    np.savez(tmp_path / "n.npz", ids=[[0, 1]] * 3, distances=[[1.0, 2.0]] * 3, n_classes=20)
    write(tmp_path / "l.txt", f"0\n1\n{label}\n")
    message = refused("observe", tmp_path / "n.npz", "--labels", tmp_path / "l.txt")
    assert (
        f"labels: 1 of 3 rows names no class of the index (first: row 2, label {label})" in message
    )


def test_row_numbers_may_be_text(npz):
    lists = {"ids": [[0, 1]], "distances": [[1.0, 2.0]], "labels": ["1"], "n_classes": 20}
    assert load(npz(**lists)).losses.tolist() == [1]


def long_texts(folder):
    long = "x" * 5000
    scores, _ = make_scores()
    named = {"scores": scores, "class_names": [f"c{i}" for i in range(20)]}
    yield "label", [write_npz(folder, **named, labels=np.array(["c0"] * 59 + [long]))]
    yield "name", [write_npz(folder, scores=scores, class_names=[long] * 20)]
    yield "average", [write_npz(folder, average=long)]
    yield "n_classes", [npz_of(folder, losses=[0, 1], n_classes="9" * 5000)]
    yield "members", [npz_of(folder, **{f"member{i}": 1 for i in range(1000)})]
    yield "cell", [write(folder / "s.csv", f"label,a,b\n{long},1,2\n")]
    write(folder / "qrels", "q 0 a 1\n")
    run = ["--qrels", folder / "qrels", "--n-classes", "9"]
    yield "score", [write(folder / "run", f"q Q0 a 1 {long} t\n"), *run]
    yield "document", [write(folder / "run", f"q Q0 {long} 1 1 t\n" * 2), *run]


def npz_of(folder, **members):
    np.savez(folder / "other.npz", **members)
    return folder / "other.npz"


def test_sentences_show_the_beginning_of_long_texts(tmp_path, refused):
    for case, arguments in long_texts(tmp_path):
        assert len(refused("observe", *arguments)) < 300, case


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10**20, 2**63 + 5, 2**53 + 1, 10**400, -(10**400)])
def test_numbers_of_classes_past_counting(tmp_path, refused, size):
    np.savez(tmp_path / "l.npz", losses=[0, 3])
    message = refused("observe", tmp_path / "l.npz", f"--n-classes={size}")
    assert "n_classes must be from 1 to 2**53" in message
    write(tmp_path / "run", "q Q0 a 1 3 t\n")
    write(tmp_path / "qrels", "q 0 a 1\n")
    run = ["observe", tmp_path / "run", "--qrels", tmp_path / "qrels"]
    assert "2**53" in refused(*run, f"--n-classes={size}")


@pytest.mark.parametrize("size", [1e300, np.uint64(2**63 + 5)])
def test_numbers_of_classes_past_counting_in_a_file(tmp_path, refused, size):
    np.savez(tmp_path / "l.npz", losses=[0, 3], n_classes=size)
    assert "2**53" in refused("observe", tmp_path / "l.npz")
    lists = {"ids": [[0, 1]], "distances": [[1.0, 2.0]], "labels": [1]}
    np.savez(tmp_path / "n.npz", **lists, n_classes=size)
    assert "2**53" in refused("observe", tmp_path / "n.npz")


@pytest.mark.parametrize("dtype", [">f2", "<f2", np.longdouble])
def test_row_numbers_and_places_of_odd_types_are_read_without_a_word(npz, dtype):
    lists = {"ids": [[0, 1]], "distances": [[1.0, 2.0]], "labels": [1], "n_classes": 20}
    pilot = load(npz(**lists | {"ids": np.array([[0, 1]], dtype)}))
    assert pilot.losses.tolist() == [1]
    far = np.array([0, 1, 2], np.longdouble) * np.longdouble("1e4000")
    with pytest.raises(DataError, match="order: 2 of 3 rows are no numbers"):
        Pilot.from_scores(SCORES, LABELS, order=far)


@pytest.mark.parametrize("dtype", [">f2", "<f2", ">f4", ">i2"])
def test_scores_in_the_other_byte_order(tmp_path, answer, dtype):
    scores, labels = make_scores()
    path = write_npz(tmp_path, scores=(8 * scores).astype(dtype), labels=labels)
    answer("observe", path)
    expected = count_by_hand((8 * scores).astype(dtype).astype(float), labels)
    assert counts(load(path)) == expected


# -- text ------------------------------------------------------------------------------------------

TABLE = "label,ant,bee,cat\nant,.9,.1,.3\nbee,.2,.8,.8\ncat,.7,.5,.1\ncat,.1,.4,.4\n"
RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 a 1 1 t\n"


def zipped(path, content):
    path.write_bytes(gzip.compress(content.encode()))
    return path


@pytest.mark.parametrize("name", ["s.csv.gz", "s.tsv.gz", "S.CSV.GZ"])
def test_gzipped_tables(tmp_path, answer, name):
    table = TABLE.replace(",", "\t") if "tsv" in name else TABLE
    path = zipped(tmp_path / name, table)
    assert counts(load(path)) == COUNTS
    answer("observe", path)


def test_gzipped_labels_and_gallery(tmp_path, npy):
    rows = npy("rows.npy", SCORES)
    labels = zipped(tmp_path / "labels.txt.gz", "0\n1\n2\n2\n")
    assert counts(load(rows, labels=labels)) == COUNTS
    gallery = zipped(
        tmp_path / "gallery.csv.gz", "label,x,y,z\n0,.9,.1,.3\n1,.2,.8,.8\n2,.1,.4,.4\n"
    )
    assert load(rows, labels=labels, gallery=gallery).losses.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("names", [("run.gz", "qrels.gz"), ("run", "qrels")])
def test_gzipped_runs(tmp_path, names):
    run = zipped(tmp_path / names[0], RUN)
    qrels = zipped(tmp_path / names[1], "q1 0 b 1\nq2 0 a 1\n")
    assert counts(load(run, qrels=qrels, n_classes=9)) == ([1, 0], [0, 0])


def test_a_plain_file_called_gz_is_read(tmp_path):
    assert counts(load(write(tmp_path / "s.csv.gz", TABLE))) == COUNTS


@pytest.mark.parametrize("end", [".npz", ".npy", ".parquet"])
def test_only_text_may_be_gzipped(tmp_path, refused, end):
    assert "Only text may be gzipped" in refused("observe", zipped(tmp_path / f"s{end}.gz", "x"))


def test_a_gzipped_file_cut_short(tmp_path, refused):
    path = zipped(tmp_path / "s.csv.gz", TABLE)
    path.write_bytes(path.read_bytes()[:-12])
    assert "s.csv.gz is not a complete gzip file" in refused("observe", path)


BOMBS = {
    "one endless line": lambda n: b"label,a,b\na,1," + b"0" * n,
    "many lines": lambda n: b"label,a,b\n" + b"a,1,0\n" * (n // 6),
    "empty lines": lambda n: b"\n" * n,
    "many columns": lambda n: b"label" + b",ab" * (n // 3),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_small_file_that_unpacks_to_a_large_one(tmp_path, case):
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(BOMBS[case](1 << 25)))
    assert path.stat().st_size < 1 << 17
    refusal = pytest.raises(DataError, match=r"s\.csv\.gz is too long.*memory limit")
    with small_peak(), refusal:
        load(path, memory_limit=1 << 20)


def test_cells_are_counted_as_what_they_take_before_a_line_is_cut_into_them(tmp_path):
    # A few bytes a cell fit the limit; dozens, which Python takes, do not.
    path = zipped(tmp_path / "s.csv.gz", "label" + ",ab" * (1 << 18))
    with small_peak(), pytest.raises(DataError, match=r"s\.csv\.gz is too long.*columns"):
        load(path, memory_limit=1 << 21)
    run = zipped(tmp_path / "run.gz", "ab " * (1 << 20))
    qrels = write(tmp_path / "qrels", "q 0 1 1\n")
    with small_peak(1 << 25), pytest.raises(DataError, match="line 1 has 3,145,728 characters"):
        load(run, qrels=qrels, n_classes=9)


def test_parquet_is_counted_before_it_is_read(parquet):
    path = parquet(a=np.zeros(1 << 22), b=np.zeros(1 << 22), label=np.zeros(1 << 22, int))
    assert path.stat().st_size < 1 << 18
    with pytest.raises(DataError, match=r"states 4,194,304 rows: 0\.1 GiB.*memory limit"):
        load(path, memory_limit=1 << 24)
    vectors = np.random.default_rng(0).normal(size=(100, 1 << 12))
    path = parquet(v=list(vectors), label=["x" * 1000, "y"] * 50)
    with pytest.raises(DataError, match=r"rows that are too long.*memory limit"):
        load(path, memory_limit=1 << 22)
    assert load(path, memory_limit=1 << 26).n_probes == 100


def test_bytes_are_counted_as_the_text_they_become(npz):
    path = npz(scores=SCORES, labels=np.array([b"x" * 100_000] * 4))
    with pytest.raises(DataError, match=r"labels has shape .*memory limit"):
        load(path, memory_limit=1 << 20)


def test_lists_of_many_short_lines_are_counted_as_what_they_take(tmp_path, npy):
    # A label of one byte takes dozens in Python.
    labels = zipped(tmp_path / "labels.txt.gz", "1\n" * 100_000)
    with pytest.raises(DataError, match="memory limit"):
        load(npy("scores.npy", SCORES), labels=labels, memory_limit=1_000_000)
    run = zipped(tmp_path / "run.gz", "".join(f"q Q0 {i} 1 1 t\n" for i in range(10_000)))
    qrels = write(tmp_path / "qrels", "q 0 1 1\n")
    with pytest.raises(DataError, match=r"run\.gz.*memory limit"):
        load(run, qrels=qrels, n_classes=10**6, memory_limit=1_000_000)
    assert load(run, qrels=qrels, n_classes=10**6, memory_limit=10_000_000).n_probes == 1


@pytest.mark.parametrize(
    ("name", "mark", "words"),
    [("s.csv", ";", ["semicolons", "commas"]), ("s.csv", "\t", ["tabs", "commas"]),
     ("s.tsv", ",", ["commas", "tabs"]), ("s.csv", "|", ["bars", "commas"])],
)  # fmt: skip
def test_another_separator_gets_a_short_sentence(tmp_path, refused, name, mark, words):
    lines = [mark.join(["label", *map(str, range(5000))]), mark.join(["0", *["1,5"] * 5000])]
    if mark == ",":
        lines[1] = lines[1].replace("1,5", "1.5")
    message = refused("observe", write(tmp_path / name, "\n".join(lines)))
    assert f"{name} has its cells separated by {words[0]}" in message
    assert f"with {words[1]} between cells" in message
    assert len(message) < 200


def test_long_cells_are_shortened(tmp_path, refused):
    path = write(tmp_path / "s.csv", f"label,{'a' * 5000},b\nb,{'x' * 5000},1\n")
    message = refused("observe", path)
    assert "not a number" in message
    assert len(message) < 300


# -- row indices -----------------------------------------------------------------------------------


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(SCORES, columns=NAMES).assign(label=["ant", "bee", "cat", "cat"])


@pytest.mark.parametrize(("name", "mark"), [("s.csv", ","), ("s.tsv", "\t"), ("s.csv.gz", ",")])
def test_the_index_of_a_frame_is_refused(tmp_path, frame, refused, name, mark):
    frame.to_csv(tmp_path / name, sep=mark)
    message = refused("observe", tmp_path / name)
    assert f"{name}: column 1, which has no name," in message
    assert "index=False" in message
    frame.to_csv(tmp_path / name, sep=mark, index=False)
    assert counts(load(tmp_path / name)) == COUNTS


def test_the_index_of_a_frame_written_twice_is_refused(tmp_path, frame, refused):
    pandas = pytest.importorskip("pandas")
    frame.to_csv(tmp_path / "s.csv")
    again = pandas.read_csv(tmp_path / "s.csv")
    again.to_csv(tmp_path / "s.csv", index=False)
    again.to_parquet(tmp_path / "s.parquet")
    for name in ("s.csv", "s.parquet"):
        assert "column 'Unnamed: 0'" in refused("observe", tmp_path / name)
    again.to_csv(tmp_path / "s.csv")
    thrice = pandas.read_csv(tmp_path / "s.csv").drop(columns="Unnamed: 0")
    thrice.to_csv(tmp_path / "s.csv", index=False)
    assert "column 'Unnamed: 0.1'" in refused("observe", tmp_path / "s.csv")


def test_an_index_that_pandas_did_not_mark_is_refused(parquet, refused):
    columns = {"__index_level_0__": [0, 1], "a": [1.0, 2.0], "b": [2.0, 1.0]}
    assert "'__index_level_0__'" in refused("observe", parquet(**columns, label=["a", "b"]))


def test_a_header_with_a_comma_too_many_is_refused(tmp_path, refused):
    path = write(tmp_path / "s.csv", "label,a,b,\na,1,2,3\n")
    assert "column 4, which has no name," in refused("observe", path)


# -- memory ----------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from headcount.cli.app import main
import numpy, headcount.pilot.loading, headcount.curves.observed
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
@pytest.mark.parametrize("end", [".npy", ".npz"])
def test_a_limit_of_the_address_space_is_called_memory(tmp_path, end):
    # Holes in the file take no room on disk; 4 GiB that a process may not have.
    with open(tmp_path / "scores.npy", "wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": (2**16, 2**13)}
        )
        stream.truncate(stream.tell() + 2**32)
    arguments = [tmp_path / "scores.npy"]
    np.save(tmp_path / "labels.npy", np.zeros(2**16, int))
    if end == ".npz":
        rows = np.zeros((2**16, 2**13 // 16))  # 256 MiB
        np.savez_compressed(tmp_path / "scores.npz", scores=rows)
        arguments = [tmp_path / "scores.npz"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "observe", *arguments, "--labels", tmp_path / "labels.npy"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"scores{end} needs more memory than this process may use" in done.stderr
    assert "write it again" not in done.stderr
