"""Where the yardstick's pilots come from."""

import numpy as np
import pytest

import compare_sets
from experiments.papers import cleanex_populations as populations
from experiments.yardstick import places
from experiments.yardstick.places import Place
from headcount import load, observe


@pytest.fixture
def data(tmp_path):
    return compare_sets.real_sets(tmp_path / "data")


def test_a_few_classes_stand_for_all():
    ks, weights = places.few_classes(12_000)
    every = np.arange(2, 12_001)
    assert weights.sum() == pytest.approx(len(every))
    assert len(ks) < 400
    # A smooth curve's error, large at few classes as at many.
    for curve in (lambda k: np.log(k) / 100, lambda k: 0.1 / (1 + k / 50), lambda k: k / 1e5):
        whole = np.sqrt(np.mean(curve(every) ** 2))
        assert np.sqrt(np.average(curve(ks) ** 2, weights=weights)) == pytest.approx(
            whole, rel=1e-4
        )
    assert places.few_classes(40)[0].tolist() == list(range(2, 41))


def test_random_problems_are_judged_up_to_twenty_times_their_classes():
    pytest.importorskip("torch")
    place = next(p for p in places.problem_places("held-out") if p.family == "manifold")
    held = places.case(place, 0, 0)
    assert held.ks[[0, -1]].tolist() == [2, 20 * held.pilot.n_classes]
    assert held.weights.sum() == pytest.approx(20 * held.pilot.n_classes - 1)
    assert held.rmse(held.truth) == 0
    assert held.rmse(held.truth + 0.1) == pytest.approx(0.1)


def test_problems_have_seeds_of_their_own():
    made = [p for part in ("problems", "held-out") for p in places.problem_places(part)]
    counts = {
        part: sum(p.pilots for p in made if p.part == part) for part in ("problems", "held-out")
    }
    # At least 60, as many of each of 11 and of 3 families.
    assert counts == {"problems": 66, "held-out": 60}
    seeds = [
        places.problem_seed(place, repeat, seed)
        for seed in (0, 1)
        for place in made
        for repeat in range(place.pilots)
    ]
    assert len(set(seeds)) == len(seeds) == 2 * (66 + 60)
    assert min(seeds) >= 3_000_000
    assert {p.family for p in made if p.part == "held-out"} == {"tree", "manifold", "topics"}


def test_the_simulations_are_those_of_the_issue():
    made = places.simulated_places()
    assert [(p.k1, p.pilots) for p in made] == [(100, 10)] * 12 + [(500, 5)] * 12
    assert {p.k2 for p in made} == {2000}
    assert len({p.family for p in made if p.family.startswith("d5")}) == 8
    assert [p.family for p in made[8:12]] == [
        "d3 0.1 normal/normal",
        "d3 0.2 uniform/uniform",
        "d10 0.6 normal/normal",
        "d10 0.9 uniform/normal",
    ]
    assert made[8].other_key == "cleanex/d3/2000/0.1/normal/normal/100"


def test_real_pilots_are_at_most_a_quarter_of_their_set(data):
    made = places.real_places(data, sizes=(20, 25, 26))
    sizes = {}
    for place in made:
        sizes.setdefault(place.family, []).append(place.k1)
    assert sizes["omniglot_pixels"] == [20, 25]  # of 100 classes
    assert sizes["telugu_knn_n10_100"] == [20, 25, 26]  # of 104
    whole = load(data / "telugu_svm_100.npz")
    held = places.case(made[-1], 0, 0)
    assert held.truth == pytest.approx(observe(whole).accuracy(np.arange(2, 108)))
    assert held.pilot.n_classes == 26
    assert set(held.pilot.class_names) < set(whole.class_names)
    other = places.case(made[-1], 1, 0).pilot
    assert set(other.class_names) != set(held.pilot.class_names)


def test_faces_have_the_pilots_of_the_other_experiment(data):
    place = next(p for p in places.real_places(data) if p.family == "lfw_dlib_pairs")
    pilot = places.case(place, 2, 0).pilot
    theirs = populations.draw_pilot(place.source, 20, 2, 0)
    assert pilot.class_names.tolist() == theirs.class_names.tolist()
    assert place.other_key == f"cleanex/faces/103@{place.mark}/20"


def test_places_differ():
    keys = [p.key for p in places.simulated_places()]
    assert len(set(keys)) == len(keys)
    assert Place("real", "x", 20, 100, 10, mark="ab").key == "real/x@ab/20"
