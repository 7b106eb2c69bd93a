import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import brute
from headcount import ParameterError, Pilot, observe
from headcount.curves.reversed_roc import ROCCurve, reversed_roc

RULES = ("random", "lose", "win")


def inverse_rate(wrong, u):
    """Eq. 7: sup of the t at which at least the share u of the wrong scores lies above t.

    That share falls at each wrong score and nowhere else, so the sup is the first of them at which
    it is below u; there is none for u = 0.
    """
    falls = [s for s in sorted(wrong) if Fraction(sum(w > s for w in wrong), len(wrong)) < u]
    return falls[0] if falls else math.inf


def above(wrong, score):
    return Fraction(sum(w > score for w in wrong), len(wrong))


def split(row, label):
    """The true score of a probe, and the wrong ones."""
    return row[label], [s for y, s in enumerate(row) if y != label]


def scored(scores, labels, **options):
    """A pilot of any scores: those worse than guessing are taken if the orientation is said."""
    return Pilot.from_scores(scores, labels, higher_is_better=True, **options)


def ramp(low, high, u):
    """A rise from low to high, or right after low where they are equal."""
    if u <= low:
        return Fraction(0)
    return Fraction(1) if u >= high else (u - low) / (high - low)


def places(n_rivals):
    """Rates at, between and around all possible steps, as fractions with exact floats."""
    return [Fraction(i, 8 * n_rivals) for i in range(8 * n_rivals + 1)]


@st.composite
def counted_pilots(draw, censoring=False, most=12):
    """Losses, ties and labels of a few probes, averaged and tie-broken in any way."""
    n_classes = draw(st.integers(2, most))
    n_probes = draw(st.integers(1, 10))
    losses = draw(
        st.lists(st.integers(0, n_classes - 1), min_size=n_probes, max_size=n_probes),
    )
    cut = [censoring and draw(st.booleans()) for _ in losses]
    ties = [
        0 if c else draw(st.integers(0, n_classes - 1 - a))
        for a, c in zip(losses, cut, strict=True)
    ]
    labels = [draw(st.integers(0, n_classes - 1)) for _ in losses]
    return Pilot.from_losses(
        losses,
        n_classes,
        ties=ties,
        censored=cut,
        labels=labels,
        average=draw(st.sampled_from(["macro", "micro"])),
        tie_rule=draw(st.sampled_from(RULES)),
    )


def score_rows(n_classes, values):
    return st.lists(
        st.lists(values, min_size=n_classes, max_size=n_classes, unique=values is REALS),
        min_size=1,
        max_size=5,
    )


REALS, FEW = st.floats(-5, 5), st.integers(0, 2)


# -- the definition ---------------------------------------------------------------------------------


@settings(max_examples=50)
@given(score_rows(5, REALS), st.data())
def test_every_probe_follows_definition_one(scores, data):
    labels = [data.draw(st.integers(0, 4)) for _ in scores]
    curve = reversed_roc(scored(scores, labels))
    for i, (row, label) in enumerate(zip(scores, labels, strict=True)):
        true, wrong = split(row, label)
        for u in places(4):
            # Eq. 5, 7 and 8 as they stand: the true score lies above the inverse rate.
            assert float(curve.probe(i, float(u))) == (true > inverse_rate(wrong, u))


@settings(max_examples=50)
@given(score_rows(5, FEW), st.data())
def test_ties_follow_one_of_the_two_readings_or_lie_between(scores, data):
    labels = [data.draw(st.integers(0, 4)) for _ in scores]
    assume(any(len(set(row)) > 1 for row in scores))  # a pilot of constant scores is refused
    lose, win, random = (
        reversed_roc(scored(scores, labels, tie_rule=rule)) for rule in ("lose", "win", "random")
    )
    for i, (row, label) in enumerate(zip(scores, labels, strict=True)):
        true, wrong = split(row, label)
        equal = Fraction(wrong.count(true), 4)
        for u in places(4):
            assert float(lose.probe(i, float(u))) == (true > inverse_rate(wrong, u))  # Eq. 8
            assert float(win.probe(i, float(u))) == (above(wrong, true) < u)  # Eq. 14
            low = above(wrong, true)
            assert float(random.probe(i, float(u))) == float(ramp(low, low + equal, u))


