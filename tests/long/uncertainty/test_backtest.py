"""What a back-test finds of the right model, a naive one and the default, by simulation."""

import itertools
import math

import numpy as np
import pytest

from headcount import observe, simulate
from headcount.uncertainty.backtest import backtest


@pytest.fixture(scope="module")
def pilot():
    return simulate.isotropic_gaussian(100, sigma=0.5, random_state=1).pilot


def test_the_right_model_is_nearly_unbiased_and_a_naive_one_is_not():
    # Halves share the noise of their pilot, sqrt(0.24 / 500) = 0.02: two of those.
    big = simulate.isotropic_gaussian(500, sigma=0.5, random_state=3).pilot
    good = backtest(big, repeats=10).steps[0]
    naive = backtest(big, method="no-change", repeats=10).steps[0]
    assert abs(good.bias) < 0.04
    # It says what half the classes gave: the fall from 250 to 500 is all its bias.
    fall = float(observe(big).accuracy(250) - observe(big).accuracy(500))
    assert naive.bias == pytest.approx(fall, abs=4 * naive.spread / math.sqrt(10))
    assert naive.bias > 2 * abs(good.bias)


def test_coverage_is_high_for_the_right_model_and_none_for_a_naive_one():
    # 2,000 probes: what no-change misses is far more than noise.
    pilot = simulate.points_around_classes(200, sigma2=0.3, random_state=0).pilot
    right = backtest(pilot, method="probit-normal")
    # 10 or 20 forecasts a step, nominally 90%, from subsets that overlap.
    assert all(step.coverage >= 0.6 for step in right.steps)
    wrong = backtest(pilot, method="no-change")
    assert [step.coverage for step in wrong.steps] == [0, 0, 0, 0]
    assert "coverage" in right.to_csv().splitlines()[0]


def test_coverage_of_the_default_is_about_what_it_says():
    # Forecasts from a tenth of the classes err nearly as those from another pilot would. Shares of
    # 14 pilots with 8 subsets each, which overlap: a standard error of 0.04 and 0.06.
    tenth = {0.9: [], 0.5: []}
    for seed, level in itertools.product(range(14), tenth):
        pilot = simulate.isotropic_gaussian(
            120, n_dims=10, sigma=0.6, probes_per_class=2, random_state=seed
        ).pilot
        found = backtest(pilot, repeats=8, confidence=level, random_state=seed)
        tenth[level].append(found.steps[-1].coverage)
    assert np.mean(tenth[0.9]) == pytest.approx(0.9, abs=0.1)
    assert np.mean(tenth[0.5]) == pytest.approx(0.5, abs=0.15)
