"""Probes that are also enrolled as another vector of their class."""

import numpy as np
import pytest

from headcount.counting import (
    SIMILARITIES,
    copies,
    source_of_embeddings,
    source_of_scores,
    source_of_shifted_scores,
)

N_CLASSES, N_DIMS = 40, 8


def brute(probes, labels, gallery, owners, own=None):
    own = np.full(len(probes), -1) if own is None else own
    return [
        any(
            owners[j] == label and j != itself and np.array_equal(row, x)
            for j, row in enumerate(gallery)
        )
        for x, label, itself in zip(probes, labels, own, strict=True)
    ]


def enrolled(seed):
    """Some probes enrolled under their own class, some under another one."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, N_CLASSES, 150)
    probes = rng.normal(size=(150, N_DIMS))
    copied, elsewhere = rng.permutation(150)[:60].reshape(2, 30)
    gallery = np.concatenate([rng.normal(size=(90, N_DIMS)), probes[copied], probes[elsewhere]])
    owners = np.concatenate(
        [np.arange(90) % N_CLASSES, labels[copied], (labels[elsewhere] + 1) % N_CLASSES]
    )
    order = rng.permutation(len(owners))
    return probes, labels, gallery[order], owners[order]


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("seed", range(4))
def test_copies_are_those_a_loop_over_all_pairs_finds(similarity, seed):
    probes, labels, gallery, owners = enrolled(seed)
    expected = brute(probes, labels, gallery, owners)
    assert sum(expected) == 30
    source = source_of_embeddings(probes, labels, similarity, gallery, owners)
    assert source.copies().tolist() == expected
    rows = np.arange(149, 0, -2)
    fewer = source.subset(rows, np.arange(N_CLASSES), labels[rows])
    assert fewer.copies().tolist() == np.array(expected)[rows].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_leaving_one_out_a_row_is_no_copy_of_itself(seed):
    rng = np.random.default_rng(seed)
    vectors, labels = rng.normal(size=(100, N_DIMS)), rng.integers(0, 20, 100)
    assert not source_of_embeddings(vectors, labels, "euclidean").copies().any()
    again = rng.integers(0, 100, 25)
    rows, owners = np.concatenate([vectors, vectors[again]]), np.append(labels, labels[again])
    source = source_of_embeddings(rows, owners, "euclidean")
    several = np.bincount(owners)[owners] > 1
    expected = np.array(brute(rows, owners, rows, owners, np.arange(125)))
    assert 26 <= expected.sum() <= 50
    assert source.copies().tolist() == expected[several].tolist()


@pytest.mark.parametrize("similarity, factor, equal", [("cosine", 7.3, True), ("dot", 7.3, False)])
def test_longer_vectors_are_copies_where_only_directions_count(similarity, factor, equal):
    probes, labels, gallery, owners = enrolled(9)
    source = source_of_embeddings(probes, labels, similarity, factor * gallery, owners)
    assert source.copies().sum() == 30 * equal


@pytest.mark.parametrize("off, equal", [(1e-8, True), (1e-4, False)])
def test_copies_may_differ_in_their_last_digits(off, equal):
    probes, labels, gallery, owners = enrolled(10)
    rng = np.random.default_rng(0)
    near = gallery * (1 + off * rng.uniform(0.5, 1, gallery.shape))
    assert source_of_embeddings(probes, labels, "dot", near, owners).copies().sum() == 30 * equal


def test_short_codes_are_equal_without_being_copies():
    rng = np.random.default_rng(3)
    labels, codes = np.arange(200) % 40, rng.integers(0, 2, (40, 12))
    probes = codes[labels] ^ (rng.random((200, 12)) < 0.02)
    assert np.mean((probes == codes[labels]).all(axis=1)) > 0.5
    source = source_of_embeddings(probes, labels, "dot", codes, np.arange(40))
    assert not source.copies().any()


def test_long_whole_vectors_that_are_equal_are_copies():
    rng = np.random.default_rng(4)
    labels = np.arange(120) % 40
    probes, gallery = rng.integers(0, 30, (120, 20)), rng.integers(0, 30, (40, 20))
    gallery[:25] = probes[80:105]  # of classes 0 to 24
    source = source_of_embeddings(probes, labels, "dot", gallery, np.arange(40))
    expected = brute(probes, labels, gallery, np.arange(40))
    assert 0 < sum(expected) < 120
    assert source.copies().tolist() == expected


def test_a_vector_of_zeros_is_no_copy():
    probes, labels, gallery, owners = enrolled(11)
    probes[:20], gallery[:80] = 0.0, 0.0
    copied = source_of_embeddings(probes, labels, "euclidean", gallery, owners).copies()
    assert copied.any() and not copied[:20].any()


def test_scores_alone_do_not_tell():
    scores = source_of_scores(np.eye(3), np.arange(3), True)
    assert scores.copies() is None
    assert source_of_shifted_scores(scores, np.ones(3)).copies().tolist() == [False] * 3


# -- what counts as equal -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("off, equal", [(0.9e-6, True), (1.5e-6, False), (4e-6, False)])
def test_the_largest_difference_of_a_coordinate_decides(scale, off, equal):
    """Among 64 coordinates of one size, one that differs does not show in a sum of them all."""
    rng = np.random.default_rng(12)
    gallery = scale * rng.choice((-1.0, 1.0), (40, 64)) * rng.uniform(0.9, 1.0, (40, 64))
    largest = np.abs(gallery).max(axis=1)
    probes = gallery.copy()
    probes[np.arange(40), np.arange(40)] += off * largest
    source = source_of_embeddings(probes, np.arange(40), "dot", gallery, np.arange(40))
    assert source.copies().tolist() == [equal] * 40


def test_twins_are_copies_of_each_other_whichever_comes_first():
    """The other one is the neighbour before or after the probe's own row."""
    vectors = np.random.default_rng(13).normal(size=(60, N_DIMS))
    labels = np.tile(np.arange(60), 2)
    for factor in (1 + 1e-8, 1 - 1e-8, 1.0):
        rows = np.concatenate([vectors, factor * vectors])
        assert source_of_embeddings(rows, labels, "dot").copies().all()


