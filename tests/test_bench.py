import csv
import json
import os
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest
from matplotlib import image
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf

from headcount import DataError, MissingExtraError, ParameterError, Pilot, UnsupportedError
from headcount import cli as command_line
from headcount.bench import classifiers, learners, methods, table1, telugu
from headcount.bench.journal import Journal
from headcount.bench.pilots import digest, thinned
from headcount.bench.results import Results
from headcount.bench.runner import JOURNAL, Settings, Task, conduct, seed_for
from headcount.estimators import METHODS, Extrapolator, ProbitNormal
from headcount.threads import watching


class AsMeasured(Extrapolator):
    """Says that accuracy stays what it was, and remembers the pilots it was shown."""

    alias = "as-measured"
    seen: list = []  # noqa: RUF012 (shared by all copies on purpose)

    def _estimate(self, pilot):
        self.accuracy_ = float(pilot.weights @ (pilot.losses == 0))
        self.seen.append(frozenset(pilot.class_names.tolist()))
        return None

    def predict(self, k):
        return np.full(len(k), self.accuracy_)


class Choosy(AsMeasured):
    """Refuses pilots that hold class 0."""

    alias = "choosy"

    def _estimate(self, pilot):
        if 0 in pilot.class_names:
            raise DataError("class 0 is not to my taste.")
        return super()._estimate(pilot)


class NotANumber(AsMeasured):
    alias = "nan"

    def predict(self, k):
        return np.full(len(k), np.nan)


class Lacking(AsMeasured):
    alias = "lacking"

    def _estimate(self, pilot):
        raise MissingExtraError("this", "convex")


class Broken(AsMeasured):
    alias = "broken"

    def _estimate(self, pilot):
        raise ZeroDivisionError("a bug")


N_CLASSES = 12


def scores_and_labels(seed=0, n_classes=N_CLASSES, per_class=3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    scores = rng.normal(size=(len(labels), n_classes))
    scores[np.arange(len(labels)), labels] += 1.5
    return scores, labels


@pytest.fixture
def whole():
    return Pilot.from_scores(*scores_and_labels())


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "out")


def lasting(results):
    """What must not depend on the machine, the workers or interruptions."""
    found = json.loads(results.to_json())
    del found["run"]
    return found


# -- the journal -----------------------------------------------------------------------------------


def test_journal_drops_a_torn_line_and_goes_on_after_the_last_whole_one(tmp_path):
    path = tmp_path / "j"
    with Journal(path, {"seed": 0}) as journal:
        journal.add("a", {"x": 1})
        journal.add("b", {"x": 2})
    whole_lines = path.read_bytes()
    path.write_bytes(whole_lines + b'{"key": "c", "rec')
    with Journal(path, {"seed": 0}) as journal:
        assert journal.records == {"a": {"x": 1}, "b": {"x": 2}}
        journal.add("c", {"x": 3})
    assert path.read_bytes().startswith(whole_lines)
    assert Journal(path, {"seed": 0}).records == {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}


def test_journal_torn_in_its_first_line_starts_again(tmp_path):
    (tmp_path / "j").write_bytes(b'{"schema": 1, "iden')
    with Journal(tmp_path / "j", {"seed": 0}) as journal:
        journal.add("a", {"x": 1})
    assert Journal(tmp_path / "j", {"seed": 0}).records == {"a": {"x": 1}}


def test_journal_of_another_run_is_refused_unless_forgotten(tmp_path):
    with Journal(tmp_path / "j", {"seed": 0, "data": "x"}) as journal:
        journal.add("a", {"x": 1})
    with pytest.raises(ParameterError, match=r"different: seed\)"):
        Journal(tmp_path / "j", {"seed": 1, "data": "x"})
    assert Journal(tmp_path / "j", {"seed": 0, "data": "x"}).records  # still there
    with Journal(tmp_path / "j", {"seed": 1, "data": "x"}, fresh=True) as journal:
        assert journal.records == {}
    assert Journal(tmp_path / "j", {"seed": 1, "data": "x"}).records == {}


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b"[1]", b'{"key": "x"}'])
def test_damaged_journal_is_refused_with_the_line(tmp_path, line):
    with Journal(tmp_path / "j", {}) as journal:
        journal.add("a", {})
    with (tmp_path / "j").open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(DataError, match="line 3"):
        Journal(tmp_path / "j", {})


