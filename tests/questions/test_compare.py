import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

import headcount
from compared_pilots import QUICK, two_systems
from headcount import ParameterError, Pilot, compare, simulate
from headcount.estimators import ProbitNormal
from headcount.metrics import ACCURACY
from headcount.questions.compare import (
    Without,
    are_paired,
    gap_between,
    last_crossing,
    normal_pairs,
    shared_error,
)
from headcount.simulate import theory
from interval_pilots import make_uncertainty

QUIET = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")


def scores_of(pilot):
    return np.concatenate([block for _, block in pilot.score_blocks()])


# -- the interval and the chance -------------------------------------------------------------------


def gap(middles, errors, correlation):
    """Two systems at 1,000 classes, whose errors are normal in log odds: a column for each pair."""
    middles, errors = np.asarray(middles, float), np.asarray(errors, float)
    n = middles.shape[1]
    both = tuple(
        SimpleNamespace(
            value=lambda k, row=row: expit(row),
            uncertainty=Columns(spread),
            metric=ACCURACY,
        )
        for row, spread in zip(middles, np.broadcast_to(errors, middles.shape), strict=True)
    )
    return gap_between(both, np.full(n, 1000), np.broadcast_to(correlation, n))


class Columns:
    """Plausible values that are normal in log odds, with a deviation for each column."""

    def __init__(self, spread):
        self.spread = spread

    def quantiles(self, value, k, levels):
        return expit(logit(value) + np.multiply.outer(ndtri(levels), self.spread))


def test_the_lattice_is_as_good_as_normal_pairs():
    one, two = normal_pairs()
    assert abs(one.mean()) < 1e-3
    assert abs(two.mean()) < 1e-3
    assert one.var() == pytest.approx(1, abs=0.005)
    assert two.var() == pytest.approx(1, abs=0.005)
    assert abs(np.mean(one * two)) < 0.005
    for a, b in itertools.product((-1.5, 0.0, 1.0), repeat=2):
        share = np.mean((one < a) & (two < b))
        assert share == pytest.approx(np.mean(one < a) * np.mean(two < b), abs=0.002)


def test_small_errors_follow_the_delta_method():
    a, b, errors, r = 0.8, 0.6, (0.01, 0.02), 0.7
    slopes = np.array([a * (1 - a), b * (1 - b)]) * errors
    spread = math.sqrt(slopes[0] ** 2 + slopes[1] ** 2 - 2 * r * slopes[0] * slopes[1])
    lower, upper = gap(logit([[a], [b]]), [[e] for e in errors], r).interval(0.9)
    reach = ndtri(0.95) * spread
    assert lower[0] == pytest.approx(a - b - reach, abs=0.01 * reach)
    assert upper[0] == pytest.approx(a - b + reach, abs=0.01 * reach)


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.9])
def test_intervals_cover_and_chances_are_right_when_errors_are_normal(r):
    # 2,000 systems: a share of 0.9 has the standard error 0.007, one of a half 0.011.
    rng = np.random.default_rng(1)
    n, errors = 2000, np.array([[0.4], [0.3]])
    # Chances are those of a flat prior, so differences are drawn evenly and far.
    truths = rng.uniform(-2.5, 1.5, size=(2, n))
    z = rng.normal(size=(2, n))
    noise = errors * np.array([z[0], r * z[0] + math.sqrt(1 - r**2) * z[1]])
    lower, upper, chance = np.empty((3, n))
    for i in range(0, n, 250):
        part = slice(i, i + 250)
        found = gap((truths + noise)[:, part], errors, r)
        lower[part], upper[part] = found.interval(0.9)
        chance[part] = found.chance()
    true = expit(truths[0]) - expit(truths[1])
    assert np.mean((lower <= true) & (true <= upper)) == pytest.approx(0.9, abs=0.022)
    spread = math.sqrt(0.4**2 + 0.3**2 - 2 * r * 0.4 * 0.3)
    exact = ndtr(((truths + noise)[0] - (truths + noise)[1]) / spread)
    np.testing.assert_allclose(chance, exact, atol=0.002)
    # Both are of the same pairs, so that they agree but for half a pair.
    clear = (np.abs(chance - 0.95) > 0.001) & (np.abs(chance - 0.05) > 0.001)
    np.testing.assert_array_equal((lower > 0)[clear], (chance > 0.95)[clear])
    np.testing.assert_array_equal((upper < 0)[clear], (chance < 0.05)[clear])
    for low, high in itertools.pairwise([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]):
        chosen = (chance >= low) & (chance < high)
        error = 0.5 / math.sqrt(chosen.sum())
        assert np.mean(true[chosen] > 0) == pytest.approx(chance[chosen].mean(), abs=3 * error)


