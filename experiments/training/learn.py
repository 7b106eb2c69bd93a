"""The network of the default method, from nothing to the file that is shipped.

    python -m experiments training all FOLDER --commit "$(git rev-parse HEAD)"

makes random problems in FOLDER, trains one network on them, calibrates the spread of its errors on
others, and writes the weights. Everything follows from this module's constants and the code, so
the file names the commit; whatever was done before a stop is not done again. The steps can be
called one by one: `generate` (several processes may share it, by `--part` and `--parts`), `train`,
`calibrate`, `judge` and `pack`. One GPU takes twenty minutes. No real data are used, nor the
families in `experiments.problems.problems.HELD_OUT`, which only judge.

Three of four groups of problems are random geometry (`experiments.problems`), with scores; the
fourth are random laws of U (`experiments.training.laws`), without, for pilots of any size.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import t as student

from experiments.problems import problems
from experiments.problems import scores as scoring
from experiments.problems.families import PLAIN, Problem
from experiments.problems.worlds import torch_module
from experiments.training import features, laws, network
from headcount.estimators.auto.features import RATIOS, class_counts
from headcount.estimators.auto.network import FILE, ORIGIN

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src/headcount/estimators/auto"
# What the weights depend on.
SOURCES = (
    "experiments/problems/*.py",
    "experiments/training/*.py",
    "src/headcount/estimators/auto/features.py",
    "src/headcount/estimators/auto/network.py",
    "src/headcount/estimators/bent_normal.py",
    "src/headcount/estimators/shared/bending.py",
)

GROUPS = 1600  # of problems to learn from
EVERY = 4  # of so many groups one is of laws
GROUP, GROUP_OF_MANY, MANY = 128, 32, 900  # problems made together; fewer of many classes
SIZES = (10, 4000)  # classes of a pilot
MOST_PROBES = 6000  # of a pilot
MOST_PER_CLASS = 60
PLAIN_SHARE = 0.35
# Fresh classes and probes behind a truth, for pilots of up to so many classes.
TRUTH = {128: (8192, 4096), 1000: (16384, 8192), 4000: (32768, 8192)}
CALIBRATED = 96  # groups that errors are calibrated on, and no network learns from
CALIBRATED_SEED = 10**7  # their numbers begin here
JUDGED_SEED = 10**8  # and here those of problems that networks are judged by
STEPS = 15_000
SEED = 0
LEVELS = (0.9, 0.99)  # shares of errors that spread and tails are set by
FREEDOMS = (3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 50.0)  # degrees of freedom tried
# Settings of paper 001: dimensions, variance, law of classes, law of points.
LAWS = ("normal", "uniform")
PAPER = (
    *((5, sigma2, *laws) for sigma2 in (0.1, 0.2) for laws in itertools.product(LAWS, LAWS)),
    (3, 0.1, "normal", "normal"),
    (3, 0.2, "uniform", "uniform"),
    (10, 0.6, "normal", "normal"),
    (10, 0.9, "uniform", "normal"),
)
JUDGED = (*(f"valid{i}" for i in range(8)), *problems.HELD_OUT, "paper100", "paper500")


# -- problems --------------------------------------------------------------------------------------


def of_laws(number: int) -> bool:
    """Return whether a group is one of laws."""
    return number % EVERY == EVERY - 1


def sizes(number: int) -> tuple[int, int, int]:
    """Return classes, probes a class and classes with probes of a group with scores."""
    rng = np.random.default_rng([number, 77])
    n_classes = round(math.exp(rng.uniform(*np.log(SIZES))))
    usual = rng.random()
    if usual < 0.4:
        per_class = int(rng.integers(5, 11))
    elif usual < 0.52:
        per_class = 1
    else:
        per_class = int(np.exp(rng.uniform(0, math.log(MOST_PER_CLASS + 1))))
    per_class = min(per_class, max(1, MOST_PROBES // n_classes))
    members = n_classes
    if rng.random() < 0.12:
        least = min(12, n_classes)
        members = round(float(np.exp(rng.uniform(math.log(least), math.log(n_classes)))))
    return n_classes, per_class, members


def draw_group(number: int, count: int = GROUP, family: str | None = None) -> list[Problem]:
    """Return the problems of a group with scores."""
    n_classes, per_class, _ = sizes(number)
    rng = np.random.default_rng([number, 78])
    share = PLAIN_SHARE if n_classes >= 40 and per_class >= 4 else PLAIN_SHARE / 3
    out = []
    for place in range(count):
        kind = family or (PLAIN if rng.random() < share else None)
        seed = number * 1000 + place
        out.append(
            problems.draw(seed, family=kind, n_classes=n_classes, probes_per_class=per_class)
        )
    return out


def paper(n_classes: int, repeats: int, per_class: int = 10) -> list[Problem]:
    """Return the settings of paper 001, each several times."""
    settings = []
    for setting, (n_dims, sigma2, classes, points) in enumerate(PAPER):
        for repeat in range(repeats):
            seed = JUDGED_SEED * 1000 + 1000 * setting + repeat
            plain = problems.draw(
                seed, family=PLAIN, n_classes=n_classes, probes_per_class=per_class
            )
            settings.append(
                replace(
                    plain,
                    n_dims=n_dims,
                    noise=math.sqrt(sigma2),
                    population=classes,
                    noise_law=points,
                    score="euclidean",
                )
            )
    return settings


def make_group(
    group_problems: Sequence[Problem],
    members: int,
    device: str,
    *,
    truth_probes: int | None = None,
    truth_classes: int | None = None,
) -> dict[str, Any]:
    """Realise problems of one size and return their features and truths, as `Group` holds them."""
    torch = torch_module()
    n_classes, per_class = group_problems[0].n_classes, group_problems[0].probes_per_class
    usual = next(sides for most, sides in TRUTH.items() if n_classes <= most)
    n_truth = truth_classes or usual[0]
    real = problems.realise_many(
        group_problems, device, n_truth, n_truth_probes=truth_probes or usual[1]
    )
    n_probes = members * per_class
    counts = class_counts(n_classes)
    asked = np.minimum(counts, n_truth)
    truth = torch.stack(
        [
            _chances(realised.truth_losses, realised.truth_ties, n_truth - 1, asked).mean(dim=0)
            for realised in real
        ]
    )
    chances = torch.stack(
        [
            _chances(
                realised.oracle_losses[:n_probes],
                _some(realised.oracle_ties, n_probes),
                n_truth,
                asked,
            ).half()
            for realised in real
        ]
    )
    scores = torch.stack([realised.scores[:n_probes] for realised in real])
    batch = features.gather(scores, real[0].labels[:n_probes], per_class, members)
    chances = chances.reshape(len(group_problems), members, per_class, len(RATIOS))
    return _group(batch, chances, truth, counts <= n_truth)


def make_laws(draw: laws.Draw, device: str) -> dict[str, Any]:
    """Return features and truths of problems without scores."""
    torch = torch_module()
    counts = class_counts(draw.n_classes)
    truth = np.array([laws.accuracies(law, counts) for law in draw.laws])
    chances = np.exp(log_ndtr(draw.own)[..., None] * (counts - 1)).astype(np.float16)
    batch = features.gather_losses(torch.tensor(draw.losses, device=device), draw.n_classes)
    known = np.ones(len(counts), np.bool_)
    return _group(
        batch, torch.tensor(chances, device=device)[:, :, None], torch.tensor(truth), known
    )


def _group(batch: features.Batch, chances: Any, truth: Any, known: Any) -> dict[str, Any]:
    return {
        "probes": batch.probes.half(),
        "chances": chances,
        "whole": batch.whole.float(),
        "base": batch.base.float(),
        "errors": batch.errors.float(),
        "truth": truth.float(),
        "known": torch_module().tensor(known, dtype=torch_module().float32),
    }


def _some(ties: Any, n_probes: int) -> Any:
    return None if ties is None else ties[:n_probes]


def _chances(losses: Any, ties: Any, n_rivals: int, counts: Any) -> Any:
    return scoring.accuracies(losses, ties, n_rivals, counts)


# -- files of problems -----------------------------------------------------------------------------


def numbered(number: int, count: int, device: str) -> dict[str, Any]:
    """Make a group by its number, of at most `count` problems."""
    if of_laws(number):
        return make_laws(laws.draw_group(number, count), device)
    n_classes, _, members = sizes(number)
    few = count if n_classes <= MANY else min(count, GROUP_OF_MANY)
    return make_group(draw_group(number, few), members, device)


def wanted(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files of all numbered groups: those to calibrate on first."""
    for number in range(CALIBRATED):
        yield folder / f"calibrate_{number:06d}.pt", CALIBRATED_SEED + number
    for number in range(GROUPS):
        yield folder / f"train_{number:06d}.pt", number


