import numpy as np
import pytest

from headcount import Pilot
from headcount.counting import Beats, canonical_order, class_keys


def test_canonical_classes_do_not_depend_on_the_order_given():
    """Classes are told apart by who beats whom, so a shuffled pilot lists the same classes."""
    rng = np.random.default_rng(19)
    centres = rng.normal(size=(80, 4))
    labels = np.repeat(np.arange(80), 3)
    points = centres[labels] + 0.8 * rng.normal(size=(240, 4))
    first = Pilot.from_embeddings(points, labels, centres).canonical_classes()
    rows, names = rng.permutation(240), rng.permutation(80)
    shuffled = Pilot.from_embeddings(points[rows], names[labels[rows]], centres[np.argsort(names)])
    assert names[first].tolist() == shuffled.canonical_classes().tolist()
    assert sorted(first) == list(range(80))


def test_classes_confused_in_equal_pairs_are_told_apart_by_their_scores():
    """Six classes, each beaten once by its partner: alike one by one, but not two by two."""
    scores = np.full((6, 6), -1.0) - np.random.default_rng(0).uniform(size=(6, 6))
    for first in (0, 2, 4):
        scores[first, first + 1] = scores[first + 1, first] = 5 + first
    np.fill_diagonal(scores, [1, 2, 3, 4, 5, 6])
    order = Pilot.from_scores(scores, range(6)).canonical_classes()
    swapped = np.array([3, 0, 5, 1, 4, 2])
    other = Pilot.from_scores(scores[:, swapped][swapped], range(6))
    assert swapped[other.canonical_classes()].tolist() == order.tolist()
    warped = Pilot.from_scores(np.exp(scores), range(6)).canonical_classes()
    assert warped.tolist() == order.tolist()


def relabelled(pairs, n_classes, numbers):
    """One probe a class; `pairs` of (true class, rival, only tied) under other numbers."""
    renamed = sorted((numbers[true], numbers[rival], tied) for true, rival, tied in pairs)
    lengths = np.bincount([true for true, _, _ in renamed], minlength=n_classes)
    start = np.concatenate([[0], np.cumsum(lengths)])
    rivals = np.array([rival for _, rival, _ in renamed], np.int32)
    return Beats(start, rivals, np.array([tied for *_, tied in renamed], np.bool_), n_classes)


@pytest.mark.parametrize(
    "pairs, n_classes",
    [
        ([(c, c + 1, False) for c in range(6)], 7),  # the middle is told from its neighbours last
        ([(0, 1, False), (2, 3, True)], 4),  # who is beaten and who is tied
        ([(0, 1, False), (0, 2, False), (3, 4, False)], 5),
    ],
    ids=["chain", "tie", "fork"],
)
def test_classes_are_told_apart_by_their_place_among_rivals(pairs, n_classes):
    rng = np.random.default_rng(5)
    alike = {1: 2, 2: 1} if n_classes == 5 else {}  # the two prongs of the fork
    plain = canonical_order(relabelled(pairs, n_classes, range(n_classes)), np.arange(n_classes))
    for _ in range(10):
        numbers = rng.permutation(n_classes)
        order = canonical_order(relabelled(pairs, n_classes, numbers), np.arange(n_classes))
        names = np.argsort(numbers)[order].tolist()
        for name, expected in zip(names, plain.tolist(), strict=True):
            assert name in (expected, alike.get(expected))


def test_equal_classes_are_ordered_by_scores_as_true_and_as_wrong_class():
    """Nobody beats anybody: only the lowest true score, then the highest wrong one, can tell."""
    scores = np.full((8, 4), 0.0)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    scores[np.arange(8), labels] = [9, 5, 6, 6, 7, 9, 5, 8]
    scores[0, 1:] = 1, 2, 3
    scores[2, 0] = 0.5
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, columns = rng.permutation(8), rng.permutation(4)
        place = np.argsort(columns)
        pilot = Pilot.from_scores(scores[rows][:, columns], place[labels[rows]])
        # Highest wrong scores are 0.5, 1, 2 and 3; lowest true ones 5, 6, 7 and 5.
        assert columns[pilot.canonical_classes()].tolist() == [0, 3, 1, 2]


def test_keys_add_up_counts_in_any_order_and_keep_their_kinds_apart():
    labels = np.array([0, 0, 1, 1, 2, 2])
    losses, ties = np.array([1, 2, 2, 1, 1, 2]), np.array([5, 6, 6, 5, 6, 5])
    same, again, other, none = class_keys((losses, ties), labels, 4).tolist()
    assert same == again != other
    assert none == 0
    assert class_keys((ties, losses), labels, 4)[0] != same
    assert (
        len(set(class_keys((np.arange(5000), np.arange(5000) % 3), np.arange(5000), 5000))) == 5000
    )
