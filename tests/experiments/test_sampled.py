"""Sampled metrics: formulas against enumeration, and the experiment on tiny made-up sets."""

import itertools
import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, hypergeom

import headcount
from experiments import app
from experiments.runner import Settings, seed_for
from experiments.sampled import corrections, laws, rank_laws, ranks, sampled, toy
from headcount import Favorability, ParameterError, Pilot
from headcount.estimators import BentNormal

N, M = 8, 3
CHANCES = ranks.binomial_chances(N, M)
SHARES = np.array([0.4, 0.1, 0.2, 0.3])
EVERY_METRIC = {**toy.METRICS, **ranks.METRICS}


def rank_among(full, rivals):
    return 1 + sum(rival < full for rival in rivals)


def shares_of(drawn):
    return np.bincount(np.array(drawn) - 1, minlength=M + 1) / len(drawn)


# -- ranks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", range(1, N + 1))
def test_chances_are_those_of_all_sets_and_of_all_sequences_of_rivals(full):
    others = [rank for rank in range(1, N + 1) if rank != full]
    sets = [rank_among(full, rivals) for rivals in itertools.combinations(others, M)]
    sequences = [rank_among(full, rivals) for rivals in itertools.product(others, repeat=M)]
    assert ranks.exact_chances(np.array([full]), N, M)[:, 0] == pytest.approx(shares_of(sets))
    assert CHANCES[:, full - 1] == pytest.approx(shares_of(sequences))


def test_chances_are_exact_among_60000():
    chances, full = ranks.binomial_chances(60_000, 99), np.array([1, 2, 7, 601, 30_000, 60_000])
    for column, rank in zip(chances[:, full - 1].T, full, strict=True):
        assert column == pytest.approx(
            binom.pmf(np.arange(100), 99, (rank - 1) / 59_999), rel=1e-9, abs=1e-300
        )
    assert chances.sum(axis=0) == pytest.approx(np.ones(60_000))


def test_rivals_are_drawn_without_replacement():
    rng, draws = np.random.default_rng(0), 40_000
    for full in (1, 3, N):
        drawn = ranks.draw_sampled_ranks(np.full(draws, full), N, M, rng)
        found = ranks.histogram(drawn, M) / draws
        # Four standard errors of a share are at most 0.01.
        assert found == pytest.approx(ranks.exact_chances(np.array([full]), N, M)[:, 0], abs=0.01)


def test_metrics_by_hand():
    full = np.array([1.0, 10.0, 11.0, 101.0])
    values = {name: metric(full, 101).tolist() for name, metric in EVERY_METRIC.items()}
    assert values["recall@10"] == [1, 1, 0, 0]
    assert values["MRR"] == values["AP"] == pytest.approx([1, 1 / 10, 1 / 11, 1 / 101])
    gains = 1 / np.log2([2, 11, 12, 102])
    assert values["NDCG"] == pytest.approx(gains)
    assert values["nDCG@10"] == pytest.approx([*gains[:2], 0, 0])
    assert values["AUC"] == pytest.approx([1, 0.91, 0.9, 0])


# -- corrections -----------------------------------------------------------------------------------


def test_the_rank_estimator_scales_losses():
    # One loss to 3 of 27 rivals stands for 9: rank 10, which is just among the best ten.
    assert corrections.by_rank(ranks.recall_at_ten, 28, 3).tolist() == [1, 1, 0, 0]
    assert corrections.by_rank(ranks.recall_at_ten, 29, 3).tolist() == [1, 0, 0, 0]
    assert corrections.by_rank(ranks.reciprocal, 28, 3) == pytest.approx(
        [1, 1 / 10, 1 / 19, 1 / 28]
    )


def test_the_sampled_metric_of_auc_is_unbiased_as_it_is():
    values = corrections.naive(ranks.share_beaten, N, M)
    truth = ranks.share_beaten(ranks.all_ranks(N), N)
    assert values @ ranks.exact_chances(np.arange(1, N + 1), N, M) == pytest.approx(truth)


