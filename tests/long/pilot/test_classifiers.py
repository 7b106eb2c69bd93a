"""Cross-validated pilots: what their probes share does not make standard errors too small."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from headcount import Pilot
from headcount.curves.observed import observe
from headcount.metrics import ACCURACY
from headcount.uncertainty.measured import standard_error

N_CLASSES, EACH, N_DIMS, SIGMA = 30, 5, 10, 0.6


def test_the_standard_error_of_a_cross_validated_pilot_is_how_far_it_varies():
    # Over 150 data sets a standard deviation has a standard error of 6%: three of them. Taking all
    # probes for independent, of the same mean, would give 0.025, three quarters of it.
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(N_CLASSES), EACH)
    mixing = rng.normal(size=(N_DIMS, N_DIMS)) / np.sqrt(N_DIMS) + np.eye(N_DIMS)
    values, errors = [], []
    for _ in range(150):
        centres = rng.normal(size=(N_CLASSES, N_DIMS))
        points = centres[labels] + SIGMA * rng.normal(size=(len(labels), N_DIMS)) @ mixing
        pilot = Pilot.from_classifier(LinearDiscriminantAnalysis(), points, labels, cv=5)
        observed = observe(pilot)
        error, shared = standard_error(pilot, observed, np.array([N_CLASSES]), ACCURACY)
        assert shared
        values.append(float(observed.accuracy(N_CLASSES)))
        errors.append(error[0])
    stated, spread = np.sqrt(np.mean(np.square(errors))), np.std(values, ddof=1)
    assert stated == pytest.approx(spread, rel=0.18)
    assert np.sqrt(np.mean(values) * (1 - np.mean(values)) / len(labels)) < 0.82 * spread
