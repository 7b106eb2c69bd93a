import json

import numpy as np
import pytest

from headcount import AssumptionWarning, ExtrapolationWarning, Favorability, ParameterError, Pilot
from headcount.errors import UnsupportedError
from headcount.estimators import Regression, SplineRegression
from headcount.questions.risk.costs import as_cost
from headcount.questions.risk.covariance import curve_covariance, standard_errors
from headcount.questions.risk.delta import DeltaMethod
from headcount.questions.risk.forecasting import forecast_risk
from headcount.questions.risk.moments import PolynomialFit
from headcount.questions.risk.observed import observe_risk
from headcount.questions.risk.regression import MixtureFit
from risk_pilots import small_pilot

BEYOND = np.array([100.0, 1000.0, 10_000.0])


# -- 0-1 cost: the accuracy path ----------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("cost", ["zero-one", "matrix"])
@pytest.mark.parametrize("basis", ["gaussian", "spline"])
def test_zero_one_cost_is_the_accuracy_path(basis, cost, ties):
    pilot, _ = small_pilot(ties=ties)
    given = "zero-one" if cost == "zero-one" else 1 - np.eye(40)
    method = Regression() if basis == "gaussian" else SplineRegression()
    expected = 1 - method.fit(pilot).predict(BEYOND)
    found = forecast_risk(pilot, given, [1000], basis=basis, intervals=False)
    np.testing.assert_allclose(found.risk(BEYOND), expected, rtol=0, atol=1e-10)


def test_options_of_the_regression_are_those_of_the_accuracy_path():
    pilot, _ = small_pilot()
    options = {"largest_k": 20, "weights": lambda k: 1 / k}
    expected = 1 - Regression(bandwidth=0.4, **options).fit(pilot).predict(BEYOND)
    found = forecast_risk(pilot, "zero-one", 1000, bandwidth=0.4, intervals=False, **options)
    np.testing.assert_allclose(found.risk(BEYOND), expected, atol=1e-10)


def test_counts_are_enough_for_zero_one_cost():
    pilot = Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    found = forecast_risk(pilot, "zero-one", 1000)
    assert found.risk(1000) == pytest.approx(1 - Regression().fit(pilot).predict(1000), abs=1e-10)
    assert found.curve.lower is None
    with pytest.raises(UnsupportedError, match="only counts"):
        found.interval(1000)


def test_other_costs_need_scores():
    with pytest.raises(UnsupportedError, match="only counts"):
        forecast_risk(Pilot.from_losses([0, 1], n_classes=3), 2 * (1 - np.eye(3)), 10)


def test_a_cost_by_true_class_only_is_a_matter_of_weights():
    # Every mistake about class y costs c_y: the mean c times the error when y is drawn with
    # chances in proportion to c. As many probes of each class, so the mean c is the plain one.
    pilot, _ = small_pilot()
    by_class = np.random.default_rng(1).uniform(0.5, 5, 40)
    cost = by_class[:, None] * (1 - np.eye(40))
    risk = forecast_risk(pilot, cost, 1000, intervals=False)
    error = forecast_risk(pilot, "zero-one", 1000, priors=by_class, intervals=False)
    assert isinstance(risk.fit, MixtureFit)  # which can only rise
    np.testing.assert_allclose(
        risk.risk(BEYOND), by_class.mean() * error.risk(BEYOND), rtol=1e-6
    )  # the two curves differ by round-off, and the fit is ill-conditioned
    assert risk.risk(1e12) <= by_class.mean() + 1e-9


@pytest.mark.parametrize("shape", ["auto", "rising", "free"])
def test_risk_has_the_unit_of_the_cost(shape):
    pilot, cost = small_pilot()
    one, many = (
        forecast_risk(pilot, scale * cost, 1000, shape=shape, bandwidth=0.5, intervals=False)
        for scale in (1.0, 1000.0)
    )
    np.testing.assert_allclose(many.risk(BEYOND), 1000 * one.risk(BEYOND), rtol=1e-6)


