import warnings
from collections import Counter

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import SequentialBackend

from headcount import Pilot, UnsupportedError
from headcount.curves.favorability import Favorability
from headcount.errors import AssumptionWarning, HeadcountError, ParameterError, listening, warn
from headcount.estimators import Auto, Extrapolator, Kde, ProbitNormal, Regression
from headcount.support.workers import watching
from headcount.uncertainty.resampling import (
    IndependentRivals,
    SharedRivals,
    curve_grid,
    refits,
    sampler_for,
)

GRID = [2, 5, 20, 100, 1000]


class PlugIn(Extrapolator):
    """Each probe's share of losses taken for its p: fast, smooth, and easy to do by hand."""

    alias = "plug-in"

    def _estimate(self, pilot):
        table = pilot.table()
        return Favorability(table.losses / table.n_rivals, table.weights)


class OftenRefuses(PlugIn):
    """Refuses pilots whose losses add up to an odd number; warns about the others."""

    alias = "often-refuses"

    def _estimate(self, pilot):
        if pilot.losses.sum() % 2:
            raise HeadcountError("an odd pilot.")
        warn("an even pilot.", AssumptionWarning)
        return super()._estimate(pilot)


class NoNumber(PlugIn):
    alias = "no-number"

    def predict(self, k):
        return np.full(np.shape(k), np.nan)


class ScoresWanted(PlugIn):
    alias = "scores-wanted"
    needs = "scores"

    def _estimate(self, pilot):
        # Two numbers that only the scores can give.
        mean = np.mean(pilot.pieces().mean)
        return Favorability([0.0, 1.0], [1 / (1 + np.exp(-mean)), 1 - 1 / (1 + np.exp(-mean))])


