"""What is costly is done once: fits to the whole pilot, its jackknife, its table of losses."""

import html
from collections import Counter
from typing import ClassVar

import pytest

import headcount
import report_pages
from headcount import ParameterError, Pilot, backtest, compare, forecast, simulate
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


def test_a_report_fits_nothing_unless_other_methods_are_asked_for(whole_fits, jackknifes, tmp_path):
    made = forecast(gaussian(), classes=60, method=Counting())
    made.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [one["method"] for one in report_pages.embedded(page)["series"]] == ["counting"]
    assert 'name="series"' not in page
    assert (whole_fits(), jackknifes()) == (1, 1)
    made.save(tmp_path / "report.html", other_methods=True)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    methods = [one["method"] for one in report_pages.embedded(page)["series"]]
    assert methods[0] == "counting"
    assert {"probit-normal", "exponential"} <= set(methods)
    assert page.count('name="series"') == len(methods)
    assert "result.save('report.html', other_methods=True)" in html.unescape(page)


def test_other_methods_are_for_reports_alone(tmp_path):
    made = forecast(gaussian(), classes=60, method="no-change", intervals=False)
    with pytest.raises(ParameterError, match="other_methods is about reports"):
        made.save(tmp_path / "made.json", other_methods=True)
    assert not any(tmp_path.iterdir())


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
