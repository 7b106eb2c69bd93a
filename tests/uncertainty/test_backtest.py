import json
import math

import joblib
import numpy as np
import pytest

from headcount import DataError, ParameterError, Pilot, UnsupportedError, observe, simulate
from headcount.curves.favorability import Favorability
from headcount.errors import HeadcountError, listening
from headcount.estimators import Extrapolator, Kde, ProbitNormal
from headcount.estimators.auto.auto import Auto
from headcount.uncertainty.backtest import Backtest, BacktestStep, backtest, plan_sizes, points
from headcount.uncertainty.intervals import assess


class Stubborn(Extrapolator):
    """Says 0.6 of large pilots, refuses one in four of 20 classes and most with fewer."""

    alias = "stubborn"

    def _estimate(self, pilot):
        left = int(pilot.losses.sum()) % 4
        if (pilot.n_classes == 20 and left == 0) or (pilot.n_classes < 20 and left > 0):
            raise HeadcountError("it does not like this pilot.")
        return Favorability([0.0, 1.0], [0.6, 0.4])


@pytest.fixture(scope="module")
def pilot():
    return simulate.isotropic_gaussian(100, sigma=0.5, random_state=1).pilot


@pytest.fixture(scope="module")
def result(pilot):
    return backtest(pilot, method="probit-normal", repeats=4, classes=20_000)


def make_backtest(errors, sizes=(50, 20, 10), **changed):
    """Return a back-test of 100 classes whose steps are off by given amounts."""
    steps = tuple(
        BacktestStep(size, 100 / size, (0.5 + error, 0.5 - error), 0.5)
        for size, error in zip(sizes, errors, strict=True)
    )
    grid = np.array([2, 100, 5000])
    halves = np.array([[0.9, 0.5, 0.1], [0.9, 0.4, 0.2]])
    return Backtest(100, "kde", 0.5, steps, grid, halves, **changed)


# -- what it does ----------------------------------------------------------------------------------


def test_error_squared_is_bias_squared_plus_spread_squared():
    step = BacktestStep(50, 2.0, (0.5, 0.7, 0.9), 0.6)
    assert step.error == pytest.approx(math.sqrt((0.01 + 0.01 + 0.09) / 3))
    assert step.bias == pytest.approx(0.1)
    assert step.spread == pytest.approx(math.sqrt((0.04 + 0.04) / 3))
    assert step.error**2 == pytest.approx(step.bias**2 + step.spread**2)
    assert step.coverage is None


def test_forecasts_of_halves_by_hand(pilot):
    found = backtest(pilot, method="probit-normal", repeats=3, random_state=7)
    names = pilot.canonical_classes()
    measured = float(observe(pilot).accuracy(100))
    assert found.observed == measured
    for repeat, forecast in enumerate(found.steps[0].forecasts):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(50, repeat)))
        half = names[rng.choice(100, 50, replace=False)]
        fit = ProbitNormal().fit(pilot.subset(half))
        assert forecast == pytest.approx(float(fit.predict(100)), abs=1e-9)
        np.testing.assert_allclose(found.halves[repeat], fit.predict(found.grid), atol=1e-9)


def test_steps_grid_and_halves_fit_together(result):
    assert [step.n_classes for step in result.steps] == [50, 20, 10]
    assert [step.ratio for step in result.steps] == [2, 5, 10]
    assert {100, 20_000} <= set(result.grid.tolist())
    assert result.grid[-1] == 20_000
    here = int(np.flatnonzero(result.grid == 100)[0])
    assert result.halves.shape == (4, len(result.grid))
    assert tuple(result.halves[:, here]) == result.steps[0].forecasts
    assert (np.diff(result.halves, axis=1) <= 1e-12).all()
    assert (result.method, result.tolerance, result.shared_rivals) == ("probit-normal", 0.05, True)
    assert result.notes == ()
    for array in (result.grid, result.halves):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    "errors, tolerance, reach",
    [
        ((0.01, 0.02, 0.03), 0.05, 10.0),
        ((0.01, 0.05, 0.06), 0.05, 5.0),
        # Errors lie on straight lines over log k, and where one is too large nothing follows.
        ((0.01, 0.06, 0.01), 0.05, 2 * 2.5**0.8),
        ((0.06, 0.01, 0.01), 0.05, 2 ** (5 / 6)),
        ((0.06, 0.01, 0.01), 0.1, 10.0),
    ],
)
def test_supported_is_the_ratio_up_to_which_errors_are_within_it(errors, tolerance, reach):
    result = make_backtest(errors, tolerance=tolerance)
    assert result.supported == result.within(tolerance) == pytest.approx(reach, rel=0.025)


