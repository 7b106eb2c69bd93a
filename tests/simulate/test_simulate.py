import dataclasses

import numpy as np
import pytest
from scipy import stats

from headcount import Favorability, ParameterError, Pilot, UnsupportedError, observe, simulate
from headcount.simulate import Population
from headcount.simulate.theory import probit_normal_law, uniform_law

SMALL = {
    "isotropic_gaussian": {"n_train": 3},
    "points_around_classes": {"classes": "uniform", "reference_classes": 500},
    "clustered": {"n_clusters": 4, "reference_classes": 500},
    "hierarchical": {"branching": (2, 3), "reference_classes": 500},
    "near_duplicates": {"reference_classes": 500},
    "linear_encoding": {"n_voxels": 30, "n_features": 8, "n_train": 60, "reference_classes": 500},
}


def make(name, n_classes=40, random_state=0, **options):
    generator = getattr(simulate, name)
    return generator(n_classes, random_state=random_state, **{**SMALL[name], **options})


def close(made, counts, n_sets=1.0):
    """Whether pilot and truth agree within four standard errors of one probe a class."""
    truth = made.truth(counts)
    error = 4 * np.sqrt(truth * (1 - truth) / (n_sets * made.pilot.n_classes)) + 0.002
    return (np.abs(observe(made.pilot).accuracy(counts) - truth) < error).all()


@pytest.mark.parametrize("name", SMALL)
def test_seeds_reproduce_pilot_and_truth(name):
    first, again, other = make(name), make(name), make(name, random_state=1)
    np.testing.assert_array_equal(first.pilot.losses, again.pilot.losses)
    blocks = [
        np.vstack([b for _, b in made.pilot.score_blocks()]) for made in (first, again, other)
    ]
    np.testing.assert_array_equal(blocks[0], blocks[1])
    assert not np.array_equal(blocks[0], blocks[2])
    np.testing.assert_array_equal(first.truth([2, 40, 300]), again.truth([2, 40, 300]))


@pytest.mark.parametrize("name", SMALL)
def test_truth_does_not_depend_on_when_it_is_asked_for(name):
    early, late = make(name), make(name)
    early.truth(10)
    late.pilot.pieces(top=1)
    np.testing.assert_array_equal(early.truth([5, 50]), late.truth([5, 50]))


@pytest.mark.parametrize("name", SMALL)
def test_simulations_cannot_be_changed(name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(name).pilot = None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_train": None, "sigma": 0.8},
        {"n_train": 4, "n_dims": 3, "sigma": 0.2},
        {"n_train": 4, "represent": "mean", "sigma": 0.8},
    ],
)
def test_isotropic_pilots_follow_their_theory(options):
    made = simulate.isotropic_gaussian(2000, probes_per_class=2, random_state=3, **options)
    assert made.exact and made.pilot.n_probes == 4000
    assert close(made, [2, 10, 100, 1000])


@pytest.mark.parametrize("classes", ["normal", "uniform"])
@pytest.mark.parametrize("points", ["normal", "uniform"])
def test_points_around_classes_have_their_covariance_and_truth(classes, points):
    made = simulate.points_around_classes(
        1500, sigma2=0.2, classes=classes, points=points, reference_classes=6000, random_state=4
    )
    assert made.pilot.n_probes == 15_000
    assert made.exact == (classes == points == "normal")
    assert close(made, [2, 10, 100, 1000])


def test_uniform_laws_are_as_wide_as_the_normal_ones():
    """Section 5.1's widths, sqrt(3) and sqrt(3 sigma2): without the root classes would overlap."""
    made = simulate.points_around_classes(
        3000, n_dims=3, sigma2=0.2, classes="uniform", points="uniform", random_state=5
    )
    source = made.pilot._source
    centres, probes = np.asarray(source.gallery), np.asarray(source.probes)
    assert np.abs(centres).max() == pytest.approx(3**0.5, abs=0.01)
    assert centres.var() == pytest.approx(1.0, abs=0.03)
    offsets = probes - np.repeat(centres, 10, axis=0)
    assert np.abs(offsets).max() == pytest.approx(0.6**0.5, abs=0.01)
    assert offsets.var() == pytest.approx(0.2, abs=0.005)


def test_truth_by_theory_and_by_reference_agree():
    """The reference is what theory replaces for normal laws: both must say the same."""
    from headcount.simulate.round_classes import RoundClasses
    from headcount.simulate.simulation import Reference

    exact = simulate.points_around_classes(50, sigma2=0.1, random_state=6)
    drawn = Reference(RoundClasses(5, 0.1**0.5, "normal", "normal"), np.random.default_rng(6), 8000)
    # 16,000 probes: four standard errors of at most 0.004.
    counts = [2, 100, 2000, 8000]
    np.testing.assert_allclose(drawn.accuracy(counts), exact.truth(counts), atol=0.016)


