"""Groups of a pilot: those of a mix, and those that popularity makes."""

import itertools

import numpy as np
import pytest

from headcount import Pilot, by_popularity
from headcount.errors import DataError, ParameterError, UnsupportedError
from headcount.pilot.mixes import FEWEST, check_mix, refuse_small_groups
from mixed_pilots import make_pilot

GROUPS = np.array(["a"] * 8 + ["b"] * 7 + ["c"] * 3)


def test_shares_are_sorted_and_scaled_and_groups_without_one_left_out():
    assert check_mix(GROUPS, {"b": 0.25, "a": 0.75, "c": 0.0}) == {"a": 0.75, "b": 0.25}
    thirds = check_mix(GROUPS, {"a": 0.333, "b": 0.333, "c": 0.333})
    assert sum(thirds.values()) == pytest.approx(1, abs=1e-15)
    assert check_mix(np.array([1, 2, 2]), {1: 0.5, 2: 0.5}) == {"1": 0.5, "2": 0.5}


@pytest.mark.parametrize(
    ("mix", "sentence"),
    [
        ({"a": 0.5, "b": 0.4}, "these sum to 0.9; divide each by that"),
        ({"a": 0.5, "d": 0.5}, "'d' is no group of the pilot; its groups are a, b, c."),
        ({"a": 1.5, "b": -0.5}, "lies between 0 and 1, but that of a is 1.5"),
        ({"a": "much"}, "but that of a is 'much'"),
        ({"a": float("nan")}, "but that of a is nan"),
        ({}, "a mix gives each group its share"),
        ([0.5, 0.5], "a mix gives each group its share"),
        ({"1": 0.5, 1: 0.5}, "names a group twice"),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused_in_one_sentence(mix, sentence):
    with pytest.raises(ParameterError, match=sentence):
        check_mix(GROUPS, mix)


def test_a_pilot_without_groups_has_no_mix():
    with pytest.raises(ParameterError, match="this pilot has no groups"):
        check_mix(None, {"a": 1})


def test_many_groups_are_not_all_listed():
    with pytest.raises(ParameterError, match=r"are g0, g1, g10, g11, g2 and 7 more\."):
        check_mix(np.array([f"g{i}" for i in range(12)]), {"x": 1})


def test_small_groups_are_refused():
    refuse_small_groups(GROUPS, {"a": 0.5, "b": 0.5})
    with pytest.raises(DataError, match=f"group c has 3 classes in the pilot, .* {FEWEST} of each"):
        refuse_small_groups(GROUPS, {"a": 0.5, "c": 0.5})


def test_only_some_groups():
    pilot, scores = make_pilot((4, 3, 2))
    some = pilot.only_groups("a", "c")
    assert some.class_names.tolist() == [0, 1, 2, 3, 7, 8]
    assert some.groups.tolist() == ["a"] * 4 + ["c"] * 2
    rows = np.flatnonzero(np.isin(pilot.labels, some.class_names))
    lost = [(scores[row, some.class_names] > scores[row, pilot.labels[row]]).sum() for row in rows]
    assert some.losses.tolist() == lost
    with pytest.raises(ParameterError, match="'d' is no group"):
        pilot.only_groups("d")
    with pytest.raises(ParameterError, match="names no group"):
        pilot.only_groups()
    counts = Pilot.from_losses([0, 1], 9, labels=["x", "y"], groups=["a", "b"])
    with pytest.raises(UnsupportedError, match="only counts"):
        counts.only_groups("a")


# -- popularity ------------------------------------------------------------------------------------


def test_groups_are_cut_by_weight_and_their_shares_are_their_weights():
    popularity = np.random.default_rng(0).pareto(1.2, 200) + 0.1
    groups, mix = by_popularity(popularity, n_groups=4, power=0.5)
    weights = np.sqrt(popularity)
    assert set(groups) == set(mix) and sum(mix.values()) == pytest.approx(1)
    for name, share in mix.items():
        assert share == pytest.approx(weights[groups == name].sum() / weights.sum())
    # In order, and about equal.
    edges = [(popularity[groups == g].min(), popularity[groups == g].max()) for g in sorted(mix)]
    assert all(low >= high for (low, _), (_, high) in itertools.pairwise(edges))
    assert max(mix.values()) - min(mix.values()) < 0.05


def test_one_outweighs_all_and_still_every_group_has_enough():
    groups, mix = by_popularity([1e6, *np.ones(30)], n_groups=5)
    assert min(np.unique(groups, return_counts=True)[1]) >= FEWEST and mix["1"] > 0.99
    assert by_popularity(np.ones(FEWEST), n_groups=3)[1] == {"1": 1.0}


def test_without_a_power_the_mix_is_that_of_the_pilot():
    groups, mix = by_popularity(np.arange(1, 41), n_groups=4, power=0)
    names, sizes = np.unique(groups, return_counts=True)
    assert mix == {name: pytest.approx(size / 40) for name, size in zip(names, sizes, strict=True)}


def test_ranks_take_a_negative_power():
    ranks = np.arange(1, 41)
    by_rank, by_count = by_popularity(ranks, power=-1.0), by_popularity(1 / ranks)
    assert by_rank[0].tolist() == by_count[0].tolist()
    assert by_rank[1] == pytest.approx(by_count[1])


@pytest.mark.parametrize(
    ("popularity", "options", "sentence"),
    [
        ([1, 2, 3], {}, "at least 6 numbers above zero"),
        ([1, 2, 3, 4, 5, 0], {}, "at least 6 numbers above zero"),
        (np.ones(9), {"n_groups": 0}, "n_groups"),
        (np.ones(9), {"power": "steep"}, "power must be a number"),
    ],
)
def test_popularity_that_makes_no_sense_is_refused(popularity, options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        by_popularity(popularity, **options)
