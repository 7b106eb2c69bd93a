"""What is being done is shown, where somebody watches and nowhere else."""

import contextlib
import json
import os
import pty
import select
import time

import numpy as np
import pytest

from command_line import start, waiting_to_write, write_npz
from headcount import simulate
from headcount.cli import main
from headcount.threads import doing, for_each, watching

QUICK = ("--method", "no-change")
PILOT = "the file of the pilot"


@pytest.fixture
def told():
    """What a progress bar is told inside, in order."""
    reports = []
    with watching(lambda *report: reports.append(report)):
        yield reports


def phases(told):
    return list(dict.fromkeys(task for task, _, _ in told if task))


# -- phases ----------------------------------------------------------------------------------------


def test_a_phase_ends_where_the_one_around_it_goes_on(told):
    with doing("outer"), doing("inner"):
        pass
    assert told == [("outer", 0, 0), ("inner", 0, 0), ("outer", 0, 0), ("", 0, 0)]


def test_a_phase_ends_with_an_error_too(told):
    with doing("outer"):
        with pytest.raises(ZeroDivisionError), doing("inner"):
            raise ZeroDivisionError
        assert told[-1] == ("outer", 0, 0)


def test_work_is_named_before_its_first_block_is_done(told):
    seen = []
    for_each(lambda _: seen.append(list(told)), [1], task="Counting")
    assert seen == [[("Counting", 0, 1)]]
    assert told[-1] == ("Counting", 1, 1)


def test_no_work_is_not_named(told):
    for_each(print, [], task="Counting")
    assert told == []


# -- what commands say about themselves ------------------------------------------------------------

EVERYWHERE = ("Reading pilot.npz", "Counting")
FORECAST = (*EVERYWHERE, "Fitting no-change", "Fitting subsets of the classes",
            "Leaving out each class in turn", "Looking for what speaks against it")  # fmt: skip


@pytest.mark.parametrize(
    "words, expected",
    [
        (("observe",), EVERYWHERE),
        (("forecast", "--classes", "40", *QUICK, "--plot", "curve.png", "--report", "page.html"),
         (*FORECAST, "Drawing curve.png", "Writing page.html")),
        (("capacity", "--target", "0.5", *QUICK, "--plot", "hold.png"),
         (*FORECAST, "Searching for the largest number of classes", "Drawing hold.png")),
        (("backtest", *QUICK, "--plot", "steps.png", "--report", "steps.html"),
         (*EVERYWHERE, "Fitting subsets of the classes", "Leaving out each class in turn",
          "Drawing steps.png", "Writing steps.html")),
        (("compare", "pilot.npz", "--classes", "20", *QUICK, "--plot", "both.png"),
         (*FORECAST, "Finding what the systems share", "Leaving out classes",
          "Comparing the systems", "Drawing both.png")),
        (("plan", "--classes", "40", "--half-width", "0.1", *QUICK),
         (*FORECAST, "Looking for sizes that would do")),
        (("gate", "--classes", "20", "--min", "0.1", *QUICK), FORECAST),
        (("risk", "--cost", "zero-one", "--classes", "40"),
         (*EVERYWHERE, "Adding up what mistakes cost", "Choosing how smooth the fit is",
          "Fitting the cost of mistakes", "Working out the curve and its limits",
          "Leaving out classes")),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_every_command_says_what_it_does(tmp_path, monkeypatch, capsys, told, words, expected):
    monkeypatch.chdir(tmp_path)
    write_npz(tmp_path)
    assert main([words[0], "pilot.npz", *words[1:]]) == 0
    assert set(expected) <= set(phases(told))


def test_the_demo_says_what_it_does(told, capsys):
    assert main(["demo"]) == 0
    assert {"Reading all syllables", "Fitting auto", "Finding the truth"} <= set(phases(told))


def test_an_experiment_says_how_far_it_is_from_the_start(tmp_path, monkeypatch, told, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "toy", "--repeats", "20", "--jobs", "1"]) == 0
    total = told[-1][2] or max(report[2] for report in told)
    mine = [report for report in told if report[0] == "toy"]
    assert (mine[0], mine[-1]) == (("toy", 0, total), ("toy", total, total))


# -- the bar itself --------------------------------------------------------------------------------


class Terminal:
    """A command whose stderr is a terminal, as a person has it; stdout is a pipe."""

    def __init__(self, *argv, **environment):
        self.ours, theirs = pty.openpty()
        self.process = start(
            *argv, env={"TERM": "xterm", "COLUMNS": "100"} | environment, stderr=theirs
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text, seconds=90):
        """Read until text was shown, or the command has ended."""
        deadline = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.ours], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.ours, 65536).decode(errors="replace")
                except OSError:  # the other end was closed
                    break
        return text in self.seen

    def finish(self):
        self.wait_for("\0never", 60)
        out = self.process.communicate(timeout=60)[0].decode()
        os.close(self.ours)
        return self.process.returncode, out


def test_a_long_wait_shows_what_it_is_for(pilot, tmp_path):
    """A pipe that nobody reads yet keeps the command waiting for as long as we like."""
    pipe = tmp_path / "[red]gate.xml"
    os.mkfifo(pipe)
    words = ("--classes", "20", "--min", "0.1", *QUICK, "--junit", pipe, "--json")
    shown = Terminal("gate", pilot, *words)
    assert shown.wait_for("Writing [red]gate.xml")
    assert shown.wait_for("\x1b[2K")  # drawn again and again
    assert pipe.read_text().startswith("<?xml")
    code, out = shown.finish()
    assert code == 0
    assert json.loads(out)["outcome"] == "pass" and "Writing" not in out and "\x1b" not in out
    assert "Working" not in shown.seen


@pytest.fixture
def endless_import(tmp_path):
    """A package that all commands need and that is never done loading."""
    folder, pipe = tmp_path / "endless", tmp_path / "never"
    folder.mkdir()
    os.mkfifo(pipe)
    (folder / "numba.py").write_text(f"open({str(pipe)!r})\n")
    before = os.environ.get("PYTHONPATH")
    return pipe, {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), before]))}


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
    assert shown.wait_for(said, 30)
    shown.process.terminate()
    # Another thread may be given the signal, and Python heeds it only when it goes on.
    with contextlib.suppress(OSError):  # nobody waits any more
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
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
