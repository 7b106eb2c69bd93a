"""Near-duplicate classes and hubs: found where they were planted, and not elsewhere."""

import numpy as np

from check_pilots import findings, planted, scores, vectors
from headcount import Pilot
from headcount.checks import check_input
from headcount.support.words import percent


def test_classes_entered_twice_are_found_and_named():
    message = findings(planted(3))["HC007"]
    assert message.startswith("3 pairs of classes")
    for twins in ("c000 and c003", "c001 and c004", "c002 and c005"):
        assert twins in message
    assert "more" not in message


def test_only_three_pairs_are_named():
    message = findings(planted(6, per_class=40))["HC007"]  # enough probes to see all six
    assert message.count(" and c") == 3 and "and 3 more" in message


def test_close_classes_of_a_crowd_are_no_duplicates():
    """In few dimensions many pairs are close by chance, some of them as close as duplicates."""
    values, labels = scores(n_classes=150, per_class=10, n_dims=2, sigma=0.3)
    assert "HC007" not in findings(Pilot.from_scores(values, labels, higher_is_better=True))


def test_scores_that_know_nothing_are_no_duplicates():
    """Among pure noise every class takes half of the probes of every other."""
    values = np.random.default_rng(0).normal(size=(600, 60))
    pilot = Pilot.from_scores(values, np.repeat(np.arange(60), 10), higher_is_better=True)
    assert not {"HC007", "HC008", "HC009"} & set(findings(pilot))


def test_identical_columns_are_found_with_one_probe_a_class():
    values, labels = scores(n_classes=80, per_class=1)
    values[:, 7] = values[:, 3]
    message = findings(Pilot.from_scores(values, labels))["HC007"]
    assert message.startswith("1 pair of classes can hardly be told apart (3 and 7)")
    values[labels == 7, 7] += 1e-6  # one of the two probes now tells them apart
    assert "HC007" not in findings(Pilot.from_scores(values, labels))


def test_ties_of_coarse_scores_are_no_duplicates():
    values, labels = scores(n_classes=80, per_class=1, n_dims=4)
    pilot = Pilot.from_scores((values / 8).round(), labels)
    tied = [set(row) for row in np.split(pilot.beats().classes, pilot.beats().start[1:-1])]
    mutual = [(a, b) for a in range(80) for b in range(a) if a in tied[b] and b in tied[a]]
    assert len(mutual) > 20  # there is something to be mistaken about
    assert "HC007" not in findings(pilot)


def test_an_identical_column_is_found_where_some_other_scores_tie():
    values, labels = scores(n_classes=60, per_class=8)
    values = values.round(1)
    values[:, 7] = values[:, 3]
    pilot = Pilot.from_scores(values, labels)
    assert (pilot.ties > 0).mean() > 0.02 + 2 / 60
    assert "(3 and 7)" in findings(pilot)["HC007"]


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
        in findings(pilot)["HC008"]
    )
    assert "HC008" not in findings(Pilot.from_scores(values, labels))


def test_several_hubs_are_listed_by_their_wins():
    values, labels = scores(n_classes=100)
    for c, bias in zip((3, 50, 70, 90), (10, 16, 12, 14), strict=True):
        values[:, c] += bias
    beaten = values > values[np.arange(len(labels)), labels][:, None]
    rates = {c: beaten[labels != c, c].mean() for c in (3, 50, 70, 90)}
    order = sorted(rates, key=lambda c: -rates[c])
    listed = ", ".join(f"{c} beats {percent(float(rates[c]))}" for c in order[:3])
    message = findings(Pilot.from_scores(values, labels, higher_is_better=True))["HC008"]
    assert f"4 classes score high whatever is shown ({listed} of the probes" in message
    assert "and 1 more" in message and f"{order[3]} beats" not in message


def test_classes_in_the_middle_are_no_hubs():
    """They beat many others; that is how populations are."""
    probes, labels, centres = vectors(n_classes=150, per_class=2, sigma=1.0)
    pilot = Pilot.from_embeddings(probes, labels, centres)
    wins = pilot.beats().wins()
    assert wins.max() >= 1.5 * np.median(wins)
    assert "HC008" not in findings(pilot)


def test_the_table_of_rivals_counts_ties_half():
    values = np.array([[3, 3, 1, 4], [1, 5, 0, 2], [2, 2, 2, 0], [0, 0, 9, 1.0]])
    pilot = Pilot.from_scores(values, [0, 1, 2, 2], higher_is_better=True)
    table = check_input.CheckInput(pilot, None, None).rivals.toarray()
    assert table.tolist() == [[0, 0.5, 0, 1], [0, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]]


def test_lists_that_are_too_long_are_left_alone(monkeypatch):
    pilot = planted(5)
    assert "HC007" in findings(pilot)
    monkeypatch.setattr(check_input, "MOST_RIVALS", 10)
    assert "HC007" not in findings(pilot)
