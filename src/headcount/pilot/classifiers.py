"""Scores of a scikit-learn classifier, fitted or cross-validated, and how it was trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.support import validation
from headcount.support.words import share_of

Floats = NDArray[np.float64]
Split = tuple[NDArray[Any], NDArray[Any]]

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
INSIDE = ("best_estimator_", "estimator_", "estimator")  # the last where nothing is fitted


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


def classifier_scores(clf: Any, X: Any) -> Floats:  # noqa: N803
    """Return one score for each row and class, higher is better."""
    return _usable_scores(clf, lambda method: getattr(clf, method)(X), len(clf.classes_))


def cross_validated_scores(
    clf: Any,
    X: Any,  # noqa: N803
    y: Any,
    cv: Any,
) -> tuple[Floats, NDArray[Any], int]:
    """Return scores of rows from copies of a classifier that were trained without them.

    Parameters
    ----------
    clf : classifier
        Fitted or not; copies of it are trained anew on each training part.
    X, y : array
        All rows and their classes.
    cv : int, splitter or sequence of (train, test)
        Number of stratified folds, or anything that splits the rows. Each row must be tested once,
        and every training part must hold all classes.

    Returns
    -------
    (scores, classes, n_folds)
        One score for each row and class, in the order of the rows; the classes of the columns; and
        how many folds there were.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = [[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"]
    >>> scores, classes, n_folds = cross_validated_scores(GaussianNB(), X, y, cv=2)
    >>> scores.shape, classes.tolist(), n_folds
    ((4, 2), ['a', 'b'], 2)
    """
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    labels = validation.as_labels(y, "labels")
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    validation.same_length(labels, "labels", n_rows, "rows")
    try:
        fresh = clone(clf)
    except TypeError as error:
        raise DataError(
            f"{type(clf).__name__} cannot be copied, so it cannot be trained on each fold; use a "
            "scikit-learn classifier, or Pilot.from_scores with folds=."
        ) from error
    splits = _splits(X, labels, cv)
    scores = _usable_scores(
        fresh,
        lambda method: cross_val_predict(fresh, X, labels, cv=splits, method=method),
        len(classes := np.unique(labels)),
    )
    return scores, classes, len(splits)


def number_of_folds(folds: Any) -> int | None:
    """Return in how many folds scores were cross-validated, checked; None where they were not."""
    return None if folds is None else validation.whole_number(folds, "folds", 2)


def _splits(X: Any, labels: NDArray[Any], cv: Any) -> list[Split]:  # noqa: N803
    """Return the training and test rows of each fold, refused where they make no pilot."""
    from sklearn.model_selection import StratifiedKFold, check_cv

    classes, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if not hasattr(cv, "split") and not isinstance(cv, Iterable):
        folds = validation.whole_number(cv, "cv", 2)
        if (few := counts < folds).any():
            first = int(np.argmax(few))
            raise DataError(
                f"cv={folds} needs {folds} rows of each class, but "
                f"{share_of(int(few.sum()), len(classes), 'classes', 'have fewer')} (first: "
                f"{validation.short(str(classes[first]))}, with {counts[first]}); use fewer folds "
                "or leave those classes out."
            )
        cv = StratifiedKFold(folds)
    try:
        parts = list(check_cv(cv).split(X, labels))
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"cv: {type(cv).__name__} does not split these rows "
            f"({validation.short(str(error), 100)}); where it needs to know groups of rows, give "
            "what it makes of them: cv=list(splitter.split(X, y, groups))."
        ) from error
    splits, tested = [], np.zeros(len(labels), np.int64)
    for number, (rows, others) in enumerate(parts, start=1):
        fold = f"cv: fold {number} of {len(parts)}"
        train = validation.as_positions(rows, f"{fold}, training rows", len(labels))
        test = validation.as_positions(others, f"{fold}, test rows", len(labels))
        tested[test] += 1
        if len(both := np.intersect1d(train, test)):
            raise DataError(
                f"{fold} is trained with {len(both):,} of its own test rows (first: row "
                f"{both[0]}); leave them out of its training."
            )
        missing = np.bincount(numbers[train], minlength=len(classes)) == 0
        if missing.any():
            raise DataError(
                f"{fold} is trained without {missing.sum():,} of {len(classes):,} classes (first: "
                f"{validation.short(str(classes[np.argmax(missing)]))}), which its scores would "
                "leave out; use a stratified splitter."
            )
        splits.append((train, test))
    validation.refuse(
        tested != 1,
        "cv",
        "are not tested exactly once",
        lambda i: f"tested {tested[i]} times",
        "choose folds that do not overlap and leave out no row, as StratifiedKFold does",
    )
    return splits


def _usable_scores(clf: Any, score: Callable[[str], Any], n_classes: int) -> Floats:
    """Return the scores of the first method that a classifier has and that ranks all classes."""
    for method in ("decision_function", "predict_log_proba", "predict_proba"):
        if not hasattr(clf, method):
            continue
        with np.errstate(divide="ignore"):
            scores = np.asarray(score(method), dtype=np.float64)
        if scores.ndim == 1:  # two classes: one number for the second of them
            scores = np.column_stack([-scores, scores])
        if scores.shape[1] != n_classes:
            raise DataError(
                f"{type(clf).__name__} gives {scores.shape[1]:,} scores for "
                f"{n_classes:,} classes; for SVC use decision_function_shape='ovr'."
            )
        # Log-probabilities of classes ruled out are -inf; their probabilities rank the same.
        if not np.isneginf(scores).any():
            return scores
    raise DataError(
        f"{type(clf).__name__} has no usable decision_function, predict_log_proba or "
        "predict_proba; use Pilot.from_scores with your own scores."
    )
