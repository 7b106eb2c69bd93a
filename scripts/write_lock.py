"""Write down which version of every package this environment has: `make lock`.

The file is used as a constraint (``pip install --constraint requirements.lock ...``), so that it
may name packages that a smaller installation does without.
"""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

HEADER = """\
# What `make demo` and `make test` install. Renew it with `make lock`, under the oldest Python that
# pyproject.toml allows, so that newer ones find these versions as well.
"""
OURS = "headcount"


def locked() -> list[str]:
    """Return a line for each package; builds of one version are not told apart (2.13.0+cpu)."""
    versions = {
        package.metadata["Name"].lower().replace("_", "-"): package.version.split("+")[0]
        for package in distributions()
    }
    versions.pop(OURS, None)
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def main() -> None:
    """Write the file named on the command line, at once."""
    target = Path(sys.argv[1])
    draft = target.with_suffix(".draft")
    draft.write_text(HEADER + "\n".join(locked()) + "\n", encoding="utf-8")
    draft.replace(target)


if __name__ == "__main__":
    main()
