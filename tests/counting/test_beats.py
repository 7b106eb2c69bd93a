"""The list of classes that beat or tie each probe."""

import numpy as np
import pytest

from headcount import Pilot
from headcount.counting import Beats

RNG = np.random.default_rng(41)
SCORES, LABELS = RNG.integers(0, 6, (50, 12)), RNG.integers(0, 12, 50)
OWN = SCORES[np.arange(50), LABELS][:, None]
BEATEN = SCORES > OWN
TIED = (SCORES == OWN) & (np.arange(12) != LABELS[:, None])


def lists(beats):
    """Each probe's classes, and whether they only tie."""
    return [
        list(zip(beats.classes[first:last].tolist(), beats.tied[first:last].tolist(), strict=True))
        for first, last in zip(beats.start[:-1], beats.start[1:], strict=True)
    ]


def expected(beaten, tied):
    both = zip(beaten | tied, tied, strict=True)
    return [[(int(c), bool(ties[c])) for c in np.flatnonzero(any_of)] for any_of, ties in both]


def beats():
    return Pilot.from_scores(SCORES, LABELS, higher_is_better=True).beats()


def test_classes_are_listed_in_ascending_order():
    assert lists(beats()) == expected(BEATEN, TIED)


def test_wins_of_a_class_are_the_probes_it_beats_and_not_those_it_ties():
    assert beats().wins().tolist() == BEATEN.sum(axis=0).tolist()
    # A class at the end that beats nobody has its place, too.
    assert Beats(np.array([0, 1]), np.array([0]), np.array([False]), 3).wins().tolist() == [1, 0, 0]


@pytest.mark.parametrize("rows", [[3, 1, 30], [], list(range(49, -1, -1))])
@pytest.mark.parametrize("classes", [[0, 5, 7, 11], [11, 2, 0], [4]])
def test_a_subset_lists_the_classes_that_stay_under_their_new_numbers(rows, classes):
    rows, classes = np.array(rows, np.intp), np.array(classes)
    fewer = beats().subset(rows, classes)
    assert fewer.n_classes == len(classes)
    assert lists(fewer) == expected(BEATEN[rows][:, classes], TIED[rows][:, classes])


def test_weights_of_classes_add_up_over_those_that_beat_and_those_that_tie():
    weights = RNG.gamma(1, 1, 12)
    losses, ties = beats().count(weights)
    np.testing.assert_allclose(losses, BEATEN @ weights, rtol=1e-12)
    np.testing.assert_allclose(ties, TIED @ weights, rtol=1e-12)