def test_journal_of_another_version_is_refused(tmp_path):
    (tmp_path / "j").write_text('{"schema": 99, "identity": {}}\n')
    with pytest.raises(ParameterError, match="another version"):
        Journal(tmp_path / "j", {})


# -- tasks -----------------------------------------------------------------------------------------


def test_each_task_is_done_once_and_outcomes_keep_the_order_of_tasks(settings):
    done = []

    def call(i):
        done.append(i)
        return {"value": i * i}

    def tasks(n):
        return [Task(f"t{i}", lambda i=i: call(i)) for i in range(n)]

    records, run = conduct("x", tasks(3), {}, settings)
    assert [record["value"] for record in records] == [0, 1, 4]
    assert (run["tasks"], run["tasks_resumed"]) == (3, 0)
    records, run = conduct("x", tasks(5)[::-1], {}, settings)
    assert [record["value"] for record in records] == [16, 9, 4, 1, 0]
    assert (run["tasks"], run["tasks_resumed"]) == (5, 3)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_progress_counts_tasks_and_nothing_inside_them(settings, whole):
    heard = []
    tasks = [
        Task(f"t{i}", lambda i=i: {"n": whole.subset(range(3 + i)).n_classes}) for i in range(3)
    ]
    with watching(lambda *report: heard.append(report)):
        conduct("x", tasks, {}, settings)
        conduct("x", [*tasks, Task("more", dict)], {}, settings)
    assert heard == [("x", 1, 3), ("x", 2, 3), ("x", 3, 3), ("x", 4, 4)]


def test_two_tasks_may_not_share_a_key(settings):
    with pytest.raises(ValueError, match="same key"):
        conduct("x", [Task("a", dict), Task("a", dict)], {}, settings)


def test_outcomes_that_may_change_are_tried_again(settings):
    for again in (True, True, False, False):
        _, run = conduct("x", [Task("a", lambda again=again: {"again": again})], {}, settings)
    assert run["tasks_resumed"] == 1


def test_an_unforeseen_error_names_its_task_and_keeps_what_was_done(settings):
    def fail():
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError) as caught:
        conduct("x", [Task("a", lambda: {"v": 1}), Task("b", fail)], {}, settings)
    assert caught.value.__notes__ == ["in task b"]
    _, run = conduct("x", [Task("a", fail), Task("b", dict)], {}, settings)
    assert run["tasks_resumed"] == 1


def test_no_workers_at_all_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="workers"):
        Settings(tmp_path, n_jobs=0)


def test_seeds_follow_from_every_part_and_from_nothing_else():
    parts = [(0, "a", 1), (1, "a", 1), (0, "b", 1), (0, "a", 2), (0, "a1"), (0, "a", 1, 0)]
    assert len({seed_for(*each) for each in parts}) == len(parts)
    # Fixed for good: results that were published must come out again.
    assert (
        seed_for(0, "pilot", 100, 7) == 2933239224
    )  # first 8 digits of sha256sum of the list as JSON


# -- methods ---------------------------------------------------------------------------------------


def test_methods_may_be_named_with_options():
    found = methods.chosen(["probit_normal:prior_classes=0.5", "probit_normal"])
    assert found["probit_normal:prior_classes=0.5"].prior_classes == 0.5
    assert found["probit_normal"].prior_classes == 3.0
    assert set(methods.chosen()) == set(METHODS)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nothing"], "unknown method"),
        (["probit_normal:colour=3"], "no option 'colour'"),
        ([], "no method"),
        (["probit_normal", "probit_normal"], "twice"),
    ],
)
def test_methods_that_do_not_exist_are_refused(names, said):
    with pytest.raises(ParameterError, match=said):
        methods.chosen(names)


