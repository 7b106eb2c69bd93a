"""What a forecast takes, as times one pass over the scores (`scores.max()`), in one run.

    python benchmarks/forecast.py

Without intervals, and with intervals and the back-test they come with. After compilation; the best
of several rounds counts, and the pass over memory takes turns with the forecast.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from headcount import HeadcountWarning, Pilot, forecast

SIZES = ((5_000, 500), (12_000, 3_000), (100_000, 60))  # probes and classes
N_DIMS, NOISE = 12, 0.8


def main() -> None:
    """Run all cases and print a row each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore", HeadcountWarning)
    forecast(make_pilot(*scores_of(200, 40)), classes=80)  # compiles
    print("| probes, classes | seconds alone | with back-test | passes alone | with back-test |")
    print("| --- | --- | --- | --- | --- |")
    for n_probes, n_classes in SIZES:
        scores, labels = scores_of(n_probes, n_classes)
        times = [
            [seconds(scores.max)]
            + [
                # A pilot of its own, as it remembers what was counted.
                seconds(ask, make_pilot(scores, labels), n_classes, intervals)
                for intervals in (False, True)
            ]
            for _ in range(rounds)
        ]
        once, alone, tested = np.min(times, axis=0)
        print(
            f"| {n_probes:,}, {n_classes:,} | {alone:.2g} | {tested:.2g} "
            f"| {alone / once:,.0f} | {tested / once:,.0f} |",
            flush=True,
        )


def scores_of(n_probes: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and labels of points around the centres of classes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, N_DIMS))
    labels = np.repeat(np.arange(n_classes), -(-n_probes // n_classes))[:n_probes]
    points = centres[labels] + NOISE * rng.normal(size=(n_probes, N_DIMS))
    scores = 2 * points @ centres.T - np.square(centres).sum(axis=1)
    return scores.astype(np.float32), labels


def make_pilot(scores: np.ndarray, labels: np.ndarray) -> Pilot:
    """Return a pilot that has not counted anything yet."""
    return Pilot.from_scores(scores, labels)


def ask(pilot: Pilot, n_classes: int, intervals: bool) -> None:
    """Forecast ten times as many classes."""
    forecast(pilot, classes=10 * n_classes, intervals=intervals)


def seconds(work: Callable[..., Any], *arguments: Any) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
