"""Limits of the pilots that come with headcount."""

import numpy as np
import pytest

from headcount import forecast
from interval_pilots import counts, gaussian

pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")


def every_size(made):
    """All numbers of classes up to 4 K, and many beyond."""
    beyond = np.geomspace(4 * made.n_classes, 1e16, 500).round()
    return np.unique(np.concatenate([np.arange(1.0, 4 * made.n_classes + 1), beyond]))


def never_rises(limit):
    return (np.diff(limit) <= 1e-13).all()


@pytest.mark.parametrize("method", ["auto", "probit-normal", "exponential", "no-change"])
def test_limits_of_real_pilots_never_rise(method):
    for pilot in (gaussian(sigma=0.6), counts(100, 40, labels=np.arange(100) % 40)):
        made = forecast(pilot, classes=pilot.n_classes, method=method)
        ks = every_size(made)
        lower, upper = made.interval(ks)
        assert never_rises(lower) and never_rises(upper)
        assert (lower <= made.accuracy(ks) + 1e-12).all() and (made.accuracy(ks) <= upper).all()
