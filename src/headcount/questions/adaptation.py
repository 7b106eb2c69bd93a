"""How much better a model gets at telling classes apart by being retrained on more of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.curves.curve import FORECAST, OBSERVED
from headcount.errors import DataError, ParameterError, UnsupportedError, listening
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.pilot.loading import as_pilot
from headcount.pilot.pilot import Pilot
from headcount.questions.compare import ONE, gap_between, on_fisher_scale
from headcount.questions.forecast import Forecast, forecast
from headcount.questions.training import refuse_other_settings
from headcount.support.grids import curve_classes
from headcount.support.output import as_csv, as_frame, as_html
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import (
    Nouns,
    counted,
    in_points,
    percent,
    points,
    rough_chance,
)
from headcount.support.workers import doing
from headcount.uncertainty.jackknife import without_each

if TYPE_CHECKING:
    from headcount.display.plots import ComparisonDisplay

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INSIDE = 12  # numbers of classes at which each class is left out in turn
FEWEST = 3  # classes of a pilot that can be left out in turn
COLUMNS = (
    "trained_on", "retrained_on", "classes", "value", "forecast", "difference", "lower", "upper",
    "chance", "region", "shared_classes",
)  # fmt: skip


@dataclass(frozen=True)
class Degree:
    """How far a retrained model is ahead of what was forecast, at one number of classes.

    Attributes
    ----------
    classes : int
        k.
    value, forecast : float
        The metric among k classes: of the retrained model, as measured, and as the pilot of the
        model before says, which is measured too where that pilot has k classes or more.
    difference : float
        `value` minus `forecast`: the degree of adaptation where k is what the model was retrained
        on.
    lower, upper : float or None
        Interval for it; None where the method is too slow for one.
    chance : float or None
        Chance that it is above zero.
    region : str
        "observed" where nothing is forecast, else "forecast".
    """

    classes: int
    value: float
    forecast: float
    difference: float
    lower: float | None
    upper: float | None
    chance: float | None
    region: str


@dataclass(frozen=True)
class Retraining:
    """One model held against what the pilot of another, trained on fewer classes, forecasts.

    Attributes
    ----------
    trained_on, retrained_on : int
        Classes of the two pilots.
    shared_classes : int or None
        How many names of classes, or of whole groups, are in both; None where that, or who beat
        whom, is not known.
    classes : ndarray of int64
        Numbers of classes, 2 to `retrained_on`.
    value, forecast : ndarray
        The metric of the retrained model, as measured, and what the smaller pilot says.
    lower, upper, chance : ndarray or None
        Interval for their difference, and the chance that it is above zero.
    correlation : ndarray
        Of the errors of the two, from the classes that they share.
    """

    trained_on: int
    retrained_on: int
    shared_classes: int | None
    classes: Ints
    value: Floats
    forecast: Floats
    lower: Floats | None
    upper: Floats | None
    chance: Floats | None
    correlation: Floats

    @property
    def difference(self) -> Floats:
        """Value of the retrained model minus the forecast."""
        return self.value - self.forecast

    @property
    def degree(self) -> Degree:
        """The degree of adaptation: at the number of classes that the model was retrained on."""
        return self.at(self.retrained_on)

    @property
    def at_equal_size(self) -> Degree:
        """The difference at the size of the smaller pilot, where nothing is forecast."""
        return self.at(self.trained_on)

    def at(self, k: int) -> Degree:
        """Return the difference at a number of classes of the curve."""
        place = int(np.searchsorted(self.classes, k))
        if place == len(self.classes) or self.classes[place] != k:
            raise ParameterError(
                f"{k:,} classes are not on this curve; take {self.trained_on:,} or "
                f"{self.retrained_on:,}, or another number of its `classes`."
            )
        lower, upper, chance = (
            None if column is None else float(column[place])
            for column in (self.lower, self.upper, self.chance)
        )
        return Degree(
            classes=int(k),
            value=float(self.value[place]),
            forecast=float(self.forecast[place]),
            difference=float(self.difference[place]),
            lower=lower,
            upper=upper,
            chance=chance,
            region=OBSERVED if k <= self.trained_on else FORECAST,
        )


@dataclass(frozen=True, repr=False)
class Adaptation:
    """How a model adapts to more classes by being retrained on them. Made by `adaptation`.

    Attributes
    ----------
    forecasts : dict of int to Forecast
        From each pilot, by its number of classes.
    retrainings : tuple of Retraining
        Every pilot held against every smaller one.
    confidence : float
        Level of the intervals.
    notes : tuple of str
        What was left out, and why.
    warnings : tuple of str
        Warnings given while it was made.
    """

    forecasts: Mapping[int, Forecast]
    retrainings: tuple[Retraining, ...]
    confidence: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def metric(self) -> Metric:
        """What is measured and forecast."""
        return next(iter(self.forecasts.values())).metric

    @property
    def nouns(self) -> Nouns:
        """What classes and probes are called in words and pictures: as in the smallest pilot."""
        return next(iter(self.forecasts.values())).nouns

    @property
    def degree(self) -> Degree:
        """From the smallest pilot to the largest."""
        sizes = list(self.forecasts)
        return self.retraining(sizes[0], sizes[-1]).degree

    def retraining(self, trained_on: int, retrained_on: int) -> Retraining:
        """Return how the model trained on so many classes is ahead of the one of fewer."""
        for retraining in self.retrainings:
            if (retraining.trained_on, retraining.retrained_on) == (trained_on, retrained_on):
                return retraining
        sizes = ", ".join(f"{size:,}" for size in self.forecasts)
        raise ParameterError(
            f"there is no step from {trained_on:,} to {retrained_on:,} classes; the pilots have "
            f"{sizes}, and the smaller one comes first."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "schema": SCHEMA,
            "metric": self.metric.name,
            "confidence": self.confidence,
            "pilots": [
                {"n_classes": each.n_classes, "n_probes": each.n_probes, "method": each.method}
                for each in self.forecasts.values()
            ],
            "differences": self._rows(),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return everything as JSON."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with two rows for each step.

        The first at the size of the smaller pilot, the second at that of the larger.
        """
        return as_frame(self._columns())

    def to_csv(self) -> str:
        """Return the rows of `to_frame` as CSV text; a cell is empty where nothing is known."""
        filled = {
            name: ["" if value is None else value for value in values]
            for name, values in self._columns().items()
        }
        return as_csv({name: np.array(values, dtype=object) for name, values in filled.items()})

    def plot(self, ax: Any = None, *, error_rate: bool = False) -> ComparisonDisplay:
        """Draw what each pilot measured and forecasts; needs the extra `plot`."""
        return self.display().plot(ax, error_rate=error_rate)

    def display(self) -> ComparisonDisplay:
        """Return the picture: a curve for each pilot, up to the size of the largest."""
        from headcount.display.plots import ComparisonDisplay

        largest = max(self.forecasts)
        names = {size: f"trained on {size:,}" for size in self.forecasts}
        return ComparisonDisplay(
            {
                names[size]: each.table(curve_classes(size, (largest,)))
                for size, each in self.forecasts.items()
            },
            {names[size]: size for size in self.forecasts},
            self.metric,
            band=f"{percent(self.confidence)} interval",
            nouns=self.nouns,
        )

    def sentences(self) -> list[str]:
        """Return the outcome in words: how far each model is ahead of its forecasts."""
        outcome = []
        for each in self.retrainings:
            outcome.append(degree_sentence(each, self.metric, self.confidence))
            outcome.append(equal_size_sentence(each, self.confidence))
        return [self.nouns.rename(sentence) for sentence in (*outcome, *self.notes)]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{size:,}" for size in self.forecasts)
        title = f"Adaptation of a model trained on {sizes} classes, in {self.metric.label}"
        return "\n  ".join([self.nouns.rename(title), *self.sentences()])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "trained_on": each.trained_on,
                "retrained_on": each.retrained_on,
                **vars(degree),
                "shared_classes": each.shared_classes,
            }
            for each in self.retrainings
            for degree in (each.at_equal_size, each.degree)
        ]

    def _columns(self) -> dict[str, list[Any]]:
        rows = self._rows()
        return {name: [row[name] for row in rows] for name in COLUMNS}


