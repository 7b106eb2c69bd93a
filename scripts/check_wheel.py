"""Check what was built: the wheel holds what a user needs, no more, and its command runs.

python scripts/check_wheel.py dist build/wheel

The first folder holds the wheel and the sdist; the second is an environment that holds nothing but
the wheel and what it needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).parents[1] / "src"
# What is no Python module is forgotten most easily.
NEEDED = (
    "headcount/__init__.pyi",
    "headcount/py.typed",
    "headcount/datasets/hangul.npz",
    "headcount/display/report/assets/page.js",
    "headcount/display/report/assets/style.css",
    "headcount/display/report/templates/page.html.j2",
    "headcount/estimators/__init__.pyi",
    "headcount/estimators/auto/weights.npz",
)


def problems(files: set[str], sources: set[str]) -> list[str]:
    """Return what is wrong with the files of a wheel, one line each.

    Parameters
    ----------
    files : set of str
        Files in the wheel.
    sources : set of str
        Files of the package, as they should be in the wheel.
    """
    about = {name for name in files if name.split("/")[0].endswith(".dist-info")}
    missing = sorted((sources | set(NEEDED)) - files)
    beside = sorted(files - about - sources)
    return [f"{name}: missing" for name in missing] + [
        f"{name}: does not belong there" for name in beside
    ]


def source_files() -> set[str]:
    """Return the files of the package, as paths inside a wheel."""
    files = (path for path in (SOURCES / "headcount").rglob("*") if path.is_file())
    return {p.relative_to(SOURCES).as_posix() for p in files if "__pycache__" not in p.parts}


def run_command(environment: Path) -> None:
    """Run the installed command away from the sources: its version, the methods, a forecast."""
    command = environment.resolve() / "bin/headcount"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        losses = [0] * 80 + [1] * 10 + [4] * 10
        np.savez(Path(folder, "pilot.npz"), losses=losses, n_classes=100)
        for line in ("--version", "methods", "forecast pilot.npz --classes 1000 --no-intervals"):
            print(f"$ headcount {line}", flush=True)
            subprocess.run([command, *line.split()], cwd=folder, env=clean, check=True)


def main() -> int:
    """Print what is wrong, then run the command; 1 if anything is wrong."""
    folder, environment = map(Path, sys.argv[1:])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    for built in (wheel, sdist):
        print(f"{built.name}: {built.stat().st_size / 1e6:.1f} MB")
    with zipfile.ZipFile(wheel) as opened:
        faults = problems(set(opened.namelist()), source_files())
    if faults:
        print("\n".join(faults))
        return 1
    run_command(environment)
    print("The wheel holds the package and nothing else, and its command runs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
