"""Regressions recover laws, by simulation."""

import numpy as np

from headcount import Favorability, Pilot
from headcount.estimators.regression import (
    Regression,
    SplineRegression,
)
from headcount.estimators.shared.bases import (
    SplineBasis,
    knots,
)
from headcount.simulate.theory import probit_normal_law


def pilot_of(law, n_classes, n_probes, seed):
    """Losses of independent probes whose U follows the law."""
    rng = np.random.default_rng(seed)
    p = rng.choice(law.p, n_probes, p=law.weights)
    return Pilot.from_losses(rng.binomial(n_classes - 1, p), n_classes)


def test_gaussian_basis_recovers_a_probit_mixture():
    law = Favorability(
        np.concatenate([probit_normal_law(1.0, 0.5).p, probit_normal_law(3.0, 0.5).p]),
        np.concatenate(
            [probit_normal_law(1.0, 0.5).weights, 3 * probit_normal_law(3.0, 0.5).weights]
        ),
    )
    fit = Regression().fit(pilot_of(law, 400, 20_000, seed=2))
    np.testing.assert_allclose(fit.predict([400, 4000]), law.accuracy([400, 4000]), atol=0.025)


def test_least_squares_is_unbiased_under_its_model():
    """004, Theorem 3.2: the curve is unbiased and the fit linear; 400 pilots, four standard errors."""
    distances = knots("uniform", 3, 30, 300)
    weights = np.array([0.2, 0.3, 0.5])
    basis = SplineBasis(distances)
    law = basis.law(weights)
    truth = float((basis.accuracy(np.array([60.0])) @ weights)[0])
    method = SplineRegression(constraint="none", n_knots=3)
    found = [float(method.fit(pilot_of(law, 30, 400, seed)).predict(60)) for seed in range(400)]
    error = np.std(found) / 20
    assert abs(np.mean(found) - truth) < 4 * error < 0.02
