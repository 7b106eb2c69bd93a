"""Random numbers as R draws them, for data that a paper made with `set.seed`.

Written from R's documentation (`?RNGkind`, `?sample`, `?rbinom`): Mersenne Twister, inversion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STATE, WARM_UP = 624, 50
MULTIPLIER, BITS = 69069, 2**32


class RGenerator:
    """R's default generator after `set.seed(seed)`.

    Parameters
    ----------
    seed : int
        What `set.seed` was given.

    Examples
    --------
    >>> RGenerator(0).uniform(3).round(7).tolist()
    [0.8966972, 0.2655087, 0.3721239]
    """

    def __init__(self, seed: int) -> None:
        states = [seed % BITS]
        for _ in range(WARM_UP + 1 + STATE):
            states.append((MULTIPLIER * states[-1] + 1) % BITS)
        # The first number of the state is R's place in it, and not part of the twister.
        self._bits = np.random.MT19937()
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(states[-STATE:], dtype=np.uint32), "pos": STATE},
        }

    def uniform(self, size: int) -> Floats:
        """Return `runif(size)`."""
        return np.asarray(self._bits.random_raw(size), dtype=np.float64) / BITS

    def choose(self, size: int, chances: Floats) -> Ints:
        """Return the places that `sample(..., size, replace = TRUE, prob = chances)` takes.

        So for fewer than 200 places, where R walks down the chances from the largest on.
        """
        order = np.argsort(-chances, kind="stable")
        reached = np.cumsum(chances[order] / chances.sum())
        places = np.searchsorted(reached, self.uniform(size))
        return np.asarray(order[np.minimum(places, len(order) - 1)], dtype=np.int64)

    def binomial(self, trials: int, chances: Floats) -> Ints:
        """Return `rbinom(length(chances), trials, chances)` for fewer than 30 expected."""
        return np.array([self._successes(trials, float(chance)) for chance in chances])

    def _successes(self, trials: int, chance: float) -> int:
        if chance in (0.0, 1.0):  # certain: R draws nothing
            return round(trials * chance)
        rarer = min(chance, 1 - chance)
        counts = np.arange(1, trials + 1)
        ratios = rarer / (1 - rarer) * (trials + 1 - counts) / counts
        cells = (1 - rarer) ** trials * np.concatenate([[1.0], np.cumprod(ratios)])
        count = int(np.searchsorted(np.cumsum(cells), self.uniform(1)[0], side="right"))
        return count if chance <= 0.5 else trials - count
