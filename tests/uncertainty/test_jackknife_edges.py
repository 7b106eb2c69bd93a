"""Which pairs of classes are left out, at which numbers of classes, and the smallest pilots."""

import itertools

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from headcount import Pilot, observe
from headcount.metrics import Top
from headcount.uncertainty import jackknife as module
from headcount.uncertainty.asymptotics import metric_error
from headcount.uncertainty.jackknife import MetricJackknife, metric_covariance


def pilot_of(n_classes, seed=0, n_probes=None):
    """One probe of each of the first classes; some of them are beaten by a few others."""
    n_probes = n_probes or n_classes
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_probes, n_classes)).astype(np.float32)
    scores[np.arange(n_probes), np.arange(n_probes)] += 3
    return Pilot.from_scores(scores, np.arange(n_probes), class_names=np.arange(n_classes))


def excess_by_hand(jackknife, k):
    """J2 / J1 at k, from all pairs, each of them left out."""
    size = jackknife.n_classes
    one = jackknife.without_one(np.array([k]))[:, 0]
    both = jackknife.without_two(k, np.arange(size))
    gaps = one.mean() - one[:, None] - one + both
    first = (size - 1) / size * np.sum((one - one.mean()) ** 2)
    return np.sum(np.triu(gaps, 1) ** 2) / first


@pytest.mark.parametrize("n_classes", [40, 640])
def test_pairs_are_left_out_at_nine_numbers_of_classes(n_classes):
    shares = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 9 / 10)
    inside = [round(share * n_classes) for share in shares]
    nodes = np.array(sorted({2, *(k for k in inside if k > 2), n_classes - 2}))
    jackknife = MetricJackknife(pilot_of(n_classes))
    ratios = [excess_by_hand(jackknife, int(k)) for k in nodes]
    every = np.arange(2, n_classes)
    curve = PchipInterpolator(np.log(nodes), ratios)(np.log(np.minimum(every, n_classes - 2)))
    assert np.ptp(curve) > 0.1
    np.testing.assert_allclose(jackknife.excess(every), curve, rtol=1e-9)


def test_three_and_four_classes():
    three, four = pilot_of(3, seed=5), pilot_of(4, seed=5)
    assert MetricJackknife(three).excess(np.array([1, 2])).tolist() == [0, 0]
    jackknife = MetricJackknife(four)
    ratio = excess_by_hand(jackknife, 2)
    assert ratio > 0
    assert jackknife.excess(np.array([2, 3])) == pytest.approx([ratio, ratio])


def places(n_classes):
    """Scores where probe i, of class i, is beaten by i classes."""
    scores = np.zeros((n_classes, n_classes))
    for i in range(n_classes):
        others = [c for c in range(n_classes) if c != i]
        scores[i, others[:i]] = 2
        scores[i, i] = 1
    return Pilot.from_scores(scores, np.arange(n_classes))


def test_how_many_classes_are_paired_follows_from_the_work(monkeypatch):
    # Among 10 of 12 classes, two being left out, a probe with one loss or more is never right: so
    # only those with 0, 1 and 2 losses matter, whose lists are 0, 1 and 2 long.
    jackknife, work = MetricJackknife(places(12)), 0 + 1 + 4
    monkeypatch.setattr(module, "PAIR_WORK", work + 1)
    assert jackknife.paired_classes(10).tolist() == list(range(12))
    monkeypatch.setattr(module, "PAIR_WORK", work)
    assert len(jackknife.paired_classes(10)) == int(12 * np.sqrt(work / (work + 1)))
    # Among 2 classes, each of the nine others that are left matters: all but one or two lists.
    work = sum(length**2 for length in range(12))
    monkeypatch.setattr(module, "PAIR_WORK", work + 1)
    assert jackknife.paired_classes(2).tolist() == list(range(12))
    monkeypatch.setattr(module, "PAIR_WORK", 1)
    chosen = jackknife.paired_classes(2).tolist()
    assert len(chosen) == 2 == len(set(chosen))
    # Where nothing matters, there is nothing to save.
    best = MetricJackknife(places(12), Top(5))
    assert best.paired_classes(3).tolist() == list(range(12))


def test_at_most_fifteen_hundred_classes_are_paired():
    for n_classes, expected in ((1499, 1499), (1500, 1500), (1501, 1500), (1600, 1500)):
        chosen = MetricJackknife(pilot_of(n_classes, n_probes=6)).paired_classes(2)
        assert len(set(chosen.tolist())) == expected


def test_pairs_of_some_classes_stand_for_all_pairs(monkeypatch):
    pilot = places(12)
    jackknife = MetricJackknife(pilot)
    monkeypatch.setattr(module, "MOST_PAIRED", 5)
    chosen = jackknife.paired_classes(2)
    assert len(chosen) == 5
    one = jackknife.without_one(np.array([2]))[:, 0]
    both = jackknife.without_two(2, np.arange(12))
    squares = [
        (one.mean() - one[c] - one[d] + both[c, d]) ** 2
        for c, d in itertools.combinations(chosen.tolist(), 2)
    ]
    first = 11 / 12 * np.sum((one - one.mean()) ** 2)
    expected = np.sum(squares) * (12 * 11) / (5 * 4) / first
    assert jackknife.excess(np.array([2]))[0] == pytest.approx(expected, rel=1e-9)


def test_at_k_and_one_below_the_covariance_is_the_same():
    pilot = pilot_of(20)
    found = metric_covariance(pilot, [2, 19, 20])
    assert found[1, 1] == found[2, 2] == found[1, 2]
    assert found[0, 1] == found[0, 2]
    assert metric_covariance(pilot, 19).shape == (1, 1)
    assert metric_covariance(pilot, 1)[0, 0] == 0
    assert metric_error(pilot, [[2, 20]]).shape == (1, 2)


def test_probes_that_are_left_have_the_weights_that_are_left():
    # Three probes, two of class 0: without it, the other one is all there is.
    scores = np.array([[2.0, 1, 0, 0], [1, 2, 0, 0], [0, 1, 3, 2]])
    for average, weights in (("macro", [1 / 4, 1 / 4, 1 / 2]), ("micro", [1 / 3] * 3)):
        pilot = Pilot.from_scores(scores, [0, 0, 3], class_names=range(4), average=average)
        assert pilot.weights == pytest.approx(weights)
        jackknife = MetricJackknife(pilot)
        for c in range(4):
            rest = np.delete(np.arange(4), c)
            again = observe(pilot.subset(rest)).accuracy(np.array([2, 3]))
            assert jackknife.without_one(np.array([2, 3]))[c] == pytest.approx(again, abs=1e-12)
        assert np.isnan(jackknife.without_two(2, np.arange(4))[0, 3])
