"""A method applied to pairs of groups."""

import numpy as np
import pytest
from scipy.stats import binom

from headcount.curves.favorability import Favorability
from headcount.curves.mixed import GroupRows, JointLaw, count_by_group, set_sizes
from headcount.errors import UnsupportedError
from headcount.estimators import Auto, Kde, LogLinear, ProbitNormal, Pseudolikelihood
from headcount.estimators.mixed import Mixed, join, pair_pilot
from headcount.metrics import ACCURACY, Top
from mixed_pilots import make_pilot, world
from plausible import spread


def test_the_pilot_of_a_pair_holds_the_losses_to_that_group():
    pilot, scores = make_pilot((5, 4), steps=0.7)
    counts = count_by_group(pilot, ["a", "b"])
    names = np.asarray(pilot.groups)
    for g, group in enumerate("ab"):
        rows = np.flatnonzero(names[pilot.labels] == group)
        for h, other in enumerate("ab"):
            pair = pair_pilot(counts, g, h)
            true = scores[rows, pilot.labels[rows]][:, None]
            rivals = (names == other) & (np.arange(9) != pilot.labels[rows][:, None])
            assert pair.losses.tolist() == ((scores[rows] > true) & rivals).sum(axis=1).tolist()
            assert pair.ties.tolist() == ((scores[rows] == true) & rivals).sum(axis=1).tolist()
            assert pair.n_classes == (names == other).sum() + (group != other)


def test_a_mix_of_one_group_is_the_method_on_that_group():
    pilot, _ = make_pilot((12, 9))
    mixed = Mixed(method=ProbitNormal(), mix={"a": 1.0}).fit(pilot)
    plain = ProbitNormal().fit(pilot.only_groups("a"))
    k = [2, 12, 100, 10**6]
    np.testing.assert_allclose(mixed.predict(k), plain.predict(k), atol=1e-9)


def test_the_order_of_rows_classes_and_shares_does_not_matter():
    pilot, scores = make_pilot((9, 7), steps=2)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(scores)), rng.permutation(16)
    turned = type(pilot).from_scores(
        scores[rows][:, columns],
        np.argsort(columns)[pilot.labels[rows]],
        groups=np.asarray(pilot.groups)[columns],
        higher_is_better=True,
    )
    values = [
        Mixed(method=ProbitNormal(), mix=mix).fit(data).predict([2, 16, 300])
        for data, mix in [(pilot, {"a": 0.25, "b": 0.75}), (turned, {"b": 0.75, "a": 0.25})]
    ]
    np.testing.assert_allclose(values[0], values[1], atol=1e-9)


def test_the_correlation_is_the_likeliest_one():
    """On a grid, with the chance of each row as an integral of binomials written out."""
    laws = [Favorability([0.01, 0.2], [0.5, 0.5]), Favorability([0.02, 0.3], [0.5, 0.5])]
    losses = np.array([[0, 0], [0, 3], [3, 4], [2, 0], [1, 3]])
    rows = GroupRows(losses, np.array([0.35, 0.15, 0.2, 0.15, 0.15]), np.array([9, 8]))
    best = join(laws, rows).correlation

    def likelihood(rho):
        joint = JointLaw(laws, rho)
        chance = np.ones((len(losses), 1))
        for h, law in enumerate(laws):
            of_nodes = binom.pmf(losses[:, h][:, None], rows.n_rivals[h], law.p)
            chance = chance * (of_nodes @ joint.given_factor[h].T)
        return rows.weights @ np.log(chance @ joint.factor)

    grid = np.linspace(0, 0.97, 98)
    assert 0.02 < best < 0.96
    assert best == pytest.approx(grid[np.argmax([likelihood(rho) for rho in grid])], abs=0.02)


def test_unrelated_losses_have_no_correlation():
    law = Favorability([0.01, 0.3], [0.5, 0.5])
    losses = np.array([[0, 0], [0, 3], [3, 0], [3, 3]])
    rows = GroupRows(losses, np.full(4, 0.25), np.array([10, 10]))
    assert join([law, law], rows).correlation < 0.05


def test_of_one_group_the_plausible_laws_are_those_of_the_method():
    pilot = world(np.random.default_rng(0), 30, 25)
    mixed = Mixed(method=Auto(), mix={"a": 1.0}).fit(pilot.only_groups("a"))
    k = np.array([30, 60, 300])
    plain = Auto().fit(pair_pilot(count_by_group(pilot, ["a"]), 0, 0))
    for metric in (ACCURACY, Top(5)):
        np.testing.assert_allclose(
            mixed.plausible(k, metric), plain.plausible(k, metric), rtol=1e-6
        )
    assert mixed.plausible(30).shape == (128,)
    assert Mixed(method=ProbitNormal(), mix={"a": 1.0}).fit(pilot).plausible(60) is None


def test_errors_of_pairs_add_up():
    """Those of one group's probes against other groups are independent, else they are the same."""
    pilot = world(np.random.default_rng(0), 30, 25)
    mixed = Mixed(method=Auto(), mix={"a": 0.4, "b": 0.6}).fit(pilot)
    shares, k = np.array([0.4, 0.6]), 200
    by_rivals, value = np.zeros(2), 0.0
    for g, m in enumerate(shares):
        met = set_sizes(shares, k, g) - (np.arange(2) == g)
        right = float(mixed.law_.joint[g].value([met])[0])
        for h in range(2):
            alone = mixed.fits_[g][h].plausible(met[h] + 1)
            by_rivals[h] += m * right * float(spread(alone) * (1 - np.median(alone)))
        value += m * right
    expected = np.hypot(*by_rivals) / (value * (1 - value))
    # The order in which 128 laws meet 128 others leaves them a correlation of a tenth.
    assert float(spread(mixed.plausible(k))) == pytest.approx(expected, rel=0.12)
    # So does the middle of 128 products: the median of so many has 1.25 / sqrt(128) of an error.
    error = expected * value * (1 - value)
    assert np.median(mixed.plausible(k)) == pytest.approx(value, abs=2 * 1.25 / 128**0.5 * error)


def test_methods_that_do_not_suit_are_refused():
    pilot, _ = make_pilot((7, 7))
    mix = {"a": 0.5, "b": 0.5}
    with pytest.raises(UnsupportedError, match="kde needs scores, and a mix is forecast from the"):
        Mixed(method=Kde(), mix=mix).fit(pilot)
    with pytest.raises(UnsupportedError, match="log-linear gives no law of favorability"):
        Mixed(method=LogLinear(), mix=mix).fit(pilot)


def test_groups_that_never_lose_to_each_other_are_no_cause_for_a_warning():
    pilot, _ = make_pilot((8, 8), sigma=0.05)
    fitted = Mixed(method=Pseudolikelihood(), mix={"a": 0.5, "b": 0.5}).fit(pilot)
    assert float(fitted.predict(10)) == pytest.approx(1.0, abs=0.02)
