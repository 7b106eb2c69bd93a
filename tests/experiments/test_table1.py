import json
import os
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest

from bench_tools import (
    N_CLASSES,
    AsMeasured,
    Broken,
    Choosy,
    Lacking,
    NotANumber,
    lasting,
    measured_by_hand,
    scores_and_labels,
)
from experiments.papers import table1
from experiments.papers.pilots import digest, thinned
from experiments.runner import JOURNAL, Settings
from headcount import ParameterError, Pilot, UnsupportedError
from headcount.estimators import ProbitNormal

# -- table 1 ---------------------------------------------------------------------------------------


def test_table1_agrees_with_a_computation_by_hand(whole, settings):
    AsMeasured.seen.clear()
    both = {"one": AsMeasured(), "two": AsMeasured()}
    results = table1.table1(whole, settings, pilot_classes=[7, 4], repeats=5, methods=both)
    assert [(row["pilot_classes"], row["method"]) for row in results.rows] == [
        (4, "one"), (4, "two"), (7, "one"), (7, "two"),
    ]  # fmt: skip
    seen = AsMeasured.seen
    assert seen[:5] == seen[5:10]
    assert seen[10:15] == seen[15:]
    truth = measured_by_hand(range(N_CLASSES))
    for row, pilots in zip(results.rows[::2], (seen[:5], seen[10:15]), strict=True):
        assert {len(kept) for kept in pilots} == {row["pilot_classes"]}
        assert len(set(pilots)) > 1
        said = [measured_by_hand(kept) for kept in pilots]
        errors = [value - truth for value in said]
        bias = sum(errors) / 5
        assert row["truth"] == pytest.approx(truth, abs=1e-6)
        assert row["mean_forecast"] == pytest.approx(sum(said) / 5, abs=1e-6)
        assert row["bias"] == pytest.approx(bias, abs=1e-6)
        assert row["sd"] == pytest.approx(
            np.sqrt(sum((e - bias) ** 2 for e in errors) / 5), abs=1e-6
        )
        assert row["rmse"] == pytest.approx(np.sqrt(sum(e**2 for e in errors) / 5), abs=1e-6)
        assert row["rmse"] ** 2 == pytest.approx(row["bias"] ** 2 + row["sd"] ** 2, abs=1e-5)
        kept = results.details["forecasts"]["one"][str(row["pilot_classes"])]
        assert kept == pytest.approx(said, abs=1e-6)
    assert results.details["observed"]["accuracy"][-1] == pytest.approx(truth, abs=1e-6)


def test_table1_keeps_curves_of_the_first_repeats(whole, settings):
    found = {"probit-normal": ProbitNormal()}
    results = table1.table1(whole, settings, pilot_classes=[5], repeats=12, methods=found)
    curves = results.details["curves"]
    assert [curve["repeat"] for curve in curves] == list(range(table1.CURVES))
    first = table1.draw_pilot(whole, 5, 0, 0)
    fitted = ProbitNormal().fit(first).predict(curves[0]["classes"])
    assert (curves[0]["classes"][0], curves[0]["classes"][-1]) == (5, N_CLASSES)
    assert curves[0]["accuracy"] == pytest.approx(fitted, abs=1e-6)
    last = results.details["forecasts"]["probit-normal"]["5"]
    assert len(last) == 12
    assert [curve["accuracy"][-1] for curve in curves] == last[: table1.CURVES]


def test_a_method_that_refuses_is_judged_on_the_rest(whole, settings):
    some = {"all": AsMeasured(), "choosy": Choosy(), "nan": NotANumber(), "lacking": Lacking()}
    results = table1.table1(whole, settings, pilot_classes=[6], repeats=8, methods=some)
    rows = {row["method"]: row for row in results.rows}
    said = results.details["forecasts"]
    pilots = [table1.draw_pilot(whole, 6, repeat, 0) for repeat in range(8)]
    refused = [0 in pilot.class_names for pilot in pilots]
    assert 0 < sum(refused) < 8
    assert [value is None for value in said["choosy"]["6"]] == refused
    kept = [v for v, out in zip(said["all"]["6"], refused, strict=True) if not out]
    assert rows["choosy"]["refused"] == sum(refused)
    assert rows["choosy"]["mean_forecast"] == pytest.approx(np.mean(kept), abs=1e-6)
    assert rows["choosy"]["why_refused"] == "class 0 is not to my taste."
    for name in ("nan", "lacking"):
        assert (rows[name]["refused"], rows[name]["rmse"], rows[name]["bias"]) == (8, None, None)
    results.write(settings.output, table1.draw)
    again = table1.table1(whole, settings, pilot_classes=[6], repeats=8, methods=some)
    assert again.run["tasks_resumed"] == 24  # an extra may have been installed since
    assert lasting(again) == lasting(results)


def test_bugs_are_not_taken_for_refusals(whole, settings):
    with pytest.raises(ZeroDivisionError):
        table1.table1(whole, settings, pilot_classes=[6], repeats=1, methods={"b": Broken()})


def test_slow_methods_may_have_fewer_repeats(whole, settings):
    both = {"slow": AsMeasured(), "fast": AsMeasured()}
    results = table1.table1(
        whole, settings, pilot_classes=[6], repeats=4, fewer={"slow": 2}, methods=both
    )
    assert {row["method"]: row["repeats"] for row in results.rows} == {"slow": 2, "fast": 4}
    said = results.details["forecasts"]
    assert said["slow"]["6"] == said["fast"]["6"][:2]
    more = table1.table1(whole, settings, pilot_classes=[6, 8], repeats=5, methods=both)
    assert more.run["tasks_resumed"] == 6
    with pytest.raises(ParameterError, match="not among the methods"):
        table1.table1(whole, settings, pilot_classes=[6], fewer={"x": 2}, methods=both)


