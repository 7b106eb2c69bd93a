"""Several graded documents: the law of each is its own, and intervals hold the truth."""

import numpy as np
import pytest

from headcount import Pilot, forecast, observe
from headcount.curves.ranked import marks_of
from headcount.estimators import BentNormal
from headcount.estimators.ranked import marked_pilot
from headcount.metrics import resolve_metric
from queries import make_run, only_some

SIZES = np.array([400, 800, 2000, 4000])


@pytest.fixture(scope="module")
def world():
    """The same queries among 400 and 4,000 documents, so that only the law can be wrong."""
    run, qrels = make_run(5, 400, 4000)
    pilot = Pilot.from_run(only_some(run, 400), qrels, n_classes=400)
    return pilot, observe(Pilot.from_run(run, qrels, n_classes=4000))


def value_of_one_law(pilot, metric):
    """The metric if U had nothing to do with how many relevant documents are ahead."""
    ranking = pilot.ranking
    marks = marks_of(ranking, metric, "random")
    every = marked_pilot(ranking, np.ones(len(ranking.query), np.bool_), pilot)
    law = BentNormal().fit(every).favorability_
    total = np.zeros(len(SIZES))
    for above in np.unique(marks.above):
        worth = metric.worth_of_ranks.past(int(above))
        if worth is not None:
            share = marks.weight[marks.above == above].sum()
            total += share * (worth.of_nodes(law.p, SIZES - 5 + 1.0) @ law.weights)
    return total


@pytest.mark.parametrize("name", ["ndcg@10", "map", "precision@5", "recall@10", "mrr"])
def test_each_place_has_its_own_law(world, name):
    pilot, truth = world
    metric = resolve_metric(name)
    result = forecast(pilot, classes=SIZES, metric=metric, method="bent-normal", intervals=False)
    expected = truth.value(SIZES, metric)
    ours = result.law.value(SIZES, metric) - expected
    assert np.abs(ours).max() < 0.01
    if name in ("ndcg@10", "map", "precision@5"):  # where it matters
        one_law = value_of_one_law(pilot, metric) - expected
        assert np.abs(one_law).max() > 2 * np.abs(ours).max()


def test_intervals_hold_the_truth(world):
    """30 pilots of 100 of the queries: at 90%, 21 or fewer have a chance of 0.05%."""
    pilot, truth = world
    rng, held = np.random.default_rng(0), []
    expected = truth.value(SIZES, "ndcg@10")
    for _ in range(30):
        some = pilot.keep_probes(rng.choice(400, 100, replace=False))
        lower, upper = forecast(some, classes=800, metric="ndcg@10").interval(SIZES)
        held.append((lower <= expected) & (expected <= upper))
    assert (np.sum(held, axis=0) > 21).all()