@pytest.mark.parametrize(
    "n_classes, expected",
    [
        (2, []),
        (9, []),
        (10, [5]),
        (19, [9]),
        (20, [10]),
        (49, [24]),
        (50, [25, 10]),
        (500, [250, 100, 50, 25, 10]),
        (11_172, [5586, 2234, 1117, 558, 223, 111, 55, 22, 11]),
    ],
)
def test_sizes_go_down_to_ten_classes(n_classes, expected):
    assert [size for size, _ in plan_sizes(n_classes)] == expected


def test_usual_repeats_are_twenty_halves_and_ten_of_the_rest():
    assert plan_sizes(100) == [(50, 20), (20, 10), (10, 10)]
    assert plan_sizes(100, repeats=3) == [(50, 3), (20, 3), (10, 3)]
    # A million documents and a thousand queries: ten queries must be left.
    assert [size for size, _ in plan_sizes(10**6, 1000)][-1] == 10_000


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_too_few_classes_give_a_note_and_no_error(n_classes):
    found = backtest(Pilot.from_scores(np.eye(n_classes), np.arange(n_classes)))
    assert found.steps == ()
    assert found.halves.shape == (0, len(found.grid))
    assert len(found.grid) >= 60
    assert found.supported == 1.0
    assert found.sentences() == [
        f"No back-test: the pilot has {n_classes} classes with probes, and at least 10 are needed "
        "to hide half of them."
    ]
    assert Backtest.from_dict(found.to_dict()).grid.tolist() == found.grid.tolist()


@pytest.mark.parametrize("right", [True, False])
def test_pilots_without_an_error_or_without_a_success(right):
    scores = np.eye(12) if right else np.roll(np.eye(12), 1, axis=1) + 0.5 * np.eye(12)
    with listening() as heard:
        found = backtest(Pilot.from_scores(scores, np.arange(12)), repeats=5)
    assert heard == []
    assert found.observed == float(right)
    assert found.steps[0].bias * (1 if right else -1) <= 0
    assert 0 <= found.steps[0].error <= 1


def test_counts_alone_are_thinned_and_say_so():
    rng = np.random.default_rng(0)
    counts = rng.binomial(199, rng.beta(0.2, 20, 600))
    found = backtest(Pilot.from_losses(counts, 200, labels=np.arange(600) % 200), repeats=3)
    assert not found.shared_rivals
    assert [step.n_classes for step in found.steps] == [100, 40, 20, 10]


def test_a_run_that_was_cut_is_tested_as_far_as_its_depth_allows():
    rng = np.random.default_rng(0)
    losses = rng.binomial(1999, rng.beta(0.2, 20, 2000))
    held = Pilot.from_losses(np.minimum(losses, 60), 2000, censored=losses >= 60)
    found = backtest(held, repeats=3)
    assert [step.n_classes for step in found.steps] == [1000, 400]
    assert found.observed == pytest.approx(np.mean(losses == 0), abs=1e-12)
    assert found.notes[0].startswith("Not tried from 200 classes: ")
    assert found.sentences()[:-1] == list(found.notes)
    with pytest.raises(UnsupportedError, match="censored"):
        backtest(held, method="regression", repeats=3)


def test_workers_and_the_order_of_data_do_not_matter(pilot, result):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = backtest(pilot, method="probit-normal", repeats=4, classes=20_000)
    assert found.to_dict() == result.to_dict()
    other = backtest(pilot, method="probit-normal", repeats=4, random_state=1)
    assert other.steps != result.steps


