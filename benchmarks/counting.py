"""How close counting comes to its limits: the bare matrix products, and one pass over memory.

Run with ``make bench``. Prints a Markdown table of ratios, all measured in this one run; the limit
and the engine take turns, and the best of several rounds counts for both.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from headcount import Pilot, observe
from headcount.counting import source_of_embeddings, source_of_scores
from headcount.support.workers import for_each, row_blocks, thread_count

Row = tuple[str, float, float, str]

# Blocks in which bare products are fast: about those that counting uses.
TILE_ROWS, TILE_COLUMNS = 512, 1024


def compare(work: Callable[[], Any], limit: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the best time of each, taking turns after one round to compile and warm up."""
    work()
    limit()
    times = [(_seconds(work), _seconds(limit)) for _ in range(rounds)]
    return min(a for a, _ in times), min(b for _, b in times)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_products(probes: np.ndarray, gallery: np.ndarray) -> None:
    """Compute every score in like blocks on the same threads, and look at none."""

    def work(rows: slice) -> None:
        x = probes[rows]
        tile = np.empty((len(x), TILE_COLUMNS), np.float32)
        for columns in row_blocks(len(gallery), TILE_COLUMNS):
            g = gallery[columns]
            np.matmul(x, g.T, out=tile if len(g) == TILE_COLUMNS else None)

    with threadpool_limits(1, user_api="blas"):
        for_each(work, row_blocks(len(probes), TILE_ROWS), task="products")


def embeddings(n_probes: int, n_classes: int, n_dims: int, rounds: int) -> list[Row]:
    """Compare counting from embeddings with the bare blocked products."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for noise, story in (
        (1.0, "true class far ahead"),
        (4.0, "true class in the crowd"),
    ):
        gallery = rng.standard_normal((n_classes, n_dims), dtype=np.float32)
        labels = rng.integers(0, n_classes, n_probes)
        probes = gallery[labels] + noise * rng.standard_normal((n_probes, n_dims), dtype=np.float32)
        classes = np.arange(n_classes)
        source = source_of_embeddings(probes, labels, "euclidean", gallery, classes)
        work, limit = compare(source.count, lambda p=probes, g=gallery: bare_products(p, g), rounds)
        size = f"{n_probes:,} x {n_classes:,} x {n_dims}"
        rows.append((f"embeddings {size}, {story}", work, limit, "1.25"))
    return rows


def matrices(n_probes: int, n_classes: int, rounds: int) -> list[Row]:
    """Compare counting from a score matrix with `scores.max()`."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_probes)
    rows: list[Row] = []
    for dtype in (np.float32, np.float64, np.int16):
        scores = (100 * rng.standard_normal((n_probes, n_classes))).astype(dtype)
        for order in "CF":
            stored = np.asarray(scores, order=order)
            source = source_of_scores(stored, labels, True)
            work, limit = compare(source.count, stored.max, rounds)
            name = (
                f"score matrix {n_probes:,} x {n_classes:,}, {np.dtype(dtype).name}, order {order}"
            )
            rows.append((name, work, limit, "1.5"))
    return rows


def curve() -> float:
    """Seconds for the observed curve at 200 values of k, a million probes and classes."""
    rng = np.random.default_rng(0)
    size = 1_000_000
    pilot = Pilot.from_losses((size * rng.beta(0.3, 8, size)).astype(int), size)
    ks = np.unique(np.geomspace(2, size, 200).astype(int))
    observe(pilot).accuracy(ks[:2])
    return _seconds(lambda: observe(pilot).accuracy(ks))


def machine() -> str:
    """Describe the machine."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.split(":")[1].strip() for line in stream if line.startswith("model name")]
        name = names[0] if names else name
    python = platform.python_version()
    return f"{name}, {thread_count()} cores, NumPy {np.__version__}, Python {python}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="share of the probes to time")
    options = parser.parse_args()
    rounds, share = options.rounds, options.share
    rows = embeddings(round(10_000 * share), 100_000, 128, rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows += matrices(round(20_000 * share), 5_000, 2 * rounds)
    print(f"Machine: {machine()}.\n")
    print("| what | times its limit | allowed |\n| --- | --- | --- |")
    for name, work, limit, allowed in rows:
        print(f"| {name} | {work / limit:.2f} | {allowed} |")
    print(f"\nPeak resident memory after the embeddings: {peak:.2f} GB (allowed: 1.5 GB).")
    print(f"Observed curve, 200 values of k, 1,000,000 probes and classes: {curve():.2f} s.")


if __name__ == "__main__":
    main()
