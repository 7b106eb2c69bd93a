"""The choice of a source, and the requests that every source answers alike."""

from collections.abc import Iterator

import numpy as np
import pytest

import brute
from headcount import DataError
from headcount.counting import (
    SIMILARITIES,
    source_of_embeddings,
    source_of_merged_classes,
    source_of_scores,
    source_of_shifted_scores,
)
from headcount.counting.blocks import BlockSource

RNG = np.random.default_rng(31)
N_PROBES, N_CLASSES, N_DIMS = 60, 9, 3
LABELS = RNG.integers(0, N_CLASSES, N_PROBES)
VECTORS = RNG.integers(-3, 4, (N_PROBES, N_DIMS)).astype(np.float64)
GALLERY = RNG.integers(-3, 4, (N_CLASSES, N_DIMS)).astype(np.float64)
SCORES = VECTORS @ GALLERY.T  # whole numbers, full of ties


class OnlyBlocks(BlockSource):
    """Scores of which nothing is known but successive blocks: the fallback answers the rest."""

    def __init__(self, scores, true):
        super().__init__(true, scores.shape[1])
        self.scores = scores

    def blocks(self, rows: int | None = None) -> Iterator:
        rows = rows or 7
        for first in range(0, len(self.scores), rows):
            block = slice(first, min(first + rows, len(self.scores)))
            yield block, self.scores[block].astype(np.float64)

    def subset(self, rows, classes, true):
        return OnlyBlocks(self.scores[rows][:, classes], true)


def sources():
    yield "scores", source_of_scores(SCORES, LABELS, True), SCORES
    yield "distances", source_of_scores(-SCORES, LABELS, False), SCORES
    yield "by columns", source_of_scores(np.asfortranarray(SCORES), LABELS, True), SCORES
    yield "whole numbers", source_of_scores(SCORES.astype(np.int64), LABELS, True), SCORES
    yield "vectors", source_of_embeddings(VECTORS, LABELS, "dot", GALLERY, np.arange(9)), SCORES
    second = RNG.integers(-3, 4, (N_CLASSES, N_DIMS)).astype(np.float64)
    twice, owners = np.concatenate([GALLERY, second]), np.tile(np.arange(N_CLASSES), 2)
    best = np.maximum(SCORES, VECTORS @ second.T)
    yield "several rows", source_of_embeddings(VECTORS, LABELS, "dot", twice, owners), best
    shifts = np.arange(N_CLASSES) % 3 - 1.0
    plain = source_of_scores(SCORES, LABELS, True)
    yield "shifted", source_of_shifted_scores(plain, shifts), SCORES + shifts
    # Each class in two, of which the second is never the better one.
    halves = np.repeat(SCORES, 2, axis=1) - np.tile([0, 1], N_CLASSES)
    plain, owners = source_of_scores(halves, 2 * LABELS, True), np.repeat(np.arange(N_CLASSES), 2)
    yield "merged", source_of_merged_classes(plain, owners), SCORES
    yield "only blocks", OnlyBlocks(SCORES, LABELS), SCORES


