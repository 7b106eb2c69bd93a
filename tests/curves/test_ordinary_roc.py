import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from headcount import Pilot, UnsupportedError
from headcount.curves.ordinary_roc import class_averaged_roc
from headcount.curves.reversed_roc import reversed_roc
from headcount.support.workers import watching


def data_of(seed, n_probes=60, n_classes=8, n_values=None):
    """Scores with some signal, coarse where ties are wanted; the last class has no probes."""
    rng = np.random.default_rng(seed)
    labels = np.minimum(rng.geometric(0.3, n_probes) - 1, n_classes - 2)
    scores = rng.normal(size=(n_probes, n_classes))
    scores[np.arange(n_probes), labels] += 1
    return (scores if n_values is None else (n_values * scores).round()), labels


def scored(scores, labels):
    """A pilot of any scores: those worse than guessing are taken if the orientation is said."""
    return Pilot.from_scores(scores, labels, higher_is_better=True)


def by_definition(scores, labels, y, u):
    """ROC_y(u) as the paper has it: the rate of true positives at the inverse false-positive rate."""
    own = [row[y] for row, label in zip(scores, labels, strict=True) if label == y]
    others = [row[y] for row, label in zip(scores, labels, strict=True) if label != y]

    def rate(values, t):
        return Fraction(sum(s > t for s in values), len(values))

    # The false-positive rate falls at the others' scores only: the sup is where it falls below u.
    falls = [t for t in sorted(others) if rate(others, t) < u]
    return rate(own, falls[0] if falls else math.inf)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_every_class_follows_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.normal(size=(12, 4)), np.array([0, 1, 2, *rng.integers(0, 3, 9)])
    curve = class_averaged_roc(scored(scores, labels))
    for u in [Fraction(i, 17) for i in range(18)]:
        parts = [by_definition(scores, labels, y, u) for y in range(3)]
        for y in range(3):
            mine = curve.probe(np.flatnonzero(labels == y), float(u)).mean()
            assert mine == pytest.approx(float(parts[y]), abs=1e-14)
        assert curve.average(float(u)) == pytest.approx(float(sum(parts)) / 3, abs=1e-14)


