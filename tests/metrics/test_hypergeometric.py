"""Chances for a random set of rivals, against whole numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.metrics import hypergeometric


def near(value, rel):
    """Compare by relative error alone: pytest would also take anything within 1e-12 of zero."""
    return pytest.approx(value, rel=rel, abs=0)


def exact(j, n, losses, m):
    """Chance that j of m rivals out of n are among the losses; quick where losses are few."""
    if j < 0 or j > losses or j > m or m - j > n - losses:
        return Fraction(0)
    if losses > m:
        losses, m = m, losses  # the law is the same
    ways = Fraction(math.comb(losses, j))
    for i in range(j):
        ways *= Fraction(m - i, n - i)
    for i in range(losses - j):
        ways *= Fraction(n - m - i, n - j - i)
    return ways


def exact_within(n, losses, m, top):
    return sum(exact(j, n, losses, m) for j in range(top))


SMALL = [(n, losses, m) for n in range(1, 8) for losses in range(n + 1) for m in range(n + 1)]
# Around the end of the table of Stirling errors, and on both sides of a half.
MIDDLE = [(17, 9, 8), (34, 17, 16), (36, 18, 19), (60, 25, 31), (60, 50, 7), (200, 90, 160)]


@pytest.mark.parametrize("n, losses, m", MIDDLE)
def test_mass_has_all_digits(n, losses, m):
    for j in range(max(0, m + losses - n), min(losses, m) + 1):
        expected = exact(j, n, losses, m)
        found = math.exp(hypergeometric.log_mass(j, n, losses, m))
        assert found == near(float(expected), 2e-13)


def test_mass_of_few_is_that_of_whole_numbers():
    for n, losses, m in SMALL:
        for j in range(-1, n + 2):
            expected = exact(j, n, losses, m)
            found = hypergeometric.log_mass(j, n, losses, m)
            if expected == 0:
                assert found == -math.inf
            else:
                assert math.exp(found) == near(float(expected), 1e-14)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("share", [1e-5, 0.01, 0.49, 0.51, 0.97])
def test_mass_of_many_does_not_cancel(n, share):
    m = round(n * share)
    for losses in (1, 7, 60):
        for j in (0, 1, losses // 2, losses):
            expected = float(exact(j, n, losses, m))
            if expected > 1e-280:
                found = math.exp(hypergeometric.log_mass(j, n, losses, m))
                assert found == near(expected, 1e-11)


def unbeaten(losses, weights, n, m):
    rows = np.asarray(losses, np.int64), np.asarray(weights, np.float64)
    return float(hypergeometric.chance_unbeaten(*rows, n, m))


def test_chance_unbeaten_is_the_weighted_mean():
    for n, _, m in SMALL:
        weights = np.arange(1.0, n + 2)
        parts = [w * exact(0, n, losses, m) for losses, w in enumerate(map(int, weights))]
        expected = float(sum(parts))
        assert unbeaten(range(n + 1), weights, n, m) == near(expected, 1e-14)
        for losses in range(n + 1):  # alone, also where there is one way to miss them all
            found = unbeaten([losses], [1.0], n, m)
            assert found == near(float(exact(0, n, losses, m)), 1e-14)


@pytest.mark.parametrize("step", [1, 3, 8, 9, 40])
def test_chance_unbeaten_keeps_its_digits_over_small_and_large_gaps(step):
    n, m = 2000, 3
    losses = np.arange(0, n - m + 2, step)
    expected = sum(exact(0, n, int(a), m) for a in losses) / len(losses)
    found = unbeaten(losses, np.full(len(losses), 1 / len(losses)), n, m)
    assert found == near(float(expected), 5e-14)


def test_sums_of_many_equal_terms_lose_nothing():
    many = 100_000
    assert unbeaten(np.zeros(many), np.full(many, 0.1), 5, 2) == near(many / 10, 1e-15)


def test_chance_within_is_the_sum_of_masses():
    for n, losses, m in SMALL:
        for top in range(1, n + 2):
            found = hypergeometric.chance_within(losses, n, m, top)
            expected = float(exact_within(n, losses, m, top))
            assert found == near(expected, 1e-13)
            assert found <= 1


@pytest.mark.parametrize("n, losses, m", [*MIDDLE, (10**9, 40, 3 * 10**8), (10**9, 30, 10**9 - 5)])
def test_chance_within_of_more_is_the_sum_of_masses(n, losses, m):
    for top in range(1, min(losses, m) + 2):
        found = hypergeometric.chance_within(losses, n, m, top)
        expected = float(exact_within(n, losses, m, top))
        assert found == near(expected, 1e-11)


def test_chance_within_of_half_a_million_follows_from_symmetry():
    n, half = 1_000_000, 250_000
    at_half = math.exp(hypergeometric.log_mass(half, n, n // 2, n // 2))
    for top, expected in ((half, (1 - at_half) / 2), (half + 1, (1 + at_half) / 2)):
        found = hypergeometric.chance_within(n // 2, n, n // 2, top)
        assert found == near(expected, 1e-9)
    assert hypergeometric.chance_within(n // 2, n, n // 2, half // 2) == 0.0
    nearly_all = hypergeometric.chance_within(n // 2, n, n // 2, half + half // 2)
    assert nearly_all == pytest.approx(1, abs=1e-12)


def test_chances_of_many_probes_are_those_of_each():
    losses, n, m, top = np.arange(31), 30, 12, 4
    expected = [float(exact_within(n, a, m, top)) for a in range(31)]
    chances = np.empty(31)
    hypergeometric.fill_chances_within(losses, n, m, top, chances)
    np.testing.assert_allclose(chances, expected, rtol=1e-12)
    weights = np.arange(1.0, 32.0)
    mean = hypergeometric.mean_chance_within(losses, weights, n, m, top)
    assert mean == near(float(weights @ expected), 1e-13)


def test_reciprocal_is_the_mean_of_one_over_one_plus_the_number_above():
    for n, losses, m in [*SMALL, *MIDDLE, (10**9, 40, 10**6), (10**9, 40, 10**8), (10**9, 7, 1)]:
        expected = sum(exact(j, n, losses, m) / (j + 1) for j in range(min(losses, m) + 1))
        found = hypergeometric.mean_reciprocal(np.array([losses]), np.ones(1), n, m)
        assert found == near(float(expected), 1e-12)
    rows, weights = np.array([0, 1, 5]), np.array([0.5, 0.125, 0.375])
    each = [hypergeometric.mean_reciprocal(rows[[i]], np.ones(1), 9, 4) for i in range(3)]
    together = hypergeometric.mean_reciprocal(rows, weights, 9, 4)
    assert together == near(float(weights @ each), 1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 8, 40])
def test_the_best_wrong_class_among_k(n_classes):
    for k in range(1, n_classes + 1):
        chances = np.full(n_classes - 1, np.nan)
        hypergeometric.fill_place_chances(k, n_classes, chances)
        # The class at a place and k - 2 of those behind it, of all sets of k - 1 wrong classes.
        expected = [
            math.comb(n_classes - 2 - place, k - 2) / math.comb(n_classes - 1, k - 1)
            if k > 1
            else 0.0
            for place in range(n_classes - 1)
        ]
        np.testing.assert_allclose(chances, expected, rtol=1e-12, atol=0)
