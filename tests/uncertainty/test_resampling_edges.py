"""Thresholds and constants of random subsets, each hit exactly and missed by one."""

import warnings

import numpy as np
import pytest

from headcount import Pilot
from headcount.curves.favorability import Favorability
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators import Extrapolator
from headcount.uncertainty import resampling
from headcount.uncertainty.resampling import (
    IndependentRivals,
    SharedRivals,
    curve_grid,
    refits,
    sampler_for,
    share_of,
    thin,
)


class PlugIn(Extrapolator):
    alias = "plug-in"

    def _estimate(self, pilot):
        table = pilot.table()
        return Favorability(table.losses / table.n_rivals, table.weights)


class Loud(PlugIn):
    """Warns as other libraries do."""

    alias = "loud"

    def _estimate(self, pilot):
        warnings.warn("from another library", UserWarning, stacklevel=1)
        return super()._estimate(pilot)


class ScoresWanted(PlugIn):
    alias = "scores-wanted"
    needs = "scores"


def pilot_of(n_classes=20, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_classes, n_classes)) + 2 * np.eye(n_classes)
    return Pilot.from_scores(scores, np.arange(n_classes))


def test_the_share_of_sources_is_rounded_and_at_least_one():
    found = [share_of(20, size, 100) for size in (1, 5, 7, 8, 12, 13, 50, 100)]
    assert found == [1, 1, 1, 2, 2, 3, 10, 20]


# -- rivals of their own --------------------------------------------------------------------------


def test_a_billion_rivals_are_more_than_the_generator_takes():
    losses, none = np.array([4 * 10**8, 5, 0]), np.zeros(3, np.int64)
    draws = np.full(3, 3 * 10**8)
    for n_rivals in (10**9 - 1, 10**9):
        found, tied = thin(losses, none, n_rivals, 3 * 10**8, np.random.default_rng(3))
        rng = np.random.default_rng(3)
        if n_rivals < 10**9:
            expected = rng.hypergeometric(losses, n_rivals - losses, draws)
        else:
            few = np.minimum(losses, draws)
            expected = rng.binomial(few, np.maximum(losses, draws) / n_rivals)
        assert found.tolist() == expected.tolist()
        assert tied.tolist() == [0, 0, 0]