def test_wider_errors_widen_intervals_and_temper_chances():
    plain = gap([[1.0], [0.5]], [[0.3], [0.2]], 0.0)
    heavy = gap([[1.0], [0.5]], [[0.6], [0.4]], 0.0)
    assert np.diff(heavy.interval(0.9), axis=0) > 1.8 * np.diff(plain.interval(0.9), axis=0)
    assert 0.5 < heavy.chance()[0] < plain.chance()[0]


def test_the_same_forecast_is_level_with_itself_and_another_one_is_drawn_apart():
    known = make_uncertainty()
    system = SimpleNamespace(
        value=lambda k: np.full(np.shape(k), 0.6), uncertainty=known, metric=ACCURACY
    )
    grid = np.array([50, 100, 150, 1000])
    same = gap_between((system, system), grid, np.ones(4))
    lower, upper = same.interval(0.9)
    assert (np.abs([lower, upper]) < 1e-12).all()
    assert same.chance().tolist() == [0.5] * 4
    # Independent draws of each: what random pairs of quantiles say.
    apart = gap_between((system, system), grid, np.zeros(4))
    rng = np.random.default_rng(0)
    levels = (np.arange(2000) + 0.5) / 2000
    values = known.quantiles(np.full(4, 0.6), grid, levels)
    drawn = values[rng.integers(2000, size=200_000)] - values[rng.integers(2000, size=200_000)]
    ends = np.quantile(drawn, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(apart.interval(0.9), ends, atol=0.002)


def test_nothing_is_ahead_of_its_equal():
    same = gap([[1.0, 1.0], [1.0, 0.9]], [[0.0, 0.0], [0.0, 0.0]], 0.0)
    assert same.chance().tolist() == [0.5, 1.0]


def test_the_correlation_of_errors_follows_the_formula():
    rng = np.random.default_rng(0)
    grid, inside = np.array([2, 9, 19, 20, 30, 40, 400]), np.array([2, 19])
    shares = [
        Without({}, inside, rng.normal(size=(20, 2)), rng.normal(size=(12, 7))) for _ in range(2)
    ]
    near = [np.corrcoef(*(held.each[:, i] for held in shares))[0, 1] for i in range(2)]
    halves = [np.corrcoef(*(held.halves[:, i] for held in shares))[0, 1] for i in range(7)]
    found = shared_error(*shares, grid)
    assert found[[0, 2, 3]] == pytest.approx([near[0], near[1], near[1]])
    # 12 halves are worth 9 on Fisher's scale, the correlation at K four more.
    far = (9 * np.arctanh(halves) + 4 * np.arctanh(near[1])) / 13
    assert found[5:] == pytest.approx(np.tanh(far[5:]))
    part = math.log2(1.5)
    assert found[4] == pytest.approx(np.tanh((1 - part) * np.arctanh(near[1]) + part * far[4]))


# -- crossing --------------------------------------------------------------------------------------


@QUIET
def test_the_better_at_1000_is_seen_to_be_the_worse_at_10000():
    # As Deng et al. found. Few probes are easy and few hopeless: steep; many of both: flat.
    steep, flat = theory.probit_normal_law(3.8, 0.6), theory.probit_normal_law(4.3, 1.7)
    assert steep.accuracy(1000) - flat.accuracy(1000) > 0.05
    assert steep.accuracy(10000) - flat.accuracy(10000) < -0.1
    grid = np.arange(2, 10_000)
    truth = int(grid[np.flatnonzero(steep.accuracy(grid) > flat.accuracy(grid))[-1]])
    pilots = {
        name: simulate.from_favorability(law, 300, probes_per_class=2, random_state=i).pilot
        for i, (name, law) in enumerate({"steep": steep, "flat": flat}.items())
    }
    found = compare(pilots, [1000, 10_000], method=ProbitNormal())
    (pair,) = found.pairs
    assert pair.at(300).lower > 0
    assert pair.at(1000).difference > 0 > pair.at(10_000).difference
    assert pair.at(10_000).chance < 0.2
    crossing = pair.crossing
    assert (crossing.before, crossing.after) == ("steep", "flat")
    assert 1000 < crossing.classes < 10_000
    # Who is ahead past 10,000 classes need not be sure from 300.
    assert crossing.lower < truth < (crossing.upper or math.inf)
    assert found.sentences()[-1].startswith("steep is ahead up to about")


def curves(*exponents):
    """Stand-ins for forecasts, whose values are 1 - (log10 k / 4)^exponent."""
    return tuple(
        SimpleNamespace(value=lambda k, e=e: 1 - (np.log10(np.asarray(k)) / 4) ** e)
        for e in exponents
    )


def test_a_crossing_is_found_to_the_class_and_its_interval_is_where_the_band_holds_zero():
    grid = np.unique(np.geomspace(2, 9000, 40).round().astype(np.int64))
    pair = curves(2.0, 1.0)
    # Shift the second so that they cross once, at a k solved for by hand.
    pair[1].value = lambda k: 0.9 - np.log10(np.asarray(k)) / 4 + 0.0
    difference = pair[0].value(grid) - pair[1].value(grid)
    # 1 - y^2 = 0.9 - y, so y = (1 + sqrt(1.4)) / 2 > 1: no crossing, the first is ahead.
    assert last_crossing(("A", "B"), pair, grid, difference, None, None) is None
    pair[1].value = lambda k: 1.1 - np.log10(np.asarray(k)) / 4
    difference = pair[0].value(grid) - pair[1].value(grid)
    # 1 - y^2 = 1.1 - y: y = (1 -+ sqrt(0.6)) / 2, of which the second is the last crossing.
    last = 10 ** (4 * (1 + math.sqrt(0.6)) / 2)
    found = last_crossing(("A", "B"), pair, grid, difference, difference - 0.05, difference + 0.05)
    assert found.classes == math.floor(last)
    assert (found.before, found.after) == ("A", "B")
    # The band holds zero where |y - y^2 - 0.1| < 0.05; solved for again.
    ends = [10 ** (4 * (1 + math.sqrt(1 - 4 * (0.1 + s))) / 2) for s in (0.05, -0.05)]
    assert found.lower == pytest.approx(ends[0], rel=0.02)
    assert found.upper == pytest.approx(ends[1], rel=0.02)
    turned = last_crossing(
        ("B", "A"), pair[::-1], grid, -difference, -difference - 0.05, -difference + 0.05
    )
    assert turned == found
    wide = last_crossing(("A", "B"), pair, grid, difference, difference - 9, difference + 9)
    assert (wide.classes, wide.lower, wide.upper) == (found.classes, None, None)
    none = last_crossing(("A", "B"), pair, grid, difference, None, None)
    assert (none.classes, none.lower, none.upper) == (found.classes, None, None)


def test_curves_that_only_touch_do_not_cross():
    grid = np.array([2, 10, 100, 1000])
    difference = np.array([0.0005, -0.0005, 0.0009, -0.2])
    assert last_crossing(("A", "B"), curves(1, 2), grid, difference, None, None) is None


# -- pairing ---------------------------------------------------------------------------------------


def small(labels, names, **options):
    scores = [[float(label == name) for name in names] for label in labels]
    return Pilot.from_scores(scores, labels, class_names=names, **options)


def test_pilots_are_paired_by_names_and_probes_whatever_their_order():
    one = small(["a", "a", "b", "c"], ["a", "b", "c"])
    assert are_paired(one, small(["c", "a", "b", "a"], ["c", "b", "a"]))
    assert not are_paired(one, small(["a", "b", "b", "c"], ["a", "b", "c"]))
    assert not are_paired(one, small(["a", "a", "b"], ["a", "b", "c"]))
    assert not are_paired(one, small(["a", "a", "b", "d"], ["a", "b", "d"]))
    assert not are_paired(one, small(["a", "a", "b", "c"], ["a", "b", "c", "d"]))
    counts = Pilot.from_losses([0, 1, 0, 0], 3, labels=[0, 0, 1, 2])
    assert not are_paired(counts, counts)


@QUIET
def test_the_order_of_rows_and_classes_does_not_matter():
    pilots = two_systems(3, 30)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(30)
    mixed = Pilot.from_scores(scores_of(pilots["B"])[rows][:, columns], rows, class_names=columns)
    plain = compare(pilots, [30, 100], **QUICK)
    other = compare({"A": pilots["A"], "B": mixed}, [30, 100], **QUICK)
    assert plain.paired
    assert other.paired
    for k in (30, 100):
        expected, found = vars(plain.pairs[0].at(k)), vars(other.pairs[0].at(k))
        assert found == pytest.approx(expected, abs=1e-9)


@QUIET
def test_a_system_is_not_ahead_of_itself():
    pilot = two_systems(4, 30)["A"]
    found = compare({"one": pilot, "two": pilot}, [30, 300], **QUICK)
    lead = found.pairs[0].at(30)
    assert (lead.difference, lead.chance) == (0.0, 0.5)
    # All error is shared, so nothing is left of it.
    assert lead.upper - lead.lower < 1e-6
    assert found.pairs[0].crossing is None
    assert found.sentences() == [
        "At 30 classes one and two are level.",
        "At 300 classes one and two are level.",
    ]


@QUIET
def test_three_systems_make_three_pairs_and_some_may_be_paired():
    pilots = two_systems(5, 30)
    pilots["C"] = simulate.isotropic_gaussian(40, sigma=0.8, random_state=0).pilot
    found = compare(pilots, [30], **QUICK)
    assert [(p.first, p.second, p.paired) for p in found.pairs] == [
        ("A", "B", True),
        ("A", "C", False),
        ("B", "C", False),
    ]
    assert not found.paired
    ab, ac, bc = (pair.at(30).difference for pair in found.pairs)
    assert ab + bc == pytest.approx(ac)
    assert found.pair("A", "C") is found.pairs[1]
    with pytest.raises(ParameterError, match="'C' is not compared with 'A'"):
        found.pair("C", "A")
    with pytest.raises(ParameterError, match="41 classes were not asked about"):
        found.pairs[0].at(41)


@QUIET
def test_counts_are_compared_as_independent():
    one = Pilot.from_losses(np.arange(40) % 3, 40, labels=np.arange(40))
    two = Pilot.from_losses(np.arange(40) % 5, 40, labels=np.arange(40))
    found = compare({"one": one, "two": two}, 40, **QUICK)
    assert not found.paired
    assert found.pairs[0].at(40).lower < found.pairs[0].at(40).difference


@QUIET
def test_one_class_is_no_difference():
    lead = compare(two_systems(6, 30), [1, 30], **QUICK).pairs[0].at(1)
    assert vars(lead) == {
        "classes": 1, "difference": 0.0, "lower": 0.0, "upper": 0.0, "chance": 0.5
    }  # fmt: skip


@pytest.mark.parametrize("pilots", [{}, {"A": None}, [1, 2]])
def test_one_system_cannot_be_compared(pilots):
    with pytest.raises(ParameterError, match="two or more pilots"):
        compare(pilots, 100)


def test_names_that_print_alike_are_refused():
    pilot = two_systems(0, 12)["A"]
    with pytest.raises(ParameterError, match="the same name"):
        compare({1: pilot, "1": pilot}, 12)


@QUIET
def test_pilots_averaged_in_different_ways_are_warned_of():
    labels = np.repeat(np.arange(12), 2)
    scores = np.random.default_rng(0).normal(size=(24, 12)) + 2 * np.eye(12)[labels]
    pilots = {way: Pilot.from_scores(scores, labels, average=way) for way in ("macro", "micro")}
    with pytest.warns(headcount.AssumptionWarning, match="different average"):
        compare(pilots, 12, **QUICK)


# -- who comes first -------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [-0.7, 0.0, 0.4, 0.98])
def test_limits_of_a_difference_change_sides_with_the_systems(r):
    rng = np.random.default_rng(2)
    middles, errors = rng.normal(size=(2, 50)), rng.uniform(0.01, 1, size=(2, 50))
    found, turned = gap(middles, errors, r), gap(middles[::-1], errors[::-1], r)
    for level in (0.5, 0.9, 0.99):
        lower, upper = found.interval(level)
        np.testing.assert_allclose(turned.interval(level), (-upper, -lower), rtol=0, atol=1e-12)
    np.testing.assert_allclose(turned.chance(), 1 - found.chance(), rtol=0, atol=1e-12)


@QUIET
def test_a_comparison_is_the_same_whoever_comes_first():
    pilots = two_systems(5, 30)
    pilots["C"] = simulate.isotropic_gaussian(40, sigma=0.8, random_state=0).pilot
    ks = [10, 30, 90, 900]
    one, two = (compare(dict(p), ks, **QUICK) for p in (pilots.items(), reversed(pilots.items())))
    for pair in one.pairs:
        turned = two.pair(pair.second, pair.first)
        np.testing.assert_allclose(
            [turned.difference, turned.lower, turned.upper, turned.chance],
            [-pair.difference, -pair.upper, -pair.lower, 1 - pair.chance],
            rtol=0,
            atol=1e-12,
        )
        assert turned.crossing == pair.crossing
