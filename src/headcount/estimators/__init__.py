"""Methods that learn the law of favorability from a pilot, one a file."""

from headcount.estimators.auto.auto import Auto
from headcount.estimators.base import Extrapolator
from headcount.estimators.baselines import (
    BetaBinomial,
    ExponentialInLog,
    LogLinear,
    NoChange,
    PooledFalseMatch,
)
from headcount.estimators.cleanex.cleanex import CleaneX
from headcount.estimators.cleanex.fast import CleaneXFast
from headcount.estimators.exponential import Exponential
from headcount.estimators.high_dimensional import HighDimensional
from headcount.estimators.kde import Kde
from headcount.estimators.polynomial import Polynomial, PolynomialPositive
from headcount.estimators.probit_normal import ProbitNormal
from headcount.estimators.pseudolikelihood import Pseudolikelihood
from headcount.estimators.registry import METHODS, resolve
from headcount.estimators.regression import Regression, SplineRegression
from headcount.estimators.score_tail import ScoreTail

__all__ = [
    "METHODS",
    "Auto",
    "BetaBinomial",
    "CleaneX",
    "CleaneXFast",
    "Exponential",
    "ExponentialInLog",
    "Extrapolator",
    "HighDimensional",
    "Kde",
    "LogLinear",
    "NoChange",
    "Polynomial",
    "PolynomialPositive",
    "PooledFalseMatch",
    "ProbitNormal",
    "Pseudolikelihood",
    "Regression",
    "ScoreTail",
    "SplineRegression",
    "resolve",
]
