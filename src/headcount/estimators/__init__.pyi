# The methods, listed once. The registry, `headcount methods`, the documentation and the tests of
# the contract go by this list; `__init__.py` loads each name from its home on first use.
from headcount.estimators.auto.auto import Auto as Auto
from headcount.estimators.base import Extrapolator as Extrapolator
from headcount.estimators.baselines import BetaBinomial as BetaBinomial
from headcount.estimators.baselines import ExponentialInLog as ExponentialInLog
from headcount.estimators.baselines import LogLinear as LogLinear
from headcount.estimators.baselines import NoChange as NoChange
from headcount.estimators.baselines import PooledFalseMatch as PooledFalseMatch
from headcount.estimators.bent_normal import BentNormal as BentNormal
from headcount.estimators.cleanex.cleanex import CleaneX as CleaneX
from headcount.estimators.cleanex.fast import CleaneXFast as CleaneXFast
from headcount.estimators.exponential import Exponential as Exponential
from headcount.estimators.high_dimensional import HighDimensional as HighDimensional
from headcount.estimators.kde import Kde as Kde
from headcount.estimators.probit_normal import ProbitNormal as ProbitNormal
from headcount.estimators.pseudolikelihood import Pseudolikelihood as Pseudolikelihood
from headcount.estimators.published import Exponentials003 as Exponentials003
from headcount.estimators.published import FiveSplines004 as FiveSplines004
from headcount.estimators.published import LogRegression004 as LogRegression004
from headcount.estimators.published import PositiveSplines004 as PositiveSplines004
from headcount.estimators.registry import METHODS as METHODS
from headcount.estimators.registry import resolve as resolve
from headcount.estimators.regression import Regression as Regression
from headcount.estimators.regression import SplineRegression as SplineRegression
from headcount.estimators.score_tail import ScoreTail as ScoreTail
