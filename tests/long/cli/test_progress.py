"""What is being done is shown on a terminal for as long as it takes."""

import os
import time

import numpy as np
import pytest

from command_line import write_npz
from experiments import app as experiments
from headcount import simulate
from headcount.cli.app import main
from processes import Terminal, waiting_to_write

QUICK = ("--method", "no-change")
PILOT = "the file of the pilot"


def phases(told):
    return list(dict.fromkeys(task for task, _, _ in told if task))


def test_the_demo_says_what_it_does(told, capsys):
    assert main(["demo"]) == 0
    assert {"Reading all syllables", "Fitting auto", "Finding the truth"} <= set(phases(told))


def test_an_experiment_says_how_far_it_is_from_the_start(tmp_path, monkeypatch, told, capsys):
    monkeypatch.chdir(tmp_path)
    assert experiments.main(["toy", "--repeats", "20", "--jobs", "1"]) == 0
    total = told[-1][2] or max(report[2] for report in told)
    mine = [report for report in told if report[0] == "toy"]
    assert (mine[0], mine[-1]) == (("toy", 0, total), ("toy", total, total))


@pytest.fixture
def endless_import(tmp_path):
    """A package that all commands need, and that loads for as long as its pipe is open."""
    folder, pipe = tmp_path / "endless", tmp_path / "never"
    folder.mkdir()
    os.mkfifo(pipe)
    (folder / "numba.py").write_text(f"open({str(pipe)!r}).read()\n")
    before = os.environ.get("PYTHONPATH")
    return pipe, {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), before]))}


def opened_by_a_reader(pipe, seconds=60):
    """Return the end to write to, once somebody reads from the other."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize(
    "words, said",
    [
        (("forecast", PILOT, "--classes", "40"), "Forecasting"),
        (("observe", PILOT), "Looking at the pilot"),
        (("capacity", PILOT, "--target", "0.5"), "Finding the capacity"),
        (("backtest", PILOT), "Back-testing"),
        (("compare", PILOT, PILOT, "--classes", "40"), "Comparing"),
        (("plan", PILOT, "--classes", "40", "--half-width", "0.1"), "Planning"),
        (("gate", PILOT, "--classes", "20", "--min", "0.1"), "Judging the forecast"),
        (("risk", PILOT, "--cost", "zero-one", "--classes", "40"), "Forecasting the cost"),
        (("demo",), "Forecasting Korean syllables"),
    ],
    ids=lambda value: value[0],
)
def test_loading_what_a_command_needs_is_part_of_the_wait(pilot, endless_import, words, said):
    pipe, environment = endless_import
    shown = Terminal(*(pilot if word == PILOT else word for word in words), **environment)
    loading = opened_by_a_reader(pipe)
    assert shown.wait_for(said, 30)
    shown.process.terminate()
    # Another thread may be given the signal, and Python heeds it only when it goes on.
    os.close(loading)
    assert shown.finish() == (143, "")


@pytest.mark.parametrize("nouns, many", [((), "classes"), (("--noun", "person/people"), "people")])
def test_a_slow_back_test_shows_how_far_it_is(tmp_path, nouns, many):
    pilot = simulate.isotropic_gaussian(300, sigma=0.5, random_state=1).pilot
    scores = np.concatenate([scores for _, scores in pilot.score_blocks()])
    path = write_npz(tmp_path, scores=scores, labels=pilot.labels)
    words = ("--method", "kde", "--repeats", "500", *nouns)
    shown = Terminal("backtest", path, *words)
    assert shown.wait_for(f"Fitting subsets of the {many}")
    shown.process.terminate()
    assert shown.finish() == (143, "")
    assert "Traceback" not in shown.seen


@pytest.mark.parametrize("colours", [{}, {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}])
def test_a_pipe_gets_no_bar(pilot, tmp_path, colours):
    """CI often asks for colours, and then rich takes a pipe for a terminal."""
    words = ("--classes", "20", "--min", "0.1", *QUICK)
    process, _ = waiting_to_write(("gate", pilot, *words), tmp_path, {"TERM": "xterm"} | colours)
    time.sleep(2)  # longer than it takes for a bar to appear
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    assert process.communicate(timeout=60)[1] == b""
