import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from headcount import Favorability, ParameterError
from headcount.curves.favorability import ROUND_OFF
from headcount.metrics import Top

laws = st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=6).map(
    lambda rows: Favorability([p for p, _ in rows], [w for _, w in rows])
)


def test_accuracy_is_the_moment_of_u():
    p, w = [0.0, 0.25, 0.5, 1.0], [1, 2, 3, 4]
    law = Favorability(p, w)
    for k in (1, 2, 3, 10):
        expected = sum(
            Fraction(weight, 10) * Fraction(1 - node) ** (k - 1)
            for node, weight in zip(p, w, strict=True)
        )
        assert float(law.accuracy(k)) == pytest.approx(float(expected), rel=1e-15)


@pytest.mark.parametrize("p", [1e-3, 1e-9, 1e-12, 1e-15])
def test_right_for_tiny_p_and_huge_k(p):
    law = Favorability([p], [1.0])
    k = round(1 / p) + 1
    # (1 - p)^(1/p) = exp(-1 - p/2 - ...); a rounded u = 1 - p would be off by many per cent.
    assert float(law.accuracy(k)) == pytest.approx(math.exp((k - 1) * math.log1p(-p)), rel=1e-12)
    # With few classes the error is (k - 1) p, and its digits must survive.
    assert 1 - float(law.accuracy(1 + 10)) == pytest.approx(
        -math.expm1(10 * math.log1p(-p)), rel=1e-3
    )


def test_errors_keep_their_digits():
    law = Favorability([1e-12, 1e-10], [0.5, 0.5])
    wrong = 1 - law.accuracy(2)
    assert wrong == pytest.approx(0.5 * 1e-12 + 0.5 * 1e-10, rel=1e-5, abs=0)


def test_small_accuracies_keep_theirs():
    law = Favorability([0.9], [1.0])
    assert float(law.accuracy(31)) == pytest.approx(1e-30, rel=1e-12, abs=0)


def test_atoms_at_both_ends():
    law = Favorability([0.0, 1.0], [0.3, 0.7])
    assert law.accuracy([1, 2, 10**12]).tolist() == pytest.approx([1, 0.3, 0.3])
    assert law.asymptote == pytest.approx(0.3)
    assert law.capacity(0.3) == math.inf
    assert law.capacity(0.31) == 1


@settings(max_examples=100)
@given(laws)
def test_starts_at_one_falls_and_is_convex(law):
    values = law.accuracy(np.arange(1, 40))
    assert values[0] == 1
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 1e-12).all()
    assert (np.diff(values, 2) >= -1e-12).all()


@settings(max_examples=100)
@given(laws, st.floats(0.01, 1))
def test_capacity_is_the_last_k_that_still_reaches_the_target(law, target):
    held = law.capacity(target)
    if held == math.inf:
        assert float(law.accuracy(1e15)) >= target - 1e-9
    elif held < 1e15:
        assert held == 1 or float(law.accuracy(held)) >= target - 1e-12
        assert float(law.accuracy(held + 1)) < target - 1e-12


def test_top_is_the_binomial_sum():
    p, w = np.array([0.0, 1e-6, 0.03, 0.4, 1.0]), np.array([0.1, 0.2, 0.3, 0.2, 0.2])
    law = Favorability(p, w)
    for m in (1, 2, 5):
        for k in (1, 2, 5, 6, 50, 1000):
            expected = w @ binom.cdf(m - 1, k - 1, p) if k > m else 1.0
            assert float(law.top(m, k)) == pytest.approx(expected, rel=1e-12, abs=0)
    np.testing.assert_allclose(law.top(1, [2, 9, 300]), law.accuracy([2, 9, 300]), rtol=1e-12)


def test_top_keeps_the_digits_of_tiny_p():
    law = Favorability([1e-12], [1.0])
    # Poisson limit with mean one: P(at most 1) = 2 / e.
    assert float(law.top(2, 1e12)) == pytest.approx(2 / math.e, rel=1e-9)


def test_cdf_and_quantile():
    law = Favorability([0.1, 0.5, 1.0], [0.5, 0.3, 0.2])  # U = 0.9, 0.5, 0
    assert law.cdf([-0.1, 0, 0.49, 0.5, 0.89, 0.9, 1]).tolist() == pytest.approx(
        [0, 0.2, 0.2, 0.5, 0.5, 1, 1]
    )
    assert law.quantile([0, 0.2, 0.21, 0.5, 0.51, 1]).tolist() == pytest.approx(
        [0, 0, 0.5, 0.5, 0.9, 0.9]
    )
    assert law.discriminability(0.5) == law.cdf(0.5)


