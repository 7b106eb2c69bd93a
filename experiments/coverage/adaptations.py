"""How often intervals for the degree of adaptation hold, where there is none, by simulation.

    python experiments/coverage/adaptations.py

Pairs of pilots of 60 and 240 round classes in ten dimensions, two probes each, seen by the same
model. The 60 classes are part of the 240, or others. Printed: how many nominal 90% intervals hold
the difference that is expected, which is none, at the larger pilot's size (the degree) and at the
smaller one's; and how wide they are, compared with how errors spread.

What came out is in docs/training.md.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from headcount import HeadcountWarning, Pilot, adaptation

FEW, MANY, N_DIMS, SIGMA, SEED = 60, 240, 10, 0.55, 1000


def main() -> None:
    """Run the experiment and print a line for each kind of pairs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--method", default="auto")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    for shared in (True, False):
        inside, errors, widths = [], [], []
        for i in range(arguments.pairs):
            result = adaptation(pilots(SEED + i, shared), method=arguments.method)
            step = result.retrainings[0]
            leads = step.degree, step.at_equal_size
            inside.append([lead.lower <= 0 <= lead.upper for lead in leads])
            errors.append([lead.difference for lead in leads])
            widths.append([lead.upper - lead.lower for lead in leads])
        share = np.mean(inside, axis=0)
        ratio = np.mean(widths, axis=0) / (2 * 1.645 * np.std(errors, axis=0))
        print(
            f"{'shared' if shared else 'other'} classes: the degree held in {share[0]:.0%}, at "
            f"{ratio[0]:.2f} times the spread of errors; at equal sizes {share[1]:.0%}, at "
            f"{ratio[1]:.2f} times; mean width {100 * np.mean(widths, axis=0)[0]:.1f} points",
            flush=True,
        )


def pilots(seed: int, shared: bool) -> list[Pilot]:
    """Return two pilots of one model, the smaller first."""
    rng = np.random.default_rng([seed, int(shared)])
    many = _centres_and_noise(rng, MANY)
    few = [part[:FEW] for part in many] if shared else _centres_and_noise(rng, FEW)
    made = []
    for centres, noise, template in (few, many):
        labels = np.repeat(np.arange(len(centres)), 2)
        probes = (centres[:, None] + SIGMA * noise).reshape(-1, N_DIMS)
        gallery = centres + SIGMA * template
        made.append(Pilot.from_embeddings(probes, labels, gallery, np.arange(len(centres))))
    return made


def _centres_and_noise(rng: np.random.Generator, n_classes: int) -> list[np.ndarray]:
    shapes = (n_classes, N_DIMS), (n_classes, 2, N_DIMS), (n_classes, N_DIMS)
    return [rng.normal(size=shape) for shape in shapes]


if __name__ == "__main__":
    main()
