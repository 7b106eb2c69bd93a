"""A check for probes that are compared with themselves: what was enrolled is also what is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.checks.check_input import CheckInput, Floats, Ints
from headcount.counting import Embeddings, ScoreMatrix
from headcount.counting.tiles import row_blocks
from headcount.pilot.pilot import Pilot
from headcount.support.words import percent, share_of

Flags = NDArray[np.bool_]

# Fewer copies than one in a hundred do little harm.
LEAST_SHARE = 0.01
# Vectors that agree to so many digits are copies, once saved with fewer digits or rescaled.
ROUND_OFF = 1e-6
BLOCK = 4096
# Rows from which it is seen how often two vectors share a coordinate. Where unrelated ones never
# do, values are continuous, and equal vectors are copies. Else they are only where there are many
# coordinates and most of them differ between vectors of one class: codes of a few bits may well be
# equal without being copies.
SAMPLE = 500
MANY, SHARED = 16, 0.5
# Among scores: how many must be perfect, how many others it takes to see how they lie, what share
# of them must be distinct, and what share may lie in the last tenth of the way to the best.
FEWEST, OTHERS, DISTINCT, CROWD, TOP = 5, 20, 0.9, 0.01, 0.1
# Where the best rivals of most other probes score: those of a copy score there, too.
USUAL = (0.1, 0.9)


def self_matches(case: CheckInput) -> str | None:
    """Count the probes that have an exact copy of themselves among what they are compared with."""
    source = case.pilot._source
    if isinstance(source, Embeddings):
        alike = _copies(source)
        sign = "have a copy of themselves among the vectors of their own class"
    elif isinstance(source, ScoreMatrix) or case.pilot._listed is not None:
        alike = _perfect(case.pilot)
        sign = "score with their own class as only a thing compared with itself does"
    else:
        return None
    # What equals rows of several classes is no copy but a vector that says nothing.
    alike &= case.pilot.ties == 0
    n, n_probes = int(alike.sum()), case.pilot.n_probes
    if n < LEAST_SHARE * n_probes or n == 0:
        return None
    others = ""
    if n < n_probes:
        rest = float(case.pilot.right[~alike].mean())
        others = f" (the others are right {percent(rest)} of the time)"
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
    true = _true_scores(pilot)
    known = np.isfinite(true)  # what is in no list is not
    best = 0.0 if true[known].max(initial=-np.inf) <= ROUND_OFF / 2 else 1.0
    below = np.where(known, best - true, np.inf)
    chances = _may_be_chances(pilot, best)
    slack = 0.0 if chances else ROUND_OFF * below[known].max(initial=0.0)
    alike = np.abs(below) <= slack
    others = known & ~alike
    none = np.zeros_like(alike)
    if np.count_nonzero(alike) < FEWEST or np.count_nonzero(others) < OTHERS:
        return none
    if below[others].min() < 0 or (best > 0 and chances):
        return none
    crowd = np.mean(below[others] < TOP * np.median(below[others]))
    if crowd > CROWD or not _distinct(below[others]):
        return none
    return alike if _usual(_rivals(pilot, alike), _rivals(pilot, others)) else none


def _true_scores(pilot: Pilot) -> Floats:
    if isinstance(pilot._source, ScoreMatrix):
        return pilot._source.true_scores()
    assert pilot._listed is not None  # looked at only where there is one of the two
    return pilot._listed[:, 0]


def _may_be_chances(pilot: Pilot, best: float) -> bool:
    """Whether scores may be probabilities; of lists, the ends of which are cut, nobody knows."""
    return pilot.has_scores and bool(next(pilot.score_blocks(SAMPLE))[1].min() >= best - 1)


def _rivals(pilot: Pilot, chosen: Flags) -> Floats:
    """Scores of the best wrong class, for some of the chosen probes."""
    rows = np.flatnonzero(chosen)
    rows = rows[:: -(-len(rows) // SAMPLE)]
    if pilot._listed is not None:
        return np.asarray(pilot._listed[rows, 1])
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


def _copies(source: Embeddings) -> Flags:
    """Which probes equal a gallery row of their own class that is not the probe's own row.

    Rows are sorted by class and by one projection, in which copies become neighbours: one pass
    over all vectors, whatever the size of the classes.
    """
    rows = np.arange(source.n_probes) if source.rows is None else source.rows
    probe, size = _projected(source.probes, rows, source)
    enrolled, _ = _projected(source.gallery, np.arange(len(source.gallery)), source)
    owner = np.repeat(np.arange(source.n_classes), np.diff(source.start))
    order = np.lexsort((enrolled, owner))
    place = _among(owner[order], enrolled[order], source.true, probe)
    alike = np.zeros(source.n_probes, np.bool_)
    for step in (-2, -1, 0, 1):  # two on each side: one of them may be the probe itself
        row = order[np.clip(place + step, 0, len(order) - 1)]
        near = (np.abs(enrolled[row] - probe) <= ROUND_OFF * size) & (size > 0) & ~alike
        near &= (owner[row] == source.true) & (row != source.own)
        pairs = np.flatnonzero(near)
        for part in row_blocks(len(pairs), BLOCK):
            at = pairs[part]
            alike[at] = _same(source, source.probes[rows[at]], source.gallery[row[at]])
    return alike if alike.any() and _tells(source, rows, alike) else np.zeros_like(alike)


def _projected(
    vectors: NDArray[Any], rows: NDArray[np.intp], source: Embeddings
) -> tuple[Floats, Floats]:
    """Return one number for each vector, equal where vectors are, and the size of its terms."""
    rng = np.random.default_rng(0)
    direction = rng.uniform(0.5, 1.5, vectors.shape[1]) * rng.choice((-1, 1), vectors.shape[1])
    sums, sizes = np.empty((2, len(rows)))
    for part in row_blocks(len(rows), BLOCK):
        block = _scaled(vectors[rows[part]], source)
        sums[part], sizes[part] = block @ direction, np.abs(block) @ np.abs(direction)
    return sums, sizes


def _scaled(vectors: NDArray[Any], source: Embeddings) -> Floats:
    """Return vectors as they are compared: for cosine only their directions are."""
    block = np.asarray(vectors, dtype=np.float64)
    if source.similarity != "cosine":
        return block
    lengths = np.linalg.norm(block, axis=1)
    return np.asarray(block / np.where(lengths > 0, lengths, 1.0)[:, None])


def _among(owner: Ints, values: Floats, classes: Ints, wanted: Floats) -> NDArray[np.intp]:
    """Return where each (class, value) would stand among sorted ones."""
    whole = np.lexsort((np.concatenate([wanted, values]), np.concatenate([classes, owner])))
    before = np.cumsum(whole >= len(wanted))
    place = np.empty(len(whole), np.intp)
    place[whole] = before
    return place[: len(wanted)]


def _same(source: Embeddings, first: NDArray[Any], second: NDArray[Any]) -> Flags:
    one, two = _scaled(first, source), _scaled(second, source)
    apart = np.abs(one - two).max(axis=1)
    return np.asarray(apart <= ROUND_OFF * np.abs(one).max(axis=1))


def _tells(source: Embeddings, rows: NDArray[np.intp], alike: Flags) -> bool:
    """Whether equal vectors are copies, which coarse values make equal without that."""
    classes = np.arange(0, source.n_classes, -(-source.n_classes // SAMPLE))
    if _continuous(source.gallery[source.start[classes]]):
        return True
    probes = np.flatnonzero(~alike if not alike.all() else alike)
    probes = probes[:: -(-len(probes) // SAMPLE)]
    given, true = source.probes[rows[probes]], source.true[probes]
    kin = source.start[true]
    kin = kin + ((kin == source.own[probes]) & (np.diff(source.start)[true] > 1))
    if alike.all():  # then only other classes show how often values coincide
        kin = source.start[(true + 1) % source.n_classes]
    shared, n_dims = _shared(given, source.gallery[kin])
    return shared <= SHARED and n_dims >= MANY


def _continuous(vectors: NDArray[Any]) -> bool:
    """Whether no coordinate has the same value, other than zero, in two vectors."""
    values = np.sort(vectors, axis=0)
    return not ((values[1:] == values[:-1]) & (values[1:] != 0)).any()


def _shared(first: NDArray[Any], second: NDArray[Any]) -> tuple[float, float]:
    """Return the share of equal coordinates, and how many there are; zeros do not count."""
    there = (first != 0) | (second != 0)
    equal = (first == second) & there
    return float(equal.sum()) / max(1, int(there.sum())), float(there.sum(axis=1).mean())
