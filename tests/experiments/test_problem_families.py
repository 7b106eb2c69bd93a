"""Which random recognition problems are drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.problems import problems
from experiments.problems.families import SCORES, Problem
from headcount.errors import ParameterError

pytest.importorskip("torch")


def test_seed_and_family_decide_the_problem():
    assert problems.draw(7) == problems.draw(7)
    assert problems.draw(7) != problems.draw(8)
    sized = problems.draw(7, n_classes=33, probes_per_class=4)
    assert replace(problems.draw(7), n_classes=33, probes_per_class=4) == sized


def test_problems_survive_json():
    for family in problems.FAMILIES:
        drawn = problems.draw(5, family=family)
        assert Problem.from_dict(json.loads(json.dumps(drawn.to_dict()))) == drawn
    with pytest.raises(ParameterError, match="'colour'"):
        Problem.from_dict({"colour": 1})


def test_held_out_families_are_drawn_only_by_name():
    assert not set(problems.HELD_OUT) & set(problems.TRAINING)
    drawn = [problems.draw(seed) for seed in range(600)]
    counts = {name: sum(one.family == name for one in drawn) for name in problems.FAMILIES}
    assert all(counts[name] == 0 for name in problems.HELD_OUT)
    expected = [600 * share for share in problems.SHARES.values()]
    assert stats.chisquare([counts[name] for name in problems.SHARES], expected).pvalue > 1e-3
    # What marks the held-out ones occurs nowhere else.
    assert all(one.latent_dims == 0 and one.branching == () for one in drawn)
    assert all(one.score in SCORES for one in drawn)


def test_families_have_what_marks_them():
    marks = {
        "parts": lambda one: one.n_parts > 1 < one.n_letters and one.population == "normal",
        "templates": lambda one: one.gallery_rows > 0,
        "twins": lambda one: one.twin_share >= 0.1,
        "hubs": lambda one: one.hub_spread >= 0.1,
        "spoiled": lambda one: one.impossible_share >= 0.02,
        "mixed": lambda one: one.hard_share > 0 and one.hard_factor > 1,
        "clustered": lambda one: one.n_groups > 1 and one.population == "clustered",
        "sparse": lambda one: (
            one.population == "sparse" and one.n_dims >= 30 and one.density < 0.31
        ),
        "plain": lambda one: one.n_dims <= 15 and one.gallery_rows == one.class_spread == 0,
        "tree": lambda one: len(one.branching) == 3 and one.population == "clustered",
        "manifold": lambda one: 2 <= one.latent_dims < one.n_dims,
        "topics": lambda one: one.score == "likelihood",
    }
    for family in problems.FAMILIES:
        marked = marks.get(family, lambda one: one.population == one.family)
        assert all(marked(problems.draw(seed, family=family)) for seed in range(60)), family


def test_a_quarter_of_codes_are_binary():
    drawn = [problems.draw(seed, family="parts") for seed in range(400)]
    assert np.mean([one.n_letters == 2 for one in drawn]) == pytest.approx(0.25, abs=0.09)
    assert {one.n_parts for one in drawn if one.n_letters == 2} == set(range(12, 25))


def test_targets_reach_from_hardly_any_right_to_hardly_any_wrong():
    targets = np.array([problems.draw(seed).target for seed in range(600)])
    assert targets.min() >= 0.05 and targets.max() < 1
    # 20% lie above 1 - 10^-1.5 evenly in the logarithm, the rest evenly up to 0.98.
    for share, expected in (
        ((targets > 0.999).mean(), 0.2 * (4 - 3) / (4 - 1.5)),
        ((targets < 0.2).mean(), 0.8 * 0.15 / 0.93),
    ):
        assert share == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 600))


def test_moderate_problems_leave_out_what_is_far_off():
    drawn = [problems.draw(seed, moderate=True) for seed in range(300)]
    assert all(0.2 <= one.target <= 0.99 and one.warp == 0 for one in drawn)
    assert all(max(one.class_spread, one.probe_spread) <= 0.6 for one in drawn)
    assert all(one.family != "sparse" and one.impossible_share <= 0.3 for one in drawn)
    assert {one.family for one in drawn} == set(problems.TRAINING) - {"sparse"}


def test_sizes_are_spread_on_a_log_scale():
    drawn = [problems.draw(seed) for seed in range(600)]
    sizes = np.array([one.n_classes for one in drawn])
    assert sizes.min() >= 20 and sizes.max() <= 600
    assert stats.kstest(np.log(sizes / 20) / np.log(30), "uniform").pvalue > 1e-3
    assert {one.probes_per_class for one in drawn} == set(range(1, 11))
    dims = [one.n_dims for one in drawn]
    assert min(dims) == 2 and max(dims) > 100
