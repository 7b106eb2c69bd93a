"""Sets that grow: the pilot's classes stay, and new ones join them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed
from headcount.curves.predicted import PredictedCurve
from headcount.errors import UnsupportedError
from headcount.metrics import ACCURACY, Metric
from headcount.support.grids import grown_counts

Floats = NDArray[np.float64]


def grown_value(
    observed: Observed, law: Favorability | PredictedCurve, k: Any, metric: Metric = ACCURACY
) -> Floats:
    r"""Return a metric on a set of k classes that holds the K of the pilot.

    A probe of one of the pilot's classes keeps the rivals that it met. What it lost to them is
    known; to the k - K newcomers it loses as the law has it for probes with so many losses. The
    probes of the newcomers are like any others among k classes. So accuracy is

    .. math:: \frac{K}{k} \, \hat A(K) \, E\big[U^{k - K} \mid \text{no losses}\big]
              + \frac{k - K}{k} \, E\big[U^{k - 1}\big],
              \qquad E\big[U^{k - K} \mid \text{no losses}\big]
              = \frac{E[U^{k - 1}]}{E[U^{K - 1}]},

    with the measured accuracy A(K). It is what was measured at K. If the law agrees with that, it
    is the law's accuracy among any k; else the gap counts by the pilot's share of the classes.
    Newcomers are taken to have probes as often as the pilot's classes do.

    Parameters
    ----------
    observed : Observed
        What the pilot says; the middle of its bounds where lists of rivals were cut.
    law : Favorability
        The fitted law. A bare curve is refused.
    k : int or sequence of int
        Numbers of classes, K or more.
    metric : Metric
        What is forecast.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for recognition tasks*, §7,
    leaves the overlap of the two sets open.

    Examples
    --------
    Half of the probes beat all three rivals, though by the law only three in ten do:

    >>> from headcount import Favorability, Pilot, observe
    >>> observed, law = observe(Pilot.from_losses([0, 1], 4)), Favorability([0, 1], [0.3, 0.7])
    >>> grown_value(observed, law, [4, 8, 4000]).round(3).tolist()
    [0.5, 0.4, 0.3]
    """
    n_classes = observed.n_classes
    counts = grown_counts(k, n_classes)
    if not isinstance(law, Favorability):
        raise UnsupportedError(
            "this method gives no law of favorability, so it cannot say how the pilot's own probes "
            "fare once classes join; choose another method for kind='grown_set'."
        )
    upper, lower = (
        metric.of_grown(*rows, n_classes - 1, law, counts - n_classes) for rows in observed.rows
    )
    share = n_classes / counts
    stay = np.minimum(lower + (upper - lower) / 2, 1.0)  # weights sum to one but for round-off
    return np.asarray(share * stay + (1 - share) * law.value(counts, metric))
