"""What a forecast takes, as times one pass over the scores (`scores.max()`), in one run.

    python benchmarks/forecast.py
    python benchmarks/forecast.py --metrics

Without intervals, and with intervals and the back-test they come with. After compilation; the best
of several rounds counts, and the pass over memory takes turns with the forecast.

With `--metrics`: what a forecast of another metric takes, as times that of accuracy from the same
pilot; processor time, in turns. One pilot has scores, the other queries with several documents.
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
METRICS = ("accuracy", "top-5", "mrr", "ndcg@10", "recall@5", "map")
Run = dict[str, dict[int, float]]


def main() -> None:
    """Run all cases and print a row each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--metrics", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    if options.metrics:
        compare_metrics(options.rounds)
    else:
        compare_with_passes(options.rounds)


def compare_with_passes(rounds: int) -> None:
    """Print what forecasts of accuracy take."""
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


def compare_metrics(rounds: int) -> None:
    """Print what other metrics take, over what accuracy takes."""
    scores, labels = scores_of(5_000, 500)
    run, qrels = run_of(200, 2_000, 5)
    pilots: dict[str, Callable[[], Pilot]] = {
        "5,000 probes, 500 classes": lambda: make_pilot(scores, labels),
        "200 queries, 5 graded documents among 2,000": lambda: Pilot.from_run(
            run, qrels, n_classes=2_000
        ),
    }
    print("| pilot | metric | seconds alone | with back-test | times accuracy | with back-test |")
    print("| --- | --- | --- | --- | --- | --- |")
    for title, make in pilots.items():
        for name in METRICS:
            ask(make(), 2_000, True, name)  # compiles
        times = [
            [
                [work_of(ask, make(), 2_000, intervals, name) for intervals in (False, True)]
                for name in METRICS
            ]
            for _ in range(rounds)
        ]
        best = np.min(times, axis=0)
        for name, (alone, tested), ratios in zip(METRICS, best, best / best[0], strict=True):
            print(
                f"| {title} | {name} | {alone:.2f} | {tested:.2f} "
                f"| {ratios[0]:.2f} | {ratios[1]:.2f} |",
                flush=True,
            )


def run_of(n_queries: int, n_documents: int, n_graded: int) -> tuple[Run, Run]:
    """Return scores of all documents for each query, and the grades of a few that score high."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n_queries, n_documents))
    grades = rng.integers(1, 4, size=(n_queries, n_graded))
    scores[:, :n_graded] += 2 + 0.3 * grades + 0.6 * rng.normal(size=(n_queries, 1))
    run = {f"q{query}": dict(enumerate(row)) for query, row in enumerate(scores.tolist())}
    return run, {f"q{query}": dict(enumerate(row)) for query, row in enumerate(grades.tolist())}


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


def ask(pilot: Pilot, n_classes: int, intervals: bool, metric: str = "accuracy") -> None:
    """Forecast ten times as many classes."""
    forecast(pilot, classes=10 * n_classes, intervals=intervals, metric=metric)


def seconds(work: Callable[..., Any], *arguments: Any) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def work_of(work: Callable[..., Any], *arguments: Any) -> float:
    """Return how much processor time a piece of work takes."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


if __name__ == "__main__":
    main()
