"""What curves hold, draw and say: metrics against classes, capacity, CMC and laws."""

import math

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plotted
from headcount import Favorability, ParameterError, Pilot, UnsupportedError, forecast, observe
from headcount.curves.curve import Curve
from headcount.display.plots import (
    CapacityDisplay,
    CMCDisplay,
    CurveDisplay,
    DiscriminabilityDisplay,
    ReversedROCDisplay,
)
from headcount.display.plots.style import error_ticks, share_ticks, short_share
from headcount.metrics import ACCURACY, Top
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
def top_result():
    return plotted.forecast_of(2.5, "top-5")


# -- a metric against classes ----------------------------------------------------------------------


def test_the_page_is_grey_past_what_the_backtest_supports(result):
    assert result.n_classes < result.supported < 3000
    display = result.plot(target=0.8)
    (grey,) = display.ax_.patches
    left, right = grey.get_x(), grey.get_x() + grey.get_width()
    assert (left, right) == (result.supported, 3000)
    assert display.ax_.get_xlim()[1] == pytest.approx(3000)
    assert legend_texts(display)[-1] == "past what the back-test supports"
    assert "target, 80%" in legend_texts(display)
    assert set(lines(display)["target, 80%"].get_ydata()) == {0.8}
    inside = CurveDisplay.from_forecast(result)
    inside.supported = 3000
    assert not inside.plot().ax_.patches


def test_the_picture_of_a_forecast_is_of_its_metric(result, top_result):
    # Of one pilot and one method, so that only the metric tells them apart.
    display = top_result.plot(target=0.8)
    frame, ks = display.frame(), top_result.curve.classes
    assert list(frame) == ["classes", "value", "lower", "upper", "region"]
    assert frame["value"].tolist() == result.top(5, ks).tolist()
    assert (frame["value"][1:] > result.accuracy(ks)[1:]).all()
    for side, limit in zip(("lower", "upper"), top_result.interval(ks), strict=True):
        assert frame[side].tolist() == limit.tolist()
    (band,) = display.ax_.collections
    corners = {(x, y) for x, y in band.get_paths()[0].vertices.tolist()}
    assert set(zip(ks.tolist(), frame["lower"].tolist(), strict=True)) <= corners
    assert "90% interval" in legend_texts(display) and "target, 80%" in legend_texts(display)
    assert points_of(lines(display)["pilot, 60 classes"]) == [(60, top_result.value(60))]
    (grey,) = display.ax_.patches
    assert grey.get_x() == top_result.supported
    labels = [
        top_result.plot(error_rate=error_rate).ax_.get_ylabel() for error_rate in (False, True)
    ]
    assert labels == ["top-5 accuracy", "top-5 error rate"]


def test_what_a_pilot_measured(pilot):
    display = CurveDisplay.from_pilot(pilot, target=0.9).plot()
    frame = display.frame()
    assert list(frame) == ["classes", "value", "region"]
    assert (frame["classes"][0], frame["classes"][-1]) == (2, 60)
    np.testing.assert_allclose(frame["value"], observe(pilot).accuracy(frame["classes"]))
    assert set(frame["region"]) == {"observed"} and "forecast" not in legend_texts(display)
    assert not display.ax_.patches


def test_what_a_pilot_measured_of_another_metric(pilot):
    display = CurveDisplay.from_pilot(pilot, metric="top-3").plot()
    frame = display.frame()
    assert frame["value"].tolist() == observe(pilot).top(3, frame["classes"]).tolist()
    assert display.ax_.get_ylabel() == "top-3 accuracy"
    with pytest.raises(ParameterError, match="unknown metric 'top-0'"):
        CurveDisplay.from_pilot(pilot, metric="top-0")


def test_short_lists_leave_a_range():
    short = Pilot.from_losses([0, 2, 5], 11, censored=[False, False, True])
    frame = CurveDisplay.from_pilot(short).frame()
    lower, upper = observe(short).bounds(frame["classes"])
    assert frame["lower"].tolist() == lower.tolist() and frame["upper"].tolist() == upper.tolist()
    frame = CurveDisplay.from_pilot(short, metric="top-3").frame()
    # Among all 11 classes two of three probes are surely among the best three.
    assert [frame[side][-1] for side in ("lower", "upper")] == pytest.approx([2 / 3, 2 / 3])
    assert (frame["lower"] < frame["upper"]).any()


def test_a_pilot_of_two_classes_can_be_drawn():
    ax = CurveDisplay.from_pilot(Pilot.from_losses([0, 1], 2)).plot().ax_
    assert points_of(ax.get_lines()[1]) == [(2, 0.5)]


