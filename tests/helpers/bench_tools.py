"""What the tests of experiments share: small methods and a small pilot."""

import json

import numpy as np

from headcount import DataError, MissingExtraError
from headcount.estimators import Extrapolator


class AsMeasured(Extrapolator):
    """Says that accuracy stays what it was, and remembers the pilots it was shown."""

    alias = "as-measured"
    seen: list = []  # noqa: RUF012 (shared by all copies on purpose)

    def _estimate(self, pilot):
        self.accuracy_ = float(pilot.weights @ (pilot.losses == 0))
        self.seen.append(frozenset(pilot.class_names.tolist()))
        return None

    def predict(self, k):
        return np.full(len(k), self.accuracy_)


class Choosy(AsMeasured):
    """Refuses pilots that hold class 0."""

    alias = "choosy"

    def _estimate(self, pilot):
        if 0 in pilot.class_names:
            raise DataError("class 0 is not to my taste.")
        return super()._estimate(pilot)


class NotANumber(AsMeasured):
    alias = "nan"

    def predict(self, k):
        return np.full(len(k), np.nan)


class Lacking(AsMeasured):
    alias = "lacking"

    def _estimate(self, pilot):
        raise MissingExtraError("this", "convex")


class Broken(AsMeasured):
    alias = "broken"

    def _estimate(self, pilot):
        raise ZeroDivisionError("a bug")


N_CLASSES = 12


def scores_and_labels(seed=0, n_classes=N_CLASSES, per_class=3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    scores = rng.normal(size=(len(labels), n_classes))
    scores[np.arange(len(labels)), labels] += 1.5
    return scores, labels


def lasting(results):
    """What must not depend on the machine, the workers or interruptions."""
    found = json.loads(results.to_json())
    del found["run"]
    return found


def measured_by_hand(kept):
    """Share of right answers when only some columns compete, each class weighing the same."""
    scores, labels = scores_and_labels()
    kept = sorted(kept)
    rows = [i for i, label in enumerate(labels) if label in kept]
    return np.mean([kept[int(np.argmax(scores[i, kept]))] == labels[i] for i in rows])
