"""Chances for a random set of rivals, against all sets, whole numbers and many digits."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from headcount.metrics import hypergeometric


def all_numbers_above(n, losses, m):
    """How many of each set of m among n rivals beat the probe, for every set there is."""
    beating = set(range(losses))
    return [len(beating.intersection(rivals)) for rivals in itertools.combinations(range(n), m)]


def mean_over_sets(n, losses, m, value):
    values = [value(above) for above in all_numbers_above(n, losses, m)]
    return float(sum(map(Fraction, values)) / len(values))


def exact_masses(n, losses, m):
    """Chance of each number above the mark; the fewer of losses and draws must be few."""
    few, many = sorted((losses, m))
    whole = math.prod(range(n - few + 1, n + 1))
    return [
        Fraction(math.comb(few, j) * falling(many, j) * falling(n - many, few - j), whole)
        for j in range(few + 1)
    ]


def falling(n, steps):
    """n (n - 1) (n - 2) ..., so many factors; none where there are fewer."""
    return math.prod(max(n - i, 0) for i in range(steps))


def log_factorial(n):
    """Log of n! in forty digits, by Stirling's series, for n from a thousand on."""
    n = Decimal(n)
    twice_pi = Decimal("6.283185307179586476925286766559005768394338798750211641949889")
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)
    return (n + Decimal("0.5")) * n.ln() - n + twice_pi.ln() / 2 + series


def log_choose(n, m):
    return log_factorial(n) - log_factorial(m) - log_factorial(n - m)


def unbeaten(n, losses, m):
    return hypergeometric.chance_unbeaten(np.array([losses]), np.ones(1), n, m)


