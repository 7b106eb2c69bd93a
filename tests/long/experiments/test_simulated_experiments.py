"""The two experiments on simulated classes meet what their paper says."""

import pytest

from experiments.papers import figure10, toy
from experiments.runner import Settings


def test_circles_lie_on_the_red_curve(tmp_path):
    """Figure 4 of 000: nine means of label sets, none off by more than four standard errors."""
    results = toy.toy(Settings(tmp_path), repeats=4000)
    assert [row["classes"] for row in results.rows] == list(range(2, 11))
    assert all(abs(row["errors_apart"]) < 4 for row in results.rows)
    assert all(row["standard_error"] < 0.003 for row in results.rows)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure10")
    settings = Settings(folder)
    return figure10.figure10(settings, repeats=2, sizes=(60, 500)), folder


def test_truths_are_those_of_the_paper(small):
    results, _ = small
    truth = {row["sigma"]: row["truth"] for row in results.rows}
    assert truth[0.3] == pytest.approx(0.838, abs=0.0005)
    assert truth[0.7] == pytest.approx(0.102, abs=0.0005)


def test_every_basis_is_forecast_in_every_setting(small):
    results, folder = small
    places = {(row["sigma"], row["pilot_classes"]) for row in results.rows}
    assert places == {(0.55, 60), (0.55, 500), *((s, 500) for s in (0.3, 0.4, 0.5, 0.6, 0.7))}
    assert len(results.rows) == len(places) * len(figure10.BASES)
    for row in results.rows:
        assert row["rmse"] ** 2 == pytest.approx(row["bias"] ** 2 + row["sd"] ** 2, abs=1e-5)
    results.write(folder, figure10.draw)
    assert (folder / "figure10.png").stat().st_size > 20_000


def test_dense_knots_near_one_do_the_work_of_ten_thousand(small):
    """100 knots packed near one agree with 10,000; 100 uniform ones cannot follow D there."""
    results, _ = small
    at = {
        row["method"]: row
        for row in results.rows
        if (row["sigma"], row["pilot_classes"]) == (0.3, 500)
    }
    assert at["lin2q"]["mean_forecast"] == pytest.approx(at["lin4"]["mean_forecast"], abs=0.01)
    assert at["lin2"]["bias"] > 0.05
