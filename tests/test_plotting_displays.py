"""What pictures hold, draw and say, beside those of test_plotting."""

import io
import json
import math
import warnings

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager, pyplot

import picture_baselines
from headcount import (
    DataError,
    Favorability,
    ParameterError,
    Pilot,
    UnsupportedError,
    backtest,
    compare,
    forecast,
    observe,
    plotting,
)
from headcount.plotting import (
    AccuracyDisplay,
    BacktestDisplay,
    CapacityDisplay,
    ClassesDisplay,
    CMCDisplay,
    ComparisonDisplay,
    CoverageDisplay,
    DiscriminabilityDisplay,
    Display,
    LeadDisplay,
    ReversedROCDisplay,
)
from headcount.plotting.style import as_label, drawable, legend

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def pilot_of(strength, seed=0, n=60):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n), 3)
    return Pilot.from_scores(rng.normal(size=(3 * n, n)) + strength * np.eye(n)[labels], labels)


@pytest.fixture(scope="module")
def pilot():
    return pilot_of(2.5)


@pytest.fixture(scope="module")
def made(pilot):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return forecast(pilot, classes=[300, 3000], method="probit_normal")


@pytest.fixture(scope="module")
def compared(pilot):
    pilots = {"$x_1$": pilot, "_b": pilot_of(2.0, 1), "c": pilot_of(3.0, 2)}
    return compare(pilots, 60, method="no-change")


def lines(display):
    return {line.get_label(): line for line in display.ax_.get_lines()}


def said(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def points_of(line):
    return list(zip(*(np.asarray(d).tolist() for d in line.get_data()), strict=True))


# -- all displays ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", picture_baselines.PICTURES)
def test_every_display_keeps_the_contract(name, tmp_path):
    display = picture_baselines.PICTURES[name]()
    assert isinstance(display, Display) and type(display).__name__ in plotting.__all__
    frame = display.frame()
    assert len({len(column) for column in frame.values()}) == 1
    assert all(isinstance(column, np.ndarray) for column in frame.values())
    figure, ax = pyplot.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.get_xlabel() and ax.get_title() == ""
    before = pyplot.get_fignums()
    display.save(tmp_path / "a.svg")
    assert pyplot.get_fignums() == before  # saving leaves no figure open
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    with pytest.raises(ParameterError, match="cannot draw"):
        display.save(tmp_path / "a.bmp")
    assert display.plot().figure_ is not figure


def contrast(colour, page):
    def light(c):
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in c)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    a, b = sorted([light(colour), light(page)])
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("name", picture_baselines.PICTURES)
def test_everything_is_seen_on_a_light_and_on_a_dark_page(name):
    # What readers need (WCAG 2.2): 3 to 1 for lines, 4.5 for letters, and a little round-off.
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            ax = picture_baselines.PICTURES[name]().plot().ax_
            page = matplotlib.colors.to_rgb(ax.get_facecolor())
            for line in ax.get_lines():
                assert contrast(matplotlib.colors.to_rgb(line.get_color()), page) > 2.9
            texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.texts]
            if ax.get_legend():
                texts += ax.get_legend().get_texts()
            for text in texts:
                assert contrast(matplotlib.colors.to_rgb(text.get_color()), page) > 4.4


# -- accuracy ----------------------------------------------------------------------------------


def test_the_page_is_grey_past_what_the_backtest_supports(made):
    assert made.n_classes < made.supported < 3000
    display = made.plot(target=0.8)
    (grey,) = display.ax_.patches
    left, right = grey.get_x(), grey.get_x() + grey.get_width()
    assert (left, right) == (made.supported, 3000)
    assert display.ax_.get_xlim()[1] == pytest.approx(3000)
    assert said(display)[-1] == "past what the back-test supports"
    assert "target, 80%" in said(display)
    assert set(lines(display)["target, 80%"].get_ydata()) == {0.8}
    inside = AccuracyDisplay.from_forecast(made)
    inside.supported = 3000
    assert not inside.plot().ax_.patches


def test_the_best_few_against_classes(made):
    display = made.plot(top=5)
    frame = display.frame()
    assert list(frame) == ["classes", "top_5", "region"]
    assert frame["top_5"].tolist() == made.top(5, frame["classes"]).tolist()
    assert display.ax_.get_ylabel() == "among the best 5"
    assert points_of(lines(display)["guessing"])[:2] == [(2, 1.0), (3, 1.0)]
    assert points_of(lines(display)["guessing"])[-1] == (3000, 5 / 3000)
    with pytest.raises(ParameterError, match="top"):
        made.plot(top=0)


