"""The command as a process: exit codes, streams and signals, as shells and CI see them."""

import os
import signal

import pytest

from command_line import N_CLASSES, write_npz
from processes import (
    FAILS,
    FORECAST,
    NO_ANSWER,
    PASSES,
    UNREAD,
    descriptor_named,
    go,
    is_one_sentence,
    needs_full,
    through,
    waiting_to_write,
)

# -- a full disk -----------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize(
    "words, option, name",
    [
        (FAILS, "--junit", "gate.xml"),
        (FORECAST, "--report", "page.html"),
    ],
)
def test_a_full_device_is_a_sentence(pilot, tmp_path, words, option, name):
    (tmp_path / name).symlink_to("/dev/full")
    code, _, err = go(*through(pilot, words, option, tmp_path / name))
    assert code == NO_ANSWER
    assert is_one_sentence(err) and f"cannot write {name} (No space left on device)" in err


# -- what is no file -------------------------------------------------------------------------------


def test_verdicts_go_through_a_link(pilot, tmp_path):
    (tmp_path / "runs").mkdir()
    link = tmp_path / "latest.xml"
    link.symlink_to("runs/1.xml")
    assert go(*through(pilot, PASSES, "--junit", link))[0] == 0
    assert os.readlink(link) == "runs/1.xml"
    assert (tmp_path / "runs" / "1.xml").read_text().startswith("<?xml")


def test_verdicts_are_added_to_a_file_that_is_open(pilot, tmp_path):
    """As with `3>>all.xml`: what the file holds already stays."""
    (tmp_path / "all.xml").write_text("first\n")
    with open(tmp_path / "all.xml", "ab") as stream:
        link = descriptor_named(stream.fileno(), tmp_path)
        words = through(pilot, FAILS, "--junit", link)
        assert go(*words, pass_fds=[stream.fileno()])[0] == 1
    text = (tmp_path / "all.xml").read_text()
    assert text.startswith("first\n<?xml") and text.endswith("</testsuite>\n")


# -- nobody listens --------------------------------------------------------------------------------


def test_a_file_that_goes_to_a_reader_that_has_gone(pilot, tmp_path):
    link = tmp_path / "gate.xml"
    link.symlink_to("/dev/stdout")
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = go(*through(pilot, FAILS, "--junit", link), stdout=writer)
    assert (code, err) == (UNREAD, "")
    # What was wrong before anything could be written is told all the same.
    missing = through(tmp_path / "missing.npz", FAILS, "--junit", link)
    code, _, err = go(*missing, stdout=writer)
    os.close(writer)
    assert code == NO_ANSWER and is_one_sentence(err) and "missing.npz" in err


def test_a_closed_stdout_is_a_sentence(pilot):
    code, _, err = go(*through(pilot, PASSES), preexec_fn=lambda: os.close(1))
    assert code == NO_ANSWER
    assert is_one_sentence(err) and "stdout is closed" in err


# -- what a terminal cannot show -------------------------------------------------------------------


KOREAN = [f"산{chr(0xAC00 + i)}" for i in range(N_CLASSES)]


def test_names_that_the_terminal_cannot_show(tmp_path):
    named = write_npz(tmp_path, class_names=KOREAN)
    code, out, err = go("observe", named, env={"PYTHONIOENCODING": "ascii"})
    assert (code, err) == (0, "")
    assert "hardest" in out and "\\uc0b0\\uac0" in out and out.isascii()
    _, whole, _ = go("observe", named, env={"PYTHONIOENCODING": "utf-8"})
    assert "산" in whole


# -- signals ---------------------------------------------------------------------------------------


def test_signals_in_a_row_leave_nothing_behind(pilot, tmp_path):
    """As when a session ends; the second must not disturb what the first has set off."""
    alone = {"OPENBLAS_NUM_THREADS": "1"}  # no other thread may be given a signal
    process, scratch = waiting_to_write(through(pilot, PASSES), tmp_path, alone)
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # stopped by now, so that it gets all others at once
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
        process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (129, b"")  # the system gives the lowest first
    assert b"Traceback" not in err and list(scratch.iterdir()) == []


# -- mistakes of ours ------------------------------------------------------------------------------


@pytest.fixture
def broken_module(tmp_path):
    """A package that a command imports late, broken as a bad installation would be."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "numba.py").write_text("raise ZeroDivisionError('by\\nzero')\n")
    path = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), path]))}


@pytest.mark.parametrize("words", [PASSES, FORECAST, ("observe",)])
def test_a_mistake_of_ours_is_no_verdict(pilot, broken_module, words):
    code, out, err = go(*through(pilot, words), env=broken_module)
    assert (code, out) == (NO_ANSWER, "")
    assert is_one_sentence(err)
    assert "a mistake in headcount (ZeroDivisionError: by zero)" in err
    assert "HEADCOUNT_TRACEBACK=1" in err


def test_a_mistake_of_ours_can_be_looked_at(pilot, broken_module):
    environment = broken_module | {"HEADCOUNT_TRACEBACK": "1"}
    code, _, err = go(*through(pilot, PASSES), env=environment)
    assert code == NO_ANSWER
    assert err.startswith("Traceback") and "numba.py" in err
