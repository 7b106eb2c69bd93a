"""From a pilot to a `Forecast`: the question asked most, and the object a user holds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from headcount.checks import Check, finding, run_checks
from headcount.curves.curve import FORECAST, OBSERVED, Curve
from headcount.curves.favorability import ROUND_OFF, Favorability, check_target
from headcount.curves.grown import grown_value
from headcount.curves.mixed import (
    MixedLaw,
    MixedObserved,
    mix_table,
    read_mix_table,
    read_mixed_law,
)
from headcount.curves.observed import Observed, ObservedGroups, observe
from headcount.curves.predicted import PredictedCurve
from headcount.curves.ranked import RankedLaw, RankedObserved
from headcount.errors import (
    DataError,
    ExtrapolationWarning,
    HeadcountError,
    ParameterError,
    UnsupportedError,
    listening,
    silence,
    warn,
)
from headcount.estimators import Extrapolator, resolve
from headcount.estimators.mixed import Mixed
from headcount.estimators.ranked import Ranked
from headcount.estimators.registry import METHODS, code_of, describe_method, name_of
from headcount.estimators.suited import suited
from headcount.estimators.whole_groups import WholeGroups
from headcount.metrics import ACCURACY, MEAN_RANK, Metric, Top, resolve_share
from headcount.pilot.loading import as_pilot
from headcount.pilot.losses import LossRows, LossTable
from headcount.pilot.mixes import check_mix, refuse_small_groups
from headcount.pilot.pilot import TIE_RULES, Pilot
from headcount.pilot.ranking import read_ranking
from headcount.support import validation
from headcount.support.grids import (
    asked_classes,
    curve_classes,
    last_where,
    observed_or_forecast,
    times_as_many,
)
from headcount.support.output import PAGES, PICTURES, as_csv, as_frame, write_text
from headcount.support.serialise import SCHEMA, Record, read_json, reading, write_json
from headcount.support.validation import confidence_level
from headcount.support.words import (
    OURS,
    Nouns,
    counted,
    describe_capacity,
    describe_mix,
    past_saying,
    percent,
    speaking,
)
from headcount.support.workers import doing
from headcount.uncertainty.asymptotics import asymptotic_error, asymptotic_interval
from headcount.uncertainty.backtest import (
    Backtest,
    hide_classes,
    read_backtest,
    with_coverage,
)
from headcount.uncertainty.intervals import KINDS, Uncertainty, assess, read_uncertainty
from headcount.uncertainty.limits import Limits, ladder, moved_alike
from headcount.uncertainty.mixed import MixJackknife, hide_within_groups

if TYPE_CHECKING:
    from headcount.display.plots import CurveDisplay


Floats = NDArray[np.float64]
Law = Favorability | PredictedCurve | MixedLaw | RankedLaw

NOUN = "forecast"
TARGETS = (0.9, 0.8, 0.5)
TEXTS = (".json", ".csv")


def read_forecast(text: str) -> dict[str, Any]:
    """Return what a `Forecast` is made of; refuse what `Forecast.to_json` cannot have written."""
    record = read_json(text, NOUN)
    with reading(NOUN):
        record.check_schema()
        state = record.record("state")
        observed = _read_observed(state)
        size = observed.n_classes
        return {
            "observed": observed,
            "law": _read_law(state, observed),
            "others": _read_others(state.get("others"), observed),
            "metric": resolve_share(record.text("metric")),
            "classes": asked_classes(state.items("classes")),
            "n_probes": record.whole("n_probes"),
            "method": record.text("method"),
            "confidence": confidence_level(record["confidence"]),
            "checks": tuple(_read_check(check) for check in record.records("checks")),
            "warnings": record.texts("warnings"),
            "backtest": _read_of_pilot(state, "backtest", read_backtest, size),
            "uncertainty": _read_of_pilot(state, "uncertainty", read_uncertainty, size),
            "nouns": Nouns.from_dict(state.get("nouns")),
        }


def _read_observed(state: Record) -> Observed | MixedObserved:
    """Return the observed curve: of a mix, or of classes, or of groups where they were drawn."""
    if state.get("mix") is not None:
        return MixedObserved(read_mix_table(state.record("mix")))
    if state.get("ranking") is not None:
        rule = validation.choice(state.text("tie_rule"), "tie_rule", TIE_RULES)
        return RankedObserved(read_ranking(state.record("ranking")), rule)
    table = _read_table(state)
    if state.get("groups") is None:
        return Observed(table)
    groups = state.record("groups")
    n_classes = groups.whole("n_classes")
    if n_classes <= table.n_rivals + 1:
        raise DataError(
            f"this forecast has {table.n_rivals + 1:,} groups of {n_classes:,} classes, too many."
        )
    return ObservedGroups(table, n_classes, groups.share("share"))


def _read_of_pilot(state: Record, name: str, read: Callable[[Record], Any], n_classes: int) -> Any:
    """Return something that may be missing, refused if it is of another pilot."""
    if state.get(name) is None:
        return None
    value = read(state.record(name))
    if value.n_classes != n_classes:
        raise DataError(
            f"the {name} of this forecast is of {value.n_classes:,} classes, not of {n_classes:,}."
        )
    return value


def _write_law(law: Law) -> dict[str, Any]:
    if isinstance(law, MixedLaw):
        return {"joint": law.to_dict()}
    if isinstance(law, RankedLaw):
        return {"places": law.starts.tolist(), "laws": [_write_law(one) for one in law.laws]}
    if isinstance(law, Favorability):
        return {"p": law.p.tolist(), "mass": law.weights.tolist()}
    return {"ladder": law.classes.tolist(), "values": law.values.tolist()}


def _read_law(state: Record, observed: Observed | MixedObserved) -> Law:
    if state.get("joint") is not None:
        return read_mixed_law(state.record("joint"))
    if state.get("ladder") is not None:
        return PredictedCurve(state["ladder"], state["values"])
    if isinstance(observed, RankedObserved):
        return _read_ranked_law(state, observed)
    return Favorability(state["p"], state["mass"])


def _read_ranked_law(state: Record, observed: RankedObserved) -> RankedLaw:
    starts = validation.as_counts(state["places"], "places")
    laws = [Favorability(one["p"], one["mass"]) for one in state.items("laws")]
    if len(starts) != len(laws) or not len(laws) or starts[0] != 0 or (np.diff(starts) <= 0).any():
        raise DataError("the laws of this forecast do not fit together.")
    return RankedLaw(laws, starts, observed.ranking, observed.tie_rule)


def _read_others(laws: Any, observed: Observed | MixedObserved) -> dict[str, Law]:
    """Return the laws of other methods by name; none where none were written."""
    record = Record({} if laws is None else laws, NOUN)
    return {name: _read_law(record.record(name), observed) for name in record.fields}


def _write_observed(observed: Observed | MixedObserved) -> dict[str, Any]:
    if isinstance(observed, MixedObserved):
        return {"mix": observed.table.to_dict()}
    if isinstance(observed, RankedObserved):
        return {"ranking": observed.ranking.to_dict(), "tie_rule": observed.tie_rule}
    fields = _write_table(observed.table)
    if isinstance(observed, ObservedGroups):
        fields["groups"] = {"n_classes": observed.n_classes, "share": observed.share}
    return fields


def _write_table(table: LossTable) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "n_rivals": table.n_rivals,
        "losses": table.losses.tolist(),
        "weights": table.weights.tolist(),
        "censored": table.censored.tolist(),
    }
    if table.bounds is not None:
        fields["bounds"] = [[column.tolist() for column in rows] for rows in table.bounds]
    return fields


def _read_table(state: Record) -> LossTable:
    n_rivals = state.whole("n_rivals")
    losses, weights = _read_loss_rows(state["losses"], state["weights"], n_rivals)
    censored = validation.as_flags(state["censored"], "censored")
    validation.same_length(censored, "censored", len(losses), "losses")
    bounds = None
    if state.get("bounds") is not None:
        fewest, most = (
            _read_loss_rows(counts, shares, n_rivals) for counts, shares in state.items("bounds")
        )
        bounds = fewest, most
    return LossTable(losses, weights, censored, n_rivals, bounds)


def _read_loss_rows(losses: Any, weights: Any, n_rivals: int) -> LossRows:
    counts = validation.as_counts(losses, "losses")
    shares: Floats = np.asarray(weights, dtype=np.float64)
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


def _read_check(record: Record) -> Check:
    return Check(**{name: record.text(name) for name in record.fields})


class Forecast:
    """A metric at any number of classes: measured up to the pilot's size, forecast beyond.

    Made by `forecast`; everything is a function of the observed curve and one fitted law.

    Attributes
    ----------
    n_classes, n_probes : int
        Size of the pilot; for a mix, `n_classes` is that of the largest set in these proportions
        that the pilot holds.
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
    metric : Metric
        What is forecast.
    mix : dict of str to float
        Share of each group of classes; empty where the pilot is taken as it is.
    checks : tuple of Check
        What to know before believing it.
    warnings : tuple of str
        Warnings given while it was made.
    backtest : Backtest or None
        How well the method forecast the pilot's own classes from fewer of them.
    uncertainty : Uncertainty or None
        How far the forecast may be off; None where no back-test was run.
    random_state : int or None
        Seed it was made with; None where it was read from a file.
    nouns : Nouns
        What classes and probes are called in words and pictures.
    others : dict of str to Favorability or PredictedCurve
        What a few other quick methods make of the same pilot; empty unless asked for.
    """

    def __init__(
        self,
        *,
        observed: Observed | MixedObserved,
        law: Law,
        classes: tuple[int, ...],
        n_probes: int,
        method: str,
        confidence: float,
        metric: Metric = ACCURACY,
        checks: tuple[Check, ...] = (),
        warnings: tuple[str, ...] = (),
        fitted: tuple[Pilot, Extrapolator] | None = None,
        backtest: Backtest | None = None,
        uncertainty: Uncertainty | None = None,
        random_state: int | None = None,
        nouns: Nouns = OURS,
        others: Mapping[str, Law] | None = None,
    ) -> None:
        self.observed = observed
        self.law = law
        self.classes = classes
        self.n_classes = observed.n_classes
        self.n_probes = n_probes
        self.method = method
        self.confidence = confidence
        self.metric = metric
        self.checks = checks
        self.warnings = warnings
        self.backtest = backtest
        self.uncertainty = uncertainty
        self.random_state = random_state
        self.nouns = nouns
        self.others = dict(others or {})
        self._fitted = fitted
        self.mix = observed.table.mix if isinstance(observed, MixedObserved) else {}
        self.curve = self.table(curve_classes(self.n_classes, classes))

    # -- questions ------------------------------------------------------------------------------

    @overload
    def value(self, k: int, kind: str = ...) -> float: ...

    @overload
    def value(self, k: Any, kind: str = ...) -> Floats: ...

    def value(self, k: Any, kind: str = "expected") -> Any:
        """Return the metric among k classes: observed up to the pilot's size, fitted beyond.

        Parameters
        ----------
        k : int or sequence of int
            Numbers of classes.
        kind : {"expected", "new_set", "grown_set"}
            Of which set, as in `interval`. What is expected is also the best guess for one new
            random set. A set that contains the pilot's classes is another matter: what was
            measured stays true of those. It needs k of the pilot's size or more, and a method that
            has a law of favorability.

        Returns
        -------
        float or ndarray
            A float for one k, an array for several.
        """
        if validation.choice(kind, "kind", KINDS) != "grown_set":
            return self._value(k, self.metric)
        return _plain(self._grown(k))

    @overload
    def accuracy(self, k: int) -> float: ...

    @overload
    def accuracy(self, k: Any) -> Floats: ...

    def accuracy(self, k: Any) -> Any:
        """Return the accuracy among k classes, whatever the metric of the forecast is."""
        return self._value(k, ACCURACY)

    @overload
    def top(self, m: int, k: int) -> float: ...

    @overload
    def top(self, m: int, k: Any) -> Floats: ...

    def top(self, m: int, k: Any) -> Any:
        """Return the chance that the true class is among the best m of k."""
        return self._value(k, Top(m))

    @overload
    def mean_rank(self, k: int) -> float: ...

    @overload
    def mean_rank(self, k: Any) -> Floats: ...

    def mean_rank(self, k: Any) -> Any:
        """Return the expected rank of the true class among k; one where it is always the best."""
        return self._value(k, MEAN_RANK)

    @overload
    def median_rank(self, k: int) -> float: ...

    @overload
    def median_rank(self, k: Any) -> Floats: ...

    def median_rank(self, k: Any) -> Any:
        """Return the least m for which the true class is among the best m of k half the time."""
        counts = validation.class_counts(k)
        ranks = [self._median_rank(int(count)) for count in counts.ravel()]
        return _plain(np.array(ranks, dtype=np.float64).reshape(counts.shape))

    def table(self, k: Any, kind: str = "expected") -> Curve:
        """Return a row for each number of classes: value, limits and region.

        `kind` says of which set, as in `interval`.
        """
        classes = np.unique(validation.class_counts(k)).astype(np.int64)
        region = np.where(classes <= self.n_classes, OBSERVED, FORECAST)
        value = self.value(classes, kind)
        lower, upper = self._band(classes, value, kind) or (None, None)
        return Curve(classes, value, region, lower, upper, self.metric)

    def other_table(self, method: str, k: Any) -> Curve:
        """Return the rows of `table` as one of `others` has them: without limits."""
        classes = np.unique(validation.class_counts(k)).astype(np.int64)
        region = np.where(classes <= self.n_classes, OBSERVED, FORECAST)
        value = self._value(classes, self.metric, self.others[method])
        return Curve(classes, np.asarray(value), region, quantity=self.metric)

    @property
    def answer(self) -> Curve:
        """The rows that were asked for, and that of the pilot's own size."""
        return self.table([self.n_classes, *self.classes])

    @property
    def supported(self) -> int:
        """Largest number of classes that the back-test supports; without one, the pilot's own."""
        ratio = 1.0 if self.backtest is None else self.backtest.supported
        return times_as_many(ratio, self.n_classes)

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
        """Return limits of the metric among k classes at the level `confidence`.

        Parameters
        ----------
        k : int or sequence of int
            Numbers of classes.
        kind : {"expected", "new_set", "grown_set"}
            What should lie between the limits: the expected value among k classes; the value on
            one new random set of k classes; the same where that set contains the pilot's classes,
            around `value(k, "grown_set")`.
        by : {"resampling", "asymptotic"}
            Resampling: quantiles over plausible curves, and up to the pilot's size what leaving out
            classes shows (`Uncertainty`). Asymptotic: large-sample theory, with a jackknife over
            classes up to the pilot's size, and beyond it the delta method, for moment regression
            alone. It leaves out bias.
        probes_per_class : float, optional
            For single sets: how many probes for each class the test of the set will have. By
            default the test has endless probes.

        Returns
        -------
        (lower, upper) or None
            Floats for one k, arrays for several. None where no back-test was run, so that nothing
            is known.

        Notes
        -----
        The expected value cannot rise with k. By resampling, its limits do not rise either: each is
        the least of the limits at up to k classes. (If a fit starts above even the upper limit at
        the pilot's size, the upper limits up to there are raised to it.) See
        `headcount.uncertainty.limits`. A larger single set is less a matter of luck, so limits for
        single sets may rise. Where those of the expected value are kept down, they are lowered by
        as much.
        """
        validation.class_counts(k)
        validation.choice(kind, "kind", KINDS)
        if validation.choice(by, "by", ("resampling", "asymptotic")) == "resampling":
            limits = self._band(k, self.value(k, kind), kind, probes_per_class)
            return None if limits is None else tuple(_plain(limit) for limit in limits)
        if self.mix:
            raise UnsupportedError(
                'asymptotic intervals are not known for a mix; use by="resampling".'
            )
        if kind != "expected" or self._fitted is None:
            raise UnsupportedError(
                "asymptotic intervals are for the expected value, of a forecast that was made "
                "here and not read from a file."
            )
        error = asymptotic_error(*self._fitted, k, self.metric)
        limits = asymptotic_interval(self.value(k), error, self.confidence, largest=1.0)
        return tuple(_plain(limit) for limit in limits)

    def capacity(self, target: float) -> int | float:
        """Return the largest number of classes at which the metric is still at least `target`.

        `math.inf` when it never falls below that; 1 when two classes are already too many.
        """
        least = check_target(target) - ROUND_OFF
        if float(self.observed.value(self.n_classes, self.metric)) >= least:
            return max(self.n_classes, self.law.capacity(target, self.metric))
        return last_where(
            lambda k: float(self.observed.value(k, self.metric)) >= least, 1, self.n_classes
        )

    def capacity_interval(self, target: float) -> tuple[float, float] | None:
        """Return limits of the capacity: where those of the metric cross `target`.

        A limit is `math.inf` where that of the metric never falls below the target. None without
        intervals.
        """
        least = check_target(target)
        if self.uncertainty is None:
            return None
        return self._last_above(least, 0), self._last_above(least, 1)

    # -- how it was made ------------------------------------------------------------------------

    @property
    def pilot(self) -> Pilot | None:
        """The pilot it was made from; None where it was read from a file."""
        return None if self._fitted is None else self._fitted[0]

    @property
    def measured_classes(self) -> str:
        """How many classes were measured, in words, in which mix or in how many whole groups."""
        size = counted(self.n_classes, "class")
        if self.mix:
            return f"sets of up to {size} ({describe_mix(self.mix)})"
        if isinstance(self.observed, ObservedGroups):
            return f"{size} in {self.observed.n_groups:,} whole groups"
        return size

    @property
    def method_code(self) -> str:
        """The method as Python code, to be asked for again."""
        if self._fitted is None:
            return f'"{self.method}"'
        fitted = self._fitted[1]
        asked_for = fitted.method if isinstance(fitted, Mixed | WholeGroups | Ranked) else fitted
        return code_of(asked_for, self.method, self.random_state)

    @property
    def about(self) -> dict[str, str]:
        """What its method does and when to use it, and what those of `others` do, by name."""
        return {self.method: describe_method(self.method)} | {
            name: METHODS[name].about for name in self.others if name in METHODS
        }

    # -- ways out -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON: the answers, without the fitted law."""
        answer = self.answer
        return {
            "schema": SCHEMA,
            "metric": self.metric.name,
            "n_classes": self.n_classes,
            "n_probes": self.n_probes,
            "method": self.method,
            "confidence": self.confidence,
            "observed": answer.rows(OBSERVED),
            "forecast": answer.rows(FORECAST),
            "checks": [check.to_dict() for check in self.checks],
            "warnings": list(self.warnings),
        } | ({"mix": self.mix} if self.mix else {})

    def to_json(self) -> str:
        """Return everything as JSON, enough for `from_json` to answer any question again."""
        state = {
            "classes": list(self.classes),
            **_write_observed(self.observed),
            **_write_law(self.law),
            "others": {name: _write_law(law) for name, law in self.others.items()},
            "nouns": self.nouns.to_dict(),
            "backtest": None if self.backtest is None else self.backtest.to_dict(),
            "uncertainty": None if self.uncertainty is None else self.uncertainty.to_dict(),
        }
        return write_json(self.to_dict() | {"state": state})

    @classmethod
    def from_json(cls, text: str) -> Forecast:
        """Return the forecast that `to_json` wrote, refused if it is not one."""
        return cls(**read_forecast(text))

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame: classes, value, limits (if any) and region."""
        return as_frame(self.curve.columns())

    def to_csv(self) -> str:
        """Return the curve as CSV text."""
        return as_csv(self.curve.columns())

    def plot(
        self,
        ax: Any = None,
        *,
        target: float | None = None,
        error_rate: bool = False,
    ) -> CurveDisplay:
        """Draw the metric against classes.

        With `error_rate` it draws what is missing to one, which shows small errors better. It needs
        the extra `plot`. `headcount.plots` has more pictures.
        """
        from headcount.display.plots import CurveDisplay

        display = CurveDisplay.from_forecast(self, target=target)
        return display.plot(ax, error_rate=error_rate)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        error_rate: bool = False,
        title: str = "",
        note: str = "",
    ) -> None:
        """Write a report (.html), the forecast (.json, .csv) or its picture (.png, .svg, .pdf).

        With `error_rate` the picture, or the report when it is opened, shows error rates. A title
        and a note to readers can stand on a report.
        """
        suffix = Path(path).suffix.lower()
        if error_rate and suffix in TEXTS:
            raise ParameterError(f"error_rate is for pictures and reports, not for {suffix}.")
        if (title or note) and suffix not in PAGES:
            raise ParameterError("a title and a note are for a report; save it as .html.")
        if suffix in TEXTS:
            text = self.to_json() if suffix == ".json" else self.to_csv()
            write_text(path, text)
        elif suffix in PAGES:
            from headcount.display.report import write_report

            write_report(path, self, error_rate=error_rate, title=title, note=note)
        elif suffix not in PICTURES:
            raise ParameterError(
                f"cannot save a forecast as {suffix or 'a file without ending'}; "
                f"choose one of {', '.join((PAGES[0], *TEXTS, *PICTURES))}."
            )
        else:
            from headcount.display.plots import CurveDisplay

            CurveDisplay.from_forecast(self).save(path, error_rate=error_rate)

    def sentences(self) -> list[str]:
        """Return the answer in words: the numbers asked for, what the last means, what it holds."""
        lines = self.table(self.classes).sentences(self.confidence)
        last = self.classes[-1]
        meaning = f"Among {last:,} classes, {self.metric.describe(float(self.value(last)))}."
        return [self.nouns.rename(line) for line in (*lines, meaning, self._capacities())]

    def __repr__(self) -> str:
        title = (
            f"Forecast of {self.metric.label} from {self.measured_classes} and "
            f"{self.n_probes:,} probes ({self.method})"
        )
        notes = [f"Check {check.code}: {check.message}" for check in self.checks]
        return "\n  ".join(map(self.nouns.rename, [title, *self.sentences(), *notes]))

    def _repr_html_(self) -> str:
        from headcount.display.notebook import forecast_html

        return forecast_html(self)

    # -- inner workings -------------------------------------------------------------------------

    def _value(self, k: Any, metric: Metric, law: Law | None = None) -> float | Floats:
        fitted = self.law if law is None else law
        values = observed_or_forecast(
            k,
            self.n_classes,
            lambda inside: self.observed.value(inside, metric),
            lambda beyond: fitted.value(beyond, metric),
        )
        return _plain(values)

    def _median_rank(self, k: int) -> int:
        half = 0.5 - ROUND_OFF
        return 1 + int(last_where(lambda m: float(self.top(m, k)) < half, 0, k))

    def _grown(self, k: Any) -> Floats:
        if isinstance(self.observed, MixedObserved) or isinstance(self.law, MixedLaw):
            raise UnsupportedError(
                "the pilot's classes do not come in the proportions of the mix, so no set in these "
                'proportions contains them all; ask for kind="new_set".'
            )
        if isinstance(self.observed, ObservedGroups):
            raise UnsupportedError(
                "where classes come in whole groups it is not known how the pilot's own probes "
                'fare once groups join; ask for kind="new_set".'
            )
        if isinstance(self.law, RankedLaw):
            raise UnsupportedError(
                "where queries have several graded documents, or classes are always present, it "
                "is not known how probes fare once others join the very same set; ask for "
                'kind="new_set".'
            )
        return grown_value(self.observed, self.law, k, self.metric)

    def _band(
        self, k: Any, value: Any, kind: str = "expected", probes_per_class: float | None = None
    ) -> tuple[Floats, Floats] | None:
        """Return limits around the values of this kind at k, which the caller has."""
        if self.uncertainty is None:
            return None
        expected = self._value(k, self.metric)
        limits = self.limits.at(k, expected)
        if kind == "expected":
            return limits
        separate = self._separate_limits(k, expected)
        of_set = self._separate_limits(k, value, kind, probes_per_class)
        lower, upper = map(moved_alike, of_set, separate, limits)
        return np.minimum(lower, np.maximum(of_set[0], value)), np.maximum(upper, value)

    @cached_property
    def limits(self) -> Limits:
        """Limits of the expected value on a ladder that does not depend on what was asked."""
        assert self.uncertainty is not None  # asked only where there are limits
        rungs = ladder(self.n_classes, self.uncertainty.grid)
        value = self.value(rungs)
        return Limits.of(rungs, value, *self._separate_limits(rungs, value))

    def _separate_limits(
        self, k: Any, value: Any, kind: str = "expected", probes_per_class: float | None = None
    ) -> tuple[Floats, Floats]:
        """Return limits at each k on its own: they may rise."""
        assert self.uncertainty is not None  # asked only where there are limits
        counts = validation.class_counts(k)
        least = most = np.asarray(value)
        if not self.observed.exact:  # then only bounds were measured
            bounds = self.observed.bounds(np.minimum(counts, self.n_classes), self.metric)
            least, most = (np.where(counts <= self.n_classes, bound, least) for bound in bounds)
        question = (counts, self.confidence, kind, probes_per_class)
        band = self.uncertainty.band
        return band(least, *question)[0], band(most, *question)[1]

    def _last_above(self, target: float, side: int) -> float:
        """Return the last k before the lower (0) or upper (1) limit falls below `target`."""
        rungs, least = self.limits.classes, target - ROUND_OFF
        below = np.flatnonzero((self.limits.lower, self.limits.upper)[side] < least)
        if len(below) == 0:
            return math.inf

        def is_above(k: int) -> bool:
            limits = self._band(k, self.value(k))
            assert limits is not None  # asked only where there are limits
            return bool(limits[side] >= least)

        return float(last_where(is_above, rungs[below[0] - 1], rungs[below[0]]))

    def _capacities(self) -> str:
        capacities = []
        for target in TARGETS:
            capacity = self.capacity(target)
            if capacity == 1:
                continue
            classes = describe_capacity(capacity, self.n_classes)
            capacities.append(f"{percent(target)} up to {classes}")
            if past_saying(capacity, self.n_classes):
                break  # as is what a lower target allows
        if not capacities:
            return f"Even two classes are too many for {percent(TARGETS[-1])}."
        return "It stays at or above " + ", ".join(capacities) + "."


def _plain(values: Floats) -> float | Floats:
    """Return a float where one value was asked for."""
    return float(values) if values.ndim == 0 else values


TOO_FAR, LESS = "HC011", "HC019"
OF_OTHER_MIXES = ("HC012", "HC013")  # what they warn of is what a mix allows for
# Quick to fit and unlike each other: where they part, so do the assumptions.
OTHERS = ("probit-normal", "regression", "exponential", "high-dimensional")


def forecast(
    data: Any,
    labels: Any = None,
    *,
    classes: Any,
    metric: str | Metric = ACCURACY,
    method: str | Extrapolator = "auto",
    mix: Mapping[str, float] | None = None,
    confidence: float = 0.9,
    random_state: int = 0,
    n_jobs: int | None = None,
    intervals: bool = True,
    other_methods: bool = False,
    noun: str | None = None,
    probe_noun: str | None = None,
) -> Forecast:
    """Forecast accuracy, or another metric, at numbers of classes you have not measured.

    Parameters
    ----------
    data : Pilot, path or score matrix
        What was measured. A matrix has one row for each probe and one column for each class.
    labels : sequence, optional
        True class of each row, where `data` is a matrix.
    classes : int or sequence of int
        Numbers of classes asked about.
    metric : str or Metric
        What to forecast: "accuracy", "top-5" for the chance that the true class is among the best
        five, "mrr", "recall@5", "precision@5", "ndcg@10", "map" and the like.
    method : str or Extrapolator
        A name that `headcount methods` lists, with options if you like (``"kde:bandwidth=bcv"``),
        or an estimator.
    mix : mapping of str to float, optional
        Share of each of the pilot's groups among the classes to come, as in
        ``{"a": 0.9, "b": 0.1}``, where they come in other proportions than the pilot's. Shares sum
        to one. Groups that are not named take no part. It needs a pilot with `groups` that knows
        who beat whom, and a method that needs only losses and gives a law.
    confidence : float
        Level of the intervals.
    random_state : int
        Seed of the back-test, and of methods that draw random numbers.
    n_jobs : int, optional
        Workers for the back-test, as in joblib; by default what `joblib.parallel_config` says,
        else one.
    intervals : bool
        Whether to run the back-test, which intervals rest on: some fifty fits to parts of
        the pilot. Slow methods (`headcount methods`) never do; see `headcount.backtest`.
    other_methods : bool
        Whether to fit a few other quick methods, too (`Forecast.others`). A report shows their
        curves: where they part, the forecast depends on what one assumes.
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
    [0.8, 0.6]
    """
    asked = asked_classes(classes)
    level, measure = confidence_level(confidence), resolve_share(metric)
    with listening() as warnings, ExitStack() as stack:
        pilot = as_pilot(data, labels)
        if noun is not None or probe_noun is not None:
            pilot = pilot.with_nouns(noun, probe_noun)
        stack.enter_context(speaking(pilot.nouns))
        if mix is not None:
            pilot, mix = _only_mixed(pilot, mix)
        asked_for = resolve(method, random_state)
        estimator = _for_pilot(asked_for, pilot, mix).fit(pilot)
        name = name_of(method)
        observed = observe(pilot) if mix is None else MixedObserved(mix_table(pilot, mix))
        law = estimator.law(asked)
        # What cannot be measured, or forecast by this method, is refused before the long part.
        observed.value(observed.n_classes, measure)
        law.value(asked, measure)
        backtest, uncertainty = None, None
        if intervals and not asked_for.slow:
            backtest, uncertainty = _assess(
                pilot, estimator, observed, name, measure, level, random_state, n_jobs
            )
        with doing("Looking for what speaks against it"):
            checks = run_checks(
                pilot, observed, law, asked=asked, backtest=backtest, metric=measure
            )
        if mix is not None:
            checks = tuple(check for check in checks if check.code not in OF_OTHER_MIXES)
        if estimator.note_:
            checks += (finding(LESS, estimator.note_, estimator.remedy_),)
        for check in checks:
            if check.code == TOO_FAR:
                warn(check.message, ExtrapolationWarning)
        others = _fit_others(pilot, name, asked, measure, mix) if other_methods else {}
    return Forecast(
        observed=observed,
        law=law,
        classes=asked,
        n_probes=pilot.n_probes,
        method=name,
        confidence=level,
        metric=measure,
        checks=checks,
        warnings=tuple(warnings),
        fitted=(pilot, estimator),
        backtest=backtest,
        uncertainty=uncertainty,
        random_state=random_state,
        nouns=pilot.nouns,
        others=others,
    )


def _only_mixed(pilot: Pilot, mix: Mapping[str, float]) -> tuple[Pilot, dict[str, float]]:
    """Return the pilot of the groups of a mix, and the mix, checked."""
    shares = check_mix(pilot.groups, mix)
    assert pilot.groups is not None  # looked at there
    refuse_small_groups(pilot.groups, shares)
    if len(shares) < len(np.unique(pilot.groups)):
        pilot = pilot.only_groups(*shares)
    if pilot.drawn == "groups":  # a mix says how many classes come from each
        pilot = pilot.with_groups(pilot.groups, drawn="classes")
    return pilot, shares


def _for_pilot(method: Extrapolator, pilot: Pilot, mix: Mapping[str, float] | None) -> Extrapolator:
    """Return a method as it is for a mix, or for this pilot."""
    return suited(method, pilot) if mix is None else Mixed(method=method, mix=mix)


def _fit_others(
    pilot: Pilot,
    method: str,
    classes: tuple[int, ...],
    metric: Metric,
    mix: dict[str, float] | None,
) -> dict[str, Law]:
    """Return what other quick methods make of a pilot; those that cannot are left out."""
    laws: dict[str, Law] = {}
    for name in OTHERS:
        if name == method:
            continue
        try:
            with silence():
                law = _for_pilot(resolve(name, 0), pilot, mix).fit(pilot).law(classes)
                law.value(classes, metric)
        except HeadcountError:
            continue
        laws[name] = law
    return laws


def _assess(
    pilot: Pilot,
    fitted: Extrapolator,
    observed: Observed | MixedObserved,
    name: str,
    metric: Metric,
    confidence: float,
    random_state: int,
    n_jobs: int | None,
) -> tuple[Backtest, Uncertainty]:
    """Return the back-test of a fitted method and what follows for its errors.

    One jackknife of the pilot serves both.
    """
    jackknife = None
    if isinstance(fitted, Mixed) and isinstance(observed, MixedObserved):
        backtest, subsamples = hide_within_groups(
            pilot,
            fitted,
            observed,
            name=name,
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        jackknife = MixJackknife(pilot, observed, metric)
    else:
        backtest, subsamples = hide_classes(
            pilot,
            fitted,
            name=name,
            metric=metric,
            fitted=True,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    uncertainty = assess(pilot, backtest, fitted, jackknife)
    sampling = float(uncertainty.spread(observed.n_classes))
    return with_coverage(pilot, backtest, subsamples, confidence, sampling), uncertainty
