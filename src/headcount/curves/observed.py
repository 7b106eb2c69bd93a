"""The observed curve: exact average accuracy over all sub-tasks of k <= K classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.metrics import hypergeometric
from headcount.pilot.losses import LossRows, LossTable
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import class_counts_within
from headcount.support.workers import for_each

Floats = NDArray[np.float64]


def observe(pilot: Pilot) -> Observed:
    """Return the observed curve of a pilot."""
    return Observed(pilot.table())


class Observed:
    r"""What the pilot itself says about any number of classes up to its own.

    The average accuracy among k classes is the mean, over probes and over all sets of k - 1 of the
    n = K - 1 wrong classes, of being right. For a probe with l losses that is the chance that a
    random set of rivals holds none that beat it,

    .. math:: \binom{n - l}{k - 1} \Big/ \binom{n}{k - 1},

    averaged with the pilot's weights; ties follow the pilot's tie rule exactly.

    Censored probes (losses known only from below) give a lower and an upper bound; the value
    reported is the middle between the two. Where a list ends, classes beyond it may score as its
    last entry does: `bounds` holds such ties, too, while the value leaves out those nobody saw.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*, Eq. 4.

    Examples
    --------
    Two probes among four classes, one beaten by nobody, the other by one rival:

    >>> from headcount import Pilot, observe
    >>> curve = observe(Pilot.from_losses([0, 1], n_classes=4))
    >>> curve.accuracy([1, 2, 3, 4]).round(3).tolist()
    [1.0, 0.833, 0.667, 0.5]
    >>> float(curve.top(2, 4))
    1.0
    """

    def __init__(self, table: LossTable) -> None:
        self.table = table
        self.n_classes = table.n_rivals + 1
        self.censored = bool(table.censored.any())
        self.exact = not self.censored and table.bounds is None
        # A censored probe has at least its losses, and at most all of them.
        best = _ascending(table.losses, table.weights)
        worst = np.where(table.censored, table.n_rivals, table.losses)
        self._rows = best, (_ascending(worst, table.weights) if self.censored else best)
        self._bounds = self._rows
        if table.bounds is not None:
            fewest, most = table.bounds
            self._bounds = _ascending(*fewest), _ascending(*most)

    def accuracy(self, k: Any) -> Floats:
        """Average accuracy among k of the pilot's classes."""
        return self._middle(k, hypergeometric.chance_unbeaten)

    def bounds(self, k: Any) -> tuple[Floats, Floats]:
        """Lower and upper bound of the accuracy; equal unless lists were cut."""
        return self._both(self._bounds, k, hypergeometric.chance_unbeaten)

    def top(self, m: int, k: Any) -> Floats:
        """Average chance that the true class is among the best m of k classes."""
        m = validation.whole_number(m, "m", 1)

        def chance(losses: Any, weights: Any, n: int, draws: int) -> float:
            return float(hypergeometric.mean_chance_within(losses, weights, n, draws, m))

        return self._middle(k, chance)

    def mean_reciprocal_rank(self, k: Any) -> Floats:
        """Average of one over the rank of the true class among k classes."""
        return self._middle(k, hypergeometric.mean_reciprocal)

    def median_rank(self, k: Any) -> Floats:
        """Smallest m for which the true class is among the best m of k at least half the time."""
        counts = class_counts_within(k, self.n_classes)
        found = np.array([self._median_rank(int(count)) for count in counts.ravel()])
        return found.reshape(counts.shape)

    def _median_rank(self, k: int) -> float:
        low, high = 1, k
        while low < high:
            middle = (low + high) // 2
            # Averages of weights that sum to one only up to round-off.
            if float(self.top(middle, k)) >= 0.5 - 1e-12:
                high = middle
            else:
                low = middle + 1
        return float(low)

    def _both(
        self, rows: tuple[LossRows, LossRows], k: Any, average: Callable[..., float]
    ) -> tuple[Floats, Floats]:
        """Averages over the rows of the most and of the fewest losses."""
        counts = class_counts_within(k, self.n_classes)
        fewest, most = rows
        upper = self._evaluate(fewest, counts, average)
        return upper if most is fewest else self._evaluate(most, counts, average), upper

    def _evaluate(
        self, rows: LossRows, counts: NDArray[np.int64], average: Callable[..., float]
    ) -> Floats:
        values = np.empty(counts.size)
        flat = counts.ravel()

        def work(i: int) -> None:
            values[i] = average(*rows, self.n_classes - 1, flat[i] - 1)

        for_each(work, range(flat.size), task="Averaging over sub-tasks")
        return np.minimum(values, 1.0).reshape(counts.shape)

    def _middle(self, k: Any, average: Callable[..., float]) -> Floats:
        lower, upper = self._both(self._rows, k, average)
        return lower + (upper - lower) / 2


def _ascending(losses: NDArray[np.int64], weights: Floats) -> LossRows:
    order = np.argsort(losses, kind="stable")
    return losses[order], weights[order]
