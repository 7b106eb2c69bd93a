"""The yardstick of metrics: graded sets, the model of scores, and the experiment at a tiny size."""

import csv
import itertools
import json

import numpy as np
import pytest
from scipy.stats import binom, genpareto, norm, skewnorm

from experiments import app
from experiments.ranking import graded, metrics, places, score_models
from experiments.ranking.places import ONE, SEVERAL
from experiments.runner import Settings
from headcount import Pilot, simulate
from headcount.curves.observed import observe
from headcount.curves.ranked import RankedObserved
from headcount.errors import DataError
from headcount.metrics import resolve_metric

RECALL, NDCG, MAP = (resolve_metric(name) for name in ("recall@3", "ndcg@3", "map"))


def tiny_set(seed=0, n_queries=5, n_documents=9):
    """Queries whose true document and two others are graded, on a line."""
    rng = np.random.default_rng(seed)
    graded_ones = np.array([rng.permutation(n_documents)[:3] for _ in range(n_queries)])
    return graded.GradedSet(
        queries=rng.normal(size=(n_queries, 2)),
        documents=rng.normal(size=(n_documents, 2)).round(1),
        graded=graded_ones,
        grades=np.tile([2.0, 1.0, 1.0], (n_queries, 1)),
        compare=graded.closeness,
    )


def as_run(whole, queries, documents):
    """The same as dicts: what a user would give."""
    scores = whole.scores(queries, documents)
    run = {
        f"q{query:03}": {f"d{d}": float(s) for d, s in zip(documents, row, strict=True)}
        for query, row in zip(queries, scores, strict=True)
    }
    qrels = {
        f"q{query:03}": {
            f"d{d}": float(grade)
            for d, grade in zip(whole.graded[query], whole.grades[query], strict=True)
        }
        for query in queries
    }
    return run, qrels


def value_by_hand(order, grades, metric):
    """A metric of one ranked list: gains by rank, without anything of ours."""
    gains = [grades.get(document, 0.0) for document in order]
    if metric is RECALL:
        return sum(gain > 0 for gain in gains[:3]) / len(grades)
    if metric is NDCG:
        ideal = sorted(grades.values(), reverse=True)[:3]
        discount = 1 / np.log2(np.arange(2, 5))
        return np.dot(gains[:3], discount[: len(gains[:3])]) / np.dot(ideal, discount[: len(ideal)])
    hits = np.flatnonzero(np.array(gains) > 0)
    return float(np.mean((1 + np.arange(len(hits))) / (1 + hits)))


# -- graded sets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [RECALL, NDCG, MAP], ids=str)
@pytest.mark.parametrize("k", [3, 5, 7, 9])
def test_the_truth_is_the_mean_over_all_collections(metric, k):
    """Graded documents stay; all sets of the others are looked at, one after another."""
    whole = tiny_set()
    values = []
    for query in range(len(whole.queries)):
        (scores,) = whole.scores(np.array([query]))
        assert len(set(scores)) == len(scores)
        grades = dict(zip(whole.graded[query].tolist(), whole.grades[query], strict=True))
        rivals = [d for d in range(len(scores)) if d not in grades]
        for drawn in itertools.combinations(rivals, k - 3):
            order = sorted([*grades, *drawn], key=lambda d: -scores[d])
            values.append(value_by_hand(order, grades, metric))
    truth = RankedObserved(whole.ranking(), "random").value(k, metric)
    assert float(truth) == pytest.approx(np.mean(values), abs=1e-12)


def test_rankings_are_those_of_a_run():
    for seed in range(5):
        whole = tiny_set(seed)
        # Documents twice, so that rivals tie with graded ones and these with each other.
        documents = whole.documents.copy()
        documents[:4] = documents[4:8]
        documents[whole.graded[0, 1]] = documents[whole.graded[0, 2]]
        whole = graded.GradedSet(
            whole.queries, documents, whole.graded, whole.grades, whole.compare
        )
        every, all_documents = np.arange(5), np.arange(9)
        run, qrels = as_run(whole, every, all_documents)
        theirs = Pilot.from_run(run, qrels, n_classes=9).ranking.to_dict()
        ours = whole.ranking().to_dict()
        assert ours["ties"] != [0] * 15 and max(ours["peers"]) > 1
        for name, values in theirs.items():
            if name != "possible_ties":  # a run cannot tell that nothing lies past its end
                assert ours[name] == pytest.approx(values), name


