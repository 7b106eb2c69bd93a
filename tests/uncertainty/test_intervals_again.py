import json
import math

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend

from headcount import (
    DataError,
    Forecast,
    Pilot,
    forecast,
)
from headcount.curves.favorability import ROUND_OFF
from headcount.uncertainty.intervals import KINDS, Uncertainty
from interval_pilots import gaussian

KS = [1, 2, 7, 60, 61, 120, 300, 5000]


@pytest.fixture(scope="module")
def result():
    return forecast(gaussian(), classes=[60, 120], method="probit-normal")


# -- capacity --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [1.0, 0.99, 0.95, 0.9, 0.85, 0.8])
def test_capacity_interval_inverts_the_band(result, target):
    ks = np.arange(2, 3001)  # fifty times the pilot
    found = []
    for side, limits in enumerate(result.interval(ks)):
        fallen = np.flatnonzero(limits < target - ROUND_OFF)
        never = math.inf if side else 3000
        found.append(ks[fallen[0]] - 1 if len(fallen) else never)
    assert result.capacity_interval(target) == tuple(found)


def test_limits_of_the_capacity_are_followed_as_far_as_needed(result):
    low, high = result.capacity_interval(0.1)
    assert 50 * 60 < low < result.capacity(0.1)
    assert result.interval(low)[0] >= 0.1 > result.interval(low + 1)[0]
    # The upper limit stops falling at some point, and below that there is no end.
    assert high == math.inf and result.interval(10**15)[1] > 0.1


def test_capacity_keeps_within_its_limits_where_the_fit_misses_the_pilot():
    # Fitted accuracy starts again high above what was measured: for the estimate the first fall
    # counts. Upper limits hold the fit and never rise, so they are as high before it.
    pilot = Pilot.from_losses([0] * 30 + [20] * 30, 40)
    made = forecast(pilot, classes=80, method="no-change", intervals=False)
    grid = np.array([2, 40, 80, 2000])
    zero = np.zeros(4)
    made = Forecast(
        observed=made.observed, law=type(made.law)([0.0], [1.0]), classes=(80,), n_probes=60,
        method="high", confidence=0.9,
        uncertainty=Uncertainty(40, 60, grid, zero + 0.01, zero, zero, 0.001, 0.001, 1.5, 0.5),
    )  # fmt: skip
    low, high = made.capacity_interval(0.6)
    assert low <= made.capacity(0.6) < 40
    assert high == math.inf


# -- the same again --------------------------------------------------------------------------------


def same_answers(first, second, exactly=True):
    near = np.testing.assert_array_equal if exactly else near_enough
    for kind in KINDS:
        ks = [k for k in KS if kind != "grown_set" or k >= 60]
        for r in (None, 3):
            near(
                first.interval(ks, kind, probes_per_class=r),
                second.interval(ks, kind, probes_per_class=r),
            )
    for target in (0.95, 0.9, 0.5, 0.01):
        assert first.capacity_interval(target) == second.capacity_interval(target)


def near_enough(first, second):
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)


def test_json_keeps_every_limit(result):
    again = Forecast.from_json(result.to_json())
    same_answers(result, again)
    np.testing.assert_array_equal(again.curve.lower, result.curve.lower)
    np.testing.assert_array_equal(again.curve.upper, result.curve.upper)
    assert again.uncertainty.to_dict() == result.uncertainty.to_dict()
    assert again.uncertainty.model == result.uncertainty.model
    assert again.backtest.to_dict() == result.backtest.to_dict()
    assert again.to_json() == result.to_json()


def test_json_without_refits_keeps_every_limit():
    made = forecast(gaussian(8, sigma=0.9), classes=8, method="exponential")
    again = Forecast.from_json(made.to_json())
    np.testing.assert_array_equal(made.interval([2, 8, 20]), again.interval([2, 8, 20]))


def test_json_keeps_the_limits_of_a_method_that_states_its_error():
    made = forecast(gaussian(20), classes=20)
    assert made.uncertainty.stated is not None
    again = Forecast.from_json(made.to_json())
    ks = [2, 20, 40, 5000]
    np.testing.assert_array_equal(made.interval(ks), again.interval(ks))
    held = json.loads(made.to_json())
    for wrong in ([0.1], "x", [-1.0] * len(made.uncertainty.grid)):
        held["state"]["uncertainty"]["stated"] = wrong
        with pytest.raises(DataError):
            Forecast.from_json(json.dumps(held))


