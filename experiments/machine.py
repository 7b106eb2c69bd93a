"""What a run was made on, for the record."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from headcount import __version__
from headcount.support.workers import thread_count

PACKAGES = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of headcount and of what its numbers come from.

    Examples
    --------
    >>> sorted(versions())
    ['headcount', 'numpy', 'scikit-learn', 'scipy']
    """
    by_package = {"headcount": __version__}
    for name in PACKAGES:
        try:
            by_package[name] = version(name)
        except PackageNotFoundError:
            by_package[name] = "unknown"
    return by_package


def machine() -> dict[str, str | int]:
    """Describe the machine, without its name or anything of its owner's."""
    return {
        "processor": _processor(),
        "cores": thread_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
