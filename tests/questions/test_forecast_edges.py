"""What a forecast says at its edges: ends of what is supported, targets, limits, other methods."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from headcount import DataError, Forecast, Pilot, forecast, observe
from headcount.curves.favorability import ROUND_OFF, Favorability
from headcount.errors import UnsupportedError
from headcount.questions.forecast import OTHERS, TARGETS, TEXTS
from headcount.uncertainty.intervals import Uncertainty
from interval_pilots import normal_moves


def make_forecast(
    law=None, uncertainty=None, backtest=None, losses=(0, 0, 0, 1), n_classes=10, **options
):
    observed = observe(Pilot.from_losses(list(losses), n_classes))
    law = law or Favorability([0.0, 1.0], [0.75, 0.25])
    fields = {"classes": (100,), "n_probes": len(losses), "method": "any", "confidence": 0.9}
    return Forecast(
        observed=observed, law=law, uncertainty=uncertainty, backtest=backtest, **fields | options
    )


def test_constants():
    assert TARGETS == (0.9, 0.8, 0.5)
    assert TEXTS == (".json", ".csv")
    assert OTHERS == ("probit-normal", "regression", "exponential", "high-dimensional")


@pytest.mark.parametrize(
    "ratio, supported", [(1.0, 10), (2.5, 25), (2.59, 25), (10 / 3 * 3, 100), (1.3, 13), (1.1, 11)]
)
def test_what_is_supported_is_rounded_down_but_for_round_off(ratio, supported):
    assert make_forecast(backtest=SimpleNamespace(supported=ratio)).supported == supported
    assert make_forecast().supported == 10


def test_a_third_of_a_class_is_no_class_and_round_off_is():
    # 29 classes from 10: in floats 2.9 times 10 is 29, and a bit less is still.
    assert make_forecast(backtest=SimpleNamespace(supported=2.9 * (1 - 1e-15))).supported == 29
    assert make_forecast(backtest=SimpleNamespace(supported=2.9 * (1 - 1e-9))).supported == 28


def test_capacities_inside_and_beyond_the_pilot():
    # Three of four are right among ten; the fourth, beaten by one of nine, among k in 1 - (k-1)/9.
    answer = make_forecast()
    for target in (0.75, 0.75 + ROUND_OFF / 2):
        assert answer.capacity(target) == math.inf
    for k in range(1, 10):
        value = 0.75 + 0.25 * (1 - (k - 1) / 9)
        assert answer.value(k) == pytest.approx(value)
        assert answer.capacity(value - 1e-6) == k
        assert answer.capacity(min(value + 1e-6, 1.0)) == max(k - 1, 1)
    # 0.6 + 0.4 * 0.99^(k - 1) is 3/4 where the power is 3/8.
    falls = make_forecast(Favorability([0.0, 0.01], [0.6, 0.4]))
    assert falls.capacity(0.75) == 1 + math.floor(math.log(0.375) / math.log(0.99))


def test_capacities_in_words():
    assert make_forecast().sentences()[-1].startswith("It stays at or above 90% up to ")
    assert "80%" in make_forecast().sentences()[-1]
    bad = make_forecast(Favorability([1.0], [1.0]), losses=[9, 9, 9, 9])
    assert bad.sentences()[-1] == "Even two classes are too many for 50%."


def make_uncertainty(**changed):
    fields = {
        "n_classes": 10, "n_probes": 4, "inside": np.array([2, 10]),
        "observed_error": np.full(2, 0.5), "grid": np.array([10, 500]),
        "moves": normal_moves([0.5, 0.7]), "sampled": np.array([1.0, 0.5]),
        "class_variance": 0.01, "probe_variance": 0.01, "probes_per_class": 1.0,
        "observed": 0.75, "freedom": 20.0,
    }  # fmt: skip
    return Uncertainty(**fields | changed)


def test_limits_of_capacities_are_the_last_sizes_above_the_target():
    answer = make_forecast(Favorability([0.0, 0.02, 0.2], [0.3, 0.45, 0.25]), make_uncertainty())
    for target in (0.3, 0.5, 0.7):
        low, high = answer.capacity_interval(target)
        for side, end in enumerate((low, high)):
            if math.isfinite(end):
                assert answer.interval(int(end))[side] >= target - ROUND_OFF
                assert answer.interval(int(end) + 1)[side] < target - ROUND_OFF
            else:
                assert answer.interval(10**15)[side] >= target
    assert make_forecast().capacity_interval(0.5) is None


def test_rows_split_at_the_pilots_own_size():
    answer = make_forecast(uncertainty=make_uncertainty())
    rows = answer.table([1, 9, 10, 11, 100])
    assert rows.region.tolist() == ["observed"] * 3 + ["forecast"] * 2
    assert answer.answer.classes.tolist() == [10, 100]
    other = make_forecast(others={"flat": Favorability([0.5], [1.0])}).other_table("flat", [10, 11])
    assert other.region.tolist() == ["observed", "forecast"]
    assert other.value == pytest.approx([0.75, 0.5**10])
    assert other.lower is None


def test_asymptotic_limits_need_the_pilot_and_the_expected_value():
    answer = make_forecast(uncertainty=make_uncertainty())
    for kind in ("expected", "new_set"):
        with pytest.raises(UnsupportedError, match="of a forecast that was made here"):
            answer.interval(10, kind, "asymptotic")
    rng = np.random.default_rng(0)
    pilot = Pilot.from_scores(rng.normal(size=(20, 20)) + 2 * np.eye(20), np.arange(20))
    here = forecast(pilot, classes=20, method="no-change", intervals=False)
    lower, upper = here.interval(10, by="asymptotic")
    assert 0 <= lower < here.value(10) < upper <= 1
    with pytest.raises(UnsupportedError, match="of a forecast that was made here"):
        here.interval(10, "new_set", "asymptotic")


@pytest.mark.parametrize("noun, probe_noun", [("face", None), (None, "photo"), ("face", "photo")])
def test_either_noun_may_be_given_alone(noun, probe_noun):
    pilot = Pilot.from_losses([0, 0, 0, 1], 10)
    answer = forecast(
        pilot, classes=10, method="no-change", intervals=False, noun=noun, probe_noun=probe_noun
    )
    text = repr(answer)
    assert ("10 faces" in text) == (noun is not None)
    assert ("4 photos" in text) == (probe_noun is not None)


def test_other_methods_are_those_but_the_one_itself():
    pilot = Pilot.from_losses(np.arange(40) % 7 // 3, 40)
    for method in ("probit-normal", "no-change"):
        answer = forecast(pilot, classes=40, method=method, intervals=False, other_methods=True)
        expected = [name for name in OTHERS if name != method]
        assert list(answer.others) == expected
        assert set(answer.about) == {method, *answer.others}


def test_errors_of_another_pilot_are_refused():
    answer = make_forecast(uncertainty=make_uncertainty())
    held = json.loads(answer.to_json())
    Forecast.from_json(json.dumps(held))
    for n_classes in (9, 11):
        held["state"]["uncertainty"]["n_classes"] = n_classes
        with pytest.raises(DataError, match=f"is of {n_classes} classes, not of 10"):
            Forecast.from_json(json.dumps(held))