@pytest.mark.parametrize("name", ["clustered", "hierarchical"])
def test_families_agree_with_their_truth(name):
    made = getattr(simulate, name)(1500, sigma=0.5, reference_classes=6000, random_state=7)
    assert not made.exact
    assert close(made, [2, 10, 100, 1000])


def test_classes_of_one_cluster_are_confused_with_each_other():
    made = simulate.clustered(
        300, n_clusters=10, within=0.05, sigma=0.2, probes_per_class=1, random_state=8
    )
    beats, groups = made.pilot.beats(), made.pilot.groups
    assert len(set(groups.tolist())) == 10
    lost, _ = beats.count(np.ones(300))
    inside = [beats.count((groups == group).astype(float))[0] for group in range(10)]
    own = np.array([inside[group][i] for i, group in enumerate(groups[made.pilot.labels])])
    assert lost.sum() > 50 and own.sum() > 0.9 * lost.sum()


def test_a_pilot_of_few_groups_is_harder_than_its_population():
    """Relatives only: the pilot misjudges the population, whose truth stays the same."""
    options = {"n_clusters": 20, "within": 0.1, "sigma": 0.3, "reference_classes": 4000}
    few = simulate.clustered(400, pilot_groups=2, random_state=9, **options)
    every = simulate.clustered(400, random_state=9, **options)
    assert len(set(few.pilot.groups.tolist())) == 2
    assert float(observe(few.pilot).accuracy(400)) < float(few.truth(400)) - 0.1
    assert float(few.truth(400)) == pytest.approx(float(every.truth(400)), abs=0.02)


def test_a_tree_of_one_level_is_the_clustered_population():
    same = simulate.hierarchical(
        50, branching=(20,), shares=(0.75, 0.25), random_state=10, reference_classes=100
    )
    clusters = simulate.clustered(50, random_state=10, reference_classes=100)
    np.testing.assert_array_equal(same.pilot.losses, clusters.pilot.losses)


def test_encoding_pilots_agree_with_their_truth():
    made = simulate.linear_encoding(1500, reference_classes=5000, random_state=11)
    assert made.pilot.n_probes == 1500
    assert 0.2 < float(made.truth(1500)) < 0.95
    assert close(made, [2, 10, 100, 1000])


