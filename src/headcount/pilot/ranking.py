r"""Ranking: where all graded documents of each query are, not only the best relevant one.

A query has G documents of some grade among K, of which R are relevant. A others may be present at
every size (`always`). The n = K - G - A that are left are its rivals: of these there will be more,
and among k documents it meets k - G - A of them. So documents that join hold no relevant ones. Each
graded document is a probe with a mark of its own, its score. Above the mark are l rivals, and a
others that are there at any size.

A probe of a class, of whose rivals some are present at every size, is such a query: its one graded
document is its own class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.support import validation
from headcount.support.serialise import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Run = Mapping[str, Mapping[str, float]]

COUNTS = (
    "query", "losses", "ties", "possible_ties", "place", "peers", "above", "always_ties",
)  # fmt: skip
SHARES = ("gain", "ideal", "relevant", "relevant_above", "first")
SIZES = ("n_graded", "n_relevant", "n_always", "owner")


@dataclass(frozen=True)
class Ranking:
    """A row for each graded document, in the order of queries and of ranks.

    Graded documents with the same score are peers, and their order is by chance: what belongs to
    one of them is the mean over all their orders.

    Attributes
    ----------
    n_documents : int
        K, of the collection.
    query : ndarray of int
        Number of its query.
    losses, ties : ndarray of int
        Rivals that score above it, and as it does.
    possible_ties : ndarray of int
        Rivals that may score as it does, because the list ended there, as in `Pilot`.
    place, peers : ndarray of int
        Its place, from 0, among its peers, and how many there are of them, with itself.
    above : ndarray of int
        Graded documents of its query, and those that are always present, that are ahead of it.
    always_ties : ndarray of int
        Those that are always present and score as it does.
    missing : ndarray of bool
        The list ended before it: losses and `above` are only known from below.
    gain, ideal : ndarray of float
        Its grade, and the grade that the best order would have in its place.
    relevant : ndarray of float
        Whether it is relevant.
    relevant_above : ndarray of float
        How many relevant documents are ahead of it, if it is relevant.
    first : ndarray of float
        Whether it is the first relevant one.
    n_graded, n_relevant, n_always : ndarray of int (queries,)
        G, R and A of each query.
    owner : ndarray of int (queries,)
        What was drawn with the query: itself, or the class that it is a probe of.
    weights : ndarray of float (queries,)
        What each query weighs; they sum to one.
    names : tuple of str
        Of owners: owner i is called ``names[i]``. Not written to files.
    """

    n_documents: int
    query: Ints
    losses: Ints
    ties: Ints
    possible_ties: Ints
    place: Ints
    peers: Ints
    above: Ints
    always_ties: Ints
    missing: Bools
    gain: Floats
    ideal: Floats
    relevant: Floats
    relevant_above: Floats
    first: Floats
    n_graded: Ints
    n_relevant: Ints
    n_always: Ints
    owner: Ints
    weights: Floats
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if isinstance(column, np.ndarray):
                column.flags.writeable = False

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.n_graded)

    @property
    def absent(self) -> Ints:
        """G + A of each row's query: documents that are no rivals."""
        return (self.n_graded + self.n_always)[self.query]

    @property
    def n_rivals(self) -> Ints:
        """How many rivals the query of each row has."""
        return self.n_documents - self.absent

    def of_queries(self, chosen: Bools) -> Ranking:
        """Return the ranking of some of the queries."""
        rows = chosen[self.query]
        columns = {name: getattr(self, name)[rows] for name in (*COUNTS, *SHARES, "missing")} | {
            name: getattr(self, name)[chosen] for name in SIZES
        }
        columns["query"] = (np.cumsum(chosen) - 1)[columns["query"]]
        weights = self.weights[chosen]
        return replace(self, **columns, weights=weights / weights.sum())

    def among(self, n_documents: int, losses: Ints, ties: Ints, missing: Bools) -> Ranking:
        """Return the ranking in a smaller collection, which left so many losses and ties."""
        return replace(self, n_documents=n_documents, losses=losses, ties=ties, missing=missing)

    @property
    def owners(self) -> Ints:
        """What was drawn, each once, in the order of names."""
        owners = np.unique(self.owner)
        if not self.names:
            return owners
        return owners[np.argsort([self.names[owner] for owner in owners], kind="stable")]

    def error_of_mean(self, of_queries: Floats) -> Floats:
        """Return the standard error of means, from what each query adds to them (queries, means).

        Queries that were drawn together count as one.
        """
        gaps = of_queries - self.weights[:, None] * of_queries.sum(axis=0)
        together = np.array([np.bincount(self.owner, column) for column in gaps.T])
        n = len(np.unique(self.owner))
        return np.asarray(np.sqrt(n / max(n - 1, 1) * np.square(together).sum(axis=1)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            field.name: value.tolist() if isinstance(value, np.ndarray) else value
            for field in fields(self)
            for value in (getattr(self, field.name),)
            if field.name != "names"
        }


def rank_documents(
    run: Run,
    grades: Run,
    n_documents: int,
    *,
    relevant_from: float = 1.0,
    always: Mapping[str, Iterable[str]] | None = None,
) -> Ranking:
    """Return where the graded documents of each query of a run are.

    Parameters
    ----------
    run : mapping of query to mapping of document to score
        Each query needs a relevant document.
    grades : mapping of query to mapping of document to grade
        Of each query of the run; documents without a grade above zero are rivals.
    n_documents : int
        How many documents the collection holds.
    relevant_from : float
        The least grade of a relevant document.
    always : mapping of query to documents, optional
        Those that are present at every size. Graded ones are anyway.

    Examples
    --------
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> made = rank_documents(run, {"q": {"b": 1, "d": 1}}, 10)
    >>> made.losses.tolist(), made.above.tolist(), made.missing.tolist()
    ([1, 2], [0, 1], [False, True])
    """
    rows: list[dict[str, Any]] = []
    sizes, documents = [], set[str]()
    for number, query in enumerate(sorted(run)):
        graded = {d: float(g) for d, g in grades[query].items() if g > 0}
        staying = set(always.get(query, ()) if always else ()) - graded.keys()
        relevant = sum(grade >= relevant_from for grade in graded.values())
        named = run[query].keys() | graded.keys() | staying
        documents |= named
        sizes.append((len(graded), relevant, len(staying), number))
        beyond = n_documents - len(named)
        rows += _rows_of_query(number, run[query], graded, staying, relevant_from, beyond)
    if len(documents) > n_documents:
        raise DataError(
            f"the run and the qrels name {len(documents):,} documents, but n_classes is "
            f"{n_documents:,}; give the size of the whole collection."
        )
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=kind)
        for names, kind in ((COUNTS, np.int64), (SHARES, np.float64), (("missing",), np.bool_))
        for name in names
    }
    columns |= dict(zip(SIZES, np.array(sizes, dtype=np.int64).T.copy(), strict=True))
    return Ranking(
        n_documents=n_documents,
        weights=np.full(len(sizes), 1 / len(sizes)),
        names=tuple(sorted(run)),
        **columns,
    )


