"""Scores of a fitted scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError


def classifier_scores(clf: Any, X: Any) -> NDArray[np.float64]:  # noqa: N803
    """Return one score for each row and class, higher is better."""
    for method in ("decision_function", "predict_log_proba", "predict_proba"):
        if not hasattr(clf, method):
            continue
        with np.errstate(divide="ignore"):
            scores = np.asarray(getattr(clf, method)(X), dtype=np.float64)
        if scores.ndim == 1:  # two classes: one number for the second of them
            scores = np.column_stack([-scores, scores])
        if scores.shape[1] != len(clf.classes_):
            raise DataError(
                f"{type(clf).__name__} gives {scores.shape[1]:,} scores for "
                f"{len(clf.classes_):,} classes; for SVC use decision_function_shape='ovr'."
            )
        # Log-probabilities of classes ruled out are -inf; their probabilities rank the same.
        if not np.isneginf(scores).any():
            return scores
    raise DataError(
        f"{type(clf).__name__} has no usable decision_function, predict_log_proba or "
        "predict_proba; use Pilot.from_scores with your own scores."
    )
