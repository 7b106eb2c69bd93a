"""The one table of all checks, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headcount.checks import copies, counts, fit, independence, rivals, trends
from headcount.checks.advice import ADVICE
from headcount.checks.check import Check
from headcount.checks.check_input import BacktestResult, CheckInput
from headcount.curves.favorability import Favorability
from headcount.curves.mixed import MixedLaw, MixedObserved
from headcount.curves.observed import Observed
from headcount.curves.predicted import PredictedCurve
from headcount.curves.ranked import RankedLaw
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot


@dataclass(frozen=True)
class Entry:
    """One line of the table. `look` returns the sentence to say, or None where all is well.

    `advise` says what to do where that depends on the pilot; else `ADVICE` does. Checks of other
    answers than a forecast have no `look`: the code that makes the answer looks, and reports with
    `finding`.
    """

    code: str
    title: str
    severity: str
    look: Callable[[CheckInput], str | None] | None = None
    advise: Callable[[CheckInput], str] | None = None


TABLE = (
    Entry("HC001", "Too few classes", "warning", counts.few_classes),
    Entry("HC002", "Too few probes", "warning", counts.few_probes),
    Entry("HC003", "Heavy ties", "warning", counts.heavy_ties),
    Entry("HC004", "All right or all wrong", "error", counts.nothing_to_learn),
    Entry("HC005", "Scores that add up to one", "warning", fit.probabilities),
    Entry("HC006", "Unbalanced probes", "info", counts.unbalanced),
    Entry("HC007", "Near-duplicate classes", "warning", rivals.near_duplicates),
    Entry("HC008", "Hub classes", "warning", rivals.hubs),
    Entry("HC009", "Dependent probes", "warning", independence.dependent_probes),
    Entry("HC010", "The fit misses the pilot", "warning", fit.gap_at_pilot),
    Entry("HC011", "Further than the back-test reaches", "warning", fit.too_far, fit.larger_pilot),
    Entry("HC012", "Groups of similar classes", "warning", independence.related_groups),
    Entry("HC013", "Groups of unequal accuracy", "warning", independence.unequal_groups),
    Entry("HC014", "Classes trained together", "warning", fit.trained_together),
    Entry("HC015", "Classes trained against the rest", "info", fit.trained_against_rest),
    Entry("HC016", "Lists cut too early", "error", counts.heavy_censoring),
    Entry("HC017", "More training data did not help", "warning"),
    Entry("HC018", "Training sizes forecast badly", "warning"),
    Entry("HC019", "The method has less to go by", "info"),
    Entry("HC020", "Classes that change along the order", "warning", trends.along_the_order),
    Entry("HC021", "Probes compared with themselves", "warning", copies.self_matches),
    Entry("HC022", "Groups not drawn whole", "warning", independence.groups_not_whole),
    Entry("HC023", "Cross-validated scores", "info", independence.cross_validated),
    Entry("HC024", "Several relevant documents", "info", counts.several_relevant),
)
CHECKS = {entry.code: entry for entry in TABLE}


def run_checks(
    pilot: Pilot,
    observed: Observed | MixedObserved,
    law: Favorability | PredictedCurve | MixedLaw | RankedLaw,
    *,
    asked: Sequence[int] = (),
    backtest: BacktestResult | None = None,
    metric: Metric = ACCURACY,
) -> tuple[Check, ...]:
    """Return what a user should know before believing a forecast.

    The checks take at most two passes over the scores. One lists who beats whom; the pilot keeps
    the list for others. One ends at the first rows unless they are probabilities. Of embeddings,
    each vector is read once more.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    observed : Observed
        Its observed curve.
    law : Favorability or PredictedCurve
        What was fitted.
    asked : sequence of int
        Numbers of classes asked about.
    backtest : object with `supported`, `n_classes` and `steps`, optional
        How far forecasts were right on the pilot itself. Without it, a forecast is doubted past a
        fixed multiple of the pilot's size.
    metric : Metric
        What is forecast, accuracy by default.

    Returns
    -------
    tuple of Check
        In the order of their codes.

    Examples
    --------
    >>> from headcount import Favorability, Pilot, observe
    >>> pilot = Pilot.from_losses([0] * 90 + [1] * 10, n_classes=10)
    >>> found = run_checks(pilot, observe(pilot), Favorability([0.01], [1.0]), asked=[100])
    >>> [check.code for check in found]
    ['HC001']
    """
    case = CheckInput(pilot, observed, law, tuple(asked), backtest, metric)
    looked = [(entry, entry.look(case)) for entry in TABLE if entry.look is not None]
    return tuple(
        finding(entry.code, text, entry.advise(case) if entry.advise else "")
        for entry, text in looked
        if text is not None
    )


def finding(code: str, message: str, advice: str = "") -> Check:
    """Return a finding of the table, with its severity and what to do about it.

    Examples
    --------
    >>> finding("HC010", "the fit misses the pilot.").severity
    'warning'
    """
    return Check(code, CHECKS[code].severity, message, advice=advice or ADVICE[code])
