"""Rows of scores as a network reads them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount import Pilot
from headcount.estimators.cleanex.score_rows import score_rows


def random_scores(seed=0, n_classes=7, per_class=3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    return rng.normal(size=(len(labels), n_classes)) + 2 * np.eye(n_classes)[labels], labels


def by_hand(scores, labels):
    scaled = (scores - scores.mean()) / scores.std()
    return sorted(
        [row[label], *sorted(np.delete(row, label))]
        for row, label in zip(scaled, labels, strict=True)
    )


def test_a_row_is_the_true_score_and_the_sorted_wrong_ones():
    scores, labels = random_scores()
    rows = score_rows(Pilot.from_scores(scores, labels))
    np.testing.assert_allclose(sorted(rows.values.tolist()), by_hand(scores, labels), atol=1e-6)
    assert rows.values.dtype == np.float32


def test_lower_is_better_is_turned_round_first():
    scores, labels = random_scores()
    pilot = Pilot.from_scores(-scores, labels, higher_is_better=False)
    expected = score_rows(Pilot.from_scores(scores, labels)).values
    np.testing.assert_array_equal(score_rows(pilot).values, expected)


def test_weights_and_labels_stay_with_their_rows():
    scores, labels = random_scores()
    kept = np.delete(np.arange(len(labels)), [0, 1, 4])  # uneven classes, so weights differ
    scores, labels = scores[kept], labels[kept]
    pilot = Pilot.from_scores(scores, labels)
    rows = score_rows(pilot)
    true = (scores[np.arange(len(labels)), labels] - scores.mean()) / scores.std()
    order = [int(np.abs(true - value).argmin()) for value in rows.values[:, 0]]
    assert sorted(order) == list(range(len(labels)))
    np.testing.assert_array_equal(rows.weights, pilot.weights[order])
    np.testing.assert_array_equal(rows.labels, labels[order])


@given(st.integers(0, 1000), st.sampled_from([1, 10]))
def test_order_of_probes_and_classes_does_not_matter(seed, decimals):
    rng = np.random.default_rng(seed)
    scores, labels = random_scores(seed)
    scores = scores.round(decimals)  # with one decimal many scores are equal
    place, rows = rng.permutation(7), rng.permutation(len(labels))
    moved = np.empty_like(scores)
    moved[:, place] = scores
    one = score_rows(Pilot.from_scores(scores, labels))
    other = score_rows(Pilot.from_scores(moved[rows], place[labels][rows]))
    # Sums in another order may move the mean by round-off, and with it a last digit.
    np.testing.assert_allclose(one.values, other.values, rtol=0, atol=1e-6)


@given(st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_linear_maps_give_the_same_rows(scale, shift):
    scores, labels = random_scores()
    one = score_rows(Pilot.from_scores(scores, labels)).values
    other = score_rows(Pilot.from_scores(scale * scores + shift, labels)).values
    np.testing.assert_allclose(np.sort(one, axis=0), np.sort(other, axis=0), atol=1e-5)


def test_many_blocks_give_what_one_gives(monkeypatch):
    scores, labels = random_scores(1, 30, 10)
    whole = score_rows(Pilot.from_scores(scores, labels))
    monkeypatch.setattr("headcount.counting.score_matrix.BLOCK_BYTES", 8 * 30 * 7)
    parts = score_rows(Pilot.from_scores(scores, labels))
    np.testing.assert_allclose(whole.values, parts.values, atol=1e-6)


def test_scores_that_are_all_the_same_become_zero():
    scores = np.pad(np.full((4, 3), 0.7), ((0, 0), (0, 1)))  # a pilot of nothing else is refused
    rows = score_rows(Pilot.from_scores(scores, [0, 1, 2, 0]).subset([0, 1, 2]))
    assert not rows.values.any()


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_no_scale_is_too_large_or_too_small(scale):
    scores, labels = random_scores()
    one = score_rows(Pilot.from_scores(scores, labels)).values
    other = score_rows(Pilot.from_scores(scale * scores, labels)).values
    np.testing.assert_allclose(np.sort(one, axis=0), np.sort(other, axis=0), atol=2e-6)


def test_far_from_zero_nothing_cancels():
    scores, labels = random_scores()
    near = score_rows(Pilot.from_scores(scores, labels)).values
    far = score_rows(Pilot.from_scores(scores + 1e6, labels)).values
    np.testing.assert_allclose(np.sort(far, axis=0), np.sort(near, axis=0), atol=1e-5)


def test_the_pilot_keeps_its_scores():
    scores, labels = random_scores()
    before = scores.copy()
    score_rows(Pilot.from_scores(scores, labels))
    assert (scores == before).all()


def test_needs_scores():
    from headcount import UnsupportedError

    with pytest.raises(UnsupportedError):
        score_rows(Pilot.from_losses([0, 1], 3))
