"""What the errors of a forecast are made of, at edges and with constants, by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from headcount import DataError, Pilot, observe
from headcount.errors import ParameterError
from headcount.metrics import ACCURACY, Top
from headcount.uncertainty.backtest import Backtest, BacktestStep
from headcount.uncertainty.error_model import MODEL, STATED_MODEL, ErrorModel
from headcount.uncertainty.intervals import (
    Uncertainty,
    assess,
    log_odds_error,
    probe_values,
    probe_variance,
    probes_per_class,
    sampling_error,
    standard_error,
)
from interval_pilots import bare, counts

PLAIN = ErrorModel(
    growth=1.5, blind_growth=0.7, scale=0.2, power=0.5, doubt=0.3, share=0.4,
    levels=(0.0, 0.9, 1.0), quantiles=(0.0, 2.0, 4.0),
)  # fmt: skip


def make_uncertainty(**changed):
    fields = {
        "n_classes": 100, "n_probes": 500, "grid": np.array([10, 100, 1000]),
        "observed_error": np.array([0.1, 0.3, 0.3]), "growth": np.array([0, 0, 0.8]),
        "bias": np.array([0, 0, -0.25]), "class_variance": 9e-4, "probe_variance": 4e-4,
        "probes_per_class": 5.0, "observed": 0.8, "model": PLAIN,
    }  # fmt: skip
    return Uncertainty(**fields | changed)


# -- errors between the points of the grid, and past them -----------------------------------------


def test_the_error_of_shape_grows_from_nothing_at_k():
    known = make_uncertainty(bias=np.zeros(3))
    share = math.log10(3.16)
    expected = share * 0.2 * math.sqrt(math.log(10))
    assert known.extrapolation(316) == pytest.approx(expected)
    assert known.onset == 0
    doubtful = make_uncertainty(bias=np.array([0, 0.5, 0.5]), model=PLAIN)
    assert doubtful.onset == pytest.approx(0.3 * 0.5)


def test_what_is_stated_is_split_into_sampling_and_shape():
    stated = np.array([0.3, 0.5, 0.65])
    known = make_uncertainty(stated=stated, bias=np.zeros(3), model=ErrorModel(
        growth=1.5, blind_growth=0.7, scale=0.2, power=0.5, doubt=0.3, share=0.4,
        levels=(0.0, 1.0), quantiles=(0.0, 2.0), stated=0.8,
    ))  # fmt: skip
    # 0.8 of 0.5 is 0.4, of which sampling has 0.3; of 0.65 it is 0.52, less than sampling would be.
    assert known.onset == pytest.approx(math.sqrt(0.4**2 - 0.3**2))
    assert known.sampling(1000) == pytest.approx(0.52)
    assert known.extrapolation(1000) == 0
    assert known.error(1000) == pytest.approx(0.52)


def test_grids_of_one_and_two_points():
    ends = {"growth": None, "bias": np.zeros(1)}
    one = make_uncertainty(grid=np.array([100]), observed_error=np.array([0.3]), **ends)
    assert one.sampling([2, 100, 101, 10**6]).tolist() == [0.3, 0.3, 0.3, 0.3]
    two = make_uncertainty(
        grid=np.array([100, 1000]), observed_error=np.array([0.3, 0.3]),
        growth=np.array([0, 0.8]), bias=np.zeros(2),
    )  # fmt: skip
    end = 0.3 * math.exp(0.75 * 0.8)
    assert two.sampling(10_000) == pytest.approx(end + (end - 0.3))


def test_a_falling_error_does_not_fall_past_the_grid():
    known = make_uncertainty(growth=np.array([0, 0, -0.8]), bias=np.zeros(3))
    end = 0.3 * math.exp(-0.75 * 0.8)
    share = math.log10(3.16)
    assert known.sampling(316) == pytest.approx((1 - share) * 0.3 + share * end)
    assert known.sampling([1000, 1001, 10**6]) == pytest.approx([end] * 3)


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
    known = make_uncertainty(observed_error=np.zeros(3))
    lower, upper = known.band(0.8, 100, 0.9)
    reach = stats.t(99).ppf(0.95) * 1e-6 * 0.16
    assert 0.8 - lower == pytest.approx(reach, rel=1e-3)
    assert upper - 0.8 == pytest.approx(reach, rel=1e-3)


def test_limits_of_errors_without_end_stop_just_inside():
    huge = make_uncertainty(observed_error=np.full(3, 3000.0))
    assert huge.band(1.0, 100, 0.9)[0] == pytest.approx(1e-15, rel=1e-6, abs=0)
    assert 1 - huge.band(0.0, 100, 0.9)[1] == pytest.approx(1e-15, rel=0.2, abs=0)


def test_the_middle_is_cut_at_half_a_probe_and_moved_by_a_share_of_the_bias():
    known = make_uncertainty()
    found = known.middle([0.0, 0.6, 1.0], [1000, 1000, 1000])
    edge = math.log(0.999 / 0.001)
    assert found == pytest.approx([-edge + 0.1, logit(0.6) + 0.1, edge + 0.1])
    assert known.middle(0.6, 316) == pytest.approx(logit(0.6) + 0.1 * math.log10(3.16))


# -- sets of classes ------------------------------------------------------------------------------


def test_sets_of_classes_and_probes_that_cannot_be_told_apart():
    known = make_uncertainty(told_apart=False)
    value, k = np.array(0.5), np.array(400.0)
    scale = 0.25 / 0.16 / 0.25**2 / 4
    classes = 9e-4 * scale
    sampled, other = known.sampling(400) ** 2, known.extrapolation(400) ** 2
    for often in (1, 2, 10):
        # All of it may come from probes: five of each class were measured.
        probes = classes * 5 / often
        assert known.set_variance(value, k, often)[1] == pytest.approx(probes)
        new = known.variance(value, k, "new_set", often)
        assert float(new) == pytest.approx(sampled + other + max(classes, probes))
        # A quarter of the set was measured, with 13e-4 of variance; the rest is forecast.
        kept, forecast = math.sqrt(13e-4) / (0.8 * 0.5), math.sqrt(sampled)
        all_classes = 9 / 16 * sampled + 3 / 4 * classes
        all_probes = (kept / 4 + 3 / 4 * forecast) ** 2 + probes
        grown = known.variance(value, k, "grown_set", often)
        assert float(grown) == pytest.approx(max(all_classes, all_probes) + other)
    assert known.set_variance(value, k, None)[1] == 0
    alike = known.variance(value, k, "grown_set", None)
    assert float(alike) == pytest.approx(max(all_classes, all_probes - probes) + other)


def test_a_grown_set_by_the_formula():
    known = make_uncertainty()
    value, k = np.array(0.5), np.array(400.0)
    scale = 0.25 / 0.16 / 0.25**2 / 4
    classes, probes = 9e-4 * scale, 4e-4 * scale * 5 / 2
    sampled, other = float(known.sampling(400)) ** 2, float(known.extrapolation(400)) ** 2
    # What was measured is a quarter: its classes stay, so that only its few probes are wrong. The
    # forecast for the rest errs by both, and the rest of the classes are new.
    kept, forecast = math.sqrt(13e-4) / (0.8 * 0.5), math.sqrt(sampled)
    by_class, by_probe = 9 / 16 * sampled, (kept / 4 + 3 / 4 * forecast) ** 2
    expected = 9 / 13 * by_class + 4 / 13 * by_probe + 3 / 4 * classes + probes + other
    assert float(known.variance(value, k, "grown_set", 2)) == pytest.approx(expected)
    at_k = known.variance(np.array(0.8), np.array(100.0), "grown_set", None)
    assert float(at_k) == pytest.approx(4e-4 / 0.16**2)
    with pytest.raises(ParameterError, match="contains the pilot's 100 classes"):
        known.variance(np.array(0.8), np.array(99.0), "grown_set", None)
    still = make_uncertainty(class_variance=0.0, probe_variance=0.0)
    assert float(still.variance(value, k, "grown_set", 2)) == pytest.approx(by_class + other)


def test_an_error_of_shape_just_past_k_does_not_touch_what_was_measured():
    known = make_uncertainty(stated=np.array([0.3, 0.5, 0.65]), bias=np.zeros(3), class_variance=0.0,
                             probe_variance=0.0)  # fmt: skip
    onset = known.onset
    assert onset > 0.1
    for k in (101, 200, 1000):
        shape, stays = float(known.extrapolation(k)), 100 / k
        least = ((1 - stays) * float(known.sampling(k))) ** 2
        found = float(known.variance(np.array(0.5), np.array(float(k)), "grown_set", None))
        assert found == pytest.approx(least + (shape - stays * min(onset, shape)) ** 2)
    assert known.variance(np.array(0.5), np.array(100.0), "grown_set", None) == 0


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
    empty = Backtest(150, "none", 0.5, (), every, np.empty((0, 150)))
    found = assess(pilot, empty).observed_error
    assert found == pytest.approx(np.interp(np.log(every), np.log(inside), errors), rel=1e-9)
    best = assess(pilot, Backtest(150, "none", 0.5, (), every, np.empty((0, 150)), metric=Top(5)))
    assert (best.observed_error[:6] == best.observed_error[5]).all()
    assert best.observed_error[6] != best.observed_error[5]
    assert sampling_error(pilot, ACCURACY) == pytest.approx(errors[-1], rel=1e-9)


def test_bias_and_growth_of_a_pilot_without_mistakes():
    """Half of one in 20 probes stands in wherever all are right or wrong."""
    pilot = Pilot.from_losses([0] * 20, 100)
    steps = (BacktestStep(50, 2.0, (1.0, 0.5), 1.0), BacktestStep(20, 5.0, (0.0, 0.9), 1.0))
    halves = np.array([[1.0, 1.0, 0.6, 0.5, 0.0], [1.0, 0.9, 0.5, 0.5, 0.1]])
    grid = np.array([2, 50, 200, 400, 2000])
    known = assess(pilot, Backtest(100, "none", 1.0, steps, grid, halves))
    edge = math.log(0.975 / 0.025)
    total, squares = 0.0, 30.0
    for ratio, ends in ((2, (edge, 0.0)), (5, (-edge, math.log(9)))):
        weight = 1 / (((ends[0] - ends[1]) / 2) ** 2 + 0.05**2)
        total += weight * math.log(ratio) * ((ends[0] + ends[1]) / 2 - edge)
        squares += weight * math.log(ratio) ** 2
    slope = total / squares
    expected = [0, 0, slope * math.log(2), slope * math.log(4), slope * math.log(20)]
    assert known.bias == pytest.approx(expected)
    # The variance at 100 lies halfway in log k between those at 50 and 200.
    spread = [(edge - math.log(9)) ** 2 / 2, math.log(1.5) ** 2 / 2, 1e-12]
    spread.append((edge - math.log(9)) ** 2 / 2)
    at_pilot = (spread[0] + spread[1]) / 2
    expected = [0, 0, *(math.log(v / at_pilot) for v in spread[1:])]
    assert known.growth == pytest.approx(expected)


def test_growth_needs_two_halves_that_differ():
    pilot, grid = counts(), np.array([2, 200, 2000])
    halves = np.array([[0.9, 0.5, 0.3], [0.8, 0.4, 0.1]])
    assert assess(pilot, Backtest(200, "none", 0.5, (), grid, halves)).growth is not None
    assert assess(pilot, Backtest(200, "none", 0.5, (), grid, halves[:1])).growth is None
    same = np.array([[0.9, 0.5, 0.3], [0.8, 0.5, 0.1]])
    assert assess(pilot, Backtest(200, "none", 0.5, (), grid, same)).growth is None
    near = same + np.array([[0, 1e-5, 0], [0, 0, 0]])  # a variance of 8e-10 in log odds
    assert assess(pilot, Backtest(200, "none", 0.5, (), grid, near)).growth is not None


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


def test_models_of_methods_that_state_their_error():
    class Stated:
        def stated_error(self, ratio, metric):
            return 0.1 * ratio

    pilot = counts()
    empty = Backtest(200, "none", 0.5, (), np.array([200, 400]), np.empty((0, 2)))
    assert assess(pilot, empty).model == MODEL
    known = assess(pilot, empty, Stated())
    assert known.model == STATED_MODEL
    assert known.stated.tolist() == [0.1, 0.2]


# -- plain data and back --------------------------------------------------------------------------


def read(**changed):
    return Uncertainty.from_dict(make_uncertainty().to_dict() | changed)


def test_what_is_read_is_what_was_written_and_cannot_be_changed():
    known = make_uncertainty(stated=np.array([0.1, 0.2, 0.4]), metric=Top(2))
    again = Uncertainty.from_dict(known.to_dict())
    assert again.to_dict() == known.to_dict()
    for name in ("grid", "observed_error", "growth", "bias", "stated"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[0] = 1


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("growth", [0, 0, 90.0], [0, 0, 90.5]),
        ("observed_error", [0, 0, 0], [0, 0, -0.5]),
        ("stated", [0, 0, 0], [0, 0, -0.5]),
        ("class_variance", 0, -0.5),
        ("probe_variance", 0, -0.5),
        ("probes_per_class", 0.5, -0.5),
        ("bias", [-3.0, 0, 3.0], [0, 0]),
    ],
)
def test_numbers_are_read_up_to_their_bounds(name, good, bad):
    assert read(**{name: good}).to_dict()[name] == good
    with pytest.raises(DataError):
        read(**{name: bad})


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("growth", 0.0, -0.5),
        ("scale", 15.0, 15.5),
        ("power", 15.0, 15.5),
        ("levels", [0.0, 0.5, 0.5], [0.5, 0.4, 0.9]),
        ("levels", [0.0, 0.5, 1.0], [-0.5, 0.5, 1.0]),
        ("quantiles", [0.0, 15.0, 15.0], [0.0, 15.0, 15.5]),
        ("quantiles", [0.0, 1.0, 1.0], [0.0, 1.0]),
    ],
)
def test_models_are_read_up_to_their_bounds(name, good, bad):
    model = make_uncertainty().to_dict()["model"]
    found = getattr(read(model=model | {name: good}).model, name)
    assert (list(found) if isinstance(good, list) else found) == good
    with pytest.raises(DataError):
        read(model=model | {name: bad})


def test_limits_go_over_evenly_in_log_odds_at_the_ends():
    # At K only what was measured counts, at 2 K only what was learned.
    known = make_uncertainty(growth=np.zeros(3), bias=np.zeros(3))
    error = float(known.error(200))
    wrong = -math.log1p(-0.8)
    ends = math.log(wrong) + 2 * error * 0.8 / wrong * np.array([-1, 1])
    assert known.band(0.8, 200, 0.9) == pytest.approx(-np.expm1(-np.exp(ends)))
    assert expit(known.middle(0.8, 200)) == pytest.approx(0.8)