def test_stamp_changes_with_options_and_with_code(tmp_path, monkeypatch):
    assert methods.stamp(ProbitNormal()) == methods.stamp(ProbitNormal())
    assert methods.stamp(ProbitNormal()) != methods.stamp(ProbitNormal(prior_classes=1))
    monkeypatch.syspath_prepend(tmp_path)
    marks = set()
    for i, value in enumerate((0.5, 0.6, 0.6)):
        (tmp_path / f"own{i}.py").write_text(
            "from test_bench import AsMeasured\n"
            f"class Own(AsMeasured):\n    def predict(self, k):\n        return [{value}] * len(k)\n"
        )
        own = __import__(f"own{i}")
        monkeypatch.delitem(sys.modules, f"own{i}")
        own.__name__ = own.Own.__module__ = "own"
        monkeypatch.setitem(sys.modules, "own", own)
        marks.add(methods.stamp(own.Own()))
    assert len(marks) == 2


def test_stamp_covers_the_modules_a_method_is_built_on():
    from headcount.estimators import likelihood, probit_normal

    found = {}
    methods._collect(probit_normal, found)
    assert likelihood.__name__ in found


# -- table 1 ---------------------------------------------------------------------------------------


def measured_by_hand(kept):
    """Share of right answers when only some columns compete, each class weighing the same."""
    scores, labels = scores_and_labels()
    kept = sorted(kept)
    rows = [i for i, label in enumerate(labels) if label in kept]
    return np.mean([kept[int(np.argmax(scores[i, kept]))] == labels[i] for i in rows])


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
    found = {"probit_normal": ProbitNormal()}
    results = table1.table1(whole, settings, pilot_classes=[5], repeats=12, methods=found)
    curves = results.details["curves"]
    assert [curve["repeat"] for curve in curves] == list(range(table1.CURVES))
    first = table1.drawn(whole, 5, 0, 0)
    fitted = ProbitNormal().fit(first).predict(curves[0]["classes"])
    assert (curves[0]["classes"][0], curves[0]["classes"][-1]) == (5, N_CLASSES)
    assert curves[0]["accuracy"] == pytest.approx(fitted, abs=1e-6)
    last = results.details["forecasts"]["probit_normal"]["5"]
    assert len(last) == 12
    assert [curve["accuracy"][-1] for curve in curves] == last[: table1.CURVES]


def test_a_method_that_refuses_is_judged_on_the_rest(whole, settings):
    some = {"all": AsMeasured(), "choosy": Choosy(), "nan": NotANumber(), "lacking": Lacking()}
    results = table1.table1(whole, settings, pilot_classes=[6], repeats=8, methods=some)
    rows = {row["method"]: row for row in results.rows}
    said = results.details["forecasts"]
    pilots = [table1.drawn(whole, 6, repeat, 0) for repeat in range(8)]
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
    asked = {"pilot_classes": [5, 8], "repeats": 3, "methods": {"probit_normal": ProbitNormal()}}
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
from headcount.bench import table1
from headcount.bench.runner import Settings
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


# -- files -----------------------------------------------------------------------------------------


def test_results_are_written_whole(whole, settings):
    some = {"probit_normal": ProbitNormal(), "choosy": Choosy()}
    results = table1.table1(whole, settings, pilot_classes=[4, 8], repeats=2, methods=some)
    paths = results.write(settings.output, table1.draw)
    assert sorted(os.listdir(settings.output)) == [
        JOURNAL, "table1.csv", "table1.json", "table1.png",
    ]  # fmt: skip
    found = json.loads(paths[0].read_text(), parse_constant=lambda name: pytest.fail(name))
    assert found["rows"] == results.rows
    assert found["seed"] == 0
    assert set(found["run"]["versions"]) == {"headcount", "numpy", "scipy", "scikit-learn"}
    assert found["run"]["machine"]["cores"] >= 1
    rows = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert [row["method"] for row in rows] == [row["method"] for row in results.rows]
    assert [float(row["rmse"]) for row in rows[::2]] == [row["rmse"] for row in results.rows[::2]]
    picture = image.imread(paths[2])
    assert picture.shape[0] > 300 and picture.shape[1] > 600
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50  # not blank


