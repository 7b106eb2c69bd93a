import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

from headcount import AssumptionWarning, ParameterError, Pilot, UnsupportedError, observe
from headcount.estimators import exponential
from headcount.estimators.exponential import Exponential
from headcount.estimators.shared import curve_fit
from headcount.estimators.shared.curve_fit import chosen_counts, simplex_least_squares


def simulated(u, shares, n_classes, n_probes, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice(u, size=n_probes, p=shares)
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - drawn), n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 128, 129, 300, 5000, 200_000])
def test_a_few_counts_stand_for_the_sum_over_all(n_classes):
    counts, weights = chosen_counts(n_classes)
    every = np.arange(2, n_classes + 1)
    assert counts[0] == 2 and counts[-1] <= n_classes
    assert len(np.unique(counts)) == len(counts) < 500
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(n_classes - 1, rel=1e-12)

    # The shapes that enter: products of exponentials, and observed curves (1 - t / n)^l.
    for kappa in (0.0, 0.3 / n_classes, 7 / n_classes, 0.01, 1.0):
        for losses in (0, 1, 5, 40):

            def curve(t, kappa=kappa, losses=losses):
                return np.exp(-kappa * (t - 1)) * (1 - (t - 1) / n_classes) ** losses

            assert weights @ curve(counts) == pytest.approx(curve(every).sum(), rel=1e-7)


def test_large_panels_are_integrals():
    counts, weights = chosen_counts(10**9)
    assert len(counts) < 700
    # Sum of 1 / t over 2 ... K: harmonic number.
    harmonic = np.log(1e9) + 0.57721566490153286 + 0.5e-9
    assert weights @ (1 / counts) == pytest.approx(harmonic - 1, rel=1e-10)


def by_all_supports(matrix, target, weights):
    """Constrained optimum by trying every set of parts that may be positive."""
    best = (np.inf, None)
    n = matrix.shape[1]
    for size in range(1, n + 1):
        for kept in itertools.combinations(range(n), size):
            part = matrix[:, kept]
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = part.T @ (weights[:, None] * part)
            system[:size, size] = system[size, :size] = 1
            found = np.linalg.solve(system, np.append(part.T @ (weights * target), 1.0))[:size]
            if (found >= -1e-12).all():
                value = weights @ (part @ found - target) ** 2
                if value < best[0] - 1e-15:
                    whole = np.zeros(n)
                    whole[list(kept)] = found
                    best = (value, whole)
    return best[1]


@pytest.mark.parametrize("seed", range(6))
def test_mixtures_are_the_constrained_optimum(seed):
    rng = np.random.default_rng(seed)
    matrix, weights = rng.normal(size=(12, 6)), rng.uniform(0.1, 3, 12)
    target = matrix @ rng.dirichlet(np.ones(6)) + rng.normal(size=12)
    found = simplex_least_squares(matrix, target, weights)
    np.testing.assert_allclose(found, by_all_supports(matrix, target, weights), atol=1e-9)
    # Scaling a fit without the constraint would be something else.
    root = np.sqrt(weights)
    free, _ = nnls(root[:, None] * matrix, root * target)
    assert np.abs(free / free.sum() - found).max() > 1e-3


def test_evenness_is_a_ridge_of_the_constrained_problem():
    rng = np.random.default_rng(1)
    matrix, target, weights = rng.normal(size=(8, 5)), rng.normal(size=8), np.ones(8)
    ridge = rng.uniform(0.1, 1, 5)
    found = simplex_least_squares(matrix, target, weights, ridge)
    more = np.vstack([matrix, np.diag(np.sqrt(ridge))])
    expected = by_all_supports(more, np.append(target, np.zeros(5)), np.ones(13))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_recovers_a_mixture_of_exponentials():
    """The curve's standard error is under 0.001, and 1,000 lies five times beyond K = 200."""
    u, shares = np.array([1.0, 0.999, 0.9]), np.array([0.2, 0.5, 0.3])
    pilot = simulated(u, shares, 200, 400_000, seed=0)
    k = np.array([1, 2, 5, 200, 400, 1000])
    truth = (shares * u ** (k[:, None] - 1)).sum(axis=1)
    # A ridge may cost sqrt(ridge * 100): truth has atoms of half the mass on a grid of 300 nodes.
    for ridge, distance in ((0.0, 5e-5), (1e-8, 1e-3)):
        fit = Exponential(ridge=ridge).fit(pilot)
        np.testing.assert_allclose(fit.predict(k), truth, atol=0.02)
        # The first powers are known exactly: exp(-kappa t) for exp(-kappa (t - 1)) would miss.
        np.testing.assert_allclose(fit.predict([2, 5]), truth[1:3], atol=0.003)
        assert fit.favorability_.weights.sum() == pytest.approx(1, abs=1e-12)
        assert fit.rmse_ < distance


