import json
import math

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend

from headcount import (
    DataError,
    ExtrapolationWarning,
    Forecast,
    ParameterError,
    Pilot,
    forecast,
    observe,
)
from headcount.curves.favorability import ROUND_OFF
from headcount.errors import AssumptionWarning
from headcount.support.words import times
from headcount.uncertainty.intervals import KINDS
from interval_pilots import bare, counts, gaussian, make_uncertainty, normal_moves, width

KS = [1, 2, 7, 60, 61, 120, 300, 5000]


@pytest.fixture(scope="module")
def result():
    return forecast(gaussian(), classes=[60, 120], method="probit-normal")


# -- what every interval keeps to ------------------------------------------------------------------


def test_within_the_supported_ratio_there_is_no_warning(result):
    assert result.backtest.supported >= 2
    assert result.warnings == ()
    assert result.checks == ()


def test_past_the_supported_ratio_the_check_is_the_warning():
    with pytest.warns(ExtrapolationWarning) as caught:
        made = forecast(gaussian(), classes=[120, 100_000], method="exponential")
    found = [check for check in made.checks if check.code == "HC011"]
    assert [str(warning.message) for warning in caught] == [found[0].message]
    assert made.warnings == (found[0].message,)
    assert "100,000 classes are further than the back-test reaches" in found[0].message
    assert f"{times(made.backtest.supported)} times the pilot" in found[0].message
    assert caught[0].filename == __file__  # it points at the caller's line, not into headcount


def test_without_classes_to_hide_nothing_past_the_pilot_is_supported():
    losses = np.random.default_rng(0).integers(0, 3, 200)
    censored = losses == 2  # lists of two places: none is left among half of the classes
    pilot = Pilot.from_losses(losses, 100, censored=censored)
    with pytest.warns(ExtrapolationWarning, match="no classes could be hidden"):
        made = forecast(pilot, classes=200)
    assert made.backtest.steps == () and made.supported == 100
    assert "HC011" in [check.code for check in made.checks]


def test_errors_do_not_get_less_past_the_grid():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, 3, 200) * (rng.random(200) < 0.3)
    made = forecast(Pilot.from_losses(losses, 100), classes=100)
    end = int(made.uncertainty.grid[-1])
    assert (np.diff(made.uncertainty.spread([end, 10 * end, 10**6 * end])) >= 0).all()


def test_kinds_are_ordered(result):
    for k in (60, 120, 600, 3000):
        expected = width(result, k, "expected")
        new = [width(result, k, "new_set", probes_per_class=r) for r in (None, 50, 5, 1)]
        grown = [width(result, k, "grown_set", probes_per_class=r) for r in (None, 50, 5, 1)]
        assert expected < new[0] < new[1] < new[2] < new[3]
        assert grown[0] < grown[1] < grown[2] < grown[3]
        assert all(own < other for own, other in zip(grown, new, strict=True))
    assert width(result, 60, "grown_set") < width(result, 60, "expected")
    # Among very many classes, those of the pilot no longer matter, and a set is like any other.
    sizes = [width(result, 3_000_000, kind) for kind in KINDS]
    np.testing.assert_allclose(sizes, sizes[0], rtol=2e-3)


def check_limits(made, ks):
    """Limits hold the estimate, keep to shares, are sure of one class, and give the capacity."""
    for kind in KINDS:
        for r in (None, 2):
            asked = np.array([k for k in ks if kind != "grown_set" or k >= made.n_classes])
            lower, upper = made.interval(asked, kind, probes_per_class=r)
            middle = made.value(asked, kind)
            assert lower.shape == upper.shape == asked.shape
            assert (lower >= 0).all() and (upper <= 1).all()
            slack = 1e-12 * (asked == 1)  # observed accuracy among one is one but for round-off
            assert (lower <= middle + slack).all() and (middle <= upper).all()
            beyond = (asked > 1) & (middle > 1e-3) & (middle < 1 - 1e-3)
            assert (lower < upper)[beyond].all()
            if kind != "grown_set":
                assert (lower[asked == 1], upper[asked == 1]) == (1, 1)
    for target in (1.0, 0.97, 0.8, 0.5, 0.1, 0.001):
        low, high = made.capacity_interval(target)
        assert 1 <= low <= made.capacity(target) <= high
        if math.isinf(low):  # then the lower limit never falls below the target
            assert made.interval(1e300)[0] >= target - 1e-12


