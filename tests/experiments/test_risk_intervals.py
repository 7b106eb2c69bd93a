"""The study of intervals for risk, on one small problem."""

import csv
import json
import sys

import numpy as np
import pytest

from experiments.coverage import risk_intervals as study
from headcount.questions.risk import forecast_risk


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(study, "CHOSEN", {"hard": study.families(6, 4, 0.6, 0.5)})
    monkeypatch.setattr(study, "ASIDE", {"plain": study.ring(4, 0.4)})
    monkeypatch.setattr(study, "LATE", {})
    monkeypatch.setattr(study, "LAST", {})
    monkeypatch.setattr(study, "RATIOS", np.array([2, 5]))
    monkeypatch.setattr(study, "TRUTH_PROBES", 200)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["risk_intervals.py", *map(str, words)])
    study.main()


def test_rows_are_forecasts_with_their_limits(small, monkeypatch, tmp_path, capsys):
    run(monkeypatch, "--out", tmp_path, "--classes", 15, "--repeats", 2, "--fit",
        "--keep", tmp_path / "rows.json")  # fmt: skip
    assert "constants" in capsys.readouterr().out
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert len(rows) == 2 * 2 * 2
    row = rows[1]  # five times the first pilot
    pilot, cost = study.CHOSEN["hard"](15, 75, 0)
    result = forecast_risk(pilot, cost, [30, 75])
    assert row["forecast"] == pytest.approx(float(result.risk(75)), rel=1e-5)
    limits = study.limits(row, study.MODEL)
    np.testing.assert_allclose(limits, result.interval(75), rtol=1e-4)
    with (tmp_path / "intervals.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert {(line["sort"], line["kind"]) for line in table} == {
        ("chosen", "hard"), ("chosen", "all"), ("aside", "plain"), ("aside", "all"),
    }  # fmt: skip


def test_limits_follow_again_from_what_was_kept(small, monkeypatch, tmp_path):
    run(monkeypatch, "--out", tmp_path, "--classes", 12, "--repeats", 1, "--sorts", "chosen",
        "--keep", tmp_path / "rows.json")  # fmt: skip
    before = (tmp_path / "intervals.csv").read_text()
    assert ",hard," in before and ",plain," not in before
    run(monkeypatch, "--out", tmp_path, "--rows", tmp_path / "rows.json")
    assert (tmp_path / "intervals.csv").read_text() == before
