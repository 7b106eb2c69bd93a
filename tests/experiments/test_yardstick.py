"""The yardstick on tiny populations, with real methods."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import image

import compare_sets
from bench_tools import Choosy
from experiments import app
from experiments.papers import cleanex
from experiments.papers import cleanex_populations as populations
from experiments.runner import JOURNAL, Settings
from experiments.yardstick import figures, places, tasks, yardstick
from experiments.yardstick.targets import Stratum
from headcount import DataError, ParameterError, observe
from headcount.estimators import CleaneX, Kde, ProbitNormal
from headcount.estimators.auto.auto import Auto

K1, K2, PILOTS = 20, 60, 3
WORLDS = (("d5", 0.2, "normal", "normal"), ("d3", 0.1, "uniform", "normal"))


def network():
    return CleaneX(layers=(8, 4), iterations=30, learning_rate=0.01, device="cpu")


def simulated():
    made = places.simulated_places((K1,), K2, WORLDS)
    return [replace(place, pilots=PILOTS) for place in made]


def lasting(results):
    """What must not depend on interruptions: all but the run and the times."""
    found = json.loads(results.to_json())
    del found["run"]
    for row in found["rows"]:
        del row["seconds"]
    return found


def row_of(results, family, method):
    return next(r for r in results.rows if (r["family"], r["method"]) == (family, method))


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A run of the experiment `cleanex` on the first of the populations, with as many pilots and more."""
    settings = Settings(tmp_path_factory.mktemp("gpu") / "cleanex")
    cleanex.cleanex(
        settings,
        parts=["d5"],
        methods={"cleanex": network()},
        repeats=PILOTS + 1,
        n_classes=K2,
        pilot_classes={"d5": (K1,)},
        laws=("normal",),
    )
    return settings.output / JOURNAL


@pytest.fixture(scope="module")
def small(tmp_path_factory, journal):
    settings = Settings(tmp_path_factory.mktemp("small"))
    methods = {"auto": Auto(), "kde": Kde(), "cleanex": network()}
    results = yardstick.compare(
        settings, methods=methods, fewer={"kde": 2}, journals=[journal], places=simulated()
    )
    return results, settings


@pytest.fixture
def data(tmp_path):
    return compare_sets.real_sets(tmp_path / "data")


# -- values ----------------------------------------------------------------------------------------


def test_errors_agree_with_a_computation_by_hand(small):
    results, _ = small
    source = populations.Source("d5", K2, 5, 0.2, "normal", "normal")
    whole = populations.population(source, 0)
    ks = np.arange(2, K2 + 1)
    truth, said, known = observe(whole.whole).accuracy(ks), [], []
    for i in range(PILOTS):
        pilot = populations.draw_pilot(source, K1, i, 0)
        said.append(np.sqrt(np.mean((Auto().fit(pilot).predict(ks) - truth) ** 2)))
        mine = whole.whole.keep_probes(
            np.flatnonzero(np.isin(whole.whole.labels, pilot.class_names))
        )
        known.append(np.sqrt(np.mean((observe(mine).accuracy(ks) - truth) ** 2)))
    detail = results.details["pilots"][0]
    assert detail["rmse"]["auto"] == pytest.approx(said, abs=1e-6)
    assert detail["rmse"]["oracle"] == pytest.approx(known, abs=1e-6)
    row = row_of(results, "d5 0.2 normal/normal", "auto")
    assert row["rmse"] == pytest.approx(np.mean(said), abs=1e-6)
    assert row["standard_error"] == pytest.approx(np.std(said, ddof=1) / 3**0.5, abs=1e-6)
    assert row["p95"] == pytest.approx(np.sort(said) @ [0, 0.1, 0.9], abs=1e-6)
    assert (row["pilots"], row["k1"], row["k2"]) == (PILOTS, K1, K2)


def test_fewer_pilots_are_the_first_ones(small):
    results, _ = small
    assert [len(d["rmse"]["kde"]) for d in results.details["pilots"]] == [2, 2]
    group = next(g for g in results.details["groups"] if g["method"] == "kde")
    errors = [d["rmse"]["auto"][:2] for d in results.details["pilots"]]
    assert group["auto_there"] == pytest.approx(np.mean(errors), abs=1e-6)


# -- rows of CleaneX from elsewhere ----------------------------------------------------------------


