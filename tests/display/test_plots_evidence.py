"""What pictures of evidence hold, draw and say: back-tests, comparisons, coverage, classes."""

import json

import matplotlib
import numpy as np
import pytest

import picture_baselines
import plotted
from experiments.coverage.picture import CoverageDisplay
from headcount import (
    DataError,
    ParameterError,
    Pilot,
    UnsupportedError,
    backtest,
    compare,
    forecast,
    observe,
)
from headcount.display.plots import (
    BacktestDisplay,
    ClassesDisplay,
    ComparisonDisplay,
    LeadDisplay,
)
from plotted import legend_texts, lines, points_of

matplotlib.use("Agg")
pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture(scope="module")
def pilot():
    return plotted.pilot_of(2.5)


@pytest.fixture(scope="module")
def result():
    return plotted.forecast_of(2.5)


@pytest.fixture(scope="module")
def compared(pilot):
    pilots = {"$x_1$": pilot, "_b": plotted.pilot_of(2.0, 1), "c": plotted.pilot_of(3.0, 2)}
    return compare(pilots, 60, method="no-change")


# -- back-test ---------------------------------------------------------------------------------


def test_a_backtest_has_a_point_for_each_forecast(result):
    tested = result.backtest
    display = tested.plot()
    frame = display.frame()
    every = [value for step in tested.steps for value in step.forecasts]
    assert frame["forecast"].tolist() == every
    assert set(frame["observed"]) == {tested.observed} and set(frame["method"]) == {"probit-normal"}
    dots = [
        y for line in display.ax_.get_lines() if line.get_marker() == "." for y in line.get_ydata()
    ]
    assert dots == every
    assert points_of(lines(display)["measured"]) == [(60, tested.observed)]
    means = [float(np.mean(step.forecasts)) for step in tested.steps]
    assert display.ax_.containers[0].lines[0].get_ydata().tolist() == means


def test_what_is_not_supported_is_grey():
    tested = picture_baselines.backtest_of("kde", 0.04)
    ax = BacktestDisplay.from_backtest(tested).plot().ax_
    assert tested.likely == 5.0
    (grey,) = [patch for patch in ax.patches if patch.get_x() > 1]
    assert 10 < grey.get_x() + grey.get_width() < 20  # from 10 classes it was too far off
    fine = picture_baselines.backtest_of("kde", 0.0)
    assert len(BacktestDisplay.from_backtest(fine).plot().ax_.patches) == 1


def test_several_methods_are_drawn_side_by_side():
    tested = [picture_baselines.backtest_of(name, 0.02) for name in ("kde", "$other$")]
    display = BacktestDisplay.from_backtest(tested).plot()
    assert legend_texts(display)[-2:] == ["$other$", "kde"]
    assert not any(text.get_parse_math() for text in display.ax_.get_legend().get_texts())
    assert len(display.frame()["forecast"]) == 18


def test_of_many_methods_the_best_are_drawn():
    tested = [picture_baselines.backtest_of(f"m{i}", 0.01 * i) for i in (9, 8, 3, 4, 0, 1, 7, 2)]
    display = BacktestDisplay.from_backtest(tested)
    assert [result.method for result in display.backtests] == ["m0", "m1", "m2", "m3", "m4"]
    assert set(display.frame()["method"]) == {result.method for result in display.backtests}


def test_no_share_is_above_all():
    near = Pilot.from_losses([0] * 97 + [1] * 3, 40)
    ax = backtest(near, method="probit-normal", repeats=3).plot().ax_
    top = ax.get_ylim()[1]
    assert top > 1 and max(tick for tick in ax.get_yticks() if tick <= top) <= 1
    band = ax.patches[0]
    assert band.get_y() + band.get_height() == 1


