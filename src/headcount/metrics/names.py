"""What metrics are called: one name each, and the others that people type for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

from headcount.errors import ParameterError
from headcount.metrics.metric import Metric
from headcount.metrics.ranks import Auc, MeanRank
from headcount.metrics.reciprocal import Reciprocal, ReciprocalWithin
from headcount.metrics.retrieval import AveragePrecision, DiscountedGain, Precision, Recall
from headcount.metrics.top import Top

ACCURACY: Metric = Top(1)
MRR: Metric = Reciprocal()
AUC: Metric = Auc()
MEAN_RANK: Metric = MeanRank()

# A word, and how many of the best count: top-5, top5, hits@10, mrr_at_10, success_1.
NAME = re.compile(r"([a-z]+(?:[ _-][a-z]+)??)(?:[ _-]?(?:at|cut)(?=[ _-]?\d)|@)?[ _-]?(\d{1,9})?")
LEAST = re.compile(r"\(rel=(\d{1,9})\)")  # ir_measures: the least grade that is relevant
CHOICES = "accuracy, top-5, mrr, mrr@10, ndcg@10, recall@10, precision@10, map, auc and the like"


def _top(m: int | None) -> Metric | None:
    return Top(m) if m else None


def _accuracy(m: int | None) -> Metric | None:
    return ACCURACY if m is None else _top(m)


def _precision(m: int | None) -> Metric | None:
    return ACCURACY if m == 1 else Precision(m) if m else None


def _recall(m: int | None) -> Metric | None:
    return Recall(m) if m else None


def _gain(m: int | None) -> Metric | None:
    return DiscountedGain(m) if m else None


def _average_precision(m: int | None) -> Metric | None:
    return None if m == 0 else AveragePrecision(m)


def _reciprocal(m: int | None) -> Metric | None:
    if m is None:
        return MRR
    return ReciprocalWithin(m) if m > 1 else _top(m)


def _auc(m: int | None) -> Metric | None:
    return AUC if m is None else None


def _mean_rank(m: int | None) -> Metric | None:
    return MEAN_RANK if m is None else None


_WORDS: dict[Callable[[int | None], Metric | None], tuple[str, ...]] = {
    _accuracy: ("accuracy", "acc"),
    _top: ("top", "hit", "hits", "hit_rate", "hr", "success", "rank", "cmc"),
    _precision: ("precision", "p"),
    _recall: ("recall", "r"),
    _gain: ("ndcg",),
    _average_precision: ("map", "ap"),
    _reciprocal: ("mrr", "rr", "recip_rank", "reciprocal_rank"),
    _auc: ("auc", "auroc", "roc_auc"),
    _mean_rank: ("mean_rank",),
}
_FAMILIES = {word: family for family, words in _WORDS.items() for word in words}


def resolve_metric(metric: str | Metric) -> Metric:
    """Return the metric of a name: ours, or one of the dialects of others.

    Examples
    --------
    >>> resolve_metric("accuracy"), resolve_metric("top-5"), resolve_metric("mrr@10")
    (Metric('accuracy'), Metric('top-5'), Metric('mrr@10'))
    >>> resolve_metric("Hits@5"), resolve_metric("P@1"), resolve_metric("RR")
    (Metric('top-5'), Metric('accuracy'), Metric('mrr'))
    """
    if isinstance(metric, Metric):
        return metric
    word, m = _read(LEAST.sub("", metric)) if isinstance(metric, str) else ("", None)
    family = _FAMILIES.get(word)
    resolved = family(m) if family else None
    if resolved is None:
        raise ParameterError(f"unknown metric {metric!r:.60}; {_advice(word, m)}")
    least = LEAST.search(metric)
    if least is not None and int(least[1]) != 1:
        raise ParameterError(
            f"{metric!r:.60} names a grade, which belongs to the pilot; ask for {resolved.name}, "
            f"with relevant_from={int(least[1])} (--relevant-from {int(least[1])})."
        )
    return resolved


def resolve_share(metric: str | Metric) -> Metric:
    """Return the metric of a name, if it is a share from 0 to 1, as errors are known of.

    Examples
    --------
    >>> resolve_share("auc")
    Metric('auc')
    """
    resolved = resolve_metric(metric)
    if resolved.range != Metric.range:
        raise ParameterError(
            f"{resolved.name} is no share from 0 to 1, so nothing is known of its errors; ask for "
            "auc, from which it follows as 1 + (k - 1)(1 - auc), or for Forecast.mean_rank(k)."
        )
    return resolved


def _read(name: str) -> tuple[str, int | None]:
    """Return the word of a name, and how many of the best count by it."""
    read = NAME.fullmatch(name.strip().lower())
    if read is None:
        return "", None
    return re.sub("[ -]", "_", read[1]), None if read[2] is None else int(read[2])


def _advice(word: str, m: int | None) -> str:
    if word == "median_rank":
        return "`headcount observe` shows the median rank, and Forecast.median_rank(k) beyond."
    for close in get_close_matches(word, _FAMILIES, n=1):
        meant = _FAMILIES[close](m) or _FAMILIES[close](10)
        if meant is not None:
            return f"did you mean {meant.name}?"
    return f"choose {CHOICES}."
