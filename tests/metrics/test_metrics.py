"""Accuracy and top-m: values against definitions, names, and what else the contract asks."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from headcount import Favorability, ParameterError
from headcount.metrics import ACCURACY, Top, top

LAW = Favorability([0.0, 1e-6, 0.03, 0.4, 1.0], [0.1, 0.2, 0.3, 0.2, 0.2])


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_of_losses_is_the_mean_over_all_sets(m):
    n, weights = 6, np.array([0.5, 0.25, 0.125, 0.125])
    losses = np.array([0, 1, 4, 6])
    for k in range(1, n + 2):
        each = [
            sum(
                Fraction(
                    math.comb(a, j) * math.comb(n - a, k - 1 - j)
                    if k - 1 - j <= n - a and j <= a and j < k
                    else 0,
                    math.comb(n, k - 1),
                )
                for j in range(m)
            )
            for a in losses.tolist()
        ]
        expected = np.array([float(chance) for chance in each])
        np.testing.assert_allclose(Top(m).of_each(losses, n, k), expected, rtol=1e-13)
        found = Top(m).of_losses(losses, weights, n, k)
        assert found == pytest.approx(float(weights @ expected), rel=1e-13)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_of_law_is_the_binomial_sum(m):
    ks = np.array([1, 2, 3, 5, 6, 7, 50, 1000])
    expected = [LAW.weights @ binom.cdf(m - 1, k - 1, LAW.p) for k in ks]
    np.testing.assert_allclose(Top(m).of_law(LAW, ks), expected, rtol=1e-12)
    assert (Top(m).of_law(LAW, ks[ks <= m]) == 1).all()
    assert Top(m).of_law(LAW, ks.reshape(2, 4)).shape == (2, 4)
    assert Top(m).of_law(LAW, 7).shape == ()


def test_up_to_m_classes_a_hit_is_certain_even_for_what_is_beaten_by_all():
    lost = Favorability([1.0], [1.0])
    assert Top(3).of_law(lost, [1, 2, 3, 4]).tolist() == [1, 1, 1, 0]
    assert Top(3).certain == 3 and ACCURACY.certain == 1


def test_errors_and_small_accuracies_keep_their_digits():
    wrong = 1 - float(ACCURACY.of_law(Favorability([2.0**-40], [1.0]), 2))
    assert wrong == 2.0**-40
    small = float(ACCURACY.of_law(Favorability([0.9], [1.0]), 31))
    assert small == pytest.approx(1e-30, rel=1e-12, abs=0)
    # Where nearly all probes are lost, the errors sum to one but for round-off.
    mixed = Favorability([0.5, 1.0], [1e-9, 1.0])
    assert float(ACCURACY.of_law(mixed, 31)) == pytest.approx(1e-9 * 2.0**-30, rel=1e-8, abs=0)


def test_sums_past_one_are_one():
    """Weights sum to one but for round-off, and shares must not show it."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        law = Favorability(np.full(40, 1e-18) * rng.uniform(size=40), rng.uniform(size=40))
        for metric in (ACCURACY, Top(2)):
            assert metric.of_law(law, 5) <= 1


def test_many_numbers_of_classes_are_looked_at_a_few_at_a_time(monkeypatch):
    ks = np.arange(1, 60)
    whole = [metric.of_law(LAW, ks) for metric in (ACCURACY, Top(3))]
    monkeypatch.setattr(top, "CELLS", 4 * len(LAW.p))
    for metric, expected in zip((ACCURACY, Top(3)), whole, strict=True):
        # Sums of a few rows at a time may be added in another order.
        np.testing.assert_allclose(metric.of_law(LAW, ks), expected, rtol=1e-14)
    monkeypatch.setattr(top, "CELLS", 1)
    np.testing.assert_allclose(ACCURACY.of_law(LAW, ks), whole[0], rtol=1e-14)


def test_what_remains_is_the_atom_at_zero():
    assert ACCURACY.limit(LAW) == Top(4).limit(LAW) == LAW.weights[0] == pytest.approx(0.1)
    assert ACCURACY.limit(Favorability([0.1, 0.5], [0.5, 0.5])) == 0.0
    bare = SimpleNamespace(p=np.array([0.0, 1.0]), weights=np.array([0.25, 0.75]))
    assert Top(2).limit(bare) == 0.25


def test_guessing_finds_m_of_k():
    assert ACCURACY.guess([1, 2, 10]).tolist() == [1, 0.5, 0.1]
    assert Top(3).guess([1, 2, 3, 4, 30]).tolist() == [1, 1, 1, 0.75, 0.1]


def test_names_and_words():
    assert [Top(m).name for m in (1, 2, 12)] == ["accuracy", "top-2", "top-12"]
    assert [Top(m).label for m in (1, 5)] == ["accuracy", "top-5 accuracy"]
    assert [Top(m).loss_label for m in (1, 5)] == ["error rate", "top-5 error rate"]
    assert ACCURACY.describe(0.71) == "71 of 100 probes find the right class"
    assert Top(5).describe(0.71) == "71 of 100 probes find the right class among the best 5"
    assert ACCURACY.write(0.71) == "71%"
    assert ACCURACY.write_range(0.6, 0.7) == "60-70%"
    assert (ACCURACY.better, ACCURACY.range) == ("higher", (0.0, 1.0))


def test_metrics_of_one_name_are_one():
    assert Top(1) == ACCURACY and Top(5) == Top(5) != Top(6)
    assert hash(Top(5)) == hash(Top(5))
    assert len({Top(1), ACCURACY, Top(2)}) == 2
    assert ACCURACY != "accuracy"
    assert repr(Top(5)) == "Metric('top-5')"


@pytest.mark.parametrize("m", [0, -1, 1.5])
def test_top_needs_a_whole_number_of_one_or_more(m):
    with pytest.raises(ParameterError, match="m must be"):
        Top(m)
