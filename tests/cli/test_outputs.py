import io
import sys
import time
from pathlib import Path

import pytest

from command_line import N_CLASSES, N_PROBES, read_json, write_npz
from headcount import DataError
from headcount.cli import terminal
from headcount.cli.app import main
from headcount.support.output import write_atomically
from headcount.support.workers import for_each

# -- outputs ---------------------------------------------------------------------------------------


def test_an_output_that_is_the_pilot_is_refused(pilot, refused):
    before = Path(pilot).read_bytes()
    message = refused("forecast", pilot, "--classes", "100", "--plot", pilot)
    assert "pilot.npz is also an input" in message
    assert "choose another name" in message
    assert Path(pilot).read_bytes() == before


@pytest.mark.parametrize("option", ["--labels", "--gallery", "--gallery-labels", "--qrels"])
def test_an_output_that_is_another_input_is_refused(pilot, refused, tmp_path, option):
    other = tmp_path / "other.png"
    other.write_bytes(b"precious")
    message = refused("forecast", pilot, "--classes", "100", option, other, "--plot", other)
    assert "other.png is also an input" in message
    assert other.read_bytes() == b"precious"


def test_an_output_that_is_an_input_by_another_way_is_refused(
    pilot, refused, tmp_path, monkeypatch
):
    before = Path(pilot).read_bytes()
    link = tmp_path / "link.png"
    link.symlink_to(pilot)
    monkeypatch.chdir(tmp_path)
    assert "also an input" in refused("forecast", pilot, "--classes", "9", "--plot", link)
    assert "also an input" in refused("forecast", "pilot.npz", "--classes", "9", "--plot", pilot)
    assert Path(pilot).read_bytes() == before


def test_a_plot_into_a_folder_that_is_not_there(pilot, refused, tmp_path):
    path = tmp_path / "nowhere" / "curve.png"
    message = refused("forecast", pilot, "--classes", "100", "--plot", path)
    assert "no folder nowhere" in message
    assert "make it first" in message


def test_a_plot_over_a_folder(pilot, refused, tmp_path):
    (tmp_path / "curve.png").mkdir()
    message = refused("forecast", pilot, "--classes", "100", "--plot", tmp_path / "curve.png")
    assert "curve.png" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "pilot.npz"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_plot_into_a_folder_nobody_can_write_to(pilot, refused):
    message = refused("forecast", pilot, "--classes", "100", "--plot", "/proc/curve.png")
    assert "curve.png" in message


def test_write_atomically_puts_the_file_in_place(tmp_path):
    target = tmp_path / "out.txt"
    write_atomically(target, lambda name: Path(name).write_text("new"))
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_write_atomically_gives_the_usual_permissions(tmp_path):
    (tmp_path / "usual.txt").write_text("")
    write_atomically(tmp_path / "out.txt", lambda name: Path(name).write_text("new"))
    modes = {path.name: path.stat().st_mode for path in tmp_path.iterdir()}
    assert modes["out.txt"] == modes["usual.txt"]


def test_write_atomically_shows_nothing_until_done(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def write(name):
        Path(name).write_text("half")
        assert target.read_text() == "old"
        Path(name).write_text("whole")

    write_atomically(target, write)
    assert target.read_text() == "whole"


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("older", [None, "old"])
def test_a_failing_write_leaves_nothing_behind(tmp_path, failure, older):
    target = tmp_path / "out.txt"
    if older is not None:
        target.write_text(older)
    before = {path: path.read_text() for path in tmp_path.iterdir()}

    def write(name):
        Path(name).write_text("half")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(target, write)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_write_atomically_needs_the_folder(tmp_path):
    with pytest.raises(DataError, match=r"no folder nowhere for out\.txt"):
        write_atomically(tmp_path / "nowhere" / "out.txt", lambda name: None)


# -- what reaches the terminal ---------------------------------------------------------------------

EVIL = {
    "escape": "\x1b[31mred\x1b[0m",
    "bell": "ding\x07",
    "markup": "[bold red]loud[/bold red]",
    "reversed": "\u202egpj.exe",
    "newline": "first\nsecond",
    "return": "first\rsecond",
    "separator": "first\u2028second",
}


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL.keys())
def test_class_names_reach_the_terminal_tamed(tmp_path, answer, evil):
    names = [f"{evil}{i}" for i in range(N_CLASSES)]
    n_lines = len(answer("observe", write_npz(tmp_path)).splitlines())
    out = answer("observe", write_npz(tmp_path, class_names=names))
    assert "hardest" in out
    assert not set("\x1b\x07\u202e\r\u2028") & set(out)
    assert len(out.splitlines()) == n_lines
    if evil.startswith("[bold"):
        assert evil in out


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL.keys())
def test_labels_reach_error_messages_tamed(tmp_path, refused, evil):
    names = [f"c{i}" for i in range(N_CLASSES)]
    message = refused("observe", write_npz(tmp_path, labels=[evil] * N_PROBES, class_names=names))
    assert "60 of 60 rows name no class" in message
    assert not set("\x1b\x07\u202e\r\u2028") & set(message)


@pytest.mark.parametrize("part", ["labels", "class_names"])
def test_half_a_character_reaches_error_messages_tamed(tmp_path, refused, part):
    held = {"labels": [f"c{i}" for i in range(N_CLASSES)] * (N_PROBES // N_CLASSES)}
    held["class_names"] = held["labels"][:N_CLASSES]
    held[part][0] = "half\ud83d"
    message = refused("observe", write_npz(tmp_path, **held))
    assert f"{part}: 1 of " in message and "U+D83D" in message
    assert "\ud83d" not in message


def test_file_names_reach_error_messages_tamed(tmp_path, refused):
    message = refused("observe", tmp_path / "a\x1b[31m\nb.npz")
    assert "\x1b" not in message


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    # Pytest puts its own stderr in place before each test, so the test itself must switch it on.
    stream = Screen()
    stream.switch_on = lambda: monkeypatch.setattr(sys, "stderr", stream)
    return stream


def slow_work():
    for_each(lambda _: time.sleep(0.1), range(16), task="Counting")


def test_progress_is_shown_on_a_terminal(screen, monkeypatch):
    screen.switch_on()
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    with terminal.progress("Testing"):
        slow_work()
    assert "Counting" in screen.getvalue()


def test_quick_work_shows_no_progress(screen, pilot, capsys):
    screen.switch_on()
    assert main(["observe", pilot, "--json"]) == 0
    assert screen.getvalue() == ""
    read_json(capsys.readouterr().out)


def test_no_progress_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    with terminal.progress("Testing"):
        slow_work()
    assert capsys.readouterr().err == ""
