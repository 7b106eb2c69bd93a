"""Sets that hold the pilot's classes: against sums over nodes, draws of classes, closed forms."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from headcount import Favorability, ParameterError, Pilot, UnsupportedError, forecast, observe
from headcount.curves.grown import grown_value
from headcount.curves.predicted import PredictedCurve
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Top
from headcount.simulate.theory import probit_normal_law, uniform_law

NODES = [0.0, 0.02, 0.2, 0.7, 1.0]
SHARES = [0.1, 0.3, 0.3, 0.2, 0.1]


def by_hand(rows, n_rivals, k, m, p=NODES, shares=SHARES):
    """Bayes' rule at each node, and the chance there that fewer than m - l newcomers win."""
    n_classes, total = n_rivals + 1, 0.0
    for losses, weight in rows:
        after = [w * binom.pmf(losses, n_rivals, q) for q, w in zip(p, shares, strict=True)]
        stays = [binom.cdf(m - losses - 1, k - n_classes, q) for q in p]
        total += weight * sum(a * s for a, s in zip(after, stays, strict=True)) / sum(after)
    new = sum(w * binom.cdf(m - 1, k - 1, q) for q, w in zip(p, shares, strict=True))
    return n_classes / k * total + (k - n_classes) / k * new


@pytest.mark.parametrize("m", [1, 2, 3, 9])
def test_every_node_has_its_say(m):
    pilot = Pilot.from_losses([0, 0, 1, 2, 7], 9, ties=[0, 2, 0, 0, 0])
    rows = [(0, 4 / 15), (1, 4 / 15), (2, 4 / 15), (7, 1 / 5)]  # a probe that ties with two: 0 to 2
    law = Favorability(NODES, SHARES)
    found = grown_value(observe(pilot), law, [9, 10, 13, 200], Top(m))
    expected = [by_hand(rows, 8, k, m) for k in (9, 10, 13, 200)]
    assert found == pytest.approx(expected, abs=1e-12)
    assert found[0] == pytest.approx(float(observe(pilot).top(m, 9)))


def test_each_newcomer_is_met_as_often_as_drawn():
    """Probes with their own U, drawn until they have their losses, and grown sets drawn after."""
    rng = np.random.default_rng(0)
    p, shares, n_rivals, k = np.array([0.01, 0.1, 0.4]), [0.5, 0.3, 0.2], 9, 25
    chances = rng.choice(p, 400_000, p=shares)
    losses = rng.binomial(n_rivals, chances)
    later = losses + rng.binomial(k - 10, chances)
    new = rng.binomial(k - 1, rng.choice(p, 400_000, p=shares))
    law = Favorability(p, shares)
    for own in ([0, 0, 1], [1, 2, 2], [0, 5, 9]):  # nothing like the law: the pilot has its luck
        observed = observe(Pilot.from_losses(own, 10))
        for m in (1, 3):
            stay = np.mean([(later[losses == lost] < m).mean() for lost in own])
            expected = 10 / 25 * stay + 15 / 25 * (new < m).mean()
            # A share of the rarest losses, some 200 of 400,000 probes, has an error of 0.03 / 3.
            assert grown_value(observed, law, k, Top(m)) == pytest.approx(expected, abs=0.006)


def test_accuracy_is_the_laws_but_for_the_gap_at_the_pilot():
    law = Favorability(NODES, SHARES)
    observed = observe(Pilot.from_losses([0, 0, 0, 1], 20))
    k = np.array([20, 21, 40, 1000])
    fitted, at_pilot = law.accuracy(k), float(law.accuracy(20))
    expected = fitted + 20 / k * (0.75 - at_pilot) * fitted / at_pilot
    assert grown_value(observed, law, k) == pytest.approx(expected)


def test_a_guess_that_beat_all_so_far_by_the_closed_form():
    # Given no losses among n, U has the law Beta(n + 1, 1), and E[U^s] is (n + 1) / (n + s + 1).
    observed = observe(Pilot.from_losses([0, 0, 3], 20))
    k = np.array([20, 30, 100])
    expected = 20 / k * (2 / 3 * 20 / k) + (1 - 20 / k) / k
    assert grown_value(observed, uniform_law(), k) == pytest.approx(expected, rel=1e-5)
    after = uniform_law().given(3, 19)  # Beta(17, 4)
    assert after.reversed_auc == pytest.approx(17 / 21, rel=1e-5)


@pytest.mark.parametrize("m", [1, 4])
def test_a_pilot_that_is_as_the_law_has_it_changes_nothing(m):
    law = Favorability(NODES, SHARES)
    chances = sum(w * binom.pmf(np.arange(30), 29, q) for q, w in zip(NODES, SHARES, strict=True))
    k = np.array([30, 31, 60, 10_000])
    grown = sum(
        chance * Top(m).of_grown(np.array([lost]), np.ones(1), 29, law, k - 30)
        for lost, chance in enumerate(chances)
        if chance > 0
    )
    assert grown == pytest.approx(law.top(m, k), abs=1e-12)


