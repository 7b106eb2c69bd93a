"""Refits on random subsets of the classes: one engine for back-tests and intervals.

Every question about how far a forecast can be trusted is put to the pilot in the same way: hide
some of its classes, fit again, and see what the method says. Classes are drawn, not probes, because
a class is a source of probes *and* a rival of all others. They are drawn without replacement,
because a class that is there twice would tie with itself.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import clone

from headcount.counting import class_keys
from headcount.errors import HeadcountError, ParameterError, UnsupportedError, silence
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.labels import positions
from headcount.pilot.pilot import BEATS_BUDGET, Pilot
from headcount.support import validation, workers
from headcount.support.grids import POINTS

Ints = NDArray[np.int64]

LARGEST_DRAW = 10**9
LEAST_KNOWN = 10
TOO_MANY_UNKNOWN = 0.01


def share_of(n_units: int, size: int, n_classes: int) -> int:
    """Return how many of the classes with probes belong to a subset: their share, at least one."""
    return max(1, round(n_units * size / n_classes))


class IndependentRivals:
    """Subsets of a pilot of counts: each probe meets rivals of its own.

    A censored probe is one whose list of rivals was cut before its true class appeared, so that
    only the rivals in the list are known to beat it. How many of those are among the m - 1 drawn
    depends on the same luck as its losses do, and must not decide where it is censored. Hence all
    probes of a drawn pilot, censored before or not, are censored at one fixed number of losses,
    so low (`bound`) that 99 in 100 lists reach it. The rest are given the bound they reach.
    """

    shared_rivals = False

    def __init__(self, pilot: Pilot) -> None:
        self.pilot = pilot
        order, self.source = _canonical_probes(pilot)
        self.losses, self.ties = pilot.losses[order], pilot.ties[order]
        self.censored = pilot.censored[order]
        self.labels = None if pilot.labels is None else pilot.labels[order]
        self.n_units = int(self.source[-1]) + 1
        self.n_sources = min(self.n_units, pilot.n_classes)
        self.depth = _depth(self.losses, pilot.weights[order], self.censored)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return a pilot of the probes of random classes, each against rivals of its own."""
        n_units = share_of(self.n_units, size, self.pilot.n_classes)
        chosen = np.zeros(self.n_units, np.bool_)
        chosen[rng.choice(self.n_units, n_units, replace=False)] = True
        rows = chosen[self.source]
        n_rivals = self.pilot.n_classes - 1
        losses, ties = thin(self.losses[rows], self.ties[rows], n_rivals, size - 1, rng)
        censored = self.censored[rows]
        if self.depth is not None:
            bound = self.bound(size)
            censored = censored | (losses >= bound)
            losses, ties = np.minimum(losses, bound), np.where(censored, 0, ties)
        if self.labels is None:
            places, labels = np.arange(0), None
        else:
            places, labels = np.unique(self.labels[rows], return_inverse=True)
        names = self.pilot.class_names[places]
        return self.pilot._with(
            losses, ties, names, n_classes=size, censored=censored, labels=labels
        )

    def bound(self, size: int) -> int:
        """Return the losses at which probes among `size` classes are censored."""
        assert self.depth is not None  # else nothing is censored
        # A binomial number spreads more than the hypergeometric one, so its quantile is lower.
        share = (size - 1) / (self.pilot.n_classes - 1)
        return int(binom.ppf(TOO_MANY_UNKNOWN, self.depth, share))

    def refusal(self, size: int) -> str | None:
        """Say so where too little is left of lists that were cut."""
        if self.depth is None:
            return None
        return too_short(self.depth, size, self.pilot.n_classes)


def too_short(depth: int, size: int, n_classes: int) -> str | None:
    """Say so where too little is left of lists that were cut."""
    left = depth * size / n_classes
    if left >= LEAST_KNOWN:
        return None
    return (
        f"lists of rivals were cut after {depth:,}, of which {left:.2g} are left on average among "
        f"{size:,} classes, and {LEAST_KNOWN} are needed; use longer lists."
    )


