"""Files are put in place whole; what is no file stays what it is."""

import os
import stat
import threading
from pathlib import Path

import pytest

from headcount import DataError, OutputError
from headcount.support.output import (
    check_writable,
    refuse_overwriting,
    write_atomically,
    write_text,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# -- links -----------------------------------------------------------------------------------------


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "1.xml").write_text("old")
    link = tmp_path / "latest.xml"
    link.symlink_to("runs/1.xml")
    write_text(link, "new")
    assert link.is_symlink() and os.readlink(link) == "runs/1.xml"
    assert (tmp_path / "runs" / "1.xml").read_text() == "new"
    assert (names(tmp_path), names(tmp_path / "runs")) == (["latest.xml", "runs"], ["1.xml"])


def test_the_temporary_file_is_beside_the_target_of_a_link(tmp_path):
    """Only there is putting it in place one step, and only there is the target's disk."""
    (tmp_path / "runs").mkdir()
    link = tmp_path / "latest.png"
    link.symlink_to("runs/1")
    seen = []
    write_atomically(link, lambda name: seen.append(Path(name)))
    assert seen[0].parent.resolve() == (tmp_path / "runs").resolve()
    assert seen[0].suffix == ".png"  # which tells matplotlib what to write


def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "latest.txt"
    link.symlink_to("later.txt")
    check_writable(link)
    assert not (tmp_path / "later.txt").exists()
    write_text(link, "new")
    assert link.is_symlink() and (tmp_path / "later.txt").read_text() == "new"


def test_a_link_into_a_folder_that_is_not_there(tmp_path):
    link = tmp_path / "latest.txt"
    link.symlink_to("nowhere/later.txt")
    for write in (check_writable, lambda path: write_text(path, "new")):
        with pytest.raises(DataError, match=r"no folder nowhere for later\.txt"):
            write(link)


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "loop.txt"
    link.symlink_to("loop.txt")
    with pytest.raises(DataError, match=r"loop\.txt is a link that leads back to itself"):
        check_writable(link)
    refuse_overwriting(link, [tmp_path / "other"])


# -- modes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_overwritten_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "secret.txt"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


def test_nobody_else_can_read_a_file_that_is_being_written(tmp_path):
    modes = []
    write_atomically(
        tmp_path / "out.txt", lambda name: modes.append(stat.S_IMODE(os.stat(name).st_mode))
    )
    assert modes == [0o600]


# -- pipes and devices -----------------------------------------------------------------------------


@pytest.fixture
def pipe(tmp_path):
    """A pipe, and what its reader got in the end."""
    path, got = tmp_path / "pipe.txt", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_text()), daemon=True)

    def finish():
        reader.join(20)
        return got

    return path, reader.start, finish


def test_a_pipe_is_written_into(pipe, tmp_path):
    path, start, finish = pipe
    start()
    write_text(path, "new")
    assert finish() == ["new"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["pipe.txt"]


def test_a_pipe_is_waited_for_until_it_has_a_reader(pipe, monkeypatch):
    """More than a pipe holds is written as its reader takes it."""
    path, start, finish = pipe
    looks = []

    def wait(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            start()
        elif len(looks) > 3:
            threading.Event().wait(seconds)

    monkeypatch.setattr("headcount.support.output.time.sleep", wait)
    write_text(path, "new" * 100_000)
    assert finish() == ["new" * 100_000] and len(looks) >= 3


def test_a_pipe_that_goes_while_it_is_waited_for_is_said(pipe, monkeypatch):
    path, _, _ = pipe
    monkeypatch.setattr("headcount.support.output.time.sleep", lambda _: path.unlink())
    with pytest.raises(OutputError, match=r"cannot write pipe\.txt \(No such file"):
        write_text(path, "new")


def test_a_pipe_without_a_reader_is_not_waited_for_when_it_is_only_checked(pipe):
    path, _, _ = pipe
    checked = threading.Thread(target=check_writable, args=[path], daemon=True)
    checked.start()
    checked.join(10)
    assert not checked.is_alive()
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_nothing_reaches_a_pipe_when_writing_fails_half_way(pipe):
    path, start, finish = pipe

    def write(name):
        Path(name).write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(path, write)
    start()
    write_text(path, "whole")
    assert finish() == ["whole"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_stays_a_device(tmp_path):
    """Through links, so that a mistake here costs a link and not the machine's devices."""
    for device in ("/dev/null", "/dev/full"):
        link = tmp_path / "out.txt"
        link.symlink_to(device)
        check_writable(link)
        if device == "/dev/null":
            write_text(link, "gone")
        else:
            with pytest.raises(OutputError, match=r"cannot write out\.txt \(No space left"):
                write_text(link, "new")
        assert os.readlink(link) == device and stat.S_ISCHR(os.stat(device).st_mode)
        assert names(tmp_path) == ["out.txt"]
        link.unlink()


# -- what cannot be written ------------------------------------------------------------------------


def test_a_name_that_is_too_long_is_refused_before_any_work(tmp_path):
    with pytest.raises(OutputError, match="File name too long"):
        check_writable(tmp_path / f"{'a' * 300}.txt")
    longest = tmp_path / f"{'a' * 251}.txt"
    check_writable(longest)
    write_text(longest, "new")
    assert names(tmp_path) == [longest.name]


def test_an_error_of_the_system_is_a_sentence(tmp_path):
    def write(name):
        raise OSError(28, "No space left on device", name)

    with pytest.raises(OutputError) as error:
        write_atomically(tmp_path / "out.txt", write)
    assert str(error.value) == (
        "cannot write out.txt (No space left on device); choose another place for it."
    )
    assert isinstance(error.value, OSError)
    assert names(tmp_path) == []


def test_text_that_utf8_cannot_hold_is_written_all_the_same(tmp_path):
    write_text(tmp_path / "out.txt", "half\ud83d 산")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "half? 산"
