"""Where groups come from on the command line, and how they were drawn."""

import json

import numpy as np
import pytest

from headcount import load, simulate


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A pilot of families with its groups, the same without, and the groups in a file."""
    folder = tmp_path_factory.mktemp("groups")
    pilot = simulate.near_duplicates(40, random_state=1).pilot
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    held = {"scores": scores, "labels": pilot.labels}
    np.savez(folder / "plain.npz", **held)
    np.savez(folder / "groups.npz", groups=pilot.groups, **held)
    np.savez(folder / "strata.npz", groups=pilot.groups, drawn="classes", **held)
    (folder / "groups.txt").write_text("\n".join(map(str, pilot.groups.tolist())) + "\n")
    return folder


def accuracy(answer, *arguments):
    out = answer("observe", *arguments, "--classes", "10", "--json")
    return json.loads(out)["observed"][0]["accuracy"]


def test_groups_come_from_a_file_of_their_own_or_from_the_pilot(files, answer):
    whole = accuracy(answer, files / "groups.npz")
    plain = accuracy(answer, files / "plain.npz")
    assert whole < plain - 0.05  # all relatives are there
    beside = accuracy(answer, files / "plain.npz", "--groups", files / "groups.txt")
    assert beside == pytest.approx(whole, abs=1e-12)


def test_how_groups_were_drawn_is_said_in_the_file_or_by_an_option(files, answer):
    plain = accuracy(answer, files / "plain.npz")
    assert accuracy(answer, files / "strata.npz") == plain
    assert accuracy(answer, files / "groups.npz", "--drawn", "classes") == plain
    whole = accuracy(answer, files / "strata.npz", "--drawn", "groups")
    assert whole == accuracy(answer, files / "groups.npz")
    assert load(files / "strata.npz").drawn == "classes"


def test_ranks_are_not_shown_where_groups_come_whole(files, answer):
    assert "median rank" not in answer("observe", files / "groups.npz", "--classes", "10")
    assert "median rank" in answer("observe", files / "plain.npz", "--classes", "10")


def test_drawn_without_groups_is_refused(files, refused):
    message = refused("observe", files / "plain.npz", "--drawn", "groups")
    assert "--groups FILE" in message


def test_groups_that_miss_classes_are_refused(files, tmp_path, refused):
    (tmp_path / "few.txt").write_text("a\nb\n")
    message = refused("observe", files / "plain.npz", "--groups", tmp_path / "few.txt")
    assert "groups" in message and "2" in message and "40 classes" in message
