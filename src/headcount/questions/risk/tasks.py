"""Risk when each sub-task has priors of its own, by drawing sub-tasks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UnsupportedError
from headcount.metrics.hypergeometric import log_mass
from headcount.pilot.pilot import Pilot
from headcount.questions.risk import kernels
from headcount.questions.risk.costs import COUNTS_ONLY, Cost, as_cost
from headcount.questions.risk.priors import as_priors
from headcount.questions.risk.ranks import RULES, summed_over_probes
from headcount.support import validation
from headcount.support.grids import class_counts_within

Floats = NDArray[np.float64]
Tasks = NDArray[np.bool_]

TASK_BYTES = 1 << 25  # eight times that as floats


def task_normalised_risk(
    pilot: Pilot,
    cost: Any,
    k: int,
    priors: Any,
    *,
    repeats: int = 1000,
    random_state: Any = 0,
) -> tuple[float, float]:
    r"""Return the mean risk of sub-tasks whose true class is drawn by their own priors.

    A sub-task is a set S of k classes, all sets equally likely. Within it the true class is drawn
    with the priors of its classes made to sum to one,

    .. math:: \pi_S(y) = \pi_0(y) \Big/ \sum_{y' \in S} \pi_0(y'),

    So a frequent class counts for less beside other frequent ones, unlike in `observed_risk`. There
    is no short formula for the mean over all sets. It is estimated from random sets, and is exact
    where there are no more sets than `repeats`. With equal priors, and probes of every class, it
    estimates the same as `observed_risk`.

    Parameters
    ----------
    pilot : Pilot
        With scores. Classes without probes compete, but are never the true one; sets of such
        classes alone are not drawn.
    cost : Cost, str, array, sparse matrix, pair, callable or mapping
        Cost of each mistake; see `as_cost`.
    k : int
        Number of classes, 1 to K.
    priors : mapping or sequence
        As for `as_priors`.
    repeats : int
        How many sets to draw.
    random_state : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    value, standard_error : float
        The standard error is that of the draws alone; 0 where all sets were used.

    References
    ----------
    Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
    classification*, discussion.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.questions.risk import task_normalised_risk
    >>> pilot = Pilot.from_scores([[1, 2, 0], [0, 2, 1], [0, 1, 2]], [0, 1, 2])
    >>> task_normalised_risk(pilot, "zero-one", 3, [2, 1, 1])
    (0.5, 0.0)
    """
    priced, prior = as_cost(cost, pilot), as_priors(priors, pilot)
    size = int(class_counts_within(validation.whole_number(k, "k", 1), pilot.n_classes))
    repeats = validation.whole_number(repeats, "repeats", 2)
    if not pilot.has_scores:
        raise UnsupportedError(COUNTS_ONLY)
    assert pilot.labels is not None  # a pilot with scores has labels
    if math.comb(pilot.n_classes, size) <= repeats:
        every = np.array(list(itertools.combinations(range(pilot.n_classes), size)))
        risks = _risks(pilot, priced, prior, _members(every, pilot.n_classes))
        return float(risks[~np.isnan(risks)].mean()), 0.0
    rng = np.random.default_rng(random_state)
    order, step = _order(pilot, prior), max(1, TASK_BYTES // pilot.n_classes)
    with_probes = np.isin(order, pilot.labels)
    sides = order[with_probes], order[~with_probes]
    parts = [
        _risks(pilot, priced, prior, _drawn(rng, *sides, size, min(step, repeats - start)))
        for start in range(0, repeats, step)
    ]
    risks = np.concatenate(parts)
    return float(risks.mean()), float(risks.std(ddof=1) / math.sqrt(repeats))


def _order(pilot: Pilot, prior: Floats) -> NDArray[np.intp]:
    """Return the classes in an order that does not depend on how the data were ordered."""
    place = {name: i for i, name in enumerate(pilot.class_names.tolist())}
    order = np.array([place[name] for name in pilot.canonical_classes().tolist()])
    return np.asarray(order[np.argsort(prior[order], kind="stable")])


def _drawn(
    rng: np.random.Generator,
    probed: NDArray[np.intp],
    silent: NDArray[np.intp],
    size: int,
    repeats: int,
) -> Tasks:
    """Draw sets of classes uniformly among those that hold a class with probes."""
    n_classes = len(probed) + len(silent)
    numbers = range(max(1, size - len(silent)), min(size, len(probed)) + 1)  # of probed classes
    chances = np.exp([log_mass(number, n_classes, len(probed), size) for number in numbers])
    counts = rng.choice(numbers, repeats, p=chances / chances.sum())
    chosen = [
        np.concatenate(
            [
                rng.choice(probed, count, replace=False),
                rng.choice(silent, size - count, replace=False),
            ]
        )
        for count in counts
    ]
    return _members(np.array(chosen), n_classes)


def _members(chosen: NDArray[Any], n_classes: int) -> Tasks:
    tasks = np.zeros((len(chosen), n_classes), np.bool_)
    np.put_along_axis(tasks, chosen, True, axis=1)
    return tasks


def _risks(pilot: Pilot, cost: Cost, prior: Floats, tasks: Tasks) -> Floats:
    """Return the risk of each task; NaN where none of its classes has probes."""
    assert pilot.labels is not None  # a pilot with scores has labels
    per_class = np.bincount(pilot.labels, minlength=pilot.n_classes)
    weights = (prior / np.maximum(per_class, 1))[pilot.labels]
    rule = RULES[pilot.tie_rule]

    def add(scores: Floats, rows: NDArray[np.intp], true: int, heavy: Floats, sums: Floats) -> None:
        kernels.spend_tasks(scores, rows, true, cost.row(true), heavy, rule, tasks, sums)

    paid = summed_over_probes(pilot, weights, len(tasks), add)
    with np.errstate(invalid="ignore"):  # no class with probes: neither cost nor prior
        return np.asarray(paid / (tasks @ (prior * (per_class > 0))))