def test_fit_is_least_squares_over_every_k():
    """No mixture drawn at random, nor any step towards one, is closer to the curve."""
    pilot = simulated(np.array([0.999, 0.8]), [0.7, 0.3], 60, 30, seed=2)
    fit = Exponential(ridge=0.0).fit(pilot)
    k = np.arange(2, 61)
    curve, fitted = observe(pilot).accuracy(k), fit.predict(k)
    loss = ((fitted - curve) ** 2).sum()
    assert fit.rmse_ == pytest.approx(np.sqrt(loss / 59), rel=1e-6)
    for kappa in np.concatenate([[0.0], np.geomspace(1e-3 / 59, 40, 500)]):
        direction = np.exp(-kappa * (k - 1)) - fitted
        # At the optimum every direction inside the set leads up; 1e-6 for nodes off the grid.
        assert direction @ (fitted - curve) > -1e-6


def test_few_counts_give_the_fit_of_all(monkeypatch):
    pilot = simulated(np.array([0.9999, 0.99, 0.7]), [0.6, 0.3, 0.1], 3000, 2000, seed=3)
    few = Exponential().fit(pilot).predict([3000, 30_000])
    monkeypatch.setattr(curve_fit, "EVERY", 10**6)
    np.testing.assert_allclose(few, Exponential().fit(pilot).predict([3000, 30_000]), atol=1e-5)


def test_ridge_chooses_among_laws_the_curve_cannot_tell_apart():
    pilot = simulated(np.array([0.999, 0.97]), [0.8, 0.2], 20, 2000, seed=4)
    loose, tight = Exponential(ridge=1e-10).fit(pilot), Exponential(ridge=1e-6).fit(pilot)
    k = np.arange(2, 21)
    np.testing.assert_allclose(loose.predict(k), tight.predict(k), atol=1e-3)
    assert abs(float(loose.predict(400)) - float(tight.predict(400))) > 0.01
    assert (tight.favorability_.weights**2).sum() < (loose.favorability_.weights**2).sum()


def test_finer_grids_mean_the_same(monkeypatch):
    pilot = simulated(np.array([0.999, 0.97]), [0.8, 0.2], 50, 2000, seed=5)
    coarse = Exponential().fit(pilot).predict([50, 500, 5000])
    monkeypatch.setattr(exponential, "_GRID_STEP", 0.02)
    np.testing.assert_allclose(Exponential().fit(pilot).predict([50, 500, 5000]), coarse, atol=2e-3)


def test_among_a_million():
    pilot = simulated(np.array([1 - 1e-7, 1 - 1e-4]), [0.7, 0.3], 1_000_000, 2000, seed=6)
    truth = 0.7 * (1 - 1e-7) ** np.array([1e6, 4e6])
    # One standard error of a share of 2,000 probes is 0.01.
    np.testing.assert_allclose(
        Exponential().fit(pilot).predict([10**6, 4 * 10**6]), truth, atol=0.05
    )


def test_edges_are_finite():
    for losses, accuracy in (([0, 1], 0.5), ([0, 0, 0, 1], 0.75)):
        fit = Exponential().fit(Pilot.from_losses(losses, 2))
        assert float(fit.predict(2)) == pytest.approx(accuracy, abs=1e-3)
        assert 0 <= float(fit.predict(10**9)) <= float(fit.predict(3)) < accuracy
    with pytest.warns(AssumptionWarning, match="all 5 probes are right"):
        fit = Exponential().fit(Pilot.from_losses([0] * 5, 30))
    assert float(fit.predict(30)) == pytest.approx(1, abs=1e-3)
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        fit = Exponential().fit(Pilot.from_losses([29] * 5, 30))
    assert float(fit.predict(2)) == pytest.approx(0, abs=1e-3)


def test_ties_enter_by_the_tie_rule():
    tied = Pilot.from_losses([0, 2, 1], 20, ties=[3, 0, 17], labels=[0, 1, 2])
    rows = [0, 1, 2, 3, *[2] * 4]
    spread = Pilot.from_losses(rows, 20)
    with_two = Pilot.from_losses([0, 2], 20, ties=[3, 0])
    k = [2, 20, 200]
    np.testing.assert_allclose(
        Exponential().fit(with_two).predict(k), Exponential().fit(spread).predict(k), atol=1e-9
    )
    assert np.isfinite(Exponential().fit(tied).predict(k)).all()


def test_what_cannot_be_used_is_refused():
    with pytest.raises(UnsupportedError, match="censored"):
        Exponential().fit(Pilot.from_losses([3, 1], 5, censored=[True, False]))
    for ridge in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="ridge"):
            Exponential(ridge=ridge).fit(Pilot.from_losses([0, 1], 5))