def test_a_failed_picture_leaves_no_piece_behind(tmp_path):
    (tmp_path / "x.png").write_bytes(b"old")

    class Figure:
        def savefig(self, name, dpi):
            with open(name, "wb") as stream:
                stream.write(b"half")
            raise OSError("disk full")

    results = Results("x", "about", 0, {}, [{"a": 1}])
    with pytest.raises(OSError, match="disk full"):
        results.write(tmp_path, lambda _: Figure())
    assert (tmp_path / "x.png").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "x.json", "x.png"]


def test_text_in_csv_is_no_formula_and_numbers_stay_numbers(tmp_path):
    class Figure:
        def savefig(self, name, dpi):
            pass

    rows = [{"text": "=1+1", "number": -0.5, "none": None}]
    Results("x", "", 0, {}, rows).write(tmp_path, lambda _: Figure())
    assert (tmp_path / "x.csv").read_text() == "text,number,none\n'=1+1,-0.5,\n"


def test_lists_of_numbers_take_one_line_and_texts_stay_as_they_are():
    odd = "[\n 1,\n 2\n]"
    results = Results("x", odd, 0, {}, [{"a": 1.5}], {"list": [1, 2.5, None, -3e-9]})
    text = results.to_json()
    assert '"list": [1, 2.5, null, -3e-09]' in text
    assert json.loads(text)["about"] == odd


# -- Telugu ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "data"
    home.mkdir()
    for name, size in (("svm", 20), ("knn_n10", 100), ("knn_n45", 100), ("svm", 400)):
        scores, labels = scores_and_labels(1, size, 1)
        if name.startswith("knn"):
            scores = np.maximum(scores.round(), 0)
        np.savez(home / f"telugu_{name}_{size}.npz", scores=scores, labels=labels)
    truth = {"accuracy": {"svm": {"20": 0.9, "400": 0.5}}, "knn_400": {"40": 0.6}}
    (home / "telugu_truth.json").write_text(json.dumps(truth))
    return home


def test_telugu_files_meet_their_truth(folder):
    found = [(f.classifier, f.n_classes, f.truth) for f in telugu.score_files(folder)]
    # 10 of 100 x 50 training points are as many as 40 of 400 x 50; for 45 nothing is known.
    assert found == [("svm", 20, 0.5), ("knn_n10", 100, 0.6), ("knn_n45", 100, None)]


def test_telugu_sets_forecasts_beside_the_printed_ones(folder, settings):
    AsMeasured.seen.clear()
    some = {"as-measured": AsMeasured(), "lacking": Lacking()}
    results = telugu.telugu(folder, settings, methods=some)
    ours = {
        (row["classifier"], row["method"]): row
        for row in results.rows
        if row["source"] == "headcount"
    }
    assert len(ours) == 6
    scores, labels = scores_and_labels(1, 20, 1)
    right = np.mean(scores.argmax(axis=1) == labels)
    row = ours["svm", "as-measured"]
    assert (row["measured"], row["forecast"]) == (pytest.approx(right), pytest.approx(right))
    assert row["error"] == pytest.approx(right - 0.5)
    assert ours["knn_n45", "as-measured"]["error"] is None
    assert ours["svm", "lacking"]["forecast"] is None
    assert "convex" in ours["svm", "lacking"]["why_refused"]
    assert telugu.CAUTION in results.about
    results.write(settings.output, telugu.draw)
    again = telugu.telugu(folder, settings, methods=some)
    assert again.run["tasks_resumed"] == 3
    assert lasting(again) == lasting(results)


