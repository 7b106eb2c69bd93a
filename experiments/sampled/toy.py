"""The toy of Krichene and Rendle (2020): three recommenders, whose order sampling turns around.

Five users each, 10,000 items, 99 sampled rivals. What a sampled metric is on average over draws is
a finite sum, without replacement (hypergeometric) and with (binomial).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.methods import rounded
from experiments.sampled.corrections import naive
from experiments.sampled.ranks import (
    Floats,
    Metric,
    binomial_chances,
    exact_chances,
    gain,
    recall_at_ten,
    reciprocal,
    share_beaten,
)

N_ITEMS, N_NEGATIVES = 10_000, 99
RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS: Mapping[str, Metric] = {
    "AUC": share_beaten,
    "AP": reciprocal,
    "NDCG": gain,
    "recall@10": recall_at_ten,
}
PRINTED = {
    "A": {"AUC": 0.990, "AP": 0.010, "NDCG": 0.150, "recall@10": 0.0},
    "B": {"AUC": 0.555, "AP": 0.010, "NDCG": 0.122, "recall@10": 0.0},
    "C": {"AUC": 0.843, "AP": 0.101, "NDCG": 0.208, "recall@10": 0.200},
}
PRINTED_SAMPLED = {
    "A": {"AP": 0.630, "NDCG": 0.724, "recall@10": 1.000},
    "B": {"AP": 0.336, "NDCG": 0.444, "recall@10": 0.400},
    "C": {"AP": 0.325, "NDCG": 0.460, "recall@10": 0.567},
}


def toy() -> list[dict[str, Any]]:
    """Return a row for each recommender and metric: computed here, and printed there.

    `expected` and `with_replacement` are means over draws of the sampled metric, `spread` is the
    standard deviation of one draw for five users, without replacement.
    """
    rows = []
    for name, ranks in RANKS.items():
        whole = np.array(ranks)
        exact = exact_chances(whole, N_ITEMS, N_NEGATIVES)
        binomial = binomial_chances(N_ITEMS, N_NEGATIVES)[:, whole - 1]
        for metric, function in METRICS.items():
            values = naive(function, N_ITEMS, N_NEGATIVES)
            rows.append(
                {
                    "recommender": name,
                    "metric": metric,
                    "full": rounded(function(whole.astype(np.float64), N_ITEMS).mean()),
                    "full_printed": PRINTED[name][metric],
                    "expected": rounded((values @ exact).mean()),
                    "with_replacement": rounded((values @ binomial).mean()),
                    "spread": rounded(_spread(values, exact)),
                    "sampled_printed": PRINTED_SAMPLED[name].get(metric),
                }
            )
    return rows


def _spread(values: Floats, chances: Floats) -> float:
    """Return the standard deviation of the mean over users, each with rivals of its own."""
    variances = values**2 @ chances - (values @ chances) ** 2
    return float(np.sqrt(np.maximum(variances, 0).sum()) / chances.shape[1])
