import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from headcount import ParameterError, Pilot, observe

RULES = ("random", "lose", "win")


def random_counts(rng, n_probes, n_rivals):
    losses = rng.integers(0, n_rivals + 1, n_probes)
    ties = np.array([rng.integers(0, n_rivals - loss + 1) for loss in losses])
    return losses, ties


def exact(n_rivals, losses, m):
    """Chance that m of n rivals hold none of the losses, in whole numbers."""
    return Fraction(math.comb(n_rivals - losses, m), math.comb(n_rivals, m))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_accuracy_and_top_are_means_over_all_sub_tasks(rule, average):
    rng = np.random.default_rng(0)
    losses, ties = random_counts(rng, 12, 6)
    labels = np.array([0] * 7 + [1] * 3 + [2] * 2)  # unbalanced; four classes without probes
    pilot = Pilot.from_losses(losses, 7, ties=ties, labels=labels, tie_rule=rule, average=average)
    per_class = np.bincount(labels)[labels]
    weights = (
        [Fraction(1, 12)] * 12
        if average == "micro"
        else [Fraction(1, 3 * int(n)) for n in per_class]
    )
    curve = observe(pilot)
    for k in range(1, 8):
        for top in (1, 2, 5):
            chances = [
                brute.chance_among(int(a), int(b), 6, k, rule, top)
                for a, b in zip(losses, ties, strict=True)
            ]
            expected = sum(w * c for w, c in zip(weights, chances, strict=True))
            found = curve.accuracy(k) if top == 1 else curve.top(top, k)
            assert float(found) == pytest.approx(float(expected), abs=1e-14)


@pytest.mark.parametrize("rule", RULES)
def test_reciprocal_and_median_rank_are_those_of_all_sub_tasks(rule):
    rng = np.random.default_rng(1)
    losses, ties = random_counts(rng, 9, 6)
    curve = observe(Pilot.from_losses(losses, 7, ties=ties, tie_rule=rule))
    for k in range(1, 8):
        chances = [
            brute.rank_chances(int(a), int(b), 6, k, rule)
            for a, b in zip(losses, ties, strict=True)
        ]
        law = [sum(column) / 9 for column in zip(*chances, strict=True)]
        mean = sum(share / rank for rank, share in enumerate(law, start=1))
        assert float(curve.mean_reciprocal_rank(k)) == pytest.approx(float(mean), abs=1e-14)
        reached, median = Fraction(0), 0
        while reached < Fraction(1, 2):
            reached += law[median]
            median += 1
        assert float(curve.median_rank(k)) == median


@settings(max_examples=200)
@given(st.integers(1, 10**9), st.data())
def test_any_size_agrees_with_whole_numbers(n_rivals, data):
    # Few losses or few draws, so that the exact value can be had from small products.
    few = data.draw(st.integers(0, min(n_rivals, 300)))
    many = data.draw(st.integers(0, n_rivals))
    losses, m = data.draw(st.sampled_from([(few, many), (many, few)]))
    expected = Fraction(1)
    for i in range(min(losses, m)):
        expected *= Fraction(max(n_rivals - max(losses, m) - i, 0), n_rivals - i)
    pilot = Pilot.from_losses([losses], n_rivals + 1)
    found = float(observe(pilot).accuracy(m + 1))
    assert found == pytest.approx(float(expected), rel=1e-11, abs=1e-300)


def test_a_million_classes_and_any_k():
    rng = np.random.default_rng(2)
    n_classes = 1_000_000
    losses = np.unique((n_classes * rng.beta(0.3, 6, 3000)).astype(int))
    curve = observe(Pilot.from_losses(losses, n_classes))
    ks = np.unique(np.geomspace(1, n_classes, 40).astype(int))
    values = curve.accuracy(ks)
    for k, value in zip(ks[::6], values[::6], strict=True):
        exponents = [
            sum(math.log1p(-int(a) / (n_classes - 1 - i)) for i in range(int(k) - 1))
            if k < 3000
            else math.lgamma(n_classes - a) - math.lgamma(n_classes - a - k + 1)
            - math.lgamma(n_classes) + math.lgamma(n_classes - k + 1)
            for a in losses[:400]
            if a <= n_classes - k
        ]  # fmt: skip
        part = observe(Pilot.from_losses(losses[:400], n_classes)).accuracy(k)
        expected = math.fsum(math.exp(e) for e in exponents) / 400
        assert float(part) == pytest.approx(expected, rel=1e-7, abs=1e-12)
        assert 0 <= value <= 1
    assert (np.diff(values) <= 0).all()


@settings(max_examples=50)
@given(st.integers(2, 60), st.data())
def test_curve_starts_at_one_falls_and_is_convex(n_classes, data):
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(0, n_classes - 1), st.integers(0, 5)), min_size=1, max_size=8
        )
    )
    losses = [a for a, _ in rows]
    ties = [min(b, n_classes - 1 - a) for a, b in rows]
    curve = observe(Pilot.from_losses(losses, n_classes, ties=ties))
    values = curve.accuracy(np.arange(1, n_classes + 1))
    assert values[0] == pytest.approx(1, abs=1e-15)
    assert (np.diff(values) <= 1e-13).all()
    assert (np.diff(values, 2) >= -1e-13).all()
    assert (curve.top(2, np.arange(1, n_classes + 1)) >= values - 1e-13).all()


