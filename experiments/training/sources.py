"""Problems made of real classes: random subsets, subspaces and noise of labelled vectors.

A source is a file NAME.npz with `vectors` (rows, dimensions), `labels`, the classes numbered from
zero, rows of one class together and at least two of each, and a `recipe`, which says where they are
from (`python -m experiments sources` gathers them). Random geometry knows no alphabets, families,
styles or hubs; real classes do. A source has thousands of classes, so that each gives many
problems: which classes are the pilot's, which rows are known and which are probes, which directions
count and how much noise there is, is drawn for each. Pilot and truth are drawn alike. The truth is
that of the whole source.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.problems.scores import accuracies
from experiments.problems.worlds import torch_module
from experiments.sources import layout
from headcount.errors import ParameterError

# No network learns from these: errors are calibrated on them, and networks compared.
SET_ASIDE = ("icons_fluent", "inflections_fi", "manual_pages", "messages_slavic")

FEWEST = 10  # classes of a pilot
SHARE = 4  # a pilot has at most one in so many classes of its source
MOST_CLASSES, MOST_PROBES = 4000, 6000  # of a pilot
ENOUGH = 0.5  # share of a source's classes that must have as many rows as are asked for
SINGLE = 0.6  # how often classes are known by a single row
SOME = 0.12  # how often only some classes have probes
N_TRUTH = 4096  # probes behind a truth, or all there are
# How often: all directions count, the leading ones, random ones.
SUBSPACES = {"all": 0.4, "leading": 0.3, "random": 0.3}
SIMILARITIES = {"euclidean": 0.45, "squared": 0.1, "cosine": 0.35, "dot": 0.1}
WHITENED = 0.5  # how often variances of the directions are made more alike, or less
POWERS = (-0.5, 1.0)  # by this power, of which one makes all alike
CLEAN = 0.35  # how often there is no noise but the source's own
TARGETS = (0.05, 0.98)  # accuracies of the pilot that noise is added to reach
TRIAL_CLASSES, TRIAL_PROBES = 640, 384
LEVELS, HALVINGS = (1e-2, 30.0), 14  # noise levels tried
CELLS = 1 << 26  # scores held at once


@dataclass(frozen=True)
class Source:
    """Labelled vectors of many classes.

    Attributes
    ----------
    name : str
        Of the file, without its ending.
    vectors : ndarray of float32 (rows, dimensions)
    counts : ndarray of int (classes,)
        Rows of each class, which lie next to each other.
    """

    name: str
    vectors: NDArray[np.float32]
    counts: NDArray[np.int64]

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read a source's file, unless it is held out."""
        vectors, labels, recipe = layout.read(path)
        if recipe.get("held_out"):
            raise ParameterError(f"{path.name} is held out: nothing may be learned from it.")
        return cls(path.stem, vectors.astype(np.float32), np.bincount(labels))


def read_sources(folder: Path) -> tuple[Source, ...]:
    """Return all sources of a folder, by name."""
    sources = tuple(Source.read(path) for path in sorted(folder.glob("*.npz")))
    if not sources:
        raise ParameterError(f"there is no source (NAME.npz) in {folder.name}.")
    return sources


def marks(folder: Path) -> dict[str, str]:
    """Return a mark of the contents of each source's file."""
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(folder.glob("*.npz"))
    }


