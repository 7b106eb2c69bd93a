import tracemalloc

import numpy as np
import pytest

from headcount import DataError, HeadcountError, ParameterError, load
from pilot_files import (
    COUNTS,
    COUNTS_AS_DISTANCES,
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
)

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


def test_an_unknown_compression_is_named(tmp_path):
    path = tmp_path / "pilot.npz"
    np.savez_compressed(path, scores=SCORES, labels=LABELS)
    held = bytearray(path.read_bytes())
    # The field of the method, in the header of each member and in the list at the end.
    for header, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = held.find(header)
        while at >= 0:
            held[at + offset : at + offset + 2] = (97).to_bytes(2, "little")
            at = held.find(header, at + 4)
    path.write_bytes(held)
    with pytest.raises(DataError, match=r"pilot\.npz is compressed in a way"):
        load(path)


def test_compressed_npz(tmp_path):
    np.savez_compressed(tmp_path / "pilot.npz", scores=SCORES, labels=LABELS)
    assert counts(load(tmp_path / "pilot.npz")) == COUNTS


def test_npz_states_the_orientation(npz):
    pilot = load(npz(scores=SCORES, labels=LABELS, higher_is_better=False))
    assert counts(pilot) == COUNTS_AS_DISTANCES


def test_an_option_overrides_the_orientation_of_the_file(npz):
    path = npz(scores=SCORES, labels=LABELS, higher_is_better=False)
    assert counts(load(path, higher_is_better=True)) == COUNTS


@pytest.mark.parametrize("no", [False, 0, 0.0, np.array([0])])
def test_an_orientation_may_be_a_number(npz, no):
    pilot = load(npz(scores=SCORES, labels=LABELS, higher_is_better=no))
    assert counts(pilot) == COUNTS_AS_DISTANCES


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


@pytest.mark.parametrize("similarity", LOSSES_BY_SIMILARITY)
def test_npz_of_embeddings_states_its_similarity(npz, similarity):
    pilot = load(npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, similarity=similarity))
    assert pilot.losses.tolist() == LOSSES_BY_SIMILARITY[similarity]
    assert pilot.n_classes == 3


def test_euclidean_unless_stated(npz):
    pilot = load(npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED))
    assert pilot.losses.tolist() == LOSSES_BY_SIMILARITY["euclidean"]


def test_similarity_option_overrides_the_similarity_of_the_file(npz):
    path = npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, similarity="dot")
    assert load(path, similarity="cosine").losses.tolist() == LOSSES_BY_SIMILARITY["cosine"]


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
    path = npz(probes=PROBE, probe_labels=[0], gallery=ENROLLED, similarity="dot")
    other = npy("gallery.npy", [[9.0, 9.0], [1.0, 1.0]])
    pilot = load(path, gallery=other)
    assert counts(pilot) == ([0], [0])
    assert pilot.n_classes == 2


def test_gallery_labels_option_names_the_gallery_of_the_file(npz, text):
    path = npz(probes=PROBE, probe_labels=["b"], gallery=ENROLLED, similarity="dot")
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


@pytest.mark.parametrize("wrong", [[9, 10], 9.5, "many", 1e300, np.uint64(2**63 + 5), "1e300"])
def test_n_classes_that_is_no_number_of_classes_is_refused(npz, wrong):
    with pytest.raises(HeadcountError, match="n_classes"):
        load(npz(losses=[0, 3], n_classes=wrong))


@pytest.mark.parametrize(
    ("members", "phrase"),
    [
        ({"losses": [0, 12], "n_classes": 9}, r"1 of 2 rows .*first: row 1, 12 losses"),
        ({"losses": [0, 8], "ties": [0, 1], "n_classes": 9}, r"row 1, 8 losses and 1 ties"),
        ({"losses": [0, -1], "n_classes": 9}, r"1 of 2 rows is negative .*row 1, -1"),
        ({"losses": [0, 1.5], "n_classes": 9}, r"not whole numbers .*row 1, 1.5"),
        ({"losses": [0, 1], "ties": [1], "n_classes": 9}, "1 ties for 2 losses"),
        ({"losses": [0, 1], "labels": [1], "n_classes": 9}, "1 labels for 2 losses"),
        ({"losses": [0, 1], "censored": [0, 2], "n_classes": 9}, "censored must be"),
        ({"losses": [0], "censored": np.zeros(1, "V8"), "n_classes": 9}, "censored must be"),
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
    with pytest.raises(DataError, match=r"holds no labels.*--labels"):
        load(npz(scores=SCORES))


def test_a_member_over_the_memory_limit_is_refused(npz):
    path = npz(scores=SCORES, labels=LABELS)
    with pytest.raises(DataError, match=r"scores has shape \(4, 3\).*memory limit"):
        load(path, memory_limit=SCORES.nbytes - 1)


def test_the_memory_limit_holds_for_all_that_is_read_together(npz, npy):
    path = npz(scores=SCORES, labels=LABELS, class_names=NAMES)
    names = np.array(NAMES)
    needed = SCORES.nbytes + LABELS.nbytes + names.nbytes
    assert counts(load(path, memory_limit=needed)) == COUNTS
    with pytest.raises(DataError, match="memory limit"):
        load(path, memory_limit=needed - 1)
    labels = npy("labels.npy", LABELS)  # mapped, so that it takes no memory
    assert counts(load(path, labels=labels, memory_limit=needed - LABELS.nbytes)) == COUNTS


def test_members_that_are_not_used_are_not_read(npz):
    objects = np.array([{}, []], object)
    spare = {"model": objects, "images": np.zeros(10**6), "gallery": np.zeros((9, 10**5))}
    path = npz(scores=SCORES, labels=LABELS, **spare)
    tracemalloc.start()
    try:
        assert counts(load(path, memory_limit=1000)) == COUNTS
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_bytes_that_are_no_text_are_refused_as_labels(npz):
    with pytest.raises(DataError, match="labels"):
        load(npz(scores=SCORES, labels=np.array([b"\xff"] * 4)))