def make_scores(n_classes=20, per_class=3, seed=0, whole=False):
    """Scores of a fair recogniser; whole numbers have many ties."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    scores = rng.normal(size=(len(labels), n_classes))
    scores[np.arange(len(labels)), labels] += 1.5
    return (np.round(2 * scores) if whole else scores), labels


def by_hand(scores, labels, chosen):
    """Losses and ties of the probes of some classes among these classes, in order of rows."""
    found = []
    for row, true in zip(scores, labels, strict=True):
        if true in chosen:
            rivals = [row[c] for c in chosen if c != true]
            found.append((sum(v > row[true] for v in rivals), sum(v == row[true] for v in rivals)))
    return found


# -- subsets where it is known who beat whom -------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_a_drawn_pilot_is_what_its_classes_alone_would_have_given(whole):
    scores, labels = make_scores(whole=whole)
    sampler = sampler_for(Pilot.from_scores(scores, labels))
    for repeat in range(5):
        drawn = sampler.draw(7, np.random.default_rng(repeat))
        chosen = drawn.class_names.tolist()
        assert len(set(chosen)) == drawn.n_classes == 7
        counts = list(zip(drawn.losses.tolist(), drawn.ties.tolist(), strict=True))
        assert counts == by_hand(scores, labels, chosen)
        assert (drawn.class_names[drawn.labels] == [y for y in labels if y in chosen]).all()


def test_curves_are_those_of_fits_to_the_subsets():
    scores, labels = make_scores(30, 2)
    pilot = Pilot.from_scores(scores, labels)
    found = refits(pilot, ProbitNormal(), [(12, 3)], GRID, random_state=5)
    sampler = sampler_for(pilot)
    for repeat, curve in enumerate(found.sizes[0].curves):
        seeds = np.random.SeedSequence(5, spawn_key=(12, repeat))
        chosen = sampler.draw(12, np.random.default_rng(seeds)).class_names
        rows = np.isin(labels, chosen)
        alone = Pilot.from_scores(
            scores[np.ix_(rows, chosen)], np.searchsorted(chosen, labels[rows])
        )
        np.testing.assert_allclose(curve, ProbitNormal().fit(alone).predict(GRID), atol=1e-9)
    assert len(np.unique(found.sizes[0].curves[:, -1])) == 3
    assert found.shared_rivals


def test_every_class_is_drawn_as_often_as_any_other():
    pilot = Pilot.from_scores(*make_scores(12, 1))
    sampler = SharedRivals(pilot)
    rng = np.random.default_rng(0)
    drawn = Counter(c for _ in range(600) for c in sampler.draw(4, rng).class_names.tolist())
    # 600 draws of 4 of 12: each is in 200 on average, sd sqrt(600 * 1/3 * 2/3) = 11.5.
    assert set(drawn) == set(range(12))
    assert all(abs(count - 200) < 4 * 11.5 for count in drawn.values())


def test_classes_without_probes_stay_competitors_and_keep_their_share():
    scores, labels = make_scores(20, 2)
    few = labels < 5
    sampler = sampler_for(Pilot.from_scores(scores[few], labels[few]))
    assert sampler.n_sources == 5
    for size, expected in ((10, 2), (8, 2), (4, 1), (2, 1), (20, 5)):
        drawn = sampler.draw(size, np.random.default_rng(size))
        assert drawn.n_classes == size
        assert len(np.unique(drawn.labels)) == expected
        assert drawn.weights.sum() == pytest.approx(1)


def test_scores_travel_only_to_methods_that_need_them():
    pilot = Pilot.from_scores(*make_scores())
    rng = np.random.default_rng(0)
    assert not sampler_for(pilot, ProbitNormal()).draw(10, rng).has_scores
    assert sampler_for(pilot, ScoresWanted()).draw(10, rng).has_scores
    assert sampler_for(pilot, Auto()).draw(10, rng).has_scores  # looks at them where it can
    held = refits(pilot, ScoresWanted(), [(10, 2)], [2]).sizes[0].curves
    assert ((held > 0) & (held < 1)).all()
    # Who beat whom does travel: this method draws halves of its own from it.
    assert sampler_for(pilot).draw(10, rng).canonical_classes().shape == (10,)


def test_a_list_of_beats_that_is_too_long_leaves_the_counts(monkeypatch):
    monkeypatch.setattr("headcount.uncertainty.resampling.SHORT_BEATS", 10)
    scores, labels = make_scores()
    assert isinstance(sampler_for(Pilot.from_scores(scores, labels)), IndependentRivals)
    # A method that needs scores can be given nothing else.
    assert isinstance(sampler_for(Pilot.from_scores(scores, labels), ScoresWanted()), SharedRivals)
    monkeypatch.setattr("headcount.uncertainty.resampling.BEATS_BUDGET", 10)
    with pytest.raises(UnsupportedError, match="budget"):
        sampler_for(Pilot.from_scores(scores, labels), ScoresWanted())


def test_a_given_order_draws_the_same_classes_of_two_pilots():
    names = [f"c{i}" for i in range(20)]
    drawn = []
    for seed in (0, 1):
        scores, labels = make_scores(seed=seed)
        pilot = Pilot.from_scores(scores, np.array(names)[labels], class_names=names)
        sampler = sampler_for(pilot, order=names[::-1])
        drawn.append(sampler.draw(8, np.random.default_rng(3)).class_names.tolist())
    assert drawn[0] == drawn[1]
    with pytest.raises(ParameterError, match="every class"):
        sampler_for(pilot, order=names[1:])
    with pytest.raises(UnsupportedError, match="only counts"):
        sampler_for(Pilot.from_losses([0, 1], 5), order=names)


# -- what must not matter --------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ProbitNormal(), Regression(repeats=2), Kde()])
def test_the_order_of_data_does_not_matter(method):
    scores, labels = make_scores(16, 2)
    rng = np.random.default_rng(9)
    rows, columns = rng.permutation(len(labels)), rng.permutation(16)
    swapped = -scores[np.ix_(rows, columns)]
    place = np.argsort(columns)
    pilots = (
        Pilot.from_scores(scores, labels),
        Pilot.from_scores(swapped, place[labels[rows]], higher_is_better=False),
    )
    first, second = (refits(p, method, [(8, 3)], GRID).sizes[0].curves for p in pilots)
    np.testing.assert_allclose(first, second, atol=1e-9)


class AllAtOnce(SequentialBackend):
    """A backend like that of Ray, which cannot give results one by one."""

    supports_return_generator = False


def test_workers_do_not_matter_and_follow_parallel_config():
    pilot = Pilot.from_scores(*make_scores())
    plan = [(10, 4), (5, 2)]
    alone = refits(pilot, ProbitNormal(), plan, GRID, random_state=3)
    joblib.register_parallel_backend("all-at-once", AllAtOnce)
    with joblib.parallel_config(backend="all-at-once"):
        at_once = refits(pilot, ProbitNormal(), plan, GRID, random_state=3)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        shared = refits(pilot, ProbitNormal(), plan, GRID, random_state=3)
    split = refits(pilot, ProbitNormal(), plan, GRID, random_state=3, n_jobs=2)
    other = refits(pilot, ProbitNormal(), plan, GRID, random_state=4)
    for found in (at_once, shared, split):
        for a, b in zip(alone.sizes, found.sizes, strict=True):
            np.testing.assert_array_equal(a.curves, b.curves)
    assert not np.array_equal(alone.sizes[0].curves, other.sizes[0].curves)


def test_more_repeats_and_sizes_leave_the_others_as_they_are():
    pilot = Pilot.from_scores(*make_scores())
    few = refits(pilot, PlugIn(), [(5, 2)], GRID).sizes[0].curves
    many = refits(pilot, PlugIn(), [(10, 3), (5, 4)], GRID).sizes[1].curves
    np.testing.assert_array_equal(few, many[:2])


# -- what goes wrong -------------------------------------------------------------------------------


def test_failures_are_counted_and_warnings_are_not_spread():
    pilot = Pilot.from_scores(*make_scores())
    sampler = sampler_for(pilot)
    odd = sum(
        sampler.draw(
            9, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(9, i)))
        ).losses.sum()
        % 2
        for i in range(12)
    )
    assert 0 < odd < 12
    with warnings.catch_warnings(record=True) as shown, listening() as heard:
        found = refits(pilot, OftenRefuses(), [(9, 12)], GRID).sizes[0]
    assert (found.n_failed, found.reason) == (odd, "an odd pilot.")
    assert found.curves.shape == (12 - odd, len(GRID))
    assert heard == []
    assert shown == []


def test_a_forecast_that_is_no_number_is_a_failure():
    found = refits(Pilot.from_scores(*make_scores()), NoNumber(), [(9, 3)], GRID).sizes[0]
    assert (found.n_failed, found.reason) == (3, "it gave a forecast that is not a number.")


def test_progress_counts_refits():
    told = []
    with watching(lambda task, done, total: told.append((task, done, total))):
        refits(Pilot.from_scores(*make_scores()), PlugIn(), [(9, 2), (5, 1)], GRID)
    mine = [(done, total) for task, done, total in told if task.startswith("Fitting subsets")]
    assert mine == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    "plan, options, message",
    [
        ([(21, 1)], {}, "21 classes cannot be drawn"),
        ([(1, 1)], {}, "number of classes to draw"),
        ([(5, 0)], {}, "repeats"),
        ([(5, 1)], {"n_jobs": 0}, "n_jobs"),
        ([(5, 1)], {"random_state": -1}, "random_state"),
    ],
)
def test_bad_options_are_refused(plan, options, message):
    with pytest.raises(ParameterError, match=message):
        refits(Pilot.from_scores(*make_scores()), PlugIn(), plan, GRID, **options)


@pytest.mark.parametrize(
    "scores, size",
    [
        (np.array([[2, 1], [1, 2]]), 2),
        (np.array([[3, 1, 2], [1, 3, 2], [2, 3, 1]]), 2),
        (np.eye(6), 3),
        (np.roll(np.eye(6), 1, axis=1) + 0.5 * np.eye(6), 3),
    ],
    ids=["two", "three", "all right", "all wrong"],
)
def test_edges(scores, size):
    pilot = Pilot.from_scores(scores, np.arange(len(scores)))
    found = refits(pilot, ProbitNormal(), [(size, 3)], GRID).sizes[0]
    assert (found.curves.shape, found.n_failed) == ((3, len(GRID)), 0)
    assert ((found.curves >= 0) & (found.curves <= 1)).all()


@pytest.mark.parametrize("n_classes, asked", [(2, ()), (10, (7,)), (500, ()), (500, (10**6, 37))])
def test_the_grid_reaches_all_that_is_asked(n_classes, asked):
    grid = curve_grid(n_classes, asked)
    assert grid.dtype == np.int64
    assert len(grid) >= 60
    assert grid[0] == 2
    assert (np.diff(grid) > 0).all()
    assert {n_classes, *asked} <= set(grid.tolist())
    assert grid[-1] == max(50 * n_classes, *asked, 0)
