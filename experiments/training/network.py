"""The network behind the default forecast, and its training, in torch.

It is small: a network looks at each probe; what it finds is averaged within classes, then mean and
spread over classes are taken (so that no order matters) and joined with what is known of the whole
pilot into a context. Knowing the context, a second network says of each probe how likely it is
right among more classes, for which random problems have a truth of their own (the fresh classes
that beat it). The mean of that over probes, the base fit and a last network give the forecast, and
the spread of its error. `headcount.estimators.auto.network` runs it in NumPy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments.problems.worlds import torch_module
from headcount.estimators.auto.features import N_FEATURES, N_GLOBALS, N_LOSSES
from headcount.estimators.auto.network import CLIP, FREEDOM, N_RATIOS, SPREADS, reach

WIDTHS = {"probe": 128, "found": 64, "context": 64, "second": 160, "last": 256}
# What an error weighs at each ratio.
EMPHASIS = (0.4, 0.4, 0.5, 1.0, 1.5, 1.5, 1.5, 1.5, 1.0, 0.8)
PROBES_A_STEP = 400_000
WITHOUT_SCORES = 0.15  # share of what is shown from losses alone
SMALL = 0.01  # squared error, times classes, below which a problem matters less
PROBE_PART, SPREAD_PART, BEND_PART = 0.5, 0.05, 1e-3
DECAY = 0.999  # of the average of weights
WARM = 300  # steps over which the learning rate rises
RATE = 1.5e-3  # of learning, at most
FIXED = ("probe_", "whole_")  # the standards of features, which are not learned
MANY = 800  # classes with probes from where on errors count no more
EFFECTIVE = -4  # place of the log of the number of classes with probes


@dataclass(frozen=True)
class Group:
    """Problems of one size with their truths; tensors on the training device.

    Attributes
    ----------
    probes : tensor (B, C, r, features), float16
    chances : tensor (B, C, r, ratios), float16
        How likely each probe is right at each ratio, from fresh classes.
    whole, base, errors, truth : tensor (B, .)
        What is known of each pilot, the base fit on the logit scale, how far the losses leave it
        open, true accuracies.
    known : tensor (ratios,)
        One where the truth is known, else zero.
    """

    probes: Any
    chances: Any
    whole: Any
    base: Any
    errors: Any
    truth: Any
    known: Any

    @classmethod
    def read(cls, path: Path, device: Any) -> Group:
        """Read what `experiments.training.learn` wrote."""
        tensors = torch_module().load(path, map_location=device, weights_only=True)
        return cls(**tensors)

    @property
    def n_probes(self) -> int:
        """Probes of one problem."""
        return int(self.probes.shape[1] * self.probes.shape[2])


Shown = tuple[Group, slice]  # some problems of a group


def make_network(means: dict[str, Any]) -> Any:
    """Return a fresh network that standardises its input with fixed means and spreads."""
    torch = torch_module()
    nn = torch.nn
    w = WIDTHS

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name, value in means.items():
                self.register_buffer(name, value)
            self.probe1 = nn.Linear(N_FEATURES, w["probe"])
            self.probe2 = nn.Linear(w["probe"], w["probe"])
            self.probe3 = nn.Linear(w["probe"], w["found"])
            self.context1 = nn.Linear(2 * w["found"] + N_GLOBALS, w["probe"])
            self.context2 = nn.Linear(w["probe"], w["context"])
            self.second1 = nn.Linear(N_FEATURES, w["second"])
            self.second1c = nn.Linear(w["context"], w["second"], bias=False)
            self.second2 = nn.Linear(w["second"], w["second"])
            self.second3 = nn.Linear(w["second"], N_RATIOS + w["found"])
            joined = 2 * w["found"] + w["context"] + N_GLOBALS + N_RATIOS
            self.last1 = nn.Linear(joined, w["last"])
            self.last2 = nn.Linear(w["last"], w["last"])
            self.last3 = nn.Linear(w["last"], 3 * N_RATIOS)
            nn.init.zeros_(self.last3.weight)
            nn.init.zeros_(self.last3.bias)

        def forward(self, parts: Sequence[tuple[Any, Any, Any, Any]]) -> tuple[Any, Any, Any]:
            return _forward(self, parts)

    return Network()


def _forward(net: Any, parts: Sequence[tuple[Any, Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Return forecasts and log spreads (B, ratios) of all parts, and logits of their probes.

    A part is the probes (B, C, r, features), whole, base and errors of problems of one size; what
    looks at single probes looks at those of all parts at once.
    """
    torch = torch_module()
    silu = torch.nn.functional.silu
    sizes = [group_inputs[0].shape[:3] for group_inputs in parts]
    lengths = [math.prod(size) for size in sizes]
    flat = torch.cat([group_inputs[0].reshape(-1, N_FEATURES) for group_inputs in parts]).float()
    x = ((flat - net.probe_mean) / net.probe_spread).clamp(-CLIP, CLIP)
    whole = torch.cat([group_inputs[1] for group_inputs in parts]).float()
    g = ((whole - net.whole_mean) / net.whole_spread).clamp(-CLIP, CLIP)
    base = torch.cat([group_inputs[2] for group_inputs in parts]).float()
    unit = reach(torch, torch.cat([group_inputs[3] for group_inputs in parts]).float())

    def pooled(values: Any) -> Any:
        pools = []
        for rows, size in zip(values.split(lengths), sizes, strict=True):
            classes = rows.reshape(*size, -1).float().mean(dim=2)
            mean = classes.mean(dim=1)
            spread = (classes - mean[:, None]).square().mean(dim=1).add(1e-6).sqrt()
            pools.append(torch.cat([mean, spread], dim=1))
        return torch.cat(pools)

    first = net.probe3(silu(net.probe2(silu(net.probe1(x)))))
    context = silu(net.context1(torch.cat([pooled(first), g], dim=1)))
    context = silu(net.context2(context)).float()
    each = torch.tensor(
        [size[1] * size[2] for size in sizes for _ in range(size[0])], device=x.device
    )
    row = torch.arange(len(base), device=x.device).repeat_interleave(each, output_size=len(x))
    second = silu(net.second1(x) + net.second1c(context)[row])
    second = silu(net.second2(second)) + second
    out = net.second3(second).float()
    chances = out[:, :N_RATIOS] + base[row]
    mean = pooled(torch.sigmoid(chances))[:, :N_RATIOS].clamp(1e-5, 1 - 1e-5)
    ahead = torch.log(mean) - torch.log1p(-mean) - base
    joined = torch.cat([pooled(out[:, N_RATIOS:]), context, g, ahead], dim=1)
    last = silu(net.last1(joined))
    last = silu(net.last2(last)) + last
    shift, gate, spread = net.last3(last).float().chunk(3, dim=1)
    far = FREEDOM * unit
    moved = far * torch.tanh((torch.sigmoid(gate) * ahead + shift) / far)
    return base + moved, unit.log() + spread.clamp(*SPREADS), chances


