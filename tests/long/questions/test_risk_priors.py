"""Random tasks agree with all tasks, by simulation."""

import math

import numpy as np
import pytest

import brute_risk
from headcount import Pilot
from headcount.questions.risk import (
    task_normalised_risk,
)


def small(seed=0, n_classes=6, n_probes=14, **options):
    scores, labels, cost = brute_risk.small_pilot_parts(seed, n_classes, n_probes)
    return Pilot.from_scores(scores, labels, higher_is_better=True, **options), scores, cost


def test_drawn_tasks_agree_with_all_tasks_within_their_error():
    pilot, scores, cost = small(4, 8, 30)
    priors = np.array([3.0, 1, 0.2, 5, 1, 9, 2, 2])
    truth = np.mean(brute_risk.task_risks(scores, pilot.labels, cost, priors, 4, "random"))
    draws = [
        task_normalised_risk(pilot, cost, 4, priors, repeats=60, random_state=seed)
        for seed in range(200)
    ]
    values, errors = np.array(draws).T
    # The mean of 200 draws is within 4 of its standard errors; the spread of 200 values is known
    # to 1 / sqrt(400) = 5 percent, so 4 of those.
    assert abs(values.mean() - truth) < 4 * values.std() / math.sqrt(200)
    assert errors.mean() == pytest.approx(values.std(ddof=1), rel=0.2)
