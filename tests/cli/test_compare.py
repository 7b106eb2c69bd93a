import json

import numpy as np
import pytest

import headcount
from command_line import make_scores, read_json, write_npz
from headcount import compare

QUICK = {"method": "no-change"}


@pytest.fixture
def two_files(tmp_path):
    scores, labels = make_scores()
    paths = []
    for name, harder in (("old", 0.5), ("new", 0.0)):
        changed = scores.copy()
        changed[np.arange(len(labels)), labels] -= harder
        (tmp_path / name).mkdir()
        paths.append(write_npz(tmp_path / name, scores=changed))
    return paths


WORDS = ("--classes", "10,20", "--method", "no-change")


def test_the_command_says_what_the_library_says(two_files, answer):
    found = read_json(answer("compare", *two_files, *WORDS, "--names", "old,new", "--json"))
    pilots = {"old": headcount.load(two_files[0]), "new": headcount.load(two_files[1])}
    expected = compare(pilots, [10, 20], **QUICK)
    assert found == json.loads(expected.to_json()) | {"warnings": []}
    text = answer("compare", *two_files, *WORDS, "--names", "old,new")
    assert text.endswith("\n".join(expected.sentences()) + "\n")
    assert "The same classes and as many probes of each" in text
    assert answer("compare", *two_files, *WORDS, "--names", "old,new", "--csv") == expected.to_csv()


def test_files_of_the_same_name_are_numbered(two_files, answer):
    found = read_json(answer("compare", *two_files, two_files[0], *WORDS, "--json"))
    assert list(found["forecasts"]) == ["pilot (1)", "pilot (2)", "pilot (3)"]
    assert len(found["pairs"]) == 3


@pytest.mark.parametrize(
    "words, message",
    [
        (["--names", "one"], "--names must give each of the 2 pilots"),
        (["--names", "a,a"], "--names must give each of the 2 pilots"),
        (["--names", "a,"], "--names must give each of the 2 pilots"),
        (["--json", "--csv"], "exclude each other"),
        (["--confidence", "7"], "confidence must lie"),
    ],
)
def test_bad_options_are_refused(two_files, refused, words, message):
    assert message in refused("compare", *two_files, *WORDS, *words)


def test_one_file_is_refused(two_files, refused):
    assert "Missing argument" in refused("compare", two_files[0], *WORDS)
