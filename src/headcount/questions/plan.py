"""How large a pilot must be to know a metric among many classes well enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.checks import Check
from headcount.curves.favorability import ROUND_OFF
from headcount.errors import ParameterError, UnsupportedError
from headcount.estimators import Extrapolator
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.loading import as_pilot
from headcount.questions.forecast import Forecast, forecast
from headcount.support import validation
from headcount.support.grids import asked_classes, last_where
from headcount.support.output import as_csv, as_frame, as_html
from headcount.support.serialise import SCHEMA, write_json
from headcount.support.words import OURS, Nouns, about, percent, points
from headcount.support.workers import doing
from headcount.uncertainty.backtest import LEAST_HALF
from headcount.uncertainty.intervals import Uncertainty
from headcount.uncertainty.limits import ladder

Floats = NDArray[np.float64]

FEWEST, MOST = 2 * LEAST_HALF, 10_000_000
PER_CLASS = (1, 2, 5, 10, 20)
STEPS = 200


@dataclass(frozen=True)
class Option:
    """One size of pilot that would do.

    Attributes
    ----------
    classes : int
        Fewest classes.
    probes_per_class : float
        With so many probes each.
    probes : int
        Probes in all, if every class has some.
    half_width : float
        Half the width of the interval that is then expected.
    """

    classes: int
    probes_per_class: float
    probes: int
    half_width: float


@dataclass(frozen=True)
class Plan:
    """How large a pilot must be. Made by `plan`.

    Attributes
    ----------
    k : int
        Number of classes at which you want to know the metric.
    half_width : float
        How precisely: 0.03 is plus or minus 3 points.
    confidence : float
        Level of the interval.
    method : str
        How it will be forecast.
    n_classes, n_probes : int
        Size of the pilot that you have.
    value : float
        What that pilot says about k classes.
    half_width_now : float
        Half the width of its interval.
    class_share, probe_share, extrapolation_share : float
        Where the error comes from now: the choice of classes, the few probes of each, and the
        step from the pilot's size to k. They sum to one.
    classes : int or None
        Fewest classes that will do with `probes_per_class`; None where not even ten million do.
    probes_per_class : float
        As in the pilot that you have, unless another number was asked for.
    options : tuple of Option
        Other sizes that will do.
    notes : tuple of str
        What to know about it.
    checks : tuple of Check
        What to know before believing the forecast that it rests on.
    nouns : Nouns
        What classes and probes are called in words.
    metric : Metric
        What is to be known.
    """

    k: int
    half_width: float
    confidence: float
    method: str
    n_classes: int
    n_probes: int
    value: float
    half_width_now: float
    class_share: float
    probe_share: float
    extrapolation_share: float
    classes: int | None
    probes_per_class: float
    options: tuple[Option, ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    nouns: Nouns = OURS
    metric: Metric = ACCURACY

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        fields = {name: value for name, value in vars(self).items() if name != "nouns"}
        options = [dict(vars(option)) for option in self.options]
        checks = [check.to_dict() for check in self.checks]
        lists = {"options": options, "notes": list(self.notes), "checks": checks}
        return {"schema": SCHEMA} | fields | {"metric": self.metric.name} | lists

    def to_json(self) -> str:
        """Return everything as JSON."""
        return write_json(self.to_dict())

    def to_frame(self) -> Any:
        """Return the sizes that will do as a pandas DataFrame."""
        return as_frame(self._columns())

    def to_csv(self) -> str:
        """Return the sizes that will do as CSV text."""
        return as_csv(self._columns())

    def sentences(self) -> list[str]:
        """Return the answer in words."""
        return [self.nouns.rename(line) for line in (self._now(), self._needed(), *self.notes)]

    def __repr__(self) -> str:
        label, within = self.metric.label, points(self.half_width)
        title = f"Plan for {label} at {self.k:,} classes within {within}"
        return "\n  ".join([self.nouns.rename(title), *self.sentences()])

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def _columns(self) -> dict[str, NDArray[Any]]:
        names = Option.__dataclass_fields__
        return {name: np.array([getattr(o, name) for o in self.options]) for name in names}

    def _now(self) -> str:
        return (
            f"Now, from {self.n_classes:,} classes, {self.metric.label} at {self.k:,} is forecast "
            f"as {percent(self.value)} and known to within {points(self.half_width_now)} "
            f"({percent(self.confidence)} interval)."
        )

    def _needed(self) -> str:
        each = f"{self.probes_per_class:.3g} probe" + "s" * (self.probes_per_class != 1)
        wanted = points(self.half_width)
        if self.classes is None:
            return (
                f"Not even {about(MOST)} classes with {each} each would bring it to within "
                f"{wanted}."
            )
        size = f"about {about(self.classes)} classes with {each} each"
        if self.classes <= self.n_classes:
            return f"That is enough: {size} would do for {wanted}."
        return f"To know it to within {wanted}, take {size}."


def plan(
    data: Any,
    k: int,
    half_width: float,
    *,
    labels: Any = None,
    metric: str | Metric = ACCURACY,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    probes_per_class: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Plan:
    r"""Say how large a pilot must be to know a metric among k classes well enough.

    Parameters
    ----------
    data : Pilot, path or score matrix
        A pilot that you have, perhaps a small one.
    k : int
        Number of classes at which you want to know the metric.
    half_width : float
        How precisely: 0.03 is plus or minus 3 points.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    metric : str or Metric
        What you want to know: "accuracy", or "top-5" and the like.
    method : str or Extrapolator
        How it will be forecast.
    confidence : float
        Level of the interval.
    probes_per_class : float, optional
        Probes for each class in the new pilot; by default as many as in this one.
    random_state : int
        Seed.
    n_jobs : int, optional
        Workers, as in joblib.

    Returns
    -------
    Plan

    Notes
    -----
    On the scale of log odds, a pilot of K' classes with r' probes each has the error

    .. math::

       \sqrt{\frac{K}{K'} \Big(C + P \frac{r}{r'}\Big) G(k / K') + X(k / K')^2} ,

    K and r are the size of the pilot that you have, and everything else is as found for it. C and P
    are two parts of the variance at its own size: C comes from the choice of classes, and P from
    the finite number of their probes. How probes of one class differ tells the two apart. G says
    how much this variance grows, and X is the error of shape, when a forecast goes so many times
    beyond its pilot. (What a method states without any step beyond counts as part of the first.)
    C and P follow A (1 - A) as the metric A falls. From K' = k on, nothing is extrapolated.

    What your pilot says is itself uncertain, the more so the smaller it is. So plan again when you
    have half of the larger one.

    Examples
    --------
    >>> from headcount import simulate
    >>> pilot = simulate.isotropic_gaussian(100, sigma=0.5, random_state=1).pilot
    >>> needed = plan(pilot, 100, 0.02, method="no-change")
    >>> needed.half_width_now > 0.02, needed.classes > 100
    (True, True)
    """
    (size,) = asked_classes(validation.whole_number(k, "k", 2))
    if not 0 < half_width < 0.5:
        raise ParameterError(
            f"half_width must lie between 0 and 0.5, such as 0.03 for 3 points, not {half_width!r}."
        )
    wanted = None
    if probes_per_class is not None:
        wanted = validation.positive(probes_per_class, "probes_per_class")
    pilot = as_pilot(data, labels)
    if pilot.ranking is not None or pilot.rivals == "independent":
        raise UnsupportedError(
            "a plan says how many classes to draw, but here each probe met rivals of its own, so "
            "that it is probes that count: four times as many halve what is due to chance."
        )
    result = forecast(
        pilot,
        classes=size,
        metric=metric,
        method=method,
        confidence=confidence,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if result.uncertainty is None:
        raise UnsupportedError(
            f"method {result.method} is too slow for a back-test, which a plan rests on; choose "
            "another one."
        )
    model = WidthModel(result, result.uncertainty, size)
    return plan_by(model, float(half_width), wanted)


# -- inner workings --------------------------------------------------------------------------------


class WidthModel:
    """How wide the interval at k will be, for pilots of any size."""

    def __init__(self, forecast: Forecast, u: Uncertainty, k: int) -> None:
        self.forecast, self.u, self.k = forecast, u, k
        self.value = float(forecast.value(k))
        self.rarer = min(self.value, 1 - self.value)
        # A pilot with probes enough to show a value that this one cannot.
        few = 0 < self.rarer * u.n_probes <= 1
        self.shown = replace(u, n_probes=math.ceil(1 / self.rarer)) if few else u
        whole = u.class_variance + u.probe_variance
        self.by_probes = u.probe_variance / whole if whole > 0 else 0.0
        self.per_class = u.probes_per_class

    def sampling(self, classes: Floats, per_class: float, k: Any = None) -> Floats:
        """Variance that the choice of classes and probes leaves, as a share of today's."""
        size, asked = self.u.n_classes, self.k if k is None else k
        reached = np.minimum(classes, asked)  # where the pilot to come measures
        inside = np.minimum(reached, size)
        level = (self.u.spread(inside) / self.u.spread(size)) ** 2
        level = level * self._spread(inside) / self._spread(reached)
        mix = 1 - self.by_probes + self.by_probes * self.per_class / per_class
        share = self.u.sampled_share(self._beyond(classes, asked))
        return np.asarray(share * level * mix * size / classes)

    def extrapolation(self, classes: Floats, k: Any = None) -> Floats:
        """Variance of the error of shape, as a share of today's at the same ratio."""
        return 1.0 - self.u.sampled_share(self._beyond(classes, self.k if k is None else k))

    def half_width(self, classes: Any, per_class: float) -> Floats:
        """Half the width of the interval to expect.

        Its limits are the least of those from the pilot's size to k
        (`headcount.uncertainty.limits`).
        """
        sizes = np.asarray(classes, dtype=np.float64)
        stages = self._stages(sizes)
        value, beyond = self._values(stages), self._beyond(sizes, stages)
        factor = np.sqrt(
            self.sampling(sizes, per_class, stages) + self.extrapolation(sizes, stages)
        )
        plain, shown = (
            np.subtract(*(limit.min(axis=0) for limit in reversed(limits)))
            for limits in (
                uncertainty.limits(value, beyond, self.forecast.confidence, factor)
                for uncertainty in (self.u, self.shown)
            )
        )
        return np.asarray(np.where(sizes * per_class * self.rarer > 1, shown, plain) / 2)

    def fewest(self, half_width: float, per_class: float) -> int | None:
        """Return the smallest number of classes that brings the interval down to a width."""
        ladder = np.unique(np.geomspace(FEWEST, MOST, STEPS).round())
        good = np.flatnonzero(self.half_width(ladder, per_class) <= half_width)
        if len(good) == 0:
            return None
        if good[0] == 0:
            return int(ladder[0])
        return 1 + last_where(
            lambda classes: float(self.half_width(classes, per_class)) > half_width,
            ladder[good[0] - 1],
            ladder[good[0]],
        )

    def _stages(self, classes: Floats) -> Floats:
        """Return numbers of classes from the size of a pilot to k, a column for each pilot.

        They are to its size what the rungs of a ladder are to that of the pilot at hand.
        """
        size, furthest = self.u.n_classes, self._beyond(classes.min(), self.k)
        rungs = ladder(size, self.u.grid)
        rungs = rungs[(rungs >= size) & (rungs <= furthest)]
        stages = np.multiply.outer(rungs / size, classes)
        stages = np.append(stages, np.full((1, *classes.shape), self.k), axis=0)
        return np.minimum(np.floor(stages * (1 + ROUND_OFF)), self.k)

    def _beyond(self, classes: Floats, k: Any) -> Floats:
        """Return how many classes are as far beyond the pilot at hand as k is beyond another."""
        ratio = np.maximum(k / np.asarray(classes), 1.0)
        return np.asarray(np.floor(ratio * self.u.n_classes * (1 + ROUND_OFF)))

    def _values(self, classes: Floats) -> Floats:
        """Return forecasts, each number of classes looked at once."""
        counts, place = np.unique(classes, return_inverse=True)
        return np.asarray(self.forecast.value(counts)[place].reshape(np.shape(classes)))

    def _spread(self, classes: Floats) -> Floats:
        value = self._values(classes)
        return np.asarray(np.maximum(value * (1 - value), 0.5 / self.u.n_probes))


