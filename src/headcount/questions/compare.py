"""Which of several systems will be the better one when there are many more classes."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from headcount.errors import AssumptionWarning, ParameterError, UnsupportedError, warn
from headcount.estimators import Extrapolator, resolve
from headcount.pilot.loading import as_pilot
from headcount.pilot.pilot import Pilot
from headcount.questions.forecast import Forecast, forecast
from headcount.support.grids import asked_classes, curve_classes
from headcount.support.output import as_frame
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
from headcount.uncertainty.error_model import cloglog, inverse_cloglog, slope
from headcount.uncertainty.jackknife import Jackknife
from headcount.uncertainty.resampling import refits

if TYPE_CHECKING:
    from headcount.display.plots import ComparisonDisplay


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCHEMA = 1
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
LEVEL = 5e-5  # in accuracy: under a hundredth of a point nobody is ahead


@dataclass(frozen=True)
class Lead:
    """How far the first of two systems is ahead of the second at one number of classes.

    Attributes
    ----------
    classes : int
        k.
    difference : float
        Accuracy of the first minus that of the second.
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
        Accuracy of the first minus that of the second.
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
        found = [None if v is None else float(v[place]) for v in (self.lower, self.upper)]
        chance = None if self.chance is None else float(self.chance[place])
        return Lead(int(k), float(self.difference[place]), found[0], found[1], chance)


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
        """Whether all systems were measured on the same classes and compared so."""
        return all(pair.paired for pair in self.pairs)

    @property
    def nouns(self) -> Nouns:
        """What classes and probes are called in words and pictures: as the first system does."""
        return next(iter(self.forecasts.values())).nouns

    def pair(self, first: str, second: str) -> Pair:
        """Return how two systems compare; the order is that of the comparison."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
        known = ", ".join(f"{p.first!r} with {p.second!r}" for p in self.pairs)
        raise ParameterError(f"{first!r} is not compared with {second!r}; there is {known}.")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "schema": SCHEMA,
            "confidence": self.confidence,
            "classes": list(self.classes),
            "paired": self.paired,
            "forecasts": {name: held.to_dict() for name, held in self.forecasts.items()},
            "pairs": [self._pair_to_dict(pair) for pair in self.pairs],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

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
        """Draw accuracy or error rate of all systems against classes; needs the extra `plot`."""
        from headcount.display.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the outcome in words: who is ahead, by how much, and where that changes."""
        found = []
        for pair in self.pairs:
            found += [lead_sentence(pair, k, self.confidence) for k in self.classes]
            if pair.crossing is not None:
                found.append(crossing_sentence(pair.crossing))
        return [self.nouns.rename(sentence) for sentence in (*found, *self.notes)]

    def __repr__(self) -> str:
        how = "paired" if self.paired else "not paired"
        title = f"Comparison of {', '.join(map(named, self.forecasts))} ({how})"
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
                "accuracy_first": float(self.forecasts[pair.first].accuracy(k)),
                "accuracy_second": float(self.forecasts[pair.second].accuracy(k)),
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
        apart = max(abs(lead.lower or 0.0), abs(lead.upper or 0.0))
        unsure = f" (give or take {points(apart)})" if apart >= LEVEL else ""
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


LEAST_LEAD = 0.001  # in accuracy: less is no lead, so that curves which touch do not cross
CHANCE_LEVEL = 0.9  # chances go with intervals of this level, whatever level is shown
LATTICE = (2584, 1597)  # neighbours in the Fibonacci sequence
EDGE = 1e-9
ONE = 1 - 1e-15  # a correlation that is finite on Fisher's scale
CERTAIN = 40.0  # standard deviations
PRIOR = 4  # halves that the correlation up to the pilot's size counts for beyond it
INSIDE = 12  # numbers of classes up to K at which each class is left out in turn


