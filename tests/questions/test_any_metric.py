"""Every answer takes a metric: what is said of accuracy is said of top-m in the same way."""

import json

import numpy as np
import pytest
from scipy.special import ndtri

import headcount
from compared_pilots import two_systems
from headcount import (
    DataError,
    Forecast,
    ParameterError,
    Pilot,
    UnsupportedError,
    forecast,
    observe,
)
from headcount.estimators import ProbitNormal
from headcount.metrics import ACCURACY, Top, resolve_metric
from headcount.questions.gate import Baseline, Estimate, judge
from headcount.uncertainty.jackknife import metric_covariance
from headcount.uncertainty.resampling import refits
from interval_pilots import gaussian

pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
METHOD = {"method": "probit-normal"}
KS = [2, 3, 4, 30, 60, 61, 120, 3000]


@pytest.fixture(scope="module")
def pilot():
    return gaussian(60, sigma=0.5)


@pytest.fixture(scope="module")
def top(pilot):
    return forecast(pilot, classes=[30, 120], metric="top-3", **METHOD)


@pytest.fixture(scope="module")
def accuracy(pilot):
    return forecast(pilot, classes=[30, 120], **METHOD)


def test_values_are_observed_up_to_the_pilot_and_those_of_the_same_law_beyond(pilot, top, accuracy):
    assert (top.metric, accuracy.metric) == (Top(3), ACCURACY)
    np.testing.assert_array_equal(top.law.p, accuracy.law.p)
    np.testing.assert_array_equal(top.value(KS[:5]), observe(pilot).top(3, KS[:5]))
    np.testing.assert_array_equal(top.value(KS[5:]), accuracy.law.top(3, KS[5:]))
    np.testing.assert_array_equal(top.value(KS), accuracy.top(3, KS))
    np.testing.assert_array_equal(top.accuracy(KS), accuracy.value(KS))
    np.testing.assert_array_equal(top.curve.value, top.value(top.curve.classes))


def test_limits_hold_the_value_and_are_its_own(top, accuracy):
    lower, upper = top.interval(KS)
    assert (lower <= top.value(KS) + 1e-12).all() and (top.value(KS) <= upper).all()
    # Among three classes the true one is among the best three, whatever the scores are.
    assert lower[:2].tolist() == upper[:2].tolist() == [1.0, 1.0]
    assert (lower[2:] < upper[2:]).all()
    own, other = upper - lower, np.subtract(*accuracy.interval(KS)[::-1])
    assert (own[3:6] < other[3:6]).all()  # nearer to one, so less uncertain


@pytest.mark.parametrize("m", [3, 12])
def test_limits_just_past_m_classes_are_not_wider_than_those_at_the_pilots_size(m):
    """Among m + 1 classes next to nobody is beaten by m others; that must not look like doubt."""
    losses = [0] * 180 + [2] * 10 + [m] * 6 + [m + 5] * 4
    for pilot in (Pilot.from_losses(losses, 500), gaussian(150, sigma=0.5)):
        result = forecast(pilot, classes=pilot.n_classes, metric=Top(m), method="no-change")
        ks = np.arange(m, pilot.n_classes + 1)
        lower, _ = result.interval(ks)
        assert lower[0] == 1 and lower[1] > 0.98
        alone, _ = result.uncertainty.band(result.value(ks), ks, 0.9)
        np.testing.assert_allclose(lower, np.minimum.accumulate(alone), atol=5e-3)


def test_the_standard_error_is_that_of_the_metric(pilot):
    result = forecast(pilot, classes=60, metric="top-3", intervals=False, **METHOD)
    lower, upper = result.interval(20, by="asymptotic")
    error = (upper - lower) / 2 / ndtri(0.95)
    assert error == pytest.approx(float(np.sqrt(metric_covariance(pilot, 20, Top(3))[0, 0])))
    assert error < np.sqrt(metric_covariance(pilot, 20)[0, 0])
    with pytest.raises(UnsupportedError, match="known for accuracy, not for top-3"):
        result.interval(90, by="asymptotic")


def test_refits_forecast_the_metric(pilot):
    grid = [10, 60, 600]
    curves = {
        metric: refits(pilot, ProbitNormal(), [(30, 3)], grid, metric=metric).sizes[0].curves
        for metric in (ACCURACY, Top(3))
    }
    sampled = refits(pilot, ProbitNormal(), [(30, 3)], grid).sizes[0].curves
    np.testing.assert_array_equal(curves[ACCURACY], sampled)
    assert (curves[Top(3)] > curves[ACCURACY]).all()


