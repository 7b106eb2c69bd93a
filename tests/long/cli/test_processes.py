"""The command as a process: every stream, name and signal, as shells and CI see them."""

import json
import os
import resource
import select
import signal
import stat
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from command_line import make_scores, write_npz
from processes import (
    FAILS,
    FORECAST,
    NO_ANSWER,
    PASSES,
    QUICK,
    UNREAD,
    descriptor_named,
    go,
    is_one_sentence,
    needs_full,
    start,
    through,
    waiting_to_write,
)


def leftovers(folder):
    return [path.name for path in folder.rglob(".*")]


@needs_full
@pytest.mark.parametrize(
    "words", [FAILS, (*FORECAST, "--json"), (*FORECAST, "--csv"), ("observe",)], ids=str
)
def test_an_answer_that_cannot_be_printed_is_no_answer(pilot, words):
    with open("/dev/full", "wb") as full:
        code, _, err = go(*through(pilot, words), stdout=full)
    assert code == NO_ANSWER
    assert is_one_sentence(err) and "cannot print the answer (No space left on device)" in err


@pytest.mark.parametrize(
    "words, option, name, limit",
    [
        (FAILS, "--junit", "gate.xml", 100),
        (FORECAST, "--report", "page.html", 4096),
        (FORECAST, "--plot", "curve.pdf", 4096),
    ],
)
def test_a_disk_that_fills_up_leaves_what_was_there(pilot, tmp_path, words, option, name, limit):
    path = tmp_path / name
    argv = through(pilot, words, option, path)
    assert go(*argv)[0] in (0, 1)  # and all that is compiled or cached on the way is there now
    path.write_text("old")
    code, out, err = go(
        *argv, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    assert (code, out) == (NO_ANSWER, "")
    assert is_one_sentence(err) and f"cannot write {name} (" in err
    assert path.read_text() == "old"
    assert leftovers(tmp_path) == []


def test_verdicts_go_into_a_pipe(pilot, tmp_path):
    pipe = tmp_path / "gate.xml"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        code, out, err = go(*through(pilot, FAILS, "--junit", pipe))
        got = reader.communicate(timeout=20)[0] if stat.S_ISFIFO(pipe.stat().st_mode) else b""
        reader.kill()
    assert (code, err) == (1, "") and out.startswith("FAILED")
    assert got.startswith(b"<?xml") and b"<failure" in got


@pytest.mark.parametrize("to_file", [False, True])
def test_verdicts_go_to_our_own_stdout(pilot, tmp_path, to_file):
    """Named through a link, so that a mistake here costs that and not the machine's /dev."""
    link = tmp_path / "gate.xml"
    link.symlink_to("/dev/stdout")
    words = through(pilot, FAILS, "--junit", link)
    if to_file:
        with open(tmp_path / "out.txt", "wb") as stream:
            code, _, err = go(*words, stdout=stream)
        out = (tmp_path / "out.txt").read_text()
    else:
        code, out, err = go(*words)
    assert (code, err) == (1, "")
    assert out.startswith("<?xml") and "</testsuite>\nFAILED: " in out
    assert os.readlink(link) == "/dev/stdout"


def test_verdicts_go_into_an_open_file_that_has_no_name_any_more(pilot, tmp_path):
    with open(tmp_path / "gone.xml", "w+b") as stream:
        os.unlink(stream.name)
        link = descriptor_named(stream.fileno(), tmp_path)
        words = through(pilot, FAILS, "--junit", link)
        assert go(*words, pass_fds=[stream.fileno()])[0] == 1
        stream.seek(0)
        assert stream.read().startswith(b"<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate.xml", "pilot.npz"]


def test_a_pipe_whose_reader_leaves_is_a_sentence(pilot, tmp_path):
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    process = start(*through(pilot, FORECAST, "--report", pipe))
    while process.poll() is None and not select.select([reader], [], [], 0.1)[0]:
        pass
    os.close(reader)  # a page is more than a pipe takes at once
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (NO_ANSWER, b"")
    assert is_one_sentence(err.decode()) and b"cannot write page.html (Broken pipe)" in err


@pytest.mark.parametrize("words", [PASSES, (*FAILS, "--github"), (*FAILS, "--json"), FORECAST])
def test_a_reader_that_has_gone_is_met_quietly(pilot, words):
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = go(*through(pilot, words), stdout=writer)
    os.close(writer)
    assert (code, err) == (UNREAD, "")


@pytest.mark.parametrize("words", [["gate", "--help"], ["methods"], []])
def test_help_that_nobody_reads(words):
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = go(*words, stdout=writer)
    os.close(writer)
    assert (code, err) == (UNREAD, "")


@pytest.mark.parametrize("broken", ["gone", "full", "closed"])
def test_a_verdict_does_not_depend_on_who_reads_warnings(tmp_path, broken):
    scores, labels = make_scores()
    few = write_npz(tmp_path, scores=scores[labels < 15, :15], labels=labels[labels < 15])
    argv = ("gate", few, "--classes", "15", *FAILS[3:])
    options = {}
    if broken == "gone":
        reader, options["stderr"] = os.pipe()
        os.close(reader)
    elif broken == "full":
        if not Path("/dev/full").exists():
            pytest.skip("needs /dev/full")
        options["stderr"] = os.open("/dev/full", os.O_WRONLY)
    else:
        options["preexec_fn"] = lambda: os.close(2)
    code, out, _ = go(*argv, **options)
    assert code == 1 and out.startswith("FAILED") and out.count("\n") == 1
    if broken == "gone":
        assert "HC001" in go(*argv)[2]  # there is something to lose


def test_an_error_that_nobody_reads_is_still_an_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    code, out, _ = go("observe", tmp_path / "gone.npz", stderr=writer)
    os.close(writer)
    assert (code, out) == (NO_ANSWER, "")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_file_names_that_the_terminal_cannot_show(pilot, tmp_path, encoding):
    odd, other = tmp_path / os.fsdecode(b"p\xff\xec\x82\xb0.npz"), tmp_path / "latest.npz"
    other.write_bytes(Path(pilot).read_bytes())
    Path(pilot).rename(odd)
    environment = {"PYTHONIOENCODING": encoding}
    junit = tmp_path / "gate.xml"
    code, out, err = go(*through(odd, FAILS, "--github", "--junit", junit), env=environment)
    assert (code, err) == (1, "") and "\n::error title=headcount gate p" in out
    assert "산.npz" in junit.read_bytes().decode("utf-8")
    compare = ("compare", odd, other, "--classes", "20", *QUICK)
    code, out, err = go(*compare, "--csv", env=environment)
    assert (code, err) == (0, "") and out.startswith("first,second")
    code, out, err = go(*compare, "--json", env=environment)
    assert (code, err) == (0, "") and "latest" in json.loads(out)["forecasts"]


def test_a_page_holds_whatever_its_input_is_called(pilot, tmp_path):
    odd, page = tmp_path / os.fsdecode(b"p\xff\xec\x82\xb0.npz"), tmp_path / "page.html"
    Path(pilot).rename(odd)
    assert go(*through(odd, FORECAST, "--report", page))[::2] == (0, "")
    assert "산.npz" in page.read_bytes().decode("utf-8")


@pytest.mark.parametrize(
    "number, code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_leaves_nothing_behind(pilot, tmp_path, number, code):
    process, scratch = waiting_to_write(through(pilot, PASSES), tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err and list(scratch.iterdir()) == []


STOPPED = """
import os, signal
from headcount.estimators import Extrapolator

class Stopped(Extrapolator):
    alias = "stopped"

    def _estimate(self, pilot):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except SystemExit as error:
            raise SystemError("what compiled code makes of it") from error
"""


def test_a_signal_that_becomes_an_error_on_the_way_still_ends_as_one(pilot, tmp_path):
    (tmp_path / "mine.py").write_text(STOPPED)
    words = ("forecast", pilot, "--classes", "20", "--method", "mine:Stopped", "--no-intervals")
    process = start(*words, cwd=tmp_path)
    assert process.communicate(timeout=90) == (b"", b"")
    assert process.returncode == 143


def test_signals_that_are_ignored_stay_ignored(pilot, tmp_path):
    """As `nohup` asks for."""
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    process, _ = waiting_to_write(through(pilot, PASSES), tmp_path, **ignore)
    process.send_signal(signal.SIGHUP)
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_stopping_a_back_test_on_several_workers(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(300), 4)
    scores = rng.normal(size=(1200, 300))
    scores[np.arange(1200), labels] += 2
    path = write_npz(tmp_path, scores=scores, labels=labels)
    argv = ("backtest", path, "--method", "kde", "--repeats", "500", "--jobs", "2")
    process = start(*argv, start_new_session=True)
    time.sleep(8)
    assert process.poll() is None
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, b"")
    assert b"Traceback" not in err


@pytest.mark.parametrize("status", [0, 1, "'that is all'"])
def test_a_method_that_ends_the_program_is_no_verdict(pilot, tmp_path, status):
    (tmp_path / "own.py").write_text(
        "import sys\nfrom headcount.estimators import Extrapolator\n"
        "class Own(Extrapolator):\n    alias, needs = 'own', 'losses'\n"
        f"    def _estimate(self, pilot):\n        sys.exit({status})\n"
    )
    junit = tmp_path / "gate.xml"
    words = (*PASSES[:-1], "own:Own", "--junit", junit)
    code, out, err = go(*through(pilot, words), cwd=tmp_path)
    assert (code, out) == (NO_ANSWER, "")
    assert is_one_sentence(err) and "the method ended the program" in err
    assert "<error" in junit.read_text()
