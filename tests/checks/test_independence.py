"""Dependent probes and groups that matter: found where they were planted, and not elsewhere."""

import numpy as np
import pytest
from scipy.stats import rankdata

from check_pilots import findings, scores, vectors
from headcount import Favorability, Pilot, observe
from headcount.checks import run_checks
from headcount.support.words import percent


def copies(n_copies, blur=0.01, seed=0):
    """A few real probes of each class, each shown several times with hardly a change."""
    rng = np.random.default_rng(seed)
    probes, labels, centres = vectors(n_classes=60, per_class=1, n_dims=6, sigma=0.8, seed=seed)
    probes, labels = np.repeat(probes, n_copies, axis=0), np.repeat(labels, n_copies)
    probes = probes + blur * rng.normal(size=probes.shape)
    return Pilot.from_embeddings(probes, labels, centres)


def test_frames_of_one_video_are_found_out():
    message = findings(copies(20))["HC009"]
    worth = int(message.split("worth about ")[1].split()[0])
    assert 60 <= worth <= 70  # 1,200 probes, of which 60 are different


def test_the_correlation_is_that_of_an_analysis_of_variance():
    pilot = copies(5, blur=0.1)
    ranks = rankdata(pilot.losses + pilot.ties / 2).reshape(60, 5)
    means = ranks.mean(axis=1)
    between = 5 * np.square(means - ranks.mean()).sum() / 59
    within = np.square(ranks - means[:, None]).sum() / 240
    correlation = (between - within) / (between + 4 * within)
    message = findings(pilot)["HC009"]
    assert f"(correlation {correlation:.2f})" in message
    assert f"worth about {300 / (1 + 4 * correlation):.0f} independent" in message


def test_independent_probes_pass_though_classes_differ():
    for seed in range(5):
        values, labels = scores(n_dims=4, sigma=0.6, seed=seed)
        assert "HC009" not in findings(Pilot.from_scores(values, labels))


def test_one_hard_class_is_no_correlation():
    labels = np.repeat(np.arange(40), 5)
    few, enough = (np.where(labels < n, 3, 0) for n in (4, 5))
    assert "HC009" not in findings(Pilot.from_losses(few, 200, labels=labels))
    assert "HC009" in findings(Pilot.from_losses(enough, 200, labels=labels))


def test_unequal_numbers_of_probes_are_allowed_for():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(50), rng.integers(1, 12, 50))
    losses = rng.binomial(4, 0.3, len(labels))
    assert "HC009" not in findings(Pilot.from_losses(losses, 200, labels=labels))
    shared = rng.binomial(4, 0.3, 50)[labels]
    assert "HC009" in findings(Pilot.from_losses(shared, 200, labels=labels))


def grouped(within, seed=0, n_groups=10):
    """Classes around group centres; `within` is how far they scatter."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), 8)
    middles = np.sqrt(1 - within**2) * rng.normal(size=(n_groups, 6))
    centres = middles[groups] + within * rng.normal(size=(len(groups), 6))
    labels = np.repeat(np.arange(len(groups)), 6)
    probes = centres[labels] + 0.4 * rng.normal(size=(len(labels), 6))
    return Pilot.from_embeddings(probes, labels, centres, groups=groups.tolist(), drawn="classes")


def test_relatives_that_beat_each_other_are_found():
    pilot = grouped(0.4)
    message = findings(pilot)["HC012"]
    # By hand: losses to relatives against what relatives would take if all rivals were alike.
    values = np.concatenate([block for _, block in pilot.score_blocks()])
    lost = values > values[np.arange(len(values)), pilot.labels][:, None]
    kin = pilot.groups[pilot.labels][:, None] == pilot.groups
    times = (lost & kin).sum() / (lost.sum() * 7 / 79)
    assert times > 2
    assert f" {times:.1f} times as often" in message


@pytest.mark.parametrize("seed", range(5))
def test_groups_that_mean_nothing_pass(seed):
    pilot = grouped(0.4, seed)
    mixed = np.random.default_rng(seed).permutation(pilot.groups)
    values = np.concatenate([block for _, block in pilot.score_blocks()])
    same = Pilot.from_scores(values, pilot.labels, higher_is_better=True)
    same = same.with_groups(mixed, "classes")
    assert not {"HC012", "HC013"} & set(findings(same))


def test_no_groups_no_finding():
    values, labels = scores()
    assert not {"HC012", "HC013"} & set(findings(Pilot.from_scores(values, labels)))


def uneven(gap, seed=0, probes=5):
    """Two groups of 30 classes, one `gap` less often right than the other."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(60), probes)
    wrong = rng.random(len(labels)) < np.where(labels < 30, 0.3 - gap / 2, 0.3 + gap / 2)
    groups = ["printed"] * 30 + ["written"] * 30
    return Pilot.from_losses(wrong * 2, 300, labels=labels, groups=groups)


def test_groups_of_unequal_accuracy_are_found():
    pilot = uneven(0.3)
    message = findings(pilot)["HC013"]
    right = (pilot.losses == 0).reshape(2, 150).mean(axis=1)
    assert (
        f"{percent(float(right[1]))} right in written, {percent(float(right[0]))} in printed"
        in message
    )


def test_groups_of_equal_accuracy_pass():
    """Level 0.001: 0 of 100 is expected, 2 would have a chance of 0.5%."""
    law, alarms = Favorability([0.01], [1.0]), 0
    for seed in range(100):
        pilot = uneven(0.0, seed)
        codes = [check.code for check in run_checks(pilot, observe(pilot), law)]
        alarms += "HC013" in codes
    assert alarms <= 1


def test_small_groups_say_nothing():
    """Singletons: the one class that is always wrong is a group of its own."""
    labels = np.repeat(np.arange(60), 5)
    losses = np.where(labels < 3, 1, 0)
    groups = ["a", "b", "c", *["rest"] * 57]
    assert "HC013" not in findings(Pilot.from_losses(losses, 300, labels=labels, groups=groups))


def test_scores_of_folds_share_training_data():
    values, labels = scores(n_classes=30)
    said = findings(Pilot.from_scores(values, labels, folds=5))["HC023"]
    for words in ("cross-validation in 5 folds", "depend on each other", "80% of the data"):
        assert words in said
    assert "trained on 50%" in findings(Pilot.from_scores(values, labels, folds=2))["HC023"]
    assert "HC023" not in findings(Pilot.from_scores(values, labels))
