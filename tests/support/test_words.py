"""Numbers as people read them."""

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headcount.support.words import percent, percent_range

SHARES = st.floats(0, 1) | st.floats(-7.9, 0).map(lambda x: 1 - 10**x)


@pytest.mark.parametrize("value, text", [(0.983, "98.3%"), (0.975, "97.5%"), (0.9994, "99.94%"),
    (0.99936, "99.936%"), (0.71311, "71%"), (0.9, "90%"), (0.9004, "90%"), (0.9006, "90.1%"),
    (0.95, "95%"), (0.98, "98%"), (0.98049, "98%"), (0.0025, "0.25%"), (0.05, "5%"),
    (0.0312, "3.1%"), (0.0995, "10%"), (0.0994, "9.9%"), (0, "0%"), (1, "100%"),
    (1 - 1e-15, "100%"), (0.999999, "99.9999%"), (1 - 1e-9, "over 99.999999%"),
    (1e-9, "under 0.000001%")])  # fmt: skip
def test_digits_follow_the_distance_to_the_nearer_end(value, text):
    assert percent(value) == text


@pytest.mark.parametrize("lower, upper, text", [(0.662, 0.748, "66-75%"), (0.975, 0.983,
    "97.5-98.3%"), (0.7, 0.7004, "70.00-70.04%"), (0.8996, 0.9004, "89.96-90.04%"),
    (0.85, 0.9994, "85-99.94%"), (0.97, 1.0, "97-100%"), (0.3, 0.3, "30%"),
    (0.98301, 0.98302, "98.301-98.302%"), (0.89, 1 - 1e-8, "89-over 99.99%"), (1e-9, 0.5, "under 0.01-50%")])  # fmt: skip
def test_both_ends_of_an_interval_can_be_told_apart(lower, upper, text):
    assert percent_range(lower, upper) == text


def number(text):
    return float(re.sub("[^0-9.]", "", text))


@given(SHARES)
def test_a_share_and_what_is_left_are_written_alike(value):
    assume(min(value, 1 - value) >= 1e-8)
    text = percent(value)
    left = 100 * min(value, 1 - value)
    assert abs(number(text) - 100 * value) <= 0.0501 * max(left, 1e-7) + 1e-9  # two digits of it
    # A tie may be rounded up in both: off by one in the last digit, a tenth of what is left at most.
    assert number(text) + number(percent(1 - value)) == pytest.approx(100, abs=0.101 * left)
    assert text not in ("0%", "100%")


@given(st.lists(SHARES, min_size=2, max_size=2, unique=True).map(sorted))
def test_a_larger_share_is_never_written_as_a_smaller_one(pair):
    lower, upper = pair
    assume(lower >= 1e-8 and upper <= 1 - 1e-8 and upper - lower > 1e-9)
    assert number(percent(lower)) <= number(percent(upper))
    first, last = percent_range(lower, upper).split("-")
    assert number(first) < number(last)


def test_neighbours_on_a_fine_grid_keep_their_order():
    grid = [i / 20_000 for i in range(20_001)]
    for one, two in itertools.pairwise(grid):
        assert number(percent(one)) <= number(percent(two))
