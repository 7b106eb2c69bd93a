import itertools
import math
import warnings

import numpy as np
import pytest

import brute_risk
from headcount import ParameterError, Pilot, observe
from headcount.errors import DataError, UnsupportedError
from headcount.questions.risk import (
    as_priors,
    forecast_risk,
    observed_risk,
    prior_weights,
    task_normalised_risk,
    with_priors,
)
from headcount.questions.risk.tasks import inverse_sums

RULES = ("random", "lose", "win")


def small(seed=0, n_classes=6, n_probes=14, **options):
    scores, labels, cost = brute_risk.small_pilot_parts(seed, n_classes, n_probes)
    return Pilot.from_scores(scores, labels, higher_is_better=True, **options), scores, cost


def gaussian_pilot(seed, n_classes=40, per_class=3):
    """Scores that are log-likelihoods of unit normals around centres on a line."""
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=n_classes)
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + rng.normal(size=len(labels))
    return Pilot.from_scores(-((points[:, None] - centres) ** 2) / 2, labels)


def test_priors_by_name_or_by_place_sum_to_one():
    pilot = Pilot.from_scores(np.eye(3), ["b", "a", "c"], class_names=["b", "a", "c"])
    by_name = as_priors({"a": 1, "b": 2, "c": 5, "z": 100}, pilot)
    assert by_name.tolist() == pytest.approx([0.25, 0.125, 0.625])
    assert as_priors([2, 1, 5], pilot).tolist() == by_name.tolist()
    numbered = Pilot.from_scores(np.eye(2), [0, 1])
    assert as_priors({"0": 3, "1": 1}, numbered).tolist() == [0.75, 0.25]
    assert as_priors({0: 3, 1: 1}, numbered).tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("priors", "said"),
    [
        ([1, 2], "2 priors for 3 classes"),
        ([1, 2, 0], "1 of 3 rows is not positive numbers (first: row 2, class c has 0)"),
        ([1, 2, -1], "not positive"),
        ([1, math.nan, 1], "not positive"),
        ([1, math.inf, 1], "not positive"),
        ([[1, 2, 3]], "plain list"),
        (["x", "y", "z"], "must be numbers"),
        ({"a": 1}, "2 of 3 rows are classes without a prior (first: row 1, b)"),
        ([1e-300, 1, 1e300], "too small beside the largest"),
    ],
)
def test_what_cannot_be_a_prior_is_refused(priors, said):
    pilot = Pilot.from_scores(np.eye(3), ["a", "b", "c"], class_names=["a", "b", "c"])
    for use in (as_priors, with_priors, lambda p, q: prior_weights(q, p)):
        with pytest.raises(DataError) as caught:
            use(*((priors, pilot) if use is not with_priors else (pilot, priors)))
        assert said in str(caught.value)


@pytest.mark.parametrize("equal", [1, 0.1, 1 / 3, 1e-200])
def test_equal_priors_change_nothing_at_all(equal):
    pilot, _, cost = small(1, 6, 20)
    priors = np.full(6, equal)
    assert prior_weights(pilot, priors).tolist() == pilot.weights.tolist()
    for price in (cost, "zero-one"):
        weighted = observed_risk(pilot, price, priors=priors)
        assert weighted.tolist() == observed_risk(pilot, price).tolist()
    assert with_priors(pilot, priors).losses.tolist() == pilot.losses.tolist()
    assert with_priors(pilot, priors).ties.tolist() == pilot.ties.tolist()


def test_weights_share_a_prior_among_the_probes_of_a_class():
    labels = ["a", "b", "b", "c"]
    for average in ("macro", "micro"):
        pilot = Pilot.from_losses([0, 1, 2, 0], 9, labels=labels, average=average)
        found = prior_weights(pilot, {"a": 1, "b": 6, "c": 3})
        assert found.tolist() == pytest.approx([0.1, 0.3, 0.3, 0.3])
    only = Pilot.from_scores([[2, 1, 0], [1, 2, 0]], [0, 1])  # class 2 only competes
    assert prior_weights(only, [1, 3, 96]).tolist() == pytest.approx([0.25, 0.75])
    with pytest.raises(UnsupportedError, match="give labels"):
        prior_weights(Pilot.from_losses([0, 1], 9), [1] * 9)


