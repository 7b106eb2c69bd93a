"""The network of the default method, from nothing to the file that is shipped.

    python -m experiments training all FOLDER --sources SOURCES --commit "$(git rev-parse HEAD)"

makes random problems in FOLDER, trains one network on them, calibrates the spread of its errors on
others, and writes the weights. Everything follows from this module's constants, the code and the
sources, so the file names the commit and marks each source; whatever was done before a stop is not
done again. The steps can be called one by one: `generate` (several processes may share it, by
`--part` and `--parts`), `train`, `calibrate`, `judge` and `pack`. One H200 takes 14 minutes.
Families in `experiments.problems.problems.HELD_OUT` only judge.

Groups of problems are of three kinds: random geometry (`experiments.problems`) and real classes
(`experiments.training.sources`), both with scores; and random laws of U
(`experiments.training.laws`), without, for pilots of any size. Several networks may learn from
what was generated once, each with its own share of real classes (`--share-of-sources`,
`--network NAME`). Without any the sources are not needed.
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
from concurrent.futures import ThreadPoolExecutor
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
from experiments.training import features, laws, network, sources
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
    "src/headcount/estimators/probit_normal.py",
    "src/headcount/estimators/shared/bending.py",
    "src/headcount/estimators/shared/likelihood.py",
)

GROUPS = 1800  # of problems to learn from
KINDS = ("geometry", "sources", "geometry", "laws")  # of groups, in turn
OF_LAWS, OF_SOURCES = 0.25, 0.25  # shares of what is learned from
GROUP, GROUP_OF_MANY, MANY = 128, 32, 900  # problems made together; fewer of many classes
SIZES = (10, 4000)  # classes of a pilot
MOST_PROBES = 6000  # of a pilot
MOST_PER_CLASS = 60
PLAIN_SHARE = 0.35
# Fresh classes and probes behind a truth, for pilots of up to so many classes.
TRUTH = {128: (8192, 4096), 1000: (16384, 8192), 4000: (32768, 8192)}
READERS = 8  # threads that read groups
CALIBRATED = 96  # groups that errors are calibrated on, and no network learns from
CALIBRATED_SEED = 10**7  # their numbers begin here
JUDGED_SEED = 10**8  # and here those of problems that networks are judged by
STEPS = 15_000
NETWORK = "state"  # name of the file that holds a network in training
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
REAL = tuple(f"real{i}" for i in range(4))  # of sources that are set aside
JUDGED = (*(f"valid{i}" for i in range(8)), *problems.HELD_OUT, "paper100", "paper500", *REAL)


# -- problems --------------------------------------------------------------------------------------


def kind(number: int) -> str:
    """Return what a group is of: random geometry, real classes or laws."""
    return KINDS[number % len(KINDS)]


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
            # Past the seeds of other judged problems, and none of two sizes the same.
            seed = (JUDGED_SEED + n_classes) * 1000 + 100 * setting + repeat
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
    known = [torch.tensor(values, device=device) for values in (draw.losses, draw.censored)]
    batch = features.gather_losses(*known, draw.n_classes)
    every = np.ones(len(counts), np.bool_)
    return _group(
        batch, torch.tensor(chances, device=device)[:, :, None], torch.tensor(truth), every
    )


def make_sources(
    size: sources.Size, number: int, count: int, device: str, **options: int
) -> dict[str, Any]:
    """Return features and truths of problems of real classes."""
    torch = torch_module()
    real = sources.realise_group(number, size, count, device, **options)
    counts = class_counts(size.n_classes)
    asked = np.minimum(counts, real[0].n_classes)
    truth = torch.stack([realised.accuracies(asked) for realised in real])
    chances = torch.stack([realised.chances(asked).half() for realised in real])
    scores = torch.stack([realised.scores for realised in real])
    batch = features.gather(scores, real[0].labels, size.per_class, size.members)
    chances = chances.reshape(count, size.members, size.per_class, len(RATIOS))
    return _group(batch, chances, truth, counts <= real[0].n_classes)


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


def numbered(
    number: int, count: int, device: str, of_real: Sequence[sources.Source] = ()
) -> dict[str, Any]:
    """Make a group by its number, of at most `count` problems."""
    if kind(number) == "laws":
        return make_laws(laws.draw_group(number, count), device)
    if kind(number) == "sources":
        return make_real(number, count, device, of_real)
    n_classes, _, members = sizes(number)
    return make_group(draw_group(number, _fewer(count, n_classes)), members, device)


def make_real(
    number: int, count: int, device: str, of_real: Sequence[sources.Source]
) -> dict[str, Any]:
    """Make a group of real classes, of sources that its number allows."""
    allowed = sources.to_learn_from if number < CALIBRATED_SEED else sources.set_aside
    size = sources.draw_size(number, allowed(of_real))
    return make_sources(size, number, _fewer(count, size.n_classes), device)


def _fewer(count: int, n_classes: int) -> int:
    return count if n_classes <= MANY else min(count, GROUP_OF_MANY)


def wanted(folder: Path, share: float = OF_SOURCES) -> Iterator[tuple[Path, int]]:
    """Yield the files of all numbered groups: those to calibrate on first."""
    for name, first, count in (("calibrate", CALIBRATED_SEED, CALIBRATED), ("train", 0, GROUPS)):
        for number in range(count):
            if share > 0 or kind(number) != "sources":
                yield folder / f"{name}_{number:06d}.pt", first + number


def learned_from(folder: Path, share: float) -> list[Path]:
    """Return the files of the groups that a network learns from."""
    return [path for path, number in wanted(folder, share) if number < CALIBRATED_SEED]


def generate(
    folder: Path,
    device: str,
    part: int,
    parts: int,
    of_real: Sequence[sources.Source] = (),
    count: int = GROUP,
) -> int:
    """Make this part of the groups that are not there; return how many it made."""
    folder.mkdir(parents=True, exist_ok=True)
    begun, made = time.perf_counter(), 0
    share = OF_SOURCES if of_real else 0.0
    for path, number in itertools.islice(wanted(folder, share), part, None, parts):
        if not path.exists():
            _write(numbered(number, count, device, of_real), path)
            made += 1
            if made in (1, 10) or made % 50 == 0:
                print(f"part {part}: {made} after {time.perf_counter() - begun:.0f} s", flush=True)
    return made


def generate_judged(
    folder: Path,
    device: str,
    part: int,
    parts: int,
    of_real: Sequence[sources.Source] = (),
    count: int = GROUP,
) -> None:
    """Make this part of what networks are judged by.

    Fresh training problems, held-out families, paper 001, and sources that are set aside.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for place, name in itertools.islice(enumerate(JUDGED), part, None, parts):
        path = folder / f"judge_{name}.pt"
        if not path.exists() and (of_real or name not in REAL):
            _write(_judged(name, JUDGED_SEED + place, device, of_real, count), path)


