import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_risk
from headcount import ParameterError, Pilot, observe
from headcount.errors import UnsupportedError
from headcount.questions.risk import cost_by_place, place_chances, risk_from_places

RULES = ("random", "lose", "win")


def exact_chance(n_classes, k, place):
    if k < 2:
        return Fraction(0)
    return Fraction(math.comb(n_classes - 2 - place, k - 2), math.comb(n_classes - 1, k - 1))


def pilot_of(scores, labels, **options):
    return Pilot.from_scores(scores, labels, higher_is_better=True, **options)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("levels", [2, 3, 50])
def test_places_are_averages_over_all_orders_of_equal_scores(rule, levels):
    scores, labels, cost = brute_risk.small_pilot_parts(levels, 5, 9, levels)
    pilot = pilot_of(scores, labels, tie_rule=rule)
    expected = brute_risk.spent(scores, labels, cost, pilot.weights, rule)
    np.testing.assert_allclose(cost_by_place(pilot, cost), expected, rtol=1e-12, atol=1e-14)


def test_given_weights_replace_those_of_the_pilot():
    scores, labels, cost = brute_risk.small_pilot_parts(1, 5, 6)
    weights = np.array([0.0, 3.0, 1.0, 0.5, 0.0, 2.0])
    found = cost_by_place(pilot_of(scores, labels), cost, weights)
    expected = brute_risk.spent(scores, labels, cost, weights, "random")
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_chances_are_those_of_counting():
    for n_classes in range(2, 13):
        ks = range(1, n_classes + 1)
        expected = [
            [float(exact_chance(n_classes, k, j)) for j in range(n_classes - 1)] for k in ks
        ]
        np.testing.assert_allclose(place_chances(ks, n_classes), expected, rtol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 17, 5000, 99_990, 100_000])
def test_chances_among_many_classes_neither_overflow_nor_drift(k):
    n_classes = 100_000
    row = place_chances(k, n_classes)[0]
    assert row.sum() == pytest.approx(1, abs=1e-10)  # some wrong class is the best one drawn
    for place in (0, 1, 7, 500, 99_990 if k < 10 else 1500):
        expected = Fraction(k - 1, n_classes - 1)
        for j in range(min(place, k - 2)):  # the same binomials, the shorter product of the two
            a = n_classes - 2 - j
            expected *= Fraction(max(a - max(place, k - 2), 0), a)
        assert row[place] == pytest.approx(float(expected), rel=1e-10, abs=1e-300)


