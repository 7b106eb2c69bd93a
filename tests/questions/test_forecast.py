import json
import math

import numpy as np
import pandas as pd
import pytest

import headcount
from headcount import (
    DataError,
    ExtrapolationWarning,
    Forecast,
    ParameterError,
    Pilot,
    UnsupportedError,
    forecast,
    observe,
    simulate,
)
from headcount.estimators import ProbitNormal, Regression
from headcount.support.words import percent


@pytest.fixture(scope="module")
def pilot():
    rng = np.random.default_rng(0)
    return Pilot.from_losses(
        rng.binomial(199, rng.beta(0.2, 20, 600)), 200, labels=np.arange(600) % 200
    )


@pytest.fixture(scope="module")
def result(pilot):
    return forecast(pilot, classes=[50, 1000, 10_000], method="probit-normal", intervals=False)


@pytest.fixture(scope="module")
def banded(pilot):
    """With limits, and no further than the back-test reaches."""
    return forecast(pilot, classes=[50, 400], method="probit-normal")


def test_observed_up_to_the_pilot_and_fitted_beyond(pilot, result):
    law = ProbitNormal().fit(pilot).favorability_
    np.testing.assert_array_equal(
        result.accuracy([1, 7, 200]), observe(pilot).accuracy([1, 7, 200])
    )
    np.testing.assert_allclose(result.accuracy([201, 10_000]), law.accuracy([201, 10_000]))
    np.testing.assert_array_equal(result.top(3, [7, 200]), observe(pilot).top(3, [7, 200]))
    np.testing.assert_allclose(result.top(3, [300]), law.top(3, [300]))
    assert type(result.accuracy(10_000)) is type(result.top(3, 7)) is float
    assert result.accuracy([10_000]).shape == result.top(3, [7]).shape == (1,)


def test_every_public_name_can_be_had():
    for name in headcount.__all__:
        assert getattr(headcount, name) is not None


def test_curve_is_frozen_and_labels_its_regions(result):
    curve = result.curve
    assert {50, 200, 1000, 10_000} <= set(curve.classes.tolist())
    assert (curve.region == np.where(curve.classes <= 200, "observed", "forecast")).all()
    np.testing.assert_array_equal(curve.value, result.value(curve.classes))
    with pytest.raises(ValueError, match="read-only"):
        curve.value[0] = 0


def test_curve_has_limits_where_there_are_intervals(result, banded):
    assert result.interval(1000) is None and result.capacity_interval(0.5) is None
    assert result.curve.lower is None and result.backtest is None
    curve = banded.curve
    lower, upper = banded.interval(curve.classes)
    np.testing.assert_array_equal(curve.lower, lower)
    np.testing.assert_array_equal(curve.upper, upper)
    assert (lower < curve.value).all() and (curve.value < upper).all()
    with pytest.raises(ValueError, match="read-only"):
        curve.lower[0] = 0
    assert 2 < banded.backtest.supported < 5 and banded.checks == banded.warnings == ()
    with pytest.raises(ParameterError, match="new_set"):
        result.interval(1000, kind="sure")


@pytest.mark.parametrize("target", [0.95, 0.9, 0.8, 0.6, 0.3])
def test_capacity_is_the_last_k_of_the_joined_curve(result, target):
    held = result.capacity(target)
    assert float(result.accuracy(held)) >= target
    if held != result.n_classes:  # at the seam the fitted curve may start lower
        assert float(result.accuracy(held + 1)) < target
    else:
        assert float(result.law.accuracy(held + 1)) < target


@pytest.mark.parametrize("n_right, n_probes", [(9, 10), (27, 30), (29, 30), (900, 1000)])
def test_a_target_that_is_met_exactly_is_met(n_right, n_probes):
    losses = [0] * n_right + [5] * (n_probes - n_right)
    result = forecast(Pilot.from_losses(losses, 100), classes=100, intervals=False)
    assert result.capacity(n_right / n_probes) >= 100