def compare(
    pilots: Mapping[str, Any],
    classes: Any,
    *,
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
    The errors of two forecasts are taken as normal on the scale log(-log(1 - A)), with the standard
    deviations that their own intervals have. The interval of the difference holds the middle 90%
    (or what `confidence` says) of the differences of accuracies that then come about, and the
    chance that the first is better is that of its accuracy being the higher one. Where a
    back-test found forecasts too high or too low, they are first put where it would have them.

    Where systems were measured on the same classes, with as many probes in each, their errors are
    correlated. Up to the pilot's size K the correlation is that of what the systems say without
    each class in turn; from 2 K on, that of their forecasts from the same 20 random halves of the
    classes, drawn on Fisher's scale towards the former, which counts as four halves more. The same
    correlation is taken for the errors of shape, which no pilot shows: those of systems that err
    on the same classes are at least as much alike. In earlier simulations of 67 pairs, errors of
    similar systems were correlated by 0.95 where this finds 0.87, those of unlike ones by 0.2 where
    it finds none; what intervals then hold is in `experiments/coverage/pairs.py`. Classes that only
    happen to bear the same names do no harm, for the correlation found is then near zero.

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
    >>> found = compare(pilots, 100, method="no-change")
    >>> lead = found.pair("old", "new").at(100)
    >>> found.paired, lead.upper < 0, lead.chance < 0.05
    (True, True, True)
    """
    asked = asked_classes(classes)
    held = _as_pilots(pilots)
    forecasts = {
        name: forecast(
            pilot,
            classes=asked,
            method=method,
            confidence=confidence,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        for name, pilot in held.items()
    }
    grid = curve_classes(max(pilot.n_classes for pilot in held.values()), asked)
    known = {name: held[name] for name, made in forecasts.items() if made.uncertainty is not None}
    together, notes = _shares(known, resolve(method, random_state), grid, random_state, n_jobs)
    pairs = tuple(
        _compared(one, two, forecasts, together, grid, confidence)
        for one, two in itertools.combinations(held, 2)
    )
    if len(known) < len(held):
        notes += ("No intervals: the method is too slow for a back-test.",)
    return Comparison(forecasts, pairs, asked, float(confidence), notes)


def are_paired(one: Pilot, two: Pilot) -> bool:
    """Whether two pilots have the same classes, and as many probes in each.

    Examples
    --------
    >>> one = Pilot.from_scores([[2, 1], [1, 3]], ["a", "b"], class_names=["a", "b"])
    >>> two = Pilot.from_scores([[9, 5], [6, 7]], ["b", "a"], class_names=["b", "a"])
    >>> are_paired(one, two)
    True
    """
    counts = [_probes_by_class(pilot) for pilot in (one, two)]
    return counts[0] is not None and counts[0] == counts[1]


# -- inner workings --------------------------------------------------------------------------------


def _as_pilots(pilots: Mapping[str, Any]) -> dict[str, Pilot]:
    if not isinstance(pilots, Mapping) or len(pilots) < 2:
        raise ParameterError(
            'compare needs two or more pilots by name, such as {"old": pilot, "new": other}.'
        )
    held = {str(name): as_pilot(data) for name, data in pilots.items()}
    if len(held) < len(pilots):
        raise ParameterError("two of the systems have the same name; give each its own.")
    for what in ("average", "tie_rule"):
        ways = {getattr(pilot, what) for pilot in held.values()}
        if len(ways) > 1:
            warn(
                f"the pilots have different {what} ({', '.join(sorted(ways))}), so that their "
                "accuracies do not mean the same; make them alike.",
                AssumptionWarning,
            )
    return held


def _probes_by_class(pilot: Pilot) -> dict[Any, int] | None:
    """Return how many probes each class has; None where that, or who beat whom, is not known."""
    if pilot.labels is None or not (pilot.has_scores or pilot._beats is not None):
        return None
    counts = np.bincount(pilot.labels, minlength=pilot.n_classes)
    return dict(zip(pilot.class_names.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True)
class _Shares:
    """What a system whose classes another one shares says without some of them.

    `without_one` has a row for each class, in the order of their names, and a column for each
    number of classes of `inside`; `halves` a row for each half and a column for each point of the
    curve, as log odds.
    """

    probes: dict[Any, int]
    inside: Ints
    without_one: Floats
    halves: Floats


@doing("Finding what the systems share")
def _shares(
    pilots: Mapping[str, Pilot],
    estimator: Extrapolator,
    grid: Ints,
    random_state: int,
    n_jobs: int | None,
) -> tuple[dict[str, _Shares], tuple[str, ...]]:
    """Return what correlates systems that share their classes, and why it cannot be had."""
    probes = {name: _probes_by_class(pilot) for name, pilot in pilots.items()}
    found: dict[str, _Shares] = {}
    for name, pilot in pilots.items():
        own, half = probes[name], pilot.n_classes // 2
        alone = not any(own == other for them, other in probes.items() if them != name)
        if own is None or alone or half < LEAST_HALF:
            continue
        order = np.argsort(pilot.class_names, kind="stable")
        inside = np.unique(np.geomspace(2, pilot.n_classes - 1, INSIDE).round().astype(np.int64))
        try:
            singles = Jackknife(pilot).without_one(inside)[order]
            drawn = refits(
                pilot,
                estimator,
                [(half, HALVES)],
                grid,
                random_state=random_state,
                n_jobs=n_jobs,
                order=pilot.class_names[order],
            ).sizes[0]
        except UnsupportedError as error:
            return {}, (f"Compared as if on other classes: {error}",)
        if drawn.n_failed:  # which half is which is then not known any more
            reason = f"{drawn.n_failed:,} of {HALVES:,} fits to halves of {plain(name)} failed"
            return {}, (f"Compared as if on other classes: {reason}: {drawn.reason}",)
        halves = np.asarray(logit(np.clip(drawn.curves, EDGE, 1 - EDGE)))
        found[name] = _Shares(own, inside, singles, halves)
    return found, ()


def _shared_error(one: _Shares, two: _Shares, grid: Ints) -> Floats:
    """Return the correlation of the errors of two systems along the curve.

    Up to the pilot's size from leaving out each class in turn; from twice that size on, from
    forecasts of the same random halves, with the former counting as `PRIOR` halves more; between
    the two it goes over from one to the other.
    """
    size = int(one.inside[-1]) + 1
    near = _steps(_correlation(one.without_one, two.without_one))
    near = np.interp(np.log(grid), np.log(one.inside), near)
    worth = len(one.halves) - 3  # the variance of such a step is one over this
    far = _steps(_correlation(one.halves, two.halves))
    beyond = (worth * far + PRIOR * near) / (worth + PRIOR)
    part = np.clip(np.log2(grid / size), 0.0, 1.0)
    return np.tanh((1 - part) * near + part * beyond)


def _steps(correlation: Floats) -> Floats:
    """Return correlations on Fisher's scale, on which they have about the same error."""
    return np.arctanh(np.clip(correlation, -ONE, ONE))


def _correlation(one: Floats, two: Floats) -> Floats:
    """Return the correlation of each two columns; zero where one of them is constant."""
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    spread = np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0))
    known = spread > 0
    return np.where(known, (one * two).sum(axis=0) / np.where(known, spread, 1.0), 0.0)


