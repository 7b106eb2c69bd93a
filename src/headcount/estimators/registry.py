"""Names of the methods."""

from __future__ import annotations

from sklearn.base import clone

from headcount.errors import ParameterError
from headcount.estimators.auto import Auto
from headcount.estimators.base import Extrapolator
from headcount.estimators.cleanex import CleaneX
from headcount.estimators.cleanex_fast import CleaneXFast
from headcount.estimators.exponential import Exponential
from headcount.estimators.high_dimensional import HighDimensional
from headcount.estimators.kde import Kde
from headcount.estimators.polynomial import Polynomial, PolynomialPositive
from headcount.estimators.practice import (
    BetaBinomial,
    ExponentialInLog,
    LogLinear,
    NoChange,
    PooledFalseMatch,
)
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.pseudolikelihood import Pseudolikelihood
from headcount.estimators.regression import Regression, SplineRegression
from headcount.estimators.score_tail import ScoreTail

METHODS: dict[str, type[Extrapolator]] = {
    method.alias: method
    for method in (
        Auto,
        ProbitNormal,
        Kde,
        Regression,
        SplineRegression,
        Exponential,
        Pseudolikelihood,
        HighDimensional,
        Polynomial,
        PolynomialPositive,
        NoChange,
        LogLinear,
        ExponentialInLog,
        PooledFalseMatch,
        BetaBinomial,
        ScoreTail,
        CleaneX,
        CleaneXFast,
    )
}
DEFAULT = Auto.alias


def resolve(method: str | Extrapolator, random_state: int | None = None) -> Extrapolator:
    """Return an unfitted estimator for an alias, or for an instance (cloned).

    Parameters
    ----------
    method : str or Extrapolator
        An alias of `METHODS`, ``"auto"`` being the default, or an estimator with own options.
    random_state : int, optional
        Given to methods made from an alias that draw random numbers.
    """
    if isinstance(method, Extrapolator):
        copy: Extrapolator = clone(method)
        return copy
    if method not in METHODS:
        raise ParameterError(
            f"unknown method {method!r}; choose one of {', '.join(sorted(METHODS))}."
        )
    estimator = METHODS[method]()
    if random_state is not None and "random_state" in estimator.get_params():
        estimator.set_params(random_state=random_state)
    return estimator
