"""The observed curve: exact averages over all sets of k <= K of the pilot's classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.whole_groups import of_groups, refuse_other_metric
from headcount.metrics import ACCURACY, MRR, Metric, Top, resolve_metric
from headcount.pilot.losses import LossRows, LossTable
from headcount.pilot.pilot import Pilot
from headcount.support.grids import class_counts_within, last_where
from headcount.support.workers import for_each

Floats = NDArray[np.float64]
Average = Callable[[NDArray[np.int64], Floats, int, int], float]


def observe(pilot: Pilot) -> Observed:
    """Return the observed curve of a pilot: exact values up to its own number of classes.

    Where classes were drawn in whole groups (`Pilot.whole_groups`), so are those averaged over.
    Where queries have several graded documents, all of them count (`headcount.curves.ranked`).
    """
    if pilot.ranking is not None:
        from headcount.curves.ranked import RankedObserved

        return RankedObserved(pilot.ranking, pilot.tie_rule)
    if pilot.whole_groups:
        return ObservedGroups(pilot.merged.table, pilot.n_classes, pilot.merged.share)
    return Observed(pilot.table())


class Observed:
    r"""What the pilot itself says about any number of classes up to its own.

    A metric among k classes is the mean, over probes and over all sets of k - 1 of the n = K - 1
    wrong classes. The accuracy of a probe with l losses is the chance that a random set of rivals
    holds none that beat it,

    .. math:: \binom{n - l}{k - 1} \Big/ \binom{n}{k - 1},

    averaged with the pilot's weights. Ties follow the pilot's tie rule exactly.

    Censored probes (their losses are known only from below) give a lower and an upper bound. The
    value reported is the middle of the two. Classes beyond the end of a list may tie with its last
    entry: `bounds` allows for such ties, and the value leaves them out.

    Attributes
    ----------
    n_classes : int
        Of the pilot.
    exact : bool
        False where lists of rivals were cut.
    rows : pair of (losses, weights)
        The fewest and the most losses that the probes may have, ascending, and their weights.

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
        self.rows = best, (_ascending(worst, table.weights) if self.censored else best)
        self._bounds = self.rows
        if table.bounds is not None:
            fewest, most = table.bounds
            self._bounds = _ascending(*fewest), _ascending(*most)

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Average of a metric among k of the pilot's classes."""
        measure = resolve_metric(metric)
        return _certain(k, self._middle(k, measure.of_losses), measure)

    def bounds(self, k: Any, metric: str | Metric = ACCURACY) -> tuple[Floats, Floats]:
        """Lower and upper bound of a metric; equal unless lists were cut."""
        measure = resolve_metric(metric)
        lower, upper = self._both(self._bounds, k, measure.of_losses)
        return _certain(k, lower, measure), _certain(k, upper, measure)

    def accuracy(self, k: Any) -> Floats:
        """Average accuracy among k of the pilot's classes."""
        return self.value(k)

    def top(self, m: int, k: Any) -> Floats:
        """Average chance that the true class is among the best m of k classes."""
        return self.value(k, Top(m))

    def mean_reciprocal_rank(self, k: Any) -> Floats:
        """Average of one over the rank of the true class among k classes."""
        return self.value(k, MRR)

    def median_rank(self, k: Any) -> Floats:
        """Smallest m for which the true class is among the best m of k at least half the time."""
        counts = class_counts_within(k, self.n_classes)
        ranks = np.array([self._median_rank(int(count)) for count in counts.ravel()])
        return ranks.reshape(counts.shape)

    def _median_rank(self, k: int) -> float:
        # Averages of weights that sum to one only up to round-off.
        return 1.0 + last_where(lambda m: self.top(m, k) < 0.5 - 1e-12, 0, k)

    def _both(
        self, rows: tuple[LossRows, LossRows], k: Any, average: Average
    ) -> tuple[Floats, Floats]:
        """Averages over the rows of the most and of the fewest losses."""
        counts = class_counts_within(k, self.n_classes)
        fewest, most = rows
        upper = self._evaluate(fewest, counts, average)
        return upper if most is fewest else self._evaluate(most, counts, average), upper

    def _evaluate(self, rows: LossRows, counts: NDArray[np.int64], average: Average) -> Floats:
        values = np.empty(counts.size)
        flat = counts.ravel()

        def work(i: int) -> None:
            values[i] = average(*rows, self.table.n_rivals, int(flat[i]))

        for_each(work, range(flat.size), task="Averaging over sub-tasks")
        return values.reshape(counts.shape)

    def _middle(self, k: Any, average: Average) -> Floats:
        lower, upper = self._both(self.rows, k, average)
        return lower + (upper - lower) / 2


class ObservedGroups(Observed):
    """What a pilot says about fewer classes where they come in whole groups.

    The average over all sets of g of its G groups is exact (`headcount.pilot.whole_groups`). Sets
    of g groups have g K / G classes on average; between those the curve is straight.

    Parameters
    ----------
    table : LossTable
        How many groups beat each probe that no class of its own group beats.
    n_classes : int
        Classes of the pilot.
    share : float
        Weight of those probes.
    """

    def __init__(self, table: LossTable, n_classes: int, share: float) -> None:
        super().__init__(table)
        self.n_groups, self.n_classes, self.share = table.n_rivals + 1, n_classes, share

    def value(self, k: Any, metric: str | Metric = ACCURACY) -> Floats:
        """Average accuracy among the classes of some of the pilot's groups."""
        refuse_other_metric(resolve_metric(metric))
        counts = class_counts_within(k, self.n_classes)

        def among(groups: Floats) -> Floats:
            inside = np.minimum(groups, self.n_groups).astype(np.int64)
            return self._evaluate(self.rows[1], inside, ACCURACY.of_losses)

        means = of_groups(counts, self.n_classes, self.n_groups, self.share, among)
        return np.minimum(means, 1.0)

    def bounds(self, k: Any, metric: str | Metric = ACCURACY) -> tuple[Floats, Floats]:
        """Return the value twice: nothing is left open."""
        value = self.value(k, metric)
        return value, value


def _certain(k: Any, values: Floats, metric: Metric) -> Floats:
    """Return values without the round-off of weights: past what there is, or where one is sure."""
    return np.where(np.asarray(k) <= metric.certain, 1.0, np.minimum(values, metric.range[1]))


def _ascending(losses: NDArray[np.int64], weights: Floats) -> LossRows:
    order = np.argsort(losses, kind="stable")
    return losses[order], weights[order]