def test_kept_rows_are_taken_and_not_done_again(small, journal):
    results, settings = small
    lines = journal.read_text().splitlines()
    records = [json.loads(line) for line in lines[1:]]
    theirs = next(r["record"] for r in records if "0.2" in r["key"] and "cleanex@" in r["key"])
    first, second = results.details["pilots"]
    assert first["rmse"]["cleanex"] == [r["rmse"] for r in theirs["repeats"][:PILOTS]]
    assert len(second["rmse"]["cleanex"]) == PILOTS  # run here, as no row was kept
    marks = {r["family"]: r["taken_from"] for r in results.rows if r["method"] == "cleanex"}
    assert marks["d5 0.2 normal/normal"].startswith("cleanex/journal.jsonl, cleanex@")
    assert marks["d3 0.1 uniform/normal"] == ""
    own = (settings.output / JOURNAL).read_text()
    assert own.count("/cleanex@") == 1


def test_rows_of_an_earlier_run_into_the_folder_are_taken(small):
    results, settings = small
    again = yardstick.compare(settings, methods={"auto": Auto()}, journals=[], places=simulated())
    assert again.run["tasks_resumed"] == again.run["tasks"]
    assert "cleanex" not in again.details["pilots"][0]["rmse"]
    before = results.details["pilots"][1]["rmse"]["cleanex"]
    assert again.details["pilots"][1]["rmse"]["cleanex"] == before


def test_rows_of_other_pilots_are_left_out(tmp_path, journal):
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines[1:]:
        if line["key"].endswith("/oracle"):
            line["record"]["repeats"][1]["rmse"] += 1e-4
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = yardstick.compare(
        Settings(tmp_path / "out"),
        methods={"auto": Auto()},
        journals=[other],
        places=simulated()[:1],
    )
    assert set(results.details["pilots"][0]["rmse"]) == {"oracle", "auto"}
    (said,) = results.details["left_out"]
    assert said.startswith("simulations/d5 0.2 normal/normal/20/cleanex in ")
    assert results.details["targets"][0]["met"] == "not measured"


def test_usual_places_of_kept_rows(tmp_path, journal):
    """Beside the folder of the results, as bench cleanex leaves them; another seed is no use."""
    output = journal.parent.parent / "compare"
    found = yardstick.compare(Settings(output), methods={"auto": Auto()}, places=simulated()[:1])
    assert "cleanex" in found.details["pilots"][0]["rmse"]
    other = Settings(journal.parent.parent / "compare1", seed=1)
    found = yardstick.compare(other, methods={"auto": Auto()}, places=simulated()[:1])
    assert set(found.details["pilots"][0]["rmse"]) == {"oracle", "auto"}
    with pytest.raises(ParameterError, match="another seed"):
        yardstick.compare(
            other, methods={"auto": Auto()}, journals=[journal], places=simulated()[:1]
        )
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{}\n")
    with pytest.raises(DataError, match="not the journal"):
        yardstick.compare(
            Settings(tmp_path / "o"), methods={"auto": Auto()}, journals=[damaged], places=[]
        )


def test_the_stand_in_runs_only_where_no_cleanex_is_kept(journal):
    shelf = [yardstick.Shelf.read(journal, 0)]
    problem = places.problem_places("problems")[0]
    usual = {"auto": Auto()}
    have, lack = simulated()
    for place, names in ((have, {"auto"}), (lack, {"auto", "cleanex-fast"}), (problem, {"auto"})):
        assert set(yardstick.methods_to_run(place, usual, False, shelf, {})) == names
    named = {"auto": Auto(), "cleanex": network()}
    for place, names in ((have, {"auto"}), (lack, set(named)), (problem, set(named))):
        assert set(yardstick.methods_to_run(place, named, True, shelf, {})) == names
    more = replace(have, pilots=PILOTS + 2)  # one more than are kept
    assert "cleanex" in yardstick.methods_to_run(more, named, True, shelf, {})
    assert "cleanex" not in yardstick.methods_to_run(more, named, True, shelf, {"cleanex": 2})


# -- runs ------------------------------------------------------------------------------------------


