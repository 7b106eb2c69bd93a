"""Families of near-duplicates, seen from the scores alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, norm

from check_pilots import findings, healthy, scores
from headcount import Pilot, simulate
from headcount.checks import check_input, families


def test_families_are_seen_without_being_named():
    pilot = simulate.near_duplicates(100, random_state=0).pilot
    said = findings(pilot.with_groups(None))["HC007"]
    assert "families of near-duplicates" in said and "pairs are close" in said
    # The pairs that are named are relatives.
    named = said.split("(")[1].split(", and")[0].split(", ")
    for pair in named:
        first, second = (int(name) for name in pair.split(" and "))
        assert pilot.groups[first] == pilot.groups[second]
    assert "HC007" not in findings(pilot)  # they are named, and allowed for


def test_the_order_of_the_data_does_not_matter():
    pilot = simulate.near_duplicates(100, random_state=0).pilot.with_groups(None)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    columns = np.random.default_rng(0).permutation(100)
    names = np.array([f"c{i:02d}" for i in range(100)])
    first = Pilot.from_scores(scores, names[pilot.labels], class_names=names)
    second = Pilot.from_scores(
        scores[::-1, columns], names[pilot.labels][::-1], class_names=names[columns]
    )
    assert findings(first)["HC007"] == findings(second)["HC007"]


@pytest.mark.parametrize("seed", range(8))
def test_healthy_pilots_have_none(seed):
    assert families.families(check_input.CheckInput(healthy(seed), None, None)) is None


def test_scores_that_know_nothing_are_no_families():
    """All classes take half of each other's probes."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(200, 40)), np.repeat(np.arange(40), 5)
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    assert "HC007" not in findings(pilot)


def log_likelihood(mass, seen, probes, distances, condition):
    """Log likelihood of truncated binomial counts under masses of all pairs, by hand."""
    share = norm.sf(distances)
    chance = binom.pmf(seen[:, None], probes[:, None], share)
    ever = 1 - (1 - share) ** probes[:, None]
    if condition == "seen":  # masses are of the pairs that are seen
        return float(np.log((chance / ever) @ mass).sum())
    return float(np.log(chance @ mass / (ever @ mass)).sum())


def test_surprise_is_the_gain_over_the_best_law_that_does_not_fall(monkeypatch):
    """Against a general optimiser, on a coarse grid of distances."""
    distances = np.array([0.2, 0.8, 1.4, 2.0, 2.6])
    monkeypatch.setattr(families, "DISTANCES", distances)
    seen = np.repeat([1, 2, 3, 4, 5, 6], [30, 3, 1, 9, 15, 9])
    probes = np.full(len(seen), 12)

    def best(condition, rising):
        def loss(logits):
            mass = np.exp(logits - logits.max())
            mass = np.cumsum(mass) if rising else mass
            return -log_likelihood(mass / mass.sum(), seen, probes, distances, condition)

        starts = np.random.default_rng(0).normal(size=(4, len(distances)))
        return -min(minimize(loss, start, method="L-BFGS-B").fun for start in starts)

    expected = 2 * (best("seen", False) - best("all", True))
    assert expected > 5
    assert families.surprise(seen, probes) == pytest.approx(expected, abs=0.1)


def test_a_hub_is_no_family():
    """It takes all probes of many classes, and loses none."""
    values, labels = scores(n_classes=30)
    values[:, 3] += 40
    pilot = Pilot.from_scores(values, labels, higher_is_better=True)
    assert "HC008" in findings(pilot) and "HC007" not in findings(pilot)
