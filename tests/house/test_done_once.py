"""What is costly is done once: fits to the whole pilot, its jackknife, its table of losses."""

import html
from collections import Counter
from typing import ClassVar

import pytest

import headcount
import report_pages
from headcount import DataError, Forecast, Pilot, backtest, compare, forecast, simulate
from headcount.estimators import ProbitNormal
from headcount.support.workers import watching

N_CLASSES = 30
pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
PAIRS = "Leaving out pairs of classes"


class Counting(ProbitNormal):
    """Notes how many classes each pilot has that it is fitted to."""

    alias = "counting"
    sizes: ClassVar[list[int]] = []

    def _estimate(self, pilot):
        self.sizes.append(pilot.n_classes)
        return super()._estimate(pilot)


@pytest.fixture
def whole_fits():
    """Return how many fits to the whole pilot there have been."""
    Counting.sizes.clear()
    return lambda: Counting.sizes.count(N_CLASSES)


@pytest.fixture
def jackknifes():
    """Return how many jackknifes there have been, as those who watch the work are told."""
    ended = Counter()

    def report(task, done, total):
        ended[task] += done == total

    with watching(report):
        yield lambda: ended[PAIRS]


def gaussian(sigma=0.5, seed=0):
    return simulate.isotropic_gaussian(
        N_CLASSES, sigma=sigma, probes_per_class=2, random_state=seed
    ).pilot


def test_a_forecast_with_intervals_fits_the_pilot_once(whole_fits, jackknifes):
    made = forecast(gaussian(), classes=60, method=Counting())
    assert made.interval(60) is not None
    assert made.backtest.steps[0].coverage is not None
    assert (whole_fits(), jackknifes()) == (1, 1)


def test_a_backtest_fits_the_pilot_once(whole_fits, jackknifes):
    backtest(gaussian(), method=Counting(), repeats=2)
    assert (whole_fits(), jackknifes()) == (1, 1)


def test_a_comparison_fits_each_pilot_once(whole_fits, jackknifes):
    compare({"old": gaussian(), "new": gaussian(0.4)}, 60, method=Counting())
    assert (whole_fits(), jackknifes()) == (2, 2)


def test_a_backtest_of_a_method_that_states_its_error_needs_no_jackknife(jackknifes):
    found = backtest(simulate.isotropic_gaussian(60, sigma=0.5, random_state=1).pilot, repeats=2)
    assert found.steps[0].coverage is not None
    assert jackknifes() == 0


def test_a_report_fits_nothing(whole_fits, jackknifes, tmp_path):
    made = forecast(gaussian(), classes=60, method=Counting())
    made.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [one["method"] for one in report_pages.embedded(page)["series"]] == ["counting"]
    assert 'name="series"' not in page
    assert (whole_fits(), jackknifes()) == (1, 1)


def test_other_methods_are_fitted_with_the_forecast_and_not_with_its_report(
    whole_fits, jackknifes, tmp_path, monkeypatch
):
    made = forecast(gaussian(), classes=60, method=Counting(), other_methods=True)
    assert (whole_fits(), jackknifes()) == (1, 1)
    assert {"probit-normal", "exponential"} <= set(made.others)
    monkeypatch.setattr(ProbitNormal, "fit", lambda *_: pytest.fail("a fit for the report"))
    made.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    series = report_pages.embedded(page)["series"]
    assert [curve["method"] for curve in series] == ["counting", *made.others]
    assert page.count('name="series"') == len(series)
    assert "intervals=False" not in page and "other_methods=True)\n" in html.unescape(page)


def test_other_methods_are_read_back():
    made = forecast(gaussian(), classes=60, method="kde", intervals=False, other_methods=True)
    again = Forecast.from_json(made.to_json())
    assert list(again.others) == list(made.others) and len(made.others) > 2
    sizes = [2, 30, 31, 60, 10**6]
    for name in made.others:
        table, read = (one.other_table(name, sizes) for one in (made, again))
        assert read.rows() == table.rows()
    assert again.to_json() == made.to_json()
    broken = made.to_json().replace('"exponential": {"p": [', '"exponential": {"p": [7, ')
    with pytest.raises(DataError, match="cannot be read"):
        Forecast.from_json(broken)


def test_the_command_line_asks_for_a_report_with_other_methods(run, tmp_path):
    path = tmp_path / "pilot.npz"
    report_pages.write_npz(path)
    code, out, err = run("forecast", path, "--classes", "200", "--other-methods")
    assert (code, out) == (2, "")
    assert (
        err == "headcount: error: --other-methods is about the report; add --report report.html.\n"
    )
    page = tmp_path / "report.html"
    options = ("--method", "no-change", "--no-intervals", "--report", page)
    code, _, _ = run("forecast", path, "--classes", "200", *options, "--other-methods")
    series = report_pages.embedded(page.read_text(encoding="utf-8"))["series"]
    assert code == 0
    assert "exponential" in [one["method"] for one in series]


def test_the_table_of_losses_is_made_once_and_cannot_be_changed():
    pilot = Pilot.from_losses([0, 1, 1, 3], 5, ties=[0, 1, 0, 0])
    table = pilot.table()
    assert pilot.table() is table
    for column in (table.losses, table.weights, table.censored):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    assert headcount.observe(pilot).table is table