def test_a_backtest_may_show_error_rates():
    tested = picture_baselines.backtest_of("kde", 0.04)
    right, wrong = (tested.plot(error_rate=error_rate).ax_ for error_rate in (False, True))
    assert wrong.get_ylabel() == "error rate among 100 classes"
    assert list(wrong.get_lines()[0].get_ydata()) == pytest.approx([0.2, 0.2])
    dots = [np.concatenate([line.get_ydata() for line in ax.get_lines()]) for ax in (right, wrong)]
    assert sorted(dots[1]) == pytest.approx(sorted(1 - dots[0]))
    low, high = wrong.get_ylim()
    assert low == wrong.get_yticks()[0] <= 0.09 and wrong.get_yticks()[-1] == 0.25 < high


def test_backtests_are_of_their_metric(pilot):
    tested = backtest(pilot, method="no-change", repeats=2, metric="top-5")
    right, wrong = (tested.plot(error_rate=error_rate).ax_ for error_rate in (False, True))
    assert right.get_ylabel() == "top-5 accuracy among 60 classes"
    assert wrong.get_ylabel() == "top-5 error rate among 60 classes"
    assert right.get_lines()[0].get_ydata()[0] == observe(pilot).top(5, 60)
    other = backtest(pilot, method="no-change", repeats=2)
    with pytest.raises(ParameterError, match="different metrics"):
        BacktestDisplay.from_backtest([tested, other])


def test_a_comparison_may_show_error_rates():
    display = picture_baselines.comparison()
    right, wrong = (display.plot(error_rate=error_rate).ax_ for error_rate in (False, True))
    assert (wrong.get_ylabel(), wrong.get_yscale()) == ("error rate", "log")
    for line, flipped in zip(right.get_lines()[:6], wrong.get_lines()[:6], strict=True):
        assert flipped.get_ydata() == pytest.approx(1 - np.asarray(line.get_ydata()))


def test_backtests_that_cannot_be_drawn(pilot):
    none = backtest(Pilot.from_losses([0, 1], 3), method="no-change")
    assert not none.steps
    with pytest.raises(UnsupportedError):
        none.plot()
    other = backtest(pilot, method="no-change", repeats=2)
    with pytest.raises(ParameterError, match="different pilots"):
        BacktestDisplay.from_backtest([other, picture_baselines.backtest_of("kde", 0.0)])


# -- comparison --------------------------------------------------------------------------------


def test_systems_are_drawn_by_their_names(compared):
    display = compared.plot()
    assert legend_texts(display)[:3] == ["$x_1$", " _b", "c"]
    assert legend_texts(display)[3:] == ["measured, up to the marker", "forecast", "90% interval"]
    frame = display.frame()
    for name, result in compared.forecasts.items():
        here = frame["system"] == name
        assert frame["value"][here].tolist() == result.curve.value.tolist()
        assert frame["lower"][here].tolist() == result.curve.lower.tolist()
    display.figure_.canvas.draw()  # names are no mathematics, or drawing would fail


def test_comparisons_are_of_their_metric(pilot):
    pilots = {"a": pilot, "b": plotted.pilot_of(2.0, 1)}
    compared = compare(pilots, 60, method="no-change", metric="top-5")
    right, wrong = (compared.plot(error_rate=error_rate) for error_rate in (False, True))
    assert right.ax_.get_ylabel() == "top-5 accuracy"
    assert wrong.ax_.get_ylabel() == "top-5 error rate"
    frame = right.frame()
    for name, measured in pilots.items():
        here = frame["system"] == name
        classes = frame["classes"][here]
        assert frame["value"][here].tolist() == observe(measured).top(5, classes).tolist()
    lead = LeadDisplay.from_comparison(compared)
    assert lead.plot().ax_.get_ylabel() == "lead of a,\nin points of top-5 accuracy"
    gap = observe(pilots["a"]).top(5, 60) - observe(pilots["b"]).top(5, 60)
    assert lead.frame()["difference"][-1] == pytest.approx(gap)


def test_systems_without_intervals_have_no_band(pilot):
    result = forecast(pilot, classes=60, method="no-change", intervals=False)
    display = ComparisonDisplay({"a": result.curve}, {"a": 60}).plot()
    assert np.isnan(display.frame()["lower"]).all()
    assert not display.ax_.collections


