"""Whether a forecast is good enough: pass, fail, or cannot be said, which is no pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.curves.favorability import ROUND_OFF
from headcount.errors import DataError, ParameterError
from headcount.metrics import ACCURACY, Metric, resolve_share
from headcount.support.serialise import Record, reading
from headcount.support.words import counted, percent

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast

NOUN = "baseline"
MARGIN = 0.02
PASS, FAIL, ERROR = "pass", "fail", "error"
EXIT_CODES = {PASS: 0, FAIL: 1, ERROR: 2}


@dataclass(frozen=True)
class Estimate:
    """What a forecast says about one number of classes; `lower` is None where there is no bound."""

    classes: int
    value: float
    lower: float | None = None

    @classmethod
    def of(cls, forecast: Forecast, k: int) -> Estimate:
        """Take what a forecast says about k classes."""
        (row,) = forecast.table(k).rows()
        return cls(k, row["value"], row["lower"])


@dataclass(frozen=True)
class Baseline:
    """What an earlier forecast said, read from its JSON.

    Attributes
    ----------
    values : mapping of int to float
        Its estimate for each number of classes it was asked about.
    method : str
        How it was made.
    n_classes, n_probes : int or None
        From a pilot of what size, where it says so.
    metric : Metric
        What it forecast.
    """

    values: Mapping[int, float]
    method: str
    n_classes: int | None = None
    n_probes: int | None = None
    metric: Metric = ACCURACY

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Baseline:
        """Read what `headcount forecast --json` or `Forecast.to_json` wrote; refuse all else.

        Examples
        --------
        >>> import headcount
        >>> pilot = headcount.Pilot.from_losses([0, 0, 1], n_classes=50)
        >>> made = headcount.forecast(pilot, classes=50, method="no-change", intervals=False)
        >>> Baseline.from_dict(made.to_dict()).values
        {50: 0.6666666666666666}
        """
        with reading(NOUN):
            record = Record(fields, NOUN)
            record.check_schema()
            return cls(
                values=_values([*record.records("observed"), *record.records("forecast")]),
                method=record.text("method"),
                n_classes=record.whole("n_classes"),
                n_probes=record.whole("n_probes"),
                metric=resolve_share(record.text("metric")),
            )


@dataclass(frozen=True)
class Verdict:
    """What one rule says about one number of classes.

    Attributes
    ----------
    classes : int
        k.
    rule : {"min", "baseline", "reach", "checks"}
        A lower bound that must be reached, a baseline not to fall behind, how far forecasts may
        go at all, or whether a check says that there is nothing to forecast from.
    outcome : {"pass", "fail", "error"}
        Error: it cannot be said, which counts as no pass.
    message : str
        Why, in a sentence.
    value, lower, required : float or None
        The estimate, its lower bound, and what the first or the second should have reached.
    """

    classes: int
    rule: str
    outcome: str
    message: str
    value: float | None = None
    lower: float | None = None
    required: float | None = None

    @property
    def name(self) -> str:
        """What was asked, in a few words."""
        names = {
            "min": "lower bound",
            "baseline": "against the baseline",
            "reach": "reach",
            "checks": "checks",
        }
        return f"{counted(self.classes, 'class')}: {names[self.rule]}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "classes": self.classes,
            "rule": self.rule,
            "outcome": self.outcome,
            "value": self.value,
            "lower": self.lower,
            "required": self.required,
            "message": self.message,
        }


@dataclass(frozen=True)
class Decision:
    """All verdicts together, and what to know about the baseline."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The worst outcome: what cannot be said counts as worse than what is not good enough."""
        outcomes = {verdict.outcome for verdict in self.verdicts} or {ERROR}
        return max(outcomes, key=EXIT_CODES.__getitem__)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 cannot be said."""
        return EXIT_CODES[self.outcome]


def judge(
    estimates: Sequence[Estimate],
    *,
    measured: int = 0,
    faults: Sequence[str] = (),
    reach: float = math.inf,
    minimum: float | None = None,
    baseline: Baseline | None = None,
    margin: float = MARGIN,
    metric: Metric = ACCURACY,
) -> Decision:
    """Judge estimates: by their lower bounds, and by what a baseline said.

    Parameters
    ----------
    estimates : sequence of Estimate
        What a forecast says.
    measured : int
        Classes of the pilot: up to so many, values were measured and not forecast.
    faults : sequence of str
        Why forecasts say nothing, where checks of severity "error" found so. Then nothing past
        `measured` is judged, however near.
    reach : float
        Largest number of classes that the back-test supports; beyond it nothing is judged.
    minimum : float, optional
        What the lower bound must reach.
    baseline : Baseline, optional
        An earlier forecast, which the estimate may not be more than `margin` below.
    margin : float
        How much: 0.02 is 2 points.
    metric : Metric
        What was estimated; a baseline of another metric is refused.

    Returns
    -------
    Decision

    Examples
    --------
    >>> decision = judge([Estimate(1000, 0.9, 0.85)], minimum=0.8)
    >>> decision.exit_code, decision.verdicts[0].message
    (0, 'the lower bound at 1,000 classes is 85%, and at least 80% is asked for.')
    >>> judge([Estimate(1000, 0.9, 0.85)], minimum=0.8, reach=500).exit_code
    2
    """
    if minimum is None and baseline is None:
        raise ParameterError("nothing to judge by; give --min, --baseline, or both.")
    if not estimates:
        raise ParameterError("no number of classes to judge; give at least one.")
    if baseline is not None and baseline.metric != metric:
        raise ParameterError(
            f"the baseline is a forecast of {baseline.metric.name}, and {metric.name} is judged; "
            "make both of the same metric."
        )
    least = None if minimum is None else _share(minimum, "--min")
    allowed = _share(margin, "--margin", zero=True)
    verdicts = []
    for estimate in estimates:
        if faults and estimate.classes > measured:
            verdicts.append(_not_to_trust(estimate, faults))
            continue
        if estimate.classes > reach * (1 + ROUND_OFF):
            verdicts.append(_too_far(estimate, reach))
            continue
        if least is not None:
            verdicts.append(_by_bound(estimate, least))
        if baseline is not None:
            verdicts.append(_by_baseline(estimate, baseline, allowed))
    return Decision(tuple(verdicts))


def differences(baseline: Baseline, method: str, n_classes: int, n_probes: int) -> tuple[str, ...]:
    """Return what makes a baseline not quite comparable with a forecast."""
    notes = []
    if baseline.method != method:
        notes.append(
            f"the baseline was made by {baseline.method} and this forecast by {method}; some of "
            "the difference may come from the method."
        )
    sizes, earlier = (n_classes, n_probes), (baseline.n_classes, baseline.n_probes)
    if any(b is not None and a != b for a, b in zip(sizes, earlier, strict=True)):
        notes.append(
            f"the baseline comes from {_size_in_words(*earlier)} and this forecast from "
            f"{_size_in_words(*sizes)}."
        )
    return tuple(notes)


# -- inner workings --------------------------------------------------------------------------------


def _not_to_trust(estimate: Estimate, faults: Sequence[str]) -> Verdict:
    return Verdict(
        estimate.classes,
        "checks",
        ERROR,
        f"a forecast for {estimate.classes:,} classes would say nothing: {' '.join(faults)}",
        estimate.value if math.isfinite(estimate.value) else None,
        estimate.lower,
    )


def _too_far(estimate: Estimate, reach: float) -> Verdict:
    return Verdict(
        estimate.classes,
        "reach",
        ERROR,
        f"the back-test supports forecasts up to {int(reach):,} classes, not "
        f"{estimate.classes:,}; use a larger pilot, or --allow-extrapolation.",
        estimate.value,
        estimate.lower,
    )


def _by_bound(estimate: Estimate, least: float) -> Verdict:
    k, lower = f"{estimate.classes:,} classes", estimate.lower
    if lower is None or not math.isfinite(lower) or not math.isfinite(estimate.value):
        return Verdict(
            estimate.classes,
            "min",
            ERROR,
            f"there is no lower bound at {k}, as the method is too slow for the back-test that "
            "bounds rest on; choose another one.",
            estimate.value if math.isfinite(estimate.value) else None,
            None,
            least,
        )
    outcome = PASS if lower >= least - ROUND_OFF else FAIL
    return Verdict(
        estimate.classes,
        "min",
        outcome,
        f"the lower bound at {k} is {percent(lower, beside=least)}, and at least "
        f"{_exact(least)} is asked for.",
        estimate.value,
        lower,
        least,
    )


def _by_baseline(estimate: Estimate, baseline: Baseline, margin: float) -> Verdict:
    k, pinned = estimate.classes, baseline.values.get(estimate.classes)
    common = (estimate.value if math.isfinite(estimate.value) else None, estimate.lower)
    if pinned is None:
        sizes = ", ".join(f"{size:,}" for size in sorted(baseline.values)) or "nothing"
        message = f"the baseline says nothing about {k:,} classes (it knows {sizes})."
        return Verdict(k, "baseline", ERROR, message, *common)
    if not math.isfinite(estimate.value):
        message = f"there is no estimate at {k:,} classes."
        return Verdict(k, "baseline", ERROR, message, *common)
    required = pinned - margin
    outcome = PASS if estimate.value >= required - ROUND_OFF else FAIL
    message = (
        f"the estimate at {k:,} classes is {percent(estimate.value, beside=pinned)}, the "
        f"baseline's {percent(pinned, beside=estimate.value)}; it may be lower by "
        f"{_allowed(margin)}."
    )
    return Verdict(k, "baseline", outcome, message, *common, required)


def _exact(share: float) -> str:
    """Return a share as it was asked for: 0.805 is 80.5%."""
    return f"{100 * share:.10g}%"


def _allowed(margin: float) -> str:
    return f"up to {100 * margin:.10g} point{'s' * (margin != 0.01)}" if margin else "nothing"


def _share(value: float, name: str, zero: bool = False) -> float:
    number = float(value)
    if not (0 < number <= 1 or (zero and number == 0)):
        above = "at least 0" if zero else "above 0"
        raise ParameterError(f"{name} must be {above} and at most 1, such as 0.8, not {value!r}.")
    return number


def _values(rows: list[Record]) -> dict[int, float]:
    values: dict[int, float] = {}
    for row in rows:
        k, value = row.whole("classes"), row.share("value")
        if values.setdefault(k, value) != value:
            raise DataError(f"the baseline has two values at {k:,} classes; write it again.")
    return values


def _size_in_words(n_classes: int | None, n_probes: int | None) -> str:
    sizes = [(n_classes, "class"), (n_probes, "probe")]
    return " and ".join(counted(n, noun) for n, noun in sizes if n is not None)