def test_what_a_pilot_measured(pilot):
    display = AccuracyDisplay.from_pilot(pilot, target=0.9).plot()
    frame = display.frame()
    assert list(frame) == ["classes", "accuracy", "region"]
    assert (frame["classes"][0], frame["classes"][-1]) == (2, 60)
    np.testing.assert_allclose(frame["accuracy"], observe(pilot).accuracy(frame["classes"]))
    assert set(frame["region"]) == {"observed"} and "forecast" not in said(display)
    assert not display.ax_.patches


def test_short_lists_leave_a_range():
    short = Pilot.from_losses([0, 2, 5], 11, censored=[False, False, True])
    frame = AccuracyDisplay.from_pilot(short).frame()
    lower, upper = observe(short).bounds(frame["classes"])
    assert frame["lower"].tolist() == lower.tolist() and frame["upper"].tolist() == upper.tolist()
    assert "lower" not in AccuracyDisplay.from_pilot(short, top=2).frame()


def test_a_pilot_of_two_classes_can_be_drawn():
    ax = AccuracyDisplay.from_pilot(Pilot.from_losses([0, 1], 2)).plot().ax_
    assert points_of(ax.get_lines()[1]) == [(2, 0.5)]


# -- capacity ----------------------------------------------------------------------------------


def test_capacity_against_targets(made):
    display = CapacityDisplay.from_forecast(made, targets=[0.9, 0.6, 0.3]).plot()
    frame = display.frame()
    assert frame["target"].tolist() == [0.3, 0.6, 0.9]
    assert frame["capacity"].tolist() == [made.capacity(t) for t in (0.3, 0.6, 0.9)]
    limits = [made.capacity_interval(t) for t in (0.3, 0.6, 0.9)]
    assert list(zip(frame["lower"], frame["upper"], strict=True)) == limits
    inside = frame["capacity"] < 60
    assert frame["region"].tolist() == np.where(inside, "observed", "forecast").tolist()
    drawn = lines(display)
    assert points_of(drawn["pilot, 60 classes"]) == [(float(made.accuracy(60)), 60)]
    together = points_of(drawn["measured"]) + points_of(drawn["forecast"])
    assert set(zip(frame["target"], frame["capacity"], strict=True)) <= set(together)
    (grey,) = display.ax_.patches
    assert grey.get_y() == made.supported


def test_what_holds_any_number_leaves_the_page():
    never = Pilot.from_losses([0, 0, 0, 1], 10)
    made = forecast(never, classes=20, method="no-change", intervals=False)
    assert made.capacity(0.5) == math.inf
    display = CapacityDisplay.from_forecast(made, targets=[0.5, 0.9]).plot()
    assert display.frame()["capacity"][0] == math.inf and "lower" not in display.frame()
    top = display.ax_.get_ylim()[1]
    assert max(y for _, y in points_of(lines(display)["forecast"])) > top
    for wrong in ([], [1.5]):
        with pytest.raises(ParameterError):
            CapacityDisplay.from_forecast(made, targets=wrong)


# -- CMC ---------------------------------------------------------------------------------------


def test_cmc_at_given_numbers_of_classes(made, pilot):
    display = CMCDisplay.from_forecast(made, [30, 300], ranks=4).plot()
    frame = display.frame()
    assert frame["classes"].tolist() == [30] * 4 + [300] * 4
    assert frame["rank"].tolist() == [1, 2, 3, 4] * 2
    assert frame["share"].tolist() == [
        float(made.top(m, k)) for k in (30, 300) for m in range(1, 5)
    ]
    assert said(display) == ["30 classes, measured", "300 classes, forecast"]
    styles = [line.get_linestyle() for line in display.ax_.get_lines()]
    assert styles == ["-", "--"]
    assert CMCDisplay.from_forecast(made).classes == (60, 300, 3000)
    measured = CMCDisplay.from_pilot(pilot, ranks=60)
    assert measured.classes == (60,) and measured.share[0, -1] == pytest.approx(1)
    ranks = pilot.losses + 1
    expected = [(ranks <= m).mean() for m in range(1, 61)]  # equal weights, no ties
    np.testing.assert_allclose(measured.share[0], expected)
    with pytest.raises(ParameterError):
        CMCDisplay.from_pilot(pilot, [100])


# -- laws --------------------------------------------------------------------------------------


