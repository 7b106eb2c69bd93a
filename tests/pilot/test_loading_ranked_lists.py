import numpy as np
import pytest

from headcount import AssumptionWarning, DataError, HeadcountError, ParameterError, load
from headcount.pilot.loading import pilot_from_neighbours
from pilot_files import (
    COUNTS,
    ENROLLED,
    LABELS,
    PROBE,
    SCORES,
    count_by_hand,
    counts,
    write_npy,
    write_npz,
)

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
    pilot = load(**files, n_classes=100)
    assert pilot.summary().lines()["graded"].startswith("2 to 3 documents a query")
    # q1: d2 counts, d3 is out of the competition. q2: neither is listed.
    assert counts(pilot) == ([1, 2], [0, 0])
    assert pilot.censored.tolist() == [False, True]


def test_trec_other_relevant_documents_do_not_compete(trec):
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
        (RUN, "q8 0 d2 1\n", 9, r"no query of the run .*same query names"),
        (
            RUN,
            "q1 0 d2 1\nq2 0 d1 1\n",
            2,
            "the run and the qrels name 3 documents, but n_classes is 2",
        ),
        (RUN, "q1 0 d9 1\nq2 0 d1 1\n", 3, "n_classes is 3"),
        ("q1 Q0 d1 1\n", "q1 0 d1 1\n", 9, "run.trec: line 1 has 4 cells; .*query Q0 document"),
        (RUN, "q1 0 d2 1\nq2 d1 1\n", 9, "qrels.txt: line 2 has 3 cells; .*query iteration"),
        (RUN, "q1 0 d2 1\nq2 0 d1 1 1\n", 9, "qrels.txt: line 2 has 5 cells"),
        ("q1 Q0 d1 1 9.0\n", "q1 0 d1 1\n", 9, "run.trec: line 1 has 5 cells"),
        (RUN, "q1\u00a00\u00a0d1\u00a01\n", 9, "qrels.txt: line 1 has 1 cell; "),
        (RUN + "\nq1 Q0 d 7 4 6.0 t\n", "q1 0 d2 1\n", 9, "run.trec: line 7 has 7 cells"),
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


# Characters that Python takes for space, or for the end of a line, inside a name.
SPACES = ["\u00a0", "\u3000", "\x1c", "\x85", "\u2028", "\x0b", "\x0c", "\r"]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=ascii)
def test_trec_cells_end_at_blanks_and_tabs_only(tmp_path, space, end):
    run = f"q1 Q0 a{space}b 1 2.0 t\nq1\tQ0 \t c 2 3.0 t \n\nz{space}2 Q0 c 3 1.0 t\n"
    qrels = f"q1 0 a{space}b 1\nz{space}2 0 c 1\n"
    for name, content in (("run", run), ("qrels", qrels)):
        (tmp_path / name).write_bytes(content.replace("\n", end).encode())
    pilot = load(tmp_path / "run", qrels=tmp_path / "qrels", n_classes=100)
    assert counts(pilot) == ([1, 0], [0, 0])
    assert not pilot.censored.any()


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
    lists = {"ids": [[3, 5, 6]], "distances": [[0.8, 0.1, 0.9]], "labels": [3], "n_classes": 9}
    assert load(npz(**lists)).losses.tolist() == [1]
    lists["distances"] = [[0.9, 0.1, 0.8]]
    assert load(npz(**lists)).losses.tolist() == [2]
    assert load(npz(**lists), higher_is_better=True).losses.tolist() == [0]
    assert load(npz(**lists, higher_is_better=True)).losses.tolist() == [0]
    assert load(npz(**lists, higher_is_better=True), higher_is_better=False).losses.tolist() == [2]


# Best first, as an inner-product index returns them; a few entries out of place, and padding.
SIMILARITIES = {
    "sorted": ([[3, 5, 6], [1, 0, 2]], [[0.9, 0.8, 0.1], [0.7, 0.7, 0.2]]),
    "with padding": ([[3, 5, -1], [1, 0, 2]], [[0.9, 0.8, 9e9], [0.7, 0.7, 0.2]]),
    "nearly sorted": ([list(range(31))], [[*np.linspace(1, 0, 30), 0.5]]),
}


@pytest.mark.parametrize("case", SIMILARITIES)
def test_lists_read_upside_down_are_refused(npz, case):
    ids, values = SIMILARITIES[case]
    lists = {"ids": ids, "labels": [row[0] for row in ids], "n_classes": 99}
    distances = (1 - np.array(values)).tolist()
    with pytest.raises(DataError, match=r"fall .*higher_is_better=True \(--higher-is-better\)"):
        load(npz(**lists, distances=values))
    with pytest.raises(DataError, match=r"rise .*higher_is_better=False \(--lower-is-better\)"):
        load(npz(**lists, distances=distances, higher_is_better=True))
    assert load(npz(**lists, distances=distances)).losses.tolist() == [0] * len(ids)
    stated = load(npz(**lists, distances=values), higher_is_better=True)
    assert stated.losses.tolist() == [0] * len(ids)


