"""Accuracy and top-m: of losses against all sets of rivals, under a law in many digits."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from headcount import ParameterError
from headcount.curves.favorability import Favorability
from headcount.metrics import ACCURACY, Top, resolve_metric


def share_of_sets(n, losses, k, m):
    """Share of all sets of k - 1 rivals of which fewer than m beat the probe."""
    sets = list(itertools.combinations(range(n), k - 1))
    return Fraction(sum(sum(r < losses for r in rivals) < m for rivals in sets), len(sets))


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_of_losses_is_the_mean_over_all_sets(m):
    losses, weights = np.arange(7), np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.1, 0.2])
    metric = Top(m)
    for k in range(1, 8):
        each = [float(share_of_sets(6, lost, k, m)) for lost in range(7)]
        np.testing.assert_allclose(metric.of_each(losses, 6, k), each, atol=1e-15)
        found = metric.of_losses(losses, weights, 6, k)
        assert found == pytest.approx(weights @ each, abs=1e-14)


def exact_under(p, k, m):
    """Chance that fewer than m of k - 1 rivals win, each with chance p, in sixty digits."""
    with localcontext(prec=60):
        p, n = Decimal(p), k - 1
        win = Decimal(1) - p
        total = Decimal(0)
        for above in range(min(m, n + 1)):
            # Python's own power of zero to the zero is one; that of decimals is not defined.
            losing = p**above if above else Decimal(1)
            winning = win ** (n - above) if n > above else Decimal(1)
            total += math.comb(n, above) * losing * winning
        return total


@pytest.mark.parametrize("p", [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_under_a_law_no_digit_is_lost(p, m):
    law = Favorability([p], [1.0])
    for k in (1, 2, 3, 6, 1000, 10**6, 10**9, 10**12, 10**15):
        exact = exact_under(p, k, m)
        found = float(Top(m).of_law(law, k))
        # Near one the error counts, and floats hold no more of it than this.
        assert abs(Decimal(found) - exact) < Decimal("2.3e-16") + abs(1 - exact) * Decimal("1e-13")
        # Near zero, and in between, so does the value itself; a power has as many digits as its
        # exponent leaves it.
        digits = 1e-13 * max(1.0, -float(exact.ln()) if exact > 0 else 1.0)
        assert found == pytest.approx(float(exact), rel=digits, abs=1e-290)


def test_under_a_law_atoms_stay():
    law = Favorability([0.0, 1e-3, 1.0], [0.2, 0.5, 0.3])
    for m in (1, 2, 5):
        found = Top(m).of_law(law, [1, 2, 1000, 10**15])
        exact = [0.2 + 0.5 * float(exact_under(1e-3, k, m)) + 0.3 * (k <= m) for k in (1, 2, 1000)]
        np.testing.assert_allclose(found, [*exact, 0.2], atol=1e-15)
        assert Top(m).limit(law) == 0.2


def test_many_sizes_and_nodes_are_taken_in_parts():
    rng = np.random.default_rng(0)
    p = np.sort(rng.random(20_000))
    law = Favorability(p, np.full(20_000, 5e-5))
    ks = np.arange(1, 601).reshape(3, 200)  # 12 million cells, past what is looked at together
    found = ACCURACY.of_law(law, ks)
    assert found.shape == (3, 200)
    for row, column in ((0, 0), (0, 199), (1, 0), (2, 199)):
        expected = math.fsum((1 - p) ** (ks[row, column] - 1)) / 20_000
        assert found[row, column] == pytest.approx(expected, abs=1e-13)


def test_names_and_constants():
    assert resolve_metric("accuracy") == ACCURACY == Top(1) == resolve_metric("top-1")
    assert resolve_metric("top-5") == Top(5) != Top(4)
    assert resolve_metric(Top(3)) == Top(3)
    assert (Top(5).name, Top(5).certain, Top(1).certain) == ("top-5", 5, 1)
    np.testing.assert_allclose(Top(3).guess([1, 3, 4, 300]), [1, 1, 0.75, 0.01])
    with pytest.raises(ParameterError, match="m must be"):
        Top(0)


def test_among_one_class_more_than_count_the_worst_place_is_the_only_miss():
    law = Favorability([0.0, 0.25, 1.0], [0.25, 0.5, 0.25])
    for m in (1, 2, 3):
        assert float(Top(m).of_law(law, m + 1)) == pytest.approx(0.75 - 0.5 * 0.25**m, rel=1e-15)
        assert float(Top(m).of_law(law, m)) == 1.0
        assert (Top(m).of_law(law, [5, 10**15]) >= 0).all()