@settings(max_examples=100)
@given(st.lists(REALS, min_size=2, max_size=9, unique=True), st.fractions(0, 1, max_denominator=40))
def test_proposition_one(row, u):
    """G1 = G2 where each class in turn is the true one and the others are wrong."""
    ways = [split(row, y) for y in range(len(row))]
    first = {y for y, (true, wrong) in enumerate(ways) if true > inverse_rate(wrong, u)}
    second = {y for y, (true, wrong) in enumerate(ways) if above(wrong, true) < u}
    assert first == second
    curve = reversed_roc(scored([row] * len(row), range(len(row))))
    let_in = curve.probe(np.arange(len(row)), float(u))
    # As a float, a rate may fall on the other side of a step it is equal to.
    on_step = (u * (len(row) - 1)).denominator == 1
    assert on_step or set(np.flatnonzero(let_in)) == first


def test_proposition_one_needs_scores_without_ties():
    true, wrong, u = 1, [1, 0], Fraction(1, 4)
    assert inverse_rate(wrong, u) == 1
    assert not true > inverse_rate(wrong, u)
    assert above(wrong, true) < u


@settings(max_examples=100)
@given(counted_pilots())
def test_the_average_is_the_weighted_mean_of_the_probes(pilot):
    curve = reversed_roc(pilot)
    u = np.unique(np.concatenate([curve.low, curve.high, np.linspace(0, 1, 23)]))
    means = [math.fsum(pilot.weights * curve.probe(np.arange(pilot.n_probes), x)) for x in u]
    np.testing.assert_allclose(curve.average(u), means, atol=1e-14)
    assert (np.diff(curve.average(u)) >= -1e-15).all()
    assert curve.average(0.5).shape == ()
    assert curve.average([[0.1, 0.2]]).shape == (1, 2)


def test_macro_weighs_classes_and_micro_probes():
    parts = {"losses": [0, 2, 4], "n_classes": 5, "labels": [0, 0, 1]}
    macro, micro = (reversed_roc(Pilot.from_losses(**parts, average=a)) for a in ("macro", "micro"))
    assert macro.average([0.25, 0.75, 1]).tolist() == pytest.approx([1 / 4, 1 / 2, 1 / 2])
    assert micro.average([0.25, 0.75, 1]).tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3])


def test_scores_and_their_counts_give_the_same_curve():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 5, (40, 12)), rng.integers(0, 12, 40)
    pilot = Pilot.from_scores(scores, labels)
    counts = Pilot.from_losses(pilot.losses, 12, ties=pilot.ties, labels=labels)
    rescaled = Pilot.from_scores(-np.exp(scores), labels, higher_is_better=False)
    u = np.linspace(0, 1, 101)
    for other in (counts, rescaled):
        assert reversed_roc(other).average(u).tolist() == reversed_roc(pilot).average(u).tolist()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_order_of_probes_and_classes_does_not_matter_at_all(seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 6, (30, 7)), rng.integers(0, 7, 30)
    rows, columns = rng.permutation(30), rng.permutation(7)
    one = reversed_roc(scored(scores, labels))
    moved = scores[rows][:, columns], np.argsort(columns)[labels[rows]]
    other = reversed_roc(scored(*moved))
    u = np.linspace(0, 1, 57)
    assert one.average(u).tolist() == other.average(u).tolist()
    assert one.auc == other.auc
    assert one.probe(rows, 0.4).tolist() == other.probe(np.arange(30), 0.4).tolist()


# -- ends and edges ---------------------------------------------------------------------------------


