"""Tiles of approximate scores: what they call certain is true, and most of it is certain."""

import math
from dataclasses import replace

import numpy as np
import pytest

import brute
from headcount.counting import SIMILARITIES, source_of_embeddings
from headcount.counting.tiles import TILE_COLUMNS, Tiles, vectors_of

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


# -- the bounds, by their formulas ----------------------------------------------------------------


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", [*KINDS, "offset"])
def test_bounds_are_those_of_the_theory(similarity, kind):
    """n u / (1 - n u) times the lengths, for float32 and float64: see `Tiles`."""
    probes, labels, gallery = vectors("plain" if kind == "offset" else kind)
    if kind == "offset":  # errors of float64 in numbers that large outweigh those of float32
        probes, gallery = 1e9 + probes, 1e9 + gallery
    n_dims = probes.shape[1]
    source = source_of_embeddings(probes, labels, similarity, gallery, np.arange(40))
    tiles = Tiles(source)
    block = tiles.probe_block(slice(0, 25))
    if similarity == "cosine":
        g = gallery / np.linalg.norm(gallery, axis=1)[:, None]
        x, scale, norm = probes / np.linalg.norm(probes, axis=1)[:, None], 1.0, 1.0
    else:
        scale = 2.0 ** -(math.floor(math.log2(np.abs(gallery).max())) + 1)
        g, x = scale * gallery, scale * probes
        norm = np.linalg.norm(g, axis=1).max()
    np.testing.assert_allclose(tiles.centre, np.median(g, axis=0), rtol=1e-12)
    longest = np.linalg.norm(g - tiles.centre, axis=1).max()
    own = np.array(
        [brute.score(x, gallery[c], similarity) for x, c in zip(probes, labels, strict=True)]
    )
    if similarity == "euclidean":
        size = np.linalg.norm(x - tiles.centre, axis=1)
        level = (size**2 + own * scale**2) / 2
        product, reach = size * longest + longest**2 / 2, (size + longest) ** 2 + norm**2
        largest = np.abs(x - tiles.centre).max(axis=1)
    else:
        size = np.linalg.norm(x, axis=1)
        level = own * scale**2 - x @ tiles.centre
        product, reach = size * longest, size * norm
        largest = np.abs(x).max(axis=1)
    np.testing.assert_allclose(block.size, size, rtol=1e-9)
    np.testing.assert_allclose(block.level, level, atol=1e-12 * (reach + abs(level)).max())
    # Powers of two bring what is larger than one under it.
    exponents = np.log2(block.scale)
    assert (exponents == exponents.round()).all() and (block.scale <= 0.5).all()
    over = largest >= 1
    assert (block.scale * largest < 1).all() and (block.scale * largest >= 0.5)[over].all()
    # With levels of zero the bounds stand alone.
    bare = replace(block, level=np.zeros(25))
    _, low, high = tiles.tile(bare, 0, 40)
    single, double = 1.05 * (n_dims + 8) * 2.0**-24, 4 * (n_dims + 8) * 2.0**-53
    assert source.round_off == double
    bound = block.scale * (single * product + double * reach)
    np.testing.assert_allclose(high, bound, rtol=1e-6, atol=1e-29)
    np.testing.assert_allclose(low, -bound, rtol=1e-6, atol=1e-29)
    if kind == "offset" and similarity != "cosine":
        assert (double * reach > 0.01 * single * product).all()


def test_bounds_lie_around_the_level():
    probes, labels, gallery = vectors("plain")
    tiles = Tiles(source_of_embeddings(probes, labels, "dot", gallery, np.arange(40)))
    block = tiles.probe_block(slice(0, 25))
    _, low, high = tiles.tile(block, 0, 40)
    level = block.scale * block.level
    assert (low < level).all() and (level < high).all()
    np.testing.assert_allclose((low + high) / 2, level, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f2", "i1", "u2", "f4", "?"])
def test_vectors_are_narrow_where_that_is_exact(dtype):
    assert vectors_of(np.ones((2, 3), dtype)).dtype == np.float32


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "f8", ">f8"])
def test_vectors_are_wide_where_narrow_ones_would_round(dtype):
    assert vectors_of(np.ones((2, 3), dtype)).dtype == np.float64


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("columns, rows", [(1, 16), (2, 1000), (7, 20)])
def test_tiles_of_any_size_count_alike(monkeypatch, similarity, several, columns, rows):
    """Also with a true class at the end of a tile, and columns looked at a few at a time."""
    monkeypatch.setattr("headcount.counting.tiles.TILE_COLUMNS", columns)
    monkeypatch.setattr("headcount.counting.embeddings.TILE_ROWS", rows)
    rng = np.random.default_rng(9)
    owners = np.concatenate([np.arange(15), rng.integers(0, 15, 20 * several)])
    gallery, probes = rng.integers(-3, 4, (len(owners), 4)), rng.integers(-3, 4, (90, 4))
    labels = rng.integers(0, 15, 90)
    source = source_of_embeddings(probes, labels, similarity, gallery, owners)
    losses, ties = source.count()
    expected = brute.count_embeddings(probes, labels, gallery, owners.tolist(), similarity)
    assert list(zip(losses.tolist(), ties.tolist(), strict=True)) == expected
    beats = source.beats(losses, ties)
    scores = np.concatenate([block for _, block in source.blocks(7)])
    own = scores[np.arange(90), labels][:, None]
    listed = np.zeros((90, 15), int)
    listed[np.repeat(np.arange(90), np.diff(beats.start)), beats.classes] = np.where(
        beats.tied, 1, 2
    )
    wrong = np.arange(15) != labels[:, None]
    assert listed.tolist() == (((scores >= own) & wrong).astype(int) + (scores > own)).tolist()


@pytest.mark.parametrize(
    "sizes, tiles",
    [
        ([1] * 7, [(0, 3), (3, 6), (6, 7)]),
        ([2, 2, 2], [(0, 1), (1, 2), (2, 3)]),
        ([3, 1, 2, 4, 1], [(0, 1), (1, 3), (3, 4), (4, 5)]),
        ([5], [(0, 1)]),
    ],
)
def test_a_tile_holds_whole_classes_and_few_rows(monkeypatch, sizes, tiles):
    monkeypatch.setattr("headcount.counting.tiles.TILE_COLUMNS", 3)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    gallery = np.random.default_rng(0).normal(size=(len(owners), 2))
    source = source_of_embeddings(gallery, owners, "dot", gallery, owners)
    widest = max(sum(sizes[first:last]) for first, last in tiles)
    assert (Tiles(source).columns, Tiles(source).widest) == (tiles, widest)
