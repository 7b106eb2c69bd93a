"""Do asymptotic standard errors say how much the observed curve varies? A simulation.

Draws many pilots from worlds whose classes are a random sample, and compares the spread of the
observed risk over them with the standard errors each pilot gives by itself. Writes a table as JSON
and CSV. Run as ``python experiments/coverage/asymptotics.py --out experiments/results/risk``; about
a quarter of an hour.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.machine import machine, versions
from headcount import Pilot
from headcount.estimators import Regression, SplineRegression
from headcount.questions.risk.costs import as_cost
from headcount.questions.risk.covariance import risk_jackknife
from headcount.questions.risk.observed import observed_risk
from headcount.uncertainty.asymptotics import (
    asymptotic_interval,
    expected_sup_error_bound,
    fit_sensitivity,
    pass_on,
    regression_error,
    sup_error,
)
from headcount.uncertainty.jackknife import MetricJackknife

WORLDS = ("round 1d", "round 2d", "round 5d", "round 10d", "circle")
NOISE = {1: 0.3, 2: 0.2, 5: 0.4, 10: 0.8}
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
Row = dict[str, Any]


def draw(world: str, n_classes: int, per_class: int, rng: np.random.Generator) -> Any:
    """Return a pilot and the cost of a two-level hierarchy of its classes.

    Round: normal class centres and points, the nearest centre wins; circle: Theorem 3.3 of 003
    with U uniform. Families are fixed regions, so that classes stay independent.
    """
    labels = np.repeat(np.arange(n_classes), per_class)
    if world == "circle":
        place, p = rng.random(n_classes), rng.random(len(labels))
        scores = 1 - (place[labels] + p)[:, None] + place
        scores -= np.floor(scores)
        scores[np.arange(len(labels)), labels] = 1 - p
        family = (4 * place).astype(int)
    else:
        n_dims = int(world.split()[1][:-1])
        centres = rng.normal(size=(n_classes, n_dims))
        probes = centres[labels] + NOISE[n_dims] * rng.normal(size=(len(labels), n_dims))
        squares = (centres**2).sum(axis=1)
        scores = 2 * probes @ centres.T - squares
        family = (centres[:, 0] > 0).astype(int)
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    return pilot, np.where(family[:, None] == family, 1.0, 4.0) * (1 - np.eye(n_classes))


def study(
    world: str, per_class: int, n_classes: int, repeats: int, seed: int
) -> tuple[list[Row], float]:
    """Compare spread and standard errors for both costs; and say how long it took."""
    begun = time.perf_counter()
    k = np.unique([2, 10, *(int(share * n_classes) for share in SHARES)])
    outcomes: dict[str, list[Any]] = {"zero-one": [], "two-level": []}
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, WORLDS.index(world), per_class, n_classes, repeat])
        pilot, tree = draw(world, n_classes, per_class, rng)
        for name, cost in (("zero-one", "zero-one"), ("two-level", tree)):
            priced = as_cost(cost, pilot)
            jackknife = risk_jackknife(pilot, priced)
            plain = ((n_classes - 1) ** 2 / n_classes) * jackknife.without_one(k).var(axis=0)
            variance = np.diag(jackknife.covariance(k))
            outcomes[name].append((observed_risk(pilot, priced, k), variance, plain))
    rows = []
    for name, values in outcomes.items():
        risks, variance, plain = (np.array(column) for column in zip(*values, strict=True))
        spread, truth = risks.std(axis=0, ddof=1), risks.mean(axis=0)
        lower, upper = asymptotic_interval(risks, np.sqrt(variance), 0.9)
        covered = ((lower <= truth) & (truth <= upper)).mean(axis=0)
        for i, count in enumerate(k.tolist()):
            rows.append(
                {
                    "world": world,
                    "cost": name,
                    "n_classes": n_classes,
                    "probes_per_class": per_class,
                    "repeats": repeats,
                    "k": count,
                    "risk": truth[i],
                    "spread": spread[i],
                    "standard_error": np.sqrt(variance[:, i].mean()),
                    "ratio": np.sqrt(variance[:, i].mean()) / spread[i],
                    "ratio_plain_jackknife": np.sqrt(plain[:, i].mean()) / spread[i],
                    "ratio_error": 1 / np.sqrt(2 * repeats),
                    "coverage_90": covered[i],
                }
            )
    return rows, time.perf_counter() - begun


def powers(k: Any) -> Any:
    """Return H of the basis u, u^2: (k - 1) / (k - 1 + l)."""
    return (k[:, None] - 1) / (k[:, None] - 1 + np.array([1.0, 2.0]))


def minimax(n_classes: int, repeats: int, seed: int) -> Row:
    """Compare Eq. 18 with its bound where the model is right: D(u) = u from u, u^2, at k <= 10."""
    k, true = np.arange(2.0, 11.0), np.array([1.0, 0.0])
    slope = fit_sensitivity(powers(k), np.ones(len(k)))
    errors, bounds, gaps, traces = [], [], [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, 99, n_classes, repeat])
        pilot, _ = draw("circle", n_classes, 1, rng)
        gap = slope @ observed_risk(pilot, "zero-one", k) - true
        jackknife = MetricJackknife(pilot)
        covariance = pass_on(slope, jackknife.covariance(k.astype(np.int64)))
        errors.append(sup_error(powers, gap))
        bounds.append(expected_sup_error_bound(covariance))
        gaps.append(n_classes * gap @ gap)
        traces.append(n_classes * np.trace(covariance))
    return {
        "n_classes": n_classes,
        "repeats": repeats,
        "root_mean_square_sup_error": np.sqrt(np.mean(np.square(errors))),
        "bound": np.sqrt(np.mean(np.square(bounds))),
        "theorem_3_2_simulated": np.mean(gaps),
        "theorem_3_2_estimated": np.mean(traces),
    }


def forecasts(world: str, method: Any, n_classes: int, repeats: int, seed: int) -> list[Row]:
    """Compare the spread of forecasts of accuracy with their standard errors."""
    k = np.array([n_classes, 2 * n_classes, 10 * n_classes])
    predictions, variances = [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, 98, WORLDS.index(world), n_classes, repeat])
        pilot, _ = draw(world, n_classes, 1, rng)
        fit = method.fit(pilot)
        predictions.append(fit.predict(k))
        variances.append(regression_error(pilot, fit, k) ** 2)
    spread, error = np.std(predictions, axis=0, ddof=1), np.sqrt(np.mean(variances, axis=0))
    return [
        {
            "world": world,
            "method": method.alias,
            "n_classes": n_classes,
            "repeats": repeats,
            "k": int(k[i]),
            "accuracy": float(np.mean(predictions, axis=0)[i]),
            "spread": float(spread[i]),
            "standard_error": float(error[i]),
            "ratio": float(error[i] / spread[i]),
        }
        for i in range(len(k))
    ]


def tidy(row: Row) -> Row:
    """Return a row whose numbers have six digits after the point."""
    return {key: round(float(v), 6) if isinstance(v, float) else v for key, v in row.items()}


def main() -> None:
    """Run the study and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows: list[Row] = []
    seconds = 0.0
    cases = [(world, per_class, 200, arguments.repeats) for world in WORLDS for per_class in (1, 5)]
    cases += [(world, 1, 500, arguments.repeats // 2) for world in ("round 1d", "round 5d")]
    for case in cases:
        case_rows, took = study(*case, arguments.seed)
        rows += case_rows
        seconds += took
        print(
            *case, f"{took:.0f} s", [round(float(row["ratio"]), 3) for row in case_rows], flush=True
        )
    methods = (SplineRegression(n_knots=500), Regression(bandwidth=0.5))
    beyond = [
        row
        for world in ("round 5d", "round 10d")
        for method in methods
        for row in forecasts(world, method, 200, arguments.repeats // 2, arguments.seed)
    ]
    theorem = [minimax(size, arguments.repeats, arguments.seed) for size in (100, 200, 400)]
    rounded = [tidy(row) for row in rows]
    document = {
        "schema": 1,
        "bench": "asymptotics",
        "about": "Standard errors of the observed risk against its spread over many pilots.",
        "seed": arguments.seed,
        "machine": machine(),
        "versions": versions(),
        "seconds": round(seconds, 1),
        "rows": rounded,
        "forecasts": [tidy(row) for row in beyond],
        "eq18": [tidy(row) for row in theorem],
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "asymptotics.json").write_text(json.dumps(document, indent=1) + "\n")
    with open(arguments.out / "asymptotics.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rounded[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rounded)


if __name__ == "__main__":
    main()