def test_both_ends_follow_the_strict_inequality():
    curve = reversed_roc(Pilot.from_losses([0, 3, 4], 5))
    assert curve.average([0, 1e-300, 0.75, 0.7501, 1]).tolist() == pytest.approx(
        [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3]
    )
    assert curve.probe([0, 1, 2], 1.0).tolist() == [1, 1, 0]
    assert curve.probe([0, 1, 2], 0.0).tolist() == [0, 0, 0]


def test_all_right_all_wrong_and_all_tied():
    u = np.array([0.0, 1e-9, 0.3, 1.0])
    right, wrong = (reversed_roc(Pilot.from_losses([a] * 3, 5)) for a in (0, 4))
    assert (right.auc, right.average(u).tolist()) == (1, [0, 1, 1, 1])
    assert (wrong.auc, wrong.average(u).tolist()) == (0, [0, 0, 0, 0])
    tied = reversed_roc(Pilot.from_losses([0] * 3, 5, ties=[4] * 3))
    assert tied.auc == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(tied.average(u), u, atol=1e-15)


def test_two_classes():
    curve = reversed_roc(Pilot.from_losses([0, 0, 1, 0], 2, ties=[0, 0, 0, 1]))
    assert curve.auc == pytest.approx((1 + 1 + 0 + 1 / 2) / 4, abs=1e-15)
    assert curve.average([0, 0.5, 1]).tolist() == pytest.approx([0, 2.5 / 4, 3 / 4])


@pytest.mark.parametrize("u", [-0.1, 1.1, math.nan, [0.5, 2], "half", [[0.5], [0.1, 0.2]]])
def test_rates_outside_are_refused(u):
    curve = reversed_roc(Pilot.from_losses([0, 1], 3))
    for ask in (curve.average, curve.bounds, lambda u: curve.probe(0, u)):
        with pytest.raises(ParameterError, match="rate"):
            ask(u)


# -- the area, and accuracy ---------------------------------------------------------------------------


@settings(max_examples=200)
@given(counted_pilots(censoring=True, most=2000))
def test_the_area_is_the_two_class_accuracy(pilot):
    curve = reversed_roc(pilot)
    assert curve.auc == pytest.approx(float(observe(pilot).accuracy(2)), abs=1e-12)
    lower, upper = observe(pilot).bounds(2)
    assert curve.auc_bounds == pytest.approx((float(lower), float(upper)), abs=1e-12)


@settings(max_examples=50)
@given(counted_pilots(most=7))
def test_the_area_is_that_of_all_pairs_of_classes(pilot):
    chances = [
        brute.chance_among(int(a), int(b), pilot.n_classes - 1, 2, pilot.tie_rule)
        for a, b in zip(pilot.losses, pilot.ties, strict=True)
    ]
    expected = math.fsum(pilot.weights * np.array(chances, float))
    assert reversed_roc(pilot).auc == pytest.approx(expected, abs=1e-14)


@settings(max_examples=100)
@given(counted_pilots(censoring=True))
def test_the_line_to_draw_is_the_curve(pilot):
    curve = reversed_roc(pilot)
    rate, share = curve.corners()
    assert (rate[0], share[0], rate[-1]) == (0, 0, 1)
    assert (np.diff(rate) >= 0).all() and (np.diff(share) >= -1e-15).all()
    assert trapezoid(share, rate) == pytest.approx(curve.auc, abs=1e-13)
    off = np.setdiff1d(np.linspace(0.001, 0.999, 91), rate)
    np.testing.assert_allclose(np.interp(off, rate, share), curve.average(off), atol=1e-13)


