"""Queries with several relevant documents, as people ask: words, pictures, pages, refusals."""

import json

import numpy as np
import pytest

from headcount import Forecast, Pilot, UnsupportedError, forecast
from headcount.display.plots import CurveDisplay, DiscriminabilityDisplay
from headcount.display.report.pages.forecast import shared_data


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 120))
    scores[:, :3] += 1.5
    run = {query: dict(enumerate(row)) for query, row in enumerate(scores.tolist())}
    qrels = {query: {0: 2, 1: 1, 2: 1} for query in run}
    pilot = Pilot.from_run(run, qrels, n_classes=120)
    return forecast(pilot, classes=200, metric="recall@2", intervals=False)


def test_the_answer_says_what_is_counted(made):
    assert "of what is relevant is among the best 2." in str(made)
    assert [check.code for check in made.checks].count("HC024") == 1
    assert "40 queries" in str(made) and "probes" not in str(made)
    again = Forecast.from_json(made.to_json())
    assert str(again) == str(made)
    assert json.loads(made.to_json())["metric"] == "recall@2"


def test_nobody_guesses_among_several(made):
    display = CurveDisplay.from_forecast(made).plot()
    labels = [line.get_label() for line in display.ax_.get_lines()]
    assert "measured" in labels and "guessing" not in labels
    assert shared_data(made, [200])["guess"] is None


def test_what_cannot_be_said_is_refused_in_a_sentence(made):
    with pytest.raises(UnsupportedError, match="no one law of favorability"):
        DiscriminabilityDisplay.from_forecast(made)
    with pytest.raises(UnsupportedError, match='ask for kind="new_set"'):
        made.value(200, kind="grown_set")