def test_limits_hold_the_estimate(result):
    check_limits(result, KS)
    assert [type(limit) for limit in result.interval(120)] == [float, float]
    for kind in KINDS:
        assert [limit.shape for limit in result.interval([120], kind)] == [(1,), (1,)]
        assert [type(limit) for limit in result.interval(120, kind)] == [float, float]


@pytest.mark.filterwarnings("ignore::headcount.AssumptionWarning")  # all right
@pytest.mark.parametrize("n_classes", range(2, 10))
def test_too_few_classes_for_a_back_test_still_give_limits(n_classes):
    pilot = gaussian(n_classes, seed=4, sigma=0.9)
    with pytest.warns(ExtrapolationWarning, match="no classes could be hidden"):
        made = forecast(pilot, classes=3 * n_classes, method="probit-normal")
    assert made.backtest.steps == () and "No back-test" in made.backtest.notes[0]
    check_limits(made, [1, 2, n_classes, n_classes + 1, 3 * n_classes, 500])
    # What is not known from refits stands in: limits get wider all the same.
    errors = made.uncertainty.spread([n_classes, n_classes + 1, 3 * n_classes, 500])
    assert (np.diff(errors) > 0).all()


LOSSES_ONLY = {
    "no labels": lambda: counts(),
    "one probe a class": lambda: counts(200, labels=np.arange(200)),
    "two probes a class": lambda: counts(labels=np.arange(400) % 200),
    "some classes without probes": lambda: counts(labels=np.arange(400) % 100),
    "ties": lambda: counts(ties=np.ones(400, dtype=int) * (np.arange(400) % 3 == 0)),
    "ties lost": lambda: counts(ties=np.ones(400, dtype=int), tie_rule="lose"),
    "a million rivals": lambda: counts(1000, 1_000_000),
    "two classes": lambda: Pilot.from_losses([0, 1, 0], 2),
    "one probe": lambda: Pilot.from_losses([0, 0], 40),
}


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
@pytest.mark.filterwarnings("ignore::headcount.AssumptionWarning")
@pytest.mark.parametrize("name", LOSSES_ONLY)
def test_counts_alone_give_limits(name):
    made = forecast(pilot := LOSSES_ONLY[name](), classes=2 * pilot.n_classes, method="exponential")
    assert not made.uncertainty.shared_rivals
    n_classes = pilot.n_classes
    check_limits(made, [1, 2, n_classes, n_classes + 1, 2 * n_classes, 20 * n_classes])


@pytest.mark.parametrize("n_probes", [5, 30])
@pytest.mark.parametrize("scored", [True, False])
def test_all_right_is_no_proof(n_probes, scored):
    if scored:
        rng = np.random.default_rng(0)
        scores = 9 * np.eye(n_probes) + rng.normal(size=(n_probes, n_probes))
        pilot = Pilot.from_scores(scores, np.arange(n_probes))
    else:
        pilot = Pilot.from_losses([0] * n_probes, 30)
    with pytest.warns() as caught:
        made = forecast(pilot, classes=100, method="probit-normal")
    assert {warning.category for warning in caught} <= {AssumptionWarning, ExtrapolationWarning}
    check_limits(made, [1, 2, pilot.n_classes, 100, 1000])
    lower, upper = (float(limit) for limit in made.interval(pilot.n_classes))
    # Accuracy p gives n right in a row with chance p^n: at 90%, p down to 0.05^(1/n) is possible.
    assert 0 < lower <= 0.05 ** (1 / n_probes) and upper == 1
    assert made.interval(pilot.n_classes, "grown_set")[0] <= lower + 1e-12
    assert made.interval(100)[0] > 1e-3 and made.interval(100)[1] < 1


def test_all_wrong_is_no_proof():
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        made = forecast(Pilot.from_losses([29] * 30, 30), classes=60, method="probit-normal")
    lower, upper = made.interval([2, 30, 60])
    assert (lower == 0).all() and (upper[:2] >= 1 - 0.05 ** (1 / 30)).all()
    assert upper[2] < 0.5
    check_limits(made, [1, 2, 30, 60])


