"""Sets of classes in known proportions: exact within the pilot, and under a joint law."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from headcount import Favorability
from headcount.curves.mixed import (
    JointLaw,
    MixedLaw,
    MixedObserved,
    mix_table,
    resolve_ties,
    set_sizes,
)
from headcount.errors import ParameterError, UnsupportedError
from headcount.metrics import ACCURACY, Top
from mixed_pilots import make_pilot, sizes_of, value_over_sets

MIXES = [{"a": 0.3, "b": 0.7}, {"a": 0.8, "b": 0.2}]


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.5, 0.5), (0.62, 0.31, 0.07), (1.0,)])
def test_seats_are_dealt_out_one_by_one(shares):
    for group in range(len(shares)):
        expected = [sizes_of(shares, k, group) for k in range(1, 120)]
        assert set_sizes(np.array(shares), np.arange(1, 120), group).tolist() == expected


def test_sizes_of_huge_sets_sum_up_and_keep_to_the_shares():
    shares = np.array([0.7, 0.2, 0.1])
    for k in (10**6 + 7, 10**12 - 1, 10**12):
        sizes = set_sizes(shares, k, 1)
        assert sizes.sum() == k and np.abs(sizes - shares * k).max() < 2
    np.testing.assert_allclose(set_sizes(shares, 1e15, 0), shares * 1e15)


# -- within the pilot ------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("tie_rule", ["random", "lose", "win"])
@pytest.mark.parametrize("m", [1, 2])
def test_the_value_is_the_average_over_all_sets(mix, tie_rule, m):
    pilot, scores = make_pilot(steps=0.7, tie_rule=tie_rule)
    assert (pilot.ties > 0).any()
    observed = MixedObserved(mix_table(pilot, mix))
    for k in range(1, observed.n_classes + 1):
        expected = value_over_sets(pilot, scores, mix, k, tie_rule=tie_rule, m=m)
        assert float(observed.value(k, Top(m))) == pytest.approx(expected, abs=1e-12)


def test_three_groups_one_of_them_left_out():
    pilot, scores = make_pilot((4, 4, 3))
    observed = MixedObserved(mix_table(pilot, {"a": 0.5, "b": 0.25, "c": 0.25}))
    mix = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert float(observed.value(7)) == pytest.approx(value_over_sets(pilot, scores, mix, 7))
    some = {"a": 0.5, "c": 0.5}
    without = MixedObserved(mix_table(pilot, some))
    assert float(without.value(6)) == pytest.approx(value_over_sets(pilot, scores, some, 6))


def test_a_micro_average_weighs_probes():
    pilot, scores = make_pilot()
    uneven = [row for row in range(pilot.n_probes) if row % 5]  # some classes keep one probe
    some = type(pilot).from_scores(
        scores[uneven], pilot.labels[uneven], groups=pilot.groups, average="micro",
        higher_is_better=True,
    )  # fmt: skip
    mix = {"a": 0.4, "b": 0.6}
    expected = value_over_sets(some, scores[uneven], mix, 5, average="micro")
    assert float(MixedObserved(mix_table(some, mix)).value(5)) == pytest.approx(expected)


def test_the_largest_set_uses_up_a_group():
    pilot, _ = make_pilot((6, 5))
    assert mix_table(pilot, {"a": 0.4, "b": 0.6}).n_classes == 9
    assert mix_table(pilot, {"a": 6 / 11, "b": 5 / 11}).n_classes == 11
    assert mix_table(pilot, {"a": 0.999, "b": 0.001}).n_classes == 6
    with pytest.raises(ParameterError, match="the pilot has 9 classes"):
        MixedObserved(mix_table(pilot, {"a": 0.4, "b": 0.6})).value(10)


def test_the_own_proportions_at_full_size_are_the_pilot_itself():
    pilot, _ = make_pilot((6, 5), steps=0.7)
    mixed = MixedObserved(mix_table(pilot, {"a": 6 / 11, "b": 5 / 11}))
    assert float(mixed.accuracy(11)) == pytest.approx(pilot.summary().accuracy, abs=1e-12)


def test_too_many_ways_for_ties_to_fall_are_refused():
    with pytest.raises(UnsupportedError, match="too many"):
        resolve_ties(np.zeros((1, 3), np.int64), np.full((1, 3), 200))


# -- beyond it -------------------------------------------------------------------------------------

LAWS = [Favorability([0.0, 0.02, 0.3], [0.3, 0.5, 0.2]), Favorability([0.001, 0.1], [0.6, 0.4])]


def brute_joint(laws, rho, sizes, m, n_steps=20001):
    """Integrate over the common factor by another rule, and convolve binomials outright."""
    factor = np.linspace(-9, 9, n_steps)
    weights = norm.pdf(factor)
    total = np.zeros((m, n_steps))
    total[0] = 1
    for law, size in zip(laws, sizes, strict=True):
        edges = norm.ppf(np.minimum(np.concatenate([[0], np.cumsum(law.weights)]), 1))
        given = np.diff(
            norm.cdf((edges[:, None] - math.sqrt(rho) * factor) / math.sqrt(1 - rho)), axis=0
        )
        masses = np.array([binom.pmf(j, size, law.p) @ given for j in range(m)])
        joined = np.zeros((m, n_steps))
        for j in range(m):
            for i in range(j + 1):
                joined[j] += total[i] * masses[j - i]
        total = joined
    return float(total.sum(axis=0) @ weights / weights.sum())


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.97])
@pytest.mark.parametrize("m", [1, 3])
def test_the_joint_law_is_an_integral_over_the_common_factor(rho, m):
    law = JointLaw(LAWS, rho)
    for sizes in [(1, 0), (4, 9), (50, 3), (0, 0)]:
        assert law.value([sizes], m)[0] == pytest.approx(brute_joint(LAWS, rho, sizes, m), 1e-5)


def test_each_law_keeps_its_own_moments_whatever_the_correlation():
    for rho in (0.0, 0.5, 0.97):
        law = JointLaw(LAWS, rho)
        for r in (1, 7, 100):
            assert law.value([(r, 0)])[0] == pytest.approx(float(LAWS[0].accuracy(r + 1)), 1e-6)
            assert law.value([(0, r)])[0] == pytest.approx(float(LAWS[1].accuracy(r + 1)), 1e-6)


def test_a_simulated_probe_of_each_kind():
    """Draw favorabilities by the copula, then rivals one by one."""
    rng, rho, n = np.random.default_rng(0), 0.6, 400_000
    factor = rng.normal(size=n)
    lost = np.zeros(n, np.int64)
    for law, size in zip(LAWS, (12, 5), strict=True):
        score = math.sqrt(rho) * factor + math.sqrt(1 - rho) * rng.normal(size=n)
        place = np.searchsorted(np.cumsum(law.weights), norm.cdf(score))
        lost += rng.binomial(size, law.p[np.minimum(place, len(law.p) - 1)])
    law = JointLaw(LAWS, rho)
    for m in (1, 2, 4):  # the standard error is below 0.0008
        assert law.value([(12, 5)], m)[0] == pytest.approx(np.mean(lost < m), abs=0.003)


def test_one_group_is_a_plain_law():
    law = MixedLaw([1.0], [1.0], [JointLaw([LAWS[1]], 0.0)])
    k = np.array([1, 2, 10, 1000, 10**13])
    np.testing.assert_allclose(law.accuracy(k), LAWS[1].accuracy(k), atol=1e-12)
    np.testing.assert_allclose(law.top(3, k), LAWS[1].top(3, k), atol=1e-9)
    for target in (0.99, 0.6, 0.4, 1e-3):
        assert law.capacity(target) == LAWS[1].capacity(target)


def mixed_law():
    return MixedLaw([0.3, 0.7], [0.3, 0.7], [JointLaw(LAWS, 0.5), JointLaw(LAWS[::-1], 0.2)])


def test_a_mix_weighs_the_laws_of_its_groups():
    law, k = mixed_law(), 21
    own = [(sizes_of([0.3, 0.7], k, g)) for g in (0, 1)]
    first = brute_joint(LAWS, 0.5, (own[0][0] - 1, own[0][1]), 1)
    second = brute_joint(LAWS[::-1], 0.2, (own[1][0], own[1][1] - 1), 1)
    assert float(law.value(k)) == pytest.approx(0.3 * first + 0.7 * second, 1e-5)


def test_values_never_rise_and_the_capacity_is_where_they_cross():
    law = mixed_law()
    for metric in (ACCURACY, Top(3)):
        values = law.value(np.arange(1, 400), metric)
        assert (np.diff(values) <= 1e-12).all() and values[0] == 1
        for target in (0.9, 0.5):
            below = np.flatnonzero(values < target)
            assert law.capacity(target, metric) == max(1, below[0])


def test_who_is_never_beaten_by_any_group_remains():
    never = Favorability([0.0, 0.5], [0.4, 0.6])
    law = MixedLaw([0.5, 0.5], [0.5, 0.5], [JointLaw([never, never], 0.0)] * 2)
    assert law.asymptote == pytest.approx(0.16)
    assert law.capacity(0.15) == math.inf and math.isfinite(law.capacity(0.17))
    assert float(law.accuracy(1e15)) == pytest.approx(0.16)


def test_a_correlation_has_limits():
    with pytest.raises(ParameterError, match="correlation must lie between"):
        JointLaw(LAWS, 0.99)
