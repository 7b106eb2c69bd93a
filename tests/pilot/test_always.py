"""Classes and documents that are present at every size: against all sets of those that are not."""

import itertools

import numpy as np
import pytest

from headcount import (
    DataError,
    ExtrapolationWarning,
    Forecast,
    ParameterError,
    Pilot,
    forecast,
    load,
    observe,
)
from headcount.errors import UnsupportedError
from headcount.metrics import resolve_metric

K = 7
STAYS = [1, 4]


def draw(seed, ties=False):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 0, 1, 2, 3, 5, 5, 6])
    scores = rng.integers(0, 4, (len(labels), K)) if ties else rng.normal(size=(len(labels), K))
    scores[np.arange(len(labels)), labels] += 1
    return scores.astype(float), labels


def worth(above, tied, name, rule):
    """A metric of one probe with one right answer, its ties broken in all ways."""
    places = {"random": range(tied + 1), "lose": [tied], "win": [0]}[rule]
    ranks = np.array([1 + above + more for more in places])
    return {
        "accuracy": np.mean(ranks == 1),
        "top-2": np.mean(ranks <= 2),
        "mrr": np.mean(1 / ranks),
        "ndcg@3": np.mean(np.where(ranks <= 3, 1 / np.log2(1 + ranks), 0)),
    }[name]


def by_hand(scores, labels, k, name, rule, average):
    """Every probe among all sets of k classes that hold its own and those that stay."""
    values = []
    for row, true in zip(scores, labels, strict=True):
        staying = [c for c in STAYS if c != true]
        joining = [c for c in range(K) if c != true and c not in STAYS]
        sets = itertools.combinations(joining, k - 1 - len(staying))
        counts = [
            (np.sum(row[met] > row[true]), int(np.sum(row[met] == row[true])))
            for chosen in sets
            for met in ([*staying, *chosen],)
        ]
        values.append(np.mean([worth(above, tied, name, rule) for above, tied in counts]))
    if average == "micro":
        return np.mean(values)
    return np.mean([np.mean(np.array(values)[labels == c]) for c in np.unique(labels)])


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("rule", ["random", "lose", "win"])
def test_only_the_others_are_left_out(rule, average):
    for seed, ties in ((0, False), (1, True), (2, True)):
        scores, labels = draw(seed, ties)
        pilot = Pilot.from_scores(scores, labels, always=STAYS, tie_rule=rule, average=average)
        curve = observe(pilot)
        for name in ("accuracy", "top-2", "mrr", "ndcg@3"):
            for k in (4, 5, K):
                truth = by_hand(scores, labels, k, name, rule, average)
                assert float(curve.value(k, name)) == pytest.approx(truth, abs=1e-12), (name, k)
        plain = observe(Pilot.from_scores(scores, labels, tie_rule=rule, average=average))
        assert float(curve.accuracy(K)) == pytest.approx(float(plain.accuracy(K)))


def test_documents_that_stay_may_tie():
    """Relevant b and always-present a score the same: half the time a is ahead."""
    run = {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}
    for rule, value in (("random", 0.5), ("lose", 0.0), ("win", 1.0)):
        pilot = Pilot.from_run(run, {"q": {"b": 1}}, n_classes=3, always=["a"], tie_rule=rule)
        assert observe(pilot).accuracy([2, 3]).tolist() == [value, value]


def test_all_orders_of_what_ties_are_as_likely():
    """Two relevant, one rival and two that stay score the same: all 120 orders."""
    run = {"q": {**dict.fromkeys("abcde", 1.0), "f": 2.0, "g": 0.0}}
    grades = {"a": 2, "b": 1}
    curve = observe(Pilot.from_run(run, {"q": grades}, n_classes=7, always=["c", "d"]))
    for name in ("recall@2", "map", "mrr", "ndcg@4"):
        means = []
        for rivals in itertools.combinations("efg", 2):  # six of the seven
            orders = itertools.permutations(sorted({*"abcd", *rivals} & {*"abcde"}))
            ahead = ["f"] if "f" in rivals else []
            means += [np.mean([metric_of([*ahead, *order], grades, name) for order in orders])]
        assert float(curve.value(6, name)) == pytest.approx(np.mean(means), abs=1e-12), name


