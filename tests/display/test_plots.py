import matplotlib
import numpy as np
import pytest
from matplotlib import image

from headcount import Favorability, ParameterError, Pilot, forecast
from headcount.curves.ordinary_roc import class_averaged_roc
from headcount.curves.reversed_roc import reversed_roc
from headcount.display.plots import CurveDisplay, ReversedROCDisplay

matplotlib.use("Agg")
pytestmark = pytest.mark.usefixtures("closed_figures")


def scored_pilot():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(40), 3)
    scores = rng.normal(size=(120, 40)) + 2 * np.eye(40)[labels] + rng.normal(size=(120, 1))
    return Pilot.from_scores(scores.round(1), labels)  # with ties


def lines_of(display):
    """The lines of a picture by the first words of their names."""
    return {
        " ".join(line.get_label().split(":")[0].split(",")[0].split()): line
        for line in display.ax_.get_lines()
    }


def test_limits_are_drawn_as_a_band_around_the_curve():
    result = forecast(scored_pilot(), classes=40, method="exponential")
    display = CurveDisplay.from_forecast(result).plot()
    (band,) = display.ax_.collections
    corners = {(x, y) for x, y in band.get_paths()[0].vertices.tolist()}
    for limit in (result.curve.lower, result.curve.upper):
        points = zip(result.curve.classes.tolist(), limit.tolist(), strict=True)
        assert set(points) <= corners
    assert "90% interval" in [text.get_text() for text in display.ax_.get_legend().texts]
    frame = display.frame()
    assert list(frame) == ["classes", "value", "lower", "upper", "region"]
    assert frame["lower"] is result.curve.lower and frame["upper"] is result.curve.upper


def test_no_limits_no_band():
    result = forecast(scored_pilot(), classes=80, intervals=False)
    display = CurveDisplay.from_forecast(result).plot()
    assert not display.ax_.collections
    assert list(display.frame()) == ["classes", "value", "region"]


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_lines_lie_on_the_curves(scale):
    pilot = scored_pilot()
    display = ReversedROCDisplay.from_pilot(pilot).plot(scale=scale)
    lines = lines_of(display)
    assert list(lines) == ["reversed ROC", "ordinary ROC", "guessing"]
    for name, curve in (
        ("reversed ROC", reversed_roc(pilot)),
        ("ordinary ROC", class_averaged_roc(pilot)),
    ):
        rate, share = lines[name].get_data()
        assert rate[-1] == 1 and (np.diff(rate) >= 0).all() and (np.diff(share) >= -1e-15).all()
        single = np.append(np.diff(rate) > 0, True) & np.append(True, np.diff(rate) > 0)
        single &= ~np.isin(rate, np.concatenate([curve.low, curve.high]))
        np.testing.assert_allclose(share[single], curve.average(rate[single]), atol=1e-12)
        # Half way between neighbours on the paper: straight lines there must be near the curve.
        between = np.sqrt(rate[1:] * rate[:-1]) if scale == "log" else (rate[1:] + rate[:-1]) / 2
        level = (share[1:] + share[:-1]) / 2
        wide = np.diff(rate) > 0
        np.testing.assert_allclose(level[wide], curve.average(between[wide]), atol=1e-3)
    guess_rate, guess_share = lines["guessing"].get_data()
    assert guess_rate.tolist() == guess_share.tolist()
    assert (display.ax_.get_xscale(), display.ax_.get_xlim()[1]) == (scale, 1)


def test_the_logarithmic_axis_begins_before_the_curves_rise():
    display = ReversedROCDisplay.from_pilot(Pilot.from_losses([0, 0, 1, 9], 101)).plot()
    assert display.ax_.get_xlim() == (0.005, 1)
    rate, share = lines_of(display)["reversed ROC"].get_data()
    assert (rate[0], share[0]) == (0.005, 0.5)
    law = Favorability([1e-12, 1e-3], [0.001, 0.999])  # hardly anything happens at 1e-12
    assert ReversedROCDisplay.from_favorability(law).plot().ax_.get_xlim()[0] == 0.0005
    right = ReversedROCDisplay.from_pilot(Pilot.from_losses([0, 0], 101)).plot()
    assert 0 < right.ax_.get_xlim()[0] < 1