def test_a_run_is_taken_up_again(tmp_path, small, journal):
    results, settings = small
    lines = (settings.output / JOURNAL).read_text().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_text("".join(lines[: len(lines) // 2]) + '{"key": "torn')
    methods = {"auto": Auto(), "kde": Kde(), "cleanex": network()}
    again = yardstick.compare(
        Settings(tmp_path),
        methods=methods,
        fewer={"kde": 2},
        journals=[journal],
        places=simulated(),
    )
    assert 0 < again.run["tasks_resumed"] < again.run["tasks"]
    assert lasting(again) == lasting(results)


def test_refusals_are_told(tmp_path):
    methods = {"auto": Auto(), "choosy": Choosy()}
    (place, _) = simulated()
    results = yardstick.compare(Settings(tmp_path), methods=methods, journals=[], places=[place])
    pilots = [places.case(place, i, 0).pilot for i in range(PILOTS)]
    refused = [0 in pilot.class_names for pilot in pilots]  # what it does not like
    row = row_of(results, place.family, "choosy")
    assert row["refused"] == sum(refused) > 0
    errors = results.details["pilots"][0]["rmse"]["choosy"]
    assert [value is None for value in errors] == refused
    assert row["why_refused"]


def test_the_weights_are_part_of_the_mark(monkeypatch, tmp_path):
    """Trained again, the default is another method; one without weights stays what it was."""
    weights = tmp_path / tasks.FILE
    weights.write_bytes(b"one")
    monkeypatch.setattr(tasks, "files", lambda _: tmp_path)
    before = {m: tasks.mark(m()) for m in (Auto, ProbitNormal)}
    weights.write_bytes(b"two")
    assert tasks.mark(Auto()) != before[Auto]
    assert tasks.mark(ProbitNormal()) == before[ProbitNormal]
    assert tasks.mark(Auto(use_scores=False)) != tasks.mark(Auto())


# -- files and the command -------------------------------------------------------------------------


def test_files_and_pictures(small, tmp_path):
    results, _ = small
    paths = results.write(tmp_path, figures.draw)
    assert [path.name for path in paths] == [
        "compare.json",
        "compare.csv",
        "compare-simulations.png",
    ]
    with paths[1].open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["rmse"]) for row in rows] == [row["rmse"] for row in results.rows]
    assert json.loads(paths[0].read_text())["details"]["targets"] == results.details["targets"]
    assert min(image.imread(paths[2]).shape[:2]) > 100


def test_pictures_show_means_and_the_floor(small):
    results, _ = small
    ax = figures.draw(results)["simulations"].axes[0]
    groups = {g["method"]: g for g in results.details["groups"]}
    names = [text.get_text() for text in ax.get_yticklabels()]
    dots = {
        names[round(y)]: (x, line.get_markerfacecolor())
        for line in ax.lines
        for x, y in [(line.get_xdata()[0], line.get_ydata()[0])]
        if line.get_marker() == "o"
    }
    assert set(dots) == set(groups) - {"oracle"}
    for name, (x, face) in dots.items():
        assert x == groups[name]["rmse"]
        assert (face == "white") == (name == "kde")  # it had fewer pilots
    floors = [line.get_xdata()[0] for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    assert floors == [groups["oracle"]["rmse"]]


def test_real_sets_have_a_panel_each():
    strata = [Stratum("real", name, 20, {"oracle": [0.1, 0.2]}) for name in "xyz"]
    assert list(figures.panels(strata)) == ["all real sets", "x", "y", "z"]
    kinds = [Stratum(part, "x", None, {"oracle": [0.1]}) for part in ("problems", "held-out")]
    assert list(figures.panels(kinds)) == ["problems", "held-out"]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(*argv):
        capsys.readouterr()
        code = app.main(["yardstick", *(str(word) for word in argv), "--jobs", "1"])
        return code, *capsys.readouterr()

    return go


def test_command(run, data, tmp_path):
    words = (data, "--parts", "real", "--methods", "auto,kde", "--pilots", 2)
    code, out, err = run(*words, "--fewer-pilots", "kde=1")
    assert (code, err) == (0, "")
    home = tmp_path / "experiment-results" / "compare"
    found = json.loads((home / "compare.json").read_text())
    assert found["options"]["fewer_pilots"] == {"kde": 1}
    assert len(found["rows"]) == 3 * len(places.FILES)
    assert str(tmp_path) not in (home / "compare.json").read_text()
    assert "(b): mean / CleaneX's" in out and "not measured" in out
    assert "32 tasks, 0 of them done before" in out  # of 8 sets: oracle, 2 of auto, 1 of kde
    assert (home / "compare-real.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--parts", "real"], "folder"),
        (["--parts", "nothing"], "--parts"),
        (["--methods", "nothing"], "unknown method"),
        (["--methods", "auto,auto"], "twice"),
        (["--methods", "auto", "--fewer-pilots", "kde=2"], "--fewer-pilots"),
        (["--methods", "auto", "--fewer-pilots", "auto"], "--fewer-pilots"),
        (["--pilots", "0"], "--pilots"),
        (["--cleanex", "nowhere.jsonl"], "no file nowhere.jsonl"),
    ],
)
def test_the_command_refuses_in_one_line(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("headcount: error: ")
    assert said in err
    assert err.count("\n") == 1


def test_auto_is_the_learned_default():
    found = yardstick.methods_named(["kde", "auto"])
    assert list(found) == ["kde", "auto"]
    assert isinstance(found["auto"], Auto)
