import numpy as np

from headcount import Pilot


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
