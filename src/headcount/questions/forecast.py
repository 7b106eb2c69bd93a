"""From a pilot to a `Forecast`: the question asked most, and the object a user holds."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from headcount.checks import Check, finding, run_checks
from headcount.curves.favorability import ROUND_OFF, Favorability, check_target
from headcount.curves.observed import Observed, observe
from headcount.curves.predicted import PredictedCurve
from headcount.errors import (
    DataError,
    ExtrapolationWarning,
    HeadcountError,
    ParameterError,
    UnsupportedError,
    listening,
    warn,
)
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.registry import name_of
from headcount.pilot.loading import as_pilot
from headcount.pilot.losses import LossRows, LossTable
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.grids import asked_classes, curve_classes, observed_or_forecast, whole_count
from headcount.support.output import PAGES, PICTURES, as_csv, as_frame, write_text
from headcount.support.validation import confidence_level
from headcount.support.words import (
    OURS,
    Nouns,
    describe_accuracy,
    describe_capacity,
    past_saying,
    percent,
    percent_range,
    speaking,
)
from headcount.support.workers import doing
from headcount.uncertainty.asymptotics import accuracy_error, asymptotic_interval
from headcount.uncertainty.backtest import Backtest, hide_classes, with_coverage
from headcount.uncertainty.intervals import KINDS, Uncertainty, assess
from headcount.uncertainty.limits import Limits, ladder, moved_alike

if TYPE_CHECKING:
    from headcount.display.plots import AccuracyDisplay


SCHEMA = 1
# Codes that the first version wrote.
RENAMED = {"gap-at-pilot": "HC010"}


def write_forecast(
    answers: dict[str, Any],
    classes: Sequence[int],
    observed: Observed,
    law: Favorability | PredictedCurve,
    rest: dict[str, Any],
) -> str:
    """Return the answers together with all that is needed to answer any other question."""
    table = observed.table
    state = {
        "classes": list(classes),
        "n_rivals": table.n_rivals,
        "losses": table.losses.tolist(),
        "weights": table.weights.tolist(),
        "censored": table.censored.tolist(),
    }
    if table.bounds is not None:
        state["bounds"] = [[values.tolist() for values in rows] for rows in table.bounds]
    if isinstance(law, Favorability):
        state |= {"p": law.p.tolist(), "mass": law.weights.tolist()}
    else:
        state |= {"ladder": law.classes.tolist(), "accuracy": law.values.tolist()}
    return json.dumps(answers | {"state": state | rest}, allow_nan=False)


def read_forecast(text: str) -> dict[str, Any]:
    """Return what a `Forecast` is made of; refuse what `write_forecast` cannot have written."""
    try:
        held = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        json.dumps(held, ensure_ascii=False).encode()  # halves of characters cannot be written
        if held["schema"] != SCHEMA or isinstance(held["schema"], bool):
            raise DataError(
                f"this forecast has schema {held['schema']!r:.40}; this version reads {SCHEMA}."
            )
        state = held["state"]
        return {
            "observed": Observed(_table(state)),
            "law": _law(state),
            "classes": asked_classes(_list(state["classes"])),
            "n_probes": whole_count(held["n_probes"], "n_probes"),
            "method": _text(held["method"]),
            "confidence": validation.confidence_level(held["confidence"]),
            "checks": tuple(_check(check) for check in _list(held["checks"])),
            "warnings": tuple(_text(warning) for warning in _list(held["warnings"])),
            "backtest": _held(state, "backtest", Backtest.from_dict),
            "uncertainty": _held(state, "uncertainty", Uncertainty.from_dict),
            "nouns": Nouns.from_dict(state.get("nouns")),
        }
    except DataError:
        raise
    except HeadcountError as error:
        raise DataError(f"this forecast cannot be read: {error}") from error
    except RecursionError as error:
        raise DataError(
            "this is not a forecast written by to_json: it is nested too deeply; write it again."
        ) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"this is not a forecast written by to_json: {validation.short(str(error), 120)}; "
            "write it again."
        ) from error


def _held(state: dict[str, Any], name: str, read: Callable[[Any], Any]) -> Any:
    """Return a part that may be missing, refused if it is of another pilot."""
    if state.get(name) is None:
        return None
    part = read(state[name])
    if part.n_classes != state["n_rivals"] + 1:
        raise DataError(
            f"the {name} of this forecast is of {part.n_classes:,} classes, not of "
            f"{state['n_rivals'] + 1:,}."
        )
    return part


def _law(state: dict[str, Any]) -> Favorability | PredictedCurve:
    if "ladder" in state:
        return PredictedCurve(state["ladder"], state["accuracy"])
    return Favorability(state["p"], state["mass"])


def _table(state: dict[str, Any]) -> LossTable:
    n_rivals = whole_count(state["n_rivals"], "n_rivals")
    losses, weights = _loss_rows(state["losses"], state["weights"], n_rivals)
    censored = validation.as_flags(state["censored"], "censored")
    validation.same_length(censored, "censored", len(losses), "losses")
    bounds = None
    if "bounds" in state:
        fewest, most = [_loss_rows(at, share, n_rivals) for at, share in state["bounds"]]
        bounds = fewest, most
    return LossTable(losses, weights, censored, n_rivals, bounds)


def _loss_rows(losses: Any, weights: Any, n_rivals: int) -> LossRows:
    counts = validation.as_counts(losses, "losses")
    shares: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
    sound = (
        counts.shape == shares.shape
        and len(counts) > 0
        and counts.max() <= n_rivals
        and bool((shares >= 0).all())
        and abs(float(shares.sum()) - 1) < 1e-6
    )
    if not sound:
        raise DataError("the losses and weights of this forecast do not fit together.")
    return counts, shares


def _check(held: dict[str, Any]) -> Check:
    parts = {name: _text(value) for name, value in held.items()}
    return Check(**parts | {"code": RENAMED.get(parts["code"], parts["code"])})


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(f"a list was expected, but found {value!r:.40}.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"text was expected, but found {value!r:.40}.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return validation.once_each(pairs, "this forecast")


def _refuse_constant(name: str) -> Any:
    raise DataError(f"a forecast must not hold {name}; write it again with to_json.")


Floats = NDArray[np.float64]

TARGETS = (0.9, 0.8, 0.5)


TEXTS = (".json", ".csv")


@dataclass(frozen=True)
class Curve:
    """Accuracy against classes: observed up to the pilot's size, forecast beyond.

    `lower` and `upper` are None where there are no intervals.
    """

    classes: NDArray[np.int64]
    accuracy: Floats
    region: NDArray[np.str_]
    lower: Floats | None = None
    upper: Floats | None = None


class Forecast:
    """Accuracy at any number of classes: measured up to the pilot's size, forecast beyond.

    Made by `forecast`; everything is a function of the observed curve and one fitted law.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot.
    classes : tuple of int
        Numbers of classes asked about.
    method : str
        Name of the method, as asked for; of an estimator, its alias with the options it changes.
    confidence : float
        Level of the intervals.
    observed : Observed
        What the pilot itself says, up to its own size.
    law : Favorability or PredictedCurve
        The fitted law; a bare curve for methods that are no mixture.
    checks : tuple of Check
        What to know before believing it.
    warnings : tuple of str
        What was said on the way.
    backtest : Backtest or None
        How well the method forecast the pilot's own classes from fewer of them.
    uncertainty : Uncertainty or None
        How far the forecast may be off; None where no back-test was run.
    random_state : int or None
        Seed it was made with; None where it was read from a file.
    nouns : Nouns
        What classes and probes are called in words and pictures.
    """

    def __init__(
        self,
        *,
        observed: Observed,
        law: Favorability | PredictedCurve,
        classes: tuple[int, ...],
        n_probes: int,
        method: str,
        confidence: float,
        checks: tuple[Check, ...] = (),
        warnings: tuple[str, ...] = (),
        fitted: tuple[Pilot, Extrapolator] | None = None,
        backtest: Backtest | None = None,
        uncertainty: Uncertainty | None = None,
        random_state: int | None = None,
        nouns: Nouns = OURS,
    ) -> None:
        self.observed = observed
        self.law = law
        self.classes = classes
        self.n_classes = observed.n_classes
        self.n_probes = n_probes
        self.method = method
        self.confidence = confidence
        self.checks = checks
        self.warnings = warnings
        self.backtest = backtest
        self.uncertainty = uncertainty
        self.random_state = random_state
        self.nouns = nouns
        self._fitted = fitted
        self.curve = self._curve()

    # -- questions ------------------------------------------------------------------------------

    @overload
    def accuracy(self, k: int) -> float: ...

    @overload
    def accuracy(self, k: Any) -> Floats: ...

    def accuracy(self, k: Any) -> Any:
        """Accuracy among k classes: observed for k up to the pilot's size, fitted beyond.

        A float for one k, an array for several.
        """
        return _plain(
            observed_or_forecast(k, self.n_classes, self.observed.accuracy, self.law.accuracy)
        )

    @property
    def supported(self) -> int:
        """Largest number of classes that the back-test supports; without one, the pilot's own."""
        ratio = 1.0 if self.backtest is None else self.backtest.supported
        return math.floor(ratio * self.n_classes * (1 + ROUND_OFF))

    @overload
    def top(self, m: int, k: int) -> float: ...

    @overload
    def top(self, m: int, k: Any) -> Floats: ...

    def top(self, m: int, k: Any) -> Any:
        """Chance that the true class is among the best m of k.

        A float for one k, an array for several.
        """
        values = observed_or_forecast(
            k,
            self.n_classes,
            lambda inside: self.observed.top(m, inside),
            lambda beyond: self.law.top(m, beyond),
        )
        return _plain(values)

    @overload
    def interval(
        self, k: int, kind: str = ..., by: str = ..., *, probes_per_class: float | None = ...
    ) -> tuple[float, float] | None: ...

    @overload
    def interval(
        self, k: Any, kind: str = ..., by: str = ..., *, probes_per_class: float | None = ...
    ) -> tuple[Floats, Floats] | None: ...

    def interval(
        self,
        k: Any,
        kind: str = "expected",
        by: str = "resampling",
        *,
        probes_per_class: float | None = None,
    ) -> Any:
        """Limits of the accuracy among k classes at the level `confidence`.

        Parameters
        ----------
        k : int or sequence of int
            Numbers of classes.
        kind : {"expected", "new_set", "grown_set"}
            What should lie between the limits: the expected accuracy among k classes; the
            accuracy on one new random set of k classes; the same where that set contains the
            pilot's classes.
        by : {"resampling", "asymptotic"}
            Resampling of classes together with the error of extrapolating (`Uncertainty`), or
            large-sample theory: a jackknife over classes up to the pilot's size, the delta method
            beyond it, for moment regression alone; no bias is in that.
        probes_per_class : float, optional
            For sets: how many probes a class the test that measures the accuracy will have;
            without end by default.

        Returns
        -------
        (lower, upper) or None
            Floats for one k, arrays for several. None where no back-test was run, so that nothing
            is known.

        Notes
        -----
        The expected accuracy cannot rise with k, and by resampling neither do its limits: each is
        the least of those at up to k classes. (Where a fit starts above even the upper limit at the
        pilot's size, upper limits up to there are as high.) See `headcount.uncertainty.limits`.
        On single sets more classes may be surer, and limits may rise; where those of the expected
        accuracy are held down, they are by as much.
        """
        validation.class_counts(k)
        validation.choice(kind, "kind", KINDS)
        if validation.choice(by, "by", ("resampling", "asymptotic")) == "resampling":
            limits = self._band(k, kind, probes_per_class)
            return None if limits is None else tuple(_plain(limit) for limit in limits)
        if kind != "expected" or self._fitted is None:
            raise UnsupportedError(
                "asymptotic intervals are for the expected accuracy, of a forecast that was made "
                "here and not read from a file."
            )
        error = accuracy_error(*self._fitted, k)
        limits = asymptotic_interval(self.accuracy(k), error, self.confidence, largest=1.0)
        return tuple(_plain(limit) for limit in limits)

    def capacity(self, target: float) -> int | float:
        """Largest number of classes at which accuracy is still at least `target`.

        `math.inf` when accuracy never falls below it; 1 when two classes are already too many.
        """
        least = check_target(target) - ROUND_OFF
        if float(self.observed.accuracy(self.n_classes)) >= least:
            return max(self.n_classes, self.law.capacity(target))
        low, high = 1, self.n_classes
        while high - low > 1:
            middle = (low + high) // 2
            if float(self.observed.accuracy(middle)) >= least:
                low = middle
            else:
                high = middle
        return low

    def capacity_interval(self, target: float) -> tuple[float, float] | None:
        """Limits of the capacity: where the lower and the upper limit of accuracy cross `target`.

        A limit is `math.inf` where that of accuracy never falls below the target. None without
        intervals.
        """
        least = check_target(target)
        if self.uncertainty is None:
            return None
        return self._last_above(least, 0), self._last_above(least, 1)

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON: the answers, without the fitted law."""
        asked = np.array(self.classes)
        inside = np.unique(np.append(asked[asked <= self.n_classes], self.n_classes))
        beyond = asked[asked > self.n_classes]
        return {
            "schema": SCHEMA,
            "n_classes": self.n_classes,
            "n_probes": self.n_probes,
            "method": self.method,
            "confidence": self.confidence,
            "observed": [
                {"classes": k, "accuracy": value}
                for k, value in zip(inside.tolist(), self.accuracy(inside).tolist(), strict=True)
            ],
            "forecast": self._points(beyond),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return everything as JSON, enough for `from_json` to answer any question again."""
        rest = {
            "nouns": self.nouns.to_dict(),
            "backtest": None if self.backtest is None else self.backtest.to_dict(),
            "uncertainty": None if self.uncertainty is None else self.uncertainty.to_dict(),
        }
        return write_forecast(self.to_dict(), self.classes, self.observed, self.law, rest)

    @classmethod
    def from_json(cls, text: str) -> Forecast:
        """Return the forecast that `to_json` wrote, refused if it is not one."""
        return cls(**read_forecast(text))

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame with columns classes, accuracy and region."""
        return as_frame(self._columns())

    def to_csv(self) -> str:
        """Return the curve as CSV text."""
        return as_csv(self._columns())

    def plot(
        self,
        ax: Any = None,
        *,
        target: float | None = None,
        top: int = 1,
        error_rate: bool = False,
    ) -> AccuracyDisplay:
        """Draw accuracy, or the chance to be among the best `top`, against classes.

        With `error_rate` the share that is wrong, which shows small errors better. Needs the extra
        `plot`; `headcount.display.plots` has further pictures.
        """
        from headcount.display.plots import AccuracyDisplay

        display = AccuracyDisplay.from_forecast(self, target=target, top=top)
        return display.plot(ax, error_rate=error_rate)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        error_rate: bool = False,
        other_methods: bool = False,
        title: str = "",
        note: str = "",
    ) -> None:
        """Write a report (.html), the forecast (.json, .csv) or its picture (.png, .svg, .pdf).

        With `error_rate` the picture, or the report when it is opened, shows error rates. With
        `other_methods` a report also has the curves of a few other quick methods. A title and a
        note to readers can stand on a report.
        """
        suffix = Path(path).suffix.lower()
        if error_rate and suffix in TEXTS:
            raise ParameterError(f"error_rate is for pictures and reports, not for {suffix}.")
        if other_methods and suffix not in PAGES:
            raise ParameterError("other_methods is about reports; name the file report.html.")
        if (title or note) and suffix not in PAGES:
            raise ParameterError("a title and a note are for a report; save it as .html.")
        if suffix in TEXTS:
            text = self.to_json() if suffix == ".json" else self.to_csv()
            write_text(path, text)
        elif suffix in PAGES:
            from headcount.display.report import write_report

            write_report(
                path,
                self,
                error_rate=error_rate,
                other_methods=other_methods,
                title=title,
                note=note,
            )
        elif suffix not in PICTURES:
            raise ParameterError(
                f"cannot save a forecast as {suffix or 'a file without ending'}; "
                f"choose one of {', '.join((PAGES[0], *TEXTS, *PICTURES))}."
            )
        else:
            from headcount.display.plots import AccuracyDisplay

            AccuracyDisplay.from_forecast(self).save(path, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the answer in words: the numbers asked for, what the last means, what it holds."""
        lines = [f"At {k:,} classes: {self._said(k)}." for k in self.classes]
        last = self.classes[-1]
        meaning = f"Among {last:,} classes, {describe_accuracy(float(self.accuracy(last)))}."
        return [self.nouns.rename(line) for line in (*lines, meaning, self._capacities())]

    def _said(self, k: int) -> str:
        """Return an accuracy with its limits, and whether it was measured."""
        notes = ["measured"] if k <= self.n_classes else []
        limits = self.interval(k)
        if limits is not None:
            within = percent_range(float(limits[0]), float(limits[1]))
            notes.append(f"{percent(self.confidence)} interval {within}")
        said = percent(float(self.accuracy(k)))
        return f"{said} ({', '.join(notes)})" if notes else said

    def __repr__(self) -> str:
        title = (
            f"Forecast from {self.n_classes:,} classes and {self.n_probes:,} probes ({self.method})"
        )
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join(map(self.nouns.rename, [title, *self.sentences(), *notes]))

    def _repr_html_(self) -> str:
        from headcount.display.notebook import forecast_html

        return forecast_html(self)

    # -- inner workings -------------------------------------------------------------------------

    def _band(
        self, k: Any, kind: str = "expected", probes_per_class: float | None = None
    ) -> tuple[Floats, Floats] | None:
        if self.uncertainty is None:
            return None
        value, alone = self.accuracy(k), self._apart(k)
        limits = self.limits.at(k, value, *alone)
        if kind == "expected":
            return limits
        of_set = self._apart(k, kind, probes_per_class)
        lower, upper = map(moved_alike, of_set, alone, limits)
        return np.minimum(lower, np.maximum(of_set[0], value)), np.maximum(upper, value)

    @cached_property
    def limits(self) -> Limits:
        """Limits of the expected accuracy on a ladder that does not depend on what was asked."""
        assert self.uncertainty is not None  # asked only where there are limits
        rungs = ladder(self.n_classes, self.uncertainty.grid)
        return Limits.of(rungs, self.accuracy(rungs), *self._apart(rungs))

    def _apart(
        self, k: Any, kind: str = "expected", probes_per_class: float | None = None
    ) -> tuple[Floats, Floats]:
        """Return limits at each k on its own: they may rise."""
        assert self.uncertainty is not None  # asked only where there are limits
        counts = validation.class_counts(k)
        least = most = self.accuracy(counts)
        if not self.observed.exact:  # then only bounds were measured
            bounds = self.observed.bounds(np.minimum(counts, self.n_classes))
            least, most = (np.where(counts <= self.n_classes, bound, least) for bound in bounds)
        rest = (counts, self.confidence, kind, probes_per_class)
        return self.uncertainty.band(least, *rest)[0], self.uncertainty.band(most, *rest)[1]

    def _last_above(self, target: float, side: int) -> float:
        """Return the last k before the lower (0) or upper (1) limit falls below `target`."""
        rungs, least = self.limits.classes, target - ROUND_OFF
        below = np.flatnonzero((self.limits.lower, self.limits.upper)[side] < least)
        if len(below) == 0:
            return math.inf
        low, high = int(rungs[below[0] - 1]), int(rungs[below[0]])
        while high - low > max(1.0, low * 1e-15):
            middle = (low + high) // 2
            limits = self._band(middle)
            assert limits is not None  # asked only where there are limits
            low, high = (middle, high) if limits[side] >= least else (low, middle)
        return float(low)

    def _curve(self) -> Curve:
        classes = curve_classes(self.n_classes, self.classes)
        region = np.where(classes <= self.n_classes, "observed", "forecast")
        curve = Curve(classes, self.accuracy(classes), region, *(self._band(classes) or ()))
        for array in (curve.classes, curve.accuracy, curve.region, curve.lower, curve.upper):
            if array is not None:
                array.flags.writeable = False
        return curve

    def _points(self, classes: NDArray[np.int64]) -> list[dict[str, Any]]:
        columns = [self.accuracy(classes).tolist()]
        for limit in self._band(classes) or ():
            columns.append(limit.tolist())
        while len(columns) < 3:
            columns.append([None] * len(classes))
        return [
            {"classes": k, "accuracy": value, "lower": lower, "upper": upper}
            for k, value, lower, upper in zip(classes.tolist(), *columns, strict=True)
        ]

    def _columns(self) -> dict[str, NDArray[Any]]:
        held = {"classes": self.curve.classes, "accuracy": self.curve.accuracy}
        if self.curve.lower is not None and self.curve.upper is not None:
            held |= {"lower": self.curve.lower, "upper": self.curve.upper}
        return held | {"region": self.curve.region}

    def _capacities(self) -> str:
        parts = []
        for target in TARGETS:
            held = self.capacity(target)
            if held == 1:
                continue
            parts.append(f"{percent(target)} up to {describe_capacity(held, self.n_classes)}")
            if past_saying(held, self.n_classes):
                break  # as is what a lower target allows
        if not parts:
            return f"Even two classes are too many for {percent(TARGETS[-1])}."
        return "It stays at or above " + ", ".join(parts) + "."