def degree_sentence(retraining: Retraining, metric: Metric, confidence: float) -> str:
    """Say how far a retrained model is ahead of the forecast, and whether that is sure."""
    degree = retraining.degree
    return (
        f"Retrained on {degree.classes:,} classes, {metric.label} is "
        f"{metric.write(degree.value)} where {metric.write(degree.forecast)} was forecast from "
        f"{retraining.trained_on:,}: {_lead(degree, confidence, 'the forecast')}."
    )


def equal_size_sentence(retraining: Retraining, confidence: float) -> str:
    """Say how two models differ where neither is forecast."""
    degree = retraining.at_equal_size
    return (
        f"Among {degree.classes:,} classes, as both were measured, it is "
        f"{_lead(degree, confidence, 'the model before')}."
    )


def _lead(degree: Degree, confidence: float, what: str) -> str:
    side = "above" if degree.difference >= 0 else "below"
    by = f"{points(abs(degree.difference))} {side} {what}"
    if degree.lower is None or degree.upper is None or degree.chance is None:
        return by
    level = f"{percent(confidence)} interval"
    ends = " to ".join(in_points(end, sign="+") for end in (degree.lower, degree.upper))
    if degree.lower > 0 or degree.upper < 0:
        return f"{by} ({level} {ends})"
    chance = rough_chance(degree.chance)
    return f"{by} ({level} {ends}), and may be level with it (chance to be above: {chance})"


