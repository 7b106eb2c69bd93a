"""Which of several systems will be the better one when there are many more classes."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr, ndtri

from headcount.curves.ranked import RankedObserved
from headcount.errors import AssumptionWarning, ParameterError, UnsupportedError, warn
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.suited import suited
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.pilot.loading import as_pilot
from headcount.pilot.pilot import Pilot
from headcount.questions.forecast import Forecast, forecast
from headcount.support.grids import asked_classes, curve_classes, last_where
from headcount.support.output import as_frame
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import (
    Nouns,
    about,
    in_points,
    named,
    percent,
    plain,
    points,
    rough_chance,
)
from headcount.support.workers import doing
from headcount.uncertainty.backtest import HALVES, LEAST_HALF
from headcount.uncertainty.jackknife import without_each
from headcount.uncertainty.resampling import refits

if TYPE_CHECKING:
    from headcount.display.plots import ComparisonDisplay


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
LEVEL = 5e-5  # under a hundredth of a point nobody is ahead


@dataclass(frozen=True)
class Lead:
    """How far the first of two systems is ahead of the second at one number of classes.

    Attributes
    ----------
    classes : int
        k.
    difference : float
        Value of the first minus that of the second.
    lower, upper : float or None
        Interval for it; None where the method is too slow for one.
    chance : float or None
        Chance that the first is the better one.
    """

    classes: int
    difference: float
    lower: float | None
    upper: float | None
    chance: float | None


@dataclass(frozen=True)
class Crossing:
    """Where one system falls behind another.

    Attributes
    ----------
    classes : int
        Last number of classes at which `before` is ahead.
    before, after : str
        Who is ahead up to there, and who beyond.
    lower, upper : int or None
        Up to `lower` classes `before` is surely ahead, and from `upper` on `after` is: an
        interval for the crossing. None where that is sure nowhere on the curve.
    """

    classes: int
    before: str
    after: str
    lower: int | None
    upper: int | None


@dataclass(frozen=True)
class Pair:
    """Two systems compared: differences are the first minus the second.

    Attributes
    ----------
    first, second : str
        Their names.
    paired : bool
        Whether both were measured on the same classes, so that what they share cancels.
    classes : ndarray of int64
        Numbers of classes of the curve, those asked about included.
    difference : ndarray
        Value of the first minus that of the second.
    lower, upper, chance : ndarray or None
        Interval for the difference, and the chance that the first is better.
    crossing : Crossing or None
        Where the curves cross for the last time up to the largest number of classes asked about.
    """

    first: str
    second: str
    paired: bool
    classes: Ints
    difference: Floats
    lower: Floats | None
    upper: Floats | None
    chance: Floats | None
    crossing: Crossing | None

    def at(self, k: int) -> Lead:
        """Return the lead at a number of classes of the curve."""
        place = int(np.searchsorted(self.classes, k))
        if place == len(self.classes) or self.classes[place] != k:
            raise ParameterError(f"{k:,} classes were not asked about; compare again with them.")
        columns = (self.lower, self.upper, self.chance)
        rest = (None if column is None else float(column[place]) for column in columns)
        return Lead(int(k), float(self.difference[place]), *rest)


@dataclass(frozen=True)
class Comparison:
    """How several systems compare at numbers of classes not measured. Made by `compare`.

    Attributes
    ----------
    forecasts : dict of str to Forecast
        One for each system.
    pairs : tuple of Pair
        Every two systems, in the order given.
    classes : tuple of int
        Numbers of classes asked about.
    confidence : float
        Level of the intervals.
    notes : tuple of str
        What was left out, and why.
    """

    forecasts: Mapping[str, Forecast]
    pairs: tuple[Pair, ...]
    classes: tuple[int, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether all systems were measured on the same classes, and compared class by class."""
        return all(pair.paired for pair in self.pairs)

    @property
    def shared(self) -> str:
        """What paired systems have in common: classes, or probes alone where these are queries."""
        ranked = all(isinstance(x.observed, RankedObserved) for x in self.forecasts.values())
        return "probes" if ranked else "classes"

    @property
    def metric(self) -> Metric:
        """What is compared."""
        return next(iter(self.forecasts.values())).metric

    @property
    def nouns(self) -> Nouns:
        """What classes and probes are called in words and pictures: as the first system does."""
        return next(iter(self.forecasts.values())).nouns

    def pair(self, first: str, second: str) -> Pair:
        """Return how two systems compare; the order is that of the comparison."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
        pairs = ", ".join(f"{p.first!r} with {p.second!r}" for p in self.pairs)
        raise ParameterError(f"{first!r} is not compared with {second!r}; there is {pairs}.")

    def cells(self) -> list[list[str]]:
        """Return the values as people read them: a row a number of classes, a column a system."""
        write = self.metric.write
        return [
            [f"{k:,}", *(write(float(each.value(k))) for each in self.forecasts.values())]
            for k in self.classes
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "schema": SCHEMA,
            "metric": self.metric.name,
            "confidence": self.confidence,
            "classes": list(self.classes),
            "paired": self.paired,
            "forecasts": {name: each.to_dict() for name, each in self.forecasts.items()},
            "pairs": [self._pair_to_dict(pair) for pair in self.pairs],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return everything as JSON."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each pair and number of classes."""
        rows = self._rows()
        return as_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_csv(self) -> str:
        """Return a row for each pair and number of classes as CSV text."""
        stream = io.StringIO()
        rows = self._rows()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
        return stream.getvalue()

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> ComparisonDisplay:
        """Draw all systems against classes; needs the extra `plot`."""
        from headcount.display.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the outcome in words: who is ahead, by how much, and where that changes."""
        outcome = []
        for pair in self.pairs:
            outcome += [lead_sentence(pair, k, self.confidence) for k in self.classes]
            if pair.crossing is not None:
                outcome.append(crossing_sentence(pair.crossing))
        return [self.nouns.rename(sentence) for sentence in (*outcome, *self.notes)]

    def __repr__(self) -> str:
        how = "paired" if self.paired else "not paired"
        names = ", ".join(map(named, self.forecasts))
        title = f"Comparison of {names} in {self.metric.label} ({how})"
        return "\n  ".join([title, *self.sentences()])

    def _repr_html_(self) -> str:
        from headcount.display.notebook import comparison_html

        return comparison_html(self)

    def _pair_to_dict(self, pair: Pair) -> dict[str, Any]:
        crossing = None if pair.crossing is None else dict(vars(pair.crossing))
        return {
            "first": pair.first,
            "second": pair.second,
            "paired": pair.paired,
            "differences": [dict(vars(pair.at(k))) for k in self.classes],
            "crossing": crossing,
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "first": pair.first,
                "second": pair.second,
                "classes": k,
                "value_first": float(self.forecasts[pair.first].value(k)),
                "value_second": float(self.forecasts[pair.second].value(k)),
                **{n: v for n, v in vars(pair.at(k)).items() if n != "classes"},
            }
            for pair in self.pairs
            for k in self.classes
        ]


def lead_sentence(pair: Pair, k: int, confidence: float) -> str:
    """Say who is ahead, by how much, and whether that is sure."""
    lead, level = pair.at(k), f"{percent(confidence)} interval"
    first, second = named(pair.first), named(pair.second)
    better, worse = (first, second) if lead.difference >= 0 else (second, first)
    by = points(abs(lead.difference))
    if abs(lead.difference) < LEVEL:
        furthest = max(abs(lead.lower or 0.0), abs(lead.upper or 0.0))
        unsure = f" (give or take {points(furthest)})" if furthest >= LEVEL else ""
        return f"At {k:,} classes {first} and {second} are level{unsure}."
    if lead.lower is None or lead.upper is None or lead.chance is None:
        return f"At {k:,} classes {better} is ahead of {worse} by {by}."
    ends = sorted((abs(lead.lower), abs(lead.upper)))
    if lead.lower > 0 or lead.upper < 0:
        span = f"{in_points(ends[0])} to {in_points(ends[1])}"
        return f"At {k:,} classes {better} is ahead of {worse} by {by} ({level} {span})."
    behind, ahead = (-lead.lower, lead.upper) if better == first else (lead.upper, -lead.lower)
    chance = lead.chance if better == first else 1 - lead.chance
    return (
        f"At {k:,} classes {first} and {second} cannot be told apart: {better} seems ahead by {by} "
        f"({level} {in_points(behind)} behind to {in_points(ahead)} ahead), with a chance of "
        f"{rough_chance(chance)} to be the better one."
    )


def crossing_sentence(crossing: Crossing) -> str:
    """Say up to where one is ahead."""
    before, after = named(crossing.before), named(crossing.after)
    ends = [None if end is None else about(end) for end in (crossing.lower, crossing.upper)]
    if ends[0] is not None and ends[1] is not None:
        sure = f" (likely between {ends[0]} and {ends[1]})"
    elif ends[0] is not None:
        sure = f" (likely past {ends[0]})"
    elif ends[1] is not None:
        sure = f" (likely before {ends[1]}, and perhaps nowhere)"
    else:
        sure = ", which is not sure"
    return f"{before} is ahead up to about {about(crossing.classes)} classes{sure}, {after} beyond."


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; nothing for what is not known."""
    if isinstance(value, str) and value.startswith(FORMULAS):
        return f"'{value}"
    return "" if value is None else value