def test_lists_that_were_cut_are_taken_in_the_middle():
    law = Favorability(NODES, SHARES)
    cut = observe(Pilot.from_losses([0, 0, 1], 10, censored=[False, True, True]))
    least, most = (observe(Pilot.from_losses(losses, 10)) for losses in ([0, 9, 9], [0, 0, 1]))
    for metric in (ACCURACY, Top(2)):
        ends = [grown_value(observed, law, [10, 15, 90], metric) for observed in (least, most)]
        found = grown_value(cut, law, [10, 15, 90], metric)
        assert found == pytest.approx(np.mean(ends, axis=0))


def test_what_the_law_rules_out_is_taken_as_it_was_seen():
    sure = Favorability([0.0], [1.0])
    assert (sure.given(2, 8).p.tolist(), sure.given(2, 8).weights.tolist()) == ([0.25], [1.0])
    assert sure.given(0, 8).p.tolist() == [0.0]
    hopeless = Favorability([1.0], [1.0])
    assert hopeless.given(8, 8).p.tolist() == [1.0] and hopeless.given(0, 8).p.tolist() == [0.0]
    observed = observe(Pilot.from_losses([0, 2], 9))
    assert grown_value(observed, sure, 18, Top(3)) == pytest.approx(
        0.5 * (0.5 + 0.5 * 0.75**9) + 0.5
    )


def test_among_very_many_classes_and_rivals_nothing_overflows():
    law = Favorability([1e-300, 1e-9, 1e-3, 0.5], [0.2, 0.3, 0.3, 0.2])
    observed = observe(Pilot.from_losses([0, 3, 10**6], 10**8))
    found = grown_value(observed, law, [10**8, 10**15], Top(5))
    assert np.isfinite(found).all() and found[0] == pytest.approx(2 / 3)
    after = law.given(10**6, 10**8 - 1)
    assert after.p.tolist() == [1e-3]


# -- as a forecast has it --------------------------------------------------------------------------


class Fixed(Extrapolator):
    """Says the same of every pilot, so that it misses what was measured."""

    alias, about, cost, advice = "fixed", "one law", "none", "for tests"

    def _estimate(self, pilot):
        return probit_normal_law(2.5, 1.0)


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(3)
    losses = rng.binomial(49, rng.beta(0.2, 3, 200))
    pilot = Pilot.from_losses(losses, 50, labels=np.arange(200) % 50)
    return forecast(pilot, classes=50, method=Fixed())


def test_value_table_and_interval_move_together(made):
    k = [50, 60, 100, 5000]
    value = made.value(k, "grown_set")
    assert value == pytest.approx(grown_value(made.observed, made.law, k))
    assert abs(value[1] - made.value(60)) > 0.005
    assert type(made.value(100, "grown_set")) is float
    assert made.value(k, "new_set").tolist() == made.value(k).tolist()
    table = made.table(k, kind="grown_set")
    lower, upper = made.interval(k, "grown_set")
    assert table.value.tolist() == value.tolist()
    assert (table.lower.tolist(), table.upper.tolist()) == (lower.tolist(), upper.tolist())
    assert (lower < value).all() and (value < upper).all()
    # At the pilot's own size it is what was measured; past it, it goes on from there.
    assert value[0] == pytest.approx(made.value(50))
    assert abs(float(made.value(51, "grown_set")) - value[0]) < abs(made.value(51) - value[0])


def test_a_grown_set_survives_json(made):
    from headcount import Forecast

    again = Forecast.from_json(made.to_json())
    for k in (50, 75, 400):
        assert again.value(k, "grown_set") == made.value(k, "grown_set")
        assert again.interval(k, "grown_set") == made.interval(k, "grown_set")


def test_a_metric_of_the_best_five_grows_too():
    rng = np.random.default_rng(3)
    pilot = Pilot.from_losses(rng.binomial(49, rng.beta(0.2, 3, 200)), 50)
    made = forecast(pilot, classes=100, method="high-dimensional", metric="top-5", intervals=False)
    expected = grown_value(made.observed, made.law, 100, Top(5))
    assert made.value(100, "grown_set") == pytest.approx(float(expected))
    assert made.interval(100, "grown_set") is None


def test_what_cannot_grow_is_refused(made):
    with pytest.raises(ParameterError, match="contains the pilot's 50 classes"):
        made.value(49, "grown_set")
    with pytest.raises(ParameterError, match="kind must be one of"):
        made.table(60, kind="grown")
    pilot = Pilot.from_losses([0, 0, 1, 4] * 10, 50)
    bare = forecast(pilot, classes=100, method="log-linear", intervals=False)
    assert isinstance(bare.law, PredictedCurve)
    for ask in (bare.value, bare.table):
        with pytest.raises(UnsupportedError, match=r"no law of favorability.*grown_set"):
            ask(100, kind="grown_set")
    assert not math.isnan(bare.value(100, "new_set"))
