"""Growth in known proportions, beside the truth of a large population."""

import numpy as np
import pytest

from headcount import estimators, forecast
from headcount.curves.mixed import MixedObserved, mix_table
from headcount.estimators.mixed import Mixed
from headcount.metrics import ACCURACY
from headcount.uncertainty.mixed import GroupJackknife
from mixed_pilots import world

MIX = {"a": 0.2, "b": 0.8}
CLASSES = [100, 500, 2000]
PILOT = (60, 40)  # of which a set in the mix holds up to 50


@pytest.fixture(scope="module")
def truth():
    """Mean of populations of 2,000 classes in the mix; its standard error is printed below."""
    values = []
    for seed in range(6):
        whole = world(np.random.default_rng(9000 + seed), 402, 1602, 2)
        values.append(MixedObserved(mix_table(whole, MIX)).value(CLASSES))
    error = np.std(values, axis=0, ddof=1) / np.sqrt(6)
    assert (error < 0.006).all(), error
    return np.mean(values, axis=0)


def pilot_of(seed):
    return world(np.random.default_rng(seed), *PILOT)


@pytest.mark.parametrize("method", ["auto", "probit-normal"])
def test_forecasts_of_a_mix_are_near_the_truth_where_plain_ones_are_not(method, truth):
    estimator = estimators.resolve(method, 0)
    mixed, plain = [], []
    for seed in range(16):
        pilot = pilot_of(seed)
        mixed.append(Mixed(method=estimator, mix=MIX).fit(pilot).predict(CLASSES) - truth)
        plain.append(estimators.resolve(method, 0).fit(pilot).predict(CLASSES) - truth)
    error = np.std(mixed, axis=0, ddof=1) / 4
    assert (np.abs(np.mean(mixed, axis=0)) < 0.03 + 3 * error).all()
    assert (np.mean(plain, axis=0) > 0.05).all()


def test_intervals_hold_the_truth_about_as_often_as_they_say(truth):
    """24 pilots at three sizes: at 90%, fewer than 19 of 24 would come up once in a hundred."""
    inside, widths = [], []
    for seed in range(24):
        result = forecast(
            pilot_of(seed), classes=CLASSES[0], mix=MIX, method="probit-normal", n_jobs=1
        )
        lower, upper = result.interval(CLASSES)
        inside.append((lower <= truth) & (truth <= upper))
        widths.append(upper - lower)
    assert (np.sum(inside, axis=0) >= 19).all()
    assert (np.mean(widths, axis=0) < [0.25, 0.35, 0.45]).all()


def test_the_jackknife_is_as_large_as_the_spread_over_pilots():
    """120 pilots: the ratio of variances has a standard error of 13%."""
    k = np.array([12, 37, 49])
    values, variances = [], []
    for seed in range(120):
        pilot = pilot_of(seed)
        observed = MixedObserved(mix_table(pilot, MIX))
        values.append(observed.value(k))
        variances.append(GroupJackknife(pilot, observed, ACCURACY).standard_error(k) ** 2)
    ratio = np.mean(variances, axis=0) / np.var(values, axis=0, ddof=1)
    assert ((ratio > 0.65) & (ratio < 1.4)).all(), ratio
