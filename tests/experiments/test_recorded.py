"""The authors' recorded forecasts beside ours."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import app
from experiments.papers import recorded
from experiments.papers.recorded import Recorded
from experiments.runner import Settings
from headcount import DataError, Pilot
from headcount.estimators import Kde

ROOT = Path(__file__).parents[2]
TELUGU = ROOT.parent / "shared" / "data"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(8), 5)
    scores = rng.normal(size=(40, 8))
    scores[np.arange(40), labels] += 2
    np.savez(tmp_path / "telugu_toy_8.npz", scores=scores, labels=labels)
    return tmp_path, Pilot.from_scores(scores, labels)


def test_rows_hold_both_forecasts_and_their_difference(folder, tmp_path, monkeypatch):
    path, pilot = folder
    monkeypatch.setattr(recorded, "BESIDE", ("auto",))
    table = (Recorded("toy", 8, 50, 0.4, (0.5, 0.45, 0.3)), Recorded("away", 8, 50, 0.4, (0, 0, 0)))
    results = recorded.recorded(path, Settings(tmp_path / "out", n_jobs=1), table=table)
    assert [row["method"] for row in results.rows] == [*recorded.METHODS, *recorded.BESIDE]
    for row, rule, theirs in zip(results.rows, ("ucv", "bcv"), (0.5, 0.45), strict=False):
        ours = float(Kde(bandwidth=rule).fit(pilot).predict(50))
        assert (row["recorded"], row["forecast"]) == (theirs, pytest.approx(ours, abs=1e-6))
        assert row["difference"] == pytest.approx(ours - theirs, abs=2e-6)
    assert results.rows[-1]["recorded"] is None and results.rows[-1]["difference"] is None
    results.write(tmp_path / "out", recorded.draw)
    assert (tmp_path / "out" / "recorded.png").stat().st_size > 5000


def test_a_folder_without_the_files_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no telugu_\*\.npz file"):
        recorded.recorded(tmp_path, Settings(tmp_path / "out"))


@pytest.mark.skipif(not TELUGU.is_dir(), reason="the Telugu pilots are not at hand")
def test_kernel_densities_are_those_of_the_authors(tmp_path, capsys, monkeypatch):
    """All sixteen of the files at hand to 0.0001; their regression within its random bandwidth."""
    monkeypatch.setattr(recorded, "BESIDE", ())
    assert app.main(["recorded", str(TELUGU), "--output", str(tmp_path), "--jobs", "1"]) == 0
    rows = json.loads((tmp_path / "recorded.json").read_text())["rows"]
    assert {row["pilot_classes"] for row in rows} == {20, 100}
    kernels = [row["difference"] for row in rows if row["method"].startswith("kde")]
    assert len(kernels) == 16 and max(map(abs, kernels)) < 1e-4
    wide = [abs(row["difference"]) for row in rows if row["method"] == "regression"]
    assert np.median(wide) < 0.02 and max(wide) < 0.1
