import csv
import json
import os
import sys

import numpy as np
import pytest
from matplotlib import image

from bench_tools import (
    Choosy,
)
from experiments import methods
from experiments.figures import new_figure
from experiments.journal import Journal
from experiments.papers import table1
from experiments.results import Results, check_outputs
from experiments.runner import JOURNAL, Settings, Task, conduct, seed_for
from headcount import DataError, ParameterError
from headcount.estimators import METHODS, ProbitNormal
from headcount.estimators.registry import resolve_all
from headcount.support.workers import watching

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
    told = [(0, 3), (1, 3), (2, 3), (3, 3), (3, 4), (4, 4)]
    assert heard == [("x", *counts) for counts in told]


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
    found = resolve_all(["probit-normal:prior_classes=0.5", "probit-normal"])
    assert found["probit-normal:prior_classes=0.5"].prior_classes == 0.5
    assert found["probit-normal"].prior_classes == 3.0
    usual = {name for name, method in METHODS.items() if not (method.slow or method.published)}
    assert set(resolve_all()) == usual
    assert "exp-004" not in usual and set(resolve_all(["exp-004"])) == {"exp-004"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nothing"], "unknown method"),
        (["probit-normal:colour=3"], "no option 'colour'"),
        ([], "no method"),
        (["probit-normal", "probit-normal"], "twice"),
    ],
)
def test_methods_that_do_not_exist_are_refused(names, said):
    with pytest.raises(ParameterError, match=said):
        resolve_all(names)


def test_stamp_changes_with_options_and_with_code(tmp_path, monkeypatch):
    assert methods.stamp(ProbitNormal()) == methods.stamp(ProbitNormal())
    assert methods.stamp(ProbitNormal()) != methods.stamp(ProbitNormal(prior_classes=1))
    monkeypatch.syspath_prepend(tmp_path)
    marks = set()
    for i, value in enumerate((0.5, 0.6, 0.6)):
        (tmp_path / f"own{i}.py").write_text(
            "from bench_tools import AsMeasured\n"
            f"class Own(AsMeasured):\n    def predict(self, k):\n        return [{value}] * len(k)\n"
        )
        own = __import__(f"own{i}")
        monkeypatch.delitem(sys.modules, f"own{i}")
        own.__name__ = own.Own.__module__ = "own"
        monkeypatch.setitem(sys.modules, "own", own)
        marks.add(methods.stamp(own.Own()))
    assert len(marks) == 2


def test_stamp_covers_the_modules_a_method_is_built_on():
    from headcount.estimators import probit_normal
    from headcount.estimators.shared import likelihood

    found = {}
    methods.collect_modules(probit_normal, found)
    assert likelihood.__name__ in found


# -- files -----------------------------------------------------------------------------------------


def test_results_are_written_whole(whole, settings):
    some = {"probit-normal": ProbitNormal(), "choosy": Choosy()}
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
        def savefig(self, stream, dpi, format):
            stream.write(b"half")
            raise OSError("disk full")

    results = Results("x", "about", 0, {}, [{"a": 1}])
    with pytest.raises(OSError, match="disk full"):
        results.write(tmp_path, lambda _: Figure())
    assert (tmp_path / "x.png").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["x.csv", "x.json", "x.png"]


def test_several_pictures_get_a_file_each_and_none_may_be_an_input(tmp_path):
    def draw(results):
        figures = {name: new_figure(2, 1) for name in ("left", "right")}
        figures["left"].add_subplot()
        return figures

    paths = Results("x", "", 0, {}, [{"a": 1}]).write(tmp_path, draw)
    assert [path.name for path in paths] == ["x.json", "x.csv", "x-left.png", "x-right.png"]
    left, right = (image.imread(path) for path in paths[2:])
    assert left.min() < right.min()  # the one with axes is not the empty one
    with pytest.raises(ParameterError, match=r"x-right\.png is also an input"):
        check_outputs(tmp_path, "x", [paths[3]], ["left", "right"])
    check_outputs(tmp_path, "x", [paths[3]], ["left"])


def test_text_in_csv_is_no_formula_and_numbers_stay_numbers(tmp_path):
    class Figure:
        def savefig(self, stream, dpi, format):
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