@pytest.mark.parametrize("n_values", [None, 3, 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_areas_and_curves_are_those_of_scikit_learn(n_values, seed):
    scores, labels = data_of(seed, n_values=n_values)
    curve = class_averaged_roc(Pilot.from_scores(scores, labels))
    present = np.unique(labels)
    areas = [roc_auc_score(labels == y, scores[:, y]) for y in present]
    assert curve.auc == pytest.approx(np.mean(areas), abs=1e-14)
    u = np.linspace(0.0013, 0.998, 83)  # between the steps, where a jump has one value
    total = np.zeros(len(u))
    for y in present:
        false, true, _ = roc_curve(labels == y, scores[:, y], drop_intermediate=False)
        mine = curve.probe(np.flatnonzero(labels == y), u[:, None]).mean(axis=1)
        np.testing.assert_allclose(mine, np.interp(u, false, true), atol=1e-13)
        total += mine
    np.testing.assert_allclose(curve.average(u), total / len(present), atol=1e-13)


def test_micro_weighs_classes_by_their_probes():
    scores, labels = data_of(2, n_values=2)
    present, sizes = np.unique(labels, return_counts=True)
    areas = [roc_auc_score(labels == y, scores[:, y]) for y in present]
    curve = class_averaged_roc(Pilot.from_scores(scores, labels, average="micro"))
    assert curve.auc == pytest.approx(np.average(areas, weights=sizes), abs=1e-14)
    assert abs(np.average(areas, weights=sizes) - np.mean(areas)) > 0.01


def test_one_probe_a_class_and_two_classes():
    scores = np.array([[5, 1, 0], [4, 4, 2], [6, 3, 9]])
    # Class 0: its 5 lies under the 6 of one of two others. Class 1: 4 over both. Class 2: 9 too.
    curve = class_averaged_roc(Pilot.from_scores(scores, [0, 1, 2]))
    assert curve.low.tolist() == curve.high.tolist() == [0.5, 0, 0]
    assert curve.auc == pytest.approx((0.5 + 1 + 1) / 3)
    two = class_averaged_roc(Pilot.from_scores([[1, 0], [2, 1], [0, 0]], [0, 1, 1]))
    assert two.probe([0, 1, 2], 0.4).tolist() == pytest.approx([0, 1, 0.4])
    assert two.auc == pytest.approx((0.5 + 0.75) / 2)


def test_all_above_all_below_and_all_equal():
    labels = np.repeat(np.arange(4), 3)
    u = np.array([0, 1e-9, 0.4, 1])
    own = np.eye(4)[labels]
    alike = np.tile([3, 1, 2, 0], (12, 1))  # all probes score alike
    for scores, area, shape in ((own, 1, [0, 1, 1, 1]), (-own, 0, [0, 0, 0, 0]), (alike, 0.5, u)):
        curve = class_averaged_roc(scored(scores, labels))
        assert curve.auc == pytest.approx(area, abs=1e-15)
        np.testing.assert_allclose(curve.average(u), shape, atol=1e-15)


def test_the_tie_rule_of_the_pilot_does_not_enter():
    scores, labels = data_of(3, n_values=1)
    areas = {
        class_averaged_roc(Pilot.from_scores(scores, labels, tie_rule=rule)).auc
        for rule in ("random", "lose", "win")
    }
    assert len(areas) == 1


def test_distances_and_embeddings_are_scores_too():
    rng = np.random.default_rng(4)
    gallery, labels = rng.integers(-3, 4, (6, 3)), rng.integers(0, 6, 30)
    probes = gallery[labels] + rng.integers(-2, 3, (30, 3))
    squares = ((probes[:, None] - gallery) ** 2).sum(axis=2)
    reference = class_averaged_roc(Pilot.from_scores(-squares, labels))
    assert (reference.low < reference.high).any()
    for other in (
        Pilot.from_scores(squares, labels, higher_is_better=False),
        Pilot.from_embeddings(probes, labels, gallery, np.arange(6)),
    ):
        assert class_averaged_roc(other).low.tolist() == reference.low.tolist()
        assert class_averaged_roc(other).high.tolist() == reference.high.tolist()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_order_of_probes_and_classes_does_not_matter_at_all(seed):
    scores, labels = data_of(seed, n_probes=25, n_values=2)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(25), rng.permutation(8)
    moved = scores[rows][:, columns], np.argsort(columns)[labels[rows]]
    one, other = class_averaged_roc(scored(scores, labels)), class_averaged_roc(scored(*moved))
    u = np.linspace(0, 1, 57)
    assert one.average(u).tolist() == other.average(u).tolist()
    assert one.auc == other.auc
    assert one.low[rows].tolist() == other.low.tolist()


def test_it_says_something_else_than_the_reversed_curve():
    """Probes that score high for every class confuse the ordinary ROC, not the recogniser."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(20), 5)
    scores = rng.normal(size=(100, 20)) + 2 * np.eye(20)[labels]
    shifted = scores + 10 * rng.normal(size=(100, 1))
    plain, loud = Pilot.from_scores(scores, labels), Pilot.from_scores(shifted, labels)
    assert reversed_roc(plain).auc == reversed_roc(loud).auc > 0.9
    assert class_averaged_roc(plain).auc > 0.9
    # Own and other probes now differ by 2 on a spread of 10 sqrt(2): Phi(0.14) = 0.56, and with
    # 20 classes of 5 probes the standard error is about 0.03.
    assert class_averaged_roc(loud).auc == pytest.approx(0.56, abs=0.09)


def test_blocks_make_no_difference_and_bound_the_memory(monkeypatch):
    scores, labels = data_of(6, n_probes=3000, n_classes=400, n_values=20)
    pilot = Pilot.from_scores(scores.astype(np.float32), labels)
    whole = class_averaged_roc(pilot)
    monkeypatch.setattr("headcount.counting.score_matrix.BLOCK_BYTES", 8 * 400 * 70)
    assert len(list(pilot.score_blocks())) == 43
    tracemalloc.start()
    parts = class_averaged_roc(pilot)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e6  # the scores take 4.8e6 bytes, 9.6e6 as float64
    assert parts.low.tolist() == whole.low.tolist()
    assert parts.high.tolist() == whole.high.tolist()


def test_progress_is_told():
    told = []
    scores, labels = data_of(7)
    pilot = Pilot.from_scores(scores, labels)
    with watching(lambda task, done, total: told.append((task, done, total))):
        class_averaged_roc(pilot)
    assert told == [("Reading scores", 60, 60), ("Comparing probes", 60, 60)]


def test_counts_cannot_give_it():
    with pytest.raises(UnsupportedError, match="only counts, not scores"):
        class_averaged_roc(Pilot.from_losses([0, 1], 3, labels=[0, 1]))


def test_probes_of_one_class_have_no_others():
    with pytest.raises(UnsupportedError, match="of one class"):
        class_averaged_roc(Pilot.from_scores([[1, 2, 3], [3, 2, 1]], [1, 1]))