def adaptation(
    pilots: Sequence[Any],
    *,
    metric: str | Metric = ACCURACY,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Adaptation:
    r"""Measure how much a model gains by being retrained on more classes.

    A forecast says what a model that stays as it is would do among more classes. One that is
    retrained on them may do better, since it can adapt to them. The *degree of adaptation* is

    .. math:: \Delta = A_2(K_2) - \hat A_1(K_2),

    the accuracy of the model retrained on :math:`K_2` classes minus what the pilot of the model
    trained on :math:`K_1 < K_2` forecasts for so many.

    Parameters
    ----------
    pilots : sequence of Pilot or path
        Two or more, of different sizes: each the test of a model on the classes that it was
        trained on.
    metric : str or Metric
        What is measured: "accuracy", or "top-5" and the like.
    method : str or Extrapolator
        How to forecast.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed.
    n_jobs : int, optional
        Workers, as in joblib.

    Returns
    -------
    Adaptation

    Notes
    -----
    Each pilot is held against each smaller one, over the whole curve up to :math:`K_2`. Up to
    :math:`K_1` both are measured and nothing is forecast: `Retraining.at_equal_size`.

    The interval is of the difference between what is *expected* of the two models over random sets
    of classes. As in `compare`, errors are taken as normal on the scale log(-log(1 - A)), with the
    standard deviations of the two pilots' own intervals. The sampling errors of two pilots
    that share classes are correlated by

    .. math:: \rho = \frac{\sum_{c \in S} e_1(c)\, e_2(c)}
              {\sqrt{\sum_c e_1(c)^2 \, \sum_c e_2(c)^2}} ,

    :math:`e_i(c)` being how far class c moves the curve of pilot i when it is left out, from its
    mean over all classes, and S the classes of both. That needs no assumption on whether the
    probes are the same ones. Past :math:`K_1` the curve of pilot 1 is moved as at
    :math:`K_1`. The error of extrapolating is taken as independent of what pilot 2 says.
    Classes that only happen to have the same names do no harm: the correlation found is then near
    zero. Where names, or who beat whom, are not known, pilots are taken as independent, which makes
    intervals too wide if classes are shared. Training is random, too: the interval is for the
    models as they were trained, and leaves out how another run of training would differ.

    In simulations (60 pairs of 60 and 240 round classes, method `auto`, no adaptation; standard
    error 4 points) 90% intervals held the truth in 90% where the smaller set was part of the larger
    one, and in 98% where it was another.

    References
    ----------
    Slavutsky and Benjamini, *Predicting classification accuracy when adding new unobserved
    classes*, ICLR 2021, §6.

    Examples
    --------
    >>> import headcount
    >>> from headcount.simulate import isotropic_gaussian
    >>> before = isotropic_gaussian(100, sigma=0.4, probes_per_class=3, random_state=1).pilot
    >>> after = isotropic_gaussian(200, sigma=0.3, random_state=2).pilot
    >>> result = headcount.adaptation([before, after], method="probit-normal")
    >>> degree = result.degree
    >>> degree.classes, degree.lower > 0, degree.chance > 0.95
    (200, True, True)
    """
    measure = resolve_share(metric)
    ordered = _by_size(pilots)
    largest = max(ordered)
    with listening() as warnings:
        forecasts = {
            size: forecast(
                pilot,
                classes=largest,
                metric=measure,
                method=method,
                confidence=confidence,
                random_state=random_state,
                n_jobs=n_jobs,
            )
            for size, pilot in ordered.items()
        }
    without = {size: _leave_out(pilot, measure) for size, pilot in ordered.items()}
    retrainings = tuple(
        _retraining(forecasts[first], forecasts[second], without[first], without[second])
        for first, second in itertools.combinations(ordered, 2)
    )
    return Adaptation(
        forecasts,
        retrainings,
        float(confidence),
        _notes(forecasts, retrainings),
        tuple(warnings),
    )


# -- inner workings --------------------------------------------------------------------------------


def _by_size(pilots: Sequence[Any]) -> dict[int, Pilot]:
    """Return the pilots by ascending number of classes, refused unless they fit together."""
    if isinstance(pilots, str | Mapping) or not isinstance(pilots, Sequence) or len(pilots) < 2:
        raise ParameterError(
            "adaptation needs a list of two or more pilots: of a model, and of the same model "
            "retrained on more classes."
        )
    read = [as_pilot(data) for data in pilots]
    by_size = {pilot.n_classes: pilot for pilot in read}
    if len(by_size) < len(read):
        sizes = ", ".join(f"{pilot.n_classes:,}" for pilot in read)
        raise DataError(
            f"the pilots have {sizes} classes; give one for each number of classes that the model "
            "was trained on."
        )
    for pilot in read[1:]:
        refuse_other_settings(read[0], pilot)
    return {size: by_size[size] for size in sorted(by_size)}


@dataclass(frozen=True)
class Without:
    """What a pilot says without each class, or whole group (rows), at numbers of classes."""

    places: Mapping[Any, int]
    classes: Ints
    moves: Floats  # from their mean


@doing("Finding what the pilots share")
def _leave_out(pilot: Pilot, metric: Metric) -> Without | None:
    """Return how each class, or whole group, moves the curve; None where that is not known."""
    last = pilot.n_classes - 1
    if not pilot.knows_rivals or len(pilot.class_names) < max(pilot.n_classes, FEWEST):
        return None
    first = min(metric.certain + 1, last)
    counts = np.unique(np.geomspace(first, last, INSIDE).round().astype(np.int64))
    try:
        values = without_each(pilot, metric, counts)
    except UnsupportedError:
        return None
    whole = pilot.whole_groups
    names = np.unique(np.asarray(pilot.groups if whole else pilot.class_names))
    places = {name: place for place, name in enumerate(names.tolist())}
    return Without(places, counts, values - values.mean(axis=0))


def shared_sampling(before: Without, after: Without, grid: Ints) -> tuple[int, Floats]:
    """Return how many names two pilots share, and how their sampling errors are correlated."""
    names = [name for name in before.places if name in after.places]
    rows = [[without.places[name] for name in names] for without in (before, after)]
    nodes = np.unique(np.concatenate([before.classes, after.classes]))
    moves = [_interpolated(without, nodes) for without in (before, after)]
    together = (moves[0][rows[0]] * moves[1][rows[1]]).sum(axis=0)
    spread = np.sqrt((moves[0] ** 2).sum(axis=0) * (moves[1] ** 2).sum(axis=0))
    correlation = np.divide(together, spread, out=np.zeros(len(nodes)), where=spread > 0)
    on_scale = np.interp(np.log(grid), np.log(nodes), on_fisher_scale(correlation))
    return len(names), np.tanh(on_scale)


def _interpolated(without: Without, nodes: Ints) -> Floats:
    """Return the moves at other numbers of classes; past the last as there."""
    return np.array([np.interp(np.log(nodes), np.log(without.classes), m) for m in without.moves])


def _retraining(
    before: Forecast, after: Forecast, first: Without | None, second: Without | None
) -> Retraining:
    """Hold a model against what the pilot of the one before forecasts."""
    grid = curve_classes(before.n_classes, (after.n_classes,))
    grid = grid[grid <= after.n_classes]
    shared, correlation = None, np.zeros(len(grid))
    if first is not None and second is not None:
        shared, correlation = shared_sampling(first, second, grid)
    if before.uncertainty is not None:
        # What is due to the shape of the curve beyond the pilot, the other pilot knows nothing of.
        correlation = correlation * np.sqrt(before.uncertainty.sampled_share(grid))
    lower = upper = chance = None
    value, expected = after.value(grid), before.value(grid)
    correlation = np.clip(correlation, -ONE, ONE)
    gap = gap_between((after, before), grid, correlation)
    if gap is not None:
        lower, upper = gap.interval(before.confidence)
        difference = value - expected
        lower, upper = np.minimum(lower, difference), np.maximum(upper, difference)
        chance = gap.chance()
    sizes = before.n_classes, after.n_classes
    return Retraining(*sizes, shared, grid, value, expected, lower, upper, chance, correlation)


def _notes(
    forecasts: Mapping[int, Forecast], retrainings: tuple[Retraining, ...]
) -> tuple[str, ...]:
    notes = []
    if any(each.uncertainty is None for each in forecasts.values()):
        notes.append("No intervals: the method is too slow for a back-test.")
    unknown = sum(each.shared_classes is None for each in retrainings)
    if unknown:
        notes.append(
            f"In {counted(unknown, 'comparison')} it is not known which classes are shared, or "
            "which beat which, so the pilots are taken as independent: intervals are too wide if "
            "classes are shared."
        )
    return tuple(notes)