def test_a_fit_keeps_within_the_costs():
    pilot, cost = small_pilot()
    for shape in ("one-way", "free", "rising"):
        found = forecast_risk(pilot, cost, 1000, shape=shape, intervals=False)
        values = found.risk(np.array([41, 1e3, 1e6, 1e12]))
        assert (values >= 0).all() and (values <= cost.max() + 1e-9).all()
        if shape == "one-way":
            error = forecast_risk(pilot, "zero-one", 1000, intervals=False).risk(BEYOND)
            off = cost[~np.eye(40, dtype=bool)]
            assert (found.risk(BEYOND) >= off.min() * error - 1e-9).all()
            assert (found.risk(BEYOND) <= off.max() * error + 1e-9).all()


def test_the_law_of_mistakes_may_come_from_another_method():
    pilot, cost = small_pilot()
    found = forecast_risk(pilot, "zero-one", 1000, method="probit-normal")
    law = found.fit.law
    assert isinstance(law, Favorability)
    np.testing.assert_allclose(found.risk(BEYOND), 1 - law.accuracy(BEYOND), atol=1e-12)
    assert found.method == "priced-probit-normal" and found.curve.lower is None
    with pytest.raises(UnsupportedError, match="slopes"):
        found.linear_map(100)
    with pytest.raises(ParameterError, match="without priors"):
        forecast_risk(pilot, cost, 1000, method="probit-normal", priors=np.ones(40))
    with pytest.raises(ParameterError, match="no law"):
        forecast_risk(pilot, cost, 1000, method="log-linear")


def test_adjustment_as_a_forecast():
    pilot, cost = small_pilot()
    found = forecast_risk(pilot, cost, 1000, approach="adjustment", degree=3, intervals=False)
    inside = np.arange(2.0, 6.0)
    np.testing.assert_allclose(found.fit.risk(inside), found.observed.risk(inside), rtol=1e-10)
    assert any(check.code == "HC010" for check in found.checks)
    with pytest.raises(ParameterError, match="at most 20"):
        forecast_risk(pilot, cost, 1000, approach="adjustment", degree=21)


# -- standard errors ---------------------------------------------------------------------------


def test_standard_errors_follow_from_the_covariance_of_the_curve():
    pilot, _ = small_pilot()
    cost = 2 * (1 - np.eye(40))  # rising, so that one curve is all there is
    found = forecast_risk(pilot, cost, [80], bandwidth=0.5)
    at, by_risk, _ = found.linear_map([80])
    expected = by_risk @ curve_covariance(pilot, cost, at) @ by_risk.T
    assert found.standard_error(80) == pytest.approx(np.sqrt(expected[0, 0]), rel=1e-9)
    inside = [2, 20, 40]
    np.testing.assert_allclose(
        found.standard_error(inside), standard_errors(pilot, cost, inside), rtol=1e-9
    )
    lower, upper = found.interval(80, by="asymptotic")
    middle = (lower + upper) / 2
    assert middle == pytest.approx(found.risk(80))
    assert upper - lower == pytest.approx(2 * 1.6448536 * found.standard_error(80), rel=1e-6)


def test_both_curves_count_for_a_priced_fit():
    pilot, cost = small_pilot()
    found = forecast_risk(pilot, cost, [80], bandwidth=0.5)
    at, by_risk, by_error = found.linear_map([80])
    # One cost that is the sum of both, once with slopes of its own: the cross terms by brute
    # force, from pilots without one class each.
    moves = []
    for left_out in range(40):
        kept = np.delete(np.arange(40), left_out)
        part = pilot.subset(kept)
        inside = np.minimum(at, 39)
        risk = observe_risk(part, cost[np.ix_(kept, kept)]).risk(inside)
        error = observe_risk(part, "zero-one").risk(inside)
        moves.append((risk, error))
    scales = []
    for given, which in ((cost, 0), ("zero-one", 1)):
        plain = (
            39
            / 40
            * np.square([m[which] - np.mean([n[which] for n in moves], 0) for m in moves]).sum(0)
        )
        scales.append(standard_errors(pilot, given, at) / np.sqrt(plain))
    total = [by_risk @ (scales[0] * r) + by_error @ (scales[1] * e) for r, e in moves]
    variance = 39 / 40 * np.square(np.array(total) - np.mean(total, 0)).sum()
    assert found.standard_error(80) == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_delta_method_asks_for_nothing_where_nothing_is_asked():
    pilot, cost = small_pilot()
    delta = DeltaMethod(pilot, as_cost(cost, pilot))
    assert delta.forecast(PolynomialFit(np.ones(3), 1, 1.0), np.zeros(0)).shape == (0,)


