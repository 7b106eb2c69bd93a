"""Thresholds and constants of back-tests, each hit exactly and missed by one."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from headcount import DataError, ParameterError, Pilot, backtest
from headcount.curves.favorability import Favorability
from headcount.errors import HeadcountError
from headcount.estimators import Extrapolator
from headcount.uncertainty.backtest import (
    Backtest,
    BacktestStep,
    best_first,
    cells,
    check_tolerance,
    plan_sizes,
    with_coverage,
)
from headcount.uncertainty.resampling import Refit, Refits, Subsamples
from interval_pilots import normal_moves

GRID = np.array([2, 100, 5000])
HALVES = np.array([[0.9, 0.5, 0.1], [0.9, 0.4, 0.2]])


def make_backtest(errors, sizes=(50, 20, 10), method="kde", **changed):
    steps = tuple(
        BacktestStep(size, 100 / size, (0.5 + error, 0.5 - error), 0.5)
        for size, error in zip(sizes, errors, strict=False)
    )
    return Backtest(100, method, 0.5, steps, GRID, HALVES, **changed)


def test_usual_values():
    usual = make_backtest(())
    assert (usual.tolerance, usual.confidence, usual.shared_rivals) == (0.05, 0.9, True)


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, math.nan, None])
def test_tolerances_lie_between_nought_and_one(value):
    with pytest.raises(ParameterError, match="tolerance must lie between 0 and 1"):
        check_tolerance(value)
    assert check_tolerance("0.25") == 0.25


def test_an_error_as_large_as_the_tolerance_is_within_it():
    # Both errors are powers of two, so that nothing is rounded.
    def likely(tolerance):
        return make_backtest((0.125, 0.3), tolerance=tolerance).likely

    assert likely(0.125) == 2
    assert likely(math.nextafter(0.125, 0)) == 1
    said = make_backtest((0.125, 0.3), tolerance=0.125).sentences()[0]
    assert said.startswith("From 50 of your 100 classes it was 12 points off")
    assert make_backtest(()).within(0.5) == 1 and make_backtest(()).sentences() == []


def test_ten_classes_with_probes_must_be_left_and_five_of_a_half():
    assert [size for size, _ in plan_sizes(1000, 100)] == [500, 200, 100]
    assert [size for size, _ in plan_sizes(1000, 99)] == [500, 200]
    assert plan_sizes(1000, 50) == [(500, 20), (200, 10)]
    assert plan_sizes(1000, 49) == [(500, 20)]
    assert plan_sizes(1000, 10) == [(500, 20)]
    assert plan_sizes(1000, 9) == []
    assert plan_sizes(1000, 50, 1) == [(500, 1), (200, 1)]


class EveryOther(Extrapolator):
    """Refuses the pilots of half of all classes whose turn is in `refused`."""

    alias = "every-other"
    refused: frozenset = frozenset()
    turn = 0

    def _estimate(self, pilot):
        if pilot.n_classes == 10:
            EveryOther.turn += 1
            if EveryOther.turn in EveryOther.refused:
                raise HeadcountError("not this one.")
        return Favorability([0.0, 1.0], [0.75, 0.25])


@pytest.mark.parametrize("n_failed", [0, 1, 5, 6, 10])
def test_a_size_is_left_out_where_more_than_half_of_its_fits_fail(n_failed):
    EveryOther.turn, EveryOther.refused = 0, frozenset(range(1, n_failed + 1))
    found = backtest(Pilot.from_losses([0, 0, 0, 1] * 10, 20), method=EveryOther(), repeats=10)
    kept = n_failed <= 5
    assert [len(step.forecasts) for step in found.steps] == ([10 - n_failed] if kept else [])
    assert found.halves.shape == (10 - n_failed if kept else 0, len(found.grid))
    outcome = "" if kept else ", so that size is left out"
    note = f"From 10 classes {n_failed} of 10 fits failed{outcome}: not this one."
    assert found.notes == ((note,) if n_failed else ())
    if kept:
        assert found.steps[0].forecasts == pytest.approx([0.75] * (10 - n_failed))


def test_where_halves_are_left_out_other_sizes_are_no_halves():
    class NoHalves(Extrapolator):
        alias = "no-halves"

        def _estimate(self, pilot):
            if pilot.n_classes == 25:
                raise HeadcountError("no halves.")
            return Favorability([0.0, 1.0], [0.75, 0.25])

    found = backtest(Pilot.from_losses([0, 0, 0, 1] * 20, 50), method=NoHalves(), repeats=2)
    assert [step.n_classes for step in found.steps] == [10]
    assert found.halves.shape == (0, len(found.grid))


def test_the_best_reaches_farthest_then_is_off_least_then_comes_first_by_name():
    far = make_backtest((0.03, 0.04, 0.05), method="far", tolerance=0.06)
    near = make_backtest((0.01, 0.03), method="near", tolerance=0.02)  # half way from 2 to 5
    off = make_backtest((0.03,), method="off")  # 3 points off, in one step
    same = make_backtest((0.03,), method="same")
    none = make_backtest((), method="none")
    bad = make_backtest((0.2,), method="bad")
    order = ["far", "near", "off", "same", "bad", "none"]
    for methods in ([bad, none, same, off, near, far], [far, same, near, off, bad, none]):
        assert [result.method for result in best_first(methods)] == order


def covered(curve, spread, observed=0.9, n_probes=10, confidence=0.9):
    """Coverage of one forecast from half of 100 classes, whose laws spread so far in log odds."""
    step = BacktestStep(50, 2.0, (float(curve),), observed)
    grid = np.array([50, 100, 200])
    result = Backtest(100, "any", observed, (step,), grid, np.empty((0, 3)))
    fit = Refit(np.full(3, float(curve)), expit(logit(curve) + normal_moves([spread])), n_probes)
    sizes = (Refits(50, (fit,), np.full((1, 3), float(curve))),)
    pilot = Pilot.from_losses([0] * n_probes, 100)
    return with_coverage(pilot, result, Subsamples(grid, sizes, True), confidence)


def test_all_right_is_measured_as_half_a_probe_less():
    # One is taken for 0.95 of ten probes; laws are nearly all alike.
    found = [
        covered(value, 1e-3, observed=1.0).steps[0].coverage for value in (0.85, 0.94, 0.94995)
    ]
    assert found == [0, 0, 1]
    found = [
        covered(value, 1e-3, observed=0.0).steps[0].coverage for value in (0.15, 0.06, 0.05005)
    ]
    assert found == [0, 0, 1]
    assert covered(0.9, 1e-3).confidence == 0.9


def test_plausible_laws_cover_as_far_as_they_reach():
    reach = norm.ppf(0.75) * 0.2  # the middle half
    for share, expected in ((0.99, 1.0), (1.01, 0.0)):
        for sign in (-1, 1):
            edge = expit(logit(0.9) + sign * share * reach)
            found = covered(0.9, 0.2, observed=edge, n_probes=1000, confidence=0.5)
            assert found.steps[0].coverage == expected


def test_a_table_shows_sizes_ratios_and_means():
    step = BacktestStep(1500, 2.0, (0.5, 0.75, 1.0), 0.75, coverage=2 / 3)
    assert cells(step)[:3] == ["1,500", "2", "75%"]
    assert cells(step)[5] == "67%"
    assert cells(BacktestStep(5, 2.0, (0.5,), 0.5))[5] == "-"


def test_what_is_read_cannot_be_changed():
    found = Backtest.from_dict(make_backtest((0.01, 0.02, 0.03)).to_dict())
    for array in (found.grid, found.halves):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert [step.ratio for step in found.steps] == [2, 5, 10]
    assert found.halves.shape == (2, 3)
    fields = make_backtest((0.01,)).to_dict()
    with pytest.raises(DataError, match="do not fit together"):
        Backtest.from_dict(fields | {"halves": [[0.9, 0.5, 0.1], [0.9, 0.4]]})
