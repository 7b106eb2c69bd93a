"""One finding, as users hold it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

PAGE = "checks.md"


@dataclass(frozen=True)
class Check:
    """One finding: a stable code, how bad it is, one plain sentence, and where to read on.

    Attributes
    ----------
    code : str
        HC001, HC002 ...; a code never changes its meaning.
    severity : {"info", "warning", "error"}
        Info: good to know. Warning: the forecast may be off. Error: it says nothing.
    message : str
        One plain sentence.
    anchor : str
        Section of the documentation that says what it means and what to do.
    advice : str
        What to do about it.

    Examples
    --------
    >>> Check("HC001", "warning", "the pilot has only 5 classes.").anchor
    'checks.md#hc001'
    """

    code: str
    severity: str
    message: str
    anchor: str = ""
    advice: str = ""

    def __post_init__(self) -> None:
        if not self.anchor:
            object.__setattr__(self, "anchor", f"{PAGE}#{self.code.lower()}")

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain data."""
        return asdict(self)
