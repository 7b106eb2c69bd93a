"""Six classifiers that are trained afresh for every set of classes.

Two are *marginal*: what they score for a class depends on the training points of that class alone,
as the theory asks. In the other four every class changes the scores of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.covariance import ledoit_wolf
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# Variance added to every feature by naive Bayes, in units of the mean variance of all drawings.
# scikit-learn's own smoothing depends on all classes trained, which would not be marginal.
SMOOTHING = 0.1
# Share of the training points that vote. As in 003, 2 neighbours at 20 classes and 40 at 400, which
# had ten times as many points and took 0.002.
EPSILON = 0.01


@dataclass(frozen=True)
class Learner:
    """A kind of classifier.

    Parameters
    ----------
    about : str
        Which one, with its settings.
    marginal : bool
        Whether a class's score depends on that class alone.
    scores : callable, optional
        From training points, their classes (0, 1, ...), test points and a seed to the scores of
        the test points, a column a class, higher is better.
    model : callable, optional
        In place of `scores`: from a seed to a classifier of scikit-learn, whose own scores count.
    """

    about: str
    marginal: bool
    scores: Callable[[Floats, Labels, Floats, int], Floats] | None = None
    model: Callable[[int], Any] | None = None

    def pilot(self, x: Floats, y: Labels, test: Floats, labels: Labels, seed: int) -> Pilot:
        """Train on points of classes 0, 1, ..., and return how the test went."""
        if self.model is not None:
            return Pilot.from_classifier(self.model(seed).fit(x, y), test, labels)
        assert self.scores is not None  # one of the two is given
        return Pilot.from_scores(self.scores(x, y, test, seed), labels, higher_is_better=True)


def _naive_bayes(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    smoothing = SMOOTHING / float(x.var(axis=0).max())
    model = GaussianNB(var_smoothing=smoothing).fit(x, y)
    return np.asarray(model.predict_joint_log_proba(test), dtype=np.float64)


def _quadratic(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    """Gaussian log-likelihood with each class's own mean and covariance.

    scikit-learn's own class drops the directions in which ten training points do not vary; the
    shrunk covariance has full rank.
    """
    scores = np.empty((len(test), int(y.max()) + 1))
    for label in range(scores.shape[1]):
        members = x[y == label]
        factor = np.linalg.cholesky(ledoit_wolf(members)[0])
        gap = solve_triangular(factor, (test - members.mean(axis=0)).T, lower=True)
        scores[:, label] = -0.5 * (gap**2).sum(axis=0) - np.log(np.diag(factor)).sum()
    return scores


def _logistic(seed: int) -> LogisticRegression:
    return LogisticRegression(C=1.0, max_iter=200)


def _vector_machine(seed: int) -> LinearSVC:
    return LinearSVC(C=0.1, random_state=seed)


def _neighbours(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    n_neighbors = max(1, round(EPSILON * len(x)))
    model = KNeighborsClassifier(n_neighbors).fit(x, y)
    votes = np.asarray(model.predict_proba(test)) * n_neighbors
    return np.asarray(votes.round(), dtype=np.float64)


def _network(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    model = MLPClassifier(
        (128,),
        alpha=1e-3,
        batch_size=min(50, len(x)),
        learning_rate_init=3e-3,
        max_iter=40,
        random_state=seed,
    ).fit(x, y)
    chance = np.asarray(model.predict_proba(test), dtype=np.float64)
    return np.asarray(np.log(np.maximum(chance, 1e-300)))


LEARNERS = {
    "naive Bayes": Learner(
        f"Gaussian naive Bayes, {SMOOTHING} of the mean variance added", True, _naive_bayes
    ),
    "QDA": Learner("quadratic discriminants, Ledoit-Wolf covariance a class", True, _quadratic),
    "logistic": Learner("multinomial logistic regression, C = 1", False, model=_logistic),
    "SVM": Learner("linear support vector machine, one against the rest, C = 0.1", False,
                   model=_vector_machine),
    "epsilon-NN": Learner(
        f"nearest neighbours, {EPSILON} of all training points vote", False, _neighbours
    ),
    "network": Learner("neural network, one hidden layer of 128, 40 epochs", False, _network),
}  # fmt: skip


def signature() -> dict[str, Any]:
    """Return the settings, for the record."""
    return {name: learner.about for name, learner in LEARNERS.items()}
