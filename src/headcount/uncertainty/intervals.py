r"""Intervals: quantiles over a handful of curves that are as plausible as the forecast one.

A is the metric that is forecast, accuracy by default: a share from 0 to 1. A plausible curve is
kept as its *moves*: by how much its log odds differ from those of the forecast at each k, in steps
that are alike to either side (`headcount.uncertainty.refitted.stepped`). They come from the laws
that a method gives (`Extrapolator.plausible`), or else from refits
(`headcount.uncertainty.refitted`). All else follows from them.

**What is expected** among k classes has quantiles over the curves as its limits. (Curves of 128
points show quantiles from 2.5% to 97.5%. Further out, quantiles go on as those of Student's law do,
with the degrees of `freedom` that the errors have.)

**A new set** of k classes is drawn under each curve: the luck of the choice of its classes and
probes, known from the pilot, is added, by evenly spread points that go with no curve.

**A set that grows** from the pilot's keeps its K classes. With s = K / k, each plausible curve
:math:`A_z` gives it

.. math:: s\, M_z \frac{A_z(k)}{A_z(K)} + (1 - s) A_z(k) .

What was measured, M, is true of the classes that stay, but for the luck of its probes. As far as a
curve is off at K because of that luck, so is M. The rest of that luck, and the luck of the
newcomers' classes and of the probes that will test the set, is added as for a new set.

**Up to K** nothing is assumed and nothing learned is needed. With few errors the log odds are far
from normal, and intervals are Jeffreys': quantiles of the law Beta(n A + 1/2, n (1 - A) + 1/2),
with n = 1 / (A (1 - A) s^2) as many independent probes as would have the standard error s of a
jackknife over classes (`headcount.uncertainty.jackknife`), a little fewer because that is itself an
estimate [1]_, [2]_. Where all probes are right, the lower limit is the value that gives so many
right in a row with just the chance left [3]_. From K to 2 K these limits go over into the others,
evenly in log k.

References
----------
.. [1] E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected
   number of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.
.. [2] C. Franco, R. J. A. Little, T. A. Louis and E. V. Slud, Comparative study of confidence
   intervals for proportions in complex sample surveys, Journal of Survey Statistics and
   Methodology 7, 334-364, 2019.
.. [3] L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion,
   Statistical Science 16, 101-133, 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, ndtri, stdtrit
from scipy.special import logit as log_odds

from headcount.curves.observed import observe
from headcount.errors import DataError
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import MOST_CLASSES, grown_counts
from headcount.support.serialise import Record, reading
from headcount.support.workers import doing
from headcount.uncertainty.measured import (
    ROUND_OFF,
    TINY,
    Measured,
    log_odds_error,
    probe_variance,
    probes_per_class,
    standard_error,
)
from headcount.uncertainty.quantiles import (
    column,
    ends_of,
    joined_quantiles,
    quantiles_of,
    spread_of,
)
from headcount.uncertainty.refitted import (
    MODEL,
    ErrorModel,
    RefitErrors,
    refit_errors,
    stepped,
    steps_between,
)

if TYPE_CHECKING:
    from headcount.uncertainty.backtest import Backtest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("expected", "new_set", "grown_set")
NOUN = "forecast"
FARTHEST = 1e4  # no move leads farther
DIGITS = 6  # decimals of moves: less than a thousandth of the spread over a million probes

LAWS_FREEDOM, REFITS_FREEDOM = 12.0, 4.0  # degrees of it beyond: what errors of both kinds had
FREEDOM = 6  # of the jackknife, at least

LEAST_ERROR = 1e-6  # of log odds: less would ask for more probes than numbers can hold
EDGE = 1e-15
NOUGHT = 1e-9  # nearer to nought or one no law says anything
INSIDE = 12  # numbers of classes up to K at which the jackknife is done
N_FAR = 12  # those past what the back-test's refits forecast, where curves are looked at


def odds_of(values: Floats) -> Floats:
    """Return log odds; those of nought and one are taken as far off, but not without end."""
    return np.asarray(log_odds(np.clip(values, NOUGHT, 1 - NOUGHT)))


@dataclass(frozen=True)
class Uncertainty:
    """Curves as plausible as the forecast one, and what was measured.

    Made by `headcount.uncertainty.intervals.assess`.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot.
    inside : ndarray of int64
        Numbers of classes up to the pilot's size, K.
    observed_error : ndarray
        Standard error of the observed curve there, as that of log odds.
    grid : ndarray of int64
        Numbers of classes from K on.
    moves : ndarray of shape (curves, points of the grid)
        By how much the log odds of each plausible curve differ from those of the forecast, in steps
        that are alike to either side (`headcount.uncertainty.refitted.stepped`).
    sampled : ndarray
        Share of their variance that a larger pilot would bring down; the rest is due to the step
        beyond the pilot.
    class_variance, probe_variance : float
        Variance of the metric measured on random sets of K classes: what the choice of classes
        and what the finite number of probes gives.
    probes_per_class : float
        Mean number of probes of a class that has any.
    observed : float
        What was measured at K.
    freedom : float
        Degrees of freedom of Student's law, as which rare errors go on.
    shared_rivals : bool
        False where only counts are known, so that what probes share by meeting the same rivals is
        missing.
    told_apart : bool
        False where no class has two probes, or all probes are right (or wrong), so that the two
        variances cannot be told from each other; `class_variance` then holds both.
    metric : Metric
        What is forecast.
    n_drawn : int or None
        How many groups were drawn, where classes came in whole groups.
    """

    n_classes: int
    n_probes: int
    inside: Ints
    observed_error: Floats
    grid: Ints
    moves: Floats
    sampled: Floats
    class_variance: float
    probe_variance: float
    probes_per_class: float
    observed: float
    freedom: float
    shared_rivals: bool = True
    told_apart: bool = True
    metric: Metric = ACCURACY
    n_drawn: int | None = None

    # -- questions ------------------------------------------------------------------------------

    def spread(self, k: Any) -> Floats:
        """Return the standard deviation of log odds with which a normal interval is as wide."""
        counts = validation.class_counts(k)
        (beyond,) = self._along(counts, spread_of(self.moves, self.freedom)[None])
        return np.asarray(np.where(counts > self.n_classes, beyond, self._measured_error(counts)))

    def sampled_share(self, k: Any) -> Floats:
        """Return the share of the variance that is due to the choice of classes and probes."""
        counts = validation.class_counts(k)
        share = np.interp(np.log(counts), np.log(self.grid), self.sampled)
        return np.where(counts > self.n_classes, share, 1.0)

    def quantiles(self, value: Any, k: Any, levels: Any, factor: Any = 1.0) -> Floats:
        """Return quantiles of what is expected among k classes, a row for each level.

        Parameters
        ----------
        value, k : array_like
            Estimates and the numbers of classes they are for.
        levels : sequence of float
            Between nought and one.
        factor : array_like
            By how much smaller or larger all errors are: those of a pilot of another size.
        """
        counts, values = validation.class_counts(k), np.asarray(value, dtype=np.float64)
        moves = self._along(counts, quantiles_of(self.moves, levels, self.freedom))
        return self._moved(
            values, counts, levels, factor * self._measured_error(counts), factor * moves
        )

    def limits(
        self, value: Any, k: Any, confidence: float, factor: Any = 1.0
    ) -> tuple[Floats, Floats]:
        """Return lower and upper limits of what is expected; see `quantiles`."""
        return self._holding(value, k, self.quantiles(value, k, ends_of(confidence), factor))

    def band(
        self,
        value: Any,
        k: Any,
        confidence: float,
        kind: str = "expected",
        probes_per_class: float | None = None,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper limits around estimates at k.

        Parameters
        ----------
        value, k : array_like
            Estimates and the numbers of classes they are for.
        confidence : float
            Share of such intervals that hold the truth.
        kind : {"expected", "new_set", "grown_set"}
            What the truth is: the value expected among k classes, the value on one new set of k
            random classes, or on one that contains the pilot's own. Estimates of the last are those
            of `headcount.curves.grown`.
        probes_per_class : float, optional
            Probes a class of the test that measures the set; without end by default.
        """
        if validation.choice(kind, "kind", KINDS) == "expected":
            return self.limits(value, k, confidence)
        if not self.told_apart:
            lower, upper = zip(
                *(each.band(value, k, confidence, kind, probes_per_class) for each in self._either),
                strict=True,
            )
            return np.minimum(*lower), np.maximum(*upper)
        counts, values = validation.class_counts(k), np.asarray(value, dtype=np.float64)
        draw = self._new_set if kind == "new_set" else self._grown_set
        ends = draw(values.ravel(), counts.ravel(), ends_of(confidence), probes_per_class)
        return self._holding(value, k, ends.reshape(2, *counts.shape))

    def set_variance(
        self, value: Floats, k: Floats, probes_per_class: float | None
    ) -> tuple[Floats, Floats]:
        """Variance of the log odds on one set of k classes, from classes and from probes.

        That at K shrinks as 1 / k, and on the way the value leaves or nears the middle, where it
        varies most: as A (1 - A).
        """
        measured, reached = self._shown(self.observed), self._shown(value)
        scale = self.n_classes / k / (measured * (1 - measured)) / (reached * (1 - reached))
        probes = 0.0
        if probes_per_class is not None:
            often = validation.positive(probes_per_class, "probes_per_class")
            probes = self.probe_variance * self.probes_per_class / often
        return np.asarray(self.class_variance * scale), np.asarray(probes * scale)

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }
        return plain | {"metric": self.metric.name}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Uncertainty:
        """Return what `to_dict` wrote, refused if it is something else."""
        with reading(NOUN):
            return read_uncertainty(Record(fields, NOUN))

    # -- inner workings -------------------------------------------------------------------------

    def _new_set(
        self, value: Floats, k: Floats, levels: Floats, probes_per_class: float | None
    ) -> Floats:
        """Return quantiles of the value on new sets."""
        luck = np.add(*self.set_variance(value, k, probes_per_class))
        moves = self._along(k, self.moves)
        return self._with_luck(value, k, levels, self._measured_error(k), moves, luck)

    def _grown_set(
        self, value: Floats, k: Floats, levels: Floats, probes_per_class: float | None
    ) -> Floats:
        """Return quantiles of the value on sets that hold the pilot's classes."""
        stays = self.n_classes / grown_counts(k, self.n_classes)
        measured, reached = self._shown(self.observed), self._shown(value)
        total = self.class_variance + self.probe_variance
        by_probes = self.probe_variance / total if total > 0 else 0.0
        error = np.sqrt(total) / (measured * (1 - measured))
        # What was measured, over what each curve has there; their middle is what was measured.
        at_pilot = self.moves[:, :1] - np.median(self.moves[:, 0])
        scale = float(at_pilot.std())
        known = by_probes * error * at_pilot / scale if scale > 0 else at_pilot
        start, end = log_odds(measured), log_odds(reached)
        kept = expit(stepped(start, known)) / np.maximum(expit(stepped(start, at_pilot)), NOUGHT)
        among = expit(stepped(end, self._along(k, self.moves)))
        moves = steps_between(end, odds_of(among * (stays * kept + 1 - stays)))
        # The error at K, passed on to k; the part of it that no curve knows is luck.
        passed = stays * error * (1 - measured) / (1 - reached)
        classes, probes = self.set_variance(value, k, probes_per_class)
        luck = (1 - stays) * classes + probes + passed**2 * by_probes * (1 - by_probes)
        near = np.abs(self._measured_error(k) - passed * (1 - by_probes))
        return self._with_luck(value, k, levels, near, moves, luck)

    def _with_luck(
        self, value: Floats, k: Floats, levels: Floats, error: Floats, moves: Floats, luck: Floats
    ) -> Floats:
        """Return quantiles of values whose errors are joined by luck of a known variance."""
        ends = joined_quantiles(moves, np.sqrt(luck), levels, self.freedom)
        return self._moved(value, k, levels, np.sqrt(error**2 + luck), ends)

    @property
    def _either(self) -> tuple[Uncertainty, Uncertainty]:
        """What was measured, were all of its variance due to classes, or all to probes."""
        total = self.class_variance + self.probe_variance
        known = replace(self, told_apart=True)
        return (
            replace(known, class_variance=total, probe_variance=0.0),
            replace(known, class_variance=0.0, probe_variance=total),
        )

    def _moved(self, value: Floats, k: Floats, levels: Any, error: Floats, moves: Floats) -> Floats:
        """Return quantiles that go over from those of a count at K to moved estimates at 2 K."""
        asked = column(np.asarray(levels, dtype=np.float64), 1 + k.ndim)
        shown, past = self._shown(value), np.log2(np.clip(k / self.n_classes, 1.0, 2.0))
        # A forecast beyond what so many probes can show is no count of them.
        near = self._jeffreys(np.where(k > self.n_classes, shown, value), error, asked)
        return expit((1 - past) * log_odds(near) + past * stepped(log_odds(shown), moves))

    def _holding(self, value: Any, k: Any, ends: Floats) -> tuple[Floats, Floats]:
        """Return limits that hold the estimate."""
        values, half = np.asarray(value, dtype=np.float64), 0.5 / self.n_probes
        # With every probe right (or wrong) nothing speaks against one (or nought).
        lower = np.where(values <= half, 0.0, np.minimum(ends[0], values))
        upper = np.where(values >= 1 - half, 1.0, np.maximum(ends[1], values))
        certain = validation.class_counts(k) <= self.metric.certain
        return np.where(certain, 1.0, lower), np.where(certain, 1.0, upper)

    def _jeffreys(self, value: Floats, error: Floats, levels: Floats) -> Floats:
        """Return the quantiles that as many independent probes would give as have this error.

        Where all are right (or wrong), those that give so many in a row with the chance left.
        """
        inside = self._shown(value)
        spread = np.maximum(error, LEAST_ERROR) * inside * (1 - inside)
        some_right, some_wrong = value > ROUND_OFF, value < 1 - ROUND_OFF
        variance = np.where(some_right & some_wrong, value * (1 - value), inside * (1 - inside))
        tail = np.minimum(np.minimum(levels, 1 - levels), 0.5 - NOUGHT)
        drawn = self.n_classes if self.n_drawn is None else self.n_drawn
        fewer = (ndtri(tail) / stdtrit(max(drawn - 1, FREEDOM), tail)) ** 2
        probes = fewer * variance / spread**2
        counted = betaincinv(value * probes + 0.5, (1 - value) * probes + 0.5, levels)
        in_a_row, is_lower = tail ** (1 / probes), levels < 0.5
        counted = np.where(is_lower & ~some_wrong, in_a_row, counted)
        counted = np.where(~is_lower & ~some_right, 1 - in_a_row, counted)
        return np.clip(counted, EDGE, 1 - EDGE)

    def _shown(self, value: Any) -> Floats:
        """Return a value no nearer to nought and one than half a probe."""
        half = 0.5 / self.n_probes
        return np.clip(np.asarray(value, dtype=np.float64), half, 1 - half)

    def _measured_error(self, k: Floats) -> Floats:
        return np.interp(np.log(k), np.log(self.inside), self.observed_error)

    def _along(self, k: Floats, moves: Floats) -> Floats:
        """Return moves (rows) at any k: straight in log k, past the grid as at its end."""
        log_k, grid = np.log(k), np.log(self.grid)
        after = np.clip(np.searchsorted(grid, log_k), 1, max(len(grid) - 1, 1))
        before, after = after - 1, np.minimum(after, len(grid) - 1)
        gap = np.where(before < after, grid[after] - grid[before], 1.0)
        part = np.clip((log_k - grid[before]) / gap, 0.0, 1.0)
        return np.asarray((1 - part) * moves[:, before] + part * moves[:, after])


