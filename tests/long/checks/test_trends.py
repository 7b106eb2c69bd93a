"""How often trends along an order are found, and where there are none, by simulation."""

import numpy as np

from check_pilots import alarm, drifting, scores


def test_false_alarms_are_as_rare_as_they_should_be_and_drift_is_found():
    """Two tests at 0.5% alarm in at most 5 of 500 pilots on average, in more than 12 once in 500.

    Noise that doubles along the order is found in 88%, rivals two units stronger in 70% of
    pilots (of 100); the bounds are three standard errors (of 40) below.
    """
    alarms = 0
    for seed in range(500):
        rng = np.random.default_rng([seed, 3])
        n_classes, per_class = int(rng.choice([12, 30, 60])), int(rng.choice([1, 2, 4]))
        n_dims = int(rng.choice([2, 6]))
        values, labels = scores(
            n_classes=n_classes, per_class=per_class, n_dims=n_dims, sigma=0.8, seed=seed
        )
        order = rng.integers(0, int(rng.choice([3, 1000])), n_classes)
        alarms += alarm(values, labels, order) is not None
    assert alarms <= 12
    assert sum(alarm(*drifting(seed, noise=2.0)) is not None for seed in range(40)) >= 29
    assert sum(alarm(*drifting(seed, lead=2.0)) is not None for seed in range(40)) >= 19
