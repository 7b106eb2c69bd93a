import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

from headcount import (
    Pilot,
    forecast,
    observe,
)
from headcount.metrics import ACCURACY
from headcount.uncertainty.asymptotics import metric_error
from headcount.uncertainty.backtest import Backtest, BacktestStep
from headcount.uncertainty.error_model import ErrorModel
from headcount.uncertainty.intervals import (
    NOISE,
    RIDGE,
    Uncertainty,
    assess,
    probe_variance,
)
from interval_pilots import bare, counts, gaussian


@pytest.fixture(scope="module")
def result():
    return forecast(gaussian(), classes=[60, 120], method="probit-normal")


# -- the formulas ----------------------------------------------------------------------------------


PLAIN = ErrorModel(
    growth=1.5, blind_growth=0.7, scale=0.2, power=0.5, doubt=0.3, share=0.4,
    levels=(0.0, 0.9, 1.0), quantiles=(0.0, 2.0, 4.0),
)  # fmt: skip
GRID = np.array([10, 100, 1000])


def make_uncertainty(**changed):
    fields = {
        "n_classes": 100, "n_probes": 500, "grid": GRID,
        "observed_error": np.array([0.1, 0.3, 0.3]), "growth": np.array([0, 0, 0.8]),
        "bias": np.array([0, 0, -0.25]), "class_variance": 9e-4, "probe_variance": 4e-4,
        "probes_per_class": 5.0, "observed": 0.8, "model": PLAIN,
    }  # fmt: skip
    return Uncertainty(**fields | changed)


def around(log_odds, reach):
    """Limits that are symmetric in log(-log(1 - A)), `reach` being of log odds."""
    accuracy = expit(log_odds)
    wrong = -math.log1p(-accuracy)
    ends = math.log(wrong) + reach * accuracy / wrong * np.array([-1, 1])
    return -np.expm1(-np.exp(ends))


def test_band_follows_the_formula():
    x = math.log(10)
    spread = math.sqrt(0.3**2 * math.exp(1.5 * 0.8) + (0.2 * x**0.5) ** 2 + (0.3 * 0.25) ** 2)
    lower, upper = make_uncertainty().band(0.6, 1000, 0.9)
    middle = logit(0.6) + 0.4 * 0.25  # the back-test was too low, so the truth is higher
    np.testing.assert_allclose([lower, upper], around(middle, 2 * spread))
    lower, upper = make_uncertainty(growth=None).band(0.6, 1000, 0.45)  # half of 90%: one deviation
    spread = math.sqrt(0.3**2 * math.exp(1.5 * 0.7 * x) + (0.2 * x**0.5) ** 2 + 0.075**2)
    np.testing.assert_allclose([lower, upper], around(middle, spread))


def jeffreys(accuracy, spread, n_classes):
    """Limits at 90%: as many probes as have the spread, less for Student's t."""
    n = accuracy * (1 - accuracy) / spread**2
    n *= (stats.norm.ppf(0.95) / stats.t(n_classes - 1).ppf(0.95)) ** 2
    return stats.beta(n * accuracy + 0.5, n * (1 - accuracy) + 0.5).ppf([0.05, 0.95])


def test_up_to_the_pilot_limits_are_jeffreys():
    # Nothing learned is in them: with 0.3 for log odds, 0.3 * 0.8 * 0.2 for the accuracy.
    np.testing.assert_allclose(make_uncertainty().band(0.8, 100, 0.9), jeffreys(0.8, 0.048, 100))
    other = PLAIN.__class__(**vars(PLAIN) | {"quantiles": (0.0, 3.0, 4.0)})
    assert make_uncertainty().band(0.8, 100, 0.9) == make_uncertainty(model=other).band(
        0.8, 100, 0.9
    )
    # One error in 5,000 is less than half of one in 500 probes, whose log odds the error is of.
    spread = 0.1 * 0.001 * 0.999
    np.testing.assert_allclose(
        make_uncertainty().band(0.9998, 10, 0.9)[0], jeffreys(0.9998, spread, 100)[0]
    )


def test_between_k_and_twice_k_limits_go_over_in_log_k():
    known = make_uncertainty(growth=np.zeros(3), bias=np.zeros(3))
    near = logit(jeffreys(0.8, float(known.error(141)) * 0.16, 100))
    far = logit(around(logit(0.8), 2 * float(known.error(141))))
    part = math.log2(1.41)
    expected = expit((1 - part) * near + part * far)
    np.testing.assert_allclose(known.band(0.8, 141, 0.9), expected)


@pytest.mark.parametrize("accuracy", [1 - 1e-12, 1 - 1e-5, 1e-5, 1e-12])
def test_just_past_k_limits_go_on_from_those_of_all_right_or_wrong(accuracy):
    """A forecast nearer to one than 500 probes can show is as good as half of one wrong."""
    known = make_uncertainty(growth=np.zeros(3), bias=np.zeros(3), observed_error=np.full(3, 1.4))
    shown = float(np.clip(accuracy, 1e-3, 1 - 1e-3))
    own, plain = known.band(accuracy, 101, 0.9), known.band(shown, 101, 0.9)
    inner = 0 if accuracy > 0.5 else 1  # the other limit is open
    assert own[inner] == pytest.approx(plain[inner], abs=1e-9)
    measured = known.band(round(accuracy), 100, 0.9)[inner]
    assert abs(own[inner] - measured) < 0.01


