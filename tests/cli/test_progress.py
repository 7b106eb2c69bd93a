"""What is being done is shown, where somebody watches and nowhere else."""

import json
import os

import numpy as np
import pytest

from command_line import make_scores, write_npz
from headcount.cli.app import main
from headcount.support.workers import doing, for_each
from processes import Terminal

QUICK = ("--method", "no-change")


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
        (("adaptation", "more.npz", *QUICK, "--plot", "both.png"),
         (*FORECAST, "Finding what the pilots share", "Leaving out classes", "Drawing both.png")),
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
    scores, labels = make_scores()
    np.savez("more.npz", scores=np.hstack([scores, scores[:, :5] - 1]), labels=labels)
    assert main([words[0], "pilot.npz", *words[1:]]) == 0
    assert set(expected) <= set(phases(told))


# -- the bar itself --------------------------------------------------------------------------------


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