def test_capacity_at_the_ends(result):
    assert result.capacity(1.0) == 1
    sure = Forecast(
        observed=observe(Pilot.from_losses([0, 0], 10)),
        law=headcount.Favorability([0.0], [1.0]),
        classes=(10,), n_probes=2, method="none", confidence=0.9,
    )  # fmt: skip
    assert sure.capacity(0.99) == math.inf
    assert "more classes than can be said" in repr(sure)


def test_data_may_be_a_pilot_a_path_or_a_matrix(tmp_path):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(90, 30))
    labels = np.arange(90) % 30
    scores[np.arange(90), labels] += 2
    np.savez(tmp_path / "pilot.npz", scores=scores, labels=labels)
    options = {"classes": 300, "intervals": False}
    expected = forecast(Pilot.from_scores(scores, labels), **options).accuracy(300)
    assert forecast(scores, labels, **options).accuracy(300) == expected
    assert forecast(tmp_path / "pilot.npz", **options).accuracy(300) == expected
    with pytest.raises(ParameterError, match="labels"):
        forecast(scores, classes=300)
    with pytest.raises(ParameterError, match="its own labels"):
        forecast(Pilot.from_scores(scores, labels), labels, classes=300)


@pytest.mark.parametrize("classes", [0, -5, 2.5, [], [100, math.nan], math.inf, 1e19])
def test_impossible_numbers_of_classes_are_refused(pilot, classes):
    with pytest.raises(ParameterError):
        forecast(pilot, classes=classes)


def test_impossible_confidence_is_refused(pilot):
    with pytest.raises(ParameterError, match="confidence"):
        forecast(pilot, classes=300, confidence=90)


@pytest.mark.parametrize("level", [1e-300, 0.0099, 0.99999, math.nan, "high", None])
def test_a_level_that_says_nothing_is_refused(pilot, level):
    with pytest.raises(ParameterError, match=r"between 0\.01 and 0\.9999"):
        forecast(pilot, classes=300, confidence=level)


def test_far_forecasts_warn(pilot):
    with pytest.warns(ExtrapolationWarning, match="times the pilot's 200") as caught:
        result = forecast(pilot, classes=200 * 101, method="probit-normal", intervals=False)
    assert caught[0].filename == __file__  # it points at the caller's line, not into headcount
    assert [check.code for check in result.checks] == ["HC011"]
    assert result.warnings == (str(caught[0].message),) == (result.checks[0].message,)
    assert forecast(pilot, classes=200 * 100, intervals=False).warnings == ()


def test_a_law_that_misses_the_pilot_is_a_check(pilot):
    class Wrong(ProbitNormal):
        alias = "wrong"

        def _estimate(self, pilot):
            return headcount.Favorability([0.5], [1.0])

    found = forecast(pilot, classes=300, method=Wrong(), intervals=False)
    assert [check.code for check in found.checks] == ["HC010"]
    assert "doubtful" in repr(found)
    assert forecast(pilot, classes=300, method="probit-normal", intervals=False).checks == ()


class StraightLine(ProbitNormal):
    """Accuracy falls by a tenth for every factor of ten: the moments of no law."""

    alias = "straight"

    def _estimate(self, pilot):
        return None

    def predict(self, k):
        return np.clip(1 - 0.1 * np.log10(np.asarray(k, dtype=float)), 0, 1)


def test_methods_without_a_law_forecast_all_the_same(pilot):
    result = forecast(pilot, classes=[1000, 12_345], method=StraightLine(), intervals=False)
    assert float(result.accuracy(12_345)) == pytest.approx(1 - 0.1 * np.log10(12_345), abs=1e-12)
    assert float(result.accuracy(54_321)) == pytest.approx(1 - 0.1 * np.log10(54_321), abs=1e-6)
    assert result.law.capacity(0.655) == 2818  # 10 ** 3.45
    assert result.law.capacity(0.01) == pytest.approx(10**9.9, rel=1e-3)
    again = Forecast.from_json(result.to_json())
    assert again.accuracy([5, 999, 77_777]).tolist() == result.accuracy([5, 999, 77_777]).tolist()
    assert repr(again) == repr(result)
    with pytest.raises(headcount.UnsupportedError, match="no law"):
        result.top(5, 1000)
    assert result.top(5, 100) > 0  # observed


