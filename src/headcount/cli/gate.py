"""`headcount gate`: exit 0 if a forecast is good enough, 1 if not, 2 if that cannot be said."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

import typer

from headcount.cli import terminal
from headcount.cli.options import (
    AsJson,
    Classes,
    Jobs,
    Method,
    MetricName,
    PilotFiles,
    Seed,
    check_output,
    numbers_of,
    reads_pilot,
)
from headcount.errors import (
    DataError,
    HeadcountError,
    ParameterError,
    UnsupportedError,
    listening,
    spoken,
)
from headcount.support.output import write_text
from headcount.support.words import plain

if TYPE_CHECKING:
    from headcount.questions.forecast import Forecast
    from headcount.questions.gate import Baseline, Decision

SUITE = "headcount gate"
# What XML 1.0 cannot hold, not even escaped.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SIGNALLED = 128  # exit codes past this are those of signals
WORDS = {"pass": "passed", "fail": "FAILED", "error": "CANNOT BE SAID"}


@reads_pilot
def gate(
    pilot: PilotFiles,
    classes: Classes,
    minimum: Annotated[
        float | None,
        typer.Option("--min", help="The lower bound must be at least this, e.g. 0.8."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(help="An earlier forecast: what 'headcount forecast --json' printed."),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="How far the estimate may be below the baseline.")
    ] = 0.02,
    allow_extrapolation: Annotated[
        bool,
        typer.Option("--allow-extrapolation", help="Also judge what the back-test cannot support."),
    ] = False,
    metric: MetricName = "accuracy",
    method: Method = "auto",
    confidence: Annotated[
        float, typer.Option(help="Level of the interval whose lower end is the bound.")
    ] = 0.9,
    jobs: Jobs = None,
    seed: Seed = 0,
    junit: Annotated[Path | None, typer.Option(help="Write a file of JUnit XML.")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for GitHub Actions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fail a build when the forecast is not good enough, or cannot be trusted.

    Exit 0: all passed.

    Exit 1: a lower bound is under --min, or an estimate is too far below the baseline.

    Exit 2: that cannot be said. The input is bad, the disk is full, there is no bound, the baseline
    or the back-test does not reach so many classes, or a check of severity "error" is about what
    was not measured (HC004 all right or all wrong, HC016 lists cut too early). No option overrides
    such a check.

    Exit 141: nobody reads the output.

    For example:

    headcount gate scores.npz --classes 10000 --min 0.8

    headcount gate scores.npz --classes 10000 --baseline main.json --margin 0.01 --junit gate.xml
    """
    if as_json and github:
        raise ParameterError("--json and --github both print to stdout; choose one.")
    check_output(junit, [*pilot.inputs, *([] if baseline is None else [baseline])])
    options = {
        "classes": classes,
        "metric": metric,
        "method": method,
        "confidence": confidence,
        "random_state": seed,
        "n_jobs": jobs,
    }
    rules = {"minimum": minimum, "margin": margin}
    try:
        with terminal.progress("Judging the forecast"), listening() as warnings, _no_exit():
            result, decision = _judge(pilot, options, rules, baseline, allow_extrapolation)
    except Exception as error:
        # Whatever goes wrong must not look like a pass, nor like a gate that failed.
        _tell_of_error(error, junit, github, pilot.path.name)
        raise
    if junit is not None:
        with terminal.progress(f"Writing {junit.name}"):
            write_text(junit, junit_xml(_cases(decision), pilot.path.name))
    if as_json:
        terminal.show_json(_answer(result, decision, warnings))
    else:
        _show(decision)
        if github:
            _annotate(decision, pilot.path.name)
    for note in decision.notes:
        terminal.complain("note", note)
    terminal.list_checks(result.checks, warnings)
    raise typer.Exit(decision.exit_code)


