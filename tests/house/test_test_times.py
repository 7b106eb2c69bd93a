"""How the time of `make test` comes into tests/README.md."""

from pathlib import Path

import pytest

from scripts import write_test_times

LOG = """
============================= slowest 25 durations =============================
12.31s call     tests/cli/test_cli.py::test_demo[a b | c]
2.00s setup    tests/display/test_report.py::test_page

(23 durations < 0.005s hidden.)
================= 3410 passed, 12 skipped in 245.60s (0:04:05) =================
"""
PAGE = f"# Tests\n\n{write_test_times.BEGIN}old\n{write_test_times.END}last\n"


def test_time_and_slowest_tests_stand_between_the_marks():
    page = write_test_times.filled(PAGE, LOG)
    assert page.startswith("# Tests\n\n") and page.endswith("last\n") and "old" not in page
    assert "246 s on " in page and "3410 passed, 12 skipped" in page
    assert "12.31s call     tests/cli/test_cli.py::test_demo[a b | c]\n2.00s setup" in page
    assert write_test_times.filled(page, LOG) == page


@pytest.mark.parametrize("log", ["", LOG.replace("3410 passed", "1 failed, 3409 passed")])
def test_a_log_without_times_or_with_failures_is_refused(log):
    with pytest.raises(SystemExit, match="make test-times"):
        write_test_times.filled(PAGE, log)


def test_the_page_has_a_place_for_the_times():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert "246 s on " in write_test_times.filled(text, LOG)
