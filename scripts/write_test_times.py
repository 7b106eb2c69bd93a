"""Write into tests/README.md what `make test` printed about its times: `make test-times`."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

BEGIN, END = "<!-- written by make test-times -->\n", "<!-- end -->\n"
# 2.31s call     tests/estimators/test_auto.py::test_shape_mass_and_order[3]
DURATION = re.compile(r"^[\d.]+s (?:call|setup|teardown) +\S+::.+$", re.MULTILINE)
# ===== 3,410 passed, 12 skipped in 245.10s (0:04:05) =====
SUMMARY = re.compile(r"^=* ?(\d+ passed.*?) in ([\d.]+)s", re.MULTILINE)


def section(log: str) -> str:
    """Return how long it took, on what machine, and the slowest tests."""
    durations, summary = DURATION.findall(log), SUMMARY.search(log)
    if summary is None or not durations:
        raise SystemExit("the log has no times of tests that all passed: run `make test-times`")
    count, seconds = summary.groups()
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    head = f"{float(seconds):.0f} s on {machine}: {count}. The slowest:"
    return "\n".join([head, "", "```text", *durations, "```", ""])


def filled(page: str, log: str) -> str:
    """Return a page with the section between its two marks renewed."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + section(log) + END + rest.split(END)[1]


def main() -> None:
    """Read the log from stdin and renew the page named on the command line."""
    page = Path(sys.argv[1])
    draft = page.with_suffix(".draft")
    draft.write_text(filled(page.read_text(encoding="utf-8"), sys.stdin.read()), encoding="utf-8")
    draft.replace(page)


if __name__ == "__main__":
    main()
