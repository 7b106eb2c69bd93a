import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from command_line import ONLY_TOO_FAR


@pytest.fixture
def command():
    path = Path(sysconfig.get_path("scripts")) / "headcount"
    hidden = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONWARNINGS")
    usual = {name: value for name, value in os.environ.items() if name not in hidden}

    def go(*argv, **environment):
        return subprocess.run(
            [path, *argv], env=usual | environment, capture_output=True, text=True, timeout=60
        )

    return go


def test_the_command_says_its_version(command):
    done = command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "headcount 0.1.0\n", "")


def test_piped_output_has_no_progress_bar_and_no_colours(command):
    done = command("demo", TERM="xterm-256color")
    assert done.returncode == 0 and ONLY_TOO_FAR.fullmatch(done.stderr)
    assert "11,172" in done.stdout
    assert "\x1b" not in done.stdout


def test_bad_input_makes_the_command_exit_with_2(command):
    done = command("forecast", "missing.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headcount: error: Missing option '--classes'")
    assert done.stderr.count("\n") == 1


def test_shell_completion(command):
    script = command(_HEADCOUNT_COMPLETE="source_bash")
    assert script.returncode == 0
    assert "complete -o default -F" in script.stdout
    words = {"COMP_WORDS": "headcount fo", "COMP_CWORD": "1"}
    assert command(_HEADCOUNT_COMPLETE="complete_bash", **words).stdout.split() == ["forecast"]