def test_pilots_hold_all_graded_documents_and_random_others():
    whole = tiny_set(1, n_queries=40, n_documents=300)
    drawn = graded.draw_pilot(whole, 6, 60, np.random.default_rng(3))
    again = graded.draw_pilot(whole, 6, 60, np.random.default_rng(3))
    other = graded.draw_pilot(whole, 6, 60, np.random.default_rng(4))
    ranking = drawn.pilot.ranking
    assert drawn.pilot.n_classes == 60 and ranking.n_queries == 6
    assert (ranking.n_graded == 3).all() and drawn.rivals.shape == (6, 57)
    assert np.array_equal(drawn.rivals, again.rivals)
    assert not np.array_equal(drawn.queries, other.queries)
    # Rows are in the order of the marks, and losses are the rivals above these.
    above = (drawn.rivals[:, None] > drawn.marks[:, :, None]).sum(axis=2)
    assert above.ravel().tolist() == ranking.losses.tolist()
    assert (np.diff(drawn.marks, axis=1) <= 0).all()
    everywhere = whole.scores(drawn.queries)
    for i, query in enumerate(drawn.queries):
        assert set(drawn.marks[i]) == set(everywhere[i, whole.graded[query]])
        assert set(drawn.rivals[i]) <= set(everywhere[i])


def test_neighbours_of_the_true_document_are_relevant():
    gallery = np.array([[0.0], [1.0], [2.5], [4.5], [100.0]])
    made = graded.with_neighbours(
        gallery, np.array([[0.1], [99.0]]), np.array([2, 4]), graded.closeness
    )
    assert made.graded.tolist() == [[2, 1, 3, 0], [4, 3, 2, 1]]
    assert made.grades.tolist() == [[2, 1, 1, 1]] * 2


def test_templates_are_looked_up_among_the_first_drawings():
    labels = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 1])
    made = graded.drawings_of(np.zeros((2, 1)), np.arange(10.0)[:, None], labels, graded.closeness)
    assert made.documents.ravel().tolist() == [1, 4, 5, 7, 0, 2, 3, 6]
    assert made.graded.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert made.grades.tolist() == [[2, 2, 1, 1]] * 2


def test_similarities_by_hand():
    queries, documents = np.array([[3.0, 4.0]]), np.array([[3.0, 4.0], [4.0, 3.0], [0.0, -2.0]])
    assert graded.cosine(queries, documents).tolist() == [[1.0, 0.96, -0.8]]
    assert graded.closeness(queries, documents).round(6).tolist() == [[0.0, -1.414214, -6.708204]]


# -- the model of scores ---------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [RECALL, NDCG, MAP, resolve_metric("recall@10")], ids=str)
def test_the_expected_metric_is_that_of_simulated_collections(metric):
    """Scores drawn again and again, each ranked list looked at by itself."""
    marks, grades, n = np.array([[2.2, 1.1, 0.4]]), np.array([[1.0, 2.0, 1.0]]), 12
    law = score_models.SkewNormal(2.0, -0.3, 1.1)
    none = np.zeros((1, 3), np.int64)
    ranking = graded.ranking_of(marks, none, none, grades, 3 + n)
    said = score_models.expected_metric(ranking, law.chance_above(marks[0]), [3 + n], metric)
    rng = np.random.default_rng(5)
    values = []
    for _ in range(20_000):
        rivals = skewnorm.rvs(2.0, -0.3, 1.1, size=n, random_state=rng)
        above = (rivals > marks[0][:, None]).sum(axis=1)
        rank = np.arange(3) + above  # from nought
        if metric is NDCG:
            gains = np.where(rank < 3, grades[0] / np.log2(2 + rank), 0).sum()
            values.append(gains / (2 + 1 / np.log2(3) + 0.5))
        elif metric is MAP:
            values.append(np.mean((1 + np.arange(3)) / (1 + rank)))
        else:
            values.append(np.mean(rank < metric.worth_of_ranks.m))
    error = np.std(values) / np.sqrt(len(values))
    assert said[0] == pytest.approx(np.mean(values), abs=4 * error)
    assert error < 0.003


def test_the_expected_metric_in_closed_form():
    """One relevant document: recall@3 is the chance of at most two binomial rivals."""
    none = np.zeros((2, 1), np.int64)
    ranking = graded.ranking_of(np.zeros((2, 1)), none, none, np.ones((2, 1)), 10)
    chances = np.array([0.3, 0.05])
    said = score_models.expected_metric(ranking, chances, [1, 10, 41], RECALL)
    for k, value in zip((1, 10, 41), said, strict=True):
        assert value == pytest.approx(binom.cdf(2, k - 1, chances).mean(), abs=1e-12)


def test_the_skew_normal_law_is_found():
    sample = skewnorm.rvs(4.0, -1.0, 2.0, size=4000, random_state=1)
    law = score_models.SkewNormal.fit(sample)
    asked = np.array([-1.0, 0.0, 2.0, 5.0])
    assert law.chance_above(asked) == pytest.approx(skewnorm.sf(asked, 4.0, -1.0, 2.0), abs=0.02)
    plain = score_models.SkewNormal(0.0, 1.0, 2.0)
    assert plain.chance_above(asked) == pytest.approx(norm.sf(asked, 1.0, 2.0))


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3])
def test_the_tail_is_found(shape):
    excesses = genpareto.ppf((np.arange(200_000) + 0.5) / 200_000, shape, scale=2.5)
    found = score_models.fit_pareto(excesses)
    assert found == pytest.approx((shape, 2.5), abs=0.02)


