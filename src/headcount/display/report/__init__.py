"""The report: one HTML page that answers first and can be passed on; needs the extra `report`.

`write_report` takes what headcount returns and writes the page. `contents.py` says what is on it,
`of_forecast.py`, `of_comparison.py` and `of_backtest.py` fill it, `embedding.py` turns curves into
data that the page can compute with, `reproduce.py` says how to make it again, and `rendering.py`
puts it together from `templates/` and `assets/`.
"""

from headcount.display.report.contents import Reproduction
from headcount.display.report.reproduce import of_command
from headcount.display.report.writing import check_report, write_report

__all__ = ["Reproduction", "check_report", "of_command", "write_report"]