def test_margins_with_priors_are_those_of_shifted_scores():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(50, 8)).astype(np.float32)
    labels = rng.integers(0, 8, 50)
    priors = rng.gamma(1, 1, 8)
    # In powers of two and halves sums are exact, so that ties arise and survive.
    tied = np.round(2 * scores) / 2
    exact = np.exp2([0, 1, 2, 0, 1, 2, 3, 0])
    for values, weights, logs in (
        (scores, priors, np.log(priors / priors.max())),
        (tied * np.log(2), exact, np.log(exact / 8)),
    ):
        for sign in (1, -1):
            given = Pilot.from_scores(sign * values, labels, higher_is_better=sign > 0)
            shifted = given._need_source()
            expected = Pilot.from_scores(
                next(shifted.blocks())[1] + logs, labels, higher_is_better=True
            )
            found = with_priors(given, weights)
            same_pilots(found, expected)
            assert found.losses.tolist() != given.losses.tolist()
            some = [1, 3, 4, 6]
            same_pilots(found.subset(some), expected.subset(some))
            same_pilots(found.keep_probes([3, 1, 9]), expected.keep_probes([3, 1, 9]))


def same_pilots(found, expected):
    assert found.losses.tolist() == expected.losses.tolist()
    assert found.ties.tolist() == expected.ties.tolist()
    for name in ("true", "top", "mean", "spread", "quantiles"):
        np.testing.assert_array_equal(
            getattr(found.pieces(3), name), getattr(expected.pieces(3), name)
        )
    for name in ("start", "classes", "tied"):
        np.testing.assert_array_equal(getattr(found.beats(), name), getattr(expected.beats(), name))


def test_margins_need_scores_and_a_prior_for_every_class():
    with pytest.raises(UnsupportedError, match="only counts"):
        with_priors(Pilot.from_losses([0, 1], 2, labels=["a", "b"]), [1, 2])
    with pytest.raises(DataError, match="2 priors for 3 classes"):
        with_priors(Pilot.from_losses([0, 1], 3, labels=["a", "b"]), [1, 2])


def test_knowing_the_priors_helps_when_they_hold():
    # The Bayes rule has the least risk: its mean gain in 20 simulations is beyond 4 standard errors.
    gains = []
    for seed in range(20):
        pilot = gaussian_pilot(seed, per_class=20)
        priors = np.random.default_rng(100 + seed).gamma(0.3, 1, 40) + 1e-3
        plain = observed_risk(pilot, "zero-one", 40, priors=priors)
        bayes = observed_risk(with_priors(pilot, priors), "zero-one", 40, priors=priors)
        gains.append(float(plain - bayes))
    assert np.mean(gains) > 4 * np.std(gains) / math.sqrt(20) > 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_few_tasks_are_all_used(rule, k):
    pilot, scores, cost = small(3, 6, 14, tie_rule=rule)
    priors = np.array([3.0, 1, 0.2, 5, 1, 9])
    every = brute_risk.task_risks(scores, pilot.labels, cost, priors, k, rule)
    value, error = task_normalised_risk(pilot, cost, k, priors)
    assert value == pytest.approx(np.mean(every), rel=1e-12) and error == 0


def test_tasks_without_probes_are_left_out():
    scores = np.array([[1, 2, 3, 0, 5], [0, 4, 1, 2, 2]])
    pilot = Pilot.from_scores(scores, [0, 1], higher_is_better=True)
    cost = np.arange(25.0).reshape(5, 5) * (1 - np.eye(5))
    priors = [1, 2, 3, 4, 5]
    every = brute_risk.task_risks(scores, [0, 1], cost, priors, 2, "random")
    assert len(every) == 7  # of ten
    value, _ = task_normalised_risk(pilot, cost, 2, priors)
    assert value == pytest.approx(np.mean(every))
    # Among more classes there are 300 sets, more than are drawn; 4 errors leave room for chance.
    wide = Pilot.from_scores(np.tile(scores, (1, 5)), [0, 1], higher_is_better=True)
    cost = np.arange(625.0).reshape(25, 25) * (1 - np.eye(25))
    every = brute_risk.task_risks(
        np.tile(scores, (1, 5)), [0, 1], cost, np.arange(1, 26), 2, "random"
    )
    drawn, error = task_normalised_risk(wide, cost, 2, np.arange(1, 26), repeats=299)
    assert error > 0 and abs(drawn - np.mean(every)) < 4 * error


