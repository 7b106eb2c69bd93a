"""The command as a process of its own: started, watched, and asked to stop."""

import os
import pty
import select
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

# What makes a process behave otherwise than in a plain shell.
HIDDEN = (
    "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "PYTHONWARNINGS",
    "PYTHONIOENCODING",
)  # fmt: skip
QUICK = ("--method", "no-change")
FORECAST = ("forecast", "--classes", "40", "--no-intervals", *QUICK)
PASSES = ("gate", "--classes", "20", "--min", "0.1", *QUICK)
FAILS = ("gate", "--classes", "20", "--min", "0.99", *QUICK)
NO_ANSWER, UNREAD = 2, 141
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def start(*argv, env=None, preexec_fn=lambda: None, **options):
    """Start the command as a process of its own."""

    def prepare():
        # nohup, and a shell's background, have their programs ignore some of these.
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        preexec_fn()

    usual = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    words = [sys.executable, "-m", "headcount", *map(str, argv)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, env=usual | (env or {}), preexec_fn=prepare, **streams | options)


def go(*argv, **options):
    """Return exit code, stdout and stderr."""
    process = start(*argv, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def installed(*argv, **environment):
    """Run the script that is installed, as a user would."""
    path = Path(sysconfig.get_path("scripts")) / "headcount"
    usual = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return subprocess.run(
        [path, *argv], env=usual | environment, capture_output=True, text=True, timeout=60
    )


def through(pilot, words, *more):
    """Return a command with its pilot in place."""
    return (words[0], pilot, *words[1:], *more)


def is_one_sentence(err):
    return err.startswith("headcount: error: ") and err.count("\n") == 1


def descriptor_named(number, tmp_path):
    """Through a link, so that a mistake here costs that and not the machine's /dev."""
    link = tmp_path / "gate.xml"
    link.symlink_to(f"/dev/fd/{number}")
    return link


def waiting_to_write(gate, tmp_path, env=None, **options):
    """Start a gate that waits for somebody to read gate.xml; return it and its scratch folder."""
    pipe, scratch = tmp_path / "gate.xml", tmp_path / "scratch"
    os.mkfifo(pipe)
    scratch.mkdir()
    process = start(*gate, "--junit", pipe, env={"TMPDIR": str(scratch)} | (env or {}), **options)
    deadline = time.monotonic() + 90
    while not any(path.stat().st_size for path in scratch.glob(".headcount.*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return process, scratch


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
