"""The two experiments on simulated classes, on tiny settings."""

import json

import numpy as np
import pytest

from experiments import app
from experiments.papers import figure10
from experiments.runner import Settings, seed_for
from headcount import ParameterError
from headcount.estimators.registry import resolve


def test_toy_command_writes_its_figures(tmp_path, capsys):
    assert app.main(["toy", "--repeats", "50", "--output", str(tmp_path), "--jobs", "1"]) == 0
    assert "theory" in capsys.readouterr().out
    assert (tmp_path / "toy.png").read_bytes().startswith(b"\x89PNG")
    held = json.loads((tmp_path / "toy.json").read_text())
    assert held["seed"] == 0 and held["run"]["machine"]


def test_each_basis_is_forecast_in_each_setting(tmp_path, monkeypatch):
    """With few knots alone; `tests/long` has those with thousands."""
    few = {name: figure10.BASES[name] for name in ("lin2", "lin2q")}
    monkeypatch.setattr(figure10, "BASES", few)
    results = figure10.figure10(Settings(tmp_path, n_jobs=1), repeats=2, sizes=(60, 500))
    settings = {(row["sigma"], row["pilot_classes"]) for row in results.rows}
    assert settings == {(0.55, 60), *((s, 500) for s in (0.3, 0.4, 0.5, 0.55, 0.6, 0.7))}
    assert len(results.rows) == 2 * len(settings)
    for row in results.rows:
        assert row["rmse"] ** 2 == pytest.approx(row["bias"] ** 2 + row["sd"] ** 2, abs=1e-5)
    results.write(tmp_path, figure10.draw)
    assert (tmp_path / "figure10.png").stat().st_size > 20_000


def test_other_methods_see_the_pilots_of_the_bases(tmp_path, monkeypatch):
    monkeypatch.setattr(figure10, "BASES", {"lin2": figure10.BASES["lin2"]})
    monkeypatch.setattr(figure10, "SIGMAS", (0.55,))
    some = {"auto": resolve("auto"), "kde": resolve("kde")}
    settings = Settings(tmp_path, n_jobs=1)
    results = figure10.figure10(
        settings, repeats=3, sizes=(40,), methods=some, fewer={"kde": 2}, bounded=True
    )
    here = {row["method"]: row for row in results.rows if row["pilot_classes"] == 40}
    assert {name: row["repeats"] for name, row in here.items()} == {"lin2": 3, "auto": 3, "kde": 2}
    seeds = [seed_for(0, "figure10", 0.55, 40, i) for i in range(2)]
    by_hand = [
        float(resolve("kde").fit(figure10.simulated(0.55, 40, seed)).predict(figure10.TARGET))
        for seed in seeds
    ]
    assert here["kde"]["mean_forecast"] == pytest.approx(np.mean(by_hand), abs=1e-6)
    results.write(tmp_path, figure10.draw)
    with pytest.raises(ParameterError, match="not among the methods"):
        figure10.figure10(settings, repeats=2, methods=some, fewer={"lin2": 1})


def test_what_takes_too_long_sees_small_pilots_only(tmp_path, monkeypatch):
    """CleaneX's pilots end at those of the lower panels; its rows beyond are empty, not refused."""
    assert figure10.UP_TO == {"cleanex": figure10.PILOT}
    monkeypatch.setattr(figure10, "BASES", {"lin2": figure10.BASES["lin2"]})
    monkeypatch.setattr(figure10, "SIGMAS", (0.55,))
    monkeypatch.setattr(figure10, "UP_TO", {"no-change": 50})
    some = {name: resolve(name) for name in ("no-change", "probit-normal")}
    settings = Settings(tmp_path, n_jobs=1)
    results = figure10.figure10(settings, repeats=2, sizes=(50, 500), methods=some)
    assert results.run["tasks"] == 4 + 2 + 4
    assert {(r["method"], r["pilot_classes"]): r["repeats"] for r in results.rows} == {
        ("lin2", 50): 2, ("no-change", 50): 2, ("probit-normal", 50): 2,
        ("lin2", 500): 2, ("no-change", 500): 0, ("probit-normal", 500): 2,
    }  # fmt: skip
    assert [row["rmse"] is None for row in results.rows] == [
        row["repeats"] == 0 for row in results.rows
    ]
    figure = figure10.draw(results)
    drawn = {line.get_label(): list(line.get_xdata()) for line in figure.axes[1].get_lines()}
    assert drawn["no-change"] == [50] and drawn["probit-normal"] == [50, 500]
