"""Sets that hold the pilot's classes: what is forecast of them is right given those classes."""

import numpy as np
import pytest
from scipy.special import betaln

from headcount import forecast, observe, simulate
from headcount.estimators import Extrapolator
from headcount.simulate.theory import IsotropicGaussian

N_DIMS, SIGMA2, WHOLE, K, EACH = 5, 0.2, 250, 50, 60
SIZES = np.array([55, 75, 100])


class Known(Extrapolator):
    """Knows the law of the population, so that nothing but the choice of classes is left."""

    alias, about, cost, advice = "known", "knows", "none", "for tests"

    def _estimate(self, pilot):
        return IsotropicGaussian(N_DIMS, SIGMA2**0.5, None).law()


def log_choose(n, m):
    return -np.log(n + 1) - betaln(n - m + 1, m + 1)


def chance_of_no(losses, n, draws):
    """Chance that none of the draws, of n rivals, is one of those that beat the probe."""
    possible = n - losses >= draws
    free = np.where(possible, n - losses, draws)
    return possible * np.exp(log_choose(free, draws) - log_choose(n, draws))


def truth_given_the_pilots_classes(whole, sizes):
    """Exact mean over all sets that hold the first K classes and others of the whole."""
    beats = whole.beats()
    owner = np.repeat(np.arange(whole.n_probes), np.diff(beats.start))
    early = np.bincount(owner[beats.classes < K], minlength=whole.n_probes)
    late = np.bincount(owner[beats.classes >= K], minlength=whole.n_probes)
    own = whole.labels < K
    values = []
    for k in sizes:
        stay = (early == 0) * chance_of_no(late, WHOLE - K, k - K)
        new = (early == 0) * chance_of_no(late, WHOLE - K - 1, k - K - 1)
        values.append(K / k * stay[own].mean() + (1 - K / k) * new[~own].mean())
    return np.array(values)


@pytest.fixture(scope="module")
def pilots():
    """Errors of the plain forecast and of that for a grown set, and how lucky each pilot is."""
    luck, plain, grown = [], [], []
    for seed in range(60):
        whole = simulate.points_around_classes(
            WHOLE, n_dims=N_DIMS, sigma2=SIGMA2, probes_per_class=EACH, random_state=seed
        ).pilot
        # A third of the probes each for the pilot, its luck and the truth: what probes do by chance
        # is not the classes' doing.
        measured, again, later = (
            whole.keep_probes(np.arange(whole.n_probes) % 3 == part) for part in range(3)
        )
        names = whole.class_names[:K]
        made = forecast(measured.subset(names), classes=SIZES, method=Known(), intervals=False)
        truth = truth_given_the_pilots_classes(later, SIZES)
        luck.append(float(observe(again.subset(names)).accuracy(K) - made.law.accuracy(K)))
        plain.append(made.value(SIZES) - truth)
        grown.append(made.value(SIZES, "grown_set") - truth)
    return np.array(luck), np.array(plain), np.array(grown)


def slopes(luck, errors):
    """Return how much of a pilot's luck is in the errors, with standard errors."""
    centred = luck - luck.mean()
    slope = centred @ errors / (centred @ centred)
    left = errors - errors.mean(axis=0) - np.outer(centred, slope)
    return slope, np.sqrt((left**2).sum(axis=0) / (len(luck) - 2) / (centred @ centred))


def test_given_the_pilots_classes_a_grown_set_is_unbiased_and_the_plain_forecast_is_not(pilots):
    luck, plain, grown = pilots
    for chosen in (luck > np.quantile(luck, 2 / 3), luck < np.quantile(luck, 1 / 3)):
        error = grown[chosen].std(axis=0, ddof=1) / np.sqrt(chosen.sum())
        assert (np.abs(grown[chosen].mean(axis=0)) < 3 * error).all()
        # A lucky pilot stays lucky, by its share of the classes: the plain forecast is too low.
        off = -np.sign(luck[chosen].mean()) * plain[chosen].mean(axis=0)
        assert (off > 0.3 * np.abs(luck[chosen].mean()) * K / SIZES).all()
        assert (off > 3 * plain[chosen].std(axis=0, ddof=1) / np.sqrt(chosen.sum())).all()
    slope, error = slopes(luck, grown)
    assert (np.abs(slope) < 3 * error).all()
    slope, error = slopes(luck, plain)
    assert (slope + 3 * error < 0).all() and (slope < -0.6 * K / SIZES).all()
    spread = [np.sqrt((errors**2).mean(axis=0)) for errors in (plain, grown)]
    assert (spread[1] < 0.75 * spread[0]).all()
