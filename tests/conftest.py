"""Fixtures for tests that write pilots to files or go through the command line."""

import json

import numpy as np
import pytest

import bench_tools
import command_line
import pilot_files
from headcount import Pilot
from headcount.bench.runner import Settings
from headcount.cli import main


@pytest.fixture
def pilot(tmp_path):
    return command_line.write_npz(tmp_path)


@pytest.fixture
def run(capsys):
    def go(*argv):
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return go


@pytest.fixture
def answer(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return out

    return go


@pytest.fixture
def refused(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert code == 2
        assert out == ""
        assert err.startswith("headcount: error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return go


@pytest.fixture
def npz(tmp_path):
    return lambda **members: pilot_files.write_npz(tmp_path / "pilot.npz", **members)


@pytest.fixture
def npy(tmp_path):
    return lambda name, values: pilot_files.write_npy(tmp_path / name, values)


@pytest.fixture
def text(tmp_path):
    return lambda name, content: pilot_files.write(tmp_path / name, content)


@pytest.fixture
def parquet(tmp_path):
    return lambda **columns: pilot_files.write_parquet(tmp_path / "pilot.parquet", **columns)


@pytest.fixture
def whole():
    return Pilot.from_scores(*bench_tools.scores_and_labels())


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "out")


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "data"
    home.mkdir()
    for name, size in (("svm", 20), ("knn_n10", 100), ("knn_n45", 100), ("svm", 400)):
        scores, labels = bench_tools.scores_and_labels(1, size, 1)
        if name.startswith("knn"):
            scores = np.maximum(scores.round(), 0)
        np.savez(home / f"telugu_{name}_{size}.npz", scores=scores, labels=labels)
    truth = {"accuracy": {"svm": {"20": 0.9, "400": 0.5}}, "knn_400": {"40": 0.6}}
    (home / "telugu_truth.json").write_text(json.dumps(truth))
    return home


@pytest.fixture
def drawings(tmp_path):
    rng = np.random.default_rng(3)
    centres = 1.5 * rng.normal(size=(9, 4))
    labels = np.repeat(np.arange(9), 7)
    np.savez(
        tmp_path / "omniglot_pixels.npz",
        gallery=centres + rng.normal(size=(9, 4)),
        probes=centres[labels] + rng.normal(size=(63, 4)),
        probe_labels=labels,
        metric="euclidean",
    )
    return tmp_path
