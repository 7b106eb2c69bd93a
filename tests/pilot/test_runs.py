"""Runs of a search engine and judgements: as dicts, frames and files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from headcount import (
    AssumptionWarning,
    DataError,
    ParameterError,
    Pilot,
    UnsupportedError,
    forecast,
    load,
    observe,
)
from headcount.metrics import resolve_metric

RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"b": 5.0, "a": 4.0, "d": 1.0}}
QRELS = {"q1": {"b": 1, "c": 2, "x": 0}, "q2": {"d": 2, "y": 1}}
ROWS = [(q, d, s) for q, documents in RUN.items() for d, s in documents.items()]
GRADES = [(q, d, g) for q, documents in QRELS.items() for d, g in documents.items()]


def same(pilot, **options):
    expected = Pilot.from_run(RUN, QRELS, n_classes=10, **options)
    assert pilot.n_classes == expected.n_classes and pilot.n_probes == expected.n_probes
    assert pilot.ranking.to_dict() == expected.ranking.to_dict()


def test_where_graded_documents_are():
    ranking = Pilot.from_run(RUN, QRELS, n_classes=10).ranking
    assert ranking.query.tolist() == [0, 0, 1, 1]
    assert ranking.losses.tolist() == [1, 1, 2, 2]
    assert ranking.above.tolist() == [0, 1, 0, 1]
    assert ranking.missing.tolist() == [False, False, False, True]
    assert ranking.gain.tolist() == [1, 2, 2, 1] and ranking.ideal.tolist() == [2, 1, 2, 1]
    assert ranking.n_rivals.tolist() == [8] * 4 and ranking.n_queries == 2
    pilot = Pilot.from_run(RUN, QRELS, n_classes=10)
    assert pilot.losses.tolist() == [1, 2] and pilot.n_probes == 2
    with pytest.raises(ValueError, match="read-only"):
        ranking.losses[0] = 5


def test_frames_of_other_tools_are_read():
    for names, grade in ((("q_id", "doc_id"), "score"), (("query_id", "doc_id"), "relevance")):
        run = pd.DataFrame(ROWS, columns=[*names, "score"])
        qrels = pd.DataFrame(GRADES, columns=[*names, grade])
        same(Pilot.from_run(run, qrels, n_classes=10))
        same(Pilot.from_run(pl.from_pandas(run), pl.from_pandas(qrels), n_classes=10))


def test_files_are_read(tmp_path):
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in ROWS))
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in GRADES))
    same(Pilot.from_run(run, str(qrels), n_classes=10))
    same(load(run, qrels=qrels, n_classes=10))
    same(load(run, qrels=qrels, n_classes=10, relevant_from=2), relevant_from=2)
    always = tmp_path / "always.txt"
    always.write_text("a\nb\n")
    same(load(run, qrels=qrels, n_classes=10, always=always), always=["a", "b"])
    always.write_text("q1 a\nq2 b\nq2 a\n")
    same(Pilot.from_run(RUN, QRELS, n_classes=10, always=always),
         always={"q1": ["a"], "q2": ["b", "a"]})  # fmt: skip
    always.write_text("q1 a\nb\n")
    with pytest.raises(DataError, match="each line must hold a document, or a query and a"):
        load(run, qrels=qrels, n_classes=10, always=always)


def test_the_least_grade_decides_what_is_relevant_but_not_what_is_a_gain():
    every, few = (Pilot.from_run(RUN, QRELS, n_classes=10, relevant_from=g) for g in (1, 2))
    assert every.ranking.relevant.tolist() == [1, 1, 1, 1]
    assert few.ranking.relevant.tolist() == [0, 1, 1, 0]
    assert few.ranking.first.tolist() == [0, 1, 1, 0]
    assert few.ranking.gain.tolist() == every.ranking.gain.tolist()
    # Graded documents stay whatever counts as relevant.
    assert few.ranking.above.tolist() == every.ranking.above.tolist()
    gain = resolve_metric("ndcg@5")
    np.testing.assert_array_equal(
        observe(every).value([5, 10], gain), observe(few).value([5, 10], gain)
    )


def test_what_always_stays_is_ahead_at_every_size():
    ranking = Pilot.from_run(RUN, QRELS, n_classes=10, always=["a", "c", "z"]).ranking
    assert ranking.losses.tolist() == [0, 0, 1, 1]
    assert ranking.above.tolist() == [1, 2, 1, 2]
    assert ranking.n_always.tolist() == [2, 3]  # c is graded for the first query
    assert ranking.n_rivals.tolist() == [6, 6, 5, 5]


def test_one_relevant_document_each_is_a_plain_pilot():
    qrels = {"q1": {"b": 1, "x": 0}, "q2": {"d": 1}}
    pilot = Pilot.from_run(RUN, qrels, n_classes=10)
    assert pilot.ranking is None and pilot.losses.tolist() == [1, 2]
    values = {
        name: float(observe(pilot).value(10, resolve_metric(name)))
        for name in ("recall@2", "top-2", "mrr", "map", "precision@2")
    }
    assert values["recall@2"] == values["top-2"] == 2 * values["precision@2"] == 0.5
    assert values["mrr"] == values["map"] == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_queries_that_cannot_be_used_are_left_out_and_named():
    run, qrels = RUN | {"q3": {"a": 1.0}}, QRELS | {"q4": {"a": 1}}
    with pytest.warns(AssumptionWarning) as told:
        same(Pilot.from_run(run, qrels, n_classes=10))
    assert [str(one.message).split(" (")[0] for one in told] == [
        "1 of 3 queries in the run has no relevant document in the qrels",
        "1 of 3 judged queries is not in the run",
    ]


@pytest.mark.parametrize(
    ("run", "qrels", "reason"),
    [
        ({"q": {"a": np.nan}}, {"q": {"a": 1}}, "the run: document a of query q has nan, not a"),
        ({"q": {"a": 1}}, {"q": {"a": "good"}}, "the qrels: document a of query q has 'good'"),
        ({"q": [("a", 1)]}, {"q": {"a": 1}}, "must map each query to its documents"),
        ({}, {"q": {"a": 1}}, "the run is empty"),
        ({"q": {"a": 1}}, {"r": {"a": 1}}, "no query of the run has a relevant document"),
        ({"q": {1: 1.0, "1": 2.0}}, {"q": {"1": 1}}, "document 1 is there twice for query q"),
        (pd.DataFrame({"query": ["q"], "doc_id": ["a"]}), QRELS, "there is no score"),
        (3, QRELS, "must be a dict of dicts, a file, or a table with columns q_id, doc_id"),
        ({"q": {d: 1.0 for d in "abcdefghijk"}}, {"q": {"a": 1}}, "name 11 documents, but n_classes"),
    ],
)  # fmt: skip
def test_what_is_no_run_is_refused(run, qrels, reason):
    with pytest.raises(DataError, match=reason):
        Pilot.from_run(run, qrels, n_classes=10)


def test_a_least_grade_must_be_above_nought():
    with pytest.raises(ParameterError, match="relevant_from must be above 0"):
        Pilot.from_run(RUN, QRELS, n_classes=10, relevant_from=0)


def test_a_run_is_spoken_of_as_queries_and_documents():
    pilot = Pilot.from_run(RUN, QRELS, n_classes=10)
    assert repr(pilot) == "Pilot(10 documents, 2 queries)"
    assert repr(pilot.with_nouns("passage")) == "Pilot(10 passages, 2 queries)"
    assert "probes" not in str(pilot.summary()) and "class" not in str(pilot.summary())


def test_a_refused_method_is_called_by_its_own_name():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    pilot = Pilot.from_run(run, {"q": {"a": 1, "b": 1}}, n_classes=10)
    with pytest.raises(UnsupportedError, match="method kde needs scores"):
        forecast(pilot, classes=20, method="kde", metric="recall@2")
    with pytest.raises(UnsupportedError, match="method log-linear gives no law"):
        forecast(pilot, classes=20, method="log-linear", metric="recall@2")