class FewerDocuments:
    """Subsets of queries of which some documents stay, each among rivals of its own.

    Graded documents, and those that are always present, stay; rivals are left out. Queries that
    were drawn together, as probes of one class, are taken together. Lists that were cut are cut at
    one number of losses, as in `IndependentRivals`.
    """

    shared_rivals = False

    def __init__(self, pilot: Pilot) -> None:
        assert pilot.ranking is not None
        self.pilot, self.ranking = pilot, pilot.ranking
        self.owners = self.ranking.owners
        self.n_sources = len(self.owners)
        counts = np.full(len(self.ranking.query), 1 / len(self.ranking.query))
        self.depth = _depth(self.ranking.losses, counts, self.ranking.missing)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return what some of the queries would have found among `size` documents."""
        n_owners = share_of(self.n_sources, size, self.pilot.n_classes)
        owners = rng.choice(self.owners, n_owners, replace=False)
        ranking = self.ranking.of_queries(np.isin(self.ranking.owner, owners))
        losses, ties = thin(
            ranking.losses, ranking.ties, ranking.n_rivals, size - ranking.absent, rng
        )
        missing = ranking.missing
        if self.depth is not None:
            share = (size - 1) / (self.pilot.n_classes - 1)
            bound = int(binom.ppf(TOO_MANY_UNKNOWN, self.depth, share))
            missing = missing | (losses >= bound)
            losses, ties = np.minimum(losses, bound), np.where(missing, 0, ties)
        return self.pilot.ranked(ranking.among(size, losses, ties, missing))

    def refusal(self, size: int) -> str | None:
        """Say so where hardly any rivals are left, or too little of lists that were cut."""
        most = int(self.ranking.absent.max())
        if size - most < LEAST_KNOWN:
            return (
                f"a query has {most:,} documents that are always present, so that among {size:,} "
                f"fewer than {LEAST_KNOWN} rivals are left."
            )
        if self.depth is None:
            return None
        return too_short(self.depth, size, self.pilot.n_classes)


def _depth(losses: Ints, weights: NDArray[np.float64], censored: NDArray[np.bool_]) -> int | None:
    """Return the depth that lists of censored probes reach, but for a hundredth of the weight."""
    if not censored.any():
        return None
    lengths, weights = losses[censored], weights[censored]
    order = np.argsort(lengths, kind="stable")
    shorter = np.cumsum(weights[order])
    # The first whose weight, with that of all shorter ones, is no longer negligible.
    place = np.searchsorted(shorter, TOO_MANY_UNKNOWN, side="right")
    return int(lengths[order[min(int(place), len(order) - 1)]])


def thin(
    losses: Ints, ties: Ints, n_rivals: int | Ints, draws: int | Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return losses and ties of probes that meet only `draws` of their `n_rivals` rivals.

    Losses are hypergeometric, and so are, among the rest, ties.

    Examples
    --------
    All of the rivals, so nothing changes:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> [counts.tolist() for counts in thin(np.array([0, 3]), np.array([2, 0]), 9, 9, rng)]
    [[0, 3], [2, 0]]
    """
    lost = _hypergeometric(
        losses, n_rivals - losses, np.broadcast_to(np.asarray(draws, np.int64), losses.shape), rng
    )
    tied = _hypergeometric(ties, n_rivals - losses - ties, draws - lost, rng)
    return lost, tied


def _hypergeometric(good: Ints, bad: Ints, draws: Ints, rng: np.random.Generator) -> Ints:
    """Return how many of the draws are good ones."""
    total = good + bad
    if total.max(initial=0) < LARGEST_DRAW:
        return np.asarray(rng.hypergeometric(good, bad, draws), dtype=np.int64)
    # Beyond what the generator takes; the rarer side is drawn as if with replacement, which is
    # the same where it is rare among so many.
    few, many = np.minimum(good, draws), np.maximum(good, draws)
    successes = rng.binomial(few, many / np.maximum(total, 1))
    return np.asarray(np.maximum(successes, draws - bad), dtype=np.int64)