@given(
    wrong=st.integers(0, 300),
    k=st.integers(2, 400),
    error=st.floats(1e-3, 2),
    confidence=st.floats(0.05, 0.99),
)
def test_limits_hold_the_estimate_and_grow_with_confidence(wrong, k, error, confidence):
    known = make_uncertainty(observed_error=np.full(3, error))
    accuracy = 1 - wrong / 300
    lower, upper = known.band(accuracy, k, confidence)
    assert 0 <= lower <= accuracy <= upper <= 1
    wider = known.band(accuracy, k, confidence + 0.005)
    assert wider[0] <= lower + 1e-12 and wider[1] >= upper - 1e-12


@pytest.mark.parametrize("errors_expected", [0.5, 1.4, 3.0, 10.0])
def test_intervals_of_few_errors_cover_without_waste(errors_expected):
    """No interval from a count covers 90% everywhere: at least 85%, and narrower than exact ones."""
    n, truth = 84, 1 - errors_expected / 84
    covered = width = exact = 0.0
    for wrong in range(n + 1):
        accuracy = 1 - wrong / n
        shown = np.clip(accuracy, 0.5 / n, 1 - 0.5 / n)
        error = math.sqrt(1 / (n * shown * (1 - shown)))
        known = make_uncertainty(n_classes=n, n_probes=n, observed_error=np.full(3, error))
        lower, upper = known.band(accuracy, n, 0.9)
        chance = stats.binom(n, 1 - truth).pmf(wrong)
        covered += chance * (lower <= truth <= upper)
        width += chance * float(upper - lower)
        ends = stats.binomtest(wrong, n).proportion_ci(0.9, "exact")
        exact += chance * (ends.high - ends.low)
    assert covered > 0.85
    assert width < 1.02 * exact  # Student's t adds one hundredth


def test_quantiles_go_over_from_measured_to_learned_between_k_and_twice_k():
    measured = stats.t(99).ppf(0.95)
    found = make_uncertainty().multiplier(0.9, [2, 100, 141, 200, 5000])
    part = math.log2(1.41)
    expected = [measured, measured, measured + part * (2 - measured), 2, 2]
    np.testing.assert_allclose(found, expected)
    few = make_uncertainty(n_classes=2).multiplier(0.9, 2)  # where t would say 6.3
    assert few == pytest.approx(stats.t(6).ppf(0.95))


def test_an_estimate_is_held_even_where_the_back_test_says_it_is_wrong():
    far = make_uncertainty(bias=np.array([0, 0, -9.0]), model=PLAIN)
    lower, upper = far.band(0.6, 1000, 0.01)
    assert lower == 0.6 < upper


def test_between_and_past_the_grid_errors_follow_log_k():
    known = make_uncertainty()
    at = known.sampling([100, 1000])
    assert known.sampling(round(10**2.5)) == pytest.approx(at.mean(), rel=1e-3)
    assert known.sampling(10_000) == pytest.approx(at[1] + (at[1] - at[0]))
    assert known.extrapolation([2, 10, 100]).tolist() == [0, 0, 0]


def test_a_stated_error_goes_on_from_the_pilots_size_whatever_was_measured_there():
    known = make_uncertainty(stated=np.array([0.1, 0.2, 0.4]), bias=np.zeros(3))
    assert known.error(100) == pytest.approx(0.3)  # measured
    between = 0.2 + 0.2 * math.log10(1.01)
    assert known.error(101) == pytest.approx(between)
    assert known.error(1000) == pytest.approx(0.4)


def test_sets_follow_the_formula():
    known = make_uncertainty()
    classes, probes = known.set_variance(np.array(0.5), np.array(400.0), 2)
    # Variance of accuracy: a quarter for four times the classes, 0.25 for 0.16 from A (1 - A),
    # and 5 / 2 for two probes in place of five; over (A (1 - A))^2 for log odds.
    assert float(classes) == pytest.approx(9e-4 / 4 * 0.25 / 0.16 / 0.25**2)
    assert float(probes) == pytest.approx(4e-4 / 4 * 2.5 * 0.25 / 0.16 / 0.25**2)
    sampled = known.sampling(400) ** 2 + known.extrapolation(400) ** 2
    found = known.variance(np.array(0.5), np.array(400.0), "new_set", 2)
    assert float(found) == pytest.approx(sampled + classes + probes)