def test_the_back_test_is_one_of_the_metric(pilot, top):
    assert top.backtest.metric == Top(3)
    assert top.backtest.observed == observe(pilot).top(3, 60)
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(30, 0)))
    half = pilot.canonical_classes()[rng.choice(60, 30, replace=False)]
    law = ProbitNormal().fit(pilot.subset(half)).favorability_
    assert top.backtest.steps[0].forecasts[0] == pytest.approx(float(law.top(3, 60)), abs=1e-9)


def test_capacity_is_where_the_metric_falls_below_the_target(top, accuracy):
    for target in (0.97, 0.9, 0.5):
        last = top.capacity(target)
        assert top.value(last) >= target > top.value(last + 1)
        assert last > accuracy.capacity(target)
        lower, upper = top.capacity_interval(target)
        assert lower <= last <= upper
        assert top.interval(int(lower))[0] >= target > top.interval(int(lower) + 1)[0]


def test_json_brings_the_metric_back(top):
    again = Forecast.from_json(top.to_json())
    assert again.metric == Top(3) == again.backtest.metric == again.uncertainty.metric
    np.testing.assert_array_equal(again.value(KS), top.value(KS))
    np.testing.assert_array_equal(again.interval(KS), top.interval(KS))
    assert repr(again) == repr(top)
    fields = json.loads(top.to_json())
    assert fields["metric"] == "top-3"
    (row,) = fields["forecast"]
    assert row == dict(zip(("lower", "upper"), top.interval(120), strict=True)) | {
        "classes": 120, "value": top.value(120)
    }  # fmt: skip


@pytest.mark.parametrize("name", ["top-0", "top-", "top-1.5", "", "beauty"])
def test_unknown_metrics_are_refused(pilot, name):
    with pytest.raises(ParameterError, match="unknown metric"):
        forecast(pilot, classes=100, metric=name)
    fields = forecast(pilot, classes=100, intervals=False, **METHOD).to_dict()
    with pytest.raises(DataError, match="unknown metric"):
        Baseline.from_dict(fields | {"metric": name})


def test_top_1_is_accuracy():
    assert resolve_metric("top-1") == ACCURACY == resolve_metric("accuracy") == Top(1)
    assert resolve_metric("top-1").name == "accuracy"


def test_a_method_without_a_law_knows_accuracy_only(pilot):
    with pytest.raises(UnsupportedError, match="accuracy only, not top-3; choose another method"):
        forecast(pilot, classes=100, metric="top-3", method="log-linear")
    assert forecast(pilot, classes=100, metric="top-1", method="log-linear").value(100) > 0


def test_words_are_those_of_the_metric(top):
    text = repr(top)
    assert text.startswith("Forecast of top-3 accuracy from 60 classes")
    assert "probes find the right class among the best 3" in text
    assert top.answer.titles(0.9)[1] == "top-3 accuracy"


# -- ranks -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["mrr", "mrr@10"])
def ranks(request, pilot):
    return forecast(pilot, classes=[30, 120], metric=request.param, **METHOD)


def test_ranks_are_observed_and_forecast_by_the_same_law(pilot, ranks, accuracy):
    np.testing.assert_array_equal(ranks.value(KS[:5]), observe(pilot).value(KS[:5], ranks.metric))
    np.testing.assert_array_equal(ranks.value(KS[5:]), accuracy.law.value(KS[5:], ranks.metric))
    lower, upper = ranks.interval(KS)
    assert (lower < ranks.value(KS)).all() and (ranks.value(KS) < upper).all()
    assert (accuracy.value(KS[1:]) < ranks.value(KS[1:])).all()
    assert ranks.backtest.metric == ranks.metric
    assert ranks.backtest.observed == ranks.observed.value(60, ranks.metric)
    again = Forecast.from_json(ranks.to_json())
    np.testing.assert_array_equal(again.interval(KS), ranks.interval(KS))
    assert again.metric == ranks.metric and repr(again) == repr(ranks)


