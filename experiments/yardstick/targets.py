"""Tables of the yardstick, and whether the default reaches what was aimed at.

Methods are compared on pilots that both of them answered. A method that was given fewer pilots, or
refused some, is held against the default on those it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.methods import rounded
from experiments.yardstick.places import HELD_OUT, PARTS, PROBLEMS, REAL, SIMULATIONS
from experiments.yardstick.tasks import ORACLE

Floats = NDArray[np.float64]
Row = dict[str, Any]
T = TypeVar("T")

AUTO = "auto"
CLEANEX = ("cleanex", "cleanex-fast")  # the second stands in where there is none of the first
PUBLISHED = ("kde", "regression", "exponential", "pseudolikelihood", "high-dimensional")
TAIL = 0.95
FACTOR, MARGIN = 1.25, 0.003  # how near to the best published method in every family
YES, NO, UNKNOWN = "yes", "no", "not measured"
LETTERS = {
    SIMULATIONS: "(a)",
    REAL: "(b)",
    PROBLEMS: "(c) trained families",
    HELD_OUT: "(c) held-out families",
}


@dataclass(frozen=True)
class Stratum:
    """RMSE of all methods on the pilots of one place.

    Attributes
    ----------
    part, family, k1
        Which place.
    errors : dict
        For each method a list, by pilot; None where it refused. A method may have fewer pilots
        than others: then it has the first ones.
    """

    part: str
    family: str
    k1: int | None
    errors: Mapping[str, Sequence[float | None]]

    def of(self, *names: str) -> list[tuple[float | None, str]]:
        """Return for each pilot the error of the first of these methods that has one, and its name.

        Examples
        --------
        >>> stratum = Stratum("real", "faces", 20, {"kde": [0.1], "auto": [0.2, 0.3]})
        >>> stratum.of("kde", "auto")
        [(0.1, 'kde'), (0.3, 'auto')]
        """
        length = max((len(values) for values in self.errors.values()), default=0)
        errors: list[tuple[float | None, str]] = [(None, "")] * length
        for name in reversed(names):
            for i, value in enumerate(self.errors.get(name, ())):
                if value is not None:
                    errors[i] = (value, name)
        return errors


@dataclass(frozen=True)
class Paired:
    """Errors of the default, of a rival and of the oracle on the same pilots.

    Attributes
    ----------
    auto, rival, oracle : list of ndarray
        Errors, stratum by stratum.
    names : dict
        Which methods the rival is, and on how many pilots.
    wanted : int
        Pilots that the default was asked about.
    """

    auto: list[Floats]
    rival: list[Floats]
    oracle: list[Floats]
    names: dict[str, int]
    wanted: int

    @property
    def n(self) -> int:
        """How many pilots both answered."""
        return sum(len(values) for values in self.auto)

    def means(self) -> tuple[float, float]:
        """Return the mean error of both."""
        return float(np.concatenate(self.auto).mean()), float(np.concatenate(self.rival).mean())

    def ratio(self) -> tuple[float, float | None]:
        """Return the ratio of the means, and its standard error over pilots."""
        ours, theirs = self.means()
        value = ours / theirs
        residuals = [a - value * b for a, b in zip(self.auto, self.rival, strict=True)]
        error = _error_of_mean(residuals)
        return value, None if error is None else error / theirs

    def floor(self) -> float:
        """Return the ratio that the oracle would have reached."""
        return float(np.concatenate(self.oracle).mean()) / self.means()[1]

    def tails(self) -> tuple[float, float, float]:
        """Return a high quantile over all pilots: of the default, the rival and the oracle."""
        ours, theirs, floor = (
            float(np.quantile(np.concatenate(values), TAIL))
            for values in (self.auto, self.rival, self.oracle)
        )
        return ours, theirs, floor


def paired(strata: Iterable[Stratum], *names: str) -> Paired:
    """Return the errors of the default and of the first of these methods that has one."""
    columns: tuple[list[Floats], list[Floats], list[Floats]] = ([], [], [])
    counts, wanted = dict.fromkeys(names, 0), 0
    for stratum in strata:
        wanted += len(stratum.errors.get(AUTO, ()))
        sides = (stratum.of(AUTO), stratum.of(*names), stratum.of(ORACLE))
        answered = [
            pilot for pilot in zip(*sides, strict=True) if None not in (pilot[0][0], pilot[1][0])
        ]
        for i, column in enumerate(columns):
            if answered:
                column.append(np.array([pilot[i][0] for pilot in answered], dtype=np.float64))
        for _, (_, name), _ in answered:
            counts[name] += 1
    return Paired(*columns, {name: n for name, n in counts.items() if n}, wanted)


def _error_of_mean(strata: Sequence[Floats]) -> float | None:
    """Return the standard error of the mean over all, the strata being fixed."""
    if not strata or min(len(values) for values in strata) < 2:
        return None
    total = sum(len(values) for values in strata)
    return float(np.sqrt(sum(len(v) * v.var(ddof=1) for v in strata)) / total)


# -- tables ----------------------------------------------------------------------------------------


def summary(strata: Sequence[Stratum], method: str) -> Row:
    """Return mean, standard error and 95th percentile of a method's RMSE over pilots."""
    errors = [[v for v in s.errors.get(method, ()) if v is not None] for s in strata]
    answers = [np.array(values, dtype=np.float64) for values in errors if values]
    n_pilots = sum(len(stratum.errors.get(method, ())) for stratum in strata)
    row: Row = {"pilots": n_pilots, "refused": n_pilots - sum(len(values) for values in answers)}
    if not answers:
        return row | dict.fromkeys(("rmse", "standard_error", "p95", "auto_there"))
    whole, error = np.concatenate(answers), _error_of_mean(answers)
    both = paired(strata, method)
    return row | {
        "rmse": rounded(whole.mean()),
        "standard_error": None if error is None else rounded(error),
        "p95": rounded(np.quantile(whole, TAIL)),
        "auto_there": rounded(both.means()[0]) if both.n else None,
    }