# -- what must not matter -----------------------------------------------------------------------


def test_order_and_orientation_do_not_matter():
    pilot, cost = small_pilot(ties=True)
    (_, scores), labels = next(pilot.score_blocks()), np.asarray(pilot.labels)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(scores)), rng.permutation(40)
    place = np.argsort(columns)
    shuffled = Pilot.from_scores(
        -scores[np.ix_(rows, columns)], place[labels[rows]], higher_is_better=False
    )
    first = forecast_risk(pilot, cost, [100, 1000])
    second = forecast_risk(shuffled, cost[np.ix_(columns, columns)], [100, 1000])
    np.testing.assert_allclose(first.curve.value, second.curve.value, rtol=1e-9)
    np.testing.assert_allclose(first.curve.upper, second.curve.upper, rtol=1e-5)


def test_equal_priors_change_nothing():
    pilot, cost = small_pilot()
    for approach, given in (("regression", cost), ("regression", "zero-one"), ("adjustment", cost)):
        plain, equal = (
            forecast_risk(pilot, given, 100, approach=approach, priors=priors, bandwidth=0.5)
            for priors in (None, np.full(40, 7.0))
        )
        np.testing.assert_array_equal(equal.curve.value, plain.curve.value)
        np.testing.assert_array_equal(equal.curve.lower, plain.curve.lower)


def test_priors_weigh_the_classes():
    # All weight on half of the classes, nearly: the others are rivals only.
    pilot, cost = small_pilot()
    half = np.arange(40) < 20
    priors = np.where(half, 1.0, 1e-12)
    rows = np.flatnonzero(half[np.asarray(pilot.labels)])
    expected = forecast_risk(pilot.keep_probes(rows), cost, 100, bandwidth=0.5, intervals=False)
    found = forecast_risk(pilot, cost, 100, priors=priors, bandwidth=0.5, intervals=False)
    np.testing.assert_allclose(found.risk([20, 40]), expected.risk([20, 40]), rtol=1e-9)
    assert found.risk(100) == pytest.approx(expected.risk(100), rel=1e-4)


# -- edges, refusals, ways out ------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("options", [{}, {"approach": "adjustment"}, {"shape": "free"}])
def test_few_classes(n_classes, options):
    pilot, cost = small_pilot(n_classes=n_classes, per_class=8, noise=2.0)
    found = forecast_risk(pilot, cost, [n_classes, 10 * n_classes], **options)
    values = found.risk([1, n_classes, 10 * n_classes])
    assert values[0] == 0 and np.isfinite(values).all()
    assert values[1] == pytest.approx(observe_risk(pilot, cost).risk(n_classes))


@pytest.mark.parametrize("tie_rule", ["random", "lose", "win"])
@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
def test_only_ties(tie_rule):
    # Six classes that always tie, and a seventh that always loses.
    scores = np.column_stack([np.zeros((6, 6)), np.full(6, -1.0)])
    pilot = Pilot.from_scores(scores, np.arange(6), tie_rule=tie_rule)
    cost = np.add.outer(np.arange(7.0), np.arange(7.0))
    np.fill_diagonal(cost, 0)
    found = forecast_risk(pilot, cost, [7, 70], intervals=False)
    # The mean cost of the others of the six is 5; under "random" all six are chosen alike.
    expected = {"random": 5 / 6 * 5, "lose": 5.0, "win": 0.0}[tie_rule]
    assert found.risk(7) == pytest.approx(expected)
    if tie_rule != "random":
        assert found.risk(70) == pytest.approx(expected, rel=0.05, abs=1e-9)