def test_every_kind_of_interval_is_known_of_ranks(ranks):
    value, widths = float(ranks.value(120)), {}
    for kind in ("expected", "new_set", "grown_set"):
        lower, upper = ranks.interval(120, kind=kind)
        assert 0 < lower < upper < 1
        widths[kind] = upper - lower
    assert widths["expected"] < widths["new_set"]
    assert widths["grown_set"] < widths["new_set"]
    last = ranks.capacity(value)
    assert ranks.value(last) >= value - 1e-12 > ranks.value(last + 1) - 2e-12
    lower, upper = ranks.capacity_interval(value)
    assert lower <= last <= upper
    error = np.subtract(*ranks.interval(30, by="asymptotic")[::-1]) / 2 / ndtri(0.95)
    pilot = gaussian(60, sigma=0.5)
    assert error == pytest.approx(float(np.sqrt(metric_covariance(pilot, 30, ranks.metric)[0, 0])))


def test_questions_about_ranks(pilot, ranks):
    name = ranks.metric.name
    result = headcount.compare(two_systems(1), [40, 400], metric=name, **METHOD)
    lead = result.pairs[0].at(400)
    assert lead.lower < lead.difference < lead.upper
    plan = headcount.plan(pilot, 300, 0.02, metric=name, **METHOD)
    assert plan.value == forecast(pilot, classes=300, metric=name, **METHOD).value(300)
    assert f"{ranks.metric.label} at 300 is forecast" in repr(plan)
    lower, _ = ranks.interval(120)
    estimate = Estimate.of(ranks, 120)
    assert judge([estimate], minimum=lower - 1e-9, metric=ranks.metric).exit_code == 0
    assert judge([estimate], minimum=lower + 1e-9, metric=ranks.metric).exit_code == 1


# -- the other questions ---------------------------------------------------------------------------


def test_systems_are_compared_in_the_metric():
    pilots = two_systems(1)
    result = headcount.compare(pilots, [3, 40, 400], metric="top-3", **METHOD)
    first, second = result.forecasts.values()
    (pair,) = result.pairs
    assert result.metric == Top(3) and pair.paired
    np.testing.assert_array_equal(
        pair.difference, first.value(pair.classes) - second.value(pair.classes)
    )
    lead = pair.at(3)  # nobody can be ahead among three
    assert (lead.difference, lead.lower, lead.upper, lead.chance) == (0, 0, 0, 0.5)
    assert pair.at(40).lower < pair.at(40).difference < pair.at(40).upper
    plain = headcount.compare(pilots, [40], **METHOD).pairs[0].at(40)
    assert abs(pair.at(40).difference) < abs(plain.difference)
    assert result.to_dict()["metric"] == "top-3"


def test_a_pilot_is_planned_for_the_metric(pilot):
    result = headcount.plan(pilot, 300, 0.02, metric="top-3", **METHOD)
    assert result.metric == Top(3)
    assert result.value == forecast(pilot, classes=300, metric="top-3", **METHOD).value(300)
    assert result.classes < headcount.plan(pilot, 300, 0.02, **METHOD).classes
    assert "top-3 accuracy at 300 is forecast" in repr(result)


def test_a_gate_judges_the_metric_and_no_baseline_of_another(top, accuracy):
    estimate = Estimate.of(top, 120)
    lower, _ = top.interval(120)
    assert (estimate.value, estimate.lower) == (top.value(120), lower)
    assert judge([estimate], minimum=lower - 1e-9, metric=Top(3)).exit_code == 0
    assert judge([estimate], minimum=lower + 1e-9, metric=Top(3)).exit_code == 1
    own, other = (Baseline.from_dict(made.to_dict()) for made in (top, accuracy))
    assert judge([estimate], baseline=own, margin=0, metric=Top(3)).exit_code == 0
    with pytest.raises(ParameterError, match="a forecast of accuracy, and top-3 is judged"):
        judge([estimate], baseline=other, metric=Top(3))


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def saved(pilot, tmp_path):
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    np.savez(tmp_path / "p.npz", scores=scores, labels=pilot.labels)
    return tmp_path / "p.npz"


OPTIONS = ("--metric", "top-3", "--method", "probit-normal")


def test_an_unknown_metric_is_one_sentence(saved, refused):
    message = refused("forecast", saved, "--classes", "120", "--metric", "beauty")
    assert "unknown metric 'beauty'; choose accuracy" in message
