"""Errors and warnings that headcount raises on purpose.

Every error is one sentence a user can act on: what was wrong, where, how many, what to do.
The command line prints it as it is and exits with status 2.
"""

from __future__ import annotations


class HeadcountError(Exception):
    """Base of every error headcount raises on purpose."""


class DataError(HeadcountError, ValueError):
    """What was measured cannot be used: bad scores, labels, shapes or files."""


class ParameterError(HeadcountError, ValueError):
    """An option has a value that makes no sense."""


class UnsupportedError(HeadcountError, TypeError):
    """The question is clear, but this pilot or method cannot answer it."""


class MissingExtraError(HeadcountError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional package; install it: pip install 'headcount[{extra}]'"
        )


class HeadcountWarning(UserWarning):
    """Base of every warning headcount gives."""


class ExtrapolationWarning(HeadcountWarning):
    """The forecast goes further than the pilot supports."""


class AssumptionWarning(HeadcountWarning):
    """An assumption behind the forecast does not hold, or had to be made."""