SPOILS = {
    "uncertainty": [
        {"grid": []}, {"grid": [2, 2]}, {"grid": [2.5, 7]}, {"grid": "many"}, {"grid": [0, 7]},
        {"observed_error": [0.1]}, {"observed_error": [[0.1]]}, {"observed_error": None},
        {"growth": [1.0]}, {"growth": "fast"}, {"bias": None}, {"bias": ["x"]},
        {"class_variance": -1}, {"class_variance": "x"}, {"class_variance": None},
        {"probe_variance": [1]}, {"probes_per_class": -2}, {"observed": 1.5}, {"observed": True},
        {"n_classes": 61}, {"n_classes": 2.5}, {"n_classes": {}}, {"n_probes": 0},
        {"n_probes": "x"}, {"shared_rivals": "no"}, {"told_apart": 1}, {"model": None},
        {"model": {}}, {"model": []}, {"model": "good"},
    ],
    "backtest": [
        {"schema": 1}, {"n_classes": 61}, {"observed": 2}, {"halves": [[0.5]]}, {"halves": 3},
        {"grid": [5, 3]}, {"steps": [{}]}, {"steps": [1]}, {"steps": None}, {"observed": "x"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "part, changed", [(part, changed) for part, many in SPOILS.items() for changed in many]
)
def test_spoiled_json_is_refused(result, part, changed):
    held = json.loads(result.to_json())
    held["state"][part] |= changed
    with pytest.raises(DataError):
        Forecast.from_json(json.dumps(held))


@pytest.mark.parametrize(
    "changed",
    [
        {"scale": "x"}, {"scale": -1}, {"power": None}, {"levels": []}, {"levels": [0.5]},
        {"quantiles": [3, 2, 1, 0, 0, 0, 0]}, {"more": 1}, {"levels": 0.5},
    ],
)  # fmt: skip
def test_a_spoiled_error_model_is_refused(result, changed):
    held = json.loads(result.to_json())
    held["state"]["uncertainty"]["model"] |= changed
    with pytest.raises(DataError):
        Forecast.from_json(json.dumps(held))


@pytest.mark.parametrize("part", ["uncertainty", "backtest"])
def test_missing_parts_of_json_are_refused(result, part):
    whole = json.loads(result.to_json())
    for name in whole["state"][part]:
        if name == "supported":  # follows from the rest
            continue
        held = json.loads(json.dumps(whole))
        del held["state"][part][name]
        with pytest.raises(DataError):
            Forecast.from_json(json.dumps(held))
    for value in ([], 3, "x", True):
        with pytest.raises(DataError):
            Forecast.from_json(json.dumps(whole | {"state": whole["state"] | {part: value}}))


class Counted(ThreadingBackend):
    """Threads that count how often they are asked for."""

    asked = 0

    def configure(self, *args, **options):
        Counted.asked += 1
        return super().configure(*args, **options)


def test_seeds_and_workers():
    pilot, options = gaussian(), {"classes": [120], "method": "exponential"}
    first = forecast(pilot, **options)
    same_answers(first, forecast(pilot, **options, random_state=0, n_jobs=2))
    joblib.register_parallel_backend("counted", Counted)
    with joblib.parallel_config(backend="counted", n_jobs=2):
        same_answers(first, forecast(pilot, **options))
    assert Counted.asked == 1
    other = forecast(pilot, **options, random_state=1)
    assert not np.array_equal(first.interval(300), other.interval(300))
    # Up to the pilot's own size nothing is drawn at random.
    np.testing.assert_array_equal(first.interval([2, 60]), other.interval([2, 60]))


@pytest.mark.parametrize("method", ["exponential", "auto"])
@pytest.mark.parametrize("strength", [2.5, 4.0])  # at 4 most classes make no mistake: all alike
def test_the_order_of_rows_and_classes_does_not_matter(strength, method):
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(60), 3)
    scores = rng.normal(size=(180, 60)) + strength * np.eye(60)[labels]
    names = np.array([f"class {i}" for i in range(60)])
    rows, columns = rng.permutation(180), rng.permutation(60)
    place = np.argsort(columns)
    pilots = [
        Pilot.from_scores(scores, labels, class_names=names),
        Pilot.from_scores(
            scores[rows][:, columns], place[labels[rows]], class_names=names[columns]
        ),
    ]
    made = [forecast(pilot, classes=60, method=method) for pilot in pilots]
    same_answers(*made, exactly=False)