@doing("Looking for sizes that would do")
def plan_by(model: WidthModel, half_width: float, per_class: float | None) -> Plan:
    """Return the plan that a model of the interval's width leads to."""
    u, forecast = model.u, model.forecast
    if not float(u.spread(u.n_classes)) > 0:
        raise UnsupportedError("this pilot shows no error at all, so there is nothing to plan by.")
    size = np.array(float(u.n_classes))
    sampled, shape = float(model.sampling(size, model.per_class)), float(model.extrapolation(size))
    wanted = model.per_class if per_class is None else per_class
    probes = model.by_probes * sampled / (sampled + shape)
    classes = model.fewest(half_width, wanted)
    return Plan(
        k=model.k,
        half_width=half_width,
        confidence=forecast.confidence,
        method=forecast.method,
        n_classes=forecast.n_classes,
        n_probes=forecast.n_probes,
        value=model.value,
        half_width_now=float(model.half_width(size, model.per_class)),
        class_share=(1 - model.by_probes) * sampled / (sampled + shape),
        probe_share=probes,
        extrapolation_share=shape / (sampled + shape),
        classes=classes,
        probes_per_class=wanted,
        options=sufficient_sizes(model, half_width, wanted),
        notes=_notes(model, classes),
        checks=forecast.checks,
        nouns=forecast.nouns,
        metric=forecast.metric,
    )


def sufficient_sizes(model: WidthModel, half_width: float, wanted: float) -> tuple[Option, ...]:
    """Return the fewest classes that will do, for several numbers of probes a class."""
    often = {wanted, *PER_CLASS} if model.by_probes > 0 else {wanted}
    options = []
    for per_class in sorted(often):
        classes = model.fewest(half_width, per_class)
        if classes is not None:
            reached = float(model.half_width(classes, per_class))
            options.append(Option(classes, per_class, round(classes * per_class), reached))
    return tuple(options)


def _notes(model: WidthModel, classes: int | None) -> tuple[str, ...]:
    notes = []
    if model.by_probes == 0 and model.u.told_apart:
        notes.append(
            "Probes of one class were always right or wrong together, so that more of them would "
            "bring nothing."
        )
    elif model.by_probes == 0:
        notes.append(
            "The pilot does not show what more probes of a class would bring (no class has two, "
            "it is not known which, or all are right or all wrong); it is assumed they bring "
            "nothing."
        )
    if classes is not None and classes > model.k:
        notes.append(
            f"These are more than the {model.k:,} classes asked about: the expected "
            f"{model.forecast.metric.label} is an average over all sets of so many, and one set is "
            "not enough to know it so well."
        )
    return tuple(notes)