def test_results_do_not_depend_on_the_workers(whole, tmp_path):
    asked = {"pilot_classes": [5, 8], "repeats": 3, "methods": {"probit-normal": ProbitNormal()}}
    alone = table1.table1(whole, Settings(tmp_path / "1", n_jobs=1), **asked)
    pair = table1.table1(whole, Settings(tmp_path / "2", n_jobs=2), **asked)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        threads = table1.table1(whole, Settings(tmp_path / "3"), **asked)
    assert lasting(pair) == lasting(alone)
    assert lasting(threads) == lasting(alone)
    lines = [sorted((tmp_path / name / JOURNAL).read_text().splitlines()) for name in "123"]
    assert len(lines[0]) == len(lines[1]) == len(lines[2]) == 7
    other = table1.table1(whole, Settings(tmp_path / "4", seed=1), **asked)
    assert lasting(other)["rows"] != lasting(alone)["rows"]


SCRIPT = """
import os, signal, sys
import numpy as np
from pathlib import Path
from headcount import Pilot
from experiments.papers import table1
from experiments.runner import Settings
from headcount.estimators import ProbitNormal

class Killed(ProbitNormal):
    left = int(sys.argv[1])

    def __init__(self, *, prior_classes=3.0):
        super().__init__(prior_classes=prior_classes)

    def _estimate(self, pilot):
        Killed.left -= 1
        if Killed.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._estimate(pilot)

rng = np.random.default_rng(0)
whole = Pilot.from_scores(rng.normal(size=(20, 10)) + 2 * np.eye(10)[np.arange(20) % 10],
                          np.arange(20) % 10)
for folder in sys.argv[2:]:
    settings = Settings(Path(folder))
    results = table1.table1(whole, settings, pilot_classes=[4, 6], repeats=4,
                            methods={"killed": Killed()})
    (settings.output / "table1.json").write_text(results.to_json())
    print(results.run["tasks_resumed"])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_run_goes_on_where_it_was_with_the_same_results(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))

    def run(*words):
        return subprocess.run(
            [sys.executable, "-W", "error", "script.py", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )  # fmt: skip

    killed = run("5", "one")
    assert killed.returncode == -9, killed.stderr
    assert os.listdir(tmp_path / "one") == [JOURNAL]
    ended = run("99", "one", "two")
    assert (ended.returncode, ended.stdout) == (0, "5\n0\n"), ended.stderr
    one, two = (json.loads((tmp_path / n / "table1.json").read_text()) for n in ("one", "two"))
    assert one.pop("run") != two.pop("run")
    assert one == two


def test_fewer_probes_keep_their_losses(whole):
    few = thinned(whole, 2, seed=0)
    assert np.bincount(few.labels).tolist() == [2] * N_CLASSES
    for label in range(N_CLASSES):
        mine = few.losses[few.labels == label].tolist()
        theirs = whole.losses[whole.labels == label].tolist()
        for value in mine:
            theirs.remove(value)
    assert thinned(whole, 2, seed=1).losses.tolist() != few.losses.tolist()
    assert thinned(whole, 99, seed=0).losses.tolist() == whole.losses.tolist()
    assert thinned(whole, None, seed=0) is whole
    # The scores went along: all classes kept, counting again gives the same losses.
    assert few.subset(range(N_CLASSES)).losses.tolist() == few.losses.tolist()


def test_pilots_with_the_same_losses_and_other_scores_are_told_apart():
    scores, labels = scores_and_labels()
    one, two = Pilot.from_scores(scores, labels), Pilot.from_scores(np.exp(scores), labels)
    assert one.losses.tolist() == two.losses.tolist()
    assert digest(one) != digest(two)
    assert digest(one) == digest(Pilot.from_scores(scores.copy(), labels.copy()))


def test_table1_refuses_what_cannot_be_drawn(whole, settings):
    some = {"m": AsMeasured()}
    for size in (N_CLASSES, 1):
        with pytest.raises(ParameterError, match="classes"):
            table1.table1(whole, settings, pilot_classes=[size], repeats=1, methods=some)
    with pytest.raises(ParameterError, match="repeats"):
        table1.table1(whole, settings, pilot_classes=[4], repeats=0, methods=some)
    with pytest.raises(UnsupportedError, match="counts"):
        table1.table1(Pilot.from_losses([0, 1], 5), settings, pilot_classes=[4], methods=some)


def test_printed_columns_belong_to_the_pilots_of_the_text():
    """The table's heads "300" and "400" stand over pilots of 400 and 800 classes.

    The standard deviations are those of the forecasts the authors recorded, by size of pilot.
    """
    recorded = {100: 0.2766, 200: 0.1783, 400: 0.0663, 800: 0.0204}
    assert tuple(recorded) == table1.PILOT_CLASSES
    assert {k1: row["sd"] for k1, row in table1.PRINTED.items()} == {
        k1: round(sd, 3) for k1, sd in recorded.items()
    }
    for row in table1.PRINTED.values():
        assert row["rmse"] == pytest.approx(np.hypot(row["bias"], row["sd"]), abs=1e-3)
