"""Forecast how well a recogniser will do when there are many more classes.

Measured on a pilot of K classes, forecast at k >> K:

>>> import headcount
>>> pilot = headcount.datasets.load_hangul().subset([chr(0xAC00 + 22 * i) for i in range(500)])
>>> print(headcount.forecast(pilot, classes=1000).sentences()[0])
At 1,000 classes: 86% (90% interval 83-90%).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount import datasets, estimators, simulate
    from headcount.display import report
    from headcount.questions import risk
    from headcount.simulate import theory
    from headcount.questions.forecast import Forecast
    from headcount.uncertainty.backtest import Backtest
    from headcount.uncertainty.backtest import backtest
    from headcount.questions.compare import compare
    from headcount.questions.compare import Comparison
    from headcount.errors import (
        AssumptionWarning,
        DataError,
        ExtrapolationWarning,
        HeadcountError,
        HeadcountWarning,
        MissingExtraError,
        OutputError,
        ParameterError,
        UnsupportedError,
    )
    from headcount.curves.favorability import Favorability
    from headcount.questions.forecast import forecast
    from headcount.pilot.loading import load
    from headcount.curves.observed import Observed, observe
    from headcount.curves.ordinary_roc import class_averaged_roc
    from headcount.pilot.pilot import Pilot
    from headcount.questions.plan import Plan, plan
    from headcount.questions.risk import RiskForecast, forecast_risk, observed_risk
    from headcount.curves.reversed_roc import ROCCurve, reversed_roc
    from headcount.questions.training import TrainingForecast, forecast_training

__version__ = "0.1.0"

# Where each public name lives. They are imported on first use, so that the command line answers
# --help and completes words without loading numba and scikit-learn.
_HOMES = {
    "AssumptionWarning": "errors",
    "Backtest": "backtest_result",
    "Comparison": "comparison",
    "DataError": "errors",
    "ExtrapolationWarning": "errors",
    "Favorability": "favorability",
    "Forecast": "answers",
    "HeadcountError": "errors",
    "HeadcountWarning": "errors",
    "MissingExtraError": "errors",
    "Observed": "observed",
    "OutputError": "errors",
    "ParameterError": "errors",
    "Pilot": "pilot",
    "Plan": "planning",
    "ROCCurve": "roc",
    "RiskForecast": "risk",
    "TrainingForecast": "training",
    "UnsupportedError": "errors",
    "backtest": "backtesting",
    "class_averaged_roc": "ordinary_roc",
    "compare": "comparing",
    "datasets": None,
    "estimators": None,
    "forecast": "forecasting",
    "forecast_risk": "risk",
    "forecast_training": "training",
    "load": "loading",
    "observe": "observed",
    "observed_risk": "risk",
    "plan": "planning",
    "report": None,
    "reversed_roc": "roc",
    "risk": None,
    "simulate": None,
    "theory": None,
}

__all__ = [
    "AssumptionWarning",
    "Backtest",
    "Comparison",
    "DataError",
    "ExtrapolationWarning",
    "Favorability",
    "Forecast",
    "HeadcountError",
    "HeadcountWarning",
    "MissingExtraError",
    "Observed",
    "OutputError",
    "ParameterError",
    "Pilot",
    "Plan",
    "ROCCurve",
    "RiskForecast",
    "TrainingForecast",
    "UnsupportedError",
    "__version__",
    "backtest",
    "class_averaged_roc",
    "compare",
    "datasets",
    "estimators",
    "forecast",
    "forecast_risk",
    "forecast_training",
    "load",
    "observe",
    "observed_risk",
    "plan",
    "report",
    "reversed_roc",
    "risk",
    "simulate",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        import_module(f"headcount.{name}")
        if home is None
        else getattr(import_module(f"headcount.{home}"), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