def generate(folder: Path, device: str, part: int, parts: int, count: int = GROUP) -> int:
    """Make this part of the groups that are not there; return how many it made."""
    folder.mkdir(parents=True, exist_ok=True)
    begun, made = time.perf_counter(), 0
    for path, number in itertools.islice(wanted(folder), part, None, parts):
        if not path.exists():
            _write(numbered(number, count, device), path)
            made += 1
            if made in (1, 10) or made % 50 == 0:
                print(f"part {part}: {made} after {time.perf_counter() - begun:.0f} s", flush=True)
    return made


def generate_judged(folder: Path, device: str, count: int = GROUP) -> None:
    """Make what networks are judged by: fresh training problems, held-out families, paper 001."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(JUDGED):
        path = folder / f"judge_{name}.pt"
        if path.exists():
            continue
        if name.startswith("paper"):
            n_classes = int(name.removeprefix("paper"))
            few = max(1, count // (12 if n_classes == 100 else 24))
            batch, members = paper(n_classes, few), n_classes
        else:
            family = name if name in problems.HELD_OUT else None
            number = JUDGED_SEED + place
            batch, members = draw_group(number, min(count, 64), family), sizes(number)[2]
        group = make_group(batch, members, device, truth_probes=16384 if count == GROUP else None)
        _write(group, path)


def _write(group: dict[str, Any], path: Path) -> None:
    torch = torch_module()
    torch.save({name: value.cpu() for name, value in group.items()}, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def _read(folder: Path, kind: str, device: Any) -> dict[str, network.Group]:
    return {
        path.stem.removeprefix(f"{kind}_"): network.Group.read(path, device)
        for path in sorted(folder.glob(f"{kind}_*.pt"))
    }


# -- judging ---------------------------------------------------------------------------------------


def judge_network(net: Any, groups: dict[str, network.Group]) -> dict[str, dict[str, float]]:
    """Return mean root mean square errors of the base and of the forecast, and of the oracle.

    Over ratios from 1 to 16 (where known), weighted as if all k up to 16 K counted the same. Also
    the share of truths within 1.645 learned spreads.
    """
    torch = torch_module()
    rows: dict[str, dict[str, float]] = {}
    weight = torch.tensor(np.where((RATIOS >= 1) & (RATIOS <= 16), RATIOS, 0.0))
    for name, group in groups.items():
        forecast, spread, alone = _forecasts(net, group)
        own = (weight.to(group.known.device) * group.known).double()
        own = own / own.sum()
        truth = group.truth.double()

        def error(values: Any, own: Any = own, truth: Any = truth) -> float:
            gaps = (torch.sigmoid(values) - truth).square() * own
            return float(gaps.sum(dim=1).sqrt().mean())

        inside = ((network.smoothed_logit(truth) - forecast).abs() <= 1.645 * spread.exp())[
            :, own > 0
        ]
        oracle = group.chances.double().mean(dim=(1, 2)).clamp(1e-6, 1 - 1e-6)
        rows[name] = {
            "base": error(group.base.double()),
            "losses": error(alone),
            "full": error(forecast),
            "oracle": error(torch.logit(oracle)),
            "covered": float(inside.double().mean()),
        }
    return rows


def _forecasts(net: Any, group: network.Group) -> tuple[Any, Any, Any]:
    """Return forecasts, log spreads, and forecasts from losses alone."""
    torch = torch_module()
    pieces = []
    with torch.no_grad():
        for first in range(0, len(group.base), 32):
            rows = slice(first, first + 32)
            inputs = [network.inputs(group, rows, alone) for alone in (False, True)]
            (forecast, spread, _), (alone, _, _) = (net([part]) for part in inputs)
            pieces.append((forecast, spread, alone))
    return tuple(torch.cat(piece).double() for piece in zip(*pieces, strict=True))  # type: ignore[return-value]


def judge(folder: Path, device: str) -> dict[str, Any]:
    """Print and return what the network is worth on the problems that judge it."""
    place = torch_module().device(device)
    net = network.load(folder / "state.pt", place)
    rows = judge_network(net, _read(folder, "judge", place))
    rounded = {name: {k: round(v, 4) for k, v in row.items()} for name, row in rows.items()}
    for name, row in rounded.items():
        print(name, json.dumps(row), flush=True)
    return rounded


# -- training and calibrating ----------------------------------------------------------------------


def train(folder: Path, device: str, n_steps: int = STEPS) -> None:
    """Train the network on what was generated; goes on where it was stopped."""
    torch = torch_module()
    torch.backends.cuda.matmul.allow_tf32 = True
    place = torch.device(device)
    groups = list(_read(folder, "train", place).values())
    print(f"{len(groups)} groups, {sum(len(g.base) for g in groups)} problems", flush=True)
    judged = _read(folder, "judge", place)

    def shown(net: Any) -> None:
        rows = judge_network(net, judged)
        print(
            json.dumps({n: [round(r["full"], 4), round(r["covered"], 2)] for n, r in rows.items()})
        )

    network.train(groups, seed=SEED, n_steps=n_steps, save=folder / "state.pt", judge=shown)


def calibrate(folder: Path, device: str) -> dict[str, Any]:
    """Return how errors go together along the curve, in units of the spreads that are stated.

    `factor` times independent numbers of Student's law with so many degrees of `freedom`, divided
    by one chi for the whole curve, are errors that hold as large shares of the truths as they say.
    """
    place = torch_module().device(device)
    net = network.load(folder / "state.pt", place)
    ratios = []
    for group in _read(folder, "calibrate", place).values():
        forecast, log_spread, _ = _forecasts(net, group)
        gap = network.smoothed_logit(group.truth.double()) - forecast
        ratio = (gap / log_spread.exp()).cpu().numpy()
        ratio[:, group.known.cpu().numpy() == 0] = np.nan
        ratios.append(ratio)
    return errors_together(np.concatenate(ratios))


def errors_together(ratios: Any) -> dict[str, Any]:
    """Return factor and freedom for errors in units of stated spreads; nan where not known."""
    sizes_at = [np.nanquantile(np.abs(ratios), level, axis=0) for level in LEVELS]
    heavy = float(np.nanmean(sizes_at[1] / sizes_at[0]))
    tails = [student.ppf((1 + np.array(LEVELS)) / 2, freedom) for freedom in FREEDOMS]
    place = int(np.argmin([abs(high / low - heavy) for low, high in tails]))
    scale = sizes_at[0] / tails[place][0]
    # Rare large errors would decide how the others go together.
    tame = np.clip(ratios / scale, -3, 3)
    known = np.isfinite(tame)
    filled = np.where(known, tame, 0.0)
    both = known.T.astype(float) @ known
    together = (filled.T @ filled) / both
    size = np.sqrt(np.diag(together))
    values, vectors = np.linalg.eigh(together / np.outer(size, size))
    nearest = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    size = np.sqrt(np.diag(nearest))
    factor = scale[:, None] * np.linalg.cholesky(nearest / np.outer(size, size))
    return {"factor": factor, "freedom": np.array(FREEDOMS[place])}


# -- the file --------------------------------------------------------------------------------------


def code_mark(root: Path | None = None) -> str:
    """Return a mark of all code the weights depend on, in this clone or below another folder."""
    root = ROOT if root is None else root
    whole = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        whole.update(path.relative_to(root).as_posix().encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def settings() -> dict[str, Any]:
    """Return the constants that say what is learned from, and how long."""
    return {
        "groups": GROUPS,
        "classes": list(SIZES),
        "classes_of_laws": list(laws.SIZES),
        "calibrated": CALIBRATED,
        "steps": STEPS,
        "seed": SEED,
    }


def pack(folder: Path, out: Path, device: str, commit: str) -> Path:
    """Write the file that the default method reads."""
    place = torch_module().device(device)
    weights = network.weights(network.load(folder / "state.pt", place))
    errors = {name: value.astype(np.float32) for name, value in calibrate(folder, device).items()}
    origin = {
        "commit": commit,
        "code": code_mark(),
        **settings(),
        "torch": torch_module().__version__,
        "device": torch_module().cuda.get_device_name() if place.type == "cuda" else place.type,
    }
    out.mkdir(parents=True, exist_ok=True)
    part = out / f"{FILE}.part.npz"
    np.savez_compressed(part, **weights, **errors, **{ORIGIN: np.array(json.dumps(origin))})
    part.replace(out / FILE)
    print(json.dumps(origin), {name: np.round(value, 2).tolist() for name, value in errors.items()})
    return out / FILE


def everything(folder: Path, out: Path, device: str, commit: str, parts: int) -> None:
    """Make the problems in several processes, train, judge, and write the weights."""
    command = [sys.executable, "-m", "experiments.training.learn", "generate", str(folder)]
    command += ["--device", device, "--parts", str(parts)]
    workers = [subprocess.Popen([*command, "--part", str(part)], cwd=ROOT) for part in range(parts)]
    if any(worker.wait() for worker in workers):
        raise SystemExit("a process that made problems failed; its error is above.")
    train(folder, device)
    judge(folder, device)
    pack(folder, out, device, commit)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="experiments training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = ("all", "generate", "train", "calibrate", "judge", "pack")
    parser.add_argument("task", choices=tasks)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    folder, device = options.folder, options.device
    if options.task == "all":
        everything(folder, options.out, device, options.commit, options.parts)
    elif options.task == "generate":
        generate(folder, device, options.part, options.parts)
        if options.part == 0:
            generate_judged(folder, device)
    elif options.task == "train":
        train(folder, device)
    elif options.task == "calibrate":
        print(
            {name: np.round(value, 3).tolist() for name, value in calibrate(folder, device).items()}
        )
    elif options.task == "judge":
        judge(folder, device)
    else:
        pack(folder, options.out, device, options.commit)


if __name__ == "__main__":
    main()