def rank_classes(
    n_classes: int,
    losses: tuple[Ints, Ints],
    ties: tuple[Ints, Ints],
    n_always: Ints,
    labels: Ints,
    weights: Floats,
    names: NDArray[Any],
) -> Ranking:
    """Return where the true class of each probe is, where some classes are always present.

    Parameters
    ----------
    n_classes : int
        How many classes there are.
    losses, ties : pair of ndarray
        Of each probe: to classes that are always present, and to the others.
    n_always : ndarray
        How many are always present, without the probe's own.
    labels : ndarray
        True class of each probe.
    weights : ndarray
        What each probe weighs.
    names : ndarray
        Of the classes.
    """
    n = len(labels)
    nought, one, share = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n)
    return Ranking(
        n_documents=n_classes,
        query=np.arange(n),
        losses=losses[1],
        ties=ties[1],
        possible_ties=nought,
        place=nought,
        peers=one,
        above=losses[0],
        always_ties=ties[0],
        missing=np.zeros(n, np.bool_),
        gain=share,
        ideal=share,
        relevant=share,
        relevant_above=np.zeros(n),
        first=share,
        n_graded=one,
        n_relevant=one,
        n_always=n_always,
        owner=labels,
        weights=weights,
        names=tuple(map(str, names.tolist())),
    )