def test_error_rates_are_what_is_left(result, tmp_path):
    right, wrong = result.plot(target=0.8), result.plot(target=0.8, error_rate=True)
    for name in ("measured", "forecast", "pilot, 60 classes"):
        k, share = lines(right)[name].get_data()
        assert points_of(lines(wrong)[name]) == list(zip(k, 1 - np.asarray(share), strict=True))
    assert list(lines(wrong)["target, 20%"].get_ydata()) == pytest.approx([0.2, 0.2])
    bands = [display.ax_.collections[0].get_paths()[0].vertices for display in (right, wrong)]
    assert sorted(bands[1][:, 1]) == pytest.approx(sorted(1 - bands[0][:, 1]))
    assert (right.ax_.get_ylabel(), wrong.ax_.get_ylabel()) == ("accuracy", "error rate")
    assert (right.ax_.get_yscale(), wrong.ax_.get_yscale()) == ("linear", "log")
    result.save(tmp_path / "wrong.svg", error_rate=True)
    result.save(tmp_path / "right.svg")
    texts = [(tmp_path / f"{name}.svg").read_text() for name in ("wrong", "right")]
    assert ["error rate" in text for text in texts] == [True, False]
    with pytest.raises(ParameterError, match="error_rate is for pictures"):
        result.save(tmp_path / "wrong.csv", error_rate=True)


def curve_of(value, lower=None, upper=None, target=None, metric=ACCURACY):
    classes = np.array([2, 10, 100, 1000])
    region = np.array(["observed", "observed", "forecast", "forecast"])
    limits = [None if side is None else np.array(side) for side in (lower, upper)]
    curve = Curve(classes, np.array(value), region, *limits, metric)
    return CurveDisplay(curve, 10, metric, target)


@pytest.mark.parametrize("display, labels", [
    (curve_of([0.999, 0.99, 0.97, 0.953]), "95% 96% 97% 98% 99% 100%"),
    (curve_of([0.99997, 0.9999, 0.9998, 0.9996]), "99.96% 99.97% 99.98% 99.99% 100%"),
    (curve_of([0.99, 0.8, 0.4, 0.1]), "0% 20% 40% 60% 80% 100%"),  # all of it, as ever
    (curve_of([0.99, 0.98, 0.97, 0.96], target=0.8), "80% 85% 90% 95% 100%"),
    (curve_of([0.99, 0.98, 0.97, 0.96], [0.98, 0.97, 0.9, 0.62], [1.0] * 4),
     "60% 70% 80% 90% 100%"),
    (curve_of([1.0] * 4), "99.995% 99.996% 99.997% 99.998% 99.999% 100%"),
])  # fmt: skip
def test_the_axis_fits_what_is_drawn_and_its_ends_are_labelled(display, labels):
    ax = display.plot().ax_
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    ticks = [(t.get_position()[1], t.get_text()) for t in ax.get_yticklabels()]
    assert " ".join(text for _, text in ticks) == labels
    assert ticks[0][0] == low and low < high <= low + 1.02 * (ticks[-1][0] - low) + 1e-12
    assert display.curve.value.min() >= low and display.curve.value.max() <= high


def test_small_errors_stand_on_a_log_axis():
    display = curve_of([1.0, 0.999, 0.98, 0.9], [0.99, 0.99, 0.97, 0.8], [1.0, 1.0, 0.9999, 0.97])
    ax = display.plot(error_rate=True).ax_
    assert ax.get_yscale() == "log"
    ticks = [short_share(tick) for tick in ax.get_yticks()]
    assert ticks == ["0.01%", "0.03%", "0.1%", "0.3%", "1%", "3%", "10%", "30%"]
    assert ax.get_ylim()[0] == 1e-4
    even = curve_of([0.5, 0.4, 0.3, 0.2]).plot(error_rate=True).ax_
    assert even.get_yscale() == "linear"


@given(st.floats(0, 1), st.floats(0, 1))
def test_round_shares_hold_any_range(first, second):
    low, high = sorted([first, second])
    ticks = share_ticks(low, high)
    assert 0 <= ticks[0] <= low + 1e-9 and high - 1e-9 <= ticks[-1] <= 1
    assert 2 <= len(ticks) <= 7 and len({short_share(tick) for tick in ticks}) == len(ticks)
    steps = np.diff(ticks)
    assert steps == pytest.approx(steps[0])
    # No more than a step of the page is empty at either end, unless the range is very narrow.
    wide = high - low >= max(0.2 * min((low + high) / 2, 1 - (low + high) / 2), 0.0001)
    assert not wide or (low - ticks[0] < steps[0] and ticks[-1] - high < steps[0])


