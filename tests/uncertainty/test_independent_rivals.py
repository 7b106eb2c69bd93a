import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from headcount import Pilot, observe
from headcount.estimators import ProbitNormal
from headcount.uncertainty.resampling import refits, sampler_for, thin

GRID = [2, 5, 20, 100, 1000]


def make_counts(n_probes=400, n_classes=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.binomial(n_classes - 1, rng.beta(0.3, 6, n_probes))


def cut_at(losses, depth, n_classes):
    return Pilot.from_losses(np.minimum(losses, depth), n_classes, censored=losses >= depth)


# -- the law ---------------------------------------------------------------------------------------


def law_by_listing(losses, ties, n_rivals, draws):
    """Chance of each pair of losses and ties over all sets of rivals, best rivals first."""
    sets = list(itertools.combinations(range(n_rivals), draws))
    found = Counter(
        (sum(r < losses for r in drawn), sum(losses <= r < losses + ties for r in drawn))
        for drawn in sets
    )
    return {key: count / len(sets) for key, count in found.items()}


@pytest.mark.parametrize("losses, ties", [(2, 0), (0, 3), (2, 2), (1, 6), (7, 0), (0, 0)])
def test_thinned_counts_have_the_law_of_a_random_set_of_rivals(losses, ties):
    n_probes, n_rivals, draws = 20_000, 7, 3
    counts = (np.full(n_probes, value) for value in (losses, ties))
    found = thin(*counts, n_rivals, draws, np.random.default_rng(1))
    seen = Counter(zip(*(part.tolist() for part in found), strict=True))
    law = law_by_listing(losses, ties, n_rivals, draws)
    assert set(seen) == set(law)
    if len(law) > 1:
        expected = {key: n_probes * chance for key, chance in law.items()}
        test = stats.chisquare([seen[key] for key in expected], list(expected.values()))
        assert test.pvalue > 1e-3


def test_thinning_beyond_the_generator_keeps_mean_and_variance():
    n, rng = 4 * 10**9, np.random.default_rng(0)
    for losses, draws in ((6, n // 2), (10**9, 50), (n, 1000)):
        counts = np.full(20_000, losses), np.zeros(20_000, np.int64)
        lost, tied = thin(*counts, n, draws, rng)
        share = losses / n
        mean, variance = draws * share, draws * share * (1 - share) * (n - draws) / (n - 1)
        # Four standard errors of the mean, and of the variance: sqrt(2 / 20,000) = 1%.
        assert abs(lost.mean() - mean) <= 4 * np.sqrt(variance / 20_000) + 1e-9
        assert lost.var() == pytest.approx(variance, rel=0.04, abs=1e-9)
        assert not tied.any()


def test_counts_lose_probes_by_class_and_average_to_the_observed_curve():
    losses, labels = make_counts(), np.arange(400) // 2
    pilot = Pilot.from_losses(losses, 300, labels=labels)
    sampler = sampler_for(pilot)
    assert not sampler.shared_rivals
    assert sampler.n_sources == 200
    curve, right = float(observe(pilot).accuracy(60)), []
    for repeat in range(200):
        drawn = sampler.draw(60, np.random.default_rng(repeat))
        assert (drawn.n_classes, len(drawn.class_names), drawn.n_probes) == (60, 40, 80)
        assert (np.bincount(drawn.labels) == 2).all()
        right.append(np.mean(drawn.losses == 0))
    # Hidden probes are drawn evenly, so the accuracy of the drawn pilots is right on average.
    assert np.mean(right) == pytest.approx(curve, abs=4 * np.std(right) / np.sqrt(200))


def test_probes_without_labels_are_their_own_sources():
    sampler = sampler_for(Pilot.from_losses(make_counts(900), 300))
    assert sampler.n_sources == 300
    drawn = sampler.draw(100, np.random.default_rng(0))
    assert (drawn.n_probes, drawn.labels) == (300, None)


def test_a_million_rivals():
    rng = np.random.default_rng(0)
    pilot = Pilot.from_losses(rng.binomial(999_999, rng.beta(0.1, 100, 1000)), 1_000_000)
    sampler = sampler_for(pilot)
    assert sampler.n_sources == 1000
    for size, n_probes in ((500_000, 500), (20_000, 20)):
        drawn = sampler.draw(size, np.random.default_rng(0))
        assert (drawn.n_classes, drawn.n_probes) == (size, n_probes)
        # Losses shrink with the rivals: twenty probes have few, so only roughly.
        assert drawn.losses.mean() / size == pytest.approx(pilot.losses.mean() / 10**6, rel=0.9)


# -- censored probes -------------------------------------------------------------------------------


def test_all_probes_of_a_drawn_pilot_are_censored_at_one_bound():
    losses = make_counts(500, 1000, seed=4)
    sampler = sampler_for(cut_at(losses, 40, 1000))
    bound = sampler.bound(500)
    # A hundredth of Binomial(40, 1/2): mean 20, spread 3.2, so 2.3 spreads below.
    assert bound == 13
    drawn = sampler.draw(500, np.random.default_rng(0))
    assert 0 < drawn.censored.mean() < 1
    assert (drawn.losses[~drawn.censored] < bound).all()
    assert (drawn.losses[drawn.censored] == bound).mean() > 0.97
    assert drawn.losses.max() == bound
    assert not drawn.ties[drawn.censored].any()


def test_a_few_short_lists_do_not_set_the_depth():
    cut = np.repeat([False, True], [900, 100])
    counts = np.concatenate([np.zeros(900, np.int64), np.full(100, 50)])
    counts[-5:] = 0  # half a hundredth of the probes were cut at once
    assert sampler_for(Pilot.from_losses(counts, 200, censored=cut)).depth == 50
    counts[-20:] = 3  # two hundredths were cut early
    assert sampler_for(Pilot.from_losses(counts, 200, censored=cut)).depth == 3


def test_lists_that_were_cut_too_early_are_not_used():
    pilot = cut_at(make_counts(500, 1000, seed=4), 40, 1000)
    found = refits(pilot, ProbitNormal(), [(500, 2), (50, 2)], GRID)
    assert found.sizes[0].reason is None
    assert found.sizes[1].curves.shape == (0, len(GRID))
    assert found.sizes[1].reason == (
        "lists of rivals were cut after 40, of which 2 are left on average among 50 classes, and "
        "10 are needed; use longer lists."
    )


@pytest.mark.parametrize("labelled", [False, True])
def test_the_order_of_counts_does_not_matter(labelled):
    losses, labels = make_counts(), np.arange(400) // 3
    ties = np.where(losses < 10, np.arange(400) % 3, 0)
    cut = losses > 100
    order = np.random.default_rng(1).permutation(400)
    names = np.random.default_rng(2).permutation(400)
    curves = []
    for rows, given in ((np.arange(400), labels), (order, names[labels])):
        pilot = Pilot.from_losses(
            losses[rows], 300, ties=ties[rows], censored=cut[rows],
            labels=given[rows] if labelled else None,
        )  # fmt: skip
        curves.append(refits(pilot, ProbitNormal(), [(150, 3)], GRID).sizes[0].curves)
    np.testing.assert_allclose(*curves, atol=1e-9)