@pytest.mark.parametrize(
    "source, scores", [pytest.param(*made[1:], id=made[0]) for made in sources()]
)
def test_every_source_answers_every_request_as_its_scores_say(source, scores):
    own = scores[np.arange(N_PROBES), LABELS][:, None]
    others = np.arange(N_CLASSES) != LABELS[:, None]
    lost, tied = (scores > own).sum(axis=1), ((scores == own) & others).sum(axis=1)
    assert lost.any() and tied.any()
    assert (source.n_probes, source.n_classes) == scores.shape
    assert source.true.tolist() == LABELS.tolist()
    losses, ties = source.count()
    assert losses.tolist() == lost.tolist() and ties.tolist() == tied.tolist()
    again, ties_again, pieces = source.measure(2, np.array([0.5]))
    assert again.tolist() == lost.tolist() and ties_again.tolist() == tied.tolist()
    assert pieces.true.tolist() == source.true_scores().tolist() == own[:, 0].tolist()
    impostors = np.where(others, scores, -np.inf)
    assert pieces.top.tolist() == np.sort(impostors, axis=1)[:, :-3:-1].tolist()
    beats = source.beats(losses, ties)
    listed = np.repeat(np.arange(N_PROBES), np.diff(beats.start)), beats.classes
    matrix = np.zeros(scores.shape, int)
    matrix[listed] = np.where(beats.tied, 1, 2)
    expected = np.where(scores > own, 2, (scores == own) & others)
    assert matrix.tolist() == expected.tolist()
    for blocks in (source.blocks(11), source.blocks(), source.ordered_blocks()):
        rows, values = zip(*blocks, strict=True)
        assert [part.start for part in rows[1:]] == [part.stop for part in rows[:-1]]
        assert np.concatenate(values).tolist() == scores.tolist()


@pytest.mark.parametrize(
    "source, scores", [pytest.param(*made[1:], id=made[0]) for made in sources()]
)
def test_a_subset_of_every_source_is_the_source_of_the_subset(source, scores):
    classes = np.array([7, 1, 4, 2])
    rows = np.flatnonzero(np.isin(LABELS, classes))[::-1]
    true = np.array([classes.tolist().index(label) for label in LABELS[rows]])
    fewer, expected = source.subset(rows, classes, true), scores[rows][:, classes]
    own = expected[np.arange(len(rows)), true][:, None]
    assert (fewer.n_probes, fewer.n_classes) == expected.shape
    assert fewer.count()[0].tolist() == (expected > own).sum(axis=1).tolist()
    assert np.concatenate([block for _, block in fewer.blocks()]).tolist() == expected.tolist()
    assert fewer.true_scores().tolist() == own[:, 0].tolist()
    alone = fewer.subset(np.array([2]), np.array([0, 3]), np.array([0]))
    assert next(alone.blocks())[1].tolist() == [expected[2, [0, 3]].tolist()]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_fallback_refuses_what_is_not_finite(value):
    scores = SCORES.copy()
    scores[17, 4] = scores[33, 0] = value
    with pytest.raises(DataError, match=f"2 of 60 rows hold NaN.*row 17, column 4 is {value}"):
        OnlyBlocks(scores, LABELS).count()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_blocks_of_embeddings_lie_within_their_round_off(similarity):
    rng = np.random.default_rng(32)
    gallery = 1e4 + rng.normal(size=(50, 200))
    probes = 1e4 + rng.normal(size=(30, 200))
    labels = np.arange(30)
    source = source_of_embeddings(probes, labels, similarity, gallery, np.arange(50))
    exact = np.array([[brute.score(x, g, similarity) for g in gallery] for x in probes])
    size = np.abs(exact) if similarity == "euclidean" else np.ones_like(exact)
    if similarity == "dot":
        size = np.linalg.norm(probes, axis=1)[:, None] * np.linalg.norm(gallery, axis=1)
    if similarity == "euclidean":
        exact, size = -np.sqrt(-exact), np.sqrt(size)
    scores = np.concatenate([block for _, block in source.blocks()])
    assert 0 < source.round_off < 1e-12
    assert (np.abs(scores - exact) <= source.round_off * size).all()
    assert source.true_scores().tolist() == exact[labels, labels].tolist()


