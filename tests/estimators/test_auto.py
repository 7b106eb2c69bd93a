"""The learned default: its network, its projection, and what it promises."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.base import clone

from headcount import Pilot, forecast, observe, simulate
from headcount.curves.favorability import Favorability
from headcount.errors import AssumptionWarning
from headcount.estimators import BentNormal
from headcount.estimators.auto import network
from headcount.estimators.auto.auto import COARSE, Auto
from headcount.estimators.auto.features import RATIOS, Features, gather
from headcount.estimators.auto.laws import laws_around
from headcount.estimators.auto.projection import CLOSE, closest_law, closest_weights
from headcount.metrics import ACCURACY, Top
from headcount.simulate.theory import probit_normal_law
from plausible import spread as spread_of

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


@pytest.fixture(scope="module")
def fitted(pilot):
    return Auto().fit(pilot)


def drawn(draw, n_classes, seed=0):
    """A pilot of counts; `draw` returns the chances of probes to lose to one rival."""
    rng = np.random.default_rng(seed)
    return Pilot.from_losses(rng.binomial(n_classes - 1, draw(rng)), n_classes)


def half_unbeatable(rng):
    p = rng.beta(1, 50, 5000)
    p[:2500] = 0
    return p


def curve_of(law, counts):
    """Accuracies at numbers of classes that need not be whole."""
    return np.exp(np.multiply.outer(np.asarray(counts) - 1.0, law.log_u)) @ law.weights


# -- the network ------------------------------------------------------------------------------------


def test_pooling_weighs_classes_not_probes():
    values = np.array([[1.0], [3.0], [10.0]])
    features = Features(
        values, np.array([0, 0, 1]), np.array([0.25, 0.75]), *[np.empty(0)] * 4, False, 0.0
    )
    # Class means 2 and 10 with weights 1/4 and 3/4: mean 8, variance 12.
    np.testing.assert_allclose(network.pooled(values, features), [8.0, 12**0.5], rtol=1e-6)


def test_weights_are_small_and_say_what_they_were_made_from():
    path = files("headcount.estimators.auto") / network.FILE
    assert len(path.read_bytes()) < 3_000_000
    origin = network.origin()
    assert len(origin["commit"]) == 40 and int(origin["commit"], 16) > 0
    assert {"groups", "classes", "classes_of_laws", "calibrated", "steps", "seed"} <= set(origin)
    weights = network.weights()
    assert network.ORIGIN not in weights
    assert all(np.isfinite(value).all() for value in weights.values())
    # Errors go together: what `laws_around` needs is in units of stated spreads.
    assert weights["factor"].shape == (len(RATIOS), len(RATIOS))
    assert weights["freedom"] > 2


def test_reach_is_what_losses_leave_open_and_more_beyond_the_pilot():
    errors = np.linspace(0.1, 0.4, len(RATIOS))
    reach = network.reach(np, errors)
    np.testing.assert_array_equal(reach[RATIOS <= 1], errors[RATIOS <= 1])
    beyond = np.hypot(errors, 0.25 * np.log(RATIOS))
    np.testing.assert_allclose(reach[RATIOS > 1], beyond[RATIOS > 1])
    torch = pytest.importorskip("torch")
    many = np.stack([errors, 2 * errors])
    tensor = network.reach(torch, torch.tensor(many))
    assert tensor.dtype == torch.float64
    np.testing.assert_allclose(tensor, network.reach(np, many))


def test_a_smooth_share_rises_from_nothing_to_all():
    assert [network.smooth(share) for share in (-3, 0, 0.25, 0.5, 1, 7)] == [
        0, 0, 0.15625, 0.5, 1, 1,
    ]  # fmt: skip
    values = [network.smooth(share) for share in np.linspace(0, 1, 101)]
    assert (np.diff(values) >= 0).all() and np.diff(values).max() < 0.02


@pytest.mark.parametrize("push", [-1e4, -3.0, 0.0, 3.0, 1e4])
def test_no_network_leaves_the_reach_of_the_fit(pilot, push):
    """Whatever a network would like to say: here its last layer is pushed to one side."""
    features = gather(pilot, BentNormal().fit(pilot))
    weights = dict(network.weights())
    bias = weights["last3.bias"].copy()
    bias[: len(RATIOS)] += push
    weights["last3.bias"] = bias
    odds, spread = network.run(weights, features)
    reach = network.reach(np, features.errors)
    moved = (odds - features.base) / reach
    assert (np.abs(moved) <= 3 + 1e-9).all()
    if abs(push) == 1e4:
        np.testing.assert_allclose(moved, np.sign(push) * 3)
    assert ((spread >= np.exp(-4) * reach) & (spread <= np.exp(1) * reach)).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(10, 10**6), st.integers(10, 3000))
def test_forecasts_stay_within_reach_of_the_fit(seed, n_classes, n_probes):
    rng = np.random.default_rng(seed)
    p = rng.beta(*np.exp(rng.uniform(-1, 4, 2)), n_probes) * (rng.random(n_probes) < 0.8)
    losses = rng.binomial(n_classes - 1, p)
    losses[:2] = 0, 1  # some are right and some are not
    counted = Pilot.from_losses(losses, n_classes)
    features = gather(counted, BentNormal().fit(counted))
    odds, spread = network.run(network.weights(), features)
    reach = network.reach(np, features.errors)
    assert (np.abs(odds - features.base) <= network.FREEDOM * reach + 1e-12).all()
    assert (spread > 0).all()


# -- the projection ---------------------------------------------------------------------------------


def test_the_closest_law_reaches_any_curve_of_a_law():
    ks = np.array([2.0, 4, 12.5, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400])
    truth = Favorability([1e-5, 1e-3, 0.03, 0.6], [0.3, 0.3, 0.3, 0.1])
    goal = curve_of(truth, ks)
    made = closest_law(probit_normal_law(2.0, 1.0), ks, goal)
    np.testing.assert_allclose(curve_of(made, ks), goal, atol=2e-3)


def test_nothing_to_move_leaves_the_reference():
    reference = probit_normal_law(2.0, 1.0)
    ks = np.array([2.0, 12.5, 100, 6400])
    same = closest_law(reference, ks, curve_of(reference, ks))
    np.testing.assert_allclose(same.weights, reference.weights, atol=1e-12)


@pytest.mark.parametrize("close", [[CLOSE, CLOSE, CLOSE], [0.03, 0.001, 0.01]])
def test_the_closest_weights_minimise_what_they_say(close):
    # In no order, and each point with its own tolerance.
    ks, goal = np.array([50.0, 2.0, 5.0]), np.array([0.35, 0.9, 0.8])
    reference, close = probit_normal_law(1.0, 0.8), np.array(close)
    best = closest_weights(reference, ks, goal[None], close)[0]

    def cost(weights):
        gap = curve_of(Favorability(reference.p, weights), ks) - goal
        entropy = weights @ np.log(weights / reference.weights)
        return entropy + 0.5 * np.square(gap / close).sum()

    rng = np.random.default_rng(0)
    directions = list(rng.normal(size=(20, len(best))))
    # Those that move the curve at one point count most: there the cost is steep.
    directions += list(np.exp(np.multiply.outer(ks - 1, reference.log_u)))
    for direction in directions:
        for step in (1e-3, -1e-3):
            moved = best * np.exp(step * direction)
            assert cost(moved / moved.sum()) > cost(best)
    if close.min() == CLOSE:
        made = closest_law(reference, ks, goal)
        np.testing.assert_allclose(curve_of(made, ks), best @ np.exp(
            np.multiply.outer(reference.log_u, ks - 1)), atol=1e-12)  # fmt: skip


def test_a_curve_of_no_law_is_met_as_well_as_can_be():
    # Rising, which no law can: the result is still a law, between the two points.
    made = closest_law(probit_normal_law(1.0, 1.0), np.array([10.0, 100.0]), np.array([0.4, 0.5]))
    values = made.accuracy([10, 100])
    assert 0.4 < values[1] <= values[0] < 0.5


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_many_curves_at_once_are_as_alone(seed, n_curves):
    rng = np.random.default_rng(seed)
    reference, ks = probit_normal_law(1.5, 1.0), np.array([2.0, 20.0, 200.0, 2000.0])
    shifts = rng.normal(0, 1, (n_curves, 1)) + rng.normal(0, 0.1, (n_curves, 4))
    curves = expit(logit(curve_of(reference, ks)) + shifts)
    close = np.full(4, 0.002)
    together = closest_weights(reference, ks, curves, close)
    np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-12)
    for weights, curve in zip(together, curves, strict=True):
        alone = closest_weights(reference, ks, curve[None], close)[0]
        # Steps end where nothing above 1e-8 is to be gained: laws differ by less than its root.
        np.testing.assert_allclose(weights, alone, atol=1e-5)


# -- the method -------------------------------------------------------------------------------------


def test_shape_mass_and_what_it_rests_on(pilot, fitted):
    values = fitted.predict(KS)
    assert values[0] == 1
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 1e-12).all()
    assert fitted.favorability_.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (fitted.evidence_, fitted.note_, fitted.remedy_) == ("scores", "", "")
    np.testing.assert_allclose(
        fitted.predict([2, 10, 40]), observe(pilot).accuracy([2, 10, 40]), atol=0.05
    )
    assert fitted.base_.predict(KS).tolist() == BentNormal().fit(pilot).predict(KS).tolist()


def test_order_maps_and_orientation_do_not_show(pilot, fitted):
    values = fitted.predict(KS)
    scores, labels = scores_and_labels()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(scores.shape[1])
    others = [
        Pilot.from_scores(scores[rows][:, columns], np.argsort(columns)[labels[rows]]),
        Pilot.from_scores(-scores, labels, higher_is_better=False),
        Pilot.from_scores(7 * scores + 3, labels),
        Pilot.from_scores(1e-3 * scores - 50, labels),
    ]
    # The network looks at probes in single precision, 6e-8, and adds up 120 of them.
    for other in others:
        np.testing.assert_allclose(clone(Auto()).fit(other).predict(KS), values, rtol=0, atol=1e-6)
    assert Auto().fit(pilot).predict(KS).tolist() == values.tolist()


def test_the_law_has_the_curve_that_the_network_states(pilot, fitted):
    features = gather(pilot, fitted.base_)
    odds, spread = network.run(network.weights(), features)
    curve = curve_of(fitted.favorability_, features.counts)
    # The projection comes within .0005 of an accuracy, several times that where curves have edges.
    np.testing.assert_allclose(curve, expit(odds), atol=1e-3)
    stated = spread_of(fitted.plausible(40 * RATIOS))
    # What the factor and Student's tails make of the spread, shortened by a fifth (`test_laws`).
    wide = stated / (spread * np.linalg.norm(network.weights()["factor"], axis=1))
    assert ((wide > 0.75) & (wide < 1.15)).all()


def test_plausible_values_are_those_of_the_laws_for_any_metric(fitted):
    for metric in (ACCURACY, Top(5)):
        values = fitted.plausible([20, 40, 320], metric)
        assert values.shape == (128, 3)
        np.testing.assert_array_equal(
            values, fitted.laws_.values(np.array([20.0, 40.0, 320.0]), metric)
        )
    assert np.ptp(fitted.plausible([1])) < 1e-12  # of one class everything is known
    errors = spread_of(fitted.plausible([40, 160, 2560]))
    assert 0 < errors[0] < errors[1] < errors[2]


def test_without_scores_it_says_so(pilot, fitted):
    counted = Pilot.from_losses(pilot.losses, 40, labels=pilot.labels)
    fit = Auto().fit(counted)
    assert fit.evidence_ == "losses"
    assert "losses alone" in fit.note_ and fit.remedy_
    ks = [40, 320, 2560]
    assert (spread_of(fit.plausible(ks)) > spread_of(fitted.plausible(ks))).all()
    unasked = Auto(use_scores=False).fit(pilot)
    np.testing.assert_array_equal(fit.predict(KS), unasked.predict(KS))
    assert "use_scores=False" in unasked.note_
    unlabelled = Auto().fit(Pilot.from_losses(pilot.losses, 40))
    assert abs(unlabelled.predict(40) - observe(pilot).accuracy(40)) < 0.05


def test_votes_are_taken_as_losses():
    scores, labels = scores_and_labels()
    votes = (scores > np.sort(scores, axis=1)[:, -3:-2]).astype(float)
    fit = Auto().fit(Pilot.from_scores(votes, labels))
    assert fit.evidence_ == "losses" and "too coarse" in fit.note_
    bare = Auto(use_scores=False).fit(Pilot.from_scores(votes, labels))
    np.testing.assert_allclose(fit.predict(KS), bare.predict(KS), atol=1e-12)


def test_coarse_scores_count_in_part():
    scores, labels = scores_and_labels()
    rounded = Pilot.from_scores(np.round(6 * scores) / 6, labels)
    base = BentNormal().fit(rounded)
    seen, bare = (gather(rounded, base, use_scores=use) for use in (True, False))
    low, high = COARSE
    assert low < seen.coarseness < high
    x = (high - seen.coarseness) / (high - low)
    share = x * x * (3 - 2 * x)
    weights = network.weights()
    (odds, spread), (other, other_spread) = (network.run(weights, one) for one in (seen, bare))
    fit = Auto().fit(rounded)
    assert fit.evidence_ == "scores"
    curve = logit(curve_of(fit.favorability_, seen.counts))
    np.testing.assert_allclose(curve, share * odds + (1 - share) * other, atol=5e-3)
    assert np.abs(odds - other).max() > 0.05
    law, mixed = base.favorability_, share * spread + (1 - share) * other_spread
    odds = share * odds + (1 - share) * other
    error = weights["factor"], float(weights["freedom"])
    _, laws = laws_around(law, seen.counts, odds, mixed, *error)
    values = laws.values(seen.counts, ACCURACY)
    np.testing.assert_allclose(fit.plausible(seen.counts), values, rtol=1e-6)


def test_the_golden_forecast(pilot, fitted):
    """Fixed numbers: another file of weights, or another fit, is noticed.

    Made by the weights of commit 260296f. Round-off of other machines is far below these digits.
    """
    ks = [2, 10, 41, 400, 40_000]
    counted = Auto().fit(Pilot.from_losses(pilot.losses, 40, labels=pilot.labels))
    from_scores = [0.9812, 0.8880, 0.7132, 0.3451, 0.0328]
    np.testing.assert_allclose(fitted.predict(ks), from_scores, atol=2e-4)
    from_losses = [0.9840, 0.8947, 0.7314, 0.3804, 0.0311]
    np.testing.assert_allclose(counted.predict(ks), from_losses, atol=2e-4)
    errors = [0.1842, 0.2155, 0.3127]
    np.testing.assert_allclose(spread_of(fitted.plausible([40, 320, 2560])), errors, atol=2e-4)


# -- anchored at the pilot's size -------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw, n_classes, seed",
    [
        (half_unbeatable, 1000, 3),
        (lambda rng: rng.beta(0.3, 50, 30_000), 3000, 3),
        (lambda rng: rng.beta(0.3, 20, 5000), 200, 0),
        (lambda rng: rng.beta(2, 50, 10_000), 50, 0),
        (lambda rng: np.minimum(rng.pareto(0.5, 20_000) * 1e-5, 1), 10**5, 0),
        (lambda rng: rng.beta(0.2, 10, 10_000), 10**6, 0),
    ],
    ids=["half unbeatable", "beta", "small beta", "few rivals", "pareto", "a million"],
)
def test_with_many_probes_the_forecast_starts_where_the_observed_curve_ends(draw, n_classes, seed):
    counted = drawn(draw, n_classes, seed)
    observed = float(observe(counted).accuracy(n_classes))
    error = np.sqrt(observed * (1 - observed) / counted.n_probes)
    fit = Auto().fit(counted)
    # Less than what sampling leaves open: no step is to be seen but that of one more class.
    step = float(fit.base_.predict(n_classes) - fit.base_.predict(n_classes + 1))
    assert 0 <= step < 1 / n_classes
    assert abs(float(fit.predict(n_classes + 1)) + step - observed) < error
    assert abs(float(fit.predict(n_classes)) - observed) < error


def test_half_of_the_probes_unbeatable():
    """The old default fell by .05 from the last observed accuracy to the first forecast."""
    fit = Auto().fit(drawn(half_unbeatable, 1000, 3))
    ks = np.array([1001, 2000, 5000, 20_000])
    truth = 0.5 + 0.5 * 50 / (49 + ks)
    # Half of the probes have a variance of p (1 - p) with p = .05: a standard error of .002, and
    # what the network adds. The halves themselves are not drawn.
    gaps = np.abs(fit.predict(ks) - truth)
    assert (gaps[:3] < 0.01).all()
    # The weights of 260296f are .0103 off at twenty times the classes, those before were .006.
    assert gaps[3] < 0.0105
    low, high = np.quantile(fit.plausible(ks), [0.05, 0.95], axis=0)
    assert ((low < truth) & (truth < high)).all()


def test_rare_losses_of_many_probes():
    """The old default started at .261 here where .291 was observed."""
    n_classes = 3000
    fit = Auto().fit(drawn(lambda rng: rng.beta(0.3, 50, 30_000), n_classes, 3))
    ks = np.array([n_classes + 1, 2 * n_classes, 10 * n_classes])
    # E[(1 - p)^(k - 1)] of p ~ Beta(a, b) is a ratio of beta functions.
    law = [np.prod((50 + np.arange(k - 1)) / (50.3 + np.arange(k - 1))) for k in ks]
    # Three standard errors of .29 among 30,000 are .008.
    np.testing.assert_allclose(fit.predict(ks), law, atol=0.008)


# -- any pilot --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::headcount.AssumptionWarning")
@pytest.mark.parametrize("n_probes", [2, 3, 40, 3000])
@pytest.mark.parametrize("n_classes", [2, 3, 9, 10, 100, 10**4, 10**7])
def test_any_number_of_classes_and_probes_of_counts_alone(n_classes, n_probes):
    counted = drawn(lambda rng: rng.beta(0.4, 4, n_probes), n_classes, n_probes)
    fit = Auto().fit(counted)
    assert fit.evidence_ == "losses"
    assert "plain fit" not in fit.note_
    values = fit.predict(KS)
    assert values[0] == pytest.approx(1)
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 1e-12).all()
    errors = spread_of(fit.plausible(n_classes * np.array([1, 2, 64])))
    assert np.isfinite(errors).all() and (errors > 0).all()
    # Within reach of the fit, and a little for the projection.
    odds, left_open = fit.base_.curve([n_classes])
    if abs(odds[0]) < 5:
        gap = abs(logit(float(fit.predict(n_classes))) - odds[0])
        assert gap < network.FREEDOM * left_open[0] + 0.05


@pytest.mark.parametrize("n_classes, small", [(2, True), (9, True), (10, False)])
def test_small_pilots_say_so(n_classes, small):
    counted = drawn(lambda rng: rng.beta(0.4, 4, 50), n_classes)
    fit = Auto().fit(counted)
    assert (f"has {n_classes} classes" in fit.note_) is small
    assert ("Add classes" in fit.remedy_) is small
    scores, labels = scores_and_labels(n_classes=n_classes, per_class=5, noise=1.5)
    scored = Auto().fit(Pilot.from_scores(scores, labels))
    assert (f"has {n_classes} classes" in scored.note_) is small


def test_pilots_of_lists_that_were_cut_say_so_and_stay_near_the_whole_ones():
    rng = np.random.default_rng(0)
    whole = rng.binomial(499, rng.beta(0.4, 20, 400))
    cut = whole > 10
    listed = Pilot.from_losses(np.minimum(whole, 10), 500, censored=cut)
    assert cut.mean() > 0.2
    fit, complete = Auto().fit(listed), Auto().fit(Pilot.from_losses(whole, 500))
    assert fit.evidence_ == "losses"
    assert "only known from below" in fit.note_ and "longer lists" in fit.remedy_
    # What was cut off says how the curve looks among a few classes, not how it goes on.
    ks = [500, 1000, 5000]
    np.testing.assert_allclose(fit.predict(ks), complete.predict(ks), atol=0.04)
    odds, _ = network.run(network.weights(), gather(listed, fit.base_))
    curve = curve_of(fit.favorability_, RATIOS * 500)
    np.testing.assert_allclose(curve, expit(odds), atol=2e-3)


def test_pilots_unlike_all_others_say_so():
    # Every probe loses to one rival, or to all of 999: no law of U for one is that sharp.
    odd = Auto().fit(Pilot.from_losses(np.repeat([1, 999, 0], [5000, 5000, 1]), 1000))
    assert "unlike" in odd.note_ and odd.remedy_
    usual = Auto().fit(drawn(lambda rng: rng.beta(0.4, 20, 1000), 1000))
    assert "unlike" not in usual.note_


def test_features_far_from_those_learned_from_are_clipped(pilot):
    features = gather(pilot, BentNormal().fit(pilot))
    weights = network.weights()
    wild = replace(features, whole=features.whole + 1e6, probes=features.probes - 1e6)
    x, g = network.standardised(weights, wild)
    assert (x == -network.CLIP).all() and (g == network.CLIP).all()
    centre = replace(features, whole=weights["whole_mean"] + 2 * weights["whole_spread"])
    np.testing.assert_allclose(network.standardised(weights, centre)[1], 2)


@pytest.mark.parametrize("losses", [[0] * 40, [49] * 40])
def test_all_right_and_all_wrong(losses):
    with pytest.warns(AssumptionWarning):
        fit = Auto().fit(Pilot.from_losses(losses, 50))
    values = fit.predict([2, 50, 1000])
    assert np.isfinite(values).all()
    assert values[0] >= values[1] >= values[2]
    # All of 40: a share of more than one in ten to the other side would be seen (1.5%).
    assert abs(values[1] - (losses[0] == 0)) < 0.1


@pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
def test_a_forecast_from_losses_alone_says_so_in_its_checks():
    pilot = simulate.points_around_classes(60, sigma2=0.3, random_state=5).pilot
    counts = Pilot.from_losses(pilot.losses, n_classes=60, labels=pilot.labels)
    for one, expected in ((counts, True), (pilot, False)):
        made = forecast(one, classes=[60, 120])
        assert ("HC019" in {check.code for check in made.checks}) is expected
