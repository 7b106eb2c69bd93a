"""Designs computed once for many pilots, and the experiments that rest on them."""

import numpy as np
import pytest
from scipy.optimize import nnls

from experiments import app
from experiments.papers import splines
from experiments.papers.figure10 import simulated
from experiments.papers.spline_designs import design, knots_to, non_negative
from experiments.papers.splines import Fit
from experiments.runner import Settings
from headcount.estimators import SplineRegression
from headcount.estimators.shared.bases import knots

ASKED = (2, 60, 150, 2000)


@pytest.mark.parametrize("n_classes", [60, 300])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"n_knots": 100}, {}),
        ({"n_knots": 1000}, {}),
        ({"n_knots": 300, "spacing": "quadratic"}, {}),
        ({"n_knots": 200, "degree": 3}, {}),
        ({"n_knots": 200, "monotone": True}, {"constraint": "monotone"}),
        ({"n_knots": 100, "nearest": 1 / 101}, {}),
    ],
)
def test_forecasts_are_those_of_spline_regression(n_classes, bounded, options, wanted):
    """The law of a bounded fit is on cells, and nearly collinear columns leave round-off."""
    pilot = simulated(0.5, n_classes, seed=n_classes)
    ours = design(n_classes, ASKED, **options).forecast(pilot, bounded=bounded)
    usual = {name: value for name, value in options.items() if name not in ("monotone", "nearest")}
    theirs = SplineRegression(bounded=bounded, **usual, **wanted).fit(pilot).predict(list(ASKED))
    np.testing.assert_allclose(ours, theirs, atol=2e-4)
    assert np.ptp(theirs) > 0.3


@pytest.mark.parametrize("spacing", ["uniform", "quadratic"])
def test_ten_thousand_knots_are_fitted_as_spline_regression_does(spacing):
    pilot = simulated(0.55, 400, seed=8)
    ours = design(400, ASKED, n_knots=10_000, spacing=spacing).forecast(pilot)
    theirs = SplineRegression(bounded=False, spacing=spacing).fit(pilot).predict(list(ASKED))
    np.testing.assert_allclose(ours, theirs, atol=5e-4)


def test_few_columns_reach_the_least_distance():
    """Against all columns at once, where solutions differ but what they reach does not."""
    rng = np.random.default_rng(0)
    places = np.linspace(0, 1, 3000)
    matrix = np.exp(-places * np.geomspace(1, 200, 20)[:, None])
    for _ in range(5):
        target = matrix @ rng.dirichlet(np.full(3000, 0.01)) + rng.normal(0, 1e-3, 20)
        ours = np.linalg.norm(matrix @ non_negative(matrix, target) - target)
        least = nnls(matrix, target, maxiter=200_000)[1]
        assert least <= ours * (1 + 1e-9) and ours < least * (1 + 1e-4)


def test_knots_end_where_they_should():
    np.testing.assert_allclose(knots_to(1000, 1 / 1001), knots("uniform", 1000, 500, 2000))
    ends = knots_to(10_000, 1 / 1001)
    assert len(ends) == 10_000 and ends[0] == 10_000 / 10_001
    assert ends[-1] == pytest.approx(1 / 1001) and (np.diff(ends) < 0).all()


def test_the_last_knot_decides_and_not_how_many_there_are():
    """The guess about 000 §6: 10,000 knots with the end of 1,000 forecast as 1,000 do."""
    pilot = simulated(0.55, 1000, seed=3)
    said = {
        (n_knots, nearest): splines.forecast(Fit("end", n_knots=n_knots, nearest=nearest), pilot)
        for n_knots in (1000, 4000)
        for nearest in (1 / 1001, 1 / 4001)
    }
    for nearest in (1 / 1001, 1 / 4001):
        assert said[1000, nearest] == pytest.approx(said[4000, nearest], abs=2e-4)
    assert said[1000, 1 / 1001] - said[4000, 1 / 4001] > 1e-3


def test_each_fit_is_made_in_each_setting(tmp_path):
    fits = (
        Fit("constraint", "convex", n_knots=20),
        Fit("constraint", "monotone", bounded=True, n_knots=20),
        Fit("constraint", "none", n_knots=3),
        Fit("constraint", "none", n_knots=100),
        Fit("degree", degree=2, n_knots=20),
        Fit("end", n_knots=20, nearest=1 / 101),
    )
    settings = Settings(tmp_path, n_jobs=1)
    results = splines.splines(settings, repeats=3, places=((0.5, 30), (0.3, 40)), fits=fits)
    assert [(r["sigma"], r["pilot_classes"]) for r in results.rows] == [(0.5, 30)] * 6 + [
        (0.3, 40)
    ] * 6
    # A hundred knots cannot be told apart from thirty numbers: refused, not made up.
    assert [row["refused"] for row in results.rows[:6]] == [0, 0, 0, 3, 0, 0]
    assert results.rows[3]["rmse"] is None
    for row in results.rows:
        if row["rmse"] is not None:
            assert row["rmse"] ** 2 == pytest.approx(row["bias"] ** 2 + row["sd"] ** 2, abs=1e-5)
    assert results.rows[5]["nearest"] == pytest.approx(1 / 101, abs=1e-6)
    results.write(tmp_path, splines.draw)
    assert (tmp_path / "splines.png").stat().st_size > 20_000
    again = splines.splines(settings, repeats=3, places=((0.5, 30), (0.3, 40)), fits=fits)
    assert again.run["tasks_resumed"] == 6 and again.rows == results.rows


def test_standard_error_of_the_rmse_is_that_of_many_samples():
    rng = np.random.default_rng(0)
    errors = rng.normal(0.02, 0.05, size=(4000, 60))
    spread = np.sqrt((errors**2).mean(axis=1)).std()
    said = np.mean([splines.error_of_rmse(sample) for sample in errors[:400]])
    assert said == pytest.approx(spread, rel=0.05)


def test_command_refuses_too_few_repeats(capsys, tmp_path):
    assert app.main(["splines", "--repeats", "1", "--output", str(tmp_path)]) == 2
    assert "repeats" in capsys.readouterr().err
