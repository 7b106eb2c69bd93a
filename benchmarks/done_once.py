"""How much work a forecast with intervals, a comparison and a report do, as counts and ratios.

    python benchmarks/done_once.py --people 300 --photos 4

Counted: fits to the whole pilot and jackknifes of it, which should be one a pilot. Processor time:
of a forecast over that of its fits alone, whose number and sizes are given by the back-test; and of
a report over that of one pass over the probes (the table of losses of a pilot as large).
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from headcount import HeadcountWarning, Pilot, compare, forecast
from headcount.estimators.auto.auto import Auto
from headcount.support.workers import watching

PAIRS = "Leaving out pairs of classes"


class Counting(Auto):
    """The default, which notes the sizes of pilots and the processor time of its fits."""

    sizes: ClassVar[list[int]] = []
    seconds: ClassVar[list[float]] = []

    def fit(self, pilot: Pilot) -> Counting:
        """Learn from a pilot."""
        start = time.process_time()
        super().fit(pilot)
        self.seconds.append(time.process_time() - start)
        self.sizes.append(pilot.n_classes)
        return self


def main() -> None:
    """Run all cases and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--photos", type=int, default=4, help="of each of them")
    parser.add_argument("--probes", type=int, default=300_000, help="in the report")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    first, second = (faces(arguments.people, arguments.photos, spread) for spread in (0.25, 0.28))
    large = 10 * arguments.people
    forecast(faces(20, 2, 0.25), classes=40)  # compiles
    print_fits(
        "forecast", arguments.people, lambda: forecast(first, classes=large, method=Counting())
    )
    both = {"one": first, "two": second}
    print_fits("compare", arguments.people, lambda: compare(both, large, method=Counting()))
    report(arguments.probes)


def faces(people: int, photos: int, spread: float) -> Pilot:
    """Return a pilot of points around the centres of classes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(people, 64)) / 8
    labels = np.repeat(np.arange(people), photos)
    probes = centres[labels] + spread * rng.normal(size=(len(labels), 64))
    return Pilot.from_scores(probes @ centres.T, labels)


def print_fits(name: str, n_classes: int, work: Callable[[], Any]) -> None:
    """Print what a piece of work did."""
    ended: Counter[str] = Counter()

    def note(task: str, done: int, total: int) -> None:
        ended[task] += done == total

    Counting.sizes.clear()
    Counting.seconds.clear()
    start = time.process_time()
    with watching(note):
        work()
    spent = time.process_time() - start
    whole = Counting.sizes.count(n_classes)
    print(
        f"{name}: {whole} fits to whole pilots, {ended[PAIRS]} jackknifes, "
        f"{len(Counting.sizes)} fits; {spent / sum(Counting.seconds):.2f} times the fits alone",
        flush=True,
    )


def report(n_probes: int) -> None:
    """Print what a report of many probes takes."""
    rng = np.random.default_rng(0)
    n_classes = n_probes // 30
    losses = np.minimum((rng.pareto(0.5, n_probes) * 0.5).astype(np.int64), n_classes - 1)
    pilot = Pilot.from_losses(losses, n_classes, labels=rng.integers(0, n_classes, n_probes))
    start = time.process_time()
    pilot.table()
    once = time.process_time() - start
    result = forecast(pilot, classes=10 * n_classes, method="no-change", intervals=False)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        result.save(Path(folder, "report.html"))
        spent = time.process_time() - start
    print(f"report of {n_probes:,} probes: {spent / once:.1f} times one pass over them", flush=True)


if __name__ == "__main__":
    main()
