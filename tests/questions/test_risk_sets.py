"""Intervals of risk by kind, and the centre of a set that keeps the pilot's classes."""

import numpy as np
import pytest
from scipy.special import expit, logit, polygamma

import brute_risk
from grown_sets import grown_truth
from headcount import ParameterError, Pilot
from headcount.errors import UnsupportedError
from headcount.questions.risk import as_cost, forecast_risk
from headcount.questions.risk.error_model import MODEL
from headcount.questions.risk.ranks import paid_by_probe
from risk_pilots import small_pilot

Z90 = 1.6448536269514722


@pytest.fixture(scope="module")
def result():
    pilot, cost = small_pilot(per_class=4)
    return forecast_risk(pilot, cost, [60, 400], bandwidth=0.5)


# -- what the pilot's classes are known to differ by ---------------------------------------------


@pytest.mark.parametrize("rule", ["random", "lose", "win"])
def test_what_each_probe_costs(rule):
    scores, labels, cost = brute_risk.small_pilot_parts(4, 6, 30, 3)
    pilot = Pilot.from_scores(scores, labels, tie_rule=rule, higher_is_better=True)
    expected = []
    for row, true in zip(scores, labels, strict=True):
        best = np.flatnonzero(row == row.max())
        rivals = best[best != true]
        if true not in best or (rule == "lose" and len(rivals)):
            expected.append(cost[true, rivals].mean())
        else:
            expected.append(0.0 if rule == "win" else cost[true, best].mean())
    np.testing.assert_allclose(paid_by_probe(pilot, as_cost(cost, pilot)), expected)


def test_part_of_the_classes_in_the_variance(result):
    pilot, cost = small_pilot(per_class=4)
    paid = paid_by_probe(pilot, as_cost(cost, pilot)).reshape(40, 4)
    by_probes = paid.var(axis=1, ddof=1).sum() / 4 / 40**2
    assert result.by_class == pytest.approx(1 - by_probes / result.standard_error(40) ** 2)
    assert 0 < result.by_class < 1


def test_nothing_is_known_of_classes_with_one_probe_each():
    pilot, cost = small_pilot(per_class=1)
    one = forecast_risk(pilot, cost, 60, bandwidth=0.5)
    assert one.by_class is None
    assert one.grown(60) == pytest.approx(float(one.risk(60)))
    wide, plain = (one.interval(60, kind, by="asymptotic") for kind in ("grown_set", "expected"))
    np.testing.assert_allclose(wide, plain)
    right = Pilot.from_scores(np.tile(np.eye(4), (2, 1)), [0, 1, 2, 3] * 2)
    with pytest.warns(match="all 8 probes are right"):
        assert forecast_risk(right, 2 * (1 - np.eye(4)), 8).by_class is None


# -- centres ---------------------------------------------------------------------------------------


def test_grown_sets_keep_their_share_of_the_gap():
    pilot, cost = small_pilot(per_class=4)
    moved = forecast_risk(pilot, cost, 80, approach="unconstrained", degree=2)
    at_pilot = float(moved.fit.risk(40.0))
    gap = float(moved.risk(40)) - at_pilot
    assert abs(gap) > 0.01
    expected = float(moved.fit.risk(80.0)) + moved.by_class * gap / 2
    assert moved.grown(80) == pytest.approx(expected)
    assert moved.grown(40) == pytest.approx(at_pilot + moved.by_class * gap)
    assert moved.grown([[80, 40]]).shape == (1, 2)


def test_grown_truth_is_the_mean_over_all_ways_to_grow():
    # The helper of the long test, against an enumeration.
    import itertools

    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 2)
    scores = rng.normal(size=(12, 6))
    cost = rng.uniform(1, 3, (6, 6)) * (1 - np.eye(6))
    kept = np.isin(np.arange(6), [1, 4])
    for k in (2, 3, 5, 6):
        risks = []
        for others in itertools.combinations([0, 2, 3, 5], k - 2):
            chosen = np.sort([1, 4, *others])
            rows = np.flatnonzero(np.isin(labels, chosen))
            taken = chosen[scores[np.ix_(rows, chosen)].argmax(axis=1)]
            risks.append(cost[labels[rows], taken].mean())
        assert grown_truth(scores, labels, kept, cost, [k])[0] == pytest.approx(np.mean(risks))