@doing("Comparing the systems")
def _compared(
    one: str,
    two: str,
    forecasts: Mapping[str, Forecast],
    together: Mapping[str, _Shares],
    grid: Ints,
    confidence: float,
) -> Pair:
    own, other = together.get(one), together.get(two)
    shared, paired = np.zeros(len(grid)), False
    if own is not None and other is not None and own.probes == other.probes:
        shared, paired = _shared_error(own, other, grid), True
    made = forecasts[one], forecasts[two]
    difference = made[0].accuracy(grid) - made[1].accuracy(grid)
    chance = lower = upper = None
    gap = _gap(made, grid, shared)
    if gap is not None:
        lower, upper = gap.interval(confidence)
        lower, upper = np.minimum(lower, difference), np.maximum(upper, difference)
        chance = gap.chance()
    crossing = _crossing((one, two), made, grid, difference, lower, upper)
    return Pair(one, two, paired, grid, difference, lower, upper, chance, crossing)


@dataclass(frozen=True)
class _Gap:
    """Two systems along the curve, on the scale of `headcount.uncertainty.error_model`.

    Middles (2, points), their errors, and the correlation of these.
    """

    grid: Ints
    middles: Floats
    errors: Floats
    correlation: Floats
    multiplier: Callable[[float], Floats]

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Return quantiles of the difference of accuracies that have normal errors there."""
        # What two errors share and what they differ by are independent, and change sides alike:
        # whoever comes first, the same pairs of errors are looked at.
        z, errors = _normal_pairs(), self._heavier(confidence) * self.errors
        shared = z[0][:, None] * np.sqrt((1 + self.correlation) / 2)
        differs = z[1][:, None] * np.sqrt((1 - self.correlation) / 2)
        one, two = (
            expit(inverse_cloglog(middle + error * steps))
            for middle, error, steps in zip(
                self.middles, errors, (shared + differs, shared - differs), strict=True
            )
        )
        apart = one - two
        ends = np.quantile(apart, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        lower, upper = np.where(self.grid == 1, 0.0, ends)
        return lower, upper

    def chance(self) -> Floats:
        """Return the chance that the accuracy of the first is the higher one."""
        apart = self.middles[0] - self.middles[1]
        shared = 2 * self.correlation * self.errors[0] * self.errors[1]
        error = np.sqrt(np.maximum((self.errors**2).sum(axis=0) - shared, 0.0))
        error = self._heavier(CHANCE_LEVEL) * error
        known = error > 0
        steps = np.where(known, apart / np.where(known, error, 1.0), CERTAIN * np.sign(apart))
        return np.where(self.grid == 1, 0.5, ndtr(steps))

    def _heavier(self, confidence: float) -> Floats:
        """Return how much wider an interval is than that of a normal error."""
        return np.asarray(self.multiplier(confidence) / ndtri((1 + confidence) / 2))


def _normal_pairs() -> Floats:
    """Return two normal variables, evenly spread instead of random: a Fibonacci lattice.

    Each pair is there with either sign of the second.
    """
    size, step = LATTICE
    place = np.arange(size)
    one, two = ndtri((np.array([place, place * step % size]) + 0.5) / size)
    return np.array([np.tile(one, 2), np.concatenate([two, -two])])


def _gap(made: tuple[Forecast, Forecast], grid: Ints, shared: Floats) -> _Gap | None:
    """Return how two forecasts differ; `shared` correlates their errors."""
    known = [held.uncertainty for held in made if held.uncertainty is not None]
    if len(known) < len(made):
        return None
    middles = np.array([u.middle(m.accuracy(grid), grid) for m, u in zip(made, known, strict=True)])
    return _Gap(
        grid,
        cloglog(middles),
        np.array([u.error(grid) for u in known]) * slope(middles),
        shared,
        lambda confidence: np.max([u.multiplier(confidence, grid) for u in known], axis=0),
    )


def _crossing(
    names: tuple[str, str],
    made: tuple[Forecast, Forecast],
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
    low, high = int(grid[start]), int(grid[stop])
    while high - low > 1:
        middle = (low + high) // 2
        ahead = sign * float(made[0].accuracy(middle) - made[1].accuracy(middle)) > 0
        low, high = (middle, high) if ahead else (low, middle)
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
    other = sure + step
    if not 0 <= other < len(grid) or values[other] > 0:
        return int(grid[sure])
    share = values[sure] / (values[sure] - values[other])
    found = np.log(grid[sure]) + share * (np.log(grid[other]) - np.log(grid[sure]))
    return round(float(np.exp(found)))
