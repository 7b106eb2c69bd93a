"""Queries with several graded documents: against all sets of rivals, and trec_eval itself."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from headcount import Favorability, Pilot, observe
from headcount.curves import ranked
from headcount.curves.ranked import RankedLaw, marks_of, places_of
from headcount.metrics import ACCURACY, MRR, Top, resolve_metric

K = 8
DOCUMENTS = [f"d{i}" for i in range(K)]
# Names of trec_eval, and ours.
NAMES = {
    "recall_3": "recall@3", "P_3": "precision@3", "ndcg_cut_3": "ndcg@3", "ndcg_cut_5": "ndcg@5",
    "map": "map", "map_cut_3": "map@3", "recip_rank": "mrr", "success_1": "accuracy",
    "success_5": "top-5",
}  # fmt: skip


def draw(seed, n_queries=4, ties=False):
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(n_queries):
        scores = rng.integers(0, 3, K) if ties else rng.permutation(K)
        run[f"q{query}"] = dict(zip(DOCUMENTS, scores.astype(float), strict=True))
        graded = rng.choice(DOCUMENTS, 4, replace=False)
        qrels[f"q{query}"] = dict(zip(graded, rng.integers(0, 4, 4).tolist(), strict=True))
        qrels[f"q{query}"]["d0"] = 3  # so that something is relevant, whatever the least grade is
    return run, qrels


def split(scores, grades, always):
    graded = {d for d, grade in grades.items() if grade > 0}
    staying = (set(always) | graded) & set(scores)
    return staying, sorted(set(scores) - staying)


def sets_of(scores, grades, always, k):
    """All collections of k documents that hold what always stays."""
    staying, rivals = split(scores, grades, always)
    for chosen in itertools.combinations(rivals, k - len(staying)):
        yield staying | set(chosen)


@pytest.mark.parametrize("always", [(), ("d1", "d2")])
@pytest.mark.parametrize("least", [1, 2])
def test_metrics_are_trec_evals_averaged_over_all_sets_of_rivals(least, always):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = draw(0)
    pilot = Pilot.from_run(
        run, qrels, n_classes=K, relevant_from=least, always=list(always) or None
    )
    curve = observe(pilot)
    for name, ours in NAMES.items():
        for k in (7, 8):
            means = []
            for query, scores in run.items():
                judge = pytrec_eval.RelevanceEvaluator(
                    {query: qrels[query]}, {name}, relevance_level=least
                )
                answers = [
                    judge.evaluate({query: {d: scores[d] for d in kept}})[query][name]
                    for kept in sets_of(scores, qrels[query], always, k)
                ]
                means.append(np.mean(answers))
            value = float(curve.value(k, resolve_metric(ours)))
            assert value == pytest.approx(np.mean(means), abs=1e-9), (name, k)


def worth_of(order, grades, name):
    """A metric of a list of documents, by its definition."""
    gains = [grades.get(document, 0) for document in order]
    relevant = [gain > 0 for gain in gains]
    n_relevant = sum(grade > 0 for grade in grades.values())
    first = relevant.index(True)
    best = sorted(grades.values(), reverse=True)
    discounts = 1 / np.log2(np.arange(2, len(order) + 2))
    precision = np.cumsum(relevant) / np.arange(1, len(order) + 1)
    return {
        "recall@3": sum(relevant[:3]) / n_relevant,
        "precision@3": sum(relevant[:3]) / 3,
        "ndcg@3": gains[:3] @ discounts[: len(gains[:3])] / (best[:3] @ discounts[: len(best[:3])]),
        "map": sum(p for p, is_one in zip(precision, relevant, strict=True) if is_one) / n_relevant,
        "mrr": 1 / (first + 1),
        "top-2": float(first < 2),
        "accuracy": float(first == 0),
    }[name]


@pytest.mark.parametrize("rule", ["random", "lose", "win"])
@pytest.mark.parametrize("seed", [1, 2])
def test_ties_are_broken_by_the_rule_in_all_ways(seed, rule):
    run, qrels = draw(seed, n_queries=2, ties=True)
    curve = observe(Pilot.from_run(run, qrels, n_classes=K, tie_rule=rule))
    for name in ("recall@3", "precision@3", "ndcg@3", "map", "mrr", "top-2", "accuracy"):
        for k in (6, 8):
            means = []
            for query, scores in run.items():
                grades = qrels[query]
                rival_first = {"random": 0, "lose": -1, "win": 1}[rule]

                def orders(kept, scores=scores, grades=grades, side=rival_first):
                    levels = {}
                    for document in kept:
                        is_rival = grades.get(document, 0) == 0
                        levels.setdefault((-scores[document], side * is_rival), []).append(document)
                    blocks = [list(itertools.permutations(levels[at])) for at in sorted(levels)]
                    ways = itertools.product(*blocks)
                    return (list(itertools.chain.from_iterable(way)) for way in ways)

                answers = [
                    np.mean([worth_of(order, grades, name) for order in orders(kept)])
                    for kept in sets_of(scores, grades, (), k)
                ]
                means.append(np.mean(answers))
            value = float(curve.value(k, resolve_metric(name)))
            assert value == pytest.approx(np.mean(means), abs=1e-9), (name, k)


def test_relevant_documents_are_no_rivals():
    """Three of six are relevant, two of the other three are ahead: one of them is met at four."""
    run = {"q": dict(zip("abcdef", [9.0, 8.0, 7.0, 6.0, 5.0, 4.0], strict=True))}
    curve = observe(Pilot.from_run(run, {"q": {"c": 1, "d": 1, "e": 1}}, n_classes=6))
    assert float(curve.accuracy(4)) == pytest.approx(1 / 3)
    assert curve.accuracy([1, 2, 3]).tolist() == [1, 1, 1]
    assert float(curve.value(6, resolve_metric("recall@3"))) == pytest.approx(1 / 3)


def test_lists_that_end_leave_bounds_that_hold_the_truth():
    for seed in range(6):
        run, qrels = draw(seed, ties=seed % 2 == 1)
        rng = np.random.default_rng(seed)
        cut = {}
        for query, scores in run.items():
            order = sorted(scores, key=lambda d: (-scores[d], rng.random()))
            cut[query] = {d: scores[d] for d in order[:4]}
        whole, part = (observe(Pilot.from_run(r, qrels, n_classes=K)) for r in (run, cut))
        assert not part.exact and whole.exact
        for name in (*NAMES.values(), "ndcg@8"):
            metric = resolve_metric(name)
            lower, upper = part.bounds([5, 6, 7, 8], metric)
            truth = whole.value([5, 6, 7, 8], metric)
            assert (lower <= truth + 1e-12).all() and (truth <= upper + 1e-12).all()
        if seed % 2 == 0:  # at full size nothing is open that the list shows
            metric = resolve_metric("ndcg@3")
            assert float(part.value(8, metric)) == pytest.approx(float(whole.value(8, metric)))


# -- under a law ------------------------------------------------------------------------------------


def alone(law, ranking):
    """One law at all places."""
    return RankedLaw([law], [0], ranking, "random")


def by_hand(ranking, metric, p, k):
    """The metric where every rival wins with chance p, document by document."""
    total = 0.0
    for row in range(len(ranking.query)):
        n = max(k - int(ranking.absent[row]), 0)
        x = np.arange(n + 1)
        worths = []
        for more in x:
            kernel = metric.worth_of_ranks.past(int(ranking.above[row] + more))
            worths.append(0.0 if kernel is None else kernel.of_nodes(np.zeros(1), np.ones(1))[0, 0])
        total += metric.emphasis(ranking)[row] * (binom.pmf(x, n, p) @ worths)
    return total / ranking.n_queries


@pytest.mark.parametrize("name", ["recall@3", "precision@2", "ndcg@5", "map", "map@3", "mrr"])
def test_where_all_are_as_good_a_law_gives_the_binomial_mean(name):
    run, qrels = draw(3)
    ranking = Pilot.from_run(run, qrels, n_classes=K, always=["d1"]).ranking
    law, metric = alone(Favorability([0.2], [1.0]), ranking), resolve_metric(name)
    for k in (4, 9, 60):
        assert float(law.value(k, metric)) == pytest.approx(by_hand(ranking, metric, 0.2, k))


def test_each_place_has_a_law_of_its_own():
    """Documents with so many ahead lose with chances of their own, which is all that differs."""
    run, qrels = draw(3)
    ranking = Pilot.from_run(run, qrels, n_classes=K).ranking
    chances, starts, metric = [0.1, 0.3], np.array([0, 2]), resolve_metric("map")
    laws = [Favorability([p], [1.0]) for p in chances]
    total = 0.0
    for row in range(len(ranking.query)):
        p = chances[int(ranking.above[row] >= 2)]
        x = np.arange(20 - ranking.absent[row] + 1)
        worth = 1 / (1 + ranking.above[row] + x)
        total += metric.emphasis(ranking)[row] * (binom.pmf(x, len(x) - 1, p) @ worth)
    law = RankedLaw(laws, starts, ranking, "random")
    assert float(law.value(20, metric)) == pytest.approx(total / ranking.n_queries)
    each = [(np.array([p]), np.ones((3, 1))) for p in chances]
    np.testing.assert_allclose(
        law.values(np.array([20.0]), metric, each), total / ranking.n_queries
    )


def test_places_are_twice_as_far_down_and_hold_enough_documents():
    def starts_of(n_queries, n_relevant):
        names = [f"d{i}" for i in range(n_relevant)]
        run = {query: dict.fromkeys(names, 1.0) for query in range(n_queries)}
        grades = {query: dict.fromkeys(names, 1) for query in run}
        return places_of(Pilot.from_run(run, grades, n_classes=50).ranking).tolist()

    assert starts_of(30, 12) == [0, 1, 2, 4, 8]
    assert starts_of(5, 12) == [0, 2, 4, 8]  # two of a query, or more, make ten
    assert starts_of(2, 12) == [0]
    assert starts_of(1, 3) == [0]


def test_ties_fall_as_negative_hypergeometric_chance_has_it():
    """Of two peers among three tied rivals, the first has one rival ahead with chance 6 in 20."""
    run = {"q": dict.fromkeys("abcde", 1.0)}
    ranking = Pilot.from_run(run, {"q": {"a": 1, "b": 1}}, n_classes=5).ranking
    marks = marks_of(ranking, resolve_metric("recall@5"), "random")
    first = marks.above == 0
    assert marks.losses[first].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(marks.weight[first] * 2, [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(marks.weight[~first] * 2, [0.1, 0.2, 0.3, 0.4])
    assert hypergeom.sf(0, 5, 2, 1) == pytest.approx(0.4)  # that a peer is first of all
    assert marks_of(ranking, resolve_metric("recall@5"), "lose").losses.tolist() == [3, 3]
    assert marks_of(ranking, resolve_metric("recall@5"), "win").losses.tolist() == [0, 0]


def test_many_numbers_of_rivals_are_taken_together(monkeypatch):
    rng = np.random.default_rng(0)
    names = [f"d{i}" for i in range(400)]
    run, qrels = {}, {}
    for query in range(30):
        run[query] = dict(zip(names, rng.normal(size=400), strict=True))
        qrels[query] = dict.fromkeys(names[: query + 1], 1)
        run[query] |= {d: run[query][d] + 2 for d in names[: query + 1]}
    ranking = Pilot.from_run(run, qrels, n_classes=400).ranking
    base, metric = Favorability(np.geomspace(1e-4, 0.5, 40), np.ones(40)), resolve_metric("map")
    few = alone(base, ranking).value([400, 4000], metric)
    monkeypatch.setattr(ranked, "SIZES", 100)
    every = alone(base, ranking).value([400, 4000], metric)
    np.testing.assert_allclose(few, every, rtol=2e-3)
    assert (few != every).all()


def test_what_remains_is_what_is_never_beaten():
    run, qrels = draw(0)
    ranking = Pilot.from_run(run, qrels, n_classes=K).ranking
    law = alone(Favorability([0.0, 0.1], [0.3, 0.7]), ranking)
    for metric in (ACCURACY, MRR, Top(3), resolve_metric("ndcg@5"), resolve_metric("recall@3")):
        assert law.limit(metric) == pytest.approx(float(law.value(10**12, metric)), abs=1e-9)
        assert 0 < law.limit(metric) < 1
    assert law.asymptote == law.limit(ACCURACY)
    target = float(law.value(50, MRR))
    assert law.capacity(target, MRR) == 50
    assert alone(Favorability([0.1], [1.0]), ranking).limit(MRR) == 0
    assert float(law.top(3, 9)) == float(law.value(9, Top(3)))
    assert float(law.accuracy(9)) == float(law.value(9))
    assert "4 queries" in repr(law)
