"""Covariance of the observed curve, and what fits and forecasts make of it."""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

from headcount import Pilot, observe
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators import Exponential, Regression, SplineRegression
from headcount.estimators.regression import curve_rows, fit_mixture
from headcount.estimators.shared.bases import GaussianBasis, SplineBasis
from headcount.metrics import Top
from headcount.questions.risk import as_cost, covariance, observed_risk
from headcount.questions.risk.covariance import curve_covariance, risk_jackknife, standard_errors
from headcount.uncertainty import jackknife as module
from headcount.uncertainty.asymptotics import (
    asymptotic_interval,
    fit_sensitivity,
    metric_error,
    mixture_sensitivity,
    regression_error,
    sup_error,
    sup_error_bound,
)
from headcount.uncertainty.jackknife import MetricJackknife


def small_pilot(rng, n_classes, rule, average="macro"):
    """Integer scores with ties of every kind, several probes a class, classes without probes."""
    labels = np.append([0, 1, 2], rng.integers(0, n_classes, rng.integers(2, 12)))
    scores = rng.integers(0, 4, (len(labels), n_classes))
    return Pilot.from_scores(
        scores,
        labels,
        class_names=np.arange(n_classes),
        tie_rule=rule,
        average=average,
        higher_is_better=True,
    )


def random_cost(rng, n_classes):
    return rng.random((n_classes, n_classes)) * (1 - np.eye(n_classes))


def risk_without(pilot, cost, k, missing, priors=None):
    """Observed risk of the pilot that the other classes would have given."""
    kept = np.delete(np.arange(pilot.n_classes), missing)
    if not pilot.has_probes(kept):
        return np.nan
    part = cost if isinstance(cost, str) else cost[np.ix_(kept, kept)]
    return observed_risk(pilot.subset(kept), part, k, priors=priors and np.array(priors)[kept])