def test_limits_hold_what_censored_losses_leave_open():
    counted = counts()
    cut = Pilot.from_losses(np.minimum(counted.losses, 10), 200, censored=counted.losses >= 10)
    made = forecast(cut, classes=200, method="probit-normal")
    ks = np.array([1, 2, 5, 20, 100, 200])
    lower, upper = made.interval(ks)
    least, most = made.observed.bounds(ks)
    assert (most[1:4] - least[1:4] > 0.03).all()
    assert (lower <= least).all() and (upper >= most).all()
    truth = observe(counted).accuracy(ks)
    assert (lower <= truth).all() and (truth <= upper).all()
    check_limits(made, [*ks, 400])


def test_probes_of_one_class_each_cannot_be_told_from_classes():
    # The accuracy of the very same classes, tested with more probes, is not known exactly.
    made = forecast(counts(200, labels=np.arange(200)), classes=200, method="exponential")
    assert not made.uncertainty.told_apart
    for k in (200, 400, 2000):
        for r in (None, 10, 1):
            grown = width(made, k, "grown_set", probes_per_class=r)
            # Past K most of a grown set may rest on what was measured, and not on the forecast.
            assert k > 200 or width(made, k, "expected") - 1e-12 <= grown
            new = width(made, k, "new_set", probes_per_class=r)
            assert grown == pytest.approx(new) if (k, r) == (200, 1) else grown < new
    # One probe a class once more is all of the variance again, however it is shared out.
    one, any_number = (width(made, 200, "new_set", probes_per_class=r) for r in (1, None))
    assert one == pytest.approx(any_number)


@pytest.mark.parametrize("rule", ["lose", "win"])
def test_ties_that_are_decided_are_no_ties(rule):
    rng = np.random.default_rng(0)
    losses, ties = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    labels = np.arange(60) % 30
    decided = losses + ties if rule == "lose" else losses
    tied = Pilot.from_losses(losses, 30, ties=ties, labels=labels, tie_rule=rule)
    plain = Pilot.from_losses(decided, 30, labels=labels)
    first, second = (bare(pilot).to_dict() for pilot in (tied, plain))
    for name in ("observed_error", "class_variance", "probe_variance", "observed"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-12)
    assert first["probe_variance"] > 0


