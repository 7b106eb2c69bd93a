"""Random synthetic recognition problems, and the truth about them at many more classes.

Forecasts and their intervals are learned and judged on these. A `Problem` is drawn from a seed
(`draw`) and then realised: the pilot an experimenter would have, and how accurate the same
recogniser is among thousands of fresh classes. Classes are drawn independently from an endless
population, and the score of a class depends on the probe and that class alone. Needs the extra
`torch`; many problems of one size are realised at once on a GPU.

Nothing is to be trained or tuned on the families in `HELD_OUT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.problems import points as points
from experiments.problems import scores as scoring
from experiments.problems import worlds as worlds
from experiments.problems.families import FAMILIES, HELD_OUT, SHARES, TRAINING, Problem, draw
from experiments.problems.worlds import Draws, World, torch_module
from headcount.errors import ParameterError
from headcount.support import validation

__all__ = [
    "FAMILIES",
    "HELD_OUT",
    "SHARES",
    "TRAINING",
    "Problem",
    "Realisation",
    "draw",
    "realise",
    "realise_many",
    "to_pilot",
]

TRUTH_CLASSES = 8192
TRUTH_PROBES = 4096
TRIAL_CLASSES, TRIAL_PROBES = 640, 384
LEVELS = (1e-2, 30.0)  # noise levels tried
HALVINGS = 16
QUIET = 0.3  # noise level below which all that spoils scores shrinks with it
# Numbers a batch may hold besides scores: classes and probes, several times over. A CPU gains
# nothing from large batches and works on one problem at a time unless they are tiny.
NUMBERS, NUMBERS_ON_GPU = 1 << 20, 1 << 28


@dataclass(frozen=True)
class Realisation:
    """A problem made real.

    Attributes
    ----------
    problem : Problem
        What was realised.
    level : tensor
        The noise level.
    scores : tensor (N, K), float32
        Larger is better; the true class of probe i is column ``labels[i]``.
    labels : tensor (N,)
        True classes; those of one class are next to each other.
    n_truth : int
        Fresh classes behind the truth.
    truth_losses, truth_ties : tensor
        For each fresh probe, the other fresh classes that beat it and tie with it; None for ties
        unless scores are rounded.
    oracle_losses, oracle_ties : tensor (N,) or None
        For each of the pilot's own probes, the fresh classes that beat it and tie with it: what
        would be known if each probe's U were.
    """

    problem: Problem
    level: Any
    scores: Any
    labels: Any
    n_truth: int
    truth_losses: Any
    truth_ties: Any
    oracle_losses: Any
    oracle_ties: Any

    @property
    def noise(self) -> float:
        """The noise level as a number."""
        return float(self.level)

    def truth(self, ks: Any) -> NDArray[np.float64]:
        """Return the expected accuracy among k classes, for k up to `n_truth`.

        An unbiased estimate from fresh probes and classes; see `truth_error`.
        """
        return self._shaped(self._fresh(ks).mean(dim=0), ks)

    def truth_error(self, ks: Any) -> NDArray[np.float64]:
        """Return the standard error of `truth` that comes from the number of fresh probes.

        That the same fresh classes are everybody's rivals adds to it, as k nears `n_truth`.
        """
        error = self._fresh(ks).std(dim=0) / len(self.truth_losses) ** 0.5
        return self._shaped(error, ks)

    def oracle(self, ks: Any) -> NDArray[np.float64]:
        """Return the accuracy among k classes of the pilot's own probes, their U being known.

        What no method can be expected to beat: the pilot's probes are all there is.
        """
        if self.oracle_losses is None:
            raise ParameterError("the oracle was not asked for; realise with oracle=True.")
        counts = self._counts(ks)
        chances = scoring.accuracies(self.oracle_losses, self.oracle_ties, self.n_truth, counts)
        return self._shaped(chances.mean(dim=0), ks)

    def _fresh(self, ks: Any) -> Any:
        counts = self._counts(ks)
        return scoring.accuracies(self.truth_losses, self.truth_ties, self.n_truth - 1, counts)

    def _counts(self, ks: Any) -> NDArray[np.float64]:
        counts = validation.class_counts(ks)
        if (counts > self.n_truth).any():
            raise ParameterError(
                f"the truth is known up to {self.n_truth:,} classes; "
                "ask for fewer, or raise n_truth."
            )
        return counts.ravel()

    def _shaped(self, values: Any, ks: Any) -> NDArray[np.float64]:
        return np.asarray(values.cpu().numpy(), dtype=np.float64).reshape(np.shape(ks))


def realise(
    problem: Problem, device: str = "cpu", n_truth: int = TRUTH_CLASSES, **options: Any
) -> Realisation:
    """Make one problem real.

    Parameters
    ----------
    problem : Problem
        What to realise.
    device : str
        Where, as torch names it. The same seed gives other numbers on other kinds of device.
    n_truth : int
        Fresh classes behind the truth.
    **options
        See `realise_many`.

    Returns
    -------
    Realisation

    Examples
    --------
    >>> realisation = realise(draw(3, family="normal", n_classes=50), n_truth=1000)
    >>> tuple(realisation.scores.shape) == (50 * realisation.problem.probes_per_class, 50)
    True
    >>> bool(realisation.truth(50) > realisation.truth(1000))
    True
    """
    return realise_many([problem], device, n_truth, **options)[0]


def realise_many(
    problems: Sequence[Problem],
    device: str = "cpu",
    n_truth: int = TRUTH_CLASSES,
    *,
    n_truth_probes: int = TRUTH_PROBES,
    oracle: bool = True,
) -> list[Realisation]:
    """Make several problems of one size real, many at once.

    Parameters
    ----------
    problems : sequence of Problem
        All with the same number of classes and of probes a class.
    device, n_truth
        See `realise`.
    n_truth_probes : int
        Fresh probes behind the truth, each of another class until these run out. 4,096 leave a
        standard error of at most 0.008.
    oracle : bool
        Whether to count the fresh classes that beat the pilot's own probes.

    Returns
    -------
    list of Realisation
        In the order of the problems; each is what it would be alone, up to round-off.
    """
    torch = torch_module()
    n_truth = validation.whole_number(n_truth, "n_truth", 2)
    n_probes = validation.whole_number(n_truth_probes, "n_truth_probes", 2)
    sizes = {(problem.n_classes, problem.probes_per_class) for problem in problems}
    if len(sizes) > 1:
        raise ParameterError(
            "problems realised together must have the same number of classes and of probes a "
            f"class, but have {len(sizes)} sizes."
        )
    place = torch.device(device)
    realisations: dict[int, Realisation] = {}
    with torch.no_grad():
        for rows in batches_of(problems, n_truth + n_probes, place.type):
            batch = [problems[row] for row in rows]
            realisations |= zip(
                rows, _realised(batch, place, n_truth, n_probes, oracle), strict=True
            )
    return [realisations[row] for row in range(len(problems))]


def to_pilot(realisation: Realisation) -> Any:
    """Return the pilot an experimenter would have."""
    from headcount.pilot.pilot import Pilot  # late: compiles, which training does without

    scores = realisation.scores.cpu().numpy()
    return Pilot.from_scores(scores, realisation.labels.cpu().numpy())


def batches_of(problems: Sequence[Problem], n_rows: int, device: str) -> list[list[int]]:
    """Return which problems to realise together: alike in how they are made, and in dimension."""
    budget = NUMBERS if device == "cpu" else NUMBERS_ON_GPU
    order = sorted(range(len(problems)), key=lambda row: (_likeness(problems[row]), row))
    batches: list[list[int]] = []
    for row in order:
        problem = problems[row]
        # Sorted by dimension, so that the last is the widest.
        each = problem.n_dims * n_rows * (2 + worlds.best_rows(problem))
        if (
            batches
            and _likeness(problems[batches[-1][0]])[:3] == _likeness(problem)[:3]
            and (len(batches[-1]) + 1) * each <= budget
        ):
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _likeness(problem: Problem) -> tuple[str, int, bool, int]:
    return (
        worlds.kind(problem), worlds.best_rows(problem), problem.quantum > 0, problem.n_dims
    )  # fmt: skip


def _realised(
    problems: list[Problem], device: Any, n_truth: int, n_probes: int, oracle: bool
) -> list[Realisation]:
    torch = torch_module()
    size, per_class = problems[0].n_classes, problems[0].probes_per_class
    shared = worlds.world(Draws(problems, "world", device))
    how, level = _calibrated(problems, shared, device)
    labels = torch.arange(size, device=device).repeat_interleave(per_class)
    pilot = Draws(problems, "pilot", device)
    classes, probes, own, square = _sides(pilot, shared, how, level, size, labels)
    raw_scores = scoring.products(how, own, classes)
    scores = scoring.shown(how, raw_scores, square, probes)
    fresh = Draws(problems, "truth", device)
    truth_labels = torch.arange(n_probes, device=device) % n_truth
    rivals, _, others, _ = _sides(fresh, shared, how, level, n_truth, truth_labels)
    truth = scoring.count(how, others, rivals, labels=truth_labels)
    oracle_counts: tuple[Any, Any] = (None, None)
    if oracle:
        true = raw_scores.gather(2, labels[None, :, None].expand(len(problems), -1, 1))[..., 0]
        oracle_counts = scoring.count(how, own, rivals, true=true)
    levels = level[:, 0, 0]
    return [
        Realisation(
            problem, levels[row], scores[row], labels, n_truth,
            *(None if counts is None else counts[row] for counts in (*truth, *oracle_counts)),
        )
        for row, problem in enumerate(problems)
    ]  # fmt: skip


def _sides(
    draws: Draws, shared: World, how: scoring.Rule, level: Any, n_classes: int, labels: Any
) -> tuple[list[Any], points.Probes, Any, Any]:
    """Draw classes and probes; return both sides of the scores, and the probes' squared lengths."""
    classes = points.draw_classes(draws, shared, n_classes)
    probes = points.draw_probes(draws, shared, len(labels))
    vectors = points.probe_vectors(shared, classes, labels, probes, level)
    side = scoring.class_side(how, points.class_vectors(shared, classes, level), classes)
    square = vectors.square().sum(dim=2, keepdim=True)
    return side, probes, scoring.probe_side(how, vectors, probes), square


