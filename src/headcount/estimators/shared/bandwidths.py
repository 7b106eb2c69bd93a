"""Rules that choose how wide a kernel is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.estimators.shared import kernels
from headcount.support import validation

RULES = {
    "ucv": kernels.UCV,
    "bcv": kernels.BCV,
    "nrd0": kernels.NRD0,
    "pseudolikelihood": kernels.PSEUDOLIKELIHOOD,
}


def rule_number(rule: Any) -> int:
    """Return the number under which the compiled loops know a rule; refuse unknown ones."""
    return RULES[validation.choice(rule, "bandwidth", tuple(RULES))]


def bandwidth(values: Any, rule: str = "ucv") -> float:
    r"""Return the bandwidth of a Gaussian kernel estimate of the density of some values.

    ``"ucv"``, ``"bcv"``
        Unbiased and biased cross-validation, the same numbers as R's ``bw.ucv`` and ``bw.bcv``.
        With :math:`\delta_{ij} = (x_i - x_j)^2 / h^2` they minimise

        .. math::
           \frac{1}{n h \sqrt\pi} \Big(\frac12 + \frac1n \sum_{i<j}
           (e^{-\delta_{ij}/4} - \sqrt8\, e^{-\delta_{ij}/2})\Big), \qquad
           \frac{1}{2 n h \sqrt\pi} \Big(1 + \frac{1}{32 n} \sum_{i<j}
           (\delta_{ij}^2 - 12\,\delta_{ij} + 12)\, e^{-\delta_{ij}/4}\Big)

        for h between a tenth of and all of :math:`1.144\, s\, n^{-1/5}` (s the standard deviation),
        by Brent's search to a hundredth of that, with values rounded to 1,000 cells.
    ``"nrd0"``
        Silverman's rule :math:`0.9 \min(s, \text{IQR} / 1.34)\, n^{-1/5}` with R's ways out: s
        where the quartiles are equal, the value itself where all are, 1 where that is zero.
    ``"pseudolikelihood"``
        Maximum of the leave-one-out likelihood
        :math:`\prod_i \frac{1}{(n-1) h} \sum_{j \ne i} \varphi((x_i - x_j)/h)`. Repeated values
        reward h near zero; where there are any, no h below the least one of ``"ucv"`` is tried.
        More than 1,000 distinct values are put into about as many cells first.

    One value, or values that are all equal (but for ``"nrd0"``), give 0.

    Parameters
    ----------
    values : sequence of float
        In any order; finite.
    rule : {"ucv", "bcv", "nrd0", "pseudolikelihood"}
        Which rule.

    Returns
    -------
    float

    References
    ----------
    Scott and Terrell (1987), *Biased and unbiased cross-validation in density estimation*;
    Silverman (1986), *Density Estimation*, Eq. 3.31; Cao, Cuevas and González Manteiga (1994),
    *A comparative study of several smoothing methods in density estimation*; Brent (1973),
    *Algorithms for Minimization without Derivatives*, chapter 5.

    Examples
    --------
    >>> from headcount.estimators.shared.bandwidths import bandwidth
    >>> values = [2.1, 2.9, 3.3, 3.6, 4.4, 7.0]
    >>> [round(bandwidth(values, rule), 3) for rule in ("ucv", "nrd0", "pseudolikelihood")]
    [1.357, 0.563, 1.74]
    """
    number = rule_number(rule)
    ordered: NDArray[np.float64] = np.sort(np.array(values, dtype=np.float64).ravel())
    if len(ordered) == 0 or not np.isfinite(ordered).all():
        raise DataError("a bandwidth needs one value or more, all of them finite.")
    return float(kernels.bandwidth(ordered, number))
