"""Score matrices, read once in whatever way they are stored."""

import numpy as np
import pytest

from headcount.counting import source_of_scores


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
