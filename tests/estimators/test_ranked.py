"""Methods where queries have several graded documents: errors come from queries."""

import numpy as np
import pytest

from headcount import Pilot, observe
from headcount.estimators import Auto
from headcount.estimators.ranked import Ranked, other_queries
from headcount.metrics import resolve_metric
from headcount.uncertainty.measured import standard_error

K, QUERIES = 200, 40


def draw(seed):
    """Queries whose documents are hard or easy together."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(QUERIES):
        scores = rng.normal(size=K)
        scores[:5] += 2 + 0.8 * rng.normal()
        run[query] = dict(enumerate(scores.tolist()))
        qrels[query] = dict.fromkeys(range(int(rng.integers(2, 6))), 1)
    return Pilot.from_run(run, qrels, n_classes=K)


@pytest.mark.parametrize("name", ["accuracy", "recall@5", "ndcg@10", "map"])
def test_plausible_laws_are_as_far_apart_as_queries_make_them(name):
    """Where the forecast starts nearly all of the error is what was measured's."""
    pilot, metric = draw(0), resolve_metric(name)
    fitted = Ranked(method=Auto(), metric=metric).fit(pilot)
    measured, _ = standard_error(pilot, observe(pilot), np.array([K]), metric)
    assert float(fitted.plausible([K], metric).std()) == pytest.approx(float(measured[0]), rel=0.3)


def test_pilots_of_the_same_queries_meet_the_same_others():
    often = other_queries(128, QUERIES)
    assert other_queries(128, QUERIES) is often
    np.testing.assert_allclose(often.mean(axis=1), 1)
    assert float(often.var()) == pytest.approx(1, rel=0.1)