def _canonical_probes(pilot: Pilot) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order of the probes that does not depend on theirs, and the source of each.

    Sources, the classes or without labels the probes, are told apart by their probes' counts.
    """
    counts = (pilot.losses, pilot.ties, pilot.censored)
    if pilot.labels is None:
        return np.lexsort(counts[::-1]), np.arange(pilot.n_probes)
    of_class = class_keys(counts, pilot.labels, len(pilot.class_names))[pilot.labels]
    # Classes of the same key have the same probes, and are kept apart by their number.
    order = np.lexsort((*counts[::-1], pilot.labels, of_class))
    labels = pilot.labels[order]
    return order, np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])


Floats = NDArray[np.float64]

SHORT_BEATS = 1 << 26  # bytes: longer lists would take longer to cut than fits take
REACH = 50
TASK = "Fitting subsets of the classes"


@dataclass(frozen=True)
class Refit:
    """What a method says of one subset of the classes.

    Attributes
    ----------
    curve : ndarray
        What is forecast on the grid.
    plausible : ndarray or None
        What is forecast where `refits` was told to ask for it, under laws as plausible as its own;
        see `Extrapolator.plausible`.
    n_probes : int
        How many probes it saw.
    """

    curve: Floats
    plausible: Floats | None
    n_probes: int


@dataclass(frozen=True)
class Refits:
    """What a method says when it sees only some of the classes.

    Attributes
    ----------
    n_classes : int
        How many classes each refit saw.
    fits : tuple of Refit
        Those that worked.
    curves : ndarray of shape (refits, points of the grid)
        What each of them forecasts.
    n_failed : int
        How many refits the method refused.
    reason : str or None
        Why most of those were refused, or why this size was not tried.
    """

    n_classes: int
    fits: tuple[Refit, ...]
    curves: Floats
    n_failed: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class Subsamples:
    """Curves refitted on random subsets of the classes, one entry of `sizes` for each size.

    Attributes
    ----------
    grid : ndarray of int64
        Numbers of classes at which the curves are known.
    sizes : tuple of Refits
        In the order asked for.
    shared_rivals : bool
        True where subsets are real: all probes of a refit meet the same classes. False where only
        counts are known, so that each probe had to be given rivals of its own.
    """

    grid: Ints
    sizes: tuple[Refits, ...]
    shared_rivals: bool


class Sampler(Protocol):
    """Draws the pilots that only some of the classes would have given.

    Attributes
    ----------
    n_sources : int
        How many classes have probes.
    shared_rivals : bool
        Whether all probes of a drawn pilot meet the same classes.
    """

    n_sources: int
    shared_rivals: bool

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return the pilot of `size` random classes."""

    def refusal(self, size: int) -> str | None:
        """Return why pilots of this size would say nothing, if so."""


def refits(
    pilot: Pilot,
    estimator: Extrapolator,
    sizes_and_repeats: Sequence[tuple[int, int]],
    grid: Any,
    *,
    metric: Metric = ACCURACY,
    random_state: int = 0,
    n_jobs: int | None = None,
    order: Any = None,
    sampler: Sampler | None = None,
    plausible_at: int | None = None,
) -> Subsamples:
    """Fit a method to random subsets of a pilot's classes and keep the curves it forecasts.

    Each subset has its own random numbers, which follow from the seed, the size and the number of
    the repeat alone. It is drawn from the classes in canonical order. So neither the number of
    workers nor the order of the data matters. The share of classes that have probes is kept, and
    is never zero. Warnings of the refits are not given.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    estimator : Extrapolator
        Not fitted; copies are.
    sizes_and_repeats : sequence of (int, int)
        How many classes, and how many random subsets of so many.
    grid : sequence of int
        Numbers of classes at which the curves are wanted.
    metric : Metric
        What is forecast, accuracy by default.
    random_state : int
        Seed.
    n_jobs : int, optional
        Workers, as in joblib; by default what `joblib.parallel_config` says, else one.
    order : sequence, optional
        Names of all classes in the order to draw from, so that pilots of the same classes can be
        given the same subsets. It needs a pilot with scores.
    sampler : Sampler, optional
        What draws the subsets, where `sampler_for` has made it already.
    plausible_at : int, optional
        Number of classes at which laws as plausible as the fitted ones are asked for.

    Returns
    -------
    Subsamples

    Notes
    -----
    A pilot of counts alone does not say who beat whom. There the classes drawn are sources of
    probes only (without labels, every probe is a source). Each of their probes meets m - 1 of its
    K - 1 rivals, drawn for it alone: its losses and ties are multivariate hypergeometric. That is
    the exact law for each probe. But probes that met the same rivals no longer do, so the spread
    leaves out what comes from shared rivals. The same is done where the list of who beat whom would
    be too long (64 MiB) and the method needs only losses.

    Examples
    --------
    Half of 20 classes, drawn three times:

    >>> from headcount import estimators, simulate
    >>> pilot = simulate.isotropic_gaussian(20, sigma=0.5, random_state=1).pilot
    >>> found = refits(pilot, estimators.ProbitNormal(), [(10, 3)], [10, 20])
    >>> found.sizes[0].curves.shape, found.shared_rivals
    ((3, 2), True)
    """
    points = np.asarray(validation.class_counts(grid)).astype(np.int64)
    plan = [_checked(size, repeats, pilot) for size, repeats in sizes_and_repeats]
    seed = validation.whole_number(random_state, "random_state", 0)
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; choose 1, or -1 for all.")
    with workers.doing("Preparing subsets of the classes"):
        sampler = sampler or sampler_for(pilot, estimator, order)
    refusals = [sampler.refusal(size) for size, _ in plan]
    todo = [
        (place, size, repeat)
        for place, (size, repeats) in enumerate(plan)
        for repeat in range(repeats)
        if refusals[place] is None
    ]
    calls = (
        delayed(_refit)(
            estimator,
            sampler.draw(size, _rng(seed, size, repeat)),
            points,
            metric,
            plausible_at,
            os.getpid(),
        )
        for _, size, repeat in todo
    )
    outcomes: list[list[Refit | str]] = [[] for _ in plan]
    report = workers.reporter()
    if todo:
        report(TASK, 0, len(todo))
    with workers.one_blas_thread():
        for n_finished, outcome in enumerate(_in_parallel(n_jobs, calls), start=1):
            outcomes[todo[n_finished - 1][0]].append(outcome)
            report(TASK, n_finished, len(todo))
    sizes = tuple(
        _gather(size, of_size, refusal, len(points))
        for (size, _), of_size, refusal in zip(plan, outcomes, refusals, strict=True)
    )
    return Subsamples(points, sizes, sampler.shared_rivals)


