"""Reciprocal ranks: of losses against all sets of rivals, under a law in many digits."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from headcount import Favorability, ParameterError, Pilot, observe
from headcount.metrics import ACCURACY, MRR, Reciprocal, ReciprocalWithin, Top

CUTS = [None, 2, 3, 10]
LAW = Favorability([0.0, 1e-6, 0.03, 0.4, 1.0], [0.1, 0.2, 0.3, 0.2, 0.2])


def metric(m):
    return MRR if m is None else ReciprocalWithin(m)


def worth(above, m):
    """What a probe counts with so many rivals ahead."""
    return Fraction(1, above + 1) if m is None or above < m else Fraction(0)


def mean_over_sets(n, losses, k, m):
    sets = list(itertools.combinations(range(n), k - 1))
    return sum(worth(sum(r < losses for r in rivals), m) for rivals in sets) / Fraction(len(sets))


@pytest.mark.parametrize("m", CUTS)
def test_of_losses_is_the_mean_over_all_sets(m):
    losses, weights = np.arange(7), np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.1, 0.2])
    for k in range(1, 8):
        each = [float(mean_over_sets(6, lost, k, m)) for lost in range(7)]
        np.testing.assert_allclose(metric(m).of_each(losses, 6, k), each, atol=1e-14)
        found = metric(m).of_losses(losses, weights, 6, k)
        assert found == pytest.approx(weights @ each, abs=1e-14)


@pytest.mark.parametrize("m", [None, 5, 200])
def test_of_losses_keeps_its_digits_among_millions(m):
    """Against sums of exact binomial coefficients."""
    n = 3_000_000
    for k in (2, 40, 1000):
        for losses in (0, 1, 3, 90, 7000, 2_999_999, n):
            total, chance = Fraction(0), None
            for j in range(min(losses, k - 1, 400) + 1):
                if k - 1 - j > n - losses:
                    continue
                if chance is None:
                    ways = math.comb(losses, j) * math.comb(n - losses, k - 1 - j)
                    chance = float(Fraction(ways, math.comb(n, k - 1)))
                total += float(worth(j, m)) * chance if chance else 0
                left = n - losses - (k - 1) + j + 1
                chance *= (losses - j) * (k - 1 - j) / ((j + 1) * left) if left else 0
            if losses * (k - 1) / n < 200:  # else ranks past 400 have some mass
                one = np.array([losses])
                assert metric(m).of_each(one, n, k)[0] == pytest.approx(float(total), rel=1e-11)


def exact_under(p, n, m, above=0):
    """Mean for n rivals that win with chance p each, in sixty digits."""
    with localcontext(prec=60):
        p = Decimal(p)
        total, mass = Decimal(0), (1 - p) ** n
        for x in range(min(n, 4000) + 1):
            rank = x + above + 1
            if m is None or rank <= m:
                total += mass / rank
            mass *= (n - x) * p / ((x + 1) * (1 - p))
        return float(total)


@pytest.mark.parametrize("m", [None, 2, 7, 1000])
@pytest.mark.parametrize("p", [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9])
def test_under_a_law_no_digit_is_lost(p, m):
    law = Favorability([p], [1.0])
    for k in (1, 2, 3, 8, 1000, 10**6, 10**9, 10**12):
        if k * p < 1500:
            found = float(metric(m).of_law(law, k))
            assert found == pytest.approx(exact_under(p, k - 1, m), rel=1e-10)


@pytest.mark.parametrize("m", CUTS)
def test_of_law_is_the_binomial_sum_at_any_shape(m):
    ks = np.array([[1, 2, 3, 5], [11, 12, 50, 1000]])
    ranks = np.arange(1, 1001)
    worths = np.array([float(worth(rank - 1, m)) for rank in ranks])
    expected = [
        LAW.weights @ (binom.pmf(ranks - 1, k - 1, LAW.p[:, None]) @ worths) for k in ks.ravel()
    ]
    np.testing.assert_allclose(metric(m).of_law(LAW, ks).ravel(), expected, rtol=1e-12)
    assert metric(m).of_law(LAW, ks).shape == (2, 4)
    assert metric(m).of_law(LAW, 7).shape == ()


@pytest.mark.parametrize("above", [0, 1, 5, 250, 900])
@pytest.mark.parametrize(("p", "n"), [(0.3, 60), (0.02, 20_000), (1e-9, 10**9), (0.6, 900)])
def test_ranks_small_and_large_are_averaged_alike(above, p, n):
    """Where a sum gives way to moments nothing shows."""
    law = Favorability([p], [1.0])
    for m in (None, 3, 600):
        # All that were lost to stay ahead: the given law has one node only.
        found = metric(m).of_grown(np.array([above]), np.ones(1), 1000, law, n)
        assert float(found) == pytest.approx(exact_under(p, n, m, above), rel=3e-9, abs=1e-15)


@pytest.mark.parametrize("m", CUTS)
def test_a_grown_set_is_the_average_over_what_losses_say(m):
    losses, weights, n = np.array([0, 2, 5]), np.array([0.5, 0.3, 0.2]), 8
    law = Favorability([0.05, 0.3, 0.7], [0.5, 0.3, 0.2])
    for joined in (0, 1, 6):
        expected = 0.0
        for lost, weight in zip(losses.tolist(), weights, strict=True):
            known = law.weights * law.p**lost * (1 - law.p) ** (n - lost)
            known /= known.sum()
            for chance, p in zip(known, law.p, strict=True):
                x = np.arange(joined + 1)
                worths = [float(worth(lost + int(more), m)) for more in x]
                expected += weight * chance * (binom.pmf(x, joined, p) @ worths)
        found = metric(m).of_grown(losses, weights, n, law, [joined])
        assert found.tolist() == pytest.approx([expected], rel=1e-12)
    exact = metric(m).of_losses(losses, weights, n, n + 1)
    assert float(metric(m).of_grown(losses, weights, n, law, 0)) == pytest.approx(exact, rel=1e-12)


def test_atoms_and_limits():
    assert MRR.limit(LAW) == ReciprocalWithin(3).limit(LAW) == pytest.approx(0.1)
    assert MRR.limit(Favorability([0.2], [1.0])) == 0.0
    lost, never = Favorability([1.0], [1.0]), Favorability([0.0], [1.0])
    assert MRR.of_law(lost, [1, 2, 10]).tolist() == [1, 0.5, 0.1]
    assert ReciprocalWithin(3).of_law(lost, [1, 3, 4, 10]).tolist() == [
        1,
        pytest.approx(1 / 3),
        0,
        0,
    ]
    assert MRR.of_law(never, [1, 10**15]).tolist() == [1, 1]
    # So rare losses are seen in the error, not in the value.
    rare = Favorability([2.0**-50], [1.0])
    assert 1 - float(MRR.of_law(rare, 2)) == pytest.approx(2.0**-51, rel=0.3)


def test_guessing_has_the_mean_over_all_ranks():
    for m in CUTS:
        for k in (1, 2, 3, 7, 40):
            expected = np.mean([float(worth(rank, m)) for rank in range(k)])
            assert float(metric(m).guess(k)) == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
    st.integers(2, 20),
    st.integers(1, 13),
)
def test_it_lies_between_accuracy_and_top_m(losses, m, k):
    curve = observe(Pilot.from_losses(losses, 13))
    cut, whole = float(curve.value(k, ReciprocalWithin(m))), float(curve.value(k, MRR))
    assert curve.accuracy(k) - 1e-12 <= cut <= min(float(curve.top(m, k)), whole) + 1e-12
    assert whole <= cut + (1 - float(curve.top(m, k))) / (m + 1) + 1e-12
    # As a mixture of top-1, top-2 and so on.
    tops = sum(float(curve.top(i, k)) / (i * (i + 1)) for i in range(1, k)) + 1 / k
    assert whole == pytest.approx(tops, abs=1e-12)
    assert float(curve.value(k, ReciprocalWithin(50))) == pytest.approx(whole, abs=1e-12)


def test_names_words_and_bounds():
    assert [metric.name for metric in (MRR, ReciprocalWithin(10))] == ["mrr", "mrr@10"]
    assert (MRR.label, ReciprocalWithin(10).loss_label) == ("MRR", "shortfall of MRR@10")
    assert ReciprocalWithin(5) == ReciprocalWithin(5) != ReciprocalWithin(6) and Reciprocal() == MRR
    assert MRR != ACCURACY and Top(10) != ReciprocalWithin(10)
    assert MRR.describe(0.71) == "one over the rank of the right class is 71% on average"
    assert "(nothing past rank 1,000)" in ReciprocalWithin(1000).describe(0.71)
    for wrong in (0, 1, 1.5):
        with pytest.raises(ParameterError, match="m must be"):
            ReciprocalWithin(wrong)
    with pytest.raises(ParameterError, match="up to 1,000,000"):
        ReciprocalWithin(1_000_001)
