"""A check for probes that are compared with themselves: what was enrolled is also what is asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.checks.check_input import CheckInput, Floats
from headcount.pilot.pilot import Pilot
from headcount.support.words import percent, share_of

Flags = NDArray[np.bool_]

# Fewer copies than one in a hundred do little harm.
LEAST_SHARE = 0.01
# Scores that agree to so many digits of their range are the same.
DIGITS = 1e-6
# Scores are looked at of so many probes.
SAMPLE = 500
# Among scores: how many must be perfect, how many others it takes to see how they lie, what share
# of them must be distinct, and what share may lie in the last tenth of the way to the best.
FEWEST, OTHERS, DISTINCT, CROWD, TOP = 5, 20, 0.9, 0.01, 0.1
# Where the best rivals of most other probes score: those of a copy score there, too.
USUAL = (0.1, 0.9)


def self_matches(case: CheckInput) -> str | None:
    """Count the probes that have an exact copy of themselves among what they are compared with."""
    pilot = case.pilot
    alike = pilot.copies() if pilot.has_scores else None
    sign = "have a copy of themselves among the vectors of their own class"
    if alike is None:
        if not pilot.has_scores and pilot.listed_scores is None:
            return None
        alike = _perfect(pilot)
        sign = "score with their own class as only a thing compared with itself does"
    # What equals rows of several classes is no copy but a vector that says nothing.
    alike = alike & (pilot.ties == 0)
    n, n_probes = int(alike.sum()), pilot.n_probes
    if n < LEAST_SHARE * n_probes or n == 0:
        return None
    others = ""
    if n < n_probes:
        right = float(pilot.right[~alike].mean())
        others = f" (the others are right {percent(right)} of the time)"
    return (
        f"{share_of(n, n_probes, 'probes', sign)}, so that their being right says nothing about "
        f"new ones{others}; take them out of the probes, or their copies out of the gallery."
    )


def _perfect(pilot: Pilot) -> Flags:
    """Which true scores are the best there can be, with a gap to all others: distance 0, cosine 1.

    Probabilities, votes and capped scores reach their best value without being self-matches; but
    they are never negative (those against a class nearly never exactly 0), are few distinct values,
    others lie close to the best, or it is where rivals are weak that they reach it.
    """
    lists = pilot.listed_scores
    true = pilot.true_scores() if lists is None else lists[:, 0]
    listed = np.isfinite(true)
    best = 0.0 if true[listed].max(initial=-np.inf) <= DIGITS / 2 else 1.0
    below = np.where(listed, best - true, np.inf)
    chances = _may_be_chances(pilot, best)
    slack = 0.0 if chances else DIGITS * below[listed].max(initial=0.0)
    alike = np.abs(below) <= slack
    others = listed & ~alike
    none = np.zeros_like(alike)
    if np.count_nonzero(alike) < FEWEST or np.count_nonzero(others) < OTHERS:
        return none
    if below[others].min() < 0 or (best > 0 and chances):
        return none
    crowd = np.mean(below[others] < TOP * np.median(below[others]))
    if crowd > CROWD or not _distinct(below[others]):
        return none
    return alike if _usual(_rivals(pilot, alike), _rivals(pilot, others)) else none


def _may_be_chances(pilot: Pilot, best: float) -> bool:
    """Whether scores may be probabilities; of lists, the ends of which are cut, nobody knows."""
    return pilot.has_scores and bool(next(pilot.score_blocks(SAMPLE))[1].min() >= best - 1)


def _rivals(pilot: Pilot, chosen: Flags) -> Floats:
    """Scores of the best wrong class, for some of the chosen probes."""
    rows = np.flatnonzero(chosen)
    rows = rows[:: -(-len(rows) // SAMPLE)]
    if pilot.listed_scores is not None:
        return np.asarray(pilot.listed_scores[rows, 1])
    return pilot.keep_probes(rows).pieces(1, ()).top[:, 0]


def _usual(rivals: Floats, others: Floats) -> bool:
    """Whether rivals score as they do against other probes, and do not all score the same."""
    rivals, others = rivals[np.isfinite(rivals)], others[np.isfinite(others)]
    if len(rivals) == 0 or len(others) == 0:
        return False
    low, high = np.quantile(others, USUAL)
    # Of two copies, each may be the other's best rival, with the same score.
    return bool(low <= np.median(rivals) <= high) and _distinct(rivals, DISTINCT / 2)


def _distinct(values: Floats, least: float = DISTINCT) -> bool:
    return len(np.unique(values)) >= least * len(values)