def curve_grid(n_classes: int, asked: tuple[int, ...] = ()) -> NDArray[np.int64]:
    """Return at least 60 numbers of classes on a log scale, past 50 K and all that was asked."""
    largest = max(REACH * n_classes, *asked) if asked else REACH * n_classes
    number, grid = POINTS, np.empty(0)
    while len(grid) < POINTS:
        grid = np.unique(np.geomspace(2, largest, number).round())
        number += POINTS
    above_one = [k for k in asked if k > 1]
    return np.unique(np.concatenate([grid, [n_classes, largest, *above_one]])).astype(np.int64)


def sampler_for(pilot: Pilot, estimator: Extrapolator | None = None, order: Any = None) -> Sampler:
    """Return what draws subsets: with shared rivals where it is known who beat whom.

    Where classes came in whole groups, so do those that are drawn.
    """
    only_losses = estimator is None or estimator.needs == "losses"
    with_scores = not only_losses or (estimator is not None and estimator.uses_scores)
    if pilot.ranking is not None:
        return FewerDocuments(pilot)
    if pilot.whole_groups:
        with_scores = estimator is not None and (estimator.needs == "scores" or with_scores)
        return WholeGroupRivals(pilot, with_scores, order)
    if pilot.knows_rivals:
        may_thin = only_losses and order is None
        try:
            pilot.beats(SHORT_BEATS if may_thin else BEATS_BUDGET)
        except UnsupportedError:
            if not may_thin:
                raise
        else:
            return SharedRivals(pilot, with_scores, order)
    if order is not None:
        raise UnsupportedError(
            "this pilot holds only counts, so classes cannot be drawn from it in a given order; "
            "make it from scores or embeddings."
        )
    return IndependentRivals(pilot)


class SharedRivals:
    """Subsets of a pilot that knows who beat whom: exactly what fewer classes would have given."""

    shared_rivals = True

    def __init__(self, pilot: Pilot, with_scores: bool = False, order: Any = None) -> None:
        assert pilot.labels is not None  # a pilot with scores has labels
        names = pilot.canonical_classes() if order is None else _reordered(pilot, order)
        sources = np.isin(names, pilot.class_names[np.unique(pilot.labels)])
        self.sources, self.others = names[sources], names[~sources]
        self.n_sources = len(self.sources)
        self.pilot = pilot if with_scores else _without_scores(pilot)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return the pilot of `size` random classes."""
        n_sources = share_of(self.n_sources, size, self.pilot.n_classes)
        sources = self._choose(self.sources, n_sources, rng)
        others = self._choose(self.others, size - n_sources, rng)
        return self.pilot.subset(np.concatenate([sources, others]))

    def _choose(self, names: NDArray[Any], size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return so many of these classes, of each stratum its share."""
        if self.pilot.strata is None:
            return names[rng.choice(len(names), size, replace=False)]
        stratum = self.pilot.strata[positions(names, self.pilot.class_names)]
        # In random order within strata, evenly spaced from a random start.
        order = np.lexsort((rng.permutation(len(names)), stratum))
        places = (np.arange(size) + rng.random()) * len(names) / max(size, 1)
        return names[order[places.astype(np.intp)]]

    def refusal(self, size: int) -> str | None:
        """Return None: any subset says something."""


