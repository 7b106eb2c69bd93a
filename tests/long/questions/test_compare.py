"""Differences of systems are covered as often as they should be, by simulation."""

import numpy as np
import pytest

from compared_pilots import QUICK, two_systems
from headcount import Pilot, compare
from headcount.simulate import theory

QUIET = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")


def scores_of(pilot):
    return np.concatenate([block for _, block in pilot.score_blocks()])


@QUIET
def test_a_difference_at_the_pilots_size_is_covered_and_pairing_narrows_it():
    # Truth from theory. 16 pilots: a share of 0.9 has the standard error 0.075; three of those.
    sigmas, n_classes = (0.9, 0.7), 60
    laws = [theory.IsotropicGaussian(10, sigma, None) for sigma in sigmas]
    truth = float(laws[0].accuracy(n_classes) - laws[1].accuracy(n_classes))
    held, narrower, sure = [], [], []
    for seed in range(16):
        pilots = two_systems(100 + seed, n_classes, sigmas)
        lead = compare(pilots, n_classes, **QUICK).pairs[0].at(n_classes)
        held.append(lead.lower <= truth <= lead.upper)
        sure.append(lead.chance)
        if seed < 2:
            names = [f"other {i}" for i in range(n_classes)]
            strange = Pilot.from_scores(scores_of(pilots["B"]), np.array(names), class_names=names)
            found = compare({"A": pilots["A"], "B": strange}, n_classes, **QUICK)
            alone = found.pairs[0].at(n_classes)
            assert not found.paired
            assert alone.difference == pytest.approx(lead.difference)
            narrower.append((lead.upper - lead.lower) / (alone.upper - alone.lower))
    assert np.mean(held) >= 0.9 - 3 * 0.075
    # By about a fifth in this world; from pilot to pilot it varies by a few points.
    assert max(narrower) < 0.85
    # A is the worse one, as most pilots should know.
    assert np.mean(np.array(sure) < 0.5) > 0.9


@QUIET
@pytest.mark.parametrize("alike", [True, False])
def test_a_difference_far_beyond_the_pilot_is_covered_and_pairing_of_like_systems_narrows_it(alike):
    """At five times the pilot's classes, truth from theory; `experiments/coverage/pairs.py` does it at large.

    Of four 90% intervals at least two hold the truth with a chance of 99.6%. Errors correlated by
    r make a difference narrower by sqrt(1 - r): 0.7 for the 0.5 usual here; nothing shared leaves
    one, and 0.8 to 1.2 by chance.
    """
    sigmas, k, held, narrower = (0.9, 0.8), 200, [], []
    laws = [theory.IsotropicGaussian(10, sigma, None) for sigma in sigmas]
    truth = float(laws[0].accuracy(k) - laws[1].accuracy(k))
    for seed in range(4):
        pilots = two_systems(200 + seed, 40, sigmas)
        if not alike:  # the same names, but other classes: nothing is shared
            pilots["B"] = two_systems(300 + seed, 40, sigmas)["B"]
        found = compare(pilots, k, method="exponential")
        assert found.paired
        lead = found.pairs[0].at(k)
        held.append(lead.lower <= truth <= lead.upper)
        alone = [np.subtract(*made.interval(k)) for made in found.forecasts.values()]
        narrower.append((lead.upper - lead.lower) / float(np.hypot(*alone)))
    assert np.sum(held) >= 2
    low, high = (0.4, 0.8) if alike else (0.8, 1.2)
    assert low < np.mean(narrower) < high
