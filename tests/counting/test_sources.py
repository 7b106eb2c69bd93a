"""What a source answers besides counts: blocks, places, pieces, lists, and all of a part of it."""

import pickle

import numpy as np
import pytest

from headcount import DataError, Pilot
from headcount.counting import Beats
from headcount.counting.score_matrix import ScoreMatrix
from headcount.counting.summaries import empty_pieces, fill_pieces
from headcount.support.workers import row_blocks

BIG = 2**53


def whole(blocks):
    rows, scores = zip(*blocks, strict=True)
    assert [block.start for block in rows[1:]] == [block.stop for block in rows[:-1]]
    return np.concatenate(scores)


def exact_scores(probes, gallery, similarity):
    """Scores of whole numbers, in which no sum is rounded."""
    products = (probes @ gallery.T).astype(float)
    if similarity == "dot":
        return products
    lengths = np.sqrt((probes**2).sum(axis=1)[:, None].astype(float))
    others = np.sqrt((gallery**2).sum(axis=1).astype(float))
    if similarity == "cosine":
        scale = lengths * others
        return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    gaps = probes[:, None, :] - gallery
    return -(gaps**2).sum(axis=2).astype(float)


@pytest.mark.parametrize("similarity", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("several", [False, True])
def test_more_probes_and_classes_than_a_block_holds(similarity, several):
    """Probes and rows past the ends of blocks, tiles and stretches, with many ties."""
    rng = np.random.default_rng(21)
    n_classes = 700 if several else 1300
    owners = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 700 * several)])
    gallery = rng.integers(-4, 5, (len(owners), 4))
    labels = rng.integers(0, n_classes, 700)
    probes = rng.integers(-4, 5, (700, 4))
    rows = exact_scores(probes, gallery, similarity)
    scores = np.full((700, n_classes), -np.inf)
    for row, owner in enumerate(owners):
        scores[:, owner] = np.maximum(scores[:, owner], rows[:, row])
    true = scores[np.arange(700), labels][:, None]
    pilot = Pilot.from_embeddings(probes, labels, gallery, owners, similarity=similarity)
    assert pilot.losses.tolist() == (scores > true).sum(axis=1).tolist()
    assert pilot.ties.tolist() == ((scores == true).sum(axis=1) - 1).tolist()
    beats = pilot.beats()
    lists = np.split(beats.classes, beats.start[1:-1])
    at_least = scores >= true
    at_least[np.arange(700), labels] = False
    for mine, row in zip(lists, at_least, strict=True):
        assert mine.tolist() == np.flatnonzero(row).tolist()
    assert beats.tied.sum() == pilot.ties.sum()
    shown = -np.sqrt(-scores) if similarity == "euclidean" else scores
    np.testing.assert_allclose(whole(pilot.score_blocks(301)), shown, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "f2", "?", ">i8", "longdouble"])
