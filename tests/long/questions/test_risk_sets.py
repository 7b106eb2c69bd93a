"""One set of classes: what to expect of it given the pilot, and intervals for it."""

import numpy as np
import pytest

from grown_sets import grown_truth
from headcount import Pilot
from headcount.errors import UnsupportedError
from headcount.questions.risk import (
    RiskForecast,
    as_cost,
    forecast_risk,
    observe_risk,
    observed_risk,
)
from headcount.questions.risk.delta import DeltaMethod

N_POOL, K, PER_CLASS, OTHERS = 500, 30, 10, 2
KINDS = np.random.default_rng(0).integers(8, size=N_POOL)
CLASSES = [36, 60]


class Known:
    """The risk of the population: what an ideal forecast would say."""

    def __init__(self, whole):
        self.whole = whole

    def risk(self, k):
        return self.whole.risk(np.asarray(k, dtype=np.int64))

    def slopes(self, k):
        raise UnsupportedError("what is known does not move with a pilot")


def population(noise):
    """All classes of a pool, with probes for pilots and others for the truth."""
    rng = np.random.default_rng(1)
    middles = rng.normal(size=(8, 5))
    centres = middles[KINDS] + 0.7 * rng.normal(size=(N_POOL, 5))
    cost = np.where(KINDS[:, None] == KINDS, 1.0, 3.0)
    np.fill_diagonal(cost, 0)

    def scores(labels, seed):
        drawn = np.random.default_rng(seed).normal(size=(len(labels), 5))
        points = centres[labels] + noise * drawn
        return -((points[:, None] - centres) ** 2).sum(axis=2)

    labels = np.repeat(np.arange(N_POOL), OTHERS)
    return scores, labels, scores(labels, 2), cost


def drawn_pilot(scores, cost, seed):
    chosen = np.sort(np.random.default_rng(seed).choice(N_POOL, K, replace=False))
    labels = np.repeat(chosen, PER_CLASS)
    kept = np.zeros(N_POOL, np.bool_)
    kept[chosen] = True
    own = np.repeat(np.arange(K), PER_CLASS)
    pilot = Pilot.from_scores(scores(labels, [3, seed])[:, chosen], own)
    return pilot, cost[np.ix_(chosen, chosen)], kept


def slope(x, y):
    """Slope of a straight line, and its standard error."""
    columns = np.column_stack([np.ones(len(x)), x])
    found = np.linalg.lstsq(columns, y, rcond=None)[0]
    variance = np.sum((y - columns @ found) ** 2) / (len(x) - 2)
    return found[1], np.sqrt(variance * np.linalg.inv(columns.T @ columns)[1, 1])


@pytest.mark.parametrize("noise", [0.25, 0.45])
def test_grown_sets_are_unbiased_given_the_pilot_where_the_plain_forecast_is_not(noise):
    # 150 pilots of 30 of 500 classes, with the risk of the population as the forecast, so that
    # the gap at K is the pilot's luck alone. Truth: exact over all ways to add classes, with other
    # probes. The error of an unbiased centre does not lean on the gap.
    scores, labels, every, cost = population(noise)
    known = Known(observe_risk(Pilot.from_scores(every, labels), cost))
    gaps, plain, grown = [], [], []
    for seed in range(150):
        pilot, priced, kept = drawn_pilot(scores, cost, seed)
        asked = as_cost(priced, pilot)
        result = RiskForecast(
            observed=observe_risk(pilot, asked),
            fit=known,
            classes=tuple(CLASSES),
            n_probes=pilot.n_probes,
            method="known",
            confidence=0.9,
            largest_cost=3.0,
            delta=DeltaMethod(pilot, asked),
        )
        truth = grown_truth(every, labels, kept, cost, CLASSES)
        gaps.append(float(result.risk(K) - known.risk(K)))
        plain.append(truth - known.risk(CLASSES))
        grown.append(truth - result.grown(CLASSES))
    plain, grown = np.array(plain), np.array(grown)
    for place in range(len(CLASSES)):
        before, _ = slope(gaps, plain[:, place])
        after, error = slope(gaps, grown[:, place])
        assert before > 4 * error
        assert abs(after) < 3 * error
        assert abs(after) < before / 2
        assert np.square(grown[:, place]).mean() < np.square(plain[:, place]).mean()
        assert abs(grown[:, place].mean()) < 4 * grown[:, place].std() / np.sqrt(len(gaps))


def gaussian_set(rng, centres, probes_per_class):
    """Return the pilot of these classes, and costs by the sign of a coordinate."""
    n_classes = len(centres)
    labels = np.repeat(np.arange(n_classes), probes_per_class)
    points = centres[labels] + 0.4 * rng.normal(size=(len(labels), 5))
    side = centres[:, 0] > 0
    cost = np.where(side[:, None] == side, 1.0, 3.0)
    np.fill_diagonal(cost, 0)
    return Pilot.from_embeddings(points, labels, centres, np.arange(n_classes)), cost


def test_intervals_hold_the_risk_of_single_sets():
    # 120 pilots of 50 classes, sets of 75 with 20 probes a class; a standard error of 0.027. Those
    # for the expected risk are too narrow for one set, those for a new set too wide for a grown one.
    held = {"new_set": [], "grown_set": [], "expected": []}
    widths = {kind: [] for kind in held}
    for seed in range(120):
        rng = np.random.default_rng(seed)
        centres, others = rng.normal(size=(50, 5)), rng.normal(size=(75, 5))
        pilot, cost = gaussian_set(rng, centres, 5)
        result = forecast_risk(pilot, cost, 75, bandwidth=0.5)
        new = float(observed_risk(*gaussian_set(rng, others, 20), 75))
        grown = float(
            observed_risk(*gaussian_set(rng, np.concatenate([centres, others[:25]]), 20), 75)
        )
        for kind, truth in (("new_set", new), ("grown_set", grown), ("expected", new)):
            lower, upper = result.interval(75, kind)
            held[kind].append(lower <= truth <= upper)
            widths[kind].append(float(upper - lower))
    shares = {kind: np.mean(inside) for kind, inside in held.items()}
    assert 0.82 < shares["new_set"] < 0.98
    assert 0.82 < shares["grown_set"] < 0.98
    assert shares["expected"] < shares["new_set"]
    assert np.mean(widths["grown_set"]) < np.mean(widths["expected"]) < np.mean(widths["new_set"])