@pytest.mark.parametrize("metric", EVERY_METRIC.values(), ids=EVERY_METRIC)
def test_bias_and_variance_are_as_small_as_a_search_can_make_them(metric):
    truth = metric(ranks.all_ranks(N), N)

    def objective(values):
        total = 0.0
        for full in range(N):
            mean = sum(values[r] * CHANCES[r, full] for r in range(M + 1))
            square = sum(values[r] ** 2 * CHANCES[r, full] for r in range(M + 1))
            total += ((mean - truth[full]) ** 2 + 0.1 * (square - mean**2)) / N
        return total

    searched = minimize(objective, np.zeros(M + 1), tol=1e-12)
    ours = corrections.by_bias_and_variance(metric, N, M)
    assert objective(ours) <= searched.fun + 1e-12
    assert ours == pytest.approx(searched.x, abs=1e-4)


# -- distributions of full ranks -------------------------------------------------------------------


def likelihood(weights, shares=SHARES):
    return shares @ np.log(CHANCES @ weights)


def searched_weights(objective):
    """Return the best distribution over 1 ... N that a general search finds."""
    found = minimize(
        objective,
        np.full(N, 1 / N),
        bounds=[(1e-12, 1)] * N,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.x / found.x.sum()


def test_em_begins_uniform_and_its_likelihood_never_falls():
    steps = [rank_laws.by_likelihood(SHARES, CHANCES, gain) for gain in 10.0 ** -np.arange(13)]
    after_one = np.full(N, 1 / N) * (SHARES / CHANCES.mean(axis=1) @ CHANCES)
    assert steps[0] == pytest.approx(after_one)
    reached = [likelihood(np.full(N, 1 / N)), *map(likelihood, steps)]
    assert (np.diff(reached) >= 0).all()
    assert all(weights.sum() == pytest.approx(1) for weights in steps)


@pytest.mark.parametrize("shares", [SHARES, np.array([0.7, 0.0, 0.0, 0.3])], ids=["all", "some"])
def test_em_is_as_likely_as_a_search_can_make_it(shares):
    ours = rank_laws.by_likelihood(shares, CHANCES, 1e-13)
    searched = searched_weights(lambda weights: -likelihood(weights, shares))
    assert likelihood(ours, shares) == pytest.approx(likelihood(searched, shares), abs=1e-6)


def test_em_finds_the_full_ranks_that_many_rivals_betray():
    known = np.array([0.3, 0.0, 0.2, 0.05, 0.0, 0.1, 0.05, 0.3])
    chances = ranks.binomial_chances(N, 500)
    found = rank_laws.by_likelihood(chances @ known, chances, 1e-12)
    assert found == pytest.approx(known, abs=1e-3)


def test_entropy_is_balanced_as_well_as_a_search_can():
    def objective(weights):
        misfit = np.sum((SHARES - CHANCES @ weights) ** 2)
        return 1000 * misfit + np.sum(weights * np.log(weights))

    ours = rank_laws.by_entropy(SHARES, CHANCES)
    searched = searched_weights(objective)
    assert ours.sum() == pytest.approx(1)
    assert objective(ours) <= objective(searched) + 1e-9
    assert ours == pytest.approx(searched, abs=1e-4)


def test_entropy_leaves_what_fits_uniform_alone():
    shares = CHANCES.mean(axis=1)
    assert rank_laws.by_entropy(shares, CHANCES) == pytest.approx(np.full(N, 1 / N))


def test_the_dual_of_entropy_is_solved_among_5000():
    chances, rng = ranks.binomial_chances(5000, 99), np.random.default_rng(1)
    full = np.minimum(np.exp(rng.normal(4, 2, 3000)).astype(int) + 1, 5000)
    shares = ranks.histogram(ranks.draw_sampled_ranks(full, 5000, 99, rng), 99) / 3000
    weights = rank_laws.by_entropy(shares, chances)
    # At the minimum the objective's slope is the same for every full rank.
    slopes = -2 * (shares - chances @ weights) @ chances + 0.001 * np.log(weights)
    assert np.ptp(slopes) < 1e-6


# -- laws of favorability --------------------------------------------------------------------------


@pytest.mark.parametrize("metric", laws.OF_LAW)
def test_metrics_of_a_law_are_sums_over_the_rivals_that_win(metric):
    law, n_items = Favorability([0.0, 0.01, 0.4, 1.0], [0.1, 0.5, 0.3, 0.1]), 40
    full = ranks.all_ranks(n_items)
    chances = binom.pmf(full[:, None] - 1, n_items - 1, law.p)
    expected = ranks.METRICS[metric](full, n_items) @ chances @ law.weights
    assert laws.OF_LAW[metric](law, n_items) == pytest.approx(expected, rel=1e-9)


# -- the toy ---------------------------------------------------------------------------------------


def test_the_full_columns_of_the_toy_are_as_printed():
    rows = toy.toy()
    assert len(rows) == 12
    for row in rows:
        assert row["full"] == pytest.approx(row["full_printed"], abs=5e-4 + 1e-9)


def test_the_sampled_columns_of_the_toy_are_means_over_draws():
    rows = {(row["recommender"], row["metric"]): row for row in toy.toy()}
    lost = np.arange(100)
    for name, full in toy.RANKS.items():
        chances = np.array([hypergeom.pmf(lost, 9999, rank - 1, 99) for rank in full])
        gains = 1 / np.log2(2 + lost)
        assert rows[name, "AP"]["expected"] == pytest.approx(
            np.mean(chances @ (1 / (1 + lost))), abs=1e-6
        )
        assert rows[name, "NDCG"]["expected"] == pytest.approx(np.mean(chances @ gains), abs=1e-6)
        assert rows[name, "AUC"]["expected"] == pytest.approx(rows[name, "AUC"]["full"])
        p = (np.array(full) - 1) / 9999
        drawn_back = np.mean((1 - (1 - p) ** 100) / (100 * p))
        assert rows[name, "AP"]["with_replacement"] == pytest.approx(drawn_back, abs=1e-6)
        variances = [hypergeom.var(9999, rank - 1, 99) / 99**2 for rank in full]
        spread = np.sqrt(np.sum(variances)) / 5
        assert rows[name, "AUC"]["spread"] == pytest.approx(spread, abs=1e-6)


def test_what_was_printed_of_samples_is_near_the_mean_over_draws():
    """Within a tenth of the standard deviation of one draw for five users."""
    for row in toy.toy():
        if row["sampled_printed"] is not None:
            apart = abs(row["sampled_printed"] - row["expected"])
            assert apart <= max(0.1 * row["spread"], 5e-4)


# -- the experiment --------------------------------------------------------------------------------

CLASSES, PROBES, DRAWS = 140, 300, 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(2)
    for file in sampled.SETS.values():
        labels = rng.integers(0, CLASSES, PROBES)
        scores = rng.normal(size=(PROBES, CLASSES))
        scores[np.arange(PROBES), labels] += rng.normal(2.5, 1, PROBES)
        np.savez(folder / file, scores=scores.round(1), labels=labels)
    return folder


@pytest.fixture(scope="module")
def results(folder, tmp_path_factory):
    return sampled.sampled(Settings(tmp_path_factory.mktemp("results")), folder, draws=DRAWS)


def path_of(folder, name):
    return str((folder / sampled.SETS[name]).resolve())


def test_full_ranks_lie_within_the_ties(folder):
    for name in sampled.SETS:
        whole = headcount.load(path_of(folder, name))
        full, n_items = sampled.full_ranks(name, path_of(folder, name), 0)
        assert n_items == CLASSES
        above = full - 1 - whole.losses
        tied = whole.ties > 0
        assert (above[~tied] == 0).all()
        assert ((above >= 0) & (above <= whole.ties)).all()
        assert {0, 1} <= set(above[whole.ties == 1])


def test_rows_are_errors_against_the_full_ranks(folder, results):
    assert len(results.rows) == len(sampled.SETS) * len(ranks.METRICS) * len(sampled.METHODS)
    for name in sampled.SETS:
        full, _ = sampled.full_ranks(name, path_of(folder, name), 0)
        truth = np.mean(1 / full)
        said = []
        for draw in range(DRAWS):
            rng = np.random.default_rng(seed_for(0, "sampled", "draw", name, draw))
            said.append(np.mean(1 / ranks.draw_sampled_ranks(full, CLASSES, 99, rng)))
        (row,) = [
            row
            for row in results.rows
            if (row["set"], row["metric"], row["method"]) == (name, "MRR", sampled.NAIVE)
        ]
        assert row["truth"] == pytest.approx(truth, abs=1e-6)
        assert row["mean"] == pytest.approx(np.mean(said), abs=1e-6)
        rmse = np.sqrt(np.mean((np.array(said) - truth) ** 2))
        assert row["rmse"] == pytest.approx(rmse, abs=1e-6)
        assert row["draws"] == DRAWS


def test_all_methods_see_the_same_ranks_and_probes_weigh_the_same():
    rng = np.random.default_rng(3)
    full = np.minimum(rng.geometric(0.02, 400), 500)
    few = ranks.draw_sampled_ranks(full, 500, 99, rng)
    said = sampled.estimates(few, 500)
    shares, chances = ranks.histogram(few, 99) / 400, ranks.binomial_chances(500, 99)
    law = BentNormal().fit(Pilot.from_losses(few - 1, 100)).law()
    assert said["recall@10"]["bent-normal"] == pytest.approx(law.top(10, 500))
    assert said["recall@10"]["EM"] == pytest.approx(
        rank_laws.by_likelihood(shares, chances)[:10].sum()
    )
    assert said["recall@10"]["maximum entropy"] == pytest.approx(
        rank_laws.by_entropy(shares, chances)[:10].sum()
    )
    assert said["recall@10"]["rank"] == pytest.approx(np.mean(few <= 2))  # 1 + 499 / 99 is six
    values = corrections.by_bias_and_variance(ranks.recall_at_ten, 500, 99)
    assert said["recall@10"]["bias and variance"] == pytest.approx(np.mean(values[few - 1]))


def test_the_summary_holds_every_method_against_the_best_published(results):
    errors = {}
    for row in results.rows:
        errors.setdefault(row["method"], []).append(row["rmse"])
    best = np.min([errors[method] for method in sampled.PUBLISHED], axis=0)
    for row in results.details["summary"]:
        ratios = np.array(errors[row["method"]]) / best
        assert row["rmse"] == pytest.approx(np.mean(errors[row["method"]]), abs=1e-6)
        assert row["largest_ratio"] == pytest.approx(ratios.max(), abs=1e-5)
        assert row["at_most_best"] == np.sum(ratios <= 1)
        assert row["places"] == 6


def test_the_command_shows_both_tables_and_writes_a_picture(folder, tmp_path, capsys):
    command = ["sampled", str(folder), "--draws", "2", "--output", str(tmp_path), "--jobs", "1"]
    assert app.main(command) == 0
    said = capsys.readouterr().out
    assert "at most the best" in said
    assert "Krichene and Rendle" in said
    names = {f"sampled{ending}" for ending in (".json", ".csv", ".png")}
    assert names <= {file.name for file in tmp_path.iterdir()}
    assert str(folder) not in (tmp_path / "sampled.json").read_text()
    assert json.loads((tmp_path / "sampled.json").read_text())["options"] == {"draws": 2}


def test_one_draw_has_no_spread(folder, tmp_path):
    with pytest.raises(ParameterError, match="--draws"):
        sampled.sampled(Settings(tmp_path), folder, draws=1)
