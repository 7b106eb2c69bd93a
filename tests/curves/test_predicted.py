"""Curves that are no mixture: interpolated in log k, with accuracy alone."""

import math

import numpy as np
import pytest

from headcount import DataError, ParameterError, UnsupportedError
from headcount.curves.favorability import ROUND_OFF
from headcount.curves.predicted import PredictedCurve
from headcount.metrics import Top


def falling(k):
    """A straight line in log k that reaches zero at 1e10."""
    return np.maximum(1 - 0.1 * np.log10(k), 0.0)


def test_values_are_straight_in_the_logarithm_of_k():
    curve = PredictedCurve([1, 100, 10_000], [1.0, 0.8, 0.2])
    assert curve.accuracy([1, 10, 100, 1000, 10_000]).tolist() == pytest.approx(
        [1.0, 0.9, 0.8, 0.5, 0.2], abs=1e-14
    )
    assert float(curve.accuracy(10**9)) == 0.2  # the last rung stands for all beyond
    assert curve.accuracy([[10], [100]]).shape == (2, 1)
    assert curve.value(10).tolist() == curve.top(1, 10).tolist() == pytest.approx(0.9, abs=1e-14)


def test_every_size_up_to_a_thousand_and_all_asked_are_rungs():
    asked = [123_456, 7_777_777]
    curve = PredictedCurve.sample(lambda k: 1 / k, asked)
    for k in (*range(1, 1001), *asked):
        assert float(curve.accuracy(k)) == pytest.approx(1 / k, rel=1e-12, abs=0)
    assert curve.classes[0] == 1 and curve.classes[-1] == 1e15
    # Elsewhere rungs are so close that a straight line between them is right to 0.1%.
    ratio = curve.classes[1001:] / curve.classes[1000:-1]
    assert ratio.max() < 1.02
    assert float(curve.accuracy(50_001)) == pytest.approx(1 / 50_001, rel=1e-3, abs=0)
    assert len(curve.classes) == len(set(curve.classes.tolist()))


@pytest.mark.parametrize("target", [0.95, 0.9, 0.75, 0.3, 0.05])
def test_capacity_is_the_last_size_that_reaches_the_target(target):
    curve = PredictedCurve.sample(falling, [])
    last = curve.capacity(target)
    assert float(curve.accuracy(last)) >= target - 1e-12
    assert float(curve.accuracy(last + max(1, round(last * 1e-9)))) < target
    # Straight in log k between rungs, as the curve itself is.
    assert last == pytest.approx(10 ** (10 * (1 - target)), rel=1e-6, abs=1)


def test_capacity_at_the_ends():
    assert PredictedCurve([1, 10], [1.0, 0.5]).capacity(0.5) == math.inf
    assert PredictedCurve([1, 10], [1.0, 0.5]).capacity(0.5 + 1e-9) == 9
    assert PredictedCurve([1, 10], [1.0, 0.5]).capacity(1) == 1
    assert PredictedCurve([1, 2, 10], [1.0, 0.6, 0.5]).capacity(0.7) == 1
    assert PredictedCurve([1, 2, 10], [1.0, 0.6, 0.5]).capacity(0.6) == 2
    assert PredictedCurve([1, 2, 10], [0.4, 0.3, 0.2]).capacity(0.5) == 1
    # Short of the target by round-off alone counts as reaching it.
    assert PredictedCurve([1, 10, 20], [1.0, 0.7, 0.1]).capacity(0.7 + 1e-13) == 10


def test_a_curve_that_rises_again_is_followed_to_its_first_fall():
    curve = PredictedCurve([1, 2, 3, 4], [1.0, 0.5, 0.9, 0.1])
    assert curve.capacity(0.8) == 1


def test_what_needs_a_law_is_refused():
    curve = PredictedCurve.sample(falling, [])
    for ask in (
        lambda: curve.top(2, 10),
        lambda: curve.value(10, Top(5)),
        lambda: curve.capacity(0.5, Top(2)),
    ):
        with pytest.raises(UnsupportedError, match="accuracy only, not top-"):
            ask()
    with pytest.raises(ParameterError, match="target"):
        curve.capacity(0)


@pytest.mark.parametrize(
    "classes, values",
    [
        ([1], [1.0]),  # one rung
        ([2, 3], [1.0, 0.5]),  # not from one class on
        ([0, 3], [1.0, 0.5]),
        ([1, 3, 3], [1.0, 0.5, 0.5]),  # not ascending
        ([1, 3, 2], [1.0, 0.5, 0.4]),
        ([1, 2], [1.0, 0.5, 0.4]),  # not as many
        ([1, 2], [1.1, 0.5]),  # no shares
        ([1, 2], [1.0, -0.1]),
        ([1, 2], [1.0, math.nan]),
        ([[1, 2]], [[1.0, 0.5]]),
    ],
)
def test_what_is_no_curve_is_refused(classes, values):
    with pytest.raises(DataError, match="ascending numbers of classes"):
        PredictedCurve(classes, values)


def test_the_ends_of_the_range_are_allowed_and_nothing_can_be_changed():
    curve = PredictedCurve([1, 2], [1.0, 0.0])
    assert curve.accuracy([1, 2]).tolist() == [1, 0]
    for array in (curve.classes, curve.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_after_its_first_fall_a_curve_may_stay_high_for_long():
    curve = PredictedCurve([1, 2, 3, 100, 1000], [1.0, 0.5, 0.9, 0.9, 0.1])
    assert curve.capacity(0.85) == 1
    assert curve.capacity(0.5) == pytest.approx(100 * 10**0.5, abs=1)


def test_a_value_equal_to_what_counts_as_the_target_reaches_it():
    least = 0.5
    target = least + ROUND_OFF
    while target - ROUND_OFF < least:
        target = math.nextafter(target, 1)
    assert target - ROUND_OFF == least
    assert PredictedCurve([1, 4, 9], [1.0, least, 0.25]).capacity(target) == 4
    assert PredictedCurve([1, 4, 9], [1.0, least, least]).capacity(target) == math.inf


def test_the_ladder_has_its_ends_and_no_rung_twice():
    classes = PredictedCurve.sample(lambda k: 1 / k, 1500).classes
    assert classes[:1000].tolist() == list(range(1, 1001))
    assert 1500 in classes and classes[-1] == 1e15
    # Past a thousand, 2,000 rungs in equal steps of log k up to 1e15 leave four fifths.
    assert len(classes) == 1000 + 1 + sum(k > 1000 for k in np.geomspace(1, 1e15, 2000).round())
