"""The scale of errors, against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from headcount.uncertainty.error_model import (
    MODEL,
    STATED_MODEL,
    cloglog,
    inverse_cloglog,
    slope,
)

ACCURACIES = [1e-12, 1e-3, 0.2, 0.5, 0.9, 0.999, 1 - 1e-12]


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_definition(accuracy):
    log_odds = math.log(accuracy) - math.log1p(-accuracy)
    assert cloglog(log_odds) == pytest.approx(math.log(-math.log1p(-accuracy)), rel=1e-12)
    expected = accuracy / -math.log1p(-accuracy)
    assert slope(log_odds) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("log_odds", [-50.0, -29.0, -3.0, 0.0, 2.0, 12.0, 300.0])
def test_slope_is_the_derivative(log_odds):
    step = 1e-4
    rise = cloglog(log_odds + step) - cloglog(log_odds - step)
    assert slope(log_odds) == pytest.approx(rise / (2 * step), rel=1e-6)


@given(st.floats(-1e6, 1e6))
def test_there_and_back(log_odds):
    assert inverse_cloglog(cloglog(log_odds)) == pytest.approx(log_odds, rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(-800, 800), min_size=2, max_size=20))
def test_order_is_kept(values):
    there = cloglog(sorted(values))
    assert (np.diff(there) >= 0).all()
    assert (np.diff(inverse_cloglog(sorted(values))) >= 0).all()


def test_where_little_is_right_it_is_the_logarithm():
    rare = math.log(1e-14)
    assert cloglog(rare) == pytest.approx(rare, abs=1e-13)
    assert slope(-1000.0) == pytest.approx(1.0)
    assert inverse_cloglog(1e6) > 1e8  # and no overflow far up


def test_the_scale_changes_over_at_minus_thirty_and_ends_at_twenty():
    # Below -30 it is the logarithm itself; at -29.5 half of e^-29.5 is still more than round-off.
    assert cloglog(-30.5) == -30.5 and inverse_cloglog(-30.5) == -30.5
    for odds in (-30.0, -29.5):
        half = math.exp(odds) / 2
        assert cloglog(odds) - odds == pytest.approx(-half, rel=0.1, abs=0)
        assert inverse_cloglog(odds) - odds == pytest.approx(half, rel=0.1, abs=0)
    assert inverse_cloglog(20.0) == inverse_cloglog(20.5) == pytest.approx(math.exp(20))
    assert inverse_cloglog(19.5) == pytest.approx(math.exp(19.5))


def test_what_was_learned():
    levels = [0, 0.25, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999]
    plain = [0, 0.3125, 0.625, 1.44, 1.9, 2.43, 4.05, 6.3, 6.3]
    # Student's law with 20 degrees of freedom, in units in which 90% lie within 1.645.
    known = student.ppf((1 + np.array([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])) / 2, 20)
    stated = known * 1.645 / known[2]
    assert [MODEL.multiplier(level) for level in levels] == pytest.approx(plain)
    learned = [STATED_MODEL.multiplier(level) for level in levels]
    assert learned[2:8] == pytest.approx(stated, abs=1e-3)
    assert learned[1] == pytest.approx(stated[0] / 2, abs=1e-3) and learned[8] == learned[7]
    names = ("growth", "blind_growth", "scale", "power", "doubt", "share", "stated")
    assert [getattr(MODEL, name) for name in names] == [0.9, 0.09, 0.054, 1.27, 0.45, 0.45, 1]
    # What a method states is taken as it is, whatever the back-test found.
    assert [getattr(STATED_MODEL, name) for name in names[-3:]] == [0, 0, 1]