def test_laws_of_all_queries_with_tails():
    rng = np.random.default_rng(4)
    rivals, marks = rng.normal(size=(2, 80)), np.array([[2.5, 0.0], [3.0, 1.0]])
    bodies = [score_models.SkewNormal.fit(row) for row in rivals]
    tails = score_models.fit_tails(rivals, bodies)
    said = score_models.chances_above(tails, marks)
    assert said[2:] == pytest.approx(
        score_models.ParetoTail.fit(rivals[1], bodies[1]).chance_above(marks[1])
    )


def test_body_and_tail_are_one_law():
    rng = np.random.default_rng(2)
    sample = rng.standard_t(3, 500)
    body = score_models.SkewNormal.fit(sample)
    law = score_models.ParetoTail.fit(sample, body)
    start = np.quantile(sample, 0.9)
    assert (law.threshold, law.share) == (start, 0.1)
    asked = np.sort(np.concatenate([np.linspace(-9, 40, 200), [start]]))
    chances = law.chance_above(asked)
    assert (np.diff(chances) <= 0).all() and chances[0] == pytest.approx(1, abs=1e-3)
    assert float(law.chance_above(start)) == pytest.approx(0.1)
    assert float(law.chance_above(start + 1e-9)) == pytest.approx(0.1, abs=1e-6)
    # Past every score of a heavy tail it leaves more than the body does.
    assert law.chance_above(sample.max()) > 10 * body.chance_above(sample.max())
    with pytest.raises(ValueError, match="in the tail"):
        score_models.ParetoTail.fit(sample[:30], body)


# -- the practice ----------------------------------------------------------------------------------


def test_the_line_goes_through_both_points_and_stays_a_share():
    curve = observe(simulate.isotropic_gaussian(60, sigma=0.7, random_state=1).pilot)
    for name in ("top-5", "mrr", "ndcg@10"):
        metric = resolve_metric(name)
        start, end = (float(curve.value(k, metric)) for k in (30, 60))
        said = metrics.straight_line(curve, 60, [30, 60, 120, 1200], metric)
        assert said[:2] == pytest.approx([start, end])
        assert said[2] == pytest.approx(2 * end - start)  # as much again when doubled again
        assert said[3] == pytest.approx(
            max(end + (end - start) * np.log2(1200 / 60), 0.0), abs=1e-12
        )
    steep = observe(Pilot.from_losses([9] * 5 + [1], 12))
    assert metrics.straight_line(steep, 12, [10**6], resolve_metric("top-5")).tolist() == [0.0]


# -- the experiment --------------------------------------------------------------------------------