@given(st.lists(st.floats(0, 1), min_size=1), st.lists(st.floats(0, 1)))
def test_round_error_rates_hold_all_lines(lines, areas):
    ticks = error_ticks(lines, areas)
    visible = [share for share in lines if share >= 1e-8]
    most = max([*lines, *areas])
    assert (ticks is None) == (most < 10 * min(visible, default=1))
    if ticks is not None:
        assert 1e-8 <= ticks[0] <= min(visible) * (1 + 1e-8) and most * (1 - 1e-8) <= ticks[-1] <= 1
        assert 2 <= len(ticks) <= 9 and len({short_share(tick) for tick in ticks}) == len(ticks)


GOOD, POOR = [0.99, 0.97, 0.9, 0.8], [0.99, 0.97, 0.5, 0.09]


def test_guessing_is_drawn_only_where_the_curve_comes_near_it():
    good, poor = curve_of(GOOD), curve_of(POOR)
    assert "guessing" not in lines(good.plot()) and "guessing" in lines(poor.plot())
    unsure = curve_of(GOOD, [0.98, 0.9, 0.5, 0.05], [1.0, 0.99, 0.99, 0.99])
    assert "guessing" in lines(unsure.plot())
    assert lines(poor.plot(error_rate=True))["guessing"].get_ydata()[0] == 0.5
    # Among two classes nobody can miss the best five, so that says nothing.
    assert "guessing" not in lines(curve_of(GOOD, metric=Top(5)).plot())
    assert points_of(lines(curve_of(POOR, metric=Top(5)).plot())["guessing"]) == [
        (2, 1),
        (10, 0.5),
        (100, 0.05),
        (1000, 0.005),
    ]


# -- capacity ----------------------------------------------------------------------------------


def test_capacity_against_targets(result):
    display = CapacityDisplay.from_forecast(result, targets=[0.9, 0.6, 0.3]).plot()
    frame = display.frame()
    assert frame["target"].tolist() == [0.3, 0.6, 0.9]
    assert frame["capacity"].tolist() == [result.capacity(t) for t in (0.3, 0.6, 0.9)]
    limits = [result.capacity_interval(t) for t in (0.3, 0.6, 0.9)]
    assert list(zip(frame["lower"], frame["upper"], strict=True)) == limits
    inside = frame["capacity"] < 60
    assert frame["region"].tolist() == np.where(inside, "observed", "forecast").tolist()
    line = lines(display)
    assert points_of(line["pilot, 60 classes"]) == [(float(result.accuracy(60)), 60)]
    together = points_of(line["measured"]) + points_of(line["forecast"])
    assert set(zip(frame["target"], frame["capacity"], strict=True)) <= set(together)
    (grey,) = display.ax_.patches
    assert grey.get_y() == result.supported


def test_capacity_is_that_of_the_metric(result, top_result):
    display = CapacityDisplay.from_forecast(top_result, targets=[0.6, 0.9]).plot()
    for target, classes in zip(display.target, display.capacity.astype(int).tolist(), strict=True):
        assert result.top(5, classes) >= target > result.top(5, classes + 1)
    assert (display.capacity > [result.capacity(t) for t in (0.6, 0.9)]).all()
    assert points_of(lines(display)["pilot, 60 classes"]) == [(result.top(5, 60), 60)]
    words = [display.plot(error_rate=error_rate).ax_.get_xlabel() for error_rate in (False, True)]
    assert words == ["top-5 accuracy to keep", "top-5 error rate allowed"]
    usual = CapacityDisplay.from_forecast(top_result)
    assert (usual.target.max(), usual.target.min()) == (result.top(5, 6), result.top(5, 3000))


def test_what_holds_any_number_leaves_the_page():
    never = Pilot.from_losses([0, 0, 0, 1], 10)
    result = forecast(never, classes=20, method="no-change", intervals=False)
    assert result.capacity(0.5) == math.inf
    display = CapacityDisplay.from_forecast(result, targets=[0.5, 0.9]).plot()
    assert display.frame()["capacity"][0] == math.inf and "lower" not in display.frame()
    top = display.ax_.get_ylim()[1]
    assert max(y for _, y in points_of(lines(display)["forecast"])) > top
    for wrong in ([], [1.5]):
        with pytest.raises(ParameterError):
            CapacityDisplay.from_forecast(result, targets=wrong)


def test_the_axis_of_capacities_fits_the_curve():
    good = Pilot.from_losses([0] * 990 + [1] * 8 + [3] * 2, 200)
    result = forecast(good, classes=1000, method="probit-normal", intervals=False)
    display = CapacityDisplay.from_forecast(result)
    assert 20 <= display.capacity.min() < 200 < display.capacity.max() <= 50 * 200
    right, wrong = (display.plot(error_rate=error_rate).ax_ for error_rate in (False, True))
    assert right.get_xlim()[0] > display.target.min() - 0.02
    assert (right.get_xlabel(), wrong.get_xlabel()) == ("accuracy to keep", "error rate allowed")
    assert wrong.get_xscale() == "log" and 0 < wrong.get_xlim()[0] < 1 - result.accuracy(200)
    for ax in (right, wrong):
        values = ax.lines[1].get_xdata()
        assert np.ptp(values) > 0.3 * np.ptp(ax.get_xlim())