def round_world(rng, n_classes, per_class=1, n_dims=5, sigma=0.4):
    centres = rng.normal(size=(n_classes, n_dims))
    labels = np.repeat(np.arange(n_classes), per_class)
    probes = centres[labels] + sigma * rng.normal(size=(len(labels), n_dims))
    scores = 2 * probes @ centres.T - (centres**2).sum(axis=1)
    families = centres[:, 0] > 0  # a fixed region: classes stay independent
    cost = np.where(families[:, None] == families, 1.0, 4.0) * (1 - np.eye(n_classes))
    return Pilot.from_scores(scores, labels, higher_is_better=True), cost


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("rule", ["random", "lose", "win"])
@pytest.mark.parametrize("with_priors", [False, True])
def test_leaving_out_equals_measuring_again(rule, average, with_priors):
    rng = np.random.default_rng(len(rule) + 10 * with_priors)
    for n_classes in (4, 5, 7):
        pilot = small_pilot(rng, n_classes, rule, average)
        priors = (0.1 + rng.random(n_classes)).tolist() if with_priors else None
        for cost in (random_cost(rng, n_classes), "zero-one"):
            jackknife = risk_jackknife(pilot, as_cost(cost, pilot), priors)
            k = np.arange(2, n_classes)
            found = jackknife.without_one(k)
            for c in range(n_classes):
                assert found[c] == pytest.approx(
                    risk_without(pilot, cost, k, [c], priors), abs=1e-12
                )
            for count in range(2, n_classes - 1):
                for chosen in (np.arange(n_classes), np.array([3, 0, 2])):
                    both = jackknife.without_two(count, chosen)
                    for c, d in itertools.combinations(range(len(chosen)), 2):
                        again = risk_without(pilot, cost, count, chosen[[c, d]], priors)
                        assert both[c, d] == pytest.approx(again, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("rule", ["random", "lose", "win"])
def test_leaving_out_a_class_for_another_metric_equals_measuring_again(rule, average):
    rng = np.random.default_rng(len(rule))

    def again(missing, k, metric):
        rest = np.delete(np.arange(pilot.n_classes), missing)
        return observe(pilot.subset(rest)).value(k, metric) if pilot.has_probes(rest) else np.nan

    for n_classes, m in ((4, 2), (6, 2), (7, 3)):
        pilot = small_pilot(rng, n_classes, rule, average)
        jackknife = MetricJackknife(pilot, Top(m))
        k = np.arange(2, n_classes)
        single = jackknife.without_one(k)
        for c in range(n_classes):
            assert single[c] == pytest.approx(again([c], k, Top(m)), abs=1e-12)
        for count in range(2, n_classes - 1):
            both = jackknife.without_two(count, np.arange(n_classes))
            for c, d in itertools.combinations(range(n_classes), 2):
                expected = again([c, d], count, Top(m))
                assert both[c, d] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_covariance_by_hand():
    # Six classes: every k up to K - 2 is one of the numbers at which pairs are left out.
    rng = np.random.default_rng(1)
    pilot, cost = small_pilot(rng, 6, "random"), random_cost(rng, 6)
    k, size = np.arange(2, 6), 6
    one = np.array([risk_without(pilot, cost, k, [c]) for c in range(size)])
    gaps = one - one.mean(axis=0)
    first = (size - 1) / size * gaps.T @ gaps
    ratio = np.empty(4)
    for i, count in enumerate((2, 3, 4)):
        second = 0.0
        for c, d in itertools.combinations(range(size), 2):
            both = risk_without(pilot, cost, count, [c, d])
            second += (one[:, i].mean() - one[c, i] - one[d, i] + both) ** 2
        ratio[i] = second / first[i, i]
    ratio[3] = ratio[2]  # nothing is left of five classes without two
    want = first / np.sqrt(np.outer(1 + ratio, 1 + ratio))
    assert curve_covariance(pilot, cost, k) == pytest.approx(want, rel=1e-9)
    # All six classes are given the covariance of five; among one class there are no mistakes.
    found = curve_covariance(pilot, cost, [6, 5, 1])
    assert found[:2, :2] == pytest.approx(np.full((2, 2), want[3, 3]), rel=1e-9)
    assert not found[2].any()


def test_one_class_at_a_time_when_rivals_do_not_matter():
    # A probe is beaten by all rivals or by none: the risk is a mean over independent classes, so
    # the textbook variance holds at every k. Pairs add what is of the order 1 / K.
    wrong = np.arange(100) < 30
    scores = np.where(wrong[:, None], 1.0, -1.0) * np.ones((100, 100))
    np.fill_diagonal(scores, 0.0)
    pilot = Pilot.from_scores(scores, np.arange(100), higher_is_better=True)
    found = metric_error(pilot, [2, 50, 90])
    assert found == pytest.approx(np.sqrt(0.3 * 0.7 / 99), rel=0.01)


def test_symmetric_and_never_negative():
    pilot, cost = round_world(np.random.default_rng(2), 60)
    for prices in (cost, "zero-one"):
        found = curve_covariance(pilot, prices, np.arange(2, 61))
        assert found == pytest.approx(found.T, rel=1e-12)
        assert np.linalg.eigvalsh(found).min() > -1e-12 * np.trace(found)


def test_zero_one_from_beats_equals_a_matrix_of_almost_ones():
    # Costs that are one but for round-off go through the scores, "zero-one" through the beats.
    rng = np.random.default_rng(3)
    for rule in ("random", "lose", "win"):
        pilot = small_pilot(rng, 7, rule)
        almost = (1 - np.eye(7)) * (1 + 1e-13)
        k = np.arange(2, 8)
        found = curve_covariance(pilot, "zero-one", k)
        assert found == pytest.approx(curve_covariance(pilot, almost, k), abs=1e-11)


@pytest.mark.parametrize("work", [module.PAIR_WORK, 300])
def test_order_and_orientation_do_not_matter(work, monkeypatch):
    # With little work allowed, pairs are those of a part of the classes, chosen canonically.
    monkeypatch.setattr(module, "PAIR_WORK", work)
    rng = np.random.default_rng(4)
    pilot, cost = round_world(rng, 40, per_class=3, sigma=0.8)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    rows, columns = rng.permutation(120), rng.permutation(40)
    place = np.argsort(columns)
    k, priors = [2, 17, 38], 0.1 + rng.random(40)
    chosen = risk_jackknife(pilot, as_cost(cost, pilot)).paired_classes(2)
    assert (len(chosen) == 40) == (work > 300)
    want = curve_covariance(pilot, cost, k, priors)
    other = Pilot.from_scores(
        -scores[np.ix_(rows, columns)], place[pilot.labels[rows]], higher_is_better=False
    )
    found = curve_covariance(other, cost[np.ix_(columns, columns)], k, priors[columns])
    assert found == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("flat", [False, True])
def test_places_that_are_never_reached_are_left_out(flat, monkeypatch):
    # Half of the scores are worse than the true one's, in runs of ties: most lists go far past the
    # places that matter at k = 60 and 108 of 120.
    rng = np.random.default_rng(16)
    scores = rng.normal(size=(240, 120)).round(1)
    pilot = Pilot.from_scores(scores, np.repeat(np.arange(120), 2), higher_is_better=True)
    cost = "zero-one" if flat else random_cost(rng, 120)
    found = curve_covariance(pilot, cost, [5, 60, 108])
    monkeypatch.setattr(module, "NEGLIGIBLE", -1.0)
    assert found == pytest.approx(curve_covariance(pilot, cost, [5, 60, 108]), rel=1e-9)


def test_part_of_the_pairs_stands_for_all(monkeypatch):
    pilot, _ = round_world(np.random.default_rng(6), 300)
    whole = metric_error(pilot, [2, 150, 270])
    monkeypatch.setattr(module, "MOST_PAIRED", 200)
    # J2 from 4 of 9 pairs; its error of some ten per cent moves a standard error by a fifth of it.
    assert metric_error(pilot, [2, 150, 270]) == pytest.approx(whole, rel=0.05)
    assert (metric_error(pilot, [150]) != whole[1]).all()


def test_fit_sensitivity_is_the_derivative():
    rng = np.random.default_rng(9)
    columns, share, y = rng.random((12, 4)), rng.random(12), rng.random(12)
    root = np.sqrt(share)

    def solved(target):
        return np.linalg.lstsq(root[:, None] * columns, root * target, rcond=None)[0]

    assert fit_sensitivity(columns, share) @ y == pytest.approx(solved(y), rel=1e-9)

    y = columns @ np.array([1.0, 0.0, 0.5, 0.0]) - 0.3 * columns[:, 1]  # some hit zero
    fitted = nnls(root[:, None] * columns, root * y)[0]
    free = fitted > 0
    assert not free.all()
    slope = fit_sensitivity(columns, share, active=free)
    nudge = 1e-6 * rng.normal(size=12)
    moved = nnls(root[:, None] * columns, root * (y + nudge))[0]
    assert slope @ nudge == pytest.approx(moved - fitted, abs=1e-11)
    assert not slope[~free].any()


@pytest.mark.parametrize("rest", [0.0, 0.2])
def test_mixture_sensitivity_is_the_derivative(rest):
    # With and without a rest, so that the atom is free or not.
    basis, (k, share) = SplineBasis(np.array([0.9, 0.6, 0.3, 0.1])), curve_rows(50)
    columns = basis.accuracy(k)
    masses = np.array([0.0, 0.5 - rest / 2, 0.0, 0.5 - rest / 2])
    target = columns @ masses + rest + 1e-3 * np.sin(k) / k
    fitted = fit_mixture(columns, target, share)
    slope = mixture_sensitivity(columns, fitted, share)
    nudge = 1e-7 * np.cos(k)
    moved = fit_mixture(columns, target + nudge, share)
    assert ((moved > 0) == (fitted > 0)).all()
    assert slope @ nudge == pytest.approx(moved - fitted, abs=1e-11)
    assert np.abs(slope @ nudge).max() > 1e-9


@pytest.mark.parametrize(
    "method",
    [
        SplineRegression(n_knots=40),
        SplineRegression(n_knots=40, bounded=False),
        SplineRegression(n_knots=3, constraint="none", largest_k=40),
        Regression(bandwidth=0.4),
    ],
    ids=["bounded", "free sum", "unconstrained", "bumps"],
)
def test_forecast_error_is_how_much_the_forecast_moves(method):
    # Fitted again to curves that differ from the observed one along its main directions of
    # variation, by so little that the same coefficients stay zero: the squared changes of the
    # forecast, added up over all directions, are its variance.
    pilot, _ = round_world(np.random.default_rng(10), 80, sigma=0.5)
    fit = method.fit(pilot)
    asked = np.array([40, 160, 800])
    last = method.largest_k or 80
    k, share = curve_rows(last, method.weights)
    accuracy = 1 - observed_risk(pilot, "zero-one", k)
    values, directions = np.linalg.eigh(curve_covariance(pilot, "zero-one", k))
    basis = fit.basis_ if hasattr(fit, "basis_") else GaussianBasis(fit.bandwidth_)
    columns, onwards = basis.accuracy(k), 1 - basis.accuracy(asked.astype(float))

    root = np.sqrt(share)
    rows = root[:, None] * (1 - columns)

    def forecast(target):
        if getattr(method, "constraint", "") == "none":
            return onwards @ np.linalg.lstsq(rows, root * (1 - target), rcond=None)[0]
        if not getattr(method, "bounded", True):
            return onwards @ nnls(rows, root * (1 - target))[0]
        return onwards @ fit_mixture(columns, target, share)

    start, step, variance = forecast(accuracy), 1e-5, np.zeros(3)
    for value, direction in zip(values[-4:], directions.T[-4:], strict=True):
        moved = (forecast(accuracy + step * direction) - start) / step
        variance += value * moved**2
    found = regression_error(pilot, fit, asked)
    # Four directions hold nearly all of it.
    assert values[:-4].clip(0).sum() < 1e-3 * values.sum()
    assert found == pytest.approx(np.sqrt(variance), rel=0.02)
    assert regression_error(pilot, fit, 160).shape == ()


def test_forecast_error_needs_a_fitted_moment_regression():
    pilot, _ = round_world(np.random.default_rng(11), 30)
    with pytest.raises(ParameterError, match="not been fitted"):
        regression_error(pilot, SplineRegression(), 100)
    with pytest.raises(UnsupportedError, match=r"regression only.*use method regression or"):
        regression_error(pilot, Exponential().fit(pilot), 100)


def test_interval():
    lower, upper = asymptotic_interval([0.5, 0.02, 0.99], 0.1, 0.95, largest=1.0)
    assert lower == pytest.approx([0.5 - 0.195996, 0.0, 0.99 - 0.195996], abs=1e-6)
    assert upper == pytest.approx([0.695996, 0.215996, 1.0], abs=1e-6)
    assert asymptotic_interval(3.0, 1.0)[1] == pytest.approx(3 + 1.644854, abs=1e-6)
    with pytest.raises(ParameterError, match="confidence must lie between 0 and 1"):
        asymptotic_interval(0.5, 0.1, 1.0)


def test_largest_error_over_all_numbers_of_classes():
    # h = u - u^2 rises to its largest moment and falls again: (k-1)/k - (k-1)/(k+1) is 1/6 at
    # k = 2 and 3, and zero in the end, so the ends alone would not show it.
    def moments(k):
        return np.column_stack([(k - 1) / k, (k - 1) / (k + 1)])

    assert sup_error(moments, [1.0, -1.0]) == pytest.approx(1 / 6)
    # Against every k up to 5,000, for a difference whose worst k lies inside.
    gap = np.array([1.0, -1.02])
    every = np.abs(moments(np.arange(2.0, 5001.0)) @ gap).max()
    assert sup_error(moments, gap, largest=5000) == pytest.approx(every, rel=1e-6)
    assert sup_error(moments, [0.3, 0.4]) == pytest.approx(0.7, abs=1e-9)  # far out
    assert sup_error(moments, [0.3, 0.4], largest=2) == pytest.approx(0.3 / 2 + 0.4 / 3)
    with pytest.raises(ParameterError, match="largest must be 2 or more"):
        sup_error(moments, gap, largest=1)


def test_largest_error_keeps_its_bounds():
    rng = np.random.default_rng(12)
    basis = SplineBasis(np.linspace(0.95, 0.05, 6))
    for _ in range(20):
        gap = rng.normal(size=6)
        error = sup_error(lambda k: 1 - basis.accuracy(k), gap)
        tight, loose = sup_error_bound(gap)
        assert error <= tight <= loose
    # All of one sign: every moment tends to one, and the first bound is reached.
    assert sup_error(lambda k: 1 - basis.accuracy(k), np.ones(6)) == pytest.approx(6, rel=1e-9)
    assert sup_error_bound(np.ones(6)) == pytest.approx((6, 6))
    assert sup_error_bound([3.0, -4.0], 2.0) == pytest.approx((14, 2 * np.sqrt(2) * 5))


def test_nothing_varies_where_all_is_right_or_wrong():
    for sign in (1, -1):
        pilot = Pilot.from_scores(sign * np.eye(20), np.arange(20), higher_is_better=True)
        assert standard_errors(pilot, "zero-one", [2, 10, 20]) == pytest.approx(0, abs=1e-15)


def test_three_classes():
    scores = [[3, 1, 2], [2, 1, 3], [1, 2, 3]]
    pilot = Pilot.from_scores(scores, [0, 1, 2])
    # Without class 0 one of two pairs is lost, without 1 none, without 2 one of two.
    left = np.array([0.5, 0.0, 0.5])
    want = np.sqrt(2 / 3 * ((left - left.mean()) ** 2).sum())
    assert float(metric_error(pilot, 2)) == pytest.approx(want)
    assert float(metric_error(pilot, 3)) == pytest.approx(want)


def test_probes_of_two_classes_only():
    # Without both, nothing is left: such a pair says nothing, and the rest is finite.
    rng = np.random.default_rng(13)
    pilot = Pilot.from_scores(rng.normal(size=(8, 10)), np.repeat([3, 7], 4), higher_is_better=True)
    assert np.isfinite(curve_covariance(pilot, "zero-one", np.arange(2, 11))).all()


def test_what_cannot_be_known_is_refused(monkeypatch):
    with pytest.raises(UnsupportedError, match="which classes beat each probe"):
        metric_error(Pilot.from_losses([0, 1], 5, labels=[0, 1]), 3)
    with pytest.raises(UnsupportedError, match="three or more"):
        metric_error(Pilot.from_scores(np.eye(2), [0, 1]), 2)
    with pytest.raises(UnsupportedError, match="all probes are of one class"):
        metric_error(Pilot.from_scores(np.eye(4)[:1], [0]), 2)
    pilot, cost = round_world(np.random.default_rng(14), 20, sigma=1.0)
    with pytest.raises(ParameterError, match="20 classes"):
        metric_error(pilot, 21)
    monkeypatch.setattr(covariance, "BEATS_BUDGET", 100)
    with pytest.raises(UnsupportedError, match="use fewer probes"):
        curve_covariance(pilot, cost, [5])


@pytest.mark.parametrize("largest", [2, 3.0, 1999, 2000, 2001, 20_000, 1e6, 1e15])
def test_where_the_largest_error_is_looked_for(largest):
    """Every k up to 2,000, then 200 of them for each factor of ten, and the end."""
    looked_at = []

    def moments(k):
        looked_at.extend(k.tolist())
        return np.ones((len(k), 1))

    assert sup_error(moments, [-0.5], largest=largest) == 0.5
    expected = [float(k) for k in range(2, int(min(largest, 2000)) + 1)]
    if largest > 2000:
        steps = int(200 * np.log10(largest / 2000)) + 1
        expected += np.round(2000 * (largest / 2000) ** (np.arange(steps + 1) / steps)).tolist()
    assert looked_at == pytest.approx(expected, rel=1e-12)
    assert looked_at[-1] == largest


def test_the_largest_error_is_looked_for_up_to_1e15_in_blocks():
    blocks = []

    def moments(k):
        blocks.append(k)
        return np.zeros((len(k), 2000))

    assert sup_error(moments, np.ones(2000)) == 0
    assert blocks[-1][-1] == 1e15
    # Four million numbers at a time.
    assert {len(block) for block in blocks[:-1]} == {2000}


def test_columns_that_say_the_same_share_the_change():
    assert fit_sensitivity(np.ones((3, 2)), np.ones(3)) == pytest.approx(np.full((2, 3), 1 / 6))
    weighted = fit_sensitivity(np.ones((2, 1)), np.array([1.0, 3.0]))
    assert weighted == pytest.approx(np.array([[0.25, 0.75]]))


def test_a_mixture_of_one_law_or_of_the_atom_alone_cannot_move():
    law = np.array([[0.25, 0.5], [0.1, 0.2]])
    for masses in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1e-13, 1 - 1e-13]):
        assert not mixture_sensitivity(law, np.array(masses), np.ones(2)).any()
    # A law and the atom: the curve at one k, 0.25 m + 1 - m, moves by -0.75 for each of m.
    found = mixture_sensitivity(law[:1], np.array([0.5, 0.0]), np.ones(1))
    assert found == pytest.approx(np.array([[-4 / 3], [0.0]]))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5])
def test_impossible_levels_are_refused(confidence):
    with pytest.raises(ParameterError, match="confidence must lie between 0 and 1"):
        asymptotic_interval(0.5, 0.1, confidence)


def test_intervals_are_cut_to_what_is_possible():
    lower, upper = asymptotic_interval([-0.5, 0.5, 4.0], 0.1, largest=3.0)
    reach = 0.1 * 1.6448536
    assert lower == pytest.approx([0, 0.5 - reach, 3])
    assert upper == pytest.approx([0, 0.5 + reach, 3])
    assert asymptotic_interval(0.5, 0.1, 1e-9)[0] == pytest.approx(0.5)