def test_discriminability_is_the_law(made, pilot):
    display = DiscriminabilityDisplay.from_forecast(made)
    frame = display.frame()
    law = frame["curve"] == "estimated"
    u, share = frame["favorability"][law], frame["share"][law]
    # Half way between neighbours, away from the jumps, where D takes either value.
    between = (u[1:] + u[:-1]) / 2
    wide = np.diff(u) > 1e-6
    np.testing.assert_allclose(share[1:][wide], made.law.cdf(between)[wide], atol=0.02)
    rate, height = display.plot().ax_.get_lines()[0].get_data()
    assert min(rate) >= 0.5 / 59 and max(rate) == 1  # the pilot sees no finer
    assert (np.diff(height[np.lexsort((height, -rate))]) >= -1e-12).all()
    at = np.array([0.8, 0.9, 0.95, 0.98]) + 1e-4  # between the steps of 1 / 59
    measured = [np.mean(pilot.losses / 59 >= 1 - u) for u in at]  # equal weights, no ties
    np.testing.assert_allclose(np.interp(1 - at, rate, height), measured, atol=1e-12)


def test_discriminability_of_pilots_and_laws():
    pilot = Pilot.from_losses([0, 0, 1, 4], 5)
    assert list(DiscriminabilityDisplay.from_pilot(pilot).curves) == ["measured in the pilot"]
    short = Pilot.from_losses([0, 2, 5], 11, censored=[False, False, True])
    assert len(DiscriminabilityDisplay.from_pilot(short).plot().ax_.get_lines()) == 2
    law = Favorability([0.0, 0.5], [0.25, 0.75])
    frame = DiscriminabilityDisplay.from_favorability(law).frame()
    assert frame["favorability"].tolist() == [0, 0.5, 0.5, 1, 1]
    assert frame["share"].tolist() == [0, 0, 0.75, 0.75, 1]


def test_laws_are_drawn_beside_what_was_measured(made, pilot):
    display = ReversedROCDisplay.from_forecast(made).plot()
    measured, estimated = display.curves.values()
    assert measured.auc == pytest.approx(float(observe(pilot).accuracy(2)))
    assert estimated.auc == pytest.approx(made.law.reversed_auc)
    rates = [line.get_xdata().min() for line in display.ax_.get_lines()[:2]]
    assert rates[0] >= 0.5 / 59 > rates[1]
    short = Pilot.from_losses([0, 2, 5] * 9, 11, censored=[False, False, True] * 9)
    cut = forecast(short, classes=11, method="probit_normal", intervals=False)
    assert len(ReversedROCDisplay.from_forecast(cut).curves) == 3


@pytest.mark.parametrize("display", [ReversedROCDisplay, DiscriminabilityDisplay])
def test_methods_without_a_law_are_refused(display, pilot):
    made = forecast(pilot, classes=60, method="log-linear", intervals=False)
    with pytest.raises(UnsupportedError, match="log-linear gives no law"):
        display.from_forecast(made)


# -- back-test ---------------------------------------------------------------------------------


def test_a_backtest_has_a_point_for_each_forecast(made):
    found = made.backtest
    display = found.plot()
    frame = display.frame()
    every = [value for step in found.steps for value in step.forecasts]
    assert frame["forecast"].tolist() == every
    assert set(frame["observed"]) == {found.observed} and set(frame["method"]) == {"probit_normal"}
    drawn = [
        y for line in display.ax_.get_lines() if line.get_marker() == "." for y in line.get_ydata()
    ]
    assert drawn == every
    assert points_of(lines(display)["measured"]) == [(60, found.observed)]
    means = [float(np.mean(step.forecasts)) for step in found.steps]
    assert display.ax_.containers[0].lines[0].get_ydata().tolist() == means


def test_what_is_not_supported_is_grey():
    held = picture_baselines.backtest_of("kde", 0.04)
    ax = BacktestDisplay.from_backtest(held).plot().ax_
    assert held.supported == 5.0
    (grey,) = [patch for patch in ax.patches if patch.get_x() > 1]
    assert 10 < grey.get_x() + grey.get_width() < 20  # from 10 classes it was too far off
    fine = picture_baselines.backtest_of("kde", 0.0)
    assert len(BacktestDisplay.from_backtest(fine).plot().ax_.patches) == 1


