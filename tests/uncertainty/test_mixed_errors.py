"""Errors of a mix: classes left out one and two at a time, and parts of every group."""

import numpy as np
import pytest

from headcount.curves.mixed import MixedObserved, mix_table
from headcount.metrics import ACCURACY, Top
from headcount.uncertainty.mixed import MixJackknife, WithinGroups
from mixed_pilots import make_pilot

MIX = {"a": 0.3, "b": 0.7}


def jackknife(pilot, metric=ACCURACY):
    return MixJackknife(pilot, MixedObserved(mix_table(pilot, MIX)), metric)


def value_of(pilot, k, metric=ACCURACY):
    return float(MixedObserved(mix_table(pilot, MIX)).value(k, metric))


@pytest.mark.parametrize("steps", [None, 1.0])
@pytest.mark.parametrize("metric", [ACCURACY, Top(3)])
def test_without_each_class_the_value_is_that_of_the_pilot_without_it(steps, metric):
    pilot, _ = make_pilot((9, 7), per_class=3, steps=steps)
    errors = jackknife(pilot, metric)
    for k in (2, errors.largest(1)):
        expected = [
            value_of(pilot.subset(np.delete(pilot.class_names, c)), k, metric) for c in range(16)
        ]
        np.testing.assert_allclose(errors.without_one(k), expected, atol=1e-12)


def test_the_variance_adds_up_over_groups():
    pilot, _ = make_pilot((9, 7), per_class=3)
    errors = jackknife(pilot)
    without = errors.without_one(5)
    first, second = without[:9], without[9:]
    expected = 8 / 9 * ((first - first.mean()) ** 2).sum()
    expected += 6 / 7 * ((second - second.mean()) ** 2).sum()
    assert errors.variance(5) == pytest.approx(expected)


def test_without_two_classes():
    pilot, _ = make_pilot((9, 7), per_class=3)
    errors = jackknife(pilot)
    for pair in [(0, 1), (3, 12), (10, 15)]:
        expected = value_of(pilot.subset(np.delete(pilot.class_names, pair)), 6)
        assert errors.value_without(6, pair) == pytest.approx(expected)
    assert errors.value_without(6, ()) == pytest.approx(value_of(pilot, 6))


def test_no_more_are_left_out_than_the_rest_holds():
    pilot, _ = make_pilot((9, 7))
    errors = jackknife(pilot)
    whole = mix_table(pilot, MIX).n_classes
    for left_out in (1, 2):
        fewer = np.r_[0 : 9 - left_out, 9 : 16 - left_out]
        assert errors.largest(left_out) == mix_table(pilot.subset(fewer), MIX).n_classes < whole


def test_the_error_is_scaled_down_for_sets_as_large_as_the_pilot():
    pilot, _ = make_pilot((20, 20), per_class=3)
    errors = jackknife(pilot)
    k = np.array([2, errors.largest(2)])
    plain = np.sqrt([errors.variance(int(count)) for count in k])
    excess = errors.excess(k)
    assert 0 < excess[1] < 1
    np.testing.assert_allclose(errors.standard_error(k), plain / np.sqrt(1 + excess))


def test_probes_of_a_class_show_their_part():
    pilot, _ = make_pilot((9, 7), per_class=3)
    errors = jackknife(pilot)
    within = errors.probe_variance()
    assert 0 < within < 0.01
    worth = 1 / (0.3**2 / 27 + 0.7**2 / 21)
    assert abs(errors.n_probes - worth) < 1 and worth < pilot.n_probes
    single, _ = make_pilot((9, 7), per_class=1)
    assert jackknife(single).probe_variance() is None


def test_subsets_hold_the_same_share_of_each_group():
    pilot, _ = make_pilot((20, 10))
    table = mix_table(pilot, MIX)
    sampler = WithinGroups(pilot, table)
    drawn = sampler.draw(table.n_classes // 2, np.random.default_rng(0))
    share = (table.n_classes // 2) / table.n_classes
    of_groups = [(drawn.groups == group).sum() for group in "ab"]
    assert of_groups == [round(20 * share), round(10 * share)]
    other = sampler.draw(table.n_classes // 2, np.random.default_rng(1))
    assert drawn.class_names.tolist() != other.class_names.tolist()
    assert sampler.refusal(table.n_classes // 2) is None
    assert "a group would keep 1 of its classes" in sampler.refusal(table.n_classes // 10)