CLASSES = 170


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(2)
    for name in places.FILES:
        gallery = rng.normal(size=(CLASSES, 5))
        labels = np.repeat(np.arange(CLASSES), 4)
        probes = gallery[labels] + 0.8 * rng.normal(size=(len(labels), 5))
        similarity = "cosine" if name == "definitions_tfidf" else "euclidean"
        np.savez(
            folder / f"{name}.npz",
            gallery=gallery, probes=probes, probe_labels=labels, similarity=similarity,
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def results(folder, tmp_path_factory):
    chosen = [
        *places.simulated_places((8,), n_classes=160, worlds=[("d5", 0.2, "normal", "normal")]),
        *places.real_places(folder, (8,))[:1],
        *places.graded_places(folder, (32,)),
    ]
    assert [place.family for place in chosen] == ["simulations", *["omniglot_pixels"] * 2]
    settings = Settings(tmp_path_factory.mktemp("metrics"))
    return metrics.metrics(settings, pilots=2, chosen=chosen), settings, chosen


def test_places_reach_twenty_times_their_size(folder):
    with pytest.raises(DataError):
        places.real_places(folder / "none")
    for place in places.simulated_places():
        assert 20 * place.k1 <= 2000
    assert {place.k1 for place in places.real_places(folder, (8, 9))} == {8}
    assert str(folder) not in places.real_places(folder, (8,))[0].key
    (most,) = places.at_most(places.real_places(folder, (8,))[:1], 3)
    assert most.pilots == 3


def test_rows_are_errors_against_the_whole_set(results):
    found, _, chosen = results
    (place,) = [place for place in chosen if place.family == "omniglot_pixels"
                and place.answers == ONE]  # fmt: skip
    metric, ks = resolve_metric("top-5"), 8 * np.arange(2, 21)
    errors, floors, ends = [], [], []
    for repeat in range(2):
        case = places.draw_case(place, repeat, 0)
        truth = case.whole.value(ks, metric)
        said = metrics.straight_line(observe(case.pilot), 8, ks, metric)
        errors.append(np.sqrt(np.mean((said - truth) ** 2)))
        floors.append(np.sqrt(np.mean((case.known.value(ks, metric) - truth) ** 2)))
        ends.append(said[-1] - truth[-1])
    rows = {
        row["method"]: row
        for row in found.rows
        if (row["answers"], row["set"], row["metric"]) == (ONE, "omniglot_pixels", "top-5")
    }
    assert list(rows) == [*metrics.METHODS[ONE], "oracle"]
    assert rows["straight line"]["rmse"] == pytest.approx(np.mean(errors), abs=1e-5)
    assert rows["oracle"]["rmse"] == pytest.approx(np.mean(floors), abs=1e-5)
    assert rows["straight line"]["bias_20"] == pytest.approx(np.mean(ends), abs=1e-5)
    assert all(row["pilots"] == 2 for row in rows.values())


def test_the_models_of_scores_are_part_of_it(results):
    _, _, chosen = results
    (place,) = [place for place in chosen if place.answers == SEVERAL]
    case = places.draw_case(place, 1, 0)
    chances = np.concatenate(
        [
            score_models.SkewNormal.fit(rivals).chance_above(marks)
            for rivals, marks in zip(case.graded.rivals, case.graded.marks, strict=True)
        ]
    )
    ks = 32 * np.arange(2, 21)
    said = score_models.expected_metric(
        case.pilot.ranking, chances, ks, resolve_metric("recall@10")
    )
    record = metrics.look(place, 1, 0)
    assert record["said"]["recall@10"]["skew-normal"] == pytest.approx(said, abs=1e-5)
    # Of 28 rivals too few are in the tail for a Pareto law: the pilot is refused.
    assert set(record["said"]["ndcg@10"]) == set(metrics.METHODS[SEVERAL]) - {
        "skew-normal, Pareto tail"
    }
    assert "in the tail" in record["refused"]["skew-normal, Pareto tail"]


def test_the_summary_holds_auto_against_the_best(results):
    found, *_ = results
    errors = {}
    for row in found.rows:
        place = row["answers"], row["set"], row["metric"]
        errors.setdefault(place, {})[row["method"]] = row["rmse"]
    assert len(found.details["summary"]) == len(errors) == 2 * 4 + 3
    for row in found.details["summary"]:
        own = errors[row["answers"], row["set"], row["metric"]]
        others = {
            name: value for name, value in own.items()
            if name not in ("auto", "oracle") and value is not None
        }  # fmt: skip
        assert row["ratio"] == pytest.approx(own["auto"] / min(others.values()), rel=1e-3)
        assert row["best_other"] == min(others, key=others.get)
        assert row["near_best"] == ("yes" if row["ratio"] <= 1.1 else "no")
        aimed = row["answers"] == SEVERAL and row["metric"] != "map"
        modelled = [own[name] for name in score_models.MODELS if own.get(name) is not None]
        expected = ("yes" if own["auto"] < min(modelled) else "no") if aimed else ""
        assert row["beats_score_models"] == expected


def test_nothing_is_done_twice(results):
    found, settings, chosen = results
    again = metrics.metrics(settings, pilots=2, chosen=chosen)
    assert again.run["tasks_resumed"] == again.run["tasks"] == 6
    assert again.rows == found.rows


def test_a_method_that_refuses_is_counted(results, monkeypatch):
    _, _, chosen = results

    def refuse(*_):
        raise DataError("not to my taste.")

    monkeypatch.setattr(metrics, "straight_line", refuse)
    record = metrics.look(chosen[0], 0, 0)
    assert record["refused"] == {"straight line": "not to my taste."}
    row = metrics._row([record], "mrr", "straight line")
    assert (row["pilots"], row["refused"], row["rmse"]) == (1, 1, None)
    assert row["why_refused"] == "not to my taste."


def test_the_command(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(places, "SIZES", {ONE: (8,), SEVERAL: (32,)})
    monkeypatch.setattr(
        metrics, "_every_place",
        lambda data: [*places.real_places(data, (8,))[1:3], *places.graded_places(data, (32,))],
    )  # fmt: skip
    words = ["metrics", str(folder), "--pilots", "1", "--jobs", "1", "--output", str(tmp_path)]
    assert app.main(words) == 0
    said = capsys.readouterr().out
    assert "straight line" in said and "beats scores" in said
    whole = json.loads((tmp_path / "metrics.json").read_text())
    assert str(folder) not in json.dumps(whole) and whole["options"]["pilots"] == 1
    with open(tmp_path / "metrics.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(whole["rows"]) == 2 * 4 * 5 + 3 * 7
    assert (tmp_path / "metrics.png").stat().st_size > 10_000
