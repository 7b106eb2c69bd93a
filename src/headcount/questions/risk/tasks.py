"""Risk when each sub-task has priors of its own, by drawing sub-tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from headcount.errors import ParameterError, UnsupportedError
from headcount.metrics.hypergeometric import log_mass
from headcount.pilot.pilot import Pilot
from headcount.questions.risk import kernels
from headcount.questions.risk.costs import COUNTS_ONLY, Cost, as_cost
from headcount.questions.risk.forecasting import forecast_risk
from headcount.questions.risk.priors import as_priors
from headcount.questions.risk.ranks import RULES, summed_over_probes
from headcount.support import validation
from headcount.support.grids import whole_count

Floats = NDArray[np.float64]
Tasks = NDArray[np.bool_]

NODES, KNOTS = 1200, 400  # of the integral over s, and of its table
TINY = 1e-300  # so far out that nothing is left to integrate
TASK_BYTES = 1 << 25  # eight times that as floats


def task_normalised_risk(
    pilot: Pilot,
    cost: Any,
    k: int,
    priors: Any,
    *,
    repeats: int = 1000,
    random_state: Any = 0,
    **options: Any,
) -> tuple[float, float]:
    r"""Return the mean risk of sub-tasks whose true class is drawn by their own priors.

    A sub-task is a set S of k classes, all sets equally likely. Within it the true class is drawn
    with the priors of its classes made to sum to one,

    .. math:: \pi_S(y) = \pi_0(y) \Big/ \sum_{y' \in S} \pi_0(y'),

    So a frequent class counts for less beside other frequent ones, unlike in `observed_risk`. There
    is no short formula for the mean over all sets. It is estimated from random sets, and is exact
    where there are no more sets than `repeats`. With equal priors, and probes of every class, it
    estimates the same as `observed_risk`.

    Beyond the pilot's own size nothing is drawn. With the priors of the pilot's classes made to sum
    to one, `forecast_risk` gives what is normalised for tasks of K classes. How a task's own sum
    changes that is forecast as a risk with other costs: given the true class i and the class j
    that is taken for it, the other K - 2 priors of a task sum to some T, and

    .. math:: K\, \pi_0(i)\, C(j, i)\, E\!\left[\frac 1 {\pi_0(i) + \pi_0(j) + T}\right]

    is what the mistake counts. From the two follows what tasks of k classes pay, to the first
    order in 1 / K and 1 / k. The priors of new classes are taken to be like those of the pilot.

    Parameters
    ----------
    pilot : Pilot
        With scores. Classes without probes compete, but are never the true one; sets of such
        classes alone are not drawn.
    cost : Cost, str, array, sparse matrix, pair, callable or mapping
        Cost of each mistake; see `as_cost`.
    k : int
        Number of classes.
    priors : mapping or sequence
        As for `as_priors`.
    repeats : int
        How many sets to draw.
    random_state : int or numpy.random.Generator
        Seed of the draws.
    **options
        Beyond the pilot's size, those of `forecast_risk`: approach, basis, shape and so on.

    Returns
    -------
    value, standard_error : float
        Up to the pilot's size, the standard error is that of the draws alone; 0 where all sets were
        used. Beyond, it is that of `RiskForecast.standard_error`; NaN with ``intervals=False``.

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
    size = whole_count(k, "k")
    repeats = validation.whole_number(repeats, "repeats", 2)
    if not pilot.has_scores:
        raise UnsupportedError(COUNTS_ONLY)
    if size > pilot.n_classes:
        return _beyond(pilot, priced, prior, size, options)
    if options:
        raise ParameterError(
            f"{', '.join(options)}: up to the pilot's {pilot.n_classes:,} classes nothing is "
            "fitted; leave such options out."
        )
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


class TaskCost(Cost):
    """What a mistake costs, times how much more or less its task weighs than the true class alone.

    Parameters
    ----------
    cost : Cost
        Of each mistake.
    prior : ndarray
        Of each class; zero for those that are never the true one.
    share : callable
        Mean of one over the sum of the priors of a task, from that of the two classes.
    total : float
        What all costs are multiplied with.
    """

    def __init__(
        self, cost: Cost, prior: Floats, share: Callable[[Floats], Floats], total: float
    ) -> None:
        super().__init__(np.arange(0), cost.n_classes)
        self._cost, self._prior, self._share, self._total = cost, prior, share, total

    def refuse_others(self, names: NDArray[Any]) -> None:
        """Accept any names: those of the cost have been looked at."""

    def row(self, true: int) -> Floats:
        """Return the costs, dearer where the two classes together are rare."""
        own = self._prior[true]
        weight = self._share(own + self._prior) / self._share(own + self._prior.mean(keepdims=True))
        return self._total * weight * self._cost.row(true)


def _beyond(
    pilot: Pilot, cost: Cost, prior: Floats, k: int, options: dict[str, Any]
) -> tuple[float, float]:
    """Forecast the task-normalised risk, and its standard error.

    A pilot's own sum of priors is that of one task of K classes, and its luck makes a forecast f
    with these priors normalised as if for K: A + B / K. Tasks of K classes drawn from the pilot's
    have that luck twice, g = A + 2 B / K. What is wanted is A + B / k = f + (g - f) (K / k - 1).
    """
    assert pilot.labels is not None  # a pilot with scores has labels
    with_probes = np.bincount(pilot.labels, minlength=pilot.n_classes) > 0
    counted = np.where(with_probes, prior, 0.0)
    size = pilot.n_classes
    share = inverse_sums(counted, size - 2)
    # A true class weighs as its tasks do on average, so that costs stay nearly what they were.
    weights = prior * share(counted + counted.mean())
    total = float(weights[with_probes].sum())
    priced = TaskCost(cost, counted, share, total)
    plain = forecast_risk(pilot, cost, k, priors=prior, **options)
    drawn = forecast_risk(pilot, priced, k, priors=weights, **options | {"intervals": False})
    value = float(plain.risk(k)) + (size / k - 1) * float(drawn.risk(k) - plain.risk(k))
    error = float(plain.standard_error(k)) if plain.curve.has_limits else math.nan
    return min(max(value, 0.0), plain.largest_cost), error


def inverse_sums(prior: Floats, draws: int) -> Callable[[Floats], Floats]:
    r"""Return E[1 / (a + T)] as a function of a, T being the sum of priors of random classes.

    With :math:`\phi(s)` the mean of :math:`e^{-s \pi}` over the classes and n draws,

    .. math:: E\left[\frac 1 {a + T}\right] = \int_0^\infty e^{-sa} \phi(s)^n ds .

    It is tabulated, as a power of a nearly is a straight line on logarithmic scales.

    Examples
    --------
    Two draws of a prior of one or three sum to 2, 4, 4 or 6:

    >>> inverse_sums(np.array([1.0, 3.0]), 2)(np.array([1.0])).round(6).tolist()
    [0.219048]
    """
    least, most, mean = prior[prior > 0].min(), 2 * prior.max(), prior.mean()
    log_s = np.linspace(np.log(1e-12 / (most + draws * mean)), np.log(800 / least), NODES)
    s = np.exp(log_s)
    log_phi = np.log(np.exp(-np.multiply.outer(s, prior)).mean(axis=1) + TINY)
    log_a = np.linspace(np.log(least) - 1e-9, np.log(2 * most), KNOTS)
    powers = draws * log_phi - np.multiply.outer(np.exp(log_a), s) + log_s
    values = np.log(np.exp(powers).sum(axis=1) * (log_s[1] - log_s[0]))
    table = CubicSpline(log_a, values)
    return lambda a: np.asarray(np.exp(table(np.log(a))))


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
