"""Score matrices, read once in whatever way they are stored."""

import numpy as np
import pytest

from headcount import DataError
from headcount.counting import source_of_scores
from headcount.counting.score_matrix import ScoreMatrix


def counts(scores, labels):
    own = scores[np.arange(len(scores)), labels][:, None]
    return (scores > own).sum(axis=1), (scores == own).sum(axis=1) - 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(8300, 6), (5, 1100), (3, 17_000)], ids=str)
def test_long_and_wide_matrices_are_counted_in_pieces(shape, dtype, order):
    rng = np.random.default_rng(21)
    scores = np.asarray(rng.integers(0, 40, shape), dtype=dtype, order=order)
    labels = rng.integers(0, shape[1], shape[0])
    lost, tied = counts(scores, labels)
    up, down = (source_of_scores(scores, labels, better) for better in (True, False))
    assert [part.tolist() for part in up.count()] == [lost.tolist(), tied.tolist()]
    won = shape[1] - 1 - lost - tied
    assert [part.tolist() for part in down.count()] == [won.tolist(), tied.tolist()]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("better", [True, False])
def test_some_rows_and_columns_of_a_matrix(order, better):
    rng = np.random.default_rng(22)
    whole = np.asarray(rng.integers(0, 9, (60, 20)).astype(np.float32), order=order)
    labels = rng.integers(0, 20, 60)
    classes = np.array([12, 3, 19, 0, 8])
    rows = np.flatnonzero(np.isin(labels, classes))
    true = np.array([classes.tolist().index(label) for label in labels[rows]])
    source = source_of_scores(whole, labels, better).subset(rows, classes, true)
    scores = whole[rows][:, classes] if better else -whole[rows][:, classes]
    assert [part.tolist() for part in source.count()] == [
        part.tolist() for part in counts(scores, true)
    ]
    losses, ties = source.count()
    beats = source.beats(losses, ties)
    own = scores[np.arange(len(rows)), true][:, None]
    listed = np.zeros(scores.shape, bool)
    listed[np.repeat(np.arange(len(rows)), np.diff(beats.start)), beats.classes] = True
    own_class = np.arange(5) == true[:, None]
    assert listed.tolist() == ((scores >= own) & ~own_class).tolist()
    assert source.true_scores().tolist() == own[:, 0].tolist()


def test_places_stand_for_integers_that_float64_would_merge():
    first = 2**60
    scores = first + np.array([[5, 3, 3, 9], [0, 0, 2, 1]])
    for better, expected in (
        (True, [[1, 0, 0, 2], [0, 0, 2, 1]]),
        (False, [[-1, 0, 0, -2], [0, 0, -2, -1]]),
    ):
        source = source_of_scores(scores, np.array([0, 1]), better)
        assert np.concatenate([b for _, b in source.ordered_blocks()]).tolist() == expected
    small = source_of_scores(scores - first, np.array([0, 1]), True)
    assert next(small.ordered_blocks())[1].tolist() == (scores - first).tolist()
    edge = np.array([[2**53, 2**53 + 1]])
    assert next(source_of_scores(edge, np.array([0]), True).ordered_blocks())[1].tolist() == [
        [0, 1]
    ]


# -- counters, wherever they could run over -------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", "f8"])
@pytest.mark.parametrize("n_classes", [255, 256, 512, 1023, 1024, 4096, 33_000])
def test_any_number_of_rivals_may_win_or_tie(n_classes, dtype, order):
    scores = np.zeros((3, n_classes), dtype)
    scores[1], scores[1, 4], scores[2, n_classes // 2 :] = 1, 0, -1
    source = source_of_scores(np.asarray(scores, order=order), np.array([2, 4, 0]), True)
    losses, ties = source.count()
    assert losses.tolist() == [0, n_classes - 1, 0]
    assert ties.tolist() == [n_classes - 1, 0, n_classes // 2 - 1]


@pytest.mark.parametrize("n_flaws", [1, 512, 1020, 1024, 2048])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_any_number_of_flaws_is_refused(dtype, order, n_flaws):
    scores = np.asarray(np.random.default_rng(24).normal(size=(4, 2100)), dtype, order=order)
    scores[2, :n_flaws] = np.nan
    with pytest.raises(DataError, match=r"1 of 4 rows holds NaN.*row 2, column 0 is nan"):
        source_of_scores(scores, np.full(4, 2099), True).count()


# -- pieces of any size ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_bytes", [1, 8 * 8 * 11 * 4, 10**6])
@pytest.mark.parametrize("dtype", ["i8", "f4"])
@pytest.mark.parametrize("better", [True, False])
def test_blocks_of_any_size_answer_alike(monkeypatch, better, dtype, n_bytes):
    monkeypatch.setattr("headcount.counting.score_matrix.BLOCK_BYTES", n_bytes)
    rng = np.random.default_rng(25)
    scores, labels = rng.integers(0, 6, (50, 11)).astype(dtype), rng.integers(0, 11, 50)
    source = source_of_scores(scores, labels, better)
    values = (1 if better else -1) * scores.astype(float)
    lost, tied = counts(values, labels)
    losses, ties, pieces = source.measure(3, np.array([0.5]))
    assert [losses.tolist(), ties.tolist()] == [lost.tolist(), tied.tolist()]
    assert [part.tolist() for part in source.count()] == [lost.tolist(), tied.tolist()]
    own = values[np.arange(50), labels]
    assert pieces.true.tolist() == own.tolist()
    for blocks in (source.blocks(), source.ordered_blocks()):
        assert np.concatenate([block for _, block in blocks]).tolist() == values.tolist()
    beats = source.beats(losses, ties)
    listed = np.zeros(values.shape, bool)
    listed[np.repeat(np.arange(50), np.diff(beats.start)), beats.classes] = True
    wrong = np.arange(11) != labels[:, None]
    assert listed.tolist() == ((values >= own[:, None]) & wrong).tolist()


def test_a_block_holds_so_many_bytes(monkeypatch):
    monkeypatch.setattr("headcount.counting.score_matrix.BLOCK_BYTES", 8 * 11 * 4)
    scores = np.arange(110).reshape(10, 11)
    source = source_of_scores(scores, np.zeros(10, int), True)
    for blocks in (source.blocks(), source.ordered_blocks()):
        assert [rows.stop for rows, _ in blocks] == [4, 8, 10]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f2", ">i8"])
def test_rows_alone_or_columns_alone_may_be_chosen(order, dtype):
    rng = np.random.default_rng(26)
    scores = np.asarray(rng.integers(0, 9, (30, 12)), dtype=dtype, order=order)
    rows, columns, true = np.array([4, 20, 7]), np.array([5, 0, 11, 3]), np.array([1, 0, 2])
    for source, part in (
        (ScoreMatrix(scores, true, True, rows=rows), scores[rows]),
        (ScoreMatrix(scores[:3], true, True, columns=columns), scores[:3][:, columns]),
    ):
        assert [n.tolist() for n in source.count()] == [n.tolist() for n in counts(part, true)]
        assert source.true_scores().tolist() == part[np.arange(3), true].tolist()


def test_only_integers_of_64_bits_lie_off_and_by_half_a_unit_at_most():
    for dtype in ("i8", "u8", ">i8"):
        source = source_of_scores(np.ones((1, 2), dtype), np.array([0]), True)
        assert source.round_off == 2.0**-53
    for dtype in ("i4", "f8", "f4", "?", "longdouble"):
        assert source_of_scores(np.ones((1, 2), dtype), np.array([0]), True).round_off == 0