# -- CMC ---------------------------------------------------------------------------------------


def test_a_cmc_may_show_what_is_missed(result):
    right, wrong = (
        CMCDisplay.from_forecast(result, 30, ranks=4)
        .plot(error_rate=error_rate)
        .ax_.lines[0]
        .get_ydata()
        for error_rate in (False, True)
    )
    assert wrong.tolist() == (1 - right).tolist()


def test_cmc_at_given_numbers_of_classes(result, pilot):
    display = CMCDisplay.from_forecast(result, [30, 300], ranks=4).plot()
    frame = display.frame()
    assert frame["classes"].tolist() == [30] * 4 + [300] * 4
    assert frame["rank"].tolist() == [1, 2, 3, 4] * 2
    assert frame["share"].tolist() == [
        float(result.top(m, k)) for k in (30, 300) for m in range(1, 5)
    ]
    assert legend_texts(display) == ["30 classes, measured", "300 classes, forecast"]
    styles = [line.get_linestyle() for line in display.ax_.get_lines()]
    assert styles == ["-", "--"]
    assert CMCDisplay.from_forecast(result).classes == (60, 300, 3000)
    measured = CMCDisplay.from_pilot(pilot, ranks=60)
    assert measured.classes == (60,) and measured.share[0, -1] == pytest.approx(1)
    ranks = pilot.losses + 1
    expected = [(ranks <= m).mean() for m in range(1, 61)]  # equal weights, no ties
    np.testing.assert_allclose(measured.share[0], expected)
    with pytest.raises(ParameterError):
        CMCDisplay.from_pilot(pilot, [100])


# -- laws --------------------------------------------------------------------------------------


def test_discriminability_is_the_law(result, pilot):
    display = DiscriminabilityDisplay.from_forecast(result)
    frame = display.frame()
    law = frame["curve"] == "estimated"
    u, share = frame["favorability"][law], frame["share"][law]
    # Half way between neighbours, away from the jumps, where D takes either value.
    between = (u[1:] + u[:-1]) / 2
    wide = np.diff(u) > 1e-6
    np.testing.assert_allclose(share[1:][wide], result.law.cdf(between)[wide], atol=0.02)
    rate, height = display.plot().ax_.get_lines()[0].get_data()
    assert min(rate) >= 0.5 / 59 and max(rate) == 1  # the pilot sees no finer
    assert (np.diff(height[np.lexsort((height, -rate))]) >= -1e-12).all()
    places = np.array([0.8, 0.9, 0.95, 0.98]) + 1e-4  # between the steps of 1 / 59
    measured = [np.mean(pilot.losses / 59 >= 1 - u) for u in places]  # equal weights, no ties
    np.testing.assert_allclose(np.interp(1 - places, rate, height), measured, atol=1e-12)


def test_discriminability_of_pilots_and_laws():
    pilot = Pilot.from_losses([0, 0, 1, 4], 5)
    assert list(DiscriminabilityDisplay.from_pilot(pilot).curves) == ["measured in the pilot"]
    short = Pilot.from_losses([0, 2, 5], 11, censored=[False, False, True])
    assert len(DiscriminabilityDisplay.from_pilot(short).plot().ax_.get_lines()) == 2
    law = Favorability([0.0, 0.5], [0.25, 0.75])
    frame = DiscriminabilityDisplay.from_favorability(law).frame()
    assert frame["favorability"].tolist() == [0, 0.5, 0.5, 1, 1]
    assert frame["share"].tolist() == [0, 0, 0.75, 0.75, 1]


def test_laws_are_drawn_beside_what_was_measured(result, pilot):
    display = ReversedROCDisplay.from_forecast(result).plot()
    measured, estimated = display.curves.values()
    assert measured.auc == pytest.approx(float(observe(pilot).accuracy(2)))
    assert estimated.auc == pytest.approx(result.law.reversed_auc)
    rates = [line.get_xdata().min() for line in display.ax_.get_lines()[:2]]
    assert rates[0] >= 0.5 / 59 > rates[1]
    short = Pilot.from_losses([0, 2, 5] * 9, 11, censored=[False, False, True] * 9)
    cut = forecast(short, classes=11, method="probit-normal", intervals=False)
    assert len(ReversedROCDisplay.from_forecast(cut).curves) == 3


@pytest.mark.parametrize("display", [ReversedROCDisplay, DiscriminabilityDisplay])
def test_methods_without_a_law_are_refused(display, pilot):
    result = forecast(pilot, classes=60, method="log-linear", intervals=False)
    with pytest.raises(UnsupportedError, match="log-linear gives no law"):
        display.from_forecast(result)