def test_printed_numbers_are_the_papers(folder, settings):
    rows = telugu._printed()
    found = {(r["source"], r["classifier"], r["method"]): r for r in rows}
    # One row of each table, digit by digit; 004 prints errors.
    assert found["003 Fig. 2", "svm", "CON"]["forecast"] == 0.575
    assert found["003 Fig. 2", "svm", "HD"]["error"] == pytest.approx(0.546 - 0.545)
    for name, printed_error in (("EXP", 0.084), ("POS", 0.590), ("p(5)", 0.102)):
        row = found["004 Table 1", "knn", name]
        assert row["forecast"] == pytest.approx(1 - printed_error)
        assert row["error"] == pytest.approx(0.409 - printed_error)
    assert found["003 Fig. 2", "deepslim", "CON"]["forecast"] is None
    assert found["authors' R code", "svm", "KDE bcv"]["forecast"] == 0.3528


def test_telugu_refuses_folders_without_files(tmp_path, folder):
    with pytest.raises(DataError, match="no folder"):
        telugu.score_files(tmp_path / "nowhere")
    (folder / "telugu_truth.json").write_text("[1]")
    with pytest.raises(DataError, match="accuracies"):
        telugu.score_files(folder)
    (folder / "telugu_truth.json").unlink()
    with pytest.raises(DataError, match="no file"):
        telugu.score_files(folder)


# -- retrained classifiers -------------------------------------------------------------------------


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


SIZES = {"few": 4, "many": 9, "train": 4, "repeats": 2}


def test_drawings_are_templates_and_probes_alike(drawings):
    found = classifiers.read_drawings(drawings)
    assert np.bincount(found.labels).tolist() == [8] * 9
    assert found.vectors.var(axis=0).mean() == pytest.approx(1)
    again = classifiers.read_drawings(drawings / "omniglot_pixels.npz")
    assert (again.vectors == found.vectors).all()


def test_split_keeps_training_and_test_apart(drawings):
    found = classifiers.read_drawings(drawings)
    one = classifiers.split(found, 6, 3, seed=0, repeat=0)
    assert np.bincount(one.train_labels).tolist() == [3] * 6
    assert np.bincount(one.test_labels).tolist() == [5] * 6
    place = {tuple(row): label for row, label in zip(found.vectors, found.labels, strict=True)}
    rows = [tuple(row) for row in np.vstack([one.train, one.test])]
    assert len(set(rows)) == 48
    classes = {(new, place[row]) for new, row in zip(
        np.concatenate([one.train_labels, one.test_labels]), rows, strict=True)}  # fmt: skip
    assert len(classes) == 6  # one old class for each new number
    other = classifiers.split(found, 6, 3, seed=0, repeat=1)
    assert (other.train != one.train).any()


def test_marginal_classifiers_agree_with_their_densities(drawings):
    drawn = classifiers.split(classifiers.read_drawings(drawings), 9, 4, seed=0, repeat=0)
    arguments = (drawn.train, drawn.train_labels, drawn.test, 0)
    naive = learners.LEARNERS["naive Bayes"].scores(*arguments)
    quadratic = learners.LEARNERS["QDA"].scores(*arguments)
    for label in range(9):
        own = drawn.train[drawn.train_labels == label]
        spread = np.sqrt(own.var(axis=0) + learners.SMOOTHING)
        by_feature = norm.logpdf(drawn.test, own.mean(axis=0), spread).sum(axis=1)
        np.testing.assert_allclose(naive[:, label], by_feature - np.log(9), atol=1e-8)
        law = multivariate_normal(own.mean(axis=0), ledoit_wolf(own)[0])
        constant = 2 * np.log(2 * np.pi)  # of four dimensions; the same for every class
        np.testing.assert_allclose(
            quadratic[:, label], law.logpdf(drawn.test) + constant, atol=1e-8
        )


