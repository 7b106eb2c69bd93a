import json

import numpy as np
import pytest

import headcount
from command_line import make_scores, read_json

WORDS = ("--method", "no-change")
pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")


@pytest.fixture
def files(tmp_path):
    """A pilot of 8 classes, and one of the model retrained on 20, which is surer of them."""
    scores, labels = make_scores(lead=1)
    few = labels < 8
    np.savez(tmp_path / "few.npz", scores=scores[few, :8], labels=labels[few])
    scores, labels = make_scores(lead=3)
    np.savez(tmp_path / "many.npz", scores=scores, labels=labels)
    return [str(tmp_path / name) for name in ("few.npz", "many.npz")]


def test_the_command_says_what_the_library_says(files, run):
    expected = headcount.adaptation([headcount.load(file) for file in files], method="no-change")
    code, out, err = run("adaptation", *files, *WORDS, "--json")
    assert code == 0 and "warning: 20 classes are further than the back-test reaches" in err
    assert read_json(out) == json.loads(expected.to_json())
    code, out, err = run("adaptation", *files[::-1], *WORDS)
    assert code == 0 and "HC001 of 8 classes" in err
    assert out.endswith("\n".join(expected.sentences()) + "\n")
    assert "Pilot: 8 classes, 24 probes. Method: no-change." in out
    assert run("adaptation", *files, *WORDS, "--csv")[1] == expected.to_csv()


def test_picture(files, run, refused, tmp_path):
    code, _, _ = run("adaptation", *files, *WORDS, "--plot", tmp_path / "a.png", "--error-rate")
    assert code == 0 and (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "also an input" in refused("adaptation", *files, *WORDS, "--plot", files[1])
    assert "--error-rate is for pictures" in refused("adaptation", *files, *WORDS, "--error-rate")


def test_bad_input_is_refused(files, refused):
    assert "Missing argument" in refused("adaptation", files[0])
    assert "have 8, 8 classes" in refused("adaptation", files[0], files[0], *WORDS)
    assert "exclude each other" in refused("adaptation", *files, *WORDS, "--json", "--csv")