def _judged(
    name: str, number: int, device: str, of_real: Sequence[sources.Source], count: int
) -> dict[str, Any]:
    few = min(count, 64)
    if name in REAL:
        return make_real(number, few, device, of_real)
    if name.startswith("paper"):
        n_classes = int(name.removeprefix("paper"))
        few = max(1, count // (12 if n_classes == 100 else 24))
        batch, members = paper(n_classes, few), n_classes
    else:
        family = name if name in problems.HELD_OUT else None
        batch, members = draw_group(number, few, family), sizes(number)[2]
    return make_group(batch, members, device, truth_probes=16384 if count == GROUP else None)


def _write(group: dict[str, Any], path: Path) -> None:
    torch = torch_module()
    torch.save({name: value.cpu() for name, value in group.items()}, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def _read(folder: Path, purpose: str, device: Any) -> dict[str, network.Group]:
    return {
        path.stem.removeprefix(f"{purpose}_"): network.Group.read(path, device)
        for path in sorted(folder.glob(f"{purpose}_*.pt"))
    }


def _read_numbered(
    folder: Path, purpose: str, device: Any, share: float
) -> tuple[list[network.Group], list[float]]:
    """Return groups with a share of real classes, and how much of each is to be shown."""
    paths = sorted(folder.glob(f"{purpose}_*.pt"))
    kinds = [kind(int(path.stem.removeprefix(f"{purpose}_"))) for path in paths]
    wished = {"laws": OF_LAWS, "sources": share, "geometry": 1 - OF_LAWS - share}
    shown = [(path, wished[own] / kinds.count(own)) for path, own in zip(paths, kinds, strict=True)]
    shown = [(path, part) for path, part in shown if part > 0]
    with ThreadPoolExecutor(READERS) as pool:
        groups = list(
            pool.map(lambda path: network.Group.read(path, device), [p for p, _ in shown])
        )
    return groups, [part for _, part in shown]


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


def judge(folder: Path, device: str, name: str = NETWORK) -> dict[str, Any]:
    """Print and return what the network is worth on the problems that judge it."""
    place = torch_module().device(device)
    net = network.load(folder / f"{name}.pt", place)
    rows = judge_network(net, _read(folder, "judge", place))
    rounded = {name: {k: round(v, 4) for k, v in row.items()} for name, row in rows.items()}
    for problem, row in rounded.items():
        print(problem, json.dumps(row), flush=True)
    return rounded


# -- training and calibrating ----------------------------------------------------------------------


def train(
    folder: Path,
    device: str,
    n_steps: int = STEPS,
    share: float = OF_SOURCES,
    name: str = NETWORK,
    seconds: float = math.inf,
) -> None:
    """Train a network on what was generated; goes on where it was stopped."""
    torch = torch_module()
    torch.backends.cuda.matmul.allow_tf32 = True
    place = torch.device(device)
    groups, parts = _read_numbered(folder, "train", place, share)
    print(f"{len(groups)} groups, {sum(len(g.base) for g in groups)} problems", flush=True)
    judged = _read(folder, "judge", place)

    def shown(net: Any) -> None:
        rows = judge_network(net, judged)
        numbers = {n: [round(r["full"], 4), round(r["covered"], 2)] for n, r in rows.items()}
        print(json.dumps(numbers), flush=True)

    save = folder / f"{name}.pt"
    options = {"save": save, "shares": parts, "seconds": seconds, "judge": shown}
    network.train(groups, seed=SEED, n_steps=n_steps, **options)


def calibrate(
    folder: Path, device: str, share: float = OF_SOURCES, name: str = NETWORK
) -> dict[str, Any]:
    """Return how errors go together along the curve, in units of the spreads that are stated.

    `factor` times independent numbers of Student's law with so many degrees of `freedom`, divided
    by one chi for the whole curve, are errors that hold as large shares of the truths as they say.
    """
    place = torch_module().device(device)
    net = network.load(folder / f"{name}.pt", place)
    ratios = []
    for group in _read_numbered(folder, "calibrate", place, share)[0]:
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
        "groups": len(learned_from(Path(), OF_SOURCES)),
        "classes": list(SIZES),
        "classes_of_laws": list(laws.SIZES),
        "calibrated": CALIBRATED,
        "share_of_laws": OF_LAWS,
        "share_of_sources": OF_SOURCES,
        "steps": STEPS,
        "seed": SEED,
    }


def pack(
    folder: Path,
    out: Path,
    device: str,
    commit: str,
    *,
    marks: dict[str, str] | None = None,
    share: float = OF_SOURCES,
    name: str = NETWORK,
) -> Path:
    """Write the file that the default method reads; `marks` are those of the sources."""
    place = torch_module().device(device)
    save = folder / f"{name}.pt"
    weights = network.weights(network.load(save, place))
    together = calibrate(folder, device, share, name)
    errors = {name: value.astype(np.float32) for name, value in together.items()}
    origin = {
        "commit": commit,
        "code": code_mark(),
        **settings(),
        "groups": sum(path.exists() for path in learned_from(folder, share)),
        "share_of_sources": share,
        "steps": torch_module().load(save, map_location="cpu", weights_only=True)["step"],
        "sources": marks or {},
        "set_aside": list(sources.SET_ASIDE),
        "torch": torch_module().__version__,
        "device": torch_module().cuda.get_device_name() if place.type == "cuda" else place.type,
    }
    out.mkdir(parents=True, exist_ok=True)
    part = out / f"{FILE}.part.npz"
    np.savez_compressed(part, **weights, **errors, **{ORIGIN: np.array(json.dumps(origin))})
    part.replace(out / FILE)
    print(json.dumps(origin), {name: np.round(value, 2).tolist() for name, value in errors.items()})
    return out / FILE


def generate_all(folder: Path, device: str, of_real: Path | None, parts: int) -> None:
    """Make the problems in several processes."""
    command = [sys.executable, "-m", "experiments.training.learn", "generate", str(folder)]
    command += ["--device", device, "--parts", str(parts)]
    command += [] if of_real is None else ["--sources", str(of_real)]
    workers = [subprocess.Popen([*command, "--part", str(part)], cwd=ROOT) for part in range(parts)]
    if any(worker.wait() for worker in workers):
        raise SystemExit("a process that made problems failed; its error is above.")


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
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--sources", type=Path, help="folder of real classes")
    parser.add_argument("--share-of-sources", type=float, default=OF_SOURCES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of training at most")
    parser.add_argument("--network", default=NETWORK, help="name of the network's state")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    folder, device, share = options.folder, options.device, options.share_of_sources
    name, n_steps = options.network, options.steps
    if share > 0 and options.sources is None and options.task in ("all", "generate", "pack"):
        parser.error("name the folder of real classes with --sources, or --share-of-sources 0.")
    real = options.sources if share > 0 else None
    if options.task == "generate":
        of_real = () if real is None else sources.read_sources(real)
        share_out = (folder, device, options.part, options.parts, of_real)
        generate_judged(*share_out)
        generate(*share_out)
    if options.task == "all":
        generate_all(folder, device, real, options.parts)
    if options.task in ("all", "train"):
        train(folder, device, n_steps, share, name, options.seconds)
    if options.task in ("all", "judge"):
        judge(folder, device, name)
    if options.task == "calibrate":
        together = calibrate(folder, device, share, name)
        print({label: np.round(value, 3).tolist() for label, value in together.items()})
    if options.task in ("all", "pack"):
        marks = {} if real is None else sources.marks(real)
        learned = {"marks": marks, "share": share, "name": name}
        pack(folder, options.out, device, options.commit, **learned)


if __name__ == "__main__":
    main()
