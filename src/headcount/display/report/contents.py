"""What is on a page, before it is HTML: plain texts, tables of texts, and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headcount.checks import CHECKS, Check
from headcount.checks.advice import ADVICE
from headcount.support.words import OURS, Nouns

SEVERITIES = ("error", "warning", "info")  # worst first


@dataclass(frozen=True)
class Table:
    """A table of texts; the first `n_text` columns hold words, the others numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_text: int = 0


@dataclass(frozen=True)
class Finding:
    """A check or a warning with what to do about it; `system` names one of several."""

    severity: str
    message: str
    code: str = ""
    title: str = ""
    advice: str = ""
    system: str = ""


@dataclass(frozen=True)
class BacktestPart:
    """What one back-test says, as sentences and a table; `system` names one of several."""

    sentences: Sequence[str]
    table: Table | None = None
    system: str = ""


@dataclass(frozen=True)
class Reproduction:
    """How to make the page again: a command or a script, and what to mind."""

    code: str
    heading: str = ""
    note: str = ""


@dataclass(frozen=True)
class Contents:
    """Everything on a page.

    Attributes
    ----------
    title : str
        Of the browser's tab, and above the answer.
    subtitle : str
        What was measured, in one line.
    sentences : sequence of str
        The answer.
    large : int
        How many of them, the first ones, are set in large type.
    findings : sequence of Finding
        What to know before believing it.
    reproduction : Reproduction
        How to make it again.
    data : dict
        What the page looks values up in, and what others may read: plain data, no infinities.
    curve : Table or None
        The curve as a table; None where there is no curve to draw.
    toggles : str
        What the curves are that can be shown or hidden: "Methods" or "Systems".
    leads : Table or None
        Who is ahead, where systems are compared.
    backtests : sequence of BacktestPart
        What hiding classes showed.
    pilots : sequence of Table
        What was measured: facts in two columns.
    methods : Table
        Method, version and settings.
    error_rate : bool
        Whether pictures show what is missing to one when the page is opened, such as error rates
        instead of accuracies.
    nouns : Nouns
        What classes and probes are called.
    heading, note : str
        What the user wants to say to readers: in place of the title, and below the answer.
    date : str
        When the page was made.
    """

    title: str
    subtitle: str
    sentences: Sequence[str]
    findings: Sequence[Finding]
    reproduction: Reproduction
    data: dict[str, Any]
    methods: Table
    large: int = 1
    curve: Table | None = None
    toggles: str = "Methods"
    leads: Table | None = None
    backtests: Sequence[BacktestPart] = field(default_factory=tuple)
    pilots: Sequence[Table] = field(default_factory=tuple)
    error_rate: bool = False
    nouns: Nouns = OURS
    heading: str = ""
    note: str = ""
    date: str = ""


def findings_of(
    checks: Sequence[Check], warnings: Sequence[str] = (), system: str = ""
) -> list[Finding]:
    """Return checks with what to do about them, then warnings that are no check; worst first."""
    messages = {check.message for check in checks}
    findings = [
        Finding(
            check.severity,
            check.message,
            check.code,
            CHECKS[check.code].title if check.code in CHECKS else "",
            check.advice or ADVICE.get(check.code, ""),
            system,
        )
        for check in checks
    ]
    findings += [
        Finding("warning", text, system=system)
        for text in dict.fromkeys(warnings)
        if text not in messages
    ]
    return sorted(findings, key=_badness)


def _badness(finding: Finding) -> int:
    """Return a severity as a number, the worst first; one from elsewhere is like a warning."""
    return SEVERITIES.index(finding.severity) if finding.severity in SEVERITIES else 1