@settings(max_examples=50)
@given(counted_pilots())
def test_mirrored_it_is_the_law_of_the_share_of_rivals_beaten(pilot):
    """Eq. 11 for the pilot itself: 1 - rROC(1 - u) = P(C_x <= u)."""
    assume(pilot.tie_rule != "random")
    curve = reversed_roc(pilot)
    n_rivals = pilot.n_classes - 1
    lost = pilot.losses + (pilot.ties if pilot.tie_rule == "lose" else 0)
    for wins in range(n_rivals + 1):
        reached = math.fsum(pilot.weights[n_rivals - lost <= wins])
        assert 1 - curve.average((n_rivals - wins) / n_rivals) == pytest.approx(reached, abs=1e-14)


def test_theorem_one_holds_for_the_pilot_itself_at_two_classes_only():
    # The share of the pilot's wrong classes that lose, C_x, is what one random rival gives. Of
    # several rivals drawn from the pilot no two are the same, and each one that loses leaves
    # fewer such: the chance to beat two is C_x (wins - 1) / (n - 1) and not C_x squared, which is
    # larger. So Eq. 10 with the pilot's own curve is right for k = 2 and too high for k > 2.
    pilot = Pilot.from_losses([0, 1, 3, 6], 9)
    rate, share = reversed_roc(pilot).corners()
    plugged = {}
    for k in (2, 3, 5):
        powers = (1 - rate) ** (k - 1)  # the integral of (k - 1) u^(k-2), flat piece by flat piece
        plugged[k] = float((share[:-1] * (powers[:-1] - powers[1:])).sum())
        assert plugged[k] == pytest.approx(np.mean((1 - pilot.losses / 8) ** (k - 1)), abs=1e-14)
    curve = observe(pilot)
    assert plugged[2] == pytest.approx(float(curve.accuracy(2)), abs=1e-12)
    assert plugged[3] > float(curve.accuracy(3)) + 0.01
    assert plugged[5] > float(curve.accuracy(5)) + 0.01


# -- censored probes -----------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.lists(st.integers(0, 19), min_size=1, max_size=12), st.integers(0, 19))
def test_censoring_gives_bounds_that_hold_whatever_the_truth(true, depth):
    losses = np.array(true)
    full = reversed_roc(Pilot.from_losses(losses, 20))
    cut = reversed_roc(Pilot.from_losses(np.minimum(losses, depth), 20, censored=losses >= depth))
    u = np.linspace(0, 1, 96)
    lower, upper = cut.bounds(u)
    assert (lower <= full.average(u) + 1e-14).all() and (full.average(u) <= upper + 1e-14).all()
    np.testing.assert_allclose(cut.average(u), (lower + upper) / 2, atol=1e-14)
    assert cut.auc_bounds[0] - 1e-14 <= full.auc <= cut.auc_bounds[1] + 1e-14


def test_censored_bounds_are_tight_and_meet_without_censoring():
    # Uncensored at 1/4; censored from 2/4 on: from there it may be up, and need not be.
    curve = reversed_roc(Pilot.from_losses([1, 2], 5, censored=[False, True]))
    lower, upper = curve.bounds([0.25, 0.5, 0.51, 1])
    assert lower.tolist() == [0, 0.5, 0.5, 0.5]
    assert upper.tolist() == [0, 0.5, 1, 1]
    assert curve.auc_bounds == pytest.approx((0.375, 0.625))
    assert curve.probe([0, 1], 0.75).tolist() == [1, 0.5]
    plain = reversed_roc(Pilot.from_losses([1, 2], 5))
    assert plain.limits == (plain, plain)
    assert plain.auc_bounds == (plain.auc, plain.auc)


# -- size -----------------------------------------------------------------------------------------------


def test_a_million_probes_among_a_million_classes():
    rng = np.random.default_rng(1)
    n = 1_000_000
    losses = (n * rng.beta(0.3, 6, n)).astype(np.int64)
    ties = np.minimum(rng.integers(0, 30, n) ** 3, n - 1 - losses)
    curve = reversed_roc(Pilot.from_losses(losses, n, ties=ties))
    u = np.concatenate([[0, 1], np.geomspace(1e-7, 1, 1000)])
    tracemalloc.start()
    values = curve.average(u)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400e6  # a table of probes and rates would take 8e9 bytes
    exact = 1 - Fraction(int((2 * losses + ties).sum()), 2 * n * (n - 1))
    assert curve.auc == pytest.approx(float(exact), abs=1e-15)
    for i in (3, 300, 700, 1000):
        expected = curve.probe(np.arange(n), u[i]).mean()
        assert values[i] == pytest.approx(expected, abs=1e-12)