def read_uncertainty(record: Record) -> Uncertainty:
    """Return what `Uncertainty.to_dict` wrote; refuse what it cannot have written."""
    rows = [
        Record({"moves": row}, NOUN).numbers("moves", -FARTHEST, FARTHEST)
        for row in record.items("moves")
    ]
    uncertainty = Uncertainty(
        n_classes=record.whole("n_classes"),
        n_probes=record.whole("n_probes"),
        inside=record.wholes("inside"),
        observed_error=record.numbers("observed_error", least=0),
        grid=record.wholes("grid"),
        moves=np.array(rows),
        sampled=record.shares("sampled"),
        class_variance=record.number("class_variance", least=0),
        probe_variance=record.number("probe_variance", least=0),
        probes_per_class=record.number("probes_per_class", least=0, most=MOST_CLASSES),
        observed=record.share("observed"),
        freedom=record.number("freedom", least=1),
        shared_rivals=record.flag("shared_rivals"),
        told_apart=record.flag("told_apart"),
        metric=resolve_share(record.text("metric")),
        n_drawn=record.optional("n_drawn", record.whole),
    )
    size = len(uncertainty.grid)
    if (
        uncertainty.observed_error.shape != uncertainty.inside.shape
        or uncertainty.sampled.shape != (size,)
        or not rows
        or uncertainty.moves.shape[1:] != (size,)
    ):
        raise DataError("the errors of this forecast do not fit their grid.")
    for value in vars(uncertainty).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return uncertainty


