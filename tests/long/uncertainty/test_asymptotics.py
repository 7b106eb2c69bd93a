"""Standard errors are those of simulated pilots."""

import numpy as np
import pytest

from headcount import Pilot
from headcount.questions.risk import as_cost, observed_risk
from headcount.questions.risk.covariance import curve_covariance, risk_jackknife
from headcount.uncertainty.asymptotics import (
    expected_sup_error_bound,
    fit_sensitivity,
    pass_on,
    sup_error,
)


def round_world(rng, n_classes, per_class=1, n_dims=5, sigma=0.4):
    centres = rng.normal(size=(n_classes, n_dims))
    labels = np.repeat(np.arange(n_classes), per_class)
    probes = centres[labels] + sigma * rng.normal(size=(len(labels), n_dims))
    scores = 2 * probes @ centres.T - (centres**2).sum(axis=1)
    families = centres[:, 0] > 0  # a fixed region: classes stay independent
    cost = np.where(families[:, None] == families, 1.0, 4.0) * (1 - np.eye(n_classes))
    return Pilot.from_scores(scores, labels, higher_is_better=True), cost


@pytest.mark.parametrize(("n_dims", "sigma", "hierarchy"), [(5, 0.4, True), (1, 0.3, False)])
def test_standard_errors_say_how_much_the_curve_varies(n_dims, sigma, hierarchy):
    # 800 pilots tell their spread to 1 / sqrt(1600) = 2.5%; every tenth gives standard errors, whose
    # mean is known better than that. The excess left over is a few per cent at most
    # (experiments/coverage/asymptotics.py), so that 10% is a bound with room. The jackknife without the
    # correction fails it.
    k = np.array([2, 20, 60, 100, 140, 180])
    risks, found, plain = [], [], []
    for seed in range(800):
        pilot, tree = round_world(np.random.default_rng([7, seed]), 200, 1, n_dims, sigma)
        cost = as_cost(tree if hierarchy else "zero-one", pilot)
        risks.append(observed_risk(pilot, cost, k))
        if seed % 10 == 0:
            jackknife = risk_jackknife(pilot, cost)
            found.append(np.diag(jackknife.covariance(k)))
            plain.append(199 * 199 / 200 * jackknife.without_one(k).var(axis=0))
    spread = np.std(risks, axis=0, ddof=1)
    assert np.sqrt(np.mean(found, axis=0)) == pytest.approx(spread, rel=0.10)
    assert np.sqrt(np.mean(plain, axis=0))[-1] > 1.15 * spread[-1]


def test_theorem_3_2_and_eq_18():
    # U uniform, so that Kbar(u) = u is in the model u, u^2; unconstrained least squares on k <= 10.
    # 200 squared lengths, whose relative spread is about sqrt(2), have a mean known to 10%.
    def powers(k):
        return (k[:, None] - 1) / (k[:, None] - 1 + np.array([1.0, 2.0]))

    k = np.arange(2.0, 11.0)
    slope = fit_sensitivity(powers(k), np.ones(9))
    squares, errors, covariances = [], [], []
    labels = np.arange(100)
    for seed in range(200):
        rng = np.random.default_rng([8, seed])
        place, p = rng.random(100), rng.random(100)
        scores = (1 - (place + p)[:, None] + place) % 1.0
        scores[labels, labels] = 1 - p
        pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
        gap = slope @ observed_risk(pilot, "zero-one", k) - [1.0, 0.0]
        squares.append(gap @ gap)
        errors.append(sup_error(powers, gap) ** 2)
        covariances.append(pass_on(slope, curve_covariance(pilot, "zero-one", k)))
    mean = np.mean(covariances, axis=0)
    assert np.trace(mean) == pytest.approx(np.mean(squares), rel=0.2)
    assert np.sqrt(np.mean(errors)) <= expected_sup_error_bound(mean)
