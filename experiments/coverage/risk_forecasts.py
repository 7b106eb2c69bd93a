"""How far off are forecasts of risk? A two-level hierarchy of classes with a known truth.

Classes lie around 25 families in 6 dimensions; a mistake costs 2 within a family and 4 beyond it.
Prints a table and writes it as JSON and CSV. Run as
``python experiments/coverage/risk_forecasts.py --out experiments/results/risk``; some ten minutes.
"""

from __future__ import annotations

import argparse
import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.machine import machine, versions
from headcount import HeadcountWarning, Pilot
from headcount.questions.risk import forecast_risk, observe_risk

CLASSES = np.array([500, 2000, 5000, 20_000])
PILOTS = (200, 500)
PER_CLASS = 5
FAMILIES = np.random.default_rng(0).normal(size=(25, 6))
TRUTHS = range(100, 104)  # seeds of the populations that give it, apart from those of pilots
FORECASTS: dict[str, dict[str, Any]] = {
    "default": {},
    "probit-normal": {"method": "probit-normal"},
    "rising": {"shape": "rising"},
    "free": {"shape": "free"},
    "spline": {"basis": "spline"},
    "unconstrained": {"approach": "unconstrained"},
    "adjustment": {"approach": "adjustment"},
}


def draw(n_classes: int, n_probes: int, seed: int) -> tuple[Pilot, dict[int, list[str]]]:
    """Return a pilot and its hierarchy."""
    rng = np.random.default_rng(seed)
    family = rng.integers(len(FAMILIES), size=n_classes)
    centres = FAMILIES[family] + 0.6 * rng.normal(size=(n_classes, 6))
    labels = np.arange(n_probes) % n_classes
    points = centres[labels] + 0.25 * rng.normal(size=(n_probes, 6))
    pilot = Pilot.from_embeddings(points, labels, centres, np.arange(n_classes))
    return pilot, {i: [f"family {family[i]}"] for i in range(n_classes)}


def truth() -> np.ndarray:
    """Return the risk at `CLASSES`, the mean over large populations."""
    return np.mean(
        [observe_risk(*draw(int(CLASSES[-1]), 3000, seed)).risk(CLASSES) for seed in TRUTHS], axis=0
    )


def study(n_classes: int, repeats: int, true_risk: np.ndarray) -> list[dict[str, Any]]:
    """Return relative errors of every forecast, and how often the default's intervals hold."""
    risks: dict[str, list[Any]] = {"no change": [], **{name: [] for name in FORECASTS}}
    inside: dict[str, list[Any]] = {"calibrated": [], "asymptotic": []}
    for seed in range(repeats):
        pilot, tree = draw(n_classes, PER_CLASS * n_classes, seed)
        last = float(observe_risk(pilot, tree).risk(n_classes))
        risks["no change"].append(np.full(len(CLASSES), last))
        for name, options in FORECASTS.items():
            outcome = forecast_risk(pilot, tree, CLASSES, intervals=name == "default", **options)
            risks[name].append(outcome.risk(CLASSES))
            if name == "default":
                for way, held in inside.items():
                    lower, upper = outcome.interval(CLASSES, by=way)
                    held.append((lower <= true_risk) & (true_risk <= upper))
    rows = []
    for name, values in risks.items():
        errors = np.array(values) / true_risk - 1
        for i in np.flatnonzero(n_classes < CLASSES):
            rows.append(
                {
                    "pilot_classes": n_classes,
                    "forecast": name,
                    "classes": int(CLASSES[i]),
                    "truth": round(float(true_risk[i]), 4),
                    "relative_bias": round(float(errors[:, i].mean()), 4),
                    "relative_rmse": round(float(np.sqrt(np.mean(errors[:, i] ** 2))), 4),
                }
                | {
                    f"coverage_{way}": round(float(np.mean(held, axis=0)[i]), 3)
                    if name == "default"
                    else None
                    for way, held in inside.items()
                }
            )
    return rows


def main() -> None:
    """Run the study and write what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    true_risk = truth()
    rows = [row for size in PILOTS for row in study(size, options.repeats, true_risk)]
    options.out.mkdir(parents=True, exist_ok=True)
    whole = {
        "about": __doc__,
        "seeds": {"pilots": f"0 to {options.repeats - 1}", "truth": list(TRUTHS)},
        "machine": machine(),
        "versions": versions(),
        "rows": rows,
    }
    (options.out / "forecasts.json").write_text(json.dumps(whole, indent=1) + "\n")
    with (options.out / "forecasts.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(*row.values(), sep="\t")


if __name__ == "__main__":
    main()
