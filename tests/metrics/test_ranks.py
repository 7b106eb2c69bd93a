"""AUC and ranks: against all sets of rivals, and draws from a law."""

import itertools

import numpy as np
import pytest

from headcount import Favorability, ParameterError, Pilot, backtest, compare, forecast, observe
from headcount.metrics import AUC, MEAN_RANK, MRR, resolve_metric, resolve_share

K = 7
LOSSES, TIES = np.array([0, 1, 4, 6, 2]), np.array([0, 0, 1, 0, 3])
LAW = Favorability([0.0, 0.001, 0.05, 0.6], [0.1, 0.4, 0.3, 0.2])


def ranks_of(lost, tied, k):
    """Ranks of one probe among all sets of k - 1 of its rivals, ties broken in all ways."""
    kinds = [2] * lost + [1] * tied + [0] * (K - 1 - lost - tied)
    for met in itertools.combinations(kinds, k - 1):
        ahead, equal = met.count(2), met.count(1)
        yield [1 + ahead + more for more in range(equal + 1)]


@pytest.mark.parametrize("k", [2, 4, K])
def test_ranks_are_means_over_all_sets_of_rivals(k):
    curve = observe(Pilot.from_losses(LOSSES, K, ties=TIES))
    means = [
        np.mean([np.mean(ranks) for ranks in ranks_of(lost, tied, k)])
        for lost, tied in zip(LOSSES, TIES, strict=True)
    ]
    assert float(curve.value(k, MEAN_RANK)) == pytest.approx(np.mean(means))
    assert float(curve.value(k, AUC)) == pytest.approx(1 - (np.mean(means) - 1) / (k - 1))


def test_ranks_under_a_law_are_those_of_draws():
    rng = np.random.default_rng(0)
    p = rng.choice(LAW.p, 400_000, p=LAW.weights)
    ranks = 1 + rng.binomial(99, p)
    error = ranks.std() / np.sqrt(len(ranks))
    assert float(LAW.value(100, "mean-rank")) == pytest.approx(ranks.mean(), abs=4 * error)
    assert float(LAW.value(100, "auc")) == pytest.approx(1 - LAW.weights @ LAW.p)
    assert LAW.value([1, 10**9], AUC).tolist() == [1, pytest.approx(float(LAW.value(7, AUC)))]
    assert MEAN_RANK.limit(LAW) == np.inf and MEAN_RANK.limit(Favorability([0.0], [1.0])) == 1
    assert AUC.limit(LAW) == pytest.approx(float(LAW.value(5, AUC)))


def test_newcomers_join_the_rivals_that_were_met():
    """Of a grown set's rivals four were met; a newcomer wins with the law that losses leave."""
    losses, weights = np.array([0, 2]), np.array([0.4, 0.6])
    grown = AUC.of_grown(losses, weights, 4, LAW, [0, 6])
    by_hand = 0.0
    for lost, weight in zip(losses, weights, strict=True):
        left = LAW.weights * LAW.p**lost * (1 - LAW.p) ** (4 - lost)
        by_hand += weight * (lost + 6 * (left @ LAW.p) / left.sum()) / 10
    assert grown.tolist() == pytest.approx([1 - 0.6 * 2 / 4, 1 - by_hand])


def test_what_stays_shifts_the_rank_and_is_no_rival_of_auc():
    """Class 1 beats the probe at every size, one of the others does where it is drawn."""
    pilot = Pilot.from_scores([[5, 9, 8, 1, 1]], [0], always=[1], higher_is_better=True)
    curve = observe(pilot)
    np.testing.assert_allclose(curve.value([2, 3, 5], MEAN_RANK), [2, 2 + 1 / 3, 3])
    np.testing.assert_allclose(curve.value([3, 5], AUC), 2 / 3)


def test_a_forecast_says_where_the_true_class_stands():
    rng = np.random.default_rng(1)
    pilot = Pilot.from_losses(rng.binomial(99, rng.beta(0.4, 9, 500)), 100)
    result = forecast(pilot, classes=400, metric="auc", method="probit-normal", intervals=False)
    k = np.array([150, 400])
    np.testing.assert_allclose(result.mean_rank(k), 1 + (k - 1) * (1 - result.value(k)))
    assert result.mean_rank(100) == pytest.approx(1 + pilot.losses.mean())
    assert result.median_rank(100) == np.median(pilot.losses) + 1
    for count in (100, 400, 10**6):
        m = int(result.median_rank(count))
        assert result.top(m, count) >= 0.5 - 1e-9
        assert m == 1 or result.top(m - 1, count) < 0.5
    assert result.median_rank([100, 400]).shape == (2,)


def test_auc_is_a_metric_like_others():
    rng = np.random.default_rng(2)
    pilot = Pilot.from_losses(rng.binomial(79, rng.beta(0.4, 9, 300)), 80)
    result = forecast(pilot, classes=160, metric="AUROC", method="probit-normal")
    lower, upper = result.interval([80, 160])
    assert (lower < result.value([80, 160])).all() and (result.value([80, 160]) < upper).all()
    assert result.capacity(0.5) == np.inf and result.capacity(0.9999) == 1
    assert "ahead of" in result.sentences()[1]


def test_what_is_no_share_has_no_interval():
    pilot = Pilot.from_losses([0, 1, 0, 2], 10)
    assert resolve_share("mrr") is MRR and resolve_metric("mean rank") is MEAN_RANK
    for ask in (
        lambda: forecast(pilot, classes=20, metric="mean-rank"),
        lambda: backtest(pilot, metric="mean rank"),
        lambda: compare({"a": pilot, "b": pilot}, classes=20, metric=MEAN_RANK),
    ):
        with pytest.raises(ParameterError, match=r"mean-rank is no share from 0 to 1.*ask for auc"):
            ask()
    with pytest.raises(ParameterError, match=r"headcount observe.*Forecast.median_rank"):
        resolve_metric("median-rank")


def test_ranks_are_read_as_ranks():
    assert [MEAN_RANK.write(x) for x in (1.0, 1.234, 9.99, 12.3, 12345.0)] == [
        "1", "1.23", "9.99", "12", "12,000",
    ]  # fmt: skip
    assert MEAN_RANK.write_range(2.5, 31.4) == "2.5 to 31"
    assert MEAN_RANK.describe(4.2) == "the right class is at rank 4.2 on average"
    assert MEAN_RANK.better == "lower" and AUC.better == "higher"
    assert AUC.describe(1.0) == "all probes find the right class"
    assert AUC.guess([1, 5]).tolist() == [1, 0.5] and MEAN_RANK.guess(9) == 5