def test_words_and_areas():
    losses, deep = np.array([0, 1, 3]), np.array([0] * 999 + [2])
    labels = {
        name: ReversedROCDisplay.from_pilot(pilot).plot().ax_.get_legend().texts[0].get_text()
        for name, pilot in (
            ("some", Pilot.from_losses(losses, 11)),
            ("few", Pilot.from_losses(deep, 11)),
            ("none", Pilot.from_losses(0 * losses, 11)),
        )
    }
    assert labels["some"].endswith("classes compete for a probe, area 0.87")
    assert labels["few"].endswith("area 0.9998")
    assert labels["none"].endswith("area 1.00")
    ax = ReversedROCDisplay.from_pilot(Pilot.from_losses(losses, 11)).plot().ax_
    assert "wrong ones let in" in ax.get_xlabel() and "true ones let in" in ax.get_ylabel()
    labels = [ax.xaxis.get_major_formatter()(rate, 0) for rate in (1e-7, 0.001, 0.5, 1)]
    assert labels == ["0.00001%", "0.1%", "50%", "100%"]


def test_ordinary_curve_only_where_there_can_be_one():
    pilot = scored_pilot()
    assert len(ReversedROCDisplay.from_pilot(pilot).curves) == 2
    assert len(ReversedROCDisplay.from_pilot(pilot, ordinary=False).curves) == 1
    counts = Pilot.from_losses(pilot.losses, 40, ties=pilot.ties, labels=pilot.labels)
    assert len(ReversedROCDisplay.from_pilot(counts).curves) == 1
    lone = pilot.keep_probes([0, 1, 2])
    assert lone.has_scores and len(ReversedROCDisplay.from_pilot(lone).curves) == 1


def test_censored_probes_are_drawn_at_worst_and_at_best():
    pilot = Pilot.from_losses([0, 2, 5], 11, censored=[False, False, True])
    worst, best = ReversedROCDisplay.from_pilot(pilot).curves.values()
    assert (worst.auc, best.auc) == reversed_roc(pilot).auc_bounds
    assert worst.average(1) == pytest.approx(2 / 3) and best.average(1) == 1
    assert len(ReversedROCDisplay.from_pilot(pilot).plot().ax_.get_lines()) == 3


def test_a_law_has_its_curve():
    law = Favorability([0.0, 0.01, 0.1], [0.5, 0.3, 0.2])
    display = ReversedROCDisplay.from_favorability(law)
    frame = display.frame()
    assert set(frame["curve"]) == {"estimated reversed ROC"}
    assert frame["rate"].tolist() == [0, 0, 0.01, 0.01, 0.1, 0.1, 1]
    assert frame["share"].tolist() == pytest.approx([0, 0.5, 0.5, 0.8, 0.8, 1, 1])


def test_frame_holds_every_curve():
    display = ReversedROCDisplay.from_pilot(scored_pilot())
    frame = display.frame()
    lengths = {len(column) for column in frame.values()}
    assert len(lengths) == 1 and list(frame) == ["curve", "rate", "share"]
    for name, curve in display.curves.items():
        rate, share = curve.corners()
        here = frame["curve"] == name
        assert frame["rate"][here].tolist() == rate.tolist()
        assert frame["share"][here].tolist() == share.tolist()


def test_a_curve_of_very_many_corners_is_drawn_from_a_few_thousand_points():
    rng = np.random.default_rng(1)
    losses = rng.integers(1000, 10**6, 20_000) * rng.integers(0, 2, 20_000)
    pilot = Pilot.from_losses(losses, 10**6)
    display = ReversedROCDisplay.from_pilot(pilot)
    frame = display.frame()
    assert len(frame["rate"]) <= 4_000
    curve = reversed_roc(pilot)
    np.testing.assert_allclose(frame["share"], curve.average(frame["rate"]), atol=1e-12)
    rate, share = lines_of(display.plot())["reversed ROC"].get_data()
    assert len(rate) < 6_000
    # Half the probes are never beaten, the others at 1,000 in a million and evenly from there.
    assert rate[0] > 2e-3 and share[0] == pytest.approx((losses == 0).mean(), abs=0.005)


def test_given_axes_are_drawn_into_and_pictures_are_saved(tmp_path):
    from matplotlib import pyplot

    display = ReversedROCDisplay.from_pilot(scored_pilot())
    figure, ax = pyplot.subplots()
    assert display.plot(ax).ax_ is ax and display.figure_ is figure
    before = pyplot.get_fignums()
    display.save(tmp_path / "roc.png")
    assert image.imread(tmp_path / "roc.png").std() > 0.05
    assert pyplot.get_fignums() == before
    with pytest.raises(ParameterError, match="cannot draw"):
        display.save(tmp_path / "roc.jpg")


def test_other_scales_are_refused():
    with pytest.raises(ParameterError, match="scale"):
        ReversedROCDisplay.from_pilot(Pilot.from_losses([0], 3)).plot(scale="cubic")
