"""Fixtures of the tests of experiments; the conftest.py of each of their folders imports them."""

import json

import numpy as np
import pytest

import bench_tools
from experiments.runner import Settings
from headcount import Pilot


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
        similarity="euclidean",
    )
    return tmp_path
