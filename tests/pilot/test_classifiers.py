"""Pilots by cross-validation: every point scored by a copy that was trained without it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from headcount import DataError, ParameterError, Pilot

FEW = 400


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:FEW], np.array([f"digit {i}" for i in range(10)])[y[:FEW]]


def losses_fold_by_fold(clf, x, y, splits):
    """Train on each training part, and count by hand which classes score above the true one."""
    losses = np.empty(len(y), int)
    for train, test in splits:
        clf.fit(x[train], y[train])
        scores = clf.decision_function(x[test])
        true = scores[np.arange(len(test)), np.searchsorted(clf.classes_, y[test])]
        losses[test] = (scores > true[:, None]).sum(axis=1)
    return losses


def test_each_point_is_scored_by_the_copy_that_was_trained_without_it(digits):
    x, y = digits
    splits = list(StratifiedKFold(4).split(x, y))
    expected = losses_fold_by_fold(LinearDiscriminantAnalysis(), x, y, splits)
    seen = losses_fold_by_fold(
        LinearDiscriminantAnalysis(), x, y, [(np.arange(FEW), test) for _, test in splits]
    )
    assert (expected != seen).any()  # what was seen in training scores otherwise
    for cv in (4, StratifiedKFold(4), splits):
        pilot = Pilot.from_classifier(LinearDiscriminantAnalysis(), x, y, cv=cv)
        assert pilot.losses.tolist() == expected.tolist()
        assert pilot.folds == 4 and pilot.n_probes == FEW
        assert pilot.classifier == "LinearDiscriminantAnalysis"


def test_a_fitted_classifier_is_copied_and_stays_as_it_is(digits):
    x, y = digits
    clf = GaussianNB().fit(x[:200], y[:200])
    before = clf.theta_.copy()
    once = Pilot.from_classifier(clf, x, y, cv=3)
    assert once.losses.tolist() == Pilot.from_classifier(GaussianNB(), x, y, cv=3).losses.tolist()
    assert (clf.theta_ == before).all()
    assert Pilot.from_classifier(clf, x, y).folds is None


def test_scores_of_cross_val_predict_are_the_same_pilot(digits):
    x, y = digits
    scores = cross_val_predict(LogisticRegression(), x, y, cv=3, method="decision_function")
    given = Pilot.from_scores(scores, y, class_names=np.unique(y), folds=3)
    made = Pilot.from_classifier(LogisticRegression(), x, y, cv=3)
    assert given.losses.tolist() == made.losses.tolist()
    assert given.folds == made.folds == 3
    kept = given.subset(np.unique(y)[:5]).keep_probes(range(20))
    assert kept.folds == 3
    assert Pilot.from_scores(scores, y, class_names=np.unique(y)).folds is None


def test_the_number_of_folds_may_be_in_a_file(digits, tmp_path):
    from headcount import load

    scores = np.random.default_rng(0).normal(size=(30, 6)) + 2 * np.tile(np.eye(6), (5, 1))
    np.savez(tmp_path / "cv.npz", scores=scores, labels=np.arange(30) % 6, folds=5)
    assert load(tmp_path / "cv.npz").folds == 5
    np.savez(tmp_path / "cv.npz", scores=scores, labels=np.arange(30) % 6, folds=1)
    with pytest.raises(ParameterError, match="folds must be at least 2"):
        load(tmp_path / "cv.npz")


def test_what_scikit_learn_can_train_can_be_cross_validated(digits):
    x, y = digits
    sparse = Pilot.from_classifier(BernoulliNB(), csr_array(x), y, cv=3)
    assert (
        sparse.losses.tolist() == Pilot.from_classifier(BernoulliNB(), x, y, cv=3).losses.tolist()
    )
    search = GridSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {}, cv=2)
    assert Pilot.from_classifier(search, x, y, cv=3).classifier == "GaussianNB"
    two = np.isin(y, ["digit 3", "digit 8"])
    pilot = Pilot.from_classifier(LogisticRegression(), x[two], y[two], cv=3, average="micro")
    guessed = cross_val_predict(LogisticRegression(), x[two], y[two], cv=3)
    assert pilot.summary().accuracy == pytest.approx((guessed == y[two]).mean())


def test_log_probabilities_without_end_are_not_mixed_with_others(digits):
    class Sure(GaussianNB):
        """Rules classes out where a point is far from them, in some folds and not in others."""

        def predict_log_proba(self, X):  # noqa: N803
            scores = super().predict_log_proba(X)
            scores[scores < -300] = -np.inf
            return scores

    x, y = digits
    pilot = Pilot.from_classifier(Sure(), x, y, cv=3)
    chances = cross_val_predict(Sure(), x, y, cv=3, method="predict_proba")
    own = Pilot.from_scores(chances, y, class_names=np.unique(y), folds=3)
    assert pilot.losses.tolist() == own.losses.tolist() and pilot.ties.tolist() == own.ties.tolist()


def rows_of(sizes):
    labels = np.repeat([f"class {i}" for i in range(len(sizes))], sizes)
    return np.random.default_rng(0).normal(size=(len(labels), 2)), labels


@pytest.mark.parametrize(
    ("cv", "error", "words"),
    [
        (5, DataError, r"cv=5 needs 5 rows of each class, but 2 of 4 classes have fewer \(first: class 1, with 4\)"),
        (1, ParameterError, "cv must be at least 2"),
        ("five", ParameterError, "cv: str does not split these rows"),
        (2.5, ParameterError, "cv must be a whole number"),
        (GroupKFold(3), ParameterError, "cv: GroupKFold does not split these rows .*groups of rows"),
        (StratifiedGroupKFold(3), ParameterError, "cv: StratifiedGroupKFold does not split"),
        (KFold(3), DataError, r"fold 1 of 3 is trained without 1 of 4 classes \(first: class 0\)"),
        (KFold(99), ParameterError, "cv: KFold does not split these rows .*99"),
        (ShuffleSplit(3, random_state=0), DataError, "not tested exactly once .*leave out no row"),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), DataError, "18 of 18 rows are not tested exactly once .*tested 2 times"),
        ([(range(18), [99])], DataError, "cv: fold 1 of 1, test rows.*99"),
        ([(range(18), range(18))], DataError, "fold 1 of 1 is trained with 18 of its own test rows .first: row 0"),
        ([], DataError, "18 of 18 rows are not tested exactly once"),
    ],
)  # fmt: skip
def test_folds_that_make_no_pilot_are_refused(cv, error, words):
    x, y = rows_of([6, 4, 5, 3])
    with pytest.raises(error, match=words):
        Pilot.from_classifier(GaussianNB(), x, y, cv=cv)


def test_classifiers_that_cannot_be_cross_validated_are_refused(digits):
    x, y = digits

    class Odd:
        classes_ = ("a", "b")

    with pytest.raises(DataError, match="Odd cannot be copied"):
        Pilot.from_classifier(Odd(), x, y, cv=3)
    with pytest.raises(DataError, match="LinearRegression has no usable"):
        Pilot.from_classifier(LinearRegression(), x, y, cv=3)
    with pytest.raises(DataError, match="45 scores for 10 classes"):
        Pilot.from_classifier(SVC(decision_function_shape="ovo"), x, y, cv=3)
    with pytest.raises(DataError, match="399 labels for 400 rows"):
        Pilot.from_classifier(GaussianNB(), x, y[1:], cv=3)
    with pytest.raises(ParameterError, match="folds must be at least 2"):
        Pilot.from_scores(np.eye(3), [0, 1, 2], folds=1)