def test_a_matrix_with_labels_is_a_pilot_too():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(20, 20)) + 3 * np.eye(20), np.arange(20)
    given = backtest(scores, labels, repeats=2)
    assert given.to_dict() == backtest(Pilot.from_scores(scores, labels), repeats=2).to_dict()


# -- what goes wrong -------------------------------------------------------------------------------


def test_a_size_that_mostly_fails_is_left_out_with_its_reason(pilot):
    found = backtest(pilot, method=Stubborn(), repeats=20)
    assert [step.n_classes for step in found.steps] == [50, 20]
    some, most = found.notes
    assert 0 < len(found.steps[1].forecasts) < 20
    assert some == (
        f"From 20 classes {20 - len(found.steps[1].forecasts)} of 20 fits failed: "
        "it does not like this pilot."
    )
    assert "of 20 fits failed, so that size is left out: it does not like" in most
    assert most.startswith("From 10 classes")


def test_what_cannot_be_done_is_refused_in_the_words_of_the_method(pilot):
    with pytest.raises(UnsupportedError, match="method kde needs scores"):
        backtest(Pilot.from_losses([0, 1] * 20, 40), method=Kde())
    with pytest.raises(ParameterError, match="prior_classes"):
        backtest(pilot, method=ProbitNormal(prior_classes=0))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tolerance": 0}, "tolerance must lie between 0 and 1"),
        ({"tolerance": "much"}, "tolerance must lie between 0 and 1"),
        ({"repeats": 0}, "repeats"),
        ({"method": "magic"}, "unknown method"),
        ({"classes": []}, "classes names no number"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_options_are_refused(pilot, options, message):
    with pytest.raises(ParameterError, match=message):
        backtest(pilot, **options)


# -- ways out --------------------------------------------------------------------------------------


def test_json_brings_everything_back(result):
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = Backtest.from_dict(json.loads(text))
    assert back.to_dict() == result.to_dict()
    assert back.steps == result.steps
    np.testing.assert_array_equal(back.halves, result.halves)
    assert back.grid.dtype == np.int64


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 1},
        {"schema": True},
        {"n_classes": 0},
        {"observed": 1.5},
        {"observed": float("nan")},
        {"halves": [[0.5]]},
        {"halves": [["x", "y", "z"]]},
        {"grid": [5, 2, 100]},
        {"tolerance": -1},
        {"steps": [{"classes": 50, "forecasts": [], "coverage": None}]},
        {"steps": [{"classes": 50, "forecasts": [2.0], "coverage": None}]},
        {"steps": [{"classes": 50}]},
        {"steps": 3},
    ],
)
def test_what_was_not_written_by_to_dict_is_refused(change):
    held = make_backtest((0.01, 0.02, 0.03)).to_dict()
    Backtest.from_dict(held)
    with pytest.raises(DataError):
        Backtest.from_dict(held | change)
    with pytest.raises(DataError, match="not a back-test"):
        Backtest.from_dict({"schema": 2})


def test_frame_and_csv_have_a_row_a_step(result):
    frame = result.to_frame()
    assert frame["classes"].tolist() == [50, 20, 10]
    assert frame["error"].tolist() == [step.error for step in result.steps]
    head, *rows = result.to_csv().splitlines()
    assert head == "classes,ratio,repeats,forecast,observed,error,bias,spread,coverage"
    assert len(rows) == 3
    assert rows[0].startswith("50,2.0,4,")
    assert make_backtest((), ()).to_csv() == head + "\n"


def test_it_says_what_it_supports():
    found = make_backtest((0.01, 0.031, 0.2))
    assert found.sentences() == [
        "From 20 of your 100 classes it was 3.1 points off on average: forecasts up to 5.4 times "
        "the pilot are supported (540 classes)."
    ]
    assert make_backtest((0.08, 0.031, 0.2)).sentences() == [
        "Already from 50 of your 100 classes it was 8 points off on average, more than the 5 "
        "points allowed: forecasts up to 1.5 times the pilot are supported (150 classes)."
    ]
    assert repr(found).startswith("Backtest of kde on 100 classes\n  From 50 classes: 50% forecast")
    assert found._repr_html_().count("<tr>") == 1 + 3


