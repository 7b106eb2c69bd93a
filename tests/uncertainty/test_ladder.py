"""The rungs at which limits are held, and limits at, between and past them, by hand."""

import math

import numpy as np
import pytest

from headcount.uncertainty.limits import Limits, ladder, moved_alike


@pytest.mark.parametrize("n_classes", [37, 10**6])
def test_rungs_are_even_up_to_k_then_by_thirty_seconds_then_ever_longer(n_classes):
    inside = [n_classes ** (i / 119) for i in range(120)]
    even = [n_classes * math.exp(i / 32) for i in range(128)]
    longer = []
    step = 4.0
    while n_classes * math.exp(step) < 1e300:
        longer.append(n_classes * math.exp(step))
        step *= 1.015
    knots = [11.0, 12_345.0]
    expected = {round(k) for k in [*inside, *even, *longer, n_classes + 1, *knots]}
    found = ladder(n_classes, knots)
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, sorted(float(k) for k in expected), rtol=1e-9)
    assert (found == found.round()).all()


LIMITS = Limits.of(np.array([1.0, 10.0, 100.0]), [1, 0.6, 0.5], [1, 0.5, 0.4], [1, 0.8, 0.7])


@pytest.mark.parametrize(
    "k, value, expected",
    [
        (10, 0.6, (0.5, 0.8)),  # at a rung, as there
        (10**0.5, 0.9, (0.75, 0.9)),  # half way in log k, half way between
        (10**1.5, 0.6, (0.45, 0.75)),
        (10**1.5, 0.3, (0.3, 0.75)),  # an interval holds its estimate
        (10**1.5, 0.77, (0.45, 0.77)),
        (5000, 0.45, (0.4, 0.7)),  # past the last rung, as there
    ],
)
def test_limits_at_between_and_past_rungs(k, value, expected):
    # Numbers of classes are whole; those half way are not, and the rungs are moved instead.
    limits = Limits(LIMITS.classes**2, LIMITS.lower, LIMITS.upper)
    whole = round(k**2)
    assert limits.at(whole, value) == pytest.approx(expected, abs=1e-3)


def test_limits_of_sets_move_by_as_much_in_log_odds():
    # Odds of 9 times odds of 1 over 4; where nothing moved, nothing is computed.
    moved = moved_alike(np.array([0.9, 0.3]), np.array([0.8, 1.0]), np.array([0.5, 1.0]))
    assert moved == pytest.approx([2.25 / 3.25, 0.3])
    assert moved[1] == 0.3
    # Limits of 0 and 1 are taken for 1e-15 and 1 - 1e-15, so the odds are 1e-15 times 4 or by 4.
    limit, before, after = np.array([[0.0, 0.5], [0.5, 0.8], [0.8, 0.0]])
    found = moved_alike(limit, before, after)
    assert found == pytest.approx([4e-15, 2.5e-16], rel=1e-6, abs=0)
    found = 1 - moved_alike(1 - limit, 1 - before, 1 - after)
    assert found[0] == pytest.approx(4e-15, rel=0.1, abs=0) and 0 < found[1] < 1e-15
    assert moved_alike(np.array([0.5]), np.array([0.0]), np.array([1e-16]))[0] == 0.5
