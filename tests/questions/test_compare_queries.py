"""Two systems on the same queries, or probes of classes of which some stay."""

import numpy as np
import pytest

from headcount import Pilot, UnsupportedError, observe, plan
from headcount.metrics import resolve_metric
from headcount.questions.compare import are_paired
from headcount.uncertainty.jackknife import without_each
from queries import two_systems

K = 200


@pytest.fixture(scope="module")
def runs():
    return two_systems(60, K)


def test_a_query_less_is_the_curve_of_the_others(runs):
    run, _, qrels = runs
    pilot, metric, k = Pilot.from_run(run, qrels, n_classes=K), resolve_metric("ndcg@10"), [50, K]
    rows = without_each(pilot, metric, np.array(k))
    names = sorted(run)
    for place in (0, 7, 59):
        others = Pilot.from_run(
            {q: d for q, d in run.items() if q != names[place]},
            {q: d for q, d in qrels.items() if q != names[place]},
            n_classes=K,
        )
        np.testing.assert_allclose(rows[place], observe(others).value(k, metric))


def test_other_queries_or_collections_are_not_paired(runs):
    run, other, qrels = runs
    pilot = Pilot.from_run(run, qrels, n_classes=K)
    fewer = {q: d for q, d in other.items() if q != "q0"}
    assert not are_paired(pilot, Pilot.from_run(other, qrels, n_classes=K + 1))
    with pytest.warns(match="1 of 60 judged queries is not in the run"):
        assert not are_paired(pilot, Pilot.from_run(fewer, qrels, n_classes=K))
    graded = {q: {"r0": 1, "r1": 1} for q in qrels}
    assert not are_paired(pilot, Pilot.from_run(other, graded, n_classes=K))


def test_probes_of_the_same_classes_are_paired():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 2)
    scores = rng.normal(size=(120, 60)) + 3 * (labels[:, None] == np.arange(60))
    names = [f"c{i}" for i in range(60)]
    order = rng.permutation(60)
    first = Pilot.from_scores(scores, np.array(names)[labels], class_names=names, always=["c5"])
    second = Pilot.from_scores(
        scores[:, order],
        np.array(names)[labels],
        class_names=np.array(names)[order],
        always=["c5"],
    )
    assert are_paired(first, second)
    k = np.array([20, 59])
    np.testing.assert_allclose(
        *(without_each(p, resolve_metric("mrr"), k) for p in (first, second))
    )


def test_a_plan_is_for_classes(runs):
    run, _, qrels = runs
    sampled = Pilot.from_losses([0, 3, 9], 100, rivals="independent")
    for pilot in (Pilot.from_run(run, qrels, n_classes=K), sampled):
        with pytest.raises(
            UnsupportedError, match="four times as many halve what is due to chance"
        ):
            plan(pilot, 400, 0.03)