def test_a_grown_set_is_what_draws_of_classes_and_probes_say():
    # Means of random parts, drawn: the estimate has those of the pilot's classes and its probes,
    # the set those of all its classes and of its own test.
    rng = np.random.default_rng(0)
    n, k, per_class, r = 100, 250, 5, 2
    known = make_uncertainty(
        observed=0.5, observed_error=np.full(3, math.sqrt(13e-4) / 0.25), growth=np.zeros(3),
        bias=np.zeros(3), model=ErrorModel(1, 0, 0, 1, 0, 0, (0.0, 1.0), (0.0, 1.0)),
    )  # fmt: skip
    by_class = rng.normal(0, math.sqrt(9e-4 * n), size=(20_000, k))
    noise = math.sqrt(4e-4 * n * per_class)
    estimate = by_class[:, :n].mean(axis=1) + rng.normal(
        0, noise / math.sqrt(n * per_class), 20_000
    )
    grown = by_class.mean(axis=1) + rng.normal(0, noise / math.sqrt(k * r), 20_000)
    variance = float(known.variance(np.array(0.5), np.array(float(k)), "grown_set", r))
    # A variance over 20,000 draws has a standard error of 1%.
    assert variance * 0.25**2 == pytest.approx(np.var(estimate - grown), rel=0.04)


def test_bias_is_a_line_through_the_steps_of_the_back_test():
    pilot = counts()
    grid = np.array([2, 200, 400, 2000])
    steps = (
        BacktestStep(100, 2.0, (0.7, 0.6), 0.5),
        BacktestStep(40, 5.0, (0.8, 0.5, 0.6), 0.5),
    )
    halves = np.array([[0.9, 0.6, 0.5, 0.3], [0.8, 0.5, 0.4, 0.1], [0.9, 0.4, 0.3, 0.2]])
    known = assess(pilot, Backtest(200, "none", 0.5, steps, grid, halves))
    truth = logit(float(observe(pilot).accuracy(200)))
    rows = [
        (1 / (np.var(logit(s.forecasts)) + NOISE**2), math.log(s.ratio),
         np.mean(logit(s.forecasts)) - truth)
        for s in steps
    ]  # fmt: skip
    slope = sum(w * x * y for w, x, y in rows) / (RIDGE + sum(w * x * x for w, x, _ in rows))
    np.testing.assert_allclose(known.bias, slope * np.log([1, 1, 2, 10]), atol=1e-12)
    spread = logit(halves).var(axis=0, ddof=1)
    np.testing.assert_allclose(known.growth, np.log(spread / spread[1]) * (grid > 200))


def test_up_to_the_pilot_the_error_is_that_of_the_jackknife(result):
    pilot, ks = gaussian(), np.array([2, 60])
    accuracy = observe(pilot).accuracy(ks)
    error = metric_error(pilot, ks) / (accuracy * (1 - accuracy))
    inside = np.clip(accuracy, 0.5 / 180, 1 - 0.5 / 180)
    found = result.uncertainty.sampling(ks)
    assert found[1] == pytest.approx(error[1], rel=1e-9)
    assert found[0] == pytest.approx(
        metric_error(pilot, 2) / (inside[0] * (1 - inside[0])), rel=1e-9
    )


def test_counts_with_labels_vary_by_class():
    # Two probes of each class that are always alike are worth one.
    losses = np.random.default_rng(0).integers(0, 2, 100)
    alone = bare(Pilot.from_losses(losses, 100, labels=np.arange(100)))
    twins = bare(Pilot.from_losses(np.repeat(losses, 2), 100, labels=np.repeat(np.arange(100), 2)))
    strangers = bare(Pilot.from_losses(np.repeat(losses, 2), 100))
    np.testing.assert_allclose(twins.observed_error, alone.observed_error)
    np.testing.assert_allclose(strangers.observed_error, alone.observed_error / math.sqrt(2))
    share = float(observe(Pilot.from_losses(losses, 100)).accuracy(100))
    assert alone.class_variance == pytest.approx(share * (1 - share) / 100)
    assert twins.probe_variance == 0 and twins.told_apart


# -- by simulation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", [0.4, 0.8])
def test_an_error_that_the_method_states_is_the_whole_error(stated):
    known = make_uncertainty(stated=np.array([0.2, 0.2, stated]))
    grown = 0.3 * math.exp(0.75 * 0.8)  # 0.55: cannot be more than the whole
    assert float(known.sampling(1000)) == pytest.approx(min(grown, stated))
    assert float(known.error(1000)) == pytest.approx(math.hypot(stated, 0.3 * 0.25))
    assert float(known.error(100)) == pytest.approx(0.3)  # at the pilot's size: the jackknife's


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_variance_that_probes_bring_by_hand(average):
    # Right are 1 of 1, 1 of 2 and 2 of 3 probes. The spread of a class with one probe is not
    # known: the mean of those of the others, 1/2 and 1/3, stands in.
    labels = [0, 1, 1, 2, 2, 2]
    pilot = Pilot.from_losses([0, 0, 1, 0, 0, 3], 9, labels=labels, average=average)
    spread = {0: 5 / 12, 1: 1 / 2, 2: 1 / 3}
    share = {"macro": (1 / 3, 1 / 3, 1 / 3), "micro": (1 / 6, 2 / 6, 3 / 6)}[average]
    expected = sum(share[c] ** 2 * spread[c] / labels.count(c) for c in range(3))
    assert probe_variance(pilot, ACCURACY) == pytest.approx(expected, rel=1e-12)
