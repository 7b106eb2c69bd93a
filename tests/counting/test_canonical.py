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


def scrambled(value):
    """The output of SplitMix64 after `value`, in whole numbers of Python."""
    z = (value + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_keys_are_those_of_the_published_generator():
    """Draws under a seed stay what they were only as long as keys do."""
    assert scrambled(0) == 0xE220A8397B1DCDAF  # its first output from seed 0
    counts = np.array([0, 7, 123456789])
    first = [scrambled(scrambled(int(count))) for count in counts]
    assert class_keys((counts,), np.arange(3), 3).tolist() == first
    second = [
        scrambled((3 * key + scrambled(int(c))) % 2**64)
        for key, c in zip(first, counts, strict=True)
    ]
    assert class_keys((counts, counts), np.arange(3), 3).tolist() == second
    assert class_keys((counts,), np.zeros(3, int), 1).tolist() == [sum(first) % 2**64]


def test_the_order_is_that_of_keys_refined_three_times():
    rng = np.random.default_rng(6)
    scores, labels = rng.integers(0, 8, (60, 25)), rng.integers(0, 25, 60)
    keys = [scrambled(int((labels == c).sum())) for c in range(25)]
    for _ in range(3):
        beaten_by, beating = [0] * 25, [0] * 25
        for row, true in zip(scores, labels, strict=True):
            rivals = [
                (c, int(row[c] == row[true]))
                for c in range(25)
                if c != true and row[c] >= row[true]
            ]
            beaten_by[true] += scrambled(
                sum(scrambled((keys[c] + tied) % 2**64) for c, tied in rivals) % 2**64
            )
            for c, tied in rivals:
                beating[c] += scrambled((3 * keys[true] + tied) % 2**64)
        keys = [
            scrambled(
                (scrambled(key) + 5 * scrambled(mine % 2**64) + 7 * scrambled(theirs % 2**64))
                % 2**64
            )
            for key, mine, theirs in zip(keys, beaten_by, beating, strict=True)
        ]
    beats = Pilot.from_scores(scores, labels, higher_is_better=True).beats()
    assert canonical_order(beats, labels).tolist() == np.argsort(np.array(keys, np.uint64)).tolist()
