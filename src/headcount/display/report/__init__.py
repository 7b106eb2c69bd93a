"""The report: one HTML page that answers first and can be passed on; needs the extra `report`.

`write_report` takes what headcount returns and writes the page. Nothing is fitted on the way.
`contents.py` says what is on a page, `pages/` fills it, one file a kind of answer, with the
tables of `tables.py`; `page_data.py` has the rows of curves that the page draws and looks values
up in, `reproduce.py` says how to make the page again, and `rendering.py` puts it together from
`templates/` and `assets/`.
"""

from headcount.display.report.contents import Reproduction
from headcount.display.report.reproduce import reproduce_command
from headcount.display.report.writing import check_report, write_report

__all__ = ["Reproduction", "check_report", "reproduce_command", "write_report"]
