import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import brute_risk
from headcount import ParameterError, Pilot, observe
from headcount.questions.risk import forecast_risk, observe_risk, observed_risk

RULES = ("random", "lose", "win")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
def test_risk_is_the_mean_over_all_sub_tasks(n_classes, rule):
    scores, labels, cost = brute_risk.small_pilot_parts(n_classes, n_classes, 10)
    pilot = Pilot.from_scores(scores, labels, tie_rule=rule, higher_is_better=True)
    found = observed_risk(pilot, cost)
    expected = [
        brute_risk.risk(scores, labels, cost, pilot.weights, k, rule)
        for k in range(2, n_classes + 1)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_risk_with_priors_is_the_mean_over_all_sub_tasks(seed):
    rng = np.random.default_rng(seed)
    scores, labels, cost = brute_risk.small_pilot_parts(seed, 7, 12)
    priors = rng.gamma(0.5, 1, 7) + 0.01
    rule, average = RULES[seed % 3], ("macro", "micro")[seed % 2]
    pilot = Pilot.from_scores(scores, labels, tie_rule=rule, average=average, higher_is_better=True)
    probes = np.bincount(labels, minlength=7)
    weights = priors[labels] / probes[labels]
    weights /= weights.sum()
    for k in (2, 4, 7):
        expected = brute_risk.risk(scores, labels, cost, weights, k, rule)
        assert float(observed_risk(pilot, cost, k, priors=priors)) == pytest.approx(expected)


def test_micro_average_weighs_probes_alike():
    scores, labels, cost = brute_risk.small_pilot_parts(9, 5, 11)
    pilot = Pilot.from_scores(scores, labels, average="micro", higher_is_better=True)
    expected = brute_risk.risk(scores, labels, cost, np.full(11, 1 / 11), 3, "random")
    assert float(observed_risk(pilot, cost, 3)) == pytest.approx(expected, rel=1e-12)


def test_every_form_of_a_cost_gives_the_same_risk():
    rng = np.random.default_rng(10)
    scores, labels, _ = brute_risk.small_pilot_parts(10, 20, 60, 9)
    names = [f"c{i:02}" for i in range(20)]
    pilot = Pilot.from_scores(
        scores, [names[i] for i in labels], class_names=names, higher_is_better=True
    )
    place = rng.normal(size=20)  # squared distances: a product of rank three
    left = np.column_stack([place**2, -2 * place, np.ones(20)])
    right = np.column_stack([np.ones(20), place, place**2])
    dense = (place[:, None] - place) ** 2
    where = dict(zip(names, place, strict=True))
    forms = [
        dense.astype(np.longdouble),
        dense.tolist(),
        sparse.csr_array(dense),
        sparse.coo_matrix(dense),
        (left, right),
        lambda true, taken: (where[true] - where[taken]) ** 2,
    ]
    expected = observed_risk(pilot, dense)
    assert expected[-1] > 0.1
    for form in forms:
        np.testing.assert_allclose(observed_risk(pilot, form), expected, rtol=1e-9)


@pytest.mark.parametrize("form", ["sparse", "pair"])
def test_a_sparse_or_low_rank_cost_is_never_held_in_full(form):
    size = 3000
    rng = np.random.default_rng(12)
    pilot = Pilot.from_scores(rng.normal(size=(8, size)), range(8), class_names=range(size),
                              higher_is_better=True)  # fmt: skip
    place = rng.normal(size=size)
    pair = (np.column_stack([place**2, -2 * place, np.ones(size)]),
            np.column_stack([np.ones(size), place, place**2]))  # fmt: skip
    next_door = sparse.diags_array(np.ones(size - 1), offsets=1, format="csr")
    cost = pair if form == "pair" else next_door
    observed_risk(pilot, cost, [2])
    tracemalloc.start()
    observed_risk(pilot, cost)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < size * size  # one byte an entry; in full it takes eight


def test_a_two_level_tree_costs_two_or_four():
    scores, labels, _ = brute_risk.small_pilot_parts(11, 6, 20)
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    group = np.arange(6) // 2
    dense = np.where(group[:, None] == group, 2.0, 4.0)
    np.fill_diagonal(dense, 0)
    tree = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
    np.testing.assert_array_equal(observed_risk(pilot, tree), observed_risk(pilot, dense))


def test_zero_one_cost_is_one_minus_accuracy():
    scores, labels, _ = brute_risk.small_pilot_parts(12, 30, 100, 15)
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    ks = np.arange(2, 31)
    accuracy = observe(pilot).accuracy(ks)
    np.testing.assert_allclose(observed_risk(pilot, "zero-one"), 1 - accuracy, atol=1e-13)


def test_the_curve_is_computed_once_and_says_what_it_is():
    scores, labels, cost = brute_risk.small_pilot_parts(13, 5, 11)
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    curve = observe_risk(pilot, cost)
    assert curve.n_classes == 5 and curve.spent.shape == (4,)
    assert float(curve.risk(1)) == 0
    assert curve.risk([2, 3, 4, 5]).tolist() == observed_risk(pilot, cost).tolist()
    assert repr(curve) == f"ObservedRisk(5 classes: {curve.spent[0]:.4g})"
    with pytest.raises(ValueError, match="read-only"):
        curve.spent[0] = 1
    with pytest.raises(ParameterError, match="the pilot has 5 classes"):
        curve.risk(6)


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_past_the_reach_of_floats_are_told_apart(dtype, higher):
    """Only the order within a row counts, and losses know it: so must costs."""
    scores, labels, cost = brute_risk.small_pilot_parts(3, 6, 40)
    small = np.argsort(np.argsort(scores, axis=1), axis=1) // 2  # with ties
    far = (small + 2**60).astype(dtype)
    near, there = (
        Pilot.from_scores(values, labels, higher_is_better=higher)
        for values in (small.astype(dtype), far)
    )
    assert there.losses.tolist() == near.losses.tolist()
    expected = observed_risk(near, cost)
    np.testing.assert_array_equal(observed_risk(there, cost), expected)
    assert np.ptp(expected) > 0
    np.testing.assert_array_equal(
        forecast_risk(there, cost, 6).interval([3, 6]),
        forecast_risk(near, cost, 6).interval([3, 6]),
    )