def test_crossings_are_marked():
    display = picture_baselines.comparison().plot()
    assert [text.get_text() for text in display.ax_.texts] == ["cross at about 1,000"]
    assert 1000 in [
        line.get_xdata()[0] for line in display.ax_.get_lines() if len(line.get_xdata())
    ]


def test_the_lead_of_one_over_another(compared):
    display = LeadDisplay.from_comparison(compared).plot()
    pair = compared.pairs[0]
    assert (display.first, display.second) == (pair.first, pair.second)
    frame = display.frame()
    assert frame["difference"].tolist() == pair.difference.tolist()
    assert frame["lower"].tolist() == pair.lower.tolist()
    assert display.ax_.get_ylabel() == "lead of $x_1$,\nin points of accuracy"
    assert display.ax_.yaxis.get_major_formatter()(0.05, 0) == "+5"
    assert LeadDisplay.from_comparison(compared, "_b", "c").second == "c"
    for wrong in (("_b",), ("c", "_b")):
        with pytest.raises(ParameterError):
            LeadDisplay.from_comparison(compared, *wrong)


# -- coverage ----------------------------------------------------------------------------------


def row(**changes):
    fields = {"family": "faces", "setting": "all", "ratio": 2, "pilots": 9, "coverage": 0.9}
    return fields | {"standard_error": 0.1} | changes


def test_coverage_is_read_from_results(tmp_path):
    rows = [row(), row(family="words", coverage=0.8), row(setting="one"), row(coverage=None)]
    whole = {"options": {"confidence": 0.8}, "rows": rows}
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(whole))
    display = CoverageDisplay.from_file(path)
    assert display.frame()["family"].tolist() == ["faces", "words"]
    assert display.frame()["coverage"].tolist() == [0.9, 0.8]
    ax = display.plot().ax_
    assert legend_texts(display) == ["good: 75-85%", "faces", "words"]
    assert ax.get_ylabel() == "80% intervals that hold the truth"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "[]",
        "{}",
        '{"options": {"confidence": 0.9}, "rows": []}',
        '{"rows": [{}]}',
    ],
)
def test_what_is_no_coverage_is_refused(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        CoverageDisplay.from_file(path)
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(DataError):
        CoverageDisplay.from_file(tmp_path / "none.json")


# -- classes -----------------------------------------------------------------------------------


def test_hardest_classes_and_hubs(pilot):
    display = ClassesDisplay.from_pilot(pilot, most=3).plot()
    frame = display.frame()
    lost = np.bincount(pilot.labels, pilot.losses) / 3 / 59
    worst = np.sort(lost)[::-1][:3]
    np.testing.assert_allclose(frame["share"], worst)
    assert [lost[int(name)] for name in frame["class"]] == pytest.approx(worst.tolist())
    ax = display.ax_
    assert [bar.get_width() for bar in ax.patches] == frame["share"].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == frame["class"].tolist()
    hubs = ClassesDisplay.from_pilot(pilot, kind="hubs", most=60).frame()
    wins = pilot.beats().wins() / 177
    assert {int(c): s for c, s in zip(hubs["class"], hubs["share"], strict=True)} == {
        i: pytest.approx(share) for i, share in enumerate(wins) if share > 0
    }


def test_where_no_class_stands_out():
    perfect = Pilot.from_scores(np.eye(3), [0, 1, 2])
    for kind, words in (("hardest", "No class ever loses"), ("hubs", "No class ever beats")):
        display = ClassesDisplay.from_pilot(perfect, kind=kind).plot()
        assert display.ax_.texts[0].get_text().startswith(words)
        assert len(display.frame()["class"]) == 0


def test_classes_that_are_not_known():
    with pytest.raises(UnsupportedError, match="no labels"):
        ClassesDisplay.from_pilot(Pilot.from_losses([0, 1], 3))
    with pytest.raises(UnsupportedError, match="scores"):
        ClassesDisplay.from_pilot(Pilot.from_losses([0, 1], 3, labels=[0, 1]), kind="hubs")
    with pytest.raises(ParameterError, match="kind"):
        ClassesDisplay.from_pilot(Pilot.from_losses([0, 1], 3, labels=[0, 1]), kind="easy")