def test_methods_without_a_law_have_limits_too(pilot):
    result = forecast(pilot, classes=200, method=StraightLine())
    lower, upper = result.interval([400, 10_000])
    assert (lower < result.accuracy([400, 10_000])).all()
    assert (upper > result.accuracy([400, 10_000])).all()
    again = Forecast.from_json(result.to_json())
    assert again.interval([400, 10_000])[0].tolist() == lower.tolist()
    assert again.capacity_interval(0.7) == result.capacity_interval(0.7)


def test_json_follows_the_contract(result, banded):
    held = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert set(held) == {
        "schema", "metric", "n_classes", "n_probes", "method", "confidence", "observed", "forecast",
        "checks", "warnings",
    }  # fmt: skip
    assert held["schema"] == 2 and held["metric"] == "accuracy"
    assert held["method"] == "probit-normal" and held["confidence"] == 0.9
    assert [p["classes"] for p in held["observed"]] == [50, 200]
    assert [p["classes"] for p in held["forecast"]] == [1000, 10_000]
    first = held["forecast"][0]
    expected = float(result.accuracy(1000))
    assert first == {"classes": 1000, "value": expected, "lower": None, "upper": None}
    lower, upper = (float(limit) for limit in banded.interval(400))
    assert banded.to_dict()["forecast"] == [
        {"classes": 400, "value": float(banded.value(400)), "lower": lower, "upper": upper}
    ]
    assert set(banded.to_dict()) == set(held)


def test_json_round_trip_answers_every_question_alike(result):
    again = Forecast.from_json(result.to_json())
    ks = [1, 3, 200, 201, 5000, 10**9]
    assert again.accuracy(ks).tolist() == result.accuracy(ks).tolist()
    assert again.capacity(0.7) == result.capacity(0.7)
    assert repr(again) == repr(result)
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda held: held | {"schema": 1},
        lambda held: held | {"metric": "beauty"},
        lambda held: {k: v for k, v in held.items() if k != "state"},
        lambda held: held | {"state": held["state"] | {"p": [2.0], "mass": [1.0]}},
        lambda held: held | {"state": held["state"] | {"weights": [0.1]}},
        lambda held: held | {"state": held["state"] | {"losses": "many"}},
        lambda held: [1, 2],
        lambda held: held | {"schema": True},
        lambda held: held | {"confidence": 7},
        lambda held: held | {"confidence": "x"},
        lambda held: held | {"warnings": "one"},
        lambda held: held | {"checks": [{"code": 1, "severity": "x", "message": "y"}]},
        lambda held: held | {"state": held["state"] | {"p": ["x"], "mass": [1.0]}},
        lambda held: held | {"state": held["state"] | {"censored": [True]}},
        lambda held: held | {"state": held["state"] | {"n_rivals": 1e30}},
    ],
)
def test_spoiled_json_is_refused(result, spoil):
    text = json.dumps(spoil(json.loads(result.to_json())))
    with pytest.raises(headcount.HeadcountError):
        Forecast.from_json(text)


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"n_probes": 1e308}, "n_probes must be at most 1e.15, but is 1e.308"),
        ({"n_probes": 0}, "n_probes must be at least 1"),
        ({"confidence": 1e-300}, "confidence must lie between 0.01 and 0.9999"),
        ({"confidence": 1 - 1e-16}, "confidence must lie between 0.01 and 0.9999"),
        ({"confidence": 10**400}, "confidence must lie between 0.01 and 0.9999"),
        ({"method": [10**300]}, "text was expected"),
        ({"n_probes": "9" * 5000}, "n_probes .* must be a whole number"),
        ({"method": "\ud800"}, "surrogates"),
        ({"warnings": ["\ud800"]}, "surrogates"),
        ({"state": {"nouns": {"noun": "z" * 5000}}}, "one word or two"),
        ({"state": {"classes": []}}, "names no number of classes"),
        ({"state": {"classes": ["x" * 5000]}}, "whole numbers"),
        ({"state": {"classes": [10**400]}}, "whole numbers"),
        ({"state": {"classes": {}}}, "a list was expected"),
        ({"state": {"classes": [1e308]}}, "past 1e.15"),
        ({"state": {"classes": [0]}}, "at least 1"),
        ({"state": {"n_rivals": 1e308}}, "n_rivals must be at most"),
        (
            {"state": {"uncertainty": {"n_probes": 1e17}}},
            "n_probes must be at most 1e.15, but is 1e.17",
        ),
        ({"state": {"uncertainty": {"probes_per_class": 1e308}}}, "no list of sound numbers"),
        ({"state": {"uncertainty": {"moves": [[1e308]]}}}, "moves .* no list of sound"),
        ({"state": {"uncertainty": {"freedom": 1e15}}}, "freedom .* no list of sound"),
        ({"state": {"backtest": {"n_classes": 1e308}}}, "n_classes must be at most"),
    ],
)
def test_nonsense_in_json_gets_one_sentence(banded, changed, words):
    held = _changed(json.loads(banded.to_json()), changed)
    with pytest.raises(DataError, match=words) as refused:
        Forecast.from_json(json.dumps(held))
    assert len(str(refused.value)) < 250 and str(refused.value).endswith(".")


