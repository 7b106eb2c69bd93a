# The public names of headcount, listed once: type checkers read this file, and `__init__.py` loads
# each name from where it says on first use.
from headcount import datasets as datasets
from headcount import estimators as estimators
from headcount import metrics as metrics
from headcount import simulate as simulate
from headcount.curves.favorability import Favorability as Favorability
from headcount.curves.observed import Observed as Observed
from headcount.curves.observed import observe as observe
from headcount.curves.ordinary_roc import class_averaged_roc as class_averaged_roc
from headcount.curves.reversed_roc import ROCCurve as ROCCurve
from headcount.curves.reversed_roc import reversed_roc as reversed_roc
from headcount.display import plots as plots
from headcount.display import report as report
from headcount.errors import AssumptionWarning as AssumptionWarning
from headcount.errors import DataError as DataError
from headcount.errors import ExtrapolationWarning as ExtrapolationWarning
from headcount.errors import HeadcountError as HeadcountError
from headcount.errors import HeadcountWarning as HeadcountWarning
from headcount.errors import MissingExtraError as MissingExtraError
from headcount.errors import OutputError as OutputError
from headcount.errors import ParameterError as ParameterError
from headcount.errors import UnsupportedError as UnsupportedError
from headcount.pilot import loading as loading
from headcount.pilot.loading import load as load
from headcount.pilot.mixes import by_popularity as by_popularity
from headcount.pilot.pilot import Pilot as Pilot
from headcount.questions import risk as risk
from headcount.questions.adaptation import Adaptation as Adaptation
from headcount.questions.adaptation import adaptation as adaptation
from headcount.questions.compare import Comparison as Comparison
from headcount.questions.compare import compare as compare
from headcount.questions.forecast import Forecast as Forecast
from headcount.questions.forecast import forecast as forecast
from headcount.questions.plan import Plan as Plan
from headcount.questions.plan import plan as plan
from headcount.questions.risk import RiskForecast as RiskForecast
from headcount.questions.risk import forecast_risk as forecast_risk
from headcount.questions.risk import observed_risk as observed_risk
from headcount.questions.training import TrainingForecast as TrainingForecast
from headcount.questions.training import forecast_training as forecast_training
from headcount.simulate import theory as theory
from headcount.uncertainty.backtest import Backtest as Backtest
from headcount.uncertainty.backtest import backtest as backtest

__version__: str