@pytest.mark.parametrize("dtype, exact", [("i4", True), ("i8", False), ("u8", False), ("f8", True)])
def test_only_integers_of_64_bits_are_rounded(dtype, exact):
    """Neighbours past 2**53 are one number in float64; their order must survive."""
    first = 2**60 if not exact else 2**20
    scores = np.array([[0, 2, 1], [1, 0, 2]], dtype) + np.array(first, dtype)
    source = source_of_scores(scores, np.array([0, 1]), True)
    assert (source.round_off == 0) == exact
    _, blocks = next(source.blocks())
    off = np.abs(blocks.astype(object).astype(np.int64) - scores.astype(np.int64))
    assert (off <= source.round_off * float(first) * 1.001).all()
    ((_, ordered),) = source.ordered_blocks()
    assert np.argsort(ordered, axis=1).tolist() == [[0, 2, 1], [1, 0, 2]]
    assert source.count()[0].tolist() == [2, 2]
    down = source_of_scores(scores, np.array([0, 1]), False)
    assert np.argsort(next(down.ordered_blocks())[1], axis=1).tolist() == [[1, 2, 0], [2, 0, 1]]
    assert down.count()[0].tolist() == [0, 0]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_subset_of_vectors_knows_which_rows_are_the_probes_themselves(similarity):
    """With the last class and without it, once and twice, and where no row is a probe."""
    rng = np.random.default_rng(33)
    vectors, owners = rng.integers(-3, 4, (40, 3)), np.arange(40) % 8
    probes, labels = rng.integers(-3, 4, (30, 3)), rng.integers(0, 8, 30)
    whole = (
        (source_of_embeddings(vectors, owners, similarity), vectors, owners, True),
        (source_of_embeddings(probes, labels, similarity, vectors, owners), probes, labels, False),
    )
    for source, rows, true, leave_one_out in whole:
        for classes in ([7, 1, 4], [0, 2], [6, 7]):
            inside, kept = np.isin(true, classes), np.isin(owners, classes)
            numbers = {c: place for place, c in enumerate(classes)}
            gallery = rows if leave_one_out else vectors
            expected = brute.count_embeddings(
                rows[inside], [numbers[c] for c in true[inside]],
                gallery[kept], [numbers[c] for c in owners[kept]], similarity, leave_one_out,
            )  # fmt: skip
            once = source.subset(
                np.flatnonzero(inside),
                np.array(classes),
                np.array([numbers[c] for c in true[inside]]),
            )
            twice = once.subset(np.arange(once.n_probes), np.arange(len(classes)), once.true)
            for part in (once, twice):
                found = zip(*(counts.tolist() for counts in part.count()), strict=True)
                assert list(found) == expected


@pytest.mark.parametrize("n_bytes", [1, 8 * 9 * 4, 10**6])
@pytest.mark.parametrize(
    "source, scores", [pytest.param(*made[1:], id=made[0]) for made in sources()]
)
def test_blocks_may_be_of_any_size(monkeypatch, source, scores, n_bytes):
    for room in ("blocks", "embeddings", "score_matrix"):
        monkeypatch.setattr(f"headcount.counting.{room}.BLOCK_BYTES", n_bytes)
    own = scores[np.arange(N_PROBES), LABELS][:, None]
    lost = (scores > own).sum(axis=1).tolist()
    assert source.count()[0].tolist() == lost
    losses, ties, pieces = source.measure(9, np.array([0.0, 1.0]))
    assert losses.tolist() == lost
    assert pieces.top.shape == (N_PROBES, N_CLASSES - 1)
    assert pieces.true.tolist() == source.true_scores().tolist() == own[:, 0].tolist()
    assert source.beats(losses, ties).wins().tolist() == (scores > own).sum(axis=0).tolist()
    assert np.concatenate([block for _, block in source.blocks()]).tolist() == scores.tolist()


def test_shifted_scores_are_as_they_are_compared():
    plain = source_of_scores(SCORES, LABELS, True)
    assert source_of_shifted_scores(plain, np.ones(N_CLASSES)).round_off == 0


def test_a_fallback_row_with_a_single_flaw_is_shown_as_it_is():
    scores = SCORES.copy()
    scores[5, 8] = np.inf
    with pytest.raises(DataError, match=r"1 of 60 rows holds NaN.*row 5, column 8 is inf"):
        OnlyBlocks(scores, LABELS).count()