def _rows_of_query(
    number: int,
    scores: Mapping[str, float],
    graded: Mapping[str, float],
    staying: set[str],
    relevant_from: float,
    beyond: int,
) -> list[dict[str, Any]]:
    """Return the rows of one query, block by block of graded documents with the same score."""
    rivals = np.sort([s for d, s in scores.items() if d not in graded and d not in staying])
    stay = np.sort([scores[d] for d in staying if d in scores])
    last = min(scores.values())  # beyond the list nothing scores above its last entry
    blocks: dict[float, list[float]] = {}
    for document, grade in graded.items():
        blocks.setdefault(scores.get(document, -np.inf), []).append(grade)
    ideal = iter(sorted(graded.values(), reverse=True))
    rows, ahead, relevant_ahead = [], 0, 0
    for mark in sorted(blocks, reverse=True):
        block = blocks[mark]
        size, relevant = len(block), sum(grade >= relevant_from for grade in block)
        losses = len(rivals) - int(np.searchsorted(rivals, mark, side="right"))
        ties = len(rivals) - losses - int(np.searchsorted(rivals, mark, side="left"))
        always = len(stay) - int(np.searchsorted(stay, mark, side="right"))
        always_ties = len(stay) - always - int(np.searchsorted(stay, mark, side="left"))
        at_end = int((rivals == last).sum()) if mark == -np.inf else beyond * (mark == last)
        for place in range(size):
            others = place * (relevant - 1) / (size - 1) if size > 1 else 0.0
            first = comb(size - 1 - place, relevant - 1) / comb(size, relevant) if relevant else 0.0
            rows.append(
                {
                    "query": number,
                    "losses": losses,
                    "ties": ties,
                    "possible_ties": at_end,
                    "place": place,
                    "peers": size,
                    "above": ahead + place + always,
                    "always_ties": always_ties,
                    "missing": mark == -np.inf,
                    "gain": float(np.mean(block)),
                    "ideal": next(ideal),
                    "relevant": relevant / size,
                    "relevant_above": relevant_ahead + max(others, 0.0),
                    "first": 0.0 if relevant_ahead else first,
                }
            )
        ahead, relevant_ahead = ahead + size, relevant_ahead + relevant
    return rows


def read_ranking(record: Record) -> Ranking:
    """Return what `Ranking.to_dict` wrote; refuse what it cannot have written."""
    columns: dict[str, Any] = {
        name: validation.as_counts(record[name], name) for name in (*COUNTS, *SIZES)
    }
    columns |= {name: np.asarray(record[name], dtype=np.float64) for name in SHARES}
    columns["missing"] = validation.as_flags(record["missing"], "missing")
    columns["weights"] = record.shares("weights")
    ranking = Ranking(n_documents=record.whole("n_documents"), **columns)
    if not _fits_together(ranking):
        raise DataError("the graded documents of this forecast do not fit together.")
    return ranking


def _fits_together(ranking: Ranking) -> bool:
    rows = [getattr(ranking, name) for name in (*COUNTS, *SHARES, "missing")]
    queries = [getattr(ranking, name) for name in (*SIZES, "weights")]
    if len({column.shape for column in rows}) > 1 or len({one.shape for one in queries}) > 1:
        return False
    counts = np.bincount(ranking.query, minlength=ranking.n_queries)
    shares = np.array([getattr(ranking, name) for name in SHARES])
    return bool(
        np.array_equal(counts, ranking.n_graded)
        and (ranking.n_relevant > 0).all()
        and (np.isfinite(shares) & (shares >= 0)).all()
        and (ranking.losses + ranking.ties <= ranking.n_rivals).all()
        and (ranking.above + ranking.always_ties < ranking.absent).all()
        and abs(float(ranking.weights.sum()) - 1) < 1e-6
        and (ranking.place < ranking.peers).all()
    )
