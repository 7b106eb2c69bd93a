import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer

from bench_tools import N_CLASSES, AsMeasured, Lacking, measured_by_hand, scores_and_labels
from experiments import app as command_line
from experiments import methods
from headcount import Pilot
from headcount.estimators import METHODS

# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, labels = scores_and_labels()
    np.savez(tmp_path / "pilot.npz", scores=scores, labels=labels)

    def go(*argv):
        capsys.readouterr()
        code = command_line.main([*(str(word) for word in argv)])
        return code, *capsys.readouterr()

    return go


SMALL = ("--methods", "probit-normal", "--jobs", 1)
TABLE1 = ("table1", "pilot.npz", "--pilot-classes", "4,8", "--repeats", 2, *SMALL)


def test_table1_command(run, tmp_path):
    code, out, err = run(*TABLE1, "--probes-per-class", 2)
    assert (code, err) == (0, "")
    home = tmp_path / "experiment-results" / "table1"
    found = json.loads((home / "table1.json").read_text())
    assert found["options"]["probes_per_class"] == 2
    assert found["options"]["n_probes"] == 24
    assert found["options"]["source"] == "pilot.npz"
    assert str(tmp_path) not in (home / "table1.json").read_text()
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("probit-normal")]
    assert [line[1] for line in lines] == ["4", "8"]
    assert [line[7] for line in lines] == [f"{row['rmse']:.4f}" for row in found["rows"]]
    assert "4 tasks, 0 of them done before" in out
    assert "4 tasks, 4 of them done before" in run(*TABLE1, "--probes-per-class", 2)[1]


@pytest.mark.parametrize("here", [".", "experiments"])
def test_committed_results_are_never_the_default(run, here, tmp_path, monkeypatch):
    """Neither from the root of a checkout nor from the folder beside them."""
    kept = tmp_path / "experiments" / "results" / "table1"
    kept.mkdir(parents=True)
    (kept / "table1.json").write_text("committed")
    monkeypatch.chdir(tmp_path / here)
    words = [tmp_path / "pilot.npz" if word == "pilot.npz" else word for word in TABLE1]
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    assert [path.name for path in kept.iterdir()] == ["table1.json"]
    assert (kept / "table1.json").read_text() == "committed"
    assert (tmp_path / here / "experiment-results" / "table1" / "table1.json").exists()


def test_telugu_command(run, folder, tmp_path):
    code, out, err = run("telugu", folder, "--output", tmp_path / "t", *SMALL)
    assert (code, err) == (0, "")
    assert "003 Fig. 2" in out and "within one unit" in out
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
        ([*TABLE1, "--fewer-repeats", "probit-normal"], "METHOD=50"),
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
    code, _, err = run(*TABLE1, "--methods", "probit-normal,lacking")
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
    record = methods.forecast_record(
        AsMeasured(), Pilot.from_scores(*scores_and_labels()), [5, 50], 0
    )
    assert (
        record["accuracy"][0]
        == record["accuracy"][1]
        == pytest.approx(measured_by_hand(range(N_CLASSES)))
    )


def test_make_papers_asks_for_what_there_is():
    """Every line of the target is a command with options that exist, into a folder of its own."""
    text = (Path(__file__).parents[2] / "Makefile").read_text().replace("\\\n", " ")
    recipe = re.search(r"^papers:.*\n((?:\t.*\n)+)", text, re.MULTILINE)[1]
    commands = typer.main.get_command(command_line.app).commands
    folders, names = [], set()
    for line in recipe.splitlines():
        for name, value in (("EXPERIMENT", ""), ("DATA", "data"), ("RESULTS", "results")):
            line = line.replace(f"$({name})", value)
        name, *words = shlex.split(line)
        folders.append(commands[name].make_context(name, words).params["output"])
        names.add(name)
    assert names >= {
        "toy", "figure10", "splines", "table1", "telugu", "recorded", "classifiers", "cleanex",
    }  # fmt: skip
    assert len(set(folders)) == len(folders)
    assert {folder.parent.name for folder in folders} == {"results"}
