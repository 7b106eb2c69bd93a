"""How much less work `cleanex-fast` is than `cleanex`: processor time on one pilot, in one run.

5,000 probes, 500 classes. The 10,000 iterations of `cleanex` all do the same, so that fifty are
timed and multiplied. Needs the extra `torch`; run as ``python benchmarks/cleanex.py``.
"""

from __future__ import annotations

import time

from headcount import simulate
from headcount.estimators import CleaneX, CleaneXFast
from headcount.estimators.base import Extrapolator
from headcount.pilot.pilot import Pilot

FEW = 50


def spent(estimator: Extrapolator, pilot: Pilot) -> float:
    """Return the processor time of a fit, over all cores."""
    start = time.process_time()
    estimator.fit(pilot)
    return time.process_time() - start


def main() -> None:
    """Print both times and their ratio."""
    print("| sigma2 | cleanex, s | cleanex-fast, s | ratio |\n| --- | --- | --- | --- |")
    for sigma2 in (0.1, 0.2):
        pilot = simulate.points_around_classes(500, sigma2=sigma2, random_state=0).pilot
        # The first fit also loads torch and warms up; the difference leaves the set-up out.
        spent(CleaneX(iterations=1, device="cpu"), pilot)
        setup = spent(CleaneX(iterations=1, device="cpu"), pilot)
        each = (spent(CleaneX(iterations=FEW + 1, device="cpu"), pilot) - setup) / FEW
        slow = setup + each * CleaneX().iterations
        fast = spent(CleaneXFast(device="cpu"), pilot)
        print(f"| {sigma2} | {slow:,.0f} | {fast:.1f} | {slow / fast:.0f} |", flush=True)


if __name__ == "__main__":
    main()