def test_smaller_sets_cannot_hold_the_pilot(result):
    for ask in (result.grown, lambda k: result.interval(k, "grown_set")):
        with pytest.raises(ParameterError, match="contains the pilot's 40 classes"):
            ask([39, 60])


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["asymptotic", "calibrated"])
def test_kinds_by_hand(result, by):
    for k in (40, 60, 400):
        stay, part = 40 / k, result.by_class
        factors = {"expected": 1, "new_set": 1 + stay * part, "grown_set": 1 - stay * part}
        for kind, factor in factors.items():
            value = float(result.grown(k) if kind == "grown_set" else result.risk(k))
            error = float(result.standard_error(k)) * np.sqrt(factor)
            most = result.largest_cost
            if by == "asymptotic":
                expected = np.clip([value - Z90 * error, value + Z90 * error], 0, most)
            else:
                share, own = value / most, float(result.risk(40)) / most
                at_pilot = float(result.standard_error(40)) * np.sqrt(factor) / (own * (1 - own))
                odds = max(error / (share * (1 - share)), at_pilot) / most
                start = np.sqrt(polygamma(1, (most / at_pilot) ** 2 + 0.5))
                shape = MODEL.scale * np.log(k / 40) ** MODEL.power * start**MODEL.share
                spread = np.sqrt(polygamma(1, 1 / odds**2 + 0.5) + shape**2)
                expected = most * expit(logit(share) + Z90 * spread * np.array([-1, 1]))
            np.testing.assert_allclose(result.interval(k, kind, by), expected, rtol=1e-9)


def test_one_set_varies_more_than_the_average_and_a_grown_one_less(result):
    for k in (60, 400):
        new, expected, grown = (
            np.subtract(*result.interval(k, kind, by="asymptotic")[::-1])
            for kind in ("new_set", "expected", "grown_set")
        )
        assert new > expected > grown


def test_calibrated_limits_stay_within_what_is_possible(result):
    inside = [10, 40]
    lower, upper = result.interval([80, 4000])
    assert (lower > 0).all() and (upper < result.largest_cost).all()
    for mine, normal in zip(
        result.interval(inside), result.interval(inside, by="asymptotic"), strict=True
    ):
        np.testing.assert_allclose(mine, normal, rtol=0.1)  # up to the pilot's size: as measured


def test_where_nothing_was_wrong_something_may_be():
    scores = np.tile(np.eye(12), (2, 1))
    pilot = Pilot.from_scores(scores, np.tile(np.arange(12), 2))
    cost = 2 * (1 - np.eye(12)) + np.tri(12, k=-1)
    with pytest.warns(match="all 24 probes are right"):
        result = forecast_risk(pilot, cost, [24, 100])
    (lower, upper), half = result.interval([12, 24, 100]), 2.5 / 48
    assert result.interval(1) == (0, 0)
    assert lower.tolist() == [0, 0, 0]
    assert half < upper[0] < upper[1] < upper[2] < 3
    # Half a mistake, whose logarithm has the variance psi'(1/2) = pi^2 / 2.
    expected = 3 * expit(logit(half / 3) + Z90 * np.pi / np.sqrt(2))
    assert upper[0] == pytest.approx(expected)


def test_where_all_is_wrong_something_may_be_right():
    scores = np.random.default_rng(0).random((24, 12))
    labels = np.tile(np.arange(12), 2)
    scores[np.arange(24), labels] = -1
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    with pytest.warns(match="no probe is right"):
        result = forecast_risk(pilot, 2 * (1 - np.eye(12)), 100)
    lower, upper = result.interval([12, 100])
    assert (upper == 2).all() and (lower < 2).all() and (lower > 0.5).all()
    with pytest.warns(match="no probe is right"):
        free = forecast_risk(pilot, np.zeros((12, 12)), 100)
    assert free.interval(100) == (0, 0)


def test_what_is_not_known_is_refused():
    pilot, cost = small_pilot()
    free = forecast_risk(pilot, cost, 80, approach="unconstrained")
    np.testing.assert_array_equal(free.interval(80), free.interval(80, by="asymptotic"))
    with pytest.raises(UnsupportedError, match="approach='regression' only"):
        free.interval(80, by="calibrated")
    with pytest.raises(ParameterError, match="kind must be one of"):
        free.interval(80, "old_set")
    with pytest.raises(ParameterError, match="by must be one of"):
        free.interval(80, by="luck")
    without = forecast_risk(pilot, cost, 80, intervals=False)
    for ask in (without.grown, without.interval):
        with pytest.raises(UnsupportedError, match="no intervals"):
            ask(80)