def _changed(held, changed):
    if not isinstance(changed, dict) or not changed:
        return changed
    return held | {name: _changed(held[name], value) for name, value in changed.items()}


def test_other_methods_are_fitted_only_where_they_are_asked_for(pilot, result):
    assert result.others == {}
    asked = forecast(pilot, classes=300, method="no-change", intervals=False, other_methods=True)
    assert list(asked.others) == ["probit-normal", "regression", "exponential", "high-dimensional"]
    again = Forecast.from_json(asked.to_json()).others["exponential"]
    assert again.accuracy(300) == asked.others["exponential"].accuracy(300)


def test_json_that_says_a_thing_twice_is_refused(result):
    text = result.to_json().replace('"n_probes"', '"n_probes": 7, "n_probes"', 1)
    with pytest.raises(DataError, match="this forecast has 'n_probes' twice"):
        Forecast.from_json(text)


@pytest.mark.parametrize("classes", [10**400, "many", [10, "x"], 1j, np.longdouble("1e4000")])
def test_numbers_of_classes_that_are_none(pilot, classes):
    with pytest.raises(ParameterError, match="number"):
        headcount.forecast(pilot, classes=classes, intervals=False)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema":' * 100_000])
def test_deep_nesting_gets_one_sentence(text):
    with pytest.raises(DataError, match="nested too deeply"):
        Forecast.from_json(text)


@pytest.mark.parametrize("text", ["", "{", '{"schema": NaN}', "null"])
def test_text_that_is_no_forecast_is_refused(text):
    with pytest.raises(DataError):
        Forecast.from_json(text)


def test_frame_and_csv_hold_the_curve(result, banded, tmp_path):
    assert list(result.to_frame().columns) == ["classes", "value", "region"]
    assert list(banded.to_frame().columns) == ["classes", "value", "lower", "upper", "region"]
    for made in (result, banded):
        made.save(tmp_path / "curve.csv")
        found = pd.read_csv(tmp_path / "curve.csv")
        pd.testing.assert_frame_equal(found, made.to_frame(), check_dtype=False)


def test_save_writes_json_and_pictures(result, tmp_path):
    result.save(tmp_path / "f.json")
    assert repr(Forecast.from_json((tmp_path / "f.json").read_text())) == repr(result)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        result.save(tmp_path / f"f{suffix}")
        assert (tmp_path / f"f{suffix}").read_bytes().startswith(magic)
    with pytest.raises(ParameterError, match="choose"):
        result.save(tmp_path / "f.docx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.json", "f.pdf", "f.png", "f.svg"]