def losses_alone(probes: Any, whole: Any) -> tuple[Any, Any]:
    """Return what would be known without scores."""
    bare = probes.clone()
    bare[..., N_LOSSES - 1 :] = 0
    rest = whole.clone()
    rest[:, -1] = 0
    return bare, rest


def standards(groups: Sequence[Group]) -> dict[str, Any]:
    """Return means and spreads of all features over some problems, sizes being spread evenly."""
    torch = torch_module()
    rows = [group.probes.flatten(0, 2).float() for group in groups]
    probes = torch.cat([table[:: max(1, len(table) // 4096)] for table in rows])
    whole = torch.cat([group.whole for group in groups]).float()
    values_by_name: dict[str, Any] = {}
    for name, values in (("probe", probes), ("whole", whole)):
        values_by_name[f"{name}_mean"] = values.mean(dim=0)
        values_by_name[f"{name}_spread"] = values.std(dim=0).clamp(min=0.05)
    # The flag whether there are scores is kept as it is.
    for name, column in (("probe", N_LOSSES - 1), ("whole", N_GLOBALS - 1)):
        values_by_name[f"{name}_mean"][column], values_by_name[f"{name}_spread"][column] = 0.0, 1.0
    return values_by_name


def steps(
    groups: Sequence[Group], rng: np.random.Generator, shares: Sequence[float] | None = None
) -> Iterator[list[Shown]]:
    """Yield, without end, groups and rows of them that are shown together.

    In each round all problems of the groups with the largest share are shown, and as many of the
    others as theirs are less.
    """
    chances = np.ones(len(groups)) if shares is None else np.array(shares) / max(shares)
    while True:
        chunks: list[tuple[int, slice]] = []
        for number, group in enumerate(groups):
            size = max(1, min(len(group.base), PROBES_A_STEP // (2 * group.n_probes)))
            offset = int(rng.integers(size))
            edges = [0, *range(offset, len(group.base), size), len(group.base)]
            rows = [slice(a, b) for a, b in pairwise(edges) if b > a]
            chunks += [(number, row) for row in rows if rng.random() < chances[number]]
        batch: list[Shown] = []
        total = 0
        for place in rng.permutation(len(chunks)):
            number, row = chunks[place]
            batch.append((groups[number], row))
            total += groups[number].n_probes * (row.stop - row.start)
            if total >= PROBES_A_STEP:
                yield batch
                batch, total = [], 0
        if batch:
            yield batch


def objective(net: Any, batch: Sequence[Shown], bare: Sequence[bool]) -> tuple[Any, Any]:
    """Return what training lowers, and the root mean square error times root K of each problem."""
    torch = torch_module()
    parts = [inputs(group, rows, alone) for (group, rows), alone in zip(batch, bare, strict=True)]
    forecast, log_spread, chances = net(parts)
    sizes = [rows.stop - rows.start for _, rows in batch]
    known = torch.cat(
        [group.known.expand(size, -1) for (group, _), size in zip(batch, sizes, strict=True)]
    )
    emphasis = torch.tensor(EMPHASIS, device=known.device)
    truth = torch.cat([group.truth[rows] for group, rows in batch])
    weight = emphasis * known
    weight = weight / weight.sum(dim=1, keepdim=True)
    n_effective = torch.cat([group.whole[rows, EFFECTIVE] for group, rows in batch]).exp()
    n_effective = n_effective.clamp(max=MANY)
    error = (weight * (torch.sigmoid(forecast) - truth).square()).sum(dim=1) * n_effective
    # A norm rather than a square: means of root mean square errors are what is judged.
    total = (error + SMALL).sqrt().mean()
    total = total + PROBE_PART * _single(chances, batch, sizes, emphasis)
    total = total + SPREAD_PART * _unlikely(forecast, log_spread, truth, known)
    bend = (forecast - torch.cat([part[2] for part in parts])).diff(dim=1).diff(dim=1)
    return total + BEND_PART * bend.square().mean(), error.detach().sqrt()


def inputs(group: Group, rows: slice, alone: bool) -> tuple[Any, Any, Any, Any]:
    """Return what the network is given of some problems of a group, from losses alone or not."""
    probes, whole = group.probes[rows], group.whole[rows]
    if alone:
        probes, whole = losses_alone(probes, whole)
    return probes, whole, group.base[rows], group.errors[rows]


def _single(chances: Any, batch: Sequence[Shown], sizes: Sequence[int], emphasis: Any) -> Any:
    """Return the cross-entropy of single probes' chances."""
    torch = torch_module()
    targets = torch.cat([group.chances[rows].flatten(0, 2) for group, rows in batch]).float()
    shown = torch.cat(
        [
            group.known.expand(size * group.n_probes, -1)
            for (group, _), size in zip(batch, sizes, strict=True)
        ]
    )
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    return (entropy(chances, targets, reduction="none") * shown * emphasis).mean()


def _unlikely(forecast: Any, log_spread: Any, truth: Any, known: Any) -> Any:
    """Return minus the log-likelihood of the errors, of which only the spread learns."""
    torch = torch_module()
    ratio = (smoothed_logit(truth) - forecast.detach()) * torch.exp(-log_spread)
    return (known * (0.5 * ratio.square().clamp(max=50) + log_spread)).sum(dim=1).mean()


def smoothed_logit(truth: Any) -> Any:
    """Return the logit of a truth that rests on a few thousand probes: never infinite."""
    return torch_module().logit((truth * 4096 + 0.5) / 4097)


def train(
    groups: Sequence[Group],
    *,
    seed: int,
    n_steps: int,
    save: Path,
    shares: Sequence[float] | None = None,
    seconds: float = math.inf,
    rate: float = RATE,
    judge: Any = None,
    every: float = 60.0,
) -> Any:
    """Train one network and return the average of its weights.

    Parameters
    ----------
    groups : sequence of Group
        What to learn from.
    seed : int
        Of first weights and of the order of problems.
    n_steps : int
        Number of steps.
    save : Path
        Where to keep the state; goes on from there if it exists.
    shares : sequence of float, optional
        How much of each group is shown; by default alike.
    seconds : float
        How long training may take: the learning rate falls by time where steps would take longer.
    rate : float
        Largest learning rate.
    judge : callable, optional
        Called with the average network whenever the state is kept.
    every : float
        Seconds between two saves.
    """
    torch = torch_module()
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    means = standards([groups[i] for i in rng.permutation(len(groups))[:200]])
    run = _Run(means, groups[0].base.device, rate, n_steps, seconds)
    if save.exists():
        run.load(save)
        rng = np.random.default_rng([seed, run.step])
    begun, saved, errors = time.perf_counter() - run.elapsed, time.perf_counter(), []
    for batch in steps(groups, rng, shares):
        if run.done >= 1:
            break
        errors.append(run.learn(batch, (rng.random(len(batch)) < WITHOUT_SCORES).tolist()))
        now = time.perf_counter()
        run.elapsed = now - begun
        if now - saved > every:
            saved = now
            run.keep(save)
            recent = float(torch.cat(errors).mean())
            errors = []
            print(f"step {run.step}/{n_steps} {run.elapsed:.0f} s {recent:.4f}", flush=True)
            if judge is not None:
                judge(run.average)
    run.keep(save)
    return run.average


def load(path: Path, device: Any) -> Any:
    """Return the network that `train` kept: the average of its weights."""
    state = torch_module().load(path, map_location=device, weights_only=True)["average"]
    fixed = {name: value for name, value in state.items() if name.startswith(FIXED)}
    net = make_network(fixed).to(device)
    net.load_state_dict(state)
    return net


class _Run:
    """A network in training, the average of its weights, and how far it has come."""

    def __init__(
        self, means: dict[str, Any], device: Any, rate: float, n_steps: int, seconds: float
    ) -> None:
        torch = torch_module()
        self.device = device
        self.net = make_network(means).to(self.device)
        self.average = make_network(means).to(self.device)
        self.average.load_state_dict(self.net.state_dict())
        self.rate = rate
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.99)
        )
        self.step, self.n_steps = 0, n_steps
        self.elapsed, self.seconds = 0.0, seconds

    @property
    def done(self) -> float:
        """Share of the training that is done, by steps or by time."""
        return max(self.step / self.n_steps, self.elapsed / self.seconds)

    def learn(self, batch: Sequence[Shown], bare: Sequence[bool]) -> Any:
        """Take one step and return the errors before it."""
        torch = torch_module()
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, self.done)))
        slow = min(1.0, (self.step + 1) / WARM) * falling
        for group_options in self.optimiser.param_groups:
            group_options["lr"] = self.rate * max(slow, 1e-3)
        on_gpu = self.device.type == "cuda"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=on_gpu):
            value, error = objective(self.net, batch, bare)
        self.optimiser.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimiser.step()
        decay = min(DECAY, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            both = zip(self.average.parameters(), self.net.parameters(), strict=True)
            for mean, own in both:
                mean.lerp_(own, 1 - decay)
        self.step += 1
        return error

    def keep(self, path: Path) -> None:
        """Write everything needed to go on."""
        state = {
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "elapsed": self.elapsed,
        }
        torch_module().save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def load(self, path: Path) -> None:
        """Go on from what was kept."""
        state = torch_module().load(path, map_location=self.device, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.elapsed = state["step"], state["elapsed"]


def weights(net: Any) -> dict[str, Any]:
    """Return the weights of a network as arrays: half precision, but for the fixed standards."""
    arrays = {}
    for name, value in net.state_dict().items():
        array = value.detach().cpu().numpy()
        arrays[name] = array.astype(np.float32 if name.startswith(FIXED) else np.float16)
    return arrays