def plausible_moves(
    estimate: Floats,
    laws: Floats | None,
    errors: RefitErrors,
    half: float,
    model: ErrorModel = MODEL,
) -> tuple[Floats, float]:
    """Return the moves of plausible curves, and the freedom of their errors.

    From what a method's laws say of the metric (curves, points), or from what refits say.
    """
    shown = np.clip(estimate, half, 1 - half)
    if laws is None:
        odds, freedom = errors.curves(shown, model), REFITS_FREEDOM
    else:
        odds, freedom = odds_of(laws), LAWS_FREEDOM
    moves = steps_between(log_odds(shown), odds)
    return np.clip(moves, -FARTHEST, FARTHEST).round(DIGITS), freedom


@doing("Leaving out each class in turn")
def assess(
    pilot: Pilot,
    backtest: Backtest,
    fitted: Extrapolator,
    measured: Measured | None = None,
) -> Uncertainty:
    """Return how far forecasts from a pilot may be off.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    backtest : Backtest
        Of the same method on the same pilot; without steps where there are too few classes.
    fitted : Extrapolator
        The fitted method, which may know of laws as plausible as its own.
    measured : Measured, optional
        What the back-test forecast, where that is not the pilot's observed curve.
    """
    n_classes, metric = backtest.n_classes, backtest.metric
    observed = observe(pilot) if measured is None else measured.observed
    worth = pilot if measured is None else measured
    half = 0.5 / worth.n_probes
    at_pilot = float(observed.value(n_classes, metric))
    middle = float(np.clip(at_pilot, half, 1 - half))
    # Up to `certain` classes there is no error, and none that those beyond could be taken from.
    first = min(metric.certain + 1, n_classes)
    inside = np.unique(np.geomspace(first, n_classes, INSIDE).round().astype(np.int64))
    if measured is None:
        spread, shared = standard_error(pilot, observed, inside, metric)
        by_probes = probe_variance(pilot, metric)
    else:
        spread, shared = measured.standard_error(inside), True
        by_probes = measured.probe_variance()
    error = log_odds_error(worth, observed, inside, spread, metric)
    total = float(error[-1] * middle * (1 - middle)) ** 2
    within = 0.0 if by_probes is None else min(by_probes, total)
    near = backtest.grid[backtest.grid >= n_classes]
    far = np.geomspace(near[-1], max(MOST_CLASSES, near[-1]), N_FAR).round().astype(np.int64)
    grid = np.unique(np.concatenate([near, far]))
    errors = refit_errors(backtest, float(error[-1]), worth.n_probes, grid)
    moves, freedom = plausible_moves(
        fitted.value(grid, metric), fitted.plausible(grid, metric), errors, half
    )
    spreads = spread_of(moves, freedom)
    grown = errors.growth_factor() * spreads[0]
    share = np.divide(grown, spreads, out=np.ones(len(grid)), where=spreads > grown)
    return Uncertainty(
        n_classes=n_classes,
        n_probes=worth.n_probes,
        inside=inside,
        observed_error=error,
        grid=grid,
        moves=moves,
        sampled=share**2,
        class_variance=total - within,
        probe_variance=within,
        probes_per_class=probes_per_class(pilot),
        observed=at_pilot,
        freedom=freedom,
        shared_rivals=shared,
        told_apart=by_probes is not None and bool(spread[-1] > TINY),
        metric=metric,
        n_drawn=pilot.merged.n_groups if pilot.whole_groups else None,
    )
