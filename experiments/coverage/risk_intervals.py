"""Count how often intervals for forecasts of risk hold the truth, 2 to 40 times past the pilot.

Kinds of problems are of two sorts. On those of `CHOSEN` the constants in
`headcount.questions.risk.error_model` were chosen (``--fit`` chooses them again). Those of `ASIDE`
are looked at only to see whether the intervals hold: other laws, other costs, and real data; those
of `LATE` were written when the form was nearly settled, and `LAST` when everything was. Run as
``python experiments/coverage/risk_intervals.py --out experiments/results/risk``; some ten minutes.
With ``--rows FILE...`` the limits are computed anew from forecasts that earlier runs kept, at once.
"""

from __future__ import annotations

import argparse
import csv
import json
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from experiments.machine import machine, versions
from headcount import HeadcountWarning, Pilot
from headcount.questions.risk import forecast_risk, observe_risk
from headcount.questions.risk.error_model import MODEL, RiskErrorModel

RATIOS = np.array([2, 5, 10, 20, 40])
PER_CLASS, TRUTH_PROBES, TRUTH_SEED = 5, 3000, 10_000
CONFIDENCE = 0.9
Drawn = tuple[Pilot, Any]
Draw = Callable[[int, int, int], Drawn]


def nearest(centres: Any, labels: Any, points: Any, similarity: str = "euclidean") -> Pilot:
    """Return the pilot of a classifier that takes the nearest centre."""
    names = np.arange(len(centres))
    return Pilot.from_embeddings(points, labels, centres, names, similarity=similarity)


def families(
    n_families: int, n_dims: int, within: float, noise: float, seed_of_families: int = 1
) -> Draw:
    """Draw classes around families: a mistake costs 2 within a family and 4 beyond it."""
    middles = np.random.default_rng(seed_of_families).normal(size=(n_families, n_dims))

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        family = rng.integers(n_families, size=n_classes)
        centres = middles[family] + within * rng.normal(size=(n_classes, n_dims))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.normal(size=(n_probes, n_dims))
        return nearest(centres, labels, points), {
            i: [f"family {family[i]}"] for i in range(n_classes)
        }

    return draw


