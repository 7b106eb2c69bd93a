"""What is expected of the number of rivals above a probe's mark: accuracy, top-m, MRR.

Public: `Metric` (the contract), `ACCURACY`, `Top`, `MRR`, `Reciprocal`, `resolve_metric`.
`hypergeometric` and `binomial` hold the compiled chances that metrics are made of, and are
internal.
"""

from __future__ import annotations

from headcount.metrics.metric import Metric
from headcount.metrics.names import ACCURACY, MRR, resolve_metric
from headcount.metrics.reciprocal import Reciprocal
from headcount.metrics.top import Top

__all__ = ["ACCURACY", "MRR", "Metric", "Reciprocal", "Top", "resolve_metric"]
