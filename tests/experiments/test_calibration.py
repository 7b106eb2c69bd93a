"""What intervals learn about errors: recovered from errors that follow a known model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from bench_tools import Choosy
from errors_of_refits import LITTLE, TRUE
from experiments.coverage import calibration, calibration_fit, records
from experiments.problems.families import HELD_OUT, TRAINING
from experiments.runner import JOURNAL, Settings
from headcount import DataError, ParameterError, simulate
from headcount.estimators import METHODS, NoChange, ProbitNormal
from headcount.uncertainty.refitted import ErrorModel

TINY = {"n_classes": 12, "ratios": (1, 2, 5), "n_truth": 128, "resamples": 3}
WORDS = {"method": NoChange.alias, "problems": 12, "held_out": 3}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    pytest.importorskip("torch")
    settings = Settings(tmp_path_factory.mktemp("calibration"))
    return calibration.calibration(settings, **WORDS, **TINY), settings


# -- the fit ---------------------------------------------------------------------------------------


def test_loss_agrees_with_a_computation_by_hand():
    """One problem at k = K and k = eK, from the formula."""
    errors = calibration_fit.Errors(
        estimate=np.full((1, 2), LITTLE),
        error=np.array([[0.3, -0.5]]),
        plain=np.array([[0.3, -0.5]]),
        bias=np.array([[0.0, 0.2]]),
        observed=np.array([[0.1, 0.1]]),
        growth=np.array([[0.0, 0.5]]),
        truth=np.array([[0.05, 0.02]]),
        reach=np.array([[0.0, 1.0]]),
    )
    first = 0.1**2 + 0.05**2
    second = 0.1**2 * np.exp(1.4 * 0.5) + 0.15**2 + (0.6 * 0.2) ** 2 + 0.02**2
    z2 = np.array([0.3**2 / first, (-0.5 - 0.4 * 0.2) ** 2 / second])
    expected = np.mean(np.log([first, second]) / 2 + 3.5 * np.log1p(z2 / 6))
    assert calibration_fit.loss(errors, TRUE) == pytest.approx(expected, rel=1e-12)


def test_errors_are_those_of_the_complementary_log_log():
    """One estimate of 80%, the truth 90%, by hand; the back-test was too low by 0.2."""
    right = np.array([[np.log(4.0)]])
    errors = calibration_fit.Errors(
        estimate=right,
        error=right - np.log(9.0),
        plain=right - np.log(9.0),
        bias=np.array([[-0.2]]),
        observed=np.array([[0.1]]),
        growth=np.array([[0.5]]),
        truth=np.array([[0.02]]),
        reach=np.array([[1.0]]),
    )
    middle = expit(np.log(4.0) + 0.4 * 0.2)
    variance = 0.1**2 * np.exp(1.4 * 0.5) + 0.15**2 + (0.6 * 0.2) ** 2 + 0.02**2
    spread = np.sqrt(variance) * middle / -np.log(1 - middle)
    z = (np.log(-np.log(1 - middle)) - np.log(-np.log(0.1))) / spread
    expected = np.log(spread) + 3.5 * np.log1p(z**2 / 6)
    assert calibration_fit.loss(errors, TRUE) == pytest.approx(expected, rel=1e-12)
    assert calibration_fit.by_ratio(errors, TRUE, [3])["3"] == pytest.approx(abs(z), abs=5e-4)


def test_the_variance_fitted_is_that_of_the_intervals():
    """The same standard deviations as `RefitErrors.spread`, with and without halves."""
    pilot = simulate.points_around_classes(12, sigma2=0.3, random_state=3).pilot
    ks = [12, 24, 60]
    record = records.examined(pilot, NoChange(), ks, 0)
    record |= {"truth": [0.7, 0.5, 0.2], "truth_error": [0.0, 0.0, 0.0]}
    for growth in ([0.0, 0.3, 0.7], None):
        record["refits"] |= {"growth": growth, "bias": [0.0, 0.1, 0.4]}
        errors = calibration_fit.gather([record])
        expected = records.refits_of(record).spread(TRUE)
        # By the likelihood's own formula: a unit error at each k gives away the variance.
        for place in range(3):
            one = calibration_fit.Errors(*(getattr(errors, name)[:, place : place + 1]
                                       for name in errors.__dataclass_fields__))  # fmt: skip
            centred = replace(one, estimate=np.full((1, 1), LITTLE), error=TRUE.share * one.bias)
            assert calibration_fit.loss(centred, TRUE) == pytest.approx(np.log(expected[place]))


def test_errors_are_read_from_records():
    """Log odds, no further out than half a probe; open intervals miss nothing to their side."""
    pilot = simulate.points_around_classes(12, sigma2=0.3, random_state=3).pilot
    record = records.examined(pilot, NoChange(), [12, 24, 60], 0)
    said = record["value"][0]
    record |= {"truth": [0.7, 0.5, 1e-5], "truth_error": [0.01, 0.02, 0.001]}
    found = calibration_fit.gather([record])
    odds = [np.log(p / (1 - p)) for p in (said, 0.7, 0.5)]
    assert found.error[0, :2] == pytest.approx([odds[0] - odds[1], odds[0] - odds[2]])
    half = 0.5 / 120
    assert found.error[0, 2] == pytest.approx(odds[0] - np.log(half / (1 - half)))
    assert found.plain[0, 2] == pytest.approx(odds[0] - np.log(1e-5 / (1 - 1e-5)))
    assert found.truth[0, :2] == pytest.approx([0.01 / 0.21, 0.02 / 0.25])
    assert found.reach[0] == pytest.approx(np.log([1, 2, 5]))
    record["value"] = [0.001, 0.001, 1.0]
    record["truth"] = [0.0001, 0.5, 0.9999]
    low = calibration_fit.gather([record]).plain[0]
    assert low[0] == 0 and low[1] < 0 and low[2] == 0


def test_code_to_paste_gives_the_model_back():
    apart = dict.fromkeys((*calibration_fit.BOUNDS, "blind_growth", "quantile_90"), 0.01)
    text = calibration_fit.as_code(replace(TRUE, levels=(0.0, 0.9), quantiles=(0.0, 1.6449)), apart)
    held = {"ErrorModel": ErrorModel}
    exec(text, held)
    assert held["MODEL"] == replace(TRUE, levels=(0.0, 0.9), quantiles=(0.0, 1.645))
    assert text.count("+- 0.01") == 7


# -- the whole -------------------------------------------------------------------------------------


def test_learned_on_training_families_and_tested_on_the_others(small):
    results, settings = small
    held = {row["setting"] for row in results.rows if row["family"] == "held out"}
    learned = {row["setting"] for row in results.rows if row["family"] == "training"}
    assert held == {"all", *HELD_OUT}
    assert learned <= {"all", *TRAINING}
    lines = (settings.output / JOURNAL).read_text().splitlines()[1:]
    seeds = [int(json.loads(line)["key"].split("/")[2]) for line in lines]
    assert sorted(seeds) == [*range(10_000_000, 10_000_012), *range(10_500_000, 10_500_003)]
    model = ErrorModel(**results.details["model"])
    records = [json.loads(line)["record"] for line in lines]
    usable = [
        r for r in records if r["family"] in TRAINING and 0 < r["uncertainty"]["observed"] < 1
    ]
    errors = calibration_fit.gather(usable)
    # The best of all models is no worse than the present one or its neighbours.
    least = calibration_fit.loss(errors, model)
    assert least <= results.details["loss_of_present_model"] + 1e-5
    for name in ("scale", "power", "share"):
        for factor in (0.8, 1.25):
            value = factor * getattr(model, name)
            if calibration_fit.BOUNDS[name][0] <= value <= calibration_fit.BOUNDS[name][1]:
                other = replace(model, **{name: value})
                assert calibration_fit.loss(errors, other) >= least - 1e-6
    assert results.details["left_out"] == 12 - len(usable)
    # Misses by accuracy are those of the rows, told apart another way.
    sides = results.details["misses_by_accuracy"]
    far = [row for row in results.rows if row["setting"] == "all" and row["ratio"] > 1]
    assert sum(side["pilots"] for side in sides) == 2 * 15
    for name in ("below", "above"):
        told = sum(side["pilots"] * side[name] for side in sides if side["pilots"])
        assert told == pytest.approx(sum(row["pilots"] * row[name] for row in far), abs=1e-4)
    # Nothing changes in the eyes of this method, so that it is always too high: share is as large
    # as may be, and that is told.
    assert model.share == calibration_fit.BOUNDS["share"][1]
    assert "share" in results.details["at_limit"]


def test_runs_are_taken_up_again(small):
    results, settings = small
    again = calibration.calibration(settings, **WORDS, **TINY)
    assert again.run["tasks_resumed"] == 15
    assert again.details == results.details and again.rows == results.rows
    more = calibration.calibration(settings, **WORDS | {"problems": 13}, **TINY)
    assert more.run["tasks_resumed"] == 15 and more.run["tasks"] == 16
    other = WORDS | {"method": ProbitNormal.alias, "problems": 10, "held_out": 0}
    assert records.mark(ProbitNormal()) != records.mark(NoChange())
    with pytest.raises(ParameterError, match="auto gives plausible laws of its own"):
        calibration.calibration(settings, **WORDS | {"method": "auto"}, **TINY)
    with pytest.raises(ParameterError, match="--problems"):
        calibration.calibration(settings, **other | {"problems": 9}, **TINY)


def test_too_few_usable_problems_are_told(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(METHODS, "choosy", Choosy)  # every pilot has the class it refuses
    with pytest.raises(DataError, match=r"only 0 problems .* class 0 is not to my taste"):
        calibration.calibration(Settings(tmp_path), **WORDS | {"method": "choosy"}, **TINY)
