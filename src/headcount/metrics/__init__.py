"""What is expected of the number of rivals above a probe's mark: accuracy, MRR, recall, nDCG.

Public: `Metric` (the contract), `ACCURACY`, `Top`, `MRR`, `Reciprocal`, `ReciprocalWithin`,
`Recall`, `Precision`, `DiscountedGain`, `AveragePrecision`, `AUC`, `MEAN_RANK`, `resolve_metric`
and `resolve_share`. `hypergeometric` and `binomial` hold the compiled chances that metrics are made
of, and are internal.
"""

from __future__ import annotations

from headcount.metrics.metric import Metric
from headcount.metrics.names import (
    ACCURACY,
    AUC,
    MEAN_RANK,
    MRR,
    resolve_metric,
    resolve_share,
)
from headcount.metrics.reciprocal import Reciprocal, ReciprocalWithin
from headcount.metrics.retrieval import AveragePrecision, DiscountedGain, Precision, Recall
from headcount.metrics.top import Top

__all__ = [
    "ACCURACY",
    "AUC",
    "MEAN_RANK",
    "MRR",
    "AveragePrecision",
    "DiscountedGain",
    "Metric",
    "Precision",
    "Recall",
    "Reciprocal",
    "ReciprocalWithin",
    "Top",
    "resolve_metric",
    "resolve_share",
]
