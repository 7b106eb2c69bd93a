"""The two experiments on simulated classes, on tiny settings."""

import json

import pytest

from experiments import app
from experiments.papers import figure10
from experiments.runner import Settings


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
