"""Figure 1 of paper 003 and its supplement: the data in print, and tiny settings."""

import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal

from experiments import app
from experiments.papers import supplement003
from experiments.papers.r_generator import RGenerator
from experiments.runner import Settings
from headcount.curves.observed import observe
from headcount.estimators import Pseudolikelihood
from headcount.estimators.registry import resolve_all


def test_uniform_numbers_are_those_of_r():
    """The first of `set.seed(0); runif(5)` and of `set.seed(1); runif(3)`, as R prints them."""
    np.testing.assert_allclose(
        RGenerator(0).uniform(5), [0.8966972, 0.2655087, 0.3721239, 0.5728534, 0.9082078], atol=5e-8
    )
    np.testing.assert_allclose(
        RGenerator(1).uniform(3), [0.2655087, 0.3721239, 0.5728534], atol=5e-8
    )
    # `set.seed(42); runif(2)`
    np.testing.assert_allclose(RGenerator(42).uniform(2), [0.9148060, 0.9370754], atol=5e-8)


def test_r_walks_down_the_chances_from_the_largest():
    """With chances .2, .5, .3 a number under .5 is the second, under .8 the third, else the first.

    That is what `sample(3, 5, TRUE, prob = c(.2, .5, .3))` makes of the numbers above.
    """
    assert RGenerator(0).choose(5, np.array([2.0, 5.0, 3.0])).tolist() == [0, 1, 1, 2, 0]


def test_r_inverts_the_rarer_side_of_a_binomial():
    numbers = RGenerator(0).uniform(4)
    drawn = RGenerator(0).binomial(10, np.array([0.3, 0.8, 1.0, 0.5, 0.0, 0.9]))
    rarer = binom.ppf(numbers, 10, [0.3, 0.2, 0.5, 0.1]).astype(int)
    assert drawn.tolist() == [rarer[0], 10 - rarer[1], 10, rarer[2], 0, 10 - rarer[3]]


def test_figure_1_has_100_probes_among_11_classes_and_a_rising_law():
    weights, pilot = supplement003.published()
    assert (pilot.n_probes, pilot.n_classes) == (100, 11)
    assert (np.diff(weights) > 0).all() and weights.sum() == pytest.approx(1)
    assert np.bincount(pilot.losses).tolist() == [41, 31, 13, 7, 3, 2, 1, 2]
    _, other = supplement003.drawn(7)
    assert other.n_probes == 100 and sorted(other.losses) != sorted(pilot.losses)


def test_the_constraint_brings_the_moments_of_figure_1_nearer_to_the_truth():
    """As the paper says of its picture, which prints no number: these are ours, with its data."""
    weights, pilot = supplement003.published()
    truth = float(np.sum(weights * supplement003.GRID**50))
    free, constrained = (
        float(Pseudolikelihood(constraints=constraints).fit(pilot).predict(51))
        for constraints in ("none", "cons")
    )
    assert (truth, free, constrained) == pytest.approx((0.136, 0.036, 0.100), abs=0.001)


def test_moments_are_held_against_the_law_they_were_drawn_from(tmp_path):
    results = supplement003.supplement003(Settings(tmp_path, n_jobs=1), laws=3, learners=())
    assert len(results.rows) == 4 * 4
    weights, pilot = supplement003.published()
    for row in results.rows:
        constraints = row["method"].split("=")[1]
        fit = Pseudolikelihood(constraints=constraints).fit(pilot)
        order = row["classes"] - 1
        assert row["first_forecast"] == pytest.approx(float(fit.predict(order + 1)), abs=1e-6)
        moment = float(np.sum(weights * supplement003.GRID**order))
        assert row["first_truth"] == pytest.approx(moment, abs=1e-6)
        assert row["rmse"] ** 2 == pytest.approx(row["bias"] ** 2 + row["sd"] ** 2, abs=1e-5)


def test_the_supplement_trains_on_the_first_classes_of_the_same_fifty(monkeypatch):
    seen = {}

    def keep(x, y, test, seed):
        seen[int(y.max()) + 1] = x, y, test
        return np.arange(len(test))[:, None] % (y.max() + 1) == np.arange(y.max() + 1) * 1.0

    learner = supplement003.Learner("keeps its points", False, keep)
    monkeypatch.setitem(supplement003.LEARNERS, "keep", learner)
    for size in (3, 50):
        pilot = supplement003.trained_pilot("keep", size, 5)
        assert (pilot.n_classes, pilot.n_probes) == (size, 30 * size)
        x, y, _ = seen[size]
        assert x.shape == (20 * size, 10) and np.bincount(y).tolist() == [20] * size
    np.testing.assert_array_equal(seen[3][0], seen[50][0][:60])
    np.testing.assert_array_equal(seen[3][2], seen[50][2][:90])


def test_quadratic_discriminants_are_normal_log_densities():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    x, test = rng.normal(size=(60, 4)) + y[:, None], rng.normal(size=(7, 4))
    scores = supplement003.LEARNERS["QDA"].scores(x, y, test, 0)
    for label in range(3):
        members = x[y == label]
        density = multivariate_normal(members.mean(axis=0), np.cov(members.T)).logpdf(test)
        shift = -2 * np.log(2 * np.pi)
        np.testing.assert_allclose(scores[:, label] + shift, density, rtol=1e-9)


def test_forecasts_are_held_against_the_classifier_trained_on_all(tmp_path):
    results = supplement003.supplement003(
        Settings(tmp_path, n_jobs=1),
        laws=1,
        repeats=2,
        sizes=(5, 20),
        learners=("QDA",),
        methods=resolve_all(["no-change", "high-dimensional"]),
    )
    rows = [row for row in results.rows if row["part"] == "QDA"]
    assert [(row["pilot_classes"], row["method"]) for row in rows] == [
        (5, "no-change"), (5, "high-dimensional"), (20, "no-change"), (20, "high-dimensional"),
    ]  # fmt: skip
    seed = supplement003.seed_for(0, supplement003.NAME, 0)
    whole, part = (supplement003.trained_pilot("QDA", size, seed) for size in (50, 20))
    assert rows[2]["first_truth"] == pytest.approx(observe(whole).accuracy(50), abs=1e-6)
    assert rows[2]["first_forecast"] == pytest.approx(observe(part).accuracy(20), abs=1e-6)
    assert rows[0]["bias"] > rows[2]["bias"] > 0  # nothing changes, the paper's benchmark
    assert results.details["first"]["QDA"]["measured"][-1] == rows[0]["first_truth"]
    results.write(tmp_path, supplement003.draw)
    assert (tmp_path / "supplement003.png").stat().st_size > 20_000


def test_command(tmp_path, capsys):
    options = ["--laws", "2", "--repeats", "1", "--methods", "no-change", "--jobs", "1"]
    command = ["supplement003", *options, "--output", str(tmp_path), "--pilot-classes"]
    assert app.main([*command, "5"]) == 0
    assert "figure 1" in capsys.readouterr().out
    assert (tmp_path / "supplement003.csv").exists()
    assert app.main([*command, "50"]) == 2
    assert "from 3 to 49" in capsys.readouterr().err
