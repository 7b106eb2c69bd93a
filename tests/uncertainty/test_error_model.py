"""The scale of errors, against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.uncertainty.error_model import cloglog, inverse_cloglog, slope

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
