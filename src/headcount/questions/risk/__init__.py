"""Average risk: what mistakes cost, for any cost and any prior (paper 004).

Public: what `__all__` lists. All else is internal.
"""

from headcount.questions.risk.answers import RiskForecast
from headcount.questions.risk.backtest import RiskBacktest, backtest_risk
from headcount.questions.risk.cost_files import load_cost
from headcount.questions.risk.costs import Cost, as_cost
from headcount.questions.risk.covariance import curve_covariance
from headcount.questions.risk.forecasting import forecast_risk
from headcount.questions.risk.observed import ObservedRisk, observe_risk, observed_risk
from headcount.questions.risk.priors import as_priors, prior_weights, with_priors
from headcount.questions.risk.ranks import cost_by_place, place_chances, risk_from_places
from headcount.questions.risk.tasks import task_normalised_risk

__all__ = [
    "Cost",
    "ObservedRisk",
    "RiskBacktest",
    "RiskForecast",
    "as_cost",
    "as_priors",
    "backtest_risk",
    "cost_by_place",
    "curve_covariance",
    "forecast_risk",
    "load_cost",
    "observe_risk",
    "observed_risk",
    "place_chances",
    "prior_weights",
    "risk_from_places",
    "task_normalised_risk",
    "with_priors",
]