def _plain(values: Floats) -> float | Floats:
    """Return a float where one value was asked for."""
    return float(values) if values.ndim == 0 else values


TOO_FAR, LESS = "HC011", "HC019"


def forecast(
    data: Any,
    labels: Any = None,
    *,
    classes: Any,
    method: str | Extrapolator = "auto",
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
    intervals: bool = True,
    noun: str | None = None,
    probe_noun: str | None = None,
) -> Forecast:
    """Forecast accuracy at numbers of classes you have not measured.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row a probe and one column a class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    classes : int or sequence of int
        Numbers of classes asked about.
    method : str or Extrapolator
        A name of `headcount methods`, if need be with options (``"kde:bandwidth=bcv"``), or an
        estimator.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed of the back-test, and of methods that draw random numbers.
    n_jobs : int, optional
        Workers for the back-test, as in joblib; by default what `joblib.parallel_config` says,
        else one.
    intervals : bool
        Whether to run the back-test, which intervals rest on: some sixty fits to parts of
        the pilot. Slow methods (`headcount methods`) never do; see `headcount.backtest`.
    noun, probe_noun : str, optional
        What to call classes and probes in words and pictures, such as "person/people" and
        "photo/photos"; by default as the pilot does, see `Pilot.with_nouns`.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import headcount
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [4] * 10, n_classes=100)
    >>> result = headcount.forecast(pilot, classes=[100, 1000], intervals=False)
    >>> result.accuracy([100, 1000]).round(1).tolist()
    [0.8, 0.5]
    """
    asked = asked_classes(classes)
    level = confidence_level(confidence)
    with listening() as heard, ExitStack() as stack:
        pilot = as_pilot(data, labels)
        if noun is not None or probe_noun is not None:
            pilot = pilot.with_nouns(noun, probe_noun)
        stack.enter_context(speaking(pilot.nouns))
        estimator = resolve(method, random_state).fit(pilot)
        name = name_of(method)
        tested, uncertainty = None, None
        if intervals and not estimator.slow:
            tested, uncertainty = _doubts(pilot, estimator, name, level, random_state, n_jobs)
        observed, law = observe(pilot), estimator.law(asked)
        with doing("Looking for what speaks against it"):
            checks = run_checks(pilot, observed, law, asked=asked, backtest=tested)
        if estimator.note_:
            checks += (finding(LESS, estimator.note_, estimator.remedy_),)
        for check in checks:
            if check.code == TOO_FAR:
                warn(check.message, ExtrapolationWarning)
    return Forecast(
        observed=observed,
        law=law,
        classes=asked,
        n_probes=pilot.n_probes,
        method=name,
        confidence=level,
        checks=checks,
        warnings=tuple(heard),
        fitted=(pilot, estimator),
        backtest=tested,
        uncertainty=uncertainty,
        random_state=random_state,
        nouns=pilot.nouns,
    )


def _doubts(
    pilot: Pilot,
    fitted: Extrapolator,
    name: str,
    confidence: float,
    random_state: int,
    n_jobs: int | None,
) -> tuple[Backtest, Uncertainty]:
    """Return the back-test of a fitted method and what follows for its errors.

    One jackknife of the pilot serves both.
    """
    tested, drawn = hide_classes(
        pilot, fitted, name=name, fitted=True, random_state=random_state, n_jobs=n_jobs
    )
    known = assess(pilot, tested, fitted)
    here = float(known.sampling(pilot.n_classes))
    return with_coverage(pilot, tested, drawn, confidence, here), known