def test_repr_gives_limits(banded):
    low, high = (percent(float(limit)) for limit in banded.interval(400))
    within = f"90% interval {low[:-1]}-{high}"
    assert f"At 400 classes: {percent(float(banded.accuracy(400)))} ({within})." in repr(banded)
    low, high = (percent(float(limit)) for limit in banded.interval(50))
    within = f"measured, 90% interval {low[:-1]}-{high}"
    assert f"{percent(float(banded.accuracy(50)))} ({within})." in repr(banded)


def test_repr_is_readable(result):
    text = repr(result)
    assert "200 classes and 600 probes" in text
    assert "At 50 classes:" in text and "(measured)" in text
    assert "It stays at or above" in text
    assert result._repr_html_().startswith("<div>")


def test_notebook_text_is_escaped(result):
    spiked = Forecast(
        observed=result.observed, law=result.law, classes=(300,), n_probes=1,
        method="<script>", confidence=0.9,
    )  # fmt: skip
    assert "<script>" not in spiked._repr_html_()


def test_plot_draws_the_parts(result):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    display = result.plot(target=0.5)
    labels = [line.get_label() for line in display.ax_.get_lines()]
    assert labels == ["measured", "forecast", "pilot, 200 classes", "target, 50%"]
    measured, beyond = display.ax_.get_lines()[:2]
    assert measured.get_xdata().max() == 200 == beyond.get_xdata().min()
    assert display.frame()["value"].tolist() == result.curve.value.tolist()
    assert not display.ax_.collections
    _, ax = pyplot.subplots()
    assert result.plot(ax).ax_ is ax
    pyplot.close("all")


def test_needs_no_optional_package_and_changes_no_global_state():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np\n"
        "class Hidden:  # as if they were not installed\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.split('.')[0] in ('matplotlib', 'pandas', 'pyarrow', 'torch', 'polars'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "before = (np.geterr(), np.get_printoptions())\n"
        "import headcount, headcount.cli.app\n"
        "result = headcount.forecast([[2.0, 1], [1, 2], [1, 2]], [0, 1, 0], classes=10)\n"
        "assert (np.geterr(), np.get_printoptions()) == before\n"
        "for ask, extra in ((result.to_frame, 'io'), (result.plot, 'plot')):\n"
        "    try:\n"
        "        ask()\n"
        "    except headcount.MissingExtraError as error:\n"
        "        assert f'headcount[{extra}]' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(extra)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- intervals by large-sample theory --------------------------------------------------------------


@pytest.fixture(scope="module")
def scored():
    return simulate.isotropic_gaussian(150, sigma=0.5, random_state=0).pilot


def test_asymptotic_interval_is_normal_around_the_accuracy(scored):
    from headcount.uncertainty.asymptotics import (
        metric_error,
        regression_error,
    )

    fit = Regression(bandwidth=0.3)
    result = forecast(scored, classes=300, method=fit, confidence=0.8, intervals=False)
    lower, upper = result.interval([50, 300], by="asymptotic")
    errors = [
        float(metric_error(scored, 50)),
        float(regression_error(scored, fit.fit(scored), 300)),
    ]
    middle = result.accuracy([50, 300])
    np.testing.assert_allclose(upper - middle, 1.2815516 * np.array(errors), rtol=1e-6)
    np.testing.assert_allclose(middle - lower, upper - middle, rtol=1e-9)


def test_asymptotic_intervals_are_refused_where_theory_has_none(scored):
    result = forecast(scored, classes=300, method="probit-normal", intervals=False)
    assert result.interval(300) is None
    lower, upper = result.interval(100, by="asymptotic")
    assert lower < result.accuracy(100) < upper
    with pytest.raises(UnsupportedError, match="moment regression only, not for probit-normal"):
        result.interval(300, by="asymptotic")
    with pytest.raises(UnsupportedError, match="expected value"):
        result.interval(100, kind="new_set", by="asymptotic")
    with pytest.raises(UnsupportedError, match="read from a file"):
        Forecast.from_json(result.to_json()).interval(100, by="asymptotic")
    counted = forecast(Pilot.from_losses([0, 1, 2], 9), classes=20, intervals=False)
    with pytest.raises(UnsupportedError, match="only counts"):
        counted.interval(5, by="asymptotic")
