"""Simulated pilots have the laws that they were asked for."""

import numpy as np
import pytest
from scipy import stats

from headcount import Favorability, simulate


@pytest.mark.parametrize("scores", [True, False])
def test_losses_given_favorability_are_binomial(scores):
    """Theorem 3.2 of 003 on the problem of Theorem 3.3, one probe from each of many problems."""
    law = Favorability([0.3], [1.0])
    draws = [
        simulate.from_favorability(law, 21, scores=scores, random_state=seed).pilot.losses[0]
        for seed in range(800)
    ]
    expected = stats.binom.pmf(np.arange(21), 20, 0.3) * len(draws)
    found = np.bincount(draws, minlength=21)
    likely = expected > 5
    pooled = np.append(found[likely], found[~likely].sum())
    due = np.append(expected[likely], expected[~likely].sum())
    assert stats.chisquare(pooled, due).pvalue > 0.001