def junit_xml(cases: list[tuple[str, str, str]], file: str) -> str:
    """Return JUnit XML; cases are their names, outcomes (pass, fail or error) and messages.

    Examples
    --------
    >>> text = junit_xml([("10 classes", "fail", "80% < 90%")], "a&b.npz")
    >>> "80% &lt; 90%" in text, "a&amp;b.npz" in text
    (True, True)
    """
    counts = Counter(outcome for _, outcome, _ in cases)
    suite = ElementTree.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(cases)),
        failures=str(counts["fail"]),
        errors=str(counts["error"]),
        skipped="0",
    )
    for name, outcome, message in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{SUITE} {_for_xml(file)}", name=_for_xml(name)
        )
        text = _for_xml(message)
        if outcome == "pass":
            ElementTree.SubElement(case, "system-out").text = text
        else:
            tag = "failure" if outcome == "fail" else "error"
            ElementTree.SubElement(case, tag, message=text, type=outcome).text = text
    ElementTree.indent(suite)
    body = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def annotation(title: str, message: str, level: str = "error") -> str:
    r"""Return a GitHub annotation: one line, whatever its parts contain.

    Examples
    --------
    >>> annotation("a,b: 5%", "first\nsecond")
    '::error title=a%2Cb%3A 5%25::first%0Asecond'
    """
    name = _for_github(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{_for_github(message)}"


# -- inner workings --------------------------------------------------------------------------------


@contextmanager
def _no_exit() -> Iterator[None]:
    """Refuse a method of the user's own that ends the program: that would look like a verdict."""
    try:
        yield
    except SystemExit as error:
        if isinstance(error.code, int) and error.code > SIGNALLED:
            raise
        raise UnsupportedError(
            f"the method ended the program ({error.code!r}) instead of forecasting; repair it."
        ) from error


def _judge(
    pilot: PilotFiles,
    options: dict[str, Any],
    rules: dict[str, Any],
    baseline: Path | None,
    allow_extrapolation: bool,
) -> tuple[Forecast, Decision]:
    from headcount.metrics import resolve_share
    from headcount.questions.forecast import forecast as make_forecast
    from headcount.questions.gate import Estimate, differences, judge

    numbers = numbers_of(options.pop("classes"))
    rules["metric"] = options["metric"] = resolve_share(options["metric"])
    pinned = None if baseline is None else _baseline(baseline)
    judge([Estimate(2, 1.0, 1.0)], baseline=pinned, **rules)  # bad rules are refused at once
    data = pilot.load()
    result = make_forecast(data, classes=numbers, **options)
    reach = math.inf if allow_extrapolation else result.supported
    estimates = [Estimate.of(result, k) for k in numbers]
    faults = [f"{c.message} ({c.code})" for c in result.checks if c.severity == "error"]
    decision = judge(
        estimates,
        measured=result.n_classes,
        faults=faults,
        reach=reach,
        baseline=pinned,
        **rules,
    )
    if pinned is not None:
        notes = differences(pinned, result.method, result.n_classes, result.n_probes)
        decision = replace(decision, notes=notes)
    return result, decision


def _baseline(path: Path) -> Baseline:
    from headcount.pilot.loading import safe_arrays
    from headcount.questions.gate import Baseline
    from headcount.questions.risk.cost_files import json_object

    fields = json_object(safe_arrays.existing(path), "as headcount forecast --json prints it")
    try:
        return Baseline.from_dict(fields)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from error


def _cases(decision: Decision) -> list[tuple[str, str, str]]:
    return [
        (spoken(verdict.name), verdict.outcome, spoken(verdict.message))
        for verdict in decision.verdicts
    ]


def _tell_of_error(error: Exception, junit: Path | None, github: bool, file: str) -> None:
    message = spoken(str(error))
    if junit is not None:
        try:
            write_text(junit, junit_xml([("input", "error", message)], file))
        except HeadcountError as other:  # what went wrong first is told all the same
            terminal.complain("error", str(other))
        except BrokenPipeError:  # our own stdout, which nobody reads any more
            pass
    if github:
        terminal.say(annotation(f"{SUITE} {file}", message))


def _answer(result: Forecast, decision: Decision, warnings: list[str]) -> dict[str, Any]:
    return {
        "outcome": decision.outcome,
        "exit_code": decision.exit_code,
        "metric": result.metric.name,
        "n_classes": result.n_classes,
        "n_probes": result.n_probes,
        "method": result.method,
        "confidence": result.confidence,
        "verdicts": [verdict.to_dict() for verdict in decision.verdicts],
        "notes": list(decision.notes),
        "checks": [check.to_dict() for check in result.checks],
        "warnings": warnings,
    }


def _show(decision: Decision) -> None:
    for verdict in decision.verdicts:
        terminal.say(plain(f"{WORDS[verdict.outcome]}: {verdict.message}"))


def _annotate(decision: Decision, file: str) -> None:
    for name, outcome, message in _cases(decision):
        if outcome != "pass":
            terminal.say(annotation(f"{SUITE} {file}, {name}", message))
    for note in decision.notes:
        terminal.say(annotation(f"{SUITE} {file}", spoken(note), "notice"))


def _for_xml(text: str) -> str:
    return NOT_XML.sub("", text)


def _for_github(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return plain(escaped)