def groups(strata: Sequence[Stratum]) -> list[Row]:
    """Return the summary of every method over each part; simulations by the pilots' size too."""

    def group(stratum: Stratum) -> tuple[int, int | None]:
        by_size = stratum.part == SIMULATIONS
        return PARTS.index(stratum.part), stratum.k1 if by_size else None

    return [
        {"part": members[0].part, "k1": k1, "method": name, **summary(members, name)}
        for (_, k1), members in grouped(strata, group).items()
        for name in _names(members)
    ]


def _names(strata: Sequence[Stratum]) -> list[str]:
    """Methods in the order of their mean error, the oracle first."""
    names = dict.fromkeys(name for stratum in strata for name in stratum.errors)

    def place(name: str) -> tuple[bool, float]:
        mean = summary(strata, name)["rmse"]
        return name != ORACLE, np.inf if mean is None else mean

    return sorted(names, key=place)


def grouped(things: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """Return the things with each value of a key, in their order."""
    by_key: dict[Any, list[T]] = {}
    for thing in things:
        by_key.setdefault(key(thing), []).append(thing)
    return by_key


def families(strata: Sequence[Stratum], *, by_size: bool = False) -> list[Row]:
    """Hold the default against the best published method in every family of tasks.

    Parameters
    ----------
    strata : sequence of Stratum
        All places.
    by_size : bool
        Whether pilots of different sizes are families of their own.
    """
    rows = []
    for (part, family, k1), members in grouped(
        strata, lambda s: (s.part, s.family, s.k1 if by_size else None)
    ).items():
        rivals = [(_named(both), both) for both in _published(members)]
        if not rivals:
            continue
        # On the same pilots this is the best published method; else the hardest to keep up with.
        name, best = max(rivals, key=lambda rival: _excess(*rival[1].means()))
        ours, theirs = best.means()
        rows.append(
            {
                "part": part,
                "family": family,
                "k1": k1,
                "pilots": best.n,
                "auto": rounded(ours),
                "best": name,
                "best_rmse": rounded(theirs),
                "ratio": rounded(ours / theirs),
                "within": _excess(ours, theirs) <= 0,
            }
        )
    return rows


def _excess(ours: float, theirs: float) -> float:
    return ours - max(FACTOR * theirs, theirs + MARGIN)


def _published(strata: Sequence[Stratum]) -> list[Paired]:
    pairs = [paired(strata, *names) for names in (*((name,) for name in PUBLISHED), CLEANEX)]
    return [both for both in pairs if both.n]


def _named(both: Paired) -> str:
    """Say whom the default is compared with, and on how many pilots if that is not one method."""
    if len(both.names) == 1:
        return next(iter(both.names))
    return " + ".join(f"{name} ({n})" for name, n in both.names.items())


# -- targets ---------------------------------------------------------------------------------------


def targets(strata: Sequence[Stratum]) -> list[Row]:
    """Return each target for the default, the value reached, and whether it is met.

    Parameters
    ----------
    strata : sequence of Stratum
        All places of a run.

    Returns
    -------
    list of dict
        ``target``, ``at_most``, ``reached`` (None where it was not measured), ``standard_error``,
        ``oracle`` (what the oracle would have reached on the same pilots),
        ``met``, ``against`` (whom the default is compared with) and ``pilots``.
    """
    few = [s for s in strata if s.part == SIMULATIONS and s.k1 is not None and s.k1 < 500]
    many = [s for s in strata if s.part == SIMULATIONS and s.k1 is not None and s.k1 >= 500]
    real = [s for s in strata if s.part == REAL]
    named = {
        "(a) from 100": few,
        "(a) from 500": many,
        "(b)": real,
        "(a) and (b)": [*few, *many, *real],
    }
    means = (("(a) from 100", 0.55), ("(a) from 500", 0.75), ("(b)", 0.6))
    rows = [
        _ratio_row(f"{name}: mean / CleaneX's", most, [paired(named[name], *CLEANEX)], named[name])
        for name, most in means
    ]
    best = _ratio_row("(a) from 500: mean / best published", 0.9, _published(many), many)
    rows.insert(2, best)
    rows += [
        _tail_row(f"{name}: 95th percentile / CleaneX's", 0.6, places)
        for name, places in named.items()
    ]
    for by_size, kind in ((False, "families"), (True, "families at each size")):
        rows += [
            _family_row(f"{LETTERS[part]}: share of {kind} near the best published", family_rows)
            for part, family_rows in grouped(
                families(strata, by_size=by_size), lambda row: row["part"]
            ).items()
            if not by_size or part in (SIMULATIONS, REAL)
        ]
    return rows


def _ratio_row(
    target: str, most: float, rivals: Sequence[Paired], strata: Sequence[Stratum]
) -> Row:
    rivals = [both for both in rivals if both.n]
    if not rivals:
        return _unknown(target, most)
    hardest = max(rivals, key=lambda both: both.ratio()[0])
    value, error = hardest.ratio()
    row = _measured_row(target, most, value, hardest.floor(), _named(hardest), hardest, strata)
    return row | {"standard_error": None if error is None else rounded(error)}


def _tail_row(target: str, most: float, strata: Sequence[Stratum]) -> Row:
    both = paired(strata, *CLEANEX)
    if not both.n:
        return _unknown(target, most)
    ours, theirs, floor = both.tails()
    against = f"{_named(both)}: {ours:.4f} / {theirs:.4f}"
    return _measured_row(target, most, ours / theirs, floor / theirs, against, both, strata)


def _family_row(target: str, rows: Sequence[Row]) -> Row:
    worst = max(rows, key=lambda row: _excess(row["auto"], row["best_rmse"]))
    share = sum(row["within"] for row in rows) / len(rows)
    size = "" if worst["k1"] is None else f" from {worst['k1']}"
    return _unknown(target, f"all of {len(rows)}") | {
        "reached": rounded(share),
        "met": YES if share == 1 else NO,
        "against": f"worst: {worst['family']}{size}, {worst['auto']:.4f} / "
        f"{worst['best_rmse']:.4f} ({worst['best']})",
        "pilots": str(sum(row["pilots"] for row in rows)),
    }


def _unknown(target: str, most: float | str) -> Row:
    return {
        "target": target,
        "at_most": most if isinstance(most, str) else f"{most:g}",
        "reached": None,
        "standard_error": None,
        "oracle": None,
        "met": UNKNOWN,
        "against": "",
        "pilots": "0",
    }


def _measured_row(
    target: str,
    most: float,
    value: float,
    floor: float,
    against: str,
    both: Paired,
    strata: Sequence[Stratum],
) -> Row:
    """Return the row of a target that was measured; refusals of the default fail it."""
    refused = sum(value is None for stratum in strata for value in stratum.errors.get(AUTO, ()))
    return _unknown(target, most) | {
        "reached": rounded(value),
        "oracle": rounded(floor),
        "met": YES if value <= most and not refused else NO,
        "against": against + (f"; auto refused {refused}" if refused else ""),
        "pilots": f"{both.n} of {both.wanted}",
    }


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of a printed table of targets."""
    names = ["target", "met", "at_most", "reached", "standard_error", "oracle", "pilots", "against"]
    columns = [
        "target for auto", "met", "at most", "reached", "s.e.", "oracle", "pilots", "against"
    ]  # fmt: skip
    return columns, [[_cell(row[name]) for name in names] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