def levels(n_dims: int, noise: float) -> Draw:
    """Draw from a tree of three levels: 6 kinds of 6 families each."""
    rng = np.random.default_rng(2)
    kinds = rng.normal(size=(6, n_dims))
    middles = kinds[np.arange(36) // 6] + 0.7 * rng.normal(size=(36, n_dims))

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        family = rng.integers(36, size=n_classes)
        centres = middles[family] + 0.5 * rng.normal(size=(n_classes, n_dims))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.normal(size=(n_probes, n_dims))
        tree = {i: [f"kind {family[i] // 6}", f"family {family[i]}"] for i in range(n_classes)}
        return nearest(centres, labels, points), tree

    return draw


def products(n_dims: int, noise: float, share: float, dear: float) -> Draw:
    """Make some classes dear to take for others, and some dear to miss, whatever their looks."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(n_classes, n_dims))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.normal(size=(n_probes, n_dims))
        price = np.where(rng.random((2, n_classes)) < share, dear, 1.0)
        cost = np.outer(*price.astype(np.float32))
        np.fill_diagonal(cost, 0)
        return nearest(centres, labels, points), cost

    return draw


def distances(n_dims: int, noise: float) -> Draw:
    """Let a mistake cost the distance between the two classes."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(n_classes, n_dims))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.normal(size=(n_probes, n_dims))
        small = centres.astype(np.float32)
        squares = (small**2).sum(axis=1)
        cost = np.sqrt(np.maximum(squares[:, None] + squares - 2 * small @ small.T, 0))
        np.fill_diagonal(cost, 0)
        return nearest(centres, labels, points), cost

    return draw


def heavy_tails(noise: float) -> Draw:
    """Draw Student's centres and noise, families of unequal sizes; 1 within one, 3 beyond it."""
    rng = np.random.default_rng(3)
    middles = rng.standard_t(4, size=(30, 5))
    sizes = 1 / np.arange(1, 31)

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        family = rng.choice(30, n_classes, p=sizes / sizes.sum())
        centres = middles[family] + 0.5 * rng.standard_t(4, size=(n_classes, 5))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.standard_t(4, size=(n_probes, 5))
        cost = np.where(family[:, None] == family, np.float32(1), np.float32(3))
        np.fill_diagonal(cost, 0)
        return nearest(centres, labels, points), cost

    return draw


def sphere(noise: float) -> Draw:
    """Compare angles in 12 dimensions; some classes are harder; half are dear to the other half."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(n_classes, 12))
        labels = np.arange(n_probes) % n_classes
        spread = noise * rng.gamma(2, 0.5, n_classes)[labels, None]
        points = centres[labels] + spread * rng.normal(size=(n_probes, 12))
        left = centres[:, 0] > 0
        cost = np.where(left[:, None] == left, np.float32(1), np.float32(5))
        np.fill_diagonal(cost, 0)
        return nearest(centres, labels, points, "cosine"), cost

    return draw


def ages(noise: float) -> Draw:
    """Let a mistake cost the difference of two ages, which looks say something about."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.laplace(size=(n_classes, 5))
        age = (40 + 15 * centres[:, 0] + 8 * rng.normal(size=n_classes)).astype(np.float32)
        labels = np.arange(n_probes) % n_classes
        hard = np.exp(0.5 * rng.normal(size=n_classes))[labels, None]
        points = centres[labels] + noise * hard * rng.laplace(size=(n_probes, 5))
        return nearest(centres, labels, points), np.abs(age[:, None] - age)

    return draw


def ring(n_dims: int, noise: float) -> Draw:
    """Lay classes on rings of unequal radius; every mistake costs one."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(n_classes, n_dims))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        centres *= rng.uniform(0.2, 2, (n_classes, 1))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * rng.normal(size=(n_probes, n_dims))
        return nearest(centres, labels, points), "zero-one"

    return draw


def cubes(n_dims: int, noise: float) -> Draw:
    """Fill a cube with classes and small cubes with probes; a third are dear to miss."""

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        centres = rng.random((n_classes, n_dims))
        labels = np.arange(n_probes) % n_classes
        points = centres[labels] + noise * (rng.random((n_probes, n_dims)) - 0.5)
        near = (centres[:, :1] // 0.34).astype(np.int64)
        dear = np.where(rng.random((n_classes, 1)) < 1 / 3, np.float32(4), np.float32(1))
        cost = np.where(near == near.T, dear, 2 * dear)
        np.fill_diagonal(cost, 0)
        return nearest(centres, labels, points), cost

    return draw


def syllables(careful: bool) -> Draw:
    """Draw Hangul syllables: a mistake costs what it does in a dictionary (docs/risk.md)."""
    data = np.load(files("headcount.datasets") / "hangul.npz")
    gallery, probes = data["gallery"].astype(float), data["probes"].astype(float)

    def draw(n_classes: int, n_probes: int, seed: int) -> Drawn:
        chosen = np.random.default_rng(seed).choice(11172, n_classes, replace=False)
        rows = chosen[: min(n_probes, n_classes)]
        pilot = Pilot.from_embeddings(
            probes[rows], rows, gallery[chosen], chosen,
            similarity="cosine" if careful else "euclidean",
        )  # fmt: skip
        return pilot, {int(i): [f"initial {i // 588}", f"vowel {i // 28}"] for i in chosen}

    return draw


CHOSEN: dict[str, Draw] = {
    "families, easy": families(12, 4, 0.6, 0.12),
    "families, hard": families(12, 8, 0.7, 0.55),
    "levels, easy": levels(8, 0.3),
    "levels, hard": levels(5, 0.35),
    "products, easy": products(10, 0.35, 0.3, 3.0),
    "products, hard": products(5, 0.3, 0.1, 10.0),
    "distances, easy": distances(4, 0.08),
    "distances, hard": distances(7, 0.4),
}
ASIDE: dict[str, Draw] = {
    "families of forecasts.csv": families(25, 6, 0.6, 0.25, 0),
    "heavy tails, easy": heavy_tails(0.1),
    "heavy tails, hard": heavy_tails(0.2),
    "sphere, easy": sphere(0.5),
    "sphere, hard": sphere(0.9),
    "syllables, plain": syllables(False),
    "syllables, by angle": syllables(True),
}
LAST: dict[str, Draw] = {"cubes, easy": cubes(4, 0.2), "cubes, hard": cubes(6, 0.8)}
LATE: dict[str, Draw] = {
    "ages, easy": ages(0.05),
    "ages, hard": ages(0.15),
    "rings, easy": ring(5, 0.15),
    "rings, hard": ring(8, 0.35),
}


def study(name: str, draw: Draw, sort: str, n_classes: int, repeats: int) -> list[dict[str, Any]]:
    """Return a row for each pilot and ratio: truth, forecast and its standard error."""
    classes = RATIOS * n_classes
    whole = draw(int(classes[-1]), TRUTH_PROBES, TRUTH_SEED)
    truth, rows = observe_risk(*whole).risk(classes), []
    for seed in range(repeats):
        pilot, cost = draw(n_classes, PER_CLASS * n_classes, seed)
        result = forecast_risk(pilot, cost, classes, confidence=CONFIDENCE)
        columns = (
            classes, truth, result.risk(classes), result.standard_error(classes),
            *result.interval(classes, by="asymptotic"),
        )  # fmt: skip
        names = (
            "classes", "truth", "forecast", "error", "asymptotic_lower", "asymptotic_upper",
        )  # fmt: skip
        measured = {
            "pilot_risk": float(result.risk(n_classes)),
            "pilot_error": float(result.standard_error(n_classes)),
            "half_a_probe": result.half_a_probe,
        }
        for ratio, *values in zip(RATIOS, *columns, strict=True):
            row = {"sort": sort, "kind": name, "pilot_classes": n_classes, "seed": seed}
            row |= {"ratio": int(ratio), "largest": result.largest_cost} | measured
            rows.append(row | {k: float(f"{v:.6g}") for k, v in zip(names, values, strict=True)})
    return rows


def calibrated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with the limits that what was learned gives them."""
    for row in rows:
        row["lower"], row["upper"] = (float(f"{x:.6g}") for x in limits(row, MODEL))
    return rows


def limits(row: dict[str, Any], model: RiskErrorModel) -> tuple[Any, Any]:
    """Return the limits of one forecast under a model."""
    return model.limits(
        np.array(row["forecast"]),
        np.array(row["error"]),
        np.log(row["ratio"]),
        CONFIDENCE,
        largest=row["largest"],
        half_a_probe=row["half_a_probe"],
        at_pilot=(row["pilot_risk"], np.array(row["pilot_error"])),
    )


def fit(rows: list[dict[str, Any]]) -> None:
    """Choose the constants on the rows of problems of `CHOSEN`, and print them.

    Those with the least interval score of log odds: width, and twenty times what the truth is off.
    """
    chosen = [row for row in rows if row["sort"] == "chosen"]
    truth = log_odds(np.array([row["truth"] / row["largest"] for row in chosen]))

    def score(constants: Any) -> float:
        model = RiskErrorModel(*np.exp(constants))
        shares = np.array([limits(row, model) for row in chosen]).T / [
            row["largest"] for row in chosen
        ]
        lower, upper = log_odds(np.clip(shares, 1e-6, 1 - 1e-6))
        off = np.maximum(lower - truth, 0) + np.maximum(truth - upper, 0)
        return float(np.mean(upper - lower + 2 / (1 - CONFIDENCE) * off))

    best = minimize(score, np.log([0.15, 1.3, 0.5]), method="Nelder-Mead").x
    print("constants", np.exp(best).round(3).tolist())


def log_odds(share: Any) -> Any:
    """Return the log odds of shares."""
    return np.log(share) - np.log1p(-share)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often the intervals held, for each kind and ratio and over all kinds of a sort."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        for kind in (row["kind"], "all"):
            place = row["sort"], row["pilot_classes"], kind, row["ratio"]
            groups.setdefault(place, []).append(row)
    return [
        {
            "sort": sort, "pilot_classes": size, "kind": kind, "ratio": ratio,
            "pilots": len(of_group),
            "asymptotic": _held(of_group, "asymptotic_"), "calibrated": _held(of_group, ""),
            "too_low": round(float(np.mean([r["truth"] > r["upper"] for r in of_group])), 3),
            "too_high": round(float(np.mean([r["truth"] < r["lower"] for r in of_group])), 3),
            "relative_rmse": round(
                float(np.sqrt(np.mean([(r["forecast"] / r["truth"] - 1) ** 2 for r in of_group]))),
                3,
            ),
            "relative_width": round(
                float(np.median([(r["upper"] - r["lower"]) / r["truth"] for r in of_group])), 3
            ),
        }
        for (sort, size, kind, ratio), of_group in groups.items()
    ]  # fmt: skip


def _held(rows: list[dict[str, Any]], which: str) -> float:
    inside = [row[f"{which}lower"] <= row["truth"] <= row[f"{which}upper"] for row in rows]
    return round(float(np.mean(inside)), 3)


def main() -> None:
    """Run the study and write what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--classes", type=int, nargs="+", default=[100, 200], help="of pilots")
    parser.add_argument("--repeats", type=int, nargs="+", default=[12, 6], help="of each size")
    parser.add_argument(
        "--sorts", nargs="+", default=[], help="chosen, aside, late, last; all of them"
    )
    parser.add_argument("--fit", action="store_true", help="choose the constants again")
    parser.add_argument("--keep", type=Path, help="file for the forecasts, for --rows later")
    parser.add_argument("--rows", type=Path, nargs="+", help="take the forecasts of these files")
    options = parser.parse_args()
    warnings.simplefilter("ignore", HeadcountWarning)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.rows:
        parts = [json.loads(part.read_text())["rows"] for part in options.rows]
    else:
        sizes = zip(options.classes, options.repeats, strict=True)
        parts = [forecasts(*size, options.sorts) for size in sizes]
    rows = [row for part in parts for row in part]
    if options.keep:
        options.keep.write_text(json.dumps({"rows": rows}))
    if options.fit:
        fit(rows)
    table = summary(calibrated(rows))
    whole = {
        "about": __doc__,
        "seeds": {"pilots": "0, 1, ...", "truth": TRUTH_SEED},
        "model": vars(MODEL),
        "machine": machine(),
        "versions": versions(),
        "coverage": table,
    }
    (options.out / "intervals.json").write_text(json.dumps(whole, indent=1) + "\n")
    with (options.out / "intervals.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    for row in table:
        print(*row.values(), sep="\t")


def forecasts(n_classes: int, repeats: int, sorts: list[str]) -> list[dict[str, Any]]:
    """Return the rows of every kind of problem, or of some sorts of them."""
    rows = []
    for sort, kinds in (("chosen", CHOSEN), ("aside", ASIDE), ("late", LATE), ("last", LAST)):
        if sorts and sort not in sorts:
            continue
        for name, draw in kinds.items():
            rows += study(name, draw, sort, n_classes, repeats)
            print(name, flush=True)
    return rows


if __name__ == "__main__":
    main()