def to_learn_from(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources that networks learn from."""
    return tuple(source for source in sources if source.name not in SET_ASIDE)


def set_aside(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources that errors are calibrated on."""
    return tuple(source for source in sources if source.name in SET_ASIDE)


# -- what is drawn ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """What the problems of a group have in common.

    Attributes
    ----------
    source : Source
        Where its classes come from: those that have enough rows.
    n_classes, members : int
        Classes of a pilot, and how many of these have probes.
    known, per_class : int
        Rows that a class is known by, and its probes.
    """

    source: Source
    n_classes: int
    members: int
    known: int
    per_class: int

    @property
    def classes(self) -> NDArray[np.int64]:
        """Classes of the source with enough rows."""
        return np.flatnonzero(self.source.counts >= self.known + self.per_class)


@dataclass(frozen=True)
class View:
    """How a problem looks at its source.

    Attributes
    ----------
    seed : tuple of int
        All further random numbers follow from it.
    centred : bool
        Whether the mean of all vectors is taken away.
    power : float
        How far the variances along the main directions are made alike: 0 not, 1 wholly.
    subspace, n_dims : str, int
        Which directions count, and how many.
    similarity, rule : str
        The score; whether the best of a class's known rows counts, or their mean.
    target : float or None
        Accuracy that noise is added to reach, if it is not less without; None for no noise.
    known_noise : float
        Noise of known rows relative to that of probes.
    """

    seed: tuple[int, ...]
    centred: bool
    power: float
    subspace: str
    n_dims: int
    similarity: str
    rule: str
    target: float | None
    known_noise: float


def draw_size(number: int, sources: Sequence[Source]) -> Size:
    """Return what the problems of a group have in common."""
    if not sources:
        raise ParameterError("there are no sources to draw from; name more, or other SET_ASIDE.")
    rng = np.random.default_rng([number, 82])
    source = sources[rng.integers(len(sources))]
    n_rows = np.arange(2, source.counts.max() + 1)
    enough = (source.counts >= n_rows[:, None]).mean(axis=1) >= ENOUGH
    rows = int(rng.choice(n_rows[enough]))
    known = 1 if rng.random() < SINGLE else int(rng.integers(1, rows))
    most = int((source.counts >= rows).sum()) // SHARE
    n_classes = _log_uniform(rng, FEWEST, max(FEWEST, min(most, MOST_CLASSES)))
    members = n_classes
    if rng.random() < SOME:
        members = _log_uniform(rng, min(12, n_classes), n_classes)
    per_class = min(rows - known, max(1, MOST_PROBES // n_classes))
    return Size(source, n_classes, members, known, per_class)


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw_view(seed: tuple[int, ...], n_dims: int) -> View:
    """Draw how a problem looks at a source of so many dimensions."""
    rng = np.random.default_rng(seed)
    subspace, similarity = (
        str(rng.choice(list(shares), p=list(shares.values())))
        for shares in (SUBSPACES, SIMILARITIES)
    )
    some = _log_uniform(rng, min(3, n_dims), n_dims)
    power, target = rng.uniform(*POWERS), rng.uniform(*TARGETS)
    return View(
        seed,
        centred=bool(rng.random() < 0.5),
        power=float(power) if rng.random() < WHITENED else 0.0,
        subspace=subspace,
        n_dims=n_dims if subspace == "all" else some,
        similarity=similarity,
        rule=str(rng.choice(("best", "mean"))),
        target=None if rng.random() < CLEAN else float(target),
        known_noise=float(rng.choice((0.0, 1.0))),
    )


# -- made real -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Realisation:
    """A problem made real, and how many classes of the whole source beat each probe.

    Attributes
    ----------
    scores, labels : tensor (N, K), (N,)
        The pilot; larger is better.
    oracle : pair of tensors (N,)
        Losses and ties of its probes among all classes.
    truth : pair of tensors
        Those of probes of all classes.
    n_classes : int
        Classes of the source.
    """

    scores: Any
    labels: Any
    oracle: tuple[Any, Any]
    truth: tuple[Any, Any]
    n_classes: int

    def chances(self, counts: Any) -> Any:
        """Return how likely each probe of the pilot is right among k classes of the source."""
        return accuracies(*self.oracle, self.n_classes - 1, counts)

    def accuracies(self, counts: Any) -> Any:
        """Return the accuracy among k classes of the source."""
        return accuracies(*self.truth, self.n_classes - 1, counts).mean(dim=0)


class Space:
    """A group's source on a device: its vectors along their main directions.

    Parameters
    ----------
    size : Size
        What the group's problems have in common.
    device : str
        Where, as torch names it.
    """

    def __init__(self, size: Size, device: str) -> None:
        torch = torch_module()
        vectors = size.source.vectors.astype(np.float64)
        middle = vectors.mean(axis=0)
        # Main directions from the products of columns: few, and the same on all devices.
        variances, directions = np.linalg.eigh(np.cov(vectors.T, bias=True))
        self.spreads = np.sqrt(np.maximum(variances[::-1], 1e-12 * variances[-1]))
        turned = directions[:, ::-1]
        self.size, self.device = size, torch.device(device)
        self.vectors = self._tensor(vectors @ turned)
        self.middle = self._tensor(middle @ turned)
        firsts = np.cumsum(size.source.counts) - size.source.counts
        self.first = torch.tensor(firsts[size.classes], device=self.device)
        self.count = torch.tensor(size.source.counts[size.classes], device=self.device)

    def _tensor(self, values: Any) -> Any:
        return torch_module().tensor(values, dtype=torch_module().float32, device=self.device)

    def realise(self, view: View, n_truth: int = N_TRUTH) -> Realisation:
        """Make one problem real."""
        torch, size = torch_module(), self.size
        draws = self._generator(view)
        points = self._points(view, draws)
        points = points + self._level(view, points, draws) * self._noise(view, points, draws)
        probes, known = points[:, size.known :], _known(view, points[:, : size.known])
        n = len(points)
        pilot = slice(0, size.n_classes)
        own = probes[: size.members].flatten(0, 1)
        labels = torch.arange(size.members, device=self.device).repeat_interleave(size.per_class)
        scores = _shown(view, _scores(view, own, known[pilot]))
        every = torch.randperm(n * size.per_class, generator=draws, device=self.device)[:n_truth]
        truth = count(view, probes.flatten(0, 1)[every], known, every // size.per_class)
        return Realisation(scores, labels, count(view, own, known, labels), truth, n)

    def _generator(self, view: View) -> Any:
        seed = int(np.random.SeedSequence(view.seed).generate_state(1, np.uint64)[0]) % 2**63
        return torch_module().Generator(device=self.device).manual_seed(seed)

    def _points(self, view: View, draws: Any) -> Any:
        """Return rows of all classes (classes, rows, dimensions) in random order, scaled."""
        torch = torch_module()
        order = torch.randperm(len(self.first), generator=draws, device=self.device)
        first, count = self.first[order, None], self.count[order, None]
        places = torch.rand(len(order), int(count.max()), generator=draws, device=self.device)
        places[torch.arange(places.shape[1], device=self.device) >= count] = 2.0
        rows = places.argsort(dim=1)[:, : self.size.known + self.size.per_class]
        points = self.vectors[first + rows] - (self.middle if view.centred else 0.0)
        points = points @ self._directions(view, draws)
        return points / (points - points.mean(dim=(0, 1))).square().sum(dim=2).mean().sqrt()

    def _directions(self, view: View, draws: Any) -> Any:
        """Return the directions that count, in units that make variances as alike as asked for."""
        torch = torch_module()
        scales = torch.diag(self._tensor(self.spreads**-view.power))
        if view.subspace != "random":
            return scales[:, : view.n_dims]
        shape = (len(scales), view.n_dims)
        normal = torch.randn(shape, generator=draws, device=self.device)
        return scales @ torch.linalg.qr(normal).Q

    def _noise(self, view: View, points: Any, draws: Any) -> Any:
        """Return noise of total variance one for probes."""
        torch = torch_module()
        noise = torch.randn(points.shape, generator=draws, device=self.device)
        noise[:, : self.size.known] *= view.known_noise
        return noise / math.sqrt(view.n_dims)

    def _level(self, view: View, points: Any, draws: Any) -> float:
        """Find the noise level that reaches the target; zero where it is not reached without.

        From the last classes in a random order, which in most problems are not the pilot's.
        """
        if view.target is None:
            return 0.0
        tried = points[-TRIAL_CLASSES:]
        n_probes, size = min(TRIAL_PROBES, len(tried)), min(self.size.n_classes, len(tried))
        noise = self._noise(view, tried, draws)
        labels = torch_module().arange(n_probes, device=self.device)

        def accuracy(level: float) -> float:
            moved = tried + level * noise
            known = _known(view, moved[:, : self.size.known])
            counts = count(view, moved[:n_probes, -1], known, labels)
            return float(accuracies(*counts, len(tried) - 1, [size]).mean())

        if accuracy(0.0) <= view.target:
            return 0.0
        low, high = (math.log(end) for end in LEVELS)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            easy = accuracy(math.exp(middle)) > view.target
            low, high = (middle, high) if easy else (low, middle)
        return math.exp(low)


def _known(view: View, rows: Any) -> Any:
    """Return the rows that compete for a class (classes, rows, dimensions)."""
    return rows.mean(dim=1, keepdim=True) if view.rule == "mean" else rows


def _scores(view: View, probes: Any, known: Any) -> Any:
    """Return scores (probes, classes), of which distances are squared; larger is better."""
    torch = torch_module()
    if view.similarity == "cosine":
        probes, known = (_of_length_one(vectors) for vectors in (probes, known))
    best = None
    for row in range(known.shape[1]):
        scores = probes @ known[:, row].T
        if view.similarity in ("euclidean", "squared"):
            scores = 2 * scores - known[:, row].square().sum(dim=1)
        best = scores if best is None else torch.maximum(best, scores)
    if view.similarity in ("euclidean", "squared"):
        best = best - probes.square().sum(dim=1, keepdim=True)
    return best


def _of_length_one(vectors: Any) -> Any:
    return vectors / vectors.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def _shown(view: View, scores: Any) -> Any:
    """Return the scores an experimenter sees."""
    return -scores.neg().clamp(min=0).sqrt() if view.similarity == "euclidean" else scores


def count(view: View, probes: Any, known: Any, labels: Any) -> tuple[Any, Any]:
    """Return how many classes beat each probe, and how many tie with it."""
    torch = torch_module()
    size = max(1, CELLS // len(known))
    losses, ties = [], []
    for own, label in zip(probes.split(size), labels.split(size), strict=True):
        scores = _scores(view, own, known)
        true = scores.gather(1, label[:, None])
        losses.append((scores > true).sum(dim=1))
        ties.append((scores == true).sum(dim=1) - 1)
    return torch.cat(losses), torch.cat(ties)


def realise_group(
    number: int, size: Size, n_problems: int, device: str, n_truth: int = N_TRUTH
) -> list[Realisation]:
    """Return problems of one size, each the same whatever it is made with."""
    space = Space(size, device)
    n_dims = space.vectors.shape[1]
    with torch_module().no_grad():
        return [
            space.realise(draw_view((number, 83, place), n_dims), n_truth)
            for place in range(n_problems)
        ]
