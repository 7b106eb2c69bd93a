"""Risk of tasks with priors of their own, beyond the pilot: against its truth."""

import numpy as np
import pytest

from headcount import Pilot
from headcount.questions.risk import forecast_risk, task_normalised_risk

K, TARGET, REPEATS = 30, 150, 150
OPTIONS = {"approach": "unconstrained", "basis": [np.ones_like], "intervals": False}


def draw_priors(rng, shape):
    return rng.gamma(0.8, 1, shape) + 0.02


def costs(priors):
    return np.where(priors > 1.0, 3.0, 1.0)


def never_right(seed):
    """A pilot in which every probe is a mistake, and mistakes about frequent classes are dear."""
    rng = np.random.default_rng(seed)
    priors = draw_priors(rng, K)
    scores = rng.random((K, K))
    np.fill_diagonal(scores, -1)
    cost = costs(priors)[:, None] * (1 - np.eye(K))
    return Pilot.from_scores(scores, np.arange(K), higher_is_better=True), cost, priors


def mean_cost(priors):
    return (priors * costs(priors)).sum(axis=1) / priors.sum(axis=1)


@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
def test_normalising_takes_away_the_bias_of_plain_priors():
    # The risk is the mean cost by the task's own priors, so nothing but these matters. With plain
    # priors, a pilot's sum of them is that of one task of 30: frequent classes count for too little
    # in tasks of 150. 150 pilots show what is added; 200,000 tasks what is missing.
    gains = []
    for seed in range(REPEATS):
        pilot, cost, priors = never_right(seed)
        plain = forecast_risk(pilot, cost, TARGET, priors=priors, **OPTIONS)
        assert plain.risk(TARGET) == pytest.approx(mean_cost(priors[None])[0])
        normalised, error = task_normalised_risk(pilot, cost, TARGET, priors, **OPTIONS)
        assert np.isnan(error)  # no intervals were asked for
        gains.append(normalised - float(plain.risk(TARGET)))
    drawn = draw_priors(np.random.default_rng(99), (200_000, TARGET))
    missing = mean_cost(drawn) - mean_cost(drawn[:, :K])
    bias, error = missing.mean(), np.hypot(missing.std() / 447, np.std(gains) / 12)
    assert bias > 10 * error
    assert abs(np.mean(gains) - bias) < 3 * error + 0.2 * bias  # what is left is of second order