@pytest.mark.parametrize(
    "error, words",
    [(0.05, "5 points"), (0.0123, "1.2 points"), (0.01, "1 point"), (0.247, "25 points")],
)
def test_points(error, words):
    assert points(error) == words


def test_the_name_stays_the_function_once_its_module_is_loaded(pilot):
    import headcount

    headcount.forecast(pilot, classes=100, method="no-change")
    assert headcount.backtest is backtest


def test_coverage_by_hand(pilot):
    from headcount.uncertainty.asymptotics import metric_error
    from headcount.uncertainty.refitted import MODEL

    found = backtest(pilot, method="probit-normal", repeats=6)
    a = found.observed
    own = float(metric_error(pilot, 100)) / (a * (1 - a))
    for step in found.steps:
        x = math.log(step.ratio)
        grown = own**2 * step.ratio * math.exp(MODEL.growth * MODEL.blind_growth * x)
        reach = float(MODEL.multiplier(0.9)) * math.sqrt(
            grown + (MODEL.scale * x**MODEL.power) ** 2
        )
        wrong = [-math.log1p(-f) for f in step.forecasts]
        inside = [
            abs(math.log(w) - math.log(-math.log1p(-a))) <= reach * f / w
            for f, w in zip(step.forecasts, wrong, strict=True)
        ]
        assert step.coverage == pytest.approx(np.mean(inside))


def subsets(pilot, size, repeats):
    """Return the random subsets that a back-test draws with seed 0."""
    names = pilot.canonical_classes()
    for repeat in range(repeats):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(size, repeat)))
        yield pilot.subset(names[rng.choice(pilot.n_classes, size, replace=False)])


@pytest.mark.filterwarnings("ignore::headcount.AssumptionWarning")
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_coverage_of_the_default_is_that_of_its_own_intervals(pilot, confidence):
    # The default states its error, so that only the bias of a back-test is missing there.
    found = backtest(pilot, repeats=8, confidence=confidence)
    for step in found.steps:
        inside = []
        for small in subsets(pilot, step.n_classes, 8):
            fit = Auto().fit(small)
            grid = np.array([step.n_classes, 100])
            empty = Backtest(step.n_classes, "auto", 0.5, (), grid, np.empty((0, 2)))
            known = assess(small, empty, fit)
            lower, upper = known.band(fit.predict(100), 100, confidence)
            inside.append(lower <= found.observed <= upper)
        assert step.coverage == pytest.approx(np.mean(inside))


def test_the_level_is_that_of_the_forecast(pilot):
    import headcount

    wide, narrow = (
        headcount.forecast(pilot, classes=100, method="probit-normal", confidence=level).backtest
        for level in (0.99, 0.3)
    )
    assert (wide.confidence, narrow.confidence) == (0.99, 0.3)
    assert wide.steps[0].coverage > narrow.steps[0].coverage
    again = Backtest.from_dict(json.loads(json.dumps(narrow.to_dict())))
    assert again.confidence == 0.3


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 90])
def test_an_impossible_level_is_refused(pilot, confidence):
    with pytest.raises(ParameterError, match=r"confidence must lie between 0\.01 and 0\.9999"):
        backtest(pilot, method="no-change", confidence=confidence)


def test_tables_have_two_digits_of_the_error():
    from headcount.uncertainty.backtest import cells

    steps = [BacktestStep(50, 2.0, (0.9975 + e, 0.9975 + e), 0.9975) for e in (0.00164, -0.00002)]
    assert [cells(step)[3:5] for step in steps] == [["0.16", "+0.16"], ["0.002", "-0.002"]]
    even = BacktestStep(50, 2.0, (0.5 + 0.0181, 0.5 - 0.018), 0.5)
    assert cells(even)[3:5] == ["1.8", "0"]
