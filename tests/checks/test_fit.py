"""The table of checks, and the checks of counts, scores and fits: each raised and not raised."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from check_pilots import findings, scores, vectors
from headcount import Favorability, Pilot, observe
from headcount.checks import run_checks


def softmax(values, dtype=np.float64):
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(dtype)


def test_scores_that_add_up_to_one():
    values, labels = scores(n_dims=4)
    shares = softmax(values)

    def message(given, **options):
        return findings(Pilot.from_scores(given, labels, **options)).get("HC005")

    assert "are probabilities" in message(shares)
    assert "are probabilities" in message(softmax(values, np.float32))
    assert "are log-probabilities" in message(np.log(shares))
    assert "are log-probabilities" in message(-np.log(shares), higher_is_better=False)
    assert message(values) is None
    assert message(2 * shares) is None
    assert message(np.log(shares) + 0.1) is None
    one_row_is_not = np.log(shares)
    one_row_is_not[-1] -= 0.5
    assert message(one_row_is_not) is None


def test_a_law_that_misses_the_pilot():
    pilot = Pilot.from_losses([0] * 4000 + [1] * 1000, n_classes=100)
    small = Pilot.from_losses([0] * 40 + [1] * 10, n_classes=100)

    def codes(p, pilot=pilot):
        return [c.code for c in run_checks(pilot, observe(pilot), Favorability([p], [1.0]))]

    near = 1 - 0.8 ** (1 / 99)
    assert "HC010" not in codes(near)
    assert "HC010" not in codes(1 - 0.785 ** (1 / 99))
    assert "HC010" in codes(1 - 0.77 ** (1 / 99))
    assert "HC010" in codes(1 - 0.83 ** (1 / 99))
    # 50 probes have a standard error of 5.7 points.
    assert "HC010" not in codes(1 - 0.77 ** (1 / 99), small)
    assert "HC010" in codes(1 - 0.72 ** (1 / 99), small)


def test_further_than_the_back_test_reaches():
    pilot = Pilot.from_scores(*scores())
    tested = SimpleNamespace(supported=10.0, n_classes=60, steps=(1,))
    assert "HC011" not in findings(pilot, asked=[60, 600], backtest=tested)
    assert (
        "up to 10 times the pilot (600 classes)"
        in (findings(pilot, asked=[60, 601], backtest=tested)["HC011"])
    )
    # In floating point 4.1 times 60 is a little less than 246.
    rounded = SimpleNamespace(supported=4.1, n_classes=60, steps=(1,))
    assert "HC011" not in findings(pilot, asked=[246], backtest=rounded)
    further = findings(pilot, asked=[2470], backtest=rounded)["HC011"]
    assert "up to 4.1 times the pilot (240 classes)" in further
    failed = SimpleNamespace(supported=1.0, n_classes=60, steps=(1,))
    assert "no forecast" in findings(pilot, asked=[61], backtest=failed)["HC011"]
    untried = SimpleNamespace(supported=1.0, n_classes=60, steps=())
    assert "no classes could be hidden" in findings(pilot, asked=[61], backtest=untried)["HC011"]
    assert "HC011" not in findings(pilot, asked=[60], backtest=failed)  # measured, not forecast
    assert "HC011" not in findings(pilot, asked=[6000])
    assert "HC011" in findings(pilot, asked=[6001])
    assert "HC011" not in findings(pilot)


@pytest.mark.parametrize(
    ("classifier", "code"),
    [
        (GaussianNB(), None),
        (make_pipeline(StandardScaler(), GaussianNB()), None),
        (LinearSVC(), "HC015"),
        (SVC(), "HC014"),
        (RandomForestClassifier(20, random_state=0), "HC014"),
        (KNeighborsClassifier(3), "HC014"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "HC014"),
        (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [2, 3]}, cv=2), "HC014"),
    ],
)
def test_classifiers_that_do_not_score_each_class_on_its_own(classifier, code):
    probes, labels = digits_like()
    half = np.arange(len(labels)) % 2 == 0
    pilot = Pilot.from_classifier(
        classifier.fit(probes[half], labels[half]), probes[~half], labels[~half]
    )
    for seen in (pilot, pilot.subset(pilot.class_names[:25]), pilot.keep_probes(range(60))):
        named = {"HC014", "HC015"} & set(findings(seen))
        assert named == ({code} if code else set())


def test_naive_bayes_scales_its_scores_and_is_sound_all_the_same():
    probes, labels = digits_like()
    model = GaussianNB().fit(probes, labels)
    assert "HC005" not in findings(Pilot.from_classifier(model, probes, labels))
    assert "HC005" in findings(
        Pilot.from_scores(model.predict_log_proba(probes), labels, higher_is_better=True)
    )


def test_classifiers_of_unknown_kinds_are_not_accused():
    class Own:
        def __init__(self):
            self.classes_ = np.arange(30)

        def decision_function(self, values):
            return values

    values, labels = scores(n_classes=30)
    pilot = Pilot.from_classifier(Own(), values, labels)
    assert pilot.classifier == "Own"
    assert findings(pilot) == {}


def digits_like():
    probes, labels, _ = vectors(n_classes=30, per_class=12, n_dims=6, sigma=0.5)
    return probes, labels