def test_all_of_two_billion_rivals_leave_nothing_to_chance():
    n = 2 * 10**9
    losses, ties = np.array([n, n - 1, 0, 3, n // 2]), np.array([0, 1, n, 4, n // 2])
    lost, tied = thin(losses, ties, n, n, np.random.default_rng(0))
    assert lost.tolist() == losses.tolist()
    assert tied.tolist() == ties.tolist()
    empty = np.zeros(0, np.int64)
    assert [part.tolist() for part in thin(empty, empty, 9, 3, np.random.default_rng(0))] == [
        [],
        [],
    ]


def test_all_classes_of_a_pilot_of_counts_are_that_pilot():
    losses, ties = np.arange(40) % 9, np.arange(40) % 3 % 2
    sampler = IndependentRivals(Pilot.from_losses(losses, 10, ties=ties))
    assert (sampler.n_units, sampler.n_sources) == (40, 10)
    drawn = sampler.draw(10, np.random.default_rng(0))
    found = sorted(zip(drawn.losses.tolist(), drawn.ties.tolist(), strict=True))
    assert found == sorted(zip(losses.tolist(), ties.tolist(), strict=True))
    # A probe that all rivals beat is beaten by all that are drawn.
    worst = IndependentRivals(Pilot.from_losses([9] * 40, 10)).draw(4, np.random.default_rng(0))
    assert worst.losses.tolist() == [3] * 16


def cut(depths, n_classes, n_probes):
    losses = np.zeros(n_probes, np.int64)
    losses[: len(depths)] = depths
    return Pilot.from_losses(losses, n_classes, censored=np.arange(n_probes) < len(depths))


def test_ten_places_of_a_list_must_be_left():
    sampler = sampler_for(cut([50] * 20, 100, 100))
    assert sampler.refusal(20) is None
    assert "of which 9.5 are left on average among 19 classes" in sampler.refusal(19)
    sampler = sampler_for(cut([49] * 20, 100, 100))
    assert "of which 9.8 are left" in sampler.refusal(20)
    assert sampler_for(Pilot.from_losses([0, 1], 100)).refusal(2) is None
    assert sampler_for(pilot_of()).refusal(2) is None


def test_the_depth_is_that_of_all_but_a_hundredth_of_the_probes():
    assert sampler_for(cut([3, 50], 100, 400)).depth == 50
    assert sampler_for(cut([3], 100, 400)).depth == 3
    # One list in 128 is less than a hundredth, one in 64 is more.
    assert sampler_for(cut([3, 50, 60], 100, 128)).depth == 50
    assert sampler_for(cut([3, 50, 60], 100, 64)).depth == 3
    assert sampler_for(Pilot.from_losses([0, 1], 100)).depth is None


def test_the_bound_is_what_all_but_a_hundredth_of_the_lists_reach():
    sampler = sampler_for(cut([4] * 3, 5, 6))
    # Binomial(4, 3/4): none at all in 0.4%, up to one in 5%.
    assert [sampler.bound(size) for size in (2, 3, 4, 5)] == [0, 0, 1, 4]
    # Binomial(4, 0.68) and Binomial(4, 0.69): none in 1.05% and in 0.92%.
    near = sampler_for(cut([4] * 3, 101, 6))
    assert [near.bound(size) for size in (69, 70)] == [0, 1]


# -- shared rivals --------------------------------------------------------------------------------


def test_lists_of_64_mebibytes_are_cut_and_longer_ones_only_where_they_must(monkeypatch):
    budgets = []
    beats = Pilot.beats

    def recorded(pilot, budget=None):
        budgets.append(budget)
        return beats(pilot)

    monkeypatch.setattr(Pilot, "beats", recorded)
    pilot = pilot_of()
    sampler_for(pilot)
    sampler_for(pilot, PlugIn())
    assert {b for b in budgets if b is not None} == {64 * 1024**2}
    budgets.clear()
    sampler_for(pilot, ScoresWanted())
    sampler_for(pilot, order=pilot.class_names)
    assert {b for b in budgets if b is not None} == {resampling.BEATS_BUDGET}


def test_a_given_order_needs_the_lists_however_long_they_are(monkeypatch):
    monkeypatch.setattr(resampling, "SHORT_BEATS", 10)
    pilot = pilot_of()
    assert isinstance(sampler_for(pilot, order=pilot.class_names), SharedRivals)
    assert isinstance(sampler_for(pilot_of()), IndependentRivals)
    monkeypatch.setattr(resampling, "BEATS_BUDGET", 10)
    with pytest.raises(UnsupportedError, match="budget"):
        sampler_for(pilot_of(), order=pilot.class_names)


def test_a_pilot_without_scores_may_still_know_who_beat_whom():
    drawn = sampler_for(pilot_of()).draw(10, np.random.default_rng(0))
    assert not drawn.has_scores
    again = sampler_for(drawn)
    assert isinstance(again, SharedRivals)
    assert again.draw(5, np.random.default_rng(0)).n_classes == 5


def test_an_order_names_every_class_once():
    pilot, names = pilot_of(4), [0, 1, 2, 3]
    for order in (names + names[:1], names[:3], [0, 1, 2, 4], [0, 1, 2, 2]):
        with pytest.raises(ParameterError, match="every class of the pilot once"):
            sampler_for(pilot, order=order)
    assert sampler_for(pilot, order=names[::-1]).sources.tolist() == names[::-1]


# -- refits ---------------------------------------------------------------------------------------


def test_curves_cannot_be_changed_and_say_what_they_saw():
    found = refits(pilot_of(), PlugIn(), [(20, 1), (10, 2)], [2, 5, 20])
    assert [size.n_classes for size in found.sizes] == [20, 10]
    assert [len(size.curves) for size in found.sizes] == [1, 2]
    assert [fit.n_probes for size in found.sizes for fit in size.fits] == [20, 10, 10]
    assert [(size.n_failed, size.reason) for size in found.sizes] == [(0, None)] * 2
    with pytest.raises(ValueError, match="read-only"):
        found.sizes[0].curves[0] = 0


def test_in_its_own_process_warnings_of_other_libraries_are_left_alone():
    with pytest.warns(UserWarning, match="from another library") as caught:
        refits(pilot_of(), Loud(), [(10, 2)], [2, 5])
    assert len(caught) == 2


def test_a_sampler_that_is_there_is_used():
    pilot = pilot_of()
    sampler = IndependentRivals(pilot)
    assert not refits(pilot, PlugIn(), [(10, 1)], [2], sampler=sampler).shared_rivals
    assert refits(pilot, PlugIn(), [(10, 1)], [2]).shared_rivals


def test_two_classes_are_the_fewest_and_all_the_most():
    pilot = pilot_of()
    found = refits(pilot, PlugIn(), [(2, 1), (20, 1)], [2])
    assert [size.n_failed for size in found.sizes] == [0, 0]
    for plan, message in (([(21, 1)], "21 classes"), ([(1, 1)], "draw"), ([(2, 0)], "repeats")):
        with pytest.raises(ParameterError, match=message):
            refits(pilot, PlugIn(), plan, [2])


def test_the_grid_has_as_many_points_as_give_sixty_different_ones():
    for n_classes in (2, 100, 500, 10**6, 10**10):
        largest = 50 * n_classes
        for number in range(60, 6000, 60):
            grid = np.unique(np.geomspace(2, largest, number).round())
            if len(grid) >= 60 or n_classes == 2:
                break
        if n_classes == 10**10:
            assert len(grid) == number == 60  # all of them differ
        if n_classes > 2:
            expected = np.unique([*grid, n_classes, largest])
            np.testing.assert_allclose(curve_grid(n_classes), expected, rtol=1e-12)
    # Numbers below two are no part of a curve; any other that is asked for is.
    assert curve_grid(500, (1, 7))[0] == 2
    assert {3, 37} <= set(curve_grid(10**10, (3, 37)).tolist())
    assert curve_grid(500, (30_000,))[-1] == 30_000 and curve_grid(500, (3,))[-1] == 25_000
