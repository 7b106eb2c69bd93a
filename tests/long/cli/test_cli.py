"""Every method can be asked for on the command line."""

import re

from command_line import (
    read_json,
)
from headcount.estimators import METHODS


def test_every_listed_method_can_be_asked_for(pilot, answer):
    lines = answer("methods").splitlines()
    names = [re.match(r"[\w-]+", line)[0] for line in lines if not line.startswith(" ")]
    assert len(names) == len(lines) / 3 == len(METHODS)
    for name in names:
        options = ["--classes", 50, "--method", name, "--no-intervals", "--json"]
        found = read_json(answer("forecast", pilot, *options))
        assert found["method"] == name
