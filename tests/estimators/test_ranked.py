"""Methods where queries have several graded documents, or something stays at every size."""

from dataclasses import replace

import numpy as np
import pytest

from headcount import Pilot, forecast, observe
from headcount.errors import UnsupportedError
from headcount.estimators import Auto, LogLinear, ProbitNormal
from headcount.estimators.ranked import Ranked, marked_pilot
from headcount.metrics import MRR, resolve_metric
from headcount.uncertainty.measured import standard_error
from queries import make_run

LAST = 200


def pilot_with_an_idle_class(n_probes=200, seed=0):
    """Counts, and the same where one more class is always present, that no probe loses to."""
    rng = np.random.default_rng(seed)
    beaten = rng.beta(0.3, 6, n_probes)
    losses = rng.binomial(LAST - 1, beaten)
    scores = -np.ones((n_probes, LAST + 1))
    for row, lost in zip(scores, losses, strict=True):
        row[1 : 1 + lost] = 1
        row[0] = 0  # the true class of all; the last never wins
    labels = np.zeros(n_probes, np.int64)
    plain = Pilot.from_losses(losses, LAST)
    return plain, Pilot.from_scores(scores, labels, always=[LAST], higher_is_better=True)


def test_what_never_stands_above_changes_nothing():
    """Values and limits are those of the plain pilot, one class later."""
    plain, idle = pilot_with_an_idle_class()
    # Probes of one class are drawn together; these are not.
    idle = idle.ranked(_each_its_own(idle.ranking))
    k = np.array([LAST // 2, LAST, 2 * LAST, 4 * LAST])
    first, second = (forecast(pilot, classes=2 * LAST, metric="mrr") for pilot in (plain, idle))
    np.testing.assert_allclose(second.value(k + 1), first.value(k), atol=0.004)
    for one, other in zip(first.interval(k), second.interval(k + 1), strict=True):
        np.testing.assert_allclose(other, one, atol=0.012)


def _each_its_own(ranking):
    return replace(ranking, owner=np.arange(ranking.n_queries))


def test_each_document_is_a_probe_at_its_place():
    run, qrels = make_run(0, 40, 100)
    qrels["q0"]["r0"] = 0  # so q0 has a rival more
    pilot = Pilot.from_run(run, qrels, n_classes=100)
    ranking = pilot.ranking
    best = marked_pilot(ranking, ranking.above == 0, pilot)
    assert best.n_probes == 40 and best.n_classes == 96  # five stay, and the marked one is in
    np.testing.assert_allclose(best.weights, 1 / 40)
    same = ranking.n_rivals[ranking.above == 0] == 95
    np.testing.assert_array_equal(best.losses[same], pilot.losses[same])
    later = marked_pilot(ranking, ranking.above >= 2, pilot)
    assert later.n_probes == 2 + 39 * 3
    fitted = Ranked(method=ProbitNormal()).fit(pilot)
    assert len(fitted.methods_) == len(fitted.law().starts) == 4
    alone = ProbitNormal().fit(marked_pilot(ranking, ranking.above == 1, pilot))
    np.testing.assert_allclose(fitted.law().laws[1].accuracy(300), alone.predict(300))


def one_mark_a_query(seed):
    """Five relevant documents each, which score all but the same, and the same with one each."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(60):
        run[f"q{query}"] = {f"d{i}": x for i, x in enumerate(rng.normal(size=95))}
        mark = 1.5 + rng.normal()
        run[f"q{query}"] |= {f"r{i}": mark + 1e-9 * i for i in range(5)}
        qrels[f"q{query}"] = {f"r{i}": 1 for i in range(5)}
    return run, qrels


@pytest.mark.parametrize("name", ["accuracy", "recall@10", "ndcg@10", "map"])
def test_plausible_laws_are_as_far_apart_as_queries_make_them(name):
    """At the pilot's size the error is at least that of what was measured, and not much more."""
    metric = resolve_metric(name)
    for run, qrels in (make_run(0, 40, 200), one_mark_a_query(0)):
        size = len(run["q0"])
        pilot = Pilot.from_run(run, qrels, n_classes=size)
        fitted = Ranked(method=Auto()).fit(pilot)
        measured, _ = standard_error(pilot, observe(pilot), np.array([size]), metric)
        apart = float(fitted.plausible([size], metric).std())
        assert 0.9 < apart / float(measured[0]) < 1.4


def test_any_method_with_a_law_will_do():
    run, qrels = make_run(2, 60, 200)
    pilot = Pilot.from_run(run, qrels, n_classes=200)
    measured = float(observe(pilot).value(200, "ndcg@10"))
    for method in ("probit-normal", "regression", "bent-normal", "pseudolikelihood"):
        result = forecast(pilot, classes=400, metric="ndcg@10", method=method, intervals=False)
        value = result.value([200, 201, 400])
        assert value[0] == pytest.approx(measured)
        assert abs(value[1] - measured) < 0.04
        assert value[2] < value[1]


def test_a_method_without_a_law_is_refused():
    run, qrels = make_run(2, 20, 100)
    pilot = Pilot.from_run(run, qrels, n_classes=100)
    with pytest.raises(UnsupportedError, match="log-linear gives no law of favorability, which"):
        Ranked(method=LogLinear()).fit(pilot)
    assert Ranked(method=ProbitNormal()).fit(pilot).plausible([300], MRR) is None
