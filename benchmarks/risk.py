"""How long the exact risk curve takes: 5,000 probes, 1,000 classes, every number of classes.

Run with ``python benchmarks/risk.py``. Prints a Markdown table of seconds, the best of three rounds
after one to compile; at most 5 s are allowed for each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from headcount import Pilot
from headcount.questions.risk import observed_risk

N_CLASSES, PER_CLASS = 1000, 5


def pilots() -> Iterator[tuple[str, Pilot]]:
    """Yield pilots that are easy, hard and full of ties."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_CLASSES), PER_CLASS)
    for story, lead, levels in (
        ("true class ahead", 2.5, None),
        ("true class behind most", -2.0, None),
        ("half a dozen distinct scores", 2.0, 1),
    ):
        scores = rng.normal(size=(len(labels), N_CLASSES))
        scores[np.arange(len(labels)), labels] += lead
        if levels:
            scores = np.round(levels * scores)
        yield story, Pilot.from_scores(scores, labels, higher_is_better=True)


def costs() -> Iterator[tuple[str, Any]]:
    """Yield a cost of each kind."""
    rng = np.random.default_rng(1)
    dense = rng.random((N_CLASSES, N_CLASSES))
    np.fill_diagonal(dense, 0)
    place = rng.normal(size=N_CLASSES)
    ones = np.ones(N_CLASSES)
    yield "zero-one", "zero-one"
    yield "matrix", dense
    yield "sparse", sparse.csr_array(dense * (dense > 0.99))
    yield "pair", (np.c_[place**2, -2 * place, ones], np.c_[ones, place, place**2])
    yield "function", lambda true, answer: abs(true - answer)
    groups = np.arange(N_CLASSES).reshape(10, 10, -1).tolist()
    yield "hierarchy", {f"{i}": {f"{j}": leaf for j, leaf in enumerate(group)}
                        for i, group in enumerate(groups)}  # fmt: skip


def seconds(pilot: Pilot, cost: Any) -> float:
    """Return the best of three rounds, after one to compile."""
    times = []
    for _ in range(4):
        start = time.perf_counter()
        observed_risk(pilot, cost)
        times.append(time.perf_counter() - start)
    return min(times[1:])


if __name__ == "__main__":
    print("| pilot | cost | seconds |\n| --- | --- | --- |")
    for story, pilot in pilots():
        for kind, cost in costs():
            print(f"| {story} | {kind} | {seconds(pilot, cost):.2f} |")