def by_theorem_one(law, k):
    """Right-hand side of Eq. 10, by Gauss quadrature between the steps of the reversed ROC."""
    roc = law.reversed_roc()
    cuts = np.unique(np.concatenate([[0.0, 1.0], 1 - law.p, 1 - np.geomspace(1e-9, 0.5, 40)]))
    nodes, weights = np.polynomial.legendre.leggauss(30)
    middle, half = (cuts[1:] + cuts[:-1])[:, None] / 2, np.diff(cuts)[:, None] / 2
    u = middle + half * nodes
    values = (1 - roc.average(1 - u)) * u ** (k - 2)
    return 1 - (k - 1) * float((values * half * weights).sum())


@settings(max_examples=50)
@given(laws)
def test_theorem_one_of_paper_001(law):
    """accuracy(k) = 1 - (k - 1) int (1 - rROC(1 - u)) u^(k-2) du, and rAUC = accuracy(2)."""
    assert law.reversed_roc().auc == pytest.approx(float(law.accuracy(2)), abs=1e-12)
    assert law.reversed_auc == pytest.approx(float(law.accuracy(2)), abs=1e-12)
    for k in (2, 3, 7, 50, 2000):
        assert by_theorem_one(law, k) == pytest.approx(float(law.accuracy(k)), abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        Favorability(np.geomspace(1e-6, 1, 500), np.ones(500)),  # all sizes of p
        Favorability(norm.cdf(np.linspace(-7, 3, 400)), norm.pdf(np.linspace(-5, 5, 400))),
        Favorability([0.0, 1.0], [0.3, 0.7]),
        Favorability([0.0], [1.0]),
        Favorability([1.0], [1.0]),
    ],
)
@pytest.mark.parametrize("k", [2, 3, 10, 100, 10_000])
def test_theorem_one_for_smooth_laws_and_atoms(law, k):
    assert by_theorem_one(law, k) == pytest.approx(float(law.accuracy(k)), abs=1e-9)


def test_reversed_roc_mirrors_the_cdf():
    law = Favorability([0.125, 0.5, 1.0], [0.4, 0.5, 0.1])
    roc = law.reversed_roc()
    u = np.arange(0, 65) / 64  # exact in binary, so that steps are met exactly
    np.testing.assert_allclose(1 - roc.average(1 - u), law.cdf(u), atol=1e-15)
    # P(p < u): not yet at a step, right after it, and never for what is beaten by all.
    assert roc.average([0, 0.125, 0.126, 0.5, 0.51, 1]).tolist() == pytest.approx(
        [0, 0, 0.4, 0.4, 0.9, 0.9]
    )
    assert roc.probe(1, [0.5, 0.51]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "p, w",
    [([], []), ([0.1], [0.5, 0.5]), ([1.5], [1]), ([0.1], [-1]), ([0.1], [0]), ([0.1], [math.nan])],
)
def test_impossible_laws_are_refused(p, w):
    with pytest.raises(ParameterError):
        Favorability(p, w)


@pytest.mark.parametrize("target", [0, -1, 1.1, math.nan, "many"])
def test_impossible_targets_are_refused(target):
    with pytest.raises(ParameterError, match="target"):
        Favorability([0.1], [1]).capacity(target)


@settings(max_examples=100)
@given(laws, st.floats(0, 1))
def test_cdf_reaches_the_level_at_its_quantile(law, level):
    assert float(law.cdf(law.quantile(level))) >= level - 1e-9


def test_tiny_masses_are_not_lost():
    assert float(Favorability([0.1, 0.5], [1.0, 1e-20]).cdf(0.6)) == pytest.approx(
        1e-20, rel=1e-9, abs=0
    )


def test_many_numbers_of_classes_at_once_give_what_single_ones_do():
    law = Favorability(np.geomspace(1e-9, 1, 3000), np.ones(3000))
    ks = np.arange(1, 5001)
    values = law.accuracy(ks)
    assert values[[0, 7, 4999]].tolist() == [float(law.accuracy(k)) for k in (1, 8, 5000)]
    assert (law.top(3, ks[:50]) <= 1).all()


@pytest.mark.parametrize("k", [math.inf, 0, 1.5, math.nan])
def test_impossible_numbers_of_classes_are_refused(k):
    with pytest.raises(ParameterError, match="number of classes"):
        Favorability([0.1], [1]).accuracy(k)


def test_capacity_at_its_limits():
    half = Favorability([0.5], [1.0])  # accuracy 2^-(k-1), exact in binary
    assert half.capacity(1.0) == 1
    assert half.capacity(0.5) == 2
    assert [half.capacity(2.0**-n) for n in (2, 3, 10)] == [3, 4, 11]
    assert half.capacity(2.0**-3 + 1e-13) == 4  # short by round-off alone
    assert half.capacity(2.0**-3 + 1e-11) == 3
    assert half.capacity(0.500001) == 1
    assert Favorability([1e-300], [1.0]).capacity(0.5) == pytest.approx(
        math.log(2) * 1e300, rel=1e-9
    )
    assert Favorability([1e-305], [1.0]).capacity(0.5) == math.inf
    # The atom counts as reaching a target that it is short of by round-off.
    assert Favorability([0.0, 0.5], [0.25, 0.75]).capacity(0.25 + 1e-13) == math.inf
    assert Favorability([0.0, 0.5], [0.25, 0.75]).capacity(0.25 + 1e-9) < 60


