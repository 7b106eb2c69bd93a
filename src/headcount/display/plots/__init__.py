"""Pictures, one Display each; drawing needs the extra `plot`, the data behind them does not.

Every Display is made by a class method (`from_forecast`, `from_pilot`, ...), gives what it draws
with `frame()`, draws with `plot(ax=None)` and writes a file with `save(path)`.
"""

from headcount.display.plots.accuracy import AccuracyDisplay
from headcount.display.plots.backtest import BacktestDisplay
from headcount.display.plots.capacity import CapacityDisplay
from headcount.display.plots.classes import ClassesDisplay
from headcount.display.plots.cmc import CMCDisplay
from headcount.display.plots.comparison import ComparisonDisplay, LeadDisplay
from headcount.display.plots.discriminability import DiscriminabilityDisplay
from headcount.display.plots.display import Display
from headcount.display.plots.reversed_roc import ReversedROCDisplay
from headcount.display.plots.style import BLUE, GREY, ORANGE, check_picture

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
    "DiscriminabilityDisplay",
    "Display",
    "LeadDisplay",
    "ReversedROCDisplay",
    "check_picture",
]
