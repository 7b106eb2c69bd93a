"""Crossings right beside a point of the grid, and bands that are sure only at its ends."""

from types import SimpleNamespace

import numpy as np

from headcount.questions.compare import last_crossing


def test_a_crossing_right_after_a_point_of_the_grid_starts_there():
    """The first is surely ahead at 100 classes, of which the band beside it knows."""
    grid = np.array([2, 10, 100, 1000])
    pair = SimpleNamespace(value=lambda k: 100.5 - k), SimpleNamespace(value=lambda k: 0.0 * k)
    difference = pair[0].value(grid)
    band = difference - 0.1, difference + 0.1
    crossing = last_crossing(("A", "B"), pair, grid, difference, *band)
    assert (crossing.before, crossing.after) == ("A", "B")
    assert (crossing.lower, crossing.classes, crossing.upper) == (100, 100, 100)
    turned = last_crossing(("B", "A"), pair[::-1], grid, -difference, -band[1], -band[0])
    assert turned == crossing


def test_a_band_that_is_sure_only_at_the_ends_of_the_grid_ends_there():
    grid = np.array([2, 10, 100, 1000])
    pair = SimpleNamespace(value=lambda k: 50.5 - k), SimpleNamespace(value=lambda k: 0.0 * k)
    difference = np.array([48.5, 40.5, -49.5, -949.5])
    lower = np.array([1.0, -40.5, -100.0, -2000.0])
    upper = np.array([100.0, 100.0, 50.5, -1.0])
    crossing = last_crossing(("A", "B"), pair, grid, difference, lower, upper)
    assert crossing.classes == 50
    # Straight in log k: from 1 at 2 classes to -40.5 at 10; from 1 at 1000 to -50.5 at 100.
    assert crossing.lower == round(2 * 5 ** (1 / 41.5))
    assert crossing.upper == round(1000 * 0.1 ** (1 / 51.5))
