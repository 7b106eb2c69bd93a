"""How well intervals for the difference of two systems hold, far beyond the pilot.

    python experiments/coverage/pairs.py --pairs 60

Pairs of systems look at the same classes and probes. Alike: the same features, one with a little
noise of its own. Unlike: other features, half of the noise of their own, and sometimes another
similarity. Populations of classes are normal, uniform or heavy-tailed, in 6 to 20 dimensions; the
truth comes from 4,000 other classes. Printed for each k / K: how many nominal 90% intervals hold
the true difference, and how wide they are, compared with what two unrelated forecasts would give.

What came out is in docs/trust.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from headcount import ExtrapolationWarning, Pilot, compare, observe

RATIOS = (2, 5, 10, 20)
POPULATIONS = ("normal", "uniform", "heavy")
TRUTH = 4000


def systems(rng: np.random.Generator, alike: bool) -> Iterator[dict[str, Pilot]]:
    """Yield the same two systems again and again: on so many classes, with so many probes each."""
    population = str(rng.choice(POPULATIONS))
    n_dims = int(rng.choice([6, 10, 20]))
    spread = rng.uniform(0.08, 0.13) * n_dims**0.75  # some 50% to 90% right among 50 classes
    scale = rng.uniform(0.85, 1.2) if alike else rng.uniform(0.7, 1.4)
    shares = (0.0, 0.25) if alike else (0.7, 0.7)
    similarity = "euclidean" if alike else str(rng.choice(["euclidean", "cosine"]))
    size, per_class = int(rng.choice([50, 100])), int(rng.choice([1, 2]))
    for n_classes, each in ((size, per_class), (TRUTH, 1)):
        centres = _centres(rng, population, (n_classes, 2 * n_dims))
        labels = np.repeat(np.arange(n_classes), each)
        common, *own_noise = rng.normal(size=(3, len(labels), 2 * n_dims))
        pilots = {}
        for i, name in enumerate("AB"):
            noise = np.sqrt(1 - shares[i] ** 2) * common + shares[i] * own_noise[i]
            probes = centres[labels] + spread * (scale if i else 1.0) * noise
            columns = slice(n_dims, None) if i and not alike else slice(n_dims)
            how = similarity if i else "euclidean"
            pilots[name] = Pilot.from_embeddings(
                probes[:, columns], labels, centres[:, columns], similarity=how
            )
        yield pilots


def measured(seed: int, alike: bool, method: str) -> list[tuple[bool, float]]:
    """Return, for each ratio, whether the truth was held, and how wide the interval was."""
    pilots, population = systems(np.random.default_rng([seed, alike]), alike)
    size = pilots["A"].n_classes
    comparison = compare(pilots, [size * ratio for ratio in RATIOS], method=method)
    curves = [observe(pilot) for pilot in population.values()]
    rows = []
    for k in comparison.classes:
        lead = comparison.pairs[0].at(k)
        truth = float(curves[0].accuracy(k) - curves[1].accuracy(k))
        assert lead.lower is not None and lead.upper is not None  # the method has intervals
        alone = [np.subtract(*forecast.interval(k)) for forecast in comparison.forecasts.values()]
        width = (lead.upper - lead.lower) / float(np.hypot(*alone))
        rows.append((lead.lower <= truth <= lead.upper, width))
    return rows


def _centres(rng: np.random.Generator, population: str, shape: tuple[int, int]) -> Any:
    if population == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if population == "heavy":
        return rng.standard_t(4, shape) / np.sqrt(2)
    return rng.normal(size=shape)


def main() -> None:
    """Run the experiment and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=60, help="of each kind")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ExtrapolationWarning)
    for alike in (True, False):
        rows = [
            measured(arguments.seed + i, alike, arguments.method) for i in range(arguments.pairs)
        ]
        print("alike" if alike else "unlike", f"({arguments.pairs} pairs, {arguments.method})")
        for place, ratio in enumerate(RATIOS):
            coverage, width = np.mean([row[place] for row in rows], axis=0)
            print(f"  k / K = {ratio:2}: {coverage:.0%} held, width {width:.2f} of unrelated ones")


if __name__ == "__main__":
    main()
