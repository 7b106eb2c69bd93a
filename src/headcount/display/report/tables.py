"""Tables that several kinds of page share: what was measured, back-tests, method and version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headcount import __version__
from headcount.display.report.contents import BacktestPart, Table
from headcount.estimators import METHODS
from headcount.pilot.pilot import Pilot
from headcount.questions.forecast import Forecast
from headcount.support.words import counted, named, percent, plain
from headcount.uncertainty.backtest import Backtest, cells


def size_of(n_classes: int, n_probes: int) -> str:
    """Return the size of a pilot in words."""
    return f"{counted(n_classes, 'class')} and {counted(n_probes, 'probe')}"


def pilot_facts(pilot: Pilot, caption: str, sources: Sequence[str] = ()) -> Table:
    """Return what a pilot looks like."""
    seen = pilot.summary()
    by_class = pilot.average == "macro" and pilot.labels is not None
    rows = [["Files", ", ".join(map(named, sources))]] if sources else []
    rows += [
        ["Classes", f"{seen.n_classes:,}"],
        ["Probes", f"{seen.n_probes:,}"],
        ["Probes a class", seen._balance()],
        [
            "Accuracy",
            f"{percent(seen.accuracy)} among all {seen.n_classes:,} classes, "
            f"{percent(seen.two_class_accuracy)} between two",
        ],
        ["Average", f"every {'class' if by_class else 'probe'} counts the same"],
    ]
    if seen.tied:
        rule = {"random": "broken at random", "lose": "counted as lost", "win": "counted as won"}
        rows.append(["Ties", f"{percent(seen.tied)} of probes; {rule[pilot.tie_rule]}"])
    if seen.censored:
        rows.append(["Censored", f"{counted(seen.censored, 'probe')}, true class not in the list"])
    rows += [[title, text] for title, text in seen.notable().items()]
    return Table(caption, ("what", "value"), rows, left=2)


def stored_facts(forecast: Forecast, caption: str, sources: Sequence[str] = ()) -> Table:
    """Return what a forecast still knows of its pilot when it was read from a file."""
    at = [percent(float(forecast.accuracy(k))) for k in (forecast.n_classes, 2)]
    rows = [["Files", ", ".join(map(named, sources))]] if sources else []
    rows += [
        ["Classes", f"{forecast.n_classes:,}"],
        ["Probes", f"{forecast.n_probes:,}"],
        ["Accuracy", f"{at[0]} among all {forecast.n_classes:,} classes, {at[1]} between two"],
    ]
    return Table(caption, ("what", "value"), rows, left=2)


def facts_of(forecast: Forecast, caption: str, sources: Sequence[str] = ()) -> Table:
    """Return what is known of a forecast's pilot."""
    if forecast._fitted is None:
        return stored_facts(forecast, caption, sources)
    return pilot_facts(forecast._fitted[0], caption, sources)


def method_facts(
    aliases: Sequence[str], settings: Sequence[tuple[str, str]] = (), others: Iterable[str] = ()
) -> Table:
    """Return what each method does, settings, and the version of headcount."""
    rows = []
    for alias in dict.fromkeys(aliases):
        known = METHODS.get(alias.split(":")[0])
        about = "" if known is None else f"{known.about}; {known.advice}"
        rows.append([f"Method {plain(alias)}", about])
    for other in others:
        rows.append([f"Other curve: {other}", METHODS[other].about])
    rows += [list(setting) for setting in settings]
    rows.append(["Version", f"headcount {__version__}"])
    return Table("Method and version", ("what", "value"), rows, left=2)


def backtest_part(found: Backtest | None, of: str = "") -> BacktestPart:
    """Return a back-test as sentences and a table."""
    if found is None:
        return BacktestPart(("No back-test was run, so there are no intervals.",), of=named(of))
    if not found.steps:
        return BacktestPart(found.sentences(), of=named(of))
    shown = [cells(step) for step in found.steps]
    rows = [[*row[:3], percent(found.observed), *row[3:]] for row in shown]
    columns = (
        "from classes", "times fewer", "forecast", "measured", "off by (points)",
        "too high or low", f"within its {percent(found.confidence)} interval",
    )  # fmt: skip
    caption = f"Forecasts of all {found.n_classes:,} classes from fewer of them"
    return BacktestPart(found.sentences(), Table(caption, columns, rows), named(of))
