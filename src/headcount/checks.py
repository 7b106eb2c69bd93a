"""What to know before believing a forecast."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from headcount.curves import PredictedCurve
from headcount.favorability import Favorability
from headcount.observed import Observed
from headcount.wording import percent

GAP = 0.02


@dataclass(frozen=True)
class Check:
    """One finding: a stable code, how bad it is, and one plain sentence."""

    code: str
    severity: str
    message: str

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain data."""
        return asdict(self)


def run_checks(observed: Observed, law: Favorability | PredictedCurve) -> tuple[Check, ...]:
    """Return what a user should know about this fit."""
    found = [_gap(observed, law)]
    return tuple(check for check in found if check is not None)


def _gap(observed: Observed, law: Favorability | PredictedCurve) -> Check | None:
    """Compare observed and fitted accuracy at the pilot's own size, where both are known."""
    k = observed.n_classes
    lower, upper = observed.bounds(k)
    fitted = float(law.accuracy(k))
    gap = max(float(lower) - fitted, fitted - float(upper), 0.0)
    if gap <= GAP:
        return None
    return Check(
        "gap-at-pilot",
        "warning",
        f"at the pilot's own {k:,} classes the method gives {percent(fitted)} where "
        f"{percent(float(observed.accuracy(k)))} was measured; it does not fit these data well, "
        "so its forecast is doubtful.",
    )
