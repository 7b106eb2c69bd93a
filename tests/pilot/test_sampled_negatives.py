"""Sampled negatives: each probe met a few random rivals of its own out of a catalogue."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from headcount import DataError, ParameterError, Pilot, forecast, load, observe
from headcount.metrics import MRR
from headcount.simulate.theory import probit_normal_law

pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
LOSSES = [0, 0, 3, 1, 9]


def table(tmp_path, name="ranks.csv", **columns):
    pd.DataFrame(columns).to_csv(tmp_path / name, index=False)
    return tmp_path / name


def same(pilot):
    assert (pilot.n_classes, pilot.rivals) == (10, "independent")
    assert pilot.losses.tolist() == LOSSES


def test_ranks_start_at_one_and_losses_at_nought(tmp_path):
    ranks, losses = np.array(LOSSES) + 1, np.array(LOSSES)
    same(load(table(tmp_path, rank=ranks), sampled_negatives=9))
    same(load(table(tmp_path, losses=losses), sampled_negatives=9))
    np.savez(tmp_path / "ranks.npz", rank=ranks)
    same(load(tmp_path / "ranks.npz", sampled_negatives=9))
    pd.DataFrame({"rank": ranks}).to_parquet(tmp_path / "ranks.parquet")
    same(load(tmp_path / "ranks.parquet", sampled_negatives=9))


def test_ties_and_labels_come_along(tmp_path):
    path = table(tmp_path, losses=[0, 2, 0], ties=[1, 0, 0], label=["a", "b", "a"])
    pilot = load(path, sampled_negatives=4)
    assert pilot.ties.tolist() == [1, 0, 0]
    assert pilot.class_names[pilot.labels].tolist() == ["a", "b", "a"]
    assert float(observe(pilot).accuracy(5)) == pytest.approx((1.5 / 2 + 0) / 2)
    again = load(table(tmp_path, rank=[1, 2]), sampled_negatives=4, tie_rule="lose")
    assert again.tie_rule == "lose" and again.labels is None


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"rank": [1, 0]}, r"rank of ranks\.csv: 1 of 2 rows .*not within 1 to 5.*row 1, 0"),
        ({"rank": [1, 6, 7]}, r"2 of 3 rows .*row 1, 6.*4 was given"),
        ({"losses": [0, 5]}, r"losses of ranks\.csv: .*not within 0 to 4"),
        ({"rank": [1.5]}, "whole numbers"),
        ({"rank": [1], "losses": [0]}, "needs one column rank .* or losses"),
        ({"position": [1]}, "needs one column rank .*has position"),
    ],
)
def test_what_is_no_rank_is_refused(tmp_path, columns, reason):
    with pytest.raises(DataError, match=reason):
        load(table(tmp_path, **columns), sampled_negatives=4)


def test_options_that_do_not_go_together_are_refused(tmp_path):
    path = table(tmp_path, rank=[1, 2])
    with pytest.raises(ParameterError, match="leave --n-classes out"):
        load(path, sampled_negatives=4, n_classes=5)
    with pytest.raises(ParameterError, match="--lower-is-better has no meaning"):
        load(path, sampled_negatives=4, higher_is_better=False)
    with pytest.raises(ParameterError, match="sampled_negatives must be at least 1"):
        load(path, sampled_negatives=0)
    np.save(tmp_path / "ranks.npy", [1, 2])
    with pytest.raises(DataError, match="does not name its columns"):
        load(tmp_path / "ranks.npy", sampled_negatives=4)
    with pytest.raises(ParameterError, match="rivals must be"):
        Pilot.from_losses([0, 1], 5, rivals="own")


def test_a_pilot_says_that_rivals_were_its_own():
    pilot = Pilot.from_losses(LOSSES, 10, rivals="independent")
    assert pilot.summary().lines()["rivals"] == "each probe met 9 of its own"
    assert "rivals" not in Pilot.from_losses(LOSSES, 10).summary().lines()
    assert pilot.with_nouns("item/items", "user/users").rivals == "independent"


def test_the_forecast_is_what_no_sampling_would_give():
    """Probes, catalogue and samples drawn; the catalogue's metrics are known of each probe."""
    rng, catalogue = np.random.default_rng(3), 3000
    law = probit_normal_law(2.5, 1.0)
    u = law.quantile(rng.uniform(size=4000))
    full = binom.rvs(catalogue - 1, 1 - u, random_state=rng)
    sampled = rng.hypergeometric(full, catalogue - 1 - full, 99)
    pilot = Pilot.from_losses(sampled, 100, rivals="independent")
    for metric, worth in (("accuracy", full == 0), ("top-10", full < 10), (MRR, 1 / (1 + full))):
        result = forecast(pilot, classes=[catalogue], metric=metric, method="probit-normal")
        # 4,000 probes leave a standard error of .006 of the metric; a sampled one is far off.
        assert float(result.value(catalogue)) == pytest.approx(worth.mean(), abs=0.02)
        assert float(result.value(100)) > worth.mean() + 0.2


def test_the_error_is_that_of_probes():
    """Against the spread over repetitions of the whole experiment, each with its own rivals."""
    rng, law, n_probes = np.random.default_rng(1), probit_normal_law(1.5, 1.0), 400
    values, stated = [], []
    for repeat in range(400):
        u = law.quantile(rng.uniform(size=n_probes))
        losses = binom.rvs(19, 1 - u, random_state=rng)
        values.append(np.mean(losses == 0))
        if repeat < 5:
            pilot = Pilot.from_losses(losses, 20, rivals="independent")
            result = forecast(pilot, classes=20, method="no-change")
            lower, upper = result.interval(20)
            stated.append((upper - lower) / 2 / 1.645)
    # The spread of 400 repetitions is known to 3.5%.
    assert np.mean(stated) == pytest.approx(np.std(values), rel=0.1)
