"""The default on whole sources: a tiny made-up one, with real methods."""

import json

import numpy as np
import pytest

import headcount
from experiments import app
from experiments.runner import Settings
from experiments.yardstick import kept_aside
from headcount import DataError, ParameterError
from headcount.estimators import ProbitNormal

CLASSES, ROWS, DIMS = 90, 3, 6
METHODS = ("auto", "probit-normal")


def source(folder, n_classes=CLASSES):
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(n_classes, 1, DIMS))
    vectors = centres + 0.8 * rng.normal(size=(n_classes, ROWS, DIMS))
    path = folder / "points.npz"
    np.savez(
        path,
        vectors=vectors.reshape(-1, DIMS).astype(np.float16),
        labels=np.repeat(np.arange(n_classes, dtype=np.int32), ROWS),
        recipe=json.dumps({}),
    )
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def results(path, tmp_path_factory):
    settings = Settings(tmp_path_factory.mktemp("results"))
    return kept_aside.kept_aside(settings, [path], methods=METHODS, sizes=[20], pilots=3)


def row_of(rows, method):
    return next(row for row in rows if row["method"] == method)


def test_the_first_row_of_a_class_is_its_gallery(path):
    whole = kept_aside.population(str(path))
    with np.load(path) as read:
        vectors = read["vectors"].astype(float).reshape(CLASSES, ROWS, DIMS)
    gaps = vectors[:, 1:, None] - vectors[:, 0]
    distance = np.square(gaps).sum(axis=-1)
    own = distance[np.arange(CLASSES), :, np.arange(CLASSES)]
    wrong = (distance < own[..., None]).sum(axis=-1)
    among_all = np.mean(wrong == 0)
    among_two = 1 - np.mean(wrong) / (CLASSES - 1)
    assert whole.truth([2, CLASSES]) == pytest.approx([among_two, among_all], abs=1e-12)


def test_errors_are_those_of_every_k_up_to_the_whole_source(results, path):
    whole, errors = kept_aside.population(str(path)), []
    for repeat in range(3):
        seed = kept_aside.seed_for(0, "kept_aside", "pilot", "points", 20, repeat)
        pilot = whole.pilot(20, random_state=seed)
        ks = np.arange(2, CLASSES + 1)
        gaps = ProbitNormal().fit(pilot).predict(ks) - whole.truth(ks)
        errors.append(np.sqrt(np.mean(gaps**2)))
    # Between the numbers of classes that are looked at, errors are next to straight lines.
    assert row_of(results.rows, "probit-normal")["rmse"] == pytest.approx(np.mean(errors), rel=0.01)


@pytest.mark.filterwarnings("ignore::headcount.errors.ExtrapolationWarning")
def test_the_oracle_is_the_unit_and_intervals_are_judged_where_the_source_reaches(results, path):
    assert row_of(results.rows, "oracle")["to_oracle"] == 1
    ours, plain = row_of(results.rows, "auto"), row_of(results.rows, "probit-normal")
    assert plain["holds_1"] is None
    assert ours["holds_5"] is None  # a hundred classes are more than there are
    assert ours["pilots"] == 3
    whole, holds, steps = kept_aside.population(str(path)), [], []
    for repeat in range(3):
        seed = kept_aside.seed_for(0, "kept_aside", "pilot", "points", 20, repeat)
        result = headcount.forecast(whole.pilot(20, random_state=seed), classes=[20, 40])
        lower, upper = result.interval([20, 40])
        holds.append([lower <= whole.truth([20, 40]), whole.truth([20, 40]) <= upper])
        step = result.accuracy(21) - result.observed.accuracy(20)
        steps.append(abs(step) / ((upper[0] - lower[0]) / (2 * 1.645)))
    assert [ours["holds_1"], ours["holds_2"]] == pytest.approx(
        np.mean(np.all(holds, 1), 0), abs=1e-6
    )
    assert ours["step_95"] == pytest.approx(np.quantile(steps, 0.95), abs=1e-5)


def test_a_summary_is_over_all_pilots_of_a_source(path, tmp_path):
    settings, options = Settings(tmp_path), {"methods": METHODS, "pilots": 2}
    results = kept_aside.kept_aside(settings, [path], sizes=[10, 20], **options)
    mean, oracle = (row_of(results.details["summary"], name) for name in ("auto", "oracle"))
    rows = [row for row in results.rows if row["method"] == "auto"]
    assert mean["pilots"] == 4
    assert mean["rmse"] == pytest.approx(np.mean([row["rmse"] for row in rows]), abs=2e-6)
    assert mean["to_oracle"] == pytest.approx(mean["rmse"] / oracle["rmse"], abs=2e-5)
    assert mean["holds_2"] == pytest.approx(np.mean([row["holds_2"] for row in rows]), abs=2e-6)
    # Not a mean of two percentiles: that of four pilots lies near the largest of all.
    tails = [row["step_95"] for row in rows]
    assert mean["step_95"] > np.mean(tails)


def test_a_source_that_is_too_small_is_refused(path, tmp_path):
    with pytest.raises(ParameterError, match="four times as many classes"):
        kept_aside.kept_aside(Settings(tmp_path), [path], sizes=[50])


def test_a_file_that_is_no_source_is_refused(tmp_path):
    np.savez(tmp_path / "scores.npz", scores=np.eye(3))
    with pytest.raises(DataError, match=r"scores\.npz is not the file of a source"):
        kept_aside.kept_aside(Settings(tmp_path), [tmp_path / "scores.npz"])


def test_the_command_writes_a_table_and_a_picture(path, tmp_path, capsys):
    options = ["--methods", "probit-normal", "--sizes", "20", "--pilots", "2"]
    command = ["kept-aside", str(path), *options, "--output", str(tmp_path), "--jobs", "1"]
    assert app.main(command) == 0
    assert "probit-normal" in capsys.readouterr().out
    names = {f"kept_aside{ending}" for ending in (".json", ".csv", ".png")}
    assert names <= {file.name for file in tmp_path.iterdir()}