def test_more_confidence_is_a_wider_interval(result):
    ks = np.array([2, 60, 120, 3000])
    limits = [
        result.uncertainty.band(result.accuracy(ks), ks, level)
        for level in (0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
    ]
    assert (np.diff([lower for lower, _ in limits], axis=0) <= 0).all()
    assert (np.diff([upper for _, upper in limits], axis=0) >= 0).all()
    # Where the middle is moved, a narrow interval ends at the estimate; at K nothing is moved.
    lower, upper = np.array(limits)[:, :, 1].T
    assert (np.diff(lower) < 0).all() and (np.diff(upper) > 0).all()
    sure = forecast(gaussian(), classes=120, method="exponential", confidence=0.99)
    usual = forecast(gaussian(), classes=120, method="exponential")
    assert sure.interval(120)[0] < usual.interval(120)[0]
    assert sure.interval(120)[1] > usual.interval(120)[1]
    assert sure.uncertainty.to_dict() == usual.uncertainty.to_dict()


def test_impossible_questions_are_refused(result):
    with pytest.raises(ParameterError, match="contains the pilot's 60 classes"):
        result.interval([60, 59], "grown_set")
    for r in (0, -1, math.nan, "many"):
        with pytest.raises(ParameterError, match="probes_per_class"):
            result.interval(60, "new_set", probes_per_class=r)
    with pytest.raises(ParameterError, match="new_set"):
        result.interval(60, "sure")
    with pytest.raises(ParameterError):
        result.capacity_interval(1.5)


def test_without_intervals():
    made = forecast(gaussian(), classes=6000, method="probit-normal", intervals=False)
    assert made.interval(120) is None and made.capacity_interval(0.5) is None
    assert made.backtest is None and made.uncertainty is None
    assert made.curve.lower is None and made.curve.upper is None
    assert made.to_dict()["forecast"][0]["lower"] is None
    assert list(made.to_frame().columns) == ["classes", "value", "region"]


def test_slow_methods_have_no_intervals():
    pytest.importorskip("torch")
    made = forecast(gaussian(20), classes=40, method="cleanex-fast")
    assert made.backtest is None and made.interval(40) is None


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
    made = Forecast(
        observed=made.observed, law=type(made.law)([0.0], [1.0]), classes=(80,), n_probes=60,
        method="high", confidence=0.9,
        uncertainty=make_uncertainty(
            n_classes=40, n_probes=60, inside=np.array([40]), observed_error=np.array([0.01]),
            grid=np.array([40, 2000]), moves=normal_moves([0.01, 0.01]), observed=0.5,
        ),
    )  # fmt: skip
    low, high = made.capacity_interval(0.6)
    assert low <= made.capacity(0.6) < 40
    assert high == math.inf


# -- the same again --------------------------------------------------------------------------------


def same_answers(first, second, within=0.0):
    for kind in KINDS:
        ks = [k for k in KS if kind != "grown_set" or k >= 60]
        for r in (None, 3):
            np.testing.assert_allclose(
                first.interval(ks, kind, probes_per_class=r),
                second.interval(ks, kind, probes_per_class=r),
                rtol=0,
                atol=within,
            )
    for target in (0.95, 0.9, 0.5, 0.01):
        capacities = first.capacity_interval(target)
        assert capacities == pytest.approx(second.capacity_interval(target), rel=100 * within)


def test_json_keeps_every_limit(result):
    again = Forecast.from_json(result.to_json())
    same_answers(result, again)
    np.testing.assert_array_equal(again.curve.lower, result.curve.lower)
    np.testing.assert_array_equal(again.curve.upper, result.curve.upper)
    assert again.uncertainty.to_dict() == result.uncertainty.to_dict()
    assert again.backtest.to_dict() == result.backtest.to_dict()
    assert again.to_json() == result.to_json()


def test_json_without_refits_keeps_every_limit():
    made = forecast(gaussian(8, sigma=0.9), classes=8, method="exponential")
    again = Forecast.from_json(made.to_json())
    np.testing.assert_array_equal(made.interval([2, 8, 20]), again.interval([2, 8, 20]))


def test_json_keeps_the_limits_of_a_method_with_laws():
    made = forecast(gaussian(20), classes=20)
    assert made.uncertainty.moves.shape == (128, len(made.uncertainty.grid))
    again = Forecast.from_json(made.to_json())
    ks = [2, 20, 40, 5000]
    np.testing.assert_array_equal(made.interval(ks), again.interval(ks))
    held = json.loads(made.to_json())
    for wrong in ([[0.1]], "x", None, [], [["x"] * len(made.uncertainty.grid)]):
        held["state"]["uncertainty"]["moves"] = wrong
        with pytest.raises(DataError):
            Forecast.from_json(json.dumps(held))


SPOILS = {
    "uncertainty": [
        {"grid": []}, {"grid": [2, 2]}, {"grid": [2.5, 7]}, {"grid": "many"}, {"grid": [0, 7]},
        {"observed_error": [0.1]}, {"observed_error": [[0.1]]}, {"observed_error": None},
        {"moves": [1.0]}, {"moves": "fast"}, {"sampled": None}, {"sampled": ["x"]},
        {"inside": [2.5]}, {"inside": []}, {"freedom": 0}, {"freedom": "many"},
        {"class_variance": -1}, {"class_variance": "x"}, {"class_variance": None},
        {"probe_variance": [1]}, {"probes_per_class": -2}, {"observed": 1.5}, {"observed": True},
        {"n_classes": 61}, {"n_classes": 2.5}, {"n_classes": {}}, {"n_probes": 0},
        {"n_probes": "x"}, {"shared_rivals": "no"}, {"told_apart": 1},
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


@pytest.mark.parametrize("part", ["uncertainty", "backtest"])
def test_missing_parts_of_json_are_refused(result, part):
    whole = json.loads(result.to_json())
    for name in whole["state"][part]:
        if name in ("supported", "supported_limits"):  # follows from the rest
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


# The network adds in single precision.
@pytest.mark.parametrize("method, within", [("exponential", 1e-9), ("auto", 1e-6)])
@pytest.mark.parametrize("strength", [2.5, 4.0])  # at 4 most classes make no mistake: all alike
def test_the_order_of_rows_and_classes_does_not_matter(strength, method, within):
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
    same_answers(*made, within)