def test_equal_priors_estimate_the_observed_risk():
    pilot = gaussian_pilot(5)
    truth = float(observed_risk(pilot, "zero-one", 10))
    assert truth == pytest.approx(1 - float(observe(pilot).accuracy(10)), abs=1e-13)
    value, error = task_normalised_risk(pilot, "zero-one", 10, np.ones(40), repeats=400)
    assert 0 < error < 0.02 and abs(value - truth) < 4 * error


def test_drawn_tasks_do_not_depend_on_order_and_follow_the_seed():
    rng = np.random.default_rng(6)
    scores, labels, cost = brute_risk.small_pilot_parts(6, 30, 90, 40)
    names = np.array([f"c{i}" for i in range(30)])
    priors = dict(zip(names.tolist(), rng.gamma(1, 1, 30).tolist(), strict=True))
    rows, columns = rng.permutation(90), rng.permutation(30)
    one = Pilot.from_scores(scores, names[labels], class_names=names, higher_is_better=True)
    other = Pilot.from_scores(
        -scores[rows][:, columns],
        names[labels[rows]],
        class_names=names[columns],
        higher_is_better=False,
    )
    first = task_normalised_risk(one, cost, 6, priors, repeats=50)
    again = task_normalised_risk(other, cost[np.ix_(columns, columns)], 6, priors, repeats=50)
    assert again == pytest.approx(first, rel=1e-12)
    assert task_normalised_risk(one, cost, 6, priors, repeats=50, random_state=1) != first


def test_tasks_refuse_what_makes_no_sense():
    pilot, _, cost = small(7)
    with pytest.raises(ParameterError, match="up to the pilot's 6 classes nothing is fitted"):
        task_normalised_risk(pilot, cost, 3, np.ones(6), basis="spline")
    for k, repeats in ((0, 10), (2.5, 10), (3, 1)):
        with pytest.raises(ParameterError):
            task_normalised_risk(pilot, cost, k, np.ones(6), repeats=repeats)
    with pytest.raises(UnsupportedError, match="only counts"):
        task_normalised_risk(Pilot.from_losses([0, 1], 2, labels=[0, 1]), "zero-one", 2, [1, 1])


def test_means_of_one_over_a_sum_of_priors():
    priors = np.array([1, 2.5, 0.2, 7, 0.0])
    for draws in (0, 1, 2, 4):
        share = inverse_sums(priors, draws)
        for a in (0.2, 1.0, 9.0, 14.0):
            sums = [a + sum(drawn) for drawn in itertools.product(priors, repeat=draws)]
            expected = np.mean(1 / np.array(sums))
            assert share(np.array([a]))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("silent", [False, True])
def test_beyond_the_pilot_equal_priors_give_the_plain_forecast(silent):
    pilot = gaussian_pilot(5, per_class=4)
    if silent:
        pilot = pilot.keep_probes(np.flatnonzero(np.asarray(pilot.labels) % 2 == 0))
    cost = np.where(np.arange(40)[:, None] % 3 == 0, 2.0, 1.0) * (1 - np.eye(40))
    plain = forecast_risk(pilot, cost, 200, priors=np.ones(40), bandwidth=0.5)
    value, error = task_normalised_risk(pilot, cost, 200, np.ones(40), bandwidth=0.5)
    assert value == pytest.approx(float(plain.risk(200)), rel=0.02 if silent else 1e-6)
    assert error == pytest.approx(float(plain.standard_error(200)))


def test_beyond_the_pilot_priors_are_normalised_for_its_size():
    # Every probe is a mistake at its own class's cost: only priors matter. At K + 1 classes that
    # is nearly what plain priors say; of many more, what tasks drawn from the pilot lack is added.
    rng = np.random.default_rng(0)
    scores = rng.random((12, 12))
    np.fill_diagonal(scores, -1)
    priors = rng.gamma(1, 1, 12)
    cost = (1 + 2 * (priors > 1))[:, None] * (1 - np.eye(12))
    pilot = Pilot.from_scores(scores, np.arange(12), higher_is_better=True)
    options = {"approach": "unconstrained", "basis": [np.ones_like], "intervals": False}
    paid = cost.max(axis=1)
    plain = priors @ paid / priors.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        near, far = (task_normalised_risk(pilot, cost, k, priors, **options)[0] for k in (13, 1200))
    assert abs(near - plain) < 0.02 * plain
    draws = np.random.default_rng(1).integers(0, 12, (200_000, 12))
    drawn = (priors[draws] * paid[draws]).sum(axis=1) / priors[draws].sum(axis=1)
    assert far == pytest.approx(2 * plain - drawn.mean(), rel=0.02)
