"""Pictures, one Display each; drawing needs the extra `plot`, the data behind them does not.

Every Display is made by a class method (`from_forecast`, `from_pilot`, ...), gives what it draws
with `frame()`, draws with `plot(ax=None)` and writes a file with `save(path)`.
"""

from headcount.plotting.accuracy import AccuracyDisplay
from headcount.plotting.backtest import BacktestDisplay
from headcount.plotting.capacity import CapacityDisplay
from headcount.plotting.classes import ClassesDisplay
from headcount.plotting.cmc import CMCDisplay
from headcount.plotting.comparison import ComparisonDisplay, LeadDisplay
from headcount.plotting.coverage import CoverageDisplay
from headcount.plotting.discriminability import DiscriminabilityDisplay
from headcount.plotting.display import Display
from headcount.plotting.reversed_roc import ReversedROCDisplay
from headcount.plotting.style import BLUE, GREY, ORANGE, check_picture

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "AccuracyDisplay",
    "BacktestDisplay",
    "CMCDisplay",
    "CapacityDisplay",
    "ClassesDisplay",
    "ComparisonDisplay",
    "CoverageDisplay",
    "DiscriminabilityDisplay",
    "Display",
    "LeadDisplay",
    "ReversedROCDisplay",
    "check_picture",
]
