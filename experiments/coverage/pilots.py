"""The families of pilots on which intervals are judged: simulations of paper 001 and real sets.

One real set is bundled (Hangul syllables), the others are files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from experiments.journal import Record
from experiments.papers.pilots import digest
from experiments.runner import seed_for
from headcount import simulate
from headcount.curves.favorability import Favorability
from headcount.curves.observed import Observed, observe
from headcount.datasets import load_hangul
from headcount.errors import ParameterError
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.loading import load
from headcount.pilot.pilot import Pilot
from headcount.simulate import Population
from headcount.simulate.simulation import REFERENCE_PROBES
from headcount.support import validation

NAME = "coverage"
SIMULATED, HANGUL = "simulations", "hangul"
FILES = {
    "omniglot": ("omniglot_pixels.npz", "omniglot_hog.npz"),
    "definitions": ("definitions_tfidf.npz",),
    "lfw": ("lfw_dlib_pairs.npz",),
}
FAMILIES = (SIMULATED, HANGUL, *FILES)
WITHOUT_FILES = (SIMULATED, HANGUL)
RATIOS = (1, 2, 5, 10, 20)
SIZES = (100, 50)
SHARES = (0.05,)  # so that twenty times a pilot is no more than the whole set
PROBES = 10
# Of the bundled set; the last ratio is nearly all of its 11,172 classes.
HANGUL_SIZE, HANGUL_RATIOS = 500, (1, 2, 4, 10, 22)

LAWS = ("normal", "uniform")
# Dimension, variance of points, law of classes, law of points: all of the paper's for d = 5, and
# two each of those for d = 3 and 10.
WORLDS: tuple[tuple[int, float, str, str], ...] = (
    *((5, *rest) for rest in product((0.1, 0.2), LAWS, LAWS)),
    (3, 0.1, "normal", "normal"),
    (3, 0.2, "uniform", "uniform"),
    (10, 0.6, "normal", "normal"),
    (10, 0.9, "uniform", "normal"),
)


@dataclass(frozen=True)
class Setting:
    """Where pilots come from, and how large they are; little to send around.

    Attributes
    ----------
    family : str
        One of `FAMILIES`.
    name : str
        Which of its populations.
    n_classes : int
        Size K of the pilots.
    ratios : tuple of int
        k / K asked about.
    world : tuple, optional
        Of `WORLDS`.
    file, mark : str
        Where a real set is read from (nowhere: it is bundled), and a mark of what is in there.
    """

    family: str
    name: str
    n_classes: int
    ratios: tuple[int, ...]
    world: tuple[int, float, str, str] | None = None
    file: str = ""
    mark: str = ""

    @property
    def key(self) -> str:
        """What random draws and tasks are called by; nothing of where the file is."""
        return f"{self.family}/{self.name}/{self.n_classes}"

    @property
    def classes(self) -> list[int]:
        """Numbers of classes asked about."""
        return [ratio * self.n_classes for ratio in self.ratios]


def families(names: Sequence[str] | None, data: Path | None) -> list[str]:
    """Return the families to run, in their order; by default all that there are data for."""
    if names is None:
        return [name for name in FAMILIES if name in WITHOUT_FILES or data is not None]
    for name in names:
        validation.choice(name, "--families", FAMILIES)
        if name not in WITHOUT_FILES and data is None:
            raise ParameterError(f"the family {name} needs a folder with {FILES[name][0]}.")
    if not names:
        raise ParameterError("no family is named; leave --families out for all of them.")
    return [name for name in FAMILIES if name in names]


def settings_of(
    family: str,
    data: Path | None,
    *,
    ratios: Sequence[int] = RATIOS,
    sizes: Sequence[int] = SIZES,
    shares: Sequence[float] = SHARES,
    worlds: Sequence[tuple[int, float, str, str]] = WORLDS,
) -> list[Setting]:
    """Return the settings of a family.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    data : path, optional
        Folder of the real sets.
    ratios : sequence of int
        k / K asked about; of a real set only those that it reaches. Those of the bundled set, and
        the size of its pilots, are `HANGUL_RATIOS` and `HANGUL_SIZE`.
    sizes : sequence of int
        Classes of simulated pilots.
    shares : sequence of float
        Classes of real pilots, as shares of the whole set's.
    worlds : sequence of tuple
        Which simulations.
    """
    if family == SIMULATED:
        return [
            Setting(family, "d={} {} {}/{}".format(*world), size, tuple(ratios), world)
            for world, size in product(worlds, sizes)
        ]
    if family == HANGUL:
        mark = digest(_population("").whole)[:8]
        return [Setting(family, family, HANGUL_SIZE, HANGUL_RATIOS, mark=mark)]
    assert data is not None  # checked with the families
    settings = []
    for file, share in product(FILES[family], shares):
        path = str((data / file).resolve())  # workers may live in another folder
        whole = _population(path).whole
        size = validation.whole_number(int(share * whole.n_classes + 1e-9), "pilot classes", 2)
        reached = tuple(ratio for ratio in ratios if ratio * size <= whole.n_classes)
        name = file.removesuffix(".npz")
        settings.append(
            Setting(family, name, size, reached, file=path, mark=digest(whole)[:8])
        )  # fmt: skip
    return settings


def inputs(names: Sequence[str], data: Path | None) -> list[Path]:
    """Return the files that are read, so that results do not overwrite them."""
    return [data / file for name in names if data for file in FILES.get(name, ())]


def pilot_and_truth(
    setting: Setting, repeat: int, seed: int, metrics: Sequence[Metric] = (ACCURACY,)
) -> tuple[Pilot, dict[str, Record]]:
    """Return a random pilot, and what is true of each metric at the numbers of classes asked about.

    Simulated pilots are of fresh classes, so that the truth is what is expected; there also
    sets of so many classes are drawn, new ones and ones that hold the pilot's. Of a real set, the
    whole is the population.
    """
    pilot_seed = seed_for(seed, NAME, "pilot", setting.key, repeat)
    if setting.world is None:
        whole = _curve(setting.file)
        return _population(setting.file).pilot(setting.n_classes, pilot_seed), {
            metric.name: {"truth": whole.value(setting.classes, metric).tolist()}
            for metric in metrics
        }
    rng = np.random.default_rng(pilot_seed)
    largest = setting.classes[-1]
    grown = _simulated(setting.world, largest, 2 * PROBES, rng).pilot
    # One half of the probes is the pilot's, the other measures the grown sets.
    pilot = _first(grown, setting.n_classes, slice(0, None, 2))
    new = _simulated(setting.world, largest, PROBES, rng).pilot
    sets = {
        "new_set": [observe(_first(new, k, slice(None))) for k in setting.classes],
        "grown_set": [observe(_first(grown, k, slice(1, None, 2))) for k in setting.classes],
    }
    truth = _world_truth(setting.world, seed)
    return pilot, {
        metric.name: {
            "truth": truth.value(setting.classes, metric).tolist(),
            "sets": {
                kind: [float(one.value(one.n_classes, metric)) for one in measured]
                for kind, measured in sets.items()
            },
            "set_probes": PROBES,
        }
        for metric in metrics
    }


def _first(whole: Pilot, n_classes: int, probes: slice) -> Pilot:
    """Return the pilot of the first classes and some of their probes, as simulations order them."""
    cut = whole.subset(whole.class_names[:n_classes]) if n_classes < whole.n_classes else whole
    return cut.keep_probes(np.arange(cut.n_probes)[probes])


@lru_cache(maxsize=2)
def _population(path: str) -> Population:
    """Return a real set; without a path the bundled one."""
    return Population(load(path) if path else load_hangul())


@lru_cache(maxsize=2)
def _curve(path: str) -> Observed:
    return observe(_population(path).whole)


@lru_cache(maxsize=len(WORLDS))
def _world_truth(world: tuple[int, float, str, str], seed: int) -> Favorability | Observed:
    """Return the law of a world, or the curve of a large population where none is known."""
    source = _simulated(world, 2, 1, seed_for(seed, NAME, "truth", *world)).source
    if isinstance(source, Favorability):
        return source
    return observe(source.world.draw(source.rng, source.n_classes, REFERENCE_PROBES))


def _simulated(
    world: tuple[int, float, str, str], n_classes: int, probes: int, random_state: object
) -> simulate.Simulation:
    n_dims, sigma2, classes, points = world
    return simulate.points_around_classes(
        n_classes,
        n_dims=n_dims,
        sigma2=sigma2,
        classes=classes,
        points=points,
        probes_per_class=probes,
        random_state=random_state,
    )