def test_capacity_of_the_best_few():
    law = Favorability([0.5], [1.0])
    # At most one of k - 1 rivals wins: k / 2^(k-1).
    assert law.capacity(5 / 16, Top(2)) == 5
    assert law.capacity(5 / 16 + 1e-6, Top(2)) == 4
    assert law.capacity(1.0, Top(2)) == 2


def test_weights_that_sum_to_one_are_kept_as_they_are():
    kept = Favorability([0.1, 0.5], [0.3, 0.7 + 1e-14])
    assert kept.weights.tolist() == [0.3, 0.7 + 1e-14]
    scaled = Favorability([0.5, 0.1, 0.1, 0.9], [3, 1, 2, 0])
    assert scaled.p.tolist() == [0.1, 0.5]
    assert scaled.weights.tolist() == pytest.approx([0.5, 0.5], abs=0)
    for array in (scaled.p, scaled.weights, scaled.log_u):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_quantiles_reach_the_ends_and_levels_outside_are_refused():
    law = Favorability([0.25, 0.75], [0.5, 0.5])  # U = 0.75, 0.25
    assert law.quantile([0.0, 0.5, 0.5 + 1e-13, 0.5 + 1e-9, 1.0]).tolist() == [
        0.25, 0.25, 0.25, 0.75, 0.75,
    ]  # fmt: skip
    assert law.quantile(1.0).shape == ()
    # A sum of weights may end short of one by round-off: the last node is its quantile.
    tenths = Favorability(np.linspace(0.1, 0.9, 9), np.full(9, 1 / 9))
    assert float(tenths.quantile(1.0)) == pytest.approx(0.9)
    for level in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError, match="quantile level"):
            law.quantile(level)
    assert float(law.cdf(1.0)) == 1.0


def test_a_law_reads_well():
    law = Favorability(np.linspace(0, 1, 1001), np.ones(1001))
    assert repr(law) == "Favorability(1,001 nodes, two-class accuracy 0.500)"
    assert law.reversed_auc == pytest.approx(0.5)
    assert law.asymptote == pytest.approx(1 / 1001)


@pytest.mark.parametrize(
    "p, w", [([], []), ([[0.1]], [[1.0]]), ([0.1], [[1.0]]), ([0.1, 0.2], [1.0]), (0.1, 1.0)]
)
def test_nodes_and_weights_are_two_lists_of_one_length(p, w):
    with pytest.raises(ParameterError, match="two lists of the same length"):
        Favorability(p, w)


def test_the_ends_of_the_range_are_nodes_and_what_lies_outside_is_not():
    assert Favorability([0.0, 1.0], [1, 0]).p.tolist() == [0]
    assert Favorability([0.0, 1.0], [1, 1]).p.tolist() == [0, 1]
    for p in (-1e-12, 1 + 1e-12, math.nan):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            Favorability([p], [1.0])
    for w in ([0.0, 0.0], [1.0, -0.5], [1.0, math.inf], [1.0, math.nan]):
        with pytest.raises(ParameterError, match="not all zero"):
            Favorability([0.1, 0.2], w)


@pytest.mark.parametrize("total", [0.75, 1 + 1e-11, 1.5, 12.0])
def test_any_other_sum_of_weights_is_scaled_to_one(total):
    law = Favorability([0.1, 0.5], [total / 3, total * 2 / 3])
    np.testing.assert_allclose(law.weights, [1 / 3, 2 / 3], rtol=1e-15)


def test_a_share_of_a_law_is_never_past_one():
    rng = np.random.default_rng(1)
    for size in range(2, 60):
        law = Favorability(rng.uniform(size=size), rng.uniform(size=size))
        assert float(law.cdf(1.0)) <= 1 and float(law.cdf(1.0)) == pytest.approx(1)
        assert float(law.quantile(1.0)) == 1 - law.p[0]


def test_a_value_equal_to_what_counts_as_the_target_reaches_it():
    law = Favorability([0.2], [1.0])
    for k in (2, 3, 5, 6, 9):
        least = float(law.accuracy(k))
        target = least + ROUND_OFF
        while target - ROUND_OFF < least:
            target = math.nextafter(target, 1)
        assert target - ROUND_OFF == least
        assert law.capacity(target) == k
        assert law.capacity(math.nextafter(target + 1e-15, 1)) == k - 1
