"""What metrics are called: the dialects of other tools, and what is no metric."""

import pytest

from headcount import ParameterError
from headcount.metrics import (
    ACCURACY,
    MRR,
    AveragePrecision,
    DiscountedGain,
    Precision,
    Recall,
    ReciprocalWithin,
    Top,
    resolve_metric,
)


@pytest.mark.parametrize(
    ("names", "metric"),
    [
        ("accuracy Accuracy acc acc@1 top-1 P@1 precision@1 hits@1 rank-1 mrr@1 RR@1", ACCURACY),
        ("top-5 top5 Top_5 top@5 acc@5 hit@5 hits@5 hit_rate@5 HR@5 success_5 rank-5", Top(5)),
        ("mrr MRR rr RR recip_rank", MRR),
        ("mrr@10 MRR@10 RR@10 mrr_at_10 mrr_cut_10 mrr10", ReciprocalWithin(10)),
        ("top-999999999", Top(999_999_999)),
        ("recall@10 R@10 r@10 recall_10 recall_at_10", Recall(10)),
        ("precision@5 P@5 P_5 P(rel=1)@5", Precision(5)),
        ("ndcg@10 nDCG@10 ndcg_cut_10 ndcg_at_10", DiscountedGain(10)),
        ("map MAP AP", AveragePrecision()),
        ("map@100 AP@100 map_cut_100", AveragePrecision(100)),
    ],
)
def test_one_metric_has_one_name_and_many_spellings(names, metric):
    for name in names.split():
        assert resolve_metric(name) == metric
        assert resolve_metric(f" {name} ") == metric
    assert resolve_metric(metric.name) == metric
    assert resolve_metric(metric) is metric


def test_words_may_stand_apart():
    assert resolve_metric("top 5") == resolve_metric("hit rate at 5") == Top(5)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("tpo-5", "did you mean top-5?"),
        ("acuracy", "did you mean accuracy?"),
        ("mmr@10", "did you mean mrr@10?"),
        ("top", "did you mean top-10?"),
        ("top-0", "did you mean top-10?"),
        ("recall", "did you mean recall@10?"),
        ("ndgc@5", "did you mean ndcg@5?"),
        ("precision", "did you mean precision@10?"),
        ("nonsense", "choose accuracy"),
    ],
)
def test_what_is_close_is_named(name, advice):
    with pytest.raises(ParameterError) as error:
        resolve_metric(name)
    assert str(error.value).startswith(f"unknown metric {name!r}; ")
    assert advice in str(error.value)


@pytest.mark.parametrize(
    "name", ["top-1234567890", "top-5x", "top-1.5", "", "@5", 5, None, b"top-5"]
)
def test_names_of_no_metric_are_refused(name):
    with pytest.raises(ParameterError, match="unknown metric"):
        resolve_metric(name)


def test_a_grade_in_a_name_is_said_to_belong_to_the_pilot():
    with pytest.raises(ParameterError, match=r"ask for precision@5, with relevant_from=2 \(--rel"):
        resolve_metric("P(rel=2)@5")


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (Recall(5), "40% of what is relevant is among the best 5"),
        (Recall(1), "40% of what is relevant is among the best one"),
        (DiscountedGain(10), "40% of the gain of the best order is among the best 10"),
    ],
)
def test_values_are_said_in_words_that_tell_metrics_apart(metric, words):
    assert metric.describe(0.4) == words
    assert metric.past(0).describe(0.4) == words
    assert type(metric.past(0)) is type(metric)