def metric_of(order, grades, name):
    ranks = {document: order.index(document) + 1 for document in grades}
    first, second = sorted(ranks.values())
    gain = sum(g / np.log2(1 + ranks[d]) for d, g in grades.items() if ranks[d] <= 4)
    return {
        "recall@2": sum(rank <= 2 for rank in ranks.values()) / 2,
        "map": (1 / first + 2 / second) / 2,
        "mrr": 1 / first,
        "ndcg@4": gain / (2 + 1 / np.log2(3)),
    }[name]


def world(n_classes, seed, hard=10):
    """Classes around centres; the first are hard for all probes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 6))
    centres[:hard] *= 0.3
    labels = np.repeat(np.arange(n_classes), 2)
    points = centres[labels] + 0.45 * rng.normal(size=(len(labels), 6))
    return -((points[:, None] - centres) ** 2).sum(axis=2), labels


def test_a_forecast_grows_by_classes_like_those_that_do_not_stay():
    scores, labels = world(1600, 3)
    truth = observe(Pilot.from_scores(scores, labels, always=range(10)))
    chosen = np.concatenate([np.arange(10), np.arange(10, 1600, 8)])
    rows = np.isin(labels, chosen)
    pilot = Pilot.from_scores(
        scores[np.ix_(rows, chosen)], np.searchsorted(chosen, labels[rows]), always=range(10)
    )
    with pytest.warns(ExtrapolationWarning):  # eight times as many
        result = forecast(pilot, classes=[800, 1600], confidence=0.95)
    lower, upper = result.interval([800, 1600])
    expected = truth.accuracy([800, 1600])
    assert (lower <= expected).all() and (expected <= upper).all()
    assert np.abs(result.accuracy([800, 1600]) - expected).max() < 0.05
    again = Forecast.from_json(result.to_json())
    np.testing.assert_allclose(again.accuracy([50, 800]), result.accuracy([50, 800]), rtol=1e-12)
    np.testing.assert_allclose(again.interval(800), result.interval(800), rtol=1e-9)


def test_probes_of_one_class_are_taken_together():
    """Copies of probes tell nothing new: the standard error stays, and so do the limits."""
    scores, labels = world(60, 0)
    once = Pilot.from_scores(scores, labels, always=range(5))
    often = Pilot.from_scores(np.tile(scores, (3, 1)), np.tile(labels, 3), always=range(5))
    k = np.array([20, 60])
    errors = [
        p.ranking.error_of_mean(observe(p).of_queries(k, resolve_metric("mrr"))[1])
        for p in (once, often)
    ]
    np.testing.assert_allclose(*errors, rtol=1e-12)
    assert (errors[0] > 0).all()


def test_files_name_what_stays(tmp_path):
    scores, labels = draw(0)
    np.savez(tmp_path / "p.npz", scores=scores, labels=labels, class_names=list("abcdefg"))
    (tmp_path / "stays.txt").write_text("b\ne\n")
    pilot = load(tmp_path / "p.npz", always=tmp_path / "stays.txt")
    expected = Pilot.from_scores(scores, labels, always=STAYS)
    assert pilot.ranking.to_dict() == expected.ranking.to_dict()
    assert "1 to 2 of the others are present at every size" in str(pilot.summary())
    (tmp_path / "stays.txt").write_text("b\nz\n")
    with pytest.raises(DataError, match="label z"):
        load(tmp_path / "p.npz", always=tmp_path / "stays.txt")


def test_some_probes_are_some_queries():
    scores, labels = draw(0)
    pilot = Pilot.from_scores(scores, labels, always=STAYS)
    fewer = Pilot.from_scores(scores[4:], labels[4:], always=STAYS)
    assert (
        pilot.keep_probes(range(4, 9)).ranking.to_dict()["losses"] == fewer.ranking.losses.tolist()
    )
    np.testing.assert_allclose(
        observe(pilot.keep_probes(range(4, 9))).accuracy([4, 7]), observe(fewer).accuracy([4, 7])
    )


def test_what_cannot_stay_is_refused():
    scores, labels = draw(0)
    pilot = Pilot.from_scores(scores, labels)
    with pytest.raises(ParameterError, match=r'6 of 7 classes.*kind="grown_set"'):
        pilot.with_always(range(6))
    with pytest.raises(DataError, match="label 9"):
        pilot.with_always([9])
    with pytest.raises(UnsupportedError, match="holds only counts"):
        Pilot.from_losses([0, 1], 5).with_always([0])
    with pytest.raises(UnsupportedError, match="always is not known how to go with graded"):
        pilot.with_always([1]).with_always([2])