def test_encoding_scores_are_mahalanobis_distances():
    """Reduced to the directions of the predictions, distances keep order and differences."""
    from headcount.simulate.brain_decoding import fit_encoding

    rng = np.random.default_rng(12)
    encoding, features = rng.normal(size=(6, 3)), rng.normal(size=(40, 3))
    noise = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6))))
    responses = features @ encoding.T + rng.normal(size=(40, 6)) @ noise.T
    world = fit_encoding(encoding, noise, features, responses, 2.0)
    fit = np.linalg.solve(features.T @ features + 2 * np.eye(3), features.T @ responses).T
    from sklearn.covariance import LedoitWolf

    residuals = responses - features @ fit.T
    precision = np.linalg.inv(LedoitWolf(assume_centered=True).fit(residuals).covariance_)
    images, own = rng.normal(size=(5, 3)), rng.normal(size=3)
    apart = (encoding @ own)[None, :] - images @ fit.T
    full = np.einsum("ij,jk,ik->i", apart, precision, apart)
    short = ((world.signal @ own - images @ world.predicted.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(full - full[0], short - short[0], rtol=1e-9, atol=1e-9)
    # The noise left is that of the projection: the same covariance of x . precision . g(y).
    ahead = fit.T @ precision
    np.testing.assert_allclose(
        ahead @ noise @ noise.T @ ahead.T,
        world.predicted.T @ world.noise @ world.noise.T @ world.predicted,
        rtol=1e-9,
    )


LAWS = [
    probit_normal_law(2.0, 1.0),
    uniform_law(),
    Favorability([0.0, 0.02, 1.0], [0.3, 0.5, 0.2]),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scores", [True, False])
def test_any_law_is_recovered(law, scores):
    made = simulate.from_favorability(law, 1500, scores=scores, random_state=13)
    assert made.exact and made.pilot.has_scores == scores
    counts = [2, 10, 100, 1000]
    np.testing.assert_array_equal(made.truth(counts), law.accuracy(counts))
    assert close(made, counts)
    assert (made.pilot.ties == 0).all()


def test_wrong_scores_of_any_law_are_uniform():
    """Lemma 4 of 000."""
    made = simulate.from_favorability(probit_normal_law(1.0, 1.0), 400, random_state=15)
    scores = np.vstack([block for _, block in made.pilot.score_blocks()])
    wrong = scores[~np.eye(400, dtype=bool)]
    # Columns share one place a class: compare with the spread of 400 points, not of 160,000.
    assert stats.kstest(wrong, "uniform").statistic < 1.9 / np.sqrt(400)


def test_any_law_among_a_million_classes():
    law = probit_normal_law(4.0, 1.0)
    made = simulate.from_favorability(law, 10**6, scores=False, random_state=16)
    assert float(observe(made.pilot).accuracy(10**6)) == pytest.approx(
        float(law.accuracy(10**6)), abs=0.002
    )
    with pytest.raises(ParameterError, match="scores=False"):
        simulate.from_favorability(law, 10**6)


def test_population_gives_pilots_and_its_own_truth():
    whole = simulate.points_around_classes(300, probes_per_class=4, random_state=17).population
    assert isinstance(whole, Population) and whole.n_classes == 300
    pilot = whole.pilot(60, random_state=18)
    assert (pilot.n_classes, pilot.n_probes) == (60, 240)
    np.testing.assert_array_equal(pilot.class_names, whole.pilot(60, random_state=18).class_names)
    assert set(pilot.class_names) != set(whole.pilot(60, random_state=19).class_names)
    np.testing.assert_array_equal(whole.truth([2, 300]), observe(whole.whole).accuracy([2, 300]))
    # Averages over random pilots tend to the population's own curve (unbiased, Eq. 4 of 000).
    rng = np.random.default_rng(20)
    values = [float(observe(whole.pilot(60, rng)).accuracy(60)) for _ in range(100)]
    error = 4 * np.std(values) / np.sqrt(100)
    assert np.mean(values) == pytest.approx(float(whole.truth(60)), abs=error)
    assert whole.pilot(300).n_classes == 300


def test_population_refuses_what_it_does_not_have():
    whole = simulate.isotropic_gaussian(20, random_state=0).population
    with pytest.raises(ParameterError, match="20 classes, fewer than the 21"):
        whole.pilot(21)
    with pytest.raises(ParameterError, match="at least 2"):
        whole.pilot(1)
    with pytest.raises(ParameterError, match="nothing was observed"):
        whole.truth(21)
    with pytest.raises(UnsupportedError, match="only counts"):
        Population(Pilot.from_losses([0, 1, 2], 5, labels=[0, 1, 2]))


def test_truth_beyond_the_reference_is_refused():
    made = make("clustered")
    with pytest.raises(ParameterError, match="up to 500 classes"):
        made.truth([10, 501])
    with pytest.raises(ParameterError, match="reference_classes"):
        make("clustered", reference_classes=39)


@pytest.mark.parametrize(
    "name, options, word",
    [
        ("isotropic_gaussian", {"n_classes": 1}, "n_classes"),
        ("isotropic_gaussian", {"probes_per_class": 0}, "probes_per_class"),
        ("isotropic_gaussian", {"sigma": -1.0}, "sigma"),
        ("isotropic_gaussian", {"random_state": "seed"}, "random_state"),
        ("isotropic_gaussian", {"random_state": -1}, "random_state"),
        ("points_around_classes", {"classes": "cauchy"}, "classes"),
        ("points_around_classes", {"points": "cauchy"}, "points"),
        ("points_around_classes", {"sigma2": 0.0}, "sigma2"),
        ("points_around_classes", {"n_dims": 0}, "n_dims"),
        ("clustered", {"within": 1.0}, "within"),
        ("clustered", {"n_clusters": 0}, "branching"),
        ("clustered", {"pilot_groups": 5}, "pilot_groups"),
        ("hierarchical", {"shares": (0.5, 0.5)}, "shares"),
        ("hierarchical", {"shares": (0.5, 0.5, 0.0)}, "shares"),
        ("hierarchical", {"branching": ()}, "branching"),
        ("linear_encoding", {"noise_correlation": 1.0}, "noise_correlation"),
        ("linear_encoding", {"sigma": float("nan")}, "sigma"),
        ("linear_encoding", {"ridge": 0.0}, "ridge"),
        ("linear_encoding", {"n_train": 1}, "n_train"),
    ],
)
def test_impossible_options_are_refused(name, options, word):
    with pytest.raises(ParameterError, match=word):
        make(name, **options)


def test_a_law_must_be_one():
    with pytest.raises(ParameterError, match="law must be"):
        simulate.from_favorability([0.5, 0.9])


@pytest.mark.parametrize("name", SMALL)
def test_two_classes_are_enough(name):
    made = make(name, n_classes=2)
    assert made.pilot.n_classes == 2 and 0.3 < float(made.truth(2)) <= 1