def test_several_methods_are_drawn_side_by_side():
    held = [picture_baselines.backtest_of(name, 0.02) for name in ("kde", "$other$")]
    display = BacktestDisplay.from_backtest(held).plot()
    assert said(display)[-2:] == ["$other$", "kde"]
    assert not any(text.get_parse_math() for text in display.ax_.get_legend().get_texts())
    assert len(display.frame()["forecast"]) == 18


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
    assert said(display)[:3] == ["$x_1$", " _b", "c"]
    assert said(display)[3:] == ["measured, up to the marker", "forecast", "90% interval"]
    frame = display.frame()
    for name, made in compared.forecasts.items():
        here = frame["system"] == name
        assert frame["accuracy"][here].tolist() == made.curve.accuracy.tolist()
        assert frame["lower"][here].tolist() == made.curve.lower.tolist()
    display.figure_.canvas.draw()  # names are no mathematics, or drawing would fail


def test_systems_without_intervals_have_no_band(pilot):
    made = forecast(pilot, classes=60, method="no-change", intervals=False)
    display = ComparisonDisplay({"a": made.curve}, {"a": 60}).plot()
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
    assert display.ax_.get_ylabel() == "lead of $x_1$, in points"
    assert display.ax_.yaxis.get_major_formatter()(0.05, 0) == "+5"
    assert LeadDisplay.from_comparison(compared, "_b", "c").second == "c"
    for wrong in (("_b",), ("c", "_b")):
        with pytest.raises(ParameterError):
            LeadDisplay.from_comparison(compared, *wrong)


# -- coverage ----------------------------------------------------------------------------------


def row(**changes):
    held = {"family": "faces", "setting": "all", "ratio": 2, "pilots": 9, "coverage": 0.9}
    return held | {"standard_error": 0.1} | changes


def test_coverage_is_read_from_results(tmp_path):
    rows = [row(), row(family="words", coverage=0.8), row(setting="one"), row(coverage=None)]
    whole = {"options": {"confidence": 0.8}, "rows": rows}
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(whole))
    display = CoverageDisplay.from_file(path)
    assert display.frame()["family"].tolist() == ["faces", "words"]
    assert display.frame()["coverage"].tolist() == [0.9, 0.8]
    ax = display.plot().ax_
    assert said(display) == ["good: 75-85%", "faces", "words"]
    assert ax.get_ylabel() == "80% intervals that hold the truth"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"options": {"confidence": 0.9}, "rows": []}', '{"rows": [{}]}']
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


# -- names from files --------------------------------------------------------------------------

NASTY = ["$\\frac{", "_hidden", "a" * 300, "가", "\U00013000", "a\nb", "\x1b[31m", "\u202e", ""]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=40) | st.sampled_from(NASTY), min_size=1, max_size=3))
def test_any_name_can_be_drawn(names):
    # Warnings are errors here, so that a letter without a shape would fail.
    figure = matplotlib.figure.Figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1))
    for name in names:
        ax.plot([], [], label=as_label(drawable(name)) or "-")
    legend(ax)
    figure.savefig(io.BytesIO(), format="png", dpi=10)
    assert len(ax.get_legend().get_texts()) == len(names)


def test_names_are_cut_and_shown_in_legends():
    assert len(drawable("a" * 300)) == 28
    assert as_label(drawable("_hidden")) == " _hidden"
    assert drawable("\U00013000") == "U+13000"
    assert drawable("a\nb") == "a?b"


def test_the_fonts_that_were_chosen_are_used():
    circle = "\u2335"  # which DejaVu Sans Mono has and DejaVu Sans has not
    with matplotlib.rc_context({"font.family": ["DejaVu Sans"]}):
        assert drawable(circle) in ("U+2335", circle)  # another font may be installed
    with matplotlib.rc_context({"font.family": ["DejaVu Sans", "DejaVu Sans Mono"]}):
        assert drawable(circle) == circle


def test_korean_is_written_where_a_font_for_it_is_installed():
    fonts = {font.name for font in font_manager.fontManager.ttflist}
    assert drawable("가") in ("가", "U+AC00")
    if fonts & {"NanumGothic", "Noto Sans CJK KR", "Malgun Gothic"}:
        assert drawable("가") == "가"
    ClassesDisplay(("가",), np.array([0.5])).plot().figure_.canvas.draw()


def test_of_many_methods_the_best_are_drawn():
    held = [picture_baselines.backtest_of(f"m{i}", 0.01 * i) for i in (9, 8, 3, 4, 0, 1, 7, 2)]
    display = BacktestDisplay.from_backtest(held)
    assert [one.method for one in display.backtests] == ["m0", "m1", "m2", "m3", "m4"]
    assert set(display.frame()["method"]) == {one.method for one in display.backtests}
