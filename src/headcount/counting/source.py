"""Where scores come from: the requests that every source answers, and the choice of a source.

A *source* holds the scores of every probe against every class, or knows how to make them, and
answers counting requests. `ScoreMatrix` reads a matrix (in memory or mapped from a file) once;
`Embeddings` computes scores tile by tile and never holds the matrix. Nothing outside this room
knows which of them it is.

A new kind of source is one file, with a class derived from `BlockSource`, and one line in a choice
below: the first line that takes what was given decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.counting.beats import Beats
from headcount.counting.embeddings import Embeddings
from headcount.counting.merged_classes import MergedClasses
from headcount.counting.score_matrix import ScoreMatrix
from headcount.counting.shifted_scores import ShiftedScores
from headcount.counting.summaries import Pieces
from headcount.counting.tiles import SIMILARITY_CODES
from headcount.support import validation

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SIMILARITIES = tuple(SIMILARITY_CODES)


class Source(Protocol):
    """Where a pilot's scores come from.

    Attributes
    ----------
    n_probes, n_classes : int
        How many probes and classes there are.
    true : ndarray of int64, shape (n_probes,)
        Class of each probe.
    round_off : float
        How far a score of `blocks` may lie from the one that is compared, relative to its size:
        its own, or the product of the lengths of both vectors for cosines (then one) and dot
        products. A score this close to the true one is exact, so that comparing scores of `blocks`
        gives the counts; only where integers pass 2**53 does it take `ordered_blocks`.
    """

    n_probes: int
    n_classes: int
    true: Ints
    round_off: float

    def count(self) -> tuple[Ints, Ints]:
        """Losses and ties of every probe; scores that are not finite are refused."""

    def measure(self, top: int, levels: Floats) -> tuple[Ints, Ints, Pieces]:
        """Losses, ties and pieces of every probe in one pass."""

    def beats(self, losses: Ints, ties: Ints) -> Beats:
        """Which classes beat or tie every probe."""

    def true_scores(self) -> Floats:
        """Scores of the true classes alone, higher is better."""

    def copies(self) -> Flags | None:
        """Which probes are also enrolled as another vector of their class; None without vectors."""

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Scores of all classes for successive blocks of probes, higher is better."""

    def ordered_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Blocks of numbers that stand to each other in each row exactly as the scores do."""

    def subset(self, rows: NDArray[np.intp], classes: NDArray[np.intp], true: Ints) -> Source:
        """Keep some probes and some classes, without copying scores; `true` are their classes."""


def source_of_scores(scores: Any, true: Ints, higher_is_better: bool) -> Source:
    """Choose the source for a matrix of scores, one row a probe and one column a class.

    There is one so far, which counts on the host: a tensor on another device is moved there here,
    and not before.

    Parameters
    ----------
    scores : array or tensor of shape (n_probes, n_classes)
        As `validation.as_table` returns it, on whatever device it lies.
    true : ndarray of int64, shape (n_probes,)
        Class of each probe.
    higher_is_better : bool
        False for distances.

    Examples
    --------
    >>> import numpy as np
    >>> source = source_of_scores(np.array([[3, 1, 4], [2, 2, 1]]), np.array([0, 1]), True)
    >>> [counts.tolist() for counts in source.count()]
    [[1, 0], [0, 1]]
    """
    return ScoreMatrix(validation.as_matrix(scores, "scores"), true, higher_is_better)


def source_of_embeddings(
    probes: Any, true: Ints, similarity: str, gallery: Any = None, owners: Ints | None = None
) -> Source:
    """Choose the source for probe vectors and enrolled (gallery) vectors.

    There is one so far, which counts on the host: tensors on another device are moved there here,
    and not before. Vectors that are not finite are refused.

    Parameters
    ----------
    probes : array or tensor of shape (n_rows, n_dimensions)
        As `validation.as_table` returns it, on whatever device it lies.
    true : ndarray of int64, shape (n_rows,)
        Class of each row of `probes`.
    similarity : {"euclidean", "cosine", "dot"}
        How vectors are compared.
    gallery : array or tensor of shape (n_gallery, n_dimensions), optional
        Enrolled vectors. Without them every row of `probes` is compared with all others (leave one
        out), and rows that are the only one of their class are no probes.
    owners : ndarray of int64, shape (n_gallery,)
        Class of each row of the gallery, numbered from 0 without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.array([[0.0], [1.0], [5.0]])
    >>> source = source_of_embeddings(vectors, np.array([0, 0, 1]), "euclidean")
    >>> source.n_probes, source.n_classes, source.true_scores().tolist()
    (2, 2, [-1.0, -1.0])
    """
    vectors = validation.as_matrix(probes, "probes")
    if gallery is None:
        return Embeddings.leaving_one_out(vectors, true, similarity)
    assert owners is not None  # whoever gives a gallery says whose rows they are
    enrolled = validation.as_matrix(gallery, "gallery")
    return Embeddings.enrolled(vectors, true, enrolled, owners, similarity)


def source_of_shifted_scores(source: Source, shifts: Floats) -> Source:
    """Choose the source for the scores of another one plus a number for each class.

    Parameters
    ----------
    source : Source
        Where the scores come from.
    shifts : ndarray of float64, shape (n_classes,)
        What is added for each class, where higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> plain = source_of_scores(np.array([[3, 1, 4], [2, 2, 1]]), np.array([0, 1]), True)
    >>> shifted = source_of_shifted_scores(plain, np.array([0.0, 0.5, -2.0]))
    >>> [counts.tolist() for counts in shifted.count()]
    [[0, 0], [0, 0]]
    """
    return ShiftedScores(source, shifts)


def source_of_merged_classes(source: Source, owners: Ints) -> Source:
    """Choose the source for the scores of another one, of which some classes are one.

    A merged class scores as the best of its classes does.

    Parameters
    ----------
    source : Source
        Where the scores come from.
    owners : ndarray of int64, shape (n_classes,)
        Which merged class each class belongs to, numbered from 0 without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> plain = source_of_scores(np.array([[3, 1, 4], [2, 2, 1]]), np.array([0, 1]), True)
    >>> merged = source_of_merged_classes(plain, np.array([0, 1, 1]))
    >>> [counts.tolist() for counts in merged.count()]
    [[1, 0], [0, 1]]
    """
    return MergedClasses(source, owners)
