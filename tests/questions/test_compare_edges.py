"""Thresholds and constants of comparisons, by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, ndtri

from compared_pilots import QUICK, two_systems
from headcount import ParameterError, Pilot, compare
from headcount.metrics import ACCURACY
from headcount.questions import compare as module
from headcount.questions.compare import (
    Comparison,
    Crossing,
    Gap,
    Pair,
    Without,
    crossing_sentence,
    gap_between,
    last_crossing,
    lead_sentence,
    normal_pairs,
    shared_error,
)
from headcount.uncertainty.refitted import stepped
from interval_pilots import make_uncertainty, normal_moves

QUIET = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")


def pair_of(difference, lower=None, upper=None, chance=None, k=1000):
    columns = (None if v is None else np.array([v]) for v in (lower, upper, chance))
    return Pair("A", "B", True, np.array([k]), np.array([difference]), *columns, None)


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair, words",
    [
        # Under half a hundredth of a point nobody is ahead; that much is a lead.
        (pair_of(4.9e-5, -1e-5, 1e-5, 0.5), "A and B are level."),
        (pair_of(-4.9e-5), "A and B are level."),
        (pair_of(5e-5), "A is ahead of B by 0.005 points."),
        (pair_of(-5e-5), "B is ahead of A by 0.005 points."),
        (pair_of(0.0, -5e-5, 0.0, 0.5), "A and B are level (give or take 0.005 points)."),
        (pair_of(0.0, 0.0, 4.9e-5, 0.5), "A and B are level."),
        (pair_of(0.0, -0.03, 0.02, 0.5), "A and B are level (give or take 3 points)."),
        (pair_of(0.04, 0.0, 0.07, 0.95), "A and B cannot be told apart: A seems ahead by 4 points "
         "(90% interval 0 behind to 7 ahead), with a chance of 95% to be the better one."),
        (pair_of(-0.04, -0.07, 0.0, 0.05), "A and B cannot be told apart: B seems ahead by 4 points "
         "(90% interval 0 behind to 7 ahead), with a chance of 95% to be the better one."),
        (pair_of(0.04, 0.01, 0.07, None), "A is ahead of B by 4 points."),
        (pair_of(0.04, None, 0.07, 0.9), "A is ahead of B by 4 points."),
    ],
)  # fmt: skip
def test_who_is_ahead(pair, words):
    assert lead_sentence(pair, 1000, 0.9) == f"At 1,000 classes {words}"


def test_leads_at_the_ends_of_a_curve():
    columns = (np.array([0.1, 0.2, 0.3]) + shift for shift in (0.0, -0.05, 0.05, 0.5))
    pair = Pair("A", "B", True, np.array([2, 10, 100]), *columns, None)
    assert vars(pair.at(2)) == {
        "classes": 2, "difference": 0.1, "lower": 0.05, "upper": pytest.approx(0.15), "chance": 0.6
    }  # fmt: skip
    assert pair.at(100).difference == 0.3
    for k in (1, 3, 99, 101):
        with pytest.raises(ParameterError, match=f"{k} classes were not asked about"):
            pair.at(k)


def test_a_crossing_that_is_surely_nowhere_or_everywhere():
    assert crossing_sentence(Crossing(50, "A", "B", 0, 0)) == (
        "A is ahead up to about 50 classes (likely between 0 and 0), B beyond."
    )


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_names_are_no_formulas_and_what_is_unknown_is_empty(start):
    pair = Pair(start + "A", "B", False, np.array([9]), np.array([0.1]), None, None, None, None)
    forecasts = {
        name: SimpleNamespace(value=lambda k: 0.5, metric=None) for name in (start + "A", "B")
    }
    text = Comparison(forecasts, (pair,), (9,), 0.9).to_csv()
    assert f"'{start}A" in text and text.rstrip("\n").endswith("9,0.5,0.5,0.1,,,")


# -- the gap --------------------------------------------------------------------------------------


def gap(leads, certain=1, k=100):
    """Joint draws of a lead at one number of classes."""
    return Gap(np.array([k]), certain, np.array(leads, float)[:, None])


def test_the_lattice_has_2584_points_in_steps_of_1597():
    first, second = normal_pairs()
    assert len(first) == len(second) == 2 * 2584
    place = np.arange(2584)
    np.testing.assert_allclose(first, np.tile(ndtri((place + 0.5) / 2584), 2))
    steps = ndtri((place * 1597 % 2584 + 0.5) / 2584)
    np.testing.assert_allclose(second, np.concatenate([steps, -steps]))


def test_the_chance_is_the_share_of_draws_that_lead():
    assert gap([0.1, 0.2, -0.1, 0.3]).chance() == 0.75
    assert gap([0.1, 0.0, 0.0, 0.0]).chance() == 0.625  # who is level leads half of the time
    assert gap([0.1, 0.2]).chance() == 1 and gap([-0.1, -0.2]).chance() == 0
    assert gap([0.0, 0.0]).chance() == 0.5


def test_limits_are_quantiles_of_the_draws():
    leads = np.linspace(-0.3, 0.5, 101)
    found = gap(leads).interval(0.8)
    assert [float(end[0]) for end in found] == pytest.approx(
        np.quantile(leads, [0.1, 0.9], method="hazen")
    )


def test_among_as_many_as_are_certain_nobody_is_ahead():
    for k, certain in ((1, 1), (5, 5), (3, 5)):
        same = gap([0.1, 0.3], certain, k)
        assert [float(end[0]) for end in same.interval(0.9)] == [0, 0]
        assert same.chance() == 0.5
    apart = gap([0.1, 0.3], 5, 6)
    assert apart.interval(0.9)[0] > 0 and apart.chance() > 0.9


def test_errors_that_are_wholly_shared_or_opposed():
    """With one direction alone, quantiles of the lattice are those of one normal variable."""
    both = tuple(
        SimpleNamespace(
            value=lambda k, odds=odds: np.full(np.shape(k), expit(odds)),
            uncertainty=make_uncertainty(moves=normal_moves([spread, spread])),
            metric=ACCURACY,
        )
        for odds, spread in ((0.3, 0.4), (-0.2, 0.1))
    )
    for correlation, signs in ((1.0, (1, 1)), (-1.0, (1, -1))):
        found = gap_between(both, np.array([1000]), np.array([correlation])).interval(0.9)
        z = ndtri(0.95) * np.array([-1, 1])
        first = expit(stepped(0.3, signs[0] * 0.4 * z))
        second = expit(stepped(-0.2, signs[1] * 0.1 * z))
        assert [float(end[0]) for end in found] == pytest.approx(sorted(first - second), abs=1e-3)


# -- what is shared -------------------------------------------------------------------------------


def test_correlations_at_their_ends_stay_finite():
    grid, inside = np.array([2, 10, 20]), np.array([2, 9])
    values, halves = np.arange(20.0).reshape(10, 2) ** 2, np.arange(60.0).reshape(20, 3) ** 2
    same = Without({}, inside, values, halves)
    flat = Without({}, inside, np.ones((10, 2)), np.ones((20, 3)))
    turned = Without({}, inside, -values, -halves)
    assert shared_error(same, same, grid) == pytest.approx(1, abs=1e-12)
    assert (shared_error(same, same, grid) < 1 + 1e-15).all()
    assert shared_error(same, turned, grid) == pytest.approx(-1, abs=1e-12)
    assert shared_error(same, flat, grid).tolist() == [0, 0, 0]
    # A correlation of one counts as one but for 1e-15: 17.6 on Fisher's scale, of which halves
    # without any correlation leave four parts in twenty-one.
    part = shared_error(same, Without({}, inside, values, np.ones((20, 3))), grid)
    assert 1 - part[1] < 1e-14
    assert part[2] == pytest.approx(math.tanh(4 / 21 * math.atanh(1 - 1e-15)))


@QUIET
def test_classes_are_left_out_at_twelve_sizes_and_in_twenty_halves(monkeypatch):
    asked = []
    without_each, refits = module.without_each, module.refits

    def recorded(pilot, metric, counts):
        asked.append(counts.tolist())
        return without_each(pilot, metric, counts)

    def counted(pilot, estimator, plan, *rest, **options):
        asked.append(plan)
        return refits(pilot, estimator, plan, *rest, **options)

    pilots = two_systems(3, 60)
    monkeypatch.setattr(module, "refits", counted)
    monkeypatch.setattr(module, "without_each", recorded)
    for metric, first in (("accuracy", 2), ("top-5", 6)):
        asked.clear()
        module._leave_out(
            pilots, module.resolve("no-change", 0), module.resolve_share(metric),
            np.array([2, 60]), 0, None,
        )  # fmt: skip
        inside = sorted({round(first * (59 / first) ** (i / 11)) for i in range(12)})
        assert asked == [inside, [(30, 20)]] * 2


@QUIET
def test_five_classes_of_a_half_are_enough_to_be_paired():
    for n_classes in (9, 10):
        pilots = two_systems(1, n_classes, sigmas=(3.0, 2.5))
        assert compare(pilots, n_classes, **QUICK).paired == (n_classes == 10)


# -- crossings ------------------------------------------------------------------------------------


def test_a_lead_of_a_tenth_of_a_point_is_one_and_less_is_none():
    grid = np.array([2, 10, 100, 1000])
    pair = SimpleNamespace(value=lambda k: 50.5 - k), SimpleNamespace(value=lambda k: 0.0 * k)
    for least, crosses in ((0.001, False), (0.0011, True)):
        difference = np.array([0.0, least, -0.2, -0.3])
        found = last_crossing(("A", "B"), pair, grid, difference, None, None)
        assert (found is not None) == crosses
    assert found == Crossing(50, "A", "B", None, None)


def test_the_last_of_several_crossings_counts():
    grid = np.array([2, 10, 100, 1000])
    pair = SimpleNamespace(value=lambda k: k - 300.5), SimpleNamespace(value=lambda k: 0.0 * k)
    difference = np.array([0.2, 0.2, -0.2, 0.2])
    found = last_crossing(("A", "B"), pair, grid, difference, None, None)
    assert found == Crossing(300, "B", "A", None, None)
    # Where the band is sure at one side only, the other end is open.
    lower, upper = difference - 0.3, difference + 0.3
    lower[3] = 0.1
    found = last_crossing(("A", "B"), pair, grid, difference, lower, upper)
    assert (found.lower, found.upper) == (None, round(1000 * 0.1 ** (0.1 / 0.6)))
    upper[2], lower[3] = -0.1, -0.1
    found = last_crossing(("A", "B"), pair, grid, difference, lower, upper)
    # Straight in log k from -0.1 at 100 classes to 0.5 at 1,000.
    assert (found.lower, found.upper) == (round(100 * 10 ** (0.1 / 0.6)), None)


@pytest.mark.parametrize("last", [10, 11, 12, 98, 99])
def test_a_crossing_may_be_next_to_a_number_that_was_looked_at(last):
    grid, difference = np.array([2, 10, 100]), np.array([0.2, 0.2, -0.2])
    level = SimpleNamespace(value=lambda k: 0.0 * k)
    for zero in (last + 0.5, last + 1.0):  # who is only level is not ahead
        falling = SimpleNamespace(value=lambda k, zero=zero: zero - k)
        assert last_crossing(("A", "B"), (falling, level), grid, difference, None, None) == (
            Crossing(last, "A", "B", None, None)
        )


def test_both_settings_of_pilots_must_be_alike():
    losses = np.arange(24) % 3
    pilots = {rule: Pilot.from_losses(losses, 12, tie_rule=rule) for rule in ("lose", "win")}
    with pytest.warns(UserWarning, match=r"different tie_rule \(lose, win\)"):
        compare(pilots, 12, **QUICK)
