"""Tables that several kinds of page share: what was measured, back-tests, method and version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headcount import __version__
from headcount.curves.observed import observe
from headcount.display.report.contents import BacktestPart, Table
from headcount.display.report.page_data import capital
from headcount.metrics import ACCURACY, Metric
from headcount.pilot.pilot import Pilot
from headcount.questions.forecast import Forecast
from headcount.support.words import counted, named, percent, plain
from headcount.uncertainty.backtest import Backtest, cells

TIE_RULES = {"random": "broken at random", "lose": "counted as lost", "win": "counted as won"}


def size_of(n_classes: int, n_probes: int) -> str:
    """Return the size of a pilot in words."""
    return f"{counted(n_classes, 'class')} and {counted(n_probes, 'probe')}"


def pilot_facts(
    pilot: Pilot, metric: Metric, value: float, caption: str, sources: Sequence[str] = ()
) -> Table:
    """Return what a pilot looks like, and the value of a metric among all its classes."""
    summary = pilot.summary()
    by_class = pilot.average == "macro" and pilot.labels is not None
    accuracies = summary.accuracy, summary.two_class_accuracy
    rows = _size_rows(summary.n_classes, summary.n_probes, sources)
    rows.append(["Probes a class", summary._balance()])
    rows += _value_rows(metric, value, accuracies, summary.n_classes)
    rows.append(["Average", f"every {'class' if by_class else 'probe'} counts the same"])
    if summary.tied:
        rows.append(["Ties", f"{percent(summary.tied)} of probes; {TIE_RULES[pilot.tie_rule]}"])
    if summary.censored:
        cut = counted(summary.censored, "probe")
        rows.append(["Censored", f"{cut}, true class not in the list"])
    rows += [[title, text] for title, text in summary.notable().items()]
    return Table(caption, ("what", "value"), rows, n_text=2)


def facts_of(forecast: Forecast, caption: str, sources: Sequence[str] = ()) -> Table:
    """Return what is known of a forecast's pilot: little where it was read from a file."""
    size = forecast.n_classes
    value = float(forecast.value(size))
    if forecast.pilot is not None and forecast.mix:
        value = float(observe(forecast.pilot).value(forecast.pilot.n_classes, forecast.metric))
    if forecast.pilot is not None:
        return pilot_facts(forecast.pilot, forecast.metric, value, caption, sources)
    accuracies = float(forecast.accuracy(size)), float(forecast.accuracy(2))
    rows = _size_rows(size, forecast.n_probes, sources)
    rows += _value_rows(forecast.metric, value, accuracies, size)
    return Table(caption, ("what", "value"), rows, n_text=2)


def _size_rows(n_classes: int, n_probes: int, sources: Sequence[str]) -> list[list[str]]:
    files = [["Files", ", ".join(map(named, sources))]] if sources else []
    return [*files, ["Classes", f"{n_classes:,}"], ["Probes", f"{n_probes:,}"]]


def _value_rows(
    metric: Metric, value: float, accuracies: tuple[float, float], n_classes: int
) -> list[list[str]]:
    """Return the metric that is forecast, and accuracy among all classes and between two."""
    among = f"among all {n_classes:,} classes"
    whole, of_two = map(percent, accuracies)
    rows = [[capital(ACCURACY.label), f"{whole} {among}, {of_two} between two"]]
    if metric != ACCURACY:
        rows.insert(0, [capital(metric.label), f"{metric.write(value)} {among}"])
    return rows


def method_facts(
    methods: Mapping[str, str],
    settings: Sequence[tuple[str, str]] = (),
    others: Mapping[str, str] | None = None,
) -> Table:
    """Return what each method does, settings, and the version of headcount."""
    rows = [[f"Method {plain(name)}", about] for name, about in methods.items()]
    rows += [[f"Other curve: {plain(name)}", about] for name, about in (others or {}).items()]
    rows += [list(setting) for setting in settings]
    rows.append(["Version", f"headcount {__version__}"])
    return Table("Method and version", ("what", "value"), rows, n_text=2)


def backtest_part(backtest: Backtest | None, system: str = "") -> BacktestPart:
    """Return a back-test as sentences and a table."""
    name = named(system)
    if backtest is None:
        nothing = "No back-test was run, so there are no intervals."
        return BacktestPart((nothing,), system=name)
    if not backtest.steps:
        return BacktestPart(backtest.sentences(), system=name)
    measured = backtest.metric.write(backtest.observed)
    steps = [cells(step) for step in backtest.steps]
    rows = [[*step[:3], measured, *step[3:]] for step in steps]
    columns = (
        "from classes", "times fewer", "forecast", "measured", "off by (points)",
        "too high or low", f"within its {percent(backtest.confidence)} interval",
    )  # fmt: skip
    caption = f"Forecasts of all {backtest.n_classes:,} classes from fewer of them"
    return BacktestPart(backtest.sentences(), Table(caption, columns, rows), name)