def sorted_lists(n_upside_down, n_lists=60, depth=6):
    """Lists with the best first, but some of them of similarities, and one that is constant."""
    distances = np.sort(np.random.default_rng(3).random((n_lists, depth)), axis=1)
    distances[n_lists - n_upside_down :] = distances[n_lists - n_upside_down :, ::-1]
    distances[0] = 0.5
    ids = np.tile(np.arange(depth), (n_lists, 1))
    return {"ids": ids, "distances": distances, "labels": [0] * n_lists, "n_classes": 99}


@pytest.mark.parametrize("n_upside_down", [5, 20, 50])
def test_a_part_of_the_lists_upside_down_is_refused(npz, n_upside_down):
    lists = sorted_lists(n_upside_down)
    said = rf"{n_upside_down} of 60 lists \(first: row {60 - n_upside_down}\).*higher_is_better"
    with pytest.raises(DataError, match=f"fall from end to end in {said}=True"):
        load(npz(**lists))
    with pytest.raises(DataError, match=f"rise from end to end in {said}=False"):
        load(npz(**lists | {"distances": -lists["distances"]}), higher_is_better=True)
    assert load(npz(**sorted_lists(0))).losses.tolist() == [0] * 60


@pytest.mark.parametrize("depth", [2, 3, 4, 6])
def test_lists_in_no_order_that_happen_to_run_backwards_are_read(npz, depth):
    rng = np.random.default_rng(depth)
    lists = sorted_lists(0, n_lists=500, depth=depth)
    lists["distances"] = rng.permuted(lists["distances"], axis=1)
    assert load(npz(**lists)).n_probes == 500


def test_one_neighbour_each_is_right_or_beyond_the_list_either_way(npz):
    lists = {"ids": [[0], [1]], "distances": [[0.9], [0.2]], "labels": [0, 0], "n_classes": 9}
    for higher_is_better in (True, False):
        pilot = load(npz(**lists), higher_is_better=higher_is_better)
        assert (pilot.losses.tolist(), pilot.censored.tolist()) == ([0, 1], [False, True])


@pytest.mark.parametrize("distances", [[[1.0, 1.0], [2.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_lists_in_no_order_prove_no_direction(npz, distances, higher_is_better):
    path = npz(**NEIGHBOURS | {"distances": distances}, n_classes=9)
    assert load(path, higher_is_better=higher_is_better).n_probes == 2


def test_the_command_line_names_the_option_for_an_inner_product_index(npz, run, refused):
    ids, values = SIMILARITIES["sorted"]
    path = npz(ids=ids, distances=values, labels=[3, 1], n_classes=99)
    assert "--higher-is-better" in refused("observe", path)
    assert run("observe", path, "--higher-is-better")[0] == 0


@pytest.mark.parametrize("names", [{}, {"gallery_labels": ["a", "b", "b"], "labels": ["a", "b"]}])
def test_a_gallery_row_twice_in_a_list_is_refused(npz, names):
    path = npz(**NEIGHBOURS | {"ids": [[0, 1], [2, 2]]} | names, n_classes=9)
    with pytest.raises(
        DataError, match=r"ids: 1 of 2 rows names a gallery row twice .*row 1, id 2"
    ):
        load(path)


def test_a_class_may_be_in_a_list_of_names_twice(npz):
    path = npz(ids=[["ant", "ant", "bee"]], distances=[[1, 2, 3]], labels=["bee"], n_classes=5)
    assert load(path).losses.tolist() == [1]


def test_padding_may_be_in_a_list_twice(npz):
    path = npz(ids=[[4, -1, -1]], distances=[[1, np.inf, np.inf]], labels=[4], n_classes=5)
    assert load(path).losses.tolist() == [0]


def test_ids_that_would_wrap_around_are_refused(npz):
    ids = np.array([[0, 1], [1, 2**64 - 1]], np.uint64)
    with pytest.raises(DataError, match=r"ids: 1 of 2 rows holds a row number of 2\*\*63.*row 1"):
        load(npz(**NEIGHBOURS | {"ids": ids}, n_classes=9))


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
        ("scores", "similarity", "cosine", "--similarity"),
        ("scores", "n_classes", 9, "--n-classes"),
        ("scores", "gallery", "labels.npy", "--gallery"),
        ("embeddings", "n_classes", 9, "--n-classes"),
        ("embeddings", "higher_is_better", False, "--lower-is-better"),
        ("embeddings", "higher_is_better", True, "--higher-is-better"),
        ("losses", "similarity", "cosine", "--similarity"),
        ("losses", "higher_is_better", True, "--higher-is-better"),
        ("neighbours", "similarity", "cosine", "--similarity"),
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
    with pytest.raises(ParameterError, match="--similarity has no meaning for a TREC run"):
        load(**trec(RUN, "q1 0 d2 1\n"), n_classes=9, similarity="dot")


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
