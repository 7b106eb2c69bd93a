"""Scores of a fitted scikit-learn classifier, and how it was trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError

# How a class's score came about: from its own training points; against those of all others; or
# together with other classes, so that one more class changes the order of the old ones.
SEPARATE, PARTLY, JOINT = "separate", "partly", "joint"
TRAINING = {
    SEPARATE: (
        "BernoulliNB", "CategoricalNB", "GaussianNB", "LinearDiscriminantAnalysis", "MultinomialNB",
        "NearestCentroid", "QuadraticDiscriminantAnalysis",
    ),
    PARTLY: (
        "CalibratedClassifierCV", "ComplementNB", "GaussianProcessClassifier", "LinearSVC",
        "OneVsRestClassifier", "PassiveAggressiveClassifier", "Perceptron", "RidgeClassifier",
        "RidgeClassifierCV", "SGDClassifier",
    ),
    JOINT: (
        "AdaBoostClassifier", "BaggingClassifier", "CatBoostClassifier", "DecisionTreeClassifier",
        "ExtraTreeClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier",
        "HistGradientBoostingClassifier", "KNeighborsClassifier", "LGBMClassifier",
        "LabelPropagation", "LabelSpreading", "LogisticRegression", "LogisticRegressionCV",
        "MLPClassifier", "NuSVC", "OneVsOneClassifier", "OutputCodeClassifier",
        "RadiusNeighborsClassifier", "RandomForestClassifier", "SVC", "StackingClassifier",
        "VotingClassifier", "XGBClassifier",
    ),
}  # fmt: skip
TRAINED = {name: training for training, names in TRAINING.items() for name in names}
INSIDE = ("best_estimator_", "estimator_")


def classifier_name(clf: Any) -> str:
    """Return the name of the kind of classifier, found inside pipelines and searches.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> classifier_name(make_pipeline(StandardScaler(), GaussianNB()))
    'GaussianNB'
    """
    kinds = [kind.__name__ for kind in type(clf).__mro__ if kind.__name__ in TRAINED]
    if kinds:
        return kinds[0]
    if hasattr(clf, "steps"):
        return classifier_name(clf.steps[-1][1])
    inner = next((getattr(clf, name) for name in INSIDE if hasattr(clf, name)), None)
    return type(clf).__name__ if inner is None else classifier_name(inner)


def training_of(name: str | None) -> str | None:
    """Return how this kind of classifier is trained; None where it is not known.

    Examples
    --------
    >>> training_of("GaussianNB"), training_of("SVC"), training_of("MyOwn")
    ('separate', 'joint', None)
    """
    return None if name is None else TRAINED.get(name)


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