def test_neighbours_vote_by_their_share_of_all_training_points(drawings, monkeypatch):
    monkeypatch.setattr(learners, "EPSILON", 0.1)
    drawn = classifiers.split(classifiers.read_drawings(drawings), 9, 4, seed=0, repeat=0)
    votes = learners.LEARNERS["epsilon-NN"].scores(drawn.train, drawn.train_labels, drawn.test, 0)
    near = np.argsort(np.linalg.norm(drawn.test[:, None] - drawn.train, axis=2), axis=1)[:, :4]
    expected = [np.bincount(drawn.train_labels[rows], minlength=9) for rows in near]
    assert votes.tolist() == np.array(expected).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_forecast_against_the_retrained_truth(drawings, settings):
    found = classifiers.read_drawings(drawings)
    some = {"as-measured": AsMeasured(), "lacking": Lacking()}
    results = classifiers.classifiers(found, settings, methods=some, **SIZES)
    assert len(results.rows) == 12
    rows = {row["classifier"]: row for row in results.rows if row["method"] == "as-measured"}
    for name, learner in learners.LEARNERS.items():
        held = results.details[name]
        # Training on more classes changes a classifier on the old ones unless it is marginal.
        gaps = np.subtract(held["truth_at_few"], held["measured"])
        if name != "network":  # whose training depends on the version of scikit-learn
            assert gaps.any() == (not learner.marginal), name
        truths, measured = [], []
        for repeat in range(2):
            drawn = classifiers.split(found, 9, 4, 0, repeat)
            for size, kept in ((9, truths), (4, measured)):
                fit, test = drawn.train_labels < size, drawn.test_labels < size
                seed = seed_for(0, "classifiers", "train", size, name, repeat)
                scores = learner.scores(
                    drawn.train[fit], drawn.train_labels[fit], drawn.test[test], seed
                )
                right = scores[np.arange(test.sum()), drawn.test_labels[test]][:, None]
                ahead, tied = (scores > right).sum(axis=1), (scores == right).sum(axis=1)
                kept.append(np.mean((ahead == 0) / tied))
        assert held["truth"] == pytest.approx(truths, abs=1e-6)
        assert held["measured"] == pytest.approx(measured, abs=1e-6)
        assert rows[name]["truth"] == pytest.approx(np.mean(truths), abs=1e-6)
    row = rows["naive Bayes"]
    errors = np.subtract(results.details["naive Bayes"]["forecasts"]["as-measured"],
                         results.details["naive Bayes"]["truth"])  # fmt: skip
    assert row["bias"] == pytest.approx(errors.mean(), abs=1e-6)
    assert row["rmse"] == pytest.approx(np.sqrt((errors**2).mean()), abs=1e-6)
    lacking = [row for row in results.rows if row["method"] == "lacking"]
    assert all(row["refused"] == 2 and row["rmse"] is None for row in lacking)
    results.write(settings.output, classifiers.draw)
    again = classifiers.classifiers(found, settings, methods=some, **SIZES)
    assert again.run["tasks_resumed"] == 12  # all but those that lack an extra
    assert lasting(again) == lasting(results)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"many": 10}, "of 9"),
        ({"few": 9}, "below --classes"),
        ({"few": 2}, "pilot-classes"),
        ({"train": 8}, "leaves none"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_classifiers_refuse_sizes_that_do_not_fit(drawings, settings, changed, said):
    with pytest.raises((ParameterError, DataError), match=said):
        classifiers.classifiers(classifiers.read_drawings(drawings), settings, **SIZES | changed)


def test_drawings_refuse_other_files(tmp_path):
    np.savez(tmp_path / "scores.npz", scores=np.eye(3), labels=np.arange(3))
    with pytest.raises(DataError, match="gallery"):
        classifiers.read_drawings(tmp_path / "scores.npz")
    with pytest.raises(DataError, match="no file"):
        classifiers.read_drawings(tmp_path)
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(DataError, match=r"no \.npz"):
        classifiers.read_drawings(tmp_path / "x.txt")


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, labels = scores_and_labels()
    np.savez(tmp_path / "pilot.npz", scores=scores, labels=labels)

    def go(*argv):
        capsys.readouterr()
        code = command_line.main(["bench", *(str(word) for word in argv)])
        return code, *capsys.readouterr()

    return go


SMALL = ("--methods", "probit_normal", "--jobs", 1)
TABLE1 = ("table1", "pilot.npz", "--pilot-classes", "4,8", "--repeats", 2, *SMALL)


def test_table1_command(run, tmp_path):
    code, out, err = run(*TABLE1, "--probes-per-class", 2)
    assert (code, err) == (0, "")
    home = tmp_path / "benchmarks" / "results" / "table1"
    found = json.loads((home / "table1.json").read_text())
    assert found["options"]["probes_per_class"] == 2
    assert found["options"]["n_probes"] == 24
    assert found["options"]["source"] == "pilot.npz"
    assert str(tmp_path) not in (home / "table1.json").read_text()
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("probit_normal")]
    assert [line[1] for line in lines] == ["4", "8"]
    assert [line[7] for line in lines] == [f"{row['rmse']:.4f}" for row in found["rows"]]
    assert "4 tasks, 0 of them done before" in out
    assert "4 tasks, 4 of them done before" in run(*TABLE1, "--probes-per-class", 2)[1]


