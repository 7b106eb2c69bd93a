"""Pictures, one Display each; drawing needs the extra `plot`, the data behind them does not.

Every Display is made by a class method (`from_forecast`, `from_pilot`, ...), gives what it draws
with `frame()`, draws with `plot(ax=None)` and writes a file with `save(path)`.
"""

from headcount.display.plots.backtest import BacktestDisplay
from headcount.display.plots.capacity import CapacityDisplay
from headcount.display.plots.classes import ClassesDisplay
from headcount.display.plots.cmc import CMCDisplay
from headcount.display.plots.comparison import ComparisonDisplay
from headcount.display.plots.curve import CurveDisplay
from headcount.display.plots.discriminability import DiscriminabilityDisplay
from headcount.display.plots.display import Display
from headcount.display.plots.lead import LeadDisplay
from headcount.display.plots.reversed_roc import ReversedROCDisplay
from headcount.display.plots.style import BLUE, GREY, ORANGE, check_picture

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "BacktestDisplay",
    "CMCDisplay",
    "CapacityDisplay",
    "ClassesDisplay",
    "ComparisonDisplay",
    "CurveDisplay",
    "DiscriminabilityDisplay",
    "Display",
    "LeadDisplay",
    "ReversedROCDisplay",
    "check_picture",
]