@pytest.mark.parametrize("higher", [True, False])
def test_blocks_are_the_scores_with_higher_ones_better(dtype, higher):
    scores = np.arange(24).reshape(6, 4) % 7 % (2 if dtype == "?" else 7)
    matrix = ScoreMatrix(scores.astype(dtype), np.array([0, 1, 2, 3, 0, 1]), higher)
    expected = (1 if higher else -1) * scores
    for size in (None, 1, 4, 100):
        blocks = list(matrix.blocks(size))
        assert len(blocks) == -(-6 // (size or 6))
        assert np.array_equal(whole(blocks), expected)
    assert np.array_equal(whole(matrix.ordered_blocks()), expected)
    assert matrix.true_scores().tolist() == expected[np.arange(6), [0, 1, 2, 3, 0, 1]].tolist()


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_that_floats_would_merge_come_as_places(sign):
    rows = [[BIG, BIG + 1, BIG + 1, 5], [-BIG - 1, -BIG, 0, -BIG - 1]]
    matrix = ScoreMatrix(np.array(rows), np.array([0, 1]), sign > 0)
    places = np.array([[1, 2, 2, 0], [0, 1, 2, 0]])
    assert np.array_equal(whole(matrix.ordered_blocks()), sign * places)
    assert matrix.count()[0].tolist() == ([2, 1] if sign > 0 else [1, 2])
    # One short of that, and for floats of any size, scores come as they are.
    for fine in (np.array(rows) % BIG, np.array(rows, dtype=float) * 4):
        blocks = whole(ScoreMatrix(fine, np.array([0, 1]), sign > 0).ordered_blocks())
        assert np.array_equal(blocks, sign * fine.astype(float))
    edge = np.array([[BIG - 1, 1 - BIG, 3, 3]])
    assert np.array_equal(
        whole(ScoreMatrix(edge, np.array([0]), True).ordered_blocks()), edge.astype(float)
    )


def test_a_part_of_a_part_reads_the_right_rows_and_columns():
    scores = np.random.default_rng(22).integers(0, 6, (9, 7))
    labels = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1])
    first = ScoreMatrix(scores, labels, True).subset(
        np.array([1, 3, 4, 8]), np.array([6, 4, 3, 1]), np.array([3, 2, 1, 3])
    )
    second = first.subset(np.array([0, 2, 3]), np.array([3, 1]), np.array([0, 1, 0]))
    assert (first.n_probes, first.n_classes) == (4, 4)
    assert (second.n_probes, second.n_classes) == (3, 2)
    block = scores[np.ix_([1, 4, 8], [1, 4])]
    assert np.array_equal(whole(second.blocks()), block)
    assert second.true_scores().tolist() == [scores[1, 1], scores[4, 4], scores[8, 1]]
    losses, ties = second.count()
    true = second.true_scores()[:, None]
    assert losses.tolist() == (block > true).sum(axis=1).tolist()
    assert ties.tolist() == ((block == true).sum(axis=1) - 1).tolist()
    reverse = ScoreMatrix(scores, labels, False).subset(
        np.array([0, 7]), np.array([0, 5]), np.array([0, 0])
    )
    assert np.array_equal(whole(reverse.blocks()), -scores[np.ix_([0, 7], [0, 5])])


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_few_and_of_many_flaws_are_refused(order):
    scores = np.random.default_rng(23).normal(size=(6, 1500)).astype(np.float32)
    scores[1, :1400], scores[2, 3], scores[4, -1] = np.nan, np.inf, -np.inf
    matrix = ScoreMatrix(np.asarray(scores, order=order), np.full(6, 1450), True)
    with pytest.raises(DataError, match=r"3 of 6 rows hold NaN.*row 1, column 0 is nan"):
        matrix.count()


def pieces_of(scores, true, top, levels):
    pieces = empty_pieces(len(scores), scores.shape[1], top, np.asarray(levels))
    fill_pieces(pieces, slice(0, len(scores)), scores.copy(), np.asarray(true))
    return pieces


def test_pieces_of_two_and_of_three_classes():
    two = pieces_of(np.array([[3.0, 1.0], [2.0, 7.0]]), [0, 0], 5, [0.0, 0.5, 1.0])
    assert two.true.tolist() == [3, 2]
    assert two.top.tolist() == [[1], [7]]
    assert two.mean.tolist() == [1, 7]
    assert two.spread.tolist() == [0, 0]
    assert two.quantiles.tolist() == [[1] * 3, [7] * 3]
    three = pieces_of(np.array([[3.0, 9.0, 1.0]]), [2], 1, [0.0, 0.25, 1.0])
    assert three.top.tolist() == [[9]]
    assert three.mean.tolist() == [6]
    assert three.spread.tolist() == pytest.approx([18**0.5])
    assert three.quantiles.tolist() == [[3, 4.5, 9]]


def test_row_blocks_cover_all_rows_once():
    assert row_blocks(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert row_blocks(6, 3) == [slice(0, 3), slice(3, 6)]
    assert row_blocks(0, 3) == []


def listed():
    """Three probes among four classes: two rivals, none, and one of each kind."""
    start, classes = np.array([0, 2, 2, 4]), np.array([1, 3, 0, 2], np.int32)
    return Beats(start, classes, np.array([False, False, True, False]), 4)


def test_a_list_knows_its_winners_and_cannot_be_changed():
    beats = listed()
    assert beats.wins().tolist() == [0, 1, 1, 1]
    for copy in (beats, pickle.loads(pickle.dumps(beats))):
        for values in (copy.start, copy.classes, copy.tied):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_a_part_of_a_list_is_renumbered_and_ascends():
    part = listed().subset(np.array([2, 0]), np.array([3, 2, 0]))
    assert part.n_classes == 3
    assert part.start.tolist() == [0, 2, 3]
    assert part.classes.tolist() == [1, 2, 0]
    assert part.tied.tolist() == [False, True, False]
    nothing = listed().subset(np.array([1]), np.array([0, 1]))
    assert (nothing.start.tolist(), nothing.classes.tolist()) == ([0, 0], [])
