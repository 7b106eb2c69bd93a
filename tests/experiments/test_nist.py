"""Published face searches: made-up tables in the form of NIST's, since the real ones stay out."""

import csv

import numpy as np
import pytest

from experiments import app
from experiments.published import nist
from experiments.runner import Settings
from headcount import DataError, ParameterError
from headcount.simulate.theory import probit_normal_law

RANKS = 50
SIZES = (nist.FEWER, nist.PEOPLE, *nist.LARGER)
LAWS = {"vague_1": probit_normal_law(7.5, 1.3), "sharp_2": probit_normal_law(8.5, 1.3)}


def write(path, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["algorithm", *("x" for _ in rows[0][1:])], *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    curves = {
        name: [1 - law.top(m, nist.PEOPLE) for m in range(1, RANKS + 1)]
        for name, law in LAWS.items()
    }
    truths = {name: (1 - law.accuracy(SIZES)).tolist() for name, law in LAWS.items()}
    write(folder / nist.CURVES, [[name, *values] for name, values in curves.items()])
    write(folder / nist.TRUTHS, [[name, *values] for name, values in truths.items()])
    return folder


@pytest.fixture(scope="module")
def results(folder, tmp_path_factory):
    settings = Settings(tmp_path_factory.mktemp("results"))
    return nist.nist(settings, folder, methods=["auto", "probit-normal"])


def test_a_pilot_has_the_losses_behind_the_miss_rates():
    misses = np.array([0.1, 0.06, 0.05])
    pilot = nist.pilot_of(misses)
    assert pilot.n_classes == 1_600_000
    assert pilot.n_probes == nist.SEARCHES
    settled = ~pilot.censored
    for rank, miss in enumerate(misses):
        beyond = np.mean(pilot.losses > rank) if rank < 2 else np.mean(pilot.censored)
        assert beyond == pytest.approx(miss, abs=1 / nist.SEARCHES)
    assert set(pilot.losses[settled]) == {0, 1, 2}
    assert set(pilot.losses[~settled]) == {3}


def test_miss_rates_that_rise_by_a_slip_of_the_eye_count_as_level():
    pilot = nist.pilot_of(np.array([0.1, 0.05, 0.051]))
    assert np.mean(pilot.censored) == pytest.approx(0.05, abs=1 / nist.SEARCHES)


def test_what_is_known_exactly_is_forecast_nearly_exactly(results):
    rows = [row for row in results.rows if row["method"] == "probit-normal"]
    assert len(rows) == len(LAWS) * len(nist.LARGER)
    for row in rows:
        truth = 1 - float(LAWS[row["algorithm"]].accuracy(row["people"]))
        assert row["measured"] == pytest.approx(truth, abs=1e-6)
        # 154,549 searches tell a miss rate of some per cent to about one in a hundred.
        assert row["ratio"] == pytest.approx(1, abs=0.04)


def test_intervals_of_the_default_are_judged(results):
    ours = [row for row in results.rows if row["method"] == "auto"]
    assert all(row["lower"] <= row["forecast"] <= row["upper"] for row in ours)
    (last,) = [
        row
        for row in results.details["summary"]
        if (row["method"], row["people"]) == ("auto", nist.LARGER[-1])
    ]
    own = [row for row in ours if row["people"] == nist.LARGER[-1]]
    holds = np.mean([row["lower"] <= row["measured"] <= row["upper"] for row in own])
    assert last["holds"] == pytest.approx(holds)
    errors = [abs(np.log(row["ratio"])) for row in own]
    assert last["log_error"] == pytest.approx(np.mean(errors), abs=2e-6)


def test_a_straight_line_is_exact_where_misses_follow_a_power_of_the_number(folder, tmp_path):
    power = [0.02 * (k / nist.PEOPLE) ** 0.3 for k in SIZES]
    (tmp_path / nist.CURVES).write_text((folder / nist.CURVES).read_text())
    write(tmp_path / nist.TRUTHS, [["vague_1", *power]])
    results = nist.nist(Settings(tmp_path / "out"), tmp_path, methods=["probit-normal"])
    line = [row for row in results.rows if row["method"] == nist.LINE]
    assert {row["algorithm"] for row in line} == {"vague_1"}
    assert [row["ratio"] for row in line] == pytest.approx([1, 1, 1], abs=1e-4)


def test_tables_that_are_missing_or_do_not_fit_are_refused(folder, tmp_path):
    with pytest.raises(DataError, match=nist.CURVES):
        nist.nist(Settings(tmp_path / "out"), tmp_path)
    (tmp_path / nist.CURVES).write_text((folder / nist.CURVES).read_text())
    write(tmp_path / nist.TRUTHS, [["another", *[0.1] * len(SIZES)]])
    with pytest.raises(ParameterError, match="share no algorithm"):
        nist.nist(Settings(tmp_path / "out"), tmp_path)


def test_the_command_shows_a_table(folder, tmp_path, capsys):
    command = ["nist", str(folder), "--methods", "probit-normal", "--output", str(tmp_path)]
    assert app.main([*command, "--jobs", "1"]) == 0
    assert "median ratio" in capsys.readouterr().out
    assert (tmp_path / "nist.png").exists()