def test_reads_well():
    assert repr(reversed_roc(Pilot.from_losses([0, 1], 3))) == "ROCCurve(2 steps, area 0.750)"
    assert isinstance(reversed_roc(Pilot.from_losses([0], 3)), ROCCurve)


def test_area_is_the_two_class_accuracy_with_millions_of_tied_rows():
    # Long and short ties, added by a sweep over 850,000 places along which round-off would grow.
    rng = np.random.default_rng(0)
    losses = (rng.random(20_000) ** 4 * 850_000).astype(int)
    ties = rng.integers(0, 3, 20_000)
    ties[::7] = 5_000
    pilot = Pilot.from_losses(losses, 1_000_000, ties=ties)
    assert reversed_roc(pilot).auc == pytest.approx(float(observe(pilot).accuracy(2)), abs=1e-12)


def test_corners_are_listed_once_and_start_and_end_the_curve():
    curve = reversed_roc(Pilot.from_losses([0, 2, 4], 5, ties=[2, 0, 0]))
    rate, share = curve.corners()
    third = 1 / 3
    # A ramp from 0 to 1/2 meets a jump of a third there; the last probe is never let in.
    assert rate.tolist() == [0, 0.5, 0.5, 1]
    assert share.tolist() == pytest.approx([0, third, 2 * third, 2 * third])
    jump = reversed_roc(Pilot.from_losses([0], 5)).corners()
    assert [values.tolist() for values in jump] == [[0, 0, 1], [0, 1, 1]]


def test_of_censored_probes_the_curve_is_half_of_what_may_be():
    curve = reversed_roc(Pilot.from_losses([1, 1], 5, censored=[True, False]))
    assert curve.probe([0, 1], 0.5).tolist() == [0.5, 1]
    assert curve.average([0.25, 0.3]).tolist() == [0, 0.75]
    assert curve.auc == pytest.approx(0.75 * 0.75)
    assert curve.limits[0].auc == pytest.approx(0.375) == curve.auc_bounds[0]


def test_an_area_past_one_by_round_off_is_one():
    for n in range(1, 200):
        assert (
            reversed_roc(Pilot.from_losses([0] * n, 5, labels=[i % 3 for i in range(n)])).auc <= 1
        )


def test_a_share_past_one_by_round_off_is_one_and_none_is_negative():
    rng = np.random.default_rng(2)
    for n in range(1, 60):
        losses = rng.integers(0, 3, n)
        ties = rng.integers(0, 3, n)
        curve = reversed_roc(Pilot.from_losses(losses, 8, ties=ties, labels=np.arange(n) % 3))
        values = curve.average(np.linspace(0, 1, 50))
        assert values.min() >= 0 and values[-1] == pytest.approx(1) and values.max() <= 1
    late = reversed_roc(Pilot.from_losses([2, 3], 5))
    assert late.average([0.0, 0.1, 0.5]).tolist() == [0, 0, 0]


def test_a_rise_ends_where_it_is_said_to():
    curve = reversed_roc(Pilot.from_losses([1, 2], 9, ties=[3, 0]))
    assert curve.probe(0, [0.125, 0.25, 0.5, 0.5 + 1e-9]).tolist() == pytest.approx(
        [0, 1 / 3, 1, 1]
    )
    assert curve.probe(1, [0.25, 0.25 + 1e-9]).tolist() == [0, 1]
    assert curve.limits == (curve, curve) and curve.bounds(0.3)[0] == curve.bounds(0.3)[1]
