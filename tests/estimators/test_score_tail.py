import numpy as np
import pytest
from scipy import integrate, stats

from headcount import Favorability, ParameterError, Pilot, UnsupportedError, observe
from headcount.estimators.score_tail import ScoreTail, TailModel


def pilot_of(law, n_probes=2000, n_classes=400, margin=2.5, seed=0):
    """Wrong classes score by one law, up to a place and a scale of each probe's own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_probes) % n_classes
    scores = law.rvs((n_probes, n_classes), random_state=rng)
    true = law.mean() + law.std() * rng.normal(margin, 0.7, n_probes)
    scores[np.arange(n_probes), labels] = true
    scores = scores * rng.uniform(0.5, 3, (n_probes, 1)) + rng.normal(size=(n_probes, 1))
    truth = Favorability(law.sf(true), np.full(n_probes, 1 / n_probes))
    return Pilot.from_scores(scores, labels), truth


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2])
def test_model_is_a_skew_normal_below_and_a_pareto_above(shape):
    model = TailModel(-0.9, 1.3, 2.0, threshold=1.8, tail=0.1, shape=shape, tail_scale=0.5)
    body = stats.skewnorm(2.0, loc=-0.9, scale=1.3)
    below = np.array([-3.0, -1.0, 0.5, 1.79])
    expected = 0.1 + 0.9 * (1 - body.cdf(below) / body.cdf(1.8))
    np.testing.assert_allclose(model.exceeded(below), expected, atol=1e-12)
    above = np.array([1.8, 2.0, 3.0, 4.0])
    expected = 0.1 * stats.genpareto(shape, scale=0.5).sf(above - 1.8)
    np.testing.assert_allclose(model.exceeded(above), expected, atol=1e-12)


def test_beyond_the_end_of_the_tail_nobody_wins():
    model = TailModel(0.0, 1.0, 0.0, threshold=1.0, tail=0.1, shape=-0.5, tail_scale=0.5)
    np.testing.assert_array_equal(model.exceeded(np.array([2.0, 2.5, 1e6, np.inf])), 0)
    assert model.exceeded(np.array([-1e6]))[0] == 1


@pytest.mark.parametrize("law", [stats.norm(), stats.skewnorm(3), stats.gumbel_r(), stats.t(8)])
def test_tail_and_body_have_the_moments_of_the_pooled_scores(law):
    pilot, _ = pilot_of(law, 300, 60)
    pieces = pilot.pieces(top=59)
    z = ((pieces.top - pieces.mean[:, None]) / pieces.spread[:, None]).ravel()
    model = ScoreTail(tail=0.1).fit(pilot).model_
    assert model.threshold == pytest.approx(np.quantile(z, 0.9), abs=0.01)
    excess = np.sort(z[z > model.threshold]) - model.threshold
    # Hosking and Wallis: moments weighted with the share of excesses above, 1 - (i - 0.5) / n.
    above = 1 - (np.arange(len(excess)) + 0.5) / len(excess)
    first, second = excess.mean(), (excess * above).mean()
    assert model.shape == pytest.approx(2 - first / (first - 2 * second), abs=0.01)
    assert model.tail_scale == pytest.approx(2 * first * second / (first - 2 * second), rel=0.01)
    body = stats.skewnorm(model.slant, loc=model.place, scale=model.scale)
    mean, variance, skew = body.stats(moments="mvs")
    assert (mean, variance) == pytest.approx((z.mean(), z.var()), abs=1e-9)
    assert skew == pytest.approx(np.clip(stats.skew(z), -0.99, 0.99), abs=1e-6)


def test_recovers_skew_normal_scores():
    """Within the pilot and a little beyond; further out the Pareto tail is an approximation."""
    pilot, truth = pilot_of(stats.skewnorm(3))
    fit = ScoreTail().fit(pilot)
    np.testing.assert_allclose(fit.predict([2, 10, 50]), truth.accuracy([2, 10, 50]), atol=0.01)
    np.testing.assert_allclose(fit.predict([400, 2000]), truth.accuracy([400, 2000]), atol=0.02)
    np.testing.assert_allclose(fit.predict(400), observe(pilot).accuracy(400), atol=0.03)


def test_recovers_a_pareto_tail_far_beyond_the_pilot():
    """Exponential scores have an exact Pareto tail, of shape 0, at every threshold."""
    rng = np.random.default_rng(1)
    law = stats.expon()
    n_probes, n_classes = 400, 4000
    labels = np.arange(n_probes) % n_classes
    scores = rng.exponential(size=(n_probes, n_classes))
    true = rng.normal(8.0, 2.0, n_probes)
    scores[np.arange(n_probes), labels] = true
    fit = ScoreTail().fit(Pilot.from_scores(scores, labels))
    assert fit.model_.shape == pytest.approx(0, abs=0.03)
    truth = Favorability(law.sf(true), np.full(n_probes, 1 / n_probes))
    k = [500, 5000, 100_000]
    # Each probe's own spread is known to 2 %: true scores are off by 0.15, the law a bit smoother.
    np.testing.assert_allclose(fit.predict(k), truth.accuracy(k), atol=0.04)


def test_survival_function_integrates_to_the_mean():
    pilot, _ = pilot_of(stats.gumbel_r(), 200, 100)
    model = ScoreTail().fit(pilot).model_
    z = np.linspace(-30, 30, 200_001)
    exceeded = model.exceeded(z)
    assert (np.diff(exceeded) <= 1e-12).all() and exceeded[0] == pytest.approx(1)
    mean = integrate.trapezoid(exceeded - (z < 0), z)
    assert mean == pytest.approx(0, abs=0.03)  # standardised scores


def test_order_sign_place_and_scale_do_not_matter():
    rng = np.random.default_rng(2)
    pilot, _ = pilot_of(stats.gumbel_r(), 120, 40)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    labels = np.asarray(pilot.labels)
    k = [2, 40, 1000, 10**6]
    reference = ScoreTail().fit(pilot).predict(k)
    rows, columns = rng.permutation(120), rng.permutation(40)
    place = np.argsort(columns)
    moved = Pilot.from_scores(scores[rows][:, columns], place[labels[rows]])
    flipped = Pilot.from_scores(-scores, labels, higher_is_better=False)
    scaled = Pilot.from_scores(5 * scores + 3, labels)
    for other in (moved, flipped, scaled):
        np.testing.assert_allclose(ScoreTail().fit(other).predict(k), reference, atol=1e-9)


def test_probes_weigh_as_in_the_pilot():
    """Repeating the probes of one class changes nothing under macro averaging."""
    pilot, _ = pilot_of(stats.norm(), 40, 40)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    labels = np.asarray(pilot.labels)
    again = np.concatenate([np.arange(40), np.repeat(0, 25)])
    k = [2, 40, 1000]
    np.testing.assert_allclose(
        ScoreTail().fit(Pilot.from_scores(scores[again], labels[again])).predict(k),
        ScoreTail().fit(pilot).predict(k),
        atol=1e-9,
    )


def test_embeddings_serve_as_well():
    rng = np.random.default_rng(3)
    gallery = rng.normal(size=(60, 8))
    labels = np.repeat(np.arange(60), 2)
    probes = gallery[labels] + 0.6 * rng.normal(size=(120, 8))
    pilot = Pilot.from_embeddings(probes, labels, gallery, np.arange(60))
    distances = np.linalg.norm(probes[:, None] - gallery[None], axis=2)
    same = Pilot.from_scores(distances, labels, higher_is_better=False)
    k = [2, 60, 600]
    found = ScoreTail().fit(pilot).predict(k)
    np.testing.assert_allclose(found, ScoreTail().fit(same).predict(k), atol=1e-9)
    assert found[1] == pytest.approx(float(observe(pilot).accuracy(60)), abs=0.1)


def test_votes_full_of_ties_are_survived():
    rng = np.random.default_rng(4)
    labels = np.arange(100) % 20
    votes = rng.poisson(0.1, (100, 20))
    votes[np.arange(100), labels] += rng.poisson(3, 100)
    votes[0] = 0
    votes[0, 0] = 2  # all wrong classes score the same: others' spread is taken
    fit = ScoreTail().fit(Pilot.from_scores(votes, labels))
    values = fit.predict([1, 2, 20, 1000])
    assert values[0] == 1 and (np.diff(values) <= 0).all() and values[2] > 0.5


def test_constant_impostors_of_one_probe_are_no_division_by_zero():
    scores = np.array([[0.9, 0.1, 0.1, 0.1], [0.3, 0.8, 0.2, 0.1], [0.5, 0.2, 0.4, 0.3]])
    values = ScoreTail().fit(Pilot.from_scores(scores, [0, 1, 2])).predict([2, 4, 100])
    assert np.isfinite(values).all()


def test_what_cannot_be_used_is_refused():
    with pytest.raises(UnsupportedError, match="needs scores"):
        ScoreTail().fit(Pilot.from_losses([0, 1], 5))
    with pytest.raises(UnsupportedError, match="score differently"):
        ScoreTail().fit(Pilot.from_scores([[1.0, 0.5], [0.2, 0.7]], [0, 1]))
    pilot, _ = pilot_of(stats.norm(), 30, 10)
    for tail in (0, 0.6, np.nan):
        with pytest.raises(ParameterError, match="tail"):
            ScoreTail(tail=tail).fit(pilot)
