"""Two systems on the same queries, or probes of classes of which some stay: what they share cancels."""

import numpy as np
import pytest

from headcount import Pilot, compare, observe
from headcount.metrics import resolve_metric
from headcount.questions.compare import are_paired
from headcount.uncertainty.jackknife import without_each
from queries import make_run

K = 200


@pytest.fixture(scope="module")
def runs():
    """Two systems whose scores differ a little, on the same 60 queries."""
    run, qrels = make_run(0, 60, K)
    rng = np.random.default_rng(1)
    other = {
        query: {d: s + 0.3 * rng.normal() + 0.1 * (d[0] == "r") for d, s in documents.items()}
        for query, documents in run.items()
    }
    return run, other, qrels


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


def test_what_systems_share_cancels(runs):
    run, other, qrels = runs
    one, two = (Pilot.from_run(each, qrels, n_classes=K) for each in (run, other))
    assert are_paired(one, two)
    paired = compare({"a": one, "b": two}, classes=400, metric="ndcg@10").pair("a", "b")
    renamed = Pilot.from_run(
        {f"x{q}": d for q, d in other.items()},
        {f"x{q}": d for q, d in qrels.items()},
        n_classes=K,
    )
    apart = compare({"a": one, "b": renamed}, classes=400, metric="ndcg@10").pair("a", "b")
    assert paired.paired and not apart.paired
    for k in (K, 400):
        near, far = paired.at(k), apart.at(k)
        assert near.upper - near.lower < 0.75 * (far.upper - far.lower)
        assert near.difference == pytest.approx(far.difference, abs=1e-9)


def test_a_system_is_level_with_itself(runs):
    run, _, qrels = runs
    pilot = Pilot.from_run(run, qrels, n_classes=K)
    lead = compare({"a": pilot, "b": pilot}, classes=400, metric="map").pair("a", "b").at(400)
    assert lead.lower == pytest.approx(0, abs=1e-6) and lead.upper == pytest.approx(0, abs=1e-6)


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
