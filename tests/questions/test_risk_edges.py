"""Bounds and constants of costs, tasks and fits of the risk, by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.stats import norm

from headcount import Pilot
from headcount.curves.favorability import Favorability
from headcount.errors import DataError, ParameterError, UnsupportedError
from headcount.questions.risk import as_cost, observed_risk, task_normalised_risk
from headcount.questions.risk import costs as costs_module
from headcount.questions.risk import tasks as tasks_module
from headcount.questions.risk.answers import _gap
from headcount.questions.risk.covariance import CostJackknife, ranked_rivals, risk_jackknife
from headcount.questions.risk.hierarchy import node_numbers
from headcount.questions.risk.moments import PolynomialFit, discrete_legendre, legendre_risk
from headcount.questions.risk.observed import ObservedRisk
from headcount.questions.risk.ranks import cost_by_place, place_chances
from headcount.questions.risk.regression import BetaBasis, MixtureFit, PricedFit, Rows

FOUR = Pilot.from_scores(np.eye(4), np.arange(4))


def refusal(given, pilot=FOUR):
    with pytest.raises(DataError) as caught:
        cost = as_cost(given, pilot)
        for true in range(cost.n_classes):
            cost.row(true)
    return str(caught.value)


# -- costs ----------------------------------------------------------------------------------------


def test_costs_go_up_to_1e100():
    cost = 1 - np.eye(4)
    cost[1, 2] = 1e100
    assert as_cost(cost, FOUR).row(1)[2] == 1e100
    cost[1, 2] = 1.001e100
    assert "beyond 1e+100 (first: 1 taken for 2 costs 1.001e+100)" in refusal(cost)
    cost[1, 2] = -1.001e100
    message = refusal(cost)
    assert "beyond 1e+100" in message and "negative" not in message


def test_faults_are_counted_by_kind_and_the_first_of_the_first_kind_is_named():
    cost = 1 - np.eye(4)
    cost[0, 1] = cost[2, 3] = -1
    cost[3, 3] = 2
    assert refusal(cost).startswith("cost: 2 of 16 entries are negative (first: 0 taken for 1")
    cost[0, 1] = cost[2, 3] = 1
    assert refusal(cost).startswith("cost: 1 of 16 entries on the diagonal is not zero (first: 3")
    held = sparse.csr_array(np.array([[0, 5.0, 0], [0, 0, -2], [0, 0, 0]]))
    pilot = Pilot.from_losses([0], 3)
    assert refusal(held, pilot).startswith("cost: 1 of 2 entries is negative (first: 1 taken for 2")


def test_costs_are_zero_one_only_where_every_mistake_costs_one():
    ones = 1 - np.eye(4)
    for make in (np.array, sparse.csr_array):
        assert as_cost(make(ones), FOUR).is_zero_one
        for place in ((0, 1), (3, 2)):
            for value in (0.0, 2.0):
                other = ones.copy()
                other[place] = value
                assert not as_cost(make(other), FOUR).is_zero_one


def test_matrices_are_checked_two_million_entries_at_a_time(monkeypatch):
    assert costs_module.BLOCK_ENTRIES == 1 << 21
    for entries in (1, 4, 8, 9, 100):
        monkeypatch.setattr(costs_module, "BLOCK_ENTRIES", entries)
        cost = 1 - np.eye(4)
        assert as_cost(cost, FOUR).is_zero_one
        cost[2, 2] = 1
        assert "1 of 16 entries on the diagonal is not zero (first: 2 taken for 2" in refusal(cost)
        cost[2, 2], cost[3, 0] = 0, -1
        assert "1 of 16 entries is negative (first: 3 taken for 0" in refusal(cost)


def test_rows_of_a_function_are_kept_while_there_is_room(monkeypatch):
    calls = []

    def price(true, taken):
        calls.append(true)
        return float(true != taken)

    assert costs_module.KEPT_BYTES == 1 << 28
    for room, kept in ((0, 0), (1, 1), (32, 1), (33, 2), (65, 3)):
        monkeypatch.setattr(costs_module, "KEPT_BYTES", room)
        cost = as_cost(price, FOUR)
        for true in range(4):
            cost.row(true)
        calls.clear()
        for true in range(4):
            cost.row(true)
        assert sorted(set(calls)) == list(range(kept, 4))
        calls.clear()


def test_round_off_of_a_pair_is_a_billionth_of_its_terms():
    # Terms of 1 and -1 + x: x is the cost, and 2 are the terms.
    for miss, fine in ((1.9e-9, True), (2.1e-9, False)):
        above, below = np.array([[1.0, -1.0]] * 4), np.array([[1.0, -1.0]] * 4)
        above[2, 1] += miss
        below[2, 1] -= miss
        ones, none = np.ones((4, 2)), np.ones((4, 2))
        none[2] = 0  # then only rows of the others are off
        if fine:
            assert as_cost((ones, above), FOUR).row(2)[2] == 0
            assert as_cost((none, below), FOUR).row(0).tolist() == [0, 0, 0, 0]
        else:
            assert "1 of 4 entries on the diagonal is not zero (first: 2" in refusal((ones, above))
            assert "1 of 4 entries is negative (first: 0 taken for 2" in refusal((none, below))
    coarse = np.ones((4, 2), np.float32), np.array([[1.0, -1.0 - 6e-6]] * 4, np.float32)
    assert as_cost(coarse, FOUR).row(0).tolist() == [0, 0, 0, 0]  # 64 times its precision: 7.6e-6
    coarse = np.ones((4, 2), np.float32), np.array([[1.0, -1.0 - 2e-5]] * 4, np.float32)
    assert "4 of 4 entries are negative" in refusal(coarse)


def test_a_tree_of_one_level_and_a_single_class():
    found = node_numbers({"a": None, "b": [], "c": {}}, np.array(["a", "b", "c"]))
    assert found.tolist() == [[0], [1], [2]]
    deep = node_numbers({"x": {"y": ["a"]}, "b": None}, np.array(["b", "a"]))
    assert deep.tolist() == [[0, -1, -1], [1, 2, 3]]
    cost = as_cost({"x": {"y": ["0", "1"]}, "2": None, "3": None}, FOUR)
    assert [cost.row(i).tolist() for i in range(4)] == [
        [0, 2, 4, 4], [2, 0, 4, 4], [4, 4, 0, 2], [4, 4, 2, 0]
    ]  # fmt: skip


# -- places ---------------------------------------------------------------------------------------


def test_weights_of_probes_may_be_nought_but_not_less():
    pilot = Pilot.from_losses([0, 1, 2], 4)
    assert cost_by_place(pilot, "zero-one", [0, 2, 3]).tolist() == [5, 3, 0]
    for weights in ([1, 2], [1, 2, -1e-9], [1, 2, math.inf], [1, 2, math.nan], [[1, 2, 3]]):
        with pytest.raises(ParameterError, match="weights must be 3 numbers of 0 or more"):
            cost_by_place(pilot, "zero-one", weights)
    with pytest.raises(UnsupportedError, match="1 of 3 probes"):
        cost_by_place(Pilot.from_losses([0, 1, 2], 4, censored=[0, 1, 0]), "zero-one")


def test_chances_of_places_by_counting():
    for n_classes in (2, 3, 6):
        for k in range(1, n_classes + 1):
            sets = list(itertools.combinations(range(n_classes - 1), k - 1))
            expected = [
                sum(bool(s) and s[0] == j for s in sets) / len(sets) for j in range(n_classes - 1)
            ]
            assert place_chances([k], n_classes)[0] == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["random", "lose", "win"])
def test_ties_by_place(rule):
    # Class 3 beats the true one; 1 and 2 tie with it.
    pilot = Pilot.from_scores(
        [[1, 1, 1, 2]], [0], tie_rule=rule, class_names=range(4), higher_is_better=True
    )
    cost = np.array([[0, 2, 4, 7], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]])
    expected = {"win": [7, 0, 0], "lose": [7, 3, 3], "random": [7, 3 * 2 / 3, 3 / 3]}[rule]
    assert cost_by_place(pilot, cost).tolist() == pytest.approx(expected)


def test_the_places_that_matter_are_those_with_a_chance_and_two_more():
    rng = np.random.default_rng(0)
    labels = np.arange(12)
    pilot = Pilot.from_scores(rng.normal(size=(12, 12)), labels)
    cost = as_cost(rng.random((12, 12)) * (1 - np.eye(12)), pilot)
    jackknife = risk_jackknife(pilot, cost)
    assert isinstance(jackknife, CostJackknife)
    lengths = np.diff(ranked_rivals(pilot, cost).start)
    # Of 9 rivals, two of eleven being left out, k - 1 are drawn: the best is among the first 11 - k.
    for k in (2, 5, 9, 10):
        expected = np.minimum(lengths, 11 - k + 2)
        assert jackknife._rivals_that_matter(k).tolist() == expected.tolist()


# -- fits -----------------------------------------------------------------------------------------


def test_legendre_polynomials_and_their_discrete_forms_by_definition():
    n, degree = 7, 4
    found = discrete_legendre(n, degree)
    for l, v in itertools.product(range(degree + 1), range(n + 1)):  # noqa: E741
        value = sum(
            (-1) ** (l + j) * math.comb(l, j) * math.comb(l + j, j) * math.comb(v, j)
            / math.comb(n, j)
            for j in range(l + 1)
        )  # fmt: skip
        assert found[l, v] == pytest.approx(value, abs=1e-12)
    risk = legendre_risk(np.array([1.0, 2.0, 3.0, 9.0]), degree)
    assert not risk[0].any()
    for row, k in zip(risk[1:], (2, 3, 9), strict=True):
        for l in range(degree + 1):  # noqa: E741
            legendre = np.polynomial.Legendre.basis(l)
            value, _ = integrate.quad(
                lambda u, k=k, p=legendre: (k - 1) * p(2 * u - 1) * u ** (k - 2), 0, 1
            )
            assert row[l] == pytest.approx(value, abs=1e-9)


def test_an_adjusted_fit_passes_through_the_observed_curve_and_is_cut():
    spent = np.array([5.0, 3.0, 2.0, 1.0])
    fit = PolynomialFit(spent, 3, 4.5)
    observed = ObservedRisk(spent)
    assert fit.at.tolist() == [2, 3, 4, 5]
    assert fit.risk(fit.at) == pytest.approx(np.minimum(observed.risk(fit.at), 4.5))
    slopes, none = fit.slopes(np.array([2.0, 5.0, 9.0]))
    assert none is None
    assert slopes[:2] == pytest.approx(np.eye(4)[[0, 3]], abs=1e-9)
    # A curve that falls below nought is cut off there.
    falling = PolynomialFit(np.array([0.0, 0.0, 5.0]), 1, 10.0)
    assert falling.risk(np.array([1.0, 1e6])).tolist() == [0, 0]


def test_the_beta_basis_has_moments_of_beta_laws():
    basis, k = BetaBasis(3), np.array([2.0, 5.0])
    for i, a in enumerate((1, 2, 3)):  # U ~ Beta(a, 4 - a)
        moments = [math.prod((a + j) / (4 + j) for j in range(int(size) - 1)) for size in k]
        assert basis.accuracy(k)[:, i] == pytest.approx(moments)
    law = basis.law(np.array([0.2, 0.3, 0.1]))
    expected = basis.accuracy(k) @ [0.2, 0.3, 0.1] + 0.4
    assert law.accuracy(k) == pytest.approx(expected, abs=2e-3)


LAW = Favorability([1e-3, 0.05, 0.3, 0.9], [0.4, 0.3, 0.2, 0.1])
KS = np.array([2.0, 3.0, 5.0, 10.0, 30.0, 100.0])


def paid(price, k):
    """Risk where a mistake at u costs so much: cells of u in which D does not change."""
    edges = np.unique([0.0, *LAW.p])
    total = 0.0
    for low, high in itertools.pairwise(edges):
        wrong = LAW.weights[high <= LAW.p].sum()
        z = np.clip(-norm.ppf([low, high]), -9, 9).mean()
        total += ((1 - low) ** (k - 1) - (1 - high) ** (k - 1)) * wrong * price(z)
    return total


@pytest.mark.parametrize("name", ["falling", "rising", "flat"])
def test_priced_fits_find_a_price_of_their_own_kind(name):
    price = {
        "falling": lambda z: 1 + 2 * norm.cdf((1.5 - z) / 1.5),
        "rising": lambda z: 1 + 2 * norm.cdf((z - 1.5) / 1.5),
        "flat": lambda z: 2.0,
    }[name]
    risk = np.array([paid(price, k) for k in KS])
    fit = PricedFit(LAW, Rows(KS, np.full(6, 1 / 6)), risk, 1.0, 3.0)
    assert fit.at is KS
    assert fit.risk(KS) == pytest.approx(risk, rel=1e-5)
    assert fit.risk(np.array(1.0)) == pytest.approx(0, abs=1e-12)
    costs = fit.mean_cost([0.0, 0.1, 0.5, 0.9, 1.0])
    assert (costs >= 1).all() and (costs <= 3 + 1e-12).all()
    falls = np.diff(costs)
    assert (falls <= 1e-9).all() if name == "falling" else (falls >= -1e-6).all() or name == "flat"
    with pytest.raises(UnsupportedError, match="slopes are not known"):
        fit.slopes(KS)


def test_families_of_prices_by_definition():
    from headcount.questions.risk import regression

    z = np.array([-2.0, 0.3, 5.0])
    centres = -3 + 0.75 * np.arange(15)
    rising = np.column_stack([np.ones(3), norm.cdf((z[:, None] - centres) / 1.5)])
    falling = np.column_stack([np.ones(3), norm.cdf((centres - z[:, None]) / 1.5)])
    assert regression._rising(z) == pytest.approx(rising)
    assert regression._falling(z) == pytest.approx(falling)
    edges = -3 + 0.5 * np.arange(23)
    steps = norm.cdf((z[:, None] - edges) / 0.5)
    bumps = np.column_stack([1 - steps[:, 0], steps[:, :-1] - steps[:, 1:], steps[:, -1]])
    assert regression._bumps(z) == pytest.approx(bumps)
    assert regression._bumps(z).sum(axis=1) == pytest.approx(1)


def test_where_nothing_costs_anything_the_fit_is_nought():
    rows = Rows(KS, np.full(6, 1 / 6))
    fit = PricedFit(LAW, rows, np.zeros(6), 0.0, 0.0)
    assert fit.risk(KS) == pytest.approx(0, abs=1e-12)
    flat = MixtureFit(BetaBasis(3), rows, np.zeros(6), 0.0)
    assert flat.risk(KS).tolist() == [0] * 6


def test_a_fit_off_by_a_twentieth_is_no_finding_and_more_is():
    class Fit:
        def __init__(self, factor):
            self.factor = factor

        def risk(self, k):
            return np.full(len(k), 8.0 * self.factor)

    observed = ObservedRisk(np.array([8.0, 0.0]))
    for factor, expected in ((0.951, 0), (1.049, 0), (0.949, 1), (1.051, 1)):
        assert len(list(_gap(observed, Fit(factor), 0.0))) == expected
    # Where nothing is lost, round-off is no gap.
    free = ObservedRisk(np.zeros(2))
    assert len(list(_gap(free, Fit(1e-9), 1e-7))) == 0
    assert len(list(_gap(free, Fit(1e-9), 1e-9))) == 1


# -- tasks ----------------------------------------------------------------------------------------


def test_as_many_sets_as_repeats_are_all_used_and_one_more_are_drawn():
    rng = np.random.default_rng(0)
    pilot = Pilot.from_scores(rng.normal(size=(6, 6)), np.arange(6))
    exact, error = task_normalised_risk(pilot, "zero-one", 3, np.ones(6), repeats=20)
    assert error == 0 and exact == pytest.approx(float(observed_risk(pilot, "zero-one", 3)))
    _, error = task_normalised_risk(pilot, "zero-one", 3, np.ones(6), repeats=19)
    assert error > 0


@pytest.mark.parametrize("room", [1, 10, 70, 1 << 25])
def test_how_many_sets_are_looked_at_at_once_changes_only_the_draws(room, monkeypatch):
    rng = np.random.default_rng(1)
    pilot = Pilot.from_scores(rng.normal(size=(5, 10)), np.arange(5), class_names=range(10))
    drawn = []
    make = tasks_module._drawn

    def recorded(*args):
        drawn.append(make(*args))
        return drawn[-1]

    monkeypatch.setattr(tasks_module, "_drawn", recorded)
    monkeypatch.setattr(tasks_module, "TASK_BYTES", room)
    value, error = task_normalised_risk(pilot, "zero-one", 4, np.ones(10), repeats=50)
    sizes = [len(tasks) for tasks in drawn]
    step = max(1, room // 10)
    assert sizes == [min(step, 50 - start) for start in range(0, 50, step)]
    tasks = np.concatenate(drawn)
    assert (tasks.sum(axis=1) == 4).all() and tasks[:, :5].any(axis=1).all()
    risks = tasks_module._risks(pilot, as_cost("zero-one", pilot), np.full(10, 0.1), tasks)
    assert value == pytest.approx(risks.mean())
    assert error == pytest.approx(np.std(risks, ddof=1) / math.sqrt(50))
