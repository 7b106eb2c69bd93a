"""What to know before believing a forecast: one code, one sentence and one page section each.

Public: `Check`, which answers carry. All else is internal.
"""

from headcount.checks.check import Check
from headcount.checks.check_input import BacktestResult
from headcount.checks.fit import GAP
from headcount.checks.registry import CHECKS, Entry, finding, run_checks

__all__ = ["CHECKS", "GAP", "BacktestResult", "Check", "Entry", "finding", "run_checks"]
