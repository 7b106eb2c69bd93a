"""Near-duplicate classes and hubs: found where they were planted, and not elsewhere."""

import numpy as np
import pytest

from check_pilots import found, scores, vectors
from headcount import Pilot
from headcount.checks import check_input, rivals
from headcount.support.words import percent


def planted(n_pairs, seed=0, near=0.03, **options):
    """A pilot in which the first classes were entered again as the next ones."""
    options = {"n_classes": 100, "per_class": 10, "n_dims": 10, "sigma": 0.45} | options
    rng = np.random.default_rng(seed)
    _, labels, centres = vectors(seed=seed, **options)
    twins = centres[:n_pairs] + near * rng.normal(size=(n_pairs, centres.shape[1]))
    centres[n_pairs : 2 * n_pairs] = twins
    probes = centres[labels] + options["sigma"] * rng.normal(size=(len(labels), centres.shape[1]))
    names = np.array([f"c{i:03d}" for i in range(len(centres))])
    return Pilot.from_embeddings(probes, names[labels], centres, names)


def test_classes_entered_twice_are_found_and_named():
    message = found(planted(3))["HC007"]
    assert message.startswith("3 pairs of classes")
    for twins in ("c000 and c003", "c001 and c004", "c002 and c005"):
        assert twins in message
    assert "more" not in message


def test_only_three_pairs_are_named():
    message = found(planted(6, per_class=40))["HC007"]  # enough probes to see all six
    assert message.count(" and c") == 3 and "and 3 more" in message


def test_most_planted_duplicates_are_found():
    """5 pairs among 100 classes: found in nearly all pilots, none where nothing was planted."""
    assert sum("HC007" in found(planted(5, seed)) for seed in range(10)) >= 9
    assert sum("HC007" in found(planted(0, seed)) for seed in range(10)) == 0


@pytest.mark.parametrize("n_dims", [2, 3, 5])
def test_crowded_classes_are_no_duplicates(n_dims):
    """In few dimensions many pairs are close by chance, some of them as close as duplicates."""
    for seed in range(5):
        values, labels = scores(n_classes=150, per_class=10, n_dims=n_dims, sigma=0.3, seed=seed)
        assert "HC007" not in found(Pilot.from_scores(values, labels, higher_is_better=True))


def test_scores_that_know_nothing_are_no_duplicates():
    """Among pure noise every class takes half of the probes of every other."""
    values = np.random.default_rng(0).normal(size=(600, 60))
    pilot = Pilot.from_scores(values, np.repeat(np.arange(60), 10), higher_is_better=True)
    assert not {"HC007", "HC008", "HC009"} & set(found(pilot))


def test_identical_columns_are_found_with_one_probe_a_class():
    values, labels = scores(n_classes=80, per_class=1)
    values[:, 7] = values[:, 3]
    message = found(Pilot.from_scores(values, labels))["HC007"]
    assert message.startswith("1 pair of classes can hardly be told apart (3 and 7)")
    values[labels == 7, 7] += 1e-6  # one of the two probes now tells them apart
    assert "HC007" not in found(Pilot.from_scores(values, labels))


def test_ties_of_coarse_scores_are_no_duplicates():
    values, labels = scores(n_classes=80, per_class=1, n_dims=4)
    pilot = Pilot.from_scores((values / 8).round(), labels)
    tied = [set(row) for row in np.split(pilot.beats().classes, pilot.beats().start[1:-1])]
    mutual = [(a, b) for a in range(80) for b in range(a) if a in tied[b] and b in tied[a]]
    assert len(mutual) > 20  # there is something to be mistaken about
    assert "HC007" not in found(pilot)


