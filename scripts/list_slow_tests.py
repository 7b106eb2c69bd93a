"""Write down which tests take seconds, from what pytest prints of their durations: `make slow`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADER = "# Tests that took over two seconds when `make slow` was last run; they are marked slow.\n"
# 2.31s call     tests/test_auto.py::test_shape_mass_and_order[3]
LINE = re.compile(r"^[\d.]+s (?:call|setup|teardown) +(\S+?::[^\s\[]+)", re.MULTILINE)


def main() -> None:
    """Read pytest's words from stdin and write the file named on the command line."""
    names = sorted(set(LINE.findall(sys.stdin.read())))
    if not names:
        raise SystemExit("no durations among these lines: run pytest with --durations=0")
    target = Path(sys.argv[1])
    draft = target.with_suffix(".draft")
    draft.write_text(HEADER + "\n".join(names) + "\n", encoding="utf-8")
    draft.replace(target)


if __name__ == "__main__":
    main()
