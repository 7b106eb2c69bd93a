"""Methods that learn the law of favorability from a pilot, one a file."""

from headcount.estimators.base import Extrapolator
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.registry import METHODS, resolve
from headcount.estimators.regression import Regression, SplineRegression

__all__ = [
    "METHODS",
    "Extrapolator",
    "ProbitNormal",
    "Regression",
    "SplineRegression",
    "resolve",
]