LEAST_LEAD = 0.001  # less is no lead, so that curves which touch do not cross
LATTICE = (2584, 1597)  # neighbours in the Fibonacci sequence
PLACES = np.linspace(-5.0, 5.0, 100)  # normal quantiles at which quantiles are computed
EDGE = 1e-9
ONE = 1 - 1e-15  # a correlation that is finite on Fisher's scale
PRIOR = 4  # halves that the correlation up to the pilot's size counts for beyond it
INSIDE = 12  # numbers of classes up to K at which each class is left out in turn


def compare(
    pilots: Mapping[str, Any],
    classes: Any,
    *,
    metric: str | Metric = ACCURACY,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Comparison:
    r"""Compare systems at numbers of classes you have not measured.

    Parameters
    ----------
    pilots : mapping of str to Pilot or path
        What was measured of each system, by name; two or more.
    classes : int or sequence of int
        Numbers of classes asked about.
    metric : str or Metric
        What to compare: "accuracy", or "top-5" and the like.
    method : str or Extrapolator
        How to forecast, the same for all.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed.
    n_jobs : int, optional
        Workers, as in joblib.

    Returns
    -------
    Comparison

    Notes
    -----
    Each forecast has plausible curves (`headcount.uncertainty.intervals`), and at each number of
    classes its value has quantiles over them. Those of two systems are drawn jointly, in evenly
    spread pairs joined by a normal copula. The interval of the difference holds the middle 90% of
    the pairs (or what `confidence` says). The chance that the first is better is the share of pairs
    in which it is.

    If systems were measured on the same classes, with as many probes in each, their errors are
    correlated. Up to the pilot's size K, the correlation is that of what the systems say when each
    class is left out in turn. From 2 K on, it is that of their forecasts from the same 20 random
    halves of the classes. On Fisher's scale it is drawn towards the first one, which counts as four
    halves more. The same correlation is taken for the errors of shape, which no pilot shows: errors
    of systems that err on the same classes are at least as much alike. In earlier simulations of 67
    pairs, errors of similar systems were correlated by 0.95 where this finds 0.87, and those of
    unlike ones by 0.2 where it finds none. `experiments/coverage/pairs.py` measures how often such
    intervals hold the truth. Classes that only happen to have the same names do no harm, since the
    correlation found is then near zero.

    The interval of a crossing holds the numbers of classes at which the interval of the
    difference holds zero.

    References
    ----------
    Deng, Berg, Li and Fei-Fei, *What does classifying more than 10,000 image categories tell
    us?*, ECCV 2010, found that the better system at 1,000 classes was the worse at 10,000.

    Examples
    --------
    >>> from headcount import simulate
    >>> pilots = {
    ...     name: simulate.isotropic_gaussian(100, sigma=sigma, random_state=1).pilot
    ...     for name, sigma in {"old": 0.6, "new": 0.4}.items()
    ... }
    >>> comparison = compare(pilots, 100, method="no-change")
    >>> lead = comparison.pair("old", "new").at(100)
    >>> comparison.paired, lead.upper < 0, lead.chance < 0.05
    (True, True, True)
    """
    asked, measure = asked_classes(classes), resolve_share(metric)
    systems = _as_pilots(pilots)
    forecasts = {
        name: forecast(
            pilot,
            classes=asked,
            metric=measure,
            method=method,
            confidence=confidence,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        for name, pilot in systems.items()
    }
    grid = curve_classes(max(pilot.n_classes for pilot in systems.values()), asked)
    bounded = {
        name: systems[name] for name, each in forecasts.items() if each.uncertainty is not None
    }
    without, notes = _leave_out(
        bounded, resolve(method, random_state), measure, grid, random_state, n_jobs
    )
    pairs = tuple(
        _compare(first, second, forecasts, without, grid, confidence)
        for first, second in itertools.combinations(systems, 2)
    )
    if len(bounded) < len(systems):
        notes += ("No intervals: the method is too slow for a back-test.",)
    return Comparison(forecasts, pairs, asked, float(confidence), notes)


def are_paired(first: Pilot, second: Pilot) -> bool:
    """Whether two pilots have the same classes (or queries), and as many probes in each.

    Examples
    --------
    >>> first = Pilot.from_scores([[2, 1], [1, 3]], ["a", "b"], class_names=["a", "b"])
    >>> second = Pilot.from_scores([[9, 5], [6, 7]], ["b", "a"], class_names=["b", "a"])
    >>> are_paired(first, second)
    True
    """
    counts = [_probes_by_class(pilot) for pilot in (first, second)]
    return counts[0] is not None and counts[0] == counts[1]


# -- inner workings --------------------------------------------------------------------------------


def _as_pilots(pilots: Mapping[str, Any]) -> dict[str, Pilot]:
    if not isinstance(pilots, Mapping) or len(pilots) < 2:
        raise ParameterError(
            'compare needs two or more pilots by name, such as {"old": pilot, "new": other}.'
        )
    systems = {str(name): as_pilot(data) for name, data in pilots.items()}
    if len(systems) < len(pilots):
        raise ParameterError("two of the systems have the same name; give each its own.")
    for setting in ("average", "tie_rule"):
        choices = {getattr(pilot, setting) for pilot in systems.values()}
        if len(choices) > 1:
            warn(
                f"the pilots have different {setting} ({', '.join(sorted(choices))}), so that "
                "their values do not mean the same; make them alike.",
                AssumptionWarning,
            )
    return systems


def _probes_by_class(pilot: Pilot) -> dict[Any, Any] | None:
    """Return how many probes each class has; None where that, or who beat whom, is not known.

    And its group, where groups were drawn whole. Of queries with documents that stay, how many rows
    each has among how many documents.
    """
    ranking = pilot.ranking
    if ranking is not None:
        rows = np.bincount(ranking.owner[ranking.query]).tolist()
        owners = ranking.owners.tolist()
        return {ranking.names[owner]: (rows[owner], pilot.n_classes) for owner in owners}
    if pilot.labels is None or not pilot.knows_rivals:
        return None
    counts = np.bincount(pilot.labels, minlength=pilot.n_classes).tolist()
    if pilot.whole_groups:
        assert pilot.groups is not None  # whole groups are groups
        counts = list(zip(counts, pilot.groups.tolist(), strict=True))
    return dict(zip(pilot.class_names.tolist(), counts, strict=True))


@dataclass(frozen=True)
class Without:
    """What a system whose classes another one shares says without some of them.

    `each` has a row for each class that is left out, in the order of their names, and a column for
    each number of classes of `inside`; `halves` a row for each half and a column for each point of
    the curve, as log odds.
    """

    probes: dict[Any, Any]
    inside: Ints
    each: Floats
    halves: Floats


@doing("Finding what the systems share")
def _leave_out(
    pilots: Mapping[str, Pilot],
    estimator: Extrapolator,
    metric: Metric,
    grid: Ints,
    random_state: int,
    n_jobs: int | None,
) -> tuple[dict[str, Without], tuple[str, ...]]:
    """Return what correlates systems that share their classes, and why it cannot be had."""
    probes = {name: _probes_by_class(pilot) for name, pilot in pilots.items()}
    without: dict[str, Without] = {}
    for name, pilot in pilots.items():
        own, half = probes[name], pilot.n_classes // 2
        shares = any(own == probes[other] for other in probes if other != name)
        if own is None or not shares or half < LEAST_HALF:
            continue
        last = pilot.n_classes - 1
        first_uncertain = min(metric.certain + 1, last)
        inside = np.unique(np.geomspace(first_uncertain, last, INSIDE).round().astype(np.int64))
        try:
            each = without_each(pilot, metric, inside)
            fits = refits(
                pilot,
                suited(estimator, pilot),
                [(half, HALVES)],
                grid,
                metric=metric,
                random_state=random_state,
                n_jobs=n_jobs,
                order=np.sort(pilot.class_names),
            ).sizes[0]
        except UnsupportedError as error:
            return {}, (f"Compared as if on other classes: {error}",)
        if fits.n_failed:  # which half is which is then not known any more
            reason = f"{fits.n_failed:,} of {HALVES:,} fits to halves of {plain(name)} failed"
            return {}, (f"Compared as if on other classes: {reason}: {fits.reason}",)
        halves = np.asarray(logit(np.clip(fits.curves, EDGE, 1 - EDGE)))
        without[name] = Without(own, inside, each, halves)
    return without, ()


def shared_error(first: Without, second: Without, grid: Ints) -> Floats:
    """Return the correlation of the errors of two systems along the curve.

    Up to the pilot's size from leaving out each class in turn; from twice that size on, from
    forecasts of the same random halves, with the former counting as `PRIOR` halves more; between
    the two it goes over from one to the other.
    """
    size = int(first.inside[-1]) + 1
    near = on_fisher_scale(_correlation(first.each, second.each))
    near = np.interp(np.log(grid), np.log(first.inside), near)
    worth = len(first.halves) - 3  # the variance on this scale is one over this
    far = on_fisher_scale(_correlation(first.halves, second.halves))
    beyond = (worth * far + PRIOR * near) / (worth + PRIOR)
    share = np.clip(np.log2(grid / size), 0.0, 1.0)
    return np.tanh((1 - share) * near + share * beyond)


def on_fisher_scale(correlation: Floats) -> Floats:
    """Return correlations on Fisher's scale, on which they have about the same error."""
    return np.arctanh(np.clip(correlation, -ONE, ONE))


def _correlation(first: Floats, second: Floats) -> Floats:
    """Return the correlation of each two columns; zero where one of them is constant."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    spread = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    varies = spread > 0
    return np.where(varies, (first * second).sum(axis=0) / np.where(varies, spread, 1.0), 0.0)


@doing("Comparing the systems")
def _compare(
    first: str,
    second: str,
    forecasts: Mapping[str, Forecast],
    without: Mapping[str, Without],
    grid: Ints,
    confidence: float,
) -> Pair:
    own, other = without.get(first), without.get(second)
    shared, paired = np.zeros(len(grid)), False
    if own is not None and other is not None and own.probes == other.probes:
        shared, paired = shared_error(own, other, grid), True
    both = forecasts[first], forecasts[second]
    difference = both[0].value(grid) - both[1].value(grid)
    chance = lower = upper = None
    gap = gap_between(both, grid, shared)
    if gap is not None:
        lower, upper = gap.interval(confidence)
        lower, upper = np.minimum(lower, difference), np.maximum(upper, difference)
        chance = gap.chance()
    crossing = last_crossing((first, second), both, grid, difference, lower, upper)
    return Pair(first, second, paired, grid, difference, lower, upper, chance, crossing)


@dataclass(frozen=True)
class Gap:
    """How far the first of two systems is ahead along the curve, in evenly spread joint draws.

    A row for each draw. Up to `certain` classes both are at their best.
    """

    grid: Ints
    certain: int
    leads: Floats

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Return quantiles of the lead."""
        levels = [(1 - confidence) / 2, (1 + confidence) / 2]
        ends = np.quantile(self.leads, levels, axis=0, method="hazen")
        lower, upper = np.where(self.grid <= self.certain, 0.0, ends)
        return lower, upper

    def chance(self) -> Floats:
        """Return the chance that the value of the first is the higher one."""
        chances = (1 + np.sign(self.leads).mean(axis=0)) / 2
        return np.where(self.grid <= self.certain, 0.5, chances)


def normal_pairs() -> Floats:
    """Return two normal variables, evenly spread instead of random: a Fibonacci lattice.

    Each pair is there with either sign of the second.
    """
    size, step = LATTICE
    place = np.arange(size)
    first, second = ndtri((np.array([place, place * step % size]) + 0.5) / size)
    return np.array([np.tile(first, 2), np.concatenate([second, -second])])


def gap_between(both: tuple[Forecast, Forecast], grid: Ints, shared: Floats) -> Gap | None:
    """Return how two forecasts differ, drawn jointly; `shared` correlates their errors.

    What two errors share and what they differ by are independent, and change sides alike: whoever
    comes first, the same pairs of errors are looked at.
    """
    first, second = normal_pairs()
    together = np.multiply.outer(first, np.sqrt((1 + shared) / 2))
    apart = np.multiply.outer(second, np.sqrt((1 - shared) / 2))
    values = []
    for system, places in zip(both, (together + apart, together - apart), strict=True):
        if system.uncertainty is None:
            return None
        quantiles = system.uncertainty.quantiles(system.value(grid), grid, ndtr(PLACES))
        values.append(
            np.array([np.interp(z, PLACES, q) for z, q in zip(places.T, quantiles.T, strict=True)])
        )
    return Gap(grid, both[0].metric.certain, (values[0] - values[1]).T)


def last_crossing(
    names: tuple[str, str],
    both: tuple[Forecast, Forecast],
    grid: Ints,
    difference: Floats,
    lower: Floats | None,
    upper: Floats | None,
) -> Crossing | None:
    """Return the last crossing of the curves; its interval is where the band holds zero."""
    leads = np.flatnonzero(np.abs(difference) > LEAST_LEAD)
    turns = np.flatnonzero(np.diff(np.sign(difference[leads])))
    if len(turns) == 0:
        return None
    start, stop = leads[turns[-1]], leads[turns[-1] + 1]
    sign = float(np.sign(difference[start]))
    low = last_where(
        lambda k: sign * (both[0].value(k) - both[1].value(k)) > 0, grid[start], grid[stop]
    )
    before, after = names if sign > 0 else names[::-1]
    if lower is None or upper is None:
        return Crossing(low, before, after, None, None)
    # How surely the first is ahead before, and the other one after: above zero where it is sure.
    ahead_before, ahead_after = (lower, -upper) if sign > 0 else (-upper, lower)
    sure = np.flatnonzero((ahead_before > 0) & (grid <= low))
    from_start = min(_zero(grid, ahead_before, int(sure[-1]), 1), low) if len(sure) else None
    sure = np.flatnonzero((ahead_after > 0) & (grid > low))
    to_stop = max(_zero(grid, ahead_after, int(sure[0]), -1), low) if len(sure) else None
    return Crossing(low, before, after, from_start, to_stop)


def _zero(grid: Ints, values: Floats, sure: int, step: int) -> int:
    """Return where values, above zero at `sure`, reach zero on the way to the next point.

    Interpolated in the logarithm of the number of classes.
    """
    neighbour = sure + step
    if not 0 <= neighbour < len(grid) or values[neighbour] > 0:
        return int(grid[sure])
    share = values[sure] / (values[sure] - values[neighbour])
    zero = np.log(grid[sure]) + share * (np.log(grid[neighbour]) - np.log(grid[sure]))
    return round(float(np.exp(zero)))