def test_a_class_of_one_row_may_stand_first_or_last():
    gallery = np.random.default_rng(14).normal(size=(40, N_DIMS))
    labels = np.arange(40)
    for probes in (gallery, gallery * (1 + 1e-8), gallery * (1 - 1e-8)):
        assert source_of_embeddings(probes, labels, "dot", gallery, labels).copies().all()


def test_vectors_are_compared_block_by_block(monkeypatch):
    probes, labels, gallery, owners = enrolled(15)
    expected = brute(probes, labels, gallery, owners)
    for size in (1, 7):
        monkeypatch.setattr(copies, "BLOCK", size)
        source = source_of_embeddings(probes, labels, "dot", gallery, owners)
        assert source.copies().tolist() == expected


def test_vectors_of_zeros_have_no_direction():
    probes, labels, gallery, owners = enrolled(16)
    probes[:20], gallery[:20] = 0.0, 0.0
    expected = np.array(brute(probes, labels, gallery, owners)) & (probes != 0).any(axis=1)
    source = source_of_embeddings(probes, labels, "cosine", gallery, owners)
    assert source.copies().tolist() == expected.tolist()


# -- whether equal vectors are copies -------------------------------------------------------------


def partly_equal(n_dims, n_shared, n_zero=0):
    """Twenty classes of one row: two are copied, of the others some coordinates are."""
    gallery = np.tile(np.arange(1, n_dims + 1), (20, 1)) + np.arange(20)[:, None] % 2
    probes = gallery.copy()
    probes[2:, n_shared:] = -1
    zeros = np.zeros((20, n_zero), np.int64)
    return np.hstack([probes, zeros]), np.hstack([gallery, zeros])


@pytest.mark.parametrize(
    "n_dims, n_shared, n_zero, equal",
    [
        (16, 0, 0, True), (16, 8, 0, True), (16, 9, 0, False),  # half of them is not too many
        (15, 0, 0, False), (17, 8, 0, True),  # sixteen are enough
        (16, 8, 9, True), (16, 9, 9, False), (15, 0, 20, False),  # zeros do not count
    ],
)  # fmt: skip
def test_equal_vectors_are_copies_where_most_of_many_coordinates_differ(
    n_dims, n_shared, n_zero, equal
):
    probes, gallery = partly_equal(n_dims, n_shared, n_zero)
    labels = np.arange(20)
    source = source_of_embeddings(probes, labels, "dot", gallery, labels)
    assert source.copies().tolist() == [equal] * 2 + [False] * 18


def test_zeros_that_vectors_share_do_not_make_them_coarse():
    probes, labels, gallery, owners = enrolled(17)
    probes, gallery = np.maximum(probes, 0), np.maximum(gallery, 0)
    expected = np.array(brute(probes, labels, gallery, owners)) & (probes != 0).any(axis=1)
    source = source_of_embeddings(probes, labels, "dot", gallery, owners)
    assert sum(expected) >= 29
    assert source.copies().tolist() == expected.tolist()


def test_where_all_are_equal_other_classes_tell_how_often_values_coincide():
    rng = np.random.default_rng(18)
    labels = np.arange(40)
    for most, equal in ((100, True), (2, False)):
        gallery = rng.integers(1, most + 1, (40, 20))
        source = source_of_embeddings(gallery, labels, "dot", gallery, labels)
        assert source.copies().tolist() == [equal] * 40
    # Each row is as good as the next one of its class, but for a class that differs throughout.
    apart = np.concatenate([np.full((1, 16), 7), np.full((39, 16), 1)])
    source = source_of_embeddings(apart, labels, "dot", apart, labels)
    assert not source.copies().any()


def test_leaving_one_out_a_row_is_not_held_against_itself():
    """Else every first row of a class would share all coordinates with its partner."""
    rng = np.random.default_rng(19)
    labels = np.repeat(np.arange(30), 2)
    vectors = rng.integers(1, 60, (60, 20))
    vectors[1] = vectors[0]
    assert (
        source_of_embeddings(vectors, labels, "dot").copies().tolist() == [True] * 2 + [False] * 58
    )


def test_nothing_but_zeros_beside_a_copy():
    gallery = np.zeros((4, 20), np.int64)
    gallery[:2] = 5
    probes = np.zeros((4, 20), np.int64)
    probes[0] = 5
    labels = np.array([0, 2, 3, 3])
    source = source_of_embeddings(probes, labels, "dot", gallery, np.arange(4))
    assert not source.copies().any()  # no coordinate is left that could speak for copying


def test_a_sample_of_many_probes_and_classes_tells(monkeypatch):
    monkeypatch.setattr(copies, "SAMPLE", 3)
    for n_shared, equal in ((8, True), (9, False)):
        probes, gallery = partly_equal(16, n_shared)
        source = source_of_embeddings(probes, np.arange(20), "dot", gallery, np.arange(20))
        assert source.copies()[:2].tolist() == [equal] * 2
