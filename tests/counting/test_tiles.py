"""Tiles of approximate scores: what they call certain is true, and most of it is certain."""

import numpy as np
import pytest

import brute
from headcount.counting import SIMILARITIES, source_of_embeddings
from headcount.counting.tiles import TILE_COLUMNS, Tiles

KINDS = ["plain", "far away", "nearly equal", "tiny", "huge", "one dimension", "unequal lengths"]


def vectors(kind, seed=0):
    rng = np.random.default_rng(seed)
    n_dims = 1 if kind == "one dimension" else 48
    gallery = rng.normal(size=(40, n_dims))
    labels = rng.integers(0, 40, 25)
    probes = gallery[labels] + 1.5 * rng.normal(size=(25, n_dims))
    if kind == "far away":
        gallery, probes = gallery + 1e3, probes + 1e3
    if kind == "nearly equal":
        gallery = rng.normal(size=n_dims) + 1e-6 * gallery
    if kind == "unequal lengths":
        gallery, probes = gallery * 10.0 ** rng.integers(-4, 5, (40, 1)), 1e3 * probes
    scale = {"tiny": 1e-30, "huge": 1e30}.get(kind, 1.0)
    return scale * probes, labels, scale * gallery


def tile_of(similarity, probes, labels, gallery):
    tiles = Tiles(source_of_embeddings(probes, labels, similarity, gallery, np.arange(40)))
    return tiles.tile(tiles.probe_block(slice(0, len(probes))), 0, 40)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_score_outside_its_bounds_lies_on_that_side_of_the_true_one(similarity, kind):
    probes, labels, gallery = vectors(kind)
    approximate, low, high = tile_of(similarity, probes, labels, gallery)
    exact = np.array([[brute.score(x, g, similarity) for g in gallery] for x in probes])
    true = exact[np.arange(25), labels][:, None]
    above, below = approximate > high[:, None], approximate < low[:, None]
    assert (exact > true)[above].all()
    assert (exact < true)[below].all()
    assert not (above | below)[np.arange(25), labels].any()  # the true class cannot be told


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", ["plain", "tiny", "huge"])
def test_nearly_all_scores_are_outside_their_bounds(similarity, kind):
    """Else counting would be right, but slow: every other pair is computed again."""
    probes, labels, gallery = vectors(kind)
    approximate, low, high = tile_of(similarity, probes, labels, gallery)
    unsure = (approximate >= low[:, None]) & (approximate <= high[:, None])
    assert unsure.sum() <= 25 + 2  # the true classes themselves


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_common_offset_leaves_most_scores_certain(similarity):
    probes, labels, gallery = vectors("far away")
    approximate, low, high = tile_of(similarity, probes, labels, gallery)
    unsure = (approximate >= low[:, None]) & (approximate <= high[:, None])
    assert unsure.mean() < 0.1


def exact_counts(probes, labels, gallery, owners):
    """Whole numbers, whose products are exact in any order."""
    products = probes @ gallery.T
    scores = np.stack([products[:, owners == c].max(axis=1) for c in range(owners.max() + 1)], 1)
    true = scores[np.arange(len(probes)), labels][:, None]
    return (scores > true).sum(axis=1).tolist(), ((scores == true).sum(axis=1) - 1).tolist()


@pytest.mark.parametrize("rows", ["one a class", "some a class", "one class has most"])
def test_many_tiles_count_as_one(rows):
    n_rows = 2 * TILE_COLUMNS + 300
    owners = {
        "one a class": np.arange(n_rows),
        "some a class": np.arange(n_rows) % 400,
        "one class has most": np.minimum(np.arange(n_rows) % 1500, 70),
    }[rows]
    rng = np.random.default_rng(8)
    gallery, probes = rng.integers(-9, 10, (n_rows, 4)), rng.integers(-9, 10, (700, 4))
    labels = rng.integers(0, owners.max() + 1, 700)
    source = source_of_embeddings(probes, labels, "dot", gallery, owners)
    losses, ties = source.count()
    assert [losses.tolist(), ties.tolist()] == list(exact_counts(probes, labels, gallery, owners))
    beats = source.beats(losses, ties)
    assert [counts.tolist() for counts in beats.count(np.ones(source.n_classes))] == [
        losses.tolist(),
        ties.tolist(),
    ]
