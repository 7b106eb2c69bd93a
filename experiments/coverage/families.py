"""How often intervals hold where classes come in families, named or not, by simulation.

    python experiments/coverage/families.py

Pilots of 150 classes in families of two to five near-duplicates, five probes each, in four settings
in turn. Printed for each number of classes: how many nominal 90% intervals hold the truth, and the
mean error of the forecast. Without families only the first pilots are looked at.

What came out is in docs/trust.md.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from headcount import HeadcountWarning, Pilot, forecast
from headcount.simulate import near_duplicates

SIZES = (75, 150, 300, 1500, 3000)
# How far relatives are from each other, and points from their class.
SETTINGS = ((0.1, 0.5), (0.2, 0.5), (0.1, 0.35), (0.2, 0.7))
SEED, TRUTH_SEED, TRUTH = 2000, 99, 20_000


def main() -> None:
    """Run the experiment and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pilots", type=int, default=120)
    parser.add_argument("--unnamed", type=int, default=12, help="pilots without their families")
    parser.add_argument("--method", default="auto")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    truths = [
        near_duplicates(
            150, within=within, sigma=sigma, reference_classes=TRUTH, random_state=TRUTH_SEED
        ).truth(SIZES)
        for within, sigma in SETTINGS
    ]
    for named, n_pilots in ((True, arguments.pilots), (False, arguments.unnamed)):
        inside, errors = [], []
        for i in range(n_pilots):
            place = i % len(SETTINGS)
            within, sigma = SETTINGS[place]
            pilot = near_duplicates(150, within=within, sigma=sigma, random_state=SEED + i).pilot
            held, error = outcome(pilot, named, truths[place], arguments.method)
            inside.append(held)
            errors.append(error)
        print("families named" if named else "not named", f"({n_pilots} pilots)")
        for k, share, error in zip(SIZES, np.mean(inside, 0), np.mean(errors, 0), strict=True):
            print(f"  {k:>5}: {share:.0%} hold, mean error {100 * error:+.1f} points", flush=True)


def outcome(
    pilot: Pilot, named: bool, truth: np.ndarray, method: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether intervals hold the truth, and the errors of the forecast."""
    made = forecast(pilot if named else pilot.with_groups(None), classes=SIZES, method=method)
    lower, upper = made.interval(SIZES)
    return (lower <= truth) & (truth <= upper), made.value(SIZES) - truth


if __name__ == "__main__":
    main()
