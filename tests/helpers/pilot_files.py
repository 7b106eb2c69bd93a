"""What the tests of loading share: small pilots counted by hand, and ways to write them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ["ant", "bee", "cat"]
SCORES = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.8], [0.7, 0.5, 0.1], [0.1, 0.4, 0.4]])
LABELS = np.array([0, 1, 2, 2])
TRUE_NAMES = ["ant", "bee", "cat", "cat"]
# Read off the matrix above by hand: who scores above, and equal to, the true class.
COUNTS = ([0, 0, 2, 0], [0, 1, 0, 1])
COUNTS_AS_DISTANCES = ([2, 1, 0, 1], [0, 1, 0, 1])

# Rows on a line. The two of each class are 4 apart; those at 4 and 5 are nearer to each other.
LINE = np.array([[0.0], [4.0], [5.0], [9.0], [20.0]])
LINE_LABELS = ["a", "a", "b", "b", "c"]
LINE_COUNTS = ([0, 1, 1, 0], [0, 0, 0, 0])

# One probe of class 0 that meets 0, 1 or 2 better rivals, depending on the similarity.
PROBE = np.array([[2.0, 1.0]])
ENROLLED = np.array([[1.0, 0.0], [10.0, 10.0], [5.0, -1.0]])
LOSSES_BY_SIMILARITY = {"euclidean": [0], "cosine": [1], "dot": [2]}


def counts(pilot):
    return pilot.losses.tolist(), pilot.ties.tolist()


def count_by_hand(scores, labels):
    losses, ties = [], []
    for row, true in zip(scores, labels, strict=True):
        rivals = [value for column, value in enumerate(row) if column != true]
        losses.append(sum(value > row[true] for value in rivals))
        ties.append(sum(value == row[true] for value in rivals))
    return losses, ties


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_npz(path, **members):
    np.savez(path, **members)
    return path


def write_npy(path, values):
    np.save(path, np.asarray(values))
    return path


def write_parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path
