"""A curve as a table: what its rows, cells and sentences say."""

import numpy as np
import pytest

from headcount.curves.curve import Curve
from headcount.metrics import Top

CLASSES, VALUES = [2, 1000, 20_000], [0.95, 0.8, 0.5]
REGIONS = ["observed", "observed", "forecast"]


def bare(**more):
    return Curve(np.array(CLASSES), np.array(VALUES), np.array(REGIONS), **more)


def limited(**more):
    return bare(lower=np.array([0.94, 0.75, 0.4]), upper=np.array([0.96, 0.85, 0.6]), **more)


def test_columns_are_those_there_are_in_their_order():
    assert list(bare().columns()) == ["classes", "value", "region"]
    assert list(limited().columns()) == ["classes", "value", "lower", "upper", "region"]
    assert not bare().has_limits and limited().has_limits


def test_rows_are_plain_data_and_may_be_those_of_a_region():
    assert bare().rows()[2] == {
        "classes": 20_000, "value": 0.5, "lower": None, "upper": None, "region": "forecast",
    }  # fmt: skip
    observed, forecast = limited().rows("observed"), limited().rows("forecast")
    assert [row["classes"] for row in observed] == [2, 1000]
    assert forecast == [{"classes": 20_000, "value": 0.5, "lower": 0.4, "upper": 0.6}]
    assert all(type(row["classes"]) is int and "region" not in row for row in observed)


def test_cells_stand_under_their_titles():
    assert bare().titles(0.9) == ["classes", "accuracy", ""]
    assert limited().titles(0.9) == ["classes", "accuracy", "90% interval", ""]
    assert bare().cells() == [
        ["2", "95%", "measured"],
        ["1,000", "80%", "measured"],
        ["20,000", "50%", "forecast"],
    ]
    assert limited().cells()[2] == ["20,000", "50%", "40-60%", "forecast"]
    assert bare(quantity=Top(5)).titles(0.9)[1] == "top-5 accuracy"


def test_sentences_say_what_was_measured_and_how_sure_a_forecast_is():
    assert bare().sentences(0.9) == [
        "At 2 classes: 95% (measured).",
        "At 1,000 classes: 80% (measured).",
        "At 20,000 classes: 50%.",
    ]
    assert limited().sentences(0.8)[1:] == [
        "At 1,000 classes: 80% (measured, 80% interval 75-85%).",
        "At 20,000 classes: 50% (80% interval 40-60%).",
    ]


def test_a_curve_cannot_be_changed():
    curve = limited()
    for column in curve.columns().values():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[1]