def _calibrated(problems: list[Problem], shared: World, device: Any) -> tuple[scoring.Rule, Any]:
    """Find the spread of scores between classes, and the noise level that reaches the target.

    Both from classes and probes of their own, so that they belong to the population and not to
    the pilot. The level is found by halving its range, always with the same random numbers;
    impossible probes are left as they should be, without which every target can be reached.
    """
    torch = torch_module()
    draws = Draws(problems, "trial", device)
    classes = points.draw_classes(draws, shared, TRIAL_CLASSES)
    probes = points.draw_probes(draws, shared, TRIAL_PROBES)
    honest = points.Probes(**{**vars(probes), "strange": None, "instead": None})
    labels = torch.arange(TRIAL_PROBES, device=device)
    plain = scoring.rule(draws)
    quiet = torch.full((len(problems), 1, 1), LEVELS[0], device=device)

    def sides(how: scoring.Rule, level: Any) -> tuple[Any, list[Any]]:
        vectors = points.probe_vectors(shared, classes, labels, honest, level)
        known = scoring.class_side(how, points.class_vectors(shared, classes, level), classes)
        return scoring.probe_side(how, vectors, honest), known

    own, known = sides(plain, quiet)
    unit = scoring.products(plain, own, known).std(dim=2).median(dim=1).values[:, None, None]
    low, high = (torch.full_like(quiet, float(np.log(end))) for end in LEVELS)
    target = draws.column("target")[:, 0, 0]
    size = min(problems[0].n_classes, TRIAL_CLASSES)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        how = scoring.rule(draws, _unit(unit, middle.exp()))
        losses = scoring.soft_losses(how, *sides(how, middle.exp()), labels)
        right = scoring.accuracies(losses, None, TRIAL_CLASSES - 1, [size]).mean(dim=(1, 2))
        easy = (right > target)[:, None, None]
        low, high = torch.where(easy, middle, low), torch.where(easy, high, middle)
    noises = [np.nan if problem.noise is None else problem.noise for problem in problems]
    fixed = torch.tensor(noises, dtype=torch.float32, device=device)[:, None, None]
    level = torch.where(fixed.isnan(), low.exp(), fixed)
    return scoring.rule(draws, _unit(unit, level)), level


def _unit(unit: Any, level: Any) -> Any:
    """Return the unit of bias, of noise of scores and of rounding: less where there is less noise.

    With these alone as they are, many problems could never be as easy as their target.
    """
    return unit * level / (level + QUIET)
