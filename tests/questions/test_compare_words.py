import csv
import io
import json

import numpy as np
import pytest

import headcount
from command_line import read_json
from compared_pilots import QUICK, two_systems
from headcount import compare
from headcount.questions.compare import Crossing, Pair, crossing_sentence, lead_sentence


def make_pair(difference, lower, upper, chance=0.9, crossing=None, names=("A", "B")):
    values = [np.array([v]) for v in (difference, lower, upper, chance)]
    return Pair(*names, True, np.array([1000]), *values, crossing)


# -- ways out --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    pilots = two_systems(7, 40)
    with pytest.warns(headcount.ExtrapolationWarning):
        return compare({"=A,\n": pilots["A"], "<B>": pilots["B"]}, [40, 4000], **QUICK)


def test_json_holds_the_forecasts_and_the_differences(result):
    held = read_json(result.to_json())
    assert held == json.loads(json.dumps(result.to_dict()))
    assert list(held["forecasts"]) == ["=A,\n", "<B>"]
    assert held["forecasts"]["<B>"] == result.forecasts["<B>"].to_dict()
    (pair,) = held["pairs"]
    assert (held["paired"], pair["paired"], held["classes"]) == (True, True, [40, 4000])
    lead = result.pairs[0].at(4000)
    assert pair["differences"][1] == vars(lead)


def test_csv_and_frame_have_a_row_a_pair_and_number_of_classes(result):
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [row["first"] for row in rows] == ["'=A,\n"] * 2
    frame = result.to_frame()
    assert frame["first"].tolist() == ["=A,\n"] * 2
    assert frame["classes"].tolist() == [int(row["classes"]) for row in rows] == [40, 4000]
    for row, (_, held) in zip(rows, frame.iterrows(), strict=True):
        assert float(row["difference"]) == held["difference"]
        gap = float(row["value_first"]) - float(row["value_second"])
        assert gap == pytest.approx(held["difference"])


def test_repr_and_html_are_safe(result):
    assert repr(result).startswith("Comparison of =A,?, <B> in accuracy (paired)\n  At 40 classes")
    assert "&lt;B&gt;" in result._repr_html_()
    assert "<B>" not in result._repr_html_()


@pytest.mark.parametrize(
    "pair, words",
    [
        (make_pair(0.04, 0.01, 0.07), "A is ahead of B by 4 points (90% interval 1 to 7)."),
        (make_pair(-0.04, -0.07, -0.01), "B is ahead of A by 4 points (90% interval 1 to 7)."),
        (
            make_pair(0.01, -0.02, 0.04, 0.71),
            "A and B cannot be told apart: A seems ahead by 1 point (90% interval 2 behind to 4 "
            "ahead), with a chance of 71% to be the better one.",
        ),
        (
            make_pair(-0.01, -0.02, 0.04, 0.29),
            "A and B cannot be told apart: B seems ahead by 1 point (90% interval 4 behind to 2 "
            "ahead), with a chance of 71% to be the better one.",
        ),
        (make_pair(0.0, 0.0, 0.0, 0.5), "A and B are level."),
        (make_pair(1e-9, -1e-9, 1e-9, 0.5), "A and B are level."),
        (make_pair(0.0, -0.02, 0.03, 0.5), "A and B are level (give or take 3 points)."),
        (
            make_pair(0.00005, 0.00004, 0.00006),
            "A is ahead of B by 0.005 points (90% interval 0.004 to 0.006).",
        ),
    ],
)
def test_leads_in_words(pair, words):
    assert lead_sentence(pair, 1000, 0.9) == f"At 1,000 classes {words}"


def test_a_lead_without_interval_in_words():
    pair = Pair("A", "B", False, np.array([9]), np.array([0.1]), None, None, None, None)
    assert lead_sentence(pair, 9, 0.9) == "At 9 classes A is ahead of B by 10 points."
    assert vars(pair.at(9))["chance"] is None
    same = Pair("A", "B", False, np.array([9]), np.array([0.0]), None, None, None, None)
    assert lead_sentence(same, 9, 0.9) == "At 9 classes A and B are level."


@pytest.mark.parametrize(
    "ends, words",
    [
        ((1234, 5678), " (likely between 1,200 and 5,600)"),
        ((1234, None), " (likely past 1,200)"),
        ((None, 5678), " (likely before 5,600, and perhaps nowhere)"),
        ((None, None), ", which is not sure"),
    ],
)
def test_crossings_in_words(ends, words):
    said = crossing_sentence(Crossing(2345, "A", "B", *ends))
    assert said == f"A is ahead up to about 2,300 classes{words}, B beyond."
