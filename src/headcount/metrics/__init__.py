"""What is expected of the number of rivals above a probe's mark: accuracy, top-m.

Public: `Metric` (the contract), `ACCURACY`, `Top`, `resolve_metric`. `hypergeometric` holds the
compiled chances that metrics are made of, and is internal.
"""

from __future__ import annotations

import re

from headcount.errors import ParameterError
from headcount.metrics.metric import Metric
from headcount.metrics.top import Top

__all__ = ["ACCURACY", "Metric", "Top", "resolve_metric"]

ACCURACY: Metric = Top(1)


def resolve_metric(metric: str | Metric) -> Metric:
    """Return the metric of a name.

    Examples
    --------
    >>> resolve_metric("accuracy"), resolve_metric("top-5")
    (Metric('accuracy'), Metric('top-5'))
    """
    if isinstance(metric, Metric):
        return metric
    if metric == ACCURACY.name:
        return ACCURACY
    top = re.fullmatch(r"top-([0-9]{1,9})", metric) if isinstance(metric, str) else None
    if top is None or int(top[1]) == 0:
        raise ParameterError(
            f"unknown metric {metric!r:.60}; choose accuracy, or top-5 and the like."
        )
    return Top(int(top[1]))