def coarse(values, labels, step):
    """Scores rounded to `step` times the usual lead of the best rival."""
    own = values[np.arange(len(values)), labels]
    rivals = np.where(np.arange(values.shape[1]) == labels[:, None], -np.inf, values)
    return (values / (step * np.median(np.abs(own - rivals.max(axis=1))))).round()


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
def test_heavy_ties_are_no_duplicates(step):
    """Coarse scores make close classes tie, which is no sign that they are the same.

    Of 400 healthy pilots of all kinds 0%, 0% and 1% raise an alarm; if 1% do, more than 2 of 40
    do once in 140 times.
    """
    alarms, tied = 0, []
    for seed in range(40):
        options = {"n_classes": 50, "per_class": 5, "n_dims": [3, 6, 12][seed % 3]}
        values, labels = scores(sigma=0.4, seed=seed, **options)
        pilot = Pilot.from_scores(coarse(values, labels, step), labels, higher_is_better=True)
        tied.append((pilot.ties > 0).mean())
        alarms += rivals.near_duplicates(check_input.CheckInput(pilot, None, None)) is not None
    assert np.mean(tied) > 0.1 * step  # there is something to be mistaken about
    assert alarms <= 2


def test_duplicates_are_found_among_coarse_scores():
    """93% of 30 pilots with 5 pairs; three standard errors (of 20) less is 15."""
    found_in = 0
    for seed in range(20):
        pilot = planted(5, seed)
        values = np.concatenate([block for _, block in pilot.score_blocks()])
        rounded = Pilot.from_scores(coarse(values, pilot.labels, 0.5), pilot.labels)
        found_in += rivals.near_duplicates(check_input.CheckInput(rounded, None, None)) is not None
    assert found_in >= 15


def test_an_identical_column_is_found_where_some_other_scores_tie():
    values, labels = scores(n_classes=60, per_class=8)
    values = values.round(1)
    values[:, 7] = values[:, 3]
    pilot = Pilot.from_scores(values, labels)
    assert (pilot.ties > 0).mean() > 0.02 + 2 / 60
    assert "(3 and 7)" in found(pilot)["HC007"]


def test_a_hub_is_found_and_named():
    """Class 5 lies nearer to everything than it should."""
    values, labels = scores(n_classes=60)
    names = np.array([f"c{i}" for i in range(60)])
    biased = values.copy()
    biased[:, 5] += 12
    pilot = Pilot.from_scores(biased, labels, class_names=names)
    rate = (biased[:, 5] > biased[np.arange(len(labels)), labels])[labels != 5].mean()
    assert (
        f"1 class scores high whatever is shown (c5 beats {percent(float(rate))} "
        in found(pilot)["HC008"]
    )
    assert "HC008" not in found(Pilot.from_scores(values, labels))


def test_several_hubs_are_listed_by_their_wins():
    values, labels = scores(n_classes=100)
    for c, bias in zip((3, 50, 70, 90), (10, 16, 12, 14), strict=True):
        values[:, c] += bias
    beaten = values > values[np.arange(len(labels)), labels][:, None]
    rates = {c: beaten[labels != c, c].mean() for c in (3, 50, 70, 90)}
    order = sorted(rates, key=lambda c: -rates[c])
    listed = ", ".join(f"{c} beats {percent(float(rates[c]))}" for c in order[:3])
    message = found(Pilot.from_scores(values, labels, higher_is_better=True))["HC008"]
    assert f"4 classes score high whatever is shown ({listed} of the probes" in message
    assert "and 1 more" in message and f"{order[3]} beats" not in message


def test_central_classes_are_no_hubs():
    """Classes near the middle beat many others; that is how populations are."""
    for seed in range(10):
        probes, labels, centres = vectors(n_classes=150, per_class=2, sigma=1.0, seed=seed)
        pilot = Pilot.from_embeddings(probes, labels, centres)
        wins = pilot.beats().wins()
        assert wins.max() >= 1.5 * np.median(wins)
        assert "HC008" not in found(pilot)


def test_the_table_of_rivals_counts_ties_half():
    values = np.array([[3, 3, 1, 4], [1, 5, 0, 2], [2, 2, 2, 0], [0, 0, 9, 1.0]])
    pilot = Pilot.from_scores(values, [0, 1, 2, 2], higher_is_better=True)
    table = check_input.CheckInput(pilot, None, None).rivals.toarray()
    assert table.tolist() == [[0, 0.5, 0, 1], [0, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]]


def test_lists_that_are_too_long_are_left_alone(monkeypatch):
    pilot = planted(5)
    assert "HC007" in found(pilot)
    monkeypatch.setattr(check_input, "MOST_RIVALS", 10)
    assert "HC007" not in found(pilot)
