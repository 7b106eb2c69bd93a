"""Whether pilots of the size that `plan` names know as much as it promised, by simulation.

    python experiments/coverage/plans.py --repeats 8

A pilot of 80 classes is planned from; pilots of the size named are then drawn from the same
population, and the half width of their interval at k, and whether it holds the truth, are compared
with what was asked for. Printed: the mean ratio of the half widths found to the one asked for.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from headcount import ExtrapolationWarning, forecast, plan, simulate

K = 300
SETTINGS = {"noisy": (10, 0.6, 0.05), "many dimensions": (20, 0.8, 0.05), "few": (5, 0.3, 0.06)}


def main() -> None:
    """Run the experiment and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=8, help="plans a setting")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ExtrapolationWarning)
    for name, (n_dims, sigma, wanted) in SETTINGS.items():
        options = {"n_dims": n_dims, "sigma": sigma, "probes_per_class": 2}
        sizes, ratios, inside = [], [], []
        for i in range(arguments.repeats):
            seed = 1000 * arguments.seed + i
            small = simulate.isotropic_gaussian(80, random_state=seed, **options)
            planned = plan(small.pilot, K, wanted, method=arguments.method)
            if planned.classes is None:
                continue
            simulated = simulate.isotropic_gaussian(
                planned.classes, random_state=seed + 500, **options
            )
            lower, upper = forecast(simulated.pilot, classes=K, method=arguments.method).interval(K)
            sizes.append(planned.classes)
            ratios.append(float(upper - lower) / 2 / wanted)
            inside.append(bool(lower <= simulated.truth(K) <= upper))
        print(
            f"{name}: {min(sizes)} to {max(sizes)} classes; half width {np.mean(ratios):.2f} of "
            f"what was asked for ({min(ratios):.2f} to {max(ratios):.2f}); {sum(inside)} of "
            f"{len(inside)} hold the truth",
            flush=True,
        )


if __name__ == "__main__":
    main()