SMALL = [(n, losses, m) for n in range(1, 8) for losses in range(n + 1) for m in range(n + 1)]
MILLIONS = 5_000_000
# Losses and draws: none, one, few, half, all but few, all. One of the two is few, so that whole
# numbers can say what the chances are.
ENDS = [0, 1, 7, 60]
LARGE = [
    pair
    for few in ENDS
    for many in (*ENDS, MILLIONS // 2, MILLIONS - 60, MILLIONS - 1, MILLIONS)
    for pair in ((few, many), (many, few))
]


def test_few_rivals_are_those_of_all_sets():
    for n, losses, m in SMALL:
        none = mean_over_sets(n, losses, m, lambda above: above == 0)
        assert unbeaten(n, losses, m) == pytest.approx(none, abs=1e-14)
        reciprocal = mean_over_sets(n, losses, m, lambda above: Fraction(1, 1 + above))
        of_one = hypergeometric.mean_reciprocal(np.array([losses]), np.ones(1), n, m)
        assert of_one == pytest.approx(reciprocal, abs=1e-14)
        for top in range(1, n + 2):
            within = mean_over_sets(n, losses, m, lambda above, top=top: above < top)
            assert hypergeometric.chance_within(losses, n, m, top) == pytest.approx(
                within, abs=1e-14
            )
        for above in range(-1, n + 2):
            mass = mean_over_sets(n, losses, m, lambda number, above=above: number == above)
            found = math.exp(hypergeometric.log_mass(above, n, losses, m))
            assert found == pytest.approx(mass, abs=1e-14)


@pytest.mark.parametrize("losses, m", LARGE)
def test_millions_of_rivals_are_those_of_whole_numbers(losses, m):
    masses = exact_masses(MILLIONS, losses, m)
    for above in {0, 1, len(masses) // 2, len(masses) - 1}.intersection(range(len(masses))):
        found = math.exp(hypergeometric.log_mass(above, MILLIONS, losses, m))
        assert found == pytest.approx(float(masses[above]), rel=1e-11, abs=1e-300)
    assert unbeaten(MILLIONS, losses, m) == pytest.approx(float(masses[0]), rel=1e-11, abs=1e-300)
    for top in (1, 2, 5, 61):
        within = float(sum(masses[:top]))
        found = hypergeometric.chance_within(losses, MILLIONS, m, top)
        assert found == pytest.approx(within, rel=1e-11, abs=1e-300)
    reciprocal = float(sum(mass / (1 + above) for above, mass in enumerate(masses)))
    found = hypergeometric.mean_reciprocal(np.array([losses]), np.ones(1), MILLIONS, m)
    assert found == pytest.approx(reciprocal, rel=1e-11)


@pytest.mark.parametrize(
    "above, n, losses, m",
    [
        (250_000, 10**6, 500_000, 500_000),
        (251_000, 10**6, 500_000, 500_000),  # a mass of about 1e-8
        (240_000, 10**6, 500_000, 500_000),  # and of about e^-800, which no float holds
        (30_000, 4 * 10**6, 60_000, 2 * 10**6),
        (5_000, 10**12, 10**9, 5 * 10**6),
    ],
)
def test_many_losses_and_many_draws_keep_their_digits(above, n, losses, m):
    with localcontext(prec=60):
        expected = log_choose(losses, above) + log_choose(n - losses, m - above) - log_choose(n, m)
    found = hypergeometric.log_mass(above, n, losses, m)
    assert found == pytest.approx(float(expected), rel=1e-13, abs=1e-12)


def test_a_run_of_losses_does_not_drift():
    """Each chance follows from the one before; after 3,000 of them no digit may be gone."""
    n, m = 10**6, 700
    losses = np.arange(3000)
    expected, chance = [], Fraction(1)
    for lost in range(3000):
        expected.append(chance)
        chance = Fraction(float(chance)) * Fraction(n - lost - m, n - lost)
    for last in (1, 255, 256, 257, 2999):
        exact = exact_masses(n, last, m)[0] if last < 300 else None
        weights = (losses == last).astype(float)
        found = hypergeometric.chance_unbeaten(losses, weights, n, m)
        assert found == pytest.approx(float(exact or expected[last]), rel=1e-12)
    weights = np.random.default_rng(0).dirichlet(np.ones(3000))
    found = hypergeometric.chance_unbeaten(losses, weights, n, m)
    assert found == pytest.approx(weights @ np.array(expected, dtype=float), rel=1e-12)


def test_means_over_probes_are_weighted():
    losses, weights = np.array([0, 2, 2, 5, 9]), np.array([0.1, 0.2, 0.05, 0.4, 0.25])
    n, m = 9, 4
    masses = [[float(mass) for mass in exact_masses(n, int(lost), m)] for lost in losses]
    none = weights @ [mass[0] for mass in masses]
    assert hypergeometric.chance_unbeaten(losses, weights, n, m) == pytest.approx(none, abs=1e-15)
    within = np.array([sum(mass[:3]) for mass in masses])
    assert hypergeometric.mean_chance_within(losses, weights, n, m, 3) == pytest.approx(
        weights @ within, abs=1e-15
    )
    chances = np.empty(5)
    hypergeometric.fill_chances_within(losses, n, m, 3, chances)
    np.testing.assert_allclose(chances, within, atol=1e-15)


@pytest.mark.parametrize("n", [7, 40, 1000, MILLIONS])
def test_draws_need_not_be_whole(n):
    """With l losses the chance is the product of (n - m - i) / (n - i), i < l, for any real m."""
    for share in (Fraction(1, 8), Fraction(1, 3), Fraction(1, 2), Fraction(63, 64)):
        m = float(share * n)
        room = n - math.ceil(m)  # for losses that may be avoided
        for losses in {0, 1, 2, 3, 5, room // 2, room}.intersection(range(min(room + 1, 1000))):
            expected = math.prod((n - Fraction(m) - i) / (n - i) for i in range(losses))
            assert unbeaten(n, losses, m) == pytest.approx(float(expected), rel=1e-11)
        assert unbeaten(n, room + 1, m) == 0


def test_the_best_wrong_class_is_at_each_place_as_often_as_among_all_sets():
    rng = np.random.default_rng(0)
    for n_classes in range(2, 9):
        values = rng.random(n_classes - 1)
        rest = np.cumsum(values[::-1])[::-1].copy()
        for k in range(1, n_classes + 1):
            sets = list(itertools.combinations(range(n_classes - 1), k - 1))
            best = [places[0] for places in sets if places]
            expected = np.bincount(np.array(best, dtype=int), minlength=n_classes - 1) / len(sets)
            chances = np.empty(n_classes - 1)
            hypergeometric.fill_place_chances(k, n_classes, chances)
            np.testing.assert_allclose(chances, expected, atol=1e-15)
            found = hypergeometric.sum_over_places(values, rest, k)
            assert found == pytest.approx(values @ expected, abs=1e-15)


# -- relative errors ------------------------------------------------------------------------------

# Around the end of the table of Stirling errors, and on both sides of a half.
MIDDLE = [(17, 9, 8), (34, 17, 16), (36, 18, 19), (60, 25, 31), (60, 50, 7), (200, 90, 160)]


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


@pytest.mark.parametrize("n, losses, m", MIDDLE)
def test_mass_has_all_digits(n, losses, m):
    for j in range(max(0, m + losses - n), min(losses, m) + 1):
        expected = exact(j, n, losses, m)
        found = math.exp(hypergeometric.log_mass(j, n, losses, m))
        assert found == near(float(expected), 2e-13)


@pytest.mark.parametrize("step", [1, 3, 8, 9, 40])
def test_chance_unbeaten_keeps_its_digits_over_small_and_large_gaps(step):
    n, m = 2000, 3
    losses = np.arange(0, n - m + 2, step)
    expected = sum(exact(0, n, int(a), m) for a in losses) / len(losses)
    found = hypergeometric.chance_unbeaten(losses, np.full(len(losses), 1 / len(losses)), n, m)
    assert found == near(float(expected), 5e-14)


def test_sums_of_many_equal_terms_lose_nothing():
    many = 100_000
    total = hypergeometric.chance_unbeaten(np.zeros(many, np.int64), np.full(many, 0.1), 5, 2)
    assert total == near(many / 10, 1e-15)


def exact_within(n, losses, m, top):
    return sum(exact(j, n, losses, m) for j in range(top))


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


# -- edges ----------------------------------------------------------------------------------------

# Around the end of the table of Stirling errors, where the series has most to say.
SHORT = [(17, 1, 9), (18, 2, 8), (20, 10, 3), (32, 16, 16), (33, 17, 16), (40, 16, 17)]


@pytest.mark.parametrize("n, losses, m", [*SHORT, *MIDDLE])
def test_mass_of_few_is_right_to_round_off(n, losses, m):
    for j in range(max(0, m + losses - n), min(losses, m) + 1):
        found = math.exp(hypergeometric.log_mass(j, n, losses, m))
        assert found == near(float(exact(j, n, losses, m)), 3e-14)


def test_chances_are_exactly_zero_and_one_where_they_are_certain():
    for n in (1, 2, 5, 12, 40):
        for losses in range(n + 1):
            for m in range(n + 1):
                most, fewest = min(losses, m), max(0, m - (n - losses))
                for top in range(1, n + 2):
                    found = hypergeometric.chance_within(losses, n, m, top)
                    assert (found == 1) if top > most else (found <= 1)
                    assert (found == 0) == (top <= fewest)


def test_of_rivals_that_all_or_none_are_drawn_the_mass_is_exactly_one():
    for losses in range(8):
        for m in range(8):
            for j in range(8):
                found = hypergeometric.log_mass(j, 7, losses, m)
                if m in (0, 7) or losses in (0, 7):
                    assert found == (0.0 if j == losses * m // 7 else -math.inf)


def test_tiny_chances_add_up_as_large_ones_do():
    n, m, losses = 1000, 500, np.array([100, 101, 103, 140])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    each = [float(exact(0, n, int(a), m)) for a in losses]
    found = hypergeometric.chance_unbeaten(losses, weights, n, m)
    assert found == near(float(weights @ each), 1e-12)
    for top in (1, 2, 3, 9):
        expected = float(exact_within(n, 100, m, top))
        assert hypergeometric.chance_within(100, n, m, top) == near(expected, 1e-12)
    most = [float(exact_within(n, 140, 900, top)) for top in (90, 100, 110)]
    found = [hypergeometric.chance_within(140, n, 900, top) for top in (90, 100, 110)]
    np.testing.assert_allclose(found, most, rtol=1e-11)


@pytest.mark.parametrize("n", [20, 60, 200, 2000])
def test_reciprocals_of_middling_chances_keep_their_digits(n):
    """On both sides of half a loss expected, where another formula takes over."""
    for losses in (1, 2, 5, 9, 19):
        for m in (1, 2, 4, 9, 19):
            ways = [exact(j, n, losses, m) for j in range(min(losses, m) + 1)]
            expected = float(sum(chance / (j + 1) for j, chance in enumerate(ways)))
            found = hypergeometric.mean_reciprocal(np.array([losses]), np.ones(1), n, m)
            assert found == near(expected, 3e-14)


def test_places_of_the_best_wrong_class_among_two_and_among_all():
    chances = np.empty(4)
    for k, expected in ((1, [0, 0, 0, 0]), (2, [0.25] * 4), (5, [1, 0, 0, 0])):
        hypergeometric.fill_place_chances(k, 5, chances)
        assert chances.tolist() == expected
        values = np.array([0.5, 0.25, 2.0, 1.0])
        rest = values[::-1].cumsum()[::-1].copy()
        assert hypergeometric.sum_over_places(values, rest, k) == values @ expected


def test_a_single_class_has_no_places():
    hypergeometric.fill_place_chances(1, 1, np.empty(0))
    assert hypergeometric.sum_over_places(np.empty(0), np.empty(0), 1) == 0.0


def test_a_sum_over_places_may_end_where_nothing_is_left():
    values = np.concatenate([[1.0], np.zeros(10)])
    rest = values[::-1].cumsum()[::-1].copy()
    assert hypergeometric.sum_over_places(values, rest, 3) == 2 / 11
    # What comes late counts as long as it is not negligible.
    values = np.concatenate([[1e-9], np.zeros(5), [1.0]])
    rest = values[::-1].cumsum()[::-1].copy()
    places = np.empty(7)
    hypergeometric.fill_place_chances(3, 8, places)
    assert places[5] > 0 and places[6] == 0
    assert hypergeometric.sum_over_places(values, rest, 3) == near(values @ places, 1e-15)


@pytest.mark.parametrize("n", [*range(1, 41), 100, 1000])
def test_stirling_errors_have_all_digits(n):
    with localcontext(prec=60):
        twice_pi = Decimal("6.283185307179586476925286766559005768394338798750211641949889")
        n = Decimal(n)
        series = (n + Decimal("0.5")) * n.ln() - n + twice_pi.ln() / 2
        error = Decimal(math.factorial(int(n))).ln() - series
    assert hypergeometric._stirling_error(float(n)) == pytest.approx(float(error), rel=0, abs=2e-16)
