"""Healthy pilots of all kinds raise no alarm, by simulation."""

import numpy as np

from check_pilots import STATISTICAL, healthy
from headcount import Favorability, forecast, observe
from headcount.checks import run_checks
from headcount.datasets import load_hangul


def test_false_alarms_are_rare():
    """At most 2% of healthy pilots; a rate of 2% gives up to 3 of 60 in 97% of cases."""
    alarms = dict.fromkeys(STATISTICAL, 0)
    law = Favorability([0.01], [1.0])
    for seed in range(60):
        pilot = healthy(seed)
        for check in run_checks(pilot, observe(pilot), law):
            if check.code in alarms:
                alarms[check.code] += 1
    assert max(alarms.values()) <= 3, alarms


def test_the_bundled_data_are_healthy():
    whole = load_hangul()
    chosen = np.random.default_rng(0).choice(whole.class_names, 500, replace=False)
    assert forecast(whole.subset(chosen), classes=1000).checks == ()