def test_nothing_wrong_and_nothing_to_pay():
    scores = np.eye(12)
    pilot = Pilot.from_scores(scores, np.arange(12))
    cost = 2 * (1 - np.eye(12)) + np.tri(12, k=-1)
    with pytest.warns(AssumptionWarning, match="all 12 probes are right"):
        found = forecast_risk(pilot, cost, 100)
    assert found.risk(100) < 1e-12 and found.interval(100)[0] == 0 and not found.checks
    assert found.interval(100, by="asymptotic")[1] < 1e-12 < found.interval(100)[1]
    pilot, _ = small_pilot()
    for options in ({}, {"approach": "adjustment"}, {"shape": "free"}):
        assert forecast_risk(pilot, np.zeros((40, 40)), 100, **options).risk(100) == 0


def test_classes_without_probes_only_compete():
    pilot, cost = small_pilot()
    part = pilot.keep_probes(np.flatnonzero(np.asarray(pilot.labels) % 2 == 0))
    found = forecast_risk(part, cost, 100)
    assert 0 < found.risk(100) < cost.max()
    assert (found.curve.lower <= found.curve.value).all()


def test_one_class_with_probes_gives_no_interval():
    pilot, cost = small_pilot(per_class=20)
    found = forecast_risk(pilot.keep_probes(np.arange(20)), cost, 100)
    assert found.curve.lower is None and found.risk(100) > 0
    with pytest.raises(UnsupportedError, match="all probes are of one class"):
        found.interval(100)


def test_bad_options_are_refused():
    pilot, cost = small_pilot(n_classes=5)
    for options, match in (
        ({"approach": "guess"}, "approach"),
        ({"basis": "fourier"}, "basis"),
        ({"shape": "falling"}, "shape"),
        ({"degree": 0}, "degree"),
        ({"confidence": 1.0}, "confidence"),
        ({"largest_k": 6}, "at most the pilot's 5 classes"),
        ({"bandwidth": 9.0}, "bandwidth"),
        ({"weights": lambda k: -k}, "weights"),
        ({"approach": "adjustment", "method": "probit-normal"}, "leave method out"),
    ):
        with pytest.raises(ParameterError, match=match):
            forecast_risk(pilot, cost, 10, **options)
    for classes, match in (([], "names no number"), (2e15, "means nothing"), (0, "at least 1")):
        with pytest.raises(ParameterError, match=match):
            forecast_risk(pilot, cost, classes)
    with pytest.raises(ParameterError, match="by must be one of"):
        forecast_risk(pilot, cost, 10).interval(10, by="resampling")


def test_far_forecasts_are_warned_about():
    pilot, cost = small_pilot()
    with pytest.warns(ExtrapolationWarning, match="4,100 classes"):
        found = forecast_risk(pilot, cost, 4100, intervals=False)
    assert found.warnings


def test_ways_out(tmp_path):
    pilot, cost = small_pilot()
    found = forecast_risk(pilot, cost, [20, 200])
    held = json.loads(found.to_json())
    assert held["method"] == "regression-gaussian" and held["schema"] == 2
    assert [point["classes"] for point in held["observed"]] == [20, 40]
    (point,) = held["forecast"]
    assert point["classes"] == 200 and point["value"] == pytest.approx(float(found.risk(200)))
    assert point["lower"] == pytest.approx(float(found.interval(200)[0]))
    assert point["lower"] < point["value"] < point["upper"] <= cost.max()
    frame = found.to_frame()
    assert list(frame.columns) == ["classes", "value", "lower", "upper", "region"]
    assert set(frame.region[frame.classes <= 40]) == {"observed"}
    lines = found.to_csv().splitlines()
    assert lines[0] == "classes,value,lower,upper,region" and len(lines) == len(frame) + 1
    found.save(tmp_path / "risk.json")
    assert json.loads((tmp_path / "risk.json").read_text()) == held
    with pytest.raises(ParameterError, match="choose one of"):
        found.save(tmp_path / "risk.html")
    text = repr(found)
    assert "At 20 classes" in text and "(measured, 90% interval " in text
    with pytest.raises(ValueError, match="read-only"):
        found.curve.value[0] = 0