def test_telugu_command(run, folder, tmp_path):
    code, out, err = run("telugu", folder, "--output", tmp_path / "t", *SMALL)
    assert (code, err) == (0, "")
    assert "in kind only" in out
    assert (tmp_path / "t" / "telugu.png").stat().st_size > 1000


def test_classifiers_command(run, drawings, tmp_path):
    words = ["--pilot-classes", 4, "--classes", 9, "--train", 4, "--repeats", 1]
    code, out, err = run("classifiers", drawings, *words, "--output", tmp_path / "c", *SMALL)
    assert (code, err) == (0, "")
    assert "epsilon-NN" in out
    assert (tmp_path / "c" / "classifiers.csv").read_text().count("\n") == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*TABLE1, "--methods", "nothing"], "unknown method"),
        ([*TABLE1, "--pilot-classes", "4,99"], "99"),
        ([*TABLE1, "--pilot-classes", "4,x"], "--pilot-classes"),
        ([*TABLE1, "--fewer-repeats", "probit_normal"], "METHOD=50"),
        ([*TABLE1, "--output", "pilot.npz"], "pilot.npz"),
        (["table1", "nowhere.npz"], "no file nowhere.npz"),
        (["telugu", "nowhere"], "no folder nowhere"),
        (["classifiers", "nowhere"], "no file nowhere"),
        (["nothing"], "nothing"),
    ],
)
def test_commands_refuse_in_one_line(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("headcount: error: ")
    assert said in err
    assert err.count("\n") == 1


def test_another_seed_does_not_mix_with_an_earlier_run(run):
    assert run(*TABLE1)[0] == 0
    code, _, err = run(*TABLE1, "--seed", 1)
    assert code == 2
    assert "different: seed" in err
    code, out, _ = run(*TABLE1, "--seed", 1, "--fresh")
    assert code == 0
    assert "0 of them done before" in out


def test_refusals_are_told_and_do_not_fail_the_command(run, monkeypatch):
    monkeypatch.setitem(METHODS, "lacking", Lacking)
    code, _, err = run(*TABLE1, "--methods", "probit_normal,lacking")
    assert code == 0
    assert err.startswith("headcount: refused: lacking: this needs an optional package")
    assert err.count("\n") == 1


def test_results_never_replace_their_input(run, tmp_path):
    scores, labels = scores_and_labels()
    lines = ["label," + ",".join(f"c{i}" for i in range(N_CLASSES))]
    lines += [
        f"c{label}," + ",".join(map(str, row)) for label, row in zip(labels, scores, strict=True)
    ]
    (tmp_path / "table1.csv").write_text("\n".join(lines))
    words = ["table1", "table1.csv", "--pilot-classes", "4", "--repeats", 1, *SMALL]
    code, _, err = run(*words, "--output", ".")
    assert code == 2
    assert "overwritten" in err
    assert run(*words, "--output", "elsewhere")[0] == 0


def test_a_method_without_a_law_needs_only_predict():
    record = methods.asked(AsMeasured(), Pilot.from_scores(*scores_and_labels()), [5, 50], 0)
    assert (
        record["accuracy"][0]
        == record["accuracy"][1]
        == pytest.approx(measured_by_hand(range(N_CLASSES)))
    )
