"""The learned default: its network, its projection, and what it is worth."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from headcount import Pilot, forecast, observe, simulate
from headcount.curves.favorability import Favorability
from headcount.errors import AssumptionWarning
from headcount.estimators import ProbitNormal
from headcount.estimators.auto import network
from headcount.estimators.auto.auto import Auto, within
from headcount.estimators.auto.features import Features, gather, law_curve
from headcount.estimators.auto.projection import closest_law, reference_law
from headcount.simulate.theory import probit_normal_law

KS = np.unique(np.geomspace(1, 1e9, 60).astype(np.int64))


def scores_and_labels(seed=0, n_classes=40, per_class=3, noise=0.7):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 6))
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + noise * rng.normal(size=(len(labels), 6))
    return -np.linalg.norm(points[:, None] - centres[None], axis=2), labels


@pytest.fixture(scope="module")
def pilot():
    return Pilot.from_scores(*scores_and_labels())


def gathered(pilot, **options):
    base = ProbitNormal().fit(pilot)
    return gather(pilot, base.favorability_, base.mu_, base.tau_, **options)


# -- the network ------------------------------------------------------------------------------------


def test_pooling_weighs_classes_not_probes():
    values = np.array([[1.0], [3.0], [10.0]])
    features = Features(
        values, np.array([0, 0, 1]), np.array([0.25, 0.75]), *[np.empty(0)] * 3, False, 0.0
    )
    # Class means 2 and 10 with weights 1/4 and 3/4: mean 8, variance 12.
    np.testing.assert_allclose(network.pooled(values, features), [8.0, 12**0.5], rtol=1e-6)


def test_weights_are_small_and_several_networks_agree_roughly(pilot):
    from importlib.resources import files

    path = files("headcount.estimators.auto") / network.FILE
    assert len(path.read_bytes()) < 3_000_000
    features = gathered(pilot)
    curves = [network.run(weights, features)[0] for weights in network.networks()]
    assert len(curves) >= 2
    forecast, spread = network.forecast(features)
    np.testing.assert_allclose(forecast, np.mean(curves, axis=0))
    assert (np.std(curves, axis=0) < spread).all()
    assert ((spread > 0.05) & (spread < 2)).all()


# -- the projection ---------------------------------------------------------------------------------


def test_networks_vote_as_far_as_their_problems_reached(pilot):
    features = gathered(pilot)
    held = network.networks()
    limited = [weights for weights in held if "limits" in weights]
    assert 0 < len(limited) < len(held)
    lowest, low, full, none = max((one["limits"] for one in limited), key=lambda ends: ends[0])
    assert lowest < low < full < none

    def curve(odds):
        base = features.base.copy()
        base[3] = odds  # among the pilot's own classes
        asked = replace(features, base=base)
        runs = np.array([network.run(weights, asked)[0] for weights in held])
        return network.forecast(asked)[0], runs

    got, runs = curve(full)
    np.testing.assert_allclose(got, runs.mean(axis=0))
    got, runs = curve(none)
    broad = ["limits" not in weights for weights in held]
    np.testing.assert_allclose(got, runs[broad].mean(axis=0))
    got, runs = curve((full + none) / 2)
    weights = np.where(broad, 1.0, 0.5)
    np.testing.assert_allclose(got, weights @ runs / weights.sum())
    everywhere = np.array(["limits" not in one or one["limits"][0] < -9 for one in held])
    got, runs = curve((lowest + low) / 2)
    weights = np.where(everywhere, 1.0, 0.5)
    np.testing.assert_allclose(got, weights @ runs / weights.sum())
    got, runs = curve(lowest)
    np.testing.assert_allclose(got, runs[everywhere].mean(axis=0))


def test_reference_sums_are_integrals():
    # 94% of the law itself, 3% of a guess (1/k), 3% of one twice as wide.
    for mu, tau in ((2.0, 1.0), (1.0, 0.05), (4.0, 2.0)):
        ks = np.array([2, 30, 1000, 10**6])
        mixed = 0.94 * probit_normal_law(mu, tau).accuracy(ks) + 0.03 / ks
        mixed += 0.03 * probit_normal_law(mu, 2 * tau).accuracy(ks)
        np.testing.assert_allclose(reference_law(mu, tau).accuracy(ks), mixed, atol=1e-6)


def test_the_closest_law_reaches_any_curve_of_a_law():
    ks = np.array([2.0, 4, 12.5, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400])
    truth = Favorability([1e-5, 1e-3, 0.03, 0.6], [0.3, 0.3, 0.3, 0.1])
    goal = law_curve(truth, ks)
    made = closest_law(reference_law(2.0, 1.0), ks, goal)
    np.testing.assert_allclose(law_curve(made, ks), goal, atol=2e-3)
    # Nothing to move: the reference stays what it is.
    reference = reference_law(2.0, 1.0)
    same = closest_law(reference, ks, law_curve(reference, ks))
    np.testing.assert_allclose(same.weights, reference.weights, atol=1e-12)


def test_the_closest_law_minimises_what_it_says():
    reference, ks, goal = reference_law(1.0, 0.8), np.array([5.0, 50.0]), np.array([0.8, 0.35])
    made = closest_law(reference, ks, goal)

    def cost(weights):
        gap = law_curve(Favorability(reference.p, weights), ks) - goal
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(weights > 0, weights * np.log(weights / reference.weights), 0.0)
        return entropy.sum() + 0.5 * (gap**2).sum() / 5e-4**2

    weights = np.zeros(len(reference.p))
    weights[np.isin(reference.p, made.p)] = made.weights
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = weights * np.exp(1e-3 * rng.normal(size=len(weights)))
        assert cost(moved / moved.sum()) > cost(weights)


def test_a_curve_of_no_law_is_met_as_well_as_can_be():
    # Rising, which no law can: the result is still a law, between the two points.
    made = closest_law(reference_law(1.0, 1.0), np.array([10.0, 100.0]), np.array([0.4, 0.5]))
    found = made.accuracy([10, 100])
    assert 0.4 < found[1] <= found[0] < 0.5


# -- the method -------------------------------------------------------------------------------------


def test_shape_mass_and_order(pilot):
    fit = Auto().fit(pilot)
    values = fit.predict(KS)
    assert values[0] == 1
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 1e-12).all()
    assert fit.favorability_.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (fit.evidence_, fit.trust_, fit.note_) == ("scores", 1.0, "")
    np.testing.assert_allclose(
        fit.predict([2, 10, 40]), observe(pilot).accuracy([2, 10, 40]), atol=0.05
    )
    scores, labels = scores_and_labels()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(scores.shape[1])
    others = [
        Pilot.from_scores(scores[rows][:, columns], np.argsort(columns)[labels[rows]]),
        Pilot.from_scores(-scores, labels, higher_is_better=False),
        Pilot.from_scores(7 * scores + 3, labels),
    ]
    for other in others:
        np.testing.assert_allclose(clone(Auto()).fit(other).predict(KS), values, atol=1e-9)
    assert Auto().fit(pilot).predict(KS).tolist() == values.tolist()


def test_without_scores_it_says_so(pilot):
    counted = Pilot.from_losses(pilot.losses, 40, labels=pilot.labels)
    fit = Auto().fit(counted)
    assert fit.evidence_ == "losses"
    assert "losses alone" in fit.note_
    assert fit.spread_[7] > Auto().fit(pilot).spread_[7]
    np.testing.assert_array_equal(fit.predict(KS), Auto(use_scores=False).fit(pilot).predict(KS))
    unlabelled = Auto().fit(Pilot.from_losses(pilot.losses, 40))
    assert abs(unlabelled.predict(40) - observe(pilot).accuracy(40)) < 0.05


def test_votes_are_taken_as_losses(pilot):
    scores, labels = scores_and_labels()
    votes = (scores > np.sort(scores, axis=1)[:, -3:-2]).astype(float)
    fit = Auto().fit(Pilot.from_scores(votes, labels))
    assert fit.evidence_ == "losses"
    bare = Auto(use_scores=False).fit(Pilot.from_scores(votes, labels))
    np.testing.assert_allclose(fit.predict(KS), bare.predict(KS), atol=1e-12)


def test_the_plain_fit_is_left_where_nothing_was_learned():
    rng = np.random.default_rng(3)
    retrieval = Pilot.from_losses(np.floor(np.exp(rng.uniform(0, 13, 1000))).astype(int) - 1, 10**6)
    censored = Pilot.from_losses([0] * 30 + [10] * 10, 50, censored=[False] * 30 + [True] * 10)
    tiny = Pilot.from_losses([0, 1, 1, 3], 5)
    for one in (retrieval, censored, tiny):
        fit = Auto().fit(one)
        assert fit.trust_ == 0 and fit.evidence_ == "none" and "plain fit" in fit.note_
        np.testing.assert_array_equal(fit.predict(KS), ProbitNormal().fit(one).predict(KS))
        assert fit.spread_ is None


def test_trust_fades_smoothly():
    edges = (8, 18, 4000, 40_000)
    assert [within(k, edges) for k in (2, 8, 18, 600, 4000, 40_000, 10**6)] == [
        0,
        0,
        1,
        1,
        1,
        0,
        0,
    ]
    values = [within(k, edges) for k in np.geomspace(4000, 40_000, 50)]
    assert (np.diff(values) <= 0).all()
    assert np.abs(np.diff(values)).max() < 0.05
    losses = np.random.default_rng(0).geometric(0.3, 300) - 1
    some = Auto().fit(Pilot.from_losses(losses, 12_000))
    assert 0 < some.trust_ < 1
    assert f"{some.trust_:.0%}" in some.note_


@pytest.mark.parametrize("losses", [[0] * 40, [49] * 40])
def test_all_right_and_all_wrong(losses):
    with pytest.warns(AssumptionWarning):
        fit = Auto().fit(Pilot.from_losses(losses, 50))
    values = fit.predict([2, 50, 1000])
    assert np.isfinite(values).all()
    assert values[0] >= values[1] >= values[2]


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_a_forecast_from_losses_alone_says_so_in_its_checks():
    pilot = simulate.points_around_classes(60, sigma2=0.3, random_state=5).pilot
    counts = Pilot.from_losses(pilot.losses, n_classes=60, labels=pilot.labels)
    for held, expected in ((counts, True), (pilot, False)):
        made = forecast(held, classes=[60, 120])
        assert ("HC019" in {check.code for check in made.checks}) is expected
