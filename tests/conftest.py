"""Fixtures for tests that go through the command line."""

import pytest

from command_line import write_npz
from headcount.cli import main


@pytest.fixture
def pilot(tmp_path):
    return write_npz(tmp_path)


@pytest.fixture
def run(capsys):
    def go(*argv):
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return go


@pytest.fixture
def answer(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return out

    return go


@pytest.fixture
def refused(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert code == 2
        assert out == ""
        assert err.startswith("headcount: error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return go
