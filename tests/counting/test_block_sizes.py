"""How much is looked at together: so many bytes, so many rows, and every core has enough to do."""

import numpy as np
import pytest

from headcount.counting import source_of_embeddings, source_of_scores
from headcount.counting.tiles import Tiles
from headcount.support.workers import watching

CLASSES = 9


@pytest.fixture
def block_bytes(monkeypatch):
    """Set how many bytes a block may take, on a machine with so many cores."""

    def choose(n_bytes, cores=1):
        for module in ("blocks", "embeddings", "score_matrix"):
            monkeypatch.setattr(f"headcount.counting.{module}.BLOCK_BYTES", n_bytes)
        for module in ("embeddings", "score_matrix"):
            monkeypatch.setattr(f"headcount.counting.{module}.thread_count", lambda: cores)

    return choose


def pieces_of(task, work):
    """How many pieces a task is said to have."""
    totals = {}
    with watching(lambda name, done, total: totals.update({name: total})):
        work()
    return totals[task]


def vectors(n_probes, n_rows=CLASSES):
    rng = np.random.default_rng(0)
    gallery, labels = rng.normal(size=(n_rows, 2)), np.arange(n_probes) % CLASSES
    probes = rng.normal(size=(n_probes, 2))
    owners = np.arange(n_rows) % CLASSES
    return source_of_embeddings(probes, labels, "dot", gallery, owners)


def matrix(n_probes, order="C", n_classes=CLASSES, dtype=np.float32):
    scores = np.random.default_rng(0).normal(size=(n_probes, n_classes)).astype(dtype, order=order)
    return source_of_scores(scores, np.arange(n_probes) % n_classes, True)


@pytest.mark.parametrize(
    "n_probes, cores, n_bytes, pieces",
    [
        (400, 1, 10**9, 4), (1000, 2, 10**9, 8), (401, 1, 10**9, 4),  # four pieces a core
        (192, 1, 10**9, 3), (193, 1, 10**9, 4),  # of 64 rows or more
        (4608, 1, 10**9, 9), (4609, 1, 10**9, 10),  # and 512 at most
        (100, 1, 4 * CLASSES * 20, 5),  # scores of a tile are float32
        (160, 1, 1, 10), (161, 1, 1, 11),  # but never fewer than 16 rows
    ],
)  # fmt: skip
def test_vectors_are_counted_in_pieces_that_fit_and_keep_all_cores_busy(
    block_bytes, n_probes, cores, n_bytes, pieces
):
    block_bytes(n_bytes, cores)
    source = vectors(n_probes)
    assert pieces_of("Counting", source.count) == pieces
    losses, ties = source.count()
    assert pieces_of("Listing rivals", lambda: source.beats(losses, ties)) == pieces


@pytest.mark.parametrize("n_probes, pieces", [(512, 1), (513, 2), (1024, 2), (1025, 3)])
def test_true_scores_of_vectors_are_read_512_rows_at_a_time(n_probes, pieces):
    assert pieces_of("Reading true scores", vectors(n_probes).true_scores) == pieces


@pytest.mark.parametrize("n_rows, pieces", [(4096, 1), (4097, 2), (8192, 2)])
def test_a_gallery_is_prepared_4096_rows_at_a_time(n_rows, pieces):
    assert pieces_of("Preparing the gallery", vectors(20, n_rows).count) == pieces


@pytest.mark.parametrize("cores", [1, 2])
def test_measuring_holds_scores_and_what_they_are_sorted_from(block_bytes, cores):
    """Two numbers of float64 for each score of a matrix of vectors, on each core."""
    block_bytes(16 * CLASSES * cores * 100, cores)
    levels = np.array([0.5])
    assert pieces_of("Measuring", lambda: vectors(2000).measure(2, levels)) == 20
    block_bytes(4 * CLASSES * 2 * cores * 100, cores)
    assert pieces_of("Measuring", lambda: matrix(2000).measure(2, levels)) == 20


@pytest.mark.parametrize("source", [vectors(2000), matrix(2000), matrix(2000, dtype=np.int64)])
def test_blocks_hold_so_many_bytes(block_bytes, source):
    block_bytes(8 * CLASSES * 100)
    for blocks in (source.blocks(), source.ordered_blocks()):
        assert [rows.stop for rows, _ in blocks] == list(range(100, 2001, 100))


@pytest.mark.parametrize("n_probes, pieces", [(4096, 2), (4097, 3)])
def test_a_matrix_is_counted_2048_rows_at_a_time(n_probes, pieces):
    assert pieces_of("Counting", matrix(n_probes).count) == pieces


@pytest.mark.parametrize("n_probes, pieces", [(8192, 1), (8193, 2), (16384, 2)])
def test_a_matrix_by_columns_is_counted_8192_rows_at_a_time(n_probes, pieces):
    assert pieces_of("Counting", matrix(n_probes, "F").count) == pieces


def test_wide_rows_of_a_matrix_are_counted_and_listed_few_at_a_time(block_bytes):
    block_bytes(8 * 4 * CLASSES * 20)
    source = matrix(400)
    assert pieces_of("Counting", source.count) == 20
    losses, ties = source.count()
    assert pieces_of("Listing rivals", lambda: source.beats(losses, ties)) == 20


def test_a_block_takes_64_mib_unless_said_otherwise():
    scores = np.broadcast_to(np.int8(0), (100, 2**17))  # a row of them as float64 takes one
    source = source_of_scores(scores, np.zeros(100, np.int64), True)
    assert next(source.blocks())[0] == slice(0, 64)


def test_a_tile_has_1024_gallery_rows_unless_classes_have_more():
    assert Tiles(singles(2048)).columns == [(0, 1024), (1024, 2048)]
    assert Tiles(singles(1025)).columns == [(0, 1024), (1024, 1025)]


def singles(n_rows):
    """One gallery row a class."""
    gallery = np.random.default_rng(0).normal(size=(n_rows, 2))
    return source_of_embeddings(gallery[:3], np.arange(3), "dot", gallery, np.arange(n_rows))
