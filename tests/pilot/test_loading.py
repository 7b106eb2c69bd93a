import tracemalloc

import numpy as np
import pytest

from headcount import DataError, ParameterError, forecast, load
from pilot_files import (
    COUNTS,
    COUNTS_AS_DISTANCES,
    ENROLLED,
    LABELS,
    LINE,
    LINE_COUNTS,
    LINE_LABELS,
    LOSSES_BY_SIMILARITY,
    PROBE,
    SCORES,
    count_by_hand,
    counts,
    write,
    write_npy,
    write_npz,
    write_parquet,
)

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


@pytest.mark.parametrize("similarity", LOSSES_BY_SIMILARITY)
def test_npy_gallery_rows_are_classes_unless_named(npy, similarity):
    pilot = load(
        npy("probes.npy", PROBE),
        labels=npy("labels.npy", [0]),
        gallery=npy("gallery.npy", ENROLLED),
        similarity=similarity,
    )
    assert pilot.losses.tolist() == LOSSES_BY_SIMILARITY[similarity]


def test_npy_with_a_similarity_and_no_gallery_leaves_one_out(npy, text):
    labels = text("labels.txt", "\n".join(LINE_LABELS))
    pilot = load(npy("rows.npy", LINE), labels=labels, similarity="euclidean")
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