@settings(max_examples=50)
@given(st.integers(2, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_risk_is_the_product_of_chances_and_costs(n_classes, seed, late):
    rng = np.random.default_rng(seed)
    spent = rng.gamma(0.2, 1, n_classes - 1)
    if late:  # all of it at places that are hardly ever reached
        spent[: n_classes // 2] = 0
    ks = np.arange(1, n_classes + 1)
    expected = place_chances(ks, n_classes) @ spent
    np.testing.assert_allclose(risk_from_places(spent, ks), expected, rtol=1e-12, atol=1e-290)


def test_risk_keeps_the_shape_of_k():
    assert risk_from_places(np.ones(3), 2).shape == ()
    assert risk_from_places(np.ones(3), [[2, 3], [4, 1]]).shape == (2, 2)


@pytest.mark.parametrize("rule", RULES)
def test_zero_one_cost_is_one_minus_accuracy_from_counts_and_from_scores(rule):
    rng = np.random.default_rng(3)
    scores = np.round(2 * rng.normal(size=(300, 40)))
    labels = rng.integers(0, 35, 300)
    scores[np.arange(300), labels] += 3
    pilot = pilot_of(scores, labels, tie_rule=rule)
    counts = Pilot.from_losses(pilot.losses, 40, ties=pilot.ties, labels=labels, tie_rule=rule)
    ks = np.arange(1, 41)
    wrong = 1 - observe(pilot).accuracy(ks)
    ones = 1 - np.eye(40)
    every = [
        cost_by_place(counts, "zero-one"),
        cost_by_place(counts, ones),
        cost_by_place(pilot, ones),
        cost_by_place(pilot, 2 * ones) / 2,  # not 0-1, so by way of the scores
    ]
    for spent in every:
        np.testing.assert_allclose(spent, every[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(risk_from_places(spent, ks), wrong, rtol=0, atol=1e-13)


def test_order_and_orientation_do_not_matter():
    scores, labels, cost = brute_risk.small_pilot_parts(5, 30, 200, 12)
    rng = np.random.default_rng(6)
    rows, columns = rng.permutation(200), rng.permutation(30)
    names = np.array([f"c{i}" for i in range(30)])
    one = Pilot.from_scores(scores, names[labels], class_names=names, higher_is_better=True)
    other = Pilot.from_scores(
        -scores[rows][:, columns],
        names[labels[rows]],
        class_names=names[columns],
        higher_is_better=False,
    )
    np.testing.assert_allclose(
        cost_by_place(other, cost[np.ix_(columns, columns)]), cost_by_place(one, cost), rtol=1e-12
    )


def test_blocks_of_probes_add_up():
    # 100,000 classes are read about 80 probes at a time; each probe alone is one block.
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(90, 100_000))
    labels = np.concatenate([rng.integers(0, 100_000, 60), np.full(30, 5)])
    scores[np.arange(90), labels] += 3
    pilot = Pilot.from_scores(scores, labels)
    assert len(list(pilot.score_blocks())) > 1
    tree = {f"group {g}": list(range(g, 100_000, 10)) for g in range(10)}
    whole = cost_by_place(pilot, tree)
    expected = np.zeros(100_000)
    for i in range(90):
        better = np.flatnonzero(scores[i] > scores[i, labels[i]])
        ranked = better[np.argsort(-scores[i, better])]
        same = ranked % 10 == labels[i] % 10
        expected[: len(ranked)] += pilot.weights[i] * np.where(same, 2, 4)
    np.testing.assert_allclose(whole, expected[:-1], rtol=1e-12, atol=1e-15)


def test_embeddings_and_their_scores_cost_the_same():
    rng = np.random.default_rng(8)
    centres = rng.integers(-3, 4, (12, 3))  # on a grid, so that there are ties
    labels = rng.integers(0, 12, 80)
    probes = centres[labels] + rng.integers(-1, 2, (80, 3))
    cost = rng.random((12, 12))
    np.fill_diagonal(cost, 0)
    pilot = Pilot.from_embeddings(probes, labels, centres, np.arange(12))
    squares = ((probes[:, None] - centres) ** 2).sum(axis=2)
    same = Pilot.from_scores(squares, labels, higher_is_better=False)
    assert pilot.ties.sum() > 0
    np.testing.assert_allclose(cost_by_place(pilot, cost), cost_by_place(same, cost), rtol=1e-12)


def test_all_right_costs_nothing_and_two_classes_are_enough():
    right = pilot_of([[5, 1, 0], [0, 6, 1]], [0, 1])
    assert cost_by_place(right, [[0, 7, 7], [7, 0, 7], [7, 7, 0]]).tolist() == [0, 0]
    two = pilot_of([[1, 2], [4, 4], [1, 3]], [0, 1, 1])
    # Macro: class 0 always loses 6; class 1 ties in one probe of two, half of 8.
    found = cost_by_place(two, [[0, 6], [8, 0]])
    assert found.tolist() == pytest.approx([0.5 * 6 + 0.25 * 4])
    assert float(risk_from_places(found, 2)) == found[0]


def test_a_million_classes_from_counts():
    spent = cost_by_place(Pilot.from_losses([0, 3, 999_999], 10**6), "zero-one")
    assert spent[[0, 2, 3, 999_998]].tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3])
    accuracy = observe(Pilot.from_losses([0, 3, 999_999], 10**6)).accuracy([2, 1000, 10**6])
    np.testing.assert_allclose(risk_from_places(spent, [2, 1000, 10**6]), 1 - accuracy, rtol=1e-9)


def test_counts_do_not_say_who_was_taken():
    pilot = Pilot.from_losses([0, 1], 3, labels=["a", "b"])
    for cost in (2 * (1 - np.eye(3)), lambda a, b: float(a != b), {"x": ["a", "b"]}):
        with pytest.raises(UnsupportedError, match="only counts"):
            cost_by_place(pilot, cost)
    cut = Pilot.from_losses([0, 1], 3, censored=[False, True])
    with pytest.raises(UnsupportedError, match="1 of 2 probes is censored"):
        cost_by_place(cut, "zero-one")


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_weights_must_fit(weights):
    with pytest.raises(ParameterError, match="weights must be 2 numbers"):
        cost_by_place(pilot_of([[2, 1], [1, 2]], [0, 1]), "zero-one", weights)


@pytest.mark.parametrize("k", [0, 5, 2.5])
def test_numbers_of_classes_never_observed_are_refused(k):
    for ask in (lambda: place_chances(k, 4), lambda: risk_from_places(np.ones(3), k)):
        with pytest.raises(ParameterError):
            ask()
