"""Lists cut amid equal scores: what is stated as bounds holds what full lists would have shown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount import Forecast, Pilot, forecast, load, observe
from headcount.pilot.loading import pilot_from_neighbours
from pilot_files import count_by_hand, write

RULES = ("random", "lose", "win")
N_CLASSES, N_PROBES = 7, 5


def draw(seed, levels):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, size=(N_PROBES, N_CLASSES)).astype(float)
    return scores, rng.integers(0, N_CLASSES, size=N_PROBES), rng


def truth(scores, true, tie_rule):
    losses, ties = count_by_hand(scores, true)
    pilot = Pilot.from_losses(losses, N_CLASSES, ties=ties, labels=true, tie_rule=tie_rule)
    return observe(pilot).accuracy(np.arange(1, N_CLASSES + 1))


def best_first(scores, rng):
    """Columns of each row from the best to the worst, equals in any order."""
    return np.lexsort((rng.random(scores.shape), -scores), axis=1)


def assert_within_bounds(pilot, accuracy):
    curve, ks = observe(pilot), np.arange(1, N_CLASSES + 1)
    lower, upper = curve.bounds(ks)
    assert (lower <= accuracy + 1e-12).all()
    assert (accuracy <= upper + 1e-12).all()
    assert (lower <= curve.accuracy(ks) + 1e-12).all()
    assert (curve.accuracy(ks) <= upper + 1e-12).all()


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    levels=st.integers(1, 8),
    depth=st.integers(1, N_CLASSES),
    tie_rule=st.sampled_from(RULES),
)
def test_bounds_of_cut_neighbour_lists_hold_the_truth(seed, levels, depth, tie_rule):
    scores, true, rng = draw(seed, levels)
    ids = best_first(scores, rng)[:, :depth]
    listed = np.take_along_axis(scores, ids, axis=1)
    pilot = pilot_from_neighbours(
        ids, listed, true, N_CLASSES, higher_is_better=True, tie_rule=tie_rule
    )
    assert_within_bounds(pilot, truth(scores, true, tie_rule))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    levels=st.integers(1, 6),
    depth=st.integers(1, 2 * N_CLASSES),
    tie_rule=st.sampled_from(RULES),
)
def test_bounds_hold_the_truth_with_two_gallery_rows_a_class(seed, levels, depth, tie_rule):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, levels, size=(N_PROBES, 2 * N_CLASSES)).astype(float)
    classes, true = np.arange(2 * N_CLASSES) // 2, rng.integers(0, N_CLASSES, size=N_PROBES)
    ids = best_first(rows, rng)[:, :depth]
    pilot = pilot_from_neighbours(
        ids,
        np.take_along_axis(rows, ids, axis=1),
        true,
        N_CLASSES,
        gallery_labels=classes,
        higher_is_better=True,
        tie_rule=tie_rule,
    )
    scores = rows.reshape(N_PROBES, N_CLASSES, 2).max(axis=2)
    assert_within_bounds(pilot, truth(scores, true, tie_rule))


@pytest.mark.parametrize("tie_rule", RULES)
@pytest.mark.parametrize("depth", [1, 2, 4, 7])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_cut_runs_hold_the_truth(tmp_path, seed, depth, tie_rule):
    scores, _, rng = draw(seed, 4)
    true = np.arange(N_PROBES)  # a document is relevant to one query
    order = best_first(scores, rng)[:, :depth]
    run = [f"q{q} Q0 d{d} 1 {scores[q, d]} t" for q in range(N_PROBES) for d in order[q]]
    qrels = [f"q{q} 0 d{d} 1" for q, d in enumerate(true)]
    pilot = load(
        write(tmp_path / "run", "\n".join(run)),
        qrels=write(tmp_path / "qrels", "\n".join(qrels)),
        n_classes=N_CLASSES,
        tie_rule=tie_rule,
    )
    assert_within_bounds(pilot, truth(scores, true, tie_rule))


def test_full_lists_leave_nothing_open():
    scores, true, rng = draw(3, 3)
    ids = best_first(scores, rng)
    listed = np.take_along_axis(scores, ids, axis=1)
    pilot = pilot_from_neighbours(ids, listed, true, N_CLASSES, higher_is_better=True)
    assert not pilot.possible_ties.any()
    np.testing.assert_array_equal(*observe(pilot).bounds([2, 5, 7]))


def test_bounds_are_no_wider_than_ties_at_the_cut_make_them():
    # Of nine classes the best three: the true class is first; the last of three; not among them.
    ids, distances = [[0, 1, 2]] * 3, [[1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.0]]
    labels = [0, 2, 5]
    for tie_rule, fewest, most in (
        ("random", [[0], [1, 2], [1, 2, 3]], [[0], [8], [8]]),
        ("lose", [[0], [2], [3]], [[0], [8], [8]]),
        ("win", [[0], [1], [1]], [[0], [1], [8]]),
    ):
        lists = pilot_from_neighbours(ids, distances, labels, 9, tie_rule=tie_rule)
        lower, upper = observe(lists).bounds(range(1, 10))
        for bound, rows in ((upper, fewest), (lower, most)):
            curves = [
                observe(Pilot.from_losses(losses, 9)).accuracy(range(1, 10)) for losses in rows
            ]
            np.testing.assert_allclose(bound, np.mean(curves, axis=0), atol=1e-12)


def test_forecasts_keep_the_bounds_through_json():
    rng = np.random.default_rng(0)
    distances = np.sort(rng.integers(0, 9, size=(80, 4)).astype(float), axis=1)
    ids = np.argsort(rng.random((80, 40)), axis=1)[:, :4]
    place = rng.choice([0, 0, 0, 1, 3], size=80)
    true = np.where(rng.random(80) < 0.8, ids[np.arange(80), place], rng.integers(0, 40, 80))
    pilot = pilot_from_neighbours(ids, distances, true, 40)
    made = forecast(pilot, classes=[100], method="probit-normal", intervals=False)
    again = Forecast.from_json(made.to_json())
    ks = [2, 10, 40]
    np.testing.assert_array_equal(again.observed.bounds(ks), observe(pilot).bounds(ks))
    np.testing.assert_array_equal(again.accuracy(ks), observe(pilot).accuracy(ks))


def test_files_of_losses_may_hold_possible_ties(npz):
    path = npz(losses=[0, 3], censored=[False, True], possible_ties=[5, 1], n_classes=9)
    pilot = Pilot.from_losses([0, 3], 9, censored=[False, True], possible_ties=[5, 1])
    for k in (2, 9):
        assert observe(load(path)).bounds(k) == observe(pilot).bounds(k)
    assert observe(pilot).bounds(9) == (0.0, 0.5)


def test_some_probes_keep_their_possible_ties():
    pilot = pilot_from_neighbours([[0, 1], [0, 1]], [[1.0, 1.0], [1.0, 1.0]], [0, 5], 9)
    kept = pilot.keep_probes([1])
    assert kept.possible_ties.tolist() == [2]
    assert observe(kept).bounds(2)[1] > observe(pilot.keep_probes([0])).accuracy(9)


@pytest.mark.parametrize(
    ("counts", "phrase"),
    [
        ({"possible_ties": [0, 4], "censored": [0, 1]}, "row 1, 4 possible ties"),
        ({"possible_ties": [8, 0], "ties": [1, 0]}, "row 0, 8 possible ties"),
        ({"possible_ties": [1]}, "1 possible ties for 2 losses"),
        ({"possible_ties": [0, -1]}, "row 1, -1"),
    ],
)
def test_impossible_numbers_of_possible_ties_are_refused(counts, phrase):
    with pytest.raises(ValueError, match=phrase):
        Pilot.from_losses([0, 3], 9, **counts)


def test_what_the_command_line_shows_for_a_list_of_one(npz, run):
    # Nobody saw a second place, so the first may tie with it: the bounds say so.
    path = npz(ids=[[0], [1]], distances=[[1.0], [1.0]], labels=[0, 2], n_classes=9)
    code, out, _ = run("observe", path, "--classes", "9", "--json")
    assert code == 0
    assert '"accuracy": 0.5' in out
    assert '"lower": 0.0' in out
    assert load(path).possible_ties.tolist() == [8, 1]
