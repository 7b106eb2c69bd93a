"""Real sets extended to several relevant documents with grades, and pilots of them.

A query has G graded documents, all of them relevant, among all documents of its set:

- *definitions*: a query is another dictionary's definition, a document the gallery's definition of
  a headword. That of the true headword has grade 2, the three nearest to it have grade 1.
- *omniglot_hog*: a query is a drawing, a document the template of a character. That of the true
  character has grade 2, the three templates nearest to it have grade 1.
- *omniglot_pixels*: a query is the template of a character, a document one of four drawings of each
  character. Of the four of the true character the first two have grade 2, the others grade 1.

How near two documents are is measured as the set's queries and documents are compared. A pilot
holds random queries, all their graded documents, and random other documents up to K in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headcount.pilot.pilot import Pilot
from headcount.pilot.ranking import Ranking

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEIGHBOURS = 3  # of grade 1, beside the true one
DRAWINGS = 4  # of each character, half of them of grade 2
BLOCK = 512  # queries whose scores are computed at once
DECIMALS = 9  # of scores: the same documents have the same score, whatever is beside them
FILES = {
    "definitions": "definitions_tfidf.npz",
    "omniglot_hog": "omniglot_hog.npz",
    "omniglot_pixels": "omniglot_pixels.npz",
}


@dataclass(frozen=True)
class GradedSet:
    """Queries, documents, and the graded documents of each query.

    Attributes
    ----------
    queries, documents : ndarray
        Vectors.
    graded : ndarray of int (queries, G)
        Places of the graded documents.
    grades : ndarray (queries, G)
        Their grades.
    compare : callable
        Scores of queries (rows) and documents (columns), higher is better.
    """

    queries: Floats
    documents: Floats
    graded: Ints
    grades: Floats
    compare: Callable[[Floats, Floats], Floats]

    def scores(self, queries: Ints, documents: Ints | slice = slice(None)) -> Floats:
        """Return the scores of some queries (rows) with some documents (columns)."""
        return self.compare(self.queries[queries], self.documents[documents])

    def ranking(self) -> Ranking:
        """Return where the graded documents of all queries are among all documents."""
        blocks = [
            graded_places(self.scores(rows), self.graded[rows])
            for rows in _blocks(len(self.queries))
        ]
        marks, losses, ties = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return ranking_of(marks, losses, ties, self.grades, len(self.documents))


@dataclass(frozen=True)
class GradedPilot:
    """A pilot of queries with several graded documents, and the scores behind it.

    Attributes
    ----------
    pilot : Pilot
        What methods may see.
    queries : ndarray of int
        Which queries of the set it has.
    marks : ndarray (queries, G)
        Scores of graded documents, from the best, in the order of the pilot's rows.
    rivals : ndarray (queries, K - G)
        Scores of the others.
    """

    pilot: Pilot
    queries: Ints
    marks: Floats
    rivals: Floats


def read(name: str, path: Path) -> GradedSet:
    """Return one of the sets of `FILES`."""
    with np.load(path, allow_pickle=False) as whole:
        gallery, probes = (whole[part].astype(np.float64) for part in ("gallery", "probes"))
        labels = whole["probe_labels"].astype(np.int64)
    compare = cosine if name == "definitions" else closeness
    if name == "omniglot_pixels":
        return drawings_of(gallery, probes, labels, compare)
    return with_neighbours(gallery, probes, labels, compare)


def with_neighbours(
    gallery: Floats, probes: Floats, labels: Ints, compare: Callable[[Floats, Floats], Floats]
) -> GradedSet:
    """Return the set in which the documents nearest to the true one are relevant, too."""
    nearest = []
    for rows in _blocks(len(gallery)):
        near = compare(gallery[rows], gallery)
        near[np.arange(len(rows)), rows] = -np.inf
        nearest.append(np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS])
    graded = np.column_stack([np.arange(len(gallery)), np.concatenate(nearest)])[labels]
    grades = np.tile([2.0, *NEIGHBOURS * [1.0]], (len(labels), 1))
    return GradedSet(probes, gallery, graded, grades, compare)


def drawings_of(
    gallery: Floats, probes: Floats, labels: Ints, compare: Callable[[Floats, Floats], Floats]
) -> GradedSet:
    """Return the set in which templates are looked up among the first drawings of each class."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(len(gallery)))
    rows = order[starts[:, None] + np.arange(DRAWINGS)]
    graded = np.arange(rows.size).reshape(rows.shape)
    grades = np.tile(np.repeat([2.0, 1.0], DRAWINGS // 2), (len(gallery), 1))
    return GradedSet(gallery, probes[rows.ravel()], graded, grades, compare)


def draw_pilot(
    whole: GradedSet, n_queries: int, n_documents: int, rng: np.random.Generator
) -> GradedPilot:
    """Return random queries, all their graded documents, and random others up to so many in all."""
    queries = np.sort(rng.choice(len(whole.queries), n_queries, replace=False))
    graded = np.unique(whole.graded[queries])
    left = np.setdiff1d(np.arange(len(whole.documents)), graded)
    others = rng.choice(left, n_documents - len(graded), replace=False)
    documents = np.sort(np.concatenate([graded, others]))
    scores = whole.scores(queries, documents)
    places = np.searchsorted(documents, whole.graded[queries])
    marks, losses, ties = graded_places(scores, places)
    ranking = ranking_of(marks, losses, ties, whole.grades[queries], n_documents)
    is_rival = np.ones(scores.shape, bool)
    np.put_along_axis(is_rival, places, False, axis=1)
    return GradedPilot(
        pilot=Pilot.from_losses([0], 2).ranked(ranking),
        queries=queries,
        marks=-np.sort(-marks, axis=1),
        rivals=scores[is_rival].reshape(n_queries, -1),
    )


# -- ranks -----------------------------------------------------------------------------------------


def graded_places(scores: Floats, graded: Ints) -> tuple[Floats, Ints, Ints]:
    """Return scores of graded documents, and how many rivals score above them and as they do.

    Examples
    --------
    >>> graded_places(np.array([[3.0, 2.0, 1.0, 2.0]]), np.array([[1, 2]]))
    (array([[2., 1.]]), array([[1, 2]]), array([[1, 0]]))
    """
    marks = np.take_along_axis(scores, graded, axis=1)
    above = (scores[:, None] > marks[:, :, None]).sum(axis=2)
    equal = (scores[:, None] == marks[:, :, None]).sum(axis=2)
    above -= (marks[:, None] > marks[:, :, None]).sum(axis=2)
    equal -= (marks[:, None] == marks[:, :, None]).sum(axis=2)
    return marks, above, equal


def ranking_of(
    marks: Floats, losses: Ints, ties: Ints, grades: Floats, n_documents: int
) -> Ranking:
    """Return the ranking of queries (rows) that have as many graded documents (columns) each.

    It is what `Pilot.from_run` makes of the whole run, where all graded documents are relevant.
    """
    n_queries, n_graded = marks.shape
    order = np.argsort(-marks, axis=1, kind="stable")
    marks, losses, ties, gains = (
        np.take_along_axis(values, order, axis=1) for values in (marks, losses, ties, grades)
    )
    same = marks[:, :, None] == marks[:, None]  # blocks of peers
    ahead = np.tril(same, -1).sum(axis=2)
    above = np.broadcast_to(np.arange(n_graded), marks.shape)
    none = np.zeros(marks.shape, np.int64)
    columns = {
        "query": np.arange(n_queries)[:, None] + none,
        "losses": losses,
        "ties": ties,
        "possible_ties": none,
        "place": ahead,
        "peers": same.sum(axis=2),
        "above": above,
        "always_ties": none,
        "missing": none.astype(bool),
        "gain": (same * gains[:, None]).sum(axis=2) / same.sum(axis=2),
        "ideal": -np.sort(-grades, axis=1),
        "relevant": none + 1.0,
        "relevant_above": above.astype(np.float64),
        "first": (above == 0).astype(np.float64),
    }
    sizes = np.full(n_queries, n_graded)
    return Ranking(
        n_documents=n_documents,
        **{name: np.array(values).ravel() for name, values in columns.items()},
        n_graded=sizes.copy(),
        n_relevant=sizes.copy(),
        n_always=0 * sizes,
        owner=np.arange(n_queries),
        weights=np.full(n_queries, 1 / n_queries),
    )


# -- scores ----------------------------------------------------------------------------------------


def cosine(queries: Floats, documents: Floats) -> Floats:
    """Return cosines."""
    sides = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (queries, documents)]
    return np.round(sides[0] @ sides[1].T, DECIMALS)


def closeness(queries: Floats, documents: Floats) -> Floats:
    """Return distances below zero."""
    squares = (queries**2).sum(axis=1)[:, None] + (documents**2).sum(axis=1)
    return -np.round(np.sqrt(np.maximum(squares - 2 * queries @ documents.T, 0.0)), DECIMALS)


SIMILARITIES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "cosine": cosine,
    "euclidean": closeness,
}


def _blocks(n_rows: int) -> Iterator[Ints]:
    for start in range(0, n_rows, BLOCK):
        yield np.arange(start, min(start + BLOCK, n_rows))