class WholeGroupRivals:
    """Subsets of a pilot whose classes came in whole groups: some of the groups.

    A group may have any number of classes, so that pilots have `size` classes only on average.
    """

    shared_rivals = True

    def __init__(self, pilot: Pilot, with_scores: bool = False, order: Any = None) -> None:
        assert pilot.labels is not None and pilot.groups is not None  # whole groups have both
        self.groups = pilot.groups
        order = pilot.canonical_classes() if order is None else _reordered(pilot, order)
        of_each = pilot.groups[positions(order, pilot.class_names)]
        groups, first = np.unique(of_each, return_index=True)
        names = groups[np.argsort(first)]  # in the order of their first classes
        sources = np.isin(names, pilot.groups[pilot.labels])
        self.sources, self.others = names[sources], names[~sources]
        self.n_sources, self.n_groups = len(self.sources), len(names)
        self.pilot = pilot if with_scores else _without_scores(pilot)

    def draw(self, size: int, rng: np.random.Generator) -> Pilot:
        """Return the pilot of random groups with `size` classes on average."""
        n_classes = self.pilot.n_classes
        n_groups = max(2, round(self.n_groups * size / n_classes))
        n_sources = min(share_of(self.n_sources, size, n_classes), n_groups)
        sources = rng.choice(self.n_sources, n_sources, replace=False)
        n_others = min(n_groups - n_sources, len(self.others))
        others = rng.choice(len(self.others), n_others, replace=False)
        chosen = np.concatenate([self.sources[sources], self.others[others]])
        return self.pilot.subset(self.pilot.class_names[np.isin(self.groups, chosen)])

    def refusal(self, size: int) -> str | None:
        """Return None: any subset says something."""
        return None


# -- inner workings --------------------------------------------------------------------------------


def _checked(size: int, repeats: int, pilot: Pilot) -> tuple[int, int]:
    size = validation.whole_number(size, "the number of classes to draw", 2)
    if size > pilot.n_classes:
        raise ParameterError(
            f"{size:,} classes cannot be drawn from a pilot of {pilot.n_classes:,}; draw fewer."
        )
    return size, validation.whole_number(repeats, "repeats", 1)


def _rng(seed: int, size: int, repeat: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(size, repeat)))


def _reordered(pilot: Pilot, order: Any) -> NDArray[Any]:
    names = validation.as_labels(order, "order")
    if len(names) != pilot.n_classes or set(names.tolist()) != set(pilot.class_names.tolist()):
        raise ParameterError("order must name every class of the pilot once.")
    return names


def _without_scores(pilot: Pilot) -> Pilot:
    """Return the pilot with who beat whom but without scores: less to send to workers."""
    return pilot._with(
        pilot.losses,
        pilot.ties,
        pilot.class_names,
        n_classes=pilot.n_classes,
        labels=pilot.labels,
        beats=pilot.beats(),
        groups=pilot.groups,
        order=pilot.order,
    )


def _in_parallel(n_jobs: int | None, calls: Iterator[Any]) -> Any:
    try:
        workers = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # some backends give their results only all at once
        workers = Parallel(n_jobs=n_jobs)
    return workers(calls)


def _refit(
    estimator: Extrapolator,
    pilot: Pilot,
    grid: Ints,
    metric: Metric,
    plausible_at: int | None,
    parent: int,
) -> Refit | str:
    """Return what a method says of a pilot, or why it says nothing."""
    # Warning filters are shared by all threads of a process, so that only a worker may set them.
    # An empty context keeps warnings and progress from those who listen to the whole.
    with _quiet(os.getpid() != parent), workers.one_blas_thread():
        return Context().run(_fit_and_forecast, estimator, pilot, grid, metric, plausible_at)


def _fit_and_forecast(
    estimator: Extrapolator, pilot: Pilot, grid: Ints, metric: Metric, plausible_at: int | None
) -> Refit | str:
    try:
        with silence():
            fit = clone(estimator).fit(pilot)
            curve = np.asarray(fit.value(grid, metric), dtype=np.float64)
    except HeadcountError as error:
        return str(error)
    if not np.isfinite(curve).all():
        return "it gave a forecast that is not a number."
    plausible = None if plausible_at is None else fit.plausible([plausible_at], metric)
    return Refit(curve, plausible, pilot.n_probes)


def _gather(
    size: int, outcomes: Sequence[Refit | str], refusal: str | None, n_points: int
) -> Refits:
    fits = tuple(outcome for outcome in outcomes if not isinstance(outcome, str))
    reasons = Counter(outcome for outcome in outcomes if isinstance(outcome, str))
    most = max(sorted(reasons), key=reasons.__getitem__) if reasons else refusal
    curves = np.array([fit.curve for fit in fits], dtype=np.float64).reshape(len(fits), n_points)
    curves.flags.writeable = False
    return Refits(size, fits, curves, reasons.total(), most)


@contextmanager
def _quiet(wanted: bool) -> Iterator[None]:
    """Keep the warnings of other libraries off the screen, in a process of our own."""
    if not wanted:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