def test_all_ties_under_random_is_guessing():
    curve = observe(Pilot.from_losses([0, 0], 50, ties=[49, 49]))
    ks = np.arange(1, 51)
    np.testing.assert_allclose(curve.accuracy(ks), 1 / ks, rtol=1e-12)


def test_censoring_gives_bounds_that_hold_whatever_the_truth():
    rng = np.random.default_rng(3)
    true = rng.integers(0, 100, 30)
    depth = 20
    cut = true >= depth
    pilot = Pilot.from_losses(np.minimum(true, depth), 100, censored=cut)
    curve, full = observe(pilot), observe(Pilot.from_losses(true, 100))
    ks = np.arange(1, 101)
    lower, upper = curve.bounds(ks)
    assert (lower <= full.accuracy(ks) + 1e-12).all() and (full.accuracy(ks) <= upper + 1e-12).all()
    assert (upper - lower)[3] > 0.1
    np.testing.assert_allclose(curve.accuracy(ks), (lower + upper) / 2)
    assert lower[-1] == upper[-1]  # among all classes a censored probe is wrong for sure
    tight = observe(Pilot.from_losses(np.full(30, 99), 100, censored=np.ones(30, bool)))
    np.testing.assert_allclose(*tight.bounds(ks))


def test_without_censoring_the_bounds_meet():
    lower, upper = observe(Pilot.from_losses([0, 5], 10)).bounds([2, 7])
    assert lower.tolist() == upper.tolist()


@pytest.mark.parametrize("k", [0, 11, 2.5, math.nan])
def test_numbers_of_classes_never_observed_are_refused(k):
    with pytest.raises(ParameterError):
        observe(Pilot.from_losses([0], 10)).accuracy(k)


def test_order_of_probes_does_not_matter_at_all():
    rng = np.random.default_rng(4)
    losses, ties = random_counts(rng, 200, 40)
    labels = rng.integers(0, 30, 200)
    order = rng.permutation(200)
    one = observe(Pilot.from_losses(losses, 41, ties=ties, labels=labels))
    other = observe(Pilot.from_losses(losses[order], 41, ties=ties[order], labels=labels[order]))
    ks = np.arange(1, 42)
    assert one.accuracy(ks).tolist() == other.accuracy(ks).tolist()


@pytest.mark.parametrize("n_rivals", [10**6, 10**9, 10**12])
def test_reciprocal_rank_does_not_cancel_among_many(n_rivals):
    for losses, k in ((0, 2), (0, 4), (3, 5), (n_rivals // 10, 7), (n_rivals // 2, 40)):
        curve = observe(Pilot.from_losses([losses], n_rivals + 1))
        m = k - 1
        mean = Fraction(0)
        for j in range(min(losses, m) + 1):
            ways = math.comb(m, j)
            for i in range(j):
                ways *= Fraction(losses - i, n_rivals - i)
            for i in range(m - j):
                ways *= Fraction(n_rivals - losses - i, n_rivals - j - i)
            mean += Fraction(ways) / (j + 1)
        assert float(curve.mean_reciprocal_rank(k)) == pytest.approx(float(mean), rel=1e-12)


def test_top_of_half_a_trillion():
    n_rivals = 10**12
    curve = observe(Pilot.from_losses([n_rivals // 2], n_rivals + 1))
    half = n_rivals // 4
    # Half the rivals beat, half are drawn: as many above as below the middle, by symmetry.
    assert float(curve.top(half + 1, n_rivals // 2 + 1)) == pytest.approx(0.5, abs=1e-5)


def test_median_rank_of_halves_and_of_those_just_short():
    # Half of the probes are right: the median rank is one, though the weights sum up by round-off.
    assert float(observe(Pilot.from_losses([0, 0, 0, 9, 9, 9], 10)).median_rank(10)) == 1
    assert float(observe(Pilot.from_losses([0, 0, 9, 9, 9], 10)).median_rank(10)) == 10
    assert float(observe(Pilot.from_losses([4], 10)).median_rank(10)) == 5
    ranks = observe(Pilot.from_losses([0, 3, 9], 10)).median_rank([[1, 10]])
    assert ranks.tolist() == [[1, 4]]


def test_a_curve_knows_its_size_and_whether_it_is_exact():
    plain = observe(Pilot.from_losses([0, 5], 10))
    assert (plain.n_classes, plain.exact, plain.censored) == (10, True, False)
    cut = observe(Pilot.from_losses([0, 5], 10, censored=[False, True]))
    assert (cut.n_classes, cut.exact, cut.censored) == (10, False, True)
    # Up to all classes: right for sure with none above, wrong for sure with five or nine.
    assert cut.accuracy(10).tolist() == 0.5
    lower, upper = cut.bounds([2])
    assert lower.tolist() == pytest.approx([(1 + 0) / 2])
    assert upper.tolist() == pytest.approx([(1 + 4 / 9) / 2])


def test_shares_are_never_past_one():
    rng = np.random.default_rng(5)
    for n_probes in range(1, 60):
        curve = observe(
            Pilot.from_losses(np.zeros(n_probes, int), 5, labels=rng.integers(0, 5, n_probes))
        )
        assert (curve.accuracy([1, 2, 5]) <= 1).all()
        assert (curve.mean_reciprocal_rank([1, 2, 5]) <= 1).all()
