"""Probes that are also enrolled as another vector of their class."""

import numpy as np
import pytest

from headcount.counting import (
    SIMILARITIES,
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
