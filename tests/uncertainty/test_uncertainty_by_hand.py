"""What the errors of a forecast are made of, at edges and with constants, by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from headcount import DataError, Pilot, observe
from headcount.errors import ParameterError
from headcount.estimators import NoChange
from headcount.estimators.auto import network
from headcount.metrics import ACCURACY, Top
from headcount.uncertainty.backtest import Backtest
from headcount.uncertainty.intervals import Uncertainty, assess
from headcount.uncertainty.measured import (
    log_odds_error,
    probe_values,
    probe_variance,
    probes_per_class,
    sampling_error,
    standard_error,
)
from headcount.uncertainty.refitted import stepped, steps_between
from interval_pilots import bare, counts, make_uncertainty

# -- limits at their edges ------------------------------------------------------------------------


def by_probes(value, probes, tail):
    """Lower and upper limits that a count of so many probes gives."""
    return stats.beta(value * probes + 0.5, (1 - value) * probes + 0.5).ppf([tail, 1 - tail])


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_all_right_and_all_wrong_at_k(confidence):
    known, tail = make_uncertainty(), (1 - confidence) / 2
    fewer = (stats.norm.ppf(1 - tail) / stats.t(99).ppf(1 - tail)) ** 2
    # Half of one in 500 probes stands in for none.
    probes = fewer / (0.3**2 * 0.001 * 0.999)
    chance = tail ** (1 / probes)
    assert known.band(1.0, 100, confidence) == pytest.approx((chance, 1.0))
    assert known.band(0.0, 100, confidence) == pytest.approx((0.0, 1 - chance))
    # As far from one and nought as round-off is all right and all wrong.
    assert known.band(1 - 1e-14, 100, confidence)[0] == pytest.approx(chance)
    assert known.band(1e-14, 100, confidence)[1] == pytest.approx(1 - chance)


def test_at_k_an_estimate_nearer_to_one_than_half_a_probe_is_taken_as_it_is():
    known, value = make_uncertainty(), 0.9998
    fewer = (stats.norm.ppf(0.95) / stats.t(99).ppf(0.95)) ** 2
    probes = fewer * value * (1 - value) / (0.3 * 0.001 * 0.999) ** 2
    assert known.band(value, 100, 0.9)[0] == pytest.approx(by_probes(value, probes, 0.05)[0])
    other = known.band(1 - value, 100, 0.9)[1]
    assert other == pytest.approx(by_probes(1 - value, probes, 0.05)[1])


def test_up_to_half_a_probe_limits_reach_nought_and_one():
    known = make_uncertainty()
    for k in (100, 150, 1000):
        assert known.band(0.001, k, 0.5)[0] == 0 and known.band(0.999, k, 0.5)[1] == 1
        assert known.band(0.0011, k, 0.5)[0] > 0 and known.band(0.9989, k, 0.5)[1] < 1


def test_one_class_is_certain_and_two_are_not():
    assert make_uncertainty().band(0.9, 1, 0.9) == (1, 1)
    assert make_uncertainty().band(0.9, 2, 0.9)[0] < 0.9
    best = make_uncertainty(metric=Top(3))
    assert best.band([0.9, 0.9], [1, 3], 0.9)[0].tolist() == [1, 1]
    assert best.band(0.9, 4, 0.9)[0] < 0.9


def test_no_error_is_one_of_a_millionth():
    known = make_uncertainty(observed_error=np.zeros(2))
    lower, upper = known.band(0.8, 100, 0.9)
    reach = stats.t(99).ppf(0.95) * 1e-6 * 0.16
    assert 0.8 - lower == pytest.approx(reach, rel=1e-3)
    assert upper - 0.8 == pytest.approx(reach, rel=1e-3)


def test_limits_of_errors_without_end_stop_just_inside():
    huge = make_uncertainty(observed_error=np.full(2, 3000.0))
    assert huge.band(1.0, 100, 0.9)[0] == pytest.approx(1e-15, rel=1e-6, abs=0)
    assert 1 - huge.band(0.0, 100, 0.9)[1] == pytest.approx(1e-15, rel=0.2, abs=0)


def test_an_estimate_is_cut_at_half_a_probe():
    known = make_uncertainty()
    edge, reach = math.log(0.999 / 0.001), stats.norm.ppf(0.95) * 0.5
    for value, middle in ((0.0, -edge), (0.6, logit(0.6)), (1.0, edge)):
        found = logit(known.quantiles(value, 1000, [0.05, 0.95]))
        assert found == pytest.approx(stepped(middle, [-reach, reach]), rel=2e-3)


# -- sets of classes ------------------------------------------------------------------------------


def test_sets_of_classes_and_probes_that_cannot_be_told_apart():
    """As wide as the wider one, were all of the variance due to classes, or all to probes."""
    known = make_uncertainty(told_apart=False, class_variance=13e-4, probe_variance=0.0)
    alone = [
        make_uncertainty(class_variance=c, probe_variance=p) for c, p in ((13e-4, 0), (0, 13e-4))
    ]
    for kind in ("new_set", "grown_set"):
        for often in (None, 1, 2, 10):
            found = known.band(0.5, 400, 0.9, kind, often)
            parts = np.array([each.band(0.5, 400, 0.9, kind, often) for each in alone])
            assert found[0] == parts[:, 0].min() and found[1] == parts[:, 1].max()
    np.testing.assert_array_equal(known.band(0.5, 400, 0.9), alone[0].band(0.5, 400, 0.9))


def test_sets_that_do_not_hold_the_pilot_are_no_grown_ones():
    with pytest.raises(ParameterError, match="contains the pilot's 100 classes"):
        make_uncertainty().band(0.8, 99, 0.9, "grown_set")


def test_where_nothing_varies_a_grown_set_is_sure():
    still = make_uncertainty(
        class_variance=0.0, probe_variance=0.0, moves=np.zeros((128, 2)),
        observed_error=np.zeros(2),
    )  # fmt: skip
    for k in (100, 150, 1000):
        np.testing.assert_allclose(still.band(0.8, k, 0.9, "grown_set"), 0.8, rtol=1e-5)


def test_the_value_of_a_set_is_cut_at_half_a_probe():
    known = make_uncertainty(observed=1.0)
    classes, _ = known.set_variance(np.array([0.0, 1.0]), np.array(100.0), None)
    assert classes == pytest.approx([9e-4 / (0.001 * 0.999) ** 2] * 2)


# -- what probes are worth ------------------------------------------------------------------------


def test_probes_with_and_without_ties_by_hand():
    # Among 3 of 5 classes, two of four rivals: 0, 1, 2, 3 of them being better leaves 1, 1/2, 1/6
    # and 0; a probe that ties with two is worth the mean of the three places it may take.
    plain = Pilot.from_losses([2, 0, 3, 1, 4], 5)
    assert probe_values(plain, 3, ACCURACY) == pytest.approx([1 / 6, 1, 0, 1 / 2, 0])
    tied = Pilot.from_losses([0, 2, 1, 0], 5, ties=[2, 0, 1, 4])
    expected = [5 / 9, 1 / 6, 1 / 3, (1 + 1 / 2 + 1 / 6) / 5]
    assert probe_values(tied, 3, ACCURACY) == pytest.approx(expected)
    assert probe_values(tied, 5, ACCURACY) == pytest.approx([1 / 3, 0, 0, 1 / 5])


def test_probes_that_were_cut_are_wrong_at_k():
    # Of a list that was cut at once nothing is known; its probe counts as wrong.
    cut = [True, False, False, False]
    pilot = Pilot.from_losses([0, 0, 0, 3], 9, censored=cut, labels=[0, 0, 1, 1])
    # In both classes one of two is right: 1/2 of variance within, by two probes and two classes.
    assert probe_variance(pilot, ACCURACY) == pytest.approx(2 * (1 / 2) ** 2 * (1 / 2) / 2)


def test_no_class_with_two_probes_has_no_variance_within():
    assert probe_variance(Pilot.from_losses([0, 1], 9, labels=[0, 1]), ACCURACY) is None
    assert probe_variance(Pilot.from_losses([0, 1], 9), ACCURACY) is None
    assert probe_variance(Pilot.from_losses([0, 1], 9, labels=[1, 1]), ACCURACY) == 0.25
    assert probes_per_class(Pilot.from_losses([0, 1], 9)) == 1
    assert probes_per_class(Pilot.from_losses([0, 1, 2], 9, labels=[0, 3, 3])) == 1.5


def test_errors_of_counts_by_hand():
    losses = [0, 1, 0, 4, 2, 0]
    k = np.array([2, 5])
    values = np.array([[1 - n / 4, n == 0] for n in losses], float)
    for labels, sizes in ((None, [1] * 6), ([0, 0, 0, 1, 1, 3], [3, 2, 1])):
        weights = np.full(6, 1 / 6) if labels is None else np.repeat(1 / 3 / np.array(sizes), sizes)
        pilot = Pilot.from_losses(losses, 5, labels=labels)
        gaps = weights[:, None] * (values - weights @ values)
        parts = np.add.reduceat(gaps, np.cumsum([0, *sizes[:-1]]), axis=0)
        error, shared = standard_error(pilot, observe(pilot), k, ACCURACY)
        assert error == pytest.approx(np.sqrt((parts**2).sum(axis=0))) and not shared


def test_where_nothing_varies_the_error_is_that_of_a_count():
    for losses, k, at_k in (
        ([0] * 10, 50, 1.0),
        ([49] * 10, 50, 0.0),
        ([1] * 10, 2, 48 / 49),  # nearer to one than half of one in ten
        ([48] * 10, 2, 1 / 49),
        ([20] * 10, 2, 29 / 49),
    ):
        pilot = Pilot.from_losses(losses, 50)
        found = log_odds_error(pilot, observe(pilot), np.array([k]), np.zeros(1), ACCURACY)
        cut = min(max(at_k, 0.05), 0.95)
        share = cut if at_k in (0.0, 1.0) else at_k
        expected = math.sqrt(share * (1 - share) / 10) / (cut * (1 - cut))
        assert found == pytest.approx([expected], rel=1e-9)
        varied = log_odds_error(pilot, observe(pilot), np.array([k]), np.full(1, 1e-11), ACCURACY)
        assert varied == pytest.approx([1e-11 / (cut * (1 - cut))], rel=1e-9, abs=0)


# -- what a pilot and its back-test say -----------------------------------------------------------


def test_the_error_is_computed_at_twelve_numbers_of_classes_from_two_on():
    pilot = counts(300, 150, labels=None)
    inside = np.array(sorted({round(2 * 75 ** (i / 11)) for i in range(12)}))
    observed, every = observe(pilot), np.arange(1, 151)
    errors = []
    for k in inside:
        values = probe_values(pilot, int(k), ACCURACY)
        mean = float(observed.accuracy(k))
        errors.append(math.sqrt(np.sum((values - mean) ** 2)) / 300 / (mean * (1 - mean)))
    fitted = NoChange().fit(pilot)
    empty = Backtest(150, "none", 0.5, (), every, np.empty((0, 150)))
    known = assess(pilot, empty, fitted)
    assert known.inside.tolist() == inside.tolist()
    assert known.observed_error == pytest.approx(errors, rel=1e-9)
    assert known.spread([2, 150]) == pytest.approx([errors[0], errors[-1]])
    five = Backtest(150, "none", 0.5, (), every, np.empty((0, 150)), metric=Top(5))
    best = assess(pilot, five, fitted)
    assert best.inside[0] == 6
    assert best.spread(2) == best.spread(6) != best.spread(7)
    assert sampling_error(pilot, ACCURACY) == pytest.approx(errors[-1], rel=1e-9)


def test_what_is_measured_at_k_is_split_between_classes_and_probes():
    # Class 0 is right once in two, class 1 always, class 2 never.
    pilot = Pilot.from_losses([0, 1, 0, 0, 2, 3], 9, labels=[0, 0, 1, 1, 2, 2])
    known = bare(pilot)
    parts = [0, 1 / 6, -1 / 6]  # a third of each class's share of right ones less one half
    within = (1 / 3) ** 2 * (1 / 2) / 2
    assert known.probe_variance == pytest.approx(within)
    assert known.class_variance == pytest.approx(sum(p**2 for p in parts) - within)
    assert known.observed == 0.5 and known.told_apart and known.probes_per_class == 2
    # Where probes vary more than what was measured in all, nothing is left to classes.
    even = bare(Pilot.from_losses([0, 1, 0, 1], 9, labels=[0, 0, 1, 1]))
    assert even.class_variance == 0
    # The value at two classes varies, that at all is nought: no variance to tell apart.
    wrong = bare(Pilot.from_losses([1, 2, 5, 8], 9, labels=[0, 0, 1, 1]))
    assert not wrong.told_apart
    assert not bare(Pilot.from_losses([0, 1, 2], 9, labels=[0, 1, 2])).told_apart


class Plausible(NoChange):
    """Nothing changes, or as plausibly a little more or less is right everywhere."""

    def plausible(self, k, metric=ACCURACY):
        steps = np.linspace(-0.1, 0.1, 5)[:, None]
        return self.value(k, metric) + steps * np.ones(np.shape(k))


def test_methods_with_laws_and_without():
    pilot = counts()
    grid = np.array([2, 200, 400])
    empty = Backtest(200, "none", 0.5, (), grid, np.empty((0, 3)))
    plain, known = (assess(pilot, empty, method.fit(pilot)) for method in (NoChange(), Plausible()))
    assert (plain.freedom, known.freedom) == (4, network.weights()["freedom"])
    assert plain.grid.tolist() == known.grid.tolist()
    assert known.grid[:2].tolist() == [200, 400] and known.grid[-1] == 10**15
    value = float(observe(pilot).accuracy(200))
    expected = steps_between(logit(value), logit(value + np.linspace(-0.1, 0.1, 5)))
    np.testing.assert_allclose(
        known.moves, np.column_stack([expected] * len(known.grid)), atol=1e-6
    )
    assert len(plain.moves) == 128
    # One factor along the curve, with nothing but sampling at K.
    assert (np.diff(plain.moves, axis=0) > 0).all()
    multiplier = 1.9 / stats.norm.ppf(0.95)
    assert plain.spread([201, 400])[0] == pytest.approx(
        multiplier * plain.observed_error[-1], rel=0.02
    )
    assert plain.sampled[0] == 1 and (np.diff(plain.sampled) < 0).all()


def test_sampling_is_no_more_than_the_whole():
    pilot = counts()
    grid = np.array([200, 400])
    halves = np.array([[0.5, 0.5], [0.51, 0.2], [0.52, 0.9]])  # grows beyond all that is stated
    tested = Backtest(200, "none", 0.5, (), grid, halves)
    assert assess(pilot, tested, Plausible().fit(pilot)).sampled.tolist()[:2] == [1, 1]


# -- plain data and back --------------------------------------------------------------------------


def read(**changed):
    return Uncertainty.from_dict(make_uncertainty().to_dict() | changed)


def test_what_is_read_is_what_was_written_and_cannot_be_changed():
    known = make_uncertainty(metric=Top(2))
    again = Uncertainty.from_dict(known.to_dict())
    assert again.to_dict() == known.to_dict()
    for name in ("inside", "grid", "observed_error", "moves", "sampled"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[0] = 1


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("moves", [[-1e4, 1e4]], [[0.0, 10_001.0]]),
        ("moves", [[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0]]),
        ("moves", [[0.0, 0.0]], []),
        ("moves", [[0.0, 0.0]], [0.0, 0.0]),
        ("moves", [[0.0, 0.0]], [["x", 0.0]]),
        ("observed_error", [0, 0], [0, -0.5]),
        ("observed_error", [0, 0], [0, 0, 0]),
        ("sampled", [0, 1], [0, 1.5]),
        ("sampled", [0, 1], [1]),
        ("inside", [2, 100], [100, 2]),
        ("freedom", 1, 0.5),
        ("class_variance", 0, -0.5),
        ("probe_variance", 0, -0.5),
        ("probes_per_class", 0.5, -0.5),
    ],
)
def test_numbers_are_read_up_to_their_bounds(name, good, bad):
    assert read(**{name: good}).to_dict()[name] == good
    with pytest.raises(DataError):
        read(**{name: bad})
