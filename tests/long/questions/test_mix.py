"""Growth in known proportions, beside the truth of a large population."""

import numpy as np
import pytest

from headcount import Pilot, by_popularity, estimators, forecast
from headcount.curves.mixed import MixedObserved, mix_table
from headcount.errors import silence
from headcount.estimators.mixed import Mixed
from headcount.metrics import ACCURACY
from headcount.uncertainty.mixed import MixJackknife
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
        with silence():
            result = forecast(pilot_of(seed), classes=100, mix=MIX, method="probit-normal")
        lower, upper = result.interval(CLASSES)
        inside.append((lower <= truth) & (truth <= upper))
        widths.append(upper - lower)
    assert (np.sum(inside, axis=0) >= 19).all()
    assert (np.mean(widths, axis=0) < [0.25, 0.35, 0.45]).all()


def test_the_jackknife_is_as_large_as_the_spread_over_pilots():
    """500 pilots, 40 of them jackknifed: the ratio of variances has a standard error of 8%."""
    k = np.array([12, 37, 49])
    values, variances = [], []
    for seed in range(500):
        pilot = pilot_of(seed)
        observed = MixedObserved(mix_table(pilot, MIX))
        values.append(observed.value(k))
        if seed < 40:
            variances.append(MixJackknife(pilot, observed, ACCURACY).standard_error(k) ** 2)
    ratio = np.mean(variances, axis=0) / np.var(values, axis=0, ddof=1)
    assert ((ratio > 0.8) & (ratio < 1.4)).all(), ratio


def popular_world(rng, n_classes, per_class):
    """Popular classes lie close together, so that whoever draws them has the harder task."""
    popularity = np.exp(rng.normal(size=n_classes))
    spread = 1 / np.sqrt(1 + popularity)
    centres = spread[:, None] * 1.4 * rng.normal(size=(n_classes, 5))
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + 0.3 * rng.normal(size=(len(labels), 5))
    return popularity, centres, labels, points


def test_priors_by_popularity():
    """True classes and rivals are drawn by popularity from 3,000; the pilots have 200 at random."""
    popularity, centres, labels, points = popular_world(np.random.default_rng(0), 3000, 1)
    share = popularity / popularity.sum()
    whole = Pilot.from_embeddings(points, labels, centres)
    lost, _ = whole.beats().count(share)
    p = lost / (1 - share)
    k = np.array([50, 300])
    truth = share @ (1 - p)[:, None] ** (k - 1)
    uniform = np.mean((1 - whole.losses / 2999)[:, None] ** (k - 1), axis=0)
    assert (uniform - truth > 0.05).all()
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(100 + seed)
        chosen = rng.choice(3000, 200, replace=False)
        rows = np.repeat(np.arange(200), 3)
        probes = centres[chosen][rows] + 0.3 * rng.normal(size=(600, 5))
        groups, mix = by_popularity(popularity[chosen], n_groups=4)
        pilot = Pilot.from_embeddings(probes, rows, centres[chosen], groups=groups)
        errors.append(
            Mixed(method=estimators.ProbitNormal(), mix=mix).fit(pilot).predict(k) - truth
        )
    spread = np.std(errors, axis=0, ddof=1) / np.sqrt(8)
    # What four groups leave: classes inside one are not equally popular.
    assert (np.abs(np.mean(errors, axis=0)) < 0.03 + 3 * spread).all()
    assert (np.abs(np.mean(errors, axis=0)) < (uniform - truth) / 2).all()
