"""Intervals and errors that hold where classes come in families, by simulation."""

import numpy as np
import pytest

from headcount import Pilot, forecast, observe
from headcount.simulate import near_duplicates
from headcount.uncertainty.jackknife import metric_covariance

pytestmark = pytest.mark.filterwarnings("ignore::headcount.errors.HeadcountWarning")
SIZES = [150, 300, 3000]


@pytest.fixture(scope="module")
def truth():
    return near_duplicates(150, random_state=99).truth(SIZES)


def inside(pilot, truth):
    """Whether the 90% intervals of a forecast hold the truth."""
    lower, upper = forecast(pilot, classes=SIZES, method="probit-normal").interval(SIZES)
    return (lower <= truth) & (truth <= upper)


def test_intervals_hold_where_families_are_named(truth):
    """Of 24, fewer than 17 would be rarer than 1 in 100 at 85%."""
    held = [inside(near_duplicates(150, random_state=s).pilot, truth) for s in range(24)]
    assert (np.sum(held, axis=0) >= 17).all(), np.mean(held, axis=0)


def test_without_families_forecasts_are_wrong(truth):
    """Relatives are taken for what all classes are like."""
    for seed in range(4):
        pilot = near_duplicates(150, random_state=seed).pilot
        assert not inside(pilot.with_groups(None), truth)[-1]


def test_the_truth_is_that_of_whole_families(truth):
    """The mean over pilots of 150 classes, which end in a family that was cut.

    40 pilots with a standard deviation of 0.025 have a mean with a standard error of 0.004.
    """
    right = [near_duplicates(150, random_state=seed).pilot.right.mean() for seed in range(40)]
    assert np.mean(right) == pytest.approx(truth[0], abs=0.015)


def test_the_error_is_that_of_families_drawn_anew():
    """The spread over 150 pilots has a standard error of 6%; classes one by one say a third less.

    60 pilots (seeds 0 to 59) spread by 0.0252; the jackknife says 0.0226 of groups and 0.0180 of
    classes at K, and 0.0227 and 0.0040 at 12 classes.
    """
    values, by_group = [], []
    for seed in range(150):
        pilot = near_duplicates(150, random_state=seed).pilot
        values.append(observe(pilot).accuracy([12, 150]))
        by_group.append(np.diag(metric_covariance(pilot, [12, 150])))
    spread, said = np.std(values, axis=0, ddof=1), np.sqrt(np.mean(by_group, axis=0))
    assert said == pytest.approx(spread, rel=0.2)


def test_the_error_is_that_inside_strata():
    """The spread over 100 pilots has a standard error of 7%; without strata it says 37% too much."""
    values, said, plain = [], [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        centres, stratum = rng.normal(size=(100, 6)), np.repeat([0, 1], 50)
        labels = np.repeat(np.arange(100), 3)
        noise = np.where(stratum == 0, 0.25, 0.7)[labels][:, None]
        probes = centres[labels] + noise * rng.normal(size=(len(labels), 6))
        pilot = Pilot.from_embeddings(probes, labels, centres, groups=stratum, drawn="strata")
        values.append(observe(pilot).accuracy(100))
        said.append(metric_covariance(pilot, 100).item())
        plain.append(metric_covariance(pilot.with_groups(None), 100).item())
    spread = np.std(values, ddof=1)
    assert np.sqrt(np.mean(said)) == pytest.approx(spread, rel=0.2)
    assert np.sqrt(np.mean(plain)) > 1.2 * spread
