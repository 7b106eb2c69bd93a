"""Training the default forecast on random problems.

    python -m experiments training generate BROAD --part 0 --parts 6 --seconds 310
    python -m experiments training generate MODERATE --moderate --part 0 --parts 5 --seconds 310
    python -m experiments training judged BROAD
    python -m experiments training train BROAD --seed 0 --seconds 550 --out OUT
    python -m experiments training train BROAD MODERATE --limits both --seed 2 --out OUT
    python -m experiments training train MODERATE --limits moderate --seed 3 --out OUT
    python -m experiments training pack OUT --out src/headcount/estimators/auto

`generate` makes groups of random problems (several processes may share the work; what is there is
not made again), `judged` those that networks are judged by. `train` trains a network and goes on
from where it was stopped; its limits say for which pilots it will be heard (`LIMITS`). `pack` joins
several into the file that is shipped, which holds two of each kind.
One GPU will do; several processes share it well only under MPS. No real data are used, nor the
families in `experiments.problems.problems.HELD_OUT`, which are made only to judge.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.problems import problems
from experiments.problems import scores as scoring
from experiments.problems.families import PLAIN, Problem
from experiments.problems.worlds import torch_module
from experiments.training import features, network
from headcount.estimators.auto.features import RATIOS, class_counts
from headcount.estimators.auto.network import FILE

GROUP = 128  # problems made together
SIZES = (18, 800)  # classes of a pilot
MOST_PROBES = 5000  # of a pilot
MOST_PER_CLASS = 60
PLAIN_SHARE = 0.35
TRUTH = {"classes": (8192, 16384), "probes": (4096, 8192)}  # for few classes, and for many
FEW = 128
# Log odds of being right among the pilot's classes where networks are heard: not at all up to the
# first, in full between the next two (35% and 92%), not at all from the last (97%). Moderate
# problems end at 20% and 99%; of both kinds together few are nearly perfect. No log odds are as low
# as -19.
LIMITS = {"moderate": (-1.1, -0.6, 2.5, 3.5), "both": (-20.0, -19.0, 2.5, 3.5)}
MODERATE_SEED = 10**7  # groups from here on are moderate
JUDGED_SEED = 10**8  # groups from here on are not learned from
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


def sizes(number: int) -> tuple[int, int, int]:
    """Return classes, probes a class and classes with probes of a group."""
    rng = np.random.default_rng([number, 77])
    low, high = SIZES
    n_classes = round(float(np.exp(rng.uniform(math.log(low), math.log(high)))))
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


def draw_group(
    number: int, count: int = GROUP, family: str | None = None, moderate: bool = False
) -> list[Problem]:
    """Return the problems of a group."""
    n_classes, per_class, _ = sizes(number)
    rng = np.random.default_rng([number, 78])
    share = PLAIN_SHARE if n_classes >= 40 and per_class >= 4 else PLAIN_SHARE / 3
    out = []
    for place in range(count):
        kind = family or (PLAIN if rng.random() < share else None)
        seed = number * 1000 + place
        out.append(
            problems.draw(
                seed,
                family=kind,
                n_classes=n_classes,
                probes_per_class=per_class,
                moderate=moderate,
            )
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
    """Realise problems of one size and return their evidence and truths, as `Group` holds them."""
    torch = torch_module()
    n_classes, per_class = group_problems[0].n_classes, group_problems[0].probes_per_class
    large = int(n_classes > FEW)
    n_truth = truth_classes or TRUTH["classes"][large]
    real = problems.realise_many(
        group_problems, device, n_truth, n_truth_probes=truth_probes or TRUTH["probes"][large]
    )
    n_probes = members * per_class
    counts = class_counts(n_classes)
    known = counts <= n_truth
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
    return {
        "probes": batch.probes.half(),
        "chances": chances.reshape(len(group_problems), members, per_class, len(RATIOS)),
        "whole": batch.whole.float(),
        "base": batch.base.float(),
        "truth": truth.float(),
        "known": torch.tensor(known, dtype=torch.float32, device=truth.device),
    }


def _some(ties: Any, n_probes: int) -> Any:
    return None if ties is None else ties[:n_probes]


def _chances(losses: Any, ties: Any, n_rivals: int, counts: Any) -> Any:
    return scoring.accuracies(losses, ties, n_rivals, counts)


def generate(
    folder: Path,
    device: str,
    part: int,
    parts: int,
    seconds: float,
    most: int,
    count: int = GROUP,
    moderate: bool = False,
) -> int:
    """Make groups until the time is over; return how many there are of this part."""
    torch = torch_module()
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    done = 0
    first = MODERATE_SEED if moderate else 0
    for number in range(first + part, first + most, parts):
        if time.perf_counter() - begun > seconds:
            break
        path = folder / f"train_{number:06d}.pt"
        if not path.exists():
            batch = draw_group(number, count, moderate=moderate)
            _write(make_group(batch, sizes(number)[2], device), path)
        done += 1
        if done == 1:
            print(f"part {part}: first group after {time.perf_counter() - begun:.1f} s", flush=True)
    if device != "cpu":
        torch.cuda.synchronize()
    print(f"part {part}: {done} groups in {time.perf_counter() - begun:.0f} s", flush=True)
    return done


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
            batch, members = draw_group(number, count, family), sizes(number)[2]
        group = make_group(batch, members, device, truth_probes=16384 if count == GROUP else None)
        _write(group, path)


def _write(group: dict[str, Any], path: Path) -> None:
    torch = torch_module()
    torch.save({name: value.cpu() for name, value in group.items()}, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


# -- judging ---------------------------------------------------------------------------------------


def judge_network(net: Any, groups: dict[str, network.Group]) -> dict[str, dict[str, float]]:
    """Return mean root mean square errors of the base, the mean over probes, and the forecast.

    Over ratios from 1 to 16 (where known), weighted as if all k up to 16 K counted the same. Also
    the share of truths within 1.645 learned spreads.
    """
    torch = torch_module()
    rows: dict[str, dict[str, float]] = {}
    weight = torch.tensor(np.where((RATIOS >= 1) & (RATIOS <= 16), RATIOS, 0.0))
    with torch.no_grad():
        for name, group in groups.items():
            forecasts = [_forecasts(net, group, first) for first in range(0, len(group.base), 32)]
            forecast, spread, alone = (
                torch.cat(pieces).double() for pieces in zip(*forecasts, strict=True)
            )
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


def _forecasts(net: Any, group: network.Group, first: int) -> tuple[Any, Any, Any]:
    rows = slice(first, first + 32)
    probes, whole, base = group.probes[rows], group.whole[rows], group.base[rows]
    forecast, spread, _ = net([(probes, whole, base)])
    alone = net([(*network.losses_alone(probes, whole), base)])[0]
    return forecast, spread, alone


def run_training(
    folders: Sequence[Path],
    out: Path,
    seed: int,
    seconds: float,
    device: str,
    limits: str | None = None,
) -> None:
    """Train one network on what was generated, and write its weights and what it is worth."""
    torch = torch_module()
    begun = time.perf_counter()
    place = torch.device(device)
    torch.backends.cuda.matmul.allow_tf32 = True
    out.mkdir(parents=True, exist_ok=True)
    groups = [
        network.Group.read(path, place)
        for folder in folders
        for path in sorted(folder.glob("train_*.pt"))
    ]
    judges = {
        path.stem.removeprefix("judge_"): network.Group.read(path, place)
        for folder in folders
        for path in sorted(folder.glob("judge_*.pt"))
    }
    loaded = time.perf_counter() - begun
    n_problems = sum(len(group.base) for group in groups)
    print(f"seed {seed}: {len(groups)} groups, {n_problems} problems, read in {loaded:.0f} s")

    def judge(net: Any) -> None:
        errors = judge_network(net, judges)
        print(f"seed {seed} {time.perf_counter() - begun:.0f} s", json.dumps(
            {name: {k: round(v, 4) for k, v in row.items()} for name, row in errors.items()}
        ), flush=True)  # fmt: skip
        arrays = network.weights(net)
        if limits is not None:
            arrays["limits"] = np.array(LIMITS[limits], dtype=np.float32)
        np.savez(out / f"network{seed}.npz", **arrays)

    net = network.train(
        groups,
        seed=seed,
        seconds=seconds - loaded,
        save=folders[0] / f"state{seed}.pt",
        judge=judge,
    )
    judge(net)


def pack(folder: Path, out: Path) -> Path:
    """Join the networks of a folder into the file that the default method reads."""
    weights: dict[str, Any] = {}
    for number, path in enumerate(sorted(folder.glob("network*.npz"))):
        with np.load(path, allow_pickle=False) as read:
            weights |= {f"{number}/{name}": read[name] for name in read.files}
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / FILE, **weights)
    return out / FILE


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="experiments.training.learn", description=__doc__)
    parser.add_argument("task", choices=("generate", "judged", "train", "pack"))
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=GROUP)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--moderate", action="store_true")
    parser.add_argument("--limits", choices=tuple(LIMITS))
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args(arguments)
    first = options.folder[0]
    if options.task == "generate":
        generate(
            first, options.device, options.part, options.parts, options.seconds, options.groups,
            options.size, options.moderate,
        )  # fmt: skip
    elif options.task == "judged":
        generate_judged(first, options.device, options.size)
    elif options.task == "pack":
        pack(first, options.out)
    else:
        run_training(
            options.folder,
            options.out,
            options.seed,
            options.seconds,
            options.device,
            options.limits,
        )


if __name__ == "__main__":
    main()
