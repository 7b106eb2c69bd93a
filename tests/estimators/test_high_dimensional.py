import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from headcount import AssumptionWarning, Pilot, UnsupportedError, observe
from headcount.estimators.high_dimensional import HighDimensional


def limit_accuracy(k, c):
    """The integral of paper 003, §4.3."""
    value, _ = integrate.quad(
        lambda z: norm.pdf(z - c) * np.exp((k - 1) * norm.logcdf(z)), c - 9, c + 9, limit=500
    )
    return value


@pytest.mark.parametrize("n_classes", [3, 20, 1000])
@pytest.mark.parametrize("n_right", [2, 50, 97])
def test_c_solves_the_integral(n_classes, n_right):
    losses = [0] * n_right + [1] * (100 - n_right)
    fit = HighDimensional().fit(Pilot.from_losses(losses, n_classes))
    assert limit_accuracy(n_classes, fit.c_) == pytest.approx(n_right / 100, abs=1e-9)
    for k in (2, 7, 50_000):
        assert float(fit.predict(k)) == pytest.approx(limit_accuracy(k, fit.c_), abs=1e-9)


def test_two_classes_in_closed_form():
    # P(c + Z > Z') = Phi(c / sqrt 2).
    fit = HighDimensional().fit(Pilot.from_losses([0] * 9 + [1], 2))
    assert fit.c_ == pytest.approx(np.sqrt(2) * norm.ppf(0.9), abs=1e-9)
    assert fit.mutual_information_ == pytest.approx(norm.ppf(0.9) ** 2, abs=1e-9)


def test_only_the_accuracy_at_k_counts():
    near, far = Pilot.from_losses([0, 0, 1, 1], 50), Pilot.from_losses([0, 0, 30, 49], 50)
    assert HighDimensional().fit(near).c_ == HighDimensional().fit(far).c_


def test_guessing_holds_no_information():
    # One in ten right among ten classes is chance; fewer is worse, and no information either.
    chance = HighDimensional().fit(Pilot.from_losses([0] + [3] * 9, 10))
    assert chance.c_ == pytest.approx(0, abs=1e-9)
    worse = HighDimensional().fit(Pilot.from_losses([0] + [3] * 30, 10))
    assert worse.c_ < 0 == worse.mutual_information_


def test_recovers_the_mutual_information_of_its_model():
    """Scores of the true class around c, of the others around 0; I = c^2 / 2 by construction."""
    rng = np.random.default_rng(0)
    c, n_probes = 2.5, 20_000
    scores = rng.normal(size=(n_probes, 100))
    labels = np.arange(n_probes) % 100
    scores[np.arange(n_probes), labels] += c
    fit = HighDimensional().fit(Pilot.from_scores(scores, labels))
    # One standard error of the accuracy is 0.0035, and its slope in c about 0.4.
    assert fit.c_ == pytest.approx(c, abs=0.03)
    assert fit.mutual_information_ == pytest.approx(c**2 / 2, abs=0.08)
    assert float(fit.predict(10_000)) == pytest.approx(limit_accuracy(10_000, c), abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 100, 10**6])
@pytest.mark.parametrize("n_probes", [1, 1000])
def test_all_right_and_all_wrong_are_finite(n_classes, n_probes):
    with pytest.warns(AssumptionWarning, match="probes are right"):
        right = HighDimensional().fit(Pilot.from_losses([0] * n_probes, n_classes))
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        wrong = HighDimensional().fit(Pilot.from_losses([1] * n_probes, n_classes))
    half = 0.5 / (n_probes + 1)
    assert float(right.predict(n_classes)) == pytest.approx(1 - half, abs=1e-9)
    assert float(wrong.predict(n_classes)) == pytest.approx(half, abs=1e-9)
    assert right.favorability_.asymptote == 0


def test_ties_count_as_the_tie_rule_says():
    pilot = Pilot.from_losses([0, 0, 4], 30, ties=[1, 0, 2])
    fit = HighDimensional().fit(pilot)
    assert float(fit.predict(30)) == pytest.approx(0.5, abs=1e-9)  # (1/2 + 1 + 0) / 3
    assert float(observe(pilot).accuracy(30)) == pytest.approx(0.5)


def test_censored_probes_are_refused():
    with pytest.raises(UnsupportedError, match="censored"):
        HighDimensional().fit(Pilot.from_losses([3, 1], 5, censored=[True, False]))
