r"""Laws that are as plausible as the forecast one: what is known of its errors.

The network states a curve and the spread of its errors, on the logit scale at some k / K. How
errors go together along the curve was learned once for all pilots (`factor`, and a Student's law
for their tails). So each of 128 fixed points (`headcount.curves.laws.points`) gives a curve, and
each curve the law of U nearest to the fit. Intervals of any metric are quantiles over these laws.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from headcount.curves.favorability import Favorability
from headcount.curves.laws import Laws, points
from headcount.estimators.auto.projection import CLOSE, closest_law, closest_weights

Floats = NDArray[np.float64]

LOOSE = 0.15
FEWER = 8.0  # from each number of classes to the next, where the curve was measured


def laws_around(
    law: Favorability, counts: Floats, odds: Floats, spread: Floats, factor: Floats, freedom: float
) -> tuple[Favorability, Laws]:
    """Return the law nearest to `law` that has a curve, and those whose curves are as plausible.

    Parameters
    ----------
    law : Favorability
        The fit.
    counts, odds, spread : ndarray
        Numbers of classes, log odds of the accuracies there, and the spread of their errors.
    factor : ndarray
        Of the covariance of errors in units of their spread.
    freedom : float
        Degrees of freedom of Student's law that they follow.
    """
    errors = points(len(counts), freedom) @ factor.T * spread
    curves = expit(np.vstack([odds, odds + errors]))
    curves = np.minimum.accumulate(curves, axis=1)
    fewer = counts[0] / FEWER ** np.arange(1, 30)
    fewer = fewer[fewer >= 2]
    plain = np.exp(np.multiply.outer(fewer - 1, law.log_u)) @ law.weights
    both = np.hstack([np.broadcast_to(plain, (len(curves), len(fewer))), curves])
    # Of numbers of classes that are the same the last: what is known best is that at K.
    distinct, from_end = np.unique(np.concatenate([fewer, counts])[::-1], return_index=True)
    wanted = both[:, ::-1][:, from_end]
    best = closest_law(law, distinct, wanted[0])
    # The others need be no closer to their curves than a part of what these differ by.
    close = np.maximum(CLOSE, LOOSE * wanted[1:].std(axis=0))
    return best, Laws(law.p, closest_weights(law, distinct, wanted[1:], close))
